"""Make the NPU package: lay the project out for the CANN found, build it, say what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from msopgen_wrap.cann_discovery import CannTree
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.manifest import MANIFEST, ProjectTree
from msopgen_wrap.project.cann_project import write_msopgen_project
from msopgen_wrap.render.files import GeneratedFile

Progress = Callable[[str], None]

# What CANN's build has to do with; torch_ext and tests stay behind.
_BUILD_PARTS = ("cmake", "framework", "op_host", "op_kernel", "scripts", "specs")
_BUILD_FILES = ("CMakeLists.txt", "CMakePresets.json", "build.sh", "msopgen.json", MANIFEST)


@dataclass(frozen=True)
class NpuPackage:
    """Result of an NPU build: the tree it was built in and the package."""

    folder: Path
    run: Path
    cann: str
    through_msopgen: bool

    def as_dict(self) -> dict[str, object]:
        """Return the JSON form of ``opgen build --target npu --json``."""
        return {
            "target": "npu",
            "run": str(self.run),
            "project": str(self.folder),
            "cann": self.cann,
            "msopgen": self.through_msopgen,
            "bytes": self.run.stat().st_size,
        }


def project_files(project: ProjectTree) -> list[GeneratedFile]:
    """Return the parts of a project that CANN builds, as they are on disk (edits included)."""
    files = []
    for path in sorted(project.root.rglob("*")):
        relative = path.relative_to(project.root)
        wanted = relative.parts[0] in _BUILD_PARTS or relative.as_posix() in _BUILD_FILES
        if path.is_file() and wanted and "__pycache__" not in relative.parts:
            try:
                text = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue  # not a source
            files.append(GeneratedFile(relative.as_posix(), text, os.access(path, os.X_OK)))
    return files


def prepare_npu_project(project: ProjectTree, tree: CannTree | None, out: Path) -> bool:
    """Write the tree that CANN builds to ``out``; return whether the real msopgen made it.

    With msopgen at hand (8.x) it makes the tree and our sources are laid over it, otherwise the
    project's own build files are used. ``out`` must not exist.

    Raises:
        OpgenError: OPG606 (``out`` exists), OPG605 (msopgen failed), OPG621 (style of the project
            does not fit this CANN).
    """
    if tree is not None and tree.style != project.style:
        raise OpgenError(
            Diagnostic(
                "OPG621",
                f"the project is in style {project.style}, CANN {tree.version} builds {tree.style}",
                Location(str(project.root / MANIFEST)),
                "CANN 9 has other CMake functions and plain-struct tiling",
                f"scaffold it again: opgen new {project.root}/specs -o DIR --style {tree.style}",
            )
        )
    files = project_files(project)
    if tree is not None and tree.style == "8.1" and tree.msopgen and tree.project_template:
        write_msopgen_project(
            tree, project.specs, files, out, vendor=project.vendor, soc=project.soc
        )
        return True
    if out.exists():
        raise OpgenError(
            Diagnostic("OPG606", f"{out} exists", Location(str(out)), fix="remove it, or use -o")
        )
    for file in files:
        path = out / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
        path.chmod(0o755 if file.executable or file.path.endswith("build.sh") else 0o644)
    return False


def missing_for_build(tree: CannTree | None) -> list[str]:
    """Return what this machine lacks to build an NPU package, in words; empty: nothing."""
    if tree is None:
        return ["CANN toolkit (no ASCEND_HOME_PATH, nothing in the default install folders)"]
    missing = []
    if tree.op_build is None:
        missing.append("opbuild (toolkit/tools/opbuild/op_build)")
    if tree.bisheng is None:
        missing.append("device compiler (compiler/ccec_compiler/bin/bisheng)")
    if tree.style == "8.1" and tree.project_template is None:
        missing.append("project template (tools/op_project_templates/ascendc/customize)")
    if not list(tree.root.glob("lib64/libregister.so")) and not list(
        tree.root.glob("*-linux/lib64/libregister.so")
    ):
        missing.append("op-host libraries (lib64/libregister.so)")
    for tool, why in (("cmake", "3.16 or newer"), ("make", ""), ("python3", "")):
        if shutil.which(tool) is None:
            missing.append(f"{tool} {why}".strip())
    return missing


def cannot_build(project: ProjectTree, tree: CannTree | None, folder: Path) -> OpgenError:
    """Return the error that says what is missing and what to run where."""
    missing = missing_for_build(tree)
    where = f"CANN {tree.version} in {tree.root}" if tree else "this machine"
    version = "9.0 or newer" if project.style == "9.x" else "8.x"
    return OpgenError(
        Diagnostic(
            "OPG620",
            f"no NPU package was built: {where} lacks " + "; ".join(missing),
            Location(str(folder)),
            "kernels for the NPU are compiled by CANN's own tools; no NPU is needed for it",
            f"the project for it is in {folder}: copy that folder to a machine with the toolkit of "
            f"CANN {version}, then run 'source <CANN>/set_env.sh' and './build.sh' in it; the "
            f"package is build_out/custom_opp_*.run there",
        )
    )


def build_npu_package(
    project: ProjectTree, tree: CannTree, folder: Path, *, progress: Progress = lambda _: None
) -> Path:
    """Run ``build.sh`` in ``folder`` with ``tree``; return the ``.run``.

    Raises:
        OpgenError: OPG622 with the first true error of the log, OPG623 when no package came out.
    """
    env = dict(os.environ, ASCEND_HOME_PATH=str(tree.root), ASCEND_TOOLKIT_HOME=str(tree.root))
    env.setdefault("ASCEND_OPP_PATH", str(tree.root / "opp"))
    progress("build.sh (opbuild, kernels, package)")
    done = subprocess.run(
        ["bash", str(folder / "build.sh")],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    log = folder / "build_out" / "build.log"
    if done.returncode:
        raise OpgenError(build_failure(log, done.stderr))
    runs = sorted((folder / "build_out").glob("*.run"))
    if not runs:
        raise OpgenError(
            Diagnostic(
                "OPG623",
                "CANN's build ended well but made no .run",
                Location(str(log)),
                "its log is the place to look",
            )
        )
    return runs[-1]


# Words of a line that is an error, in order of trust; opbuild and make end with a bare "Error 1".
_TRUE_ERRORS = (
    ": error:",
    ": fatal error:",
    "[ERROR]",
    "CMake Error",
    "Permission denied",
    "not found",
    "cannot find",
    "error:",
    "ERROR",
)


def build_failure(log: Path, stderr: str) -> Diagnostic:
    """Return the first true error of a build log, not its last line."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for mark in _TRUE_ERRORS:
        for number, line in enumerate(lines, 1):
            if mark in line:
                text = line.strip()
                if mark == "CMake Error":
                    text += " " + " ".join(
                        x.strip() for x in lines[number : number + 3] if x.strip()
                    )
                return Diagnostic(
                    "OPG622",
                    text[:500],
                    Location(str(log), number),
                    "the first error of CANN's build",
                    "the lines after it in the log usually follow from it",
                )
    tail = [x for x in stderr.splitlines() if x.strip()][-1:] or ["the build failed"]
    return Diagnostic("OPG622", tail[0][:500], Location(str(log)), "the log names no error")
