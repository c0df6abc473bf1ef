"""``opgen new``: scaffold or update a project."""

from __future__ import annotations

import functools
from pathlib import Path

import click

from msopgen_wrap.cli import output
from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.manifest import BACKENDS, Manifest, read_manifest
from msopgen_wrap.project.tree import STYLES, ProjectOptions, project_spec_path
from msopgen_wrap.project.writer import Changes
from msopgen_wrap.spec.findings import Findings
from msopgen_wrap.spec.gradient import gradient_name
from msopgen_wrap.spec.loader import load_specs
from msopgen_wrap.spec.model import OpSpec


@click.command("new", epilog=output.EXIT_CODES)
@click.argument("specs", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path),
    help="Project folder. Default: the op's name, or '<vendor>_ops' for several ops.",
)
@click.option("--vendor", help="Vendor of the package and torch namespace. Default: opgen.")
@click.option("--soc", help="SoCs, separated by commas. Default: those of the specs.")
@click.option(
    "--style",
    type=click.Choice([*STYLES, "auto"]),
    help="CANN project style. Default: that of the CANN found, else 8.1.",
)
@click.option(
    "--backend",
    type=click.Choice(["ascend", *BACKENDS]),
    help="ascend (default): a CANN project. torch-cpp: a torch C++ extension with plain loops, no "
    "Ascend in it. torch-cuda: the same with CUDA kernels beside the loops.",
)
@click.option("--only", is_flag=True, help="Drop ops of the project that SPECS do not name.")
@click.option("--diff", "show_diff", is_flag=True, help="Show what would change; write nothing.")
@click.option("--force", is_flag=True, help="Overwrite files that were edited, too.")
@click.option("--keep", is_flag=True, help="Leave edited files as they are, write the rest.")
@click.option(
    "--compile-commands",
    is_flag=True,
    help="Also write compile_commands.json, for editors on this machine.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what changed as JSON.")
def command(
    specs: tuple[Path, ...],
    folder: Path | None,
    vendor: str | None,
    soc: str | None,
    style: str | None,
    backend: str | None,
    only: bool,
    show_diff: bool,
    force: bool,
    keep: bool,
    compile_commands: bool,
    as_json: bool,
) -> int:
    """Scaffold a project from SPECS, or update an existing one.

    A spec is a file, a folder of *.yaml, or FILE.py:NAME, a function under @op (the file is read,
    not run). The project gets each as specs/<op>.yaml.

    In an existing project its other ops stay, and SPECS may be left out: everything is then
    generated anew from its own specs/. A file that you edited is never overwritten: when its
    generated text changed as well, nothing is written and the file is named (exit code 1).
    """
    if force and keep:
        raise click.UsageError("--force and --keep contradict each other")
    root, old, loaded, refused = _gather(specs, folder, vendor, only, backend)
    extension = _backend(backend, old)
    if extension and (style or soc or compile_commands):
        raise click.UsageError(f"--style, --soc and --compile-commands are not for {extension}")
    options = ProjectOptions(
        vendor=_vendor(vendor if vendor is not None else old.vendor if old else "opgen"),
        style=extension or _style(style, old),
        soc=parse_socs(soc) if soc else (old.soc if old else ()),
    )
    from msopgen_wrap.cli.check_command import contradictions
    from msopgen_wrap.project.tree import render_project
    from msopgen_wrap.project.writer import diff_project, write_project

    # A wrong shape rule would become a wrong InferShape: better no project than that one.
    # Gradients come after the formulas that they are of: what is wrong there is wrong here, too.
    for gradients in (False, True):
        formulas = [s for s in loaded if s.compute is not None and s.differentiated == gradients]
        wrong = [d for spec in formulas for d in contradictions(spec)]
        if wrong:
            raise OpgenError(wrong)
    if extension:
        from msopgen_wrap.torch_cpp.extension import render_extension

        files = render_extension(loaded, options.vendor, extension)
    else:
        files = render_project(loaded, options)
    if show_diff:
        text = diff_project(files, root)
        if as_json:
            output.print_json({"ok": not text, "diff": text})
        else:
            _print_diff(text)
        return output.FINDINGS if text else output.OK
    manifest = Manifest(
        options.vendor,
        options.style,
        options.soc,
        tuple(project_spec_path(s) for s in sorted(loaded, key=lambda s: s.name)),
        {},
    )
    changes = write_project(files, root, manifest, force=force, keep=keep)
    if compile_commands and (keep or not changes.conflicts):
        from msopgen_wrap.build.compile_commands import write_compile_commands

        write_compile_commands(loaded, root)
    step = f"pip install --no-build-isolation {root} && pytest {root}/tests" if extension else ""
    return _report(changes, root, loaded, refused, keep, as_json, step)


def _gather(
    paths: tuple[Path, ...],
    folder: Path | None,
    vendor: str | None,
    only: bool,
    backend: str | None,
) -> tuple[Path, Manifest | None, list[OpSpec], dict[str, str]]:
    """Return project folder, its manifest if it exists, and the specs of the whole project.

    The last is why an op with ``backward: auto`` gets no kernel, by the op's name.
    """
    root = folder
    if root is None and not paths:
        root = Path(".")
    old = read_manifest(root) if root is not None else None
    if not paths and (old is None or root is None):
        raise click.UsageError("give at least one SPEC, or -o with an existing project")
    given = load_specs(paths) if paths else []
    if root is None:
        root = Path(given[0].name if len(given) == 1 else f"{vendor or 'opgen'}_ops")
        old = read_manifest(root)
    if extension := _backend(backend, old):
        from msopgen_wrap.torch_cpp.extension import with_extension_gradients

        with_gradients = functools.partial(with_extension_gradients, backend=extension)
    else:
        from msopgen_wrap.families.gradients import with_chosen_gradients

        with_gradients = functools.partial(with_chosen_gradients)
    given, refused = with_gradients(given)
    if old is None or (only and paths):
        return root, old, given, refused
    names = {s.name for s in given}
    files = [root / p for p in old.specs if Path(p).stem not in names and (root / p).is_file()]
    kept, more = with_gradients(load_specs(files) if files else [])
    # A gradient that was derived once goes with the choice of its op.
    alone = {gradient_name(s) for s in given if s.backward != "kernel"}
    kept = [s for s in kept if not (s.differentiated and s.name in alone)]
    return root, old, [*given, *kept], {**refused, **more}


def _backend(chosen: str | None, old: Manifest | None) -> str:
    """Return the backend of an extension; empty for a CANN project.

    Raises:
        OpgenError: OPG573, the folder holds a project of another kind.
    """
    before = "" if old is None else old.style if old.style in BACKENDS else "ascend"
    if chosen is not None and before not in ("", chosen):
        raise OpgenError(
            Diagnostic(
                "OPG573",
                f"the folder holds a project of the backend {before}, not {chosen}",
                why="a project has one backend: its files have other names and meanings",
                fix="choose another folder with -o",
            )
        )
    backend = chosen or before
    return backend if backend in BACKENDS else ""


def _vendor(name: str) -> str:
    from msopgen_wrap.spec.names import check_vendor

    return check_vendor(name)


def _style(style: str | None, old: Manifest | None) -> str:
    if style not in (None, "auto"):
        return str(style)
    if style is None and old is not None:
        return old.style
    from msopgen_wrap.cann_discovery import find_cann

    tree = find_cann()
    return tree.style if tree is not None else STYLES[0]


def parse_socs(text: str) -> tuple[str, ...]:
    """Return the SoCs of a comma-separated option; raises OpgenError for unknown ones."""
    from msopgen_wrap.diagnostics import Location
    from msopgen_wrap.spec.checks import check_socs

    findings = Findings()
    names = [(n.strip(), Location()) for n in text.split(",") if n.strip()]
    result = check_socs(names, findings)
    if findings.has_errors:
        raise OpgenError(findings.sorted())
    return result


def _report(
    changes: Changes,
    root: Path,
    specs: list[OpSpec],
    refused: dict[str, str],
    keep: bool,
    as_json: bool,
    next_step: str = "",
) -> int:
    blocked = bool(changes.conflicts) and not keep
    if as_json:
        value = {"ok": not changes.conflicts, "project": str(root), "written": not blocked}
        output.print_json({**value, "ops": [s.op for s in specs], **changes.as_dict()})
        return output.FINDINGS if changes.conflicts else output.OK
    if changes.conflicts:
        what = "you edited these files, and what is generated for them changed too"
        names = "\n".join(changes.conflicts)
        fix = "--diff shows the change, --force overwrites them, --keep writes only the other files"
        done = "they were left as they are" if keep else "nothing was written"
        output.print_diagnostics(
            [Diagnostic("OPG090", f"{what}; {done}", why=names, fix="" if keep else fix)]
        )
        if blocked:
            return output.FINDINGS
    parts = [
        f"{len(rows)} {word}"
        for rows, word in (
            (changes.created, "new"),
            (changes.updated, "updated"),
            (changes.removed, "removed"),
            (changes.kept, "edited by you and kept"),
        )
        if rows
    ]
    if changes.unchanged:
        parts.append(f"{changes.unchanged} unchanged")
    ops = ", ".join(s.op for s in specs[:5]) + (f" and {len(specs) - 5} more" if specs[5:] else "")
    output.echo(f"{root}: {ops}: {', '.join(parts) or 'no files'}")
    for path in changes.kept:
        output.echo(f"  kept {path}")
    for name, why in refused.items():
        output.echo(f"  gradients of {name} by PyTorch: {why}")
    if changes.created and not changes.updated:
        output.echo(f"next: {next_step or f'opgen test {root}'}")
    return output.FINDINGS if changes.conflicts else output.OK


def _print_diff(text: str) -> None:
    if not text:
        output.echo("no changes")
        return
    roles = {"+": "ok", "-": "problem", "@": "note"}
    for line in text.splitlines():
        output.echo(output.styled(line, roles.get(line[:1], "")) if line[:1] in roles else line)
