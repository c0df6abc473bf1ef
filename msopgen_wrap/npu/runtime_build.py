"""Build the emulated CANN runtime: ``libascendcl.so``, ``libhccl.so`` and their facades.

Two flavours share the sources. The *generic* one serves ACL programs and packages. The *wheel* one
is for an installed torch_npu: it is compiled against the headers that wheel ships, so a differing
prototype is a compile error, and it adds a failing function for every name the wheel links against
and the emulation does not have.
"""

from __future__ import annotations

import csv
import ctypes
import importlib.util
import os
import platform
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ..build import cache
from ..build.forwarding_headers import forwarding_folder, table_path
from ..build.shared_object import read_symbols
from ..build.toolchain import common_flags, find_toolchain, run_compiler
from ..diagnostics import Diagnostic, OpgenError
from ..platforms import DEFAULT_SOC, reference_parts
from ..resources import data_dir

# Libraries of CANN that torch_npu links against but uses through libascendcl or dlsym only.
FACADES = ("libacl_op_compiler.so", "libge_runner.so", "libgraph.so", "libacl_tdt_channel.so")


@dataclass(frozen=True)
class NpuRuntime:
    """The built runtime: a folder to put on the library path, files in load order."""

    folder: Path
    libraries: tuple[Path, ...]


@dataclass(frozen=True)
class TorchNpuWheel:
    """An installed torch_npu: its folder, version, and torch's folder."""

    folder: Path
    version: str
    torch: Path

    @property
    def include(self) -> Path:
        """Folder with the wheel's copy of CANN's public headers."""
        return self.folder / "include"

    def libraries(self) -> list[Path]:
        """The shared objects that must load; those that need ATB are optional in torch_npu."""
        found = sorted((self.folder / "lib").glob("*.so")) + sorted(self.folder.glob("_C*.so"))
        return [p for p in found if "libatb.so" not in read_symbols(p).needed]


def find_wheel() -> TorchNpuWheel | None:
    """Locate torch_npu and torch without importing them; None when either is not installed."""
    npu, torch = importlib.util.find_spec("torch_npu"), importlib.util.find_spec("torch")
    if npu is None or torch is None or not npu.origin or not torch.origin:
        return None
    folder = Path(npu.origin).parent
    return TorchNpuWheel(folder, _version(folder), Path(torch.origin).parent)


def _version(folder: Path) -> str:
    for line in (folder / "version.py").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "__version__":
            return value.strip().strip("'\"")
    return "unknown"


def sources_dir() -> Path:
    """Folder of the runtime's C++ sources."""
    return data_dir("ascendc_kernels") / "emulation" / "runtime"


def _in_libc(name: str) -> bool:
    for library in ("libc.so.6", "libpthread.so.0", "libdl.so.2", "libm.so.6", "librt.so.1"):
        try:
            if hasattr(ctypes.CDLL(library), name):
                return True
        except OSError:
            continue
    return False


def wanted_from_cann(wheel: TorchNpuWheel) -> dict[str, list[str]]:
    """Return the names the wheel's libraries leave for CANN: name -> the libraries that want it.

    Names that torch, the wheel itself, Python or libc define are taken out. A C++ name left over
    belongs to torch: it is reported by :func:`check_symbols`.
    """
    own = [read_symbols(path) for path in wheel.libraries()]
    offered: set[str] = set()
    for library in [*own, *(read_symbols(p) for p in (wheel.torch / "lib").glob("*.so*"))]:
        offered |= library.defined
    wanted: dict[str, list[str]] = {}
    for library in own:
        for name in library.undefined - offered:
            if not name.startswith(("Py", "_Py")) and not _in_libc(name):
                wanted.setdefault(name, []).append(library.path.name)
    return dict(sorted(wanted.items()))


def known_stubs() -> frozenset[str]:
    """Names that may fail by name (``ascendcl/not_emulated.txt``)."""
    text = (sources_dir() / "ascendcl" / "not_emulated.txt").read_text(encoding="utf-8")
    return frozenset(
        line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")
    )


def check_symbols(
    wheel: TorchNpuWheel, wanted: dict[str, list[str]], offered: frozenset[str]
) -> list[str]:
    """Return the names nobody provides, empty when this torch_npu version can be loaded.

    Raises:
        OpgenError: OPG702 when C++ names of torch are among them: the two versions do not match.
    """
    missing = [n for n in wanted if n not in offered and n not in known_stubs()]
    cxx = [n for n in missing if n.startswith("_Z")]
    if cxx:
        shown = ", ".join(cxx[:5]) + (f" and {len(cxx) - 5} more" if len(cxx) > 5 else "")
        raise OpgenError(
            Diagnostic(
                "OPG702",
                f"torch_npu {wheel.version} does not fit the installed torch: {shown} missing",
                why="torch_npu is built for exactly one torch version",
                fix="install the pair the kit is tested with; `opgen doctor` says how",
            )
        )
    return missing


def soc_table(text: str) -> str:
    """Render the rows of platform_facts.csv as C++ initialisers, the default SoC first."""
    rows = list(csv.DictReader(text.splitlines()))
    rows.sort(key=lambda row: row["soc"].lower() != DEFAULT_SOC)

    def number(row: dict[str, str], key: str) -> str:
        value = (row.get(key) or "").strip()
        return value if value.isdigit() else "0"

    keys = ("ai_core_cnt", "cube_core_cnt", "vector_core_cnt", "ai_cpu_cnt", "ub_size", "l2_size")
    lines = []
    for row in rows:
        values = ", ".join(number(row, key) for key in keys)
        memory, arch = number(row, "memory_size"), number(row, "npu_arch_9x")
        lines.append(f'    {{"{row["soc"]}", {values}, {memory}ULL, {arch}}},')
    return "\n".join(lines) + "\n"


def family_table() -> str:
    """Render the SoC that a family name stands for, as the rest of the kit has it."""
    return "".join(f'    {{"{f}", "{soc}"}},\n' for f, soc in sorted(reference_parts().items()))


def stub_source(names: list[str]) -> str:
    """Render C++ for functions that fail by name."""
    lines = ['#include "ascendc_emu/acl_error.h"', 'extern "C" {']
    for name in names:
        lines.append(
            f'__attribute__((visibility("default"))) int {name}() '
            f'{{ return opgen_acl_set_error(207000, "{name} is not emulated"); }}'
        )
    return "\n".join([*lines, "}", ""])


def _run(command: list[str], what: str) -> None:
    run_compiler(command, None, code="OPG703", what=what)


def _build(stage: Path, wheel: TorchNpuWheel | None, wanted: dict[str, list[str]]) -> list[Path]:
    tool = find_toolchain()
    emulation = data_dir("ascendc_kernels") / "emulation"
    facts = emulation / "platform_facts.csv"
    (stage / "soc_table.inc").write_text(soc_table(facts.read_text(encoding="utf-8")))
    (stage / "soc_families.inc").write_text(family_table())
    include = [f"-I{wheel.include}"] if wheel else []
    include += [f"-I{folder}" for folder in (stage, emulation / "include", forwarding_folder())]
    flags = [*common_flags(tool), "-O2", "-fvisibility=hidden", "-DFUNC_VISIBILITY", "-Wall"]
    flags += ["-Wno-deprecated-declarations"] if wheel else []
    shared = [tool.cxx, "-shared", *flags, *include, "-Wl,-z,defs", "-Wl,-rpath,$ORIGIN"]

    sources = sorted((sources_dir() / "ascendcl").glob("*.cpp"))
    core = [stage / f"{source.stem}.o" for source in sources]
    with ThreadPoolExecutor(2) as pool:
        list(
            pool.map(
                lambda pair: _run(
                    [tool.cxx, "-c", *flags, *include, str(pair[0]), "-o", str(pair[1])],
                    f"compiling {pair[0].name}",
                ),
                zip(sources, core, strict=True),
            )
        )
    target = stage / "libascendcl.so"
    link = [*shared, "-Wl,-soname,libascendcl.so", *map(str, core), "-o", str(target)]
    _run(link, "building libascendcl.so")
    hccl = sources_dir() / "hccl" / "hccl.cpp"
    hccl_out = stage / "libhccl.so"
    link_acl = [f"-L{stage}", "-Wl,--no-as-needed", "-lascendcl"]
    _run(
        [*shared, "-Wl,-soname,libhccl.so", str(hccl), "-o", str(hccl_out), *link_acl],
        "building libhccl.so",
    )
    inputs = [*sources, hccl, facts, *sorted((emulation / "include" / "acl").rglob("*.h"))]
    inputs += [
        Path(__file__).parent.parent / "platforms.py",
        emulation / "include" / "ascendc_emu" / "acl_error.h",
        emulation / "include" / "ascendc_emu" / "runtime_kernel.h",
    ]
    own = sources_dir() / "ascendcl"
    inputs += [*sorted(own.glob("*.h")), own / "not_emulated.txt", table_path()]
    if wheel:
        _add_stubs(stage, wheel, wanted, shared, [target, hccl_out], core)
    for name in FACADES:
        empty = stage / "facade.cpp"
        empty.write_text("")
        _run(
            [*shared, f"-Wl,-soname,{name}", str(empty), "-o", str(stage / name), *link_acl],
            f"building {name}",
        )
    for leftover in [*stage.glob("*.inc"), stage / "facade.cpp", *core]:
        leftover.unlink(missing_ok=True)
    return inputs


def _add_stubs(
    stage: Path,
    wheel: TorchNpuWheel,
    wanted: dict[str, list[str]],
    shared: list[str],
    built: list[Path],
    core: list[Path],
) -> None:
    """Relink libascendcl.so with a failing function per missing name, or refuse the wheel."""
    offered: frozenset[str] = frozenset().union(*(read_symbols(p).defined for p in built))
    missing = check_symbols(wheel, wanted, offered)
    if missing:
        listing = "; ".join(f"{name} (wanted by {', '.join(wanted[name])})" for name in missing)
        raise OpgenError(
            Diagnostic(
                "OPG701",
                f"torch_npu {wheel.version} wants CANN functions the emulation does not know: "
                + listing,
                why="the emulation is tested with torch_npu 2.13.0; calling an unknown function "
                "could only crash or lie",
                fix="install the pair that `opgen doctor` names, or report this list",
            )
        )
    stubs = stage / "stubs.cpp"
    stubs.write_text(stub_source([name for name in wanted if name not in offered]))
    target = built[0]
    _run(
        [*shared, "-Wl,-soname,libascendcl.so", *map(str, core), str(stubs), "-o", str(target)],
        "building libascendcl.so for torch_npu",
    )
    stubs.unlink()


def build_runtime(wheel: TorchNpuWheel | None = None) -> NpuRuntime:
    """Return the runtime libraries, building them when the cache has none (a few seconds).

    Args:
        wheel: build for this torch_npu; None: the generic flavour.

    Raises:
        OpgenError: OPG701 (the wheel wants unknown functions), OPG702 (torch and torch_npu do not
            match), OPG703 (compile error), OPG301/OPG302 (no usable compiler).
    """
    tool = find_toolchain()
    identity, wanted = "generic", dict[str, list[str]]()
    if wheel:
        wanted = _wanted_cached(wheel)
        identity = f"torch_npu {wheel.version} {cache.text_hash(*wanted)}"
    # The folder: two checkouts may differ, and both have valid inputs.
    sources = str(data_dir("ascendc_kernels"))
    key = cache.text_hash("npu-runtime-2", tool.identity, platform.machine(), identity, sources)
    folder, _ = cache.cached(
        "npu_runtime",
        key,
        f"emulated CANN runtime ({identity})",
        lambda s: _build(s, wheel, wanted),
    )
    names = ("libascendcl.so", "libhccl.so", *FACADES)
    return NpuRuntime(folder, tuple(folder / name for name in names))


def _wanted_cached(wheel: TorchNpuWheel) -> dict[str, list[str]]:
    """:func:`wanted_from_cann`, remembered while the libraries keep their size and time."""
    stamp = []
    for path in [*(wheel.folder / "lib").glob("*.so"), *(wheel.torch / "lib").glob("*.so*")]:
        stat = path.stat()
        stamp.append(f"{path} {stat.st_size} {stat.st_mtime_ns}")
    key = cache.text_hash("npu-symbols-1", sys.version, *sorted(stamp))

    def build(stage: Path) -> list[Path]:
        wanted = wanted_from_cann(wheel)
        lines = [f"{name} {','.join(users)}" for name, users in wanted.items()]
        (stage / "wanted.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return []

    folder, _ = cache.cached("npu_symbols", key, f"symbols of torch_npu {wheel.version}", build)
    wanted = {}
    for line in (folder / "wanted.txt").read_text(encoding="utf-8").splitlines():
        name, _, users = line.partition(" ")
        wanted[name] = users.split(",")
    return wanted


def library_path(runtime: NpuRuntime, current: str | None = None) -> str:
    """Return an LD_LIBRARY_PATH value with the runtime in front (for programs, not for Python)."""
    rest = os.environ.get("LD_LIBRARY_PATH", "") if current is None else current
    return os.pathsep.join([str(runtime.folder), rest]) if rest else str(runtime.folder)
