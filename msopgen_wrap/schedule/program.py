"""The vector program: what one kernel computes on one tile, as AscendC instructions over values.

Values are single-assignment. A value has a *kind*, the C++ element type it is computed in; masks
are bit masks as ``Compare`` writes them (one bit per lane). Storage dtypes (half, bfloat16, int8,
bool ...) never appear here: ``Load`` widens a tile to its compute kind and ``Store`` narrows it.

Both kernel families share this module. In the row family a value also has an *extent*: ``full``
(every lane of the tile), ``row`` (one number per reduced row) or ``kept`` (an operand of fewer
dimensions, as it was loaded); elementwise values are ``full``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeVar, Union

from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.graph.scalars import ScalarExpr, describe

Extra = TypeVar("Extra")

F32 = "float"
I32 = "int32_t"
MASK = "mask"
KIND_BYTES = {F32: 4.0, I32: 4.0, MASK: 0.125}

# Storage dtype -> the kind that an input of it is computed in.
COMPUTE_KIND = {
    "float16": F32,
    "bfloat16": F32,
    "float32": F32,
    "int8": I32,
    "uint8": I32,
    "int16": I32,
    "int32": I32,
    "int64": I32,  # values that int32 holds; see ``Emitter.kind``
    "bool": MASK,
}
# Storage dtype -> the kind that an output of it is written from.
STORED_KIND = COMPUTE_KIND

DTYPE_BYTES = {row.name: row.size for row in BY_NAME.values()}
CPP_TYPE = {row.name: row.kernel for row in BY_NAME.values()}
# Storage types whose tile is already in the compute kind.
DIRECT = {"float32": F32, "int32": I32}


@dataclass(frozen=True)
class Val:
    """A virtual tile."""

    id: int
    kind: str
    extent: str = "full"

    def __str__(self) -> str:
        prefix = {F32: "f", I32: "i", MASK: "m"}[self.kind]
        return f"%{prefix}{self.id}{dict(row='r', kept='k').get(self.extent, '')}"


@dataclass(frozen=True)
class Scalar:
    """A scalar operand: a literal or an expression over attrs and sizes, used as ``kind``."""

    expr: ScalarExpr
    kind: str = F32

    def __str__(self) -> str:
        return describe(self.expr)


Operand = Union[Val, Scalar]  # noqa: UP007  (evaluated on Python 3.10)


@dataclass(frozen=True)
class Words:
    """Integers of 64 bits as their words of 32 bits, each of kind I32."""

    low: Operand
    high: Operand


# Instructions that bring an operand to a tile of its own, or a word of each of its elements.
WORD_LOADS = ("LoadLow", "LoadHigh")
LOADS = ("Load", *WORD_LOADS)


@dataclass(frozen=True)
class Inst:
    """One instruction.

    Attributes:
        op: an AscendC instruction or a building block (see ``OPS``).
        dst: the value it defines (None for Store and AddColumns).
        args: operands in call order.
        mode: rounding mode, compare mode, reduction or parameter name, where the op has one.
        temps: scratch tiles it overwrites.
        note: what this is for a reader: the ATen op.
    """

    op: str
    dst: Val | None
    args: tuple[Operand, ...] = ()
    mode: str = ""
    temps: tuple[Val, ...] = ()
    note: str = ""

    def __str__(self) -> str:
        head = f"{self.dst} = " if self.dst else ""
        mode = f"<{self.mode}>" if self.mode else ""
        operands = [str(a) for a in (*self.args, *self.temps)]
        return f"{head}{self.op}{mode}({', '.join(operands)})"


@dataclass(frozen=True)
class OpInfo:
    """How an instruction is called.

    Attributes:
        call: C++ function; empty for instructions the renderer spells itself.
        in_place: whether dst may be the same tile as an argument.
    """

    call: str = ""
    in_place: bool = True


OPS: dict[str, OpInfo] = {
    name: OpInfo(name)
    for name in (
        *("Add", "Sub", "Mul", "Div", "Max", "Min", "Adds", "Muls", "Maxs", "Mins"),
        *("Exp", "Ln", "Sqrt", "Abs", "Relu"),
    )
}
OPS.update(
    {
        "Load": OpInfo(),
        "LoadLow": OpInfo("", in_place=False),
        "LoadHigh": OpInfo("", in_place=False),
        # a tile that a block writes beside its result, and its content behind the block
        "Room": OpInfo("", in_place=False),
        "Beside": OpInfo(),
        "Index": OpInfo("", in_place=False),
        "Store": OpInfo(),
        "Fill": OpInfo("Duplicate"),
        "Move": OpInfo(),
        "Cast": OpInfo("Cast"),
        "Bits": OpInfo(),
        "Compare": OpInfo("Compare", in_place=False),
        "Compares": OpInfo("CompareScalar", in_place=False),
        "Select": OpInfo("Select"),
        "Selects": OpInfo("Select"),
        "ShiftLeft": OpInfo("ShiftLeft"),
        "ShiftRight": OpInfo("ShiftRight"),
        "ShiftRightLogical": OpInfo("ShiftRight"),
        "BitAnd": OpInfo("And"),
        "BitOr": OpInfo("Or"),
        "BitNot": OpInfo("Not"),
        "MaskAnd": OpInfo("And"),
        "MaskOr": OpInfo("Or"),
        "MaskNot": OpInfo("Not"),
        "Reduce": OpInfo("", in_place=False),
        "AddColumns": OpInfo("", in_place=False),
        "Expand": OpInfo("", in_place=False),
        "Apply": OpInfo(),
        "AddExpSum": OpInfo("", in_place=False),
        "AddVariance": OpInfo("", in_place=False),
        "MoveExpSum": OpInfo("", in_place=False),
        "Position": OpInfo("", in_place=False),
        "Scan": OpInfo("", in_place=False),
        "LoopBefore": OpInfo("", in_place=False),
        "LoopAfter": OpInfo("", in_place=False),
    }
)


@dataclass
class Program:
    """A vector program.

    Attributes:
        insts: instructions in order.
        scalars: tiling fields the program needs: name -> scalar operand (not literals).
    """

    insts: list[Inst] = field(default_factory=list)
    scalars: dict[str, Scalar] = field(default_factory=dict)
    _next: int = 0

    def value(self, kind: str, extent: str = "full") -> Val:
        """Return a fresh value."""
        self._next += 1
        return Val(self._next, kind, extent)

    def emit(
        self,
        op: str,
        kind: str,
        *args: Operand,
        mode: str = "",
        temps: tuple[str, ...] = (),
        note: str = "",
        extent: str = "",
    ) -> Val:
        """Append an instruction and return its result.

        The extent of the result is ``full`` as soon as an argument is, unless given.
        """
        if not extent:
            extents = {a.extent for a in args if isinstance(a, Val)}
            extent = "row" if extents == {"row"} else "full"
        dst = self.value(kind, extent)
        scratch = tuple(self.value(k, extent) for k in temps)
        self.insts.append(Inst(op, dst, args, mode, scratch, note))
        return dst

    def store(self, name: str, value: Val, note: str = "") -> None:
        """Append the store of an output."""
        self.insts.append(Inst("Store", None, (value,), name, (), note))

    def store_words(self, name: str, low: Val, high: Val, note: str = "") -> None:
        """Append the store of an output of 64-bit integers from their words."""
        self.insts.append(Inst("Store", None, (low, high), name, (self.value(I32),), note))

    @property
    def loads(self) -> list[Inst]:
        """The loads, in order."""
        return [i for i in self.insts if i.op in LOADS]

    @property
    def stores(self) -> list[Inst]:
        """The stores, in order."""
        return [i for i in self.insts if i.op == "Store"]

    @property
    def uses_masks(self) -> bool:
        """Whether any value is a bit mask: then instructions run on whole 256-byte repeats."""
        return any(
            v.kind == MASK
            for i in self.insts
            for v in (i.dst, *i.args, *i.temps)
            if isinstance(v, Val)
        )

    def text(self) -> str:
        """Return a listing."""
        return "\n".join(f"{i!s:<48}{'; ' + i.note if i.note else ''}".rstrip() for i in self.insts)


def polynomials(program: Program) -> dict[str, int]:
    """Return the polynomials whose coefficients a kernel may keep in UB.

    Returns:
        The coefficients as the instruction has them (``mode``) -> the first of the blocks of 32
        bytes that hold all but the two highest.
    """
    found: dict[str, int] = {}
    blocks = 0
    for inst in program.insts:
        if inst.op == "Polynomial" and inst.mode not in found:
            found[inst.mode] = blocks
            blocks += coefficient_blocks(inst.mode)
    return found


def coefficient_blocks(coefficients: str) -> int:
    """Return how many blocks of UB the coefficients of a polynomial take."""
    return len(coefficients.split(",")) - 2


def eliminate_dead(program: Program) -> Program:
    """Drop instructions whose result nobody reads."""
    live: set[int] = set()
    kept: list[Inst] = []
    for inst in reversed(program.insts):
        if inst.dst is not None and inst.dst.id not in live:
            continue
        kept.append(inst)
        live.update(a.id for a in inst.args if isinstance(a, Val))
    result = Program(list(reversed(kept)), dict(program.scalars), program._next)
    used = {str(a) for i in result.insts for a in i.args if isinstance(a, Scalar)}
    result.scalars = {k: s for k, s in result.scalars.items() if str(s) in used}
    return result


def join_group(
    groups: list[tuple[Program, Extra, list[int]]], program: Program, extra: Extra, combo: int
) -> None:
    """Add a dtype combination to the group whose program is the same code, or to a new one.

    Args:
        groups: program, what belongs to it, and the combinations that it serves; changed.
        program: the combination's program.
        extra: what belongs to it; that of the first program of a group stays.
        combo: the combination.
    """
    for other, _, combos in groups:
        if signature(other) == signature(program):
            combos.append(combo)
            return
    groups.append((program, extra, [combo]))


def signature(program: Program) -> tuple[object, ...]:
    """Return a key equal for programs that are the same code (up to numbering)."""
    names: dict[int, int] = {}

    def key(a: Operand) -> object:
        if isinstance(a, Scalar):
            return ("s", a.kind, a.expr)
        return ("v", a.kind, a.extent, names.setdefault(a.id, len(names)))

    return tuple(
        (i.op, i.mode, key(i.dst) if i.dst else None, tuple(map(key, (*i.args, *i.temps))))
        for i in program.insts
    )


def sources(program: Program, name: str, kinds: tuple[str, ...] = LOADS) -> set[str]:
    """Return the operands that an output is made of.

    Args:
        kinds: the instructions that bring what counts; ``Index`` stands for numbers of an axis.
    """
    stored = [i for i in program.stores if i.mode == name]
    return sources_of(program, [v for i in stored for v in values_read(i)], kinds)


def sources_of(
    program: Program,
    values: Iterable[Val],
    kinds: tuple[str, ...] = LOADS,
    ends: tuple[str, ...] = (),
) -> set[str]:
    """Return the operands that values are made of.

    Args:
        program: that computes the values.
        values: some of its values.
        kinds: the instructions that bring what counts; ``Index`` stands for numbers of an axis.
        ends: instructions whose results count for nothing, whatever they are made of.
    """
    needed = {value.id for value in values}
    found: set[str] = set()
    for inst in reversed(program.insts):
        if inst.dst is None or inst.dst.id not in needed or inst.op in ends:
            continue
        needed |= {value.id for value in values_read(inst)}
        if inst.op in kinds:
            found.add(inst.mode)
    return found


def values_read(inst: Inst) -> list[Val]:
    """Return the values among the arguments of an instruction."""
    return [a for a in inst.args if isinstance(a, Val)]


def only_moves(program: Program) -> bool:
    """Whether a program stores what it loads, and does nothing else."""
    return all(i.op in ("Load", "Store") for i in program.insts)


def share_common(program: Program) -> Program:
    """Compute equal expressions once (same instruction on the same operands)."""
    seen: dict[tuple[object, ...], Val] = {}
    renamed: dict[int, Val] = {}
    kept: list[Inst] = []
    for inst in program.insts:
        args = tuple(renamed.get(a.id, a) if isinstance(a, Val) else a for a in inst.args)
        inst = replace(inst, args=args)
        if inst.dst is not None and inst.op != "Load":
            key = (inst.op, inst.mode, inst.dst.kind, inst.dst.extent, args)
            if key in seen:
                renamed[inst.dst.id] = seen[key]
                continue
            seen[key] = inst.dst
        kept.append(inst)
    return Program(kept, dict(program.scalars), program._next)
