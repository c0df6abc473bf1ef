// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "ascendc_emu/cpu_twin.h"

#include <stdio.h>
#include <sys/mman.h>

#include <map>
#include <mutex>
#include <string>

#include "program/exit_report.h"

namespace {

constexpr size_t kPage = 4096;
constexpr int kNoMode = -1;

std::mutex g_mutex;
int g_mode = kNoMode;

// Sizes by address. Never destroyed: tests free memory in destructors of static objects.
std::map<const void*, size_t>& Sizes() {
    static auto* sizes = new std::map<const void*, size_t>;
    return *sizes;
}

size_t MappedBytes(size_t size) { return size == 0 ? kPage : (size + kPage - 1) / kPage * kPage; }

// The index-th part of "a, f(b, c), (uint8_t*)d" without casts and blanks around it.
std::string ArgumentText(const char* names, int index) {
    int depth = 0;
    const char* begin = names;
    for (const char* p = names;; ++p) {
        if (*p == '(' || *p == '[' || *p == '{') ++depth;
        if (*p == ')' || *p == ']' || *p == '}') --depth;
        if (*p != '\0' && (*p != ',' || depth != 0)) continue;
        if (index-- == 0) {
            std::string text(begin, p);
            const size_t last = text.find_last_not_of(" \t\n");
            text.resize(last == std::string::npos ? 0 : last + 1);
            const size_t word = text.find_last_of(" \t\n)*&");
            return word == std::string::npos || word + 1 == text.size() ? text
                                                                        : text.substr(word + 1);
        }
        if (*p == '\0') return "";
        begin = p + 1;
    }
}

OpgenKernelKind KindOf(int mode, OpgenKernelKind undeclared) {
    switch (mode) {
        // With the scheduler that core synchronisation needs: the twin's mode does not say.
        case static_cast<int>(KernelMode::AIV_MODE):
            return OPGEN_KERNEL_MIX_AIV_1_0;
        case static_cast<int>(KernelMode::AIC_MODE):
            return OPGEN_KERNEL_MIX_AIC_1_0;
        case static_cast<int>(KernelMode::MIX_AIC_1_1):
            return OPGEN_KERNEL_MIX_AIC_1_1;
        case static_cast<int>(KernelMode::MIX_MODE):
            return OPGEN_KERNEL_AUTO_MIX;
        default:
            return undeclared;
    }
}

}  // namespace

namespace AscendC {

void* GmAlloc(size_t size) {
    void* memory = mmap(nullptr, MappedBytes(size), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        fprintf(stderr, "opgen: GmAlloc: no memory for %zu bytes\n", size);
        return nullptr;
    }
    std::lock_guard<std::mutex> lock(g_mutex);
    Sizes()[memory] = size;
    opgen_register_gm(memory, size, "GmAlloc");
    return memory;
}

void GmFree(void* ptr) {
    if (ptr == nullptr) return;
    std::lock_guard<std::mutex> lock(g_mutex);
    const auto found = Sizes().find(ptr);
    if (found == Sizes().end()) {
        fprintf(stderr, "opgen: GmFree: %p was not returned by GmAlloc, or is already free\n", ptr);
        return;
    }
    opgen_unregister_gm(ptr);
    munmap(ptr, MappedBytes(found->second));
    Sizes().erase(found);
}

uint64_t GmGetUserSize(uint64_t addr) {
    std::lock_guard<std::mutex> lock(g_mutex);
    const auto found = Sizes().find(reinterpret_cast<const void*>(addr));
    return found == Sizes().end() ? 0 : found->second;
}

void SetKernelMode(KernelMode mode) {
    std::lock_guard<std::mutex> lock(g_mutex);
    g_mode = static_cast<int>(mode);
}

}  // namespace AscendC

namespace ascendc_emu {

uint64_t& TwinTilingKey() {
    static uint64_t key = 0;
    return key;
}

void NameTwinArgument(const char* names, int index, const void* address) {
    std::lock_guard<std::mutex> lock(g_mutex);
    const auto found = Sizes().find(address);
    if (found == Sizes().end()) return;
    opgen_register_gm(const_cast<void*>(address), found->second,
                      ArgumentText(names, index).c_str());
}

void RunTwinBody(const char* name, OpgenKernelKind undeclared, uint64_t blocks, void (*body)(void*),
                 void* context) {
    OpgenLaunch launch = {};
    launch.body = body;
    launch.context = context;
    launch.name = name;
    {
        std::lock_guard<std::mutex> lock(g_mutex);
        launch.kind = KindOf(g_mode, undeclared);
    }
    launch.block_dim = blocks > 0xffffffffu ? 0xffffffffu : static_cast<uint32_t>(blocks);
    launch.tiling_key = TwinTilingKey();
    launch.workspace = SystemWorkspace();
    RunReported(launch);
}

}  // namespace ascendc_emu
