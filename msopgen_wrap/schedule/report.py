"""Plans as tables for people and as data for machines (``opgen plan``)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from msopgen_wrap.schedule.calls import DIFFERENCES
from msopgen_wrap.schedule.plan import Body, Budget, OpPlan
from msopgen_wrap.spec.model import OpSpec


@dataclass(frozen=True)
class TilingDecision:
    """What TilingFunc decided for one call.

    Attributes:
        dtypes, soc: of the call.
        key: tiling key.
        cores: block dim.
        workspace_bytes: what it asked for, the library's part included.
        fields: tiling data by field name, dicts for structs; {} where the struct is not known.
    """

    dtypes: str
    soc: str
    key: int
    cores: int
    workspace_bytes: int
    fields: dict[str, Any]


def dtypes_text(spec: OpSpec, combo: int) -> str:
    """Return the name of a dtype combination: the dtypes that occur in it."""
    params = [p for p in (*spec.inputs, *spec.outputs) if p.site is None]
    return ",".join(dict.fromkeys(p.dtypes[combo] for p in params))


def _budget_rows(plan: OpPlan[Any], body: Body) -> list[tuple[str, str, str, Budget, int, int]]:
    rows = []
    modes = plan.family.modes(plan)
    for (combo, mode), budget in body.budgets.items():
        if mode not in modes:
            continue
        for soc, ub in plan.socs.items():
            tile = budget.tile_length(ub)
            rows.append((dtypes_text(plan.spec, combo), mode, soc, budget, tile, ub))
    return rows


def as_dict(plan: OpPlan[Any]) -> dict[str, Any]:
    """Return the plan as JSON-ready data."""
    return {
        "op": plan.spec.op,
        "family": plan.family.name,
        "deterministic": plan.spec.deterministic or not adds_columns(plan),
        "schedule": [entry.as_dict() for entry in plan.spec.schedule],
        "knobs": list(plan.family.knobs_of(plan)),
        "modes": plan.modes,
        "socs": {
            soc: {"ub_bytes": ub, "vector_cores": plan.parts[0].cores[soc]}
            for soc, ub in plan.parts[0].socs.items()
        },
        "variants": [v.label() for v in plan.variants],
        "kernels": [
            {
                "class": body.class_name,
                "variant": body.variant,
                "family": part.family.name,
                "outputs": [p.name for p in part.writes],
                "loop": part.spec.loop,
                "instead_of": [b.class_name for p in part.instead for b in p.bodies],
                "to_workspace": [p.name for p in part.spec.outputs if p.site is not None],
                "from_workspace": part.temporaries_read(),
                "dtypes": [dtypes_text(plan.spec, c) for c in body.combos],
                "program": body.program.text().splitlines(),
                "differences": differences(body),
                "memories": [
                    {"dtypes": dtypes_text(plan.spec, combo), "memory": memory, "used": used}
                    for combo, memory, used in body.memory_rows()
                ],
                "ub": [
                    {
                        "dtypes": dtypes,
                        "mode": mode,
                        "soc": soc,
                        "bytes_per_element": budget.bytes_per_element,
                        "reserved": budget.reserved,
                        "tile": tile,
                        "used": budget.used(tile),
                        "available": ub,
                        "buffers": [
                            {
                                "name": b.name,
                                "bytes_per_element": b.bytes_per_element,
                                "copies": b.copies,
                            }
                            for b in budget.buffers
                        ],
                    }
                    for dtypes, mode, soc, budget, tile, ub in _budget_rows(part, body)
                ],
            }
            for part in plan.parts
            for body in part.bodies
        ],
    }


def differences(body: Body) -> list[str]:
    """Return where the results of a body deliberately differ from PyTorch's."""
    used = dict.fromkeys(inst.note for inst in body.program.insts)
    return [f"{note}: {DIFFERENCES[note]}" for note in used if note in DIFFERENCES]


def table_lines(rows: list[list[str]], indent: str = "  ") -> list[str]:
    """Return rows as lines of aligned columns, with a rule below the first row."""
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    lines = []
    for number, row in enumerate(rows):
        cells = [c.ljust(w) for c, w in zip(row, widths, strict=True)]
        lines.append((indent + "  ".join(cells)).rstrip())
        if number == 0:
            lines.append(indent + "  ".join("-" * w for w in widths))
    return lines


def as_text(plan: OpPlan[Any]) -> str:
    """Return the plan as text: per kernel its program, its buffers and its UB use."""
    spec = plan.spec
    lines = [f"{spec.op}: {plan.family.name}"]
    if not plan.bodies:
        return "\n".join([*lines, f"  kernel {spec.kernel}, no plan"])
    chips = plan.parts[0]
    socs = ", ".join(
        f"{s} ({chips.cores[s]} vector cores, {u} B UB)" for s, u in chips.socs.items()
    )
    lines.append(f"  for {socs}")
    lines += schedule_lines(plan)
    if not spec.deterministic:
        lines.append(f"  {_order_text(plan)}")
    if spec.hf32:
        lines.append(f"  {_hf32_text(plan)}")
    joined = _joined_lines(plan)
    lines += joined
    for part in plan.parts:
        if len(plan.parts) > 1 or joined:
            outputs = ", ".join(p.name for p in part.writes)
            lines += ["", f"  {outputs}: {part.family.name}, {_pass_text(part)}{_loop_text(part)}"]
        lines += _kernel_lines(part)
    return "\n".join(lines)


def schedule_lines(plan: OpPlan[Any]) -> list[str]:
    """Return what the spec asks of the tiling, no lines where it leaves everything to it."""
    if not plan.spec.schedule:
        return []
    return ["  schedule:", *(f"    {entry.text()}" for entry in plan.spec.schedule)]


def adds_columns(plan: OpPlan[Any]) -> bool:
    """Whether a pass adds up columns beside rows."""
    return any(part.instead and not part.spec.alike for part in plan.parts)


def _hf32_text(plan: OpPlan[Any]) -> str:
    """Return what ``hf32: true`` changes."""
    if any(part.family.rounds_to_hf32 for part in plan.parts):
        return "hf32: true; products round float32 operands to 11 bits of mantissa"
    return "hf32: true changes nothing: no pass is a product or a convolution on the cube"


def _order_text(plan: OpPlan[Any]) -> str:
    """Return what ``deterministic: false`` changes."""
    if adds_columns(plan):
        return "deterministic: false; sums of columns may differ in their last bits between calls"
    return "deterministic: false changes nothing: no kernel has sums that cores add to by atomics"


def _joined_lines(plan: OpPlan[Any]) -> list[str]:
    """Return which outputs are written piece by piece, a line for each."""
    pieces: dict[str, dict[str, None]] = {}
    for param in (p for part in plan.parts for p in part.writes if p.slab is not None):
        pieces.setdefault(param.tensor, {})[param.name] = None
    return [f"  {name} in pieces, each to its place: {', '.join(p)}" for name, p in pieces.items()]


def _pass_text(part: OpPlan[Any]) -> str:
    """Return what one of several passes reads and writes besides inputs and outputs."""
    read = ", ".join(dict.fromkeys(part.temporaries_read()))
    text = f"in a pass that reads {read} from the workspace" if read else "in a pass of its own"
    if part.instead:
        both = " and ".join(", ".join(p.name for p in other.writes) for other in part.instead)
        how = text.removesuffix(" of its own").replace("a pass", "one pass")
        if part.spec.alike:
            return f"{how}, where these have one size, in place of those for {both}"
        sums = "" if part.spec.deterministic else "; cores add to sums of columns by atomics"
        return f"{how}, where whole rows stay in UB, in place of those for {both}{sums}"
    if any(p.site is not None for p in part.spec.outputs):
        return f"{text}, to the workspace"
    return text if read else f"{text} over the inputs"


def _loop_text(part: OpPlan[Any]) -> str:
    """Return which loop runs a pass once for each step, "" for other passes."""
    return "" if part.spec.loop is None else f"; in each step of loop {part.spec.loop + 1}"


def _kernel_lines(plan: OpPlan[Any]) -> list[str]:
    lines = []
    for body in plan.bodies:
        label = plan.variants[body.variant].label()
        combos = "; ".join(dtypes_text(plan.spec, c) for c in body.combos)
        lines += ["", f"  {body.class_name}{f' ({label})' if label else ''}: {combos}"]
        lines += [f"    {line}" for line in body.program.text().splitlines()]
        lines += [f"    differs from torch: {text}" for text in differences(body)]
        memories = body.memory_rows()
        if memories:
            lines += ["", *_memory_table(plan, memories)]
        rows = _budget_rows(plan, body)
        if rows:
            lines += ["", *_buffer_table(rows)]
            lines += ["", *_use_table(rows)]
    return lines


def _memory_table(plan: OpPlan[Any], rows: list[tuple[int, str, int]]) -> list[str]:
    """Return the bytes that the largest base block of the cube takes, a line per dtypes."""
    names = list(dict.fromkeys(memory for _, memory, _ in rows))
    table = [["largest base block (bytes)", *names]]
    for combo in dict.fromkeys(combo for combo, _, _ in rows):
        used = {memory: bytes_used for c, memory, bytes_used in rows if c == combo}
        table.append([dtypes_text(plan.spec, combo), *(str(used[name]) for name in names)])
    return table_lines(table, "    ")


def _buffer_table(rows: list[tuple[str, str, str, Budget, int, int]]) -> list[str]:
    columns: dict[tuple[str, str], Budget] = {}
    for dtypes, mode, _, budget, _, _ in rows:
        columns.setdefault((dtypes, mode), budget)
    names = list(dict.fromkeys(b.name for budget in columns.values() for b in budget.buffers))
    table = [["buffer (bytes per element)", *(f"{d} {m}" for d, m in columns)]]
    for name in names:
        cells = [name]
        for budget in columns.values():
            found = next((b for b in budget.buffers if b.name == name), None)
            copies = f" x{found.copies}" if found and found.copies > 1 else ""
            cells.append(f"{found.bytes_per_element:g}{copies}" if found else "-")
        table.append(cells)
    return table_lines(table, "    ")


def _use_table(rows: list[tuple[str, str, str, Budget, int, int]]) -> list[str]:
    table = [["dtypes", "mode", "soc", "B/element", "tile", "UB used", "of"]]
    for dtypes, mode, soc, budget, tile, ub in rows:
        used = budget.used(tile)
        table.append(
            [
                dtypes,
                mode,
                soc,
                f"{budget.bytes_per_element:g}",
                str(tile),
                f"{used} ({100 * used / ub:.0f}%)",
                str(ub),
            ]
        )
    return table_lines(table, "    ")


def tiling_lines(plan: OpPlan[Any], decisions: list[TilingDecision]) -> list[str]:
    """Return tiling decisions as a table; arrays and fields that are 0 are left out."""
    table = [["dtypes", "soc", "mode", "cores", "workspace", "tiling data"]]
    for decision in decisions:
        numbers = _numbers(decision.fields)
        table.append(
            [
                decision.dtypes,
                decision.soc,
                mode_text(plan, decision.key),
                str(decision.cores),
                str(decision.workspace_bytes),
                ", ".join(
                    f"{k} {v:g}" if isinstance(v, float) else f"{k} {v}" for k, v in numbers.items()
                ),
            ]
        )
    return table_lines(table)


def _numbers(fields: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the numbers of tiling data that are not 0; those of a struct as ``name.field``."""
    numbers: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            numbers |= _numbers(value, f"{prefix}{name}.")
        elif value and not isinstance(value, list):
            numbers[f"{prefix}{name}"] = value
    return numbers


def mode_text(plan: OpPlan[Any], key: int) -> str:
    """Return the mode and the variant of a tiling key, or the key where the plan has no modes."""
    modes = {digit: mode for mode, digit in plan.modes.items()}
    variant, digit = divmod(key, 10)
    if digit not in modes or variant >= len(plan.variants):
        return f"key {key}"
    label = plan.variants[variant].label()
    return f"{modes[digit]} ({label})" if label else modes[digit]


def tilings_as_data(plan: OpPlan[Any], decisions: list[TilingDecision]) -> list[dict[str, Any]]:
    """Return tiling decisions as JSON-ready data."""
    return [{**asdict(d), "mode": mode_text(plan, d.key)} for d in decisions]
