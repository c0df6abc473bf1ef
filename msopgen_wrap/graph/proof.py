"""Run a traced graph against ``compute`` itself, on attrs and sizes that the sample did not have.

A graph whose symbols are all in place gives what ``compute`` gives for every value. Where PyTorch
branched on a symbol while the graph was traced, or computed with a number it should have left
symbolic, the two differ for some value: then the op is refused, as its kernel would be wrong.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Iterator
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.compute_function import compute_function
from msopgen_wrap.graph.dispatch_modes import ReplacedOperators
from msopgen_wrap.graph.index_ranges import (
    SampleCall,
    index_uses,
    searched_sequences,
    sort_sequences,
)
from msopgen_wrap.graph.loops import LoopRunner
from msopgen_wrap.graph.orders import order_decompositions
from msopgen_wrap.graph.sample import (
    count_attrs,
    other_shapes,
    sample_attrs,
    settled_axes,
)
from msopgen_wrap.graph.scalars import divided
from msopgen_wrap.spec.model import Attr, OpSpec, ParamKind
from msopgen_wrap.spec.shapes import ShapeError, evaluate, tensor_shapes
from msopgen_wrap.torch_import import torch

GraphModule = torch.fx.GraphModule

_FLOATS = (0.0, 1.0, -1.0, 0.37, 2.5, 19.0)
_INTS = (0, 1, 2, -1, 3, 7)
_EXTREMES = (torch.ops.aten.amax.default, torch.ops.aten.amin.default)
# Samples of high rank are too large to run.
_MAX_ELEMENTS = 100_000
_PRODUCTS = ("aten.mm.default", "aten.bmm.default")
# Where rounding decides (floor, comparisons) single elements may differ.
_MAY_DIFFER = 0.02


def prove_symbols(spec: OpSpec, traced: Any) -> None:
    """Compare the graph of a variant with ``compute``.

    Raises:
        OpgenError: OPG202 when the graph is wrong for another value of an attr, OPG203 when it is
            for other sizes.
    """
    sized = any("sym_" in str(n.target) for n in traced.graph.nodes if n.op == "call_function")
    sized = sized or _has_settled_sizes(spec, traced)
    if not traced.attrs and not sized:
        return
    module = GraphModule(traced.module, traced.graph)
    function = compute_function(spec)
    base = base_attrs(spec, traced)
    for name, attrs in _assignments(spec, traced, base):
        if not _agrees(spec, traced, module, function, traced.shapes, attrs):
            if not base:
                raise OpgenError(_graph_differs(spec))
            raise OpgenError(structure_diagnostic(spec, name or next(iter(base))))
    if not sized:
        return
    for shapes in other_shapes(spec, traced.shapes, base):
        if not _agrees(spec, traced, module, function, shapes, base):
            raise OpgenError(_sizes_matter(spec, traced, shapes))


def _has_settled_sizes(spec: OpSpec, traced: Any) -> bool:
    """Whether the trace took a size of an input for a plain number, which the rules leave open."""
    for node in traced.graph.nodes:
        name = traced.inputs.get(node.name) if node.op == "placeholder" else None
        if name is None:
            continue
        sizes = node.meta["val"].shape
        ruled = settled_axes(spec.param(name), len(sizes))
        known = [n if isinstance(n, int) else n.node.maybe_as_int() for n in sizes]
        if any(n is not None and axis not in ruled for axis, n in enumerate(known)):
            return True
    return False


def structure_diagnostic(spec: OpSpec, name: str) -> Diagnostic:
    """Return OPG202: the value of an attr without ``allowed`` decides the graph."""
    return Diagnostic(
        "OPG202",
        f"the value of attr {name!r} decides which operations compute runs",
        spec.attr(name).location,
        "an attr without a closed set of values travels as tiling data, so the kernel is the "
        "same for every value",
        f"give {name!r} `allowed:` values (one kernel variant each), or replace the branch by "
        "torch.where",
    )


def base_attrs(spec: OpSpec, traced: Any) -> dict[str, Any]:
    """Return the values of all attrs that a graph was traced with."""
    values: dict[str, Any] = {**sample_attrs(spec), **dict(traced.variant.attrs), **traced.chosen}
    values.update(traced.structural)
    values.update(traced.orders)
    return values


def _assignments(
    spec: OpSpec, traced: Any, base: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield attrs to run with: the sample's, and every open attr at special values."""
    yield "", base
    counts = count_attrs(spec)
    for name in dict.fromkeys(ref.name for ref in traced.attrs.values()):
        if name in traced.structural and name not in counts:
            continue  # the sample's value is in the graph; the schedule compares other graphs
        attr = spec.attr(name)
        if attr.type == "list_int":
            continue  # a shape rule alone reads it: where compute does, it is structural
        for value in _values(attr, traced.numbers.get(name, set())):
            if attr.type == "list_float":
                length = len(base[name])
                yield name, {**base, name: [value * (1 + 0.1 * i) for i in range(length)]}
            else:
                yield name, {**base, name: value}


def _values(attr: Attr, numbers: set[float]) -> list[Any]:
    if attr.type == "int":
        values: list[Any] = list(_INTS)
        for number in sorted(numbers):
            values += [int(number) - 1, int(number), int(number) + 1]
    else:
        values = list(_FLOATS)
        for number in sorted(numbers):
            values += [number - 0.5, number, number + 0.5]
    low, high = attr.minimum, attr.maximum
    values += [v for v in (low, high) if v is not None and abs(v) < 1e6]
    return [
        v
        for v in dict.fromkeys(values)
        if (low is None or v >= low) and (high is None or v <= high)
    ]


def _agrees(
    spec: OpSpec, traced: Any, module: Any, function: Any, shapes: dict[str, Any], attrs: Any
) -> bool:
    """Whether graph and compute agree; True also where compute itself fails."""
    if any(math.prod(shape) > _MAX_ELEMENTS for shape in shapes.values()):
        return True
    if _agree_in(spec, traced, module, function, shapes, attrs, {}):
        return True
    # Where differences cancel (a variance of equal numbers) only float64 tells rounding from more.
    wide = {"float32": "float64"}
    return "float32" in traced.dtypes.values() and _agree_in(
        spec, traced, module, function, shapes, attrs, wide
    )


def _agree_in(
    spec: OpSpec,
    traced: Any,
    module: Any,
    function: Any,
    shapes: dict[str, Any],
    attrs: Any,
    wide: dict[str, str],
) -> bool:
    """Whether graph and compute agree on inputs whose dtypes are exchanged as ``wide`` says."""
    tensors = _sample_tensors(spec, traced, shapes, attrs, wide)
    expected = _computed(spec, function, tensors, attrs)
    if expected is None:  # compute does not accept these values or sizes
        return True
    given = [
        attrs[ref.name] if ref.index is None else attrs[ref.name][ref.index]
        for ref in traced.attrs.values()
    ]
    try:
        with torch.no_grad():
            results = _HostNumbers(module).run(*tensors.values(), *given)
    except (ArithmeticError, ValueError, RuntimeError, TypeError, IndexError):
        # Tiling refuses such sizes: matrices of size 1 along an axis over which einsum sums, and
        # pairs of one element, which PyTorch broadcasts against none.
        products = any(str(node.target) in _PRODUCTS for node in traced.graph.nodes)
        products = products and any(1 in shape for shape in shapes.values())
        return products or not _follow_rules(spec, tensors, expected, attrs)
    for param, result in zip(spec.outputs, results, strict=True):
        value = expected[param.name]
        value = value[0] if isinstance(value, (list, tuple)) else value
        if isinstance(value, torch.Tensor) and not _close(result, value):
            return False
    return True


def _sample_tensors(
    spec: OpSpec, traced: Any, shapes: dict[str, Any], attrs: Any, wide: dict[str, str]
) -> dict[str, torch.Tensor]:
    """Return data of the inputs by name, the same ones in every call; indices lie within axes."""
    generator = torch.Generator().manual_seed(17)
    given = {p.name: None for p in spec.inputs} | {
        name: [shapes[name]] if spec.param(name).kind is ParamKind.DYNAMIC else shapes[name]
        for name in traced.inputs.values()
    }
    call = SampleCall(0, given, attrs)
    uses = index_uses(spec, call)
    tensors: dict[str, Any] = {}
    for name in traced.inputs.values():
        dtype = getattr(torch, wide.get(traced.dtypes[name], traced.dtypes[name]))
        use = uses.get(name)
        if use is None:
            tensors[name] = _data(shapes[name], dtype, generator)
        else:
            tensors[name] = use.draw(tuple(shapes[name]), generator).to(dtype)
    sequences = searched_sequences(spec, call)
    sort_sequences(tensors, {n: by for n, by in sequences.items() if n in tensors})
    return tensors


def _computed(spec: OpSpec, function: Any, tensors: dict[str, torch.Tensor], attrs: Any) -> Any:
    """Return what compute gives, or None where it does not accept the inputs or attrs."""
    inputs: dict[str, Any] = {p.name: None for p in spec.inputs}
    for name, value in tensors.items():
        dynamic = spec.param(name).kind is ParamKind.DYNAMIC
        inputs[name] = [value] if dynamic else value
    try:
        # the other kernels of attention give NaN where a score of -inf is scaled by 0
        steps = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)
        stable = ReplacedOperators(order_decompositions())  # equal elements keep their order
        with torch.no_grad(), steps, stable, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of sizes that say little, such as a variance of one
            return function(inputs, attrs)
    except Exception:
        return None


def _follow_rules(
    spec: OpSpec, tensors: dict[str, torch.Tensor], results: dict[str, Any], attrs: Any
) -> bool:
    """Whether what compute gives has the shapes that the rules of the outputs say."""
    shapes: dict[str, Any] = {p.name: None for p in spec.inputs}
    for name, tensor in tensors.items():
        dynamic = spec.param(name).kind is ParamKind.DYNAMIC
        shapes[name] = [tuple(tensor.shape)] if dynamic else tuple(tensor.shape)
    for param in spec.outputs:
        try:
            said = evaluate(param.shape, shapes, attrs) if param.shape else None
        except ShapeError:
            return False
        value = results[param.name]
        for shape, tensor in zip(tensor_shapes(said), _listed(value), strict=False):
            if isinstance(tensor, torch.Tensor) and tuple(tensor.shape) != tuple(shape):
                return False
    return True


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


class _HostNumbers(LoopRunner):
    """Runs a graph whose numbers divide by zero as those of PyTorch and of the host do.

    Its views are those of elements in order, whatever memory a tensor of PyTorch has: what is
    repeated by ``expand`` cannot be viewed without a copy. The extreme of no elements is infinite,
    as in kernels: PyTorch refuses it, and takes a softmax of them.
    """

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Run a call of the graph."""
        if target is torch.ops.aten.view.default:
            target = torch.ops.aten.reshape.default
        if target in _EXTREMES and args[0].is_floating_point() and _reduces_nothing(args):
            return _extreme_of_nothing(target, *args, **kwargs)
        if target is operator.truediv and not any(isinstance(a, torch.Tensor) for a in args):
            return divided(*args)
        return super().call_function(target, args, kwargs)


def _reduces_nothing(args: Any) -> bool:
    """Whether an axis that is reduced has no elements."""
    dims = args[1] if len(args) > 1 and args[1] else range(args[0].dim())
    return any(args[0].shape[dim] == 0 for dim in dims)


def _extreme_of_nothing(
    target: Any, x: torch.Tensor, dim: Any = (), keepdim: bool = False
) -> torch.Tensor:
    shape = torch.sum(x, list(dim) or None, keepdim=keepdim).shape
    infinity = math.inf if target is torch.ops.aten.amin.default else -math.inf
    return x.new_full(shape, infinity)


def _data(shape: Any, dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    if dtype == torch.bool:
        return torch.rand(shape, generator=generator) > 0.5
    if not dtype.is_floating_point:
        return torch.randint(1, 8, tuple(shape), generator=generator).to(dtype)
    return (torch.rand(shape, generator=generator) * 4 - 1.5).to(dtype)


def _close(result: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether results are equal; the graph's may lack leading axes of size 1, as kernels do."""
    missing = value.dim() - result.dim()
    if missing < 0 or value.shape != (1,) * missing + result.shape:
        return False
    if not value.numel():
        return True
    near = torch.isclose(result.double(), value.double(), rtol=2e-3, atol=1e-4, equal_nan=True) | ~(
        torch.isfinite(result.double()) | torch.isfinite(value.double())
    )
    return math.floor(_MAY_DIFFER * value.numel()) >= int((~near).sum())


def _graph_differs(spec: OpSpec) -> Diagnostic:
    assert spec.compute is not None
    return Diagnostic(
        "OPG201",
        f"the graph traced from compute of {spec.op} gives other results than compute",
        spec.compute.location,
        "it was run on the sample that it was traced with, and no attr explains the difference",
        "write the formula otherwise; this is a bug of opgen: please report it",
    )


def _sizes_matter(spec: OpSpec, traced: Any, shapes: dict[str, Any]) -> Diagnostic:
    assert spec.compute is not None
    text = ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items())
    fix = "give input `rank`/`shape` rules, or write it without the dependence on sizes"
    if rules := _missing_rules(spec, traced):
        fix = f"say which sizes are the same, as the sample has them: {rules}"
    return Diagnostic(
        "OPG203",
        f"the sizes of the inputs of {spec.op} decide which operations compute runs",
        spec.compute.location,
        f"its graph does not hold for the shapes {text}; one kernel serves every size",
        fix,
    )


def _missing_rules(spec: OpSpec, traced: Any) -> str:
    """Return rules for inputs of any shape whose sizes the trace took for those of others.

    PyTorch broadcasts an axis of size 1, so these need not be the same without a rule.
    """
    sizes = {
        traced.inputs[node.name]: node.meta["val"].shape
        for node in traced.graph.nodes
        if node.op == "placeholder" and node.name in traced.inputs
    }
    known: dict[Any, str] = {}
    rules = []
    for name, shape in sizes.items():
        names = [known.get(getattr(s, "node", None) and s.node.expr, "") for s in shape]
        param = spec.param(name)
        if param.shape is None and param.min_rank == param.max_rank and names and all(names):
            rules.append(f"`{name}: {{shape: [{', '.join(names)}]}}`")
        for axis, size in enumerate(shape):
            from_end = param.min_rank != param.max_rank
            place = axis - len(shape) if from_end else axis
            if isinstance(size, torch.SymInt):
                known.setdefault(size.node.expr, f"{name}[{place}]")
    return ", ".join(rules)
