"""The rules for floating outputs, ``relative`` and ``mixed``.

Cases have up to millions of elements and most pass by the plain bounds, so that is decided in few
passes over the data; masks and counts are made only where it does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from msopgen_wrap.run.accuracy_rules import NATIVE_RATIO, THRESHOLDS, Accuracy, Thresholds
from msopgen_wrap.run.whole_error import WholeError

if TYPE_CHECKING:
    import torch

    from msopgen_wrap.spec.model import Tolerance

_MIXED_SHARE = 0.99
_MIXED_ULPS = 32
_REL_GUARD = 1e-7


class FloatComparison:
    """A golden reference with what every comparison with it needs.

    Args:
        golden: float64 values, at least one.
        dtype: of the output.
        native: the reference computed in the inputs' dtypes on the CPU, or None.
        rule: ``relative`` or ``mixed``.
        tolerance: what the spec says instead of the dtype's own bounds.
        steps: the reference in float32 in the steps of a kernel, or None.
        allowance: gives the absolute errors that roundings explain, or None.
        derived: whether PyTorch has derived the formula, a gradient.
    """

    def __init__(
        self,
        golden: torch.Tensor,
        dtype: torch.dtype,
        native: torch.Tensor | None,
        rule: str,
        tolerance: Tolerance | None,
        steps: torch.Tensor | None = None,
        allowance: Callable[[], torch.Tensor] | None = None,
        derived: bool = False,
    ) -> None:
        self._want = golden.double()
        self._steps = steps
        self._allowance = allowance
        self._derived = derived
        self._dtype = dtype
        self._native = native
        self._rule = rule
        self._tolerance = tolerance
        self._limits = THRESHOLDS[str(dtype).removeprefix("torch.")]
        self._mean_limit, self._max_limit = self._limits.mean, self._limits.maximum
        if tolerance is not None and tolerance.mean is not None and tolerance.maximum is not None:
            self._mean_limit, self._max_limit = tolerance.mean, tolerance.maximum

    def accuracy(self, actual: torch.Tensor) -> Accuracy:
        """Judge an output of the golden's shape."""
        return self._judge(actual.double(), explain=True)

    def refuses_zeros(self) -> bool:
        """Whether zeros would fail."""
        return not self._judge(self._want.new_zeros(()), explain=False).passed

    # ---- what comparisons share --------------------------------------------------------------

    @cached_property
    def _truncated(self) -> torch.Tensor:
        """What the output's dtype can hold of the true value; an overflow is an infinity there."""
        return self._want.to(self._dtype).double()

    @cached_property
    def _all_finite(self) -> bool:
        # A sum of double precision does not overflow on values of the outputs' dtypes.
        return math.isfinite(float(self._truncated.sum()))

    @cached_property
    def _scale(self) -> torch.Tensor:
        return self._want.abs().add_(_REL_GUARD)

    @cached_property
    def _magnitude(self) -> torch.Tensor:
        return self._truncated.abs()

    @cached_property
    def _native_error(self) -> torch.Tensor | None:
        return None if self._native is None else (self._native.double() - self._truncated).abs_()

    @cached_property
    def _comparable(self) -> torch.Tensor | None:
        """Elements whose true value tells what a kernel gives; None: all of them.

        A square of the largest values overflows in float32, and what PyTorch makes of that there
        (NaN or an infinity) is no measure either. 16-bit outputs are calculated in float32.
        """
        from msopgen_wrap.torch_import import torch

        native = self._native
        known = [] if self._steps is None else [self._steps]
        if native is not None and native.dtype is torch.float32:
            known.append(native)
        comparable = None
        for values in known:
            if not math.isfinite(float(values.sum())):
                finite = torch.isfinite(values) | ~torch.isfinite(self._truncated)
                comparable = finite if comparable is None else comparable & finite
        return None if comparable is None or bool(comparable.all()) else comparable

    # ---- the rules ---------------------------------------------------------------------------

    def _judge(self, got: torch.Tensor, explain: bool) -> Accuracy:
        """Judge values that broadcast to the golden's shape.

        Args:
            explain: give the reason of a refusal, for which ``got`` has the golden's shape.
        """
        from msopgen_wrap.torch_import import torch

        rel = (got - self._want).abs_().div_(self._scale)
        total, maximum = float(rel.sum()), float(rel.max())
        finite: torch.Tensor | None = None
        count = rel.numel()
        if not (self._all_finite and math.isfinite(total)):
            finite = torch.isfinite(self._truncated) & torch.isfinite(got)
            count = _count(finite)
        # Most outputs are finite throughout; of others, what is not finite is compared by class.
        if finite is not None and count != finite.numel():
            refusal = self._mismatch(got, explain)
            if refusal is not None:
                return refusal
        if self._comparable is not None:
            finite = self._comparable if finite is None else finite & self._comparable
            count = _count(finite)
        if finite is not None and count != finite.numel():
            if not count:
                return Accuracy(True, 0.0, 0.0, rule=self._rule)
            rel = torch.where(finite, rel, 0.0)
            total, maximum = float(rel.sum()), float(rel.max())
        mean = total / count
        if self._rule == "mixed":
            return self._mixed_rule(got, finite, mean, maximum, self._tolerance)
        if mean < self._mean_limit and maximum < self._max_limit:
            return Accuracy(True, mean, maximum)
        failed = _within(finite, rel >= self._max_limit)
        if not _count(failed):
            result = self._mean_rule(got, finite, rel, mean, maximum)
        else:
            result = self._count_rule(got, finite, failed, mean, maximum, explain)
        if explain and not result.passed and self._allowance is not None:
            result = self._without_cancelled(got, finite, rel, failed, result)
        if (
            explain
            and not result.passed
            and self._mixed_rule(got, finite, mean, maximum, None).passed
        ):
            hint = (
                f"{result.reason} (CANN's mixed standard accepts it: "
                "`tolerance: {OUTPUT: mixed}`)"
            )
            return Accuracy(False, mean, maximum, hint)
        return result

    def _mismatch(self, got: torch.Tensor, explain: bool) -> Accuracy | None:
        """Compare infinities and nan; None when they agree."""
        from msopgen_wrap.torch_import import torch

        mismatch = _class_mismatch(got, self._truncated)
        if self._native is not None:
            # Where the same computation overflows in the output's own precision the true value says
            # nothing about the kernel (squares of the largest values, say).
            mismatch &= ~_class_mismatch(self._native.double(), self._truncated)
        if self._steps is not None:
            # None of these may lose an infinity or NaN.
            mismatch &= torch.isfinite(self._steps) | ~_class_mismatch(
                self._steps.double(), self._truncated
            )
        count = _count(mismatch)
        if not count:
            return None
        reason = ""
        if explain:
            where = first_index(mismatch)
            reason = (
                f"{count} inf/nan mismatches; first at {where}: "
                f"got {got[where].item():g}, want {self._truncated[where].item():g}"
            )
        return Accuracy(False, float("inf"), float("inf"), reason, self._rule)

    def _mixed_rule(
        self,
        got: torch.Tensor,
        finite: torch.Tensor | None,
        mean: float,
        maximum: float,
        tolerance: Tolerance | None,
    ) -> Accuracy:
        """Judge by the mixed tolerance standard."""
        from msopgen_wrap.torch_import import torch

        want, limits = self._want, self._limits
        got = got.expand(want.shape)
        rtol = atol = limits.mixed
        cap = limits.cap
        if tolerance is not None:
            rtol = rtol if tolerance.rtol is None else tolerance.rtol
            atol = atol if tolerance.atol is None else tolerance.atol
            cap = cap if tolerance.cap is None else tolerance.cap
        error = (got - want).abs_()
        if finite is not None:
            error = torch.where(finite, error, 0.0)
        wrong = _within(finite, error > atol + rtol * want.abs())
        total = want.numel() if finite is None else _count(finite)
        count, allowed = _count(wrong), int((1 - _MIXED_SHARE) * total)
        measure = f"1% ({allowed}) may be"
        # A gradient takes roundings of 16 bits between its products, as in PyTorch.
        measured = self._native_error if self._derived else None
        if count > allowed and measured is not None:
            over = (measured > atol + rtol * want.abs()) & torch.isfinite(measured)
            expected = _within(finite, over)
            allowed = max(allowed, NATIVE_RATIO * _count(expected))
            measure = f"{allowed} may be, 1% or twice what a CPU makes"
        if count > allowed:
            where = first_index(wrong)
            reason = (
                f"{count} elements over {atol:.3g} + {rtol:.3g} |golden| ({measure}); "
                f"first at {where}: got {got[where].item():.9g}, want {want[where].item():.9g}"
            )
            return Accuracy(False, mean, maximum, reason, "mixed")
        info = torch.finfo(self._dtype)
        exponent = torch.floor(torch.log2(want.abs().clamp(min=info.smallest_normal)))
        capped = torch.clamp(_MIXED_ULPS * info.eps * torch.exp2(exponent), min=cap)
        beyond = _within(finite, error > capped)
        if _count(beyond) and measured is not None:
            known = torch.where(_within(finite, torch.isfinite(measured)), measured, 0.0)
            # Two right computations in float32 differ in the order of their sums.
            capped = capped.clamp(min=NATIVE_RATIO * float(known.max()))
            beyond = _within(finite, error > capped)
        if _count(beyond):
            where = first_index(beyond)
            reason = (
                f"absolute error {error[where].item():.3g} at {where} is over the cap "
                f"{capped[where].item():.3g}: got {got[where].item():.9g}, "
                f"want {want[where].item():.9g}"
            )
            return Accuracy(False, mean, maximum, reason, "mixed")
        if self._derived:
            whole = WholeError(want, finite, rtol, limits.small_error)
            reason = whole.reason(error, self._native_error, self._allowance)
            if reason:
                return Accuracy(False, mean, maximum, reason, "mixed")
        note = ""
        if count:
            note = f"{count} elements are over atol + rtol |golden|, {measure}"
        elif maximum >= limits.maximum:
            note = f"near zero the rule allows an absolute error of {atol:.3g}"
        return Accuracy(True, mean, maximum, rule="mixed", note=note)

    def _without_cancelled(
        self,
        got: torch.Tensor,
        finite: torch.Tensor | None,
        rel: torch.Tensor,
        failed: torch.Tensor,
        refused: Accuracy,
    ) -> Accuracy:
        """Judge again without the elements whose errors are those of roundings in a sum."""
        from msopgen_wrap.torch_import import torch

        assert self._allowance is not None
        allowance = self._allowance()
        # The rounding to the output's dtype comes on top.
        bound = allowance + self._mean_limit * self._magnitude
        explained = _within(finite, (allowance > 0) & ((got - self._truncated).abs_() <= bound))
        count = _count(explained)
        if not count:
            return refused
        mean, maximum = refused.mean, refused.maximum
        rest = ~explained if finite is None else finite & ~explained
        if _count(failed):
            result = self._count_rule(got, rest, failed & rest, mean, maximum, explain=True)
            count = _count(explained & failed)
        else:
            number = max(1, _count(rest))
            kept = float(torch.where(rest, rel, 0.0).sum()) / number
            result = Accuracy(True, mean, maximum)
            if kept >= self._mean_limit:
                result = self._mean_rule(got, rest, rel, kept, maximum)
        if not result.passed:
            return result
        note = f"of {count} elements the roundings of a sum that cancels explain the error"
        notes = "; ".join(filter(None, (note, result.note)))
        return Accuracy(True, mean, maximum, note=notes)

    def _mean_rule(
        self,
        got: torch.Tensor,
        finite: torch.Tensor | None,
        rel: torch.Tensor,
        mean: float,
        maximum: float,
    ) -> Accuracy:
        """Judge an output whose mean alone is over: small values may not drag it."""
        limits = self._limits
        normal = _within(finite, self._magnitude >= limits.small)
        small = _within(finite, ~normal)
        small_wrong = small & ((got - self._truncated).abs_() > limits.small_error)
        normal_mean = float(rel[normal].mean()) if _count(normal) else 0.0
        if normal_mean < self._mean_limit and not _count(small_wrong):
            note = (
                f"the mean leaves out {_count(small)} values with |golden| < {limits.small:.2g}, "
                f"whose absolute error is within {limits.small_error:.2g}"
            )
            return Accuracy(True, mean, maximum, note=note)
        reason = f"mean relative error {mean:.3g} >= {self._mean_limit:.3g}"
        return Accuracy(False, mean, maximum, reason)

    def _count_rule(
        self,
        got: torch.Tensor,
        finite: torch.Tensor | None,
        failed: torch.Tensor,
        mean: float,
        maximum: float,
        explain: bool,
    ) -> Accuracy:
        """Apply the error-count rule to the small, cancelled and deep-sum positions."""
        notes = []
        # Most elements are normal, and none of these may be wrong for nothing: a refusal that need
        # not be explained is found there first.
        order = ("small", "cancelled", "normal") if explain else ("normal", "cancelled", "small")
        for region, positions in self._regions(got, finite, order):
            wrong = over = positions & failed
            if region == "small":
                wrong = positions & ((got - self._truncated).abs_() > self._limits.small_error)
            count = _count(wrong)
            allowed = NATIVE_RATIO if region != "normal" else 0
            if count and self._native is not None:
                allowed = self._native_allowance(positions, region)
            if count > allowed:
                reason = ""
                if explain:
                    where = first_index(wrong)
                    reason = (
                        f"{count} {region} elements over the bound (max rel "
                        f"{self._max_limit:.3g}, allowed {allowed}); first at {where}: got "
                        f"{got[where].item():.9g}, want {self._truncated[where].item():.9g}"
                    )
                return Accuracy(False, mean, maximum, reason)
            if number := _count(over):
                notes.append(_count_note(region, number, count, allowed, self._limits))
        return Accuracy(True, mean, maximum, note="; ".join(notes))

    def _regions(
        self, got: torch.Tensor, finite: torch.Tensor | None, names: tuple[str, ...]
    ) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield the positions of the regions that are judged apart."""
        limits = self._limits
        small = _within(finite, self._magnitude < limits.small)
        cancelled = (got.abs() < limits.cancel) & (self._magnitude < limits.cancel) & ~small
        cancelled = _within(finite, cancelled)
        for name in names:
            if name == "normal":
                yield name, _within(finite, ~(small | cancelled))
            else:
                yield name, small if name == "small" else cancelled

    def _native_allowance(self, positions: torch.Tensor, region: str) -> int:
        """Twice the errors the same-precision CPU computation makes; normal values get no free."""
        error = self._native_error
        assert error is not None
        if region == "small":
            wrong = positions & (error > self._limits.small_error)
        else:
            wrong = positions & (error / (self._magnitude + _REL_GUARD) >= self._max_limit)
        count = _count(wrong)
        if region == "normal":
            return NATIVE_RATIO * count
        return NATIVE_RATIO * max(count, 1)


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


def _within(finite: torch.Tensor | None, mask: torch.Tensor) -> torch.Tensor:
    """Return the positions of ``mask`` that are finite; None: all are."""
    return mask if finite is None else finite & mask


def _class_mismatch(got: torch.Tensor, want: torch.Tensor) -> torch.Tensor:
    """Where exactly one side is nan or infinite, or the infinities' signs differ."""
    from msopgen_wrap.torch_import import torch

    same = (torch.isnan(want) & torch.isnan(got)) | (want == got)
    return (~torch.isfinite(want) | ~torch.isfinite(got)) & ~same


def _count(mask: torch.Tensor) -> int:
    # Several times as fast as any().
    return int(mask.sum())


def first_index(mask: torch.Tensor) -> tuple[int, ...]:
    """Return the index of the first true element of a mask that has one."""
    from msopgen_wrap.torch_import import torch

    if mask.dim() == 0:
        return ()
    return tuple(int(i) for i in torch.nonzero(mask)[0])
