"""The decompositions that a traced graph is made with: PyTorch's, and a few of our own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from msopgen_wrap.graph.decompositions import lerp_decomposition, reduction_decompositions
from msopgen_wrap.graph.orthogonal_polynomials import polynomial_decompositions
from msopgen_wrap.graph.placement import placement_decompositions
from msopgen_wrap.graph.window_views import window_decompositions
from msopgen_wrap.torch_import import torch


@functools.lru_cache(maxsize=1)
def decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the decomposition table: core ATen, plus normalisations and losses."""
    from torch._decomp import core_aten_decompositions, get_decompositions

    aten = torch.ops.aten
    table = dict(core_aten_decompositions())
    # Lowered directly: their decompositions are longer or less accurate than one instruction.
    for op in (aten.sigmoid.default, aten.tanh.default):
        table.pop(op, None)
    for op in (aten.lerp.Scalar, aten.lerp.Tensor):
        table[op] = lerp_decomposition(table.pop(op))
    extra = [
        aten._softmax,
        aten._log_softmax,
        aten._fused_rms_norm,
        aten.elu,
        aten.leaky_relu,
        aten.hardtanh,
        aten.softplus,
        aten.mse_loss,
        aten.smooth_l1_loss,
        aten.huber_loss,
        aten.elu_backward,
        aten.gelu_backward,
        aten.sigmoid_backward,
        aten.tanh_backward,
        aten.threshold,
        aten.threshold_backward,
        aten.celu,
        aten.selu,
        aten.logit,
        aten.rsub,
        aten.xlogy,
        aten.nan_to_num,
        aten.linalg_vector_norm,
    ]
    table.update(get_decompositions([op for op in extra if op is not None]))
    table.update(_from_inductor(table))
    table.update(reduction_decompositions())
    table.update(polynomial_decompositions())
    table.update(placement_decompositions())
    table.update(window_decompositions())
    return table


# Operators that core ATen keeps and Inductor decomposes into pointwise work and views.
_INDUCTOR = (
    "fmax fmin round permute_copy view_copy expand_copy squeeze_copy unsqueeze_copy "
    "t_copy transpose_copy select_copy slice_copy detach_copy alias_copy diagonal_copy unbind_copy "
    "split_copy"
)


def _from_inductor(known: dict[Any, Any]) -> dict[Any, Callable[..., Any]]:
    """Return Inductor's decompositions of ``_INDUCTOR``, as far as it has them."""
    from torch._inductor.decomposition import select_decomp_table

    packets = set(_INDUCTOR.split())
    return {
        op: function
        for op, function in select_decomp_table().items()
        if isinstance(op, torch._ops.OpOverload)
        and op not in known
        and op._schema.name.removeprefix("aten::") in packets
        and op._overloadname != "out"
    }
