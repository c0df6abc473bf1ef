// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// What kernels print: printf, ASSERT, DumpTensor.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "ascendc_emu/system_api.h"
#include "core/scheduler.h"

namespace ascendc_emu {
namespace {

std::mutex& PrintMutex() {
    static std::mutex m;
    return m;
}

}  // namespace

void DevicePrintf(const char* format, ...) {
    va_list args;
    va_start(args, format);
    {
        std::lock_guard<std::mutex> lock(PrintMutex());
        vprintf(format, args);
        fflush(stdout);
    }
    va_end(args);
}

void AssertFailed(const char* condition, const char* file, int line, const char* format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (g_current == nullptr) {
        // A program's own assert(), between its launches.
        fprintf(stderr, "%s:%d: assertion failed: %s%s%s\n", file, line, condition,
                text[0] ? ": " : "", text);
        abort();
    }
    Loc loc;
    loc.file = file;
    loc.line = static_cast<uint32_t>(line);
    Trap(Current(), loc, "ASSERT", "%s%s%s", condition, text[0] ? ": " : "", text);
}

namespace {
double Element(const void* data, DType type, uint64_t i) {
    switch (type) {
        case DType::kF16:
            return static_cast<const half*>(data)[i];
        case DType::kBf16:
            return static_cast<const bfloat16_t*>(data)[i];
        case DType::kF32:
            return static_cast<const float*>(data)[i];
        case DType::kF64:
            return static_cast<const double*>(data)[i];
        case DType::kI8:
            return static_cast<const int8_t*>(data)[i];
        case DType::kI16:
            return static_cast<const int16_t*>(data)[i];
        case DType::kU16:
            return static_cast<const uint16_t*>(data)[i];
        case DType::kI32:
            return static_cast<const int32_t*>(data)[i];
        case DType::kU32:
            return static_cast<const uint32_t*>(data)[i];
        case DType::kI64:
            return static_cast<double>(static_cast<const int64_t*>(data)[i]);
        case DType::kU64:
            return static_cast<double>(static_cast<const uint64_t*>(data)[i]);
        default:
            return static_cast<const uint8_t*>(data)[i];
    }
}
bool IsFloating(DType t) {
    return t == DType::kF16 || t == DType::kBf16 || t == DType::kF32 || t == DType::kF64;
}
void PrintList(const void* data, DType type, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
        const double v = Element(data, type, i);
        if (IsFloating(type)) {
            printf(i ? ", %f" : "%f", v);
        } else {
            printf(i ? ", %.0f" : "%.0f", v);
        }
    }
}
}  // namespace

int32_t WriteBytes(const void* data, uint64_t bytes, const char* name) {
    FILE* file = fopen(name, "wb");
    if (file == nullptr) return -1;
    const bool written = fwrite(data, 1, bytes, file) == bytes;
    return fclose(file) == 0 && written ? 0 : -1;
}

void PrintElements(const void* data, DType type, uint64_t count, const char* what) {
    std::lock_guard<std::mutex> lock(PrintMutex());
    printf("%s %s[%llu]: [", what, Name(type), static_cast<unsigned long long>(count));
    PrintList(data, type, count);
    printf("]\n");
    fflush(stdout);
}

void DumpElements(const void* data, DType type, uint32_t desc, uint64_t count,
                  const uint32_t* shape, uint32_t dims, const char* where) {
    std::lock_guard<std::mutex> lock(PrintMutex());
    const Core& core = Current();
    printf("DumpTensor: desc=%u, block=%d, data_type=%s, position=%s", desc, core.blockIdx,
           Name(type), where);
    if (dims > 0) {
        printf(", shape=[");
        for (uint32_t i = 0; i < dims; ++i) printf(i ? ", %u" : "%u", shape[i]);
        printf("]");
    }
    printf("\n[");
    PrintList(data, type, count);
    printf("]\n");
    fflush(stdout);
}

}  // namespace ascendc_emu
