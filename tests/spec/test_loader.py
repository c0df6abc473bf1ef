"""What a spec means: short forms, defaults, combinations, cases, tolerance; no input crashes."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from msopgen_wrap.spec.builder import KEYS
from msopgen_wrap.spec.json_schema import spec_schema
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import (
    REQUIRED,
    OpSpec,
    ParamKind,
    ShapeBroadcast,
    ShapeLike,
    Tolerance,
)
from msopgen_wrap.spec.names import snake_case
from msopgen_wrap.spec.yaml_nodes import resolve


def load(text: str) -> OpSpec:
    result = parse_spec(text, "t.yaml")
    assert result.spec is not None, result.diagnostics
    return result.spec


MINIMAL = "op: A\ninputs:\n  x: float32\noutputs:\n  y: like x\ncompute: x + 1\n"


def test_defaults_of_a_minimal_spec() -> None:
    spec = load(MINIMAL)
    assert (spec.op, spec.name, spec.combos) == ("A", "a", 1)
    assert spec.outputs[0].dtypes == ("float32",)
    assert spec.outputs[0].shape == ShapeLike("x")
    assert spec.backward == "reference"
    assert spec.soc == ("ascend910b", "ascend910_93")
    assert spec.source == MINIMAL and spec.path == "t.yaml"


def test_dtypes_that_are_left_out_follow_an_input() -> None:
    spec = parse_spec(
        "op: A\ninputs:\n  i: {dtype: int64, rank: 1}\n  x: [float16, float32]\n"
        "  w: {shape: '[x[0]]'}\n  b: {dtype: like x, rank: 1}\n"
        "outputs:\n  n: '[]'\n  y: {dtype: like w, shape: '[3, 4]'}\n  z: '[x[0], w[0]]'\n"
        "compute: i.sum(), x, x\nbackward: none\n"
    ).spec
    got = {p.name: p.dtypes for p in (*spec.inputs, *spec.outputs)}
    floats = ("float16", "float32")
    assert got == {
        **dict.fromkeys(("i", "n"), ("int64", "int64")),
        **dict.fromkeys("xwbyz", floats),
    }


def test_dtypes_are_parallel_broadcast_and_followed() -> None:
    spec = load(
        "op: A\ninputs:\n  x: [float16, float32]\n  m: bool\n  w: {dtype: y}\n"
        "outputs:\n  y: {dtype: x, shape: 'broadcast(x, m, w)'}\n"
        "  k: {dtype: int32, shape: like x}\n"
        "compute: |\n  y = torch.where(m, x, w)\n  k = x.int()\n"
    )
    got = {p.name: p.dtypes for p in (*spec.inputs, *spec.outputs)}
    both = ("float16", "float32")
    assert got == {"x": both, "m": ("bool",) * 2, "w": both, "y": both, "k": ("int32",) * 2}


def test_an_input_is_like_an_earlier_one() -> None:
    spec = load(
        "op: A\ninputs:\n  x: {dtype: [float16, float32], rank: 2}\n  w: like x\n"
        "outputs: {y: like x}\ncompute: x + w\n"
    )
    assert spec.inputs[1].shape == ShapeLike("x")
    assert spec.inputs[1].dtypes == ("float16", "float32")


def test_an_input_is_like_nothing_that_follows() -> None:
    text = "op: A\ninputs: {x: like w, w: float32}\noutputs: {y: like w}\ncompute: x + w\n"
    found = parse_spec(text, "t.yaml").diagnostics
    assert [(d.code, d.fix) for d in found] == [("OPG031", "list 'w' first, or give it the rule")]


ATTRS = [
    ("1.0", "float", 1.0, None),
    ("1e-5", "float", 1e-5, None),
    ("-1", "int", -1, None),
    ("true", "bool", True, None),
    ("tanh", "str", "tanh", None),
    ("'1'", "str", "1", None),
    ("no", "str", "no", None),
    ("[1, 2]", "list_int", (1, 2), None),
    ("[1, 2.5]", "list_float", (1.0, 2.5), None),
    ("float16", "dtype", "float16", None),
    ("float", "float", REQUIRED, None),
    ("list_int", "list_int", REQUIRED, None),
    ("{type: float}", "float", REQUIRED, None),
    ("{type: float, default: 1}", "float", 1.0, None),
    ("{type: float, default: -.inf}", "float", float("-inf"), None),
    ("{type: list_int, default: []}", "list_int", (), None),
    ("{type: str, default: a, allowed: [a, b]}", "str", "a", ("a", "b")),
    ("{default: 3}", "int", 3, None),
    ("{type: bool, default: false, doc: text}", "bool", False, None),
]


@pytest.mark.parametrize(("text", "kind", "default", "allowed"), ATTRS, ids=[a[0] for a in ATTRS])
def test_attrs(text: str, kind: str, default: Any, allowed: Any) -> None:
    spec = load(MINIMAL + f"attrs:\n  a: {text}\n")
    attr = spec.attr("a")
    assert (attr.type, attr.default, attr.allowed) == (kind, default, allowed)
    assert attr.required == (default is REQUIRED)


def test_input_properties() -> None:
    spec = load(
        "op: A\ninputs:\n  x: {dtype: float32, rank: [1, 3], range: [-1, 2.5], doc: text}\n"
        "  g: {dtype: x, shape: '[x[-1]]', optional: true, default: 1}\n"
        "  xs: {dtype: x, list: true}\noutputs:\n  y: {shape: like xs, list: true}\n"
        "compute: '[a * x * g for a in xs]'\n"
    )
    x, g, xs = spec.inputs
    assert (x.min_rank, x.max_rank, x.low, x.high, x.doc) == (1, 3, -1.0, 2.5, "text")
    assert (g.kind, g.default, g.shape_text) == (ParamKind.OPTIONAL, 1, "[x[-1]]")
    assert (xs.kind, spec.outputs[0].kind) == (ParamKind.DYNAMIC, ParamKind.DYNAMIC)


def test_in_place_outputs_take_everything_from_their_input() -> None:
    spec = load(
        "op: A\ninputs:\n  v: [float16, float32]\n  g: v\noutputs:\n  v: {inplace: v}\n"
        "compute: v + g\n"
    )
    out = spec.outputs[0]
    assert (out.inplace, out.dtypes, out.shape) == ("v", ("float16", "float32"), ShapeLike("v"))
    assert spec.backward == "none"


def test_cases() -> None:
    spec = load(
        "op: A\ninputs:\n  x: [float16, float32]\n  b: {dtype: x, optional: true}\n"
        "  xs: {dtype: x, list: true}\noutputs:\n  y: like x\n"
        "attrs:\n  n: 1\ncompute: x * n\n"
        "cases:\n  - {x: [3, 5], xs: [[1], [2, 3]], n: 4, dtype: float32}\n"
        "  - {x: [], b: null, xs: [[]]}\n"
    )
    first, second = spec.cases
    assert first.shapes == {"x": (3, 5), "b": None, "xs": [(1,), (2, 3)]}
    assert (first.attrs, first.dtypes) == ({"n": 4}, (1,))
    assert second.shapes == {"x": (), "b": None, "xs": [()]}
    assert second.dtypes is None
    assert first.location.line == 12


TOLERANCES = [
    ("1e-3", {"float16": (1e-3, 1e-2), "float32": (1e-3, 1e-2)}),
    ("{float16: 1e-3}", {"float16": (1e-3, 1e-2)}),
    ("{float16: {mean: 1e-3, max: 0.5}}", {"float16": (1e-3, 0.5)}),
    ("{float16: {max: 0.5}}", {"float16": (0.05, 0.5)}),
]


@pytest.mark.parametrize(("text", "expected"), TOLERANCES)
def test_tolerance(text: str, expected: dict[str, tuple[float, float]]) -> None:
    found = load(MINIMAL + f"tolerance: {text}\n").tolerance
    for dtype, bounds in expected.items():
        assert (found[dtype].mean, found[dtype].maximum) == pytest.approx(bounds)


def test_schema_string() -> None:
    spec = load(
        'op: A\nschema: "f(Tensor x, Tensor? b, Tensor[] xs, float base=-1.0, int[] d=[1, 2], '
        "str m='tanh', bool k=False, int n) -> (Tensor y, Tensor z)\"\n"
        "compute: |\n  y = x * base\n  z = x\n".replace("Tensor[] xs, ", "")
    )
    assert [p.name for p in spec.inputs] == ["x", "b"]
    assert spec.inputs[1].kind is ParamKind.OPTIONAL
    assert {a.name: a.default for a in spec.attrs} == {
        "base": -1.0, "d": (1, 2), "m": "tanh", "k": False, "n": REQUIRED,
    }  # fmt: skip
    assert spec.outputs[0].shape == ShapeBroadcast(("x", "b"))
    assert spec.combos == 3


def test_schema_string_in_place() -> None:
    spec = load('op: A\nschema: "f(Tensor(a!) v, Tensor g) -> Tensor(a!) v"\ncompute: v + g\n')
    assert spec.outputs[0].inplace == "v"


SNAKE = [
    ("FusedAddRelu", "fused_add_relu"),
    ("RMSNorm", "rms_norm"),
    ("Add", "add"),
    ("AbC2dEf", "ab_c2d_ef"),
    ("Abc2DEf", "abc2d_ef"),
    ("L2Norm", "l2_norm"),
    ("ABCC", "abcc"),
    ("SwiGLU", "swi_glu"),
]


@pytest.mark.parametrize(("op", "name"), SNAKE)
def test_snake_case(op: str, name: str) -> None:
    assert snake_case(op) == name


SCALARS = [
    ("1", 1), ("-7", -7), ("+3", 3), ("0x1F", 31), ("1.", 1.0), (".5", 0.5), ("1e3", 1000.0),
    ("-1E-3", -0.001), ("true", True), ("False", False), ("null", None), ("~", None), ("", None),
    ("yes", "yes"), ("off", "off"), ("1_000", "1_000"), ("12:30", "12:30"), ("0o7", "0o7"),
    (".", "."), ("e5", "e5"), ("-", "-"), (".inf", float("inf")), ("-.inf", float("-inf")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), SCALARS)
def test_scalars_follow_yaml_1_2(text: str, value: Any) -> None:
    got = resolve(text)
    assert got == value and type(got) is type(value)


# ---- fuzz --------------------------------------------------------------------------------------

LEAF = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(
        ["x", "y", "float16", "float32", "like x", "[*x]", "broadcast(x, y)", "x + y", "auto",
         "int", "list_int", "ascend910b", "reduce(x, n)", "torch.relu(x)", "Tensor x"]
    ),
)  # fmt: skip
WORDS = st.sampled_from(
    [*KEYS, "x", "y", "n", "dtype", "shape", "list", "optional", "default", "type", "allowed",
     "min", "max", "inplace", "rank", "range", "float16", "mean"]
)  # fmt: skip
TREE = st.recursive(
    LEAF,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(WORDS, LEAF), inner, max_size=5)
    ),
    max_leaves=25,
)
ROOT = st.dictionaries(st.sampled_from(KEYS), TREE, max_size=10)


@settings(max_examples=200, deadline=None)
@given(ROOT, st.booleans())
def test_random_structures_never_raise(value: Any, flow: bool) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow, sort_keys=False)
    result = parse_spec(text)
    assert (result.spec is None) == any(d.severity == "error" for d in result.diagnostics)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_random_text_never_raises(text: str) -> None:
    assert parse_spec(text).diagnostics


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(MINIMAL) - 1), st.integers(0, 3), st.text(max_size=5))
def test_damaged_specs_never_raise(at: int, cut: int, insert: str) -> None:
    parse_spec(MINIMAL[:at] + insert + MINIMAL[at + cut :])


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=120))
def test_random_bytes_never_raise(tmp_path_factory: Any, data: bytes) -> None:
    from msopgen_wrap.spec.loader import read_spec

    path = tmp_path_factory.getbasetemp() / "fuzz.yaml"
    path.write_bytes(data)
    assert read_spec(path).diagnostics


@pytest.mark.parametrize(
    "text",
    ["[" * 3000, "{a: " * 3000, "- " * 3000, "a:\n" + " b:\n" * 10, "&a [*a]", "? [a]\n: b\n",
     "!!python/object/apply:os.system ['true']", "a: !!binary x", "\x00", "\ud800",
     "%YAML 9.9\n---\n",
     "op: " + "9" * 5000, "a: b: c", "<<: {op: A}\n", "op: A\n...\nop: B\n"],
)  # fmt: skip
def test_nasty_yaml(text: str) -> None:
    result = parse_spec(text)
    assert result.spec is None and result.diagnostics


# ---- ``tolerance``: what is accepted, for which outputs, and what is refused ---------------------

SPEC = """op: Demo
inputs:
  x: [float16, float32]
outputs:
  y: {dtype: x, shape: like x}
  q: {dtype: int8, shape: like x}
  m: {dtype: bool, shape: like x}
compute: |
  y = x * 2
  q = torch.round(y).to(torch.int8)
  m = x > 0
"""

GOOD = [
    ("0.001", {"float16": Tolerance(0.001, 0.01), "float32": Tolerance(0.001, 0.01)}),
    ("mixed", {"bfloat16": Tolerance(rule="mixed")}),
    ("{y: 0.001}", {"y": Tolerance(0.001, 0.01)}),
    ("{q: 1}", {"q": Tolerance(absolute=1)}),
    ("{q: 0}", {"q": Tolerance(absolute=0)}),
    ("{int8: 2}", {"int8": Tolerance(absolute=2)}),
    ("{q: {abs: 3}}", {"q": Tolerance(absolute=3)}),
    ("{y: {max: 0.5}}", {"y": Tolerance(0.05, 0.5)}),
    (
        "{y: {mean: 0.001, max: 0.5}, q: 1}",
        {"y": Tolerance(0.001, 0.5), "q": Tolerance(absolute=1)},
    ),
    ("{y: mixed}", {"y": Tolerance(rule="mixed")}),
    ("{y: {rule: mixed, cap: 2}}", {"y": Tolerance(rule="mixed", cap=2.0)}),
    ("{y: {rtol: 0.1, atol: 0.001}}", {"y": Tolerance(rule="mixed", rtol=0.1, atol=0.001)}),
]
BAD = [
    ("2", "not a relative error"),
    ("{y: 2}", "not a relative error"),
    ("{q: 0.001}", "not a whole number"),
    ("{q: -1}", "not a whole number"),
    ("{q: 0.5}", "not a whole number"),
    ("{m: 1}", "no effect"),
    ("{q: mixed}", "no effect"),
    ("{q: {mean: 0.001}}", "no effect"),
    ("{y: {abs: 1}}", "no effect"),
    ("{int8: {rtol: 0.001}}", "no effect"),
    ("{bool: 1}", "neither an output nor a dtype"),
    ("{z: 0.001}", "neither an output nor a dtype"),
    ("{y: {rule: strict}}", "the rule is"),
    ("{y: {mean: 0.001, rtol: 0.001}}", "mixes two rules"),
    ("{y: {rule: mixed, cap: 0}}", "cap is not positive"),
    ("{y: {}}", "neither mean, max nor abs"),
]


@pytest.mark.parametrize(("text", "expected"), GOOD)
def test_accepted(text: str, expected: dict[str, Tolerance]) -> None:
    text = SPEC + f"tolerance: {text}\n"
    result = parse_spec(text)
    assert result.spec is not None, result.diagnostics
    assert {k: result.spec.tolerance[k] for k in expected} == pytest.approx(expected)
    jsonschema.Draft202012Validator(spec_schema()).validate(yaml.safe_load(text))


@pytest.mark.parametrize(("text", "what"), BAD)
def test_refused(text: str, what: str) -> None:
    result = parse_spec(SPEC + f"tolerance: {text}\n")
    (found,) = [d for d in result.diagnostics if d.severity == "error"]
    assert found.code == "OPG060" and what in found.what
    assert found.location is not None and found.location.line == 12


def test_a_bound_for_floats_alone_has_no_effect_on_integers() -> None:
    text = SPEC.replace("  y: {dtype: x, shape: like x}\n", "").replace("  y = x * 2\n", "")
    result = parse_spec(text.replace("(y)", "(x)") + "tolerance: 0.001\n")
    assert [d.code for d in result.diagnostics] == ["OPG060"]
