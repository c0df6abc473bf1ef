"""A task that is a ``torch.nn.Module`` as a spec: its whole ``forward`` as one ``compute``.

Parameters, buffers and tensors that the model made for itself are inputs beside its arguments;
arguments that are numbers are literals. Shapes are those of the task, made small.
"""

from __future__ import annotations

import math
import re
import types
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from msopgen_wrap.spec.random_numbers import opgen
from yardsticks.module_task import ModuleTask, load_task
from yardsticks.recorded_calls import UnwritableError, needed, record

DTYPES = {"float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool"}
NAME_AT_MOST = 60  # of an op; each task is a package of its own, so that two may share a name


def spec_of_file(path: Path) -> str:
    """Return the spec of a task's file.

    Raises:
        UnwritableError: its forward is no ``compute``, or gives other numbers as one.
        Exception: whatever the task raises.
    """
    return spec_of_task(load_task(path))


def spec_of_task(task: ModuleTask) -> str:
    """Return the spec of a loaded task; raises what :func:`spec_of_file` does."""
    named = _named_tensors(task)
    before = {name: tensor.detach().clone() for name, tensor in named.items()}
    torch.manual_seed(0)
    calls, results, values = record(task.model, task.inputs, named)
    statements, inputs = needed(calls, results)
    if not inputs:
        raise UnwritableError("reads no tensor")
    outputs = [f"y{i}" if len(results) > 1 else "y" for i in range(len(results))]
    lines = [*statements, *(f"{y} = {name}" for y, name in zip(outputs, results, strict=True))]
    lines = _renamed_last(lines, outputs)
    tensors = {name: before.get(name, calls.inputs[name]) for name in inputs}
    _prove(lines, tensors, outputs, values)
    bounded = not _takes_any_float(lines, tensors, outputs)
    rows = [f"op: {op_type(task.name)}", f"doc: forward of the task {task.name}", "inputs:"]
    rows += [f"  {name}: {_entry(t)[:-1]}{_range(t, bounded)}}}" for name, t in tensors.items()]
    rows.append("outputs:")
    rows += [f"  {n}: {_entry(t)}" for n, t in zip(outputs, values, strict=True)]
    rows += ["backward: none", "compute: |", *(f"  {line}" for line in lines)]
    return "\n".join(rows) + "\n"


def op_type(name: str) -> str:
    """Return a file's stem as a camel-case op type."""
    words = re.sub(r"\W|_", " ", name).split()
    if words and words[0].isdigit():
        words = words[1:]
    return ("Task" + "".join(w[:1].upper() + w[1:].lower() for w in words))[:NAME_AT_MOST]


def _named_tensors(task: ModuleTask) -> dict[str, torch.Tensor]:
    """Return the task's tensors by the names of the spec's inputs."""
    named: dict[str, torch.Tensor] = {}
    count = sum(isinstance(v, torch.Tensor) for v in task.inputs)
    for value in task.inputs:
        if isinstance(value, torch.Tensor):
            named[f"x{len(named)}" if count > 1 else "x"] = value
    for name, tensor in (*task.model.named_parameters(), *task.model.named_buffers()):
        text = re.sub(r"\W+", "_", name).lower()
        named[text if text not in named else f"{text}_of_model"] = tensor
    return named


def _renamed_last(lines: list[str], outputs: list[str]) -> list[str]:
    """Leave out ``y = t3`` after ``t3 = ...`` where a formula has one result."""
    if len(outputs) == 1 and len(lines) > 1:
        last, _, text = lines[-2].partition(" = ")
        if lines[-1] == f"{outputs[0]} = {last}":
            return [*lines[:-2], f"{outputs[0]} = {text}"]
    return lines


def _names() -> dict[str, Any]:
    """Return what statements of ``compute`` may name beside tensors."""
    return {"torch": torch, "F": F, "math": math, "opgen": opgen, "__builtins__": {}}


def _prove(
    lines: list[str], tensors: dict[str, Any], outputs: list[str], values: list[Any]
) -> None:
    """Run the statements on the model's tensors; they must give what the model gave."""
    space = _names()
    space |= {name: tensor.detach().clone() for name, tensor in tensors.items()}
    torch.manual_seed(0)
    with torch.no_grad():
        exec("\n".join(lines), space)
    for name, value in zip(outputs, values, strict=True):
        made = space[name]
        same = made.shape == value.shape and made.dtype == value.dtype
        if not same or not torch.allclose(made, value, 1e-5, 1e-6, equal_nan=True):
            raise UnwritableError("the recorded calls give other numbers than the model")


def _takes_any_float(lines: list[str], tensors: dict[str, Any], outputs: list[str]) -> bool:
    """Whether the results are numbers for the floats that tests draw, negative ones among them."""
    space = _names()
    for name, tensor in tensors.items():
        space[name] = tensor.detach().clone()
        if tensor.is_floating_point():
            space[name].uniform_(-4.0, 4.0)
    try:
        with torch.no_grad():
            exec("\n".join(lines), space)
    except (RuntimeError, ValueError):
        return False
    return not any(bool(space[name].isnan().any()) for name in outputs)


def _entry(tensor: torch.Tensor) -> str:
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in DTYPES:
        raise UnwritableError(f"has a tensor of {dtype}")
    sizes = ", ".join(str(n) for n in tensor.shape)
    return f'{{dtype: [{dtype}], shape: "[{sizes}]"}}'


def _range(tensor: torch.Tensor, bounded: bool) -> str:
    """Return the range of test data: an index must stay in its axis, a logarithm's operand above 0.

    Args:
        bounded: give floats that are not negative their range, too.
    """
    if tensor.dtype == torch.bool or not tensor.numel():
        return ""
    low, high = tensor.min().item(), tensor.max().item()
    if not tensor.is_floating_point():
        return f", range: [{low}, {high}]"
    if not bounded or low < 0 or not math.isfinite(high):
        return ""
    return f", range: [{low if low < high else 0.0:.6g}, {high or 1.0:.6g}]"


def small_module(forward: Any, *inputs: Any) -> ModuleTask:
    """Return a task of one function, for tests."""
    model = torch.nn.Module()
    model.forward = types.MethodType(lambda _, *a: forward(*a), model)  # type: ignore[method-assign]
    return ModuleTask("small", model, list(inputs), 0)
