"""Check gradients against finite differences in float64."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msopgen_wrap.run.accuracy_rules import THRESHOLDS
from msopgen_wrap.run.golden import KeepDouble
from msopgen_wrap.testing.comparisons import Verdict
from msopgen_wrap.testing.gradient_checks import differentiable, place_name, weights_of
from msopgen_wrap.testing.op_under_test import results
from msopgen_wrap.testing.outcomes import CheckResult
from msopgen_wrap.testing.references import (
    Expected,
    Place,
    ReferenceRefused,
    at_place,
    first_line,
    float_places,
    gradient_reference,
    leaves,
)
from msopgen_wrap.testing.samples import Sample, map_tensors
from msopgen_wrap.testing.subject import Subject
from msopgen_wrap.testing.value_checks import accepted
from msopgen_wrap.torch_import import torch

if TYPE_CHECKING:
    from torch import Tensor

_STEP = 1e-5
_COORDINATES = 24
_KINK = 0.02
# Differences of a step of 1e-5 need that many digits.
_PRECISE = 1e-9


def check_finite_differences(subject: Subject, result: CheckResult) -> None:
    """Compare with differences in float64: of the op where it takes float64, else of the reference.

    They know nothing of any backward formula. Points where the slopes on both sides differ (a kink)
    are left out and counted.
    """
    wanted = differentiable(subject, result)
    few = [s for s in subject.few() if any(s is w for w in wanted)]
    for sample, expected in accepted(subject, result, few):
        # A result that is NaN or infinite has no slope, and leaves those of the others.
        weights = [
            None if w is None else w.masked_fill(~torch.isfinite(g), 0)
            for w, g in zip(weights_of(expected, sample), expected.golden, strict=True)
        ]
        places = float_places(sample.args)
        try:
            golden = gradient_reference(
                subject.reference, sample.args, sample.kwargs, places, weights
            )
        except ReferenceRefused:
            continue
        if golden is None:
            result.reason = "the reference has no gradient"
            continue
        double = _in_double(subject, sample, expected)
        own = double is not None
        point = double if double is not None else sample
        try:
            args = subject.op.place(point.args)
            points = leaves(args, places)
            outputs = subject.op(args, point.kwargs)
            used = [
                (o, w.to(o.device, o.dtype))
                for o, w in zip(outputs, weights, strict=False)
                if w is not None and o.requires_grad
            ]
            if not used:
                continue
            found = torch.autograd.grad(
                [o for o, _ in used], points, [w for _, w in used], allow_unused=True
            )
        except Exception as error:
            result.cases += 1
            subject.fail(result, sample, f"the gradient raised {first_line(error)}")
            continue
        result.reason = ""
        result.cases += 1
        function = subject.op.function if own else subject.reference
        for place, gradient, leaf in zip(places, found, points, strict=True):
            values = torch.zeros_like(leaf) if gradient is None else gradient
            _differences(subject, result, point, place, values.detach().cpu(), weights, function)


def _in_double(subject: Subject, sample: Sample, expected: Expected) -> Sample | None:
    """Return the case in float64; None where the op does not take that, or calculates in less."""
    args = [
        map_tensors(lambda t: t.double() if t.is_floating_point() else t, a) for a in sample.args
    ]
    made = sample.with_args(args, "in float64")
    try:
        outputs = subject.op(subject.op.place(args), sample.kwargs)
    except Exception:
        return None
    if len(outputs) != len(expected.golden):
        return None
    for output, golden in zip(outputs, expected.golden, strict=True):
        if golden.is_floating_point():
            got = output.detach().cpu()
            if got.dtype is not torch.float64 or got.shape != golden.shape:
                return None
            if not torch.allclose(got, golden, rtol=_PRECISE, atol=_PRECISE, equal_nan=True):
                return None
    return made


def _differences(
    subject: Subject,
    result: CheckResult,
    sample: Sample,
    place: Place,
    gradient: Tensor,
    weights: Sequence[Tensor | None],
    function: Callable[..., Any],
) -> None:
    """Compare some elements of one gradient."""
    own = function is subject.op.function
    device = subject.op.device if own else torch.device("cpu")
    args = [
        map_tensors(lambda t: t.double() if t.is_floating_point() else t.clone(), a)
        for a in sample.args
    ]
    target = at_place(args, place).clone()

    def scalar(shifted: Tensor) -> float:
        given = list(args)
        if len(place) > 1:
            given[place[0]] = [
                shifted if i == place[1] else v for i, v in enumerate(args[place[0]])
            ]
        else:
            given[place[0]] = shifted
        given = [map_tensors(lambda t: t.clone().to(device), a) for a in given]
        # A reference may say `x.float()`; that is too few digits for differences.
        with torch.no_grad(), contextlib.nullcontext() if own else KeepDouble():
            outputs = results(function(*given, **sample.kwargs), given, frozenset())
        return sum(
            float(torch.where(w == 0, 0.0, o.cpu().double() * w.double()).sum())
            for o, w in zip(outputs, weights, strict=False)
            if w is not None
        )

    generator = torch.Generator().manual_seed(1)
    count = target.numel()
    chosen = torch.randperm(count, generator=generator)[:_COORDINATES].tolist()
    rule = THRESHOLDS[str(gradient.dtype).removeprefix("torch.")].maximum
    rtol = max(1e-4, rule)
    finite = gradient.double()[torch.isfinite(gradient)]
    typical = float(finite.square().mean().sqrt()) if finite.numel() else 0.0
    centre = scalar(target)
    wrong: list[tuple[float, int, float]] = []
    kinks = 0
    for flat in chosen:
        value = float(target.reshape(-1)[flat])
        step = _STEP * max(1.0, abs(value))
        sides = []
        for sign in (1, -1):
            moved = target.clone()
            moved.view(-1)[flat] = value + sign * step
            sides.append((scalar(moved) - centre) * sign / step)
        slope = sum(sides) / 2
        own_slope = float(gradient.double().reshape(-1)[flat])
        if not math.isfinite(slope) or not math.isfinite(own_slope):
            kinks += 1
            continue
        if abs(sides[0] - sides[1]) > _KINK * (abs(sides[0]) + abs(sides[1]) + typical):
            kinks += 1
            continue
        off = abs(slope - own_slope)
        if not off <= rtol * (abs(slope) + typical) + 1e-6:
            wrong.append((off, flat, slope))
    if kinks:
        result.notes.append(f"{kinks} kinks left out")
    if not wrong:
        return
    _, flat, slope = max(wrong)
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(flat), gradient.shape))
    verdict = Verdict(
        index=index,
        got=gradient[index].item(),
        expected=slope,
        differing=len(wrong),
        total=len(chosen) - kinks,
    )
    source = "the op in float64" if own else "the reference in float64"
    what = f"gradient of {place_name(subject, place)} is not the slope of {source}"
    subject.fail(result, sample, what, verdict, gradient.shape)
