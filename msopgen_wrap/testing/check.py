"""``check_op``: everything that can be asked of an op, in one call."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.testing.outcomes import CheckResult, OpReport

if TYPE_CHECKING:
    from msopgen_wrap.spec.model import Tolerance
    from msopgen_wrap.testing.subject import Subject

#: Name -> what is asked, in the order they run.
CHECKS = {
    "forward": "values against the reference in float64, by CANN's accuracy rule",
    "dtypes": "dtypes, device and number of results",
    "zero output": "control: some case refuses an output of zeros",
    "gradients": "against the reference's in float64, at the same points",
    "finite differences": "gradients against slopes in float64",
    "noncontiguous": "inputs that are transposed, strided, or start within a storage",
    "empty": "inputs without elements",
    "overlapping": "expanded inputs, one tensor twice, windows of one storage",
    "mutation": "inputs keep their bits",
    "poison": "unwritten outputs, and reads of memory that was never written",
    "determinism": "the same bits three times",
    "opcheck": "torch.library.opcheck, for a registered op",
    "compile": "torch.compile, forward and backward",
    "export": "torch.export",
    "onnx": "ONNX export, run in ONNX Runtime",
}


def check_op(
    op: Callable[..., Any] | str | Path | OpSpec,
    reference: Callable[..., Any] | None = None,
    shapes: Sequence[Any] | None = None,
    dtypes: Sequence[Any] | None = None,
    *,
    name: str = "",
    attrs: Mapping[str, Any] | Sequence[Any] = (),
    checks: Collection[str] | str | None = None,
    skip: Collection[str] = (),
    device: Any = "cpu",
    tolerance: Tolerance | Mapping[str, Any] | str | None = None,
    mutates: Sequence[int] = (),
) -> OpReport:
    """Check an op against a reference in PyTorch.

    Args:
        op: any callable on tensors: an op of ``torch.ops``, a function, ``SomeFunction.apply``, a
            function of a C++ extension. Or a spec (an ``OpSpec`` or its file) or the folder of a
            scaffolded project: then the torch op is built that runs the kernel, in the emulation or
            on an NPU, and reference, shapes and dtypes come from the spec unless they are given.
        reference: the same in PyTorch, trusted; it is run in float64 on the CPU, and
            differentiated by autograd.
        shapes: the cases. A case is a tuple with one entry per tensor argument: a shape, an
            :class:`Input` (range or dtype of its own), a list of these, a tensor, None for an
            absent input. Or it is a function of (dtype, generator) that returns the arguments.
        dtypes: torch dtypes or their names; each case runs in each. float32 by default, for a
            spec all that it has.
        name: the op, snake_case, of a project or file with several.
        attrs: further arguments of both: a mapping by name, a sequence by position.
        checks: names of ``CHECKS``; all of them by default. A gradient that is missing fails where
            "gradients" is named, and is "not applicable" otherwise.
        skip: names of ``CHECKS`` to leave out.
        device: where the op runs; ``"npu"`` needs an NPU or the emulation (``pytest --npu``,
            ``opgen exec``).
        tolerance: ``"mixed"`` for the mixed form of CANN's standard, a mapping or a ``Tolerance``
            with what differs from the rule.
        mutates: positions of arguments that op and reference both write. Those of a registered op
            are known from its schema.

    Returns:
        A report; ``raise_if_failed()`` turns it into an assertion. A check that does not apply
        says why and never counts as passed.

    Raises:
        OpgenError: OPG720 (a check's name), OPG721 (shapes, dtypes), OPG722 (no reference), OPG723
            (the device), OPG724 (a project), OPG725 (an input maker), OPG726 (the tolerance).
    """
    names = chosen_checks(checks, skip)
    subject = make_subject(
        op,
        reference,
        shapes,
        dtypes,
        name=name,
        attrs=attrs,
        device=device,
        tolerance=tolerance,
        mutates=mutates,
        explicit=frozenset(names if checks is not None else ()),
    )
    return run_checks(subject, names)


def make_subject(
    op: Callable[..., Any] | str | Path | OpSpec,
    reference: Callable[..., Any] | None = None,
    shapes: Sequence[Any] | None = None,
    dtypes: Sequence[Any] | None = None,
    *,
    name: str = "",
    attrs: Mapping[str, Any] | Sequence[Any] = (),
    device: Any = "cpu",
    tolerance: Tolerance | Mapping[str, Any] | str | None = None,
    mutates: Sequence[int] = (),
    explicit: frozenset[str] = frozenset(),
) -> Subject:
    """Return what the checks are run on; arguments and errors as for :func:`check_op`."""
    from msopgen_wrap.testing.op_under_test import OpUnderTest
    from msopgen_wrap.testing.samples import make_samples
    from msopgen_wrap.testing.subject import Subject

    _refuse_arguments(op, attrs, mutates)
    place, allowed = device_of(device), tolerance_of(tolerance)
    if reference is not None and not callable(reference):
        raise OpgenError(
            Diagnostic(
                "OPG722",
                f"the reference is of type {type(reference).__name__}",
                why="it is called with the arguments of the op",
                fix="check_op(op, lambda x: x * 2, shapes=[((3, 4),)])",
            )
        )
    if isinstance(op, (str, Path, OpSpec)):
        from msopgen_wrap.testing.targets import load_target, onnx_export

        target = load_target(op, name)
        return Subject(
            OpUnderTest(target.op, place, mutates),
            reference or target.reference,
            target.samples(shapes, dtypes, attrs),
            allowed,
            explicit,
            paste=target.paste,
            export_onnx=onnx_export(target.package),
            deterministic=target.spec.deterministic,
        )
    if reference is None or shapes is None:
        raise OpgenError(
            Diagnostic(
                "OPG722",
                f"check_op needs {'a reference' if reference is None else 'shapes'}",
                why="a callable says neither what it should compute nor what it takes",
                fix="check_op(op, reference, shapes=[((3, 4), (4,))])",
            )
        )
    return Subject(
        OpUnderTest(op, place, mutates),
        reference,
        make_samples(shapes, ("float32",) if dtypes is None else dtypes, attrs),
        allowed,
        explicit,
        _call_text(attrs, device, tolerance, mutates),
    )


def _refuse_arguments(op: Any, attrs: Any, mutates: Any) -> None:
    """Refuse arguments of the wrong kind (OPG721, OPG722) before anything is run."""
    if not callable(op) and not isinstance(op, (str, Path, OpSpec)):
        raise OpgenError(
            Diagnostic(
                "OPG722",
                f"what is to be checked is of type {type(op).__name__}",
                why="check_op calls a function, or builds the op of a spec or a project",
                fix="check_op(my_op, reference, shapes=[((3, 4),)]), or check_op('my_op.yaml')",
            )
        )
    if isinstance(attrs, (str, bytes)) or not isinstance(attrs, (Mapping, Sequence)):
        raise OpgenError(
            Diagnostic(
                "OPG721",
                f"attrs cannot be read: {attrs!r}",
                why="they are further arguments, by name (a mapping) or by position (a sequence)",
                fix="attrs={'eps': 1e-5}",
            )
        )
    if not isinstance(mutates, Collection) or not all(isinstance(i, int) for i in mutates):
        raise OpgenError(
            Diagnostic(
                "OPG721",
                f"mutates cannot be read: {mutates!r}",
                why="it holds positions of arguments, counted from 0",
                fix="mutates=[0]",
            )
        )


def run_checks(subject: Subject, names: Sequence[str]) -> OpReport:
    """Run checks of a subject in order and return the report."""
    functions = check_functions()
    report = OpReport(subject.op.name, str(subject.op.device))
    for name in names:
        result = CheckResult(name)
        report.checks.append(result)
        functions[name](subject, result)
    return report


def check_functions() -> dict[str, Callable[[Subject, CheckResult], None]]:
    """Return the function of each check; they import torch."""
    from msopgen_wrap.testing import gradient_checks, slope_checks, tracing_checks, value_checks

    return {
        "forward": value_checks.check_forward,
        "dtypes": value_checks.check_dtypes,
        "zero output": value_checks.check_zero_output,
        "gradients": gradient_checks.check_gradients,
        "finite differences": slope_checks.check_finite_differences,
        "noncontiguous": value_checks.check_noncontiguous,
        "empty": value_checks.check_empty,
        "overlapping": value_checks.check_overlapping,
        "mutation": value_checks.check_mutation,
        "poison": value_checks.check_poison,
        "determinism": value_checks.check_determinism,
        "opcheck": tracing_checks.check_opcheck,
        "compile": tracing_checks.check_compile,
        "export": tracing_checks.check_export,
        "onnx": tracing_checks.check_onnx,
    }


def chosen_checks(checks: Collection[str] | str | None, skip: Collection[str]) -> list[str]:
    """Return the names of the checks to run, in their order.

    Raises:
        OpgenError: OPG720.
    """
    wanted = {checks} if isinstance(checks, str) else set(CHECKS if checks is None else checks)
    left = {skip} if isinstance(skip, str) else set(skip)
    unknown = sorted((wanted | left) - set(CHECKS))
    if unknown or not wanted - left:
        raise OpgenError(
            Diagnostic(
                "OPG720",
                f"no such check: {', '.join(unknown)}" if unknown else "no check was chosen",
                why=f"checks: {', '.join(CHECKS)}",
            )
        )
    return [name for name in CHECKS if name in wanted - left]


def device_of(device: Any) -> Any:
    """Return a torch device that is there.

    Raises:
        OpgenError: OPG723.
    """
    from msopgen_wrap.torch_import import torch, torch_npu_is_unusable

    try:
        if str(device).startswith("npu") and not torch_npu_is_unusable():
            importlib.import_module("torch_npu")
        found = torch.device(device)
        torch.empty(1, device=found)
    except (RuntimeError, TypeError, AssertionError, ImportError, NotImplementedError) as error:
        text = str(error).strip().splitlines() or [type(error).__name__]
        raise OpgenError(
            Diagnostic(
                "OPG723",
                f"the device {device!r} is not available: {text[0]}",
                why="npu tensors need torch_npu, and an NPU or the emulation",
                fix="run the tests with `pytest --npu`, a program with `opgen exec --`",
            )
        ) from error
    return found


def tolerance_of(value: Any) -> Tolerance | None:
    """Return a tolerance from a rule's name, a mapping of its fields, or itself.

    Raises:
        OpgenError: OPG726.
    """
    from msopgen_wrap.spec.model import Tolerance

    if value is None or isinstance(value, Tolerance):
        return value
    try:
        fields = {"rule": value} if isinstance(value, str) else dict(value)
        made = Tolerance(**fields)
        if made.rule not in (None, "relative", "mixed"):
            raise ValueError(f"rule {made.rule!r}")
        for key, bound in fields.items():
            if key != "rule" and not _is_bound(bound):
                raise ValueError(f"{key} is {bound!r}")
    except (TypeError, ValueError) as error:
        raise OpgenError(
            Diagnostic(
                "OPG726",
                f"the tolerance cannot be read: {value!r} ({error})",
                why="it is 'mixed', or a mapping with mean and maximum, with rule: mixed and rtol, "
                "atol, cap, or with absolute (integers)",
            )
        ) from error
    return made


def _is_bound(value: Any) -> bool:
    return value is None or (
        isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0
    )


def _call_text(attrs: Any, device: Any, tolerance: Any, mutates: Sequence[int]) -> str:
    parts = []
    if attrs:
        parts.append(f"attrs={attrs!r}")
    if str(device) != "cpu":
        parts.append(f"device={str(device)!r}")
    if tolerance is not None:
        parts.append(f"tolerance={tolerance!r}")
    if mutates:
        parts.append(f"mutates={tuple(mutates)!r}")
    return "".join(f", {p}" for p in parts)
