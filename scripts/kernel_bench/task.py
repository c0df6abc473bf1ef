"""One task of a public kernel benchmark: an op project, its input maker and its torch reference.

The layout is that of NPUKernelBench: ``answer/<n>/op_host`` and ``op_kernel``,
``validation/prepare_inputs.py``, ``validation/module.py`` (``Model`` is the reference, ``ModelNew``
calls the compiled extension ``kernel_gen_ops``) and ``validation/test_cases.csv``. The reference
runs on CPU tensors; the extension is replaced by a module whose every function runs the op in the
emulation (``extension.py``).

Run as a module (``python -m kernel_bench.task TASK`` in ``scripts``) it prints its result as JSON,
so that a kernel that crashes takes no one along.
"""

from __future__ import annotations

import argparse
import ast
import csv
import importlib.util
import json
import math
import os
import subprocess
import sys
import time
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kernel_bench.extension import Extension, UnsupportedCase, copied, detached, first_line
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.platforms import DEFAULT_SOC

#: The benchmark's own bounds, absolute and relative; an element fails when it exceeds both.
# Elements that are compared at a time.
_COMPARED = 1 << 24
MAX_ERROR = 1e-3
_RESULT = "bench-task-result: "


@dataclass
class TaskResult:
    """Outcome of one task.

    Attributes:
        compiles, runs, matches, clean: None when it was not reached or cannot be told.
        cases: "matching/run" of the test cases.
        detail: what went wrong first.
        alarms: the sanitizer's errors, as "check file:line".
        notes: what the benchmark got that a device would not give, as an InferShape that fails.
    """

    name: str
    compiles: bool | None = None
    runs: bool | None = None
    matches: bool | None = None
    clean: bool | None = None
    cases: str = ""
    compile_seconds: float = 0.0
    seconds: float = 0.0
    detail: str = ""
    alarms: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def find_tasks(root: Path) -> list[Path]:
    """Return the task folders below ``root``, sorted."""
    return sorted(p.parent.parent for p in root.rglob("validation/prepare_inputs.py"))


def run_task_isolated(
    folder: Path, *, cases: int, mode: str, soc: str, timeout: float
) -> TaskResult:
    """Run a task in a process of its own; see :func:`run_task`."""
    command = [sys.executable, "-m", f"{__package__}.task", str(folder)]
    command += ["--cases", str(cases), "--mode", mode, "--soc", soc]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, env=_environment()
        )
    except subprocess.TimeoutExpired:
        return TaskResult(folder.name, runs=False, detail=f"no end after {timeout:g} s")
    start = done.stdout.rfind(_RESULT)  # op_host prints too, not always whole lines
    if start >= 0:
        return TaskResult(**json.JSONDecoder().raw_decode(done.stdout[start + len(_RESULT) :])[0])
    last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
    detail = f"ended with code {done.returncode}: {last[:200]}"
    return TaskResult(folder.name, runs=False, detail=detail)


def _environment() -> dict[str, str]:
    """Return an environment in which this package is found."""
    scripts = str(Path(__file__).resolve().parents[1])
    known = os.environ.get("PYTHONPATH", "")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in (scripts, known) if p)}


def run_task(
    folder: Path, *, cases: int = 0, mode: str = "check", soc: str = DEFAULT_SOC
) -> TaskResult:
    """Compile the task's project and run its test cases against the reference.

    Args:
        cases: how many, those with the smallest inputs first; 0 runs all. Cases with dtypes that
            the op does not declare, which aclnn refuses on a device too, are noted, not counted.
        mode: ``check`` (sanitizer) or ``fast``.
    """
    result = TaskResult(folder.name)
    binding = folder / "validation" / "pybind.cpp"
    runner = Extension(folder / "answer" / "0", mode, soc, _shared_headers(folder), binding)
    started = time.perf_counter()
    try:
        runner.open()
    except OpgenError as error:
        result.compiles, result.detail = False, first_line(error)
        return result
    result.compile_seconds = time.perf_counter() - started
    started = time.perf_counter()
    with _stand_ins(runner):
        _run_cases(folder, cases, runner, result)
    result.alarms = tuple(dict.fromkeys(runner.alarms))
    result.notes += tuple(dict.fromkeys(runner.notes))
    result.clean = not result.alarms if mode == "check" and result.runs else None
    result.seconds = time.perf_counter() - started - runner.kernel_compile_seconds
    result.compile_seconds += runner.kernel_compile_seconds
    return result


def _run_cases(folder: Path, cases: int, runner: Extension, result: TaskResult) -> None:
    """Run the cases and say in ``result`` how far they got."""
    from msopgen_wrap.torch_import import torch

    prepare, module = _load_validation(folder)
    rows = _prepared_rows(prepare, read_cases(folder))
    done = good = 0
    failures: list[str] = []
    for (init, inputs), row in rows:
        if cases and done == cases:
            break
        # A reference may use autograd itself.
        golden = detached(module.Model(*copied(init))(*copied(inputs)))
        try:
            with torch.no_grad():
                actual = runner.call_as(golden, module.ModelNew(*copied(init)), copied(inputs))
        except UnsupportedCase as error:
            result.notes += (f"case {row.get('case_id')}: {error}",)
            continue
        except OpgenError as error:
            done += 1
            failures.append(f"case {row.get('case_id')}: {first_line(error)}")
            result.compiles = error.diagnostics[0].code != "OPG303"
            result.runs = False if result.compiles else None
            if not result.compiles:
                break
            continue
        done += 1
        result.compiles = True
        result.runs = result.runs is not False
        reason = _mismatch(prepare, row, golden, actual)
        good += not reason
        if reason:
            failures.append(f"case {row.get('case_id')}: {reason}")
    if not done:
        result.runs = False
        failures.append("the op takes the inputs of no case")
    result.detail = failures[0] if failures else ""
    result.cases = f"{good}/{done}"
    result.matches = good == done if result.runs else None


# ---- the task's own files ------------------------------------------------------------------------


def read_cases(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of ``test_cases.csv``; int, float and bool columns typed."""
    path = folder / "validation" / "test_cases.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    result: list[dict[str, Any]] = [{} for _ in rows]
    for name in rows[0] if rows else ():
        texts = [(row[name] or "").strip() for row in rows]
        for target, value in zip(result, _column(texts), strict=True):
            target[name] = value
    return result


def _column(texts: Sequence[str]) -> list[Any]:
    for kind in (int, float):
        try:
            return [kind(text) for text in texts]
        except ValueError:
            continue
    if all(text.lower() in ("true", "false") for text in texts):
        return [text.lower() == "true" for text in texts]
    return list(texts)


@contextmanager
def _stand_ins(runner: Extension) -> Iterator[None]:
    """Let the task import what needs a device or the benchmark, for as long as it runs."""
    extension = types.ModuleType("kernel_gen_ops")

    def operator(name: str) -> Any:
        if name.startswith("__"):  # what tools ask of any module
            raise AttributeError(name)
        return runner.run

    extension.__getattr__ = operator  # type: ignore[method-assign]
    checks = types.ModuleType("framework.utils")
    checks.check_precision = _check_precision  # type: ignore[attr-defined]
    modules = {"kernel_gen_ops": extension, "framework.utils": checks}
    for name in ("framework", "torch_npu", "torch_npu.contrib"):
        modules[name] = types.ModuleType(name)
        modules[name].__path__ = []
    modules["torch_npu.contrib"].transfer_to_npu = None  # type: ignore[attr-defined]
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def _load_validation(folder: Path) -> tuple[Any, Any]:
    module = _load(folder / "validation" / "module.py")
    if hasattr(module, "get_init_inputs"):
        return module, module
    return _load(folder / "validation" / "prepare_inputs.py"), module


def _shared_headers(folder: Path) -> list[Path]:
    """Return the include folder the benchmark ships for all its tasks (``libs/**/common/inc``)."""
    for parent in folder.absolute().parents:
        if (parent / "libs").is_dir():
            return sorted((parent / "libs").glob("*/*/src/common/inc"))
    return []


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"bench_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _prepared_rows(
    prepare: Any, rows: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[tuple[Sequence[Any], Sequence[Any]], Mapping[str, Any]]]:
    """Make the inputs of one case after the other, small ones first.

    Some exist on a device only (randn of int64) and are left out.

    Raises:
        RuntimeError: no case can be prepared on the CPU.
    """
    failure: Exception | None = None
    any_made = False
    for row in sorted(rows, key=size_of_case):
        try:
            pair = _prepared(prepare, row)
        except (RuntimeError, NotImplementedError) as error:
            failure = error
            continue
        any_made = True
        yield pair, row
    if not any_made and failure is not None:
        raise failure


def size_of_case(row: Mapping[str, Any]) -> tuple[int, int]:
    """Return a measure to sort cases by: elements of the shapes in a row, product of its numbers.

    Making the inputs to see how large they are takes longer than running the small ones.
    """
    total, numbers = 0, 1
    for name, value in row.items():
        if isinstance(value, str) and value[:1] in ("[", "("):
            try:
                total += _elements_of_shapes(ast.literal_eval(value))
            except (ValueError, SyntaxError):
                continue
        elif isinstance(value, int) and not isinstance(value, bool) and name != "case_id":
            numbers *= max(value, 1)
    return total, numbers


def _elements_of_shapes(value: Any) -> int:
    items = value if isinstance(value, (list, tuple)) else []
    if any(isinstance(item, (list, tuple)) for item in items):
        return sum(map(_elements_of_shapes, items))
    if not all(isinstance(item, int) for item in items):
        return 0
    return math.prod(max(item, 1) for item in items)


def _prepared(prepare: Any, row: Mapping[str, Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    from msopgen_wrap.torch_import import torch

    torch.manual_seed(int(row.get("case_id") or 0))
    init = prepare.get_init_inputs(row, device="cpu")
    inputs = prepare.get_inputs(row, device="cpu")
    return init, inputs if isinstance(inputs, (list, tuple)) else (inputs,)


# ---- comparison ----------------------------------------------------------------------------------


def _flat(value: Any) -> list[Any]:
    """Return the tensors of a result: an op in place may give back its list as one of several."""
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in _flat(item)]
    return [value]


def _check_precision(
    golden: Any, actual: Any, max_abs_error: float = MAX_ERROR, max_rel_error: float = MAX_ERROR
) -> tuple[int, Any, Any]:
    """Return (1 or 0, absolute errors, relative errors); infinities and NaNs have to be equal.

    As in the benchmark, results that the extension does not return are not compared.
    """
    from msopgen_wrap.torch_import import torch

    goldens, actuals = _flat(golden), _flat(actual)
    good, absolute, relative = bool(actuals), [], []
    for want, got in zip(goldens, actuals, strict=False):
        if want is None or got is None or want.numel() != got.numel():
            good = good and want is None
            continue
        # In parts: some cases have tensors of gigabytes.
        parts = zip(
            want.reshape(-1).split(_COMPARED), got.reshape(-1).split(_COMPARED), strict=True
        )
        for part, other in parts:
            wide, seen = part.double(), other.double()
            equal = (wide == seen) | (wide.isnan() & seen.isnan())
            error = torch.where(equal, 0.0, (wide - seen).abs())
            share = torch.where(equal, 0.0, error / (wide.abs() + 1e-7))
            good = good and not bool((~(error <= max_abs_error) & ~(share <= max_rel_error)).any())
            absolute.append(error.float())
            relative.append(share.float())
    empty = torch.zeros(0)
    return (
        int(good),
        torch.cat(absolute) if absolute else empty,
        torch.cat(relative) if relative else empty,
    )


def _mismatch(prepare: Any, row: Mapping[str, Any], golden: Any, actual: Any) -> str:
    """Return why the case fails, "" when it matches."""
    check = getattr(prepare, "custom_check_precision", None)
    if check is not None:
        passed, absolute, relative = check(row, golden, actual)
    else:
        passed, absolute, relative = _check_precision(golden, actual)
    if passed:
        return ""
    if not absolute.numel():
        return "outputs of other number or size than the reference's"
    return (
        f"max error {float(absolute.max()):.3g} absolute, {float(relative.max()):.3g} relative, "
        f"{int((absolute > MAX_ERROR).sum())} of {absolute.numel()} above {MAX_ERROR:g}"
    )


def main() -> int:
    """Run one task and print its result as a JSON line."""
    parser = argparse.ArgumentParser(description="run one benchmark task in the emulation")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cases", type=int, default=0)
    parser.add_argument("--mode", choices=["fast", "check"], default="check")
    parser.add_argument("--soc", default=DEFAULT_SOC)
    options = parser.parse_args()
    result = run_task(options.folder, cases=options.cases, mode=options.mode, soc=options.soc)
    print(_RESULT + json.dumps(asdict(result)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
