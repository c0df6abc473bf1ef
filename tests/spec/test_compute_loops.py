"""``opgen.loop`` in compute: what it gives, and which functions it may call."""

from __future__ import annotations

import pytest
import torch

from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.loops import run_loop

SPEC = """\
op: LoopDemo
inputs:
  x: {{dtype: float32, rank: 2}}
  h0: {{dtype: x, shape: "[x[1]]"}}
outputs:
  y: {{dtype: x, shape: like x}}
attrs:
  decay: {{type: float, default: 0.5}}
compute: |
  {code}
"""
STEP = "def step(h, x):\n      return decay * h + x\n"
LOOP = "  y = opgen.loop(step, h0, x)"


def findings(code: str) -> list[str]:
    return [d.what for d in parse_spec(SPEC.format(code=code)).diagnostics]


def test_a_loop_runs_its_step_at_every_place() -> None:
    spec = parse_spec(SPEC.format(code=STEP + LOOP)).spec
    x, h0 = torch.randn(6, 3), torch.randn(3)
    expected, state = [], h0
    for row in x:
        state = 0.25 * state + row
        expected.append(state)
    outputs = compile_compute(spec)({"x": x, "h0": h0}, {"decay": 0.25})
    assert torch.equal(outputs["y"], torch.stack(expected))


def test_a_loop_of_an_lstm_is_that_of_torch() -> None:
    torch.manual_seed(0)
    layer = torch.nn.LSTM(5, 4).double()
    x, h0, c0 = (
        torch.randn(7, 2, 5).double(),
        torch.randn(2, 4).double(),
        torch.randn(2, 4).double(),
    )
    given = x @ layer.weight_ih_l0.T + layer.bias_ih_l0 + layer.bias_hh_l0

    def step(h, c, gates):
        i, f, g, o = (gates + h @ layer.weight_hh_l0.T).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c

    h, c = run_loop(step, (h0, c0), given)
    golden, (_, last) = layer(x, (h0[None], c0[None]))
    torch.testing.assert_close(h, golden)
    torch.testing.assert_close(c[-1], last[0])


def test_backwards_and_without_steps() -> None:
    x = torch.randn(5, 3)
    both = run_loop(lambda h, x: (h + x, h), torch.zeros(3), x, reverse=True)
    torch.testing.assert_close(both[0], x.flip(0).cumsum(0).flip(0))
    assert torch.equal(both[1][4], torch.zeros(3)) and torch.equal(both[1][0], both[0][1])
    assert run_loop(lambda h, x: h + x, torch.zeros(3), x[:0]).shape == (0, 3)


@pytest.mark.parametrize(
    ("states", "step", "text"),
    [
        (torch.zeros(3), lambda h, x: (h + x)[:1], "changes the shape of a state"),
        (torch.zeros(3), lambda h, x: (h + x).double(), "torch.float64"),
        ((torch.zeros(3), torch.zeros(3)), lambda h, c, x: h + x, "returns 1 of 2 states"),
    ],
)
def test_states_keep_their_shape_and_dtype(states, step, text) -> None:
    with pytest.raises(ValueError, match=text):
        run_loop(step, states, torch.zeros(2, 3))


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (f"{STEP}  y = opgen.loop(other, h0, x)", "is no function of this compute"),
        ("y = opgen.loop(x, h0, x)", "is no function of this compute"),
        (f"{STEP}  y = step(h0)", "'step' is called with other arguments"),
        (f"{STEP}  y = step(h=h0, x=x)", "'step' is called with other arguments"),
        (f"{STEP}  y = step(*[h0, x])", "'step' is called with other arguments"),
        (
            f"{STEP}  def two(h):\n      return step(h, h)\n"
            "  def three(h):\n      return two(h)\n  y = three(x)",
            "'two' calls functions and is called by one",
        ),
        ("def size(h):\n      return float(h)\n  y = x * size(x)", "reads its data"),
        (f"{STEP}  y = x + step", "'step' is a function, not a value"),
        (f"{STEP}  step = x\n{LOOP}", "'step' is a function and cannot be assigned"),
        (f"{STEP}  y = opgen.loop(step, h0, x, 0)", "opgen.loop has other arguments"),
        (f"{STEP}  y = opgen.loop(step, h0, x, dim=1)", "opgen.loop has other arguments"),
        (f"def step(h, x=x):\n      return h\n{LOOP}", "arguments that are not plain names"),
        (f"def step(h, *x):\n      return h\n{LOOP}", "arguments that are not plain names"),
        (f"@step\n  def step(h, x):\n      return h\n{LOOP}", "has decorators"),
        (f"def step(h, x: int):\n      return h\n{LOOP}", "type annotations"),
        (f"def step(h, x):\n      h = h + x\n{LOOP}", "does not end with 'return'"),
        (f"def step(h, x):\n      return step(h, x)\n{LOOP}", "undefined name 'step'"),
        (f"def h0(h, x):\n      return h\n{LOOP}", "is called like a value"),
        (f"def torch(h, x):\n      return h\n{LOOP}", "'torch' cannot be assigned"),
        (
            f"{STEP}  def two(h, x):\n      return opgen.loop(step, h, x)\n{LOOP}",
            "a loop in a step",
        ),
        ("def step(h, x):\n      y = h\n      return y\n  y = opgen.loop(step, h0, h)", "'h'"),
        ("def step(h, x):\n      y = h\n      return y\n  z = opgen.loop(step, h0, x)", "'y' is"),
        (f"def step(h, x):\n      return h.__class__\n{LOOP}", "'.__class__' is not allowed"),
    ],
)
def test_functions_are_called_with_plain_arguments(code: str, text: str) -> None:
    found = findings(code)
    assert any(text in what for what in found), found


CALLED = """
def scaled(t, root, eps):
      return t / torch.sqrt(t.pow(2).mean(-1, keepdim=True) + eps) * root
  def halves(t):
      n = t.shape[-1] // 2
      return t[..., :n], t[..., n:]
  def gated(t):
      a, b = halves(t)
      return torch.cat([a * torch.sigmoid(b), b], -1)
  y = gated(scaled(x, 2.0, 1e-6)) + scaled(h0, decay, decay)
"""


def test_functions_are_called_by_the_formula() -> None:
    result = parse_spec(SPEC.format(code=CALLED.strip()))
    assert result.diagnostics == [] and result.spec is not None
    x, h0 = torch.randn(6, 4), torch.randn(4)
    y = compile_compute(result.spec)({"x": x, "h0": h0}, {"decay": 0.5})["y"]

    def scaled(t: torch.Tensor, root: float, eps: float) -> torch.Tensor:
        return t / torch.sqrt(t.pow(2).mean(-1, keepdim=True) + eps) * root

    a, b = scaled(x, 2.0, 1e-6).chunk(2, -1)
    want = torch.cat([a * torch.sigmoid(b), b], -1) + scaled(h0, 0.5, 0.5)
    torch.testing.assert_close(y, want)
    assert plan_op(result.spec).family.name in ("parts", "row")
