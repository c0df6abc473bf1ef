"""Pack a folder into a self-extracting ``.run``: a POSIX shell header, then a tar.gz.

The command line is makeself's where CANN users know it (``--check``, ``--extract=``, ``--noexec``,
``--info``, ``--list``); everything else goes to ``install.sh``. makeself itself is not used for
packages made here: a stock makeself refuses ``--install-path``, and its tar format stops at
names of 100 characters. Packages are byte-stable: entries are sorted and carry no time, owner or
host.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Sequence
from pathlib import Path

import jinja2

from msopgen_wrap.build.toolchain import machine_name
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
