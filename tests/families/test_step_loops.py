"""Loops whose steps are passes of their own: products, reductions and views of states."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest
import torch
from default_part import default_part
from harness import BuiltOp

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.graph.step_loops import STACK, STEP
from msopgen_wrap.graph.tracing import trace
from msopgen_wrap.graph.variants import variants
from msopgen_wrap.spec.loader import gradient_spec, parse_spec
from msopgen_wrap.spec.model import OpSpec


class Case(NamedTuple):
    """A formula of x (batch, time, channels) and u (channels, channels).

    Attributes:
        passes: the families of its passes, those of a step as a list of their own.
        gradient: whether the gradient is tried, too.
    """

    compute: str
    passes: list[Any]
    output: str = "like x"
    gradient: bool = True


LOOP = "h = torch.zeros_like(x[:, 0])\nrows = []\nfor t in range(x.shape[1]):\n"
END = "  rows.append(h)\ny = torch.stack(rows, 1)"
CASES = {
    "a product": Case(
        f"{LOOP}  h = torch.tanh(x[:, t] + h @ u)\n{END}",
        ["elementwise", ["contract", "elementwise"], "elementwise"],
    ),
    "a product of the slice": Case(
        f"{LOOP}  h = torch.tanh(x[:, t] @ u.T + h @ u + 0.1)\n{END}",
        ["contract", ["contract", "elementwise"], "elementwise"],
    ),
    "gates of a product": Case(
        "def step(h, xt):\n    a, b = (h @ torch.cat([u, u.T], 1)).chunk(2, -1)\n"
        "    z = torch.sigmoid(a + xt)\n    return z * h + (1 - z) * torch.tanh(b)\n"
        "y = opgen.loop(step, x[:, 0] * 0.5, x.transpose(0, 1)).transpose(0, 1)",
        [*["elementwise"] * 3, ["contract", "elementwise"], "elementwise"],
    ),
    "a norm": Case(
        f"{LOOP}  h = h * 0.5 + x[:, t]\n"
        f"  h = h * torch.rsqrt(h.square().mean(-1, keepdim=True) + 0.1)\n{END}",
        ["elementwise", ["row"], "elementwise"],
    ),
    "a softmax from ones": Case(
        f"h = torch.ones_like(x[:, 0])\n{LOOP[LOOP.index('rows') :]}"
        f"  h = torch.softmax(h + x[:, t], -1)\n{END}",
        ["elementwise", ["row"], "elementwise"],
    ),
    "a matrix of states": Case(
        "s = torch.zeros_like(x[:, 0, :, None] * x[:, 0, None, :])\nrows = []\n"
        "for t in range(x.shape[1]):\n"
        "  old = (x[:, t, None, :] @ s).squeeze(1)\n"
        "  s = s * 0.9 + x[:, t, :, None] * (x[:, t] - old)[:, None, :] / x.shape[2]\n"
        "  rows.append((x[:, t, None, :] @ s).squeeze(1))\ny = torch.stack(rows, 1)",
        ["elementwise", ["contract", "elementwise", "contract", "elementwise"], "elementwise"],
    ),
    "the last state alone": Case(
        "h = x[:, 0]\nfor t in range(1, x.shape[1]):\n"
        "  h = torch.logsumexp(h.unsqueeze(2) + u, 1) + x[:, t]\ny = h",
        ["elementwise", "elementwise", ["row"], "elementwise"],
        '{dtype: x, shape: "[x[0], x[2]]"}',
    ),
    "an earlier state alone": Case(
        "h = torch.zeros_like(x[:, 0])\nc = torch.zeros_like(h)\nrows = []\n"
        "for t in range(x.shape[1]):\n  c = 0.5 * c + torch.tanh(x[:, t] + h @ u)\n"
        f"  h = torch.tanh(c)\n{END}",
        ["elementwise", ["contract", "elementwise"], "elementwise"],
    ),
    "one loop behind another": Case(
        f"{LOOP}  h = torch.tanh(x[:, t] + h @ u)\n{END}\nback = []\n"
        "for t in range(x.shape[1] - 1, -1, -1):\n  h = torch.tanh(y[:, t] + h @ u)\n"
        "  back.append(h)\ny = torch.stack(back[::-1], 1)",
        [
            *("elementwise", ["contract", "elementwise"], "elementwise", "elementwise"),
            *(["contract", "elementwise"], "elementwise"),
        ],
    ),
    "a state that no step reads": Case(
        "a = torch.zeros_like(x[:, 0])\ng = torch.ones_like(a)\nrows = []\n"
        "for t in range(x.shape[1]):\n  a = torch.tanh(x[:, t] @ u)\n"
        "  g = torch.tanh(g @ u + a)\n  rows.append(g)\ny = torch.stack(rows, 1) + a.unsqueeze(1)",
        ["contract", "elementwise", ["contract", "elementwise"], "elementwise"],
        gradient=False,
    ),
    "a moved state": Case(
        f"{LOOP}  h = torch.roll(h, 1, -1) * 0.9 + x[:, t]\n{END}",
        ["elementwise", ["elementwise"], "elementwise"],
        gradient=False,
    ),
    "a state of bools": Case(
        "seen = x[:, 0, 0] > 9\nrows = []\nfor t in range(x.shape[1]):\n"
        "  seen = seen | (x[:, t].amax(-1) > 0.5)\n  rows.append(seen)\ny = torch.stack(rows, 1)",
        ["elementwise", "row", ["elementwise"], "elementwise"],
        '{dtype: bool, shape: "[x[0], x[1]]"}',
        gradient=False,
    ),
    "two results of each step": Case(
        "h = x[:, 0]\nrows = []\nfor t in range(1, x.shape[1]):\n"
        "  best, at = torch.max(h.unsqueeze(2) + u, 1)\n  h = best + x[:, t]\n  rows.append(at)\n"
        "y = torch.stack(rows)",
        ["elementwise", "elementwise", ["row"], "elementwise"],
        '{dtype: int64, shape: "[x[1] - 1, x[0], x[2]]"}',
        gradient=False,
    ),
}
DEFAULT = ("a product of the slice", "a norm")
GRADIENTS = ("a product of the slice",)
SHAPES = ((2, 5, 16), (3, 1, 33), (0, 3, 8), (1, 9, 130))


def spec_of(name: str, dtypes: str = "[float32, float16]", backward: str = "none") -> OpSpec:
    case = CASES[name]
    lines = "".join(f"  {line}\n" for line in case.compute.split("\n"))
    text = (
        f"op: StepLoop{list(CASES).index(name)}\ninputs:\n"
        f"  x: {{dtype: {dtypes}, rank: 3, range: [-1, 1]}}\n"
        '  u: {dtype: x, shape: "[x[2], x[2]]", range: [-0.4, 0.4]}\n'
        f"outputs:\n  y: {case.output}\nbackward: {backward}\ncompute: |\n{lines}"
    )
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    return spec


def inputs_of(shape: tuple[int, ...], dtype: torch.dtype) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(sum(shape))
    size = shape[-1]
    return {
        "x": (torch.rand(shape, generator=generator) * 2 - 1).to(dtype),
        "u": ((torch.rand(size, size, generator=generator) - 0.5) * 2 / size**0.5).to(dtype),
    }


def _passes(spec: OpSpec) -> list[Any]:
    """Return the families of the passes of a plan, those of a step in a list of their own."""
    found: list[Any] = []
    loop = None
    for part in plan_op(spec).parts:
        number = part.spec.loop
        if number is None:
            found.append(part.family.name)
        elif number == loop:
            found[-1].append(part.family.name)
        else:
            found.append([part.family.name])
        loop = number
    return found


@pytest.mark.parametrize("name", default_part(CASES, DEFAULT))
def test_passes_of_a_step(name):
    assert _passes(spec_of(name)) == CASES[name].passes


@pytest.fixture(scope="module", params=default_part(CASES, DEFAULT))
def built(request, tmp_path_factory):
    number = list(CASES).index(request.param)
    folder = tmp_path_factory.mktemp("steps")
    return BuiltOp(spec_of(request.param), folder, style="9.x" if number % 2 else "8.1")


CLOSE = {"float16": {"rtol": 1e-2, "atol": 1e-2}, "float32": {"rtol": 1e-4, "atol": 1e-5}}


def _compare(built: BuiltOp, inputs: dict[str, torch.Tensor], dtype: str, **how: Any) -> None:
    outputs, golden, result = built.run(inputs, mode="check", **how)
    for name, want in golden.items():
        if want.dtype.is_floating_point:
            torch.testing.assert_close(outputs[name].double(), want, **CLOSE[dtype])
        else:
            assert torch.equal(outputs[name].to(want.dtype), want)
    assert [f for f in result.findings if f["severity"] != "warning"] == []


@pytest.mark.parametrize("auto_sync", [True, False], ids=["compiler's sync", "own sync"])
def test_results(built, auto_sync):
    # PyTorch stacks no empty lists
    starts_later = "rows = []\nfor t in range(1," in built.spec.compute.text
    for shape in SHAPES if not starts_later else SHAPES[::2]:
        _compare(built, inputs_of(shape, torch.float32), "float32", auto_sync=auto_sync)


def test_half_precision(built):
    if built.spec.outputs[0].dtypes[0] == "int64":
        pytest.skip("equal sums in half precision choose another place")
    _compare(built, inputs_of(SHAPES[0], torch.float16), "float16")


def test_without_steps(tmp_path):
    text = (
        "op: StepLoopOfNone\ninputs:\n  x: {dtype: float32, rank: 3}\n"
        '  u: {dtype: x, shape: "[x[2], x[2]]"}\noutputs:\n  y: like x\n'
        '  last: {dtype: x, shape: "[x[1], x[2]]"}\nbackward: none\ncompute: |\n'
        "  def step(h, xt):\n    return torch.tanh(h @ u + xt)\n"
        "  h = x.sum(0)\n  y = opgen.loop(step, h, x)\n"
        "  last = torch.cat([h.unsqueeze(0), y])[x.shape[0]]\n"
    )
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    op = BuiltOp(spec, tmp_path)
    for shape in ((0, 2, 16), (1, 2, 16), (4, 3, 16)):
        _compare(op, inputs_of(shape, torch.float32), "float32")


@pytest.fixture(
    scope="module", params=default_part([n for n, c in CASES.items() if c.gradient], GRADIENTS)
)
def gradient(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("back")
    spec = gradient_spec(spec_of(request.param, "float32", "kernel"))
    return BuiltOp(spec, folder)


def test_gradients(gradient):
    for shape in ((2, 5, 16), (3, 1, 7)):
        inputs = inputs_of(shape, torch.float32)
        alone = (
            "rows" not in gradient.spec.compute.text and "loop(" not in gradient.spec.compute.text
        )
        arriving = (shape[0], shape[2]) if alone else shape
        inputs["grad_y"] = torch.randn(arriving, generator=torch.Generator().manual_seed(1))
        names = [p.name for p in gradient.spec.inputs]
        _compare(gradient, {name: inputs[name] for name in names if name in inputs}, "float32")


def test_products_of_slices_are_made_before_the_loop():
    spec = replace(spec_of("a product of the slice"), stepwise="axes")
    graph = trace(spec, variants(spec)[0]).graph
    calls = [str(node.target) for node in graph.nodes]
    products = [n for n, call in enumerate(calls) if call == "aten.mm.default"]
    begin, end = calls.index(STEP), calls.index(STACK)
    assert [begin < product < end for product in products] == [False, True]


def test_a_start_that_an_attr_gives_is_refused():
    text = (
        "op: Filled\ninputs:\n  x: {dtype: float32, rank: 2}\n"
        "outputs:\n  y: like x\nattrs:\n  first: {type: float, default: 0.5}\nbackward: none\n"
        "compute: |\n  h = torch.full_like(x[0], first)\n  rows = []\n"
        "  for t in range(x.shape[0]):\n    h = h / h.sum() + x[t]\n    rows.append(h)\n"
        "  y = torch.stack(rows)\n"
    )
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    with pytest.raises(OpgenError) as refused:
        plan_op(spec)
    assert [d.code for d in refused.value.diagnostics] == ["OPG351"]
    assert "an attr says what a state is at first" in refused.value.diagnostics[0].what


NEWTON = (
    "op: Newton\ninputs:\n  g: {dtype: float32, rank: 2, range: [-1, 1]}\noutputs:\n  y: like g\n"
    "backward: kernel\ncompute: |\n  x = g / (g.norm() + 0.1)\n  for _ in range(COUNT):\n"
    "    a = x @ x.T\n    x = 2.5 * x - (1.5 * a) @ x\n  y = x\n"
)


@pytest.mark.parametrize(("count", "looped"), [(3, False), (20, True)])
def test_loops_over_numbers_are_written_out_where_there_is_room(count, looped):
    spec = parse_spec(NEWTON.replace("COUNT", str(count)), "op.yaml").spec
    assert spec is not None
    plan = plan_op(spec)
    assert any(part.spec.loop is not None for part in plan.parts) is looped
    assert [loop.count for loop in plan.loops] == [count] * looped


@pytest.mark.slow
def test_the_gradient_of_a_loop_over_numbers(tmp_path):
    spec = parse_spec(NEWTON.replace("COUNT", "6"), "op.yaml").spec
    assert spec is not None
    op = BuiltOp(gradient_spec(spec), tmp_path)
    assert [loop.count for loop in op.plan.loops] == [6, 6]
    for shape in ((3, 5), (16, 20)):
        generator = torch.Generator().manual_seed(2)
        names = [p.name for p in op.spec.inputs]
        inputs = {name: torch.randn(shape, generator=generator) for name in names}
        _compare(op, inputs, "float32")
