// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "ascendc_emu/adv_trans_data_api.h"

#include <string.h>

#include <vector>

namespace ascendc_emu {
namespace {

constexpr uint64_t kC0 = 16;  // also N0
constexpr uint64_t kWidth = 2;

struct Blocks {
    uint64_t c1, n1, plane;  // plane: H x W padded
    explicit Blocks(const TransDataCall& c)
        : c1((c.c + kC0 - 1) / kC0),
          n1((c.n + kC0 - 1) / kC0),
          plane((uint64_t(c.h) * c.w + kC0 - 1) / kC0 * kC0) {}
};

uint64_t SizeOf(AscendC::DataFormat f, const TransDataCall& c, const Blocks& b) {
    const uint64_t plane = uint64_t(c.h) * c.w;
    if (f == AscendC::DataFormat::NCDHW) return uint64_t(c.n) * c.c * c.d * b.plane;
    if (f == AscendC::DataFormat::NDC1HWC0) return uint64_t(c.n) * c.d * b.c1 * plane * kC0;
    return uint64_t(c.d) * b.c1 * plane * b.n1 * kC0 * kC0;
}

uint64_t IndexIn(AscendC::DataFormat f, const TransDataCall& c, const Blocks& b, uint64_t n,
                 uint64_t channel, uint64_t d, uint64_t hw) {
    const uint64_t plane = uint64_t(c.h) * c.w;
    if (f == AscendC::DataFormat::NCDHW) return ((n * c.c + channel) * c.d + d) * b.plane + hw;
    if (f == AscendC::DataFormat::NDC1HWC0) {
        return (((n * c.d + d) * b.c1 + channel / kC0) * plane + hw) * kC0 + channel % kC0;
    }
    const uint64_t row = ((d * b.c1 + channel / kC0) * plane + hw) * b.n1 + n / kC0;
    return (row * kC0 + n % kC0) * kC0 + channel % kC0;
}

}  // namespace

void RunTransData(const TransDataCall& c) {
    const Blocks b(c);
    const uint64_t from = SizeOf(c.from, c, b), to = SizeOf(c.to, c, b);
    const AdvOperand operands[] = {
        {"dst", c.dst, c.type, to, Access::kWrite},
        {"src", c.src, c.type, from, Access::kRead},
        {"sharedTmpBuffer", c.tmp, DType::kU8, c.tmp != nullptr ? c.tmp->size : 0, Access::kWrite}};
    AdvBegin("TransData", c.loc, operands, 3);
    if (Current().kind == CoreKind::kAic) return;
    const std::vector<uint8_t> source(c.src->ptr, c.src->ptr + from * kWidth);
    if (c.to != AscendC::DataFormat::NCDHW) memset(c.dst->ptr, 0, to * kWidth);
    for (uint64_t n = 0; n < c.n; ++n) {
        for (uint64_t channel = 0; channel < c.c; ++channel) {
            for (uint64_t d = 0; d < c.d; ++d) {
                for (uint64_t hw = 0; hw < uint64_t(c.h) * c.w; ++hw) {
                    memcpy(c.dst->ptr + IndexIn(c.to, c, b, n, channel, d, hw) * kWidth,
                           source.data() + IndexIn(c.from, c, b, n, channel, d, hw) * kWidth,
                           kWidth);
                }
            }
        }
    }
}

}  // namespace ascendc_emu
