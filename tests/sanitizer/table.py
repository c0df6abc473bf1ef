"""Write ``ascendc_kernels/emulation/SANITIZER.md``: the table of checks, from the test kernels.

``python -m tests.sanitizer.table`` rewrites the file; a test keeps it up to date.
"""

from __future__ import annotations

import csv
from pathlib import Path

from msopgen_wrap.run.findings import CHECKS

from .cases import Case, load_cases

TARGET = Path(__file__).parents[2] / "ascendc_kernels" / "emulation" / "SANITIZER.md"

#: What the official tools check and our checks that find it; in parentheses: why not.
_OFFICIAL = Path(__file__).with_name("official.csv")
_HEAD = Path(__file__).with_name("sanitizer_head.md")


def official() -> list[dict[str, str]]:
    """Return the checks of the official tools: tool, check, ours, found and silent kernels."""
    with _OFFICIAL.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _row(case: Case) -> str:
    setup = f" ({case.blocks} blocks)" if case.blocks > 1 else ""
    setup += f" ({case.soc})" if "310p" in case.soc else ""
    setup += "" if case.auto_sync else " (auto-sync=off)"
    setup += "" if case.tail_write == "warning" else f" (tail-write={case.tail_write})"
    setup += "" if case.freed_tensor == "warning" else f" (freed-tensor={case.freed_tensor})"
    statement = f": `{case.statement}`" if case.statement else ""
    return f"`{case.name}`{setup}{statement}"


def build() -> str:
    """Return the text of the file."""
    cases = load_cases()
    lines = [_HEAD.read_text(encoding="utf-8")]
    for check, meaning in CHECKS.items():
        mine = [c for c in cases if c.check == check]
        lines.append(f"### {check}\n{meaning[0].upper()}{meaning[1:]}.\n")
        for title, wanted in (
            ("found", "found"),
            ("warned about", "warning"),
            ("silent on", "silent"),
        ):
            rows = [_row(c) for c in mine if c.expect == wanted]
            if rows:
                lines.append(f"- {title}\n" + "\n".join(f"  - {row}" for row in rows))
        lines.append("")
    lines.append("## Against the official tools\n")
    lines.append("Kernels with the bug, and after the slash correct ones that look like it.\n")
    lines.append("| tool | its check | found here as | proved by |\n|---|---|---|---|")
    for row in official():
        proof = ""
        if row["found"]:
            proof = " / ".join(
                ", ".join(f"`{name}`" for name in row[part].split()) for part in ("found", "silent")
            )
        lines.append(f"| {row['tool']} | {row['check']} | {row['ours']} | {proof} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TARGET.write_text(build(), encoding="utf-8")
