"""How many bytes of global memory row kernels read, counted by running them."""

from __future__ import annotations

import pytest

from msopgen_wrap.resources import data_dir
from msopgen_wrap.run.measurement import measure_op
from msopgen_wrap.spec.loader import load_spec

# Op, shape, dtype, most bytes read for each that has to be. Scale and shift are read by every core
# that has rows: with few rows they are much of what there is to read.
READS = [
    pytest.param("softmax", (64, 8192), "float16", 1.0, id="softmax, rows stay"),
    pytest.param("softmax", (8, 65536), "float16", 2.0, marks=pytest.mark.slow),
    pytest.param("custom_layer_norm", (1600, 8192), "float16", 1.05, marks=pytest.mark.slow),
    pytest.param("custom_layer_norm", (1600, 6144), "float32", 1.05, marks=pytest.mark.slow),
    pytest.param("custom_layer_norm", (8, 65536), "float32", 2.0, marks=pytest.mark.slow),
    pytest.param("add_rms_norm", (800, 8192), "float16", 1.05, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("op", "shape", "dtype", "most"), READS)
def test_bytes_read(op: str, shape: tuple[int, int], dtype: str, most: float) -> None:
    spec = load_spec(data_dir("op_specs") / f"norm/{op}.yaml")
    wide = {p.name: shape[1:] if p.name in ("gamma", "beta") else shape for p in spec.inputs}
    counts = {m.dtypes.split(",")[0]: m for m in measure_op(spec, wide)}
    assert counts[dtype].read_ratio <= most
    assert counts[dtype].written_ratio < 1.01
