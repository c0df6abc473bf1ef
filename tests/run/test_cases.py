"""The case grid, and the reference of each case."""

from __future__ import annotations

import math
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch

from msopgen_wrap.run import cases, golden
from msopgen_wrap.run.accuracy import Comparison
from msopgen_wrap.run.cached_specs import known_grid
from msopgen_wrap.run.cases import case_grid, whole_number_cases
from msopgen_wrap.run.control_cases import telling_cases
from msopgen_wrap.run.golden import NotApplicable, make_inputs, reference
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.run.reference_modes import Provenance
from msopgen_wrap.run.shape_search import fixed_inputs
from msopgen_wrap.spec.loader import gradient_spec, load_spec, parse_spec
from msopgen_wrap.spec.model import OpSpec

F = torch.nn.functional

# ---- The case grid: every rank that a spec allows gets all of it, under the rules of the spec ----

SEVERAL = 3 * 2 * 8192  # elements of two tiles on three cores


def load(text: str) -> OpSpec:
    result = parse_spec("op: Demo\n" + text, "demo.yaml")
    assert result.spec is not None, result.diagnostics
    return result.spec


def shapes(cases: list[TestCase], name: str = "x") -> set[tuple[int, ...]]:
    return {c.shapes[name] for c in cases}


def prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


UNARY = "inputs:\n  x: {{dtype: float32, rank: {rank}}}\noutputs:\n  y: like x\ncompute: {code}\n"
BINARY = (
    "inputs:\n  x: {{dtype: float32, rank: {rank}}}\n  y: {{dtype: x, rank: {rank}}}\n"
    "outputs:\n  z: broadcast(x, y)\ncompute: {code}\n"
)
RANKS = ["1", "2", "3", "4", "5", "6", "7", "8", "[1, 8]", "[2, 8]", "[3, 5]", "[0, 8]", "[2, 3]"]


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize(
    ("form", "code"),
    [(UNARY, "torch.relu(x)"), (UNARY, "torch.softmax(x, -1)"), (BINARY, "x + y")],
)
def test_every_rank_gets_the_whole_grid(rank: str, form: str, code: str) -> None:
    spec = load(form.format(rank=rank, code=code))
    cases = case_grid(spec)
    labels = Counter(case.label(spec) for case in cases)
    assert max(labels.values()) == 1
    x = spec.inputs[0]
    for each in range(max(x.min_rank, 1), x.max_rank + 1):
        own = [c for c in cases if len(c.shapes["x"]) == each]
        of_rank = shapes(own)
        assert any(0 in s for s in of_rank), each
        assert any(math.prod(s) == 1 for s in of_rank), each
        assert any(prime(s[-1]) for s in of_rank), each
        assert any(s[-1] % 16 == 0 for s in of_rank), each
        several = [c for c in own if math.prod(c.shapes["x"]) >= SEVERAL]
        assert any(c.block_dim > 1 for c in several), each
    assert any(c.block_dim == 1 for c in cases) or x.max_rank == 0
    assert any(c.block_dim == 0 and math.prod(c.shapes["x"]) > 2**18 for c in cases)
    assert {"normal", "wide", "special"} == {c.values for c in cases}


def test_whole_numbers_stand_in_for_special_ones() -> None:
    cases = case_grid(load(BINARY.format(rank="2", code="x + y")))
    special = [c for c in cases if c.values == "special"]
    whole = whole_number_cases(cases)
    assert [(c.combo, c.shapes) for c in whole] == [(c.combo, c.shapes) for c in special]
    assert {c.values for c in whole} == {"whole"}


LABELLED = """
inputs:
  a: {dtype: float32, shape: "[5]"}
  b: {dtype: a, shape: "[5]"}
  label: {dtype: float32, shape: "[]"}
outputs:
  y: {dtype: float32, shape: "[]"}
  z: {dtype: float32, shape: "[]"}
compute: |
  y = F.cosine_embedding_loss(a, b, label, margin=0.99)
  z = CODE
"""


@pytest.mark.parametrize(
    ("code", "count"),
    [("torch.relu(-label)", 2), ("y.new_zeros(())", 1), ("torch.relu(label - 1)", 1)],
)
def test_whole_numbers_are_drawn_until_they_tell(code: str, count: int) -> None:
    """One label of three gives a loss; z is zero there, always, or as far as labels go."""
    spec = load(LABELLED.replace("CODE", code))
    told = telling_cases(spec, case_grid(spec), {"y (relative)", "z (relative)"})
    assert len(told) == count
    assert all(case.values == "whole" for case in told)
    given = [make_inputs(spec, case) for case in told]
    golden = [reference(spec, c, g).golden for c, g in zip(told, given, strict=True)]
    assert any(float(each["y"]) > 0 for each in golden)
    assert len({case.label(spec) for case in told}) == count
    labels = {float(inputs["label"]) for inputs in given}
    assert labels == ({1.0, -1.0} if count == 2 else {1.0})


def test_the_first_drawing_stands_for_those_that_tell_nothing() -> None:
    spec = load(UNARY.format(rank="1", code="torch.relu(x - 100)"))
    (case,) = telling_cases(spec, case_grid(spec), {"y (relative)"})
    assert (case.values, case.draw) == ("whole", 0)


@pytest.mark.parametrize("rank", ["2", "3", "4", "5", "8"])
def test_inputs_of_one_rank_stretch_each_other(rank: str) -> None:
    cases = case_grid(load(BINARY.format(rank=rank, code="x + y")))
    stretched = [c for c in cases if c.shapes["x"] != c.shapes["y"] and c.shapes["x"]]
    assert any(c.shapes["x"][-1] == 1 for c in stretched)
    assert any(c.shapes["y"][-1] == 1 for c in stretched)
    assert any(math.prod(c.shapes["x"]) >= SEVERAL and c.block_dim > 1 for c in stretched)


#: inputs and outputs, what all shapes of x keep to, and the smallest largest case
RULES = [
    ("divisible", "x: {dtype: float32, rank: 3}", "y: like x", "",
     "x.reshape(x.shape[0], -1, 4, x.shape[-1]).flatten(1, 2)", lambda s: s[1] % 4 == 0),
    ("last axis", "x: {dtype: float32, rank: [2, 4]}", "y: like x", "",
     "x.reshape([*x.shape[:-1], -1, 128]).flatten(-2)", lambda s: s[-1] % 128 == 0),
    ("groups", "x: {dtype: float32, rank: 4}", "y: like x",
     "attrs: {g: {type: int, default: 6, min: 6, max: 6}}",
     "F.group_norm(x, g)", lambda s: s[1] % 6 == 0),
    ("square", "x: {dtype: float32, rank: 2}", "y: like x", "", "torch.matmul(x, x)",
     lambda s: s[0] == s[1]),
    ("attr", "x: {dtype: float32, shape: '[n, 8]'}", "y: like x",
     "attrs: {n: {type: int, default: 3}}", "x * 2", lambda s: s[1] == 8),
    ("from a case", "x: {dtype: float32, rank: 2}", "y: like x", "",
     "x + torch.ones(1, 37, dtype=x.dtype, device=x.device)", lambda s: s[-1] in (1, 37)),
    ("two inputs", "x: {dtype: float32, rank: 3}\n  w: {dtype: x, shape: '[x[-1], 7]'}",
     "y: like x", "", "x + w.sum()", lambda s: len(s) == 3),
]  # fmt: skip


@pytest.mark.parametrize(
    ("inputs", "outputs", "attrs", "code", "keeps"),
    [r[1:] for r in RULES],
    ids=[r[0] for r in RULES],
)
def test_shapes_are_searched_under_the_rules(inputs, outputs, attrs, code, keeps) -> None:
    extra = "cases:\n  - {x: [3, 37]}\n" if "37" in code else ""
    text = f"inputs:\n  {inputs}\noutputs:\n  {outputs}\n{attrs}\ncompute: {code}\n{extra}"
    cases = case_grid(load(text))
    assert len(shapes(cases)) > 6
    assert all(keeps(s) for s in shapes(cases) if 0 not in s)
    assert any(math.prod(c.shapes["x"]) >= SEVERAL and c.block_dim > 1 for c in cases)


def test_attrs_that_are_sizes_follow_the_shapes() -> None:
    spec = load(
        "inputs:\n  x: {dtype: float32, shape: '[n, m]'}\noutputs:\n  y: like x\n"
        "attrs:\n  n: {type: int, default: 3}\n  m: {type: int, default: 4, max: 64}\n"
        "compute: x * 2\n"
    )
    for case in case_grid(spec):
        assert case.shapes["x"] == (case.attrs["n"], case.attrs["m"])
        assert case.attrs["m"] <= 64


@pytest.mark.parametrize(
    ("inputs", "fixed"),
    [
        ("x: {dtype: float32, shape: '[4, 8]'}", True),
        ("x: {dtype: float32, rank: 0}", True),
        ("x: {dtype: float32, shape: '[n, 8]'}", False),
        ("x: {dtype: float32, shape: '[m, 8]'}", True),
        ("x: {dtype: float32, shape: '[4]'}\n  y: {dtype: x, shape: '[x[0] * 2]'}", True),
        ("x: {dtype: float32, shape: '[4]'}\n  y: {dtype: x, rank: 1}", False),
        ("x: {dtype: float32}", False),
    ],
)
def test_which_specs_bound_their_inputs(inputs: str, fixed: bool) -> None:
    spec = load(
        f"inputs:\n  {inputs}\noutputs:\n  z: like x\n"
        "attrs:\n  n: {type: int, default: 3}\n  m: {type: int, default: 3, max: 9}\n"
        "compute: x * 2\n"
    )
    assert fixed_inputs(spec) is fixed


def test_lists_keep_to_the_rank() -> None:
    spec = load(
        "inputs:\n  x: {dtype: float32, list: true, rank: 2}\noutputs:\n"
        "  y: {shape: like x, list: true}\ncompute: '[a + 1 for a in x]'\n"
    )
    assert {len(s) for c in case_grid(spec) for s in c.shapes["x"]} == {2}


def test_an_output_that_multiplies_inputs_counts_as_work() -> None:
    """A gather has more output than input: it needs no larger input for several tiles."""
    spec = load(
        "inputs:\n  t: {dtype: float32, rank: 2}\n  x: {dtype: int32, range: [0, 0]}\noutputs:\n"
        "  y: {dtype: t, shape: '[*x, t[-1]]'}\n"
        "compute: t[0] + torch.unsqueeze(x, -1)\ncases:\n  - {t: [5, 64], x: [3]}\n"
    )
    cases = case_grid(spec)
    assert any(c.block_dim > 1 for c in cases)
    assert sum(math.prod(c.shapes["x"]) for c in cases) < 300_000


# ---- The grid of a spec that was searched before: the same, without asking compute again ---------

# Accepted are even sizes only, which the rules of the spec do not say.
DEMO = """op: Demo
inputs: {x: {dtype: float32, rank: [1, 3]}}
outputs: {y: {dtype: x, shape: "[*x[:-1], x[-1] // 2]"}}
compute: x.reshape([*x.shape[:-1], x.shape[-1] // 2, 2]).sum(-1)
"""


def load_demo(text: str = DEMO) -> OpSpec:
    spec = parse_spec(text, "demo.yaml").spec
    assert spec is not None
    return spec


def refuse(spec: OpSpec) -> object:
    def accepts(shapes: object, attrs: object) -> bool:
        raise AssertionError("compute was asked again")

    return accepts


@pytest.mark.parametrize("large", [False, True])
def test_a_second_search_asks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path))
    want = cases.case_grid(load_demo(), large=large)
    assert known_grid(load_demo(), large=large) == want and len(want) > 10
    if not large:  # the large case is not of the default grid
        monkeypatch.setattr(golden, "acceptance", refuse)
    assert known_grid(load_demo(), large=large) == want


def test_another_spec_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path))
    known_grid(load_demo())
    thirds = load_demo(DEMO.replace("// 2, 2]", "// 3, 3]").replace("// 2]", "// 3]"))
    assert known_grid(thirds) == cases.case_grid(thirds) != known_grid(load_demo())


def test_what_a_known_case_runs_does_not_import_torchs_compiler() -> None:
    """``torch._dynamo`` takes as long as torch itself; the bounds of compute must not need it."""
    code = """
import sys
from msopgen_wrap.torch_import import torch
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.run.golden import reference
from msopgen_wrap.spec.loader import parse_spec
spec = parse_spec('''op: Demo
inputs: {x: float32, y: float32}
outputs: {z: {dtype: x, shape: "broadcast(x, y)"}}
compute: torch.relu(x + y) * torch.sigmoid(x - 1)
''', "demo.yaml").spec
case = TestCase(0, {"x": (600, 500), "y": (500,)})
reference(spec, case, {"x": torch.ones(600, 500), "y": torch.ones(500)})
print("torch._dynamo" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


# ---- References of cases with special values -----------------------------------------------------

SPEC = """\
op: RowStatistic
inputs:
  x: {dtype: [float32], rank: 1}
outputs:
  y: {dtype: [float32], shape: "[]"}
backward: none
compute: COMPUTE
"""
# (compute, elements, whether the true value says what kernels have to give)
ROWS = {
    "squares that float32 has no room for": ("x.std()", [3e38, 1.0, 2.0], False),
    "an infinity": ("x.std()", [math.inf, 1.0, 2.0], True),
    "plain numbers": ("x.std()", [3.0, 1.0, 2.0], True),
    "a rest of large numbers": ("x.sum()", [3e38, -3e38, 2.0], False),
    "a large number": ("x.mean()", [3e38, 1.0, 2.0], True),
    "a product in another order": ("x.prod()", [3e38, 1e-30, 1e20], False),
    "a large angle": ("torch.sin(x).amax()", [1e20, 1.0, 2.0], False),
    "angles": ("torch.sin(x).amax()", [1e4, 1.0, 2.0], True),
}


@pytest.mark.parametrize("name", ROWS)
def test_special_values_are_judged_as_kernels_calculate(name: str, tmp_path: Path) -> None:
    compute, elements, known = ROWS[name]
    path = tmp_path / "row_statistic.yaml"
    path.write_text(SPEC.replace("COMPUTE", compute))
    spec = load_spec(path)
    x = torch.tensor(elements)
    for values in ("normal", "special"):
        want = reference(spec, TestCase(0, {"x": tuple(x.shape)}, values=values), {"x": x})
        golden, native = want.golden["y"], want.native["y"]
        true = golden.float() if torch.isfinite(golden) else native
        wrong = torch.tensor(0.25)
        steps = want.steps["y"] if want.steps else None
        judge = Comparison(golden, torch.float32, native, steps=steps)
        assert judge.accuracy(true).passed
        assert judge.accuracy(wrong).passed is (not known and values == "special")


# (inputs, their shape, whether a value that is not finite is drawn)
SMALL = {
    "a number": ('x: {dtype: float32, shape: "[]"}', (), True),
    "two inputs": ('x: {dtype: float32, shape: "[1]"}\n  y: {dtype: x, shape: "[1]"}', (1,), True),
    "a range": ('x: {dtype: float32, shape: "[]", range: [0, 1]}', (), False),
    "an integer": ('x: {dtype: int32, shape: "[]"}', (), False),
    "nothing": ('x: {dtype: float32, shape: "[0]"}', (0,), False),
}


@pytest.mark.parametrize("name", SMALL)
def test_small_inputs_of_special_values_have_one(name: str) -> None:
    inputs, shape, special = SMALL[name]
    text = f"inputs:\n  {inputs}\noutputs:\n  z: {{dtype: x, shape: like x}}\ncompute: x + 1\n"
    for number in range(20):  # the op's name decides what is drawn
        parsed = parse_spec(f"op: Demo{number}\n{text}", "demo.yaml")
        assert parsed.spec is not None, parsed.diagnostics
        given = {p.name: shape for p in parsed.spec.inputs}
        for values, wanted in (("special", special), ("normal", False)):
            drawn = golden.make_inputs(parsed.spec, TestCase(0, given, values=values))
            finite = [bool(torch.as_tensor(v).isfinite().all()) for v in drawn.values()]
            assert (not all(finite)) is wanted


# ---- Which integer outputs compute rounded from floats, and which outputs are constants ----------

CALCULATED = {
    "round": lambda x, n: (x * 3).round().to(torch.int8),
    "truncate": lambda x, n: (x / 3).to(torch.int32),
    "clamp before": lambda x, n: (x * 3).round().clamp(-128, 127).to(torch.int8),
    "clamp after": lambda x, n: (x * 3).to(torch.int32).clamp(-8, 7).to(torch.int8),
    "zero point": lambda x, n: ((x * 3).round().to(torch.int32) + 5).to(torch.int8),
    "rounded by the output": lambda x, n: torch.exp(x),
    "from integers": lambda x, n: (n * 0.1).to(torch.int8),
    "division of integers": lambda x, n: (n / 3).to(torch.int8),
    "sum of a row": lambda x, n: x.sum(-1).to(torch.int32),
    "reshaped": lambda x, n: (x * 3).to(torch.int8).reshape(-1).flip(0),
}
EXACT = {
    "conversion of an input": lambda x, n: x.to(torch.int32),
    "floor of an input": lambda x, n: x.floor().to(torch.int32),
    "clamp of an input": lambda x, n: x.clamp(-2, 2).to(torch.int8),
    "widened": lambda x, n: x.half().float().to(torch.int8),
    "largest of a row": lambda x, n: x.amax(-1).to(torch.int32),
    "index": lambda x, n: torch.argmax(torch.exp(x), -1),
    "integers": lambda x, n: n * 3 + 1,
    "comparison": lambda x, n: (torch.exp(x) > 1).to(torch.int8),
    "product after rounding": lambda x, n: (x * 3).to(torch.int32) * 100,
    "two rounded": lambda x, n: (x * 3).to(torch.int32) + (x * 5).to(torch.int32),
    "bool": lambda x, n: torch.exp(x) > 1,
}


@pytest.mark.parametrize("name", [*CALCULATED, *EXACT])
def test_what_is_rounded(name: str) -> None:
    x, n = torch.randn(4, 5, dtype=torch.float64), torch.arange(20).reshape(4, 5)
    with Provenance() as origins:
        result = (CALCULATED | EXACT)[name](x, n)
    dtype = torch.bool if name == "bool" else torch.int8
    assert origins.quantised(result, dtype) is (name in CALCULATED)
    assert not origins.quantised(result, torch.float32)


LABELS = torch.zeros(4, dtype=torch.int64)
CONSTANT = {
    "zeros": lambda x, e: torch.zeros_like(x),
    "arithmetic of constants": lambda x, e: x.new_ones(3).neg() + torch.full((3,), 2.0),
    "filled": lambda x, e: x.clone().zero_(),
    "a sum of no elements": lambda x, e: torch.linalg.norm(e),
    "the place of one element": lambda x, e: x[0, 0].argmax(),
    "the places along an axis of one": lambda x, e: x[:, :1].argmax(1),
    "the place of one element beside it": lambda x, e: x[0, 0].cummax(0)[1],
    "a margin of one class": lambda x, e: F.multi_margin_loss(x[:, :1], LABELS),
    "a margin of a number": lambda x, e: F.multilabel_margin_loss(x[0, 0], LABELS[0]),
}
VARIABLE = {
    "an input": lambda x, e: x,
    "a view": lambda x, e: x[0],
    "zeros by value": lambda x, e: x * 0,
    "a comparison": lambda x, e: x > 100,
    "a constant and an input": lambda x, e: torch.zeros_like(x) + x,
    "a written constant": lambda x, e: torch.zeros_like(x).copy_(x),
    "the place of one of many": lambda x, e: x.argmax(),
    "the order along an axis": lambda x, e: x[:1].argsort(1),
    "a margin of classes": lambda x, e: F.multi_margin_loss(x, LABELS),
    "one integer, beside its place": lambda x, e: x.long()[:1, :1].max(1)[0],
}


@pytest.mark.parametrize("name", [*CONSTANT, *VARIABLE])
def test_what_is_constant(name: str) -> None:
    x, empty = torch.randn(4, 5, dtype=torch.float64), torch.zeros(0)
    with Provenance() as origins:
        result = (CONSTANT | VARIABLE)[name](x, empty)
    assert origins.constant(result) is (name in CONSTANT)


def test_the_gradient_of_a_mean_of_no_elements_is_a_case() -> None:
    """torch's backward function divides by their number on meta tensors, and not on others."""
    spec = parse_spec(
        "op: NoElements\ninputs:\n  x: {dtype: float32, rank: 1}\noutputs:\n"
        '  z: {dtype: float32, shape: "[]"}\nbackward: kernel\ncompute: F.mse_loss(x, x * 2)\n'
    ).spec
    assert spec is not None
    assert golden.acceptance(gradient_spec(spec))({"x": (0,), "grad_z": ()}, {})


@pytest.mark.parametrize(
    ("compute", "taken"),
    [
        ("x.index_select(0, i).sum(0)", False),
        ("x.index_select(0, i[:5]).sum(0)", True),
        # an expanded view stores nothing
        ("x[:1].expand(i.shape[0], -1)[0]", True),
    ],
)
def test_shapes_of_a_huge_temporary_are_no_case(compute: str, taken: bool) -> None:
    spec = load(
        "inputs:\n  x: {dtype: float32, rank: 2}\n  i: {dtype: int32, rank: 1}\noutputs:\n"
        f'  z: {{dtype: float32, shape: "[x[1]]"}}\nbackward: none\ncompute: {compute}\n'
    )
    accepts = golden.acceptance(spec)
    assert accepts({"x": (7, 1031), "i": (1031,)}, {})
    assert accepts({"x": (7, 20011), "i": (20011,)}, {}) is taken


def test_a_division_by_zero_is_a_case_that_compute_refuses(tmp_path):
    path = tmp_path / "heads.yaml"
    path.write_text(
        "op: Heads\ninputs:\n  x: {dtype: float32, rank: 2}\noutputs:\n  y: like x\n"
        "compute: x * (8 // x.shape[0])\nbackward: none\n",
        encoding="utf-8",
    )
    spec = load_spec(path)
    with pytest.raises(NotApplicable):
        reference(spec, TestCase(0, {"x": (0, 3)}), {"x": torch.ones(0, 3)})
