// Copies `count` floats of the workspace, from `first` on, to the output; puts -1 at `first`
// before.
#include "kernel_operator.h"

struct EdgeTiling {
    int32_t first, count;
};

extern "C" __global__ __aicore__ void workspace_edge(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                                     GM_ADDR tiling) {
    REGISTER_TILING_DEFAULT(EdgeTiling);
    GET_TILING_DATA(t, tiling);
    AscendC::TPipe pipe;
    AscendC::TBuf<AscendC::TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 256);
    AscendC::LocalTensor<float> row = buf.Get<float>();
    AscendC::GlobalTensor<float> in, space, out;
    in.SetGlobalBuffer((__gm__ float*)x);
    space.SetGlobalBuffer((__gm__ float*)workspace);
    out.SetGlobalBuffer((__gm__ float*)y);
    const AscendC::DataCopyExtParams copy{1, uint32_t(t.count * sizeof(float)), 0, 0, 0};
    const AscendC::DataCopyPadExtParams<float> pad{false, 0, 0, 0};
    AscendC::DataCopyPad(row, in, copy, pad);
    AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE3>(EVENT_ID0);
    AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE3>(EVENT_ID0);
    AscendC::DataCopyPad(space, row, copy);
    AscendC::SetFlag<AscendC::HardEvent::MTE3_MTE2>(EVENT_ID0);
    AscendC::WaitFlag<AscendC::HardEvent::MTE3_MTE2>(EVENT_ID0);
    AscendC::DataCopyPad(row, space[t.first], copy, pad);
    AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(EVENT_ID0);
    AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(EVENT_ID0);
    if (t.first < 0) AscendC::Duplicate(row, -1.0f, -t.first);
    AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(EVENT_ID0);
    AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(EVENT_ID0);
    AscendC::DataCopyPad(out, row, copy);
}
