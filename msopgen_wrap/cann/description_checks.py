"""Checks of what describes an op: OpDef, build files, msopgen JSON, prototypes, ONNX plugins."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msopgen_wrap.cann.agreement import (
    msopgen_files,
    msopgen_problems,
    plugin_problems,
    proto_files,
    proto_problems,
    spec_problems,
)
from msopgen_wrap.cann.build_files import build_problems
from msopgen_wrap.cann.declarations import HostText, host_problems
from msopgen_wrap.cann.verify_report import (
    FAILED,
    PASSED,
    SKIPPED,
    Check,
    Compile,
    VerifyReport,
    found_checks,
)
from msopgen_wrap.cann_discovery import CannTree
from msopgen_wrap.diagnostics import Diagnostic, Location
from msopgen_wrap.package.ops_info import op_proto_header
from msopgen_wrap.platforms import is_soc
from msopgen_wrap.project.msopgen_json import msopgen_json, run_msopgen
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.names import snake_case

Progress = Callable[[str], None]

# The parser plugins of a project: folders of framework/, and names of their checks.
PLUGINS = ("onnx_plugin", "tf_plugin")

_OP_NAMED = re.compile(r"op (\w+)[: ]")


def text_checks(
    project: Path,
    tree: CannTree,
    host: HostText,
    specs: Sequence[OpSpec],
    vendor: str,
    report: VerifyReport,
) -> None:
    """Check what needs no compiler: OpDefs, build files, and whether the descriptions agree."""
    declared = {d.op: d for d in host.declarations}
    problems = host_problems(host, strict=bool(specs))
    for spec in specs:
        problems += spec_problems(spec, declared.get(spec.op), project / "op_host")
    by_op: dict[str, list[Diagnostic]] = {op: [] for op in declared}
    for problem in problems:
        match = _OP_NAMED.match(problem.what)
        by_op.setdefault(match[1] if match else "all ops", []).append(problem)
    for op, found in by_op.items():
        report.checks += found_checks("opdef", op, found)
    for path, found in build_problems(project, tree, host.declarations, vendor).items():
        report.checks += found_checks("build", path.relative_to(project).as_posix(), found)
    for kind in PLUGINS:
        for path in plugin_sources(project, kind):
            problems = plugin_problems(path, host.declarations, vendor, kind)
            report.checks += found_checks(kind, path.name, problems, "its registration")


def host_flags(tree: CannTree, library: str = "") -> list[str]:
    """Return what CANN compiles op_host with, as one of its libraries."""
    # What CANN's own projects compile op_host with: C++11 for opbuild (no library macro) in every
    # version, and for the libraries up to 8.x; 9.x leaves them to the compiler's default.
    standard = "-std=c++17" if tree.style == "9.x" and library else "-std=c++11"
    flags = [standard, "-fPIC", "-D_GLIBCXX_USE_CXX11_ABI=0", "-w"]
    # -isystem: warnings and macros of CANN's headers are not ours to judge.
    for folder in tree.host_includes:
        flags += ["-isystem", str(folder)]
    return flags


def plugin_sources(project: Path, kind: str) -> list[Path]:
    """Return the sources of a project's parser plugins of one kind, a name of ``PLUGINS``."""
    folder = project / "framework" / kind
    return sorted(p for p in folder.glob("*") if p.suffix in (".cpp", ".cc"))


def msopgen_checks(
    project: Path,
    tree: CannTree,
    host: HostText,
    specs: Sequence[OpSpec],
    work: Path,
    report: VerifyReport,
    progress: Progress,
) -> list[Compile]:
    """Run msopgen on the project's JSON, and compile the stubs it makes: that proves defaults.

    A project without such a file is checked with what its specs give.
    """
    files = msopgen_files(project)
    texts: list[tuple[str, str, str]] = []  # name for people, op, JSON of this op
    for path in files:
        problems = msopgen_problems(path, host.declarations)
        report.checks += found_checks("msopgen", path.name, problems, "beside op_host")
        if not problems:
            entries = json.loads(path.read_text(encoding="utf-8", errors="replace"))
            for entry in entries if isinstance(entries, list) else [entries]:
                texts.append((f"{entry['op']} of {path.name}", entry["op"], json.dumps([entry])))
    if not files:
        texts = [(f"{s.op} of its spec", s.op, msopgen_json([s])) for s in specs]
    if tree.msopgen is None:
        if texts:
            note = "the tree has no msopgen"
            report.checks.append(Check("msopgen", "msopgen.json", status=SKIPPED, note=note))
        return []
    units = [name for d in host.declarations for name, _ in d.configs if is_soc(name)]
    compiles = []
    for number, (subject, op, text) in enumerate(texts):
        progress(f"msopgen {op}")
        out = work / "msopgen" / str(number)
        out.parent.mkdir(exist_ok=True)
        started = time.perf_counter()
        name = snake_case(op)
        run = run_msopgen(tree, [(name, text)], units or ["ascend910b"], out)
        seconds = time.perf_counter() - started
        error = None
        if run.returncode:
            error = Diagnostic(
                "OPG605",
                f"msopgen: {run.first_error}",
                Location(subject),
                f"exit code {run.returncode}",
                "the log is the output of: " + " ".join(run.command),
            )
        junk = [w for w in run.warnings if "format" in w.lower() or "type" in w.lower()]
        junk = [w for w in junk if "ASCEND_FRAMEWORK_TYPE" not in w]
        status = FAILED if error else PASSED
        report.checks.append(
            Check("msopgen", subject, "", status, seconds, error, "; ".join(junk), "msopgen")
        )
        stub = out / "op_host" / f"{name}.cpp"
        if error is None and stub.is_file() and tree.host_includes:
            flags = (*host_flags(tree), f"-I{stub.parent}")
            compiles.append(Compile("msopgen", stub, subject, "its op_host stub", flags))
    return compiles


def proto_compiles(
    project: Path,
    tree: CannTree,
    host: HostText,
    specs: Sequence[OpSpec],
    work: Path,
    report: VerifyReport,
) -> list[Compile]:
    """Check the project's op prototypes; without any, those that its specs give."""
    files = proto_files(project)
    for path in files:
        name = path.relative_to(project).as_posix()
        report.checks += found_checks(
            "op_proto", name, proto_problems(path, host.declarations), "beside op_host"
        )
    sources = [(path, path.relative_to(project).as_posix(), "") for path in files]
    if not files and specs:
        source = work / "op_proto.cpp"
        source.write_text(op_proto_header(specs), encoding="utf-8")
        sources = [(source, "op_proto.h", "of the specs; the project has none")]
    include = next((i for i in tree.host_includes if (i / "graph/operator_reg.h").is_file()), None)
    if include is None:
        note = "the tree has no graph/operator_reg.h"
        report.checks += [
            Check("op_proto", name, variant, SKIPPED, note=note) for _, name, variant in sources
        ]
        return []
    compiles = []
    for number, (path, name, variant) in enumerate(sources):
        unit = path
        if path.suffix in (".h", ".hpp"):
            unit = work / f"op_proto_{number}.cpp"
            unit.write_text(f'#include "{path}"\n', encoding="utf-8")
        flags = (*host_flags(tree), f"-I{path.parent}", f"-I{project / 'op_host'}")
        compiles.append(Compile("op_proto", unit, name, variant, flags))
    return compiles
