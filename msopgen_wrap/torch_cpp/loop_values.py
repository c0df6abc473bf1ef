"""Values of a loop nest: what is read, computed and reduced for one element or one row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

FULL, ROW = "full", "row"


@dataclass(eq=False)
class Value:
    """A value of one element, or of one row.

    Attributes:
        kind: ``load``, ``call``, ``reduction`` or ``number``.
        dtype: torch's name of its type.
        level: ``full`` (one per element) or ``row`` (one per row).
        name: what a local variable of it is called.
        args: values that it is computed from.
        target: of a call, the packet (``aten.add``); of a reduction, its kind; of a number, its C++
            text.
        options: further arguments of a call.
        operand: of a load, its place among the tensors of the nest.
        depth: how many reductions must have been made before.
    """

    kind: str
    dtype: str
    level: str
    name: str
    args: tuple[Value, ...] = ()
    target: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    operand: int = 0
    depth: int = 0


@dataclass(frozen=True)
class Operand:
    """A tensor that a nest reads.

    Attributes:
        name: what variables of it are called.
        text: C++ of the tensor, aligned with the axes of the nest.
        storage: C++ type of its elements.
    """

    name: str
    text: str
    storage: str


@dataclass(frozen=True)
class Store:
    """A value that a nest writes.

    Attributes:
        tensor: C++ name of the tensor that the nest makes.
        storage: C++ type of its elements.
        output: the output of the op that it is; empty for a temporary of a later nest.
        keepdim: of a temporary with a value per row: whether the axes of the rows stay, at size 1.
    """

    value: Value
    tensor: str
    storage: str
    output: str = ""
    keepdim: bool = True


@dataclass
class LoopNest:
    """Loops over one shape.

    Attributes:
        rank: number of axes of the shape.
        shape: the sizes, as text of symbols: nests of equal shape and axes are one.
        reduced: axes of the rows; empty for loops over all elements.
        operands: tensors that are read.
        reductions: in the order in which they were found.
        domains: per reduction, the operands whose common shape it covers.
        reshaped: whether outputs have other axes than the nest.
        product: whether its rows are elements of a matrix product.
    """

    rank: int
    shape: tuple[str, ...]
    reduced: frozenset[int]
    operands: list[Operand] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    reductions: list[Value] = field(default_factory=list)
    domains: list[frozenset[int]] = field(default_factory=list)
    reshaped: bool = False
    product: bool = False

    @property
    def has_rows(self) -> bool:
        """Whether the nest has an outer loop over rows."""
        return bool(self.reductions)
