"""Check gradients against those of the reference at the same points."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msopgen_wrap.testing.comparisons import bits_differ
from msopgen_wrap.testing.outcomes import CheckResult
from msopgen_wrap.testing.references import (
    Expected,
    Place,
    ReferenceRefused,
    first_line,
    float_places,
    gradient_reference,
    leaves,
)
from msopgen_wrap.testing.samples import Sample, draw, map_tensors
from msopgen_wrap.testing.subject import Subject
from msopgen_wrap.testing.value_checks import LAYOUTS, accepted, tied_subjects
from msopgen_wrap.torch_import import torch

if TYPE_CHECKING:
    from torch import Tensor


def check_gradients(subject: Subject, result: CheckResult) -> None:
    """Compare with the gradient of the reference in float64, at the same points.

    Random incoming gradients, and the one of ``sum()``; all inputs, and each alone; each output
    alone; other calls in between; a second pass over one graph; other layouts; a tensor that is
    passed twice.
    """
    for sample, expected in accepted(subject, result, differentiable(subject, result)):
        weights = weights_of(expected, sample)
        places = float_places(sample.args)
        if not _compare(subject, result, sample, places, weights):
            continue  # it raises, or there is nothing to compare with
        ones = [None if w is None else torch.ones(()).to(w).expand(w.shape) for w in weights]
        _compare(subject, result, sample, places, ones, "gradient of sum()")
        for place in places if len(places) > 1 else ():
            name = place_name(subject, place)
            _compare(subject, result, sample, [place], weights, f"gradient of {name} only")
        used = [i for i, w in enumerate(weights) if w is not None]
        for number in used if len(used) > 1 else ():
            only = [w if i == number else None for i, w in enumerate(weights)]
            _compare(subject, result, sample, places, only, f"output {number} used only")
        _compare(subject, result, sample, places, weights, "another call in between", between=True)
        for name in ("transposed", "strided"):
            layout = LAYOUTS[name]
            _compare(subject, result, sample, places, weights, f"{name} inputs", layout=layout)
        _check_shapes(subject, result, sample, places, weights)
        for tied in tied_subjects(subject, sample):
            one = tied.samples[0]
            _compare(tied, result, one, float_places(one.args), weights)


def differentiable(subject: Subject, result: CheckResult) -> list[Sample]:
    """Return the cases with floating inputs; set the reason where there is none."""
    if subject.op.mutates:
        result.reason = "the op writes its arguments: there is no gradient to compare"
        return []
    found = [s for s in subject.samples if s.dtype.is_floating_point and float_places(s.args)]
    if not found:
        result.reason = "no case has floating inputs"
        return []
    lacking = gradient_lack(subject, found[0])
    if lacking and result.name in subject.explicit:
        result.cases += 1
        subject.fail(result, found[0], lacking)
    elif lacking:
        result.reason = lacking
    return [] if lacking else found


# What torch says where an op has no derivative; other errors are mistakes of one.
_NO_DERIVATIVE = (
    "no autograd formula was registered",
    "derivative for",
    "not implemented the",
    "is not differentiable",  # `backward: none` in a spec
)


def gradient_lack(subject: Subject, sample: Sample) -> str:
    """Return why the op has no gradient, "" where it has one."""
    args = subject.op.place(sample.args)
    points = leaves(args, float_places(args))
    try:
        outputs = [o for o in subject.op(args, sample.kwargs) if o.requires_grad]
    except Exception:
        return ""  # other checks tell
    if not outputs:
        return "the op has no gradient: its results do not require one"
    try:
        torch.autograd.grad([o.sum() for o in outputs], points, allow_unused=True)
    except (RuntimeError, NotImplementedError) as error:
        if any(text in str(error) for text in _NO_DERIVATIVE):
            return f"the op has no gradient: {first_line(error)}"
    except Exception:
        return ""
    return ""


def weights_of(expected: Expected, sample: Sample) -> list[Tensor | None]:
    """Draw the incoming gradient of each floating output, None for integers."""
    generator = torch.Generator().manual_seed(zlib.crc32(sample.label.encode()))
    return [
        draw(g.shape, sample.dtype, generator, -1, 1) if g.is_floating_point() else None
        for g in expected.golden
    ]


def _compare(
    subject: Subject,
    result: CheckResult,
    sample: Sample,
    places: Sequence[Place],
    weights: Sequence[Tensor | None],
    note: str = "",
    *,
    layout: Callable[[Tensor], Tensor] | None = None,
    between: bool = False,
) -> bool:
    """Compare once; return whether the op and the reference have a gradient."""
    noted = sample.with_args(sample.args, note) if note else sample
    try:
        golden = gradient_reference(subject.reference, sample.args, sample.kwargs, places, weights)
    except ReferenceRefused as refusal:
        result.notes.append(f"{noted.label}: no gradient of the reference: {refusal}")
        return False
    if golden is None:
        if not result.cases:
            result.reason = "the reference has no gradient"
        return False
    result.reason = ""
    names = [f"gradient of {place_name(subject, place)}" for place in places]
    try:
        found = _op_gradients(subject, noted, places, weights, result, layout, between)
    except Exception as error:
        result.cases += 1
        subject.fail(result, noted, f"the gradient raised {first_line(error)}")
        return False
    subject.match(result, noted, found, golden, names)
    return True


def _op_gradients(
    subject: Subject,
    sample: Sample,
    places: Sequence[Place],
    weights: Sequence[Tensor | None],
    result: CheckResult,
    layout: Callable[[Tensor], Tensor] | None,
    between: bool,
) -> list[Tensor]:
    """Return the op's gradients; add what backward changes that is not its own."""
    args = subject.op.place(sample.args)
    if layout is not None:
        args = [map_tensors(lambda t: layout(t) if t.numel() else t, a) for a in args]
    points = leaves(args, places)
    outputs = subject.op(args, sample.kwargs)
    if between:
        # What is kept on a class or a module, and not in the graph, is overwritten here.
        others = [map_tensors(_other_values, a) for a in args]
        leaves(others, places)
        subject.op(others, sample.kwargs)
    used = [
        (o, w.to(o.device, o.dtype) if layout is None else layout(w.to(o.device, o.dtype)))
        for o, w in zip(outputs, weights, strict=False)
        if w is not None and o.requires_grad
    ]
    if not used:
        return [torch.zeros_like(point) for point in points]
    incoming = [w for _, w in used]
    before = [t.detach().clone() for t in (*incoming, *points)]
    found = torch.autograd.grad(
        [o for o, _ in used], points, incoming, allow_unused=True, retain_graph=True
    )
    for now, then in zip((*incoming, *points), before, strict=True):
        if bits_differ(now, then):
            what = "backward changed a tensor that is not its own: an input or incoming gradient"
            subject.fail(result, sample, what)
            break
    else:
        again = torch.autograd.grad([o for o, _ in used], points, incoming, allow_unused=True)
        for one, other in zip(found, again, strict=True):
            if one is not None and (other is None or bits_differ(one, other)):
                subject.fail(result, sample, "a second pass over the graph gives another gradient")
                break
    return [
        torch.zeros_like(point) if g is None else g for g, point in zip(found, points, strict=True)
    ]


def _other_values(tensor: Tensor) -> Tensor:
    plain = tensor.detach()
    return plain.roll(1) * 0.5 if plain.is_floating_point() else plain.clone()


def _check_shapes(
    subject: Subject,
    result: CheckResult,
    sample: Sample,
    places: Sequence[Place],
    weights: Sequence[Tensor | None],
) -> None:
    """Demand that a backward in Python itself returns gradients of the shapes of its inputs.

    Autograd's engine sums a gradient of a larger shape silently, which PyTorch's own formulas count
    on. A formula of someone's own that forgot axes passes by that only in autograd: called in
    another way, or written as a kernel from it, it is wrong.
    """
    args = subject.op.place(sample.args)
    try:
        points = leaves(args, places)
        outputs = [o for o in subject.op(args, sample.kwargs) if o.grad_fn is not None]
        nodes = {o.grad_fn for o in outputs}
        if len(nodes) != 1 or len(outputs) != sum(w is not None for w in weights):
            return
        node = nodes.pop()
        if not isinstance(node, torch.autograd.function.BackwardCFunction):
            return
        given = [
            w.to(o.device, o.dtype) for w, o in zip(weights, outputs, strict=False) if w is not None
        ]
        raw = node.apply(*given)
    except Exception:
        return  # values are compared elsewhere; this only reads what a single node returns
    raw = raw if isinstance(raw, tuple) else (raw,)
    for gradient, (following, _) in zip(raw, node.next_functions, strict=False):
        point = getattr(following, "variable", None)
        if gradient is None or point is None or gradient.shape == point.shape:
            continue
        for place, own in zip(places, points, strict=True):
            if own is point:
                what = (
                    f"backward returns a gradient of shape {tuple(gradient.shape)} for "
                    f"{place_name(subject, place)} of shape {tuple(point.shape)}: it is summed "
                    "over too few axes (autograd's engine sums the rest, other callers do not)"
                )
                subject.fail(result, sample, what)


def place_name(subject: Subject, place: Place) -> str:
    name = subject.op.argument(place[0])
    return f"{name}[{place[1]}]" if len(place) > 1 else name
