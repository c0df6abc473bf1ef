"""The tiles that an elementwise kernel computes in: those of queues, or slots of scratch."""

from __future__ import annotations

from dataclasses import dataclass

from msopgen_wrap.render.kernel import constant, member_name, output_param, type_name
from msopgen_wrap.schedule.kernel_classes import slot_order
from msopgen_wrap.schedule.plan import Body
from msopgen_wrap.schedule.program import COMPUTE_KIND, DIRECT, MASK, STORED_KIND
from msopgen_wrap.spec.model import OpSpec, TensorParam
from msopgen_wrap.spec.taken_names import cpp_local


@dataclass(frozen=True)
class _Tile:
    """The tile of an operand or output.

    Attributes:
        role, name: ``input`` or ``output``, and which.
        member: what the members of the tensor start with.
        kind: the C++ type that it is computed in.
        storage: the template parameter of its storage type.
        dtypes: the dtypes that it has in the kernel class.
    """

    role: str
    name: str
    member: str
    kind: str
    storage: str
    dtypes: frozenset[str]


class TileSlots:
    """Where the operands, outputs and intermediate values of a body are computed."""

    def __init__(self, spec: OpSpec, body: Body, broadcast: bool):
        """Place them.

        Args:
            broadcast: whether the kernel class has a mode for boxes.
        """
        self._body, self._broadcast = body, broadcast
        self._tiles = [_tile(spec, body, role, name) for role, name in slot_order(spec, body)]
        self._tiles = [t for t in self._tiles if t.kind != MASK]

    @property
    def direct(self) -> frozenset[tuple[str, str]]:
        """Those whose queue tile always serves: no dtype is converted, and no box expanded."""
        if self._broadcast:
            return frozenset()
        return frozenset((t.role, t.name) for t in self._tiles if t.dtypes <= DIRECT.keys())

    @property
    def staged(self) -> bool:
        """Whether operands of a box may be widened before they are expanded."""
        converted = [t for t in self._tiles if t.role == "input" and not t.dtypes <= DIRECT.keys()]
        return self._broadcast and (bool(converted) or self._masks())

    def _masks(self) -> bool:
        """Whether an operand is a bool tensor."""
        numbers = {t.name for t in self._tiles if t.role == "input"}
        return bool(self._body.operands.keys() - numbers)

    def constants(self) -> list[str]:
        """Return the members that say where the slots lie: intermediate values come first."""
        lines, first = [], str(self._body.placement.words)
        for tile in self._slotted():
            prefix = constant(tile.member)
            shared = self._body.placement.shared.get(tile.name) if tile.role == "output" else None
            if shared is not None:
                lines.append(f"uint32_t {prefix}Slot = {constant(shared.name)}Slot")
                continue
            lines.append(f"uint32_t {prefix}Slot = {first}")
            boxed = self._broadcast and tile.role == "input"
            own = "opgen::kOperandSlots<kBroadcast, " if boxed else "opgen::kOwnSlots<"
            first = f"{prefix}Slot + {own}{tile.kind}, {tile.storage}>"
        if lines:
            lines.append(f"uint32_t kSlots = {first}")
        if self.staged:
            condition = "" if self._masks() else f" && ({self._conversions()})"
            lines.append(f"uint32_t kStages = kBroadcast{condition} ? 1 : 0")
        return lines

    def _conversions(self) -> str:
        inputs = [t for t in self._tiles if t.role == "input"]
        texts = [f"!opgen::Same<{t.kind}, {t.storage}>::value" for t in inputs]
        return " || ".join(dict.fromkeys(texts))

    def scratch(self) -> dict[str, str]:
        """Return how many slots the scratch buffer has, and when it has any; empty for none."""
        words = self._body.placement.words
        slots = ["kSlots"] if self._slotted() else [str(words)] if words else []
        slots += ["kStages"] if self.staged else []
        if not slots:
            return {}
        count = " + ".join(slots)
        return {
            "slots": f"({count})" if len(slots) > 1 else count,
            "condition": "" if words else f"{count} > 0",
        }

    def stage(self) -> str:
        """Return the slot of the stage."""
        return "kSlots" if self._slotted() else str(self._body.placement.words)

    def declarations(self) -> list[str]:
        """Return the variables of the tiles that are not those of queues."""
        lines = []
        for tile in self._slotted():
            given = f"{tile.member}Local, scratch, {constant(tile.member)}Slot, tileLength"
            call = f"opgen::ComputeTile<{tile.kind}>({given})"
            if self._broadcast and tile.role == "input":
                call = f"opgen::OperandTile<kBroadcast, {tile.kind}>({given}, {tile.member}Walk)"
            lines.append(f"LocalTensor<{tile.kind}> {cpp_local(tile.member)} = {call};")
        return lines

    def _slotted(self) -> list[_Tile]:
        return [t for t in self._tiles if (t.role, t.name) not in self.direct]


def _tile(spec: OpSpec, body: Body, role: str, name: str) -> _Tile:
    param: TensorParam
    if role == "input":
        param, member = spec.param(body.operands[name].tensor), name
        kind = COMPUTE_KIND[param.dtypes[body.combos[0]]]
    else:
        param = output_param(spec, name)
        member = member_name(param, True, spec)
        kind = STORED_KIND[param.dtypes[body.combos[0]]]
    storage = type_name(param, role == "output", spec)
    return _Tile(role, name, member, kind, storage, frozenset(param.dtypes[c] for c in body.combos))
