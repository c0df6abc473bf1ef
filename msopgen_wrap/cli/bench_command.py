"""``opgen bench``: time an op over sizes, beside eager PyTorch."""

from __future__ import annotations

import functools
import math
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from msopgen_wrap.cli import output
from msopgen_wrap.diagnostics import Diagnostic, OpgenError

if TYPE_CHECKING:
    from msopgen_wrap.spec.model import OpSpec

SIZES = "1Ki,16Ki,256Ki,1Mi"
_UNITS = {"ki": 2**10, "mi": 2**20, "k": 10**3, "m": 10**6}
_COLUMNS = 1024
_SECONDS = 0.1
NOTE = (
    "times are those of this CPU, which emulates the kernel; they say nothing of an NPU. "
    "Modelled device time: none, there is no model yet"
)


@click.command("bench")
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--op", "name", default="", help="Which op of a project or folder of specs.")
@click.option("--sizes", default=SIZES, show_default=True, help="Numbers of elements.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def command(target: Path, name: str, sizes: str, as_json: bool) -> int:
    """Time the op of TARGET (a spec or a project) over sizes, beside eager PyTorch.

    The op runs its kernel in the emulation, called as a torch op; beside it runs `compute` in
    eager PyTorch. The median of the calls is shown, and from which size on the op is faster.
    """
    counts = parse_sizes(sizes)
    from msopgen_wrap.testing.targets import load_target

    loaded = load_target(target, name)
    rows: list[dict[str, Any]] = []
    for count in counts:
        inputs, attrs = arguments(loaded.spec, count)
        if not as_json:
            output.echo(f"timing {count} elements", err=True)
        values = [attrs[a.name] for a in loaded.spec.attrs]
        call = [*inputs, *values]
        made = loaded.op(*call)
        tensors = [*inputs, *(made if isinstance(made, (tuple, list)) else [made])]
        rows.append(
            {
                "elements": count,
                "bytes": sum(t.numel() * t.element_size() for t in tensors if t is not None),
                "op": median_seconds(functools.partial(loaded.op, *call)),
                "torch": median_seconds(functools.partial(loaded.reference, *inputs, **attrs)),
            }
        )
    faster = crossover(rows)
    if as_json:
        output.print_json({"op": loaded.spec.op, "note": NOTE, "faster_from": faster, "rows": rows})
        return output.OK
    output.echo(f"{loaded.spec.op}, first dtypes of the spec; inputs and outputs in bytes")
    output.echo(f"{'elements':>12} {'bytes':>12} {'op us':>12} {'torch us':>12} {'torch/op':>9}")
    for row in rows:
        times = f"{row['op'] * 1e6:12.1f} {row['torch'] * 1e6:12.1f}"
        ratio = f"{row['torch'] / row['op']:9.2f}"
        output.echo(f"{row['elements']:12d} {row['bytes']:12d} {times} {ratio}")
    found = f"from {faster} elements on" if faster else "at none of the sizes"
    output.echo(f"the op is faster than eager PyTorch {found}")
    output.echo(NOTE)
    return output.OK


def parse_sizes(text: str) -> list[int]:
    """Return the numbers of elements of ``1Ki,1M,300``, ascending.

    Raises:
        OpgenError: OPG575, a size that is no number.
    """
    found = []
    for part in (p.strip().lower() for p in text.split(",")):
        unit = next((u for u in _UNITS if part.endswith(u)), "")
        digits = part.removesuffix(unit)
        if not digits.isdecimal() or int(digits) == 0 or int(digits) * _UNITS.get(unit, 1) > 2**31:
            raise OpgenError(
                Diagnostic(
                    "OPG575",
                    f"'{part}' is no size",
                    why="a size is a number of elements from 1 to 2Gi",
                    fix="--sizes 1Ki,64Ki,1Mi, or plain numbers",
                )
            )
        found.append(int(digits) * _UNITS.get(unit, 1))
    return sorted(set(found))


def arguments(spec: OpSpec, count: int) -> tuple[list[Any], dict[str, Any]]:
    """Return inputs of about ``count`` elements in the spec's first dtypes, and attrs.

    Raises:
        OpgenError: OPG576, an input is a list, or a shape rule gives no shape.
    """
    from msopgen_wrap.graph.sample import sample_attrs
    from msopgen_wrap.spec.model import ParamKind
    from msopgen_wrap.spec.shapes import ShapeError, evaluate
    from msopgen_wrap.torch_import import torch

    attrs = sample_attrs(spec)
    shapes: dict[str, Any] = {}
    tensors = []
    generator = torch.Generator().manual_seed(0)
    for param in spec.inputs:
        rank = min(max(param.min_rank, 2), param.max_rank)
        columns = min(count, _COLUMNS)
        shape: Any = [1] * (rank - 2) + [math.ceil(count / columns), columns]
        shape = shape if rank > 1 else [count] * rank
        try:
            if param.kind is ParamKind.DYNAMIC:
                raise ShapeError("it is a list")
            if param.shape is not None:
                shape = evaluate(param.shape, shapes, attrs)
        except ShapeError as error:
            raise OpgenError(
                Diagnostic(
                    "OPG576",
                    f"no input '{param.name}' of {count} elements can be made: {error}",
                    param.location,
                    fix="time the op with a program of your own",
                )
            ) from error
        shapes[param.name] = tuple(shape)
        dtype = getattr(torch, param.dtypes[0])
        values = torch.rand(tuple(shape), generator=generator)
        low, high = param.low or 0.0, 1.0 if param.high is None else param.high
        values = values * (high - low) + low if dtype.is_floating_point else values * 8
        tensors.append(values.to(dtype))
    return tensors, attrs


def median_seconds(call: Callable[[], Any]) -> float:
    """Return the median time of a call, after one that is not counted."""
    call()
    times: list[float] = []
    while len(times) < 3 or (sum(times) < _SECONDS and len(times) < 1000):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def crossover(rows: Sequence[dict[str, Any]]) -> int | None:
    """Return the size from which on the op is faster at every size; None where there is none."""
    found = None
    for row in reversed(rows):
        if row["op"] >= row["torch"]:
            break
        found = int(row["elements"])
    return found
