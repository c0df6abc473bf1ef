// Kernels that the device compiler compiles once per core kind.
#include "kernel_operator.h"

using namespace AscendC;

__aicore__ inline void Store(GM_ADDR y, int index, int value) {
    GlobalTensor<int32_t> out;
    out.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(y));
    out.SetValue(index, value);
    DataCacheCleanAndInvalid<int32_t, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(out);
}

// One body per kind, chosen by the default argument.
template <class Tag>
struct TwoBodies {
    template <int32_t CORE_TYPE = g_coreType>
    __aicore__ inline void operator()(GM_ADDR y);

    template <>
    __aicore__ inline void operator()<AIC>(GM_ADDR y) {
        LocalTensor<half> a(TPosition::A2, 0, 256), b(TPosition::B2, 0, 256);
        LocalTensor<float> c(TPosition::CO1, 0, 256);
        if (GetBlockNum() > 100)
            Mmad(c, a, b, MmadParams(16, 16, 16, false, 0, false, false, false));
        Store(y, GetBlockIdx(), 100 + GetBlockIdx());
    }

    template <>
    __aicore__ inline void operator()<AIV>(GM_ADDR y) {
        LocalTensor<float> x(TPosition::VECCALC, 0, 64);
        if (GetBlockNum() > 100) Adds(x, x, 1.0f, 64);
        Store(y, 10 + GetBlockIdx(), 200 + GetBlockIdx());
    }
};

template <bool cube>
struct Name;
template <>
struct Name<true> {
    static constexpr int kind = 1;
};
template <>
struct Name<false> {
    static constexpr int kind = 2;
};

extern "C" __global__ __aicore__ void both(GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    TwoBodies<int> bodies;
    bodies(y);
}

// No cube instruction: vector cores alone.
extern "C" __global__ __aicore__ void vector_only(GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    using Kind = Name<g_coreType == AIC>;
    Store(y, GetBlockIdx(), Kind::kind);
}

#if defined(__DAV_C220_CUBE__) && defined(__DAV_CUBE__)
constexpr int kFromMacro = 1;
#elif defined(__DAV_C220_VEC__) && defined(__DAV_VEC__)
constexpr int kFromMacro = 2;
#else
constexpr int kFromMacro = 3;
#endif
static_assert(g_coreType == kFromMacro, "macros and constant disagree");

// Constant conditions: what is discarded need not be valid for the kind.
template <typename T>
__aicore__ inline int OnlyCube(T) {
    static_assert(AscendC::g_coreType == AIC || sizeof(T) == 0,
                  "compiled for the cube cores alone");
    return 1;
}

template <typename T>
__aicore__ inline void Choose(GM_ADDR y, T value) {
    if ASCEND_IS_AIC {
        Store(y, GetBlockIdx(), OnlyCube(value));
    }
    if ASCEND_IS_NOT_AIC {
        Store(y, 10 + GetBlockIdx(), kFromMacro);
    }
}

extern "C" __global__ __aicore__ void declared(GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
    Choose(y, 1.0f);
}

// Cube instructions and nothing for a vector core.
extern "C" __global__ __aicore__ void cube_only(GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    TwoBodies<int> bodies;
    if constexpr (g_coreType == AIC) bodies.operator()<AIC>(y);
}
