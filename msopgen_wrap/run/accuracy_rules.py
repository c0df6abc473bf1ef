"""CANN's accuracy rules: is an output close enough to its float64 golden reference?

Which rule judges an output follows from its dtype, from how the spec's ``compute`` makes it, and
from ``tolerance`` in the spec (``RULES`` names them):

* ``relative``, every floating output by default: the "ecosystem operator" standard (opbase,
  docs/zh/ops_precision_standard) as applied by CANN Bench. With
  rel = |actual - golden| / (|golden| + 1e-7) an output passes when mean(rel) < T and
  max(rel) < 10 T. Where relative error is ill-conditioned (results close to zero, cancellation,
  deep fp32 sums) the standard counts errors and allows at most twice as many as the same
  computation in the output's own precision on a CPU makes (``native``). Elements whose error the
  roundings of a sum explain are left out (``conditioning``).
* ``mixed``, on request: the mixed tolerance standard. An element passes when
  |actual - golden| <= atol + rtol |golden|; the output passes when 99% of its elements do and the
  largest absolute error stays under a cap, or under 32 units in the last place of its golden value.
  In a gradient that PyTorch has derived, the roundings to 16 bits between its products may exceed
  that: twice as many elements may be over as in the same gradient on a CPU in the inputs' dtypes
  (``native``), and none by more than twice the largest error there. As a whole it may be no further
  off than ``whole_error`` says: near zero the bounds on elements say nothing about a factor.
* ``exact``: integers and bool.
* ``quantised``: integers that ``compute`` rounds from a float that was itself computed. The float
  may lie on either side of a tie, so an element may be one off; few are (``QUANTISED_SHARE``).
  Elements that roundings between operators move are right, whatever their number: those of a row
  whose zero point lies next to a tie.
* ``absolute``, on request: integers that may be off by a number that the spec gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    # Not published, as no kernel computes in it: for the ops that `check_op` is given. T is half
    # the digits of the format, as with float32.
    "float64": Thresholds(2**-26, 10 * 2**-26, 2**-27, 2**-56, 2**-16, 2**-26, 1e-6),
}

#: Rule -> what it says, for reports.
RULES = {
    "relative": "mean relative error < T and largest < 10 T (T: float16 2^-10, bfloat16 2^-7, "
    "float32 2^-13); values near zero and rests of cancellations are counted instead: at most "
    "twice as many may be over as in the same computation on a CPU in the output's dtype",
    "mixed": "|error| <= atol + rtol |golden| for 99% of the elements (both float16 2^-10, "
    "bfloat16 2^-7, float32 2^-13), and the largest error below a cap (float16 and bfloat16 0.1, "
    "float32 0.01, or 32 ulp); of a derived gradient twice as many elements may be over as in "
    "PyTorch's own on a CPU in the inputs' dtypes, and by twice the largest error there; its root "
    "mean square error is at most 4 T of golden's, or four times PyTorch's",
    "exact": "equal",
    "quantised": "a float that compute rounds to an integer may be one off where it lies next to a "
    "tie: at most 1% of the elements, or twice as many as on a CPU in the inputs' dtype",
    "absolute": "off by no more than the spec's tolerance",
}

QUANTISED_SHARE = 0.01
#: How many more errors a kernel may have than the same computation on a CPU.
NATIVE_RATIO = 2


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


def rule_of(is_float: bool, tolerance: Tolerance | None, quantised: bool) -> str:
    """Return the rule that judges an output."""
    if is_float:
        return "mixed" if tolerance is not None and tolerance.rule == "mixed" else "relative"
    if tolerance is not None and tolerance.absolute is not None:
        return "absolute" if tolerance.absolute else "exact"
    return "quantised" if quantised else "exact"
