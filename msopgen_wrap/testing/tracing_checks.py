"""Checks of what torch makes of an op: opcheck, torch.compile, torch.export, ONNX."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import tempfile
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msopgen_wrap.testing.gradient_checks import gradient_lack, weights_of
from msopgen_wrap.testing.outcomes import CheckResult
from msopgen_wrap.testing.references import (
    ReferenceRefused,
    float_places,
    gradient_reference,
    leaves,
)
from msopgen_wrap.testing.samples import Sample, tensors
from msopgen_wrap.testing.subject import Subject
from msopgen_wrap.testing.value_checks import accepted
from msopgen_wrap.torch_import import quiet_torch, torch

#: The parts of ``torch.library.opcheck``.
OPCHECKS = (
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_dynamic",
)
_ONNX_PACKAGES = ("onnx", "onnxscript", "onnxruntime")
# What onnxruntime's CPU kernels take, and numpy has.
_ONNX_DTYPES = (torch.float32, torch.float16, torch.int32, torch.int64)


def check_opcheck(subject: Subject, result: CheckResult) -> None:
    """Run ``torch.library.opcheck``: schema, autograd registration, fake tensors, AOT dispatch."""
    if subject.op.overload is None:
        result.reason = "the op is not one overload registered with torch.library"
        return
    for sample, _ in accepted(subject, result, subject.few()):
        args = subject.op.place(sample.args)
        if _has_gradient(subject, sample):
            leaves(args, float_places(args))
        result.cases += 1
        utilities: tuple[str, ...] = OPCHECKS
        if subject.op.device.type not in ("cpu", "cuda", "xpu"):
            utilities = tuple(u for u in OPCHECKS if u != "test_autograd_registration")
            result.notes.append("torch has no test_autograd_registration for this device")
        with quiet_torch():
            told = torch.library.opcheck(
                subject.op.overload,
                tuple(args),
                sample.kwargs,
                test_utils=utilities,
                raise_exception=False,
            )
        for name, outcome in told.items():
            if outcome != "SUCCESS":
                subject.fail(result, sample, f"{name}: {_plain(outcome)}")


def check_compile(subject: Subject, result: CheckResult) -> None:
    """Run the op under ``torch.compile`` (aot_eager, one graph), forward and backward."""
    if subject.op.untraceable:
        result.reason = subject.op.untraceable
        return
    for sample, expected in accepted(subject, result, subject.few()):
        compiled = torch.compile(_fresh_caller(subject), backend="aot_eager", fullgraph=True)
        args = subject.op.place(sample.args)
        try:
            with quiet_torch():
                outputs = _outputs(subject, compiled, args, sample)
        except Exception as error:
            result.cases += 1
            subject.fail(result, sample, f"torch.compile: {_plain(error)}")
            continue
        subject.match(result, sample, outputs, expected)
        if _has_gradient(subject, sample):
            _compiled_gradient(subject, result, sample, compiled)


def _compiled_gradient(
    subject: Subject, result: CheckResult, sample: Sample, compiled: Callable[..., Any]
) -> None:
    """Compare the gradient of the compiled op."""
    places = float_places(sample.args)
    args = subject.op.place(sample.args)
    points = leaves(args, places)
    weights = weights_of(subject.expected(sample), sample)
    try:
        golden = gradient_reference(subject.reference, sample.args, sample.kwargs, places, weights)
    except ReferenceRefused:
        return  # the check of gradients tells
    if golden is None:
        return
    noted = sample.with_args(sample.args, "gradient")
    try:
        with quiet_torch():
            outputs = _outputs(subject, compiled, args, sample)
            used = [
                (o, w.to(o.device, o.dtype))
                for o, w in zip(outputs, weights, strict=False)
                if w is not None and o.requires_grad
            ]
            found = torch.autograd.grad(
                [o for o, _ in used], points, [w for _, w in used], allow_unused=True
            )
    except Exception as error:
        result.cases += 1
        subject.fail(result, noted, f"torch.compile: {_plain(error)}")
        return
    made = [torch.zeros_like(p) if g is None else g for g, p in zip(found, points, strict=True)]
    names = [f"gradient of {subject.op.argument(p[0])}" for p in places]
    subject.match(result, noted, made, golden, names)


def _has_gradient(subject: Subject, sample: Sample) -> bool:
    if not sample.dtype.is_floating_point or subject.op.mutates or not float_places(sample.args):
        return False
    return not gradient_lack(subject, sample)


def check_export(subject: Subject, result: CheckResult) -> None:
    """Run what ``torch.export`` makes of a module that calls the op."""
    if subject.op.untraceable:
        result.reason = subject.op.untraceable
        return
    for sample, expected in accepted(subject, result, subject.few(1)):
        args = subject.op.place(sample.args)
        try:
            with quiet_torch(), torch.no_grad():
                program = torch.export.export(_module(subject, sample), tuple(args))
                given = subject.op.place(sample.args)
                outputs = _outputs(subject, program.module(), given, sample, with_attrs=False)
        except Exception as error:
            result.cases += 1
            subject.fail(result, sample, f"torch.export: {_plain(error)}")
            continue
        subject.match(result, sample, outputs, expected)


def check_onnx(subject: Subject, result: CheckResult) -> None:
    """Export a module that calls the op to ONNX and run it in ONNX Runtime."""
    missing = [p for p in _ONNX_PACKAGES if importlib.util.find_spec(p) is None]
    if missing:
        result.reason = f"not installed: {', '.join(missing)} (pip install 'opgen[onnx]')"
    elif subject.op.untraceable:
        result.reason = subject.op.untraceable
    elif subject.op.mutates:
        result.reason = "the op writes its arguments, which ONNX has no way to say"
    elif subject.op.device.type != "cpu":
        result.reason = "ONNX Runtime runs on the CPU; check it there"
    if result.reason:
        return
    fitting = [s for s in subject.few(1) if s.dtype in _ONNX_DTYPES]
    if not fitting:
        result.reason = "no case has a dtype that ONNX Runtime's CPU kernels and numpy share"
        return
    for sample, expected in accepted(subject, result, fitting):
        outputs = _through_onnx(subject, result, sample)
        if outputs is not None:
            subject.match(result, sample, outputs, expected)


def _through_onnx(
    subject: Subject, result: CheckResult, sample: Sample
) -> list[torch.Tensor] | None:
    import onnxruntime

    args = subject.op.place(sample.args)
    export = subject.export_onnx or _torch_export
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        try:
            with quiet_torch(), torch.no_grad(), _no_output():
                export(_module(subject, sample), tuple(args), str(path))
        except Exception as error:
            text = _plain(error)
            chain = f"{error} {error.__cause__}"
            if "No ONNX function found" in chain or "No decompositions registered" in chain:
                result.reason = f"the exporter has no translation: {text}"
                return None
            result.cases += 1
            subject.fail(result, sample, f"torch.onnx.export: {text}")
            return None
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        try:
            session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            result.reason = f"ONNX Runtime does not take the model: {_plain(error)}"
            return None
        given = [t.numpy() for t in tensors(args)]
        names = [i.name for i in session.get_inputs()]
        if len(names) != len(given):
            what = f"the model has inputs {names}, the op {len(given)} tensors"
            result.cases += 1
            subject.fail(result, sample, what)
            return None
        found = session.run(None, dict(zip(names, given, strict=True)))
    return [torch.from_numpy(v) for v in found]


def _torch_export(module: torch.nn.Module, args: tuple[Any, ...], path: str) -> None:
    torch.onnx.export(module, args, path, dynamo=True, verbose=False)


@contextlib.contextmanager
def _no_output() -> Iterator[None]:
    """Keep the exporter's progress off the terminal."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def _outputs(
    subject: Subject,
    function: Callable[..., Any],
    args: list[Any],
    sample: Sample,
    with_attrs: bool = True,
) -> list[torch.Tensor]:
    from msopgen_wrap.testing.op_under_test import results

    kwargs = sample.kwargs if with_attrs else {}
    return results(function(*args, **kwargs), args, subject.op.mutates)


def _fresh_caller(subject: Subject) -> Callable[..., Any]:
    """Return a function with a code object of its own.

    Dynamo counts the recompilations of a code object, and gives up after some.
    """
    op = subject.op.function

    def call(*args: Any, **kwargs: Any) -> Any:
        return op(*args, **kwargs)

    code = call.__code__.replace(co_name="call_op")
    return types.FunctionType(code, call.__globals__, "call_op", None, call.__closure__)


def _module(subject: Subject, sample: Sample) -> torch.nn.Module:
    function, kwargs = subject.op.function, dict(sample.kwargs)

    class CallOp(torch.nn.Module):
        def forward(self, *args: Any) -> Any:
            return function(*args, **kwargs)

    return CallOp().eval()


def _plain(error: Any) -> str:
    """Return the first telling lines of an error of torch's compilers."""
    text = f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else str(error)
    return " ".join([row.strip() for row in text.splitlines() if row.strip()][:2])[:300]
