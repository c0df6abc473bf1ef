"""Compare a fused model with the original on the example, by the accuracy rule of the kit."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.fusion.model_trace import ModelGraph
from msopgen_wrap.fusion.numeric_proof import DoublePrecision
from msopgen_wrap.fusion.regions import is_idle_dropout
from msopgen_wrap.run.accuracy import compare
from msopgen_wrap.torch_import import torch


@dataclass(frozen=True)
class Agreement:
    """How close one result of the fused model is.

    Attributes:
        name: which result.
        mean, maximum: relative errors against double precision.
        note: by what it passed where the plain bounds do not say so.
    """

    name: str
    mean: float
    maximum: float
    note: str = ""


@contextlib.contextmanager
def state_kept(tensors: Sequence[Any]) -> Iterator[None]:
    """Put buffers and the state of random numbers back after what runs inside."""
    before = [(t, t.detach().clone()) for t in tensors]
    with torch.random.fork_rng(devices=[]):
        try:
            yield
        finally:
            with torch.no_grad():
                for tensor, value in before:
                    tensor.copy_(value)


def flat_results(module: Any, arguments: list[Any]) -> list[Any]:
    """Return the flat results of a traced graph, copied where they may be written later."""
    results = module(*arguments)
    return [r.detach().clone() if isinstance(r, torch.Tensor) else r for r in results]


def agreements(
    original: ModelGraph,
    fused: Any,
    arguments: list[Any],
    mutable: Sequence[Any],
    fused_arguments: list[Any] | None = None,
) -> list[Agreement]:
    """Compare all results of two graphs of one model.

    Args:
        original: the traced model.
        fused: the module of the rewritten graph.
        arguments: of the original, and of both without ``fused_arguments``.
        mutable: tensors that a run may write (buffers and inputs).
        fused_arguments: of the rewritten graph, when it has other parameters.

    Raises:
        OpgenError: OPG741 for the first result that is too far off; OPG743 when the fused graph
            cannot run.
    """
    seed = torch.initial_seed() & 0xFFFFFFFF
    with torch.no_grad(), state_kept(mutable):
        torch.manual_seed(seed)
        native = flat_results(original.module, arguments)
    with torch.no_grad(), state_kept(mutable):
        torch.manual_seed(seed)
        try:
            actual = flat_results(fused, fused_arguments or arguments)
        except Exception as error:
            text = str(error).splitlines() or [type(error).__name__]
            raise OpgenError(
                Diagnostic(
                    "OPG743",
                    f"the fused model fails on the example: {text[0]}",
                    why="an op of it refuses what it is given",
                    fix="leave the op out (`specs=`), and please report the model",
                )
            ) from error
    golden = _golden(original, arguments, mutable, native, seed)
    found = []
    for i, (got, own, exact) in enumerate(zip(actual, native, golden, strict=True)):
        if isinstance(got, torch.Tensor):
            found.append(_agreement(f"result {i}", got, own, exact))
    return found


def same_bits(one: Any, other: Any, arguments: list[Any], mutable: Sequence[Any]) -> bool:
    """Whether two graphs of one model give the same bits without gradients.

    Args:
        mutable: tensors that a run may write.
    """
    seed = torch.initial_seed() & 0xFFFFFFFF
    found = []
    for module in (one, other):
        with torch.no_grad(), state_kept(mutable):
            torch.manual_seed(seed)
            found.append(flat_results(module, arguments))
    return all(
        torch.equal(a.nan_to_num(), b.nan_to_num()) and torch.equal(a.isnan(), b.isnan())
        if isinstance(a, torch.Tensor)
        else a == b
        for a, b in zip(*found, strict=True)
    )


def _golden(
    original: ModelGraph, arguments: list[Any], mutable: Sequence[Any], native: list[Any], seed: int
) -> list[Any]:
    """Return the results in double precision; the model's own where it draws random numbers."""
    graph = original.graph
    calls = [n for n in graph.nodes if n.op == "call_function"]
    plain = all(hasattr(n.target, "tags") or n.target.__module__ == "_operator" for n in calls)
    random = not all(_is_idle(n) for n in calls)
    written = any(getattr(getattr(n.target, "_schema", None), "is_mutable", False) for n in calls)
    if not plain or random or written:
        return native
    try:
        with torch.no_grad(), state_kept(mutable), DoublePrecision():
            doubled = [
                a.double() if isinstance(a, torch.Tensor) and a.is_floating_point() else a
                for a in arguments
            ]
            return flat_results(original.module, doubled)
    except Exception:  # an operator without double precision
        return native


def _is_idle(node: Any) -> bool:
    return torch.Tag.nondeterministic_seeded not in getattr(
        node.target, "tags", ()
    ) or is_idle_dropout(node)


def _agreement(name: str, got: Any, own: Any, exact: Any) -> Agreement:
    if tuple(got.shape) != tuple(own.shape) or got.dtype != own.dtype:
        raise OpgenError(_too_far(name, f"{got.dtype} {list(got.shape)}"))
    golden = exact.double() if got.is_floating_point() else exact
    if got.dtype is torch.float64:
        same = torch.allclose(got, own, rtol=1e-9, atol=1e-12, equal_nan=True)
        if not same:
            raise OpgenError(_too_far(name, "other values in float64"))
        return Agreement(name, 0.0, 0.0)
    got, own, golden = got.cpu(), own.cpu(), golden.cpu()
    outcome = compare(got, golden, own)
    if outcome.passed:
        return Agreement(name, outcome.mean, outcome.maximum, outcome.note)
    note = _as_near_as_the_model(got, own, golden)
    if not note:
        raise OpgenError(_too_far(name, outcome.reason))
    return Agreement(name, outcome.mean, outcome.maximum, note)


def _as_near_as_the_model(got: Any, own: Any, golden: Any) -> str:
    """Return a note when the errors of a deep model exceed the rule of one op by its own depth.

    The model's own results are then as far from double precision: at most twice, in the largest
    error and in the root of the mean square, and never by more than a thousandth of the values.
    """
    if not got.is_floating_point():
        return ""
    finite = torch.isfinite(golden)
    if bool((torch.isfinite(got) != torch.isfinite(own)).any()) or not bool(finite.any()):
        return ""
    mine = (got.double() - golden)[finite].abs()
    theirs = (own.double() - golden)[finite].abs()
    scale = float(golden[finite].abs().max())
    unit = torch.finfo(got.dtype).eps * scale
    if float(mine.max()) > 2 * float(theirs.max()) + unit:
        return ""
    if float(mine.square().mean().sqrt()) > 2 * float(theirs.square().mean().sqrt()) + unit:
        return ""
    return "as near to double precision as the original (largest and mean square error)"


def _too_far(name: str, reason: str) -> Diagnostic:
    return Diagnostic(
        "OPG741",
        f"{name} of the fused model differs from the original: {reason}",
        why="every fused op equals its part of the model on random numbers in double precision, so "
        "a kernel or the example's extreme values are the cause",
        fix="run `opgen test` on the specs; leave an op out (`specs=`) to find which",
    )
