#!/usr/bin/env python3
"""Plan torch's own operators: one call of each entry of torch's operator database as a spec.

For every entry of ``torch.testing._internal.common_methods_invocations.op_db`` one sample becomes a
spec of one call, with the sample's sizes: the first whose tensors are not empty, or another one,
in another dtype, with shapes left open. The report says how many of them are planned, how the
others are refused, and with ``--run`` how many of the planned ones equal torch in check mode.

    python scripts/opdb_plans.py                                  plan all
    python scripts/opdb_plans.py --run 30 --seed 1                and run 30 drawn at random
    python scripts/opdb_plans.py --run 700 --results FILE         and run all; may be stopped
    python scripts/opdb_plans.py --only 'special.*' --specs DIR   keep the specs
    python scripts/opdb_plans.py --sample 2 --dtype bfloat16      another sample, another dtype
    python scripts/opdb_plans.py --open                           rank and sizes left open

Outcomes: ok, equal, wrong (``--run``), OPGnnn (refused), skip (random, complex, sparse, no sample,
or values that are no literals). Exit code 1 when anything is wrong or ends in OPG099. The file of
``--results`` holds a line per spec that was run; a second run of the same spec reads it there, so
a change of opgen wants a new file.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import random
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from yardsticks.trials import ROOT, Outcome, Results, plan, test

sys.path.insert(0, str(ROOT))  # opgen itself, of this clone


def write_specs(folder: Path, options: Any) -> tuple[dict[str, Path], dict[str, str]]:
    """Write all specs; return them and the reasons of those that were skipped, by label."""
    import torch
    from opdb_specs import SkipError, label_of, spec_of
    from torch.testing._internal.common_methods_invocations import op_db

    dtype = getattr(torch, options.dtype) if options.dtype else None
    paths: dict[str, Path] = {}
    skipped: dict[str, str] = {}
    for op in op_db:
        label = label_of(op)
        if not fnmatch.fnmatch(label, options.only):
            continue
        try:
            text = spec_of(op, options.sample, dtype, options.open)
        except SkipError as error:
            skipped[label] = str(error)
            continue
        except Exception as error:
            skipped[label] = f"{type(error).__name__}: {(str(error) or '-').splitlines()[0]}"
            continue
        paths[label] = folder / f"{label}.yaml"
        paths[label].write_text(text)
    return paths, skipped


def _show(done: int, all_: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{done}/{all_}", end="", file=sys.stderr, flush=True)


def main() -> int:
    warnings.simplefilter("ignore")  # of torch, about its own operators
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="*", help="entries, a pattern")
    parser.add_argument("--sample", type=int, default=0, help="0: the first; else one at random")
    parser.add_argument("--dtype", help="dtype of the samples, instead of the first that is taken")
    parser.add_argument("--open", action="store_true", help="leave rank and sizes of inputs open")
    parser.add_argument("--specs", type=Path, help="keep the specs in this folder")
    parser.add_argument("--run", type=int, default=0, help="test this many of the planned")
    parser.add_argument("--seed", type=int, default=0, help="of the order in which they are run")
    parser.add_argument("--results", type=Path, help="one JSON line per spec that was run")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--report", type=Path, help="one JSON line per entry")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.specs or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        paths, skipped = write_specs(folder, options)
        outcomes: dict[str, Outcome] = {k: ("skip", why) for k, why in skipped.items()}
        outcomes.update(plan(paths, options.jobs, _show))
        planned = [k for k, (what, _) in outcomes.items() if what == "ok"]
        random.Random(options.seed).shuffle(planned)
        outcomes.update(test(paths, planned[: options.run], Results(options.results), 1, _show))
    if options.report:
        rows = [
            json.dumps({"op": k, "outcome": what, "why": why})
            for k, (what, why) in sorted(outcomes.items())
        ]
        options.report.write_text("\n".join(rows) + "\n")
    for outcome, count in Counter(what for what, _ in outcomes.values()).most_common():
        print(f"{count:5d} {outcome}")
    print(f"{len(planned)} of {len(paths)} planned ({len(planned) / max(1, len(paths)):.0%})")
    return int(any(what in ("wrong", "OPG099") for what, _ in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())
