"""Checks of the values an op gives: on every layout, overlap and size, twice, and on poison."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msopgen_wrap.testing.comparisons import compare
from msopgen_wrap.testing.op_under_test import OpUnderTest
from msopgen_wrap.testing.outcomes import CheckResult
from msopgen_wrap.testing.references import (
    Expected,
    ReferenceRefused,
    first_line,
    forward_reference,
)
from msopgen_wrap.testing.samples import Sample, map_tensors, tensors
from msopgen_wrap.testing.subject import Subject
from msopgen_wrap.torch_import import torch

if TYPE_CHECKING:
    from torch import Tensor

_ROUNDS = 3


def check_forward(subject: Subject, result: CheckResult) -> None:
    """Compare with the reference in float64 by the accuracy rule."""
    for sample, expected in accepted(subject, result):
        subject.judge(result, sample, subject.op.place(sample.args), expected)


def check_dtypes(subject: Subject, result: CheckResult) -> None:
    """Demand the dtypes, the device and the number of results that the reference has."""
    for sample, expected in accepted(subject, result):
        outputs = _attempt(subject, result, sample, subject.op.place(sample.args))
        if outputs is None:
            continue
        result.cases += 1
        for number, (actual, native) in enumerate(zip(outputs, expected.native, strict=False)):
            if native is not None and actual.dtype is not native.dtype:
                what = f"output {number} is {actual.dtype}, the reference gives {native.dtype}"
                subject.fail(result, sample, what)
            if actual.device.type != subject.op.device.type:
                subject.fail(result, sample, f"output {number} lies on {actual.device}")


def check_zero_output(subject: Subject, result: CheckResult) -> None:
    """Control: a case must exist, per output, in which zeros would be refused."""
    told: dict[int, bool] = {}
    for sample, expected in accepted(subject, result):
        result.cases += 1
        for number, golden in enumerate(expected.golden):
            native = expected.native[number]
            own = sample.dtype if golden.is_floating_point() else golden.dtype
            dtype = own if native is None else native.dtype
            verdict = compare(
                golden.to(dtype), golden, native, expected.quantised[number], subject.tolerance
            )
            if verdict.refuses_zeros is not None:
                told[number] = told.get(number, False) or verdict.refuses_zeros
    if result.cases and not told:
        result.reason = "every output is empty"
    for number, refused in told.items():
        if not refused:
            what = f"no case tells output {number} from zeros: an op that writes zeros would pass"
            subject.fail(result, subject.samples[0], what)


def check_noncontiguous(subject: Subject, result: CheckResult) -> None:
    """Give the same values transposed, with gaps, and not at the start of their storage."""
    for sample, expected in accepted(subject, result, subject.few()):
        for name, layout in LAYOUTS.items():
            args = [_laid_out(a, layout) for a in subject.op.place(sample.args)]
            before = [t.stride() for t in tensors(subject.op.place(sample.args))]
            offsets = [t.storage_offset() for t in tensors(args)]
            if before == [t.stride() for t in tensors(args)] and not any(offsets):
                continue
            noted = sample.with_args(sample.args, f"{name} inputs")
            subject.judge(result, noted, args, expected)
    result.reason = "" if result.cases else result.reason or "no tensor has another layout"


def check_empty(subject: Subject, result: CheckResult) -> None:
    """Set each size that occurs in the shapes to 0, where the reference takes that."""
    for sample in subject.few():
        sizes = {d for t in tensors(sample.args) for d in t.shape if d}
        for size in sorted(sizes):
            args = [map_tensors(functools.partial(_emptied, size=size), a) for a in sample.args]
            shapes = " ".join(str(tuple(t.shape)) for t in tensors(args))
            _compare_made(subject, result, sample.with_args(args, f"emptied to {shapes}"))
    if not result.cases:
        result.reason = result.reason or "the reference takes no empty tensors"


def check_overlapping(subject: Subject, result: CheckResult) -> None:
    """Give expanded tensors, the same tensor twice, and windows of one storage."""
    for sample in subject.few():
        for note, args in _overlaps(sample.args, subject.op.mutates):
            noted = sample.with_args([map_tensors(torch.clone, a) for a in args], note)
            _compare_made(subject, result, noted, args)
        for tied in tied_subjects(subject, sample):
            _compare_made(tied, result, tied.samples[0])
    if not result.cases:
        result.reason = (
            result.reason or "no argument may overlap: each is written or has one element"
        )


def check_mutation(subject: Subject, result: CheckResult) -> None:
    """Demand that inputs keep their bits, but for those that the op writes by its schema."""
    for sample, _ in accepted(subject, result):
        args = subject.op.place(sample.args)
        before = [map_tensors(torch.clone, a) for a in args]
        if _attempt(subject, result, sample, args) is None:
            continue
        result.cases += 1
        for index, (old, new) in enumerate(zip(before, args, strict=True)):
            if index in subject.op.mutates:
                continue
            for a, b in zip(tensors(new), tensors(old), strict=True):
                name = subject.op.argument(index)
                subject.match_bits(result, sample, a, b, f"the op changed its input {name}")


def check_determinism(subject: Subject, result: CheckResult) -> None:
    """Demand the same bits from the same inputs, three times.

    Where the spec says ``deterministic: false`` every call is compared with the reference instead.
    """
    if not subject.deterministic:
        for sample, expected in accepted(subject, result, subject.few()):
            for _round in range(_ROUNDS):
                subject.judge(result, sample, subject.op.place(sample.args), expected)
        return
    for sample, _ in accepted(subject, result, subject.few()):
        runs = [_attempt(subject, result, sample, subject.op.place(sample.args))]
        for _round in range(_ROUNDS - 1 if runs[0] is not None else 0):
            again = _attempt(subject, result, sample, subject.op.place(sample.args))
            for one, other in zip(again or (), runs[0] or (), strict=False):
                subject.match_bits(result, sample, one, other, "a second call gives other bits")
        result.cases += 1


def check_poison(subject: Subject, result: CheckResult) -> None:
    """Fill fresh memory with NaN, integers with their largest value, and compare.

    What the op never wrote, and what it made of memory that it never wrote, shows in its results.
    torch fills what its own allocation functions (``torch.empty`` and ``at::empty``) return;
    memory from elsewhere (numpy, malloc) keeps what it holds.
    """
    with poisoned_memory():
        probe = torch.empty(16, device=subject.op.device)
    if not bool(probe.isnan().all()):
        result.reason = f"torch does not fill fresh memory on {subject.op.device}"
        return
    for sample, expected in accepted(subject, result):
        args = subject.op.place(sample.args)
        with poisoned_memory():
            subject.judge(result, sample, args, expected)


@contextlib.contextmanager
def poisoned_memory() -> Iterator[None]:
    """Let torch fill the memory that ``empty`` returns; put its settings back."""
    mode, warn = torch.are_deterministic_algorithms_enabled(), _warns_only()
    settings: Any = torch.utils.deterministic
    fill = settings.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True, warn_only=True)
    settings.fill_uninitialized_memory = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        settings.fill_uninitialized_memory = fill
        torch.use_deterministic_algorithms(mode, warn_only=warn)


def _warns_only() -> bool:
    return bool(torch.is_deterministic_algorithms_warn_only_enabled())


def accepted(
    subject: Subject, result: CheckResult, samples: Sequence[Sample] | None = None
) -> Iterator[tuple[Sample, Expected]]:
    """Yield the cases that the reference takes; note the others."""
    for sample in subject.samples if samples is None else samples:
        try:
            yield sample, subject.expected(sample)
        except ReferenceRefused as refusal:
            result.notes.append(f"{sample.label}: the reference refuses it: {refusal}")
            result.reason = "" if result.cases else f"the reference refuses: {refusal}"
            continue
        if result.cases:
            result.reason = ""


def _attempt(
    subject: Subject, result: CheckResult, sample: Sample, args: Sequence[Any]
) -> list[Tensor] | None:
    try:
        return subject.op(args, sample.kwargs)
    except Exception as error:
        subject.fail(result, sample, f"the op raised {first_line(error)}")
        return None


def _compare_made(
    subject: Subject, result: CheckResult, sample: Sample, args: Sequence[Any] | None = None
) -> None:
    """Compare on other values than a case's own; ``args`` where their memory matters."""
    try:
        expected = forward_reference(
            subject.reference, sample.args, sample.kwargs, subject.op.mutates
        )
    except ReferenceRefused:
        return
    placed = subject.op.place(sample.args) if args is None else list(args)
    if args is not None and subject.op.device.type != "cpu":
        placed = [map_tensors(lambda t: t.to(subject.op.device), a) for a in args]
    subject.judge(result, sample, placed, expected)


# ---- layouts -------------------------------------------------------------------------------------


def _transposed(tensor: Tensor) -> Tensor:
    if tensor.dim() < 2:
        return tensor
    return tensor.transpose(0, -1).contiguous().transpose(0, -1)


def _with_gaps(tensor: Tensor) -> Tensor:
    if not tensor.dim():
        return tensor
    room = tensor.new_zeros((*tensor.shape[:-1], 2 * tensor.shape[-1]))
    room[..., ::2] = tensor
    return room[..., ::2]


def _shifted(tensor: Tensor) -> Tensor:
    room = tensor.new_zeros(tensor.numel() + 1)
    room[1:] = tensor.reshape(-1)
    return room[1:].view(tensor.shape)


def _with_row_gaps(tensor: Tensor) -> Tensor:
    if tensor.dim() < 2:
        return tensor
    room = tensor.new_zeros((2 * tensor.shape[0], *tensor.shape[1:]))
    room[::2] = tensor
    return room[::2]


#: Name -> what lays the same values out in another way.
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "transposed": _transposed,
    "strided": _with_gaps,
    "strided in rows": _with_row_gaps,
    "shifted": _shifted,
}


def _laid_out(value: Any, layout: Callable[[Tensor], Tensor]) -> Any:
    return map_tensors(lambda t: layout(t) if t.numel() else t, value)


def _emptied(tensor: Tensor, size: int) -> Tensor:
    shape = tuple(0 if d == size else d for d in tensor.shape)
    return tensor if shape == tuple(tensor.shape) else tensor.new_empty(shape)


# ---- overlaps ------------------------------------------------------------------------------------


def _overlaps(args: Sequence[Any], mutates: frozenset[int]) -> Iterator[tuple[str, list[Any]]]:
    free = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor) and i not in mutates]
    wide = [i for i in free if args[i].numel() > 1]
    if not wide:
        return
    for axis, note in ((0, "expanded along the first axis"), (-1, "expanded along the last axis")):
        made = [map_tensors(torch.clone, a) for a in args]
        for i in wide:
            made[i] = made[i].narrow(axis, 0, 1).expand(args[i].shape)
        yield note, made
    made = [map_tensors(torch.clone, a) for a in args]
    for dtype in dict.fromkeys(args[i].dtype for i in wide):
        own = [i for i in wide if args[i].dtype is dtype]
        longest = max(own, key=lambda i: args[i].numel())
        room = torch.cat([args[longest].reshape(-1), args[own[0]].reshape(-1)[: len(own)]])
        for offset, i in enumerate(own):
            made[i] = room[offset : offset + args[i].numel()].view(args[i].shape)
    if len(wide) > 1:
        yield "windows of one storage", made


def tied_subjects(subject: Subject, sample: Sample) -> Iterator[Subject]:
    """Yield the op with one tensor in place of two of one shape and dtype, for each such pair."""
    free = [
        i
        for i, a in enumerate(sample.args)
        if isinstance(a, torch.Tensor) and i not in subject.op.mutates
    ]
    for first in free:
        for second in free:
            one, other = sample.args[first], sample.args[second]
            if first >= second or one.shape != other.shape or one.dtype is not other.dtype:
                continue
            rest = [a for i, a in enumerate(sample.args) if i != second]
            names = (subject.op.argument(first), subject.op.argument(second))
            noted = sample.with_args(rest, f"{names[0]} passed as {names[1]} too")
            mutates = [i - (i > second) for i in subject.op.mutates]
            op = OpUnderTest(_tied(subject.op.function, first, second), subject.op.device, mutates)
            reference = _tied(subject.reference, first, second)
            paste = subject._paste
            yield Subject(
                op,
                reference,
                [noted],
                subject.tolerance,
                subject.explicit,
                paste=lambda check, _, s=sample, p=paste: p(check, s),  # type: ignore[misc]
            )


def _tied(function: Callable[..., Any], first: int, second: int) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args[:second], args[first], *args[second:], **kwargs)

    return call
