"""Proof with numbers that a region of a model is an op's ``compute``: both in double precision.

Terms leave out what a view does to the order of axes, and rounding. The two formulas are therefore
run on several draws of random numbers, at the shapes of the model, in float64, where equal formulas
agree to many digits and others do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msopgen_wrap.fusion.regions import Region
from msopgen_wrap.graph.dispatch_modes import DispatchMode
from msopgen_wrap.torch_import import torch

tree_map = torch.utils._pytree.tree_map

_FLOATS = (torch.float16, torch.bfloat16, torch.float32)
# Constants of formulas are written with some seven digits.
_RTOL = 1e-5
_LARGE = 1 << 22


class DoublePrecision(DispatchMode):
    """Calculates what is inside in float64: casts to other floats give float64."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run an operator with float64 for each dtype of floats that it is given."""
        args, kwargs = tree_map(_doubled, (tuple(args), dict(kwargs or {})))
        return func(*args, **kwargs)


def _doubled(value: Any) -> Any:
    if isinstance(value, torch.dtype):
        return torch.float64 if value in _FLOATS else value
    if isinstance(value, torch.Tensor) and value.dtype in _FLOATS:
        return value.double()
    return value


def run_nodes(nodes: Sequence[Any], values: dict[Any, Any]) -> None:
    """Run nodes of a graph, adding their results to ``values``."""
    for node in nodes:
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), values.__getitem__)
        values[node] = node.target(*args, **kwargs)


def draws(fakes: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """Return random values for tensors: usual ones, large ones, positive ones, with zeros."""
    found = []
    for i in range(count):
        generator = torch.Generator().manual_seed(20 + i)
        found.append({name: _draw(fake, i, generator) for name, fake in fakes.items()})
    return found


def _draw(fake: Any, kind: int, generator: Any) -> Any:
    shape = tuple(fake.shape)
    if fake.dtype is torch.bool:
        return torch.rand(shape, generator=generator) > 0.5
    if not fake.dtype.is_floating_point:
        return torch.randint(0, 3, shape, generator=generator, dtype=torch.int64).to(fake.dtype)
    x = torch.randn(shape, generator=generator, dtype=torch.float64)
    if kind == 1:
        x = 30 * x
    elif kind == 2:
        x = x.abs() + 0.25
    elif kind == 3:
        x = torch.where(torch.rand(shape, generator=generator) > 0.3, x, 0.0)
    return _in_layout_of(fake, x)


def _in_layout_of(fake: Any, x: Any) -> Any:
    """Return the values with the strides of a fake tensor, which views of it depend on."""
    strides = tuple(fake.stride())
    if any(s == 0 and n > 1 for s, n in zip(strides, fake.shape, strict=True)):
        return x
    result = torch.empty_strided(tuple(fake.shape), strides, dtype=x.dtype)
    return result.copy_(x)


def difference(
    region: Region,
    fakes: Mapping[str, Any],
    nodes: Mapping[str, Any],
    outputs: Mapping[str, Any],
    compute: Callable[[list[str], list[Any]], list[Any]],
    output_names: Sequence[str],
    of: str,
) -> str:
    """Return where a region and ``compute`` differ, empty when they are the same.

    Args:
        region: of the model.
        fakes: input of the op -> fake tensor with the shape, dtype and strides in the model.
        nodes: input of the op -> node of the model.
        outputs: output of the op -> node of the model.
        compute: ``f(names, tensors) -> outputs in order``.
        output_names: names of all outputs, in order.
        of: what ``compute`` is: op, attrs and text of the spec; a proof is kept for later.
    """
    key = (_signature(region, fakes, nodes, outputs), of)
    if key not in _known:
        _known[key] = _difference(region, fakes, nodes, outputs, compute, output_names)
    return _known[key]


_known: dict[Any, str] = {}


def _signature(
    region: Region, fakes: Mapping[str, Any], nodes: Mapping[str, Any], outputs: Mapping[str, Any]
) -> str:
    """Return a text that regions share when they are the same calls on inputs of the same kind."""
    names = {node: f"node {i}" for i, node in enumerate(_steps(region))}
    names |= {node: f"input {name}" for name, node in nodes.items()}
    rows = [
        f"{n}: {tuple(f.shape)} {tuple(f.stride())} {f.dtype}" for n, f in sorted(fakes.items())
    ]
    for node in _steps(region):
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda n: names[n])
        rows.append(f"{node.target} {args!r} {kwargs!r}")
    rows += [f"{name} = {names[node]}" for name, node in outputs.items()]
    rows += [f"{name} is {names[node]}" for name, node in nodes.items()]
    return "\n".join(rows)


def _steps(region: Region) -> tuple[Any, ...]:
    return (*region.constants, *region.nodes)


def _difference(
    region: Region,
    fakes: Mapping[str, Any],
    nodes: Mapping[str, Any],
    outputs: Mapping[str, Any],
    compute: Callable[[list[str], list[Any]], list[Any]],
    output_names: Sequence[str],
) -> str:
    elements = sum(f.numel() for f in fakes.values())
    compared = False
    for values in draws(fakes, 2 if elements > _LARGE else 4):
        own: dict[Any, Any] = {}
        for name in values:  # one tensor may be given twice
            values[name] = own.setdefault(nodes[name], values[name])
        try:
            with torch.no_grad(), DoublePrecision():
                run_nodes(_steps(region), own)
        except Exception:  # these values do not suit the model; others may
            continue
        try:
            with torch.no_grad(), DoublePrecision():
                results = compute(list(values), list(values.values()))
        except Exception as error:
            text = str(error).splitlines() or [type(error).__name__]
            return f"compute does not take these inputs: {text[0]}; widen the rules of the spec"
        given = dict(zip(output_names, results, strict=True))
        for name, node in outputs.items():
            reason = _unequal(own[node], given[name])
            if reason:
                return f"{name} is not the same: {reason}; compare the formula with the spec's"
        compared = True
    refused = "the model does not take the random values of the proof; call the op in the model"
    return "" if compared else refused


def _unequal(wanted: Any, found: Any) -> str:
    if tuple(wanted.shape) != tuple(found.shape):
        return f"shape {tuple(wanted.shape)} in the model, {tuple(found.shape)} by compute"
    if not wanted.dtype.is_floating_point:
        same = bool((wanted == found.to(wanted.dtype)).all())
        return "" if same else "other integers on random values"
    wanted, found = wanted.double(), found.double()
    finite = torch.isfinite(wanted)
    if bool((finite != torch.isfinite(found)).any()):
        return "infinite or NaN at other elements on random values"
    if not bool(finite.any()):
        return ""
    wanted, found = wanted[finite], found[finite]
    allowed = _RTOL * wanted.abs() + 1e-7 * wanted.abs().mean()
    off = (wanted - found).abs() > allowed
    return f"{int(off.sum())} of {off.numel()} elements on random values" if off.any() else ""
