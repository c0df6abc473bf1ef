"""Render the AscendC kernel and the tiling text of an op from its plan."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.render.absent_inputs import absent_types
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.render.program_text import ProgramText
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.schedule.elementwise import needs_slot, slot_order
from msopgen_wrap.schedule.plan import Body, OpPlan
from msopgen_wrap.schedule.program import COMPUTE_KIND, F32, I32, MASK, Scalar
from msopgen_wrap.spec.model import OpSpec, TensorParam
from msopgen_wrap.spec.taken_names import cpp_local
from msopgen_wrap.target_text import cpp_comment
from msopgen_wrap.templating import environment

# Types of AscendC that look like the type of a tensor: TBuf is not that of a tensor buf.
ASCENDC_TYPES = {"TBuf", "TBufHandle", "TBufPool", "TEventID", "TPipe", "TPosition", "TQue"}
ASCENDC_TYPES |= {"TQueBind", "TQueConfig", "TQueSync", "TSCM", "TTagType"}
# Tensors per list of a foreach op: their lengths travel as tiling data.
MAX_TENSORS = 256


@dataclass(frozen=True)
class KernelSources:
    """What the kernel renderers return.

    Attributes:
        files: the kernel and headers the op_host part includes.
        tiling: tiling struct and TilingFunc, for ``render_op_host``.
    """

    files: list[GeneratedFile]
    tiling: TilingText


def render_kernel(spec: OpSpec, plan: OpPlan, style: str = "8.1") -> KernelSources:
    """Render ``op_kernel/<op>.cpp`` and the tiling text.

    Args:
        spec: the op; must have a generated kernel.
        plan: its plan (``schedule.plan_op``).
        style: ``8.1`` or ``9.x`` project layout.
    """
    if plan.family == "row":
        from msopgen_wrap.render.row_kernel import render_row

        return render_row(spec, plan, style)
    from msopgen_wrap.render.tiling import host_headers, render_elementwise_tiling

    text = (
        environment("op_kernel")
        .get_template("elementwise.cpp.jinja")
        .render(kernel_values(spec, plan, style))
    )
    files = [GeneratedFile(f"op_kernel/{spec.name}.cpp", tidy(text)), *host_headers()]
    return KernelSources(files, render_elementwise_tiling(spec, plan, style))


def tidy(text: str) -> str:
    """Wrap argument lists that pass 100 columns and drop doubled blank lines."""
    lines: list[str] = []
    for line in text.splitlines():
        line = line.rstrip()
        if not line and lines and not lines[-1]:
            continue
        lines += wrap_line(line)
    return "\n".join(lines) + "\n"


def wrap_line(line: str, limit: int = 100) -> list[str]:
    """Break a long C++ line at a comma or operator outside strings, aligned after the bracket.

    A comment behind code comes before it.
    """
    code, comment = _trailing_comment(line)
    if len(line) > limit and comment:
        margin = " " * (len(line) - len(line.lstrip()))
        return [*wrap_line(f"{margin}{comment}", limit), *wrap_line(code, limit)]
    result = []
    hanging = len(line) - len(line.lstrip()) + 4
    while len(line) > limit:
        indent = len(line) - len(line.lstrip())
        if line.lstrip().startswith("//"):
            cut = line.rfind(" ", indent + 3, limit)
            prefix = " " * indent + "// "
        else:
            cut = _best_cut(line, indent, limit)
            bracket = _open_bracket(line[:cut])
            prefix = " " * (bracket + 1 if bracket is not None else hanging)
            if len(prefix) > 48:
                prefix = " " * hanging
        if cut <= indent or len(prefix) + len(line) - cut >= len(line):
            break
        result.append(line[:cut].rstrip())
        line = prefix + line[cut:].strip()
    return [*result, line]


def _trailing_comment(line: str) -> tuple[str, str]:
    """Return the code of a line and the comment behind it; no comment for a line that is one."""
    quoted = False
    for i, c in enumerate(line):
        if c == '"' and line[i - 1] != "\\":
            quoted = not quoted
        elif not quoted and line.startswith("//", i):
            code = line[:i].rstrip()
            return (code, line[i:]) if code else (line, "")
    return line, ""


def _best_cut(line: str, indent: int, limit: int) -> int:
    """Return the last good place to break: a comma outside <>, else a word, else a comma in <>."""
    comma = word = argument = 0
    quoted = False
    angles = 0
    for i, c in enumerate(line[:limit]):
        if c == '"' and line[i - 1] != "\\":
            quoted = not quoted
        if quoted:
            continue
        if c == "<" and line[i - 1] not in " <":
            angles += 1
        elif c == ">" and angles and line[i - 1] not in " -":
            angles -= 1
        elif c == "," and line[i + 1 : i + 2] == " ":
            if angles:
                argument = i + 1
            else:
                comma = i + 1
        elif c == " " and not angles and i > indent:
            word = i
    return comma if comma > indent + 8 else word or argument


def _open_bracket(text: str) -> int | None:
    stack: list[int] = []
    for i, c in enumerate(text):
        if c in "([":
            stack.append(i)
        elif c in ")]" and stack:
            stack.pop()
    return stack[-1] if stack else None


def kernel_args(spec: OpSpec) -> list[str]:
    """Return the GM arguments of the entry: inputs, then outputs that are not named like one."""
    names = [p.name for p in spec.inputs]
    return names + [f"{p.name}_ref" if p.name in names else p.name for p in spec.outputs]


def type_name(param: TensorParam, output: bool, spec: OpSpec) -> str:
    """Return the template parameter of a tensor's storage type: ``TX``."""
    base = "T" + "".join(w[:1].upper() + w[1:] for w in param.name.split("_"))
    if base in ASCENDC_TYPES:
        base += "Type"
    return f"{base}Out" if output and param.name in {p.name for p in spec.inputs} else base


def member_name(param: TensorParam, output: bool, spec: OpSpec) -> str:
    """Return the name members of a tensor start with; an in-place output gets ``Out``."""
    return (
        f"{param.name}Out"
        if output and param.name in {p.name for p in spec.inputs}
        else (param.name)
    )


@dataclass
class KernelText:
    """Template values of one kernel class."""

    name: str
    summary: str
    type_params: list[str]
    gm: list[dict[str, str]]
    operands: list[dict[str, str]]
    outputs: list[dict[str, str]]
    scalars: list[dict[str, str]]
    declarations: list[str]
    statements: list[str]
    slots: list[str]
    copies: int
    words: int
    masks: int
    bytes: bool
    counts: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)


def kernel_values(spec: OpSpec, plan: OpPlan, style: str) -> dict[str, Any]:
    """Return the values of ``elementwise.cpp.jinja``."""
    broadcast = has_broadcast(plan)
    names: dict[Scalar, str] = plan.details["scalar_names"]
    kernels = [kernel_text(spec, plan, body, names, broadcast) for body in plan.bodies]
    branches = dispatch(spec, plan, broadcast)
    return {
        "spec": spec,
        "style": style,
        "source": f"specs/{spec.name}.yaml",
        "doc": doc_lines(spec),
        "kernels": kernels,
        "broadcast": broadcast,
        "foreach": plan.family == "foreach",
        "max_tensors": MAX_TENSORS,
        "entry": kernel_args(spec),
        "dispatch": branches,
        "absent_types": absent_types(spec, " ".join(b["type"] for b in branches)),
    }


def doc_lines(spec: OpSpec) -> list[str]:
    """Return the head comment: the op, its doc and its compute."""
    lines = [f"{spec.op}: {spec.doc}".rstrip().rstrip(":")] if spec.doc else [spec.op]
    lines = [part for line in lines for part in line.splitlines()]
    if spec.compute is not None:
        code = spec.compute.text.strip().splitlines()
        lines += ["", *(f"    {c}".rstrip() for c in code)]
    return [cpp_comment(line) for line in lines]


def has_broadcast(plan: OpPlan) -> bool:
    """Whether any operand can differ in shape from the output."""
    views = plan.operands()
    stepped = any(v.steps for v in views.values())
    return plan.family == "elementwise" and (len(views) > 1 or stepped or plan.stretched)


def kernel_text(
    spec: OpSpec, plan: OpPlan, body: Body, names: dict[Scalar, str], broadcast: bool
) -> KernelText:
    """Return the values of one kernel class."""
    members = {p.name: member_name(p, True, spec) for p in spec.outputs}
    text = ProgramText(body, names, members)
    combo = body.combos[0]
    for place in body.placement.of.values():
        if place.role == "output":
            # int64 is written from int32 values
            kind = {**COMPUTE_KIND, "int64": I32}[_output(spec, place.name).dtypes[combo]]
            text.base_kinds[place] = kind
    statements = [part for line in text.render() for part in line.split("\n")]
    statements = [s for s in statements if s]
    operands = [
        {
            "name": name,
            "tensor": view.tensor,
            "type": type_name(spec.param(view.tensor), False, spec),
        }
        for name, view in body.operands.items()
    ]
    used = {o["tensor"] for o in operands}
    inputs = [p for p in spec.inputs if p.name in used]
    outputs = [
        {"name": member_name(p, True, spec), "type": type_name(p, True, spec)} for p in spec.outputs
    ]
    gm = [{"name": p.name, "type": type_name(p, False, spec)} for p in inputs] + outputs
    gm = [{**row, "argument": cpp_local(row["name"])} for row in gm]
    small = any(b.name == "bytes" for budget in body.budgets.values() for b in budget.buffers)
    return KernelText(
        body.class_name,
        summary(spec, plan, body),
        [g["type"] for g in gm],
        gm,
        operands,
        outputs,
        [
            {"name": name, "type": "float" if s.kind == F32 else "int32_t"}
            for name, s in body.program.scalars.items()
        ],
        declarations(spec, body, text, broadcast, small),
        statements,
        slots(spec, body, gm, small),
        body.buffers_in_flight(),
        body.placement.words,
        body.placement.masks,
        small,
        _counts(statements),
    )


def _counts(statements: list[str]) -> list[str]:
    """Declare the element counts that the statements name."""
    joined = "\n".join(statements)
    lines = []
    if re.search(r"(?<!part\.)\bcount\b", joined):
        lines.append("const uint32_t count = part.count;")
    if re.search(r"\blanes\b", joined):
        lines.append(
            "const uint32_t lanes = opgen::AlignLanes(part.count);"
            "  // comparisons work on whole repeats"
        )
    return lines


def _output(spec: OpSpec, name: str) -> TensorParam:
    return next(p for p in spec.outputs if p.name == name)


def summary(spec: OpSpec, plan: OpPlan, body: Body) -> str:
    """Return the comment above a kernel class."""
    params = list(spec.inputs) + list(spec.outputs)
    combos = []
    for combo in body.combos:
        dtypes = dict.fromkeys(p.dtypes[combo] for p in params)
        combos.append("/".join(dtypes))
    label = plan.variants[body.variant].label()
    return f"For {', '.join(dict.fromkeys(combos))}{': ' + label if label else ''}."


def _constant(name: str) -> str:
    return "k" + "".join(w[:1].upper() + w[1:] for w in name.split("_"))


def slots(spec: OpSpec, body: Body, gm: list[dict[str, str]], small: bool) -> list[str]:
    """Return the constexpr members that place working tiles in the scratch buffer."""
    lines = []
    first = f"{body.placement.words}"
    kinds = _kinds(spec, body)
    for role, name in slot_order(spec, body):
        param = spec.param(body.operands[name].tensor) if role == "input" else _output(spec, name)
        storage = type_name(param, role == "output", spec)
        cpp = kinds[role, name]
        prefix = _constant(name if role == "input" else member_name(param, True, spec))
        shared = body.placement.shared.get(name) if role == "output" else None
        if shared is not None:
            lines.append(f"uint32_t {prefix}Slot = {_constant(shared.name)}Slot")
            continue
        condition = f"!opgen::Same<{cpp}, {storage}>::value"
        if role == "input":
            condition = f"kBroadcast || {condition}"
        lines.append(f"uint32_t {prefix}Slot = {first}")
        lines.append(f"uint32_t {prefix}Slots = ({condition}) ? 1 : 0")
        first = f"{prefix}Slot + {prefix}Slots"
    lines.append(f"uint32_t kSlots = {first}")
    stages = [
        f"!opgen::Same<{kinds.get(('input', n), 'half')}, "
        f"{type_name(spec.param(v.tensor), False, spec)}>::value"
        for n, v in body.operands.items()
    ]
    lines.append(
        f"uint32_t kStages = kBroadcast && ({' || '.join(dict.fromkeys(stages))}) ? 1 : 0"
        if stages
        else "uint32_t kStages = 0"
    )
    if small:
        sizes = " || ".join(f"sizeof({t}) == 1" for t in dict.fromkeys(g["type"] for g in gm))
        lines.append(f"bool kBytes = {sizes}")
    return lines


def _kinds(spec: OpSpec, body: Body) -> dict[tuple[str, str], str]:
    combo = body.combos[0]
    kinds = {}
    for name, view in body.operands.items():
        kind = COMPUTE_KIND[spec.param(view.tensor).dtypes[combo]]
        if kind != MASK:
            kinds["input", name] = kind
    for param in spec.outputs:
        kind = {**COMPUTE_KIND, "int64": I32}[param.dtypes[combo]]
        if kind != MASK:
            kinds["output", param.name] = kind
    return kinds


def declarations(
    spec: OpSpec, body: Body, text: ProgramText, broadcast: bool, small: bool
) -> list[str]:
    """Return the working tiles of Compute."""
    lines = []
    statements = "\n".join(text.lines)
    if small:
        lines += [
            "LocalTensor<half> bytes;",
            "if constexpr (kBytes) {",
            "    bytes = bytesBuf.template Get<half>();",
            "}",
        ]
    else:
        lines.append("LocalTensor<half> bytes;  // only 8-bit tensors need it")
    names = {"stage": "float", "stageInt": "int32_t", "stageHalf": "half"}
    used = {n: c for n, c in names.items() if f", {n}, " in statements}
    if used:
        lines += [f"LocalTensor<{c}> {n};" for n, c in used.items()]
        lines.append("if constexpr (kStages > 0) {")
        for n, c in used.items():
            lines.append(
                f"    {n} = opgen::Slot<float>(scratch, kSlots, tileLength)"
                f".template ReinterpretCast<{c}>();"
            )
        lines.append("}")
    lines += [line for _, line in working_tiles(spec, body)]
    for slot in range(body.placement.words):
        lines.append(
            f"LocalTensor<float> tmp{slot} = opgen::Slot<float>(scratch, {slot}, tileLength);"
        )
    for slot in range(body.placement.masks):
        lines.append(
            f"LocalTensor<uint8_t> mask{slot} = maskBuf.template GetWithOffset<uint8_t>("
            f"tileLength / 8, {slot} * tileLength / 8);"
        )
    lines += [text.aliases[a] for a in sorted(text.aliases)]
    return lines


def working_tiles(spec: OpSpec, body: Body) -> list[tuple[str, str]]:
    """Return variable and declaration of the working tile of every operand and output."""
    kinds = _kinds(spec, body)
    tiles = []
    for role, name in slot_order(spec, body):
        if role == "input":
            member, flag = name, "kBroadcast"
        else:
            member, flag = member_name(_output(spec, name), True, spec), "false"
        variable = cpp_local(member)
        cpp = kinds[role, name]
        tiles.append(
            (
                variable,
                f"LocalTensor<{cpp}> {variable} = opgen::Working<{flag}, {cpp}>({member}Local, "
                f"scratch, {_constant(member)}Slot, tileLength, {member}Walk);",
            )
        )
    return tiles


def dispatch(spec: OpSpec, plan: OpPlan, broadcast: bool) -> list[dict[str, Any]]:
    """Return the branches of the entry: tiling key, kernel type, Init arguments."""
    branches = []
    modes = [("flat", 0)] + ([("broadcast", 1)] if broadcast else [])
    names = {p.name for p in spec.inputs}
    for index, variant in enumerate(plan.variants):
        bodies = [b for b in plan.bodies if b.variant == index]
        for mode, digit in modes:
            types = []
            for body in bodies:
                used = {v.tensor for v in body.operands.values()}
                params = [p for p in spec.inputs if p.name in used]
                args = [f"opgen::StorageOf<DTYPE_{p.name.upper()}>" for p in params]
                args += [f"opgen::StorageOf<DTYPE_{p.name.upper()}>" for p in spec.outputs]
                flag = "true" if mode == "broadcast" else "false"
                types.append(f"{spec.name}_kernel::{body.class_name}<{', '.join([*args, flag])}>")
            used = {v.tensor for v in bodies[0].operands.values()}
            actual = [p.name for p in spec.inputs if p.name in used]
            actual += [f"{p.name}_ref" if p.name in names else p.name for p in spec.outputs]
            branches.append(
                {
                    "key": 10 * index + digit,
                    "type": choose_type(spec, bodies, types),
                    "args": actual,
                    "note": ", ".join(t for t in (variant.label(), mode) if t),
                }
            )
    return branches


def choose_type(spec: OpSpec, bodies: list[Body], types: list[str]) -> str:
    """Return the kernel type of a variant; by dtype when several bodies serve it."""
    result = types[-1]
    for body, text in reversed(list(zip(bodies[:-1], types[:-1], strict=True))):
        condition = _dtype_condition(spec, bodies, body)
        result = f"typename opgen::Choose<{condition}, {text}, {result}>::Type"
    return result


def _dtype_condition(spec: OpSpec, bodies: list[Body], body: Body) -> str:
    """A constant expression true for the dtype combinations of a body."""
    from msopgen_wrap.schedule.program import CPP_TYPE

    params = [*spec.inputs, *spec.outputs]
    others = [c for b in bodies if b is not body for c in b.combos]
    for param in params:
        mine = dict.fromkeys(param.dtypes[c] for c in body.combos)
        if not any(param.dtypes[c] in mine for c in others):
            return " || ".join(
                f"opgen::Same<DTYPE_{param.name.upper()}, {CPP_TYPE[d]}>::value" for d in mine
            )
    alternatives = []
    for combo in body.combos:
        alternatives.append(
            "("
            + " && ".join(
                f"opgen::Same<DTYPE_{p.name.upper()}, {CPP_TYPE[p.dtypes[combo]]}>::value"
                for p in params
            )
            + ")"
        )
    return " || ".join(alternatives)


__all__ = ["I32", "KernelSources", "needs_slot", "render_kernel", "tidy"]
