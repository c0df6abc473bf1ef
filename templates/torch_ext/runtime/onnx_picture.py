"""An ONNX graph as an SVG picture: nodes in layers, with dtypes and dims below them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

CHARACTER = 7.2  # pixels of a character at 12 px, monospace
LINE = 16
GAP_X, GAP_Y = 28, 56
LONGEST = 44  # characters of a line; longer ones are cut
SHOWN_ATTRS = 4

STYLE = """
text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #1f2933; }
.op { font-weight: bold; }
.small { font-size: 10px; fill: #52606d; }
.label { font-size: 10px; fill: #52606d; stroke: #ffffff; stroke-width: 3px; paint-order: stroke; }
.box { fill: #eef2f7; stroke: #7b8794; }
.custom { fill: #fde8d7; stroke: #c05621; }
.value { fill: #e3f5e9; stroke: #2f855a; }
.edge { fill: none; stroke: #9aa5b1; stroke-width: 1.3; }
"""


@dataclass
class _Box:
    """A node, an input or an output of the graph, and where it is drawn."""

    lines: list[str]
    kind: str
    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    layer: int = 0
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        return max(len(line) for line in self.lines) * CHARACTER + (20 if self.lines[0] else 8)

    @property
    def height(self) -> float:
        return len(self.lines) * LINE + 12


def draw(model: Any, path: str | Path | None = None) -> str:
    """Return the graph of a model as SVG text (written to ``path`` if given).

    Nodes of domains other than ONNX's own are drawn in another colour. Weights and constants stand
    in the nodes that read them; graphs inside of nodes and bodies of functions are not drawn.

    Args:
        model: an ``onnx.ModelProto``, or the path of one.
        path: the file to write.
    """
    import onnx

    if isinstance(model, (str, Path)):
        model = onnx.load(str(model), load_external_data=False)
    graph = model.graph
    types = {v.name: _type_text(v) for v in (*graph.value_info, *graph.input, *graph.output)}
    boxes = _boxes(graph)
    text = _svg(boxes, types, _place(boxes))
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def _type_text(value: Any) -> str:
    """Return ``float16[batch, 5]`` of a value; "" where nothing is known."""
    import onnx

    tensor = value.type.tensor_type
    if not tensor.elem_type:
        return ""
    name = onnx.TensorProto.DataType.Name(tensor.elem_type).lower()
    name = {"float": "float32", "double": "float64"}.get(name, name)
    if not tensor.HasField("shape"):
        return name
    dims = [
        d.dim_param or (str(d.dim_value) if d.HasField("dim_value") else "?")
        for d in tensor.shape.dim
    ]
    return f"{name}[{', '.join(dims)}]"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _boxes(graph: Any) -> list[_Box]:
    constants = {w.name: _tensor_text(w.name, w) for w in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
            value = node.attribute[0]
            constants[node.output[0]] = (
                _tensor_text(node.output[0], value.t)
                if value.HasField("t")
                else _attribute_text(value)
            )
    boxes = [
        _Box([_cut(value.name), _cut(_type_text(value))], "value", writes=[value.name])
        for value in graph.input
        if value.name not in constants
    ]
    for node in graph.node:
        if node.output and node.output[0] in constants:
            continue
        own = node.domain in ("", "ai.onnx")
        lines = [node.op_type if own else f"{node.domain}::{node.op_type}"]
        shown = [f"{a.name} = {_attribute_text(a)}" for a in node.attribute]
        if len(shown) > SHOWN_ATTRS:
            shown = [*shown[: SHOWN_ATTRS - 1], f"and {len(shown) - SHOWN_ATTRS + 1} more"]
        lines += map(_cut, [*shown, *(constants[i] for i in node.input if i in constants)])
        reads = [i for i in node.input if i and i not in constants]
        boxes.append(_Box(lines, "box" if own else "custom", reads, [o for o in node.output if o]))
    boxes += [
        _Box([_cut(value.name), _cut(_type_text(value))], "value", reads=[value.name])
        for value in graph.output
    ]
    return boxes


def _tensor_text(name: str, tensor: Any) -> str:
    """Return the values of a small constant, the name and dims of a larger one."""
    import onnx

    dims = f"{name} [{', '.join(map(str, tensor.dims))}]"
    if math.prod(tensor.dims) > 4 or tensor.external_data:
        return dims
    return str(onnx.numpy_helper.to_array(tensor).tolist())


def _attribute_text(attribute: Any) -> str:
    import onnx

    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return repr(value.decode(errors="replace"))
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (int, str)):
        return str(value)
    if isinstance(value, onnx.TensorProto):
        return _tensor_text("tensor", value)
    if isinstance(value, onnx.GraphProto):
        return f"graph of {len(value.node)} nodes"
    return "[" + ", ".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in value) + "]"


@dataclass
class _Layout:
    """Where lines go: the band of each layer, and the places where a line passes one."""

    tops: list[float]
    bottoms: list[float]
    passes: dict[tuple[str, int], _Box]


def _place(boxes: Sequence[_Box]) -> _Layout:
    """Give every box a layer below all that it reads, and a place in it near those.

    A line over several layers gets a place of its own in each, so that it passes no box.
    """
    source = {name: box for box in boxes for name in box.writes}
    for box in boxes:  # a graph lists its nodes in order
        box.layer = max((source[n].layer + 1 for n in box.reads if n in source), default=0)
    last = max((box.layer for box in boxes), default=0)
    layers: list[list[_Box]] = [[] for _ in range(last + 1)]
    passes: dict[tuple[str, int], _Box] = {}
    for box in boxes:
        if box.kind == "value" and box.reads:
            box.layer = last
        layers[box.layer].append(box)
        for name in box.reads:
            for layer in range(source[name].layer + 1 if name in source else last, box.layer):
                if (name, layer) not in passes:
                    passes[name, layer] = _Box([""], "line", [name], layer=layer)
                    layers[layer].append(passes[name, layer])
    tops, bottoms = [], []
    y = 20.0
    for layer in layers:
        centres = {}
        for box in layer:
            above = [passes.get((n, box.layer - 1), source[n]) for n in box.reads if n in source]
            centres[id(box)] = sum(a.x + a.width / 2 for a in above) / max(1, len(above))
        layer.sort(key=lambda box: centres[id(box)])
        right = 20.0
        for box in layer:
            box.x = max(right, centres[id(box)] - box.width / 2)
            box.y = y
            right = box.x + box.width + GAP_X
        tops.append(y)
        y += max((box.height for box in layer), default=0)
        bottoms.append(y)
        y += GAP_Y
    return _Layout(tops, bottoms, passes)


def _path(name: str, above: _Box, box: _Box, end: float, layout: _Layout) -> str:
    """Return the line of a value to a box that reads it, at ``end`` of its upper side."""
    x, y = above.x + above.width / 2, above.y + above.height
    text = f"M{x:.1f} {y:.1f}"

    def curve(to_x: float, to_y: float) -> str:
        middle = (y + to_y) / 2
        return f" C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}"

    for layer in range(above.layer + 1, box.layer):
        place = layout.passes[name, layer]
        to_x = place.x + place.width / 2
        text += curve(to_x, layout.tops[layer]) + f" V{layout.bottoms[layer]:.1f}"
        x, y = to_x, layout.bottoms[layer]
    return text + curve(end, box.y)


def _svg(boxes: Sequence[_Box], types: dict[str, str], layout: _Layout) -> str:
    source = {name: box for box in boxes for name in box.writes}
    drawn = [*boxes, *layout.passes.values()]
    width = max((box.x + box.width for box in drawn), default=0) + 20
    height = max((box.y + box.height for box in drawn), default=0) + 20
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">',
        f"<style>{STYLE}</style>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for box in boxes:
        known = [n for n in box.reads if n in source]
        for i, name in enumerate(known):
            end = box.x + box.width * (i + 1) / (len(known) + 1)
            path = _path(name, source[name], box, end, layout)
            lines.append(f'<path class="edge" d="{path}"/>')
    for box in boxes:
        lines += _box_lines(box, types)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _box_lines(box: _Box, types: dict[str, str]) -> list[str]:
    corner = 12 if box.kind == "value" else 3
    title = ", ".join(box.writes) or ", ".join(box.reads)
    middle = box.x + box.width / 2
    lines = [
        f'<rect class="{box.kind}" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="{corner}"><title>{escape(title)}</title></rect>'
    ]
    for i, line in enumerate(box.lines):
        style = "op" if i == 0 else "small"
        lines.append(
            f'<text class="{style}" x="{middle:.1f}" y="{box.y + 18 + i * LINE:.1f}" '
            f'text-anchor="middle">{escape(line)}</text>'
        )
    shown = next((types[n] for n in box.writes if types.get(n)), "")
    if box.kind != "value" and shown:
        lines.append(
            f'<text class="label" x="{middle + 6:.1f}" y="{box.y + box.height + 13:.1f}">'
            f"{escape(_cut(shown))}</text>"
        )
    return lines
