"""ONNX export: vendor nodes, decompositions that ONNX Runtime runs, keys of the parser plugin."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.project.onnx_plugin import onnx_keys

from .fakes import spec
from .packages import run_python, write_package

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

VENDOR = "onnxvendor"
TEXTS = [
    """
op: FusedAddRelu
inputs: {x: [float32, float16], y: {dtype: x}}
outputs: {z: {dtype: x, shape: "broadcast(x, y)"}}
compute: torch.relu(x + y)
""",
    """
op: ScaleNorm
inputs: {x: {dtype: float32, rank: [1, 8]}, gain: {dtype: float32, optional: true}}
outputs: {y: like x, m: {dtype: float32, shape: "reduce(x, -1)"}}
attrs: {eps: 1e-3}
compute: |
  m = x.mean(-1)
  y = x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps)
  if gain is not None:
      y = y * gain
""",
    """
op: EachAdd
inputs: {a: {dtype: float32, list: true}, b: {dtype: float32, list: true}}
outputs: {c: {shape: like a, list: true}}
attrs: {scale: 2.0}
compute: "[p + scale * q for p, q in zip(a, b)]"
""",
    """
op: HalfPool
inputs: {x: {dtype: float32, rank: [1, 8]}}
outputs: {y: {dtype: float32, shape: "[*x[:-1], x[-1] // 2]"}}
attrs: {mode: {type: str, default: max, allowed: [max, min]}}
compute: |
  pairs = x[..., : x.shape[-1] // 2 * 2].reshape([*x.shape[:-1], x.shape[-1] // 2, 2])
  y = pairs.amax(-1) if mode == "max" else pairs.amin(-1)
""",
    """
op: Step
inputs: {var: float32, grad: float32}
outputs: {var: {inplace: var}}
compute: var = var - grad
backward: none
""",
]

PRELUDE = f"""
import logging, warnings
logging.disable(logging.WARNING)
warnings.simplefilter("ignore")
import numpy as np, onnx, onnxruntime, torch
import {VENDOR} as package
ops = torch.ops.{VENDOR}

class Model(torch.nn.Module):
    def forward(self, x, y):
        a = ops.fused_add_relu(x * 2, y)
        b = ops.fused_add_relu(a, x)
        n, _ = ops.scale_norm(b)
        n2, m = ops.scale_norm(n, y, 1e-2)
        c = ops.each_add([n2, a], [b, n], 0.5)
        return c[0] + c[1], m, ops.half_pool(a), ops.half_pool(a, "min")

model = Model()
x, y = torch.randn(3, 5), torch.randn(5)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    specs = [spec(text) for text in TEXTS]
    return write_package(tmp_path_factory.mktemp("onnx"), specs, VENDOR)


def run(package: Path, code: str) -> str:
    return run_python(package, PRELUDE + code, OPGEN_CPU_KERNEL="reference")


@pytest.mark.parametrize(
    ("exporter", "opsets"),
    [
        ("dynamo", (18,)),
        pytest.param("torchscript", (13, 17), marks=pytest.mark.slow),
        pytest.param("dynamo", (20, 21, 23), marks=pytest.mark.slow),
        pytest.param("torchscript", (15, 18, 20), marks=pytest.mark.slow),
    ],
)
def test_exported_model_runs_in_onnx_runtime(
    package: Path, exporter: str, opsets: tuple[int, ...]
) -> None:
    out = run(
        package,
        f"""
for opset in {opsets}:
    if {exporter!r} == "dynamo":
        dynamic = dict(dynamic_shapes=({{0: torch.export.Dim.DYNAMIC}}, None))
    else:
        dynamic = dict(dynamic_axes={{"x": {{0: "batch"}}}}, input_names=["x", "y"])
    proto = package.onnx.export(
        model, (x, y), opset=opset, exporter={exporter!r}, **dynamic
    )
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [i.name for i in session.get_inputs()]
    for batch in (3, 7):
        value = torch.randn(batch, 5)
        got = session.run(None, dict(zip(names, (value.numpy(), y.numpy()))))
        for g, w in zip(got, model(value, y), strict=True):
            np.testing.assert_allclose(g, w.numpy(), rtol=1e-5, atol=1e-6)
    print([(o.domain, o.version) for o in proto.opset_import])
    print(sorted(
        f"{{n.domain}}::1::{{n.op_type}}" for n in proto.graph.node if n.domain == "{VENDOR}"
    ))
    attributes = {{a.name for n in proto.graph.node for a in n.attribute if n.domain}}
    assert attributes == {{"eps", "scale", "mode"}}, attributes
""",
    )
    keys = {
        k
        for op in ("FusedAddRelu", "ScaleNorm", "EachAdd", "HalfPool")
        for k in onnx_keys(op, VENDOR)
    }
    for opset, (imports, nodes) in zip(
        opsets, zip(*[iter(out.splitlines())] * 2, strict=True), strict=True
    ):
        assert ("", opset) in eval(imports) and (VENDOR, 1) in eval(imports)
        assert len(eval(nodes)) == 7 and set(eval(nodes)) <= keys


@pytest.mark.slow
def test_file_and_node_key(package: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    run(
        package,
        f"""
package.onnx.export(model, (x, y), {str(path)!r}, opset=18)
onnx.checker.check_model({str(path)!r})
assert package.onnx.node_key("fused_add_relu") == "{VENDOR}::1::FusedAddRelu"
""",
    )


PLAIN = f"""
import io

def plain(model, args, dynamo, **kwargs):
    buffer = io.BytesIO()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program = torch.onnx.export(
            model, args, *[buffer] * (not dynamo), dynamo=dynamo, verbose=False, **kwargs
        )
    proto = program.model_proto if dynamo else onnx.load_from_string(buffer.getvalue())
    said = [str(w.message) for w in caught if "{VENDOR}.onnx.export(" in str(w.message)]
    assert not said or "\\n" not in said[0]
    nodes = sorted(f"{{n.domain}}::{{n.op_type}}" for n in proto.graph.node if n.domain)
    imports = {{o.domain: o.version for o in proto.opset_import}}
    attributes = sorted({{a.name for n in proto.graph.node for a in n.attribute if n.domain}})
    typed = {{v.name for v in proto.graph.value_info}} | {{v.name for v in proto.graph.output}}
    untyped = [o for n in proto.graph.node if n.domain for o in n.output if o not in typed]
    print(len(said), imports["{VENDOR}"], len(proto.functions), nodes, attributes, untyped)
"""


@pytest.mark.parametrize("dynamo", [True, False], ids=["dynamo", "torchscript"])
def test_plain_export_writes_the_nodes(package: Path, dynamo: bool) -> None:
    """The import of the package is all that torch.onnx.export needs."""
    out = run(
        package,
        PLAIN
        + f"""
print("torch.onnx" in sys.modules)
plain(model, (x, y), {dynamo})
plain(model, (x, y), {dynamo})
""".replace("print(", "import sys; print(", 1),
    ).splitlines()
    nodes = [f"{VENDOR}::{op}" for op in ("EachAdd", "FusedAddRelu", "HalfPool", "ScaleNorm")]
    nodes = sorted(nodes + nodes[1:])
    rest = f" 1 0 {nodes} {['eps', 'mode', 'scale']} []"
    assert out == ["False", "1" + rest, "0" + rest]  # imported at need; the advice is given once


def test_plain_export_when_torch_onnx_came_first(package: Path) -> None:
    """And what is registered with torch changes nothing outside of an export."""
    out = run_python(
        package,
        "import torch.onnx\n"
        + PRELUDE
        + PLAIN
        + f"""
dims = ({{0: torch.export.Dim.DYNAMIC}}, None)
plain(model, (x, y), True, dynamic_shapes=dims)
table = dict(torch._decomp.decomposition_table)
assert ops.fused_add_relu.default not in table
program = torch.export.export(model, (x, y), dynamic_shapes=dims).run_decompositions(table)
targets = [str(n.target) for n in program.graph.nodes]
print(sum(t.startswith("{VENDOR}.") for t in targets), sum("onnx_symbolic" in t for t in targets))
compiled = torch.compile(model, dynamic=True, backend="aot_eager")
for got, want in zip(compiled(x, y), model(x, y), strict=True):
    torch.testing.assert_close(got, want)
""",
        OPGEN_CPU_KERNEL="reference",
    ).splitlines()
    assert out[0].startswith("1 1 0 [")
    assert out[1] == "7 0"


def test_refusals(package: Path) -> None:
    out = run(
        package,
        """
def error(f):
    try:
        f()
    except (RuntimeError, ValueError) as e:
        print(str(e).splitlines()[0])
    else:
        raise SystemExit("no error")

class InPlace(torch.nn.Module):
    def forward(self, x, y):
        v = x + 0
        ops.step(v, y)
        return v

error(lambda: package.onnx.export(model, (x, y), opset=11))
error(lambda: package.onnx.export(model, (x, y), opset=18, exporter="old"))
error(lambda: package.onnx.export(InPlace(), (x, x), opset=17))
error(lambda: package.onnx.export(InPlace(), (x, x), opset=18))
import io
error(lambda: torch.onnx.export(InPlace(), (x, x), io.BytesIO(), dynamo=False))
try:
    torch.onnx.export(InPlace(), (x, x), dynamo=True, verbose=False)
except RuntimeError as e:
    print(e.__cause__)
""",
    ).splitlines()
    assert out[0].startswith("opset 11 is not supported")
    assert out[1] == "exporter='old': expected 'dynamo' or 'torchscript'"
    assert len(out) == 6 and all(
        "step works in place, which an ONNX graph cannot express" in line for line in out[2:]
    )
