#!/usr/bin/env python3
"""Plan torch's own operators: one call of each entry of torch's operator database as a spec.

For every entry of ``torch.testing._internal.common_methods_invocations.op_db`` the first sample
whose tensors are not empty becomes a spec of one call, with the sample's sizes. The report says how
many of them are planned, how the others are refused, and with ``--run`` how many of the planned
ones equal torch in check mode.

    python scripts/opdb_plans.py                                  plan all
    python scripts/opdb_plans.py --run 30 --seed 1                and run 30 drawn at random
    python scripts/opdb_plans.py --only 'special.*' --specs DIR   keep the specs

Outcomes: ok, equal, wrong (``--run``), OPGnnn (refused), skip (random, complex, sparse, no sample,
or values that are no literals). Exit code 1 when anything is wrong or ends in OPG099.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import fnmatch
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

DTYPES = {"float32", "int32", "bool", "int64", "float16", "bfloat16", "int8", "uint8", "int16"}
OPERATORS = {
    "__radd__": "{1} + {0}",
    "__rsub__": "{1} - {0}",
    "__rmul__": "{1} * {0}",
    "__rdiv__": "{1} / {0}",
    "__rmod__": "{1} % {0}",
    "__rpow__": "{1} ** {0}",
    "__rand__": "{1} & {0}",
    "__ror__": "{1} | {0}",
    "__rxor__": "{1} ^ {0}",
    "__rmatmul__": "{1} @ {0}",
    "__getitem__": "{0}[{1}]",
    "where": "torch.where({1}, {0}, {2})",
    "polygamma": "torch.polygamma({1}, {0})",
    "special.polygamma": "torch.special.polygamma({1}, {0})",
    "T": "{0}.T",
    "H": "{0}.H",
    "mT": "{0}.mT",
    "mH": "{0}.mH",
}


class SkipError(Exception):
    """A sample that no spec can hold."""


def label_of(op: Any) -> str:
    """Name of a database entry with its variant."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


class SpecWriter:
    """Writes one sample of one entry as a spec."""

    def __init__(self) -> None:
        self.inputs: list[Any] = []

    def literal(self, value: Any) -> str:
        import torch

        if isinstance(value, torch.Tensor):
            if value.layout != torch.strided or str(value.dtype)[6:] not in DTYPES:
                raise SkipError(f"{value.layout} {value.dtype}")
            self.inputs.append(value)
            return f"x{len(self.inputs) - 1}"
        if isinstance(value, torch.dtype):
            return str(value)
        if isinstance(value, slice):
            parts = ["" if v is None else self.literal(v) for v in (value.start, value.stop)]
            step = "" if value.step is None else ":" + self.literal(value.step)
            return ":".join(parts) + step
        if value is Ellipsis:
            return "..."
        if isinstance(value, (list, tuple)):
            items = [self.literal(v) for v in value]
            if isinstance(value, tuple):
                return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"
            return "[" + ", ".join(items) + "]"
        if isinstance(value, float) and value in (float("inf"), float("-inf")):
            return "math.inf" if value > 0 else "-math.inf"
        if value is None or isinstance(value, (bool, int, float, str)):
            return repr(value)
        raise SkipError(f"a {type(value).__name__}")

    def call(self, op: Any, sample: Any) -> str:
        import torch

        args = [self.literal(v) for v in (sample.input, *sample.args)]
        if op.name in OPERATORS:
            text = OPERATORS[op.name].format(*args)
            return text.replace("[(", "[").replace(")]", "]") if op.name == "__getitem__" else text
        names = {k: self.literal(v) for k, v in sample.kwargs.items() if k != "device"}
        args += [f"{k}={v}" for k, v in names.items()]
        name = op.name.replace("nn.functional.", "F.")
        function = getattr(torch, name, None) if "." not in name else None
        if "." not in name and (function is None or isinstance(function, torch.dtype)):
            return f"{args[0]}.{name}({', '.join(args[1:])})"
        name = name if name.startswith("F.") else f"torch.{name}"
        return f"{name}({', '.join(args)})"


def spec_of(op: Any) -> str:
    """Return the text of the spec of one call of an entry; raises SkipError."""
    import torch

    wishes = (torch.float32, torch.int32, torch.bool, torch.int64)
    dtypes = op.supported_dtypes("cpu")
    dtype = next((d for d in wishes if d in dtypes), None)
    if dtype is None:
        raise SkipError("no real dtype")
    torch.manual_seed(0)
    why = "no sample"
    for sample in op.sample_inputs("cpu", dtype, requires_grad=False):
        writer = SpecWriter()
        try:
            call = writer.call(op, sample)
            if not writer.inputs or any(t.numel() == 0 or t.dim() == 0 for t in writer.inputs):
                continue
            torch.manual_seed(0)
            first = op(sample.input, *sample.args, **sample.kwargs)
            torch.manual_seed(1)
            again = op(sample.input, *sample.args, **sample.kwargs)
        except SkipError as error:
            why = str(error)
            continue
        if isinstance(first, (tuple, list)) and len(first) == 1:
            call += "[0]"
        results = list(first) if isinstance(first, (tuple, list)) else [first]
        repeated = list(again) if isinstance(again, (tuple, list)) else [again]
        tensors = [t for t in results if isinstance(t, torch.Tensor)]
        if len(tensors) != len(results) or any(t.numel() == 0 for t in tensors):
            why = "results that are no tensors"
            continue
        if any(str(t.dtype)[6:] not in DTYPES | {"float64"} for t in tensors):
            why = f"gives {tensors[0].dtype}"
            continue
        pairs = zip(results, repeated, strict=True)
        if not all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in pairs):
            raise SkipError("random")
        return text_of(label_of(op), writer.inputs, tensors, call)
    raise SkipError(why)


def text_of(label: str, inputs: list[Any], outputs: list[Any], call: str) -> str:
    """Format a spec whose shapes are those of the tensors."""

    def entry(name: str, tensor: Any) -> str:
        sizes = ", ".join(str(n) for n in tensor.shape)
        dtype = str(tensor.dtype)[6:]
        limits = ""
        if name[0] == "x" and not tensor.is_floating_point() and dtype != "bool":
            limits = f", range: [{int(tensor.min())}, {int(tensor.max())}]"
        return f'  {name}: {{dtype: [{dtype}], shape: "[{sizes}]"{limits}}}'

    words = "".join(c if c.isalnum() else " " for c in label).title().replace(" ", "")
    rows = [f"op: Db{words}", "inputs:"]
    rows += [entry(f"x{i}", t) for i, t in enumerate(inputs)]
    rows += ["outputs:", *(entry(f"y{i}", t) for i, t in enumerate(outputs))]
    rows += ["backward: none", "compute: |", f"  {call}"]
    return "\n".join(rows) + "\n"


def plan_one(path: Path) -> tuple[str, str]:
    """Return the outcome of planning one spec, and the first refusal."""
    import torch

    from msopgen_wrap.diagnostics import OpgenError
    from msopgen_wrap.families import plan_op
    from msopgen_wrap.spec.loader import load_specs

    torch.set_num_threads(1)
    try:
        plan_op(load_specs((path,))[0])
    except OpgenError as error:
        first = error.diagnostics[0]
        return first.code, first.what
    except Exception as error:
        return "OPG099", f"{type(error).__name__}: {error}"
    return "ok", ""


def run_one(path: Path) -> tuple[str, str]:
    """Test one spec in check mode; return ``equal`` or ``wrong`` with the end of the report."""
    command = [sys.executable, "-m", "msopgen_wrap.cli", "test", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=ROOT)
    except subprocess.TimeoutExpired:
        return "wrong", "no end after 600 s"
    if done.returncode == 0:
        return "equal", ""
    return "wrong", (done.stdout + done.stderr).strip()[-600:]


def write_specs(folder: Path, only: str) -> tuple[dict[str, Path], dict[str, str]]:
    """Write all specs; return them and the reasons of those that were skipped, by label."""
    from torch.testing._internal.common_methods_invocations import op_db

    paths: dict[str, Path] = {}
    skipped: dict[str, str] = {}
    for op in op_db:
        label = label_of(op)
        if not fnmatch.fnmatch(label, only):
            continue
        try:
            text = spec_of(op)
        except SkipError as error:
            skipped[label] = str(error)
            continue
        except Exception as error:
            skipped[label] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
            continue
        paths[label] = folder / f"{label}.yaml"
        paths[label].write_text(text)
    return paths, skipped


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="*", help="entries, a pattern")
    parser.add_argument("--specs", type=Path, help="keep the specs in this folder")
    parser.add_argument("--run", type=int, default=0, help="test this many of the planned")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--report", type=Path, help="one JSON line per entry")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.specs or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        paths, skipped = write_specs(folder, options.only)
        outcomes: dict[str, tuple[str, str]] = {k: ("skip", why) for k, why in skipped.items()}
        with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
            results = pool.map(plan_one, paths.values(), chunksize=8)
            for count, (label, outcome) in enumerate(zip(paths, results, strict=True), 1):
                outcomes[label] = outcome
                if sys.stderr.isatty():
                    print(f"\r{count}/{len(paths)}", end="", file=sys.stderr, flush=True)
        planned = [k for k, (what, _) in outcomes.items() if what == "ok"]
        summary = (
            f"{len(planned)} of {len(paths)} planned ({len(planned) / max(1, len(paths)):.0%})"
        )
        random.Random(options.seed).shuffle(planned)
        for label in planned[: options.run]:
            outcomes[label] = run_one(paths[label])
            print(f"{outcomes[label][0]:<6} {label}", flush=True)
    if options.report:
        rows = [
            json.dumps({"op": k, "outcome": what, "why": why})
            for k, (what, why) in sorted(outcomes.items())
        ]
        options.report.write_text("\n".join(rows) + "\n")
    for outcome, count in Counter(what for what, _ in outcomes.values()).most_common():
        print(f"{count:5d} {outcome}")
    print(summary)
    return int(any(what in ("wrong", "OPG099") for what, _ in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())
