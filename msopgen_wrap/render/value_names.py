"""Names that say what a value is: of row values and intermediate tiles, for a reader of a kernel.

A name follows from the operator that made the value and from what it was made of: the difference
of a value and its mean is ``centred``. Values that are written over one another are one variable,
which is called like the last of them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from msopgen_wrap.graph.scalars import Const
from msopgen_wrap.schedule.buffers import Place, Placement
from msopgen_wrap.schedule.emission import prefixed
from msopgen_wrap.schedule.program import LOADS, OPS, WORD_LOADS, Inst, Scalar, Val
from msopgen_wrap.spec.names import cpp_local

# Operator -> what its result is called.
_RESULTS = {
    "amax": "largest",
    "amin": "smallest",
    "argmax": "position",
    "argmin": "position",
    "bitwise_and": "bits",
    "bitwise_or": "bits",
    "bitwise_xor": "bits",
    "exp": "exponential",
    "log": "logarithm",
    "maximum": "larger",
    "mean": "mean",
    "minimum": "smaller",
    "reciprocal": "inverse",
    "rsqrt": "rstd",
    "sigmoid": "sigmoid",
    "sqrt": "root",
    "std": "deviation",
    "sum": "sum",
    "tanh": "tangent",
    "var": "variance",
}
_REDUCTIONS = {"Sum": "sum", "Max": "largest", "Min": "smallest", "Prod": "product"}
_BY_INSTRUCTION = {
    "Abs": "magnitude",
    "Exp": "exponential",
    "Ln": "logarithm",
    "Polynomial": "polynomial",
    "Sqrt": "root",
}
# Names that say less: of values that are nothing more particular.
_PLAIN = {
    "Add": "sum",
    "Adds": "shifted",
    "Cast": "converted",
    "Div": "quotient",
    "Index": "index",
    "Max": "larger",
    "Min": "smaller",
    "Mul": "product",
    "Muls": "scaled",
    "Select": "chosen",
    "Selects": "chosen",
    "Sub": "difference",
}
_OF_SAME = {"Mul": "squares"}
_CONSTANTS = {0.0: "zeros", 1.0: "ones"}
# What an instruction overwrites beside its result.
_SCRATCH = {"AddVariance": ("", "elements", "work"), "opgen::InverseSqrt": ("ones",)}


# Every name that a value may have, besides that of its slot; a parameter called so keeps its own.
NAMES = frozenset(
    {
        *_RESULTS.values(),
        *_REDUCTIONS.values(),
        *_BY_INSTRUCTION.values(),
        *_PLAIN.values(),
        *_OF_SAME.values(),
        *_CONSTANTS.values(),
        *(name for names in _SCRATCH.values() for name in names if name),
        *("centred", "meanSquare", "positions", "squareSum", "variance", "work"),
    }
)


def gives_way(name: str) -> bool:
    """Whether a value may have a name, which no parameter has then."""
    if re.fullmatch(r"(?:given|scaled)[A-Z]\w*", name):
        return True  # made of the name of an operand
    base = name.rstrip("0123456789")
    blocks = {_of_block(op) for op in OPS}
    return base in NAMES or bool({name, base} & blocks)


def _of_block(op: str) -> str:
    """Return what a building block makes, ``erfc`` of ``opgen::Erfc``; empty for no block."""
    block = op.partition("opgen::")[2]
    return block[:1].lower() + block[1:]


class ValueNames:
    """Names of the values of one op; the values of a kernel are named alike in all its methods."""

    def __init__(self, insts: Iterable[Inst], taken: Iterable[str]):
        """Name the values of ``insts``, in the order of execution.

        Args:
            taken: names of tensors and tiling fields, which a variable may not have.
        """
        self._taken = {*taken, *map(cpp_local, taken)}
        self._maker: dict[int, Inst] = {}
        self._scratch: dict[int, str] = {}
        for inst in insts:
            if inst.dst is not None:
                self._maker[inst.dst.id] = inst
            names = _SCRATCH.get(inst.op, ())
            for number, value in enumerate(inst.temps):
                self._scratch[value.id] = names[number] if number < len(names) else "work"

    @functools.cache  # noqa: B019  (lives as long as a rendering)
    def of(self, value: Val) -> str:
        """Return what a value is called, empty where nothing says what it is."""
        inst = self._maker.get(value.id)
        name = self._scratch.get(value.id, "") if inst is None else self._derived(inst)
        if name in self._taken and value.extent == "row":
            name = f"row{name[0].upper()}{name[1:]}"  # an input has the name
        return "" if name in self._taken else name

    def taken(self, name: str) -> bool:
        """Whether a tensor or tiling field is called so."""
        return name in self._taken

    def _derived(self, inst: Inst) -> str:
        op = inst.mode if inst.op == "Apply" else inst.op
        values = [a for a in inst.args if isinstance(a, Val)]
        if op == "Sub" and len(values) == 2 and self.of(values[1]) == "mean":
            return "centred"
        if len(values) == 2 and values[0] == values[1] and op in _OF_SAME:
            return _OF_SAME[op]
        if op == "Fill":
            number = inst.args[0]
            constant = isinstance(number, Scalar) and isinstance(number.expr, Const)
            return _CONSTANTS.get(number.expr.value, "") if constant else ""  # type: ignore[union-attr]
        if op == "Position":
            return "positions"
        if op in WORD_LOADS:
            return f"{inst.mode}{op.removeprefix('Load')}"
        if op == "Load" and inst.dst is not None and inst.dst.extent == "row":
            return prefixed("given", inst.mode)
        if op == "Reduce":
            return self._reduced(inst.mode.capitalize(), values[0])
        called = inst.note.removeprefix("aten.").split(" ")[0].split(".")[0]
        if op == "Muls" and self.of(values[0]) == "squareSum" and called in ("mean", "div", "var"):
            return self._mean_of_squares(values[0])
        return _RESULTS.get(called) or _BY_INSTRUCTION.get(op) or _of_block(op)

    def _mean_of_squares(self, total: Val) -> str:
        source = self._maker[total.id].args[0]
        squares = self._maker.get(source.id) if isinstance(source, Val) else None
        factor = squares.args[0] if squares is not None else None
        centred = isinstance(factor, Val) and self.of(factor) == "centred"
        return "variance" if centred else "meanSquare"

    def plain(self, value: Val) -> str:
        """Return a name that says how a value was made, for one that has no better name."""
        inst = self._maker.get(value.id)
        if inst is None:
            return ""
        name = _PLAIN.get(inst.mode if inst.op == "Apply" else inst.op, "")
        if inst.op == "Muls":
            source = inst.args[0]
            loaded = self._maker.get(source.id) if isinstance(source, Val) else None
            if loaded is not None and loaded.op == "Load":
                name = prefixed(name, loaded.mode)
        return "" if name in self._taken else name

    def _reduced(self, kind: str, value: Val) -> str:
        if kind == "Sum" and self.of(value) == "squares":
            return "squareSum"
        source = self._maker.get(value.id)
        if source is not None and source.op == "Selects":
            return "position"  # of the first extreme element
        return _REDUCTIONS.get(kind, "")


def variables(insts: list[Inst], placement: Placement, names: ValueNames) -> dict[int, str]:
    """Return the variables of the values of a method, by value id.

    Values in slots have one, and so do those that lie where an operand was before, as the operand's
    name would say something else. A value that nothing names takes the name of its slot.
    """
    chains: list[list[Val]] = []
    held: dict[Place, list[Val]] = {}
    for inst in insts:
        for value in (*inst.args, inst.dst, *inst.temps):
            if not isinstance(value, Val):
                continue
            place = placement.place(value)
            if place.role not in ("word", "row", "input"):
                continue
            chain = held.get(place)
            if chain is not None and any(v.id == value.id for v in chain):
                continue
            over = value is inst.dst and _over(inst, placement, place)
            if chain is None or not over:
                chain = held[place] = []
                chains.append(chain)
            chain.append(value)
    result: dict[int, str] = {}
    owner: dict[str, Place] = {}
    made = {i.dst.id for i in insts if i.dst is not None and i.op not in LOADS}
    for chain in chains:
        place = placement.place(chain[0])
        last = chain[::-1]
        base = next((n for n in (*map(names.of, last), *map(names.plain, last)) if n), "")
        if place.role == "input" and (not base or chain[0].id not in made):
            continue
        base = base or place.name
        name, count = base, 1
        while names.taken(name) or owner.setdefault(name, place) != place:
            count += 1
            name = f"{base}{count}"
        result.update((value.id, name) for value in chain)
    return result


def _over(inst: Inst, placement: Placement, place: Place) -> bool:
    """Whether an instruction writes its result over an operand."""
    read = {placement.place(a) for a in inst.args if isinstance(a, Val)}
    return OPS[inst.op].in_place and place in read
