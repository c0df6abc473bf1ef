"""CANN's accuracy rule: is an output close enough to its float64 golden reference?

Source: the "ecosystem operator" accuracy standard (opbase, docs/zh/ops_precision_standard) as
applied by CANN Bench. With rel = |actual - golden| / (|golden| + 1e-7) an output passes when
mean(rel) < T and max(rel) < 10 T. Where relative error is ill-conditioned (results close to zero,
cancellation, deep fp32 sums) the standard counts errors and allows at most twice as many as the
same computation in the output's own precision on a CPU makes (``native``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Thresholds:
    """Limits of one dtype.

    Attributes:
        mean, maximum: bounds on mean and max relative error.
        small: below this magnitude of the golden value absolute error counts instead.
        small_error: the absolute error that counts there.
        cancel: below this magnitude a result may be the rest of a cancellation.
    """

    mean: float
    maximum: float
    small: float
    small_error: float
    cancel: float


THRESHOLDS = {
    "float16": Thresholds(2**-10, 10 * 2**-10, 2**-11, 2**-16, 2**-5),
    "bfloat16": Thresholds(2**-7, 10 * 2**-7, 2**-8, 2**-16, 2**-3),
    "float32": Thresholds(2**-13, 10 * 2**-13, 2**-14, 2**-30, 2**-8),
}

_REL_GUARD = 1e-7
_NATIVE_RATIO = 2


@dataclass(frozen=True)
class Accuracy:
    """Outcome of one comparison.

    Attributes:
        mean, maximum: relative errors over the positions where golden is finite (0 if none).
        reason: why it failed, empty when it passed; names the first offending index.
        by_count: passed through the error-count rule instead of the plain bounds.
    """

    passed: bool
    mean: float
    maximum: float
    reason: str = ""
    by_count: bool = False


def compare(
    actual: torch.Tensor,
    golden: torch.Tensor,
    native: torch.Tensor | None = None,
    tolerance: tuple[float, float] | None = None,
) -> Accuracy:
    """Compare an output with its golden reference.

    Args:
        actual: output of the kernel; its dtype chooses the thresholds, integers and bool are exact.
        golden: reference of the same shape, float64 for floating outputs.
        native: the reference computed in ``actual``'s dtype on the CPU, for the error-count rule;
            without it only the plain bounds apply.
        tolerance: (mean, maximum) bounds that replace the dtype's own.
    """
    if tuple(actual.shape) != tuple(golden.shape):
        return Accuracy(
            False, 0.0, 0.0, f"shape {tuple(actual.shape)}, golden has {tuple(golden.shape)}"
        )
    if actual.numel() == 0:
        return Accuracy(True, 0.0, 0.0)
    if not actual.dtype.is_floating_point:
        return _compare_exact(actual, golden)
    return _compare_float(actual, golden, native, tolerance)


def _compare_exact(actual: torch.Tensor, golden: torch.Tensor) -> Accuracy:
    wrong = actual != golden.to(actual.dtype)
    count = int(wrong.sum())
    if count == 0:
        return Accuracy(True, 0.0, 0.0)
    where = _first(wrong)
    reason = (
        f"{count} of {actual.numel()} elements differ (exact match required); first at {where}: "
        f"got {actual[where].item()}, want {golden[where].item()}"
    )
    return Accuracy(False, 1.0, 1.0, reason)


def _compare_float(
    actual: torch.Tensor,
    golden: torch.Tensor,
    native: torch.Tensor | None,
    tolerance: tuple[float, float] | None,
) -> Accuracy:
    from msopgen_wrap.torch_ext.torch_import import torch

    name = str(actual.dtype).removeprefix("torch.")
    limits = THRESHOLDS[name]
    mean_limit, max_limit = tolerance or (limits.mean, limits.maximum)
    # What the output type can represent of the true value; an overflow is an infinity there.
    truncated = golden.double().to(actual.dtype).double()
    got = actual.double()
    finite = torch.isfinite(truncated)
    mismatch = _class_mismatch(got, truncated)
    if native is not None:
        # Where the same computation overflows in the output's own precision the true value says
        # nothing about the kernel (squares of the largest values, say).
        mismatch &= ~_class_mismatch(native.double(), truncated)
    if bool(mismatch.any()):
        where = _first(mismatch)
        reason = (
            f"{int(mismatch.sum())} inf/nan mismatches; first at {where}: "
            f"got {got[where].item():g}, want {truncated[where].item():g}"
        )
        return Accuracy(False, float("inf"), float("inf"), reason)
    finite &= torch.isfinite(got)
    if not bool(finite.any()):
        return Accuracy(True, 0.0, 0.0)
    want = golden.double()
    rel = torch.where(finite, (got - want).abs() / (want.abs() + _REL_GUARD), 0.0)
    mean = float(rel.sum() / finite.sum())
    maximum = float(rel.max())
    if mean < mean_limit and maximum < max_limit:
        return Accuracy(True, mean, maximum)
    failed = finite & (rel >= max_limit)
    if not bool(failed.any()):
        return _mean_rule(got, truncated, finite, rel, mean, maximum, mean_limit, limits)
    return _count_rule(got, truncated, finite, failed, native, mean, maximum, max_limit, limits)


def _class_mismatch(got: torch.Tensor, want: torch.Tensor) -> torch.Tensor:
    """Where exactly one side is nan or infinite, or the infinities' signs differ."""
    from msopgen_wrap.torch_ext.torch_import import torch

    same = (torch.isnan(want) & torch.isnan(got)) | (want == got)
    return (~torch.isfinite(want) | ~torch.isfinite(got)) & ~same


def _mean_rule(got, truncated, finite, rel, mean, maximum, mean_limit, limits) -> Accuracy:
    """Judge an output whose mean alone is over: small values may not drag it."""
    normal = finite & (truncated.abs() >= limits.small)
    small_wrong = finite & ~normal & ((got - truncated).abs() > limits.small_error)
    count = int(normal.sum())
    normal_mean = float(rel[normal].mean()) if count else 0.0
    if normal_mean < mean_limit and not bool(small_wrong.any()):
        return Accuracy(True, mean, maximum, by_count=True)
    return Accuracy(False, mean, maximum, f"mean relative error {mean:.3g} >= {mean_limit:.3g}")


def _count_rule(
    got, truncated, finite, failed, native, mean, maximum, max_limit, limits
) -> Accuracy:
    """Apply the error-count rule to the small, cancelled and deep-sum positions."""
    small = finite & (truncated.abs() < limits.small)
    cancelled = finite & ~small & (got.abs() < limits.cancel) & (truncated.abs() < limits.cancel)
    normal = finite & ~small & ~cancelled
    reference = None if native is None else native.double()
    for region, positions in (("small", small), ("cancelled", cancelled), ("normal", normal)):
        if region == "small":
            wrong = positions & ((got - truncated).abs() > limits.small_error)
        else:
            wrong = positions & failed
        count = int(wrong.sum())
        if count == 0:
            continue
        allowed = _NATIVE_RATIO if region != "normal" else 0
        if reference is not None:
            allowed = _native_allowance(reference, truncated, positions, region, max_limit, limits)
        if count > allowed:
            where = _first(wrong)
            reason = (
                f"{count} {region} elements over the bound (max rel {max_limit:.3g}, "
                f"allowed {allowed}); first at {where}: got {got[where].item():.9g}, "
                f"want {truncated[where].item():.9g}"
            )
            return Accuracy(False, mean, maximum, reason)
    return Accuracy(True, mean, maximum, by_count=True)


def _native_allowance(reference, truncated, positions, region, max_limit, limits) -> int:
    """Twice the errors the same-precision CPU computation makes; normal values get no free one."""
    error = (reference - truncated).abs()
    if region == "small":
        wrong = positions & (error > limits.small_error)
    else:
        wrong = positions & (error / (truncated.abs() + _REL_GUARD) >= max_limit)
    count = int(wrong.sum())
    if region == "normal":
        return _NATIVE_RATIO * count
    return _NATIVE_RATIO * max(count, 1)


def _first(mask: torch.Tensor) -> tuple[int, ...]:
    from msopgen_wrap.torch_ext.torch_import import torch

    if mask.dim() == 0:
        return ()
    return tuple(int(i) for i in torch.nonzero(mask)[0])
