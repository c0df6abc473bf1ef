"""Build the installable package of a project for the CPU target: a self-extracting ``.run``.

A ``.run`` is a POSIX shell header, then a tar.gz. The command line is makeself's where CANN users
know it (``--check``, ``--extract=``, ``--noexec``, ``--info``, ``--list``); everything else goes to
``install.sh``. makeself itself is not used for packages made here: a stock makeself refuses
``--install-path``, and its tar format stops at names of 100 characters. Packages are byte-stable:
entries are sorted and carry no time, owner or host.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import stat
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2

from msopgen_wrap.build.toolchain import machine_name
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError, output_folder
from msopgen_wrap.manifest import ProjectTree
from msopgen_wrap.package.layout import VendorTree, fill_vendor_tree, package_stamps
from msopgen_wrap.project.cann_project import compute_units, render_install_scripts
from msopgen_wrap.resources import data_dir

_HEADER = "package/run_header.sh.jinja"


def run_name() -> str:
    """Return ``custom_opp_<os>_<arch>.run``, the name CANN's own projects give their package."""
    name = "linux"
    try:
        text = Path("/etc/os-release").read_text(encoding="utf-8")
        for line in text.splitlines():
            if line.startswith("ID="):
                name = line[3:].strip().strip('"') or name
    except OSError:
        pass
    return f"custom_opp_{name}_{machine_name()}.run"


def make_run(
    folder: Path, target: Path, *, label: str, folder_name: str, help_lines: Sequence[str] = ()
) -> Path:
    """Write ``target``, a ``.run`` that unpacks ``folder`` and runs its ``install.sh``.

    Args:
        folder: what to pack; must hold ``install.sh``.
        target: the file to write; replaced in one step, so that a half-written one never shows.
        label: one line that ``--help`` and ``--info`` show.
        folder_name: where ``--noexec`` unpacks, relative to the current folder.
        help_lines: the installer's options, appended to ``--help``.

    Raises:
        ValueError: the label cannot be quoted, or there is no ``install.sh``.
    """
    if "'" in label or "\n" in label:
        raise ValueError("a label has one line and no quotes")
    if not (folder / "install.sh").is_file():
        raise ValueError(f"{folder} has no install.sh")
    payload, size = _payload(folder)
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(data_dir("templates")),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
    )
    template = env.get_template(_HEADER)

    def header(lines: int) -> str:
        return template.render(
            label=label,
            name=target.name,
            folder=folder_name,
            help="\n".join(help_lines),
            header_lines=lines,
            payload_bytes=len(payload),
            unpacked_kb=size // 1024 + 1,
            payload_sha256=hashlib.sha256(payload).hexdigest(),
        )

    # The number of lines does not depend on its own value.
    text = header(header(0).count("\n"))
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        temporary.write_bytes(text.encode("utf-8") + payload)
        temporary.chmod(0o755)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return target


def _payload(folder: Path) -> tuple[bytes, int]:
    """Return the tar.gz of ``folder`` and the unpacked size in bytes."""
    buffer = io.BytesIO()
    size = 0
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=6, mtime=0) as zipped,
        # GNU format: names of any length, and every tar since 1999 (busybox too) reads it.
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.GNU_FORMAT) as tar,
    ):
        for path in sorted(folder.rglob("*"), key=lambda p: p.relative_to(folder).as_posix()):
            info = tar.gettarinfo(str(path), "./" + path.relative_to(folder).as_posix())
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            info.mtime = 0
            # One mode for all, whatever the umask of the builder was.
            executable = info.isdir() or bool(info.mode & stat.S_IXUSR)
            info.mode = 0o755 if executable else 0o644
            # Two hard-linked files would otherwise become a link entry.
            if info.islnk():
                info.type = tarfile.REGTYPE
                info.linkname = ""
                info.size = path.stat().st_size
            if info.isreg():
                size += info.size
                with path.open("rb") as handle:
                    tar.addfile(info, handle)
            else:
                tar.addfile(info)
    return buffer.getvalue(), size


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
    output_folder(out)
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
