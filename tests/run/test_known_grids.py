"""The grid of a spec that was searched before: the same, without asking compute again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from msopgen_wrap.run import cases, golden
from msopgen_wrap.run.cached_specs import known_grid
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import OpSpec

# Accepted are even sizes only, which the rules of the spec do not say.
TEXT = """op: Demo
inputs: {x: {dtype: float32, rank: [1, 3]}}
outputs: {y: {dtype: x, shape: "[*x[:-1], x[-1] // 2]"}}
compute: x.reshape([*x.shape[:-1], x.shape[-1] // 2, 2]).sum(-1)
"""


def load(text: str = TEXT) -> OpSpec:
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
    want = cases.case_grid(load(), large=large)
    assert known_grid(load(), large=large) == want and len(want) > 10
    if not large:  # the large case is not of the default grid
        monkeypatch.setattr(golden, "acceptance", refuse)
    assert known_grid(load(), large=large) == want


def test_another_spec_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path))
    known_grid(load())
    thirds = load(TEXT.replace("// 2, 2]", "// 3, 3]").replace("// 2]", "// 3]"))
    assert known_grid(thirds) == cases.case_grid(thirds) != known_grid(load())


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
