"""``opgen list``: the op library, or the ops of a project or folder."""

from __future__ import annotations

from pathlib import Path

import click

from msopgen_wrap.cli import output
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import LoadResult, read_spec, read_specs
from msopgen_wrap.spec.model import Attr, OpSpec, ParamKind, TensorParam


@click.command("list", epilog=output.EXIT_CODES)
@click.argument("targets", nargs=-1, type=click.Path(path_type=Path))
@click.option("--paths", is_flag=True, help="Print only the paths of the specs, for scripts.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(targets: tuple[Path, ...], paths: bool, as_json: bool) -> int:
    """List the ops of TARGETS (projects, folders, specs); without TARGETS the op library."""
    library = data_dir("op_specs")
    results = _read(targets) if targets else read_specs([library])
    root = None if targets else library
    if as_json:
        output.print_json([_row(r, root) for r in results])
    elif paths:
        for result in results:
            output.echo(result.path)
    else:
        _print(results, root)
    bad = [d for r in results if r.spec is None for d in r.diagnostics if d.severity == "error"]
    if bad and not as_json:
        output.print_diagnostics(bad)
    return output.FINDINGS if bad else output.OK


def _read(targets: tuple[Path, ...]) -> list[LoadResult]:
    from msopgen_wrap.manifest import read_manifest

    results: list[LoadResult] = []
    for target in targets:
        manifest = read_manifest(target) if target.is_dir() else None
        if manifest is None:
            results += read_specs([target])
        else:
            results += [read_spec(target / name) for name in manifest.specs]
    return results


def signature(spec: OpSpec) -> str:
    """Return ``FusedAddRelu(x, y) -> z`` with optional and list marks and attr defaults."""
    inputs = [_param(p) for p in spec.inputs]
    attrs = [_attr(a) for a in spec.attrs]
    outputs = ", ".join(_param(p) for p in spec.outputs)
    return f"{spec.op}({', '.join([*inputs, *attrs])}) -> {outputs}"


def _param(param: TensorParam) -> str:
    mark = {ParamKind.OPTIONAL: "?", ParamKind.DYNAMIC: "[]"}.get(param.kind, "")
    return param.name + mark + ("!" if param.inplace else "")


def _attr(attr: Attr) -> str:
    if attr.required:
        return f"{attr.name}: {attr.type}"
    shown = list(attr.default) if isinstance(attr.default, tuple) else attr.default
    return f"{attr.name}={shown}"


def _row(result: LoadResult, root: Path | None) -> dict[str, object]:
    spec = result.spec
    row: dict[str, object] = {"path": result.path, "ok": spec is not None}
    if spec is None:
        row["diagnostics"] = [d.as_dict() for d in result.diagnostics]
        return row
    row |= {
        "op": spec.op,
        "name": spec.name,
        "family": _family(result, root),
        "signature": signature(spec),
        "dtypes": list(dict.fromkeys(spec.inputs[0].dtypes)) if spec.inputs else [],
        "handwritten": spec.kernel is not None,
        "backward": spec.backward if isinstance(spec.backward, str) else "explicit",
        "doc": spec.doc,
    }
    return row


def _family(result: LoadResult, root: Path | None) -> str:
    if root is None:
        return ""
    parts = Path(result.path).relative_to(root).parts
    return parts[0] if len(parts) > 1 else ""


def _print(results: list[LoadResult], root: Path | None) -> None:
    family = None
    names = [r.spec.name for r in results if r.spec is not None]
    width = max(map(len, names), default=0)
    for result in results:
        spec = result.spec
        if spec is None:
            output.echo(output.styled(f"  {result.path}: not valid", "problem"))
            continue
        if root is not None and _family(result, root) != family:
            family = _family(result, root)
            output.echo(output.styled(str(family), "place"))
        doc = spec.doc.splitlines()[0] if spec.doc else ""
        output.echo(f"  {spec.name:{width}s}  {doc}")
    if root is not None:
        output.echo(f"\n{len(results)} specs in {root}")
