"""Find installed vendor packages the way CANN does, and read what they hold."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_PRIORITY = re.compile(r"^\s*load_priority\s*=\s*(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class VendorPackage:
    """One ``vendors/<vendor>`` folder.

    Attributes:
        path: the folder.
        origin: how it was found: ``ASCEND_CUSTOM_OPP_PATH`` or ``ASCEND_OPP_PATH``.
        listed: whether CANN looks at it: every entry of ``ASCEND_CUSTOM_OPP_PATH`` is, a folder
            under ``ASCEND_OPP_PATH`` only when ``config.ini`` names it in ``load_priority``.
    """

    path: Path
    origin: str
    listed: bool = True

    @property
    def vendor(self) -> str:
        """Name of the folder."""
        return self.path.name

    @property
    def info(self) -> dict[str, str]:
        """The ``key=value`` lines of ``version.info`` (empty when there is none)."""
        try:
            text = (self.path / "version.info").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return {}
        pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line)
        return {key.strip(): value.strip() for key, value in pairs}

    @property
    def ops(self) -> list[str]:
        """Op types in the package, from its ops-info files, sorted."""
        found: set[str] = set()
        for path in self.path.glob("op_impl/ai_core/tbe/config/*/aic-*-ops-info.json"):
            try:
                found.update(json.loads(path.read_text(encoding="utf-8")))
            except (OSError, ValueError):
                continue
        return sorted(found)

    @property
    def socs(self) -> list[str]:
        """Compute units it has ops for."""
        return sorted(p.name for p in self.path.glob("op_impl/ai_core/tbe/config/*") if p.is_dir())

    @property
    def opapi(self) -> Path:
        """Where its aclnn library has to be."""
        return self.path / "op_api" / "lib" / "libcust_opapi.so"

    def missing_files(self) -> list[str]:
        """Return what a complete package has and this one has not, relative to ``path``."""
        tbe = "op_impl/ai_core/tbe"
        wanted = ["op_api/lib/libcust_opapi.so", f"{tbe}/op_tiling/liboptiling.so", "version.info"]
        return [name for name in wanted if not (self.path / name).exists()]


def custom_opp_entries(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the entries of ``ASCEND_CUSTOM_OPP_PATH`` in search order, empty ones dropped."""
    return [e for e in environ.get("ASCEND_CUSTOM_OPP_PATH", "").split(":") if e]


def load_priority(vendors: Path) -> list[str]:
    """Return the vendors of ``vendors/config.ini`` in priority order (no file: none)."""
    try:
        text = (vendors / "config.ini").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    match = _PRIORITY.search(text)
    return [v.strip() for v in match[1].split(",") if v.strip()] if match else []


def find_vendors(environ: Mapping[str, str] = os.environ) -> Iterator[VendorPackage]:
    """Yield the installed packages in CANN's search order, then those CANN does not look at."""
    for entry in custom_opp_entries(environ):
        path = Path(entry)
        if path.is_dir():
            yield VendorPackage(path, "ASCEND_CUSTOM_OPP_PATH")
    if not environ.get("ASCEND_OPP_PATH"):
        return
    vendors = Path(environ["ASCEND_OPP_PATH"]) / "vendors"
    listed = load_priority(vendors)
    for name in listed:
        if (vendors / name).is_dir():
            yield VendorPackage(vendors / name, "ASCEND_OPP_PATH")
    if vendors.is_dir():
        for path in sorted(vendors.iterdir()):
            if path.is_dir() and not path.name.startswith(".") and path.name not in listed:
                yield VendorPackage(path, "ASCEND_OPP_PATH", listed=False)
