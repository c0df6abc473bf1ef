// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Where results of a resampled axis lie in it, and the weights of the elements that they are made
// of: computed for many results at once, in the arithmetic of PyTorch.
#ifndef OPGEN_RESIZE_PLACES_H
#define OPGEN_RESIZE_PLACES_H

#include "kernel_operator.h"
#include "opgen/convert.h"
#include "opgen/tile.h"

namespace opgen {

enum class ResizeMode : uint32_t { kNearest, kNearestExact, kLinear, kCubic };

constexpr uint32_t kResizeAxes = 3;     // depth, height, width
constexpr uint32_t kResizeLanes = 256;  // results whose places along an axis are known at once
constexpr float kCubicCoefficient = -0.75f;

// Elements of an axis that a result is made of.
constexpr uint32_t TapsOf(ResizeMode mode) {
    return mode == ResizeMode::kCubic ? 4 : mode == ResizeMode::kLinear ? 2 : 1;
}

constexpr uint32_t PowerOf(uint32_t base, uint32_t exponent) {
    return exponent == 0 ? 1 : base * PowerOf(base, exponent - 1);
}

// An axis of the planes and of the results.
struct ResizeAxis {
    int64_t inputs = 1;
    int64_t outputs = 1;
    float ratio = 1;  // elements of a plane under one of the result

    // The first elements that `count` results are made of, from result `first` on, before they are
    // brought into the plane, and how far behind each the result lies, 0 to 1. The arithmetic is
    // PyTorch's.
    template <ResizeMode kMode>
    __aicore__ inline void Find(const LocalTensor<int32_t>& low, const LocalTensor<float>& share,
                                const LocalTensor<float>& spare, int64_t first, uint32_t count,
                                bool corners) const {
        AscendC::CreateVecIndex(low, static_cast<int32_t>(first), count);
        VectorBarrier();
        AscendC::Cast(share, low, RoundMode::CAST_NONE, count);
        VectorBarrier();
        constexpr bool kMiddle = kMode != ResizeMode::kNearest;
        constexpr bool kNear = TapsOf(kMode) == 1;
        if (kMiddle && !corners) {
            AscendC::Adds(share, share, 0.5f, count);
            VectorBarrier();
        }
        AscendC::Muls(share, share, ratio, count);
        VectorBarrier();
        if (!kNear && !corners) {
            AscendC::Adds(share, share, -0.5f, count);
            VectorBarrier();
        }
        const int32_t last = static_cast<int32_t>(inputs - 1);
        if constexpr (kMode == ResizeMode::kCubic) {
            AscendC::Cast(low, share, RoundMode::CAST_FLOOR, count);
            VectorBarrier();
        } else {
            AscendC::Maxs(share, share, 0.0f, count);
            VectorBarrier();
            AscendC::Cast(low, share, RoundMode::CAST_TRUNC, count);
            VectorBarrier();
            AscendC::Mins(low, low, last, count);
            VectorBarrier();
        }
        if constexpr (!kNear) {
            AscendC::Cast(spare, low, RoundMode::CAST_NONE, count);
            VectorBarrier();
            AscendC::Sub(share, share, spare, count);
            VectorBarrier();
            AscendC::Maxs(share, share, 0.0f, count);
            VectorBarrier();
            AscendC::Mins(share, share, 1.0f, count);
            VectorBarrier();
        }
    }
};

// Where rows of results along depth or height lie, for kResizeLanes of them.
template <ResizeMode kMode>
class ResizeRows {
 public:
    static constexpr uint32_t kTaps = TapsOf(kMode);

    __aicore__ inline void Init(AscendC::TPipe* pipe) {
        pipe->InitBuffer(low_, kResizeLanes * sizeof(int32_t));
        pipe->InitBuffer(share_, kResizeLanes * sizeof(float));
        pipe->InitBuffer(spare_, kResizeLanes * sizeof(float));
    }
    // Go to a result of the axis.
    __aicore__ inline void Seek(const ResizeAxis& axis, int64_t output, bool corners) {
        const int64_t first = output / kResizeLanes * kResizeLanes;
        if (first != first_) {
            first_ = first;
            Order<AscendC::HardEvent::S_V>();
            const LocalTensor<int32_t> low = low_.template Get<int32_t>();
            const LocalTensor<float> share = share_.template Get<float>();
            const LocalTensor<float> spare = spare_.template Get<float>();
            axis.template Find<kMode>(low, share, spare, first, kResizeLanes, corners);
            Order<AscendC::HardEvent::V_S>();
        }
        const uint32_t lane = static_cast<uint32_t>(output - first);
        const int64_t low = low_.template Get<int32_t>().GetValue(lane);
        const float t = share_.template Get<float>().GetValue(lane);
        for (uint32_t k = 0; k < kTaps; ++k) {
            const int64_t at = low + k - (kTaps == 4 ? 1 : 0);
            taps[k] = at < 0 ? 0 : at < axis.inputs ? at : axis.inputs - 1;
        }
        if constexpr (kMode == ResizeMode::kLinear) {
            weights[0] = 1.0f - t;
            weights[1] = t;
        } else if constexpr (kMode == ResizeMode::kCubic) {
            weights[0] = Far(t + 1.0f);
            weights[1] = Near(t);
            weights[2] = Near(1.0f - t);
            weights[3] = Far(2.0f - t);
        }
    }

    int64_t taps[kTaps] = {};
    float weights[kTaps] = {1.0f};

 private:
    static __aicore__ inline float Near(float d) {
        return ((kCubicCoefficient + 2.0f) * d - (kCubicCoefficient + 3.0f)) * d * d + 1.0f;
    }
    static __aicore__ inline float Far(float d) {
        return ((kCubicCoefficient * d - 5.0f * kCubicCoefficient) * d + 8.0f * kCubicCoefficient) *
                   d -
               4.0f * kCubicCoefficient;
    }

    AscendC::TBuf<AscendC::TPosition::VECCALC> low_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> share_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> spare_;
    int64_t first_ = -1;
};

// Where the columns of a tile lie in its rows, in bytes, and their weights.
template <ResizeMode kMode>
class ResizeColumns {
 public:
    static constexpr uint32_t kTaps = TapsOf(kMode);

    // pitch: columns of a tile, a whole number of blocks; unit: elements of a block of the planes;
    // batch: rows that columns are taken of at once.
    __aicore__ inline void Init(AscendC::TPipe* pipe, uint32_t pitch, uint32_t unit,
                                uint32_t batch) {
        pitch_ = pitch;
        unit_ = unit;
        batch_ = batch;
        pipe->InitBuffer(places_, kTaps * Bytes<int32_t>(batch * pitch));
        if constexpr (kTaps > 1) {
            pipe->InitBuffer(weights_, kTaps * Bytes<float>(batch * pitch));
        }
        pipe->InitBuffer(share_, Bytes<float>(pitch));
        pipe->InitBuffer(spare_, Bytes<float>(batch * pitch));
    }
    // Go to `columns` columns of the results from `first` on; sets what they need of a row.
    __aicore__ inline void Seek(const ResizeAxis& axis, int64_t first, uint32_t columns,
                                bool corners) {
        Order<AscendC::HardEvent::S_V>();
        const uint32_t count = pitch_;
        const LocalTensor<int32_t> low = Place(0);
        const LocalTensor<float> share = share_.template Get<float>();
        const LocalTensor<float> spare = spare_.template Get<float>();
        axis.template Find<kMode>(low, share, spare, first, count, corners);
        if constexpr (kTaps > 1) {
            Weigh(share, spare, count);
        }
        const int32_t last = static_cast<int32_t>(axis.inputs - 1);
        for (uint32_t i = kTaps; i > 0; --i) {  // the first ones last: the others are made of them
            const uint32_t k = i - 1;
            const int32_t behind = static_cast<int32_t>(k) - (kTaps == 4 ? 1 : 0);
            if (k > 0 || behind != 0) {
                AscendC::Adds(Place(k), low, behind, count);
                VectorBarrier();
            }
            AscendC::Maxs(Place(k), Place(k), static_cast<int32_t>(0), count);
            VectorBarrier();
            AscendC::Mins(Place(k), Place(k), last, count);
            VectorBarrier();
        }
        Order<AscendC::HardEvent::V_S>();
        begin = Place(0).GetValue(0);
        width = static_cast<uint32_t>(Place(kTaps - 1).GetValue(columns - 1) + 1 - begin);
        rowPitch = (width + unit_ - 1) / unit_ * unit_;
        Order<AscendC::HardEvent::S_V>();
        for (uint32_t k = 0; k < kTaps; ++k) {
            AscendC::Adds(Place(k), Place(k), static_cast<int32_t>(-begin), count);
            VectorBarrier();
            // lanes behind the last column
            AscendC::Mins(Place(k), Place(k), static_cast<int32_t>(width - 1), count);
            VectorBarrier();
            AscendC::Muls(Place(k), Place(k), static_cast<int32_t>(sizeof(float)), count);
            VectorBarrier();
            for (uint32_t row = 1; row < batch_; ++row) {
                const int32_t apart = static_cast<int32_t>(Bytes<float>(row * rowPitch));
                AscendC::Adds(Place(k)[row * pitch_], Place(k), apart, count);
                if constexpr (kTaps > 1) {
                    AscendC::Adds(Weight(k)[row * pitch_], Weight(k), 0.0f, count);
                }
            }
            VectorBarrier();
        }
    }
    // The columns of rows, which have what they need.
    __aicore__ inline void Take(const LocalTensor<float>& dst, const LocalTensor<float>& from,
                                uint32_t rows) {
        for (uint32_t row = 0; row < rows; row += batch_) {
            const uint32_t left = rows - row;
            TakeBatch(dst[row * pitch_], from[row * rowPitch], left < batch_ ? left : batch_);
        }
    }

    int64_t begin = 0;      // the first element of a row that the columns need
    uint32_t width = 0;     // and how many of them
    uint32_t rowPitch = 0;  // elements from one of the rows to the next

 private:
    __aicore__ inline void TakeBatch(const LocalTensor<float>& dst, const LocalTensor<float>& from,
                                     uint32_t rows) {
        const uint32_t count = rows * pitch_;
        const LocalTensor<float> spare = spare_.template Get<float>();
        for (uint32_t k = 0; k < kTaps; ++k) {
            const LocalTensor<uint32_t> places = Place(k).template ReinterpretCast<uint32_t>();
            const LocalTensor<float>& to = k == 0 ? dst : spare;
            AscendC::Gather(to, from, places, static_cast<uint32_t>(0), count);
            VectorBarrier();
            if constexpr (kTaps > 1) {
                AscendC::Mul(to, to, Weight(k), count);
                VectorBarrier();
                if (k > 0) {
                    AscendC::Add(dst, dst, spare, count);
                    VectorBarrier();
                }
            }
        }
    }

    __aicore__ inline LocalTensor<int32_t> Place(uint32_t k) {
        return places_.template Get<int32_t>()[k * batch_ * pitch_];
    }
    __aicore__ inline LocalTensor<float> Weight(uint32_t k) {
        return weights_.template Get<float>()[k * batch_ * pitch_];
    }
    __aicore__ inline void Weigh(const LocalTensor<float>& share, const LocalTensor<float>& spare,
                                 uint32_t count) {
        if constexpr (kMode == ResizeMode::kLinear) {
            AscendC::Muls(Weight(0), share, -1.0f, count);
            AscendC::Adds(Weight(1), share, 0.0f, count);
            VectorBarrier();
            AscendC::Adds(Weight(0), Weight(0), 1.0f, count);
        } else {
            constexpr float a = kCubicCoefficient;
            for (uint32_t k = 0; k < kTaps; ++k) {
                // the distance to the element: t + 1, t, 1 - t, 2 - t
                const LocalTensor<float> weight = Weight(k);
                const bool near = k == 1 || k == 2;
                AscendC::Muls(spare, share, k < 2 ? 1.0f : -1.0f, count);
                VectorBarrier();
                AscendC::Adds(spare, spare, k == 0 ? 1.0f : static_cast<float>(k) - 1.0f, count);
                VectorBarrier();
                AscendC::Muls(weight, spare, near ? a + 2.0f : a, count);
                VectorBarrier();
                AscendC::Adds(weight, weight, near ? -(a + 3.0f) : -5.0f * a, count);
                VectorBarrier();
                AscendC::Mul(weight, weight, spare, count);
                VectorBarrier();
                if (!near) {
                    AscendC::Adds(weight, weight, 8.0f * a, count);
                    VectorBarrier();
                }
                AscendC::Mul(weight, weight, spare, count);
                VectorBarrier();
                AscendC::Adds(weight, weight, near ? 1.0f : -4.0f * a, count);
                VectorBarrier();
            }
        }
        VectorBarrier();
    }

    AscendC::TBuf<AscendC::TPosition::VECCALC> places_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> weights_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> share_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> spare_;
    uint32_t pitch_ = 0;
    uint32_t unit_ = 1;
    uint32_t batch_ = 1;
};

}  // namespace opgen

#endif  // OPGEN_RESIZE_PLACES_H
