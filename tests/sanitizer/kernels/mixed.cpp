// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Queues of a cube core, and cube and vector cores that work together: ws[16, 16] = x[16, 16] *
// y[16, 16] in half on the AIC, copied to z by an AIV.
#include "skeleton.h"

namespace {

constexpr uint32_t kFractal = 16 * 16;

struct Product {
    __aicore__ inline Product(GM_ADDR x_, GM_ADDR y_, GM_ADDR z_, uint32_t b2Bytes = 512) {
        x.SetGlobalBuffer((__gm__ half*)x_, kFractal);
        y.SetGlobalBuffer((__gm__ half*)y_, kFractal);
        z.SetGlobalBuffer((__gm__ float*)z_, kFractal);
        pipe.InitBuffer(qa1, 1, 512);
        pipe.InitBuffer(qb1, 1, 512);
        pipe.InitBuffer(qa2, 1, 512);
        pipe.InitBuffer(qb2, 1, b2Bytes);
        pipe.InitBuffer(qc, 1, 1024);
        load.repeatTimes = 1;
        loadTransposed.repeatTimes = 1;
        loadTransposed.ifTranspose = true;
        mmad.m = mmad.n = mmad.k = 16;
        mmad.cmatrixSource = false;
        mmad.cmatrixInitVal = true;
        fix.nSize = fix.mSize = 16;
        fix.srcStride = 16;
        fix.dstStride = 16;
    }
    // Operands to L0.
    __aicore__ inline void Load(bool fillB = true) {
        auto a1 = qa1.AllocTensor<half>();
        auto b1 = qb1.AllocTensor<half>();
        DataCopy(a1, x, nd);
        if (fillB) DataCopy(b1, y, nd);
        qa1.EnQue(a1);
        qb1.EnQue(b1);
        a1 = qa1.DeQue<half>();
        b1 = qb1.DeQue<half>();
        a2 = qa2.AllocTensor<half>();
        b2 = qb2.AllocTensor<half>();
        LoadData(a2, a1, load);
        LoadData(b2, b1, loadTransposed);
        qa1.FreeTensor(a1);
        qb1.FreeTensor(b1);
        qa2.EnQue(a2);
        qb2.EnQue(b2);
        a2 = qa2.DeQue<half>();
        b2 = qb2.DeQue<half>();
    }
    __aicore__ inline void Free() {
        qa2.FreeTensor(a2);
        qb2.FreeTensor(b2);
    }
    __aicore__ inline void Store(LocalTensor<float> c) {
        qc.EnQue(c);
        c = qc.DeQue<float>();
        Fixpipe(z, c, fix);
        qc.FreeTensor(c);
    }
    __aicore__ inline void Run() {
        Load();
        auto c = qc.AllocTensor<float>();
        Mmad(c, a2, b2, mmad);
        Free();
        Store(c);
    }
    GlobalTensor<half> x, y;
    GlobalTensor<float> z;
    TPipe pipe;
    TQue<TPosition::A1, 1> qa1;
    TQue<TPosition::B1, 1> qb1;
    TQue<TPosition::A2, 1> qa2;
    TQue<TPosition::B2, 1> qb2;
    TQue<TPosition::CO1, 1> qc;
    LocalTensor<half> a2, b2;
    Nd2NzParams nd = {1, 16, 16, 0, 16, 16, 1, 0};
    LoadData2DParams load, loadTransposed;
    MmadParams mmad;
    FixpipeParamsV220 fix;
};

// z <- ws on the first AIV.
__aicore__ inline void Copy(Tensors& g) {
    Buffers b;
    DataCopy(b.a, g.ws, kTile);
    Sync<HardEvent::MTE2_MTE3>();
    DataCopy(g.z, b.a, kTile);
}

}  // namespace

// case cube_queues: ErrorSync2 silent kind=aic
KERNEL(cube_queues) { Product(x, y, z).Run(); }

// TPipe has set these flags for products, and waits for them at its end.
// case flags_of_the_pipe: ErrorSync3 silent kind=aic
KERNEL(flags_of_the_pipe) {
    TPipe pipe;
    for (int id = 0; id < 3; ++id) {
        WaitFlag<HardEvent::M_MTE1>(id);
        SetFlag<HardEvent::M_MTE1>(id);
    }
}

// case flag_of_the_pipe_taken_twice: ErrorSync3 found kind=aic
KERNEL(flag_of_the_pipe_taken_twice) {
    TPipe pipe;
    for (int i = 0; i < 2; ++i) {
        WaitFlag<HardEvent::M_MTE1>(EVENT_ID1);  // <- ErrorSync3
    }
}

// case flag_the_pipe_does_not_set: ErrorSync3 found kind=aic
KERNEL(flag_the_pipe_does_not_set) {
    TPipe pipe;
    WaitFlag<HardEvent::M_MTE1>(EVENT_ID3);  // <- ErrorSync3
}

// case fixpipe_of_tensor_not_enqueued: ErrorSync2 found kind=aic
KERNEL(fixpipe_of_tensor_not_enqueued) {
    Product p(x, y, z);
    p.Load();
    auto c = p.qc.AllocTensor<float>();
    Mmad(c, p.a2, p.b2, p.mmad);
    p.Free();
    Fixpipe(p.z, c, p.fix);  // <- ErrorSync2
    p.qc.FreeTensor(c);
}

// case accumulate_into_unwritten_l0c: ErrorRead2 found kind=aic
KERNEL(accumulate_into_unwritten_l0c) {
    Product p(x, y, z);
    p.Load();
    auto c = p.qc.AllocTensor<float>();
    p.mmad.cmatrixInitVal = false;
    Mmad(c, p.a2, p.b2, p.mmad);
    p.Free();
    p.qc.EnQue(c);
    c = p.qc.DeQue<float>();
    Fixpipe(p.z, c, p.fix);  // <- ErrorRead2
    p.qc.FreeTensor(c);
}

// case product_of_unfilled_operand: ErrorRead2 found kind=aic
KERNEL(product_of_unfilled_operand) {
    Product p(x, y, z);
    p.Load(false);
    auto c = p.qc.AllocTensor<float>();
    Mmad(c, p.a2, p.b2, p.mmad);
    p.Free();
    p.qc.EnQue(c);
    c = p.qc.DeQue<float>();
    Fixpipe(p.z, c, p.fix);  // <- ErrorRead2
    p.qc.FreeTensor(c);
}

// case unfilled_rows_not_stored: ErrorRead2 silent kind=aic
KERNEL(unfilled_rows_not_stored) {
    Product p(x, y, z);
    p.nd.nValue = 8;
    p.Load();
    auto c = p.qc.AllocTensor<float>();
    p.mmad.k = 8;
    Mmad(c, p.a2, p.b2, p.mmad);
    p.Free();
    p.fix.mSize = 8;
    p.Store(c);
}

// case accumulate_after_first_product: ErrorRead2 silent kind=aic
KERNEL(accumulate_after_first_product) {
    Product p(x, y, z);
    p.Load();
    auto c = p.qc.AllocTensor<float>();
    Mmad(c, p.a2, p.b2, p.mmad);
    p.mmad.cmatrixInitVal = false;
    Mmad(c, p.a2, p.b2, p.mmad);
    p.Free();
    p.Store(c);
}

// case mmad_after_free_of_l0a: ErrorRead1 warning kind=aic
KERNEL(mmad_after_free_of_l0a) {
    Product p(x, y, z);
    p.Load();
    p.qa2.FreeTensor(p.a2);
    auto c = p.qc.AllocTensor<float>();
    Mmad(c, p.a2, p.b2, p.mmad);  // <- ErrorRead1
    p.qb2.FreeTensor(p.b2);
    p.Store(c);
}

// case mmad_k_past_operand: ErrorRead3 found kind=aic
KERNEL(mmad_k_past_operand) {
    Product p(x, y, z, 1024);
    p.Load();
    auto c = p.qc.AllocTensor<float>();
    p.mmad.k = 32;
    Mmad(c, p.a2, p.b2, p.mmad);  // <- ErrorRead3
    p.Free();
    p.Store(c);
}

// case mmad_n_past_result: ErrorWrite2 found kind=aic
KERNEL(mmad_n_past_result) {
    Product p(x, y, z);
    p.Load();
    auto c = p.qc.AllocTensor<float>();
    p.mmad.n = 32;
    Mmad(c, p.a2, p.b2, p.mmad);  // <- ErrorWrite2
    p.Free();
    p.Store(c);
}

// case mmad_m_past_range: ErrorParam found kind=aic
KERNEL(mmad_m_past_range) {
    Product p(x, y, z);
    p.Load();
    auto c = p.qc.AllocTensor<float>();
    p.mmad.m = 4096;
    Mmad(c, p.a2, p.b2, p.mmad);  // <- ErrorParam
}

// Possible on a CPU only.
// case scalar_fills_l0a: TensorScope found kind=aic
KERNEL(scalar_fills_l0a) {
    Product p(x, y, z);
    p.Load();
    auto c = p.qc.AllocTensor<float>();
    p.a2.SetValue(0, static_cast<half>(1.0f));  // <- TensorScope
    PipeBarrier<PIPE_ALL>();
    Mmad(c, p.a2, p.b2, p.mmad);
    p.Free();
    p.Store(c);
}

// case scalar_reads_l0c: TensorScope found kind=aic
KERNEL(scalar_reads_l0c) {
    Product p(x, y, z);
    p.Load();
    auto c = p.qc.AllocTensor<float>();
    Mmad(c, p.a2, p.b2, p.mmad);
    PipeBarrier<PIPE_ALL>();
    if (c.GetValue(0) > 1e30f) p.mmad.m = 8;  // <- TensorScope
    p.Free();
    p.Store(c);
}

// case mmad_of_l1: TensorScope found kind=aic
KERNEL(mmad_of_l1) {
    Product p(x, y, z);
    p.Load();
    auto c = p.qc.AllocTensor<float>();
    auto a1 = p.qa1.AllocTensor<half>();
    DataCopy(a1, p.x, p.nd);
    p.qa1.EnQue(a1);
    a1 = p.qa1.DeQue<half>();
    Mmad(c, a1, p.b2, p.mmad);  // <- TensorScope
    p.qa1.FreeTensor(a1);
    p.Free();
    p.Store(c);
}

// case l0a_between_fractals: ErrorWrite4 found kind=aic
KERNEL(l0a_between_fractals) {
    Product p(x, y, z);
    TBuf<TPosition::A2> wide;
    p.pipe.InitBuffer(wide, 2048);
    auto a1 = p.qa1.AllocTensor<half>();
    DataCopy(a1, p.x, p.nd);
    p.qa1.EnQue(a1);
    a1 = p.qa1.DeQue<half>();
    LoadData(wide.Get<half>()[16], a1, p.load);  // <- ErrorWrite4
    p.qa1.FreeTensor(a1);
}

// case l0a_next_fractal: ErrorWrite4 silent kind=aic
KERNEL(l0a_next_fractal) {
    Product p(x, y, z);
    TBuf<TPosition::A2> wide;
    p.pipe.InitBuffer(wide, 2048);
    auto a1 = p.qa1.AllocTensor<half>();
    DataCopy(a1, p.x, p.nd);
    p.qa1.EnQue(a1);
    a1 = p.qa1.DeQue<half>();
    LoadData(wide.Get<half>()[kFractal], a1, p.load);
    p.qa1.FreeTensor(a1);
}

// case product_read_without_flag: ErrorSync2 found kind=mix12
KERNEL(product_read_without_flag) {
    TENSORS;
    if ASCEND_IS_AIC
        Product(x, y, ws).Run();
    if ASCEND_IS_AIV {
        if (GetSubBlockIdx() == 1) return;
        Buffers b;
        DataCopy(b.a, g.ws, kTile);  // <- ErrorSync2
        StoreCopy(g.z, b.a);
    }
}

// case product_flag_on_wrong_pipe: ErrorSync2 found kind=mix12
KERNEL(product_flag_on_wrong_pipe) {
    TENSORS;
    if ASCEND_IS_AIC {
        Product p(x, y, ws);  // its TPipe waits for all pipes once it goes
        p.Run();
        CrossCoreSetFlag<2, PIPE_M>(5);
    }
    if ASCEND_IS_AIV {
        CrossCoreWaitFlag(5);
        if (GetSubBlockIdx() == 1) return;
        Buffers b;
        DataCopy(b.a, g.ws, kTile);  // <- ErrorSync2
        StoreCopy(g.z, b.a);
    }
}

// case product_after_flag: ErrorSync2 silent kind=mix12
KERNEL(product_after_flag) {
    TENSORS;
    if ASCEND_IS_AIC {
        Product(x, y, ws).Run();
        CrossCoreSetFlag<2, PIPE_FIX>(5);
    }
    if ASCEND_IS_AIV {
        CrossCoreWaitFlag(5);
        if (GetSubBlockIdx() == 0) Copy(g);
    }
}

// case one_of_two_vector_cores_waits: ErrorSync3 found kind=mix12
KERNEL(one_of_two_vector_cores_waits) {
    TENSORS;
    if ASCEND_IS_AIC {
        Product(x, y, ws).Run();
        CrossCoreSetFlag<2, PIPE_FIX>(5);  // <- ErrorSync3
    }
    if ASCEND_IS_AIV {
        if (GetSubBlockIdx() == 1) return;
        CrossCoreWaitFlag(5);
        Copy(g);
    }
}

// case one_of_two_vector_cores_sets: Deadlock found kind=mix12
KERNEL(one_of_two_vector_cores_sets) {
    if ASCEND_IS_AIC {
        CrossCoreWaitFlag(4);  // <- Deadlock
        Product(x, y, z).Run();
    }
    if ASCEND_IS_AIV {
        if (GetSubBlockIdx() == 0) CrossCoreSetFlag<2, PIPE_MTE3>(4);
    }
}

// case both_vector_cores_set: Deadlock silent kind=mix12
KERNEL(both_vector_cores_set) {
    if ASCEND_IS_AIC {
        CrossCoreWaitFlag(4);
        Product(x, y, z).Run();
    }
    if ASCEND_IS_AIV
        CrossCoreSetFlag<2, PIPE_MTE3>(4);
}

// case syncall_twice_on_one_kind: Deadlock found kind=mix12
KERNEL(syncall_twice_on_one_kind) {
    SyncAll<false>();
    if ASCEND_IS_AIV
        SyncAll<false>();  // <- Deadlock
}

// case flag_raised_by_scalar_pipe: CrossCore found kind=mix12
KERNEL(flag_raised_by_scalar_pipe) {
    if ASCEND_IS_AIC
        CrossCoreWaitFlag(4);
    if ASCEND_IS_AIV
        CrossCoreSetFlag<2, PIPE_S>(4);  // <- CrossCore
}

// case both_vector_cores_write_all: GmOverlap found kind=mix12
KERNEL(both_vector_cores_write_all) {
    TENSORS;
    if ASCEND_IS_AIV {
        Buffers b;
        Duplicate(b.a, static_cast<float>(GetSubBlockIdx()), kTile);
        Sync<HardEvent::V_MTE3>();
        DataCopy(g.z, b.a, kTile);  // <- GmOverlap
    }
}

// case vector_cores_write_halves: GmOverlap silent kind=mix12
KERNEL(vector_cores_write_halves) {
    TENSORS;
    if ASCEND_IS_AIV {
        Buffers b;
        Duplicate(b.a, static_cast<float>(GetSubBlockIdx()), kTile);
        StoreResult(g.z[GetSubBlockIdx() * kTile], b.a);
    }
}
