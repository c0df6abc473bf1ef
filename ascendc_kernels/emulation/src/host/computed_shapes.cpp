// SPDX-License-Identifier: Apache-2.0
#include "host/computed_shapes.h"

#include <algorithm>

namespace ascendc_emu {
namespace {
constexpr size_t kSlotWords = 9;
constexpr size_t kMaxRank = 8;
constexpr size_t kWordsPerBlock = 4;  // 32 bytes
// Kernels set it to say that the dims are 64-bit, which all of this layout are.
constexpr uint64_t kWideFlag = 0x80000000U;
// No kernel means this as a rank: it was not written.
constexpr uint64_t kUnwritten = 0xfafafafafafafafaU;

int64_t Product(const int64_t *dims, size_t rank) {
    int64_t count = 1;
    for (size_t d = 0; d < rank; ++d) {
        count *= dims[d];
    }
    return count;
}
}  // namespace

ComputedShapes::ComputedShapes(const OpCall &call) {
    for (const size_t position : call.ComputedShapes()) {
        slots_ += position < call.outputs().size() ? call.outputs()[position].tensors.size() : 0;
    }
    const size_t blocks = (slots_ * kSlotWords + kWordsPerBlock - 1) / kWordsPerBlock;
    words_.assign(blocks * kWordsPerBlock, kUnwritten);
}

void ComputedShapes::Read(const OpCall &call, int64_t *shapes, int32_t *ranks) const {
    const std::vector<size_t> marked = call.ComputedShapes();
    const uint64_t *word = words_.data();
    size_t place = 0;
    for (size_t i = 0; i < call.outputs().size(); ++i) {
        const bool computed = std::find(marked.begin(), marked.end(), i) != marked.end();
        for (const std::vector<int64_t> &buffer : call.outputs()[i].shapes) {
            int64_t *const dims = shapes + kMaxRank * place;
            int32_t &rank = ranks[place++];
            rank = -1;
            if (!computed) {
                continue;
            }
            const std::string what = call.Describe() + ": the kernel wrote ";
            const std::string name = " of output " + call.OutputName(i);
            if (word[0] == kUnwritten) {
                throw OpError(what + "no shape" + name);
            }
            const uint64_t given = word[0] & ~kWideFlag;
            if (given > kMaxRank) {
                throw OpError(what + "rank " + std::to_string(given) + " as shape" + name);
            }
            rank = static_cast<int32_t>(given);
            gert::Shape shape;
            for (size_t d = 0; d < given; ++d) {
                dims[d] = static_cast<int64_t>(word[1 + d]);
                shape.AppendDim(dims[d]);
            }
            const bool negative = std::any_of(dims, dims + given, [](int64_t d) { return d < 0; });
            if (negative || Product(dims, given) > Product(buffer.data(), buffer.size())) {
                throw OpError(what + "shape " + ShapeText(shape) + name + ", whose buffer has " +
                              std::to_string(Product(buffer.data(), buffer.size())) + " elements");
            }
            word += kSlotWords;
        }
    }
}
}  // namespace ascendc_emu
