"""Values that go through the workspace: their dtypes, names and what comments say of them."""

from __future__ import annotations

from collections.abc import Iterable

from msopgen_wrap.schedule.anchors import is_anchor
from msopgen_wrap.schedule.calls import RESHAPES, reduction_kind, target_name
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

_NAMES = {"max_dim": "max", "min_dim": "min"}


def temporary_dtype(node: Node) -> str | None:
    """Return the dtype of a temporary: what a kernel computes the value in.

    Integers of 64 bits that are made of those of an input are kept whole, as nothing may bound
    them. Others are numbers of int32: positions, and what is counted.
    """
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return None
    dtype = value.dtype
    if dtype.is_floating_point:
        return "float32"
    if dtype == torch.int64 and _has_elements_of_int64(node):
        return "int64"
    return "bool" if dtype == torch.bool else "int32"


def _has_elements_of_int64(node: Node) -> bool:
    """Whether integers of 64 bits are made of those of an input by calls that give such integers.

    The second result of a call is where its first one was found.
    """
    seen, pending = {node}, [node]
    while pending:
        value = pending.pop()
        if value.op == "placeholder":
            return True
        if target_name(value) == "operator.getitem" and value.args[1] != 0:
            continue
        sources = value.all_input_nodes
        if target_name(value) == "operator.getitem":
            sources = sources[0].all_input_nodes
        for source in sources:
            given = source.meta.get("val")
            wide = isinstance(given, torch.Tensor) and given.dtype == torch.int64
            if wide and source not in seen:
                seen.add(source)
                pending.append(source)
    return False


def base_name(node: Node) -> str:
    """Return what the name of a temporary begins with."""
    if target_name(node) == "operator.getitem":
        kind = str(reduction_kind(node.args[0])) if isinstance(node.args[0], Node) else ""
        return "position" if node.args[1] == 1 else _NAMES.get(kind, "value")
    source = node.args[0] if target_name(node) in RESHAPES else node
    if isinstance(source, Node) and is_anchor(source):
        return target_name(source).split(".")[1].strip("_")
    return reduction_kind(node) or "value"


def temporary_doc(node: Node, dtype: str) -> str:
    """Return what a temporary holds, for comments."""
    called = node.args[0] if target_name(node) == "operator.getitem" else node
    return f"the result of {target_name(called).rpartition('.')[0]}, {dtype}"  # type: ignore[arg-type]


def free_name(base: str, taken: Iterable[str]) -> str:
    """Return ``sum1``, or the next number that is free."""
    known, number = set(taken), 1
    while f"{base}{number}" in known:
        number += 1
    return f"{base}{number}"
