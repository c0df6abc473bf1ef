"""Compile the ops of a project for the CPU: host library, kernel objects, aclnn library.

A kernel is compiled per dtype combination, and once more for each choice of absent optional inputs,
without their macros, as CANN compiles it for a call that leaves them out.
"""

from __future__ import annotations

import ctypes
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msopgen_wrap.build import cache
from msopgen_wrap.build.emulation import compile_kernel, compile_shared
from msopgen_wrap.build.emulation_library import load_emulation_library
from msopgen_wrap.build.kernel_tiling import kernel_tiling_header
from msopgen_wrap.build.toolchain import find_toolchain
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.manifest import digest, read_manifest
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.model import OpSpec, ParamKind
from msopgen_wrap.spec.names import macro_names

Progress = Callable[[str], None]


@dataclass
class BuiltOperators:
    """Shared objects of a project.

    Attributes:
        host: the op_host library (OpDefs, InferShape, tiling of all ops).
        kernels: per op type a mapping from dtype key (see ``dtype_key``) to its kernel object, in
            the order of ``kernel_variants``.
    """

    host: Path
    kernels: dict[str, dict[str, Path]] = field(default_factory=dict)


_DEFS = "defs.json"
# What stands in a kernel's key for the dtype of an absent input.
ABSENT = "undefined"
# Of more optional inputs only none, each and all of them are left out.
MAX_OPTIONAL = 3


@dataclass(frozen=True)
class KernelVariant:
    """One compilation of an op's kernel.

    Attributes:
        combo: index of the dtype combination.
        absent: names of the optional inputs that the call leaves out.
    """

    combo: int
    absent: tuple[str, ...] = ()

    @property
    def suffix(self) -> str:
        """What tells its object from the others of the op: ``0``, ``2_no_bias``."""
        return f"{self.combo}" + "".join(f"_no_{name}" for name in self.absent)


def kernel_variants(spec: OpSpec) -> list[KernelVariant]:
    """Return every compilation of the op's kernel, those with more absent inputs later.

    The op runtime takes the kernel that was registered last among those that fit, and an absent
    input fits every dtype: in this order it finds the kernel that was compiled without the input.
    """
    variants: dict[str, KernelVariant] = {}
    for absent in _absent_choices(spec):
        for combo in range(spec.combos):
            # combinations that differ in what is absent are one
            variants.setdefault(dtype_key(spec, combo, absent), KernelVariant(combo, absent))
    return list(variants.values())


def _absent_choices(spec: OpSpec) -> Iterator[tuple[str, ...]]:
    names = [p.name for p in spec.inputs if p.kind is ParamKind.OPTIONAL]
    for count in range(len(names) + 1):
        if len(names) <= MAX_OPTIONAL or count in (0, 1, len(names)):
            yield from itertools.combinations(names, count)


def dtype_key(spec: OpSpec, combo: int, absent: Sequence[str] = ()) -> str:
    """Return the key the op runtime finds a kernel by: dtypes of inputs then outputs, by comma.

    Args:
        absent: names of the optional inputs that are left out.
    """
    inputs = [ABSENT if p.name in absent else p.dtypes[combo] for p in spec.inputs]
    return ",".join([*inputs, *(p.dtypes[combo] for p in spec.outputs)])


def kernel_defines(spec: OpSpec, combo: int, absent: Sequence[str] = ()) -> list[str]:
    """Return the ``DTYPE_X`` / ``ORIG_DTYPE_X`` macros CANN puts on a kernel's compile line.

    Args:
        absent: names of the optional inputs that are left out; they have no macros.
    """
    params = (*spec.inputs, *spec.outputs)
    names = macro_names([p.name for p in params])
    left_out = [p.name in absent for p in spec.inputs] + [False] * len(spec.outputs)
    given = [
        (name, p.dtypes[combo])
        for name, p, out in zip(names, params, left_out, strict=True)
        if not out
    ]
    defines = []
    for name, dtype in sorted(given):
        row = BY_NAME[dtype]
        defines += [f"DTYPE_{name}={row.kernel}", f"ORIG_DTYPE_{name}={row.ge_name}"]
    return defines


def build_operators(
    specs: Sequence[OpSpec],
    project: Path,
    *,
    progress: Progress = lambda _: None,
    jobs: int = 2,
    portable: bool = False,
    arch: int = 2201,
    small: bool = False,
) -> BuiltOperators:
    """Compile a generated project tree for the emulation.

    Args:
        project: root of the tree (``op_host/``, ``op_kernel/``).
        progress: called with a short text as each object starts.
        jobs: compilers to run at once.
        portable: for a package: no line tables and no folder of this machine in the result.
        arch: NPU architecture the kernels are compiled for.
        small: optimise kernels for size. They compile in half the time and run up to a third
            slower in fast mode; in check mode, where time goes into the emulation library, they
            run as fast.

    Raises:
        OpgenError: a source does not compile; carries the first true error with its place.
    """
    progress("op_host")
    host = build_host(specs, project, portable=portable)
    headers = tiling_headers(specs, project)
    own = generated_sources(project, [project / "op_kernel" / f"{s.name}.cpp" for s in specs])

    def kernel(spec: OpSpec, variant: KernelVariant) -> tuple[str, str, Path]:
        key = dtype_key(spec, variant.combo, variant.absent)
        progress(f"{spec.name} [{key}]")
        header = headers.get(spec.op)
        source = project / "op_kernel" / f"{spec.name}.cpp"
        path = compile_kernel(
            source,
            defines=kernel_defines(spec, variant.combo, variant.absent),
            include_dirs=_include_dirs(project),
            output_name=f"lib{spec.name}_{variant.suffix}.so",
            opt="-Os" if small else "-O2",
            portable=portable,
            arch=arch,
            flags=["-include", str(header)] if header else [],
            own=source in own,
        )
        return spec.op, key, path

    kernels: dict[str, dict[str, Path]] = {}
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        futures = [pool.submit(kernel, s, v) for s in specs for v in kernel_variants(s)]
        for future in futures:
            op, key, path = future.result()
            kernels.setdefault(op, {})[key] = path
    return BuiltOperators(host, kernels)


def _include_dirs(project: Path) -> list[Path]:
    return [project / "op_host", project / "op_kernel"]


#: What generated op_host files include first.
HOST_HEADERS = (
    *("algorithm", "cstdint", "string", "vector"),
    *("register/op_def_registry.h", "tiling/platform/platform_ascendc.h"),
)


def build_host(specs: Sequence[OpSpec], project: Path, *, portable: bool = False) -> Path:
    """Compile the op_host sources of a generated project tree: all that a call needs but kernels.

    Args:
        project: root of the tree.
        portable: as for :func:`build_operators`.

    Raises:
        OpgenError: a source does not compile, or there is no compiler.
    """
    sources = [project / "op_host" / f"{spec.name}.cpp" for spec in specs]
    return compile_shared(
        sources,
        include_dirs=_include_dirs(project),
        output_name="libop_host.so",
        # A package is built once and runs for long. Elsewhere compiling takes longer than all calls
        # of the host code together, and -O1 takes two thirds of the time of -O2.
        opt="-O2" if portable else "-O1",
        portable=portable,
        own=generated_sources(project, sources),
        begin=HOST_HEADERS,
    )


def tiling_headers(specs: Sequence[OpSpec], project: Path) -> dict[str, Path]:
    """Return headers with the 8.1-style tiling structs, by op, read from the host library.

    A 9.x project has its structs in ``op_kernel`` and needs none.

    Raises:
        OpgenError: op_host does not compile.
    """
    old_style = [s for s in specs if (project / "op_host" / f"{s.name}_tiling.h").is_file()]
    if not old_style:
        return {}
    # Always this machine's own build: it is loaded into this process.
    defs = _tiling_defs(build_host(specs, project))
    headers = {}
    for spec in old_style:
        kernel = project / "op_kernel" / f"{spec.name}.cpp"
        header = kernel_tiling_header(spec.op, defs, kernel=kernel)
        if header is not None:
            headers[spec.op] = header
    return headers


def _tiling_defs(host: Path) -> list[dict[str, Any]]:
    """Return the 8.x-style tiling structs of a host library, which is loaded only once."""

    def build(folder: Path) -> list[Path]:
        library = load_emulation_library()
        text = ctypes.c_char_p
        library.opgen_load_host.argtypes = [text]
        library.opgen_tiling_defs_json.restype = library.opgen_last_error.restype = text
        if library.opgen_load_host(str(host.absolute()).encode()):
            raise RuntimeError(library.opgen_last_error().decode(errors="replace"))
        (folder / _DEFS).write_bytes(library.opgen_tiling_defs_json())
        return []

    key = cache.text_hash(cache.file_hash(host))
    folder, _ = cache.cached("tiling-defs", key, "tiling structs of a host library", build)
    defs: list[dict[str, Any]] = json.loads((folder / _DEFS).read_text(encoding="utf-8"))
    return defs


def _opapi_flags() -> list[str]:
    """Hidden and not unique: two vendors' libraries in one process each keep their own state."""
    # clang has neither the flag nor the unique symbols.
    unique = [] if find_toolchain().family == "clang" else ["-fno-gnu-unique"]
    return ["-fvisibility=hidden", *unique]


def nnopbase_dir() -> Path:
    """Return the folder of the aclnn base sources."""
    return data_dir("ascendc_kernels") / "emulation" / "runtime" / "nnopbase"


def build_opapi(project: Path, specs: Sequence[OpSpec], *, portable: bool = False) -> Path:
    """Return ``libcust_opapi.so`` for the ops of a project, in the build cache.

    The aclnn base (descriptors, executors, calls) is linked in, so the library does not depend on
    which ``libnnopbase.so`` a process has loaded; it needs only the emulation library. It finds
    ``op_impl/.../kernel/opgen_kernels.txt`` relative to itself at the first call.

    Args:
        project: root of the generated project (``op_api/aclnn_<op>.cpp``).
        specs: its ops.
        portable: for a package: no folder of this machine in the result.

    Raises:
        OpgenError: OPG322, a source is missing; OPG303, it does not compile.
    """
    sources = [project / "op_api" / f"aclnn_{spec.name}.cpp" for spec in specs]
    for source in sources:
        if not source.is_file():
            raise OpgenError(
                Diagnostic(
                    "OPG322",
                    f"the project has no {source.relative_to(project)}",
                    Location(str(source)),
                    why="the aclnn functions of the CPU target are generated into op_api/",
                    fix="run 'opgen new' again on the project's specs",
                )
            )
    base = nnopbase_dir()
    return compile_shared(
        [*sources, *sorted(base.glob("*.cpp"))],
        include_dirs=[project / "op_api", base],
        output_name="libcust_opapi.so",
        opt="-O2",
        portable=portable,
        flags=_opapi_flags(),
        link_flags=["-ldl"],
        own=generated_sources(project, sources),
    )


# What the first lines of a generated file say.
GENERATED = "generated by opgen from"


def generated_sources(project: Path, sources: Iterable[Path]) -> list[Path]:
    """Return those of ``sources`` that are as they were generated.

    A file that the user edited is the user's: a warning there must not stop a trial. Nor is a
    source strict while a building block that it may include is edited.

    Args:
        project: root of the generated tree; without ``opgen.json`` it was rendered just now.
    """
    manifest = read_manifest(project)
    recorded = manifest.files if manifest else {}

    def unchanged(path: Path) -> bool:
        if manifest is None:
            return True
        key = path.relative_to(project).as_posix()
        return key in recorded and digest(_text(path)) == recorded[key]

    blocks = (project / name for name in recorded if name.startswith("op_kernel/opgen/"))
    if not all(unchanged(path) for path in blocks if path.is_file()):
        return []
    return [
        source
        for source in sources
        if source.is_file()
        and GENERATED in "\n".join(_text(source).splitlines()[:2])
        and unchanged(source)
    ]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
