// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Dilation2D: the largest sum of an image and a filter in each window, per channel. Handwritten:
// sizes decide the padding, and windows are joined before they are largest.
//
//   y[n, i, j, c] = max over p, q of x[n, i * stride - top + p * rate, ..., c] + filter[p, q, c]
//
// A tile is a range of one row of results and of channels. For each place of the filter the
// elements that the windows of the tile have there come to UB in one strided copy, so that a vector
// instruction adds the filter and another one joins all windows of the tile. Elements outside the
// image, which count as -inf, are not loaded.
//
// Tiling data (opgen's default for handwritten kernels): shapes, strides, rates, pads,
// padding_mode.
#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/float_tile.h"
#include "opgen/project.h"
#include "opgen/tile.h"
#include "opgen/window_kinds.h"

#if OPGEN_PLAIN_TILING
#include "dilation2d_tiling.h"
#endif

namespace dilation2d_kernel {
using namespace AscendC;

// Windows along one axis.
struct Axis {
    int64_t inputs = 0;
    int64_t outputs = 0;
    int64_t window = 1;
    int64_t step = 1;
    int64_t rate = 1;
    int64_t before = 0;  // elements of the first window outside the image

    __aicore__ inline void PadEvenly() {
        const int64_t outside = (outputs - 1) * step + (window - 1) * rate + 1 - inputs;
        before = outside > 0 ? outside / 2 : 0;
    }
    // The element that a window has at a place of the filter; it may lie outside.
    __aicore__ inline int64_t At(int64_t output, int64_t place) const {
        return output * step - before + place * rate;
    }
};

template <typename T>
class Kernel {
 public:
    __aicore__ inline Kernel() {}

    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR filter, GM_ADDR y, const Tiling& tiling,
                                TPipe* pipe) {
        for (uint32_t i = 0; i < 2; ++i) {
            axis[i].inputs = tiling.xShape[i + 1];
            axis[i].outputs = tiling.yShape[i + 1];
            axis[i].window = tiling.filterShape[i];
            axis[i].step = tiling.strides[i + 1];
            axis[i].rate = tiling.rates[i + 1];
            axis[i].before = tiling.pads[2 * i];
            if (tiling.padding_mode == kSame) {
                axis[i].PadEvenly();
            }
        }
        channels = static_cast<uint64_t>(tiling.xShape[3]);
        xGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x));
        filterGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(filter));
        yGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(y));
        if (tiling.filterShape[2] != tiling.xShape[3]) {
            AscendC::printf("dilation2d: the filter has %lld channels, the image %lld\n",
                            tiling.filterShape[2], tiling.xShape[3]);
            AscendC::Trap();
            return;
        }
        const uint64_t lines =
            static_cast<uint64_t>(tiling.yShape[0]) * static_cast<uint64_t>(axis[0].outputs);
        if (channels == 0 || lines == 0 || axis[1].outputs == 0) {
            return;  // the share stays empty
        }
        const uint32_t widest = static_cast<uint32_t>(channels < kChannels ? channels : kChannels);
        windows = kTile / opgen::AlignElements<T>(widest);
        parts = (channels + kChannels - 1) / kChannels;
        tiles = (static_cast<uint64_t>(axis[1].outputs) + windows - 1) / windows;
        share.Init(lines * tiles * parts);
        pipe->InitBuffer(imageQueue, 2, opgen::Bytes<T>(kTile));
        pipe->InitBuffer(filterQueue, 2, opgen::Bytes<T>(kChannels));
        pipe->InitBuffer(resultQueue, 1, opgen::Bytes<T>(kTile));
        pipe->InitBuffer(largestBuf, opgen::Bytes<float>(kTile));
        pipe->InitBuffer(sumBuf, opgen::Bytes<float>(kTile));
        pipe->InitBuffer(addedBuf, opgen::Bytes<float>(kChannels));
        largest = largestBuf.Get<float>();
        sums = sumBuf.Get<float>();
        added = addedBuf.Get<float>();
    }

    __aicore__ inline void Process() {
        for (uint64_t item = share.first; item < share.last; ++item) {
            const uint64_t line = item / (tiles * parts);
            const uint64_t tile = item / parts % tiles;
            firstChannel = item % parts * kChannels;
            const uint64_t left = channels - firstChannel;
            width = static_cast<uint32_t>(left < kChannels ? left : kChannels);
            pitch = opgen::AlignElements<T>(width);
            first = static_cast<int64_t>(tile * windows);
            const int64_t behind = first + windows;
            last = behind < axis[1].outputs ? behind : axis[1].outputs;
            JoinLine(line);
            Store(line);
        }
    }

 private:
    // Join all windows of a tile: of `line`, an image and a row of results.
    __aicore__ inline void JoinLine(uint64_t line) {
        const uint64_t rows = static_cast<uint64_t>(axis[0].outputs);
        const int64_t image = static_cast<int64_t>(line / rows);
        const int64_t output = static_cast<int64_t>(line % rows);
        Duplicate(largest, -opgen::kInf, static_cast<uint32_t>(last - first) * pitch);
        PipeBarrier<PIPE_V>();
        for (int64_t p = 0; p < axis[0].window; ++p) {
            const int64_t row = axis[0].At(output, p);
            const bool inside = row >= 0 && row < axis[0].inputs;
            for (int64_t q = 0; q < axis[1].window; ++q) {
                LoadFilter(static_cast<uint64_t>(p * axis[1].window + q));
                int64_t from = inside ? first : last;  // windows whose element is in the image
                int64_t to = last;
                while (from < to && axis[1].At(from, q) < 0) {
                    ++from;
                }
                while (to > from && axis[1].At(to - 1, q) >= axis[1].inputs) {
                    --to;
                }
                if (from < to) {
                    const int64_t start = (image * axis[0].inputs + row) * axis[1].inputs;
                    JoinElements(static_cast<uint64_t>(start + axis[1].At(from, q)), from, to);
                }
                if (to - from < last - first) {
                    JoinOutside(from, to);
                }
            }
        }
    }

    // Join windows [from, to) with elements of the image from `element` on, plus the filter.
    __aicore__ inline void JoinElements(uint64_t element, int64_t from, int64_t to) {
        const uint32_t count = static_cast<uint32_t>(to - from);
        LoadImage(element, count);
        opgen::ForRows(sums, added, pitch, count, pitch, 0, opgen::AddRows());
        PipeBarrier<PIPE_V>();
        const LocalTensor<float> joined = largest[static_cast<uint32_t>(from - first) * pitch];
        Max(joined, joined, sums, count * pitch);
        PipeBarrier<PIPE_V>();
    }

    // Join the windows outside [from, to) with the padding plus the filter, which is -inf where the
    // filter is finite, and NaN where that is inf.
    __aicore__ inline void JoinOutside(int64_t from, int64_t to) {
        Adds(added, added, -opgen::kInf, pitch);
        PipeBarrier<PIPE_V>();
        const uint32_t before = static_cast<uint32_t>(from - first);
        const uint32_t after = static_cast<uint32_t>(last - to);
        if (before > 0) {
            opgen::ForRows(largest, added, pitch, before, pitch, 0, opgen::MaxRows());
        }
        if (after > 0) {
            const LocalTensor<float> joined = largest[static_cast<uint32_t>(to - first) * pitch];
            opgen::ForRows(joined, added, pitch, after, pitch, 0, opgen::MaxRows());
        }
        PipeBarrier<PIPE_V>();
    }

    // sums = the channels of `count` elements of a row of the image, a step apart
    __aicore__ inline void LoadImage(uint64_t element, uint32_t count) {
        LocalTensor<T> tile = imageQueue.template AllocTensor<T>();
        const uint64_t apart = static_cast<uint64_t>(axis[1].step) * channels - width;
        LoadRows(tile, xGm[element * channels + firstChannel], count, apart);
        imageQueue.EnQue(tile);
        tile = imageQueue.template DeQue<T>();
        opgen::WidenCopy(sums, tile, count * pitch);
        PipeBarrier<PIPE_V>();
        imageQueue.FreeTensor(tile);
    }

    // added = the channels of a place of the filter
    __aicore__ inline void LoadFilter(uint64_t place) {
        LocalTensor<T> tile = filterQueue.template AllocTensor<T>();
        LoadRows(tile, filterGm[place * channels + firstChannel], 1, 0);
        filterQueue.EnQue(tile);
        tile = filterQueue.template DeQue<T>();
        opgen::WidenCopy(added, tile, pitch);
        PipeBarrier<PIPE_V>();
        filterQueue.FreeTensor(tile);
    }

    // Rows of `width` elements, `apart` elements from the end of one to the next, `pitch` apart in
    // UB. What is left of the last block of a row is defined, as instructions compute it, too.
    __aicore__ inline void LoadRows(const LocalTensor<T>& tile, const GlobalTensor<T>& gm,
                                    uint32_t count, uint64_t apart) {
        const DataCopyExtParams rows{static_cast<uint16_t>(count), opgen::Bytes<T>(width),
                                     static_cast<uint32_t>(apart * sizeof(T)), 0, 0};
        const DataCopyPadExtParams<T> pad{true, 0, static_cast<uint8_t>(pitch - width),
                                          static_cast<T>(0)};
        DataCopyPad(tile, gm, rows, pad);
    }

    __aicore__ inline void Store(uint64_t line) {
        const uint32_t count = static_cast<uint32_t>(last - first);
        LocalTensor<T> tile = resultQueue.template AllocTensor<T>();
        opgen::NarrowCopy(tile, largest, count * pitch);
        PipeBarrier<PIPE_V>();
        resultQueue.EnQue(tile);
        tile = resultQueue.template DeQue<T>();
        const uint64_t window =
            line * static_cast<uint64_t>(axis[1].outputs) + static_cast<uint64_t>(first);
        const DataCopyExtParams rows{static_cast<uint16_t>(count), opgen::Bytes<T>(width), 0,
                                     static_cast<uint32_t>((channels - width) * sizeof(T)), 0};
        DataCopyPad(yGm[window * channels + firstChannel], tile, rows);
        resultQueue.FreeTensor(tile);
    }

    static constexpr uint32_t kTile = 4096;      // elements of a tile
    static constexpr uint32_t kChannels = 1024;  // channels of a tile
    static constexpr int64_t kSame = 0;          // SAME is the first allowed padding_mode

    TQue<TPosition::VECIN, 1> imageQueue;
    TQue<TPosition::VECIN, 1> filterQueue;
    TQue<TPosition::VECOUT, 1> resultQueue;
    TBuf<TPosition::VECCALC> largestBuf;
    TBuf<TPosition::VECCALC> sumBuf;
    TBuf<TPosition::VECCALC> addedBuf;
    LocalTensor<float> largest;
    LocalTensor<float> sums;
    LocalTensor<float> added;
    GlobalTensor<T> xGm;
    GlobalTensor<T> filterGm;
    GlobalTensor<T> yGm;
    opgen::Share share;
    Axis axis[2];  // height, width
    uint64_t channels = 0;
    uint64_t parts = 1;  // of the channels
    uint64_t tiles = 1;  // of a row of results
    uint64_t windows = 1;
    uint64_t firstChannel = 0;
    int64_t first = 0;  // windows of the tile
    int64_t last = 0;
    uint32_t width = 0;  // channels of the tile
    uint32_t pitch = 0;
};
}  // namespace dilation2d_kernel

extern "C" __global__ __aicore__ void dilation2d(GM_ADDR x, GM_ADDR filter, GM_ADDR y,
                                                 GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
#if OPGEN_PLAIN_TILING
    REGISTER_TILING_DEFAULT(Dilation2dTilingData);
#endif
    GET_TILING_DATA(tilingData, tiling);
    AscendC::TPipe pipe;
    dilation2d_kernel::Kernel<DTYPE_X> kernel;
    kernel.Init(x, filter, y, tilingData, &pipe);
    kernel.Process();
}
