// Scalar divisions by what the tiling says, of every width and addressing.
#include "kernel_operator.h"

using namespace AscendC;

template <typename T>
__aicore__ inline void Divide(GM_ADDR y, GM_ADDR tiling, int64_t at) {
    auto out = reinterpret_cast<__gm__ int64_t*>(y) + at;
    const auto in = reinterpret_cast<const volatile __gm__ int64_t*>(tiling);
    volatile T memory = static_cast<T>(in[1]);
    const T dividend = static_cast<T>(in[0]), divisor = static_cast<T>(in[1]);
    out[0] = dividend / divisor;
    out[1] = dividend % divisor;
    out[2] = dividend / memory;
    out[3] = dividend % memory;
}

extern "C" __global__ __aicore__ void division(GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    Divide<int8_t>(y, tiling, 0);
    Divide<uint16_t>(y, tiling, 4);
    Divide<int32_t>(y, tiling, 8);
    Divide<uint32_t>(y, tiling, 12);
    Divide<int64_t>(y, tiling, 16);
    Divide<uint64_t>(y, tiling, 20);
}
