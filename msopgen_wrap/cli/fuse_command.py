"""``opgen fuse``: which ops a model could use, and specs for those that do not exist."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from msopgen_wrap.cli import output
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError, output_folder

if TYPE_CHECKING:
    from msopgen_wrap.fusion.proposals import Proposal, Survey


@click.command("fuse", epilog=output.EXIT_CODES)
@click.argument("target", metavar="FILE.py:FACTORY")
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write the proposed specs into this folder.",
)
@click.option(
    "--specs",
    "specs",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Ops that exist: files or folders. Default: the op library.",
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(target: str, folder: Path | None, specs: tuple[Path, ...], as_json: bool) -> int:
    """Find what ops would save in a model, and write specs for chains that no op covers.

    FACTORY is a function of FILE.py without arguments; it gives (model, inputs), or (model, inputs,
    inputs by name). FILE.py is executed: it is your own program, with your rights.

    The specs are tried with `opgen test DIR`; in the program, `msopgen_wrap.fuse(model, inputs,
    specs=DIR)` calls the ops.
    """
    from msopgen_wrap.fusion.factory import model_from
    from msopgen_wrap.fusion.model_trace import traced_model
    from msopgen_wrap.fusion.packages import op_source, searched
    from msopgen_wrap.fusion.proposals import survey

    model, inputs, named = model_from(target)
    known, _ = searched(op_source(list(specs) or None, None).specs)
    graph = traced_model(model, inputs, named).graph
    found = survey(graph, known)
    foldable = _foldable(model, (inputs, named))
    if not found.proposals and not found.covered and not foldable:
        raise OpgenError(
            Diagnostic(
                "OPG747",
                f"no chain of {target} would gain from an op",
                why="; ".join(found.left[:3]) or _nothing_moved(graph),
            )
        )
    written = _write(found.proposals, folder) if folder else []
    if as_json:
        output.print_json({**_data(found, written), "foldable": foldable})
    else:
        _print(found, written, foldable)
    return output.OK


def _nothing_moved(graph: Any) -> str:
    """Say why a model has no chain at all."""
    inputs = [n.meta.get("val") for n in graph.nodes if n.op == "placeholder"]
    if any(getattr(v, "numel", lambda: 1)() == 0 for v in inputs):
        return "an example input has no elements, so no bytes are moved"
    return "no two pointwise steps or reductions follow one another"


def _foldable(model: Any, example: tuple[tuple[Any, ...], dict[str, Any]]) -> list[str]:
    """Return which batch norms could be part of convolutions; none in training."""
    from msopgen_wrap.fusion.batch_norm import folding_of

    try:
        done = folding_of(model, example).done
    except OpgenError:
        return []
    return [
        f"batch norm {norm.norm} can be a part of convolution {norm.convolution}"
        + (f", before {norm.epilogue}" if norm.epilogue else "")
        for norm in done
    ]


def _write(proposals: list[Proposal], folder: Path) -> list[Path]:
    """Write the specs; nothing when a file of the user's would be overwritten."""
    files = {folder / p.file: p.text for p in proposals}
    for path, text in files.items():
        if path.exists() and path.read_text(encoding="utf-8", errors="replace") != text:
            raise OpgenError(
                Diagnostic(
                    "OPG748",
                    f"'{path}' exists and is not what would be written",
                    Location(str(path)),
                    fix="choose another folder with -o, or remove the file",
                )
            )
    if files:
        output_folder(folder)
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    return list(files)


def _print(found: Survey, written: list[Path], foldable: list[str]) -> None:
    from msopgen_wrap.byte_counts import size_text
    from msopgen_wrap.fusion.regions import place_of

    for site in found.covered:
        saved = size_text(site.before - site.after)
        output.echo(f"known op {site.label} at {place_of(site.anchor)}: saves {saved}")
    for proposal in found.proposals:
        output.echo(
            f"new op {proposal.spec.op}: saves {size_text(proposal.saved)} of "
            f"{size_text(proposal.bytes_before)} in {len(proposal.places)} place(s)"
        )
        for place in proposal.places:
            output.echo(f"  at {place}")
        if not written:
            output.echo("\n".join(f"    {row}" for row in proposal.text.splitlines()))
    for text in found.left:
        output.echo(f"left: {text}")
    for text in foldable:
        output.echo(f"{text}: msopgen_wrap.fuse(model, inputs, fold=True)")
    for path in written:
        output.echo(f"wrote {path}")


def _data(found: Survey, written: list[Path]) -> dict[str, Any]:
    return {
        "known": [
            {"op": s.label, "node": s.anchor.name, "before": s.before, "after": s.after}
            for s in found.covered
        ],
        "proposals": [
            {
                "op": p.spec.op,
                "file": p.file,
                "places": p.places,
                "before": p.bytes_before,
                "after": p.bytes_after,
                "spec": p.text,
            }
            for p in found.proposals
        ],
        "left": found.left,
        "written": [str(path) for path in written],
    }
