"""``tolerance``: what is accepted, for which outputs, and what is refused."""

from __future__ import annotations

import jsonschema
import pytest
import yaml

from msopgen_wrap.spec.json_schema import spec_schema
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import Tolerance

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
