"""Trace ``compute`` to a core ATen graph with symbolic sizes and symbolic attrs.

``make_fx`` runs ``compute`` on fake tensors whose sizes, and on attrs, that are symbols of one
shape environment (``graph.symbols`` says why and how); the attrs are placeholders of the graph,
after the tensors.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.any_rank import functions_of_any_rank
from msopgen_wrap.graph.asked_traces import asked_part, fuller_variant
from msopgen_wrap.graph.attr_places import (
    Places,
    count_places,
    count_polynomials,
    count_values,
    order_places,
    orders_axes,
    other_order,
    restore_counts,
)
from msopgen_wrap.graph.axes_of_one import name_axes_of_one
from msopgen_wrap.graph.compute_function import compute_function, trace_failure
from msopgen_wrap.graph.cuts import cut
from msopgen_wrap.graph.decomposition_table import decompositions
from msopgen_wrap.graph.demands import Demands, with_count
from msopgen_wrap.graph.detours import drop_passing_axes, drop_reductions_of_added
from msopgen_wrap.graph.expands import move_expands
from msopgen_wrap.graph.fake_results import QuickFakeMode
from msopgen_wrap.graph.given_shapes import use_given_shapes
from msopgen_wrap.graph.known_sizes import share_sizes
from msopgen_wrap.graph.loop_gradients import vjp_with_loops
from msopgen_wrap.graph.loops import move_out_of_loops
from msopgen_wrap.graph.narrow_sums import narrow_sums
from msopgen_wrap.graph.promoted_numbers import convert_numbers
from msopgen_wrap.graph.proof import prove_symbols, structure_diagnostic
from msopgen_wrap.graph.repeated_work import share_repeated_work
from msopgen_wrap.graph.reshaped_rows import move_reshapes_behind_work
from msopgen_wrap.graph.sample import (
    candidate_shapes,
    count_attrs,
    first_shape,
    sample_attrs,
    with_ruled_sizes,
)
from msopgen_wrap.graph.saved_values import use_saved_values
from msopgen_wrap.graph.scalars import AttrRef
from msopgen_wrap.graph.scans import reverse_scans
from msopgen_wrap.graph.shared_matrices import join_rows
from msopgen_wrap.graph.single_elements import leaves_one
from msopgen_wrap.graph.size_branches import SizeBranchError
from msopgen_wrap.graph.step_loops import fill_slices
from msopgen_wrap.graph.structural import shaping_attrs
from msopgen_wrap.graph.symbols import StructureError, SymbolEnv
from msopgen_wrap.graph.trace_inputs import (
    attr_values,
    call_attrs,
    fake_input,
    positional,
    unite_sizes,
)
from msopgen_wrap.graph.trace_rewrites import Composites, SymbolicIndices, without_mutations
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.graph.views import (
    drop_idle_views,
    drop_slices_of_repeats,
    fill_places,
    move_views_to_inputs,
)
from msopgen_wrap.graph.wide_products import number_products, widen
from msopgen_wrap.spec.compute_runner import error_place
from msopgen_wrap.spec.differentiation import differentiated_by, traced_results
from msopgen_wrap.spec.model import OpSpec, ParamKind, TensorParam
from msopgen_wrap.spec.size_loops import has_loops
from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
GraphModule = torch.fx.GraphModule

# Half-precision tensors are traced as float32: that is what the kernel computes in, and the
# casts that decompositions would add around them disappear.
_COMPUTE_DTYPE = {"float16": "float32", "bfloat16": "float32"}


@dataclass
class TracedGraph:
    """One traced variant.

    Attributes:
        module: what holds the constants of the graph.
        graph: fx graph of core ATen calls; placeholders are the tensor inputs, then the attrs.
        inputs: placeholder name -> spec input name (dynamic inputs: their single sample tensor).
        attrs: placeholder name -> attr, or element of a list attr, that it stands for.
        outputs: spec output name -> node (or a Python number).
        shapes: the sample shapes by input name.
        structural: attrs that shaped the graph, with the sample value used.
        dtypes: traced (compute) dtype by input name.
        numbers: attr -> constants that the code compared it with.
        orders: attrs that are the order of a tensor's axes, with the sample value used.
        chosen: the dtype attrs that choose outputs, with their values in the traced combination.
        demands: what sizes and attrs of a call must fulfil, as relations of symbols.
    """

    module: GraphModule
    graph: Graph
    inputs: dict[str, str]
    attrs: dict[str, AttrRef]
    outputs: dict[str, Any]
    shapes: dict[str, Any]
    variant: Variant
    structural: dict[str, Any] = field(default_factory=dict)
    dtypes: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, set[float]] = field(default_factory=dict)
    orders: dict[str, list[int]] = field(default_factory=dict)
    chosen: dict[str, str] = field(default_factory=dict)
    demands: Demands = field(default_factory=list)


def trace(
    spec: OpSpec,
    variant: Variant,
    combo: int = 0,
    samples: dict[str, Any] | None = None,
    rank: int | None = None,
) -> TracedGraph:
    """Return the graph of one variant of ``compute`` for dtype combination ``combo``, to be read.

    Graphs are kept until another op is traced: families, ranks, dtypes that are computed alike and
    all parts of an op ask for the same ones. ``fresh_trace`` gives a graph of one's own.

    Args:
        samples: values to take for structural attrs instead of their defaults.
        rank: rank of the inputs of open rank; None for the most general sample.

    Raises:
        OpgenError: OPG201 when ``compute`` fails on every sample shape, OPG202 when an attr
            without ``allowed`` values decides the structure of the graph, OPG203 when a size does.
    """
    if spec.whole is not None:
        return _part(spec, spec.whole, variant, combo, samples or {}, rank)
    return _kept_graphs.trace(spec, variant, combo, samples or {}, rank)


def trace_with_views(part: OpSpec, variant: Variant) -> TracedGraph:
    """Return the graph of a part in which views of computed tensors are where the formula has them.

    Every call of it has its ``site``. It is no graph to make kernels of.
    """
    assert part.whole is not None
    whole = _kept_graphs.trace(part.whole, variant, 0, {}, None)
    return cut(part, whole, 0, keep_views=True)


def fresh_trace(
    spec: OpSpec,
    variant: Variant,
    combo: int = 0,
    samples: dict[str, Any] | None = None,
    rank: int | None = None,
) -> TracedGraph:
    """Return what ``trace`` does of a whole op, as a graph that the caller may change."""
    failure: Exception | None = None
    few: TracedGraph | None = None
    closed = {**dict(variant.attrs), **spec.chosen_attrs(combo)}
    attrs = {**sample_attrs(spec), **(samples or {}), **closed}
    for shapes in candidate_shapes(spec, attrs, rank):
        try:
            with quiet_attempts():
                traced = _trace_at(spec, variant, combo, shapes, samples or {})
        except OpgenError:
            if few is None:
                raise
            break
        except Exception as error:
            failure = failure or error
            continue
        if few is not None and not _have_one_rank(few, traced):
            break  # a graph of another rank shows other axes
        if not leaves_one(traced.graph):
            return traced
        few = few or traced
    if few is not None:
        return few
    if isinstance(failure, StructureError):
        raise OpgenError(structure_diagnostic(spec, failure.names[0]))
    raise OpgenError(trace_failure(spec, failure))


def _have_one_rank(one: TracedGraph, other: TracedGraph) -> bool:
    """Whether the inputs have the same ranks in two graphs."""
    ranks = [{name: len(shape) for name, shape in t.shapes.items()} for t in (one, other)]
    return ranks[0] == ranks[1]


@contextlib.contextmanager
def quiet_attempts() -> Iterator[None]:
    """Keep PyTorch from writing a traceback for an attempt at a trace that may fail."""
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before


def _part(
    spec: OpSpec,
    whole: OpSpec,
    variant: Variant,
    combo: int,
    samples: dict[str, Any],
    rank: int | None,
) -> TracedGraph:
    def cut_with(name: str, value: Any) -> TracedGraph:
        chosen = {**samples, name: value}
        return cut(spec, _kept_graphs.trace(whole, variant, combo, chosen, rank), combo)

    part = cut(spec, _kept_graphs.trace(whole, variant, combo, samples, rank), combo)
    part.structural = shaping_attrs(spec, part, cut_with)
    return part


class _KeptGraphs:
    """The graphs of the op that is being planned; all its parts are cuts of the same ones."""

    def __init__(self) -> None:
        self.spec: OpSpec | None = None
        self.graphs: dict[Any, TracedGraph | OpgenError] = {}

    def trace(
        self,
        spec: OpSpec,
        variant: Variant,
        combo: int,
        samples: dict[str, Any],
        rank: int | None,
    ) -> TracedGraph:
        """Return ``fresh_trace`` of an op, kept until another op is asked for."""
        if self.spec is not spec:
            self.spec, self.graphs = spec, {}
        dtypes = tuple(_COMPUTE_DTYPE.get(p.dtypes[combo], p.dtypes[combo]) for p in spec.inputs)
        key = (variant, dtypes, repr((samples, spec.chosen_attrs(combo))), rank)
        if key not in self.graphs:
            try:
                self.graphs[key] = self._of_fuller(
                    spec, variant, combo, samples, rank
                ) or fresh_trace(spec, variant, combo, samples, rank)
            except OpgenError as error:  # every part of an op asks again
                self.graphs[key] = error
        found = self.graphs[key]
        if isinstance(found, OpgenError):
            raise found.with_traceback(None)
        return found

    def _of_fuller(
        self,
        spec: OpSpec,
        variant: Variant,
        combo: int,
        samples: dict[str, Any],
        rank: int | None,
    ) -> TracedGraph | None:
        """Return the graph of a variant as part of one that asks for more gradients, if it is."""
        fuller = fuller_variant(spec, variant, _names_used(spec)) if spec.differentiated else None
        if fuller is None:
            return None
        try:
            whole = self.trace(spec, fuller, combo, samples, rank)
        except OpgenError:  # not for each of the gradients
            return None
        return asked_part(spec, variant, whole)


_kept_graphs = _KeptGraphs()


def _trace_at(
    spec: OpSpec,
    variant: Variant,
    combo: int,
    shapes: dict[str, Any],
    chosen: dict[str, Any],
) -> TracedGraph:
    closed = {name for name, _ in variant.attrs}
    open_attrs = [a for a in spec.attrs if a.name not in closed]
    samples = {**sample_attrs(spec), **chosen}
    counts = count_attrs(spec)
    used = _names_used(spec)
    structural: dict[str, Any] = {}
    for attr in open_attrs:
        if attr.type == "str" and attr.name in used:
            raise OpgenError(structure_diagnostic(spec, attr.name))  # text only decides
        if attr.type in ("str", "list_int"):
            structural[attr.name] = samples[attr.name]
    while True:
        try:
            traced = _trace_once(spec, variant, combo, shapes, structural)
            break
        except StructureError as error:
            added = False
            for name in error.names:
                if error.branches or spec.attr(name).type != "int" or name in structural:
                    raise OpgenError(structure_diagnostic(spec, name)) from None
                structural[name] = samples[name]
                added = True
            if not added:
                raise
        except SizeBranchError as error:
            raise OpgenError(_size_diagnostic(spec, error)) from None
    traced.structural = {name: value for name, value in structural.items() if name in used}
    if any(name in structural for name in counts):
        traced = _with_counts(spec, variant, combo, shapes, traced)
    _restore_orders(spec, variant, combo, shapes, traced)

    def trace_in(dtypes: dict[str, str]) -> Graph:
        return _trace_once(spec, variant, combo, shapes, structural, dtypes).graph

    widen(spec, traced.graph, traced.inputs, trace_in)
    # Products that are equal but for their precision differ from here on only.
    first = share_repeated_work(traced.graph)
    traced.outputs = {name: first.get(node, node) for name, node in traced.outputs.items()}
    prove_symbols(spec, traced)
    return traced


def _names_used(spec: OpSpec) -> set[str]:
    assert spec.compute is not None
    tree = ast.parse(spec.compute.text.strip())
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _with_counts(
    spec: OpSpec, variant: Variant, combo: int, shapes: dict[str, Any], traced: TracedGraph
) -> TracedGraph:
    """Put attrs such as ``num_groups`` back where their value divides sizes of the graph."""
    found: dict[str, Places] = {}
    others: dict[str, tuple[int, TracedGraph]] = {}
    demands = traced.demands
    known = {**sample_attrs(spec), **dict(variant.attrs), **spec.chosen_attrs(combo)}

    def trace_with(counts: dict[str, int]) -> TracedGraph | None:
        chosen = {**traced.structural, **counts}
        sizes = shapes
        try:
            for name in counts:
                sizes = with_ruled_sizes(spec, sizes, {**known, **chosen}, name)
            return _trace_once(spec, variant, combo, sizes, chosen)
        except Exception:  # a count that does not divide the sample
            return None

    for name in count_attrs(spec):
        if name not in traced.structural:
            continue
        for value in count_values(traced.structural[name]):
            other = trace_with({name: value})
            if other is None:
                continue
            places = count_places(traced, name, other, value)
            if places is not None:
                found[name] = places
                others[name] = (value, other)
                known_value = traced.structural[name]
                demands = with_count(demands, known_value, other.demands, value, name)
                break
        else:
            raise StructureError((name,))  # other sample sizes may do

    # only now: a graph with one count in it is no other's with another
    restore_counts(traced, found, count_polynomials(traced, found, others, trace_with))
    traced.demands = demands
    return traced


def _restore_orders(
    spec: OpSpec, variant: Variant, combo: int, shapes: dict[str, Any], traced: TracedGraph
) -> None:
    """Put attrs back where they are the order of a tensor's axes, and nothing else."""
    for name, known in list(traced.structural.items()):
        if spec.attr(name).type != "list_int":
            continue
        order = other_order(known)
        if order is None or not orders_axes(traced.graph, known):
            continue
        try:
            chosen = {**traced.structural, name: order}
            other = _trace_once(spec, variant, combo, shapes, chosen)
        except Exception:  # the sample has no such order
            continue
        places = order_places(traced, name, other, order)
        if places:
            restore_counts(traced, {name: places})
            traced.orders[name] = list(known)
            del traced.structural[name]


def _size_diagnostic(spec: OpSpec, error: SizeBranchError) -> Diagnostic:
    """Return OPG203 for the error that is being handled."""
    assert spec.compute is not None
    return Diagnostic(
        "OPG203",
        f"compute of {spec.op} branches on the size of an input",
        error_place(spec.compute),
        error.why,
        error.fix,
    )


def _trace_once(
    spec: OpSpec,
    variant: Variant,
    combo: int,
    shapes: dict[str, Any],
    structural: dict[str, Any],
    own_dtypes: dict[str, str] | None = None,
) -> TracedGraph:
    from torch.fx.experimental.proxy_tensor import get_proxy_mode, make_fx

    env = SymbolEnv()
    mode = QuickFakeMode(shape_env=env, allow_non_fake_inputs=True)
    # Its results hold the symbols of one trace: to keep them takes a third of it and serves nobody.
    mode.cache_enabled = False
    given = [p for p in spec.inputs if _is_given(p, variant)]
    names = [p.name for p in given]
    dtypes = {p.name: _COMPUTE_DTYPE.get(p.dtypes[combo], p.dtypes[combo]) for p in given}
    dtypes = own_dtypes or dtypes
    tensors = [fake_input(p, shapes[p.name], dtypes[p.name], mode) for p in given]
    if spec.differentiated:
        unite_sizes(spec, dict(zip(names, tensors, strict=True)))
    chosen = spec.chosen_attrs(combo)
    fixed, symbols = attr_values(spec, {**dict(variant.attrs), **chosen}, structural, env)
    namespace = env.namespace(spec.stepwise)
    function = compute_function(spec, namespace)
    output_names = [p.name for p in spec.outputs]
    open_rank = any(p.shape is None and p.min_rank < p.max_rank for p in spec.inputs)
    numbers: dict[str, Any] = {}
    assert spec.compute is not None
    first = functions_of_any_rank(spec.differentiated, spec.compute.text) if open_rank else {}
    differentiated: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
    if spec.differentiated and has_loops(spec.compute.text):
        run_loop, in_steps = namespace["opgen"].run_loop, not spec.stepwise
        by_loops = functools.partial(vjp_with_loops, run=run_loop, in_steps=in_steps)
        differentiated = functools.partial(differentiated_by, by_loops)

    def run(*args: Any) -> list[torch.Tensor]:
        inputs: dict[str, Any] = {p.name: None for p in spec.inputs}
        for name, value in zip(names, args, strict=False):
            inputs[name] = [value] if spec.param(name).kind is ParamKind.DYNAMIC else value
        with (
            Composites(spec.differentiated, first),
            traced_results() as saved,
            differentiated(),
        ):
            outputs = function(inputs, call_attrs(fixed, symbols, args[len(names) :]))
        result = []
        for name in output_names:
            value = outputs[name]
            if isinstance(value, (list, tuple)):
                value = value[0]
            if not isinstance(value, torch.Tensor):
                numbers[name] = value
                value = args[0] if names else torch.zeros(())
            result.append(value)
        return [*result, *(value for pair in saved for value in pair)]

    functional = torch.func.functionalize(run, remove="mutations")

    def start(*args: Any) -> list[torch.Tensor]:
        proxies = get_proxy_mode()
        assert proxies is not None
        env.tracer = proxies.tracer
        return functional(*args)

    arguments = [*tensors, *(symbol for symbol, _ in symbols)]
    start.__signature__ = positional(len(arguments))  # type: ignore[attr-defined]
    with torch.no_grad(), mode, SymbolicIndices():
        table = env.decompositions(decompositions())
        try:
            module = make_fx(start, decomposition_table=table)(*arguments)
        except Exception:
            # Some functions of PyTorch, such as unflatten, report a question as an error of theirs.
            if env.refused is None:
                raise
    if env.refused is not None:
        raise env.refused
    if env.stand_ins and any(n.op == "get_attr" for n in module.graph.nodes):
        raise StructureError(tuple(dict.fromkeys(env.attr_of.values())))  # in a tensor's data
    demands = env.demands()
    env.restore(module.graph)
    without_mutations(module.graph)
    if spec.stepwise:
        join_rows(module.graph)
        fill_slices(module.graph)
    number_products(module.graph)
    reverse_scans(module.graph)
    convert_numbers(module.graph)
    narrow_sums(module.graph)
    move_out_of_loops(module.graph)
    if spec.differentiated:
        use_given_shapes(module.graph)
        use_saved_values(module.graph, names, len(output_names))
        name_axes_of_one(module.graph)
        drop_passing_axes(module.graph)
        move_expands(module.graph)
        module.graph.eliminate_dead_code()
    drop_reductions_of_added(module.graph)
    fill_places(module.graph)
    share_sizes(module.graph)
    # Axes that are in order in the sample may not be in a call with other values of attrs.
    drop_idle_views(module.graph, keep_orders=bool(structural))
    move_reshapes_behind_work(module.graph)
    move_views_to_inputs(module.graph)
    drop_slices_of_repeats(module.graph)
    module.graph.eliminate_dead_code()
    placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
    output = next(n for n in module.graph.nodes if n.op == "output")
    results = dict(zip(output_names, output.args[0][: len(output_names)], strict=True))
    results.update(numbers)
    return TracedGraph(
        module,
        module.graph,
        {node.name: name for node, name in zip(placeholders, names, strict=False)},
        {
            node.name: ref
            for node, (_, ref) in zip(placeholders[len(names) :], symbols, strict=True)
        },
        results,
        {n: first_shape(shapes[n]) for n in names},
        variant,
        dtypes=dtypes,
        numbers=env.numbers,
        chosen=chosen,
        demands=demands,
    )


def _is_given(param: TensorParam, variant: Variant) -> bool:
    return param.kind is not ParamKind.OPTIONAL or param.name in variant.present
