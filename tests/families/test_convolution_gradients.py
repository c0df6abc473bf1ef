"""Gradients of convolutions by kernel: passes, numbers, tails, groups, what is around."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import torch
from harness import BuiltOp

from msopgen_wrap.graph.convolutions import convolution_backward
from msopgen_wrap.graph.sizes import attr_symbols, size_of, size_symbols
from msopgen_wrap.graph.tracing import trace
from msopgen_wrap.graph.variants import variants
from msopgen_wrap.spec.loader import gradient_spec, parse_spec
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.shapes import evaluate


class Case(NamedTuple):
    """A formula over x, w and maybe b, the rank of x, the shape of z, and shapes to try."""

    compute: str
    rank: int
    z: str
    shapes: list[dict[str, tuple[int, ...]]]
    anchors: set[str]
    attrs: str = ""


def sizes(*shapes: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    return dict(zip("xwb", shapes, strict=False))


_TRANSPOSED, _FILTERS = "transposed_convolution", "filter_gradient"
CASES = {
    "numbers by attrs": Case(
        "F.conv2d(x, w, None, step, pad, apart)",
        4,
        "[x[0], w[0], (x[2] + 2 * pad - apart * (w[2] - 1) - 1) // step + 1, "
        "(x[3] + 2 * pad - apart * (w[3] - 1) - 1) // step + 1]",
        [
            sizes((2, 3, 9, 11), (5, 3, 3, 2)),
            sizes((1, 20, 17, 19), (33, 20, 3, 3)),
            sizes((2, 2, 9, 300), (3, 2, 2, 5)),
            sizes((0, 4, 9, 9), (3, 4, 3, 3)),
        ],
        {_TRANSPOSED, _FILTERS},
        "attrs: {step: 2, pad: 1, apart: 1}\n",
    ),
    "groups, bias and activation": Case(
        "F.relu(F.conv2d(x, w, b, (step, 3), 1, 1, 2))",
        4,
        "[x[0], w[0], (x[2] + 2 - w[2]) // step + 1, (x[3] + 2 - w[3]) // 3 + 1]",
        [
            sizes((2, 6, 9, 11), (8, 3, 3, 3), (8,)),
            sizes((3, 4, 10, 7), (4, 2, 1, 2), (4,)),
        ],
        {"convolution", _TRANSPOSED, _FILTERS},
        "attrs: {step: 2}\n",
    ),
    "transposed, grouped and dilated": Case(
        "F.conv_transpose2d(x, w, None, 3, 1, 1, 2, (2, 3))",
        4,
        "[x[0], w[1] * 2, x[2] * 3 - 4 + 2 * (w[2] - 1) + 1, x[3] * 3 - 4 + 3 * (w[3] - 1) + 1]",
        [
            sizes((2, 6, 5, 7), (6, 4, 3, 3)),
            sizes((1, 34, 9, 8), (34, 3, 2, 5)),
        ],
        {"cut_convolution", _FILTERS},
    ),
    "lines": Case(
        "F.conv1d(x, w, b, 2, 3, 2)",
        3,
        "[x[0], w[0], (x[2] + 6 - 2 * (w[2] - 1) - 1) // 2 + 1]",
        [sizes((2, 3, 2000), (4, 3, 5), (4,)), sizes((3, 5, 6), (7, 5, 2), (7,))],
        {_TRANSPOSED, _FILTERS},
    ),
    "volumes": Case(
        "F.conv3d(x, w, None, (1, 2, 1), (2, 1, 0))",
        5,
        "[x[0], w[0], x[2] + 5 - w[2], (x[3] + 2 - w[3]) // 2 + 1, x[4] + 1 - w[4]]",
        [sizes((2, 3, 5, 9, 11), (7, 3, 3, 2, 3)), sizes((1, 2, 1, 3, 3), (4, 2, 1, 1, 1))],
        {_TRANSPOSED, _FILTERS},
    ),
}


def forward_of(case: Case, name: str) -> OpSpec:
    names = list(case.shapes[0])
    rows = "".join(
        f"  {n}: {{dtype: {'[float16, float32]' if n == 'x' else 'x'}, "
        f"rank: {1 if n == 'b' else case.rank}}}\n"
        for n in names
    )
    given = ", ".join(f"{n}: {list(s)}" for n, s in case.shapes[0].items())
    result = parse_spec(
        f"op: {name}\ninputs:\n{rows}outputs:\n"
        f'  z: {{dtype: x, shape: "{case.z}"}}\n{case.attrs}compute: "{case.compute}"\n'
        f"backward: kernel\ncases:\n  - {{{given}}}\n",
        "case.yaml",
    )
    assert result.spec is not None, result.diagnostics
    return result.spec


@pytest.mark.parametrize(
    "name",
    ["numbers by attrs", pytest.param("transposed, grouped and dilated", marks=pytest.mark.slow)],
)
def test_a_gradient_is_made_of_convolutions_with_symbols(name):
    spec = gradient_spec(forward_of(CASES[name], "GradientCase"))
    traced = trace(spec, variants(spec)[0])
    calls = {
        str(node.target).split(".")[1]
        for node in traced.graph.nodes
        if "onvolution" in str(node.target) or "filter_gradient" in str(node.target)
    }
    assert calls == CASES[name].anchors
    # Numbers of the convolution are read in a call: no attr has shaped the graph.
    assert traced.structural == {}


@pytest.mark.slow
def test_sizes_that_an_activation_makes_equal_are_known() -> None:
    """The bias and the filters have one symbol for the channels, which is that of neither."""
    spec = gradient_spec(forward_of(CASES["groups, bias and activation"], "GradientCase"))
    traced = trace(spec, variants(spec)[0])
    symbols = {
        **size_symbols(traced.graph, traced.inputs),
        **attr_symbols(traced.graph, traced.attrs),
    }
    made = [n for n in traced.graph.nodes if isinstance(n.meta.get("val"), torch.Tensor)]
    unknown = [
        (node.name, axis)
        for node in made
        for axis in range(node.meta["val"].dim())
        if size_of(node, axis, symbols) is None
    ]
    assert made and unknown == []


def gradient_call(name: str) -> OpSpec:
    """Return an op that asks for one gradient of a convolution by a function of torch.nn.grad."""
    sizes = ", ".join(f"sizes[{i}]" for i in range(4))
    first, second = (f"[{sizes}]", "w") if name.endswith("input") else ("x", f"[{sizes}]")
    given = {"x": [2, 4, 9, 11], "w": [6, 2, 3, 3]}
    asked = "x" if name.endswith("input") else "w"
    other = "w" if asked == "x" else "x"
    result = parse_spec(
        f"op: GradientCall\ninputs:\n  {other}: {{dtype: float32, rank: 4}}\n"
        f"  g: {{dtype: float32, rank: 4}}\noutputs:\n"
        f'  y: {{dtype: float32, shape: "[{sizes}]"}}\n'
        f"attrs: {{sizes: {given[asked]}, step: 2, groups: {{type: int, default: 2, min: 1}}}}\n"
        f'compute: "F.grad.{name}({first}, {second}, g, step, 1, 1, groups)"\nbackward: none\n'
        f"cases:\n  - {{{other}: {given[other]}, g: [2, 6, 5, 6]}}\n",
        "call.yaml",
    )
    assert result.spec is not None, result.diagnostics
    return result.spec


@pytest.mark.parametrize(
    ("name", "anchor"),
    [
        ("conv2d_weight", _FILTERS),
        pytest.param("conv2d_input", _TRANSPOSED, marks=pytest.mark.slow),
    ],
)
def test_a_formula_may_ask_for_one_gradient(name: str, anchor: str) -> None:
    traced = trace(gradient_call(name), variants(gradient_call(name))[0])
    called = {str(n.target): n for n in traced.graph.nodes if n.op == "call_function"}
    assert not any("convolution_backward" in target for target in called)
    call = called[f"opgen.{anchor}.default"]
    strides, groups = call.args[2], call.args[6]
    assert all(isinstance(number, torch.fx.Node) for number in (*strides, groups))


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("transposed", [False, True])
def test_the_decomposition_of_the_gradients_is_that_of_pytorch(
    transposed: bool, groups: int
) -> None:
    generator = torch.Generator().manual_seed(0)

    def drawn(*shape: int) -> Any:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    x, weight = drawn(2, 4, 7, 9), drawn(4, 6 // groups, 3, 2)
    weight = weight if transposed else drawn(6, 4 // groups, 3, 2)
    numbers = ([2, 1], [1, 0], [1, 2], transposed, [1 if transposed else 0, 0], groups)
    shape = torch.ops.aten.convolution.default(x, weight, None, *numbers).shape
    arguments = (drawn(*shape), x, weight, [6], *numbers, [True, True, True])
    wanted = torch.ops.aten.convolution_backward.default(*arguments)
    for mine, theirs in zip(convolution_backward(*arguments), wanted, strict=True):
        torch.testing.assert_close(mine, theirs)
    asked = (*arguments[:-1], [False, True, False])
    assert [g is None for g in convolution_backward(*asked)] == [True, False, True]


def inputs_of(
    forward: OpSpec, shapes: dict[str, tuple[int, ...]], dtype: torch.dtype
) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)
    attrs = {attr.name: attr.default for attr in forward.attrs}
    every = {**shapes, "grad_z": evaluate(forward.param("z").shape, shapes, attrs)}
    return {n: torch.randn(tuple(s), generator=generator).to(dtype) for n, s in every.items()}


# The others are tried where they are changed: compiling all of them takes minutes.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["groups, bias and activation", "volumes"])
def test_gradients_and_sanitizer(name, tmp_path):
    check(name, tmp_path)


def check(name, folder):
    """Compare the gradients of a case in check mode, with and without the compiler's order."""
    case, number = CASES[name], list(CASES).index(name)
    forward = forward_of(case, f"GradientCase{number}")
    spec = gradient_spec(forward)
    op = BuiltOp(spec, folder, style="9.x" if number % 2 else "8.1", combos=[number % 2])
    made = [p.family.name for p in op.plan.parts]
    assert {"convolution", "elementwise"} <= set(made)
    assert ("row" in made) == ("b" in case.shapes[0])
    dtype = (torch.float16, torch.float32)[number % 2]
    for i, shapes in enumerate(case.shapes):
        inputs = inputs_of(forward, shapes, dtype)
        outputs, golden, result = op.run(inputs, mode="check", auto_sync=i > 0)
        for output, got in outputs.items():
            want = golden[output].double()
            assert got.shape == want.shape
            bound = 2.0**-8 if dtype is torch.float16 else 2.0**-17
            scale = max(1.0, float(want.abs().max())) if want.numel() else 1.0
            assert bool(((got.double() - want).abs() <= bound * scale).all()), output
        assert result.findings == []
