"""Compile the sources of ``csrc`` against torch; kept beside the package or in the cache."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

LIBRARY = "_opgen_binding.so"
RECORD = "_opgen_binding.json"
# From this version on the binding uses torch's stable interface: one build serves later versions.
STABLE_SINCE = (2, 10)
# Autograd's entry is bound to one torch version, and the same for the packages of all vendors.
ENTRY_SOURCE = "autograd_entry.cpp"
ENTRY = "_opgen_autograd.so"
ENTRY_RECORD = "_opgen_autograd.json"


def torch_version() -> tuple[int, int]:
    """Return (major, minor) of the installed torch."""
    major, minor = torch.__version__.split("+")[0].split(".")[:2]
    return int(major), int(minor)


def is_classic() -> bool:
    """Whether the binding is bound to this very torch version."""
    return torch_version() < STABLE_SINCE or bool(os.environ.get("OPGEN_TORCH_CLASSIC"))


def find_compiler() -> str:
    """Return the C++ compiler: ``OPGEN_CXX``, ``CXX``, or the first of g++, c++, clang++."""
    wanted = os.environ.get("OPGEN_CXX") or os.environ.get("CXX")
    for name in [wanted] if wanted else ["g++", "c++", "clang++"]:
        found = shutil.which(name.split()[0])
        if found:
            return found
    raise RuntimeError(
        f"no C++ compiler ({wanted or 'g++, c++ or clang++'}) for the torch binding. "
        "Cure: install g++ 10 or newer (Debian/Ubuntu: apt install g++), or set OPGEN_CXX."
    )


def _sources_hash(csrc: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(csrc.iterdir()):
        if path.suffix in (".cpp", ".h"):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def identity(csrc: Path) -> dict[str, str]:
    """Return what a built binding depends on."""
    version = torch.__version__ if is_classic() else f"stable {STABLE_SINCE[0]}.{STABLE_SINCE[1]}"
    return {"sources": _sources_hash(csrc), "torch": version, "machine": platform.machine()}


def prebuilt(package: Path) -> Path | None:
    """Return the binding shipped in the package if it fits these sources, torch and machine."""
    library = package / LIBRARY
    fits = library.is_file() and is_record(package / RECORD, identity(package / "csrc"))
    return library if fits else None


def is_record(path: Path, wanted: dict[str, str]) -> bool:
    """Whether ``path`` records that a library was compiled for ``wanted``."""
    try:
        return bool(json.loads(path.read_text(encoding="utf-8")) == wanted)
    except (OSError, ValueError):
        return False


def write_record(path: Path, identity: dict[str, str]) -> None:
    """Write what a library beside ``path`` was compiled for."""
    path.write_text(json.dumps(identity, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def cache_folder() -> Path:
    """Return the folder of built bindings, in opgen's own cache."""
    root = os.environ.get("OPGEN_CACHE_DIR")
    if not root:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        root = str(Path(base) / "opgen")
    return Path(root).expanduser() / "torch_binding"


def cached(identity: dict[str, str], name: str) -> Path:
    """Return where the cache keeps the library ``name`` that is compiled for ``identity``."""
    key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:24]
    return cache_folder() / key / name


def classic_flags() -> list[str]:
    """Return the compiler flags that the headers of this very torch version need."""
    abi = int(getattr(torch._C, "_GLIBCXX_USE_CXX11_ABI", True))
    standard = "-std=c++20" if torch_version() >= (2, 12) else "-std=c++17"
    return [standard, f"-D_GLIBCXX_USE_CXX11_ABI={abi}"]


def binding_flags() -> list[str]:
    """Return the compiler flags of the binding."""
    return [*classic_flags(), "-DOPGEN_TORCH_CLASSIC"] if is_classic() else ["-std=c++17"]


def command(source: Path, flags: list[str], output: Path) -> list[str]:
    """Return the command that compiles ``source`` against this torch."""
    root = Path(torch.__file__).parent
    flags = [*flags, "-O1", "-g0", "-fPIC", "-shared", "-pthread", "-w"]
    compiler = find_compiler()
    if "clang" not in Path(compiler).name:
        flags.append("-fno-gnu-unique")  # two vendors' bindings must not share state
    # libtorch is in the process already and is found by its name there: no rpath needed.
    return [
        compiler,
        *flags,
        f"-I{root / 'include'}",
        f"-I{root / 'include' / 'torch' / 'csrc' / 'api' / 'include'}",
        str(source),
        "-o",
        str(output),
        f"-L{root / 'lib'}",
        "-Wl,--no-as-needed",
        "-ltorch_cpu",
        "-lc10",
        "-ldl",
    ]


def compile_binding(csrc: Path, output: Path) -> None:
    """Compile the binding in about 4 s, 20 s with ``OPGEN_TORCH_CLASSIC``.

    Raises:
        RuntimeError: as :func:`compile_source`.
    """
    compile_source(csrc / "binding.cpp", binding_flags(), output)


def compile_source(source: Path, flags: list[str], output: Path) -> None:
    """Compile to ``output``, which appears only when complete.

    Raises:
        RuntimeError: no compiler, or the compiler's first error.
    """
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RuntimeError(
            f"no place for the torch binding: {error}. Cure: set OPGEN_CACHE_DIR to a folder "
            "that can be written"
        ) from error
    with tempfile.TemporaryDirectory(prefix=".binding_", dir=output.parent) as folder:
        partial = Path(folder) / output.name
        line = command(source, flags, partial)
        run = subprocess.run(line, capture_output=True, text=True, check=False)
        if run.returncode:
            errors = [line for line in run.stderr.splitlines() if "error" in line]
            raise RuntimeError(
                f"{source.name} of the torch package does not compile: "
                f"{errors[0] if errors else run.stderr}\n"
                f"  command: {' '.join(run.args)}"
            )
        partial.replace(output)


def build(package: Path, *, into_package: bool = False) -> Path:
    """Return the binding of ``package``, compiling it when there is none that fits.

    Args:
        package: folder that holds ``csrc/binding.cpp``.
        into_package: put it beside the package, so that it is part of a wheel; else into the cache.

    Raises:
        RuntimeError: it cannot be compiled.
    """
    ready = prebuilt(package)
    if ready:
        return ready
    csrc = package / "csrc"
    wanted = identity(csrc)
    if into_package:
        compile_binding(csrc, package / LIBRARY)
        write_record(package / RECORD, wanted)
        return package / LIBRARY
    library = cached(wanted, LIBRARY)
    if not library.is_file():
        if sys.stderr is not None and sys.stderr.isatty():
            print(f"compiling the torch binding of {package.name} (once) ...", file=sys.stderr)
        compile_binding(csrc, library)
    return library


def entry_identity(csrc: Path) -> dict[str, str]:
    """Return what a compiled autograd entry depends on."""
    digest = hashlib.sha256((csrc / ENTRY_SOURCE).read_bytes()).hexdigest()
    return {"source": digest, "torch": torch.__version__, "machine": platform.machine()}


def find_entry(package: Path) -> Path | None:
    """Return the autograd entry for this torch that is compiled already, else None."""
    wanted = entry_identity(package / "csrc")
    if (package / ENTRY).is_file() and is_record(package / ENTRY_RECORD, wanted):
        return package / ENTRY
    library = cached(wanted, ENTRY)
    return library if library.is_file() else None


def build_entry(package: Path, *, into_package: bool = False) -> Path:
    """Compile the autograd entry in about 4 s; arguments and errors as :func:`build`."""
    wanted = entry_identity(package / "csrc")
    library = package / ENTRY if into_package else cached(wanted, ENTRY)
    compile_source(package / "csrc" / ENTRY_SOURCE, classic_flags(), library)
    if into_package:
        write_record(package / ENTRY_RECORD, wanted)
    return library
