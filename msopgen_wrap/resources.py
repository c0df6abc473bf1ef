"""Locate the data folders (templates, specs, C++) in a checkout or in an installed wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_FOLDERS = ("ascendc_kernels", "op_specs", "templates")


def data_dir(folder: str) -> Path:
    """Return the absolute path of one of the data folders.

    The wheel carries them under ``msopgen_wrap/_data`` (``pyproject.toml`` maps them there);
    a checkout has them beside the package.

    Raises:
        ValueError: ``folder`` is not a data folder.
        FileNotFoundError: the installation is incomplete.
    """
    if folder not in _FOLDERS:
        raise ValueError(f"{folder!r} is not a data folder; known: {', '.join(_FOLDERS)}")
    for candidate in (_PACKAGE / "_data" / folder, _PACKAGE.parent / folder):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"opgen is installed without its {folder!r} folder; reinstall it")
