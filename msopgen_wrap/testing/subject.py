"""An op, its reference and its cases, and how one run of it is judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from msopgen_wrap.testing.comparisons import (
    EAGER_NOTE,
    Verdict,
    as_good_as_eager,
    bits_differ,
    compare,
    first_difference,
    inputs_at,
)
from msopgen_wrap.testing.op_under_test import OpUnderTest, python_name
from msopgen_wrap.testing.outcomes import CheckResult, Failure
from msopgen_wrap.testing.references import (
    Expected,
    ReferenceRefused,
    first_line,
    forward_reference,
)
from msopgen_wrap.testing.samples import Sample, tensors

if TYPE_CHECKING:
    from torch import Tensor

    from msopgen_wrap.spec.model import Tolerance


@dataclass
class Subject:
    """What every check gets.

    Attributes:
        explicit: checks that the caller named; what does not apply is a failure there where the
            op is the reason.
        call: text of the arguments behind op, reference, shapes and dtypes, to paste.
        paste: writes the line that runs one check of one case again, where it is not `check_op`
            with shapes.
        export_onnx: what exports to ONNX, with the arguments of ``torch.onnx.export``.
        deterministic: whether two calls must give the same bits; the spec may allow others.
    """

    op: OpUnderTest
    reference: Callable[..., Any]
    samples: list[Sample]
    tolerance: Tolerance | None = None
    explicit: frozenset[str] = frozenset()
    call: str = ""
    paste: Callable[[str, Sample], str] | None = None
    export_onnx: Callable[..., Any] | None = None
    deterministic: bool = True
    _known: dict[int, tuple[Sample, Expected | ReferenceRefused]] = field(default_factory=dict)

    def expected(self, sample: Sample) -> Expected:
        """Return what the reference gives for a case of ``samples``, or for one made from it.

        Raises:
            ReferenceRefused: it does not take the arguments.
        """
        # The sample is kept: an id belongs to one object while that exists.
        if id(sample) not in self._known:
            try:
                found: Expected | ReferenceRefused = forward_reference(
                    self.reference, sample.args, sample.kwargs, self.op.mutates
                )
            except ReferenceRefused as refusal:
                found = refusal
            self._known[id(sample)] = (sample, found)
        value = self._known[id(sample)][1]
        if isinstance(value, ReferenceRefused):
            raise value
        return value

    def few(self, count: int = 2) -> list[Sample]:
        """Return some cases per dtype, those of highest rank first."""
        chosen: list[Sample] = []
        for dtype in dict.fromkeys(s.dtype for s in self.samples):
            own = [s for s in self.samples if s.dtype is dtype]
            ranks = {id(s): max((t.dim() for t in tensors(s.args)), default=0) for s in own}
            own.sort(key=lambda s, of=ranks: -of[id(s)])  # type: ignore[misc]
            chosen += own[:count]
        return chosen

    def judge(
        self, result: CheckResult, sample: Sample, args: Sequence[Any], expected: Expected
    ) -> list[Tensor] | None:
        """Call the op with ``args`` and compare; return its results, None where it raised."""
        try:
            outputs = self.op(args, sample.kwargs)
        except Exception as error:
            self.fail(result, sample, f"the op raised {first_line(error)}")
            return None
        self.match(result, sample, outputs, expected)
        return outputs

    def match(
        self,
        result: CheckResult,
        sample: Sample,
        outputs: Sequence[Tensor],
        expected: Expected,
        names: Sequence[str] = (),
    ) -> None:
        """Compare results with what they should be; count the case, add what is wrong.

        Args:
            names: of gradients. The accuracy rule is one for outputs: a gradient that misses it
                passes where eager autograd in the same dtype does no better.
        """
        result.cases += 1
        if len(outputs) != len(expected.golden):
            what = f"{len(outputs)} results, expected {len(expected.golden)}"
            self.fail(result, sample, what)
            return
        for number, actual in enumerate(outputs):
            golden = expected.golden[number]
            native, tolerance = expected.native[number], self.tolerance
            if tolerance is None and sample.tolerances and not names:
                # A list is one output of the spec, and several results.
                own = sample.tolerances
                tolerance = own[number] if len(own) == len(outputs) else own[0]
            verdict = compare(actual, golden, native, expected.quantised[number], tolerance)
            if verdict.reason and names and as_good_as_eager(actual, golden, native):
                verdict = Verdict(note=EAGER_NOTE)
            unnamed = "" if len(outputs) == 1 else f"output {number}"
            name = names[number] if names else unnamed
            if verdict.reason:
                what = f"{name}: {verdict.reason}" if name else verdict.reason
                self.fail(result, sample, what, verdict, golden.shape)
            elif verdict.note:
                result.notes.append(f"{sample.label}: {verdict.note}")

    def match_bits(
        self, result: CheckResult, sample: Sample, got: Tensor, wanted: Tensor, what: str
    ) -> None:
        """Demand the same bits; ``what`` says what was compared."""
        if got.shape != wanted.shape or got.dtype is not wanted.dtype:
            self.fail(result, sample, f"{what}: {got.shape} {got.dtype}, {wanted.shape}")
        elif bits_differ(got, wanted):
            self.fail(result, sample, what, first_difference(got, wanted), got.shape)

    def fail(
        self,
        result: CheckResult,
        sample: Sample,
        what: str,
        verdict: Verdict | None = None,
        shape: Sequence[int] = (),
    ) -> None:
        """Add a failure."""
        failure = Failure(sample.label, what, paste=self._paste(result.name, sample))
        if verdict is not None and verdict.index is not None:
            names = [self.op.argument(i) for i in range(len(sample.args))]
            failure = replace(
                failure,
                index=verdict.index,
                got=verdict.got,
                expected=verdict.expected,
                differing=verdict.differing,
                total=verdict.total,
                inputs=inputs_at(names, sample.args, verdict.index, shape),
            )
        result.failures.append(failure)

    def _paste(self, check: str, sample: Sample) -> str:
        if self.paste is not None:
            return self.paste(check, sample)
        reference = python_name(self.reference, "reference")
        return (
            f"check_op({self.op.name}, {reference}, [{sample.shapes}], [{sample.dtype}]"
            f"{self.call}, checks=[{check!r}]).raise_if_failed()"
        )
