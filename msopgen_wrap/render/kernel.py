"""What the kernel texts of all families share: names, arguments, types, absent inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.dtypes import computed_dtypes
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.schedule.kernel_classes import splits_elements
from msopgen_wrap.schedule.plan import AnyBody, Body, OpPlan
from msopgen_wrap.schedule.program import CPP_TYPE, F32
from msopgen_wrap.spec.model import OpSpec, ParamKind, TensorParam
from msopgen_wrap.spec.names import camel_case, macro_names
from msopgen_wrap.templating import cpp_comment

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
        tiling: tiling struct and TilingFunc, for ``render_op_host``; None for a handwritten kernel.
    """

    files: list[GeneratedFile]
    tiling: TilingText | None


@dataclass(frozen=True)
class KernelPart:
    """The kernel classes of one plan of several.

    Attributes:
        classes: C++ text of the classes.
        branches: per variant and mode: ``variant``, ``mode``, ``type``, ``args`` of Init, ``note``.
        workspace: whether Init takes workspace.
        cube: whether the classes run on the cube cores, but for branches that are ``vector``.
    """

    classes: str
    branches: list[dict[str, Any]]
    workspace: bool
    cube: bool = False


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


def doc_lines(spec: OpSpec) -> list[str]:
    """Return the head comment: the op, its doc and its compute."""
    lines = [f"{spec.op}: {spec.doc}".rstrip().rstrip(":")] if spec.doc else [spec.op]
    lines = [part for line in lines for part in line.splitlines()]
    if spec.compute is not None:
        code = spec.compute.text.strip().splitlines()
        if spec.differentiated:
            lines += ["", "What is differentiated:"]
        lines += ["", *(f"    {c}".rstrip() for c in code)]
    return [cpp_comment(line) for line in lines]


def storage_type(param: TensorParam, spec: OpSpec | None = None) -> str:
    """Return the C++ type that a kernel of the entry stores a tensor in.

    Args:
        spec: the op, for temporaries that have the dtypes of an input.
    """
    if spec is not None and len(set(param.dtypes)) > 1 and param.site is not None:
        like = like_input(spec, param.dtypes)
        kind = "StorageOf" if like.dtypes == param.dtypes else "ComputedOf"
        return f"opgen::{kind}<DTYPE_{like.name.upper()}>"
    if param.site is None:
        return f"opgen::StorageOf<DTYPE_{param.tensor.upper()}>"
    cpp = CPP_TYPE[param.dtypes[0]]
    return f"opgen::StorageOf<{cpp}>" if cpp == "bool" else cpp


def like_input(spec: OpSpec, dtypes: tuple[str, ...]) -> TensorParam:
    """Return the input of a call that has the dtypes of a temporary, or is computed in them."""
    inputs = [p for p in (spec.whole or spec).inputs if p.site is None]
    inputs.sort(key=lambda p: p.kind is ParamKind.OPTIONAL)  # it may be absent
    same = (p for p in inputs if p.dtypes == dtypes)
    return next(same, None) or next(p for p in inputs if computed_dtypes(p.dtypes) == dtypes)


def output_param(spec: OpSpec, name: str) -> TensorParam:
    """Return an output by its name; an input may have the same."""
    return next(p for p in spec.outputs if p.name == name)


def summary(spec: OpSpec, plan: OpPlan, body: Body) -> str:
    """Return the comment above a kernel class."""
    params = [p for p in (*spec.inputs, *spec.outputs) if p.site is None]
    combos = []
    for combo in body.combos:
        dtypes = dict.fromkeys(p.dtypes[combo] for p in params)
        combos.append("/".join(dtypes))
    shared = sum(other.class_name == body.class_name for other in plan.bodies) > 1
    label = "" if shared else plan.variants[body.variant].label()
    return f"For {', '.join(dict.fromkeys(combos))}{': ' + label if label else ''}."


def class_bodies(plan: OpPlan[AnyBody]) -> list[AnyBody]:
    """Return one body of each kernel class: variants may share a class."""
    return list({body.class_name: body for body in reversed(plan.bodies)}.values())[::-1]


def constant(name: str) -> str:
    """Return the name that constants of a tensor start with: ``kX``."""
    return "k" + "".join(w[:1].upper() + w[1:] for w in name.split("_"))


def mask_tile(name: str, buffer: str, length: str, slot: int, slots: int) -> str:
    """Return the declaration of a bit mask: a slot of a buffer, each of ``length`` bits."""
    bits = "" if slots == 1 else f"{length} / 8, {f'{slot} * ' if slot != 1 else ''}{length} / 8"
    if slots > 1 and slot == 0:
        bits = f"{length} / 8, 0"
    call = "GetWithOffset" if bits else "Get"
    return f"LocalTensor<uint8_t> {name} = {buffer}.template {call}<uint8_t>({bits});"


def entry_branches(plan: OpPlan[Any], modes: dict[str, int], flagged: str) -> list[dict[str, Any]]:
    """Return the branches of the entry: tiling key, kernel type, Init arguments.

    Args:
        plan: the plan.
        modes: the modes that calls can reach, and the last digit of the tiling key of each.
        flagged: the mode in which the last template argument of the kernel class is true; empty for
            a class without such an argument.
    """
    spec, branches = plan.spec, []
    names = {p.name for p in spec.inputs}
    for index in plan.served:
        variant = plan.variants[index]
        bodies = [b for b in plan.bodies if b.variant == index]
        read = _tensors_read(bodies[0])
        args = [p.name for p in spec.inputs if p.name in read]
        args += [f"{p.name}_ref" if p.name in names else p.name for p in spec.outputs]
        for mode, digit in modes.items():
            flags = ["true" if mode == flagged else "false"] if flagged else []
            types = [class_type(spec, body, flags) for body in bodies]
            branches.append(
                {
                    "key": 10 * index + digit,
                    "variant": index,
                    "mode": digit,
                    "type": _choose_type(spec, bodies, types),
                    "args": args,
                    "note": ", ".join(t for t in (variant.label(), mode) if t),
                }
            )
    return branches


def _tensors_read(body: Body) -> set[str]:
    return {view.tensor for view in body.operands.values()}


def class_type(
    spec: OpSpec, body: Body, flags: Sequence[str] = (), results: Sequence[str] = ()
) -> str:
    """Return the kernel class with the storage types of a call.

    Args:
        spec: the op.
        body: the class.
        flags: its last template arguments.
        results: C++ types of the outputs; by default those that they are stored in.
    """
    read = _tensors_read(body)
    types = [storage_type(p, spec) for p in spec.inputs if p.name in read]
    types += results or [storage_type(p, spec) for p in spec.outputs]
    if splits_elements(spec, body):
        types = [f"opgen::PartOf<{t}>" for t in types]
    return f"{spec.name}_kernel::{body.class_name}<{', '.join([*types, *flags])}>"


def _choose_type(spec: OpSpec, bodies: Sequence[Body], types: list[str]) -> str:
    """Return the kernel type of a variant; by dtype when several bodies serve it."""
    result = types[-1]
    for body, text in reversed(list(zip(bodies[:-1], types[:-1], strict=True))):
        condition = _dtype_condition(spec, bodies, body)
        result = f"opgen::Choose<{condition}, {text}, {result}>::Type"
    return result


def _dtype_condition(spec: OpSpec, bodies: Sequence[Body], body: Body) -> str:
    """A constant expression true for the dtype combinations of a body."""
    params = [p for p in (*spec.inputs, *spec.outputs) if p.site is None]
    others = [c for b in bodies if b is not body for c in b.combos]
    for param in params:
        mine = dict.fromkeys(param.dtypes[c] for c in body.combos)
        if not any(param.dtypes[c] in mine for c in others):
            return " || ".join(
                f"opgen::Same<DTYPE_{param.tensor.upper()}, {CPP_TYPE[d]}>::value" for d in mine
            )
    alternatives = []
    for combo in body.combos:
        alternatives.append(
            "("
            + " && ".join(
                f"opgen::Same<DTYPE_{p.tensor.upper()}, {CPP_TYPE[p.dtypes[combo]]}>::value"
                for p in params
            )
            + ")"
        )
    return " || ".join(alternatives)


ALWAYS = "true"


def bytes_condition(body: Body, types: Iterable[str]) -> str:
    """Return when a kernel class has the tile: empty for never, ``ALWAYS``, or a C++ condition.

    Args:
        body: the body of the class.
        types: the storage types that are its template parameters.
    """
    with_tile = {
        combo
        for (combo, _), budget in body.budgets.items()
        if any(buffer.name == "bytes" for buffer in budget.buffers)
    }
    if not with_tile:
        return ""
    if with_tile >= set(body.combos):
        return ALWAYS
    return " || ".join(f"sizeof({name}) == 1" for name in dict.fromkeys(types))


def bytes_lines(condition: str) -> list[str]:
    """Return the declaration of the tile as ``bytes``; without memory where a class has none."""
    tile = "bytesBuf.template Get<half>()"
    if condition == ALWAYS:
        return [f"LocalTensor<half> bytes = {tile};"]
    lines = ["LocalTensor<half> bytes;"]
    if condition:
        lines += ["if constexpr (kBytes) {", f"    bytes = {tile};", "}"]
    return lines


@dataclass(kw_only=True)
class KernelClass:
    """Template values that kernel classes have in every family.

    Attributes:
        name, summary: the name of the class, and what it computes.
        gm: its tensors in global memory.
        operands, outputs: what it loads and stores.
        indices: numbers that follow from the index.
        scalars: numbers of the tiling struct.
        masks: how many mask tiles it has.
        bytes: the condition in C++ under which it has the half tile, empty for never.
    """

    name: str
    summary: str
    gm: list[dict[str, str]]
    operands: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    indices: list[str]
    scalars: list[dict[str, str]]
    masks: int
    bytes: str

    @property
    def type_params(self) -> list[str]:
        """The template parameters: the storage types."""
        return [g["type"] for g in self.gm]


def class_values(
    spec: OpSpec,
    plan: OpPlan[Any],
    body: Body,
    gm: list[dict[str, Any]],
    operands: list[dict[str, Any]],
    outputs: list[dict[str, Any]],
) -> dict[str, Any]:
    """Return the fields of ``KernelClass`` for a body."""
    return {
        "name": body.class_name,
        "summary": summary(spec, plan, body),
        "gm": gm,
        "operands": operands,
        "outputs": outputs,
        "indices": list(body.indices),
        "scalars": [
            {"name": name, "type": "float" if s.kind == F32 else "int32_t"}
            for name, s in body.program.scalars.items()
        ],
        "masks": body.placement.masks,
        "bytes": bytes_condition(body, [str(g["type"]) for g in gm]),
    }


def absent_types(spec: OpSpec, text: str) -> list[str]:
    """Return preprocessor lines that define every ``DTYPE_X`` of an optional input in ``text``.

    The type is that of the op's first dtype combination which has the dtypes of the tensors that
    are there, so that the kernel compiles for every choice of absent inputs.

    Args:
        text: the C++ that follows.
    """
    params = [p for p in (*spec.inputs, *spec.outputs) if p.site is None]
    macros = dict(zip(params, macro_names([p.name for p in params]), strict=True))
    optional = [
        p
        for p in spec.inputs
        if p.kind is ParamKind.OPTIONAL and f"DTYPE_{macros[p]}>" in _spaced(text)
    ]
    known = [p for p in params if p.kind is not ParamKind.OPTIONAL]
    writer = _Writer(spec, macros)
    lines: list[str] = []
    for index, param in enumerate(optional):
        lines.append(f"#ifndef DTYPE_{macros[param]}")
        lines += writer.define(param, known, optional[index + 1 :])
        lines.append("#endif")
        known.append(param)
    return lines


def _spaced(text: str) -> str:
    """Return ``text`` with ``>`` behind every macro, so that ``DTYPE_X`` is not in ``DTYPE_X2``."""
    return text.replace(",", ">").replace(" ", ">")


class _Writer:
    def __init__(self, spec: OpSpec, macros: dict[TensorParam, str]) -> None:
        self.rows = range(spec.combos)
        self.macros = macros

    def define(
        self, param: TensorParam, known: Sequence[TensorParam], later: Sequence[TensorParam]
    ) -> list[str]:
        """Return the ``#define`` of ``param``.

        Args:
            known: parameters whose macros are defined here.
            later: optional inputs that may be defined.
        """
        types: dict[tuple[str, ...], set[str]] = {}
        for row in self.rows:
            key = tuple(p.dtypes[row] for p in known)
            types.setdefault(key, set()).add(param.dtypes[row])
        if later and any(len(found) > 1 for found in types.values()):
            first, *rest = later
            return [
                f"#ifdef DTYPE_{self.macros[first]}",
                *self.define(param, [*known, first], rest),
                "#else",
                *self.define(param, known, rest),
                "#endif",
            ]
        macro, text = f"DTYPE_{self.macros[param]}", self.type_of(param, known)
        if "Choose" not in text:
            return [f"#define {macro} {text}"]
        alias = f"TypeOf{camel_case(param.name)}"
        return [f"using {alias} = {text};", f"#define {macro} {alias}"]

    def type_of(self, param: TensorParam, known: Sequence[TensorParam]) -> str:
        """Return the C++ type of ``param``, given the dtypes of ``known``."""
        if len(set(param.dtypes)) == 1:
            return CPP_TYPE[param.dtypes[0]]
        for other in known:
            if other.dtypes == param.dtypes:
                return f"DTYPE_{self.macros[other]}"
        result = ""
        seen: dict[tuple[str, ...], str] = {}
        for row in self.rows:
            seen.setdefault(tuple(p.dtypes[row] for p in known), param.dtypes[row])
        telling = [i for i, p in enumerate(known) if len(set(p.dtypes)) > 1]
        for key, dtype in reversed(seen.items()):
            if not result:
                result = CPP_TYPE[dtype]
                continue
            condition = " && ".join(
                f"opgen::Same<DTYPE_{self.macros[known[i]]}, {CPP_TYPE[key[i]]}>::value"
                for i in telling
            )
            result = f"opgen::Choose<{condition}, {CPP_TYPE[dtype]}, {result}>::Type"
        return result
