"""What a project's build files say of a kernel: source, synchronisation, macros, header folders.

CANN's compiler inserts barriers and flags of its own (``--cce-auto-sync``, on by default in msopgen
projects and ``<<<>>>`` builds). A project that switches that off has to synchronise in its source,
and check mode then demands it (``OPGEN_CHECK=auto-sync=project``: as ``off``, but as a warning,
since public kernels built so leave out some barriers and flags).

Read are the calls that CANN documents (``add_ops_compile_options``, ``npu_op_kernel_options``) or
CMake has (``target_compile_options``), and what the op repositories add: ``add_kernel_sources`` and
``scripts/kernel/binary_config/ascendc_config.json`` above the op. Of ``if()`` the branches count
that a release build for the SoC takes; where that cannot be told, all of them do, and
``CompileOptions.assumed`` names the calls.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msopgen_wrap.build.cmake_language import CMakeError, Command, Scope, preset_variables
from msopgen_wrap.platforms import find_platform

_BUILD_FILES = ("CMakeLists.txt", "op_host/CMakeLists.txt", "op_kernel/CMakeLists.txt")
_CALL = re.compile(r"\w*compile_options|npu_op_kernel_options|add_kernel_sources")
_SYNC = re.compile(r"^--cce-auto-sync(?:=(on|off))?$")
# The keywords of those calls; what follows one belongs to it up to the next.
_KEYWORDS = (
    *("OP_NAME", "OP_TYPE", "COMPUTE_UNIT", "COMPUTE_UNITS", "OPTIONS"),
    *("AUTO_SYNC", "KERNEL_SRC"),
)
_OTHER_KEYWORDS = ("SIMPLIFIED_KEY", "IMPL_MODE")
_CONFIG = Path("scripts/kernel/binary_config/ascendc_config.json")
# How far above an op its repository's configuration may be: <repository>/<kind>/<op>.
_CONFIG_LEVELS = 4


@dataclass
class CompileOptions:
    """Options of one kernel.

    Attributes:
        auto_sync: the compiler synchronises pipes on its own.
        defines: macros, ``NAME`` or ``NAME=VALUE``.
        include_dirs: folders that exist.
        kernel: stem of the source that has the entry, "" where the op's name tells it.
        assumed: calls that were taken although their conditions are not known, as ``file:line``.
    """

    auto_sync: bool = True
    defines: list[str] = field(default_factory=list)
    include_dirs: list[Path] = field(default_factory=list)
    kernel: str = ""
    assumed: list[str] = field(default_factory=list)

    def add(self, words: Iterable[str], folder: Path, top: Path) -> None:
        """Take over the options among ``words``, of a build file in ``folder`` below ``top``."""
        for word in words:
            if sync := _SYNC.match(word):
                self.auto_sync = sync[1] != "off"
            elif word.startswith("-D") and "$" not in word:
                self.defines.append(word[2:])
            elif word.startswith("-I"):
                path = _folder(word[2:], folder, top)
                if path is not None and path not in self.include_dirs:
                    self.include_dirs.append(path)


def read_options(root: Path, op: str | None = None, family: str | None = None) -> CompileOptions:
    """Return what the build files of the project in ``root`` say about a kernel.

    Args:
        op: op type that a call about single ops has to name, or ALL; None: any.
        family: SoC family (``ascend910b``) that a call limited to some has to name; None: any.
    """
    options = CompileOptions()
    root = root.absolute()
    top = _top(root)
    _add_config(options, root, op, family, top)
    scope = Scope(_known_variables(root, family))
    for folder in reversed([p for p in root.parents if p == top or top in p.parents]):
        _taken(folder / "CMakeLists.txt", scope)  # for what they set
    for name in _BUILD_FILES:
        path = root / name
        for call in _taken(path, scope):
            if _CALL.fullmatch(call.name) is None:
                continue
            given = _arguments([w for t in call.texts for w in re.split(r"[\s;<>\"]+", t) if w])
            if not (_names_op(call.name, given, op) and _names_unit(given, family)):
                continue
            if not call.certain:
                options.assumed.append(f"{path}:{call.line}")
            words = given["OPTIONS"]
            if call.name not in ("add_ops_compile_options", "npu_op_kernel_options"):
                words = [*given[""], *words]
            options.add(words, path.parent, top)
            if given["AUTO_SYNC"]:
                options.auto_sync = given["AUTO_SYNC"][0].lower() != "false"
            if given["KERNEL_SRC"]:
                options.kernel = Path(given["KERNEL_SRC"][0]).stem
    return options


def _taken(path: Path, scope: Scope) -> list[Command]:
    """Return the commands of a build file that a build takes; [] where CMake could not read it."""
    try:
        return list(scope.taken(path.read_text(encoding="utf-8", errors="replace")))
    except (OSError, CMakeError):
        return []


def _known_variables(root: Path, family: str | None) -> dict[str, str]:
    """Return what a release build of the project for a SoC family starts with."""
    try:
        presets = json.loads((root / "CMakePresets.json").read_text(encoding="utf-8"))
        known = preset_variables(presets) if isinstance(presets, dict) else {}
    except (OSError, ValueError):
        known = {}
    known.setdefault("CMAKE_BUILD_TYPE", "Release")
    if family is not None:
        known["ASCEND_COMPUTE_UNIT"] = family
        part = find_platform(family)
        if part is not None:
            known["SOC_VERSION"] = part.official_name
    return known


def _arguments(words: Sequence[str]) -> dict[str, list[str]]:
    """Return the words of a call by keyword, those before the first under ""."""
    found: dict[str, list[str]] = {"": [], **{k: [] for k in _KEYWORDS}}
    keyword = ""
    for word in words:
        if word in _KEYWORDS or word in _OTHER_KEYWORDS:
            keyword = word
        else:
            found.setdefault(keyword, []).append(word)
    return found


def _names_op(function: str, given: dict[str, list[str]], op: str | None) -> bool:
    """Whether a call is about the op: only those of CANN's projects are about single ones."""
    if op is None or function not in ("add_ops_compile_options", "npu_op_kernel_options"):
        return True
    # npu_op_kernel_options(<kernel target> <op type or ALL> ...)
    named = [*given["OP_NAME"], *given["OP_TYPE"], *given[""]]
    return op in named or "ALL" in named


def _names_unit(given: dict[str, list[str]], family: str | None) -> bool:
    units = [*given["COMPUTE_UNIT"], *given["COMPUTE_UNITS"]]
    return family is None or not units or any(_is_unit(u, family) for u in units)


def _is_unit(name: str, family: str) -> bool:
    """Whether a compute unit (``ascend910b``, ``Ascend910B3``, a variable) is of the family."""
    if "$" in name:
        return True
    platform = find_platform(name)
    return name.lower() == family or (platform is not None and platform.family == family)


def _folder(name: str, folder: Path, top: Path) -> Path | None:
    """Return an include folder of a build file in ``folder``, None if it is not there."""
    name = re.sub(r"\$\{CMAKE_CURRENT_(?:SOURCE|LIST)_DIR\}", str(folder), name)
    name = re.sub(r"\$\{(?:CMAKE|PROJECT)_SOURCE_DIR\}", str(top), name)
    path = Path(os.path.normpath(folder / name))
    return path if name and "$" not in name and path.is_dir() else None


def _top(root: Path) -> Path:
    """Return the folder that CMake is started in: the topmost one in a row with a build file."""
    top = root
    for parent in root.parents:
        if not (parent / "CMakeLists.txt").is_file():
            break
        top = parent
    return top


def _add_config(
    options: CompileOptions, root: Path, op: str | None, family: str | None, top: Path
) -> None:
    """Take over what the repository's list of ops says about one (``auto_sync`` and options)."""
    path = next(
        (p / _CONFIG for p in list(root.parents)[:_CONFIG_LEVELS] if (p / _CONFIG).is_file()), None
    )
    if path is None or op is None or family is None:
        return
    try:
        listed = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except ValueError:
        return  # CMake would not read it either
    for entry in listed if isinstance(listed, list) else []:
        if not isinstance(entry, dict) or entry.get("name") != op:
            continue
        if family not in entry.get("compute_units", (family,)):
            continue
        sync = entry.get("auto_sync", True)
        sync = sync.get(family, True) if isinstance(sync, dict) else sync
        options.auto_sync = bool(sync)
        given = entry.get("compile_options", {})
        words = given.get(family, ()) if isinstance(given, dict) else ()
        options.add((str(w) for w in words), path.parent, top)
