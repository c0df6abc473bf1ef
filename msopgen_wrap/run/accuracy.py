"""Is an output close enough to its golden reference? The rules are those of ``accuracy_rules``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msopgen_wrap.run.accuracy_rules import NATIVE_RATIO, QUANTISED_SHARE, Accuracy, rule_of
from msopgen_wrap.run.float_accuracy import FloatComparison, first_index

if TYPE_CHECKING:
    import torch

    from msopgen_wrap.run.chosen_places import ChosenPlaces
    from msopgen_wrap.spec.model import Tolerance


class Comparison:
    """The reference of one output, with what several comparisons with it share.

    Args:
        golden: reference values, float64 for floating outputs.
        dtype: of the output; it chooses the thresholds.
        native: the reference computed in the inputs' dtypes on the CPU, for rules that count
            errors; without it only their plain bounds apply.
        tolerance: what the spec says instead of the dtype's own bounds.
        quantised: the integers were rounded from floats that compute calculated.
        steps: the output of ``kernel_steps.KernelSteps``: where its floats are infinite or NaN and
            the golden ones are not, nothing is compared; quantised integers may be equal to it.
        allowance: gives the absolute errors that roundings explain (``Conditioning``); called only
            where an output would be refused.
        places: what positions are positions of, where any of equal elements may be chosen.
        derived: whether the op is one of gradients that PyTorch has derived.
        reached: tells where quantised integers are what roundings may give
            (``Conditioning.reached``); called only where an output would be refused.
    """

    def __init__(
        self,
        golden: torch.Tensor,
        dtype: torch.dtype,
        native: torch.Tensor | None = None,
        tolerance: Tolerance | None = None,
        quantised: bool = False,
        steps: torch.Tensor | None = None,
        allowance: Callable[[], torch.Tensor] | None = None,
        places: ChosenPlaces | None = None,
        derived: bool = False,
        reached: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> None:
        self._golden, self._places = golden, places
        self._native = native
        self._tolerance = tolerance
        self._steps, self._reached = steps, reached
        self._rule = rule_of(dtype.is_floating_point, tolerance, quantised)
        self._floats: FloatComparison | None = None
        if dtype.is_floating_point and golden.numel():
            self._floats = FloatComparison(
                golden, dtype, native, self._rule, tolerance, steps, allowance, derived
            )

    def accuracy(self, actual: torch.Tensor) -> Accuracy:
        """Judge an output of the kernel."""
        golden = self._golden
        if tuple(actual.shape) != tuple(golden.shape):
            reason = f"shape {tuple(actual.shape)}, golden has {tuple(golden.shape)}"
            return Accuracy(False, 0.0, 0.0, reason, self._rule)
        if actual.numel() == 0:
            return Accuracy(True, 0.0, 0.0, rule=self._rule)
        if self._floats is not None:
            return self._floats.accuracy(actual)
        if self._places is not None:
            return _compare_places(actual, golden, self._places, self._rule)
        accuracy = self._integers(actual)
        if accuracy.passed or self._rule != "quantised":
            return accuracy
        return self._integers(actual, self._explained(actual))

    def _integers(self, actual: torch.Tensor, explained: torch.Tensor | None = None) -> Accuracy:
        return _compare_integers(
            actual, self._golden, self._native, self._rule, self._tolerance, explained
        )

    def _explained(self, actual: torch.Tensor) -> torch.Tensor:
        """Return where integers differ as they may: by a tie, or by floats beyond float32."""
        from msopgen_wrap.torch_import import torch

        explained = torch.zeros_like(actual, dtype=torch.bool)
        if self._steps is not None:
            explained |= self._steps.to(actual.dtype) == actual
        if self._reached is not None:
            explained |= self._reached(actual)
        return explained

    def refuses_zeros(self, actual: torch.Tensor) -> bool:
        """Whether zeros of the shape and dtype of ``actual`` would fail in its place."""
        from msopgen_wrap.torch_import import torch

        if self._floats is not None and tuple(actual.shape) == tuple(self._golden.shape):
            return self._floats.refuses_zeros()
        zeros = torch.zeros_like(actual)
        if self._rule == "quantised" and tuple(actual.shape) == tuple(self._golden.shape):
            # what explains single elements explains no zeros, and takes runs of the reference
            return not self._integers(zeros).passed
        return not self.accuracy(zeros).passed


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
        native, tolerance, quantised: as for :class:`Comparison`.
    """
    return Comparison(golden, actual.dtype, native, tolerance, quantised).accuracy(actual)


def _compare_places(
    actual: torch.Tensor, golden: torch.Tensor, places: ChosenPlaces, rule: str
) -> Accuracy:
    """Judge positions of elements: those of equal elements are as good as the golden ones."""
    others = int((actual != golden.to(actual.dtype)).sum())
    if not others:
        return Accuracy(True, 0.0, 0.0, rule=rule)
    wrong = places.wrong(actual, golden)
    count = int(wrong.sum())
    if not count:
        note = f"{others} of {actual.numel()} positions are those of other elements, equal to them"
        return Accuracy(True, 0.0, 0.0, rule=rule, note=note)
    where = first_index(wrong)
    reason = (
        f"{count} of {actual.numel()} positions have no element of the right value, or are there "
        f"twice; first at {where}: got {actual[where].item()}, want {golden[where].item()} or one "
        "of an equal element"
    )
    return Accuracy(False, 1.0, 1.0, reason, rule)


def _compare_integers(
    actual: torch.Tensor,
    golden: torch.Tensor,
    native: torch.Tensor | None,
    rule: str,
    tolerance: Tolerance | None,
    explained: torch.Tensor | None = None,
) -> Accuracy:
    """Judge integers; those that are ``explained`` count as right."""
    from msopgen_wrap.torch_import import torch

    off = (actual.to(torch.int64) - golden.to(actual.dtype).to(torch.int64)).abs()
    left_out = 0
    if explained is not None:
        left_out = int((explained & (off > 0)).sum())
        off = off.masked_fill(explained, 0)
    wrong = off > 0
    count = int(wrong.sum())
    if count == 0:
        note = f"{left_out} of {off.numel()} elements lie next to a tie" if left_out else ""
        return Accuracy(True, 0.0, 0.0, rule=rule, note=note)
    allowed_off, note = 0, ""
    if rule == "absolute":
        assert tolerance is not None and tolerance.absolute is not None
        allowed_off = tolerance.absolute
        note = f"{count} of {off.numel()} elements are off, by at most {int(off.max())}"
        demand = f"at most {allowed_off} off"
    elif rule == "quantised":
        allowed_off, allowed = 1, max(1, int(QUANTISED_SHARE * off.numel()))
        if native is not None:
            allowed = max(allowed, NATIVE_RATIO * int((native != golden).sum()))
        demand = f"one off next to a tie, {allowed} elements"
        note = f"{count} of {off.numel()} elements are one off, {allowed} may be"
        if int(off.max()) <= 1 and count > allowed:
            where = first_index(wrong)
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
    where = first_index(beyond)
    reason = (
        f"{int(beyond.sum())} of {off.numel()} elements differ ({demand}); first at {where}: "
        f"got {actual[where].item()}, want {golden[where].item()}"
    )
    return Accuracy(False, 1.0, 1.0, reason, rule)
