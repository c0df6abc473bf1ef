"""Doctor checks around CANN: the install, ``ASCEND_*`` variables, vendor packages and their ops.

Each check returns ``HealthCheck`` lines: what is so, and for a problem the exact command that cures
it. Nothing here starts a compiler or imports torch.
"""

from __future__ import annotations

import ctypes.util
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from msopgen_wrap.build import shared_object
from msopgen_wrap.build.toolchain import machine_name
from msopgen_wrap.cann_discovery import CannTree, find_cann
from msopgen_wrap.diagnostics import HealthCheck
from msopgen_wrap.package.vendors import (
    VendorPackage,
    custom_opp_entries,
    find_vendors,
    load_priority,
)

OK, WARNING, PROBLEM, ABSENT = "ok", "warning", "problem", "absent"


def check_cann(environ: Mapping[str, str] = os.environ) -> list[HealthCheck]:
    """Report the CANN install: version, completeness, variables that point elsewhere."""
    findings = []
    home = environ.get("ASCEND_HOME_PATH", "")
    tree = find_cann(environ=environ)
    if home and not Path(home).is_dir():
        findings.append(
            HealthCheck(
                "ASCEND_HOME_PATH",
                PROBLEM,
                f"{home} is not a folder",
                "unset ASCEND_HOME_PATH, or source the set_env.sh of the CANN you have",
            )
        )
    if tree is None:
        findings.append(
            HealthCheck(
                "CANN",
                ABSENT,
                "not installed: the CPU emulation needs none; `opgen build --target npu` does",
            )
        )
        return findings
    version = tree.version or "unknown version"
    missing = [m for m in tree.missing if "CPU-debug" not in m]
    if tree.can_build:
        findings.append(
            HealthCheck("CANN", OK, f"{version} in {tree.root}, project style {tree.style}")
        )
    else:
        findings.append(
            HealthCheck(
                "CANN",
                WARNING,
                f"{version} in {tree.root} cannot build packages; missing: " + "; ".join(missing),
                "install the full toolkit (Ascend-cann-toolkit), or build elsewhere: "
                "opgen build --target npu says what to copy where",
            )
        )
    if not home:
        findings.append(
            HealthCheck(
                "ASCEND_HOME_PATH",
                WARNING,
                f"not set although CANN is in {tree.root}",
                _source_line(tree),
            )
        )
    findings += _owner_of(tree)
    return findings


def _source_line(tree: CannTree) -> str:
    for script in (tree.root / "set_env.sh", tree.root.parent / "set_env.sh"):
        if script.is_file():
            return f"source {shlex.quote(str(script))}"
    return f"export ASCEND_HOME_PATH={shlex.quote(str(tree.root))}"


def _owner_of(tree: CannTree) -> list[HealthCheck]:
    """msopgen refuses input files and folders that are not the caller's."""
    if tree.msopgen is not None and not os.access(tree.msopgen, os.R_OK):
        return [
            HealthCheck(
                "msopgen",
                PROBLEM,
                f"{tree.msopgen} cannot be read by you",
                f"ask its owner: chmod -R a+rX {shlex.quote(str(tree.site_packages))}",
            )
        ]
    return []


def check_variables(environ: Mapping[str, str] = os.environ) -> list[HealthCheck]:
    """Report ``ASCEND_OPP_PATH`` and ``ASCEND_CUSTOM_OPP_PATH``: every entry, in search order."""
    findings = []
    opp = environ.get("ASCEND_OPP_PATH", "")
    home = environ.get("ASCEND_HOME_PATH", "")
    if not opp:
        findings.append(HealthCheck("ASCEND_OPP_PATH", ABSENT, "not set"))
    elif not Path(opp).is_dir():
        cure = "source CANN's set_env.sh again"
        if home and (Path(home) / "opp").is_dir():
            cure = f"export ASCEND_OPP_PATH={shlex.quote(home)}/opp"
        findings.append(HealthCheck("ASCEND_OPP_PATH", PROBLEM, f"{opp} is not a folder", cure))
    elif home and Path(opp).resolve().parent != Path(home).resolve():
        findings.append(
            HealthCheck(
                "ASCEND_OPP_PATH",
                WARNING,
                f"{opp} is not inside ASCEND_HOME_PATH ({home}): two CANN versions are mixed",
                f"export ASCEND_OPP_PATH={shlex.quote(home)}/opp",
            )
        )
    else:
        findings.append(HealthCheck("ASCEND_OPP_PATH", OK, opp))
    entries = custom_opp_entries(environ)
    if not entries:
        findings.append(
            HealthCheck(
                "ASCEND_CUSTOM_OPP_PATH", ABSENT, "not set: no custom package is looked for"
            )
        )
    findings += [_custom_entry(entry) for entry in entries]
    raw = environ.get("ASCEND_CUSTOM_OPP_PATH", "")
    if entries and (len(set(entries)) != len(entries)):
        once = ":".join(dict.fromkeys(entries))
        findings.append(
            HealthCheck(
                "ASCEND_CUSTOM_OPP_PATH",
                WARNING,
                "names a folder twice (set_env.bash was sourced again)",
                f"export ASCEND_CUSTOM_OPP_PATH={shlex.quote(once)}",
            )
        )
    stripped = ":".join(e.strip() for e in entries)
    if " :" in raw or ": " in raw:
        findings.append(
            HealthCheck(
                "ASCEND_CUSTOM_OPP_PATH",
                PROBLEM,
                "has blanks around ':': they become part of the folder names",
                f"export ASCEND_CUSTOM_OPP_PATH={shlex.quote(stripped)}",
            )
        )
    return findings


def _custom_entry(entry: str) -> HealthCheck:
    name = "ASCEND_CUSTOM_OPP_PATH"
    path = Path(entry)
    if not path.is_dir():
        return HealthCheck(
            name,
            PROBLEM,
            f"{entry} is not a folder",
            "install the package there again, or take the entry out",
        )
    if not (path / "op_api").is_dir() and not (path / "op_impl").is_dir():
        inner = sorted(p for p in path.glob("vendors/*") if (p / "op_api").is_dir())
        inner = inner or sorted(p for p in path.glob("*") if (p / "op_api").is_dir())
        if inner:
            value = ":".join(str(p) for p in inner)
            return HealthCheck(
                name,
                PROBLEM,
                f"{entry} is the folder above the vendors; CANN wants the vendor folder itself",
                f"export ASCEND_CUSTOM_OPP_PATH={shlex.quote(value)}",
            )
        return HealthCheck(
            name,
            PROBLEM,
            f"{entry} holds no vendor package (neither op_api nor op_impl)",
            "install the package: sh custom_opp_*.run --install-path=DIR; source its set_env.bash",
        )
    return HealthCheck(name, OK, entry)


def check_vendors(environ: Mapping[str, str] = os.environ) -> list[HealthCheck]:
    """Report every vendor package with its ops, in search order, and what is wrong with it."""
    findings = []
    owners: dict[str, VendorPackage] = {}
    packages = list(find_vendors(environ))
    if not packages:
        return [
            HealthCheck(
                "custom ops",
                ABSENT,
                "no vendor package found in ASCEND_CUSTOM_OPP_PATH or ASCEND_OPP_PATH/vendors",
            )
        ]
    for package in packages:
        findings.append(_package_finding(package))
        findings += _package_problems(package, environ)
        if not package.listed:
            continue
        for op in package.ops:
            first = owners.setdefault(op, package)
            if first is not package:
                in_opp = package.origin == "ASCEND_OPP_PATH"
                order = "load_priority" if in_opp else package.origin
                findings.append(
                    HealthCheck(
                        f"op {op}",
                        WARNING,
                        f"is in {first.path} and in {package.path}: the first one is used",
                        f"uninstall one of them, or put the wanted one first in {order}",
                    )
                )
    findings += _priority_findings(environ)
    return findings


def _package_finding(package: VendorPackage) -> HealthCheck:
    info = package.info
    ops = package.ops
    target = {"cpu": "CPU emulation", "npu": "NPU"}.get(info.get("target", ""), "another tool's")
    text = f"{package.path} ({target}; {', '.join(package.socs) or 'no SoC'}): "
    text += ", ".join(ops[:12]) + (f" and {len(ops) - 12} more" if len(ops) > 12 else "")
    return HealthCheck(f"vendor {package.vendor}", OK, text if ops else text + "no ops")


def _package_problems(package: VendorPackage, environ: Mapping[str, str]) -> list[HealthCheck]:
    name = f"vendor {package.vendor}"
    findings = []
    if not package.listed:
        vendors = package.path.parent
        listed = ",".join([package.vendor, *load_priority(vendors)])
        findings.append(
            HealthCheck(
                name,
                PROBLEM,
                f"is not in load_priority of {vendors / 'config.ini'}: CANN does not look at it",
                f"echo load_priority={listed} > {shlex.quote(str(vendors / 'config.ini'))}",
            )
        )
    if not package.ops:
        findings.append(
            HealthCheck(
                name,
                PROBLEM,
                "has no ops-info JSON: no op of it can be found",
                "build and install the package again",
            )
        )
    missing = package.missing_files()
    if missing:
        findings.append(
            HealthCheck(
                name,
                PROBLEM,
                f"lacks {', '.join(missing)} (error 'aclnn... not in libopapi.so')",
                "install the package again: sh custom_opp_*.run",
            )
        )
    findings += _library_problems(package, environ)
    info = package.info
    here = machine_name()
    if info.get("arch") and info["arch"] != here:
        findings.append(
            HealthCheck(
                name,
                PROBLEM,
                f"is built for {info['arch']}, this machine is {here}",
                "build it here: opgen build",
            )
        )
    tree = find_cann(environ=environ)
    built = info.get("cann_version")
    if tree is not None and tree.version and built and built != tree.version:
        findings.append(
            HealthCheck(
                name,
                WARNING,
                f"was built with CANN {built}, installed is {tree.version}",
                "build the package again with this CANN: opgen build --target npu",
            )
        )
    if not os.access(package.path, os.R_OK | os.X_OK):
        findings.append(
            HealthCheck(
                name,
                PROBLEM,
                "cannot be read by you (installed by another user)",
                f"ask its owner: chmod -R a+rX {shlex.quote(str(package.path))}",
            )
        )
    return findings


def _library_problems(package: VendorPackage, environ: Mapping[str, str]) -> list[HealthCheck]:
    """Report libraries that ``libcust_opapi.so`` needs and the loader would not find."""
    if not package.opapi.is_file():
        return []
    try:
        needed = shared_object.needed(package.opapi)
        runpath = shared_object.runpath(package.opapi) or ""
    except (shared_object.ElfError, OSError, ValueError):
        return [
            HealthCheck(
                f"vendor {package.vendor}",
                PROBLEM,
                f"{package.opapi} is not a shared library of this kind of machine",
                "install the package again, or build it on this machine: opgen build",
            )
        ]
    origin = str(package.opapi.parent.resolve())
    folders = [Path(p.replace("$ORIGIN", origin)) for p in runpath.split(":") if p]
    folders += [Path(p) for p in environ.get("LD_LIBRARY_PATH", "").split(":") if p]
    missing = []
    for library in needed:
        if any((folder / library).is_file() for folder in folders):
            continue
        stem = library.split(".so")[0].removeprefix("lib")
        if ctypes.util.find_library(stem) or library.startswith(("ld-linux", "libc.", "libm.")):
            continue
        missing.append(library)
    if not missing:
        return []
    own = package.info.get("target") == "cpu"
    cure = "install the package again" if own else "source CANN's set_env.sh (LD_LIBRARY_PATH)"
    return [
        HealthCheck(
            f"vendor {package.vendor}",
            PROBLEM,
            f"libcust_opapi.so needs {', '.join(missing)}, which the loader does not find",
            cure,
        )
    ]


def _priority_findings(environ: Mapping[str, str]) -> list[HealthCheck]:
    opp = environ.get("ASCEND_OPP_PATH", "")
    if not opp:
        return []
    vendors = Path(opp) / "vendors"
    listed = load_priority(vendors)
    gone = [v for v in listed if not (vendors / v).is_dir()]
    if not gone:
        return []
    rest = ",".join(v for v in listed if v not in gone)
    return [
        HealthCheck(
            "load_priority",
            WARNING,
            f"{vendors / 'config.ini'} names {', '.join(gone)}, which is not installed",
            f"echo load_priority={rest} > {shlex.quote(str(vendors / 'config.ini'))}",
        )
    ]


def health_checks(environ: Mapping[str, str] = os.environ) -> list[HealthCheck]:
    """Return the findings of every check of this module, in reading order."""
    return [*check_cann(environ), *check_variables(environ), *check_vendors(environ)]
