"""Which inputs of an op name elements of other tensors, and how many there are to name.

``compute`` runs on meta tensors; what it gives to calls that index is followed back to the inputs
through views and changes of dtype. So are the sequences that ``searchsorted`` and ``bucketize``
search, and the edges of a ``histogram``, which have to be sorted: of others PyTorch's own result
follows from the way it searches.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from msopgen_wrap.graph.kept_tensors import meta_inputs
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.model import OpSpec, ParamKind
from msopgen_wrap.torch_import import torch

# Parts of torch come after its door.
# isort: split
from torch.utils._python_dispatch import TorchDispatchMode

_INTEGERS = (torch.int32, torch.int64)
# Words of compute that may index, or search; without one of them nothing is run.
_WORDS = re.compile(
    r"index|gather|scatter|take|embedding|nll_loss|cross_entropy|one_hot|\[[^\]]*[A-Za-z_]"
)
_SEARCHES = re.compile(r"searchsorted|bucketize|histogram")
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


class Call(Protocol):
    """What is known of a call: its dtypes, shapes by input (None: absent), and attrs."""

    @property
    def combo(self) -> int:
        """Index of the dtype combination."""

    @property
    def shapes(self) -> dict[str, Any]:
        """Shapes by input."""

    @property
    def attrs(self) -> dict[str, Any]:
        """Values by attr."""


class SampleCall(NamedTuple):
    """A call of a sample."""

    combo: int
    shapes: dict[str, Any]
    attrs: dict[str, Any]


@dataclass(frozen=True)
class IndexUse:
    """What an input of indices is for.

    Attributes:
        size: how many elements there are to choose among, at least.
        distinct: the axis along which its indices have to differ, as elements are written over
            and PyTorch leaves open which of several values stays; None: none.
        low, high: range that the spec gives the input, both included; None: all elements.
        starts: whether bags begin there: in order, and the first at 0.
        ends: whether the last one is where the last bag ends.
    """

    size: int
    distinct: int | None = None
    low: int | None = None
    high: int | None = None
    starts: bool = False
    ends: bool = False

    def draw(self, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
        """Draw indices; of no elements there are no right ones."""
        size = max(1, self.size)
        if self.starts and 0 not in shape:
            places = torch.randint(0, size, shape, generator=generator).sort(-1).values
            places[..., 0] = 0
            if self.ends:
                places[..., -1] = size - 1
            return places
        if self.distinct is None or self.distinct >= len(shape):  # a view has axes of its own
            return torch.randint(0, size, shape, generator=generator)
        choice = self._different(generator)
        length = shape[self.distinct]
        longer = [*shape]
        longer[self.distinct] = max(len(choice), length)
        order = torch.rand(longer, generator=generator).argsort(self.distinct)
        return choice[order.narrow(self.distinct, 0, length) % len(choice)]

    def _different(self, generator: torch.Generator) -> torch.Tensor:
        """Return indices of the range that name different elements, as far as there are some.

        Of -1 and the last index, which name one element, either is returned.
        """
        size = max(1, self.size)
        low = 0 if self.low is None else max(-size, min(self.low, size - 1))
        high = size - 1 if self.high is None else max(low, min(self.high, size - 1))
        choice = torch.arange(low, high + 1)
        if low >= 0:
            return choice
        choice = choice[torch.randperm(len(choice), generator=generator)]
        places = (choice % size).tolist()
        firsts = {place: at for at, place in reversed(list(enumerate(places)))}
        return choice[list(firsts.values())]


class _IndexUses(TorchDispatchMode):
    """Notes which inputs index how many elements.

    Args:
        names: input by the id of its tensor.
    """

    def __init__(self, names: dict[int, str]) -> None:
        super().__init__()
        self.names = names
        self.kept: list[Any] = []  # an id is that of a tensor as long as it lives
        self.uses: dict[str, IndexUse] = {}
        self.sequences: dict[str, str] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = str(func.overloadpacket).rpartition(".")[2].rstrip("_")
        if name in _AXIS_CALLS:
            table, axis, index = (args[i] for i in _AXIS_CALLS[name])
            distinct = axis % max(1, index.dim()) if name == "scatter" else 0
            overwrites = name in ("scatter", "index_copy")
            size = table.shape[axis] if table.dim() else 1
            self._note(index, size, distinct if overwrites else None)
        elif name in ("index", "index_put", "_index_put_impl", "_unsafe_index"):
            adds = "put" not in name or (len(args) > 3 and args[3])
            for axis, index in enumerate(args[1]):
                if index is not None:
                    self._note(index, args[0].shape[axis], None if adds else 0)
        elif name == "embedding":
            self._note(args[1], args[0].shape[0])
        elif name.startswith("_embedding_bag"):
            self._note(args[1], args[0].shape[0])
            offsets = self.names.get(id(args[2]))
            if offsets is not None:
                ends = len(args) > 7 and bool(args[7])
                self.uses[offsets] = IndexUse(args[1].shape[0] + 1, starts=True, ends=ends)
        elif name == "take":
            self._note(args[1], args[0].numel())
        elif name in ("searchsorted", "bucketize", "histogram"):
            sequence = self.names.get(id(args[0 if name == "searchsorted" else 1]))
            if sequence is not None:
                sorter = (kwargs or {}).get("sorter")
                self.sequences[sequence] = self.names.get(id(sorter), "")
        elif name.startswith("nll_loss"):
            self._note(args[1], args[0].shape[0 if args[0].dim() == 1 else 1])
        result = func(*args, **(kwargs or {}))
        first = args[0] if args else None
        integer = isinstance(result, torch.Tensor) and result.dtype in _INTEGERS
        if integer and id(first) in self.names and len(_tensors(args)) == 1:
            self.names[id(result)] = self.names[id(first)]
            self.kept.append(result)
        return result

    def _note(self, index: Any, size: int, distinct: int | None = None) -> None:
        name = self.names.get(id(index))
        if name is not None:
            known = self.uses.get(name, IndexUse(size, distinct))
            both = (d for d in (known.distinct, distinct) if d is not None)
            self.uses[name] = replace(known, size=min(size, known.size), distinct=next(both, None))


def _tensors(args: Any) -> list[Any]:
    return [a for a in args if isinstance(a, torch.Tensor)]


def index_uses(spec: OpSpec, case: Call) -> dict[str, IndexUse]:
    """Return what the inputs that index choose among; empty where none do.

    An input with a ``range`` of its own is left out, unless elements are written over: its indices
    have to differ within the range. Offsets of bags have an order, with a range or without.
    """
    integers = {
        p.name: p
        for p in spec.inputs
        if p.kind is not ParamKind.DYNAMIC and p.dtypes[case.combo] in ("int32", "int64")
    }
    if not integers or spec.compute is None or not _WORDS.search(spec.compute.text):
        return {}
    uses = {}
    for name, use in _uses(spec, case, list(integers)).uses.items():
        low, high = integers[name].low, integers[name].high
        if (low is None and high is None) or use.starts:
            uses[name] = use
        elif use.distinct is not None:
            low, high = (None if bound is None else int(bound) for bound in (low, high))
            uses[name] = replace(use, low=low, high=high)
    return uses


def searched_sequences(spec: OpSpec, case: Call) -> dict[str, str]:
    """Return the inputs that have to be sorted, with the input that sorts each, "" for none."""
    if spec.compute is None or not _SEARCHES.search(spec.compute.text):
        return {}
    single = [p.name for p in spec.inputs if p.kind is not ParamKind.DYNAMIC]
    return _uses(spec, case, single).sequences


def sort_sequences(inputs: dict[str, Any], sequences: dict[str, str]) -> None:
    """Sort what is searched, or give its order; NaN, which has no place in it, becomes inf."""
    for name, sorter in sequences.items():
        row = inputs[name]
        if row is None or not row.dim():
            continue
        if row.is_floating_point():
            row = torch.where(torch.isnan(row), float("inf"), row).to(row.dtype)
        order = row.sort(-1)
        inputs[name] = row if sorter else order.values
        if sorter:
            inputs[sorter] = order.indices.to(inputs[sorter].dtype)


def _uses(spec: OpSpec, case: Call, wanted: list[str]) -> _IndexUses:
    """Run ``compute`` on meta tensors and return what was seen of some inputs."""
    assert spec.compute is not None
    inputs = meta_inputs(spec, case.shapes, case.combo)
    names = {id(inputs[name]): name for name in wanted if inputs[name] is not None}
    uses = _IndexUses(names)
    try:
        with torch.no_grad(), uses:
            compile_compute(spec, wrap_errors=False)(inputs, dict(case.attrs))
    except (TypeError, RuntimeError, IndexError, ValueError, AssertionError, ZeroDivisionError):
        pass  # what was seen until then counts
    return uses
