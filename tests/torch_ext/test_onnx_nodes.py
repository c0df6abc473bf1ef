"""How ops are written to ONNX: in standard ops, as nodes alone; ops of others; the picture."""

from __future__ import annotations

import importlib.util
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import load_spec

from .fakes import spec
from .packages import run_python, write_package

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

VENDOR = "nodesvendor"
BLEND = """
op: Blend
inputs: {x: [float32], gain: {dtype: x, shape: like x, optional: true}, y: {dtype: x}}
outputs: {z: {dtype: x, shape: "broadcast(x, y)"}}
attrs: {scale: 1.0, mode: {type: str, default: add, allowed: [add, sub]}}
compute: |
  v = x * scale
  if gain is not None:
      v = v * gain
  z = v + y if mode == "add" else v - y
"""

# Both exporters, with a first dim that varies.
PRELUDE = f"""
import io, logging, warnings
logging.disable(logging.WARNING)
warnings.simplefilter("ignore")
import numpy as np, onnx, onnxruntime, torch
import {VENDOR} as package
onnxruntime.set_default_logger_severity(4)
ops = torch.ops.{VENDOR}
n = torch.export.Dim("n")
EXPORTERS = (
    dict(exporter="dynamo", dynamic_shapes=({{0: n}}, {{0: n}})),
    dict(exporter="torchscript", opset=17, dynamic_axes={{"x": {{0: "n"}}, "y": {{0: "n"}}}},
         input_names=["x", "y"]),
)
x, y = torch.randn(3, 5), torch.randn(3, 5)

def nodes(proto):
    return sorted(f"{{n.domain}}::{{n.op_type}}" if n.domain else n.op_type
                  for n in proto.graph.node if n.op_type != "Constant")

def same(proto, model):
    made = onnxruntime.InferenceSession(proto.SerializeToString())
    values = torch.randn(7, 5), torch.randn(7, 5)
    got = made.run(None, dict(zip([i.name for i in made.get_inputs()], map(np.asarray, values))))
    np.testing.assert_allclose(got[0], model(*values).numpy(), rtol=1e-5, atol=1e-6)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    asinh = load_spec(data_dir("op_specs") / "activation" / "asinh.yaml")
    return write_package(tmp_path_factory.mktemp("nodes"), [spec(BLEND), asinh], VENDOR)


def run(package: Path, code: str, **environment: str) -> str:
    return run_python(package, PRELUDE + code, OPGEN_CPU_KERNEL="reference", **environment)


@pytest.mark.slow
def test_standard_ops_and_nodes_alone(package: Path) -> None:
    """asinh of the tutorial becomes Asinh; an absent input and a list of attrs change nothing."""
    run(
        package,
        f"""
class Model(torch.nn.Module):
    def forward(self, x, y):
        return ops.blend(ops.asinh(x), None, y, 0.5, "sub") * ops.blend(x, y, y)

model = Model()
for options in EXPORTERS:
    plain = package.onnx.export(model, (x, y), nodes="standard", **options)
    found = nodes(plain)
    assert "Asinh" in found and not any("::" in name for name in found), found
    assert not plain.functions and {VENDOR!r} not in [o.domain for o in plain.opset_import]
    same(plain, model)
    alone = package.onnx.export(model, (x, y), nodes="only", **options)
    assert not alone.functions
    own = [name for name in nodes(alone) if "::" in name]
    assert own == ["{VENDOR}::Asinh", "{VENDOR}::Blend", "{VENDOR}::Blend"], own
    whole = package.onnx.export(model, (x, y), **options)
    assert nodes(whole) == nodes(alone) and len(whole.functions) == 3
    same(whole, model)
try:
    package.onnx.export(model, (x, y), nodes="all")
except ValueError as error:
    assert str(error) == "nodes='all': expected one of functions, only, standard"
else:
    raise SystemExit("no error")
import sys
sys.modules["onnxscript"] = None
try:
    package.onnx.export(model, (x, y))
except RuntimeError as error:
    assert str(error) == "export needs the package onnxscript: pip install onnx onnxscript"
else:
    raise SystemExit("no error")
""",
    )


@pytest.mark.slow
def test_ops_of_others(package: Path) -> None:
    """A node of a custom domain, by both exporters, beside ops of the package."""
    run(
        package,
        f"""
library = torch.library.Library("others", "DEF")
library.define("warp(Tensor x, Tensor grid, str mode, float scale=2.0, int[] pads=[1, 2], "
               "Tensor? bias=None, *, bool flip=False) -> (Tensor, Tensor)")
library.define("stretch_(Tensor(a!) x) -> ()")
library.define("place(Tensor x, Device where) -> Tensor")
library.impl("warp", lambda x, grid, mode, scale=2.0, pads=(1, 2), bias=None, flip=False:
             (x * scale, grid.sum(0)), "CompositeExplicitAutograd")
@torch.library.register_fake("others::warp")
def _(x, grid, mode, scale=2.0, pads=(1, 2), bias=None, flip=False):
    return torch.empty_like(x), grid.new_empty(grid.shape[1:])

class Model(torch.nn.Module):
    def forward(self, x, y):
        a, b = torch.ops.others.warp(x, y, "near", 0.5, [3, 4], flip=True)
        return ops.blend(a, None, x) + b

model = Model()
key = package.onnx.register_foreign(
    "others::warp", "custom", rename={{"mode": "interpolation"}}, drop=["scale"])
assert key == "custom::1::Warp"
protos = [package.onnx.export(model, (x, y), **o) for o in EXPORTERS]
protos.append(torch.onnx.export(model, (x, y), dynamo=True, verbose=False).model_proto)
buffer = io.BytesIO()
torch.onnx.export(model, (x, y), buffer, dynamo=False, opset_version=17)
protos.append(onnx.load_from_string(buffer.getvalue()))
for proto in protos:
    (node,) = [n for n in proto.graph.node if n.domain == "custom"]
    attrs = {{a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}}
    assert (node.op_type, len(node.input), len(node.output)) == ("Warp", 2, 2)
    assert attrs == {{"interpolation": b"near", "pads": [3, 4], "flip": 1}}, attrs
    assert any(n.domain == {VENDOR!r} for n in proto.graph.node)
    assert ("custom", 1) in [(o.domain, o.version) for o in proto.opset_import]
# What is registered with torch changes nothing outside of an export.
assert torch.export.export(model, (x, y)).module()(x, y).shape == (3, 5)

def error(*args, **kwargs):
    try:
        package.onnx.register_foreign(*args, **kwargs)
    except ValueError as e:
        return str(e)
    raise SystemExit(f"no error: {{args}}")

assert "torch has no op 'others::nothing'" in error("others::nothing", "custom")
assert "works in place" in error("others::stretch_", "custom")
assert "drop=['where']" in error("others::place", "custom")
assert "has no argument angle" in error("others::warp", "custom", drop=["angle"])
assert "cannot hold other ops" in error("others::warp", "")
assert "is of this package" in error(ops.blend, "custom")
assert "holds its own ops" in error("others::warp", {VENDOR!r})
assert "such as 'custom'" in error("others::warp", 3)
assert "separate names" in error("others::warp", "a b")
assert "type is a name" in error("others::warp", "custom", "Warp it")
assert "the name pads" in error("others::warp", "custom", rename={{"mode": "pads"}})
assert error("others::nothing", "custom").startswith("OPG544: ")
""",
    )


@pytest.mark.slow
def test_deformable_convolution_of_torchvision(package: Path) -> None:
    """The tutorial exports it by a hand-written symbolic; here the schema says what is needed.

    Without a torchvision that fits torch, an op of its name, schema and shapes stands in for it.
    """
    run(
        package,
        """
try:
    import torchvision
except (ImportError, RuntimeError):  # RuntimeError: built for another torch
    library = torch.library.Library("torchvision", "FRAGMENT")
    numbers = "stride_h stride_w pad_h pad_w dilation_h dilation_w groups offset_groups".split()
    library.define(
        "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
        + "".join(f"SymInt {name}, " for name in numbers) + "bool use_mask) -> Tensor")
    def shape_only(input, weight, offset, *rest):
        return input.new_zeros(input.shape[0], weight.shape[0], *offset.shape[2:])
    library.impl("deform_conv2d", shape_only, "CompositeExplicitAutograd")
    torch.library.register_fake("torchvision::deform_conv2d")(shape_only)

package.onnx.register_foreign("torchvision::deform_conv2d", "custom", "DeformConv2d")

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.offsets = torch.nn.Conv2d(3, 18, 3, padding=1)
        self.weight = torch.nn.Parameter(torch.randn(4, 3, 3, 3))
        self.bias = torch.nn.Parameter(torch.zeros(4))

    def forward(self, x):
        offset = self.offsets(x)
        mask = offset.new_zeros(x.shape[0], 1)
        return torch.ops.torchvision.deform_conv2d(
            x, self.weight, offset, mask, self.bias, 1, 1, 1, 1, 1, 1, 1, 1, False)

for exporter, opset in (("dynamo", 18), ("torchscript", 17)):
    proto = package.onnx.export(
        Model(), (torch.randn(1, 3, 8, 8),), exporter=exporter, opset=opset)
    (node,) = [n for n in proto.graph.node if n.domain == "custom"]
    attrs = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    assert node.op_type == "DeformConv2d" and len(node.input) == 5
    assert (attrs["pad_h"], attrs["stride_w"], attrs["use_mask"]) == (1, 1, 0), attrs
    assert [d.dim_value for d in proto.graph.output[0].type.tensor_type.shape.dim] == [1, 4, 8, 8]
""",
    )


def test_the_picture_shows_nodes_attributes_and_types() -> None:
    path = data_dir("templates") / "torch_ext" / "runtime" / "onnx_picture.py"
    found = importlib.util.spec_from_file_location("onnx_picture", path)
    assert found is not None and found.loader is not None
    picture = importlib.util.module_from_spec(found)
    sys.modules[found.name] = picture  # dataclasses look their module up
    found.loader.exec_module(picture)
    helper = onnx.helper
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [
            helper.make_node("Relu", ["x"], ["a"]),
            helper.make_node("Blend", ["a", "", "w"], ["b"], domain="acme", scale=0.5, mode="a<b"),
            helper.make_node("Sum", ["a", "b", "x"], ["y"]),
        ],
        "test",
        [value("x", 1, ["batch", 5])],
        [value("y", 1, ["batch", 5])],
        [helper.make_tensor("w", 1, [5], [0.0] * 5)],
        value_info=[value("b", 10, [None, 5])],
    )
    text = picture.draw(helper.make_model(graph))
    assert text == picture.draw(helper.make_model(graph))
    root = ElementTree.fromstring(text)
    namespace = "{http://www.w3.org/2000/svg}"
    shown = [t.text for t in root.iter(f"{namespace}text")]
    for wanted in ("acme::Blend", "scale = 0.5", "mode = 'a<b'", "w [5]", "float16[?, 5]"):
        assert wanted in shown, shown
    boxes = [r.attrib for r in root.iter(f"{namespace}rect") if "class" in r.attrib]
    assert [b["class"] for b in boxes] == ["value", "box", "custom", "box", "value"]
    assert len(list(root.iter(f"{namespace}path"))) == 6
    # No two boxes overlap, and all lie in the picture.
    places = [[float(b[k]) for k in ("x", "y", "width", "height")] for b in boxes]
    for i, (x, y, w, h) in enumerate(places):
        assert x >= 0 and x + w <= float(root.attrib["width"])
        assert y >= 0 and y + h <= float(root.attrib["height"])
        for ox, oy, ow, oh in places[:i]:
            assert x >= ox + ow or ox >= x + w or y >= oy + oh or oy >= y + h
