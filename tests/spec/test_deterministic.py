"""``deterministic``: whether a kernel may add in any order."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.spec.loader import gradient_spec, load_spec, parse_spec, with_gradients

SCALED = """\
op: Scaled
inputs:
  x: {dtype: float32, rank: 2}
  w: {dtype: x, shape: "[x[-1]]"}
outputs:
  y: like x
compute: x.softmax(-1) * w
backward: kernel
"""


@pytest.mark.parametrize(
    ("line", "value"),
    [("", True), ("deterministic: true\n", True), ("deterministic: false\n", False)],
)
def test_the_gradient_has_the_key_of_its_op(line: str, value: bool) -> None:
    spec = parse_spec(SCALED + line).spec
    assert spec is not None
    gradient = gradient_spec(spec)
    assert (spec.deterministic, gradient.deterministic) == (value, value)
    assert ("deterministic: false" in gradient.source) is not value


def test_a_file_of_the_gradient_is_derived_again_where_the_key_changes() -> None:
    before, after = (parse_spec(SCALED + line).spec for line in ("", "deterministic: false\n"))
    assert before is not None and after is not None
    old = gradient_spec(before)
    assert with_gradients([before, old])[1] is old
    assert not with_gradients([after, old])[1].deterministic


@pytest.mark.parametrize("key", ["deterministic", "hf32"])
@pytest.mark.parametrize("value", ["maybe", "0", "1", "[true]", ""])
def test_other_values_are_refused_with_their_place(key: str, value: str) -> None:
    result = parse_spec(SCALED + f"{key}: {value}\n")
    assert result.spec is None
    (problem,) = [d for d in result.diagnostics if d.severity == "error"]
    assert (problem.code, problem.location.line) == ("OPG007", 9)
    assert "true or false" in str(problem)


def test_a_function_says_it_in_python(tmp_path: Path) -> None:
    path = tmp_path / "ops.py"
    path.write_text(
        "from typing import Annotated\n"
        "import torch\nfrom torch import Tensor\nfrom msopgen_wrap import op\n\n\n"
        "@op(backward='kernel', save=[], deterministic=False)\n"
        "def squash(x: Annotated[Tensor, 'float32']) -> Annotated[Tensor, 'y: like x']:\n"
        "    return torch.sigmoid(x)\n\n\n"
        "@op(backward='kernel', save='auto')\n"
        "def squash_too(x: Annotated[Tensor, 'float32']) -> Annotated[Tensor, 'y: like x']:\n"
        "    return torch.sigmoid(x)\n"
    )
    one, other = load_spec(f"{path}:squash"), load_spec(f"{path}:squash_too")
    assert (one.deterministic, one.save, one.choose_saved) == (False, (), False)
    assert (other.deterministic, other.choose_saved) == (True, True)
    again = parse_spec(one.source).spec
    assert again is not None and (again.deterministic, again.choose_saved) == (False, False)
