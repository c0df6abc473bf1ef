"""How large the tensors are that ``compute`` makes on its way, which shape rules do not say."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.torch_import import torch

TorchDispatchMode = torch.utils._python_dispatch.TorchDispatchMode
tree_leaves = torch.utils._pytree.tree_leaves

# A reference holds them in float64: 1 GB. A gather whose rows are added up again multiplies the
# sizes of its inputs, which share one base shape in the case grid.
MOST_TEMPORARY = 2**27


# What autograd makes of the gradient of a slice: a tensor as large as what it was cut from. Those
# of all steps of a loop exist at once.
_OF_SLICES = ("aten.select_backward.default", "aten.slice_backward.default")


class LargestTemporary(TorchDispatchMode):  # type: ignore[misc, valid-type]
    """Notes the size of the largest result while it is active; meta tensors suffice.

    Attributes:
        elements: of the largest result, as it is stored: an expanded view has those of its source.
            The gradients of slices count together.
    """

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0
        self._of_slices = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                stored = leaf.untyped_storage().nbytes() // leaf.element_size()
                self.elements = max(self.elements, stored)
                self._of_slices += stored if str(func) in _OF_SLICES else 0
        self.elements = max(self.elements, self._of_slices)
        return result
