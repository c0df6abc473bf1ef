#!/usr/bin/env python3
"""Run torch's own operator database on emulated npu tensors against the CPU.

For every entry of ``torch.testing._internal.common_methods_invocations.op_db``: up to N samples,
forward and backward, on "npu" and on "cpu", compared value by value. Prints a table by outcome and
writes one JSON line per operator.

    python scripts/opinfo_sweep.py --report sweep.jsonl            # all, in worker processes
    python scripts/opinfo_sweep.py --only 'nn.functional.*' -n 3

Outcomes: ok; random (only shape, dtype and device compared: random or uninitialised values);
refused (torch_npu's own check turned a sample down, the others were equal); no_samples (the
database has none for the CPU); failed (an exception); wrong (other numbers); crash (the worker
process died); timeout. Exit code 1 when there is any wrong, crash or timeout.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


def op_label(op) -> str:
    """Name of a database entry with its variant."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def pick_dtype(op):
    """The dtype to test: float32 when the op takes it, else the first sensible one."""
    import torch

    wishes = (torch.float32, torch.int64, torch.complex64, torch.bool, torch.int32, torch.float64)
    dtypes = op.supported_dtypes("cpu")
    for dtype in wishes:
        if dtype in dtypes:
            return dtype
    return next(iter(dtypes), None)


def flatten(value) -> list:
    """Tensors and scalars inside a result, in order."""
    import torch
    from torch.utils import _pytree

    leaves = _pytree.tree_leaves(value)
    return [x for x in leaves if isinstance(x, (torch.Tensor, bool, int, float, complex))]


def copy_tensor(x, device: str):
    """Copy to a device; a strided view keeps the whole storage under it."""
    import torch

    if x.layout != torch.strided or x.untyped_storage().nbytes() == x.nbytes:
        return x.clone() if device == "cpu" else x.to(device)
    count = x.untyped_storage().nbytes() // x.element_size()
    whole = x.as_strided((count,), (1,), 0)
    whole = whole.clone() if device == "cpu" else whole.to(device)
    return whole.as_strided(x.size(), x.stride(), x.storage_offset())


def random_watch():
    """A dispatch mode that notes whether an operator draws random numbers."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class RandomWatch(TorchDispatchMode):
        seen = False

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if torch.Tag.nondeterministic_seeded in func.tags:
                self.seen = True
            return func(*args, **(kwargs or {}))

    return RandomWatch()


def copy_sample(sample, device: str, grad_of: list):
    """Copy a sample to "cpu" or "npu"; collects the copies that require grad.

    Every run gets fresh copies: some entries of the database work in place.
    """
    import torch

    def move(x):
        if isinstance(x, torch.Tensor):
            y = copy_tensor(x.detach(), device)
            if x.requires_grad:
                y.requires_grad_()
                grad_of.append(y)
            return y
        if isinstance(x, torch.device):
            return torch.device(device)
        return x

    moved = sample.transform(move)
    if moved.kwargs.get("device") is not None:
        moved.kwargs["device"] = device
    return moved


def run_one(op, sample, tensors: list) -> tuple[list, list]:
    """Run forward and backward; return the results and the gradients, on the CPU."""
    import torch

    out = op(sample.input, *sample.args, **sample.kwargs)
    if sample.output_process_fn_grad is not None and tensors:
        out_for_grad = sample.output_process_fn_grad(out)
    else:
        out_for_grad = out
    results = flatten(out)
    grads: list = []
    differentiable = [
        t for t in flatten(out_for_grad) if isinstance(t, torch.Tensor) and t.requires_grad
    ]
    if tensors and differentiable:
        total = sum((t.abs() if t.is_complex() else t).sum() for t in differentiable)
        grads = list(torch.autograd.grad(total, tensors, allow_unused=True))
    return results, grads


def run_on_cpu(op, sample) -> tuple[list, list]:
    """:func:`run_one` on a fresh CPU copy."""
    tensors: list = []
    return run_one(op, copy_sample(sample, "cpu", tensors), tensors)


def compare(ours: list, theirs: list, what: str, values: bool, device: bool) -> None:
    """Raise AssertionError on the first difference."""
    import torch

    assert len(ours) == len(theirs), f"{what}: {len(ours)} results instead of {len(theirs)}"
    for index, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if b is None or a is None:
            assert a is b, f"{what} {index}: {a} instead of {b}"
            continue
        if not isinstance(b, torch.Tensor):
            if values:
                torch.testing.assert_close(a, b, equal_nan=True, rtol=1e-5, atol=1e-5)
            continue
        assert a.dtype == b.dtype, f"{what} {index}: dtype {a.dtype} instead of {b.dtype}"
        assert a.shape == b.shape, f"{what} {index}: shape {a.shape} instead of {b.shape}"
        if device:
            assert a.device.type == "npu", f"{what} {index}: result is on {a.device}"
        if values:
            if a.element_size() == 1 and a.is_floating_point():  # fp8 compares bit by bit only
                a, b = a.float(), b.float()
            torch.testing.assert_close(
                a.detach().cpu(),
                b.detach(),
                equal_nan=True,
                rtol=1e-5,
                atol=1e-5,
                check_stride=False,
                msg=lambda m, i=index: f"{what} {i}: {m}",
            )


def test_op(op, limit: int) -> dict:
    """Test one entry; returns its outcome record."""
    import itertools

    import torch

    label = op_label(op)
    dtype = pick_dtype(op)
    if dtype is None:
        return {"op": label, "outcome": "no_samples", "detail": "no CPU dtype"}
    grad = op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    try:
        samples = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=grad), limit))
    except Exception as error:
        return {"op": label, "outcome": "no_samples", "detail": f"{type(error).__name__}: {error}"}
    tested = random = 0
    refused = ""
    for sample in samples:
        moved_grads: list = []
        moved = copy_sample(sample, "npu", moved_grads)
        if label == "tensor_split":  # its indices are a CPU tensor on every device
            moved.args = sample.args
        watch = random_watch()
        try:
            with watch:
                expected, expected_grads = run_on_cpu(op, sample)
        except Exception:
            continue  # the CPU itself refuses this sample (needs another device, MAGMA, ...)
        values = not watch.seen and label not in UNINITIALISED
        random += not values
        try:
            torch.manual_seed(1)
            got, got_grads = run_one(op, moved, moved_grads)
            # Results stay on the CPU when nothing in the call names the device.
            on_device = any(
                t.device.type == "npu"
                for t in flatten((moved.input, moved.args, moved.kwargs))
                if isinstance(t, torch.Tensor)
            )
            compare(got, expected, "result", values, on_device and label not in CPU_RESULTS)
            compare(got_grads, expected_grads, "gradient", values, on_device)
        except AssertionError as error:
            return {
                "op": label,
                "outcome": "wrong",
                "dtype": str(dtype),
                "detail": str(error)[:600],
                "sample": str(sample)[:300],
            }
        except Exception as error:
            if TORCH_NPU_REFUSAL in str(error):
                refused = str(error)[:300]
                continue
            return {
                "op": label,
                "outcome": "failed",
                "dtype": str(dtype),
                "detail": f"{type(error).__name__}: {error}"[:600],
                "sample": str(sample)[:300],
            }
        tested += 1
    if refused:
        return {"op": label, "outcome": "refused", "samples": tested, "detail": refused}
    if tested == 0:
        return {"op": label, "outcome": "no_samples", "detail": "none that runs on the CPU"}
    outcome = "random" if random == tested else "ok"
    return {"op": label, "outcome": outcome, "samples": tested, "dtype": str(dtype)}


#: Results that are CPU tensors on every device, by torch's own definition.
CPU_RESULTS = {"item", "equal", "allclose", "to"}

#: Results without defined values.
UNINITIALISED = {
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
}

#: Text of torch_npu's own check of what hardware supports, in front of any kernel.
TORCH_NPU_REFUSAL = "OPS feature not supported"


def worker(labels: list[str], report: Path, limit: int) -> None:
    """Test the named entries in this process, appending to the report as they finish."""
    import msopgen_wrap.npu  # noqa: F401  isort: skip
    import warnings

    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    # torch_npu registers a CPU kernel for true_divide, which costs CPU tensors its gradient. The
    # CPU is the yardstick here, so it gets torch's own back.
    stock = torch.library.Library("aten", "IMPL")
    stock.impl("true_divide.Tensor", lambda a, b: torch.div(a, b), "AutogradCPU")
    wanted = set(labels)
    with report.open("a", encoding="utf-8") as file:
        for op in op_db:
            if op_label(op) not in wanted:
                continue
            file.write(json.dumps({"op": op_label(op), "outcome": "started"}) + "\n")
            file.flush()
            started = time.monotonic()
            record = test_op(op, limit)
            record["seconds"] = round(time.monotonic() - started, 2)
            file.write(json.dumps(record) + "\n")
            file.flush()


def all_labels() -> list[str]:
    """Labels of the whole database, from a process without the device."""
    code = (
        "from torch.testing._internal.common_methods_invocations import op_db\n"
        "for op in op_db: print(op.name + ('.' + op.variant_test_name if op.variant_test_name"
        " else ''))"
    )
    env = dict(os.environ, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    if done.returncode != 0:
        sys.exit(f"cannot list torch's operator database:\n{done.stderr[-2000:]}")
    return done.stdout.split()


def read_report(path: Path) -> dict[str, dict]:
    """Last record per operator."""
    records: dict[str, dict] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            records[record["op"]] = record
    return records


def sweep(labels: list[str], report: Path, limit: int, seconds: float) -> dict[str, dict]:
    """Run all labels in worker processes; a dead worker costs one operator."""
    remaining = list(labels)
    while remaining:
        chunk = remaining[:100]
        with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
            file.write("\n".join(chunk))
        command = [sys.executable, __file__, "--worker", file.name, "--report", str(report)]
        command += ["-n", str(limit)]
        why = "crash"
        try:
            code = subprocess.run(command, timeout=seconds * len(chunk)).returncode
        except subprocess.TimeoutExpired:
            code, why = -1, "timeout"
        os.unlink(file.name)
        records = read_report(report)
        for label in chunk:
            record = records.get(label)
            if record and record["outcome"] == "started":
                with report.open("a", encoding="utf-8") as out:
                    out.write(json.dumps({"op": label, "outcome": why, "detail": f"rc {code}"}))
                    out.write("\n")
        records = read_report(report)
        before = len(remaining)
        remaining = [x for x in remaining if x not in records]
        if len(remaining) == before:
            sys.exit(f"the worker does not start (exit code {code})")
        print(f"{len(labels) - len(remaining)}/{len(labels)}", file=sys.stderr, flush=True)
    return {label: record for label, record in read_report(report).items() if label in set(labels)}


def main() -> int:
    """Parse arguments, run, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", type=Path, default=Path("opinfo_sweep.jsonl"))
    parser.add_argument("--only", action="append", help="glob on operator names; may be repeated")
    parser.add_argument("--part", help="i/n: the i-th of n equal parts (from 1)")
    parser.add_argument("-n", "--samples", type=int, default=12)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds per operator")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        worker(arguments.worker.read_text().split(), arguments.report, arguments.samples)
        return 0
    labels = list(dict.fromkeys(all_labels()))
    if arguments.only:
        labels = [x for x in labels if any(fnmatch.fnmatch(x, p) for p in arguments.only)]
    if arguments.part:
        index, count = map(int, arguments.part.split("/"))
        labels = labels[index - 1 :: count]
    if arguments.report.exists():
        arguments.report.unlink()
    records = sweep(labels, arguments.report, arguments.samples, arguments.timeout)
    table = Counter(record["outcome"] for record in records.values())
    for record in records.values():
        if record["outcome"] not in ("ok", "random"):
            print(f"{record['outcome']:10} {record['op']}: {record.get('detail', '')[:200]}")
    for outcome, count in table.most_common():
        print(f"{count:5} {outcome}")
    print(f"{len(records):5} in all")
    return 1 if table["wrong"] or table["crash"] or table["timeout"] else 0


if __name__ == "__main__":
    sys.exit(main())
