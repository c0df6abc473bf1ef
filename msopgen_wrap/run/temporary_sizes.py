"""How large the tensors are that ``compute`` makes on its way, which shape rules do not say."""

from __future__ import annotations

import functools
from typing import Any

from msopgen_wrap.graph.counting import counting_decompositions
from msopgen_wrap.graph.index_decompositions import index_decompositions
from msopgen_wrap.graph.orders import order_decompositions
from msopgen_wrap.torch_import import torch

TorchDispatchMode = torch.utils._python_dispatch.TorchDispatchMode
tree_leaves = torch.utils._pytree.tree_leaves

# A reference holds them in float64: 1 GB. A gather whose rows are added up again multiplies the
# sizes of its inputs, which share one base shape in the case grid.
MOST_TEMPORARY = 2**27
# Some operators compare or combine all pairs in a kernel. Emulated, so many take some ten seconds.
MOST_PAIRS = 2**28


# What autograd makes of the gradient of a slice: a tensor as large as what it was cut from. Those
# of all steps of a loop exist at once.
_OF_SLICES = ("aten.select_backward.default", "aten.slice_backward.default")


def _isin(elements: Any, tests: Any, **_: Any) -> Any:
    return elements.reshape(-1, 1) == tests.reshape(-1)


@functools.cache
def _pairing_operators() -> dict[Any, Any]:
    """Return the operators that kernels make of all pairs, as the tensors that these make."""
    aten = torch.ops.aten
    tables = (counting_decompositions(), index_decompositions(), order_decompositions())
    table = {operator: steps for table in tables for operator, steps in table.items()}
    names = (
        *(aten.bucketize.Tensor, aten.searchsorted.Tensor, aten.histc.default, aten.mode.default),
        *(aten._cdist_forward.default, aten._pdist_forward.default),
        aten.multilabel_margin_loss_forward.default,
    )
    return {aten.isin.Tensor_Tensor: _isin, **{name: table[name] for name in names}}


class LargestTemporary(TorchDispatchMode):  # type: ignore[misc, valid-type]
    """Notes the size of the largest result while it is active; meta tensors suffice.

    Attributes:
        elements: of the largest result, as it is stored: an expanded view has those of its source.
            The gradients of slices count together.
        pairs: of the largest tensor of all pairs of something, which a kernel makes on its way.
    """

    def __init__(self) -> None:
        super().__init__()
        self.elements, self.pairs = 0, 0
        self._of_slices = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        steps = _pairing_operators().get(func)
        if steps is not None:
            with LargestTemporary() as own:
                steps(*args, **(kwargs or {}))
            self.pairs = max(self.pairs, own.elements)
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                stored = leaf.untyped_storage().nbytes() // leaf.element_size()
                self.elements = max(self.elements, stored)
                self._of_slices += stored if str(func) in _OF_SLICES else 0
        self.elements = max(self.elements, self._of_slices)
        return result
