"""Which cores a kernel needs, and how often it is compiled for them.

The device compiler compiles a kernel once per core kind of a split architecture: ``g_coreType`` is
a constant there, ``__DAV_CUBE__`` or ``__DAV_VEC__`` is set. Most kernels compile once here and ask
the core they run on. Those whose sources need the constant are compiled twice, at the same time, so
the objects are linked into one module: the symbols of the cube cores' object start with
:data:`AIC_PREFIX`, and a launch picks the entry by core.

A kernel that declares no KERNEL_TASK_TYPE runs on the cores whose instructions it reaches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from pathlib import Path

from ..diagnostics import OpgenError
from .object_file import ObjectGroup

#: Before the symbols of the cube cores' object; known to launch.cpp.
AIC_PREFIX = "opgen_aic_"
#: Before an entry's name: a constant with the ``OpgenKernelKind`` to start it as; see launch.cpp.
KIND_PREFIX = "opgen_kind_"

_AIC_ONLY, _MIX_AIC_1_2 = 2, 6  # OpgenKernelKind


class CorePass(Enum):
    """One compilation: for all cores, or for one kind."""

    ANY = "any"
    AIV = "aiv"
    AIC = "aic"

    @property
    def defines(self) -> list[str]:
        """The macros that tell the kernel its core kind, ours and the device compiler's."""
        if self is CorePass.ANY:
            return []
        kind = "VEC" if self is CorePass.AIV else "CUBE"
        names = [f"__DAV_C220_{kind}__", f"__DAV_{kind}__", f"SPLIT_CORE_{kind}"]
        ours = "AIV" if self is CorePass.AIV else "AIC"
        return [f"-DASCENDC_EMU_CORE_{ours}", *(f"-D{n}=1" for n in names)]


_KIND_MACRO = re.compile(r"\b(?:__DAV_(?:C220_)?(?:CUBE|VEC)__|SPLIT_CORE_(?:CUBE|VEC))\b")
_KIND_NAME = re.compile(r"[^\n]*\b(?:g_coreType|ASCEND_IS_(?:NOT_)?AI[CV])\b[^\n]*")
# Where the kind has to be a constant expression. A plain "if (g_coreType == AIC)" is no such place.
_CONSTANT = re.compile(
    r"\bconstexpr\b[^;]*\b(?:g_coreType|ASCEND_IS_)|<[^<>;()&|]*\bg_coreType\b|\bstatic_assert\b"
)


def needs_two_passes(texts: Iterable[str]) -> bool:
    """Whether the sources (comments blanked or not) need the core kind as a constant."""
    return any(
        _KIND_MACRO.search(t) or any(_CONSTANT.search(m[0]) for m in _KIND_NAME.finditer(t))
        for t in texts
    )


def mentions_core_kind(texts: Iterable[str]) -> bool:
    """Whether a second try with two passes can help sources that do not compile in one."""
    return any(_KIND_NAME.search(t) for t in texts)


def compile_passes(compile_all: Callable[..., list[Path]], texts: Sequence[str]) -> list[Path]:
    """Compile once, or once per core kind when the sources need that.

    Args:
        compile_all: called with the passes; returns the objects, pass by pass.
        texts: of the sources and headers, comments blanked; none: once in any case.

    Raises:
        OpgenError: what ``compile_all`` raises.
    """
    if not needs_two_passes(texts):
        try:
            return compile_all(CorePass.ANY)
        except OpgenError:
            if not mentions_core_kind(texts):
                raise
    return compile_all(CorePass.AIV, CorePass.AIC)


# Entry points of the emulation library, as they appear in mangled names.
_CUBE = re.compile(
    r"^_ZN11ascendc_emu\d+(?:CubeMmad|CubeLoad\w+?|CubeFixpipe|CubeFill|MatmulCompute)E"
)
_MATMUL = re.compile(r"^_ZN11ascendc_emu\d+MatmulComputeE")
_COPY = re.compile(r"^_ZN11ascendc_emu\d+Run(?:Copy|Nd2Nz|GmFill)")
_VECTOR = re.compile(r"^_ZN11ascendc_emu\d+Run[A-Z]")


def launch_kind(vector: set[str], cube: set[str]) -> int:
    """Return the ``OpgenKernelKind`` a kernel starts with, 0 for the default (vector cores).

    Args:
        vector: library functions that the vector cores' code reaches.
        cube: those that the cube cores' code reaches; the same set after a single compilation.
    """
    if not any(_CUBE.match(n) for n in cube):
        return 0
    # A Matmul object is driven by vector cores.
    both = any(_MATMUL.match(n) for n in cube)
    instructions = {n for n in vector if _VECTOR.match(n)}
    both = both or any(not _COPY.match(n) for n in instructions)
    if vector is not cube:
        both = both or (bool(instructions) and not any(_CUBE.match(n) for n in vector))
    return _MIX_AIC_1_2 if both else _AIC_ONLY


def inferred_kinds(vector: ObjectGroup, cube: ObjectGroup) -> dict[str, int]:
    """Return the kinds of a kernel's entries that are not the default.

    Args:
        vector: the object for the vector cores.
        cube: the one for the cube cores; the same when the kernel is compiled once.
    """
    kinds = {}
    for entry in vector.entries:
        kind = _kind_of({entry}, {entry}, vector, cube)
        if kind:
            kinds[entry] = kind
    return kinds


def program_kinds(vector: ObjectGroup, cube: ObjectGroup, launches: int) -> list[int]:
    """Return the kinds of a program's launches, by their number; see ascendc_emu/program.h.

    Args:
        vector, cube: as for :func:`inferred_kinds`.
    """
    kinds = []
    for number in range(launches):
        mark = f"ascendc_emu10LaunchBodyILi{number}E"
        kinds.append(_kind_of(vector.symbols(mark), cube.symbols(mark), vector, cube))
    return kinds


def _kind_of(
    vector_roots: set[str], cube_roots: set[str], vector: ObjectGroup, cube: ObjectGroup
) -> int:
    reached = vector.reached(vector_roots)
    return launch_kind(reached, reached if cube is vector else cube.reached(cube_roots))


def link_passes(objects: list[Path], count: int, launches: int, scratch: Path) -> list[Path]:
    """Make the two passes of ``count`` sources fit together; add what the launches start as."""
    vector = cube = ObjectGroup.read(objects[:count])
    if len(objects) > count:
        cube = ObjectGroup.read(objects[count:])
        for path, data in zip(objects[count:], cube.renamed(AIC_PREFIX), strict=True):
            path.write_bytes(data)
    kinds = program_kinds(vector, cube, launches)
    table = scratch / "launch_kinds.cpp"
    values = ", ".join(map(str, [*kinds, 0]))
    table.write_text(
        'extern "C" const int opgen_launch_kinds[];\n'
        f"const int opgen_launch_kinds[] = {{{values}}};\n",
        encoding="utf-8",
    )
    return [*objects, table]
