"""The tiling structs that op_host registers, as a header for the unit tests of its kernel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msopgen_wrap.build.kernel_tiling import kernel_tiling_header
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.foreign.project_runner import ProjectRunner


def project_tiling_header(
    root: Path,
    *,
    op: str | None,
    soc: str,
    include_dirs: Sequence[Path] = (),
    kernels: Sequence[Path] = (),
) -> Path:
    """Compile a project's op_host and return the header with its tiling structs.

    CANN's cmake makes such a header for unit tests of kernels whose tiling is declared with
    ``BEGIN_TILING_DATA_DEF`` on the host.

    Args:
        root: folder with ``op_host/`` and ``op_kernel/``.
        op: op type; None when the project has one op.
        soc, include_dirs: as for the program.
        kernels: sources that may define the struct themselves.

    Raises:
        OpgenError: as of :class:`ProjectRunner`; OPG907, the op registers no struct.
    """
    runner = ProjectRunner(root, soc=soc, include_dirs=include_dirs)
    name = runner.declaration(op)["op"]
    own = [p for p in kernels if root.resolve() in p.resolve().parents]
    kernel = next((p for p in own if "op_kernel" in p.resolve().parts), None)
    header = kernel_tiling_header(name, runner.runtime.tiling_defs(), kernel=kernel)
    if header is None:
        raise OpgenError(
            Diagnostic(
                "OPG907",
                f"op_host registers no tiling struct of op {name}",
                Location(str(root / "op_host")),
                why=f"no REGISTER_TILING_DATA_CLASS({name}, ...) is there",
                fix="leave --tiling-from out when the kernel includes the struct's header itself",
            )
        )
    return header
