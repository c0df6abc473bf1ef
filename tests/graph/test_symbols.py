"""Attrs and sizes keep their identity from the spec to the tiling function.

Random formulas over attrs whose defaults are equal, 0, 1 or -1, and over sizes, are planned; the
scalar expressions that reach the tiling function are evaluated, in Python and as compiled C++, for
values and shapes other than the sample's.
"""

from __future__ import annotations

import ctypes
import dataclasses
import itertools
import math
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from default_part import default_part
from harness import BuiltOp, make_spec

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.graph.attr_places import Polynomial
from msopgen_wrap.graph.host_text import attr_variable, to_cpp
from msopgen_wrap.graph.scalars import Const, evaluate
from msopgen_wrap.resources import data_dir
from msopgen_wrap.run.op_runtime import OpRuntimeError
from msopgen_wrap.schedule.ranks import apply_steps
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import Attr, DimSlice, ShapeList

# Defaults that say nothing about which attr a number is.
ATTRS = (
    Attr("a", "float", 1.0),
    Attr("b", "float", 1.0),
    Attr("zero", "float", 0.0),
    Attr("minus", "float", -1.0),
    Attr("n", "int", 1),
    Attr("k", "int", 1),
    Attr("m", "int", -1),
    Attr("rates", "list_float", (1.0, 1.0)),
)
SIZES = ("x.shape[-1]", "x.shape[0]", "x.numel()", "(x.shape[-1] // 2)")
VALUES: list[dict[str, Any]] = [
    {"a": 1.0, "b": 1.0, "zero": 0.0, "minus": -1.0, "n": 1, "k": 1, "m": -1, "rates": [1.0, 1.0]},
    {"a": 0.9, "b": 0.75, "zero": 3.5, "minus": 0.25, "n": 3, "k": 5, "m": 2, "rates": [0.5, 2.0]},
    {"a": -2.5, "b": 0.0, "zero": 1.0, "minus": 7.0, "n": 0, "k": -3, "m": 1, "rates": [-1.0, 0.0]},
]


class Formula:
    """A random number formula; Python can compute every value of it."""

    def __init__(self, rng: random.Random):
        self.rng = rng

    def integer(self, depth: int) -> str:
        leaves = ("n", "k", "m", "1", "2", "7", *SIZES)
        if depth == 0:
            return self.rng.choice(leaves)
        left, right = self.integer(depth - 1), self.integer(depth - 1)
        forms = (
            f"({left} + {right})",
            f"({left} - {right})",
            f"({left} // (abs({right}) + 1))",
            f"({left} % (abs({right}) + 2))",
            f"max({left}, {right})",
            f"min({left}, {right})",
            f"abs({left})",
        )
        return self.rng.choice(forms)

    def number(self, depth: int) -> str:
        leaves = ("a", "b", "zero", "minus", "rates[0]", "rates[1]", "1.0", "0.5", "1", "n")
        if depth == 0:
            return self.rng.choice(leaves)
        left, right = self.number(depth - 1), self.number(depth - 1)
        whole = self.integer(1)
        forms = (
            f"({left} + {right})",
            f"({left} - {right})",
            f"({left} * {right})",
            f"({left} / (abs({right}) + 1))",
            f"({left} + {whole})",
            f"({left} / (abs({whole}) + 1))",
            f"(1 - (abs({left}) + 0.5) ** n)",
            f"(abs({left}) + 0.5) ** (k / 4)",
            f"math.sqrt(abs({left}))",
            f"math.exp(min({left}, 2.0))",
            f"math.log(abs({left}) + 1)",
            f"max({left}, {right})",
            f"(-{left})",
            f"float({whole})",
        )
        return self.rng.choice(forms)


def expected(text: str, attrs: dict[str, Any], shape: tuple[int, ...]) -> float:
    """Compute a formula in Python."""
    return float(eval(text, {"math": math}, {**attrs, "x": torch.empty(shape)}))


def planned(texts: list[str]) -> list[Any]:
    """Return the scalars that ``x * (text)`` multiplies with, None for literals."""
    names = [f"z{i}" for i in range(len(texts))]
    lines = [f"{name} = x * ({text})" for name, text in zip(names, texts, strict=True)]
    program = (
        plan_op(make_spec("\n".join(lines), outputs=" ".join(names), attrs=ATTRS)).bodies[0].program
    )
    made = {inst.dst: inst for inst in program.insts if inst.dst is not None}
    found = []
    for store in sorted(program.stores, key=lambda inst: inst.mode):
        inst = made[store.args[0]]
        literal = inst.op != "Muls" or isinstance(inst.args[1].expr, Const)
        found.append(None if literal else inst.args[1].expr)
    return found


def agree(got: float, want: float) -> bool:
    return math.isclose(got, want, rel_tol=1e-9, abs_tol=1e-9)


def formulas(seeds: range) -> list[str]:
    return [
        Formula(random.Random(seed)).number(1 + seed % 3)
        if seed % 4
        else Formula(random.Random(seed)).integer(1 + seed % 2)
        for seed in seeds
    ]


def prove(texts: list[str], folder: Path) -> None:
    """Plan formulas and compute their scalars for other values and shapes, in Python and in C++."""
    shapes = ((5, 7, 24), (2, 3, 15), (4, 1, 1))
    headers = ("view", "whole_numbers")
    lines = [*(f'#include "opgen/host/{name}.h"' for name in headers), 'extern "C" {']
    places = []
    scalars = [e for i in range(0, len(texts), 8) for e in planned(texts[i : i + 8])]
    for (text, expr), attrs, shape in itertools.product(
        zip(texts, scalars, strict=True), VALUES, shapes
    ):
        try:
            want = expected(text, attrs, shape)
        except (ZeroDivisionError, OverflowError):
            continue
        if expr is None:
            assert want == expected(text, VALUES[0], shapes[0]), text
            continue
        assert agree(float(evaluate(expr, attrs, {"x": shape})), want), (text, attrs, shape)
        places.append((text, attrs, shape, want))
        lines.append(cpp_function(f"f{len(places) - 1}", expr, attrs, shape))
    source = folder / "scalars.cpp"
    source.write_text("\n".join([*lines, "}"]), encoding="utf-8")
    include = data_dir("ascendc_kernels") / "include"
    library = folder / "scalars.so"
    subprocess.run(
        ["g++", "-std=c++17", "-O0", "-shared", "-fPIC", f"-I{include}", source, "-o", library],
        check=True,
    )
    loaded = ctypes.CDLL(str(library))
    for number, (text, attrs, shape, want) in enumerate(places):
        function = loaded[f"f{number}"]
        function.restype = ctypes.c_double
        assert agree(function(), want), (text, attrs, shape)


def cpp_function(name: str, expr: Any, attrs: dict[str, Any], shape: tuple[int, ...]) -> str:
    """Return a function with the variables that a TilingFunc has."""
    # attrs are float32 in CANN; here they are what Python computes with
    lines = []
    for key, value in attrs.items():
        kind = "int64_t" if type(value) is int else "double"
        variable, literal = attr_variable(key), str(value)
        if isinstance(value, list):
            variable, literal = f"{variable}[]", "{" + ", ".join(map(str, value)) + "}"
        lines.append(f"[[maybe_unused]] {kind} {variable} = {literal};")
    sizes = ", ".join(map(str, shape))
    view = f"opgen::View xShape; xShape.dim = {{{sizes}}};"
    body = " ".join([*lines, view, "opgen::WholeNumbers whole;"])
    value = f"const double value = static_cast<double>({to_cpp(expr)});"
    return f'double {name}() {{ {body} {value} return whole.fit ? value : std::nan(""); }}'


def test_formulas_keep_their_attrs(tmp_path: Path) -> None:
    """A few fixed ones that were wrong, and random ones."""
    fixed = [
        "1 - a ** n",
        "1 - b ** k",
        "(1 - a ** n) / (1 - b ** n)",
        "a * 1 + k",
        "x.shape[-1] // 2",
        "x.shape[-1] % 7 - n",
        "n // 2 + m % 3",
        "minus % 0.75",
        "minus // 0.75",
        "int(a * 3.5) + round(b * 2.5)",
    ]
    prove([*fixed, *formulas(range(12))], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 400, 30))
def test_many_formulas(start: int, tmp_path: Path) -> None:
    prove(formulas(range(start, start + 30)), tmp_path)


def test_equal_defaults_stay_apart_in_a_kernel(tmp_path: Path) -> None:
    """Compiled and run with attrs and shapes that the sample did not have; step as attr."""
    op = BuiltOp(
        make_spec(
            "z = x * (1 - a ** n) + (1 - b ** n)\n"
            "w = x * b + x.shape[-1] // 2 + (1 + k) * a + F.huber_loss(x, x * m, delta=b, "
            "reduction='none')",
            outputs="z w",
            attrs=ATTRS,
        ),
        tmp_path,
    )
    for shape, attrs in itertools.product(([3, 5], [2, 3, 41]), VALUES):
        attrs = {**attrs, "n": abs(attrs["n"]), "b": abs(attrs["b"]) + 0.25}
        outputs, golden, result = op.run({"x": torch.randn(shape)}, attrs, mode="check")
        assert result.findings == []
        for name, value in outputs.items():
            torch.testing.assert_close(value.double(), golden[name], rtol=2e-4, atol=2e-4)


def test_step_as_tensor(tmp_path: Path) -> None:
    """The bias corrections of Adam with the step as a 0-d tensor."""
    spec = make_spec(
        "g / (1 - beta1 ** step) + torch.sqrt(g * g / (1 - beta2 ** step))",
        "g step",
        attrs=(Attr("beta1", "float", 0.9), Attr("beta2", "float", 0.9)),
        shapes={"z": ShapeList((DimSlice("g", None, None),))},
    )
    scalar = dataclasses.replace(spec.inputs[1], min_rank=0, max_rank=0)
    op = BuiltOp(dataclasses.replace(spec, inputs=(spec.inputs[0], scalar)), tmp_path)
    for step, beta2 in ((1.0, 0.999), (7.0, 0.5)):
        inputs = {"g": torch.randn(3, 33), "step": torch.tensor(step)}
        outputs, golden, _ = op.run(inputs, {"beta1": 0.8, "beta2": beta2})
        torch.testing.assert_close(outputs["z"].double(), golden["z"], rtol=2e-3, atol=1e-4)


def test_sizes_in_a_row_kernel(tmp_path: Path) -> None:
    """Sizes beside a reduction are the input's own, whatever is reduced."""
    op = BuiltOp(
        make_spec(
            "half = x.shape[-1] // 2\n"
            "z = torch.softmax(x, -1) * half + x.mean(-1, keepdim=True) * x.numel()\n"
            "m = x.sum(-1) / x.shape[-1] - x.shape[0]",
            outputs="z m",
            shapes={"m": ShapeList((DimSlice("x", None, -1),))},
        ),
        tmp_path,
    )
    for shape in ([4, 6], [2, 3, 37], [1, 2, 3, 9]):
        outputs, golden, result = op.run({"x": torch.randn(shape)}, {}, mode="check")
        assert result.findings == []
        for name, value in outputs.items():
            torch.testing.assert_close(value.double(), golden[name], rtol=1e-3, atol=1e-3)


def test_even_steps_as_many_as_an_axis_has(tmp_path: Path) -> None:
    """PyTorch takes their count as a plain number, that of the sample."""
    text = "x * torch.linspace(a, 2, x.shape[-1]) + torch.logspace(0, 1, x.shape[-1], base=2)"
    op = BuiltOp(make_spec(text, attrs=(Attr("a", "float", -1.0),)), tmp_path)
    for length in (1, 2, 25, 300):
        outputs, golden, result = op.run({"x": torch.randn(3, length)}, {"a": 0.5}, mode="check")
        assert result.findings == []
        torch.testing.assert_close(outputs["z"].double(), golden["z"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("groups", [None, 3])
def test_a_literal_is_not_the_attr(groups: int | None) -> None:
    """The literals of the formula stay literals beside an attr that divides sizes."""
    spec = make_spec(
        "F.group_norm(x, num_groups, eps=eps) * 1 + 1",
        attrs=(Attr("num_groups", "int", groups or 1, minimum=1), Attr("eps", "float", 1.0)),
    )
    x = dataclasses.replace(spec.inputs[0], min_rank=2)
    plan = plan_op(dataclasses.replace(spec, inputs=(x,)))
    assert {str(s) for s in plan.scalars().values()} == {"(1 / n)", "eps"}
    assert "num_groups" in str(plan.operands()["x"].steps)


DECIDES = {
    "x if a > 0 else -x": "OPG202",
    "x * (a if n == 1 else b)": "OPG202",
    "x if x.shape[-1] > 4 else -x": "OPG203",
    "x * torch.hann_window(x.shape[-1])": "OPG203",
    "x * 2 if mode == 'sum' else x": "OPG202",
    "torch.softmax(x, n) * (1 if n == 5 else 2)": "OPG202",
    "torch.softmax(x, -1) if n == 7 else torch.softmax(x, 0)": "OPG202",
    "torch.tensor(a) * x": "OPG202",
}


@pytest.mark.parametrize("text", DECIDES)
def test_symbols_that_decide_are_refused(text: str) -> None:
    attrs = (*ATTRS, Attr("mode", "str", "sum"))
    with pytest.raises(OpgenError) as caught:
        plan_op(make_spec(text, attrs=attrs))
    assert {d.code for d in caught.value.diagnostics} == {DECIDES[text]}


def test_short_axes_hide_no_symbol_that_decides() -> None:
    """The proof runs the formula, which refuses indices beyond an axis."""
    text = (
        "op: Indexed\ninputs:\n  x: {dtype: float32, rank: 2}\n  i: {dtype: int32, rank: 1}\n"
        "outputs:\n  z: {dtype: x, shape: '[i[0], x[1] - 1]'}\nattrs: {a: 0.5}\ncompute: |\n"
        "  z = torch.cumulative_trapezoid(x, dx=a)[:2][i]\n"
    )
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    with pytest.raises(OpgenError) as caught:
        plan_op(spec)
    assert {d.code for d in caught.value.diagnostics} == {"OPG202"}


NORMS = {
    "F.layer_norm(x, [x.shape[-1]], eps=a)": "a",
    "F.layer_norm(x, [x.shape[-1]], eps=a * b)": "(a * b)",
    "F.smooth_l1_loss(x, x * x, beta=b, reduction='none')": "b",
    "torch.logit(x, zero)": "zero",
}


@pytest.mark.parametrize("text", NORMS)
def test_numbers_that_cpp_takes_stay_symbols(text: str) -> None:
    """A schema says float, C++ gets one; the symbol is back in the graph."""
    assert NORMS[text] in {str(s) for s in plan_op(make_spec(text, attrs=ATTRS)).scalars().values()}


@pytest.mark.parametrize(
    "text", ["x[..., n:] * 2", "x[..., :n] * 2", "x[..., 1 : x.shape[-1] - 4]"]
)
def test_negative_slice_bounds_count_from_the_end(text: str) -> None:
    """Bounds are clipped as Python does it, whatever sign an attr or a difference has."""
    plan = plan_op(make_spec(text + " + 0", attrs=(Attr("n", "int", 1),)))
    view = next(iter(plan.operands().values()))
    for size, n in itertools.product((9, 5, 2), (3, -4, 0, -7, 12)):
        want = eval(text, {"x": torch.zeros(2, size), "n": n})
        got = apply_steps(view, {"x": (2, size)}, {"n": n})
        assert got.dim == list(want.shape), (text, size, n)


# What formulas make of a count before PyTorch takes it for a plain number.
TERMS = {
    "a square": """
h, w = x.shape
t = x.view(h // n, n, w // n, n).permute(0, 2, 1, 3).reshape(h // n, w // n, n * n).softmax(-1)
z = t.view(h // n, w // n, n, n).permute(0, 2, 1, 3).reshape(h, w)
""",
    "a multiple": "z = x.unflatten(-1, (-1, 2 * n)).flip(-1).flatten(-2)",
    "an offset": "z = x.unflatten(-1, (-1, 2 * n + 2)).flip(-1).flatten(-2)",
    "a root": "z = (x.unflatten(-1, (-1, n)) * n ** -0.5).softmax(-1).flatten(-2)",
    "a fraction": "z = (x.unflatten(-1, (-1, n)) * (math.log(10000.0) / n)).cumsum(-1).flatten(-2)",
    "a keyword": """
v = torch.var(x.unflatten(-1, (-1, n + 1)), -1, correction=n, keepdim=True)
z = v.expand(-1, -1, n + 1).flatten(-2)
""",
    "two counts": """
h, w = x.shape
t = x.view(h // n, n, w // k, k).permute(0, 2, 1, 3).reshape(h // n, w // k, n * k) / (2 * n * k)
z = t.softmax(-1).view(h // n, w // k, n, k).permute(0, 2, 1, 3).reshape(h, w)
""",
    "all at once": "z = (x.view(-1, n) * (n * n) + n / 2 + 1 / n).softmax(-1).view(x.shape)",
}


@pytest.mark.parametrize("name", default_part(TERMS, ["all at once", "a root"]))
def test_a_number_made_of_a_count(tmp_path: Path, name: str) -> None:
    attrs = (Attr("n", "int", 2, minimum=1), Attr("k", "int", 2, minimum=1))
    spec = make_spec(TERMS[name].strip(), attrs=attrs)
    two = dataclasses.replace(spec.inputs[0], min_rank=2, max_rank=2)
    op = BuiltOp(dataclasses.replace(spec, inputs=(two,)), tmp_path)
    for n in (1, 2, 3, 5):
        x = torch.randn(4 * n, n * (2 * n + 2))
        values = {"n": n, "k": 2 * n + 2}
        outputs, golden, result = op.run({"x": x}, values, mode="check")
        assert result.findings == []
        torch.testing.assert_close(outputs["z"].double(), golden["z"], rtol=1e-3, atol=1e-3)


CAUSAL = """
op: CausalSymbols
inputs:
  x: {dtype: float32, rank: 3}
  w: {dtype: float32, shape: "[x[1], 1, width]"}
attrs:
  width: {default: 4, min: 2}
  dilation: {default: 3, min: 1}
outputs: {y: like x}
compute: |
  behind = F.pad(x, ((width - 1) * dilation, 0))
  y = torch.tanh(F.conv1d(behind, w, dilation=dilation, groups=x.shape[1])) + x
"""


def test_a_number_that_is_a_sum_of_products_of_counts(tmp_path: Path) -> None:
    """A causal convolution pads by `(width - 1) * dilation`, which is no multiple of the width."""
    spec = parse_spec(CAUSAL, "causal.yaml").spec
    assert spec is not None
    op = BuiltOp(spec, tmp_path)
    for width, dilation in ((4, 3), (2, 1), (3, 5), (5, 2)):
        given = {"x": torch.randn(2, 3, 17), "w": torch.randn(3, 1, width)}
        attrs = {"width": width, "dilation": dilation}
        outputs, golden, result = op.run(given, attrs, mode="check")
        assert result.findings == []
        torch.testing.assert_close(outputs["y"].double(), golden["y"], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "make", [lambda a, b, c: (a - 1) * b + c, lambda a, b, c: a * b * c - 2 * b + 7]
)
def test_polynomials_of_counts_are_found(make: Callable[[int, int, int], int]) -> None:
    known, others = {"a": 4, "b": 3, "c": 2}, {"a": 2, "b": 5, "c": 7}
    numbers = {
        frozenset(changed): make(*(others[n] if n in changed else known[n] for n in known))
        for size in range(4)
        for changed in itertools.combinations(known, size)
    }
    found = Polynomial.through(numbers, known, others)
    assert found is not None
    for values in itertools.product((1, 3, 6), repeat=3):
        at = dict(zip(known, values, strict=True))
        total = sum(f * math.prod(at[n] for n in names) for names, f in found.factors.items())
        assert total == make(*values)


def test_sizes_that_break_the_output_rule_are_refused_by_tiling(tmp_path: Path) -> None:
    """PyTorch broadcasts one element against none: pairs of one element give a result of none."""
    spec = make_spec(
        "a, b = x[..., ::2], x[..., 1::2]\nz = torch.stack([a - b, a + b], -1).flatten(-2)"
    )
    three = dataclasses.replace(spec.inputs[0], min_rank=3, max_rank=3)
    op = BuiltOp(dataclasses.replace(spec, inputs=(three,)), tmp_path)
    for length in (2, 26):
        outputs, golden, result = op.run({"x": torch.randn(3, 4, length)}, {}, mode="check")
        assert result.findings == []
        torch.testing.assert_close(outputs["z"].double(), golden["z"], rtol=1e-4, atol=1e-5)
    for length in (1, 5):
        x = torch.randn(3, 4, length)
        with pytest.raises(OpRuntimeError, match="reshape is out of range"):
            op.runtime.run(spec.op, [x], [torch.empty_like(x)], {}, mode="fast")
