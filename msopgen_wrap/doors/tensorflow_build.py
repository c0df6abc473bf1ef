"""``opgen build --target tensorflow``: the ops of a project as a library that TensorFlow loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msopgen_wrap.build.toolchain import find_toolchain, run_compiler, warnings_as_errors
from msopgen_wrap.doors.door_build import BuiltDoor, Progress, build_door, write_module
from msopgen_wrap.doors.ops_render import render_door_sources
from msopgen_wrap.doors.tensorflow_install import TensorFlow, find_tensorflow
from msopgen_wrap.doors.tensorflow_render import render_library, render_module
from msopgen_wrap.manifest import ProjectTree
from msopgen_wrap.project.tf_plugin import node_types
from msopgen_wrap.spec.model import OpSpec


@dataclass(frozen=True)
class TensorFlowLibrary:
    """What was built.

    Attributes:
        door: the library and the package beside it.
        module: the Python module that loads it.
        version: the TensorFlow that it fits.
        node_types: op type -> type of its nodes.
    """

    door: BuiltDoor
    module: Path
    version: str
    node_types: dict[str, str]

    def as_dict(self) -> dict[str, object]:
        """Return the JSON form of ``opgen build --json``."""
        return {
            **self.door.as_dict(),
            "module": str(self.module),
            "tensorflow": self.version,
            "nodes": self.node_types,
        }


def chosen_node_types(
    specs: Sequence[OpSpec], vendor: str, tensorflow: TensorFlow
) -> dict[str, str]:
    """Return the type of every op's nodes: its own name, or one in the vendor's namespace."""
    return {spec.op: node_types(spec.op, vendor)[spec.op in tensorflow.taken] for spec in specs}


def compile_command(tensorflow: TensorFlow, source: Path, target: Path) -> list[str]:
    """Return the command that makes the library of ``tensorflow_ops.cpp``."""
    tool = find_toolchain()
    return [
        tool.cxx,
        # TensorFlow's flags last: its headers want its own language standard and alignment.
        *("-O2", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden"),
        *warnings_as_errors(tool.family),
        *tensorflow.compile_flags,
        str(source),
        *("-o", str(target)),
        *tensorflow.link_flags,
        "-ldl",
    ]


def write_sources(
    specs: Sequence[OpSpec], vendor: str, types: Mapping[str, str], folder: Path
) -> Path:
    """Write the C++ of the library; return the file to compile."""
    for file in (*render_door_sources(specs, vendor), *render_library(specs, vendor, types)):
        (folder / file.path).write_text(file.text, encoding="utf-8")
    return folder / "tensorflow_ops.cpp"


def build_tensorflow(
    project: ProjectTree,
    out: Path,
    *,
    python: Path | None = None,
    progress: Progress = lambda _: None,
) -> TensorFlowLibrary:
    """Write ``lib<vendor>_tf.so``, ``<vendor>_tf.py`` and the package they call to ``out``.

    Nothing appears before all of it is complete.

    Args:
        project: the scaffolded project.
        out: the folder.
        python: the interpreter with the TensorFlow to build for; None: the one that runs.
        progress: called with a short text per step.

    Raises:
        OpgenError: OPG550, OPG551 (TensorFlow), OPG553 (the library does not compile); a kernel
            does not compile, or there is no compiler.
    """
    tensorflow = find_tensorflow(python, [spec.op for spec in project.specs])
    types = chosen_node_types(project.specs, project.vendor, tensorflow)
    module = render_module(project.specs, project.vendor, types, tensorflow.version)

    def compile_library(folder: Path, library: Path) -> None:
        source = write_sources(project.specs, project.vendor, types, folder)
        what = f"the library for TensorFlow {tensorflow.version}"
        run_compiler(compile_command(tensorflow, source, library), source, code="OPG553", what=what)

    built = build_door(
        project,
        out,
        target="tensorflow",
        library=f"lib{project.vendor}_tf.so",
        compile_library=compile_library,
        progress=progress,
    )
    return TensorFlowLibrary(built, write_module(out, module), tensorflow.version, types)
