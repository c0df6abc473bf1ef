"""CANN's accuracy rules: is an output close enough to its float64 golden reference?

Which rule judges an output follows from its dtype, from how the spec's ``compute`` makes it, and
from ``tolerance`` in the spec (``RULES`` names them):

* ``relative``, every floating output by default: the "ecosystem operator" standard (opbase,
  docs/zh/ops_precision_standard) as applied by CANN Bench. With
  rel = |actual - golden| / (|golden| + 1e-7) an output passes when mean(rel) < T and
  max(rel) < 10 T. Where relative error is ill-conditioned (results close to zero, cancellation,
  deep fp32 sums) the standard counts errors and allows at most twice as many as the same
  computation in the output's own precision on a CPU makes (``native``).
* ``mixed``, on request: the mixed tolerance standard. An element passes when
  |actual - golden| <= atol + rtol |golden|; the output passes when 99% of its elements do and the
  largest absolute error stays under a cap, or under 32 units in the last place of its golden value.
* ``exact``: integers and bool.
* ``quantised``: integers that ``compute`` rounds from a float that was itself computed. The float
  may lie on either side of a tie, so an element may be one off; few are (``QUANTISED_SHARE``).
* ``absolute``, on request: integers that may be off by a number that the spec gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from msopgen_wrap.spec.model import Tolerance


@dataclass(frozen=True)
class Thresholds:
    """Limits of one dtype.

    Attributes:
        mean, maximum: bounds on mean and max relative error.
        small: below this magnitude of the golden value absolute error counts instead.
        small_error: the absolute error that counts there.
        cancel: below this magnitude a result may be the rest of a cancellation.
        mixed: rtol and atol of the mixed rule.
        cap: largest absolute error of the mixed rule.
    """

    mean: float
    maximum: float
    small: float
    small_error: float
    cancel: float
    mixed: float
    cap: float


THRESHOLDS = {
    "float16": Thresholds(2**-10, 10 * 2**-10, 2**-11, 2**-16, 2**-5, 2**-10, 0.1),
    "bfloat16": Thresholds(2**-7, 10 * 2**-7, 2**-8, 2**-16, 2**-3, 2**-7, 0.1),
    "float32": Thresholds(2**-13, 10 * 2**-13, 2**-14, 2**-30, 2**-8, 2**-13, 0.01),
}

#: Rule -> what it says, for reports.
RULES = {
    "relative": "mean relative error < T and largest < 10 T (T: float16 2^-10, bfloat16 2^-7, "
    "float32 2^-13); values near zero and rests of cancellations are counted instead: at most "
    "twice as many may be over as in the same computation on a CPU in the output's dtype",
    "mixed": "|error| <= atol + rtol |golden| for 99% of the elements (both float16 2^-10, "
    "bfloat16 2^-7, float32 2^-13), and the largest error below a cap (float16 and bfloat16 0.1, "
    "float32 0.01, or 32 ulp)",
    "exact": "equal",
    "quantised": "a float that compute rounds to an integer may be one off where it lies next to a "
    "tie: at most 1% of the elements, or twice as many as on a CPU in the inputs' dtype",
    "absolute": "off by no more than the spec's tolerance",
}

QUANTISED_SHARE = 0.01
_MIXED_SHARE = 0.99
_MIXED_ULPS = 32
_REL_GUARD = 1e-7
_NATIVE_RATIO = 2


@dataclass(frozen=True)
class Accuracy:
    """Outcome of one comparison.

    Attributes:
        mean, maximum: relative errors over the positions where golden is finite (0 if none).
        reason: why it failed, empty when it passed; names the first offending index.
        rule: which rule judged, a key of ``RULES``.
        note: what let it pass where the plain bounds do not: which elements were counted, against
            which allowance.
    """

    passed: bool
    mean: float
    maximum: float
    reason: str = ""
    rule: str = "relative"
    note: str = ""

    @property
    def by_count(self) -> bool:
        """Whether it passed through an error count instead of the plain bounds."""
        return self.passed and bool(self.note)


def rule_of(is_float: bool, tolerance: Tolerance | None, quantised: bool) -> str:
    """Return the rule that judges an output."""
    if is_float:
        return "mixed" if tolerance is not None and tolerance.rule == "mixed" else "relative"
    if tolerance is not None and tolerance.absolute is not None:
        return "absolute" if tolerance.absolute else "exact"
    return "quantised" if quantised else "exact"


def compare(
    actual: torch.Tensor,
    golden: torch.Tensor,
    native: torch.Tensor | None = None,
    tolerance: Tolerance | None = None,
    quantised: bool = False,
) -> Accuracy:
    """Compare an output with its golden reference.

    Args:
        actual: output of the kernel; its dtype chooses the thresholds.
        golden: reference of the same shape, float64 for floating outputs.
        native: the reference computed in the inputs' dtypes on the CPU, for rules that count
            errors; without it only their plain bounds apply.
        tolerance: what the spec says instead of the dtype's own bounds.
        quantised: the integers were rounded from floats that compute calculated.
    """
    rule = rule_of(actual.dtype.is_floating_point, tolerance, quantised)
    if tuple(actual.shape) != tuple(golden.shape):
        reason = f"shape {tuple(actual.shape)}, golden has {tuple(golden.shape)}"
        return Accuracy(False, 0.0, 0.0, reason, rule)
    if actual.numel() == 0:
        return Accuracy(True, 0.0, 0.0, rule=rule)
    if not actual.dtype.is_floating_point:
        return _compare_integers(actual, golden, native, rule, tolerance)
    return _compare_float(actual, golden, native, rule, tolerance)


def _compare_integers(
    actual: torch.Tensor,
    golden: torch.Tensor,
    native: torch.Tensor | None,
    rule: str,
    tolerance: Tolerance | None,
) -> Accuracy:
    from msopgen_wrap.torch_ext.torch_import import torch

    off = (actual.to(torch.int64) - golden.to(actual.dtype).to(torch.int64)).abs()
    wrong = off > 0
    count = int(wrong.sum())
    if count == 0:
        return Accuracy(True, 0.0, 0.0, rule=rule)
    allowed_off, note = 0, ""
    if rule == "absolute":
        assert tolerance is not None and tolerance.absolute is not None
        allowed_off = tolerance.absolute
        note = f"{count} of {off.numel()} elements are off, by at most {int(off.max())}"
        demand = f"at most {allowed_off} off"
    elif rule == "quantised":
        allowed_off, allowed = 1, max(1, int(QUANTISED_SHARE * off.numel()))
        if native is not None:
            allowed = max(allowed, _NATIVE_RATIO * int((native != golden).sum()))
        demand = f"one off next to a tie, {allowed} elements"
        note = f"{count} of {off.numel()} elements are one off, {allowed} may be"
        if int(off.max()) <= 1 and count > allowed:
            where = _first(wrong)
            reason = (
                f"{note}; first at {where}: got {actual[where].item()}, want "
                f"{golden[where].item()}: a wrong rounding mode or scale"
            )
            return Accuracy(False, 1.0, 1.0, reason, rule)
    else:
        demand = "exact match required"
    beyond = off > allowed_off
    if not bool(beyond.any()):
        return Accuracy(True, 0.0, 0.0, rule=rule, note=note)
    where = _first(beyond)
    reason = (
        f"{int(beyond.sum())} of {off.numel()} elements differ ({demand}); first at {where}: "
        f"got {actual[where].item()}, want {golden[where].item()}"
    )
    return Accuracy(False, 1.0, 1.0, reason, rule)


def _compare_float(
    actual: torch.Tensor,
    golden: torch.Tensor,
    native: torch.Tensor | None,
    rule: str,
    tolerance: Tolerance | None,
) -> Accuracy:
    from msopgen_wrap.torch_ext.torch_import import torch

    name = str(actual.dtype).removeprefix("torch.")
    limits = THRESHOLDS[name]
    # What the output type can represent of the true value; an overflow is an infinity there.
    truncated = golden.double().to(actual.dtype).double()
    got = actual.double()
    finite = torch.isfinite(truncated) & torch.isfinite(got)
    want = golden.double()
    rel = (got - want).abs() / (want.abs() + _REL_GUARD)
    # Most outputs are finite throughout; of the others, what is not finite is compared by class.
    if not bool(finite.all()):
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
            return Accuracy(False, float("inf"), float("inf"), reason, rule)
        if not bool(finite.any()):
            return Accuracy(True, 0.0, 0.0, rule=rule)
        rel = torch.where(finite, rel, 0.0)
    mean = float(rel.sum() / finite.sum())
    maximum = float(rel.max())
    if rule == "mixed":
        return _mixed_rule(actual, got, want, finite, mean, maximum, limits, tolerance)
    mean_limit, max_limit = limits.mean, limits.maximum
    if tolerance is not None and tolerance.mean is not None and tolerance.maximum is not None:
        mean_limit, max_limit = tolerance.mean, tolerance.maximum
    if mean < mean_limit and maximum < max_limit:
        return Accuracy(True, mean, maximum)
    failed = finite & (rel >= max_limit)
    if not bool(failed.any()):
        result = _mean_rule(got, truncated, finite, rel, mean, maximum, mean_limit, limits)
    else:
        result = _count_rule(
            got, truncated, finite, failed, native, mean, maximum, max_limit, limits
        )
    if (
        not result.passed
        and _mixed_rule(actual, got, want, finite, mean, maximum, limits, None).passed
    ):
        hint = f"{result.reason} (CANN's mixed standard accepts it: `tolerance: {{OUTPUT: mixed}}`)"
        return Accuracy(False, mean, maximum, hint)
    return result


def _class_mismatch(got: torch.Tensor, want: torch.Tensor) -> torch.Tensor:
    """Where exactly one side is nan or infinite, or the infinities' signs differ."""
    from msopgen_wrap.torch_ext.torch_import import torch

    same = (torch.isnan(want) & torch.isnan(got)) | (want == got)
    return (~torch.isfinite(want) | ~torch.isfinite(got)) & ~same


def _mixed_rule(actual, got, want, finite, mean, maximum, limits, tolerance) -> Accuracy:
    """Judge by the mixed tolerance standard."""
    from msopgen_wrap.torch_ext.torch_import import torch

    rtol = atol = limits.mixed
    cap = limits.cap
    if tolerance is not None:
        rtol = rtol if tolerance.rtol is None else tolerance.rtol
        atol = atol if tolerance.atol is None else tolerance.atol
        cap = cap if tolerance.cap is None else tolerance.cap
    error = torch.where(finite, (got - want).abs(), 0.0)
    wrong = finite & (error > atol + rtol * want.abs())
    count, allowed = int(wrong.sum()), int((1 - _MIXED_SHARE) * int(finite.sum()))
    if count > allowed:
        where = _first(wrong)
        reason = (
            f"{count} elements over {atol:.3g} + {rtol:.3g} |golden| (1%, {allowed}, may be); "
            f"first at {where}: got {got[where].item():.9g}, want {want[where].item():.9g}"
        )
        return Accuracy(False, mean, maximum, reason, "mixed")
    info = torch.finfo(actual.dtype)
    exponent = torch.floor(torch.log2(want.abs().clamp(min=info.smallest_normal)))
    capped = torch.clamp(_MIXED_ULPS * info.eps * torch.exp2(exponent), min=cap)
    beyond = finite & (error > capped)
    if bool(beyond.any()):
        where = _first(beyond)
        reason = (
            f"absolute error {error[where].item():.3g} at {where} is over the cap "
            f"{capped[where].item():.3g}: got {got[where].item():.9g}, "
            f"want {want[where].item():.9g}"
        )
        return Accuracy(False, mean, maximum, reason, "mixed")
    note = ""
    if count:
        note = f"{count} elements are over atol + rtol |golden|, 1% ({allowed}) may be"
    elif maximum >= limits.maximum:
        note = f"near zero the rule allows an absolute error of {atol:.3g}"
    return Accuracy(True, mean, maximum, rule="mixed", note=note)


def _mean_rule(got, truncated, finite, rel, mean, maximum, mean_limit, limits) -> Accuracy:
    """Judge an output whose mean alone is over: small values may not drag it."""
    normal = finite & (truncated.abs() >= limits.small)
    small_wrong = finite & ~normal & ((got - truncated).abs() > limits.small_error)
    count = int(normal.sum())
    normal_mean = float(rel[normal].mean()) if count else 0.0
    if normal_mean < mean_limit and not bool(small_wrong.any()):
        small = int((finite & ~normal).sum())
        note = (
            f"the mean leaves out {small} values with |golden| < {limits.small:.2g}, "
            f"whose absolute error is within {limits.small_error:.2g}"
        )
        return Accuracy(True, mean, maximum, note=note)
    return Accuracy(False, mean, maximum, f"mean relative error {mean:.3g} >= {mean_limit:.3g}")


def _count_rule(
    got, truncated, finite, failed, native, mean, maximum, max_limit, limits
) -> Accuracy:
    """Apply the error-count rule to the small, cancelled and deep-sum positions."""
    small = finite & (truncated.abs() < limits.small)
    cancelled = finite & ~small & (got.abs() < limits.cancel) & (truncated.abs() < limits.cancel)
    normal = finite & ~small & ~cancelled
    reference = None if native is None else native.double()
    notes = []
    for region, positions in (("small", small), ("cancelled", cancelled), ("normal", normal)):
        if region == "small":
            wrong = positions & ((got - truncated).abs() > limits.small_error)
        else:
            wrong = positions & failed
        over, count = int((positions & failed).sum()), int(wrong.sum())
        allowed = _NATIVE_RATIO if region != "normal" else 0
        if count and reference is not None:
            allowed = _native_allowance(reference, truncated, positions, region, max_limit, limits)
        if count > allowed:
            where = _first(wrong)
            reason = (
                f"{count} {region} elements over the bound (max rel {max_limit:.3g}, "
                f"allowed {allowed}); first at {where}: got {got[where].item():.9g}, "
                f"want {truncated[where].item():.9g}"
            )
            return Accuracy(False, mean, maximum, reason)
        if over:
            notes.append(_count_note(region, over, count, allowed, limits))
    return Accuracy(True, mean, maximum, note="; ".join(notes))


def _count_note(region: str, over: int, count: int, allowed: int, limits: Thresholds) -> str:
    """Say why elements over 10 T pass."""
    if region == "small" and count == 0:
        return (
            f"{over} with |golden| < {limits.small:.2g} are within {limits.small_error:.2g} of it"
        )
    bound = {
        "small": f" with |golden| < {limits.small:.2g}",
        "cancelled": f" with |golden| < {limits.cancel:.2g}",
        "normal": "",
    }[region]
    return f"{count}{bound} are over, {allowed} may be (twice what a CPU makes)"


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
