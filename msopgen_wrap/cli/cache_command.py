"""``opgen cache``: what the build cache holds, and how to empty it."""

from __future__ import annotations

import time

import click

from msopgen_wrap.byte_counts import size_text
from msopgen_wrap.cli import output


@click.command("cache")
@click.argument("action", type=click.Choice(["show", "clear", "path"]), default="show")
@click.option("--kind", help="Only entries of this kind, as `opgen cache` lists them.")
@click.option(
    "--older-than",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help="Only entries unused so long.",
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(action: str, kind: str | None, older_than: float | None, as_json: bool) -> int:
    """Show the build cache, clear it, or print its path.

    It holds the compiled emulation library, kernels and torch bindings, keyed by content and
    compiler; clearing it only costs time. OPGEN_CACHE_DIR moves it.
    """
    from msopgen_wrap.build import cache

    folder = cache.cache_dir()
    if action == "path":
        output.print_json({"path": str(folder)}) if as_json else output.echo(str(folder))
        return output.OK
    if action == "clear":
        count, size = cache.clear(kind, older_than)
        if as_json:
            output.print_json({"removed": count, "bytes": size})
        else:
            output.echo(f"removed {count} entries, {size_text(size)}")
        return output.OK
    now = time.time()
    entries = [
        e
        for e in cache.entries()
        if (kind is None or e.kind == kind)
        and (older_than is None or now - e.used > older_than * 86400)
    ]
    if as_json:
        rows = [
            {"kind": e.kind, "label": e.label, "key": e.key, "bytes": e.size, "used": e.used}
            for e in entries
        ]
        output.print_json({"path": str(folder), "entries": rows})
        return output.OK
    for entry in sorted(entries, key=lambda e: (e.kind, -e.used)):
        age = (now - entry.used) / 86400
        output.echo(f"{entry.kind:12s} {size_text(entry.size):>9s} {age:6.1f} d  {entry.label}")
    total = sum(e.size for e in entries)
    output.echo(f"{len(entries)} entries, {size_text(total)} in {folder}")
    return output.OK
