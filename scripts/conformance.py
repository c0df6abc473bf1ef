"""Run a list of public AscendC programs in the emulation and print how far each gets.

    scripts/conformance.py --root DIR                     every example folder below DIR
    scripts/conformance.py --root DIR --list LIST.csv     the rows of a list (columns: path)
    scripts/conformance.py --root DIR -k brcb --scenarios all
    scripts/conformance.py --root DIR --cases 2           op projects of a benchmark, two cases each

DIR holds repositories that the user has fetched: folders with an ``.asc`` program (asc-devkit's
examples) or tasks with ``answer/0`` and ``validation`` (NPUKernelBench). They are only read,
programs run in a temporary copy. A list may also name op projects (op_host + op_kernel) and kernel
files, which have no data to compare with and are only compiled. Columns: compiles, runs, matches
its golden data, sanitizer clean, seconds; ``-``: not tried.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from kernel_bench.compile_only import compile_op_project, compile_source, is_op_project
from kernel_bench.task import TaskResult, find_tasks, run_task_isolated

from msopgen_wrap.foreign.example_project import Example, ExampleResult, read_example, run_example


def main() -> int:
    """Run the list; exit code 0 when everything that applies matches and is clean."""
    options = _options()
    examples = [e for e in _examples(options.root, options.list) if options.k in str(e.folder)]
    tasks = [t for t in _tasks(options.root, options.list) if options.k in str(t)]
    others = [o for o in _others(options.root, options.list) if options.k in str(o)]
    results: list[ExampleResult | TaskResult] = []
    print(
        f"{'example':48} {'compiles':8} {'runs':5} {'golden':6} {'clean':5} {'comp s':>6} {'s':>6}"
    )
    with tempfile.TemporaryDirectory(prefix="opgen-conformance-") as scratch:
        for example in examples:
            scenarios = example.scenarios if options.scenarios == "all" else ()
            for scenario in scenarios or ("",):
                result = run_example(
                    example,
                    Path(scratch),
                    scenario=scenario,
                    mode=options.mode,
                    soc=options.soc,
                    timeout=options.timeout,
                )
                results.append(result)
                print(_row(result), flush=True)
        for path in others:
            if path.is_dir():
                result = compile_op_project(path, soc=options.soc)
            else:
                result = compile_source(path, Path(scratch), soc=options.soc)
            results.append(result)
            print(_row(result), flush=True)
    for task in tasks:
        outcome = run_task_isolated(
            task,
            cases=options.cases,
            mode=options.mode,
            soc=options.soc,
            timeout=options.timeout,
        )
        results.append(outcome)
        print(_row(outcome), flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(r) for r in results], indent=1) + "\n")
    return 0 if _summarised(results) else 1


def _summarised(results: list[ExampleResult | TaskResult]) -> bool:
    """Print the counts; return whether everything that applies matches and is clean."""
    compiled = [r for r in results if r.compiles and r.runs is None]
    counted = [r for r in results if not getattr(r, "skipped", "") and r not in compiled]
    good = [r for r in counted if r.matches and r.clean is not False]
    print(
        f"{len(good)} of {len(counted)} match and are clean; {len(compiled)} compiled only; "
        f"{len(results) - len(counted) - len(compiled)} skipped"
    )
    return len(good) == len(counted)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--list", type=Path, help="CSV with a column `path`")
    parser.add_argument("-k", default="", help="only folders whose path contains this text")
    parser.add_argument("--scenarios", choices=["default", "all"], default="default")
    parser.add_argument("--cases", type=int, default=1, help="of a benchmark task; 0: all")
    parser.add_argument("--mode", choices=["fast", "check"], default="check")
    parser.add_argument("--soc", default="ascend910b3")
    parser.add_argument("--timeout", type=float, default=120.0)
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    return parser.parse_args()


def _listed(root: Path, listing: Path) -> list[Path]:
    with listing.open(encoding="utf-8") as file:
        paths = dict.fromkeys(row["path"] for row in csv.DictReader(file))
    return [found for p in paths if (found := _resolve(root, p)) is not None]


def _examples(root: Path, listing: Path | None) -> list[Example]:
    if listing is None:
        folders = sorted({p.parent for p in root.rglob("*.asc")})
    else:
        folders = [p for p in _listed(root, listing) if p.is_dir()]
    found = (read_example(folder) for folder in folders)
    return [example for example in found if example is not None]


def _tasks(root: Path, listing: Path | None) -> list[Path]:
    if listing is None:
        return find_tasks(root)
    folders = [task for p in _listed(root, listing) if (task := _task(p)) is not None]
    return list(dict.fromkeys(folders))


def _task(path: Path) -> Path | None:
    """Return the benchmark task that a listed path names or lies in."""
    for folder in (path, *path.parents):
        if (folder / "validation" / "prepare_inputs.py").is_file():
            return folder
    return None


def _others(root: Path, listing: Path | None) -> list[Path]:
    """Return listed op projects and kernel files, which are neither example nor task."""
    if listing is None:
        return []
    found = []
    for path in _listed(root, listing):
        if path.is_file():
            found.append(path)
        elif _task(path) is None and read_example(path) is None:
            project = path if is_op_project(path) else path.parent
            if is_op_project(project):
                found.append(project)
            else:
                print(f"nothing to run in {path}", file=sys.stderr)
    return found


def _resolve(root: Path, path: str) -> Path | None:
    """A listed path may start with the repository as owner+name, name, or not at all."""
    first, _, rest = path.partition("/")
    candidates = [root / path, root / rest, root / first.split("+")[-1] / rest]
    found = next((c for c in candidates if c.exists()), None)
    if found is None:
        print(f"not found below {root}: {path}", file=sys.stderr)
    return found


def _row(result: ExampleResult | TaskResult) -> str:
    def mark(value: bool | None) -> str:
        return "-" if value is None else "yes" if value else "NO"

    name, detail = result.name, result.detail
    if isinstance(result, TaskResult):
        name += f" [{result.cases}]" if result.cases else ""
        detail = "; ".join([detail, *result.alarms, *result.notes]).strip("; ")
    else:
        name += f" [{result.scenario}]" if result.scenario else ""
        if result.skipped:
            return f"{name:48} skipped: {result.skipped}"
    times = f"{result.compile_seconds:6.1f} {result.seconds:6.1f}"
    return (
        f"{name:48} {mark(result.compiles):8} {mark(result.runs):5} {mark(result.matches):6} "
        f"{mark(result.clean):5} {times} {detail}"
    )


if __name__ == "__main__":
    sys.exit(main())
