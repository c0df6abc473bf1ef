// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#ifndef SRC_CORE_THREAD_OBJECT_H
#define SRC_CORE_THREAD_OBJECT_H

#include <memory>

namespace ascendc_emu {

// This thread's object of a type, made at its first use. It lives behind a pointer: the
// thread-local memory of a library that is loaded late comes out of a small reserve (the loader's
// "static TLS block"), which PyTorch and others draw on too.
template <typename T>
T& OfThread() {
    static thread_local std::unique_ptr<T> object;
    if (!object) object.reset(new T);
    return *object;
}

}  // namespace ascendc_emu
#endif  // SRC_CORE_THREAD_OBJECT_H
