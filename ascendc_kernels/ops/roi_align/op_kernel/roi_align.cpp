// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// ROIAlign: averages of bilinear samples in the bins of boxes. Handwritten: boxes decide which
// elements are read.
//
//   y[box, c, i, j] = mean over the samples of bin (i, j) of x[image of the box, c] between
//   elements
//
// The weights of a sample are products of one along the height and one along the width, so that the
// rows that samples of a row of bins touch are weighted and added first, whole rows of many
// channels in one copy. Then Gather takes from the sums of rows what the samples touch along the
// width, of many channels at once. Offsets and weights along the width are made by the scalar unit
// for one channel, once for a box where UB holds them, and copied for the others. A sample that
// lies outside the image reads a zero behind the row.
//
// Where UB holds all bins of eight channels, results are stored as whole planes: another Gather
// puts the bins of a channel side by side. Boxes take unlike times, so cores take turns.
//
// Tiling data (opgen's default for handwritten kernels): shapes and attrs.
#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/project.h"
#include "opgen/tile.h"

#if OPGEN_PLAIN_TILING
#include "roi_align_tiling.h"
#endif

namespace roi_align_kernel {
using namespace AscendC;

// Where a sample lies along an axis.
struct Sample {
    bool inside = false;
    uint32_t low = 0;
    uint32_t high = 0;
    float rest = 0.0f;  // the weight of the element `high`
};

// The samples of a box along an axis.
struct Axis {
    int64_t size = 0;  // of the image
    int64_t bins = 0;
    float begin = 0.0f;
    float bin = 0.0f;     // length of a bin
    int64_t samples = 0;  // of a bin

    // Spread samples over a range: `wanted` in each bin, or one for each element where that is 0.
    __aicore__ inline void Spread(float from, float length, int64_t wanted, int64_t most) {
        begin = from;
        bin = length / static_cast<float>(bins);
        if (wanted > 0) {
            samples = wanted < most ? wanted : most;
        } else if (bin > 0.0f) {
            samples = most;
            if (bin < static_cast<float>(most)) {
                samples = static_cast<int64_t>(bin);
                samples += static_cast<float>(samples) < bin ? 1 : 0;
            }
        } else {
            samples = 0;  // of NaN as well
        }
    }
    __aicore__ inline Sample At(int64_t place, int64_t sample) const {
        Sample found;
        // rounded step by step as PyTorch does, so that small sums lose what they lose there
        const float start = begin + static_cast<float>(place) * bin;
        const float apart = bin / static_cast<float>(samples);
        float at = start + (static_cast<float>(sample) + 0.5f) * apart;
        found.inside = at >= -1.0f && at <= static_cast<float>(size);
        if (found.inside) {
            const float last = static_cast<float>(size - 1);
            at = at > 0.0f ? at : 0.0f;
            at = at < last ? at : last;
            found.low = static_cast<uint32_t>(at);
            found.high = found.low + 1 < size ? found.low + 1 : found.low;
            found.rest = at - static_cast<float>(found.low);
        }
        return found;
    }
};

template <typename T>
class Kernel {
 public:
    __aicore__ inline Kernel() {}

    template <typename Tiling>
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR boxes, GM_ADDR y, const Tiling& tiling,
                                TPipe* pipe) {
        images = tiling.xShape[0];
        channels = static_cast<uint64_t>(tiling.xShape[1]);
        height.size = tiling.xShape[2];
        width.size = tiling.xShape[3];
        height.bins = tiling.outputHeight;
        width.bins = tiling.outputWidth;
        wanted = tiling.sampling_ratio;
        scale = tiling.spatial_scale;
        aligned = tiling.aligned != 0;
        xGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x));
        boxesGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(boxes));
        yGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(y));
        if (width.size > kMostWidth) {
            AscendC::printf("roi_align: rows have %lld elements, at most %lld fit UB\n", width.size,
                            kMostWidth);
            AscendC::Trap();
            return;
        }
        const uint64_t boxCount = static_cast<uint64_t>(tiling.boxesShape[0]);
        if (channels == 0 || boxCount == 0 || height.bins < 1 || width.bins < 1) {
            return;  // there are no items
        }
        rowPitch = opgen::AlignElements<T>(static_cast<uint32_t>(width.size) + 1);
        const uint64_t bins = static_cast<uint64_t>(width.bins);
        binPitch = opgen::AlignElements<T>(static_cast<uint32_t>(bins < kBins ? bins : kBins));
        parts = (bins + kBins - 1) / kBins;
        const uint64_t plane = static_cast<uint64_t>(height.bins) * binPitch;
        wholePlanes = parts == 1 && kChannelUnit * plane <= kTile;
        const uint32_t held = wholePlanes ? static_cast<uint32_t>(plane) : binPitch;
        group = kTile / (rowPitch > held ? rowPitch : held);
        group = channels < group ? static_cast<uint32_t>(channels) : group;
        groups = (channels + group - 1) / group;
        items = boxCount * groups * parts;
        pipe->InitBuffer(boxQueue, 1, kBoxBytes);
        pipe->InitBuffer(rowQueue, 2, opgen::Bytes<T>(kTile));
        pipe->InitBuffer(resultQueue, 1, opgen::Bytes<T>(kTile));
        pipe->InitBuffer(boxBuf, kBoxBytes);
        pipe->InitBuffer(rowBuf, opgen::Bytes<float>(kTile));
        pipe->InitBuffer(sumBuf, opgen::Bytes<float>(kTile));
        pipe->InitBuffer(resultBuf, opgen::Bytes<float>(kTile));
        pipe->InitBuffer(lowBuf, opgen::Bytes<uint32_t>(kSamples));
        pipe->InitBuffer(highBuf, opgen::Bytes<uint32_t>(kSamples));
        pipe->InitBuffer(lowWeightBuf, opgen::Bytes<float>(kSamples));
        pipe->InitBuffer(highWeightBuf, opgen::Bytes<float>(kSamples));
        pipe->InitBuffer(lowValueBuf, opgen::Bytes<float>(kSamples));
        pipe->InitBuffer(highValueBuf, opgen::Bytes<float>(kSamples));
        pipe->InitBuffer(placeBuf, opgen::Bytes<int32_t>(kTile));
        pipe->InitBuffer(planeBuf, opgen::Bytes<float>(kTile));
        rows = rowBuf.Get<float>();
        sums = sumBuf.Get<float>();
        results = resultBuf.Get<float>();
        if (wholePlanes) {
            FillPlaces();
        }
    }

    __aicore__ inline void Process() {
        const uint64_t cores = opgen::VectorCores();
        for (uint64_t item = GetBlockIdx(); item < items; item += cores) {
            const uint64_t box = item / (groups * parts);
            firstChannel = item / parts % groups * group;
            firstBin = static_cast<int64_t>(item % parts * kBins);
            const uint64_t left = channels - firstChannel;
            count = static_cast<uint32_t>(left < group ? left : group);
            const int64_t some = width.bins - firstBin;
            bins = static_cast<uint32_t>(some < static_cast<int64_t>(kBins) ? some : kBins);
            binPitch = opgen::AlignElements<T>(bins);
            filled = -1;
            const bool known = ReadBox(box);
            for (int64_t row = 0; row < height.bins; ++row) {
                result = wholePlanes ? results[RowPlace(row)] : results;
                Duplicate(result, 0.0f, count * binPitch);
                PipeBarrier<PIPE_V>();
                if (known && height.samples > 0 && width.samples > 0) {
                    AddRows(row);
                    AddSamples();
                    const float all = static_cast<float>(height.samples * width.samples);
                    Muls(result, result, 1.0f / all, count * binPitch);
                    PipeBarrier<PIPE_V>();
                }
                if (!wholePlanes) {
                    StoreRow(box, row);
                }
            }
            if (wholePlanes) {
                StorePlanes(box);
            }
        }
    }

 private:
    // Spread the samples of a box; whether its image exists.
    __aicore__ inline bool ReadBox(uint64_t box) {
        LocalTensor<T> tile = boxQueue.template AllocTensor<T>();
        opgen::LoadRange(tile, boxesGm[box * kBoxNumbers], kBoxNumbers);
        boxQueue.EnQue(tile);
        tile = boxQueue.template DeQue<T>();
        const LocalTensor<float> numbers = boxBuf.Get<float>();
        opgen::Order<HardEvent::S_V>();
        opgen::WidenCopy(numbers, tile, kBoxNumbers);
        PipeBarrier<PIPE_V>();
        boxQueue.FreeTensor(tile);
        opgen::Order<HardEvent::V_S>();
        const float number = numbers.GetValue(0);
        const float shift = aligned ? 0.5f : 0.0f;
        const float left = numbers.GetValue(1) * scale - shift;
        const float top = numbers.GetValue(2) * scale - shift;
        const float right = numbers.GetValue(3) * scale - shift;
        const float bottom = numbers.GetValue(4) * scale - shift;
        width.Spread(left, Length(right - left), wanted, kMostSamples);
        height.Spread(top, Length(bottom - top), wanted, kMostSamples);
        const bool known = number > -1.0f && number < static_cast<float>(images);
        image = known ? static_cast<uint64_t>(number > 0.0f ? number : 0.0f) : 0;
        return known;
    }

    // At least 1 where boxes are not aligned; NaN stays.
    __aicore__ inline float Length(float length) const {
        return !aligned && length < 1.0f ? 1.0f : length;
    }

    // sums = the rows that samples of a row of bins touch, weighted
    __aicore__ inline void AddRows(int64_t bin) {
        Duplicate(sums, 0.0f, count * rowPitch);
        PipeBarrier<PIPE_V>();
        for (int64_t i = 0; i < height.samples; ++i) {
            const Sample sample = height.At(bin, i);
            if (sample.inside) {
                AddRow(sample.low, 1.0f - sample.rest);
                AddRow(sample.high, sample.rest);
            }
        }
    }

    // Add a row of each channel of the group, times a weight.
    __aicore__ inline void AddRow(uint32_t row, float weight) {
        const uint64_t size = static_cast<uint64_t>(width.size);
        const uint64_t plane = static_cast<uint64_t>(height.size) * size;
        LocalTensor<T> tile = rowQueue.template AllocTensor<T>();
        const DataCopyExtParams blocks{static_cast<uint16_t>(count),
                                       opgen::Bytes<T>(static_cast<uint32_t>(size)),
                                       static_cast<uint32_t>((plane - size) * sizeof(T)), 0, 0};
        const DataCopyPadExtParams<T> zeros{
            true, 0, static_cast<uint8_t>(rowPitch - static_cast<uint32_t>(size)),
            static_cast<T>(0)};
        DataCopyPad(tile, xGm[(image * channels + firstChannel) * plane + row * size], blocks,
                    zeros);
        rowQueue.EnQue(tile);
        tile = rowQueue.template DeQue<T>();
        opgen::WidenCopy(rows, tile, count * rowPitch);
        PipeBarrier<PIPE_V>();
        rowQueue.FreeTensor(tile);
        Muls(rows, rows, weight, count * rowPitch);
        PipeBarrier<PIPE_V>();
        Add(sums, sums, rows, count * rowPitch);
        PipeBarrier<PIPE_V>();
    }

    // result = what the samples along the width take of the sums of rows
    __aicore__ inline void AddSamples() {
        const int64_t most = kSamples / binPitch;  // samples of all bins that UB holds
        for (int64_t first = 0; first < width.samples; first += most) {
            const int64_t left = width.samples - first;
            const uint32_t some = static_cast<uint32_t>(left < most ? left : most);
            const uint32_t fit = kSamples / (some * binPitch);
            const uint32_t together = fit < count ? fit : count;  // channels
            if (filled != first) {
                FillSamples(first, some, together);
                filled = first;
            }
            for (uint32_t channel = 0; channel < count; channel += together) {
                const uint32_t now = count - channel < together ? count - channel : together;
                AddChannels(channel, now, together, some);
            }
        }
    }

    // Add the samples of `now` channels; those of a sample lie together, of `together` channels.
    __aicore__ inline void AddChannels(uint32_t channel, uint32_t now, uint32_t together,
                                       uint32_t some) {
        const LocalTensor<float> low = lowValueBuf.Get<float>();
        const LocalTensor<float> high = highValueBuf.Get<float>();
        const LocalTensor<float> row = sums[channel * rowPitch];
        const uint32_t next = together * binPitch;  // from sample to sample
        const uint32_t each = now * binPitch;
        const uint32_t all = now == together ? some * next : each;
        for (uint32_t at = 0; at < some * next; at += now == together ? all : next) {
            Gather(low[at], row, lowBuf.Get<uint32_t>()[at], 0U, all);
            Gather(high[at], row, highBuf.Get<uint32_t>()[at], 0U, all);
            PipeBarrier<PIPE_V>();
            Mul(low[at], low[at], lowWeightBuf.Get<float>()[at], all);
            Mul(high[at], high[at], highWeightBuf.Get<float>()[at], all);
            PipeBarrier<PIPE_V>();
            Add(low[at], low[at], high[at], all);
            PipeBarrier<PIPE_V>();
        }
        const LocalTensor<float> sum = result[channel * binPitch];
        for (uint32_t i = 0; i < some; ++i) {
            Add(sum, sum, low[i * next], each);
            PipeBarrier<PIPE_V>();
        }
    }

    // Offsets and weights of some samples of all bins along the width: the bins of a sample
    // together, for `together` channels.
    __aicore__ inline void FillSamples(int64_t first, uint32_t some, uint32_t together) {
        const LocalTensor<int32_t> low = lowBuf.Get<int32_t>();
        const LocalTensor<int32_t> high = highBuf.Get<int32_t>();
        const LocalTensor<float> lowWeights = lowWeightBuf.Get<float>();
        const LocalTensor<float> highWeights = highWeightBuf.Get<float>();
        const uint32_t zero = static_cast<uint32_t>(width.size);  // the place of a zero
        opgen::Order<HardEvent::V_S>();
        for (uint32_t i = 0; i < some; ++i) {
            for (uint32_t j = 0; j < binPitch; ++j) {
                Sample sample;
                if (j < bins) {
                    sample = width.At(firstBin + j, first + i);
                }
                const uint32_t at = i * together * binPitch + j;
                const uint32_t from = sample.inside ? sample.low : zero;
                const uint32_t to = sample.inside ? sample.high : zero;
                low.SetValue(at, static_cast<int32_t>(opgen::Bytes<float>(from)));
                high.SetValue(at, static_cast<int32_t>(opgen::Bytes<float>(to)));
                lowWeights.SetValue(at, 1.0f - sample.rest);
                highWeights.SetValue(at, sample.rest);
            }
        }
        opgen::Order<HardEvent::S_V>();
        const int32_t apart = static_cast<int32_t>(opgen::Bytes<float>(rowPitch));
        for (uint32_t done = 1; done < together; done *= 2) {
            const uint32_t now = together - done < done ? together - done : done;
            const uint32_t copied = now * binPitch;
            const int32_t further = static_cast<int32_t>(done) * apart;
            for (uint32_t i = 0; i < some; ++i) {
                const uint32_t at = i * together * binPitch;
                const uint32_t to = at + done * binPitch;
                Adds(low[to], low[at], further, copied);
                Adds(high[to], high[at], further, copied);
                Adds(lowWeights[to], lowWeights[at], 0.0f, copied);
                Adds(highWeights[to], highWeights[at], 0.0f, copied);
            }
            PipeBarrier<PIPE_V>();
        }
    }

    // Where the bins of a row begin in the results of whole planes.
    __aicore__ inline uint32_t RowPlace(int64_t row) const {
        return static_cast<uint32_t>(row) * group * binPitch;
    }

    // Where the bins of planes lie in the results, in bytes: of some channels by the scalar unit,
    // of the others as copies with a sum.
    __aicore__ inline void FillPlaces() {
        const LocalTensor<int32_t> places = placeBuf.Get<int32_t>();
        const uint32_t plane = static_cast<uint32_t>(height.bins * width.bins);
        uint32_t at = 0;
        for (uint32_t channel = 0; channel < kChannelUnit; ++channel) {
            for (int64_t row = 0; row < height.bins; ++row) {
                const uint32_t from = RowPlace(row) + channel * binPitch;
                for (uint32_t j = 0; j < static_cast<uint32_t>(width.bins); ++j) {
                    places.SetValue(at++, static_cast<int32_t>(opgen::Bytes<float>(from + j)));
                }
            }
        }
        opgen::Order<HardEvent::S_V>();
        for (uint32_t done = kChannelUnit; done < group; done *= 2) {
            const uint32_t now = group - done < done ? group - done : done;
            Adds(places[done * plane], places,
                 static_cast<int32_t>(opgen::Bytes<float>(done * binPitch)), now * plane);
            PipeBarrier<PIPE_V>();
        }
    }

    // Store all bins of each channel of the group: they lie together in GM.
    __aicore__ inline void StorePlanes(uint64_t box) {
        const uint32_t plane = static_cast<uint32_t>(height.bins * width.bins);
        const LocalTensor<float> planes = planeBuf.Get<float>();
        Gather(planes, results, placeBuf.Get<uint32_t>(), 0U, count * plane);
        PipeBarrier<PIPE_V>();
        LocalTensor<T> tile = resultQueue.template AllocTensor<T>();
        opgen::NarrowCopy(tile, planes, count * plane);
        PipeBarrier<PIPE_V>();
        resultQueue.EnQue(tile);
        tile = resultQueue.template DeQue<T>();
        opgen::StoreRange(yGm[(box * channels + firstChannel) * plane], tile, count * plane);
        resultQueue.FreeTensor(tile);
    }

    // Store a row of bins of each channel of the group.
    __aicore__ inline void StoreRow(uint64_t box, int64_t row) {
        LocalTensor<T> tile = resultQueue.template AllocTensor<T>();
        opgen::NarrowCopy(tile, results, count * binPitch);
        PipeBarrier<PIPE_V>();
        resultQueue.EnQue(tile);
        tile = resultQueue.template DeQue<T>();
        const uint64_t length = static_cast<uint64_t>(width.bins);
        const uint64_t plane = static_cast<uint64_t>(height.bins) * length;
        const uint64_t at = (box * channels + firstChannel) * plane +
                            static_cast<uint64_t>(row) * length + static_cast<uint64_t>(firstBin);
        const DataCopyExtParams blocks{static_cast<uint16_t>(count), opgen::Bytes<T>(bins), 0,
                                       static_cast<uint32_t>((plane - bins) * sizeof(T)), 0};
        DataCopyPad(yGm[at], tile, blocks);
        resultQueue.FreeTensor(tile);
    }

    static constexpr uint32_t kTile = 4096;      // elements of a tile
    static constexpr int64_t kMostWidth = 4080;  // of the image: a tile holds a row and a zero
    static constexpr uint32_t kBins = 256;       // along the width, of a tile
    static constexpr uint32_t kSamples = 2048;   // samples along the width that UB holds
    static constexpr int64_t kMostSamples = 64;  // of a bin, along an axis
    static constexpr uint32_t kBoxNumbers = 5;   // image, left, top, right, bottom
    static constexpr uint32_t kBoxBytes = 32;
    static constexpr uint32_t kChannelUnit = 8;  // places of so many planes begin aligned

    TQue<TPosition::VECIN, 1> boxQueue;
    TQue<TPosition::VECIN, 1> rowQueue;
    TQue<TPosition::VECOUT, 1> resultQueue;
    TBuf<TPosition::VECCALC> boxBuf;
    TBuf<TPosition::VECCALC> rowBuf;
    TBuf<TPosition::VECCALC> sumBuf;
    TBuf<TPosition::VECCALC> resultBuf;
    TBuf<TPosition::VECCALC> lowBuf;
    TBuf<TPosition::VECCALC> highBuf;
    TBuf<TPosition::VECCALC> lowWeightBuf;
    TBuf<TPosition::VECCALC> highWeightBuf;
    TBuf<TPosition::VECCALC> lowValueBuf;
    TBuf<TPosition::VECCALC> highValueBuf;
    TBuf<TPosition::VECCALC> placeBuf;
    TBuf<TPosition::VECCALC> planeBuf;
    LocalTensor<float> rows;
    LocalTensor<float> sums;
    LocalTensor<float> results;
    LocalTensor<float> result;  // of the row of bins
    GlobalTensor<T> xGm;
    GlobalTensor<T> boxesGm;
    GlobalTensor<T> yGm;
    Axis height;
    Axis width;
    float scale = 1.0f;
    int64_t wanted = 0;  // samples of a bin
    bool aligned = false;
    int64_t images = 0;
    uint64_t image = 0;
    uint64_t channels = 0;
    uint64_t groups = 1;  // of channels
    uint64_t parts = 1;   // of the bins along the width
    uint64_t items = 0;   // of all cores: a group of channels of a box, and a part
    uint64_t firstChannel = 0;
    int64_t firstBin = 0;
    int64_t filled = -1;  // the first sample whose offsets UB holds
    bool wholePlanes = false;
    uint32_t group = 1;  // channels of a group
    uint32_t count = 0;  // channels of the item
    uint32_t bins = 0;   // along the width, of the item
    uint32_t rowPitch = 0;
    uint32_t binPitch = 0;
};
}  // namespace roi_align_kernel

extern "C" __global__ __aicore__ void roi_align(GM_ADDR x, GM_ADDR boxes, GM_ADDR y,
                                                GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
#if OPGEN_PLAIN_TILING
    REGISTER_TILING_DEFAULT(ROIAlignTilingData);
#endif
    GET_TILING_DATA(tilingData, tiling);
    AscendC::TPipe pipe;
    roi_align_kernel::Kernel<DTYPE_X> kernel;
    kernel.Init(x, boxes, y, tilingData, &pipe);
    kernel.Process();
}
