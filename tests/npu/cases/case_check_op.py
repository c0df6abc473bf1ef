"""``check_op`` on npu tensors."""

from __future__ import annotations

import pytest
import torch

from msopgen_wrap.testing import check_op

pytestmark = pytest.mark.npu
SKIP = ("compile", "export", "onnx")


def test_a_function_passes_on_npu_tensors(npu, opgen_check):
    report = opgen_check(torch.add, torch.add, [((3, 4), (4,)), ((2, 3), (2, 3))], skip=SKIP)
    assert report.device.startswith("npu") and report["gradients"].status == "passed"


def test_a_mistake_is_found_there(npu):
    report = check_op(lambda x: x * x + 1, lambda x: x * x, [((3, 4),)], device=npu, skip=SKIP)
    assert "forward" in report.failed and "gradients" not in report.failed
