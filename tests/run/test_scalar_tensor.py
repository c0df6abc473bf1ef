"""An op with a scalar tensor: its case grid, and ``opgen run`` of its project with 0-d files."""

from __future__ import annotations

import json

import numpy as np
import pytest

from msopgen_wrap.cli.app import run as opgen

SPEC = """\
op: ScaleBy
doc: x times a scalar tensor.
inputs:
  x: {dtype: [float32], rank: [0, 8]}
  s: {dtype: x, rank: 0}
outputs:
  y: {dtype: x, shape: like x}
compute: x * s
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("scalar")
    (root / "scale_by.yaml").write_text(SPEC, encoding="utf-8")
    assert opgen(["new", str(root / "scale_by.yaml"), "-o", str(root / "project")]) == 0
    return root / "project"


@pytest.mark.slow
def test_its_cases_pass(project, capfd):
    assert opgen(["test", str(project), "-k", "s=scalar", "--json"]) in (0, 1)
    report = json.loads(capfd.readouterr().out)
    results = [case["status"] for op in report["ops"] for case in op["cases"]]
    assert len(results) > 10 and set(results) == {"passed"}, results


@pytest.mark.parametrize("shape", [(), (1,), (2, 3)])
def test_files_keep_rank_zero(project, tmp_path, shape, capfd):
    x = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape) + 3
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "s.npy", np.array(2.5, np.float32))
    arguments = ["run", str(project), "-i", f"x={tmp_path}/x.npy", "-i", f"s={tmp_path}/s.npy"]
    assert opgen([*arguments, "--save", str(tmp_path / "out")]) == 0, capfd.readouterr()
    y = np.load(tmp_path / "out" / "y.npy")
    assert y.shape == shape
    np.testing.assert_array_equal(y, x * np.float32(2.5))
    assert opgen([*arguments[:-1], f"s={tmp_path}/x.npy"]) == (0 if shape == () else 1)
