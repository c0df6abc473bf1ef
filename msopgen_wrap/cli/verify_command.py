"""``opgen verify``: compile-check sources against the headers of a CANN install or file tree."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from msopgen_wrap.cli import output
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError, render

if TYPE_CHECKING:
    from msopgen_wrap.cann.verify_report import VerifyReport
    from msopgen_wrap.cann_discovery import CannTree
    from msopgen_wrap.spec.model import OpSpec


@click.command("verify")
@click.argument("targets", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--cann",
    multiple=True,
    type=click.Path(path_type=Path),
    help="CANN install or file tree; default: ASCEND_HOME_PATH. Given again: a tree that fills in "
    "what the first lacks (an asc-devkit checkout has no op-host and CPU-debug headers).",
)
@click.option("--soc", default="", help="Check kernels for these SoCs only, by comma.")
@click.option("--vendor", default="opgen", show_default=True, help="Vendor of rendered specs.")
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the sources rendered from SPECs to this folder and leave them there.",
)
@click.option("-j", "--jobs", default=2, show_default=True, help="Compilers to run at once.")
@click.option("-v", "--verbose", is_flag=True, help="List every check, not only the failed ones.")
@click.option("--json", "as_json", is_flag=True, help="Print the full report as JSON.")
def command(
    targets: tuple[Path, ...],
    cann: tuple[Path, ...],
    soc: str,
    vendor: str,
    keep: Path | None,
    jobs: int,
    verbose: bool,
    as_json: bool,
) -> None:
    """Check a PROJECT, or SPECs, against the headers of CANN, and run its msopgen.

    Needs neither an NPU nor the device compiler. op_host is compiled as each of CANN's libraries
    (OP_PROTO_LIB, OP_TILING_LIB, neither), every kernel per SoC arch and dtype combination with the
    official CPU-debug macros; its entry and what the device's C++ lacks (exceptions, new,
    containers, recursion, calls of host functions ...) are found in the object that the
    emulation's headers give. OpDefs, op_proto, msopgen JSON, ONNX plugins and build files of the
    project are held against one another and against its specs. Any project in msopgen layout
    (op_host/, op_kernel/) will do. This proves names, overloads, templates and dtype support; not
    numbers, not the device compiler. CONTRIBUTING.md lists what is out of reach.

    Exit code: 0 all passed, 1 something failed, 2 wrong usage, 3 no CANN or no compiler.
    """
    from msopgen_wrap.cann.verify_report import FAILED, PASSED, SKIPPED

    tree = _find_tree(cann)
    socs = [s.strip() for s in soc.split(",") if s.strip()]
    reports: list[tuple[str, VerifyReport]] = []
    with ExitStack() as stack:
        for name, report in _reports(
            targets, tree, socs, _Rendering(vendor, keep, stack), jobs, quiet=as_json
        ):
            reports.append((name, report))
            if not as_json:
                _print(name, report, verbose)  # while rendered sources are there to be shown
    checks = [c for _, r in reports for c in r.checks]
    compared = sum(r.compared for _, r in reports)
    counts = {s: sum(c.status == s for c in checks) for s in (PASSED, FAILED, SKIPPED)}
    if as_json:
        value: dict[str, Any] = {
            "ok": counts[FAILED] == 0 and compared > 0,
            "cann": {
                "root": str(tree.root),
                "version": tree.version,
                "style": tree.style,
                "trees": tree.origins_as_dict(),
                "missing": tree.missing,
            },
            **counts,
            "targets": [{"target": n, **r.as_dict()} for n, r in reports],
        }
        click.echo(json.dumps(value, indent=2))
    else:
        seconds = sum(c.seconds for c in checks)
        for line in tree.sources:
            output.echo(f"against {line}")
        output.echo(
            f"{counts[PASSED]} passed, {counts[FAILED]} failed, {counts[SKIPPED]} skipped, "
            f"{seconds:.0f} s of compiling"
        )
    if counts[FAILED]:
        raise click.exceptions.Exit(output.FINDINGS)
    if not compared:
        if not as_json:
            output.echo("nothing could be held against CANN with this tree", err=True)
        raise click.exceptions.Exit(output.ENVIRONMENT)


@dataclass(frozen=True)
class _Rendering:
    """How specs become sources: vendor, and a folder that is kept or lives as long as ``stack``."""

    vendor: str
    keep: Path | None
    stack: ExitStack

    def render(
        self, paths: list[Path], tree: CannTree
    ) -> tuple[list[OpSpec], Path, list[tuple[OpSpec, Diagnostic]]]:
        """Render the specs at ``paths`` in the style of ``tree``.

        Returns the rendered specs, their folder, and the specs that cannot be planned with why.
        """
        from msopgen_wrap.project.cann_project import CannOptions, render_cann_project
        from msopgen_wrap.project.tree import ProjectOptions, render_project
        from msopgen_wrap.spec.loader import load_specs

        options = ProjectOptions(
            vendor=self.vendor, style=tree.style, parts=("op_host", "op_kernel")
        )
        good: list[OpSpec] = []
        failed: list[tuple[OpSpec, Diagnostic]] = []
        files = []
        for spec in load_specs(paths):
            try:
                files += render_project([spec], options)
                good.append(spec)
            except OpgenError as error:
                failed += [(spec, diagnostic) for diagnostic in error.diagnostics]
        folder = self.keep or Path(
            self.stack.enter_context(tempfile.TemporaryDirectory(prefix="opgen_verify_src_"))
        )
        if good:
            files += render_cann_project(good, CannOptions(self.vendor, tree.style))
        for file in files:
            path = folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text, encoding="utf-8")
        return good, folder, failed


def _find_tree(cann: tuple[Path, ...]) -> CannTree:
    from msopgen_wrap.cann_discovery import combine, find_cann, require_cann

    tree = combine([require_cann(folder) for folder in cann]) if cann else find_cann()
    if tree is None:
        raise OpgenError(
            Diagnostic(
                "OPG601",
                "no CANN found",
                why="ASCEND_HOME_PATH is not set and the default install folders hold none",
                fix="name an install or an unpacked file tree: opgen verify --cann DIR",
            )
        )
    return tree


def _reports(
    targets: tuple[Path, ...],
    tree: CannTree,
    socs: list[str],
    rendering: _Rendering,
    jobs: int,
    quiet: bool,
) -> Iterator[tuple[str, VerifyReport]]:
    from msopgen_wrap.cann.verify import verify_project
    from msopgen_wrap.cann.verify_report import FAILED, Check
    from msopgen_wrap.manifest import MANIFEST, read_project
    from msopgen_wrap.spec.loader import python_ops

    def progress(text: str) -> None:
        if not quiet and output.use_colour(sys.stderr):
            click.echo(f"\r\x1b[K  {text}", nl=False, err=True)

    specs: list[Path] = []
    for target in targets or (Path("."),):
        if (target / MANIFEST).is_file():
            project = read_project(target)
            yield (
                str(target),
                verify_project(
                    target,
                    tree,
                    specs=project.specs,
                    vendor=project.vendor,
                    soc=socs,
                    jobs=jobs,
                    progress=progress,
                ),
            )
        elif (target / "op_host").is_dir():
            yield str(target), verify_project(target, tree, soc=socs, jobs=jobs, progress=progress)
        elif target.is_dir():
            found = sorted(target.rglob("*.yaml"))
            if not found:
                raise OpgenError(_bad_target(target))
            specs += found
        elif ops := python_ops(target):
            specs += ops
        elif target.is_file():
            specs.append(target)
        else:
            raise OpgenError(_bad_target(target))
    if specs:
        loaded, folder, failed = rendering.render(specs, tree)
        if not loaded:
            raise OpgenError([diagnostic for _, diagnostic in failed])
        report = verify_project(
            folder,
            tree,
            specs=loaded,
            vendor=rendering.vendor,
            soc=socs,
            jobs=jobs,
            progress=progress,
        )
        report.checks[:0] = [
            Check("render", spec.op, status=FAILED, error=diagnostic) for spec, diagnostic in failed
        ]
        yield f"{len(loaded)} rendered spec{'s' if len(loaded) > 1 else ''}", report
    progress("")


def _bad_target(target: Path) -> Diagnostic:
    return Diagnostic(
        "OPG612",
        f"{target} is neither a project nor a spec",
        Location(str(target)),
        "a project has opgen.json or op_host/, a folder of specs has .yaml files",
        "check the path",
    )


def _print(name: str, report: VerifyReport, verbose: bool) -> None:
    from rich.table import Table

    table = Table(title=name, title_justify="left", box=None, pad_edge=False)
    for column in ("check", "subject", "variant", "result", "s"):
        table.add_column(column, justify="right" if column == "s" else "left", overflow="fold")
    shown = [c for c in report.checks if verbose or c.status != "passed"]
    for check in shown:
        colour = {"passed": "green", "failed": "bold red", "skipped": "yellow"}[check.status]
        result = f"[{colour}]{check.status}[/]"
        if check.note:
            result += f" ({check.note})"
        table.add_row(check.kind, check.subject, check.variant, result, f"{check.seconds:.1f}")
    if shown:
        output.table_console(sys.stdout).print(table)
    else:
        output.echo(f"{name}: all {len(report.checks)} checks passed")
    # One error usually shows in every variant of a file: print it once.
    groups: dict[tuple[str, str, Diagnostic], list[str]] = {}
    for check in report.checks:
        if check.error is not None:
            groups.setdefault((check.kind, check.subject, check.error), []).append(check.variant)
    for (kind, subject, error), variants in groups.items():
        output.echo(f"\n{kind} {subject}: {'; '.join(v for v in variants if v)}".rstrip(": "))
        output.echo(render(error))
    if shown:
        output.echo()
