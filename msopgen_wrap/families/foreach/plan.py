"""What ops on tensor lists must have for a kernel that walks all lists together."""

from __future__ import annotations

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.spec.model import OpSpec, ParamKind


def check_lists(spec: OpSpec) -> None:
    """Raise OPG313 when a single tensor stands beside lists."""
    for param in (*spec.inputs, *spec.outputs):
        if param.kind is not ParamKind.DYNAMIC:
            raise OpgenError(
                Diagnostic(
                    "OPG313",
                    f"{param.name!r} is a single tensor beside tensor lists",
                    param.location,
                    "a foreach kernel walks all lists together, element by element",
                    "make it a list too, pass a number as an attr, or use `kernel:`",
                )
            )
