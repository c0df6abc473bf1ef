#!/usr/bin/env python3
"""Measure how many formulas that nobody here wrote become kernels, and how many of these are right.

    python scripts/coverage.py --plan-only                       torch's operator database, planned
    python scripts/coverage.py --results FILE                    and tested; may be stopped
    python scripts/coverage.py --kernelbench DIR --multikernelbench DIR --cann-bench DIR
    python scripts/coverage.py --kernelbench DIR --kernelbench-level 2    sequences of operators
    python scripts/coverage.py --only '*softmax*' --specs DIR    some entries; keep their specs

The benchmarks are checkouts of other projects; their files are executed. A yardstick without its
folder is printed as not given. docs/coverage.md says where they are from and how entries become
specs. Tests run in check mode, against the reference in float64. Exit code 1 when an entry that
plans is wrong, or ends in an error of opgen (OPG099).
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from yardsticks.measure import (
    WRONG,
    Measure,
    Trial,
    cann_bench,
    causes,
    kernel_bench,
    multi_kernel_bench,
    operator_database,
)
from yardsticks.trials import ROOT, Results, kit_digest

sys.path.insert(0, str(ROOT))  # opgen itself, of this clone

HEAD = ["yardstick", "entries", "as specs", "planned", "tested", "equal", "to reach"]


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a table in Markdown, columns of equal width."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)) + " |" for r in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)


def report(measures: Sequence[Measure | str], with_misses: bool) -> str:
    """Return the table, the causes of misses and the misses.

    Args:
        measures: a name stands for a yardstick that was not given.
    """
    rows = [HEAD]
    for m in measures:
        rows.append([m, "not given", *[""] * 5] if isinstance(m, str) else m.cells())
    made = [m for m in measures if isinstance(m, Measure)]
    parts = [table(rows)]
    listed = causes(made)
    if listed:
        parts.append("What is missing, by cause:\n")
        parts[-1] += "\n".join(f"{n:5d}  {code:<8} {why}" for n, code, why in listed[:40])
    for m in made:
        if with_misses and m.misses():
            rows_ = [f"  {code:<8} {label}: {why[:160]}" for code, label, why in m.misses()]
            parts.append(f"{m.name}, missing:\n" + "\n".join(rows_))
        if m.left_out:
            parts.append(f"{m.name}: {len(m.left_out)} entries are no single call of real tensors")
    return "\n\n".join(parts)


def measures_of(options: argparse.Namespace) -> list[Measure | str]:
    """Measure what the options ask for."""
    results = Results(options.results, kit_digest())
    trial = Trial(results, options.only, options.jobs, not options.plan_only, options.specs)
    found: list[Measure | str] = []
    if not options.no_op_db:
        found += [operator_database(trial, sample) for sample in options.samples]
    found.append(cann_bench(trial, options.cann_bench) if options.cann_bench else "CANN Bench")
    if options.multikernelbench:
        found += multi_kernel_bench(trial, options.multikernelbench)
    else:
        found.append("MultiKernelBench")
    if options.kernelbench:
        levels = options.kernelbench_level
        found += [kernel_bench(trial, options.kernelbench, level) for level in levels]
    else:
        found.append("KernelBench")
    return found


def main() -> int:
    """Measure and print; return the exit code."""
    warnings.simplefilter("ignore")  # of torch, about its own operators
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--no-op-db", action="store_true", help="leave torch's op_db out")
    add("--samples", type=int, nargs="+", default=[0, 1], metavar="N", help="of op_db")
    add("--cann-bench", type=Path, metavar="DIR")
    add("--multikernelbench", type=Path, metavar="DIR")
    add("--kernelbench", type=Path, metavar="DIR")
    add("--kernelbench-level", type=int, nargs="+", choices=(1, 2, 3), default=[1], metavar="N")
    add("--only", default="*", help="pattern of the entries")
    add("--plan-only", action="store_true", help="do not test what plans")
    add("--results", type=Path, help="keep outcomes of tests; read again")
    add("--specs", type=Path, help="keep the specs in this folder")
    add("--json", type=Path, help="write all outcomes into this file")
    add("--no-misses", action="store_true", help="do not list what is missing")
    add("-j", "--jobs", type=int, default=2)
    options = parser.parse_args()
    for folder in (options.cann_bench, options.multikernelbench, options.kernelbench):
        if folder is not None and not folder.is_dir():
            parser.error(f"{folder} is no folder")
    measures = measures_of(options)
    print(report(measures, not options.no_misses))
    made = [m for m in measures if isinstance(m, Measure)]
    if options.json:
        options.json.write_text(json.dumps([m.data() for m in made], indent=1) + "\n")
    return int(any(m.count(WRONG, "OPG099") for m in made))


if __name__ == "__main__":
    sys.exit(main())
