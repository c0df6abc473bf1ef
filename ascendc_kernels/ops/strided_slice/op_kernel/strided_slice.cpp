// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// StridedSlice: what lists and masks cut from a tensor. Handwritten: attrs decide which axes there
// are.
//
// The slice becomes as few axes as possible, each with a count and a stride in elements of x. Rows
// are its last axis; a tile is a range of rows, or of one row. Where rows are contiguous, tiles are
// only copied. Else what lies between the first and the last element of a row comes to UB, or,
// where that is far more than what is taken, each element to a block of its own; a vector
// instruction gathers the elements of all rows of the tile, so that they are stored as one range.
//
// Tiling data (opgen's default for handwritten kernels): shapes, lists and masks.
#include "kernel_operator.h"
#include "opgen/project.h"
#include "opgen/tile.h"

#if OPGEN_PLAIN_TILING
#include "strided_slice_tiling.h"
#endif

namespace strided_slice_kernel {
using namespace AscendC;

struct Axis {
    int64_t count;
    int64_t stride;  // elements of x
};

// A slice as axes with strides; those that lie side by side in x are one.
class Slice {
 public:
    template <typename Tiling>
    __aicore__ inline void Init(const Tiling& tiling) {
        const int64_t entries = tiling.beginSize;
        int64_t whole = tiling.xRank;  // axes that no entry cuts
        int64_t place = entries;
        int64_t stride = 1;  // of the axis before the current one
        for (int64_t i = 0; i < tiling.xRank; ++i) {
            stride *= tiling.xShape[i];
        }
        empty = stride == 0;
        for (int64_t i = 0; i < entries; ++i) {
            if (Has(tiling.ellipsis_mask, i)) {
                place = i;
            } else if (!Has(tiling.new_axis_mask, i)) {
                --whole;
            }
        }
        int64_t axis = 0;
        for (int64_t i = 0; i <= entries && !empty; ++i) {
            if (i == place) {
                for (; whole > 0; --whole, ++axis) {
                    stride /= tiling.xShape[axis];
                    Add(tiling.xShape[axis], stride);
                }
            } else if (i < entries && !Has(tiling.new_axis_mask, i)) {
                stride /= tiling.xShape[axis];
                Cut(tiling, i, tiling.xShape[axis], stride);
                ++axis;
            }
        }
        if (axes == 0) {
            Add(1, 1, true);
        }
    }
    // Rows are the last axis.
    __aicore__ inline const Axis& Row() const { return axis_[axes - 1]; }
    __aicore__ inline uint64_t Rows() const {
        uint64_t rows = empty ? 0 : 1;
        for (uint32_t i = 0; i + 1 < axes; ++i) {
            rows *= static_cast<uint64_t>(axis_[i].count);
        }
        return rows;
    }
    // Where the first element of a row lies in x.
    __aicore__ inline int64_t At(uint64_t row) const {
        int64_t at = offset;
        for (uint32_t i = axes - 1; i > 0; --i) {
            const uint64_t count = static_cast<uint64_t>(axis_[i - 1].count);
            at += static_cast<int64_t>(row % count) * axis_[i - 1].stride;
            row /= count;
        }
        return at;
    }
    // How many rows from `row` on lie `Apart()` elements apart from one another.
    __aicore__ inline uint64_t Run(uint64_t row) const {
        if (axes < 2) {
            return 1;
        }
        const uint64_t count = static_cast<uint64_t>(axis_[axes - 2].count);
        return count - row % count;
    }
    __aicore__ inline int64_t Apart() const { return axes < 2 ? 0 : axis_[axes - 2].stride; }

    bool empty = false;
    uint32_t axes = 0;
    int64_t offset = 0;

 private:
    __aicore__ static inline bool Has(int64_t mask, int64_t entry) {
        return (mask >> entry & 1) != 0;
    }
    __aicore__ static inline int64_t Between(int64_t number, int64_t low, int64_t high) {
        return number < low ? low : (number > high ? high : number);
    }
    template <typename Tiling>
    __aicore__ inline void Cut(const Tiling& tiling, int64_t i, int64_t size, int64_t stride) {
        const int64_t step = tiling.strides[i];
        const int64_t low = step > 0 ? 0 : -1;
        const int64_t high = step > 0 ? size : size - 1;
        int64_t begin = tiling.begin[i] < 0 ? tiling.begin[i] + size : tiling.begin[i];
        int64_t end = tiling.end[i] < 0 ? tiling.end[i] + size : tiling.end[i];
        begin = Between(begin, low, high);
        end = Between(end, low, high);
        if (Has(tiling.begin_mask, i)) {
            begin = step > 0 ? low : high;
        }
        if (Has(tiling.end_mask, i)) {
            end = step > 0 ? high : low;
        }
        int64_t count = 1;
        if (!Has(tiling.shrink_axis_mask, i)) {
            const int64_t apart = step > 0 ? end - begin : begin - end;
            count = apart > 0 ? (apart - 1) / (step > 0 ? step : -step) + 1 : 0;
        }
        offset += begin * stride;
        Add(count, step * stride);
    }
    __aicore__ inline void Add(int64_t count, int64_t stride, bool always = false) {
        if (count == 0) {
            empty = true;
        } else if (count > 1 || always) {
            if (axes > 0 && axis_[axes - 1].stride == count * stride) {
                axis_[axes - 1] = {axis_[axes - 1].count * count, stride};
            } else {
                axis_[axes] = {count, stride};
                ++axes;
            }
        }
    }

    Axis axis_[8] = {};
};

// What a type is moved and gathered as: bytes become half to be gathered, and 64 bits are two
// words.
template <uint32_t kBytes>
struct Words {
    using Moved = uint32_t;
    using Gathered = uint32_t;
};
template <>
struct Words<2> {
    using Moved = uint16_t;
    using Gathered = uint16_t;
};
template <>
struct Words<1> {
    using Moved = uint8_t;
    using Gathered = half;
};

template <typename T>
class Kernel {
 public:
    using W = typename Words<sizeof(T)>::Moved;
    using G = typename Words<sizeof(T)>::Gathered;

    __aicore__ inline Kernel() {}

    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, const Tiling& tiling, TPipe* pipe) {
        slice.Init(tiling);
        rows = slice.Rows();
        if (rows == 0) {
            return;  // the share stays empty
        }
        width = static_cast<uint64_t>(slice.Row().count);
        step = slice.Row().stride;
        near = step > 0 ? static_cast<uint64_t>(step) : static_cast<uint64_t>(-step);
        xGm.SetGlobalBuffer(reinterpret_cast<__gm__ W*>(x));
        yGm.SetGlobalBuffer(reinterpret_cast<__gm__ W*>(y));
        blocks = near * sizeof(T) > kFarBytes;
        tileCols = static_cast<uint32_t>(Less(width, MostCols()));
        pitch = Pitch(tileCols);
        tileRows = 1;
        if (tileCols == width) {
            uint64_t most = kTileBytes / pitch;
            most = step == 1 ? most : Less(most, kMostGathered / (tileCols * kWords));
            tileRows = static_cast<uint32_t>(Less(most, (rows - 1) / opgen::VectorCores() + 1));
        }
        parts = (width + tileCols - 1) / tileCols;
        share.Init((rows + tileRows - 1) / tileRows * parts);
        if (step == 1) {
            pipe->InitBuffer(copyQueue, 2, kTileBytes);
            return;
        }
        pipe->InitBuffer(loadQueue, 2, kTileBytes);
        pipe->InitBuffer(storeQueue, 2, opgen::Bytes<W>(kMostGathered));
        pipe->InitBuffer(placeBuf, opgen::Bytes<int32_t>(kMostGathered));
        pipe->InitBuffer(firstBuf, opgen::Bytes<int32_t>(kMostGathered));
        pipe->InitBuffer(secondBuf, opgen::Bytes<int32_t>(kMostGathered));
        if constexpr (sizeof(T) == 1) {
            pipe->InitBuffer(wideBuf, opgen::Bytes<half>(kTileBytes));
            pipe->InitBuffer(gatheredBuf, opgen::Bytes<half>(kMostGathered));
        }
    }

    __aicore__ inline void Process() {
        for (uint64_t item = share.first; item < share.last; ++item) {
            const uint64_t row = item / parts * tileRows;
            const uint64_t col = item % parts * tileCols;
            const uint32_t count = static_cast<uint32_t>(Less(rows - row, tileRows));
            const uint32_t cols = static_cast<uint32_t>(Less(width - col, tileCols));
            if (step == 1) {
                Copy(row, col, count, cols);
            } else {
                Gather(row, col, count, cols);
            }
        }
    }

 private:
    __aicore__ static inline uint64_t Less(uint64_t a, uint64_t b) { return a < b ? a : b; }

    // Elements of a row that a tile takes.
    __aicore__ inline uint64_t MostCols() const {
        const uint64_t most = kTileBytes / sizeof(T);
        if (step == 1) {
            return most;
        }
        const uint64_t held = blocks ? kTileBytes / opgen::kBlockBytes : (most - 1) / near + 1;
        return Less(held, kMostGathered / kWords);
    }
    // Bytes from one row to the next in UB.
    __aicore__ inline uint32_t Pitch(uint32_t cols) const {
        return blocks ? cols * opgen::kBlockBytes
                      : opgen::AlignBlock(static_cast<uint32_t>(Span(cols) * sizeof(T)));
    }
    // Elements of x from the first to the last of a part of a row.
    __aicore__ inline uint64_t Span(uint32_t cols) const { return (cols - 1) * near + 1; }

    __aicore__ inline void Copy(uint64_t row, uint64_t col, uint32_t count, uint32_t cols) {
        LocalTensor<W> tile = copyQueue.template AllocTensor<W>();
        Load(tile, row, col, count, cols);
        copyQueue.EnQue(tile);
        tile = copyQueue.template DeQue<W>();
        const DataCopyExtParams range{static_cast<uint16_t>(count), opgen::Bytes<T>(cols), 0, 0, 0};
        DataCopyPad(yGm[(row * width + col) * kWords], tile, range);
        copyQueue.FreeTensor(tile);
    }

    __aicore__ inline void Gather(uint64_t row, uint64_t col, uint32_t count, uint32_t cols) {
        LocalTensor<W> tile = loadQueue.template AllocTensor<W>();
        Load(tile, row, col, count, cols);
        loadQueue.EnQue(tile);
        // Places of fewer rows, or of the first columns read forwards, are the first of all.
        if (placed == 0 || (cols != placed && (step < 0 || tileRows > 1))) {
            FindPlaces(cols);
        }
        tile = loadQueue.template DeQue<W>();
        LocalTensor<W> result = storeQueue.template AllocTensor<W>();
        const LocalTensor<uint32_t> places = placeBuf.Get<uint32_t>();
        const uint32_t words = count * cols * kWords;
        if constexpr (sizeof(T) == 1) {
            const LocalTensor<half> wide = wideBuf.Get<half>();
            const LocalTensor<half> gathered = gatheredBuf.Get<half>();
            Cast(wide, tile, RoundMode::CAST_NONE, count * Pitch(cols));
            PipeBarrier<PIPE_V>();
            AscendC::Gather(gathered, wide, places, 0, words);
            PipeBarrier<PIPE_V>();
            Cast(result, gathered, RoundMode::CAST_TRUNC, words);
        } else {
            AscendC::Gather(result, tile, places, 0, words);
        }
        storeQueue.EnQue(result);
        loadQueue.FreeTensor(tile);
        result = storeQueue.template DeQue<W>();
        opgen::StoreRange(yGm[(row * width + col) * kWords], result, words);
        storeQueue.FreeTensor(result);
    }

    // What lies from the first to the last element of each row, or each element by itself.
    __aicore__ inline void Load(const LocalTensor<W>& tile, uint64_t row, uint64_t col,
                                uint32_t count, uint32_t cols) {
        const uint32_t apart = Pitch(cols) / static_cast<uint32_t>(sizeof(W));
        const int64_t low = step < 0 ? -static_cast<int64_t>((cols - 1) * near) : 0;
        const int64_t start = static_cast<int64_t>(col) * step + low;
        const uint64_t gap = static_cast<uint64_t>(slice.Apart()) - Span(cols);
        const bool together = !blocks && slice.Apart() > 0 && gap * sizeof(T) <= 0xFFFFFFFFULL;
        for (uint32_t done = 0; done < count;) {
            const uint64_t from = static_cast<uint64_t>(slice.At(row + done) + start) * kWords;
            DataCopyExtParams range{1, static_cast<uint32_t>(Span(cols) * sizeof(T)), 0, 0, 0};
            uint32_t loaded = 1;
            if (blocks) {
                range.blockCount = static_cast<uint16_t>(cols);
                range.blockLen = sizeof(T);
                range.srcStride = static_cast<uint32_t>((near - 1) * sizeof(T));
            } else if (together) {
                loaded = static_cast<uint32_t>(Less(slice.Run(row + done), count - done));
                range.blockCount = static_cast<uint16_t>(loaded);
                range.srcStride = static_cast<uint32_t>(gap * sizeof(T));
            }
            // What is left of a block is defined, as conversions read it.
            const uint32_t rest = opgen::AlignBlock(range.blockLen) - range.blockLen;
            const DataCopyPadExtParams<W> pad{true, 0, static_cast<uint8_t>(rest / sizeof(W)),
                                              static_cast<W>(0)};
            DataCopyPad(tile[done * apart], xGm[from], range, pad);
            done += loaded;
        }
    }

    // Where the elements of rows of `cols` lie in UB, in bytes.
    __aicore__ inline void FindPlaces(uint32_t cols) {
        placed = cols;
        const uint32_t count = tileRows * cols * kWords;
        const LocalTensor<int32_t> place = placeBuf.Get<int32_t>();
        const LocalTensor<int32_t> word = firstBuf.Get<int32_t>();
        const LocalTensor<int32_t> row = secondBuf.Get<int32_t>();
        // place: the element; word: which of its words
        CreateVecIndex(place, static_cast<int32_t>(0), count);
        PipeBarrier<PIPE_V>();
        if constexpr (kWords > 1) {
            Divide(row, place, kWords, count);
            Rest(word, place, row, kWords, count);
            Adds(place, row, static_cast<int32_t>(0), count);
            Muls(word, word, static_cast<int32_t>(sizeof(W)), count);
            PipeBarrier<PIPE_V>();
        } else {
            Duplicate(word, static_cast<int32_t>(0), count);
            PipeBarrier<PIPE_V>();
        }
        if (tileRows > 1) {
            const LocalTensor<int32_t> within = place;
            Divide(row, place, cols, count);
            Rest(within, place, row, cols, count);
            Muls(row, row, static_cast<int32_t>(Pitch(cols) * kGrowth), count);
            PipeBarrier<PIPE_V>();
            Add(word, word, row, count);
            PipeBarrier<PIPE_V>();
        }
        const uint32_t bytes =
            blocks ? opgen::kBlockBytes : static_cast<uint32_t>(near * sizeof(T));
        const int32_t apart = static_cast<int32_t>(bytes * kGrowth);
        Muls(place, place, step > 0 ? apart : -apart, count);
        PipeBarrier<PIPE_V>();
        Add(place, place, word, count);
        PipeBarrier<PIPE_V>();
        if (step < 0) {
            Adds(place, place, static_cast<int32_t>(cols - 1) * apart, count);
            PipeBarrier<PIPE_V>();
        }
    }

    // quotient = number / divisor, rounded down: exact for numbers below 2^20.
    __aicore__ inline void Divide(const LocalTensor<int32_t>& quotient,
                                  const LocalTensor<int32_t>& number, uint32_t divisor,
                                  uint32_t count) {
        const LocalTensor<float> real = quotient.ReinterpretCast<float>();
        Cast(real, number, RoundMode::CAST_RINT, count);
        PipeBarrier<PIPE_V>();
        Adds(real, real, 0.5f, count);
        PipeBarrier<PIPE_V>();
        Muls(real, real, 1.0f / static_cast<float>(divisor), count);
        PipeBarrier<PIPE_V>();
        Cast(quotient, real, RoundMode::CAST_FLOOR, count);
        PipeBarrier<PIPE_V>();
    }

    // rest = number - quotient * divisor; number may be rest.
    __aicore__ inline void Rest(const LocalTensor<int32_t>& rest,
                                const LocalTensor<int32_t>& number,
                                const LocalTensor<int32_t>& quotient, uint32_t divisor,
                                uint32_t count) {
        Muls(quotient, quotient, static_cast<int32_t>(divisor), count);
        PipeBarrier<PIPE_V>();
        Sub(rest, number, quotient, count);
        PipeBarrier<PIPE_V>();
        Divide(quotient, quotient, divisor, count);
    }

    static constexpr uint32_t kTileBytes = 16384;
    static constexpr uint32_t kMostGathered = 4096;  // words that are gathered at once
    // Elements further apart come to UB one by one.
    static constexpr uint64_t kFarBytes = 64;
    static constexpr uint32_t kWords = sizeof(T) > sizeof(W) ? 2 : 1;
    static constexpr uint32_t kGrowth = sizeof(G) / sizeof(W);  // bytes become half

    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> copyQueue;
    TQue<TPosition::VECIN, 1> loadQueue;
    TQue<TPosition::VECOUT, 1> storeQueue;
    TBuf<TPosition::VECCALC> placeBuf;
    TBuf<TPosition::VECCALC> firstBuf;
    TBuf<TPosition::VECCALC> secondBuf;
    TBuf<TPosition::VECCALC> wideBuf;
    TBuf<TPosition::VECCALC> gatheredBuf;
    GlobalTensor<W> xGm;
    GlobalTensor<W> yGm;
    Slice slice;
    opgen::Share share;
    uint64_t rows = 0;
    uint64_t width = 0;
    uint64_t parts = 1;   // of a row
    int64_t step = 1;     // from one element of a row to the next
    uint64_t near = 1;    // its size
    bool blocks = false;  // elements of UB lie in blocks of their own
    uint32_t tileRows = 1;
    uint32_t tileCols = 1;
    uint32_t pitch = 0;
    uint32_t placed = 0;  // columns of the places that are known
};
}  // namespace strided_slice_kernel

extern "C" __global__ __aicore__ void strided_slice(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                                    GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
#if OPGEN_PLAIN_TILING
    REGISTER_TILING_DEFAULT(StridedSliceTilingData);
#endif
    GET_TILING_DATA(tilingData, tiling);
    AscendC::TPipe pipe;
    strided_slice_kernel::Kernel<DTYPE_X> kernel;
    kernel.Init(x, y, tilingData, &pipe);
    kernel.Process();
}
