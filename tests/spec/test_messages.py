"""What the messages of common mistakes say, and that one mistake is one message."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.diagnostics import Diagnostic, Location, render
from msopgen_wrap.families.row.axes import _keepdim_advice
from msopgen_wrap.spec.loader import parse_spec, read_spec

GOOD = """\
op: Demo
doc: a demo
inputs:
  x: {dtype: float32}
  y: {dtype: x}
outputs:
  z: like x
attrs:
  alpha: 1.0
compute: x + y * alpha
"""

MISSPELT = [
    ("inputs", "input"),
    ("inputs", "Inputs"),
    ("outputs", "output"),
    ("attrs", "attr"),
    ("compute", "compte"),
    ("op:", "Op:"),
]


@pytest.mark.parametrize(("key", "written"), MISSPELT)
def test_a_misspelt_key_is_one_error(key: str, written: str) -> None:
    found = parse_spec(GOOD.replace(key, written, 1), "a.yaml").diagnostics
    assert [d.code for d in found] == ["OPG005"]
    assert f"did you mean '{key.rstrip(':')}'?" in found[0].fix


def test_a_misspelt_key_beside_the_right_one_does_not_replace_it() -> None:
    found = parse_spec(GOOD + "input:\n  w: float32\n", "a.yaml").diagnostics
    assert [d.code for d in found] == ["OPG005"]


INDENTED = [
    (GOOD.replace("  y: {", "   y: {"), "2 spaces"),
    (GOOD.replace("  x: {", "    x: {"), "4 spaces"),
    ("op: A\ninputs:\n  x:\n      dtype: float32\n    rank: 2\n", "2 or 6 spaces"),
]


@pytest.mark.parametrize(("text", "advice"), INDENTED)
def test_bad_indentation_is_called_so(text: str, advice: str) -> None:
    (found,) = parse_spec(text, "a.yaml").diagnostics
    assert found.code == "OPG002" and "indented by" in found.why and advice in found.fix
    assert "quotes" not in found.fix


def test_a_binary_file_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\x7fELF\x02\x01\0\0\xff\xfe" * 50)
    (found,) = read_spec(path).diagnostics
    assert found.code == "OPG001" and "\x7f" not in render(found)


def test_control_characters_do_not_reach_the_terminal() -> None:
    place = Location("a.yaml", 1, 3)
    shown = render(Diagnostic("OPG002", "what", place), "a\tb\x1b[31m\x07\u202e" + "c" * 9999)
    assert "\x1b" not in shown and "\x07" not in shown and "\u202e" not in shown
    assert len(shown) < 600 and "a\tb" in shown


DTYPES = [
    "float8_e4m3fn",
    "float8_e5m2",
    "fp8",
    "float4",
    "hifloat8",
    "int4",
    "uint16",
    "complex64",
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_unsupported_dtypes_do_not_suggest_refused_ones(dtype: str) -> None:
    text = GOOD.replace("{dtype: float32}", f"{{dtype: {dtype}}}")
    found = [d for d in parse_spec(text, "a.yaml").diagnostics if d.code == "OPG014"]
    assert found and "did you mean" not in found[0].fix
    assert "float64" not in found[0].fix + found[0].why


def test_keepdim_is_only_advised_for_reductions_that_are_written() -> None:
    assert "keepdim" in _keepdim_advice("x - x.mean(-1)")
    assert "keepdim" not in _keepdim_advice("F.cross_entropy(x, t)")
