"""``schedule`` of a spec: what is read, and every mistake with its code."""

from __future__ import annotations

import pytest

from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.schedule_entries import ScheduleEntry, SizeBound

SPEC = """
op: Sample
inputs:
  x: {dtype: [float16, float32], rank: [1, 4]}
  bias: {dtype: x, optional: true}
outputs:
  y: like x
compute: torch.exp(x if bias is None else x + bias)
soc: ascend910b
"""


def read(text):
    return parse_spec(SPEC + text, "sample.yaml")


def codes(text):
    return [d.code for d in read(text).diagnostics]


def test_absent_is_empty():
    assert read("").spec.schedule == ()


def test_one_entry():
    spec = read("schedule: {tile: 4096, buffers: 1, cores: 24, elements_per_core: 2048}").spec
    assert spec.schedule == (ScheduleEntry(4096, 1, 24, 2048),)
    assert spec.schedule[0].knobs() == {
        "tile": 4096,
        "buffers": 1,
        "cores": 24,
        "elements_per_core": 2048,
    }


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("elements <= 2**20", "elements <= 1048576"),
        ("elements < 100", "elements <= 99"),
        ("100 < elements", "101 <= elements"),
        ("16 * 1024 <= elements < 2**20", "16384 <= elements <= 1048575"),
        ("elements > 5 and elements <= 9 and elements < 8", "6 <= elements <= 7"),
        ("x[-1] == 512 and numel(x) >= 3", "x[-1] == 512 and 3 <= numel(x)"),
        ("dtype == float16", "dtype == float16"),
        ("dtype in (float16, float32) and dtype == float32", "dtype == float32"),
    ],
)
def test_conditions(written, meant):
    spec = read(f"schedule:\n  - when: {written}\n    cores: 4\n  - tile: 256\n").spec
    assert spec.schedule[0].when_text() == meant
    again = read(f"schedule:\n  - when: {meant}\n    cores: 4\n  - tile: 256\n").spec
    assert again.schedule == spec.schedule


def test_bounds_are_inclusive():
    spec = read("schedule: {when: '4 <= x[-2] < 9', cores: 2}").spec
    assert spec.schedule[0].when == (SizeBound("dim", "x", -2, 4, 8),)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{tiles: 4096}", "OPG081"),
        ("{when: elements < 5}", "OPG080"),
        ("[{cores: 4}, {cores: 5}]", "OPG080"),
        ("{tile: 100}", "OPG082"),
        ("{tile: -256}", "OPG082"),
        ("{buffers: 3}", "OPG082"),
        ("{cores: 0}", "OPG082"),
        ("{cores: 4000}", "OPG082"),
        ("{rows: kept}", "OPG082"),
        ("{cores: many}", "OPG007"),
        ("12", "OPG007"),
        ("{when: element < 5, cores: 2}", "OPG083"),
        ("{when: elements, cores: 2}", "OPG083"),
        ("{when: elements < x, cores: 2}", "OPG083"),
        ("{when: elements != 5, cores: 2}", "OPG083"),
        ("{when: elements < 2**99, cores: 2}", "OPG083"),
        ("{when: elements < 5 and elements > 9, cores: 2}", "OPG083"),
        ("{when: elements < 5 or elements > 9, cores: 2}", "OPG083"),
        ("{when: numel(bias) < 5, cores: 2}", "OPG083"),
        ("{when: 'x[7] < 5', cores: 2}", "OPG083"),
        ("{when: dtype == int8, cores: 2}", "OPG083"),
        ("{when: dtype != float16, cores: 2}", "OPG083"),
        ("{when: '__import__(\"os\") < 5', cores: 2}", "OPG083"),
        ("{when: '((((', cores: 2}", "OPG083"),
    ],
)
def test_mistakes(text, code):
    assert set(codes(f"schedule: {text}")) == {code}


def test_every_mistake_at_once():
    text = "schedule: [{tile: 7, cores: 0, when: elements}, {tils: 1, tile: 256}]"
    assert sorted(codes(text)) == ["OPG081", "OPG082", "OPG082", "OPG083"]


def test_a_handwritten_kernel_has_no_schedule(tmp_path):
    (tmp_path / "k.cpp").write_text('extern "C" void sample() {}\n')
    text = SPEC + "kernel: k.cpp\nbackward: none\nschedule: {cores: 2}\n"
    found = parse_spec(text, str(tmp_path / "sample.yaml")).diagnostics
    assert "OPG080" in [d.code for d in found]
