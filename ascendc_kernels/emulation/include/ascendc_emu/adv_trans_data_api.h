// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// TransData: NCDHW from and to the blocked formats NDC1HWC0 and FRACTAL_Z_3D, 16-bit types.
// Source: asc-devkit docs, high-level API / tensor transformation (TransData).
#ifndef ASCENDC_EMU_ADV_TRANS_DATA_API_H
#define ASCENDC_EMU_ADV_TRANS_DATA_API_H

#include "ascendc_emu/adv.h"
#include "ascendc_emu/adv_config.h"

namespace ascendc_emu {

struct TransDataCall {
    DType type;
    AscendC::DataFormat from, to;
    const TensorRef* dst;
    const TensorRef* src;
    const TensorRef* tmp;  // may be null
    uint32_t n, c, d, h, w;
    Loc loc;
};
// The H x W plane of NCDHW is padded to whole blocks of 32 bytes; the padding is not written.
// Channels and N beyond the shape are 0 in the blocked formats.
void RunTransData(const TransDataCall& call);

}  // namespace ascendc_emu

namespace AscendC {

template <typename T, typename U>
struct TransDataParams {
    T srcLayout;
    U dstLayout;
};

namespace adv_detail {
// The five sizes of NCDHW.
template <typename L>
inline void TransShape(ascendc_emu::TransDataCall& call, const L& layout) {
    const auto& s = layout.GetShape();
    static_assert(Std::tuple_size_v<Std::remove_cvref_t<decltype(s)>> == 5,
                  "the layout of NCDHW has five dimensions");
    call.n = static_cast<uint32_t>(Std::get<0>(s));
    call.c = static_cast<uint32_t>(Std::get<1>(s));
    call.d = static_cast<uint32_t>(Std::get<2>(s));
    call.h = static_cast<uint32_t>(Std::get<3>(s));
    call.w = static_cast<uint32_t>(Std::get<4>(s));
}
template <DataFormat from, DataFormat to, typename T, typename P>
inline void TransData(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                      const LocalTensor<uint8_t>* tmp, const P& params, Loc loc) {
    static_assert(sizeof(PrimT<T>) == 2, "TransData takes types of 16 bits");
    constexpr bool plainSource = from == DataFormat::NCDHW;
    constexpr DataFormat other = plainSource ? to : from;
    static_assert((plainSource || to == DataFormat::NCDHW) &&
                      (other == DataFormat::NDC1HWC0 || other == DataFormat::FRACTAL_Z_3D),
                  "TransData: NCDHW from or to NDC1HWC0 or FRACTAL_Z_3D");
    ascendc_emu::TransDataCall call{
        ascendc_emu::kDTypeOf<PrimT<T>>, from, to, &dst, &src, tmp, 0, 0, 0, 0, 0, loc};
    if constexpr (plainSource)
        TransShape(call, params.srcLayout);
    else
        TransShape(call, params.dstLayout);
    ascendc_emu::RunTransData(call);
}
}  // namespace adv_detail

template <const TransDataConfig& config, typename T, typename U, typename S>
__aicore__ inline void TransData(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                 const LocalTensor<uint8_t>& tmp,
                                 const TransDataParams<U, S>& params, Loc loc = Loc::Here()) {
    constexpr TransDataConfig c = config;
    adv_detail::TransData<c.srcFormat, c.dstFormat>(dst, src, &tmp, params, loc);
}
template <const TransDataConfig& config, typename T, typename U, typename S>
__aicore__ inline void TransData(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                 const TransDataParams<U, S>& params, Loc loc = Loc::Here()) {
    constexpr TransDataConfig c = config;
    adv_detail::TransData<c.srcFormat, c.dstFormat>(dst, src, nullptr, params, loc);
}

}  // namespace AscendC
#endif  // ASCENDC_EMU_ADV_TRANS_DATA_API_H
