"""The host C++ compiler, found once and checked, and the CPU level that it compiles for.

Kernels, op_host sources and the emulation library are compiled for a level of the architecture,
not for one CPU. One build of the library then serves tests, packages and every machine of that
level. On x86-64 the level with AVX2 (x86-64-v3: Intel since 2013, AMD since 2015) is several times
as fast as the baseline on half-precision data; other machines get the baseline.
OPGEN_CPU_LEVEL=baseline chooses the baseline anywhere, for packages that must run on any machine.
"""

from __future__ import annotations

import functools
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..diagnostics import Diagnostic, Location, OpgenError, disk_full_message
from .child_processes import run_child
from .compiler_errors import compiler_diagnostics

ENVIRONMENT = "OPGEN_CPU_LEVEL"


@dataclass(frozen=True)
class CpuLevel:
    """A level of an architecture.

    Attributes:
        name: as installers and listings print it.
        flags: compiler flags (spelled out: older compilers do not know the level's name).
        features: what /proc/cpuinfo must list for it.
    """

    name: str
    flags: tuple[str, ...] = ()
    features: tuple[str, ...] = ()


X86_64_V3 = CpuLevel(
    "x86-64-v3",
    ("-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2", "-mlzcnt", "-mmovbe", "-mpopcnt"),
    ("avx2", "fma", "f16c", "bmi1", "bmi2", "abm", "movbe", "popcnt"),
)


def machine_name(name: str = "") -> str:
    """Return an architecture (default: this machine's) as CANN spells it: x86_64, aarch64."""
    name = (name or platform.machine()).lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)


def cpu_level() -> CpuLevel:
    """Return the level this process compiles for.

    Raises:
        OpgenError: OPG308, OPGEN_CPU_LEVEL is neither empty nor ``baseline``.
    """
    chosen = os.environ.get(ENVIRONMENT, "")
    if chosen not in ("", "baseline"):
        raise OpgenError(
            Diagnostic(
                "OPG308",
                f"{ENVIRONMENT}={chosen} is not a CPU level",
                why="code is compiled for this machine's level, or for the baseline",
                fix=f"unset {ENVIRONMENT}, or set it to baseline",
            )
        )
    machine = machine_name()
    if machine == "x86_64" and not chosen and set(X86_64_V3.features) <= _cpu_features():
        return X86_64_V3
    return CpuLevel({"x86_64": "x86-64", "aarch64": "armv8-a"}.get(machine, machine))


@functools.lru_cache(maxsize=1)
def _cpu_features() -> frozenset[str]:
    """Return the features that every core of this machine has."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return frozenset()
    for line in text.splitlines():
        if line.startswith("flags"):
            return frozenset(line.partition(":")[2].split())
    return frozenset()


MIN_GCC = (10, 0)
MIN_CLANG = (11, 0)
_CANDIDATES = ("g++", "g++-14", "g++-13", "g++-12", "g++-11", "g++-10", "clang++", "c++")
_INSTALL_HINT = (
    "install a C++17 compiler (Debian/Ubuntu: apt-get install g++; Fedora/openEuler: dnf install "
    "gcc-c++), or point OPGEN_CXX at one"
)


@dataclass(frozen=True)
class Toolchain:
    """A usable C++ compiler.

    Attributes:
        cxx: absolute path of the compiler driver.
        family: ``gcc`` or ``clang``.
        version: major and minor version.
        machine: target triple as the compiler reports it.
    """

    cxx: str
    family: str
    version: tuple[int, int]
    machine: str

    @property
    def identity(self) -> str:
        """Text that changes when compiled code may change: compiler, version, target."""
        return f"{self.family} {self.version[0]}.{self.version[1]} {self.machine}"

    @property
    def is_recent(self) -> bool:
        """Whether it knows all of C++17."""
        return self.version >= (MIN_GCC if self.family == "gcc" else MIN_CLANG)

    @property
    def is_native(self) -> bool:
        """Whether its code runs on this machine: shells for cross builds set CXX."""
        return machine_name(self.machine.split("-")[0]) == machine_name()


def _probe(cxx: str) -> Toolchain | None:
    path = shutil.which(cxx)
    if path is None:
        return None
    try:
        text = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=30, check=True
        ).stdout
        machine = subprocess.run(
            [path, "-dumpmachine"], capture_output=True, text=True, timeout=30, check=True
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
    family = "clang" if "clang" in text.lower() else "gcc"
    # Drop the parenthesised packager text ("(Debian 12.2.0-14)") before looking for the version.
    bare = re.sub(r"\([^)]*\)", "", text.splitlines()[0])
    match = re.search(r"(\d+)\.(\d+)", bare) or re.search(r"(\d+)\.(\d+)", text)
    if match is None:
        return None
    return Toolchain(path, family, (int(match[1]), int(match[2])), machine)


@functools.lru_cache(maxsize=4)
def _find(wanted: str) -> Toolchain:
    unusable: list[str] = []
    for name in (wanted,) if wanted else _CANDIDATES:
        tool = _probe(name)
        if tool is None:
            continue
        if tool.is_recent and tool.is_native:
            return tool
        text = f"{tool.cxx} is {tool.family} {tool.version[0]}.{tool.version[1]}"
        unusable.append(text if tool.is_native else f"{text} for {tool.machine}")
    if unusable:
        raise OpgenError(
            Diagnostic(
                "OPG302",
                "the C++ compiler is too old or makes code for another machine: "
                + "; ".join(unusable),
                why="the emulation is compiled and run on this machine "
                f"({platform.machine()}) and needs C++17: g++ >= {MIN_GCC[0]} or "
                f"clang++ >= {MIN_CLANG[0]}",
                fix=_INSTALL_HINT,
            )
        )
    what = (
        f"OPGEN_CXX={wanted} is not a working C++ compiler" if wanted else "no C++ compiler found"
    )
    raise OpgenError(
        Diagnostic(
            "OPG301",
            what,
            why="kernels, op_host sources and the CPU emulation are compiled on this machine",
            fix=_INSTALL_HINT,
        )
    )


def find_toolchain() -> Toolchain:
    """Return the compiler to use: ``OPGEN_CXX``, else ``CXX``, else the first usable one in PATH.

    Raises:
        OpgenError: OPG301 (none found) or OPG302 (too old, or a cross compiler).
    """
    wanted = os.environ.get("OPGEN_CXX", "")
    if not wanted and os.environ.get("CXX"):
        tool = _probe(os.environ["CXX"].split()[0])
        if tool and tool.is_recent and tool.is_native:
            return tool
    return _find(wanted)


def common_flags(tool: Toolchain) -> list[str]:
    """Flags every compilation of the kit for this machine uses."""
    return [*base_flags(tool.family), *cpu_level().flags]


def base_flags(family: str) -> list[str]:
    """Flags for any machine, by compiler family.

    No strict aliasing: kernels reinterpret buffers freely. No contraction: an Add after a Mul must
    round twice as the vector unit does. No GNU-unique symbols: two kernels that define the same
    inline class must not share it across dlopen.
    """
    flags = [
        "-std=c++17",
        "-fPIC",
        "-fno-strict-aliasing",
        "-ffp-contract=off",
        "-fno-math-errno",
        "-pthread",
    ]
    if family == "gcc":
        flags.append("-fno-gnu-unique")
    return flags


# A kernel entry has CANN's parameters, used or not, and the name of its op, ``asinh`` as well.
_STRICT = ("-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror")
_STRICT_BY_FAMILY = {
    # These depend on what the optimiser of one version makes of the code.
    "gcc": (
        "-Wno-builtin-declaration-mismatch",
        "-Wno-maybe-uninitialized",
        "-Wno-array-bounds",
        "-Wno-stringop-overflow",
    ),
    "clang": ("-Wno-incompatible-library-redeclaration", "-Wno-unknown-warning-option"),
}


def warnings_as_errors(family: str) -> list[str]:
    """Return the warning flags of the kit's own code for a compiler family (``gcc``, ``clang``)."""
    return [*_STRICT, *_STRICT_BY_FAMILY[family]]


def _unknown(name: str) -> re.Pattern[str]:
    """Return how g++ and clang++ say that they do not know a name."""
    return re.compile(
        rf"'{name}' (?:was not declared|has not been declared)"
        rf"|(?:use of undeclared identifier|unknown type name) '{name}'"
    )


# Sources that CANN's compilers take and g++ takes only with another option: what its messages say
# then, and the command to try.
#
# ReduceSum<float>(x, ...) without AscendC:: is found by its arguments, and name<T>(x) of a template
# that is never instantiated by nothing. clang, and with it the device compiler, takes both in C++17
# already, g++ from C++20 on.
_FOUND_BY_ARGUMENTS = re.compile(
    r"'(\w+)' was not declared in this scope"
    r"(?:; did you mean 'AscendC::\w+'|[^\n]*\n[^\n]*\|[^\n]*\b\1\s*<)"
)
# Host code gets ``half`` from CANN's tiling headers; here only on demand, since other sources see
# the device's type of that name as well.
_HOST_HALF = _unknown("half")

# CANN's base headers reach its log macros in ways that differ from version to version.
_LOG_MACRO = _unknown(r"(?:OP_LOG\w|OP_CHECK\w*|OPS_REPORT_\w+|OP_TILING_CHECK)\w*")
_LOG_HEADER = ["-include", "op_common/log/log.h"]

# static constexpr bool TYPE = OTHER::type == TYPE::BF16; names a member like a type used in it.
_CHANGED_MEANING = re.compile(r"changes meaning of '\w+'")

# DTYPE_X of complex inputs: CANN has the types on some architectures only, and kernels that move
# them without a look define none.
_COMPLEX = _unknown(r"complex(?:32|64|128)")
_COMPLEX_HEADER = ["-include", "ascendc_emu/complex_types.h"]


def _other_command(command: Sequence[str], messages: str) -> list[str] | None:
    """Return the command to try after a failed one, None when the failure is final."""
    if _FOUND_BY_ARGUMENTS.search(messages) and "-std=c++17" in command:
        return ["-std=c++20" if a == "-std=c++17" else a for a in command]
    if _HOST_HALF.search(messages) and "-DOPGEN_HOST_HALF" not in command:
        return [*command, "-DOPGEN_HOST_HALF"]
    if _LOG_MACRO.search(messages) and _LOG_HEADER[1] not in command:
        return [*command, *_LOG_HEADER]
    if _COMPLEX.search(messages) and _COMPLEX_HEADER[1] not in command:
        return [*command, *_COMPLEX_HEADER]
    if _CHANGED_MEANING.search(messages) and "-fpermissive" not in command:
        return [*command, "-fpermissive"]
    return None


def run_compiler(
    command: Sequence[str], source: Path | None, *, code: str = "OPG303", what: str = ""
) -> str:
    """Run a compiler command; return its stderr (warnings).

    Raises:
        OpgenError: with what :func:`compiler_diagnostics` makes of its output when it fails.
    """
    done = _run(command)
    tried, messages = list(command), done.stderr
    while done.returncode != 0 and (other := _other_command(tried, messages)) is not None:
        later = _run(other)
        tried, messages = other, later.stderr
        done = later if later.returncode == 0 else done
    if done.returncode != 0:
        if (full := disk_full_message(done.stderr)) is not None:
            raise OpgenError(full)
        if "Killed" in done.stderr or done.returncode in (-9, 137):
            raise OpgenError(
                Diagnostic(
                    code,
                    "the compiler was killed, probably out of memory",
                    Location(str(source or "")),
                    fix="free memory or compile fewer sources at once",
                )
            )
        raise OpgenError(
            compiler_diagnostics(
                done.stderr, source, code=code, what=what, compiler=find_toolchain().identity
            )
        )
    return done.stderr


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    env = dict(os.environ, LC_ALL="C", LANGUAGE="C")
    try:
        return run_child(command, env)
    except OSError as error:
        raise OpgenError(
            Diagnostic("OPG301", f"cannot run {command[0]}: {error.strerror}", fix=_INSTALL_HINT)
        ) from error
