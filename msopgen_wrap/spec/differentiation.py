"""Differentiate the formula of a spec with ``gradient_of``, by PyTorch."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from msopgen_wrap.spec.asked_gradients import (
    asked_outputs,
    asking_attr,
    source_outputs,
)
from msopgen_wrap.spec.gradient import PREFIX
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.saved_outputs import SAVED, saved_inputs


def forward_of(spec: OpSpec) -> OpSpec:
    """Return the op whose gradients ``spec`` computes, as far as its formula needs one.

    Its outputs are those whose gradients are inputs of ``spec``, named ``grad_<output>``. An input
    of the forward op may have such a name, too: the formula uses it.
    """
    assert spec.compute is not None
    try:
        tree = ast.parse(spec.compute.text.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None  # reported where the formula is checked
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} if tree else set()
    arriving = [p for p in spec.inputs if tree and p.name.startswith(PREFIX) and p.name not in used]
    asking = asking_attr(spec, used)
    dropped = {p.name for p in arriving} | set(saved_inputs(spec, used))
    return replace(
        spec,
        inputs=tuple(p for p in spec.inputs if p.name not in dropped),
        outputs=tuple(replace(p, name=p.name.removeprefix(PREFIX)) for p in arriving),
        attrs=tuple(a for a in spec.attrs if a is not asking),
        differentiated=False,
        save=tuple(n.removeprefix(SAVED) for n in saved_inputs(spec, used)),
        tolerance={},
        cases=(),
    )


def vjp(
    formula: Callable[..., Mapping[str, Any]],
    forward: OpSpec,
    spec: OpSpec,
    inputs: Mapping[str, Any],
    attrs: Mapping[str, Any],
) -> dict[str, Any]:
    """Return ``{grad_<input>: gradient}`` of a forward formula, for the outputs of ``spec``.

    The gradient of an absent input is the number 0; one that is not asked for is empty. Outputs
    from which none comes (``asked_gradients.source_outputs``) take no part.

    Args:
        formula: that of ``forward``, ``f(inputs, attrs) -> outputs``.
        forward: ``forward_of(spec)``.
        inputs: tensors (or lists) by name: those of the formula, ``grad_<output>``, and
            ``saved_<output>`` for ``forward.save``.
    """
    from msopgen_wrap.torch_import import torch

    sources = sources_of(spec, forward, attrs)
    names = [p.name for p in forward.outputs if not sources or p.name in sources]
    given = {p.name: inputs.get(p.name) for p in forward.inputs}
    named = [p.name.removeprefix(PREFIX) for p in spec.outputs]
    asked = {name.removeprefix(PREFIX) for name in asked_outputs(spec, attrs)}
    targets = [name for name in named if name in asked and given[name] is not None]
    attrs = {name: v for name, v in attrs.items() if name in {a.name for a in forward.attrs}}
    first = torch.utils._pytree.tree_leaves([inputs[f"{PREFIX}{name}"] for name in names])[0]

    def with_absent(found: Mapping[str, Any]) -> dict[str, Any]:
        zeros = {
            name: first.new_zeros(() if name in asked else (0,))
            for name in named
            if name not in found
        }
        return {f"{PREFIX}{name}": {**found, **zeros}[name] for name in named}

    def run(*chosen: Any) -> tuple[Any, ...]:
        values = {**given, **dict(zip(targets, chosen, strict=True))}
        values.update({f"{SAVED}{name}": inputs[f"{SAVED}{name}"] for name in forward.save})
        outputs = formula(values, attrs)
        return tuple(outputs[name] for name in names)

    weights = tuple(inputs[f"{PREFIX}{name}"] for name in names)
    if torch._C._functorch.peek_interpreter_stack() is not None:  # a trace
        outputs, pull = _traced_vjp(run, [given[name] for name in targets])
        found = pull(torch.utils._pytree.tree_map(_as_output, outputs, weights))
        return with_absent(dict(zip(targets, found, strict=True)))
    # The same by plain autograd: torch.func.vjp imports torch._dynamo, which takes seconds.
    with torch.enable_grad(), _results_as_saved(torch):
        own = torch.utils._pytree.tree_map(
            lambda x: x.detach().requires_grad_(), [given[name] for name in targets]
        )
        leaves, nest = torch.utils._pytree.tree_flatten(own)
        results = torch.utils._pytree.tree_leaves(run(*own))
        pairs = [
            (y, w.to(y.dtype))
            for y, w in zip(results, torch.utils._pytree.tree_leaves(weights), strict=True)
            if y.requires_grad
        ]
        flat = [torch.zeros_like(x) for x in leaves]
        if pairs:
            wanted, with_weights = zip(*pairs, strict=True)
            flat[:] = torch.autograd.grad(
                wanted, leaves, with_weights, allow_unused=True, materialize_grads=True
            )
    found = torch.utils._pytree.tree_unflatten(flat, nest)
    return with_absent(dict(zip(targets, found, strict=True)))


def _as_output(output: Any, weight: Any) -> Any:
    """Return a gradient that arrives in a trace with the dtype and the sizes of its output.

    Sizes are equal as the shape rules say. Where an attr decides them PyTorch cannot know.
    """
    from msopgen_wrap.torch_import import torch

    weight = weight.to(output.dtype)
    if not any(map(is_from_attrs, output.shape)):
        return weight
    return torch.ops.opgen.given_shape(weight, list(output.shape))  # graph.given_shapes


def is_from_attrs(size: Any) -> bool:
    """Whether a size of a trace is made of attrs, which have symbols of their own."""
    node = getattr(size, "node", None)
    attrs = getattr(getattr(node, "shape_env", None), "attr_of", ())
    return bool(attrs) and any(symbol in attrs for symbol in size.node.expr.free_symbols)


def sources_of(spec: OpSpec, forward: OpSpec, attrs: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the outputs of ``forward`` whose gradients arrive in a call; empty: all of them."""
    own = {a.name for a in forward.attrs}
    for attr in spec.attrs:
        value = attrs.get(attr.name, attr.default)
        if attr.name not in own and isinstance(value, str):
            return source_outputs(value)
    return ()


Pairs = list[tuple[Any, Any]]
# Results computed again, each with the value that forward has saved: of the formula that is run,
# and of the trace of which that is a part.
_saved_results: ContextVar[Pairs | None] = ContextVar("saved_results", default=None)
_traced_results: ContextVar[Pairs | None] = ContextVar("traced_results", default=None)


@contextlib.contextmanager
def _collected(variable: ContextVar[Pairs | None]) -> Iterator[Pairs]:
    pairs: Pairs = []
    token = variable.set(pairs)
    try:
        yield pairs
    finally:
        variable.reset(token)


def traced_results() -> contextlib.AbstractContextManager[Pairs]:
    """Collect the results that a trace computes again, each with the saved value.

    A derivative may be a formula of such a result; the trace cannot tell that the two are equal.
    """
    return _collected(_traced_results)


def _plain_vjp(formula: Callable[..., Any], targets: list[Any]) -> Any:
    from msopgen_wrap.torch_import import torch

    return torch.func.vjp(formula, *targets, has_aux=True)


_vjp_of_trace: ContextVar[Callable[..., Any]] = ContextVar("vjp_of_trace", default=_plain_vjp)


@contextlib.contextmanager
def differentiated_by(function: Callable[[Callable[..., Any], list[Any]], Any]) -> Iterator[None]:
    """Differentiate formulas in a trace by another function than ``torch.func.vjp``.

    Args:
        function: of a formula, which gives its outputs and something else, and of the tensors to
            differentiate by; returns what ``torch.func.vjp`` does.
    """
    token = _vjp_of_trace.set(function)
    try:
        yield
    finally:
        _vjp_of_trace.reset(token)


def _traced_vjp(run: Callable[..., Any], targets: list[Any]) -> tuple[Any, Any]:
    """Return ``torch.func.vjp``, and hand what it computes again to ``traced_results``."""

    def with_results(*chosen: Any) -> tuple[Any, Pairs]:
        with _collected(_saved_results) as pairs:
            return run(*chosen), pairs

    found: Any = _vjp_of_trace.get()(with_results, targets)
    outputs, pull, pairs = found
    traced = _traced_results.get()
    if traced is not None:
        traced += pairs
    return outputs, pull


@contextlib.contextmanager
def _results_as_saved(torch: Any) -> Iterator[None]:
    """Give derivatives that are formulas of a result the saved one, as kernels take it."""

    def unpack(tensor: Any) -> Any:
        for computed, saved in pairs:
            if _is_same(tensor, computed):
                return saved.to(computed.dtype)
        return tensor

    hooks = torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack)
    with _collected(_saved_results) as pairs, hooks:
        yield


def _is_same(one: Any, other: Any) -> bool:
    """Whether two tensors are the same elements of the same memory."""
    return (
        one.untyped_storage()._cdata == other.untyped_storage()._cdata
        and one.shape == other.shape
        and one.stride() == other.stride()
        and one.storage_offset() == other.storage_offset()
    )


def saved_value(computed: Any, saved: Any) -> Any:
    """Return the value that forward has saved; its gradient goes on to what is computed again."""
    from msopgen_wrap.torch_import import torch

    pairs = _saved_results.get()
    if pairs is not None:
        pairs.append((computed, saved.detach()))
    if torch._C._functorch.peek_interpreter_stack() is not None:
        # Functions of our own cannot be traced; `graph.saved_values` makes `saved` of it.
        return computed + (saved - computed).detach()

    class Saved(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, computed: Any, saved: Any) -> Any:
            return saved.detach()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:  # type: ignore[override]
            return grad, None

    return Saved.apply(computed, saved)
