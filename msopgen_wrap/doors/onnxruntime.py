"""The ops as custom ops of ONNX Runtime: ``lib<vendor>_ort.so``.

``SessionOptions.register_custom_ops_library`` loads it; a node ``<vendor>::<Op>`` of any session
then runs the op's AscendC kernel in the emulation. No header of ONNX Runtime is needed to build it
(``templates/doors/onnxruntime/ort_abi.h``).
"""

from __future__ import annotations

from pathlib import Path

from msopgen_wrap.doors.door_build import BuiltDoor, Progress, build_door, compile_door
from msopgen_wrap.manifest import ProjectTree
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.templating import static_text

SOURCES = ("ort_abi.h", "ort_frame.h", "ort_shapes.h", "ort_ops.h", "register_ops.cpp")


def library_name(vendor: str) -> str:
    """Return the file name of a vendor's library."""
    return f"lib{vendor}_ort.so"


def build_onnxruntime(
    project: ProjectTree, out: Path, *, progress: Progress = lambda _: None
) -> BuiltDoor:
    """Write ``out/lib<vendor>_ort.so`` and, beside it, ``out/vendors/<vendor>`` with the kernels.

    Args:
        project: the scaffolded project.
        out: the folder.
        progress: called with a short text per step.

    Raises:
        OpgenError: OPG540, the library does not compile; or a kernel does not, or no compiler.
    """

    def compile_library(folder: Path, library: Path) -> None:
        sources = [GeneratedFile(n, static_text(f"doors/onnxruntime/{n}")) for n in SOURCES]
        compile_door(project, folder, library, sources, code="OPG540")

    return build_door(
        project,
        out,
        target="onnxruntime",
        library=library_name(project.vendor),
        compile_library=compile_library,
        progress=progress,
    )
