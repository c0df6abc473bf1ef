"""Values of the nodes of a traced graph at the axes of a loop nest, and what they read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.schedule.calls import (
    IDENTITY,
    RESHAPES,
    reduced_dims,
    reduction_kind,
    target_name,
)
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.torch_cpp.host_code import HostCode
from msopgen_wrap.torch_cpp.loop_values import FULL, ROW, LoopNest, Operand, Store, Value
from msopgen_wrap.torch_cpp.refusals import unsupported_call
from msopgen_wrap.torch_cpp.scalar_code import (
    COMPARISONS,
    CONSTANTS,
    FILLS,
    SCALAR_CALLS,
    STORAGE_TYPES,
)
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node
Places = tuple["int | None", ...]

PRODUCTS = {"aten.mm.default", "aten.bmm.default"}


class NotHere(Exception):
    """A value that the nest cannot compute; another nest may."""

    def __init__(self, node: Node) -> None:
        super().__init__(node.name)
        self.node = node


def dtype_name(value: Any) -> str:
    """Return the dtype of a tensor of the trace as torch names it."""
    return str(value.dtype).removeprefix("torch.")


def is_tensor(node: Any) -> bool:
    """Whether a node stands for one tensor."""
    return isinstance(node, Node) and isinstance(node.meta.get("val"), torch.Tensor)


def shape_of(node: Any) -> tuple[Any, ...]:
    return tuple(node.meta["val"].shape)


def space_of(node: Node) -> tuple[tuple[str, ...], frozenset[int]] | None:
    """Return shape and reduced axes of a reduction or a product; None for other nodes."""
    target = target_name(node)
    if target in PRODUCTS:
        first, second = factors(node)
        *outer, inner = shape_of(first)
        return tuple(map(str, (*outer, shape_of(second)[-1], inner))), frozenset({len(outer) + 1})
    if reduction_kind(node) is None:
        return None
    shape = shape_of(node.args[0])
    return tuple(map(str, shape)), frozenset(reduced_dims(node, len(shape)))


def factors(node: Node) -> tuple[Any, Any]:
    first, second = node.args[-2:]
    return first, second


def keeps_dims(node: Node) -> bool:
    rank = len(shape_of(node.args[0]))
    value = node.meta["val"]
    value = value[0] if isinstance(value, (tuple, list)) else value
    return len(value.shape) == rank


class NestValues:
    """Values of one traced graph in several nests.

    Args:
        storages: C++ element type by input and output of the spec.
        front: count axes from the front; else from the end.
        unique: returns an unused C++ name for a wish.
    """

    def __init__(
        self,
        spec: OpSpec,
        traced: TracedGraph,
        names: dict[str, str],
        storages: dict[str, str],
        front: bool,
        unique: Callable[[str], str],
    ) -> None:
        self.spec, self.traced, self.storages, self.unique = spec, traced, storages, unique
        self.names = names
        self.host = HostCode(spec, traced, names, front)
        self.nests: list[LoopNest] = []
        self.values: list[dict[Any, Value]] = []
        self.home: dict[Node, int] = {}
        self.temporaries: dict[Node, str] = {}
        self.numbers: dict[str, tuple[str, bool]] = {}

    # ---- values --------------------------------------------------------------------------------

    def make(
        self,
        kind: str,
        dtype: str,
        level: str,
        name: str,
        args: tuple[Value, ...] = (),
        target: str = "",
        options: dict[str, Any] | None = None,
    ) -> Value:
        depth = max((a.depth for a in args), default=0)
        return Value(kind, dtype, level, self.unique(name), args, target, options or {}, 0, depth)

    def number(self, value: Any) -> Value:
        text, whole = self.host.number(value)
        dtype = "bool" if isinstance(value, bool) else "int64" if whole else "float64"
        options = {} if isinstance(value, Node) else {"literal": value}
        return Value("number", dtype, ROW, "", (), text, options)

    def value(self, index: int, node: Any, places: Places) -> Value:
        if not is_tensor(node) and not isinstance(node, Node):
            return self.number(node)
        if not isinstance(node.meta.get("val"), (torch.Tensor, tuple, list)):
            return self.number(node)
        values = self.values[index]
        if node in self.home and self.home[node] == index:
            self._check_row(index, node, places)
            return values[node]
        key = (node, tuple(places[-len(shape_of(node)) :]) if is_tensor(node) else places)
        if key not in values:
            values[key] = self._compute(index, node, key[1])
        return values[key]

    def _check_row(self, index: int, node: Node, places: Places) -> None:
        """Raise where a reduction of this nest is asked for at another row than the loop's."""
        nest = self.nests[index]
        rank = nest.rank
        if target_name(node) in PRODUCTS or not keeps_dims(node):
            own = [i for i in range(rank) if i not in nest.reduced]
        else:
            own = list(range(rank))
        for wanted, axis in zip(places[-len(own) :] if own else (), own, strict=True):
            if axis not in nest.reduced and wanted not in (axis, None):
                raise NotHere(node)

    def _compute(self, index: int, node: Node, places: Places) -> Value:
        target = target_name(node)
        if self.is_source(node):
            return self._load(index, node, places)
        if target == "operator.getitem":
            return self._item(index, node, places)
        if target in IDENTITY:
            return self.value(index, node.args[0], places)
        moved = self._moved(node, places)
        if moved is not None:
            return self.value(index, moved[0], moved[1])
        packet = target.rsplit(".", 1)[0]
        name = packet.split(".")[-1]
        dtype = dtype_name(node.meta["val"])
        if name in FILLS:
            return self._converted(index, node.args[FILLS[name]], places, dtype, node)
        if name in CONSTANTS:
            return self._number_of(CONSTANTS[name], dtype)
        if packet not in SCALAR_CALLS:
            raise unsupported_call(self.spec, node)
        return self._call(index, node, packet, dtype, places)

    def level(self, index: int, values: list[Value]) -> str:
        """Return whether what is computed from values is one per element or one per row."""
        alike = self.nests[index].reduced and all(v.level == ROW for v in values)
        return ROW if alike else FULL

    def _number_of(self, value: Any, dtype: str) -> Value:
        number = self.number(value)
        number.dtype = dtype if dtype not in ("float16", "bfloat16") else "float32"
        return number

    def _converted(self, index: int, node: Any, places: Places, dtype: str, at: Node) -> Value:
        value = self.value(index, node, places)
        level = self.level(index, [value])
        return self.make("call", dtype, level, at.name, (value,), "aten._to_copy")

    def _call(self, index: int, node: Node, packet: str, dtype: str, places: Places) -> Value:
        name = packet.split(".")[-1]
        options: dict[str, Any] = {"name": name}
        given = [a for a in node.args if a is None or isinstance(a, (Node, int, float, bool))]
        if name in ("_to_copy", "to", "convert_element_type", "gelu"):
            options.update(node.kwargs)
            given = given[:1]
        elif "rounding_mode" in node.kwargs:
            options["rounding_mode"] = node.kwargs["rounding_mode"]
        if name == "pow" and isinstance(given[1], (int, float)):
            options["exponent"] = given[1]
        if name in COMPARISONS:
            metas = [a.meta["val"] if isinstance(a, Node) else a for a in given[:2]]
            plain = [m if isinstance(m, torch.Tensor) else _plain(m) for m in metas]
            options["common"] = str(torch.result_type(*plain)).removeprefix("torch.")
        for key in ("alpha", "min", "max"):
            if node.kwargs.get(key) is not None:
                options[key] = self.value(index, node.kwargs[key], places)
        if name in ("add", "sub") and len(given) > 2:
            options["alpha"] = self.value(index, given.pop(), places)
        args = tuple(self.value(index, a, places) if a is not None else _ABSENT for a in given)
        levels = [*args, *(v for v in options.values() if isinstance(v, Value))]
        level = self.level(index, levels)
        result = self.make("call", dtype, level, node.name, args, packet, options)
        result.depth = max((a.depth for a in levels), default=0)
        return result

    def _moved(self, node: Node, places: Places) -> tuple[Any, Places] | None:
        """Return the argument of a view that moves axes, with the places of its axes."""
        target = target_name(node).removeprefix("aten.")
        source: Any = node.args[0] if node.args else None
        if not is_tensor(source):
            return None
        rank = len(shape_of(source))
        if target == "unsqueeze.default":
            axis = int(node.args[1]) % (rank + 1)  # type: ignore[arg-type]
            return source, places[:axis] + places[axis + 1 :]
        if target in ("squeeze.dim", "squeeze.dims"):
            given: Any = node.args[1]
            dims = {d % rank for d in ([given] if isinstance(given, int) else given)}
            sizes = shape_of(source)
            if not all(isinstance(sizes[d], int) and sizes[d] == 1 for d in dims):
                return None
            left = iter(places)
            return source, tuple(None if i in dims else next(left) for i in range(rank))
        if target == "permute.default":
            order: Any = node.args[1]
            back: list[int | None] = [None] * rank
            for place, axis in zip(places, order, strict=True):
                back[axis % rank] = place
            return source, tuple(back)
        if target == "t.default" and rank == 2:
            return source, places[::-1]
        if target == "expand.default" and not self._reduces_expanded(node):
            return source, places[len(places) - rank :]
        return None

    def _reduces_expanded(self, node: Node) -> bool:
        """Whether the number of elements of an expanded tensor matters to a reduction."""
        return any(space_of(user) is not None for user in node.users)

    def _item(self, index: int, node: Node, places: Places) -> Value:
        pair: Any = node.args[0]
        if pair not in self.home:
            raise unsupported_call(self.spec, pair)
        if self.home[pair] != index:
            raise NotHere(node)
        value = self.value(index, pair, places)
        if node.args[1] == 0:
            return value
        return Value(
            "reduction", "int64", ROW, f"{value.name}_index", (), "index", {}, 0, value.depth
        )

    # ---- what is read --------------------------------------------------------------------------

    def is_source(self, node: Any) -> bool:
        """Whether a tensor exists before the loops: an input, a temporary, or a view of one."""
        if not is_tensor(node):
            return False
        if node.name in self.traced.inputs or node in self.home:
            return True
        target = target_name(node)
        moves = target in {*RESHAPES, "aten.slice.Tensor", "aten.select.int", "aten.expand.default"}
        moves = moves or target in ("aten.permute.default", "aten.t.default", *IDENTITY)
        moves = moves or target in ("aten.unsqueeze.default", "aten.transpose.int")
        moves = moves or target.startswith("aten.squeeze.")
        return moves and self.is_source(node.args[0])

    def _tensor(self, index: int, node: Node) -> tuple[str, str, str]:
        """Return name, C++ text and storage type of a tensor that exists before the loops."""
        if node.name in self.traced.inputs:
            name = self.traced.inputs[node.name]
            return name, self.names[name], self.storages[name]
        if node in self.home:
            return self._temporary(index, node)
        name, text, storage = self._tensor(index, node.args[0])  # type: ignore[arg-type]
        if target_name(node) in IDENTITY:
            return name, text, storage
        return name, self.host.view(node, text), storage

    def _temporary(self, index: int, node: Node) -> tuple[str, str, str]:
        home = self.home[node]
        if home >= index:
            raise NotHere(node)
        value = self.values[home][node]
        storage = STORAGE_TYPES[value.dtype] if "16" not in value.dtype else "float"
        storage = STORAGE_TYPES[value.dtype] if value.dtype == "int16" else storage
        if node not in self.temporaries:
            name = self.unique(f"{value.name}_rows")
            keepdim = target_name(node) not in PRODUCTS and keeps_dims(node)
            self.nests[home].stores.append(Store(value, name, storage, "", keepdim))
            self.temporaries[node] = name
        return value.name, self.temporaries[node], storage

    def _load(self, index: int, node: Node, places: Places) -> Value:
        nest = self.nests[index]
        moved = self._moved(node, places) if node not in self.home else None
        if moved is not None and self.is_source(moved[0]):
            return self.value(index, moved[0], moved[1])
        name, text, storage = self._tensor(index, node)
        shape = shape_of(node)
        text = self._aligned(nest, text, shape, places)
        operand = Operand(name, text, storage)
        if operand not in nest.operands:
            nest.operands.append(operand)
        level = ROW if nest.reduced else FULL
        for size, place in zip(shape, places, strict=True):
            if place in nest.reduced and not (isinstance(size, int) and size == 1):
                level = FULL
        value = self.make("load", dtype_name(node.meta["val"]), level, f"{name}_value")
        value.operand = nest.operands.index(operand)
        return value

    def _aligned(self, nest: LoopNest, text: str, shape: tuple[Any, ...], places: Places) -> str:
        """Return a tensor with its axes where the nest has them."""
        usual = tuple(range(nest.rank - len(shape), nest.rank))
        # axes of size 1 may stand anywhere that is free
        if all(p in (u, None) for p, u in zip(places, usual, strict=True)):
            return text
        if None in places:
            gone = ", ".join(
                str(self.host.axis(i, len(shape))) for i, p in enumerate(places) if p is None
            )
            text = f"{text}.squeeze(at::IntArrayRef({{{gone}}}))"
        kept = [p for p in places if p is not None]
        absent = [axis for axis in range(nest.rank) if axis not in kept]
        if kept == sorted(kept) and not self.host.front:
            # The last first: each then stands where it will be, counted from the end, at any rank.
            added = (self.host.axis(axis, nest.rank) for axis in reversed(absent))
            return text + "".join(f".unsqueeze({axis})" for axis in added)
        listed = ", ".join(map(str, kept))
        return f"loops::Aligned({text}, {{{listed}}}, {nest.rank})"


_ABSENT = Value("absent", "float32", ROW, "")


def _plain(value: Any) -> Any:
    """Return a number of the kind of a symbol."""
    if isinstance(value, torch.SymInt):
        return 1
    return 1.0 if isinstance(value, torch.SymFloat) else value
