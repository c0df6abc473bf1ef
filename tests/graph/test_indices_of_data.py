"""Indices without axes, which are data and no numbers of the trace, and lists of numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.graph.trace_rewrites import SymbolicIndices
from msopgen_wrap.graph.tracing import trace
from msopgen_wrap.graph.variants import variants
from msopgen_wrap.spec.loader import load_spec
from msopgen_wrap.spec.model import OpSpec

FIRST, LAST, ROW = torch.tensor(2), torch.tensor(-1), torch.tensor([0, 1, 1])
INDICES: dict[str, Any] = {
    "a row": FIRST,
    "a column": (slice(None), FIRST),
    "the last axis": (..., LAST),
    "an axis among others": (slice(1, 3), None, FIRST, slice(None)),
    "before the last axis": (..., FIRST, slice(None)),
    "two": (FIRST, LAST),
    "two apart": (FIRST, slice(None), LAST),
    "beside others": (FIRST, ROW),
    "behind others": (slice(None), ROW, LAST),
}


@pytest.mark.parametrize("name", INDICES)
def test_an_index_of_data_is_that_of_pytorch(name: str) -> None:
    x = torch.arange(60).reshape(3, 4, 5)
    with SymbolicIndices():
        found = x[INDICES[name]]
    assert torch.equal(found, x[INDICES[name]])


LISTS: dict[str, Any] = {
    "a list": [2, 0, 2],
    "on the last axis": (..., [0, -1]),
    "two": ([0, 2], [1, -4]),
    "two behind all": (..., [3, 0], [1, 2]),
    "one that repeats": (slice(None), [1], [4, 0, 2]),
    "two apart": ([0, 1], slice(1, 3), [2, 2]),
    "two beside a new axis": ([0, 1], None, [2, 3]),
    "three": ([0, 1], [2, 3], [4, -1]),
    "single ones": ([1], slice(None), [3]),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_numbers_are_read_one_by_one(name: str) -> None:
    x = torch.arange(60).reshape(3, 4, 5)
    with SymbolicIndices(), NoIndexTensors():
        found = x[LISTS[name]]
    assert torch.equal(found, x[LISTS[name]])


def test_lists_of_different_lengths_are_left_to_pytorch() -> None:
    with pytest.raises(IndexError, match="broadcast"), SymbolicIndices():
        torch.zeros(3, 4)[[0, 1], [0, 1, 2]]


class NoIndexTensors(TorchDispatchMode):
    """Refuses gathers by tensors of indices."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run a call that is no gather."""
        assert func is not torch.ops.aten.index.Tensor
        return func(*args, **(kwargs or {}))


def spec_of(compute: str, folder: Path) -> OpSpec:
    path = folder / "index.yaml"
    path.write_text(
        "op: IndexOfData\ninputs:\n  x: {dtype: float32, rank: 2}\n"
        '  i: {dtype: int64, shape: "[]"}\noutputs:\n'
        f'  y: {{dtype: x, shape: "[x[1]]"}}\nbackward: none\ncompute: y = {compute}\n'
    )
    return load_spec(path)


@pytest.mark.parametrize("compute", ["x[i]", "x[i, :]", "torch.take(x, i) + x[0]"])
def test_the_trace_keeps_what_is_read(compute: str, tmp_path: Path) -> None:
    """It held the number that the sample has, for all calls."""
    spec = spec_of(compute, tmp_path)
    graph = trace(spec, variants(spec)[0]).graph
    assert any(str(node.target) == "aten.index.Tensor" for node in graph.nodes)
    index = [n for n in graph.nodes if n.op == "placeholder"][1]
    assert index.users


def test_what_needs_the_number_itself_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OpgenError) as raised:
        plan_op(spec_of("torch.select(x, 0, i)", tmp_path))
    assert raised.value.diagnostics[0].code == "OPG331"
