"""Check a project against the real headers of CANN, without an NPU or bisheng.

Proves API names, overloads, template arguments, macros and per-arch dtype support by compiling
against the headers; what the device's language lacks and which entry a kernel has by its object;
and that the files that describe an op agree, by reading the project's own. Proves nothing about
address spaces, the device compiler, synchronisation or numbers.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msopgen_wrap.build.toolchain import find_toolchain, run_compiler
from msopgen_wrap.cann.declarations import read_host
from msopgen_wrap.cann.description_checks import (
    PLUGINS,
    host_flags,
    msopgen_checks,
    plugin_sources,
    proto_compiles,
    text_checks,
)
from msopgen_wrap.cann.device_check import DeviceCompile
from msopgen_wrap.cann.kernel_checks import (
    arch_units,
    device_checks,
    device_compiles,
    kernel_compiles,
    preludes,
)
from msopgen_wrap.cann.kernel_prelude import HeaderCache
from msopgen_wrap.cann.op_sources import host_files, read_op_sources
from msopgen_wrap.cann.verify_report import (
    FAILED,
    PASSED,
    SKIPPED,
    Check,
    Compile,
    VerifyReport,
)
from msopgen_wrap.cann_discovery import CannTree
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.spec.model import OpSpec

HOST_LIBRARIES = ("OP_PROTO_LIB", "OP_TILING_LIB", "")

Progress = Callable[[str], None]


def verify_project(
    project: Path,
    tree: CannTree,
    *,
    specs: Sequence[OpSpec] = (),
    vendor: str = "",
    soc: Sequence[str] = (),
    jobs: int = 2,
    progress: Progress = lambda _: None,
) -> VerifyReport:
    """Check every generated or handwritten source of a project in msopgen layout.

    Args:
        project: folder with ``op_host/`` and ``op_kernel/``.
        tree: the CANN to check against.
        specs: the specs it was generated from: the OpDefs are held against them, and what the
            project has no file of (op_proto, msopgen JSON) is rendered from them.
        vendor: of a project of the kit.
        soc: SoCs to check kernels for; empty: those each op registers.
        jobs: compilers to run at once.
        progress: called with a short text per check.

    Raises:
        OpgenError: OPG610, nothing to check in ``project``; OPG301, no compiler.
    """
    ops = read_op_sources(project, lambda path: _preprocess(path, project, tree))
    if not ops:
        raise OpgenError(
            Diagnostic(
                "OPG610",
                f"{project} defines no op",
                Location(str(project)),
                "no class derived from OpDef in its op_host folder",
                "give a project in msopgen layout (op_host/, op_kernel/) or op specs",
            )
        )
    report = VerifyReport(tree)
    host = read_host(host_files(project))
    text_checks(project, tree, host, specs, vendor, report)
    with tempfile.TemporaryDirectory(prefix="opgen_verify_") as tmp:
        work = Path(tmp)
        compiles = _host_compiles(project, tree, report)
        compiles += _plugin_compiles(project, tree, report)
        made = preludes(project, ops, work)
        compiles += kernel_compiles(project, tree, ops, soc, made, report)
        compiles += msopgen_checks(project, tree, host, specs, work, report, progress)
        compiles += proto_compiles(project, tree, host, specs, work, report)
        tool = find_toolchain().cxx
        cache = HeaderCache(work)
        # A header pays from its second use on.
        uses = Counter(item.header_flags for item in compiles if item.header_flags)

        def one(item: Compile) -> Check:
            progress(f"{item.subject} {item.variant}".strip())
            return _run(tool, item, cache if uses[item.header_flags] > 1 else None)

        def device(item: DeviceCompile) -> list[Check]:
            label = f"{arch_units(item, soc)} {item.label}"
            progress(f"device {item.op.op} {label}")
            return device_checks(item, label, work)

        devices = device_compiles(project, ops, soc, made, strict=bool(specs))
        with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
            report.checks += list(pool.map(one, compiles))
            for checks in pool.map(device, devices):
                report.checks += checks
    report.checks.sort(key=lambda c: (_ORDER.index(c.kind), c.subject, c.variant))
    return report


_ORDER = (
    "build",
    "opdef",
    "msopgen",
    "op_proto",
    "op_host",
    "onnx_plugin",
    "tf_plugin",
    "device",
    "kernel",
)


def _run(tool: str, item: Compile, cache: HeaderCache | None) -> Check:
    started = time.perf_counter()
    error = None
    part = "kernel" if item.kind == "kernel" else "op_host"
    header = cache.flags(item.header_flags) if cache is not None else ()
    if header:
        command = [tool, *header, *item.flags, "-fsyntax-only", str(item.source)]
        try:
            run_compiler(command, item.source, code="OPG611")
            seconds = time.perf_counter() - started
            return Check(item.kind, item.subject, item.variant, PASSED, seconds, against=part)
        except OpgenError:
            pass  # judged by the compile below, which is the official one
    try:
        run_compiler(
            [tool, *item.flags, "-fsyntax-only", str(item.source)], item.source, code="OPG611"
        )
    except OpgenError as caught:
        error = caught.diagnostics[0]
    return Check(
        item.kind,
        item.subject,
        item.variant,
        FAILED if error else PASSED,
        time.perf_counter() - started,
        error,
        against=part,
    )


def _preprocess(path: Path, project: Path, tree: CannTree) -> str:
    """Return an op_host source with its macros expanded, or "" when it cannot be."""
    if not tree.host_includes:
        return ""
    flags = [*host_flags(tree), f"-I{project / 'op_host'}", f"-I{project / 'op_kernel'}"]
    with tempfile.TemporaryDirectory(prefix="opgen_verify_") as tmp:
        out = Path(tmp) / "expanded.cpp"
        command = [find_toolchain().cxx, *flags, "-E", "-P", str(path), "-o", str(out)]
        try:
            run_compiler(command, path, code="OPG611")
        except OpgenError:
            return ""  # the compile check of the same file reports why
        return out.read_text(encoding="utf-8", errors="replace")


def _host_compiles(project: Path, tree: CannTree, report: VerifyReport) -> list[Compile]:
    sources = [p for p in host_files(project) if p.suffix in (".cpp", ".cc")]
    if not tree.host_includes or not (tree.host_includes[0] / "register").is_dir():
        report.checks += [
            Check("op_host", p.name, status=SKIPPED, note="the tree has no op-host headers")
            for p in sources
        ]
        return []
    folders = [project / "op_host", project / "op_kernel"]
    includes = [f"-I{f}" for f in folders]
    return [
        Compile(
            "op_host",
            path,
            path.relative_to(project / "op_host").as_posix(),
            library or "no library macro",
            (*host_flags(tree, library), *includes, *([f"-D{library}"] if library else [])),
        )
        for path in sources
        for library in HOST_LIBRARIES
    ]


def _plugin_compiles(project: Path, tree: CannTree, report: VerifyReport) -> list[Compile]:
    include = next((i for i in tree.host_includes if (i / "register/register.h").is_file()), None)
    compiles = []
    for kind in PLUGINS:
        folder = project / "framework" / kind
        sources = plugin_sources(project, kind)
        if include is None:
            report.checks += [
                Check(kind, p.name, status=SKIPPED, note="the tree has no register/register.h")
                for p in sources
            ]
            continue
        flags = (*host_flags(tree), "-Dgoogle=ascend_private", f"-I{folder}")
        compiles += [Compile(kind, p, p.name, "", flags) for p in sources]
    return compiles
