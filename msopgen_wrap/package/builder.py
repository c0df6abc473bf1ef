"""Build the installable package of a project for the CPU target."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.package.archive import make_run, run_name
from msopgen_wrap.package.layout import VendorTree, fill_vendor_tree, package_stamps
from msopgen_wrap.package.project_tree import ProjectTree
from msopgen_wrap.project.cann_project import compute_units, render_install_scripts

Progress = Callable[[str], None]


@dataclass(frozen=True)
class BuiltPackage:
    """A finished ``.run``.

    Attributes:
        run: the file.
        vendor: vendor it installs.
        ops: op types in it.
        units: compute units it serves.
        kernels: number of kernel binaries.
        bytes: its size.
    """

    run: Path
    vendor: str
    ops: tuple[str, ...]
    units: tuple[str, ...]
    kernels: int
    bytes: int

    def as_dict(self) -> dict[str, object]:
        """Return the JSON form of ``opgen build --json``."""
        return {
            "target": "cpu",
            "run": str(self.run),
            "vendor": self.vendor,
            "ops": list(self.ops),
            "socs": list(self.units),
            "kernels": self.kernels,
            "bytes": self.bytes,
        }


def build_cpu_package(
    project: ProjectTree, out: Path, *, progress: Progress = lambda _: None
) -> BuiltPackage:
    """Compile ``project`` and write ``out/custom_opp_<os>_<arch>.run``.

    The file appears only when it is complete. The unpacked vendor tree is kept beside it in
    ``out/vendors/<vendor>``, for inspection and for use without installing.

    Raises:
        OpgenError: a source does not compile, or there is no compiler.
    """
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".opgen_build_", dir=out) as tmp:
        root = Path(tmp)
        vendor_dir = root / "packages" / "vendors" / project.vendor
        tree = fill_vendor_tree(project, vendor_dir, progress=progress)
        progress("package")
        pack_vendor_tree(project, root, tree, out / run_name())
        keep = out / "vendors" / project.vendor
        if keep.exists():
            shutil.rmtree(keep)
        keep.parent.mkdir(exist_ok=True)
        shutil.move(str(vendor_dir), str(keep))
    run = out / run_name()
    return BuiltPackage(
        run,
        project.vendor,
        tuple(s.op for s in project.specs),
        tuple(tree.units),
        tree.kernels,
        run.stat().st_size,
    )


def pack_vendor_tree(project: ProjectTree, root: Path, tree: VendorTree, run: Path) -> Path:
    """Add the install scripts to ``root`` (which holds ``packages/``) and pack it into ``run``."""
    units = compute_units(project.specs, project.soc)
    scripts = render_install_scripts(
        project.specs,
        project.vendor,
        units,
        target="cpu",
        style=project.style,
        extra=package_stamps(),
        folder="",
    )
    for script in scripts:
        path = root / script.path
        path.write_text(script.text, encoding="utf-8")
        path.chmod(0o755 if script.executable else 0o644)
    help_text = next(s.text for s in scripts if s.path == "help.info")
    options = [line for line in help_text.splitlines() if line.startswith("  ")]
    ops = ", ".join(s.op for s in project.specs[:4])
    if len(project.specs) > 4:
        ops += f" and {len(project.specs) - 4} more"
    return make_run(
        root,
        run,
        label=f"custom ops of vendor {project.vendor}: {ops} (CPU emulation)",
        folder_name=f"custom_opp_{project.vendor}",
        help_lines=options,
    )


def install_package(run: Path, install_path: Path | None = None) -> str:
    """Run the package's installer; return what it printed.

    Args:
        run: the ``.run``.
        install_path: target folder; None: what the ``ASCEND_*`` variables say.

    Raises:
        OpgenError: OPG652 with the installer's own message and cure.
    """
    command = ["sh", str(run)]
    if install_path is not None:
        command.append(f"--install-path={install_path.absolute()}")
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        what = next((line for line in lines if "error:" in line), "the installer failed")
        cure = next((line.split("cure:", 1)[1].strip() for line in lines if "cure:" in line), "")
        raise OpgenError(
            Diagnostic(
                "OPG652",
                what.split("error:", 1)[-1].strip(),
                Location(str(run)),
                f"the installer ended with exit code {done.returncode}",
                cure,
            )
        )
    return done.stdout
