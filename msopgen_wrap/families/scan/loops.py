"""Lower loops over an axis: a scan whose join is a formula, run row by row.

The step of a loop is part of the graph. Its instructions are sorted into three sections: what does
not depend on the states is computed for a whole box before the loop, what the next states do not
need after it, and the rest row after row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.families.scan.lowering import ScanLowerer, scan_elements
from msopgen_wrap.graph.loops import AFTER, loop_before
from msopgen_wrap.schedule.anchors import is_anchor
from msopgen_wrap.schedule.calls import RESHAPES, VIEW_OPS, Node, reduction_kind, target_name
from msopgen_wrap.schedule.lowering import Lowerer, lowers
from msopgen_wrap.schedule.program import COMPUTE_KIND, F32, I32, MASK, Inst, Operand, Program, Val

# What an instruction of a step may be: it works on a row as it does on a tile.
_WHOLE_TILE = ("Load", "Store", "Index", "Scan", "Reduce", "Expand", "Position", "opgen::Philox")


def is_looped(program: Program) -> bool:
    """Whether a program has a loop."""
    return any(i.op == "LoopAfter" for i in program.insts)


def state_values(program: Program) -> list[Val]:
    """Return what the states that a step reads are before it, in order."""
    return [i.dst for i in program.insts if i.op == "LoopBefore" and i.dst is not None]


def next_values(program: Program) -> list[Val]:
    """Return what becomes of the states that a step reads, in order."""
    every = [a for i in program.insts if i.op == "LoopAfter" for a in i.args]
    read = [int(i.mode) for i in program.insts if i.op == "LoopBefore"]
    return [value for value in (every[at] for at in read) if isinstance(value, Val)]


def start_section(program: Program) -> list[Inst]:
    """Return the instructions that only make the states before the first step."""
    first = next((n for n, i in enumerate(program.insts) if i.op == "LoopBefore"), 0)
    readers: dict[int, list[Inst]] = {}
    for inst in program.insts:
        for value in inst.args:
            if isinstance(value, Val):
                readers.setdefault(value.id, []).append(inst)
    found: list[Inst] = []
    alone: set[int] = set()
    for inst in reversed(program.insts[:first]):
        assert inst.dst is not None
        others = [i for i in readers[inst.dst.id] if i.op != "LoopBefore" and id(i) not in alone]
        if not others:
            found.insert(0, inst)
            alone.add(id(inst))
    return found


def row_section(program: Program) -> list[Inst]:
    """Return the instructions that run row after row."""
    kinds = [i.op for i in program.insts]
    if "LoopAfter" not in kinds:
        return []
    last = max(at for at, kind in enumerate(kinds) if kind == "LoopBefore")
    return program.insts[last + 1 : kinds.index("LoopAfter")]


@lowers("opgen.loop_before.default")
def _loop_before(low: Lowerer, node: Node) -> Any:
    scans = scan_elements(low, node)
    starts, _, backwards, _ = node.args
    assert isinstance(starts, (list, tuple))
    if scans.loops or scans.scanned:
        raise OpgenError(scans.other_pass(node, "a pass has one loop, or scans"))
    befores = []
    for number, (start, state) in enumerate(zip(starts, node.meta["val"], strict=True)):
        kind = COMPUTE_KIND.get(str(state.dtype).removeprefix("torch."), MASK)
        if kind == MASK or str(state.dtype) == "torch.int64":
            raise OpgenError(_refused(scans, node, f"state {number + 1} is {state.dtype}"))
        first = scans.tile(scans.as_kind(scans.operand(start), kind))
        befores.append(scans.emit("LoopBefore", kind, first, mode=str(number)))
    scans.loops[node] = befores
    _check_step(scans, node)
    scans.begin(node, 0, bool(backwards), node.meta["val"][0])
    return tuple(befores)


@lowers("opgen.loop_after.default")
def _loop_after(low: Lowerer, node: Node) -> Any:
    scans = scan_elements(low, node)
    befores = scans.loops.get(loop_before(node))
    results: Any = node.args[1]
    if befores is None:
        raise OpgenError(_refused(scans, node, "the states before its steps come from elsewhere"))
    made: list[Operand] = []
    taken: set[int] = {b.id for b in befores}
    for before, result in zip(befores, results, strict=False):
        value = scans.tile(scans.as_kind(scans.operand(result), before.kind))
        if value.id in taken or not _computed(scans.program, value, befores):
            # a tile of its own, which holds the state of each row
            value = scans.emit("Move", before.kind, value)
        taken.add(value.id)
        made.append(value)
    scans.program.insts.append(Inst("LoopAfter", None, tuple(made), note="loop"))
    scans.ended.add(loop_before(node))
    others = []
    for result in results[len(befores) :]:
        value = scans.tile(scans.operand(result))
        others.append(scans.emit("Move", value.kind, value) if value in befores else value)
    return (*made, *others)


def _check_step(low: ScanLowerer, before: Node) -> None:
    """Refuse a step with calls that mix the elements of a row.

    Raises:
        OpgenError: OPG351.
    """
    inside = {before}
    after: set[Node] = set()
    for node in low.traced.graph.nodes:
        if target_name(node) == AFTER and loop_before(node) is before:
            after.add(node)
        elif inside.intersection(node.all_input_nodes) and not after.intersection(inside):
            inside.add(node)
    wanted = set(after)
    for node in reversed(low.traced.graph.nodes):
        if node not in wanted:
            continue
        wanted.update(n for n in node.all_input_nodes if n in inside)
        target = target_name(node)
        view = target in VIEW_OPS | RESHAPES and target != "aten.expand.default"
        if node in inside and (reduction_kind(node) or is_anchor(node) or view):
            raise OpgenError(_refused(low, before, f"{target} of a state"))


def _computed(program: Program, value: Val, befores: list[Val]) -> bool:
    """Whether a value is made by an instruction that depends on a state."""
    made = next((i for i in program.insts if i.dst == value), None)
    known = _dependent(program.insts, {b.id for b in befores})
    return made is not None and made.op != "LoopBefore" and value.id in known


def _dependent(insts: list[Inst], start: set[int]) -> set[int]:
    """Return the ids of the values that some values go into, with those."""
    found = set(start)
    for inst in insts:
        if inst.dst is not None and any(isinstance(a, Val) and a.id in found for a in inst.args):
            found.add(inst.dst.id)
    return found


def sorted_sections(lowerer: ScanLowerer, program: Program) -> Program:
    """Return a program whose loop is one section, between those for whole boxes.

    What makes the states before the first step stands right before it.

    Raises:
        OpgenError: OPG351 where a step has work that no row can do by itself.
    """
    if not lowerer.loops:
        return program
    node = next(iter(lowerer.loops))
    if node not in lowerer.ended:
        raise OpgenError(_refused(lowerer, node, "a value of its step is needed as a whole"))
    states = {v.id for v in state_values(program)}
    ahead = [i for i in program.insts if i.op not in ("LoopBefore", "LoopAfter")]
    dependent = _dependent(ahead, states)
    ends = [i for i in program.insts if i.op == "LoopAfter"]
    wanted = {a.id for i in ends for a in i.args if isinstance(a, Val)}
    rows: list[Inst] = []
    for inst in reversed(ahead):
        values = [a for a in inst.args if isinstance(a, Val)]
        depends = any(v.id in dependent for v in values)
        # a mask of a row is not kept for the others
        masks = any(v.kind == MASK for v in values)
        mask = inst.dst is not None and inst.dst.kind == MASK
        reads_state = any(v.id in states for v in values)
        needed = inst.dst is not None and inst.dst.id in wanted
        if not ((depends and (needed or reads_state or masks)) or (needed and mask)):
            continue
        if inst.op in _WHOLE_TILE or (inst.op == "Store" and masks):
            raise OpgenError(_refused(lowerer, node, _why(inst)))
        rows.insert(0, inst)
        wanted |= {v.id for v in values}
    inside = {id(inst) for inst in rows}
    behind = [i for i in ahead if i.dst is None or i.dst.id in dependent]
    after = [i for i in behind if id(i) not in inside]
    later = {id(i) for i in after}
    before = [i for i in ahead if id(i) not in inside and id(i) not in later]
    starts = [i for i in program.insts if i.op == "LoopBefore"]
    if not starts:
        raise OpgenError(_refused(lowerer, node, "no step reads a state"))
    result = replace(program, insts=[*before, *starts, *rows, *ends, *after])
    first = start_section(result)
    chosen = {id(inst) for inst in first}
    others = [inst for inst in before if id(inst) not in chosen]
    result.insts[: len(before)] = [*others, *first]
    return result


def _why(inst: Inst) -> str:
    if inst.op == "Store":
        return "a result of a step is bool"
    if inst.op == "Load":
        return "a step reads a bool tensor"
    return f"{inst.note or inst.op} in a step needs more than a row"


def _refused(low: ScanLowerer, node: Node, why: str) -> Diagnostic:
    return Diagnostic(
        "OPG351",
        f"the loop cannot be a kernel: {why}",
        low.location("opgen.loop"),
        "a core runs all steps of its columns; the states stay in its UB in float32 or int32, and "
        "a step computes each column from that column alone",
        "move reductions and products of matrices out of the step; give bool tensors as numbers "
        "(`torch.where(reset > 0, ...)`), or write the kernel with `kernel:`",
    )


def loop_group(program: Program) -> int:
    """Return how many elements rows of a step are rounded up to: whole repeats for blocks."""
    rows = row_section(program)
    values = [v for i in rows for v in (i.dst, *i.args) if isinstance(v, Val)]
    whole = any(v.kind == MASK for v in values) or any(i.op.startswith("opgen::") for i in rows)
    return 64 if whole else 16


KINDS = {F32: "float", I32: "int32_t"}
