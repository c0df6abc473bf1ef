"""What a failed call of an op is told, with a reason that the op itself does not know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.run.crashes import crash_diagnostic
from msopgen_wrap.run.op_runtime import OpRuntimeError
from msopgen_wrap.run.tensors import Tensor


def call_failure(
    root: Path,
    declared: Mapping[str, Any],
    given: Mapping[str, Any],
    results: Sequence[Any],
    error: Exception,
) -> OpgenError:
    """Return the diagnostic (OPG519) of a call that failed.

    Args:
        declared: the op's declaration.
        given: outputs that the user described, by name.
        results: the outputs as allocated; InferShape functions may leave the shape of some alone,
            which makes them scalars.
        error: its text is what the op logged.
    """
    place = Location(str(root))
    scalars = [
        p["name"]
        for p, value in zip(declared["outputs"], results, strict=False)
        if p["name"] not in given and isinstance(value, Tensor) and value.shape == ()
    ]
    if not scalars:
        return OpgenError(Diagnostic("OPG519", str(error), place))
    return OpgenError(
        Diagnostic(
            "OPG519",
            str(error),
            place,
            why=f"InferShape gave no shape to {', '.join(scalars)}; an aclnn call gets its outputs "
            "from the caller",
            fix=f"if that is the cause, give the outputs: --output {scalars[0]}=float16[2,3]",
        )
    )


def op_failure(
    error: OpRuntimeError, place: Location, code: str = "OPG519", what: str = "", **texts: str
) -> OpgenError:
    """Return the diagnostic of a failed call: OPG530 where a signal ended the op's code.

    Args:
        place: of the op, where no line is known.
        code, what, texts: of the diagnostic where nothing died; ``what`` defaults to the error.
    """
    if error.crash is None:
        return OpgenError(Diagnostic(code, what or str(error), place, **texts))
    step, died, _ = str(error).partition(" crashed: ")
    if "limit" in error.crash and not died:
        step = str(error).partition(" failed: ")[0]
        return OpgenError(crash_diagnostic(error.crash, step, fallback=place))
    who = step if died else str(error).partition(error.crash["text"])[0].rstrip(": ")
    return OpgenError(crash_diagnostic(error.crash, who, fallback=place, op_host=bool(died)))
