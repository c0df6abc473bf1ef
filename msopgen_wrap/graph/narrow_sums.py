"""Join integers in int32 where a formula keeps 32 bits or fewer of their 64-bit result.

PyTorch adds and multiplies integers of 32 bits in 64. ``x.sum(-1).to(torch.int32)`` keeps the low
32 bits, and these are the same where every step wraps: kernels compute in int32.
"""

from __future__ import annotations

from msopgen_wrap.graph.wide_products import CONVERSIONS
from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
Node = torch.fx.Node

_aten = torch.ops.aten
_JOINING = (
    _aten.sum.dim_IntList,
    _aten.cumsum.default,
    _aten.prod.dim_int,
    _aten.cumprod.default,
)
_NARROW = (torch.bool, torch.int8, torch.uint8, torch.int16, torch.int32)
_KEPT = (torch.int8, torch.uint8, torch.int16, torch.int32)


def narrow_sums(graph: Graph) -> None:
    """Give sums and products of integers int32 where all that reads them converts them to that.

    Rewrites a traced graph in place. Conversions to narrower integers than int32 count, too.
    """
    for node in graph.nodes:
        if node.target not in _JOINING or node.meta["val"].dtype != torch.int64:
            continue
        source = node.args[0]
        if source.meta["val"].dtype not in _NARROW or not node.users:
            continue
        if all(u.target in CONVERSIONS and u.meta["val"].dtype in _KEPT for u in node.users):
            node.kwargs = {**node.kwargs, "dtype": torch.int32}
            value = node.meta["val"]
            with value.fake_mode:
                node.meta["val"] = value.to(torch.int32)
