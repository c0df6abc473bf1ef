"""Which integer inputs of an op name elements of other tensors, and how many there are to name.

``compute`` runs on meta tensors; what it gives to calls that index is followed back to the inputs
through views and changes of dtype.
"""

from __future__ import annotations

import re
from typing import Any

from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.model import OpSpec, ParamKind
from msopgen_wrap.torch_import import torch

# Parts of torch come after its door.
# isort: split
from torch.utils._python_dispatch import TorchDispatchMode

_INTEGERS = (torch.int32, torch.int64)
# Words of compute that may index; without one of them nothing is run.
_WORDS = re.compile(r"index|gather|scatter|take|embedding|nll_loss|cross_entropy|one_hot|\[\s*\w")
# Call -> positions of the tensor that is indexed, of the axis, and of the indices.
_AXIS_CALLS = {
    "gather": (0, 1, 2),
    "scatter": (0, 1, 2),
    "scatter_add": (0, 1, 2),
    "scatter_reduce": (0, 1, 2),
    "index_select": (0, 1, 2),
    "index_add": (0, 1, 2),
    "index_copy": (0, 1, 2),
    "index_fill": (0, 1, 2),
    "index_reduce": (0, 1, 2),
}


class _IndexUses(TorchDispatchMode):
    """Notes which inputs index how many elements.

    Args:
        names: input by the id of its tensor.
    """

    def __init__(self, names: dict[int, str]) -> None:
        super().__init__()
        self.names = names
        self.kept: list[Any] = []  # an id is that of a tensor as long as it lives
        self.sizes: dict[str, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = str(func.overloadpacket).rpartition(".")[2].rstrip("_")
        if name in _AXIS_CALLS:
            table, axis, index = (args[i] for i in _AXIS_CALLS[name])
            self._note(index, table.shape[axis] if table.dim() else 1)
        elif name in ("index", "index_put", "_index_put_impl", "_unsafe_index"):
            for axis, index in enumerate(args[1]):
                if index is not None:
                    self._note(index, args[0].shape[axis])
        elif name == "embedding":
            self._note(args[1], args[0].shape[0])
        elif name == "take":
            self._note(args[1], args[0].numel())
        elif name.startswith("nll_loss"):
            self._note(args[1], args[0].shape[0 if args[0].dim() == 1 else 1])
        result = func(*args, **(kwargs or {}))
        first = args[0] if args else None
        integer = isinstance(result, torch.Tensor) and result.dtype in _INTEGERS
        if integer and id(first) in self.names and len(_tensors(args)) == 1:
            self.names[id(result)] = self.names[id(first)]
            self.kept.append(result)
        return result

    def _note(self, index: Any, size: int) -> None:
        name = self.names.get(id(index))
        if name is not None:
            self.sizes[name] = min(size, self.sizes.get(name, size))


def _tensors(args: Any) -> list[Any]:
    return [a for a in args if isinstance(a, torch.Tensor)]


def indexed_sizes(spec: OpSpec, case: TestCase) -> dict[str, int]:
    """Return how many elements the inputs that index choose among; empty where none do.

    An input with a ``range`` of its own is left out.
    """
    integers = [
        p
        for p in spec.inputs
        if p.kind is not ParamKind.DYNAMIC
        and p.dtypes[case.combo] in ("int32", "int64")
        and p.low is None
        and p.high is None
    ]
    if not integers or spec.compute is None or not _WORDS.search(spec.compute.text):
        return {}
    inputs: dict[str, Any] = {}
    for param in spec.inputs:
        shape, dtype = case.shapes.get(param.name), getattr(torch, param.dtypes[case.combo])
        if shape is None:
            inputs[param.name] = None
        elif param.kind is ParamKind.DYNAMIC:
            inputs[param.name] = [torch.empty(s, dtype=dtype, device="meta") for s in shape]
        else:
            inputs[param.name] = torch.empty(shape, dtype=dtype, device="meta")
    names = {id(inputs[p.name]): p.name for p in integers if inputs[p.name] is not None}
    uses = _IndexUses(names)
    try:
        with torch.no_grad(), uses:
            compile_compute(spec, wrap_errors=False)(inputs, dict(case.attrs))
    except (NotImplementedError, TypeError, RuntimeError, IndexError, ValueError):
        pass  # what was seen until then counts
    return uses.sizes
