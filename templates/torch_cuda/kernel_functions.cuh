// What kernels of elements and rows are made of. No torch in here: nvcc compiles it alone.
#ifndef KERNEL_FUNCTIONS_CUH
#define KERNEL_FUNCTIONS_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "../scalar_math.h"
#include "kernel_layouts.h"

namespace gpu {

constexpr int kWarp = 32;
constexpr int kElementThreads = 256;
constexpr int kMostRowThreads = 512;
constexpr int64_t kMostBlocks = 1 << 16;  // further elements and rows are taken in turns
constexpr unsigned kAllLanes = 0xffffffffu;

// ---- launches ------------------------------------------------------------------------------------

inline unsigned ElementBlocks(int64_t count) {
    return static_cast<unsigned>(
        std::min(kMostBlocks, (count + kElementThreads - 1) / kElementThreads));
}

inline unsigned RowBlocks(int64_t rows) {
    return static_cast<unsigned>(std::min(kMostBlocks, rows));
}

// Whole warps, so that every lane of a shuffle exists.
inline unsigned RowThreads(int64_t columns) {
    unsigned threads = kWarp;
    while (threads < columns && threads < kMostRowThreads) {
        threads *= 2;
    }
    return threads;
}

inline void CheckLaunch(const char* kernel) {
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) {
        throw std::runtime_error(std::string(kernel) + ": " + cudaGetErrorString(error));
    }
}

// ---- elements ------------------------------------------------------------------------------------

// Where an element of a shape lies in a tensor. Tensors whose axes merge into one need no division.
template <int Tensors>
__device__ int64_t Offset(const ElementLayout<Tensors>& layout, int tensor, int64_t element) {
    if (layout.rank == 0) {
        return 0;
    }
    int64_t offset = 0;
    for (int axis = layout.rank - 1; axis > 0; --axis) {
        const int64_t rest = element / layout.sizes[axis];
        offset += (element - rest * layout.sizes[axis]) * layout.strides[tensor][axis];
        element = rest;
    }
    return offset + element * layout.strides[tensor][0];
}

// Half precision is computed in float. The conversions are spelled out: torch compiles with the
// implicit ones switched off.
template <typename T>
__device__ T Read(T value) {
    return value;
}
__device__ inline float Read(__half value) { return __half2float(value); }
__device__ inline float Read(__nv_bfloat16 value) { return __bfloat162float(value); }

template <typename T, typename From>
__device__ T Written(From value) {
    if constexpr (std::is_same_v<T, __half>) {
        return __float2half_rn(static_cast<float>(value));
    } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
        return __float2bfloat16_rn(static_cast<float>(value));
    } else {
        return static_cast<T>(value);
    }
}

// A float with the digits of half precision.
template <typename T>
__device__ float RoundedTo(float value) {
    return Read(Written<T>(value));
}

// ---- reductions ----------------------------------------------------------------------------------

struct Plus {
    template <typename T>
    __device__ T operator()(T a, T b) const {
        return a + b;
    }
};
struct Times {
    template <typename T>
    __device__ T operator()(T a, T b) const {
        return a * b;
    }
};
struct Or {
    __device__ bool operator()(bool a, bool b) const { return a || b; }
};
struct And {
    __device__ bool operator()(bool a, bool b) const { return a && b; }
};
struct Larger {
    template <typename T>
    __device__ T operator()(T a, T b) const {
        return scalar::Maximum(a, b);
    }
};
struct Smaller {
    template <typename T>
    __device__ T operator()(T a, T b) const {
        return scalar::Minimum(a, b);
    }
};

// A value and where it stands; below zero: none yet.
template <typename T>
struct Place {
    T value;
    int64_t index;
};

template <typename T>
__device__ Place<T> FirstOf(Place<T> a, Place<T> b, bool a_wins, bool b_wins) {
    if (a.index < 0 || b.index < 0) {
        return a.index < 0 ? b : a;
    }
    if (a_wins != b_wins) {
        return a_wins ? a : b;
    }
    return a.index < b.index ? a : b;  // of equal ones the first
}
struct Largest {
    template <typename T>
    __device__ Place<T> operator()(Place<T> a, Place<T> b) const {
        return FirstOf(a, b, scalar::Exceeds(a.value, b.value), scalar::Exceeds(b.value, a.value));
    }
};
struct Smallest {
    template <typename T>
    __device__ Place<T> operator()(Place<T> a, Place<T> b) const {
        return FirstOf(a, b, scalar::FallsBelow(a.value, b.value),
                       scalar::FallsBelow(b.value, a.value));
    }
};

template <typename T>
__device__ T FromLane(T value, int distance) {
    if constexpr (sizeof(T) < sizeof(int)) {
        return static_cast<T>(__shfl_xor_sync(kAllLanes, static_cast<int>(value), distance));
    } else {
        return __shfl_xor_sync(kAllLanes, value, distance);
    }
}
template <typename T>
__device__ Place<T> FromLane(Place<T> place, int distance) {
    return {FromLane(place.value, distance), FromLane(place.index, distance)};
}

// Combines the values of all threads of a block, as a tree within each warp, then over the warps.
// Every thread gets the result, and must take part. The order is the same in every run.
template <typename T, typename Combine>
__device__ T BlockReduce(T value, Combine combine) {
    __shared__ T of_warps[kMostRowThreads / kWarp];
    for (int distance = kWarp / 2; distance > 0; distance /= 2) {
        value = combine(value, FromLane(value, distance));
    }
    const int warps = static_cast<int>(blockDim.x) / kWarp;
    if (warps == 1) {
        return value;
    }
    __syncthreads();  // everybody has read the results of the reduction before
    if (threadIdx.x % kWarp == 0) {
        of_warps[threadIdx.x / kWarp] = value;
    }
    __syncthreads();
    T total = of_warps[0];
    for (int warp = 1; warp < warps; ++warp) {
        total = combine(total, of_warps[warp]);
    }
    return total;
}

}  // namespace gpu

#endif  // KERNEL_FUNCTIONS_CUH
