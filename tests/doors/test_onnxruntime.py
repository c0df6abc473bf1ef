"""The ops in ONNX Runtime: a session runs the emulated kernels."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from msopgen_wrap.resources import data_dir

from .ort_programs import run_program

pytestmark = pytest.mark.slow
pytest.importorskip("onnxruntime")

VENDOR = "ortvendor"
LIBRARY = data_dir("op_specs")
TEXTS = (
    """
op: Blend
inputs:
  x: [float32, float16]
  gain: {dtype: x, shape: like x, optional: true}
  y: {dtype: x}
outputs: {z: {dtype: x, shape: "broadcast(x, y)"}}
attrs: {scale: 1.0, mode: {type: str, default: add, allowed: [add, sub]}}
compute: |
  v = x * scale
  if gain is not None:
      v = v * gain
  z = v + y if mode == "add" else v - y
""",
    """
op: EachAdd
inputs:
  a: {dtype: float32, list: true}
  b: {dtype: float32, shape: like a, list: true}
outputs: {c: {shape: like a, list: true}}
attrs: {scale: 2.0}
compute: "[p + scale * q for p, q in zip(a, b)]"
""",
    """
op: ScaledList
inputs:
  x: {dtype: [float32, bfloat16], list: true}
  scale: {dtype: x, shape: "[]"}
outputs: {y: {dtype: x, shape: like x, list: true}}
compute: "[t * scale for t in x]"
cases:
  - {x: [[3, 5], [7]], scale: []}
""",
    """
op: PickSum
inputs: {x: {dtype: float32, rank: [1, 8]}}
outputs:
  y: {dtype: float32, shape: "reduce(x, dims, keep)"}
  positive: {dtype: bool, shape: like x}
attrs: {dims: {type: list_int, default: [-1]}, keep: false}
compute: |
  y = torch.sum(x, dim=dims, keepdim=keep)
  positive = x > 0
backward: none
""",
    """
op: Step
inputs: {var: float32, grad: {dtype: float32, shape: like var}}
outputs: {var: {inplace: var}}
attrs: {lr: 0.5}
compute: var = var - lr * grad
backward: none
""",
    """
op: SwishK
inputs: {x: [float32]}
outputs: {y: like x}
compute: x * torch.sigmoid(x)
backward: kernel
""",
    """
op: Halves
inputs: {x: {dtype: float32, rank: 2}}
outputs:
  first: {shape: "[x[0], x[1] // 2]"}
  few: {shape: "[min(x[0], 4), x[1]]"}
compute: |
  first = 2 * x[:, : x.shape[1] // 2]
  few = x[:4] + 1
backward: none
""",
)


def build(root: Path, specs: list[Path], vendor: str) -> Path:
    """Scaffold and build a project by the command line; return the library."""
    commands = [
        ["new", *map(str, specs), "-o", str(root / "project"), "--vendor", vendor],
        ["build", str(root / "project"), "--target", "onnxruntime", "-o", str(root / "out")],
    ]
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", "msopgen_wrap.cli", *command],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return root / "out" / f"lib{vendor}_ort.so"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ort")
    specs = []
    for i, text in enumerate(TEXTS):
        specs.append(root / f"op{i}.yaml")
        specs[-1].write_text(text)
    return build(root, specs, VENDOR)


def test_every_kind_of_parameter_dtype_and_attribute(library: Path) -> None:
    run_program(
        library,
        VENDOR,
        """
x, y, g = normal(3, 5), normal(3, 5) + 1, normal(3, 5) - 1
def same(got, want, tolerance=1e-6):
    assert len(got) == len(want)
    for a, b in zip(got, want):
        assert a.shape == b.shape, (a.shape, b.shape)
        np.testing.assert_allclose(a.astype("f8"), b.astype("f8"), rtol=tolerance, atol=tolerance)

same(run("Blend", [x, g, y], ["float32"]), [x * g + y])
same(run("Blend", [x, None, y[0]], ["float32"], scale=2.0, mode="sub"), [x * 2 - y[0]])
half = [a.astype("float16") for a in (x, g, y)]
same(run("Blend", half, ["float16"]), [x * g + y], 4e-3)
same(run("Blend", [x, g, y], ["float32"], through="float16"), [x * g + y], 4e-3)
same(run("EachAdd", [x, y[0], g, g[0]], ["float32"] * 2, scale=0.5),
     [x + 0.5 * g, y[0] + 0.5 * g[0]])
same(run("EachAdd", [x, g], ["float32"]), [x + 2 * g])
# between two casts nothing but the node tells the dtype
same(run("ScaledList", [x, y[0], np.array(3, "float32")], ["float32"] * 2, through="bfloat16"),
     [3 * x, 3 * y[0]], 2e-2)
same(run("PickSum", [x], ["float32", "bool"]), [x.sum(-1), x > 0])
same(run("PickSum", [x], ["float32", "bool"], dims=[0], keep=1), [x.sum(0, keepdims=True), x > 0])
before = x.copy()
same(run("Step", [x, y], ["float32"], lr=0.25), [x - 0.25 * y])
assert (x == before).all()  # a node leaves its inputs alone
s = 1 / (1 + np.exp(-x))
same(run("SwishK", [x], ["float32"]), [x * s])
same(run("SwishKGrad", [x, g], ["float32"]), [g * s * (1 + x * (1 - s))])
for shape in ((0, 5), (1, 1), (7, 257)):
    a = normal(*shape)
    same(run("Blend", [a, None, a], ["float32"]), [a + a])
same(run("Blend", [np.array(2.0, "float32"), None, np.array(3.0, "float32")], ["float32"]),
     [np.array(5.0)])
assert calls(b"blend") == 8 and calls(b"swish_k_grad") == 1, calls(b"")
""",
    )


def test_sessions_and_threads(library: Path) -> None:
    run_program(
        library,
        VENDOR,
        """
import concurrent.futures
made = [session(model("Blend", [normal(1, 1), None, normal(1, 1)], ["float32"], scale=float(k)))
        for k in range(3)]
def work(i):
    x, y = normal(1 + i % 7, 30), normal(1 + i % 7, 30) + i
    (z,) = made[i % 3].run(None, {"x0": x, "x2": y})
    np.testing.assert_allclose(z, x * (i % 3) + y, rtol=1e-6, atol=1e-6)
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    list(pool.map(work, range(200)))
assert calls(b"blend") == 200
""",
    )


def test_shapes_are_known_before_a_run(library: Path) -> None:
    """Names of dims go through a node; what follows from no name is a dim of its own."""
    run_program(
        library,
        VENDOR,
        """
def shapes(op, inputs, outputs, **attrs):
    # inputs: their dims, numbers or names; None for an absent one
    values = [helper.make_tensor_value_info(f"x{i}", 1, dims)
              for i, dims in enumerate(inputs) if dims is not None]
    names = ["" if dims is None else f"x{i}" for i, dims in enumerate(inputs)]
    results = [f"y{i}" for i in range(len(outputs))]
    graph = helper.make_graph([helper.make_node(op, names, results, domain=VENDOR, **attrs)],
        "test", values, [helper.make_tensor_value_info(r, NUMBERS[o], None)
                         for r, o in zip(results, outputs)])
    made = session(helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 18), helper.make_opsetid(VENDOR, 1)]))
    return [o.shape for o in made.get_outputs()]

f = ["float32"]
assert shapes("SwishK", [["n", 4, "m"]], f) == [["n", 4, "m"]]
assert shapes("SwishK", [[2, 3]], f) == [[2, 3]]
assert shapes("PickSum", [["n", 5, "m"]], [*f, "bool"]) == [["n", 5], ["n", 5, "m"]]
assert shapes("PickSum", [["n", 5, "m"]], [*f, "bool"], dims=[0, 1], keep=1) == [
    [1, 1, "m"], ["n", 5, "m"]]
assert shapes("Step", [["n", 3], ["n", 3]], f) == [["n", 3]]
assert shapes("ScaledList", [["n", 4], ["m"], []], f * 2) == [["n", 4], ["m"]]
assert shapes("EachAdd", [["n", 4], ["m"], ["n", 4], ["m"]], f * 2) == [["n", 4], ["m"]]
first, few = shapes("Halves", [["n", 6]], f * 2)
assert first == ["n", 3] and few[1] == 6 and few[0] not in (None, 4, "n"), few
first, few = shapes("Halves", [[3, "m"]], f * 2)
assert first[0] == 3 and first[1] not in (None, "m") and few == [3, "m"], first
if tuple(map(int, onnxruntime.__version__.split(".")[:2])) >= (1, 26):
    assert shapes("Blend", [["n", 4], ["n", 4], [1, 4]], f) == [["n", 4]]
    assert shapes("Blend", [["n", 4], ["n", 4], ["m", 4]], f) == [[]]  # unknown: either may be 1
    assert shapes("Blend", [["n", 4], None, ["n", 4]], f) == [["n", 4]]
    assert shapes("Blend", [["n", 4], None, [4]], f) == [["n", 4]]
""",
    )


def test_refusals_name_what_is_wrong(library: Path) -> None:
    out = run_program(
        library,
        VENDOR,
        """
x = normal(3, 5)
f = ["float32"]
print(error("Blend", [x, x, x], f, mode="mul"))
print(error("Blend", [x, x, x], f, mode=3))
print(error("Blend", [x, x, x], f, scale="a"))
print(error("PickSum", [x], [*f, "bool"], dims=2))
print(error("PickSum", [x], [*f, "bool"], dims=[0.5]))
print(error("PickSum", [x], [*f, "bool"], dims=[7]))
print(error("Blend", [x, None, x[:, :4]], f))
print(error("EachAdd", [x, x, x], f * 2))
print(error("PickSum", [np.array(1.0, "float32")], [*f, "bool"]))
print(error("SwishK", [x.astype("float64")], ["float64"]))
""",
    )
    wanted = (
        "OPG542: Blend: attribute 'mode' has a value that the op does not take",
        "OPG542: Blend: attribute 'mode' has another type than a string",
        "OPG542: Blend: attribute 'scale' has another type than a float",
        "OPG542: PickSum: attribute 'dims' has another type than a list of ints",
        "OPG542: PickSum: attribute 'dims' has another type than a list of ints",
        "shape [3, 5] has no axis 7",
        "shapes [3, 5], [3, 4] do not broadcast",
        "OPG543: EachAdd: 3 inputs do not share out to 0 plain ones and 2 lists of one length",
        "OPG543: PickSum: 'x' has 0 dims [], expected 1 to 8",
        "Type 'tensor(double)' of input parameter",
    )
    for line, text in zip([s for s in out.splitlines() if s], wanted, strict=True):
        assert text in line, line


def test_exported_models_run_the_kernel_where_it_is_registered(library: Path) -> None:
    """A registered op goes before the model-local function of its name, which is left unused."""
    run_program(
        library,
        VENDOR,
        f"""
sys.path.insert(0, {str(library.parents[1] / "project" / "torch_ext")!r})
import torch, {VENDOR} as package
package.use_reference(True)
ops = torch.ops.{VENDOR}

class Model(torch.nn.Module):
    def forward(self, x, y):
        a = ops.blend(x * 2, x, y)
        b = ops.blend(a, x, y, 0.5, "sub")
        c = ops.each_add([a, b], [x, y])
        total, positive = ops.pick_sum(c[0], [0], True)
        return c[1] + total, positive

net, n = Model(), torch.export.Dim("n")
example = torch.randn(3, 5), torch.randn(3, 5)
shapes = dict(dynamic_shapes=({{0: n}}, {{0: n}}))
whole = package.onnx.export(net, example, **shapes)
nodes = torch.onnx.export(net, example, dynamo=True, verbose=False, **shapes).model_proto
assert len(whole.functions) == 4 and len(nodes.functions) == 0
for proto, registered, ran in ((whole, False, 0), (whole, True, 4), (nodes, True, 4)):
    made = session(proto) if registered else onnxruntime.InferenceSession(proto.SerializeToString())
    values = torch.randn(7, 5), torch.randn(7, 5)
    before = calls(b"")
    got = made.run(None, dict(zip([i.name for i in made.get_inputs()], map(np.asarray, values))))
    assert calls(b"") == before + ran
    for g, w in zip(got, net(*values), strict=True):
        np.testing.assert_allclose(g, w.numpy(), rtol=1e-4, atol=1e-5)
""",
    )


def test_tutorial_programs(tmp_path: Path) -> None:
    """my_add (2a + b) and asinh of the tutorials. They register the ops by headers and a build of
    ONNX Runtime; here its wheel is enough, and asinh is right for large and negative values, where
    the tutorial's log(x + sqrt(x * x + 1)) gives -inf and inf."""
    library = build(
        tmp_path,
        [LIBRARY / "elementwise" / "my_add.yaml", LIBRARY / "activation" / "asinh.yaml"],
        "tutorial",
    )
    # The library and its kernels can be moved, as long as they stay together.
    library = library.parent.rename(tmp_path / "moved") / library.name
    run_program(
        library,
        "tutorial",
        """
a, b = normal(4, 6), normal(6)
(c,) = run("MyAdd", [a, b], ["float32"])
np.testing.assert_allclose(c, 2 * a + b, rtol=1e-6, atol=1e-6)
n = np.arange(6, dtype="int32")
assert (run("MyAdd", [n, n], ["int32"], alpha=-3)[0] == -2 * n).all()
got = run("MyAdd", [a, a], ["float32"], through="bfloat16")[0]
np.testing.assert_allclose(got, 3 * a, rtol=2e-2, atol=2e-2)
x = np.array([-1e30, -1e4, -1.0, -1e-6, 0.0, 1e-6, 1.0, 1e4, 1e30], "float32")
np.testing.assert_allclose(run("Asinh", [x], ["float32"])[0], np.arcsinh(x), rtol=1e-6)
""",
    )
