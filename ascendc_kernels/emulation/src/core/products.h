// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#ifndef OPGEN_CORE_PRODUCTS_H
#define OPGEN_CORE_PRODUCTS_H

namespace ascendc_emu {

// Set while a launch is profiled for its time alone: matrix products are recorded and not computed,
// and leave what lay in their destination. Launches are serialised, and one with a sink runs on one
// thread.
extern bool g_skip_products;

}  // namespace ascendc_emu

#endif  // OPGEN_CORE_PRODUCTS_H
