"""One task of a public kernel benchmark: an op project, its input maker and its torch reference.

The layout is that of NPUKernelBench: ``answer/<n>/op_host`` and ``op_kernel``,
``validation/prepare_inputs.py``, ``validation/module.py`` (``Model`` is the reference, ``ModelNew``
calls the compiled extension ``kernel_gen_ops``) and ``validation/test_cases.csv``. The reference
runs on CPU tensors; the extension is replaced by a module whose every function runs the op in the
emulation. What the real extension's C++ would do - order arguments, allocate outputs - follows
from the op's declaration.

Run as a module (``python -m msopgen_wrap.run.bench_task TASK``) it prints its result as JSON, so
that a kernel that crashes takes no one along.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import subprocess
import sys
import time
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.platforms import DEFAULT_SOC

#: The benchmark's own bounds, absolute and relative; an element fails when it exceeds both.
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


def find_tasks(root: Path) -> list[Path]:
    """Return the task folders below ``root``, sorted."""
    return sorted(p.parent.parent for p in root.rglob("validation/prepare_inputs.py"))


def run_task_isolated(
    folder: Path, *, cases: int, mode: str, soc: str, timeout: float
) -> TaskResult:
    """Run a task in a process of its own; see :func:`run_task`."""
    command = [sys.executable, "-m", "msopgen_wrap.run.bench_task", str(folder)]
    command += ["--cases", str(cases), "--mode", mode, "--soc", soc]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return TaskResult(folder.name, runs=False, detail=f"no end after {timeout:g} s")
    start = done.stdout.rfind(_RESULT)  # op_host prints too, not always whole lines
    if start >= 0:
        return TaskResult(**json.JSONDecoder().raw_decode(done.stdout[start + len(_RESULT) :])[0])
    last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
    detail = f"ended with code {done.returncode}: {last[:200]}"
    return TaskResult(folder.name, runs=False, detail=detail)


def run_task(
    folder: Path, *, cases: int = 0, mode: str = "check", soc: str = DEFAULT_SOC
) -> TaskResult:
    """Compile the task's project and run its test cases against the reference.

    Args:
        cases: how many, those with the smallest inputs first; 0 runs all.
        mode: ``check`` (sanitizer) or ``fast``.
    """
    import torch

    result = TaskResult(folder.name)
    runner = _Extension(folder / "answer" / "0", mode, soc, _shared_headers(folder))
    started = time.perf_counter()
    try:
        runner.open()
    except OpgenError as error:
        result.compiles, result.detail = False, _first(error)
        return result
    result.compile_seconds = time.perf_counter() - started
    started = time.perf_counter()
    prepare, module = _load_validation(folder, runner)
    rows = _prepared_rows(prepare, read_cases(folder))
    done = good = 0
    for (init, inputs), row in rows[: cases or None]:
        done += 1
        # A reference may use autograd itself.
        golden = _detached(module.Model(*_copy(init))(*_copy(inputs)))
        try:
            with torch.no_grad():
                actual = runner.call_as(golden, module.ModelNew(*_copy(init)), _copy(inputs))
        except OpgenError as error:
            result.compiles = error.diagnostics[0].code != "OPG303"
            result.runs = False if result.compiles else None
            result.detail = _first(error)
            break
        result.compiles = result.runs = True
        reason = _mismatch(prepare, row, golden, actual)
        good += not reason
        result.detail = result.detail or (f"case {row.get('case_id')}: {reason}" if reason else "")
    result.cases = f"{good}/{done}"
    result.matches = good == done if result.runs else None
    result.alarms = tuple(dict.fromkeys(runner.alarms))
    result.clean = not result.alarms if mode == "check" and result.runs else None
    result.seconds = time.perf_counter() - started - runner.kernel_compile_seconds
    result.compile_seconds += runner.kernel_compile_seconds
    return result


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
    if all(text in ("True", "False") for text in texts):
        return [text == "True" for text in texts]
    return list(texts)


def _load_validation(folder: Path, runner: _Extension) -> tuple[Any, Any]:
    """Load both files with stand-ins for what needs a device or the benchmark's framework."""
    extension = types.ModuleType("kernel_gen_ops")
    extension.__getattr__ = lambda name: runner.run  # type: ignore[method-assign]
    checks = types.ModuleType("framework.utils")
    checks.check_precision = _check_precision  # type: ignore[attr-defined]
    stand_ins = {"kernel_gen_ops": extension, "framework.utils": checks}
    for name in ("framework", "torch_npu", "torch_npu.contrib"):
        stand_ins[name] = types.ModuleType(name)
        stand_ins[name].__path__ = []
    stand_ins["torch_npu.contrib"].transfer_to_npu = None  # type: ignore[attr-defined]
    sys.modules.update(stand_ins)
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


def _prepared_rows(prepare: Any, rows: Sequence[Mapping[str, Any]]) -> list[tuple[Any, Any]]:
    """Make the inputs of all cases, smallest first; some exist on a device only (randn of int64).

    Raises:
        RuntimeError: no case can be prepared on the CPU.
    """
    prepared, failure = [], None
    for row in rows:
        try:
            prepared.append((_prepared(prepare, row), row))
        except (RuntimeError, NotImplementedError) as error:
            failure = error
    if not prepared and failure is not None:
        raise failure
    return sorted(prepared, key=lambda pair: _elements(pair[0]))


def _prepared(prepare: Any, row: Mapping[str, Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    import torch

    torch.manual_seed(int(row.get("case_id") or 0))
    init = prepare.get_init_inputs(row, device="cpu")
    inputs = prepare.get_inputs(row, device="cpu")
    return init, inputs if isinstance(inputs, (list, tuple)) else (inputs,)


def _copy(value: Any) -> Any:
    if hasattr(value, "clone"):
        return value.clone()
    if isinstance(value, (list, tuple)):
        return type(value)(_copy(v) for v in value)
    return value


def _detached(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_detached(v) for v in value]
    return value.detach() if hasattr(value, "detach") else value


def _elements(value: Any) -> int:
    if isinstance(value, (list, tuple)):
        return sum(map(_elements, value))
    return value.numel() if hasattr(value, "numel") else 0


# ---- the extension -------------------------------------------------------------------------------


class _Extension:
    """Stands for the compiled extension: every call runs the project's op."""

    def __init__(self, project: Path, mode: str, soc: str, headers: Sequence[Path] = ()):
        self.project, self.mode, self.soc, self.headers = project, mode, soc, headers
        self.alarms: list[str] = []
        self.kernel_compile_seconds = 0.0
        self._golden: Any = None

    def open(self) -> None:
        """Compile and load op_host."""
        from msopgen_wrap.run.project_runner import ProjectRunner

        self._runner = ProjectRunner(self.project, soc=self.soc, include_dirs=self.headers)
        self._op = self._runner.declaration()

    def call_as(self, golden: Any, model: Callable[..., Any], inputs: Sequence[Any]) -> Any:
        """Call the model; ``golden`` tells the shapes of outputs the caller has to allocate."""
        self._golden = golden
        return model(*inputs)

    def run(self, *args: Any) -> Any:
        """Run the op with arguments in the order of its aclnn function: inputs, then attrs."""
        inputs, attrs = bind_arguments(self._op, args)
        before = {name: _copy(value) for name, value in inputs.items()}
        started = time.perf_counter()
        outputs = self._outputs(inputs)
        try:
            done = self._runner.run(None, inputs, attrs, outputs, mode=self.mode)
        except OpgenError as error:
            # What check mode refuses (a tail written past the end, say) the device may forgive:
            # the finding is kept, and the result compared as well.
            if self.mode != "check" or "kernel failed" not in error.diagnostics[0].what:
                raise
            self.alarms.append(_first(error))
            inputs = before
            before = {name: _copy(value) for name, value in inputs.items()}
            done = self._runner.run(None, inputs, attrs, outputs, mode="fast")
        self.kernel_compile_seconds += time.perf_counter() - started - done.result.seconds
        for finding in done.result.findings:
            if finding.get("severity") == "error":
                place = f"{Path(finding.get('file', '')).name}:{finding.get('line', 0)}"
                self.alarms.append(f"{finding.get('check')} {place}")
        results = [_torch(value) for value in done.outputs.values()]
        if not results:  # the op works in place without saying so
            results = [v for n, v in inputs.items() if not _same(v, before[n])]
        if isinstance(self._golden, (list, tuple)) and not (
            len(results) == 1 and isinstance(results[0], list)
        ):
            return results
        return results[0] if results else None

    def _outputs(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Allocate what the extension would: outputs shaped like the reference's."""
        from msopgen_wrap.run.tensors import TensorSpec

        declared = [p for p in self._op["outputs"] if p["name"] not in inputs]
        golden = self._golden
        if len(declared) == 1 and declared[0]["param_type"] == "dynamic":
            shapes = [(_dtype(g), tuple(g.shape)) for g in golden]
            return {declared[0]["name"]: [TensorSpec(d, s) for d, s in shapes]}
        values = list(golden) if isinstance(golden, (list, tuple)) else [golden]
        if len(values) != len(self._op["outputs"]) or len(declared) != len(values):
            return {}
        if self._op["has_infer_shape"] and all(p["param_type"] != "dynamic" for p in declared):
            return {}
        arranged = [inputs.get(p["name"]) for p in self._op["inputs"]]
        dtypes = self._runner._dtypes_by_combo(self._op, arranged)
        return {
            p["name"]: TensorSpec(d, tuple(v.shape))
            for p, d, v in zip(declared, dtypes, values, strict=True)
        }


def bind_arguments(
    declared: Mapping[str, Any], args: Sequence[Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the extension's arguments the names of the op's inputs and attrs.

    Tensors go to inputs, other values to attrs, each in order. A value stands for an input when
    tensors alone cannot fill the required ones (an ``aclScalar`` or ``aclIntArray``); a tensor that
    is left over is the value of an attr.
    """
    import torch

    slots, names = list(declared["inputs"]), [a["name"] for a in declared["attrs"]]
    kinds = {a["name"]: a["type"] for a in declared["attrs"]}
    complete = len(args) == len(slots) + len(names)
    inputs: dict[str, Any] = {}
    attrs: dict[str, Any] = {}
    tensors = sum(_is_tensor(a) or a is None for a in args)
    for arg in args:
        required = sum(p["param_type"] == "required" for p in slots)
        if _is_tensor(arg) or arg is None:
            tensors -= 1
            if slots:
                inputs[slots.pop(0)["name"]] = _contiguous(arg)
            elif names and arg is not None:
                attrs[names.pop(0)] = arg.item() if arg.numel() == 1 else arg.tolist()
        elif slots and not isinstance(arg, (str, bool)) and (complete or tensors < required):
            param = slots.pop(0)
            inputs[param["name"]] = torch.tensor(arg, dtype=_value_dtype(param, arg)).reshape(-1)
        elif names:
            name = names.pop(0)
            value = list(arg) if isinstance(arg, tuple) else arg
            plain = isinstance(value, (int, float))
            convert = {"float": float, "bool": bool, "int": int}.get(kinds[name]) if plain else None
            attrs[name] = convert(value) if convert else value
    return inputs, attrs


def _value_dtype(param: Mapping[str, Any], value: Any) -> Any:
    import torch

    from msopgen_wrap.run.dtypes import BY_GE_NAME

    known = [BY_GE_NAME[d].name for d in param["dtypes"] or param["dtype_list"] if d in BY_GE_NAME]
    first = value[0] if isinstance(value, (list, tuple)) and value else value
    wanted = "float32" if isinstance(first, float) else "int64"
    return getattr(torch, wanted if wanted in known or not known else known[0])


def _is_tensor(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return bool(value) and all(hasattr(v, "data_ptr") for v in value)
    return hasattr(value, "data_ptr")


def _contiguous(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [v.contiguous() for v in value]
    return None if value is None else value.contiguous()


def _dtype(value: Any) -> str:
    return str(value.dtype).removeprefix("torch.")


def _torch(value: Any) -> Any:
    import torch

    if isinstance(value, (list, tuple)):
        return [_torch(v) for v in value]
    if value is None or hasattr(value, "data_ptr"):
        return value
    plain = torch.from_numpy(value.data.view("int16") if value.dtype == "bfloat16" else value.data)
    return plain.view(torch.bfloat16) if value.dtype == "bfloat16" else plain


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, (list, tuple)):
        return all(_same(a, b) for a, b in zip(left, right, strict=True))
    return left is None or bool(((left == right) | (left != left)).all())


# ---- comparison ----------------------------------------------------------------------------------


def _check_precision(
    golden: Any, actual: Any, max_abs_error: float = MAX_ERROR, max_rel_error: float = MAX_ERROR
) -> tuple[int, Any, Any]:
    """Return (1 or 0, absolute errors, relative errors); infinities and NaNs have to be equal."""
    import torch

    goldens = list(golden) if isinstance(golden, (list, tuple)) else [golden]
    actuals = list(actual) if isinstance(actual, (list, tuple)) else [actual]
    good, absolute, relative = len(goldens) <= len(actuals), [], []
    for want, got in zip(goldens, actuals, strict=False):
        if want is None or got is None or want.numel() != got.numel():
            good = good and want is None
            continue
        wide, seen = want.double().reshape(-1), got.double().reshape(-1)
        equal = (wide == seen) | (wide.isnan() & seen.isnan())
        error = torch.where(equal, 0.0, (wide - seen).abs())
        share = torch.where(equal, 0.0, error / (wide.abs() + 1e-7))
        good = good and not bool((~(error <= max_abs_error) & ~(share <= max_rel_error)).any())
        absolute.append(error)
        relative.append(share)
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


def _first(error: OpgenError) -> str:
    first = error.diagnostics[0]
    return f"{first.location}: {first.what} {first.why}"[:600]


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
