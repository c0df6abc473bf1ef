"""Fill CANN's vendor layout with the emulated binaries of a project.

The tree is the one an NPU package installs, so that ``ASCEND_CUSTOM_OPP_PATH``, vendor priority and
the torch binding work on it unchanged. What differs: kernels are shared objects of this CPU, listed
in ``kernel/opgen_kernels.txt``, and the runtime they need lies in ``opgen_runtime/``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msopgen_wrap.build import shared_object
from msopgen_wrap.build.toolchain import cpu_level, machine_name
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.manifest import ProjectTree
from msopgen_wrap.package import ops_info
from msopgen_wrap.platforms import soc_target
from msopgen_wrap.project.cann_project import compute_units, render_install_scripts
from msopgen_wrap.spec.model import OpSpec

RUNTIME_FOLDER = "opgen_runtime"
KERNEL_LIST = "opgen_kernels.txt"
_EMULATION = "libascendc_emulation"
_TBE = Path("op_impl/ai_core/tbe")
# build_operators compiles for this architecture; kernels of others are compiled here.
_DEFAULT_ARCH = 2201

Progress = Callable[[str], None]


@dataclass
class VendorTree:
    """A filled ``vendors/<vendor>`` folder.

    Attributes:
        path: the folder.
        units: compute units it serves.
        kernels: number of kernel binaries compiled.
        files: paths written, relative, in order.
    """

    path: Path
    units: list[str]
    kernels: int = 0
    files: list[str] = field(default_factory=list)


def fill_vendor_tree(
    project: ProjectTree, out: Path, *, progress: Progress = lambda _: None
) -> VendorTree:
    """Compile ``project`` for the CPU and lay the result out below ``out``.

    Args:
        project: the scaffolded project.
        out: the ``vendors/<vendor>`` folder to make; must not exist.
        progress: called with a short text per step.

    Raises:
        OpgenError: a source does not compile, or there is no compiler.
    """
    from msopgen_wrap.build.operators import build_operators

    specs = project.specs
    units = compute_units(specs, project.soc)
    built = build_operators(specs, project.root, progress=progress, portable=True)
    kernels = {_DEFAULT_ARCH: built.kernels}
    for arch in {soc_target(u).npu_arch for u in units} - {_DEFAULT_ARCH}:
        kernels[arch] = _kernels_for(arch, project, units, progress)
    progress("aclnn library")
    opapi = _build_opapi(project)

    tree = VendorTree(out, units)
    every_kernel = [
        p for by_op in kernels.values() for by_key in by_op.values() for p in by_key.values()
    ]
    check_one_runtime([built.host, opapi, *every_kernel])
    _runtime(tree, [built.host, opapi])
    _op_host(tree, built.host)
    _op_api(tree, project, opapi)
    _kernel_binaries(tree, specs, kernels)
    _configuration(tree, specs)
    _dynamic_sources(tree, project)
    for script in render_install_scripts(
        specs,
        project.vendor,
        units,
        target="cpu",
        style=project.style,
        extra=package_stamps(),
        folder="",
    ):
        if script.path == "version.info":
            _write(tree, "version.info", script.text)
    tree.files.sort()
    return tree


def package_stamps() -> list[tuple[str, str]]:
    """Return what a package of this process says of the machines it runs on, for its installer."""
    level = cpu_level()
    return [
        ("arch", machine_name()),
        ("cpu_level", level.name),
        ("cpu_features", " ".join(level.features)),
    ]


def _kernels_for(
    arch: int, project: ProjectTree, units: Sequence[str], progress: Progress
) -> dict[str, dict[str, Path]]:
    """Compile the kernels of the ops that name a SoC of another architecture."""
    from msopgen_wrap.build.operators import build_operators

    own = [u for u in units if soc_target(u).npu_arch == arch]
    specs = [s for s in project.specs if _units_of(s, own)]
    progress(f"kernels for {', '.join(own)}")
    built = build_operators(specs, project.root, progress=progress, portable=True, arch=arch)
    return built.kernels


def _units_of(spec: OpSpec, units: Sequence[str]) -> list[str]:
    """Return those of ``units`` the op is registered for (``AddConfig``)."""
    own = set(compute_units([spec]))
    return [u for u in units if u in own]


def _build_opapi(project: ProjectTree) -> Path:
    from msopgen_wrap.build.operators import build_opapi

    return build_opapi(project.root, project.specs, portable=True)


# ---- writing -------------------------------------------------------------------------------------


def _write(tree: VendorTree, name: str, text: str) -> None:
    path = tree.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    tree.files.append(name)


def _place(tree: VendorTree, source: Path, name: str, *links: str) -> Path:
    """Copy a built library into the tree and make it look for the runtime there only.

    ``links`` are the names it is also opened by: the loader takes ``$ORIGIN`` from the name used.
    """
    path = tree.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, path)
    path.chmod(0o755)
    ups = [os.path.relpath(RUNTIME_FOLDER, Path(n).parent) for n in (name, *links)]
    places = list(dict.fromkeys("$ORIGIN" if up == "." else f"$ORIGIN/{up}" for up in ups))
    # A short cache path leaves little room. What is left out then is not needed in practice:
    # libcust_opapi.so has loaded the runtime before, and the loader knows it by its SONAME.
    for count in range(len(places), -1, -1):
        try:
            shared_object.set_runpath(path, ":".join(places[:count]))
            break
        except shared_object.ElfError:
            if count == 0:
                raise
    tree.files.append(name)
    return path


def _link(tree: VendorTree, name: str, to: str) -> None:
    path = tree.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(to)
    tree.files.append(name)


def _runtime(tree: VendorTree, libraries: Sequence[Path]) -> None:
    """Copy every library of ours that ``libraries`` need, directly or not."""
    done: set[str] = set()
    queue = list(libraries)
    while queue:
        library = queue.pop()
        folders = [Path(p) for p in (shared_object.runpath(library) or "").split(":") if p]
        folders.append(library.parent)
        for name in shared_object.needed(library):
            source = next((f / name for f in folders if (f / name).is_file()), None)
            if source is None and name.startswith(_EMULATION):
                raise OpgenError(
                    Diagnostic(
                        "OPG653",
                        f"{name} is not in the build cache any more",
                        Location(str(library)),
                        "the kit's own sources or the cache changed while it was compiling",
                        "run the command again",
                    )
                )
            if name in done or source is None or str(source).startswith(("/usr/", "/lib")):
                continue
            done.add(name)
            _place(tree, source, f"{RUNTIME_FOLDER}/{name}")
            queue.append(source)


def check_one_runtime(libraries: Sequence[Path]) -> None:
    """Refuse to pack libraries that were linked with different builds of the emulation."""
    versions = {
        n for lib in libraries for n in shared_object.needed(lib) if n.startswith(_EMULATION)
    }
    if len(versions) > 1:
        raise OpgenError(
            Diagnostic(
                "OPG653",
                f"the package would mix {len(versions)} builds of the emulation library",
                why="the kit's own sources changed while it was compiling: " + ", ".join(versions),
                fix="run the command again",
            )
        )


def _op_host(tree: VendorTree, host: Path) -> None:
    arch = machine_name()
    tiling = f"{_TBE}/op_tiling/lib/linux/{arch}/libcust_opmaster_rt2.0.so"
    compat = f"{_TBE}/op_tiling/liboptiling.so"
    # One library holds OpDefs, shape inference and tiling here; CANN builds two from one source.
    proto = f"op_proto/lib/linux/{arch}/libcust_opsproto_rt2.0.so"
    _place(tree, host, tiling, compat, proto)
    for link in (compat, proto):
        _link(tree, link, os.path.relpath(tiling, Path(link).parent))


def _op_api(tree: VendorTree, project: ProjectTree, opapi: Path) -> None:
    _place(tree, opapi, "op_api/lib/libcust_opapi.so")
    for spec in project.specs:
        header = project.root / "op_api" / f"aclnn_{spec.name}.h"
        _write(tree, f"op_api/include/{header.name}", header.read_text(encoding="utf-8"))


def _kernel_binaries(
    tree: VendorTree, specs: Sequence[OpSpec], kernels: dict[int, dict[str, dict[str, Path]]]
) -> None:
    from msopgen_wrap.build.operators import dtype_key, kernel_variants

    lines = [
        "# generated by opgen: op, SoC, dtypes of inputs and outputs, kernel object, entry",
        # Not liboptiling.so: the loader takes $ORIGIN from the name a library is opened by.
        f"host ../op_tiling/lib/linux/{machine_name()}/libcust_opmaster_rt2.0.so",
    ]
    placed: dict[tuple[int, str], str] = {}
    for unit in tree.units:
        arch = soc_target(unit).npu_arch
        for spec in specs:
            if not _units_of(spec, [unit]):
                continue
            for variant in kernel_variants(spec):
                combo = variant.combo
                key = dtype_key(spec, combo, variant.absent)
                stem = f"{unit}/{spec.name}/{ops_info.binary_name(spec, combo)}"
                stem += "".join(f"_no_{n}" for n in variant.absent)
                name = f"{_TBE}/kernel/{stem}.so"
                first = placed.get((arch, stem.split("/", 1)[1]))
                source = kernels[arch][spec.op][key]
                if first is None:
                    _place(tree, source, name)
                    placed[(arch, stem.split("/", 1)[1])] = name
                    tree.kernels += 1
                else:  # families of one architecture share their binaries
                    _link(tree, name, os.path.relpath(first, Path(name).parent))
                # CANN's own lists know one binary per dtype combination.
                if not variant.absent:
                    digest = hashlib.sha256((tree.path / name).read_bytes()).hexdigest()
                    _write(
                        tree,
                        f"{_TBE}/kernel/{stem}.json",
                        ops_info.kernel_json(spec, combo, ".so", digest),
                    )
                lines.append(f"{spec.op} {unit} {key} {stem}.so {spec.name}")
    _write(tree, f"{_TBE}/kernel/{KERNEL_LIST}", "\n".join(lines) + "\n")


def _configuration(tree: VendorTree, specs: Sequence[OpSpec]) -> None:
    for unit in tree.units:
        own = [s for s in specs if _units_of(s, [unit])]
        _write(tree, f"{_TBE}/config/{unit}/aic-{unit}-ops-info.json", ops_info.ops_info(own))
        _write(
            tree,
            f"{_TBE}/kernel/config/{unit}/binary_info_config.json",
            ops_info.binary_info_config(own, unit, ".so"),
        )
    _write(tree, "framework/onnx/npu_supported_ops.json", ops_info.supported_ops(specs))
    _write(tree, "op_proto/inc/op_proto.h", ops_info.op_proto_header(specs))


def _dynamic_sources(tree: VendorTree, project: ProjectTree) -> None:
    """Ship the kernel sources, as CANN's source packages do."""
    folder = f"{_TBE}/{project.vendor}_impl/dynamic"
    root = project.root / "op_kernel"
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.suffix in (".cpp", ".h", ".hpp"):
            name = path.relative_to(root).as_posix()
            _write(tree, f"{folder}/{name}", path.read_text(encoding="utf-8"))


def build_local_vendor(
    project: Path,
    specs: Sequence[OpSpec],
    out: Path,
    *,
    progress: Callable[[str], None] = lambda _: None,
) -> Path:
    """Compile a project for this CPU and return a folder ``ASCEND_CUSTOM_OPP_PATH`` can name.

    Only ``op_api/lib/`` is filled: the library, and beside it the list of the host library and the
    kernels, which stay in the build cache. ``opgen build`` makes the folder that can be moved.

    Args:
        project: root of the generated project.
        specs: its ops.
        out: the vendor folder; its name should be the vendor's.
        progress: called with a short text per step.

    Raises:
        OpgenError: a source does not compile, there is no compiler, or (OPG653) the kit's sources
            changed meanwhile.
    """
    from msopgen_wrap.build.operators import build_opapi, build_operators

    built = build_operators(specs, project, progress=progress)
    progress("aclnn library")
    library = build_opapi(project, specs)
    kernels = [path for by_key in built.kernels.values() for path in by_key.values()]
    check_one_runtime([built.host, library, *kernels])
    folder = out / "op_api" / "lib"
    folder.mkdir(parents=True, exist_ok=True)
    # A new file, not an overwritten one: a process may have the old one loaded.
    partial = folder / ".libcust_opapi.so"
    shutil.copyfile(library, partial)
    partial.replace(folder / "libcust_opapi.so")
    lines = [f"host {built.host}"]
    for spec in specs:
        for key, kernel in built.kernels[spec.op].items():
            lines.append(f"{spec.op} * {key} {kernel} {spec.name}")
    (folder / KERNEL_LIST).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return out
