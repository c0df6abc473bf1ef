"""``opgen check``: validate specs, optionally down to compiled kernels and their tiling."""

from __future__ import annotations

from pathlib import Path

import click

from msopgen_wrap.cli import output
from msopgen_wrap.diagnostics import Diagnostic
from msopgen_wrap.spec.loader import LoadResult, read_specs


@click.command("check", epilog=output.EXIT_CODES)
@click.argument("specs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--deep",
    is_flag=True,
    help="Also do all that `opgen test` does before it runs a kernel: compute against the shape "
    "rules, memory plan, compiling, tiling of every case (needs torch and a compiler).",
)
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def command(specs: tuple[Path, ...], deep: bool, strict: bool, as_json: bool) -> int:
    """Validate SPECS (files, or folders of *.yaml): every problem of every file in one run."""
    results = read_specs(specs)
    if deep:
        from msopgen_wrap.cli.deep_check import deep_findings

        results = [_with(r, deep_findings(r.spec)) if r.spec else r for r in results]
    findings = [d for r in results for d in r.diagnostics]
    failed = any(d.severity == "error" or strict for d in findings)
    # Findings about the machine (check --deep without torch) are no findings about the specs.
    code = (output.exit_code(findings) or output.FINDINGS) if failed else output.OK
    if as_json:
        output.print_json(_json(results, failed))
        return code
    output.print_diagnostics(findings, err=False)
    good = sum(1 for r in results if r.spec is not None)
    word = "spec" if len(results) == 1 else "specs"
    output.echo(f"{len(results)} {word}, {good} valid: {output.count_text(findings)}")
    if failed:
        codes = " ".join(sorted({d.code for d in findings})[:6])
        output.echo(f"`opgen explain {codes}` tells more")
    return code


def _with(result: LoadResult, more: list[Diagnostic]) -> LoadResult:
    bad = any(d.severity == "error" for d in more)
    return LoadResult(result.path, None if bad else result.spec, [*result.diagnostics, *more])


def _json(results: list[LoadResult], failed: bool) -> dict[str, object]:
    return {
        "ok": not failed,
        "specs": [
            {"path": r.path, "op": r.spec.op if r.spec else None, "ok": r.spec is not None}
            for r in results
        ],
        "diagnostics": [d.as_dict() for r in results for d in r.diagnostics],
    }
