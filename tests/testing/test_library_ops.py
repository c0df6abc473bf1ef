"""``check_op`` on ops of the library, each with something of its own."""

from __future__ import annotations

import pytest

from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import load_specs
from msopgen_wrap.testing import check_op


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reduce/arg_max_row", "optimizer/apply_adam_w", "norm/rms_norm"])
def test_ops_of_the_library(name: str) -> None:
    """Integer results, written inputs, several results and a gradient summed over rows."""
    spec = load_specs([data_dir("op_specs") / f"{name}.yaml"])[0]
    check_op(spec, skip=["onnx"]).raise_if_failed()
