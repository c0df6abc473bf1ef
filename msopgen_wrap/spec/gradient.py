"""The gradient of an op as an op of its own (``backward: kernel``): its spec, as text.

The spec of the gradient has ``gradient_of``, the formula of the forward op, in place of
``compute``. PyTorch differentiates it (``spec.differentiation``); nothing is differentiated here.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import yaml

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.spec.asked_gradients import (
    asked_name,
    asked_shape,
    asked_subsets,
)
from msopgen_wrap.spec.findings import listed
from msopgen_wrap.spec.index_arguments import is_index_only
from msopgen_wrap.spec.kept_axes import keepdim_attrs, with_kept_axes
from msopgen_wrap.spec.model import (
    Attr,
    Case,
    DimOf,
    DimSlice,
    OpSpec,
    ParamKind,
    ShapeBroadcast,
    ShapeLike,
    ShapeList,
    ShapeReduce,
    TensorParam,
    Tolerance,
)
from msopgen_wrap.spec.saved_outputs import SAVED
from msopgen_wrap.spec.shapes import ShapeError, broadcast_shapes, evaluate, format_shape
from msopgen_wrap.spec.written_gradients import written_formula

FLOATS = frozenset({"float16", "bfloat16", "float32"})
PREFIX = "grad_"
REFERENCE = "write 'backward: reference': PyTorch then differentiates compute when backward runs"


def gradient_name(spec: OpSpec) -> str:
    """Return the snake_case name of the op that computes the gradients of ``spec``."""
    return f"{spec.name}_grad"


def gradient_inputs(spec: OpSpec) -> tuple[str, ...]:
    """Return the inputs that have a gradient in every combination of dtypes that has one."""
    combos = _float_combos(spec)
    floats = (p.name for p in spec.inputs if all(p.dtypes[i] in FLOATS for i in combos))
    return tuple(name for name in floats if not spec.written or name in spec.written)


def gradient_outputs(spec: OpSpec) -> tuple[str, ...]:
    """Return the outputs whose gradients the op of the gradients needs."""
    combos = _float_combos(spec)
    return tuple(p.name for p in spec.outputs if all(p.dtypes[i] in FLOATS for i in combos))


def broadcast_inputs(spec: OpSpec) -> tuple[str, ...]:
    """Return the inputs that an output broadcasts: the op of the gradients has them of one shape.

    The caller brings them to it, and sums the gradients to the shapes that they had.
    """
    for output in spec.outputs:
        if isinstance(output.shape, ShapeBroadcast):
            return output.shape.tensors
    return ()


def kept_outputs(spec: OpSpec) -> dict[str, ShapeReduce]:
    """Return the outputs whose gradients have the axes that the op drops, with size 1.

    Which axes these are is an attr of the call; so the op of the gradients reads what lines up
    with its inputs for every value. The caller gives the gradient that shape, which is a view.
    """
    found = {}
    keeps = {True, *keepdim_attrs(spec)}
    for name in () if spec.written else gradient_outputs(spec):
        rule = spec.param(name).shape
        if isinstance(rule, ShapeReduce) and isinstance(rule.dims, str) and rule.keepdim in keeps:
            found[name] = replace(rule, keepdim=True)
    return found


def gradient_attrs(spec: OpSpec) -> tuple[Attr, ...]:
    """Return the attrs of the op that the op of the gradients has, too."""
    dropped = () if spec.written else keepdim_attrs(spec)
    return tuple(a for a in spec.attrs if a.name not in dropped)


def gradient_subsets(spec: OpSpec) -> dict[str, tuple[str, ...]]:
    """Return which gradients a call of the op of the gradients may ask for (``asked_subsets``)."""
    targets, arriving = gradient_inputs(spec), gradient_outputs(spec)
    return asked_subsets(targets, arriving, gradient_attrs(spec), spec)


def _float_combos(spec: OpSpec) -> list[int]:
    """Return the combinations of dtypes where something can be differentiated."""
    return [
        i
        for i in range(spec.combos)
        if any(p.dtypes[i] in FLOATS for p in spec.inputs)
        and any(p.dtypes[i] in FLOATS for p in spec.outputs)
    ]


def not_a_kernel(spec: OpSpec, why: str, fix: str = REFERENCE) -> Diagnostic:
    """Return OPG050 for an op that has no op of its gradients."""
    place = spec.compute.location if spec.compute else spec.outputs[0].location
    return Diagnostic("OPG050", "backward cannot be a kernel", place, why, fix)


def _unlike_inputs(spec: OpSpec) -> set[str]:
    """Return the inputs that no call broadcasts to each other, as matrices that are multiplied.

    A case gives any two of them shapes that cannot be broadcast. Of those whose sizes a rule of an
    output lists, one case tells for all.
    """
    rules = [p.shape for p in spec.outputs if isinstance(p.shape, ShapeList)]
    items = [item for rule in rules for item in rule.items]
    sized = {item.tensor for item in items if isinstance(item, (DimOf, DimSlice))}
    sized -= {p.name for p in spec.inputs if p.kind is ParamKind.DYNAMIC}
    free = {p.name for p in spec.inputs if p.shape is None and p.kind is not ParamKind.DYNAMIC}
    found = sized if _differ_in_a_case(spec, sized) else set()
    pairs = list(combinations(sorted(free), 2))
    if pairs and all(_differ_in_a_case(spec, pair) for pair in pairs):
        found |= free
    return found


def _differ_in_a_case(spec: OpSpec, names: Collection[str]) -> bool:
    """Whether a case gives inputs shapes that cannot be broadcast."""
    for case in spec.cases:
        try:
            broadcast_shapes([case.shapes[name] for name in names if case.shapes.get(name)])
        except ShapeError:
            return True
    return False


def gradient_problem(spec: OpSpec) -> tuple[str, str]:
    """Return why there is no op of the gradients, and what to do; two empty texts if there is."""
    targets = gradient_inputs(spec)
    if not targets or not gradient_outputs(spec):
        return (
            "no input and output are floating point in the same combinations of dtypes",
            REFERENCE,
        )
    together = broadcast_inputs(spec)
    if together and spec.param(together[0]).kind is ParamKind.OPTIONAL:
        return (
            f"the others are brought to the shape of '{together[0]}', which is optional",
            "name an input first that is always given",
        )
    related = {*together, *_unlike_inputs(spec)}
    loose = [
        p.name
        for p in spec.inputs
        if p.shape is None
        and p.name not in related
        and (p.name in targets or not _keeps_shapes(spec, p.name, targets))
    ]
    if len(loose) > 1 or (loose and together):
        every = listed([p.name for p in spec.inputs if p.shape is None])
        return (
            f"inputs {every} have any shape, so the shapes of their gradients are not known",
            f"say how they relate: 'shape: like {spec.inputs[0].name}', sizes such as "
            f"'shape: [{spec.inputs[0].name}[-1]]' for '{loose[-1]}', an output "
            f"'broadcast({spec.inputs[0].name}, {loose[-1]})', or a case with shapes that cannot "
            "be broadcast, if no call may broadcast them",
        )
    return "", ""


def _keeps_shapes(spec: OpSpec, name: str, targets: tuple[str, ...]) -> bool:
    """Whether an input without gradient cannot broadcast one that has a gradient.

    A gradient would then be a sum over the axes that the input has more, at shapes that only the
    call knows.
    """
    if _names_axes(spec, name) or (spec.compute and is_index_only(spec.compute, name)):
        return True
    rules = [p.shape for p in spec.outputs]
    return all(isinstance(rule, ShapeLike) and rule.tensor in targets for rule in rules)


def _names_axes(spec: OpSpec, name: str) -> bool:
    """Whether all outputs have axes of their own that are those of an input, as indices give."""
    return all(
        isinstance(rule := p.shape, ShapeList)
        and any(getattr(item, "tensor", None) == name for item in rule.items)
        for p in spec.outputs
    )


def gradient_text(spec: OpSpec, *, choosing: bool = True) -> str:
    """Return the spec of the op that computes the gradients of ``spec``, as YAML.

    Args:
        choosing: whether a call may ask for some of them (``gradient_subsets``).

    Raises:
        OpgenError: OPG050 where there is none (``gradient_problem``).
    """
    why, fix = gradient_problem(spec)
    if why:
        raise OpgenError(not_a_kernel(spec, why, fix))
    combos = _float_combos(spec)
    subsets = gradient_subsets(spec) if choosing else {}
    together, kept = broadcast_inputs(spec), kept_outputs(spec)
    inputs = {p.name: _input_row(p, combos, together) for p in spec.inputs}
    for name in gradient_outputs(spec):
        param = spec.param(name)
        shape = f"like {together[0]}" if together else param.shape_text
        shape = format_shape(kept[name]) if name in kept else shape
        inputs[f"{PREFIX}{name}"] = {**_row(param, combos), "shape": shape}
    for name in spec.save:
        param = spec.param(name)
        shape = f"like {together[0]}" if together else param.shape_text
        # Tests draw it apart from the inputs: large values would make sums that cancel.
        inputs[f"{SAVED}{name}"] = {**_row(param, combos), "shape": shape, "range": [0.5, 2.0]}
    outputs = {
        f"{PREFIX}{name}": {
            **_row(spec.param(name), combos),
            "shape": asked_shape(asked_name(spec), name, _gradient_shape(spec, name), subsets),
        }
        for name in gradient_inputs(spec)
    }
    lines = [
        f"# The gradient of {spec.op}, derived from its spec by opgen; a formula of your own may",
        "# take its place: `compute:` over the same inputs and outputs.",
        f"op: {spec.op}Grad",
        f"doc: Gradients of {spec.op}.",
        *_mapping("inputs", inputs),
        *_mapping("outputs", outputs),
    ]
    attrs = {a.name: _attr(a) for a in gradient_attrs(spec)}
    if subsets:
        values = list(subsets)
        attrs[asked_name(spec)] = {"type": "str", "default": values[0], "allowed": values}
    if attrs:
        lines += _mapping("attrs", attrs)
    lines += _formula(spec, subsets)
    lines.append("backward: none")
    if not spec.deterministic:
        lines.append("deterministic: false")
    if spec.hf32:
        lines.append("hf32: true")
    lines.append(_flow("soc", list(spec.soc)))
    lines.append(_flow("tolerance", _tolerance(spec, combos) or dict.fromkeys(outputs, "mixed")))
    cases = [case for case in (_case(spec, c, combos) for c in spec.cases) if case]
    if cases:
        lines += ["cases:", *(f"  - {_inline(case)}" for case in cases)]
    return "\n".join(lines) + "\n"


def _tolerance(spec: OpSpec, combos: list[int]) -> dict[str, Any]:
    """Return what judges gradients by dtype, empty where the spec says nothing by dtype.

    Who finds that a formula amplifies roundings says so of a dtype, and of its derivative as well.
    """
    names = gradient_inputs(spec)
    dtypes = dict.fromkeys(spec.param(name).dtypes[i] for name in names for i in combos)
    if not any(dtype in spec.tolerance for dtype in dtypes):
        return {}
    return {dtype: _rule(spec.tolerance.get(dtype)) for dtype in dtypes}


def _rule(own: Tolerance | None) -> Any:
    """Return a tolerance as a spec writes it; gradients have no tighter rule than ``mixed``."""
    keys = ("rtol", "atol", "cap")
    numbers = {k: v for k in keys if own and (v := getattr(own, k)) is not None}
    return numbers or "mixed"


def _gradient_shape(spec: OpSpec, name: str) -> str:
    """Return the shape rule of a gradient: that of its input, one number where that is absent."""
    optional = spec.param(name).kind is ParamKind.OPTIONAL
    return f"broadcast({name})" if optional else f"like {name}"


def _inline(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**6)
    return text.removesuffix("\n").removesuffix("...").removesuffix("\n")


def _flow(key: str, value: Any) -> str:
    return f"{key}: {_inline(value)}"


def _mapping(key: str, rows: Mapping[str, dict[str, Any]]) -> list[str]:
    return [f"{key}:", *(f"  {_flow(name, value)}" for name, value in rows.items())]


def _row(p: TensorParam, combos: list[int]) -> dict[str, Any]:
    """Return what inputs and outputs say alike: the dtypes, and whether it is a list."""
    row: dict[str, Any] = {"dtype": [p.dtypes[i] for i in combos]}
    if p.kind is ParamKind.DYNAMIC:
        row["list"] = True
    return row


def _input_row(p: TensorParam, combos: list[int], together: tuple[str, ...]) -> dict[str, Any]:
    row = _row(p, combos)
    if p.kind is ParamKind.OPTIONAL:
        row["optional"] = True
    if p.default is not None:
        row["default"] = p.default
    if p.shape is not None:
        row["shape"] = p.shape_text
    elif p.name in together[1:]:
        row["shape"] = f"like {together[0]}"
    elif (p.min_rank, p.max_rank) != (0, 8):
        row["rank"] = p.min_rank if p.min_rank == p.max_rank else [p.min_rank, p.max_rank]
    if p.low is not None and p.high is not None:
        row["range"] = [p.low, p.high]
    return row


def _attr(attr: Attr) -> dict[str, Any]:
    row: dict[str, Any] = {"type": attr.type}
    if not attr.required:
        row["default"] = _plain(attr.default)
    if attr.allowed is not None:
        row["allowed"] = _plain(attr.allowed)
    for key, bound in (("min", attr.minimum), ("max", attr.maximum)):
        if bound is not None:
            row[key] = bound
    return row


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _formula(spec: OpSpec, subsets: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return ``gradient_of``: statements that assign the outputs of the forward op.

    Formulas that the spec writes are ``compute``.
    """
    assert spec.compute is not None
    text = spec.compute.text.strip("\n")
    text = text if spec.written else with_kept_axes(spec, text)
    text = _assigned(text, ", ".join(p.name for p in spec.outputs))
    key = "compute" if spec.written else "gradient_of"
    if spec.written:
        text = written_formula(spec, text, asked_name(spec), subsets)
    return [f"{key}: |", *(f"  {line}".rstrip() for line in text.split("\n"))]


def _assigned(text: str, names: str) -> str:
    """Return statements of which the last one, where it is an expression, is assigned to names."""
    text = textwrap.dedent(text).strip("\n")
    last = ast.parse(text).body[-1]
    if not isinstance(last, ast.Expr):
        return text
    data = text.encode()  # columns count bytes
    lines = data.split(b"\n")[: last.lineno - 1]
    begin = sum(len(line) + 1 for line in lines) + last.col_offset
    before, value = data[:begin].decode(), data[begin:].decode()
    assigned = f"{names} = (\n{value}\n)" if "\n" in value.strip() else f"{names} = {value}"
    return before + assigned.rstrip()


def _case(spec: OpSpec, case: Case, combos: list[int]) -> dict[str, Any] | None:
    """Return a case of the forward op as one of the gradient; None where none is left of it."""
    dtypes = None if case.dtypes is None else [i for i in case.dtypes if i in combos]
    if dtypes == []:
        return None
    shapes: dict[str, Any] = dict(case.shapes)
    attrs = spec.default_attrs | dict(case.attrs)
    together = broadcast_inputs(spec)
    try:
        if together:
            whole = broadcast_shapes([shapes[n] for n in together if shapes.get(n) is not None])
            shapes.update({n: whole for n in together if shapes.get(n) is not None})
        for name in gradient_outputs(spec):
            rule = kept_outputs(spec).get(name) or spec.param(name).shape
            assert rule is not None
            shapes[f"{PREFIX}{name}"] = evaluate(rule, shapes, attrs)
        for name in spec.save:
            rule = spec.param(name).shape
            assert rule is not None
            shapes[f"{SAVED}{name}"] = evaluate(rule, shapes, attrs)
    except ShapeError:
        return None
    row = {name: _sizes(shape) for name, shape in shapes.items()}
    dropped = () if spec.written else keepdim_attrs(spec)
    row.update({name: _plain(v) for name, v in case.attrs.items() if name not in dropped})
    if dtypes is not None:
        row["dtype"] = [spec.inputs[0].dtypes[i] for i in dtypes]
    return row


def _sizes(shape: Any) -> Any:
    if shape is None:
        return None
    return [_sizes(s) for s in shape] if shape and not isinstance(shape[0], int) else list(shape)
