"""Anchors: calls that a family of its own makes, whatever pointwise work stands around them.

Decompositions keep them, other families do not lower them, and a formula with several of them, or
with work that their family does not take in, is cut there: the values of an anchor go through the
workspace (``families/parts/phases.py``).
"""

from __future__ import annotations

from collections.abc import Iterable

from msopgen_wrap.schedule.calls import Node, target_name

# ATen overload -> the family that makes it.
ANCHORS: dict[str, str] = {
    "opgen.adaptive_positions.default": "window",
    "opgen.adaptive_window.default": "window",
    "opgen.window.default": "window",
    "opgen.window_positions.default": "window",
    "opgen.adaptive_position_gradient.default": "window",
    "opgen.adaptive_window_gradient.default": "window",
    "opgen.position_gradient.default": "window",
    "opgen.window_gradient.default": "window",
    "aten.mm.default": "contract",
    "aten.bmm.default": "contract",
    "aten.convolution.default": "convolution",
    "aten.cummax.default": "scan",
    "aten.cummin.default": "scan",
    "aten.cumprod.default": "scan",
    "aten.cumsum.default": "scan",
    "aten.embedding.default": "index",
    "aten._unsafe_index.Tensor": "index",
    "aten._unsafe_index_put.default": "index",
    "aten.gather.default": "index",
    "aten.index.Tensor": "index",
    "aten.index_put.default": "index",
    "aten.index_reduce.default": "index",
    "aten.index_select.default": "index",
    "aten.logcumsumexp.default": "scan",
    "opgen.loop_after.default": "scan",
    "opgen.ordered.default": "order",
    "opgen.reversed_cumprod.default": "scan",
    "opgen.reversed_cumsum.default": "scan",
    "opgen.reversed_logcumsumexp.default": "scan",
    "opgen.convolution.default": "convolution",
    "opgen.cut_convolution.default": "convolution",
    "opgen.depthwise.default": "depthwise",
    "opgen.depthwise_filters.default": "depthwise",
    "opgen.depthwise_gradient.default": "depthwise",
    "opgen.filter_gradient.default": "convolution",
    "opgen.take_along.default": "index",
    "opgen.resize.default": "resize",
    "opgen.transposed_convolution.default": "convolution",
    "aten.scatter.src": "index",
    "aten.scatter.value": "index",
    "aten.scatter_add.default": "index",
    "aten.scatter_reduce.two": "index",
}


def is_anchor(node: Node) -> bool:
    """Whether a family of its own makes a call."""
    return target_name(node) in ANCHORS


def anchors(nodes: Iterable[Node], family: str = "") -> list[Node]:
    """Return the anchors among some nodes: those of one family, or of any."""
    known = [(node, ANCHORS.get(target_name(node))) for node in nodes]
    return [node for node, own in known if own is not None and family in ("", own)]
