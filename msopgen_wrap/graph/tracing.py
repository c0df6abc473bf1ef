"""Trace ``compute`` to a core ATen graph with symbolic sizes and symbolic attrs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.decompositions import reduction_decompositions
from msopgen_wrap.graph.sample import candidate_shapes, count_attrs, sample_attrs
from msopgen_wrap.graph.scalars import (
    AttrRef,
    Record,
    ScalarExpr,
    StructureError,
    TracedInt,
    wrap,
)
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.spec.model import OpSpec, ParamKind
from msopgen_wrap.torch_ext.torch_import import torch

Graph = torch.fx.Graph
Node = torch.fx.Node

# Half-precision tensors are traced as float32: that is what the kernel computes in, and the
# casts that decompositions would add around them disappear.
_COMPUTE_DTYPE = {"float16": "float32", "bfloat16": "float32"}

# Two sets of unlikely values; a constant that changes between traces must be an attr expression.
_FLOAT_SEEDS = ((0.8414709848, 0.0371094301), (0.6535897932, 0.0518281828))
_INT_SEEDS = ((104729, 31), (130363, 37))


@dataclass
class TracedGraph:
    """One traced variant.

    Attributes:
        graph: fx graph of core ATen calls; placeholders are the tensor inputs only.
        inputs: placeholder name -> spec input name (dynamic inputs: their single sample tensor).
        outputs: spec output name -> node (or a Python number).
        record: looks up the attr expression behind a constant.
        shapes: the sample shapes by input name.
        structural: int and list attrs that shaped the graph, with the sample value used.
        dtypes: traced (compute) dtype by input name.
    """

    graph: Graph
    inputs: dict[str, str]
    outputs: dict[str, Any]
    record: Record
    shapes: dict[str, Any]
    variant: Variant
    structural: dict[str, Any] = field(default_factory=dict)
    dtypes: dict[str, str] = field(default_factory=dict)


def compute_function(spec: OpSpec) -> Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]:
    """Return ``compute`` as ``f(inputs, attrs) -> outputs`` (guarded, no builtins)."""
    from msopgen_wrap.spec.compute_guard import compile_compute

    return compile_compute(spec, wrap_errors=False)


@functools.lru_cache(maxsize=1)
def decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the decomposition table: core ATen, plus normalisations and losses."""
    from torch._decomp import core_aten_decompositions, get_decompositions

    aten = torch.ops.aten
    table = dict(core_aten_decompositions())
    # Lowered directly: their decompositions are longer or less accurate than one instruction.
    for op in (aten.lerp.Scalar, aten.lerp.Tensor, aten.sigmoid.default, aten.tanh.default):
        table.pop(op, None)
    extra = [
        aten._softmax,
        aten._log_softmax,
        aten._fused_rms_norm,
        aten.elu,
        aten.leaky_relu,
        aten.hardtanh,
        aten.softplus,
        aten.mse_loss,
        aten.smooth_l1_loss,
        aten.huber_loss,
        aten.elu_backward,
        aten.gelu_backward,
        aten.sigmoid_backward,
        aten.tanh_backward,
        aten.threshold,
        aten.threshold_backward,
        aten.celu,
        aten.selu,
        aten.logit,
        aten.rsub,
        aten.xlogy,
        aten.nan_to_num,
        aten.linalg_vector_norm,
    ]
    table.update(get_decompositions([op for op in extra if op is not None]))
    table.update(reduction_decompositions())
    return table


def trace(
    spec: OpSpec, variant: Variant, combo: int = 0, samples: dict[str, Any] | None = None
) -> TracedGraph:
    """Trace one variant of ``compute`` for dtype combination ``combo``.

    Args:
        samples: values to take for structural attrs instead of their defaults.

    Raises:
        OpgenError: OPG201 when ``compute`` fails on every sample shape, OPG202 when an attr
            without ``allowed`` values decides the structure of the graph.
    """
    failure: Exception | None = None
    for shapes in candidate_shapes(spec):
        try:
            return _trace_at(spec, variant, combo, shapes, samples or {})
        except OpgenError:
            raise
        except Exception as error:
            failure = failure or error
    raise OpgenError(_trace_failure(spec, failure))


def _trace_failure(spec: OpSpec, failure: Exception | None) -> Diagnostic:
    assert spec.compute is not None
    text = str(failure).strip().splitlines()[0] if failure and str(failure).strip() else ""
    return Diagnostic(
        "OPG201",
        f"compute of {spec.op} cannot be traced: {text or type(failure).__name__}",
        spec.compute.location,
        "it is run on sample tensors of every accepted rank and on the shapes of `cases`",
        "give input `rank`/`shape` rules or a case whose shapes compute accepts",
    )


def _trace_at(
    spec: OpSpec,
    variant: Variant,
    combo: int,
    shapes: dict[str, Any],
    chosen: dict[str, Any],
) -> TracedGraph:
    structural: dict[str, Any] = {}
    closed = {name for name, _ in variant.attrs}
    open_attrs = [a for a in spec.attrs if a.name not in closed]
    samples = {**sample_attrs(spec), **chosen}
    # lists are structural (their length is), so are strings without a closed set
    for attr in open_attrs:
        if attr.type in ("str", "list_int"):
            structural[attr.name] = samples[attr.name]
    while True:
        try:
            first = _trace_once(spec, variant, combo, shapes, structural, 0)
            second = _trace_once(spec, variant, combo, shapes, structural, 1)
            break
        except StructureError as error:
            attr = spec.attr(error.name)
            if attr.type != "int" or error.name in structural:
                raise OpgenError(_structure_diagnostic(spec, error.name)) from None
            structural[error.name] = samples[error.name]
        except (IndexError, RuntimeError, TypeError, ValueError):
            # A traced int used as a dimension is out of range: take sample values for all ints.
            ints = [a.name for a in open_attrs if a.type == "int" and a.name not in structural]
            if not ints:
                raise
            structural.update({name: samples[name] for name in ints})
    _compare_traces(spec, first, second)
    first.structural = structural
    return first


def _structure_diagnostic(spec: OpSpec, name: str) -> Diagnostic:
    return Diagnostic(
        "OPG202",
        f"the value of attr {name!r} decides which operations compute runs",
        spec.attr(name).location,
        "an attr without a closed set of values travels as tiling data, so the kernel is the "
        "same for every value",
        f"give {name!r} `allowed:` values (one kernel variant each), or replace the branch by "
        "torch.where",
    )


def _trace_once(
    spec: OpSpec,
    variant: Variant,
    combo: int,
    shapes: dict[str, Any],
    structural: dict[str, Any],
    seed: int,
) -> TracedGraph:
    from torch.fx.experimental.proxy_tensor import make_fx

    record = Record()
    attrs = _attr_values(spec, variant, structural, record, seed)
    function = compute_function(spec)
    names: list[str] = []
    tensors: list[torch.Tensor] = []
    dtypes: dict[str, str] = {}
    for param in spec.inputs:
        if param.kind is ParamKind.OPTIONAL and param.name not in variant.present:
            continue
        shape = shapes[param.name]
        dtype = _COMPUTE_DTYPE.get(param.dtypes[combo], param.dtypes[combo])
        dtypes[param.name] = dtype
        names.append(param.name)
        concrete = shape[0] if param.kind is ParamKind.DYNAMIC else shape
        tensors.append(torch.ones(concrete, dtype=getattr(torch, dtype)))

    output_names = [p.name for p in spec.outputs]
    numbers: dict[str, Any] = {}

    def run(*args: torch.Tensor) -> list[torch.Tensor]:
        inputs: dict[str, Any] = {p.name: None for p in spec.inputs}
        for name, value in zip(names, args, strict=True):
            dynamic = spec.param(name).kind is ParamKind.DYNAMIC
            inputs[name] = [value] if dynamic else value
        outputs = function(inputs, attrs)
        result = []
        for name in output_names:
            value = outputs[name]
            if isinstance(value, (list, tuple)):
                value = value[0]
            if not isinstance(value, torch.Tensor):
                numbers[name] = value
                value = args[0] if args else torch.zeros(())
            result.append(value)
        return result

    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(f"in{i}", inspect.Parameter.POSITIONAL_ONLY)
            for i in range(len(tensors))
        ]
    )
    functional = torch.func.functionalize(run, remove="mutations")
    with torch.no_grad():
        module = make_fx(functional, decomposition_table=decompositions(), tracing_mode="symbolic")(
            *tensors
        )
    module.graph.eliminate_dead_code()
    placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
    output = next(n for n in module.graph.nodes if n.op == "output")
    results = dict(zip(output_names, output.args[0], strict=True))
    results.update(numbers)
    return TracedGraph(
        module.graph,
        {node.name: name for node, name in zip(placeholders, names, strict=True)},
        results,
        record,
        {n: (shapes[n][0] if isinstance(shapes[n], list) else shapes[n]) for n in names},
        variant,
        dtypes=dtypes,
    )


def _attr_values(
    spec: OpSpec, variant: Variant, structural: dict[str, Any], record: Record, seed: int
) -> dict[str, Any]:
    values: dict[str, Any] = dict(structural)
    for name in count_attrs(spec):
        if name in structural:
            # a literal of this value in the graph is the attr: sizes are divided by it
            record.note(structural[name], AttrRef(name, True))
    closed = dict(variant.attrs)
    for position, attr in enumerate(spec.attrs):
        if attr.name in values:
            continue
        if attr.name in closed:
            value = closed[attr.name]
            values[attr.name] = getattr(torch, value) if attr.type == "dtype" else value
        elif attr.type == "float":
            base, step = _FLOAT_SEEDS[seed]
            values[attr.name] = wrap(
                base + step * (position + 1), AttrRef(attr.name), record, attr.name
            )
        elif attr.type == "int":
            first, stride = _INT_SEEDS[seed]
            values[attr.name] = wrap(
                first + stride * position, AttrRef(attr.name, True), record, attr.name
            )
        elif attr.type == "list_float":
            base, step = _FLOAT_SEEDS[seed]
            length = len(sample_attrs(spec)[attr.name])
            values[attr.name] = [
                wrap(
                    base + step * (position + 1) + 1e-3 * (i + 1),
                    AttrRef(attr.name, False, i),
                    record,
                    attr.name,
                )
                for i in range(length)
            ]
    return values


def constant_tensor(node: Node) -> torch.Tensor:
    """Return the tensor that a ``get_attr`` node of a traced graph stands for."""
    module = node.graph.owning_module
    assert module is not None
    tensor = getattr(module, str(node.target))
    assert isinstance(tensor, torch.Tensor)
    return tensor


def _constants(node: Node) -> list[Any]:
    found: list[Any] = []

    def visit(value: Any) -> None:
        if isinstance(value, (list, tuple)):
            for item in value:
                visit(item)
        elif isinstance(value, dict):
            for key in sorted(value):
                visit(value[key])
        elif isinstance(value, Node):
            found.append(value.name)
        else:
            found.append(value)

    visit(list(node.args))
    visit(dict(node.kwargs))
    if node.op == "get_attr":
        visit(constant_tensor(node).flatten().tolist())
    return found


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and (a == b or (a != a and b != b))


def _compare_traces(spec: OpSpec, first: TracedGraph, second: TracedGraph) -> None:
    """Prove that the graphs differ only in constants that are attr expressions."""
    nodes_a, nodes_b = list(first.graph.nodes), list(second.graph.nodes)
    if len(nodes_a) != len(nodes_b):
        raise OpgenError(_structure_diagnostic(spec, _open_attr(spec)))
    for a, b in zip(nodes_a, nodes_b, strict=True):
        values_a, values_b = _constants(a), _constants(b)
        if a.target != b.target or len(values_a) != len(values_b):
            raise OpgenError(_structure_diagnostic(spec, _open_attr(spec)))
        for x, y in zip(values_a, values_b, strict=True):
            if isinstance(x, (int, float)) and not isinstance(x, bool) and not _same(x, y):
                left, right = first.record.lookup(x), second.record.lookup(y)
                if left is None or left != right:
                    raise OpgenError(_structure_diagnostic(spec, _open_attr(spec)))


def _open_attr(spec: OpSpec) -> str:
    return next((a.name for a in spec.attrs if a.type in ("float", "int") and not a.allowed), "")


def constant_expr(traced: TracedGraph, value: Any) -> ScalarExpr | None:
    """Return the attr expression behind a constant of the graph, or None for a literal."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value.expr if isinstance(value, TracedInt) else traced.record.lookup(value)
