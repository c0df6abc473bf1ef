"""Options that several commands have, in the same words."""

from __future__ import annotations

from pathlib import Path

import click

include_option = click.option(
    "-I", "--include", "includes", multiple=True, type=click.Path(path_type=Path)
)
define_option = click.option(
    "-D", "--define", "defines", multiple=True, help="Macro NAME or NAME=VALUE."
)
l2_option = click.option(
    "--l2",
    type=click.Choice(["cold", "warm"]),
    default="cold",
    show_default=True,
    help="Whether L2 holds the inputs when the kernel starts.",
)
