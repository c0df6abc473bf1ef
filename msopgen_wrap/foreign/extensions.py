"""Programs with headers of PyTorch or pybind11: Python extensions that launch their own kernels.

A source with such headers and without ``main`` is built as a shared library under the names its
build file and its module macro give it, for a Python script to load.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from msopgen_wrap.build.emulation_library import emulation_library
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.foreign.program_sources import cmake_text
from msopgen_wrap.resources import data_dir

_HEADER = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]*["<]'
    r'((?:torch|ATen|c10|pybind11|torch_npu)/[^">\n]+|Python\.h)[">]',
    re.MULTILINE,
)
_MODULE = re.compile(r"\bPYBIND11_MODULE\s*\(\s*(\w+)")
_TARGET = re.compile(r"\b(?:add_library|pybind11_add_module)\s*\(\s*(\w+)")
# NpuExtension("package.name", ...) in a setup.py, and its relatives.
_SETUP_TARGET = re.compile(r"\b\w*Extension\s*\(\s*(?:name\s*=\s*)?[\"']([\w.]+)[\"']")
_MACRO = "TORCH_EXTENSION_NAME"
# torch first: it brings pybind11 along.
_PACKAGES = {"torch/": "torch", "ATen/": "torch", "c10/": "torch", "pybind11/": "pybind11"}


@dataclass(frozen=True)
class Extension:
    """How sources with PyTorch's headers are compiled and linked.

    Attributes:
        flags: for the compiler.
        link: the libraries of the packages. Python loads them for itself alone, so that a library
            of ours finds their symbols only when it names them.
        python: for an executable, libpython; a shared library finds its symbols in the process.
        names: file names of the library, the first for the file itself.
    """

    flags: tuple[str, ...]
    link: tuple[str, ...]
    python: tuple[str, ...]
    names: tuple[str, ...]


def python_headers(texts: Iterable[str]) -> set[str]:
    """Return the headers of Python packages that some sources include."""
    return {name for text in texts for name in _HEADER.findall(text)}


def extension(source: Path, texts: Sequence[str]) -> Extension | None:
    """Return what a source needs for headers of torch, pybind11, torch_npu or Python, or None.

    Args:
        source: the first source of the program.
        texts: of the sources and the headers they reach, comments blanked.

    Raises:
        OpgenError: OPG531, the package is not installed in this Python.
    """
    headers = python_headers(texts)
    if not headers:
        return None
    folders: list[Path] = [Path(sysconfig.get_paths()["include"])]
    link: list[str] = []
    torch = _package("torch")
    for header in sorted(headers):
        if header.startswith("torch_npu/") or header == "Python.h":
            continue
        wanted = _PACKAGES[header.partition("/")[0] + "/"]
        if torch is None and (wanted == "torch" or _package(wanted) is None):
            raise _missing(wanted, header, source)
    if torch is not None:
        include = torch / "include"
        folders += [include, include / "torch" / "csrc" / "api" / "include"]
        libraries = ["-ltorch", "-ltorch_cpu", "-lc10"]
        if any(h.startswith("torch/extension") for h in headers):
            libraries.append("-ltorch_python")
        link += _libraries(torch / "lib", libraries)
    elif (pybind := _package("pybind11")) is not None:
        folders.append(pybind / "include")
    if any(h.startswith("torch_npu/") for h in headers):
        npu = _package("torch_npu")
        folders.append(
            npu / "include" if npu else data_dir("ascendc_kernels") / "emulation" / "torch_npu"
        )
        link += _libraries(npu / "lib", ["-ltorch_npu"]) if npu else []
    names = _library_names(source, texts)
    flags = [f"-isystem{f}" for f in folders]
    flags.append(f"-D{_MACRO}={Path(names[0]).stem.removeprefix('lib')}")
    return Extension(tuple(flags), tuple(link), tuple(_python_library()), names)


def _libraries(folder: Path, names: Sequence[str]) -> list[str]:
    # What those need in turn is the package's business (torch_npu's: CANN's runtime, emulated).
    places = [f"-L{folder}", f"-Wl,-rpath,{folder}", "-Wl,--allow-shlib-undefined"]
    return [*places, "-Wl,--as-needed", *names, "-Wl,--no-as-needed"]


def _package(name: str) -> Path | None:
    """Return the folder of an installed package, without importing it."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    places = list(spec.submodule_search_locations or []) if spec is not None else []
    return Path(places[0]) if places else None


def _missing(package: str, header: str, source: Path) -> OpgenError:
    return OpgenError(
        Diagnostic(
            "OPG531",
            f"{source.name} includes {header}, and {package} is not installed",
            Location(str(source)),
            why=f"looked in {sys.executable}, the Python that runs opgen",
            fix=f"pip install {package}, or run opgen with a Python that has it",
        )
    )


def _python_library() -> list[str]:
    """Return how an executable is linked with libpython; [] where that is a static library."""
    library = sysconfig.get_config_var("LDLIBRARY") or ""
    folder = sysconfig.get_config_var("LIBDIR") or ""
    if ".so" not in library:
        # What only Python's process has is not called by a program of its own.
        return ["-Wl,--unresolved-symbols=ignore-all"]
    name = library.removeprefix("lib").partition(".so")[0]
    return [f"-L{folder}", f"-Wl,-rpath,{folder}", f"-l{name}"]


def _library_names(source: Path, texts: Sequence[str]) -> tuple[str, ...]:
    targets = _TARGET.findall(cmake_text(source.parent))
    modules = [m for t in texts for m in _MODULE.findall(t) if m != _MACRO]
    for folder in (source.parent, source.parent.parent):
        if (folder / "setup.py").is_file():
            found = _SETUP_TARGET.findall(_text(folder / "setup.py"))
            targets += [name.rpartition(".")[2] for name in found]
            break
    names = [f"{m}.so" for m in modules]
    names += [n for t in [*targets, source.stem] for n in (f"lib{t}.so", f"{t}.so")]
    return tuple(dict.fromkeys(names))


def script_command(
    script: Path, arguments: Sequence[str], library: Path, *, soc: str, check: bool
) -> tuple[list[str], dict[str, str]]:
    """Return the command that runs a script with an extension, and variables of its environment.

    Where torch_npu is installed it gets the emulated runtime, as under ``opgen exec``.

    Args:
        library: the extension; all its names lie in its folder.
        soc: exact or family name.
        check: with the sanitizer.

    Raises:
        OpgenError: OPG706, the script imports torch_npu, which is not installed.
    """
    from msopgen_wrap.npu.selection import child_environment

    variables = dict(os.environ)
    if _package("torch_npu") is not None:
        variables, _ = child_environment(variables, soc=soc, check=check)
        # Before the runtime, which tells the emulation of the memory it gives out if there is one.
        preloaded = [str(emulation_library().path), *filter(None, [variables.get("LD_PRELOAD")])]
        variables["LD_PRELOAD"] = os.pathsep.join(preloaded)
    elif needs_package(_text(script), "torch_npu"):
        raise OpgenError(
            Diagnostic(
                "OPG706",
                f"{script.name} imports torch_npu, which is not installed",
                Location(str(script)),
                why=f"looked in {sys.executable}, the Python that runs opgen",
                fix="pip install the torch_npu of your torch version; no CANN is needed",
            )
        )
    folders = [str(library.parent), *filter(None, [variables.get("PYTHONPATH")])]
    variables["PYTHONPATH"] = os.pathsep.join(folders)
    return [sys.executable, str(script.resolve()), *arguments], variables


def needs_package(text: str, package: str) -> bool:
    """Say whether a script cannot start without a package: it imports it whatever happens.

    An import inside ``try``, ``if`` or a function is the script's to handle.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return False  # Python says what is wrong with it
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        statement = waiting.pop()
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            names = [statement.module or ""] if statement.level == 0 else []
        else:
            if isinstance(statement, ast.With):
                waiting += statement.body
            continue
        if any(name.split(".")[0] == package for name in names):
            return True
    return False


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        what = f"cannot read {path}: {error.strerror}"
        raise OpgenError(Diagnostic("OPG906", what, Location(str(path)))) from error
