"""What a lowering refuses, and where in ``compute`` it stands."""

from __future__ import annotations

import re
from dataclasses import dataclass

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.schedule.calls import Node, target_name
from msopgen_wrap.spec.model import OpSpec


@dataclass
class Refusals:
    """Diagnostics for the parts of a spec that have no lowering."""

    spec: OpSpec

    def location(self, word: str) -> Location:
        """Return the place of ``word`` in ``compute``, or the start of ``compute``."""
        return find_in_compute(self.spec, word)

    def unsupported(self, node: Node, what: str = "") -> Diagnostic:
        """Return the diagnostic for an ATen op without a lowering."""
        target = target_name(node)
        base = target.split(".")[1] if target.startswith("aten.") else target
        return Diagnostic(
            "OPG331",
            f"{target} {'on ' + what + ' ' if what else ''}has no vector lowering",
            self.location(base.strip("_")),
            "compute is turned into AscendC vector instructions for arch 2201; this operation is "
            "neither pointwise nor a reduction the schedules know",
            "write it with supported operations, or point the spec at your own kernel with "
            "`kernel: path/to/kernel.cpp` (compute stays as the golden reference)",
        )

    def unsupported_dtype(self, dtype: str, name: str, node: Node | None = None) -> OpgenError:
        """Return the error for a dtype that has no vector arithmetic."""
        where = self.spec.param(name).location if name else self.location("")
        what = f"{name} is {dtype}" if name else f"{target_name(node)} gives {dtype}"
        return OpgenError(
            Diagnostic(
                "OPG332",
                f"{what}, which has no vector arithmetic in generated kernels",
                where,
                "arch 2201 computes in float16, float32, int16 and int32; other dtypes are "
                "widened to those without loss, and 64-bit integers only where literals, sizes and "
                "attrs bound them",
                "use int32, or write the kernel yourself with `kernel:`",
            )
        )

    def wide_literal(self, value: int) -> OpgenError:
        """Return the error for an integer that int32 does not hold."""
        return OpgenError(
            Diagnostic(
                "OPG332",
                f"{value} is beyond int32, in which generated kernels compute integers",
                self.location(str(abs(value))),
                "arch 2201 computes in float16, float32, int16 and int32",
                "compute with floats, or write the kernel yourself with `kernel:`",
            )
        )


def find_in_compute(spec: OpSpec, word: str) -> Location:
    """Return the first place of ``word`` in ``compute``, or where ``compute`` starts."""
    if spec.compute is None:
        return Location(spec.path)
    start = spec.compute.location
    if word and start.line:
        rows = spec.source.splitlines()
        for line in range(start.line, min(len(rows), start.line + 200) + 1):
            found = re.search(rf"\b{re.escape(word)}\b", rows[line - 1])
            if found:
                return Location(start.file, line, found.start() + 1, len(word))
    return start
