// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What CANN's op library has for its cache of tilings. Here every call is tiled anew, so there is
// nothing to prepare. The repositories' op_cache_tiling.h declares both.
namespace gert {
class TilingContext;
class TilingParseContext;
}  // namespace gert

namespace optiling {
bool TilingPrepareForOpCache(gert::TilingContext*) { return true; }
bool TilingPrepareForOpCache(gert::TilingParseContext*) { return true; }
}  // namespace optiling
