"""Formats of tensors reach tiling, the choice of the kernel and the kernel's memory."""

import numpy as np
import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.foreign.project_runner import ProjectRunner
from msopgen_wrap.foreign.run_inputs import read_run_inputs
from msopgen_wrap.run.storage import from_memory, to_memory
from msopgen_wrap.run.tensors import Tensor

HOST = """
#include "register/op_def_registry.h"
#include "log/log.h"
namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
    const auto* w = context->GetInputShape(0);
    const auto& stored = w->GetStorageShape();
    const auto* desc = context->GetInputDesc(0);
    if (w->GetOriginShape().GetDim(0) == 1) {
        OP_LOGE(context->GetNodeName(), "origin %zu stored %zu,%ld format %d of %d",
                w->GetOriginShape().GetDimNum(), stored.GetDimNum(), stored.GetDim(0),
                static_cast<int>(desc->GetStorageFormat()),
                static_cast<int>(desc->GetOriginFormat()));
        return ge::GRAPH_FAILED;
    }
    const auto type = desc->GetDataType();
    const uint32_t bits = type == ge::DT_INT4 ? 4 : type == ge::DT_FLOAT ? 32 : 16;
    *context->GetTilingData<uint32_t>() = stored.GetShapeSize() * bits / 8;
    context->SetBlockDim(1);
    return ge::GRAPH_SUCCESS;
}
static ge::graphStatus InferShape(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    return ge::GRAPH_SUCCESS;
}
}
namespace ops {
class KeepWeight : public OpDef {
public:
    explicit KeepWeight(const char* name) : OpDef(name) {
        this->Input("w").ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_INT4, ge::DT_BF16,
                       ge::DT_FLOAT, ge::DT_FLOAT})
            .Format({ge::FORMAT_FRACTAL_NZ, ge::FORMAT_ND, ge::FORMAT_FRACTAL_NZ, ge::FORMAT_NCHW,
                     ge::FORMAT_NDC1HWC0, ge::FORMAT_FRACTAL_Z_3D});
        this->Output("y").ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_INT4, ge::DT_BF16,
                       ge::DT_FLOAT, ge::DT_FLOAT})
            .Format({ge::FORMAT_FRACTAL_NZ, ge::FORMAT_ND, ge::FORMAT_FRACTAL_NZ, ge::FORMAT_NCHW,
                     ge::FORMAT_NDC1HWC0, ge::FORMAT_FRACTAL_Z_3D});
        this->SetInferShape(optiling::InferShape);
        this->AICore().SetTiling(optiling::TilingFunc).AddConfig("ascend910b");
    }
};
OP_ADD(KeepWeight);
}
"""

KERNEL = """
#include "kernel_operator.h"
using namespace AscendC;
#define FORMAT_FRACTAL_NZ 29
#define FORMAT_ND 2
#define FORMAT_NCHW 0
// As in CANN, the entry needs no C linkage.
__global__ __aicore__ void keep_weight(GM_ADDR w, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    const uint32_t bytes = *(__gm__ uint32_t*)tiling;
    GlobalTensor<uint8_t> in, out;
    in.SetGlobalBuffer((__gm__ uint8_t*)w, bytes);
    out.SetGlobalBuffer((__gm__ uint8_t*)y, bytes);
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, (bytes + 31) / 32 * 32);
    auto t = buf.Get<uint8_t>();
    DataCopyPad(t, in, DataCopyExtParams(1, bytes, 0, 0, 0), DataCopyPadExtParams<uint8_t>());
    SetFlag<HardEvent::MTE2_S>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_S>(EVENT_ID0);
    // What this kernel was compiled for stands in the first byte.
    t.SetValue(0, FORMAT_W);
    SetFlag<HardEvent::S_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::S_MTE3>(EVENT_ID0);
    DataCopyPad(out, t, DataCopyExtParams(1, bytes, 0, 0, 0));
}
"""


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    root = tmp_path_factory.mktemp("formats")
    for name, text in (("op_host/keep_weight.cpp", HOST), ("op_kernel/keep_weight.cpp", KERNEL)):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return ProjectRunner(root)


@pytest.mark.parametrize(
    "text, layout, compiled_for",
    [
        ("float16[20,30]", "ND", 2),
        ("float16[20,30]@FRACTAL_NZ", "FRACTAL_NZ", 29),
        ("float16[40,50]", "ND", 2),
        ("int4[20,30]", "FRACTAL_NZ", 29),
        ("bfloat16[2,3,4,5]", "NCHW", 0),
        ("float32[2,20,3,4,5]", "NDC1HWC0", 32),
        ("float32[20,3,2,3,4]@FRACTAL_Z_3D", "FRACTAL_Z_3D", 33),
    ],
)
def test_a_tensor_reaches_the_kernel_in_its_format(runner, text, layout, compiled_for):
    given = read_run_inputs(None, [f"w={text}"], (), (), None, 0).inputs
    done = runner.run("KeepWeight", given)
    w, y = given["w"], done.outputs["y"]
    assert (w.layout, y.layout) == (layout, layout)
    assert y.memory.reshape(-1).view(np.uint8)[0] == compiled_for
    np.testing.assert_array_equal(y.data.reshape(-1)[2:], w.data.reshape(-1)[2:])
    assert done.result.findings == []


@pytest.mark.parametrize(
    "dtype, layout, words",
    [
        ("float16", "FRACTAL_NZ", "origin 2 stored 4,3 format 29 of 2"),
        ("float16", "", "origin 2 stored 2,1 format 2 of 2"),
        ("int4", "", "origin 2 stored 4,1 format 29 of 2"),
    ],
)
def test_tiling_sees_both_shapes_and_formats(runner, dtype, layout, words):
    values = np.zeros((1, 40), np.int8 if dtype == "int4" else np.float16)
    with pytest.raises(OpgenError, match=words):
        runner.run("KeepWeight", {"w": Tensor(dtype, values, layout)})


@pytest.mark.parametrize(
    "layout, shape, stored, place",
    [
        ("NC1HWC0", (3, 20, 4, 5), (3, 2, 4, 5, 16), lambda n, c, h, w: (n, c // 16, h, w, c % 16)),
        (
            "FRACTAL_Z",
            (20, 20, 2, 3),
            (12, 2, 16, 16),
            lambda n, c, h, w: ((c // 16 * 2 + h) * 3 + w, n // 16, n % 16, c % 16),
        ),
        (
            "NDC1HWC0",
            (2, 20, 3, 4, 5),
            (2, 3, 2, 4, 5, 16),
            lambda n, c, d, h, w: (n, d, c // 16, h, w, c % 16),
        ),
        (
            "FRACTAL_Z_3D",
            (20, 20, 2, 2, 3),
            (24, 2, 16, 16),
            lambda n, c, d, h, w: (((d * 2 + c // 16) * 2 + h) * 3 + w, n // 16, n % 16, c % 16),
        ),
    ],
)
def test_blocks_of_channels(layout, shape, stored, place):
    values = np.arange(np.prod(shape)).reshape(shape).astype(np.int16)
    memory = to_memory(values, "int16", layout)
    assert memory.shape == stored
    assert all(memory[place(*at)] == value for at, value in np.ndenumerate(values))
    assert np.count_nonzero(memory) == values.size - 1
    np.testing.assert_array_equal(from_memory(memory, shape, "int16", layout), values)
