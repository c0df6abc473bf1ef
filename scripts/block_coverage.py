#!/usr/bin/env python3
"""Which lines of the building blocks that projects copy does a case grid reach?

    scripts/block_coverage.py SPEC... [--json FILE] [--combos N]

Renders each spec, compiles its kernels with the counters of gcov and without optimisation, runs the
case grid in the emulation and lists the statements of ``ascendc_kernels/include/opgen/*.h`` that no
case executed, and those that no kernel contains. A statement counts where any template instance
reaches it. Exit status: 0 every statement was reached, 1 some were not.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from msopgen_wrap.run.op_case import TestCase
    from msopgen_wrap.run.op_runtime import OpRuntime
    from msopgen_wrap.spec.model import OpSpec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

BLOCKS = Path(__file__).resolve().parents[1] / "ascendc_kernels" / "include" / "opgen"
# Elements of the largest input of a case: kernels are not optimised here, and several tiles do.
LARGEST = 1 << 17
Lines = dict[str, dict[int, int]]  # header name -> line -> executions


def block_lines(specs: Sequence[Path], combos: int | None = None) -> Lines:
    """Return how often the case grids of some specs execute each compiled line of the blocks.

    Args:
        combos: dtype combinations of each spec to run; None: all.
    """
    with tempfile.TemporaryDirectory(prefix="opgen-gcov-") as scratch:
        # Counters are written when a process ends.
        done = subprocess.run(
            [sys.executable, __file__, "--run", scratch, str(combos or 0), *map(str, specs)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(done.stderr[-3000:])
        return _collect(Path(scratch))


def statements(text: str) -> list[range]:
    """Return the line numbers of each statement of a header that leaves code behind.

    Text is read line by line: a statement ends with the line that ends in ``;``, ``{``, ``}`` or
    ``:``. Declarations without a call, and conditions that the compiler decides, leave no code.
    """
    found: list[range] = []
    first, joined = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        code = re.sub(r"\s*//.*", "", line).strip()
        if not code or code.startswith("#"):
            continue
        first, joined = (first, f"{joined} {code}") if joined else (number, code)
        if code[-1] in ";{}:":
            if _leaves_code(joined):
                found.append(range(first, number + 1))
            joined = ""
    return found


_NO_CODE = re.compile(
    r"(?:static )?constexpr |static_assert|using |template|namespace |__aicore__"
    r"|(?:\} else )?if constexpr"
)


def _leaves_code(statement: str) -> bool:
    if _NO_CODE.match(statement):
        return False
    return (
        "(" in re.sub(r"\bsizeof\(", "", statement)
        or statement.startswith("return")
        or bool(re.match(r"[\w.\[\]]+ [-+*/]?= ", statement))
    )


def unreached(lines: Lines, folder: Path = BLOCKS) -> dict[str, list[int]]:
    """Return the first lines of the statements that nothing executed, by header.

    Args:
        lines: what :func:`block_lines` returns.
        folder: the headers.
    """
    found = {}
    for path in sorted(folder.glob("*.h")):
        counts = lines.get(path.name, {})
        missing = [
            span.start
            for span in statements(path.read_text(encoding="utf-8"))
            # the parts of a statement have counts of their own, cleaning up among them
            if not any(counts.get(number) for number in span)
        ]
        if missing:
            found[path.name] = missing
    return found


def merged(parts: Iterable[Lines]) -> Lines:
    """Add up what several runs executed."""
    total: Lines = {}
    for part in parts:
        for name, counts in part.items():
            known = total.setdefault(name, {})
            for number, count in counts.items():
                known[number] = known.get(number, 0) + count
    return total


def _collect(folder: Path) -> Lines:
    subprocess.run(
        ["gcov", "--json-format", *(p.name for p in folder.glob("*.gcda"))],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    parts = []
    for path in folder.glob("*.gcov.json.gz"):
        report = json.loads(gzip.decompress(path.read_bytes()))
        for file in report["files"]:
            source = Path(file["file"])
            if source.parent.name == "opgen" and source.suffix == ".h":
                counts: dict[int, int] = {}
                # A project's copy begins with a line that says where it comes from.
                own = (BLOCKS / source.name).read_bytes().count(b"\n")
                shift = source.read_bytes().count(b"\n") - own
                for line in file["lines"]:
                    number = line["line_number"] - shift
                    counts[number] = counts.get(number, 0) + line["count"]
                parts.append({source.name: counts})
    return merged(parts)


def _run(scratch: Path, combos: int, specs: Sequence[Path]) -> None:
    """Compile with counters and run the grids, in a process of its own."""
    from msopgen_wrap.build import emulation
    from msopgen_wrap.build.operators import build_operators
    from msopgen_wrap.project.tree import ProjectOptions, render_project
    from msopgen_wrap.run.case_runner import run_case
    from msopgen_wrap.run.cases import case_grid
    from msopgen_wrap.run.golden import make_inputs
    from msopgen_wrap.run.op_runtime import OpRuntime
    from msopgen_wrap.run.worker import elements
    from msopgen_wrap.spec.loader import load_spec

    number = itertools.count()
    ordinary, link = emulation.compile_object, emulation.link_objects

    def counted(source: Path, arguments: Sequence[str], **options: Any) -> Path:
        if "op_kernel" not in Path(source).parts:
            return ordinary(source, arguments, **options)
        output = scratch / f"kernel{next(number)}.o"
        plain = [a for a in arguments if not a.startswith("-O")]
        command = ["g++", "-std=c++17", "-fPIC", "-O0", "--coverage", *plain]
        subprocess.run([*command, "-c", str(source), "-o", str(output)], check=True)
        return output

    def linked(objects: Any, name: Any, flags: Sequence[str], *rest: Any) -> Path:
        return link(objects, name, [*flags, "--coverage"], *rest)

    emulation.compile_object, emulation.link_objects = counted, linked  # type: ignore[assignment]
    for path in specs:
        spec = load_spec(path)
        project = scratch / spec.name
        for file in render_project([spec], ProjectOptions(parts=("op_host", "op_kernel"))):
            target = project / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(file.text, encoding="utf-8")
        built = build_operators([spec], project)
        runtime = OpRuntime()
        runtime.load_host(built.host)
        for key, library in built.kernels[spec.op].items():
            runtime.register_kernel(spec.op, "", key, library, spec.name)
        passed = []
        for case in case_grid(spec):
            if (combos and case.combo >= combos) or elements(case.shapes) > LARGEST:
                continue
            result = run_case(spec, case, runtime, soc="ascend910b3", mode="fast")
            if result.status == "passed":
                passed.append(case)
                _run_outside(spec, case, runtime)
            elif result.status != "not applicable":
                raise RuntimeError(f"{spec.op} {result.label}: {result.reason}")
        for case in _special_cases(spec, passed):
            _launch(spec, case, runtime, make_inputs(spec, case))


def _special_cases(spec: OpSpec, cases: Sequence[TestCase]) -> list[TestCase]:
    """Return cases with special values in place of others: own ones, and the longest axis.

    The grid has special values in one shape only: no NaN is in a row that comes in parts, and no
    row is all NaN.

    Args:
        cases: those that passed.
    """
    from msopgen_wrap.graph.kept_tensors import frozen_shapes

    own = [frozen_shapes(case.shapes) for case in spec.cases]
    found = []
    for combo in sorted({case.combo for case in cases if case.values == "special"}):
        of_combo = [case for case in cases if case.combo == combo]
        chosen = [case for case in of_combo if case.shapes in own]
        chosen.append(max(of_combo, key=_longest_axis))
        found += [replace(case, values="special") for case in chosen]
    return found


def _longest_axis(case: TestCase) -> int:
    shapes = [shape for shape in case.shapes.values() if shape and isinstance(shape[0], int)]
    return max((max(shape) for shape in shapes), default=0)


def _run_outside(spec: OpSpec, case: TestCase, runtime: OpRuntime) -> None:
    """Run a case with an index past its axis and one before it: what kernels do then is theirs."""
    from msopgen_wrap.graph.index_ranges import index_uses
    from msopgen_wrap.run.golden import make_inputs

    uses = index_uses(spec, case)
    if not uses:
        return
    inputs = make_inputs(spec, case)
    outside = {name: inputs[name].clone() for name in uses}
    for indices in outside.values():
        if indices.numel() > 1:
            indices.view(-1)[0], indices.view(-1)[-1] = -1, 1 << 30
    _launch(spec, case, runtime, inputs, outside)


def _launch(
    spec: OpSpec,
    case: TestCase,
    runtime: OpRuntime,
    inputs: dict[str, Any],
    others: dict[str, Any] | None = None,
) -> None:
    """Run a case whose results are not judged here.

    Args:
        inputs: what PyTorch's results, and so the outputs' shapes, are of.
        others: inputs in place of some of these, for which PyTorch may have no results.
    """
    from msopgen_wrap.run.case_runner import launch, make_outputs
    from msopgen_wrap.run.golden import reference

    outputs = make_outputs(spec, case, inputs, reference(spec, case, inputs))
    launch(spec, case, runtime, inputs | (others or {}), outputs, soc="ascend910b3", mode="fast")


def main() -> int:
    """Print what is not reached."""
    if sys.argv[1:2] == ["--run"]:
        _run(Path(sys.argv[2]), int(sys.argv[3]), [Path(p) for p in sys.argv[4:]])
        return 0
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("specs", nargs="+", type=Path)
    parser.add_argument("--combos", type=int, help="dtype combinations of each spec (default: all)")
    parser.add_argument("--json", type=Path, help="write all counts to a file")
    options = parser.parse_args()
    lines = block_lines(options.specs, options.combos)
    if options.json:
        options.json.write_text(json.dumps(lines, indent=1), encoding="utf-8")
    missing = unreached(lines)
    for name, numbers in missing.items():
        text = (BLOCKS / name).read_text(encoding="utf-8").splitlines()
        for number in numbers:
            print(f"{name}:{number}: {text[number - 1].strip()}")
    texts = [p.read_text(encoding="utf-8") for p in BLOCKS.glob("*.h")]
    total = sum(len(statements(text)) for text in texts)
    left = sum(map(len, missing.values()))
    print(f"{total - left} of {total} statements reached")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
