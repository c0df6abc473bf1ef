"""The compiles of kernels: with CANN's headers, and with the emulation's for their objects."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from msopgen_wrap.cann.device_check import DeviceCompile
from msopgen_wrap.cann.kernel_prelude import kernel_prelude, may_precompile
from msopgen_wrap.cann.op_sources import OpSource, host_files
from msopgen_wrap.cann.verify_report import (
    SKIPPED,
    Check,
    Compile,
    VerifyReport,
    found_checks,
)
from msopgen_wrap.cann_discovery import CannTree
from msopgen_wrap.platforms import SocTarget, soc_target, soc_targets


def preludes(project: Path, ops: Sequence[OpSource], work: Path) -> dict[str, Path]:
    """Write the header with the tiling struct of every op that has a kernel."""
    found = {}
    for op in ops:
        if op.kernel is not None:
            found[op.op] = work / f"{op.op}_prelude.h"
            text = kernel_prelude(op.op, host_files(project), op.kernel)
            found[op.op].write_text(text, encoding="utf-8")
    return found


def device_compiles(
    project: Path,
    ops: Sequence[OpSource],
    soc: Sequence[str],
    preludes: Mapping[str, Path],
    *,
    strict: bool,
) -> list[DeviceCompile]:
    """Return what to compile with the emulation's headers: every combination once per arch."""
    found: dict[tuple[object, ...], DeviceCompile] = {}
    folders = (project / "op_kernel", project / "op_host")
    for op in ops:
        if op.kernel is None:
            continue
        for target in _targets(op, soc):
            for combo in range(len(op.combos)):
                defines = tuple(op.kernel_defines(combo))
                key = (op.op, target.npu_arch, defines)
                item = DeviceCompile(
                    op,
                    op.label(combo),
                    len(found),
                    project,
                    folders,
                    defines,
                    preludes[op.op],
                    target.npu_arch,
                    strict,
                )
                found.setdefault(key, item)
    return list(found.values())


def arch_units(item: DeviceCompile, soc: Sequence[str]) -> str:
    return "+".join(t.unit for t in _targets(item.op, soc) if t.npu_arch == item.arch)


def device_checks(item: DeviceCompile, label: str, work: Path) -> list[Check]:
    assert item.op.kernel is not None
    started = time.perf_counter()
    problems, reason = item.run(work)
    seconds = time.perf_counter() - started
    name = item.op.kernel.name
    if reason:
        return [Check("device", name, label, SKIPPED, seconds, note=reason)]
    return [replace(c, seconds=seconds) for c in found_checks("device", name, problems, label)]


def kernel_compiles(
    project: Path,
    tree: CannTree,
    ops: Sequence[OpSource],
    soc: Sequence[str],
    preludes: Mapping[str, Path],
    report: VerifyReport,
) -> list[Compile]:
    reason = ""
    if not tree.kernel_includes:
        reason = "the tree has no AscendC headers"
    elif not tree.debug_includes:
        reason = "the tree has no CPU-debug headers (tikicpulib)"
    compiles: list[Compile] = []
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
        prelude = preludes[op.op]
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
                    Compile(
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
    # Narrowing in braces is an error for clang, which the device compiler is.
    flags = ["-std=c++17", "-fPIC", "-Werror=narrowing", *(f"-D{d}" for d in defines)]
    # ORIG_DTYPE_X is a ge::DataType name that kernels compare in #if and in code.
    for folder in (project / "op_kernel", project / "op_host"):
        flags.append(f"-I{folder}")
    for folder in (*tree.debug_includes, *tree.kernel_includes, *tree.host_includes[:1]):
        flags += ["-isystem", str(folder)]
    if tree.forced_include is not None:
        flags += ["-include", str(tree.forced_include)]
    return flags
