"""Lower graphs with scans: one instruction each, which keeps what goes from box to box."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.scalars import ScalarExpr
from msopgen_wrap.graph.sizes import same_size
from msopgen_wrap.schedule.calls import (
    DIFFERENCES,
    EXPANDS,
    RESHAPES,
    VIEW_OPS,
    Node,
    reduction_kind,
    target_name,
)
from msopgen_wrap.schedule.lowering import Lowerer, lowers
from msopgen_wrap.schedule.program import COMPUTE_KIND, F32, I32, Val
from msopgen_wrap.schedule.views import Span

# Scratch tiles of a scan: the transposed box, and where elements are joined as two numbers, tiles
# of them, too.
SCRATCH_TILES = {
    "Sum": 1,
    "Product": 1,
    "Max": 1,
    "Min": 1,
    "MaxPosition": 4,
    "MinPosition": 4,
    "LogSumExp": 4,
}
# Scans whose results are positions.
POSITIONS = ("MaxPosition", "MinPosition")
# Scans that compare rows, which takes whole repeats.
COMPARING = ("Max", "Min", *POSITIONS)


@dataclass
class ScanLowerer(Lowerer):
    """Lowers a graph whose scans all run along the same axis of one iteration space.

    Attributes:
        axes: the axes of the scans as ``compute`` counts them, from either end.
        directions: whether they run from the last element to the first.
        scanned: the nodes of the scans.
        rank: of what they scan.
        loops: the states before each step of a loop, by the call that gives them.
        ended: the loops whose next states are computed in the pass.
    """

    padded = True
    axes: set[int] = field(default_factory=set)
    directions: set[bool] = field(default_factory=set)
    scanned: list[Node] = field(default_factory=list)
    rank: int = 0
    loops: dict[Node, list[Val]] = field(default_factory=dict)
    ended: set[Node] = field(default_factory=set)

    def _call(self, node: Node) -> Any:
        if reduction_kind(node):
            raise OpgenError(self.other_pass(node, "it reduces, too"))
        return super()._call(node)

    def _elements(self, node: Node) -> ScalarExpr | None:
        """Return how many elements a scan joins, at most."""
        source: Any = node.args[0]
        axis = self._static(node.args[1])
        return self._numel(source) if self.has_axes_of_attrs() else self._size(source, int(axis))

    def other_pass(self, node: Node, why: str) -> Diagnostic:
        """Return the diagnostic for what takes more than one pass."""
        target = target_name(node)
        return Diagnostic(
            "OPG350",
            f"{target} does not join the pass of a scan: {why}",
            self.location(target.split(".")[1] if "." in target else target),
            "a pass with scans runs along one axis of one shape, with pointwise work around them",
            "nothing, where the op can be made in several passes: then it is; else split the op",
        )

    def scanned_spans(self) -> tuple[Span, ...]:
        """Return the sizes of expanded tensors that are scanned."""
        pending = [node.args[0] for node in self.scanned]
        found: dict[Node, None] = {}
        while pending:
            node = pending.pop()
            if not isinstance(node, Node) or node in found:
                continue
            found[node] = None
            if target_name(node) not in (VIEW_OPS | RESHAPES) - EXPANDS:
                pending += node.all_input_nodes
        return tuple(span for node, span in self.expanded.items() if node in found)

    def result(self) -> Node:
        """Return the last node of the graph before its end: a call, where it has one."""
        return [n for n in self.traced.graph.nodes if n.op != "output"][-1]

    def scan(self, node: Node, join: str, kind: str, backwards: bool = False) -> Val:
        """Emit the scan of the first argument along the second one.

        Args:
            node: the call.
            join: how an element joins what is before it, as ``opgen/scan_kinds.h`` calls it.
            kind: what elements are computed in.
            backwards: whether it runs from the last element to the first.
        """
        axis = self._static(node.args[1])
        if not isinstance(axis, int):
            raise OpgenError(self.other_pass(node, "its axis is a number of the call"))
        if self.loops:
            raise OpgenError(self.other_pass(node, "a pass has one loop, or scans"))
        value = node.meta["val"]
        self.begin(node, axis, backwards, value[0] if isinstance(value, (list, tuple)) else value)
        element = self.tile(self.as_kind(self.operand(node.args[0]), kind))
        result = I32 if join in POSITIONS else kind
        return self.emit("Scan", result, element, mode=join, temps=(kind,) * SCRATCH_TILES[join])

    def begin(self, node: Node, axis: int, backwards: bool, scanned: Any) -> None:
        """Note a scan or a loop along an axis of a tensor.

        Raises:
            OpgenError: OPG350 where another one of the pass runs otherwise, or the pass works
                through another shape.
        """
        self.axes.add(axis)
        if len(self.axes) > 1:
            raise OpgenError(self.other_pass(node, "another scan runs along another axis"))
        self.directions.add(backwards)
        if len(self.directions) > 1:
            raise OpgenError(self.other_pass(node, "another scan runs the other way"))
        self._check_shape(node, scanned.shape)
        self.scanned.append(node)

    def _check_shape(self, node: Node, own: Any) -> None:
        """Refuse a scan of another shape than that which the pass works through."""
        self.rank = len(own)
        for result in self.traced.outputs.values():
            if not isinstance(result, Node):
                continue
            whole = result.meta["val"].shape
            pairs = zip(map(_size, own), map(_size, whole), strict=False)
            if len(own) != len(whole) or not all(same_size(a, b) for a, b in pairs):
                raise OpgenError(self.other_pass(node, "an output has another shape"))


def _size(size: Any) -> Any:
    return getattr(size, "node", size)


def scan_elements(low: Lowerer, node: Node) -> ScanLowerer:
    """Return the lowerer of a pass with scans; raises OpgenError for any other."""
    if not isinstance(low, ScanLowerer):
        raise OpgenError(low.unsupported(node, "in a pass of another kind"))
    # what a reader knows a scan backwards as
    low._note = low._note.replace("opgen.reversed_", "aten.").removesuffix(".default")
    return low


def _kind(low: ScanLowerer, node: Node) -> str:
    """Return what sums and products are computed in."""
    joined = low.kind(node)
    if joined == I32:
        low.refine_note("of integers" if low.dtype(node) == "int64" else "in int32")
    return joined


DIFFERENCES["aten.cumsum of integers"] = DIFFERENCES["aten.cumprod of integers"] = (
    "computes in int32: TilingFunc refuses shapes of which the largest elements would not fit"
)
DIFFERENCES["aten.cumsum"] = (
    "adds in float32 and in an order of its own: magnitudes that add up to more than 3.4e38 may "
    "overflow or cancel otherwise than PyTorch's"
)
DIFFERENCES["aten.cumprod"] = (
    "multiplies in float32 and in an order of its own: products of a part of the elements may "
    "overflow or vanish where PyTorch's do not"
)


@lowers("aten.cumsum.default")
def _cumsum(low: Lowerer, node: Node) -> Val:
    scans = scan_elements(low, node)
    return scans.scan(node, "Sum", _kind(scans, node))


@lowers("opgen.reversed_cumsum.default")
def _reversed_cumsum(low: Lowerer, node: Node) -> Val:
    scans = scan_elements(low, node)
    return scans.scan(node, "Sum", _kind(scans, node), backwards=True)


@lowers("aten.cumprod.default")
def _cumprod(low: Lowerer, node: Node) -> Val:
    scans = scan_elements(low, node)
    return scans.scan(node, "Product", _kind(scans, node))


@lowers("opgen.reversed_cumprod.default")
def _reversed_cumprod(low: Lowerer, node: Node) -> Val:
    scans = scan_elements(low, node)
    return scans.scan(node, "Product", _kind(scans, node), backwards=True)


@lowers("aten.logcumsumexp.default")
def _logcumsumexp(low: Lowerer, node: Node) -> Val:
    return scan_elements(low, node).scan(node, "LogSumExp", F32)


@lowers("opgen.reversed_logcumsumexp.default")
def _reversed_logcumsumexp(low: Lowerer, node: Node) -> Val:
    return scan_elements(low, node).scan(node, "LogSumExp", F32, backwards=True)


@lowers("aten.cummax.default")
def _cummax(low: Lowerer, node: Node) -> tuple[Any, Val]:
    return _extreme(scan_elements(low, node), node, "Max")


@lowers("aten.cummin.default")
def _cummin(low: Lowerer, node: Node) -> tuple[Any, Val]:
    return _extreme(scan_elements(low, node), node, "Min")


def _extreme(low: ScanLowerer, node: Node, which: str) -> tuple[Any, Val]:
    """Return the extremes up to each element, and the positions of the last of them."""
    dtype = str(node.meta["val"][0].dtype).removeprefix("torch.")
    if dtype == "int64":
        raise low.unsupported_dtype(dtype, "", node)
    kind = I32 if dtype == "int32" else F32
    value: Any = low.scan(node, which, kind)
    position = low.scan(node, f"{which}Position", kind)
    return low.as_kind(value, COMPUTE_KIND[dtype]), position
