"""Philox as one call of a graph: ``opgen::philox(index, seed, offset)``."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.spec.random_numbers import RandomNumbers, philox_words
from msopgen_wrap.torch_import import torch

_LIBRARY = torch.library.Library("opgen", "FRAGMENT")
_LIBRARY.define("philox(Tensor index, SymInt seed, SymInt offset) -> Tensor")


def _philox_meta(index: Any, seed: Any, offset: Any) -> Any:
    return torch.empty_like(index, dtype=torch.int32)


_LIBRARY.impl("philox", _philox_meta, "Meta")
_LIBRARY.impl("philox", philox_words, "CPU")


class TracedRandomNumbers(RandomNumbers):
    """The functions under ``opgen`` while ``compute`` is traced."""

    whole: Any = staticmethod(torch.sym_int)
    largest: Any = staticmethod(torch.sym_max)

    def philox(self, index: Any, seed: Any, offset: Any) -> Any:
        """Return the words as one call of the graph: the kernel has a block for it."""
        return torch.ops.opgen.philox(index, seed, offset)
