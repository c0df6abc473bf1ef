"""A handwritten kernel finds lists and strings among its tiling data."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.run.cached_specs import rendered_spec
from msopgen_wrap.run.op_runtime import OpRuntime
from msopgen_wrap.run.preparation import load_op
from msopgen_wrap.spec.loader import load_spec

SPEC = """\
op: AttrsByHand
inputs: {x: float32}
outputs: {y: {dtype: x, shape: "[6]"}}
attrs:
  sizes: {type: list_int, default: [4, 5]}
  factors: {type: list_float, default: [0.5]}
  how: {type: str, default: up, allowed: [down, up]}
compute: torch.full([6], float(sizes[0] * factors[0])) + x.sum() * (1 if how == 'up' else 0)
backward: none
kernel: attrs.cpp
"""
# y: each list as its size, its first and its last element; the place of the string
KERNEL = """\
#include "kernel_operator.h"
#include "opgen/project.h"
#if OPGEN_PLAIN_TILING
#include "attrs_by_hand_tiling.h"
#endif

extern "C" __global__ __aicore__ void attrs_by_hand(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                                    GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
#if OPGEN_PLAIN_TILING
    REGISTER_TILING_DEFAULT(AttrsByHandTilingData);
#endif
    GET_TILING_DATA(data, tiling);
    if (AscendC::GetBlockIdx() != 0) {
        return;
    }
    AscendC::GlobalTensor<float> result;
    result.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
    result.SetValue(0, static_cast<float>(data.sizesSize));
    result.SetValue(1, static_cast<float>(data.sizes[0]));
    result.SetValue(2, static_cast<float>(data.sizes[data.sizesSize - 1]));
    result.SetValue(3, static_cast<float>(data.factorsSize));
    result.SetValue(4, data.factors[data.factorsSize - 1]);
    result.SetValue(5, static_cast<float>(data.how));
}
"""


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> OpRuntime:
    folder: Path = tmp_path_factory.mktemp("attrs")
    (folder / "attrs.cpp").write_text(KERNEL)
    path = folder / "attrs_by_hand.yaml"
    path.write_text(SPEC)
    spec = load_spec(path)
    return load_op(spec, rendered_spec(spec, "opgen"))


@pytest.mark.parametrize(
    ("attrs", "found"),
    [
        ({}, [2, 4, 5, 1, 0.5, 1]),
        ({"sizes": [*range(1, 9)], "factors": [3.0, 0.25], "how": "down"}, [8, 1, 8, 2, 0.25, 0]),
    ],
)
def test_attrs(runtime: OpRuntime, attrs, found) -> None:
    result = torch.empty(6)
    runtime.run("AttrsByHand", [torch.ones(3)], [result], attrs, mode="fast")
    assert result.tolist() == found


@pytest.mark.parametrize(
    ("attrs", "said"),
    [
        ({"sizes": [1] * 9}, "attr sizes has 9 elements, at most 8 are supported"),
        ({"how": "across"}, "attr how is 'across', which is not supported"),
    ],
)
def test_what_is_refused(runtime: OpRuntime, attrs, said) -> None:
    with pytest.raises((OpgenError, RuntimeError), match=said):
        runtime.run("AttrsByHand", [torch.ones(3)], [torch.empty(6)], attrs, mode="fast")
