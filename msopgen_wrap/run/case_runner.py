"""Run one case of one op in the emulation and judge it."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from msopgen_wrap.run.accuracy import Comparison
from msopgen_wrap.run.accuracy_rules import Accuracy
from msopgen_wrap.run.coverage import traits
from msopgen_wrap.run.golden import NotApplicable, Reference, make_inputs, reference
from msopgen_wrap.run.hf32_products import TOLERANCE as HF32_TOLERANCE
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.run.results import FAILED, NOT_APPLICABLE, PASSED, CaseResult
from msopgen_wrap.run.worst_elements import MOST_ELEMENTS, neighbourhood
from msopgen_wrap.spec.contradicted_shape import contradicted_shape
from msopgen_wrap.spec.model import OpSpec, TensorParam, Tolerance
from msopgen_wrap.torch_import import torch

# No plausible result: an output the kernel did not write cannot look right.
_POISON = 0xA5
# With others a difference may be one that no rule counts.
_PLAIN_VALUES = ("normal", "whole")
_INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}


def run_case(spec: OpSpec, case: TestCase, runtime: Any, *, soc: str, mode: str) -> CaseResult:
    """Execute the kernel on fresh data; compare, check inputs for mutation and outputs for poison.

    Args:
        runtime: an ``OpRuntime`` that has the op's host library and kernels.
        soc: exact or family name.
        mode: ``fast`` or ``check``.
    """
    start = time.perf_counter()
    result = CaseResult(spec.op, case.label(spec), spec.inputs[0].dtypes[case.combo], FAILED)
    result.mode = mode
    result.traits = traits(spec, case)
    inputs = make_inputs(spec, case)
    try:
        want = reference(spec, case, inputs)
    except NotApplicable as refusal:
        result.status, result.reason = NOT_APPLICABLE, str(refusal)
        return result
    given = {name: _clone(value) for name, value in inputs.items()}
    outputs = make_outputs(spec, case, given, want)
    launches = runtime.launch_count()
    try:
        run = launch(spec, case, runtime, given, outputs, soc=soc, mode=mode)
    except RuntimeError as error:
        result.reason = "; ".join(contradicted_rules(spec, case, want)) or str(error)
        crash = getattr(error, "crash", None) or {}
        result.late = crash if "limit" in crash else None
        result.seconds = time.perf_counter() - start
        return result
    result.blocks, result.key = run.block_dim, run.tiling_key
    result.cores, result.tiles = run.cores, run.tiles
    result.findings = list(run.findings)
    result.seconds = time.perf_counter() - start
    reasons = []
    if runtime.launch_count() == launches and any(_numel(t) for t in outputs.values()):
        reasons.append("the kernel was not launched")
    reasons += _mutations(spec, inputs, given)
    reasons += judge(spec, outputs, want, result, case.combo)
    # Warnings are suspicious but can be right: they are listed and do not fail the case.
    bad = [f for f in result.findings if f.get("severity") != "warning"]
    if bad:
        first = bad[0]
        where = f"{first.get('file', '?')}:{first.get('line', 0)}"
        what = first.get("what") or first.get("message") or ""
        kind = first.get("check") or first.get("code") or first.get("kind") or "finding"
        reasons.append(f"sanitizer: {len(bad)} findings; {where}: {kind}: {what}")
    result.status = FAILED if reasons else PASSED
    result.reason = "; ".join(reasons)
    return result


def launch(
    spec: OpSpec,
    case: TestCase,
    runtime: Any,
    inputs: dict[str, Any],
    outputs: dict[str, Any],
    *,
    soc: str,
    mode: str,
) -> Any:
    """Execute the kernel of a case on given tensors, which it may write.

    Args:
        runtime, soc, mode: as for :func:`run_case`.

    Returns:
        The runtime's ``RunResult``.
    """
    return runtime.run(
        spec.op,
        [inputs[p.name] for p in spec.inputs],
        [outputs[p.name] for p in spec.outputs],
        {a.name: case.attrs.get(a.name) for a in spec.attrs},
        soc=soc,
        mode=mode,
        block_dim=case.block_dim,
    )


def contradicted_rules(spec: OpSpec, case: TestCase, want: Reference) -> list[str]:
    """Return a text for every output whose shape rule says another shape than ``compute`` gives."""
    texts = []
    for param in spec.outputs:
        result = want.native[param.name]
        if not isinstance(result, torch.Tensor):
            continue
        found = contradicted_shape(param, result, case.shapes, spec.default_attrs | case.attrs)
        if found is not None and not isinstance(found[1], str):  # the host code says why not
            actual, expected = map(list, found)
            texts.append(
                f"{param.name} has shape {actual} by compute and {expected} by its rule (OPG065): "
                "correct the rule or compute, or limit the inputs, as by an assert in compute"
            )
    return texts


def _clone(value: Any) -> Any:
    if isinstance(value, list):
        return [_clone(v) for v in value]
    return None if value is None else value.clone().contiguous()


def _numel(value: Any) -> int:
    return sum(t.numel() for t in value) if isinstance(value, list) else int(value.numel())


def make_outputs(
    spec: OpSpec, case: TestCase, given: dict[str, Any], want: Reference
) -> dict[str, Any]:
    """Return poisoned tensors for the outputs of a case; those in place are their inputs."""
    tensors: dict[str, Any] = {}
    for param in spec.outputs:
        if param.inplace:
            tensors[param.name] = given[param.inplace]
        else:
            dtype = getattr(torch, param.dtypes[case.combo])
            tensors[param.name] = _made(want.native[param.name], partial(_poisoned, dtype=dtype))
    return tensors


def zero_outputs(spec: OpSpec, case: TestCase, want: Reference) -> dict[str, Any]:
    """Return zeros of the shapes and dtypes of the outputs of a case."""
    zeros: dict[str, Any] = {}
    for param in spec.outputs:
        dtype = getattr(torch, param.dtypes[case.combo])
        zeros[param.name] = _made(want.native[param.name], partial(torch.zeros, dtype=dtype))
    return zeros


def _made(like: Any, make: Callable[[Any], torch.Tensor]) -> Any:
    """Return what is made of the shape of a tensor, or of each of a list."""
    if isinstance(like, (list, tuple)):
        return [_made(v, make) for v in like]
    return make(like.shape)


def _poisoned(shape: Any, dtype: torch.dtype) -> torch.Tensor:
    fresh = torch.empty(shape, dtype=dtype)
    if fresh.numel():
        fresh.view(-1).view(torch.uint8).fill_(_POISON)
    return fresh


def _mutations(spec: OpSpec, before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    writable = {p.inplace for p in spec.outputs if p.inplace}
    reasons = []
    for param in spec.inputs:
        if param.name in writable or before[param.name] is None:
            continue
        for old, new in zip(_as_list(before[param.name]), _as_list(after[param.name]), strict=True):
            if not torch.equal(_bits(old), _bits(new)):
                reasons.append(f"input {param.name} was modified by the kernel")
                break
    return reasons


def _as_list(value: Any) -> list[torch.Tensor]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """Return the elements as integers of their size: equal bits are equal, nan included."""
    same_size = _INTEGERS.get(tensor.element_size(), torch.uint8)
    return tensor.reshape(-1).view(same_size) if tensor.numel() else tensor


def judge(
    spec: OpSpec, outputs: dict[str, Any], want: Reference, result: CaseResult, combo: int
) -> list[str]:
    """Compare the outputs of a case with the reference, and zeros in their place.

    Fills in the accuracy of ``result``, which rule judged each output, and whether that rule would
    have refused zeros; returns why the case fails, [] when it does not.
    """
    reasons: list[str] = []
    for param in spec.outputs:
        options = (tolerance_of(spec, param, combo), param.name in want.quantised)
        made = _as_list(outputs[param.name])
        pairs = zip(
            made,
            _as_list(want.golden[param.name]),
            _as_list(want.native[param.name]),
            _as_list(want.steps[param.name]) if want.steps else [None] * len(made),
            _as_list(want.unspecified.get(param.name, [None] * len(made))),
            strict=True,
        )
        for index, (written, golden, native, steps, unspecified) in enumerate(pairs):
            actual = written
            if unspecified is not None and actual.shape == golden.shape:
                golden, native, actual = (
                    t.masked_fill(unspecified, 0) for t in (golden, native, written)
                )
            allowance = None
            if want.conditioning is not None:
                allowance = partial(want.conditioning.allowance, param.name, index)
            reached = None
            if want.ties is not None:
                reached = partial(want.ties.reached, param.name, index)
            comparison = Comparison(
                golden,
                actual.dtype,
                native,
                *options,
                steps,
                allowance,
                want.places.get(param.name),
                spec.differentiated,
                reached,
            )
            accuracy = comparison.accuracy(actual)
            result.rules[param.name] = accuracy.rule
            if accuracy.note and accuracy.maximum >= result.maximum:
                result.note = f"{param.name}: {accuracy.note}"
            name = f"{param.name}[{index}]" if isinstance(golden, list) else param.name
            if not reasons and _is_shown(result, accuracy, actual, golden):
                result.worst = neighbourhood(name, actual, golden)
            result.mean = max(result.mean, accuracy.mean)
            result.maximum = max(result.maximum, accuracy.maximum)
            if not accuracy.passed:
                reasons.append(f"{name}: {accuracy.reason.replace('OUTPUT', param.name)}")
            if actual.numel():
                refused = comparison.refuses_zeros(actual)
                key = f"{param.name} ({accuracy.rule})"
                if refused or param.name not in want.constant:  # zeros_like(x) is all zeros
                    result.controls[key] = result.controls.get(key, False) or refused
    if result.controls:
        result.zero_rejected = any(result.controls.values())
    return reasons


def _is_shown(
    result: CaseResult, accuracy: Accuracy, actual: torch.Tensor, golden: torch.Tensor
) -> bool:
    """Whether the worst element of a case is that of this output: of the first wrong one, else of
    the least accurate."""
    if actual.shape != golden.shape or not 0 < actual.numel() <= MOST_ELEMENTS:
        return False
    if not accuracy.passed:
        return True
    worse = accuracy.maximum > result.maximum or result.worst is None
    return worse and result.traits.get("values") in _PLAIN_VALUES


def tolerance_of(spec: OpSpec, param: TensorParam, combo: int) -> Tolerance | None:
    """Return the tolerance of an output: by its name, its dtype, the first input's dtype, HF32."""
    own = spec.tolerance.get(param.name) or spec.tolerance.get(param.dtypes[combo])
    if own is None and spec.inputs and "float" in param.dtypes[combo]:
        own = spec.tolerance.get(spec.inputs[0].dtypes[combo])
        own = own if own is not None and own.absolute is None else None
    if own is None and spec.hf32 and param.dtypes[combo] == "float32":
        return HF32_TOLERANCE
    return own
