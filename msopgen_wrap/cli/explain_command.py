"""``opgen explain``: the long text of a code, ours or CANN's."""

from __future__ import annotations

import click

from msopgen_wrap.cli import output
from msopgen_wrap.explain import Explanation, all_explanations, find


@click.command("explain")
@click.argument("codes", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(codes: tuple[str, ...], as_json: bool) -> int:
    """Explain diagnostic CODES (OPG012) and errors that CANN users meet (561002, EZ9999, 507015).

    A piece of an error message works too: opgen explain "not in libopapi.so". Without CODES all
    known codes are listed.
    """
    if not codes:
        found = all_explanations()
        if as_json:
            output.print_json([e.as_dict() for e in found])
        else:
            for entry in found:
                output.echo(f"{entry.codes[0]:10s} {entry.title}")
        return output.OK
    entries: list[Explanation] = []
    unknown = []
    for code in codes:
        matches = find(code)
        entries += [m for m in matches if m not in entries]
        if not matches:
            unknown.append(code)
    if as_json:
        output.print_json([e.as_dict() for e in entries])
    else:
        output.echo("\n".join(_text(e) for e in entries).rstrip("\n"))
    for code in unknown:
        output.echo(f"no explanation for '{code}'; `opgen explain` lists all codes", err=True)
    return output.FINDINGS if unknown else output.OK


def _text(entry: Explanation) -> str:
    head = output.styled(f"{', '.join(entry.codes)}: {entry.title}", "place")
    return f"{head}\n\n{entry.body}\n"
