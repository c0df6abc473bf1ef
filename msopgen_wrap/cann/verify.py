"""Compile-check a project against the real headers of CANN, without an NPU or bisheng.

Proves API names, overloads, template arguments, macros and per-arch dtype support. Proves nothing
about address spaces, the device compiler, synchronisation or numbers.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from msopgen_wrap.build.toolchain import find_toolchain, run_compiler
from msopgen_wrap.cann.discovery import CannTree
from msopgen_wrap.cann.msopgen_json import run_msopgen
from msopgen_wrap.cann.op_sources import OpSource, host_files, read_op_sources
from msopgen_wrap.cann.precompiled import HeaderCache, may_precompile
from msopgen_wrap.cann.soc_targets import SocTarget, soc_target, soc_targets
from msopgen_wrap.cann.tiling_prelude import kernel_prelude
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.package.ops_info import op_proto_header
from msopgen_wrap.spec.model import OpSpec

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
HOST_LIBRARIES = ("OP_PROTO_LIB", "OP_TILING_LIB", "")

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Check:
    """One compile or msopgen run.

    Attributes:
        kind: ``op_host``, ``kernel``, ``onnx_plugin``, ``op_proto``, ``msopgen``, or ``render`` for
            a spec that gave no sources.
        subject: file or op.
        variant: library macro, or SoC and dtypes.
        status: ``passed``, ``failed`` or ``skipped``.
        seconds: wall time.
        error: the first true error of a failed one.
        note: why it was skipped, or a warning.
    """

    kind: str
    subject: str
    variant: str = ""
    status: str = PASSED
    seconds: float = 0.0
    error: Diagnostic | None = None
    note: str = ""

    def as_dict(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            "kind": self.kind,
            "subject": self.subject,
            "variant": self.variant,
            "status": self.status,
            "seconds": round(self.seconds, 3),
            "error": self.error.as_dict() if self.error else None,
            "note": self.note,
        }


@dataclass
class VerifyReport:
    """All checks of one run against one CANN tree."""

    tree: CannTree
    checks: list[Check] = field(default_factory=list)

    def count(self, status: str) -> int:
        """Return how many checks ended so."""
        return sum(c.status == status for c in self.checks)

    @property
    def ok(self) -> bool:
        """Nothing failed and something was really checked."""
        return self.count(FAILED) == 0 and self.count(PASSED) > 0

    def as_dict(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            "cann": str(self.tree.root),
            "version": self.tree.version,
            "style": self.tree.style,
            "missing": self.tree.missing,
            "passed": self.count(PASSED),
            "failed": self.count(FAILED),
            "skipped": self.count(SKIPPED),
            "checks": [c.as_dict() for c in self.checks],
        }


@dataclass(frozen=True)
class _Compile:
    """A compile to run: its labels and its command without compiler and source.

    ``header_flags`` are those a precompiled device header depends on; empty: use none.
    """

    kind: str
    source: Path
    subject: str
    variant: str
    flags: tuple[str, ...]
    header_flags: tuple[str, ...] = ()


def verify_project(
    project: Path,
    tree: CannTree,
    *,
    specs: Sequence[OpSpec] = (),
    soc: Sequence[str] = (),
    jobs: int = 2,
    progress: Progress = lambda _: None,
) -> VerifyReport:
    """Check every generated or handwritten source of a project in msopgen layout.

    Args:
        project: folder with ``op_host/`` and ``op_kernel/``.
        tree: the CANN to check against.
        specs: the specs it was generated from: adds msopgen and op-proto checks.
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
    with tempfile.TemporaryDirectory(prefix="opgen_verify_") as tmp:
        work = Path(tmp)
        compiles = _host_compiles(project, tree, report)
        compiles += _plugin_compiles(project, tree, report)
        compiles += _kernel_compiles(project, tree, ops, soc, work, report)
        if specs:
            compiles += _msopgen_checks(tree, specs, work, report, progress)
            compiles += _proto_compiles(tree, specs, work, report)
        tool = find_toolchain().cxx
        cache = HeaderCache(work)
        # A header pays from its second use on.
        uses = Counter(item.header_flags for item in compiles if item.header_flags)

        def one(item: _Compile) -> Check:
            progress(f"{item.subject} {item.variant}".strip())
            return _run(tool, item, cache if uses[item.header_flags] > 1 else None)

        with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
            report.checks += list(pool.map(one, compiles))
    order = {"msopgen": 0, "op_proto": 1, "op_host": 2, "onnx_plugin": 3, "kernel": 4}
    report.checks.sort(key=lambda c: (order[c.kind], c.subject, c.variant))
    return report


def _run(tool: str, item: _Compile, cache: HeaderCache | None) -> Check:
    started = time.perf_counter()
    error = None
    header = cache.flags(item.header_flags) if cache is not None else ()
    if header:
        command = [tool, *header, *item.flags, "-fsyntax-only", str(item.source)]
        try:
            run_compiler(command, item.source, code="OPG611")
            seconds = time.perf_counter() - started
            return Check(item.kind, item.subject, item.variant, PASSED, seconds)
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
    )


def _preprocess(path: Path, project: Path, tree: CannTree) -> str:
    """Return an op_host source with its macros expanded, or "" when it cannot be."""
    if not tree.host_includes:
        return ""
    flags = [*_host_flags(tree), f"-I{project / 'op_host'}", f"-I{project / 'op_kernel'}"]
    with tempfile.TemporaryDirectory(prefix="opgen_verify_") as tmp:
        out = Path(tmp) / "expanded.cpp"
        command = [find_toolchain().cxx, *flags, "-E", "-P", str(path), "-o", str(out)]
        try:
            run_compiler(command, path, code="OPG611")
        except OpgenError:
            return ""  # the compile check of the same file reports why
        return out.read_text(encoding="utf-8", errors="replace")


def _host_flags(tree: CannTree, library: str = "") -> list[str]:
    # What CANN's own projects compile op_host with: C++11 for opbuild (no library macro) in every
    # version, and for the libraries up to 8.x; 9.x leaves them to the compiler's default.
    standard = "-std=c++17" if tree.style == "9.x" and library else "-std=c++11"
    flags = [standard, "-fPIC", "-D_GLIBCXX_USE_CXX11_ABI=0", "-w"]
    # -isystem: warnings and macros of CANN's headers are not ours to judge.
    for folder in tree.host_includes:
        flags += ["-isystem", str(folder)]
    return flags


def _host_compiles(project: Path, tree: CannTree, report: VerifyReport) -> list[_Compile]:
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
        _Compile(
            "op_host",
            path,
            path.relative_to(project / "op_host").as_posix(),
            library or "no library macro",
            (*_host_flags(tree, library), *includes, *([f"-D{library}"] if library else [])),
        )
        for path in sources
        for library in HOST_LIBRARIES
    ]


def _plugin_compiles(project: Path, tree: CannTree, report: VerifyReport) -> list[_Compile]:
    folder = project / "framework" / "onnx_plugin"
    sources = sorted(p for p in folder.glob("*") if p.suffix in (".cpp", ".cc"))
    include = next((i for i in tree.host_includes if (i / "register/register.h").is_file()), None)
    if include is None:
        report.checks += [
            Check("onnx_plugin", p.name, status=SKIPPED, note="the tree has no register/register.h")
            for p in sources
        ]
        return []
    flags = (*_host_flags(tree), "-Dgoogle=ascend_private", f"-I{folder}")
    return [_Compile("onnx_plugin", p, p.name, "", flags) for p in sources]


def _kernel_compiles(
    project: Path,
    tree: CannTree,
    ops: Sequence[OpSource],
    soc: Sequence[str],
    work: Path,
    report: VerifyReport,
) -> list[_Compile]:
    reason = ""
    if not tree.kernel_includes:
        reason = "the tree has no AscendC headers"
    elif not tree.debug_includes:
        reason = "the tree has no CPU-debug headers (tikicpulib)"
    compiles: list[_Compile] = []
    for op in ops:
        if op.kernel is None:
            report.checks.append(
                Check("kernel", op.op, status=SKIPPED, note="no kernel file found in op_kernel/")
            )
            continue
        if reason or not op.combos:
            note = reason or "its DataType lists are not plain lists in op_host"
            report.checks.append(Check("kernel", op.kernel.name, status=SKIPPED, note=note))
            continue
        prelude = work / f"{op.op}_prelude.h"
        prelude.write_text(kernel_prelude(op.op, host_files(project), op.kernel), encoding="utf-8")
        kernel_text = op.kernel.read_text(encoding="utf-8", errors="replace")
        precompile = may_precompile(op.kernel, [project / "op_kernel", project / "op_host"])
        seen: set[tuple[str, ...]] = set()
        for target in _targets(op, soc, report):
            for combo in range(len(op.combos)):
                base = _kernel_flags(tree, target, project)
                flags = (
                    *base,
                    *(f"-D{d}" for d in op.kernel_defines(combo)),
                    "-include",
                    str(prelude),
                )
                # Families of one arch see the same macros: one compile stands for them.
                if flags in seen:
                    continue
                seen.add(flags)
                untyped = [n for n in op.untyped(combo) if f"DTYPE_{n.upper()}" in kernel_text]
                if untyped:
                    note = f"no C++ type for DTYPE_{untyped[0].upper()} is known"
                    label = f"{target.unit} {op.label(combo)}"
                    report.checks.append(Check("kernel", op.kernel.name, label, SKIPPED, note=note))
                    continue
                units = [t.unit for t in _targets(op, soc) if t.dav == target.dav]
                compiles.append(
                    _Compile(
                        "kernel",
                        op.kernel,
                        op.kernel.name,
                        f"{'+'.join(units)} {op.label(combo)}",
                        flags,
                        tuple(base) if precompile else (),
                    )
                )
    return compiles


def _targets(
    op: OpSource, soc: Sequence[str], report: VerifyReport | None = None
) -> list[SocTarget]:
    if soc:
        return soc_targets(list(soc))
    targets = []
    for unit in op.units or ("ascend910b",):
        try:
            targets.append(soc_target(unit))
        except KeyError:
            if report is not None and op.kernel is not None:
                note = "SoC not in the kit's table"
                report.checks.append(Check("kernel", op.kernel.name, unit, SKIPPED, note=note))
    return targets


def _kernel_flags(tree: CannTree, target: SocTarget, project: Path) -> list[str]:
    # The official CPU-debug macros; 8.1 has no __NPU_ARCH__, and naming it there does no harm.
    defines = [
        f"__CCE_AICORE__={target.aicore}",
        target.dav,
        "__CCE_KT_TEST__=1",
        "ASCENDC_CPU_DEBUG=1",
        "ASCENDC_DEBUG=1",
        "_GLIBCXX_USE_CXX11_ABI=0",
    ]
    if tree.style == "9.x":
        defines.append(f"__NPU_ARCH__={target.npu_arch}")
    flags = ["-std=c++17", "-fPIC", "-w", *(f"-D{d}" for d in defines)]
    # ORIG_DTYPE_X is a ge::DataType name that kernels compare in #if and in code.
    for folder in (project / "op_kernel", project / "op_host"):
        flags.append(f"-I{folder}")
    for folder in (*tree.debug_includes, *tree.kernel_includes, *tree.host_includes[:1]):
        flags += ["-isystem", str(folder)]
    if tree.forced_include is not None:
        flags += ["-include", str(tree.forced_include)]
    return flags


def _msopgen_checks(
    tree: CannTree, specs: Sequence[OpSpec], work: Path, report: VerifyReport, progress: Progress
) -> list[_Compile]:
    """Run msopgen on our JSON, and compile the stubs it makes: that proves attr defaults."""
    if tree.msopgen is None:
        report.checks.append(
            Check("msopgen", "msopgen.json", status=SKIPPED, note="the tree has no msopgen")
        )
        return []
    compiles = []
    for spec in specs:
        progress(f"msopgen {spec.op}")
        out = work / "msopgen" / spec.name
        out.parent.mkdir(exist_ok=True)
        started = time.perf_counter()
        run = run_msopgen(tree, [spec], out)
        seconds = time.perf_counter() - started
        error = None
        if run.returncode:
            error = Diagnostic(
                "OPG605",
                f"msopgen: {run.first_error}",
                Location(spec.path),
                f"exit code {run.returncode}",
                "the log is the output of: " + " ".join(run.command),
            )
        junk = [w for w in run.warnings if "format" in w.lower() or "type" in w.lower()]
        junk = [w for w in junk if "ASCEND_FRAMEWORK_TYPE" not in w]
        report.checks.append(
            Check(
                "msopgen",
                spec.op,
                "",
                FAILED if error else PASSED,
                seconds,
                error,
                note="; ".join(junk),
            )
        )
        stub = out / "op_host" / f"{spec.name}.cpp"
        if error is None and stub.is_file() and tree.host_includes:
            flags = (*_host_flags(tree), f"-I{stub.parent}")
            compiles.append(_Compile("msopgen", stub, spec.op, "its op_host stub", flags))
    return compiles


def _proto_compiles(
    tree: CannTree, specs: Sequence[OpSpec], work: Path, report: VerifyReport
) -> list[_Compile]:
    include = next((i for i in tree.host_includes if (i / "graph/operator_reg.h").is_file()), None)
    if include is None:
        note = "the tree has no graph/operator_reg.h"
        report.checks.append(Check("op_proto", "op_proto.h", status=SKIPPED, note=note))
        return []
    source = work / "op_proto.cpp"
    source.write_text(op_proto_header(specs), encoding="utf-8")
    return [_Compile("op_proto", source, "op_proto.h", "", tuple(_host_flags(tree)))]
