"""The CANN build project around generated sources, in the style of CANN 8.x or 9.x.

These files need nothing from msopgen: they call the CMake functions of the CANN that builds them.
Where CANN is at hand, :func:`write_msopgen_project` has the real msopgen make the tree instead.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from msopgen_wrap.cann_discovery import CannTree
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.platforms import soc_targets
from msopgen_wrap.project.msopgen_json import MsopgenRun, msopgen_json, patch_presets, run_msopgen
from msopgen_wrap.project.onnx_plugin import render_onnx_plugin
from msopgen_wrap.project.tf_plugin import render_tf_plugin
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.names import check_vendor
from msopgen_wrap.templating import environment

STYLES = ("8.1", "9.x")


@dataclass(frozen=True)
class CannOptions:
    """How to lay out a CANN project.

    Attributes:
        vendor: vendor folder and package name.
        style: ``8.1`` or ``9.x``.
        soc: SoC families or exact names; empty: those of the specs.
    """

    vendor: str = "opgen"
    style: str = "8.1"
    soc: tuple[str, ...] = ()


class ProjectLike(Protocol):
    """Any options object that says vendor, style and SoCs."""

    @property
    def vendor(self) -> str: ...

    @property
    def style(self) -> str: ...

    @property
    def soc(self) -> Sequence[str]: ...


def compute_units(specs: Sequence[OpSpec], soc: Sequence[str] = ()) -> list[str]:
    """Return the compute units to build for, in order: of ``soc``, else of all specs.

    Raises:
        OpgenError: OPG604, unknown SoC.
    """
    names = list(soc) or [s for spec in specs for s in spec.soc]
    try:
        return [t.unit for t in soc_targets(names)]
    except KeyError as error:
        raise OpgenError(
            Diagnostic(
                "OPG604",
                f"unknown SoC {error.args[0]!r}",
                why="opbuild accepts any name and builds nothing for it",
                fix="use a family such as ascend910b or an exact name such as ascend910b3",
            )
        ) from None


def render_cann_project(
    specs: Sequence[OpSpec], options: ProjectLike | None = None
) -> list[GeneratedFile]:
    """Return the build files, install scripts, parser plugins and msopgen JSON of a project.

    op_host and op_kernel sources are rendered elsewhere; their CMakeLists.txt are here.

    Raises:
        OpgenError: OPG603 (vendor), OPG604 (SoC).
        ValueError: unknown style, or no specs.
    """
    options = options or CannOptions()
    if options.style not in STYLES:
        raise ValueError(f"style {options.style!r}; known: {', '.join(STYLES)}")
    if not specs:
        raise ValueError("a project needs at least one spec")
    vendor = check_vendor(options.vendor)
    units = compute_units(specs, options.soc)
    env = environment()
    family = "cann9" if options.style == "9.x" else "cann81"
    values = {
        "vendor": vendor,
        "specs": specs,
        "units": units,
        "cache": presets_cache(vendor, units),
        "package": f"the package of {len(specs)} op{'s' if len(specs) != 1 else ''}",
    }
    files = [GeneratedFile("msopgen.json", msopgen_json(specs))]
    for path in sorted((data_dir("templates") / family).rglob("*.jinja")):
        relative = path.relative_to(data_dir("templates")).as_posix()
        name = relative.removeprefix(family + "/").removesuffix(".jinja")
        if name.startswith(("framework/onnx_plugin/", "framework/tf_plugin/")):
            continue  # rendered with the plugins
        text = env.get_template(relative).render(values)
        files.append(GeneratedFile(name, text, executable=name.endswith(".sh")))
    files += render_onnx_plugin(specs, vendor, options.style)
    files += render_tf_plugin(specs, vendor, options.style)
    if family == "cann81":
        files += render_install_scripts(specs, vendor, units, target="npu", style=options.style)
    return sorted(files, key=lambda f: f.path)


def presets_cache(vendor: str, units: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return the cache variables of an 8.1 project as (name, type, value)."""
    return [
        ("CMAKE_BUILD_TYPE", "STRING", "Release"),
        ("ENABLE_SOURCE_PACKAGE", "BOOL", "True"),
        ("ENABLE_BINARY_PACKAGE", "BOOL", "True"),
        ("ASCEND_COMPUTE_UNIT", "STRING", ";".join(units)),
        ("ENABLE_TEST", "BOOL", "False"),
        ("vendor_name", "STRING", vendor),
        ("ASCEND_CANN_PACKAGE_PATH", "PATH", "/usr/local/Ascend/latest"),
        ("ASCEND_PYTHON_EXECUTABLE", "STRING", "python3"),
        ("CMAKE_INSTALL_PREFIX", "PATH", "${sourceDir}/build_out"),
        ("ENABLE_CROSS_COMPILE", "BOOL", "False"),
        ("ASCEND_PACK_SHARED_LIBRARY", "BOOL", "False"),
    ]


def render_install_scripts(
    specs: Sequence[OpSpec],
    vendor: str,
    units: Sequence[str],
    *,
    target: str,
    style: str,
    extra: Sequence[tuple[str, str]] = (),
    folder: str = "scripts/",
) -> list[GeneratedFile]:
    """Return ``install.sh``, ``help.info`` and ``version.info`` of a package.

    Args:
        specs: the ops in the package.
        vendor: vendor name.
        units: compute units it runs on.
        target: ``cpu`` (emulated) or ``npu``.
        style: project style stamped into ``version.info``.
        extra: further ``key=value`` stamps, e.g. ``arch``.
        folder: path prefix of the files.
    """
    env = environment()
    values = {
        "vendor": vendor,
        "ops": [s.op for s in specs],
        "socs": list(units),
        "target": target,
        "style": style,
        "extra": list(extra),
        "opgen_version": kit_version(),
    }
    return [
        GeneratedFile(
            f"{folder}{name}",
            env.get_template(f"package/{name}.jinja").render(values),
            executable=name.endswith(".sh"),
        )
        for name in ("install.sh", "help.info", "version.info")
    ]


def kit_version() -> str:
    """Return the version of opgen that is running."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("opgen")
    except PackageNotFoundError:  # a checkout that was never installed
        return "0.1.0"


# Files that stay as msopgen wrote them; of CMakePresets.json only values are changed.
_KEEP_MSOPGEN = (
    "CMakePresets.json",
    "framework/CMakeLists.txt",
    "op_host/CMakeLists.txt",
    "op_kernel/CMakeLists.txt",
)


def write_msopgen_project(
    tree: CannTree,
    specs: Sequence[OpSpec],
    files: Sequence[GeneratedFile],
    out: Path,
    *,
    vendor: str,
    soc: Sequence[str] = (),
) -> MsopgenRun:
    """Have the msopgen of ``tree`` make a project in ``out`` and lay ``files`` over it.

    msopgen's stubs of the ops are removed and ``CMakePresets.json`` gets vendor and compute units;
    its build functions (``cmake/``) and the CMakeLists.txt of op_host and op_kernel stay. ``out``
    appears only when all went well.

    Raises:
        OpgenError: OPG602 (no msopgen), OPG605 (msopgen failed), OPG606 (``out`` exists).
    """
    if out.exists():
        raise OpgenError(
            Diagnostic(
                "OPG606",
                f"{out} exists",
                Location(str(out)),
                "msopgen's tree is written as a whole",
                "remove it or choose another folder with -o",
            )
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".opgen_", dir=out.parent) as tmp:
        work = Path(tmp) / "project"
        ops = [(spec.name, msopgen_json([spec])) for spec in specs]
        run = run_msopgen(tree, ops, [s for spec in specs for s in spec.soc], work)
        if run.returncode:
            raise OpgenError(
                Diagnostic(
                    "OPG605",
                    f"msopgen failed: {run.first_error}",
                    Location(str(tree.msopgen)),
                    f"exit code {run.returncode} of: {' '.join(run.command)}",
                    "opgen verify --cann shows msopgen's whole log",
                )
            )
        for spec in specs:
            for stub in (
                f"op_host/{spec.name}.cpp",
                f"op_host/{spec.name}_tiling.h",
                f"op_kernel/{spec.name}.cpp",
                f"framework/onnx_plugin/{spec.name}_plugin.cc",
            ):
                (work / stub).unlink(missing_ok=True)
        presets = work / "CMakePresets.json"
        presets.write_text(
            patch_presets(
                presets.read_text(encoding="utf-8"),
                vendor,
                compute_units(specs, soc),
                str(tree.root),
            ),
            encoding="utf-8",
        )
        for file in files:
            path = work / file.path
            if file.path in _KEEP_MSOPGEN and path.exists():
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text, encoding="utf-8")
            path.chmod(0o755 if file.executable else 0o644)
        shutil.move(str(work), str(out))
    return run
