"""Lower graphs with scans: one instruction each, which keeps what goes from box to box."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.sizes import same_size
from msopgen_wrap.schedule.calls import Node, reduction_kind, target_name
from msopgen_wrap.schedule.lowering import Lowerer, lowers
from msopgen_wrap.schedule.program import F32, Val


@dataclass
class ScanLowerer(Lowerer):
    """Lowers a graph whose scans all run along the same axis of one iteration space.

    Attributes:
        axes: the axes of the scans as ``compute`` counts them, from either end.
        scanned: the nodes of the scans.
    """

    axes: set[int] = field(default_factory=set)
    scanned: list[Node] = field(default_factory=list)

    def _call(self, node: Node) -> Any:
        if reduction_kind(node):
            raise OpgenError(self.other_pass(node, "it reduces, too"))
        return super()._call(node)

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

    def scan(self, node: Node, join: str) -> Val:
        """Emit the scan of the first argument along the second one."""
        axis = self._static(node.args[1])
        if not isinstance(axis, int):
            raise OpgenError(self.other_pass(node, "its axis is a number of the call"))
        self.axes.add(axis)
        if len(self.axes) > 1:
            raise OpgenError(self.other_pass(node, "another scan runs along another axis"))
        self._check_shape(node)
        self.scanned.append(node)
        element = self.as_kind(self.operand(node.args[0]), F32)
        return self.emit("Scan", F32, self.tile(element), mode=join, temps=(F32,))

    def _check_shape(self, node: Node) -> None:
        """Refuse a scan of another shape than that which the pass works through."""
        own = node.meta["val"].shape
        for result in self.traced.outputs.values():
            if not isinstance(result, Node):
                continue
            whole = result.meta["val"].shape
            pairs = zip(map(_size, own), map(_size, whole), strict=False)
            if len(own) != len(whole) or not all(same_size(a, b) for a, b in pairs):
                raise OpgenError(self.other_pass(node, "an output has another shape"))


def _size(size: Any) -> Any:
    return getattr(size, "node", size)


def _register(target: str, join: str) -> None:
    @lowers(target)
    def lower(low: Lowerer, node: Node) -> Val:
        if not isinstance(low, ScanLowerer):
            raise OpgenError(low.unsupported(node, "in a pass of another kind"))
        return low.scan(node, join)


SCANS = {"aten.cumsum.default": "Sum"}
for _target, _join in SCANS.items():
    _register(_target, _join)
