// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// REGIST_MATMUL_OBJ: the objects of a kernel with their tilings. Included by matmul.h.
#ifndef ADV_API_MATMUL_MATMUL_REGISTER_H
#define ADV_API_MATMUL_MATMUL_REGISTER_H

#include "ascendc_emu/matmul_ops.h"

namespace AscendC {
namespace matmul_detail {
inline void Register() {}
template <class M, typename... Rest>
inline void Register(M& mm, Rest&&... rest);
template <class M, typename... Rest>
inline void RegisterWith(M& mm, const ::TCubeTiling* tiling, Rest&&... rest) {
    // Without a tiling only one that is a constant of the type can be applied.
    if (tiling != nullptr || M::kStaticTiling) mm.Init(tiling);
    Register(rest...);
}
// Arguments come as object, tiling, object, tiling ...; the tiling may be left out.
template <class M>
inline void Register(M& mm) {
    if (M::kStaticTiling) mm.Init(nullptr);
}
template <class M, typename Second, typename... Rest>
inline void RegisterPair(M& mm, Second&& second, Rest&&... rest) {
    if constexpr (std::is_convertible<Second, const ::TCubeTiling*>::value) {
        RegisterWith(mm, static_cast<const ::TCubeTiling*>(second), rest...);
    } else {
        Register(mm);
        Register(second, rest...);
    }
}
template <class M, typename... Rest>
inline void Register(M& mm, Rest&&... rest) {
    RegisterPair(mm, rest...);
}
}  // namespace matmul_detail

}  // namespace AscendC

// Matmul objects of a mixed kernel belong to the vector cores; its cube cores only serve them.
#ifdef ASCENDC_CUBE_ONLY
#define REGIST_MATMUL_OBJ(tpipe, workspace, ...) AscendC::matmul_detail::Register(__VA_ARGS__)
#else
#define REGIST_MATMUL_OBJ(tpipe, workspace, ...)                 \
    if (ascendc_emu::IsMatmulServer(ascendc_emu::Loc::Here())) { \
        return;                                                  \
    }                                                            \
    AscendC::matmul_detail::Register(__VA_ARGS__)
#endif
#define REGIST_MATMUL_OBJ_STATIC REGIST_MATMUL_OBJ
#define REGIST_CUBE_OBJ REGIST_MATMUL_OBJ

#endif  // ADV_API_MATMUL_MATMUL_REGISTER_H
