// SPDX-License-Identifier: Apache-2.0
#include "host/op_kernels.h"

#include <dlfcn.h>

#include <mutex>
#include <vector>

#include "host/lower_case.h"
#include "host/op_scope.h"

namespace ascendc_emu {
namespace {
struct Kernel {
    std::string scope;
    std::string op_type;
    std::string soc;  // exact or family name in lower case, or empty: any
    std::string key;
    std::string path;
    std::string entry;
    void *address = nullptr;
};

std::mutex &KernelsMutex() {
    static std::mutex mutex;
    return mutex;
}

std::vector<Kernel> &Kernels() {
    static std::vector<Kernel> kernels;
    return kernels;
}

std::vector<std::string> Split(const std::string &text) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == ',') {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

// "*" on either side stands for any dtype.
bool Matches(const std::string &key, const std::string &wanted) {
    const std::vector<std::string> a = Split(key);
    const std::vector<std::string> b = Split(wanted);
    if (key == "*") {
        return true;
    }
    if (a.size() != b.size()) {
        return false;
    }
    for (size_t i = 0; i < a.size(); ++i) {
        if (a[i] != b[i] && a[i] != "*" && b[i] != "*") {
            return false;
        }
    }
    return true;
}

void Load(Kernel &kernel) {
    // RTLD_LOCAL: kernels of different ops define the same class and constant names.
    void *const handle = dlopen(kernel.path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        throw OpError("op " + kernel.op_type + ": kernel library cannot be loaded: " + dlerror());
    }
    kernel.address = dlsym(handle, kernel.entry.c_str());
    if (kernel.address == nullptr) {
        throw OpError("op " + kernel.op_type + ": " + kernel.path + " has no kernel entry " +
                      kernel.entry + " (extern \"C\" __global__ __aicore__ void " + kernel.entry +
                      "(...))");
    }
}
}  // namespace

void RegisterKernel(const std::string &op_type, const std::string &soc, const std::string &key,
                    const std::string &path, const std::string &entry) {
    const std::lock_guard<std::mutex> lock(KernelsMutex());
    Kernels().push_back({CurrentScope(), op_type, Lower(soc), key, path, entry, nullptr});
}

void *KernelEntry(const OpCall &call, std::string *name) {
    const std::string wanted = call.KernelKey();
    const std::lock_guard<std::mutex> lock(KernelsMutex());
    std::string known;
    for (auto kernel = Kernels().rbegin(); kernel != Kernels().rend(); ++kernel) {
        if (kernel->op_type != call.op_type() || kernel->scope != CurrentScope()) {
            continue;
        }
        const bool soc = kernel->soc.empty() || kernel->soc == Lower(call.soc().name) ||
                         kernel->soc == Lower(call.soc().family);
        if (soc && Matches(kernel->key, wanted)) {
            if (kernel->address == nullptr) {
                Load(*kernel);
            }
            *name = kernel->entry;
            return kernel->address;
        }
        known += "\n  " + kernel->key + (kernel->soc.empty() ? "" : " on " + kernel->soc);
    }
    throw OpError(
        call.Describe() + ": no kernel for dtypes " + wanted +
        (known.empty() ? "; no kernel of this op is registered" : "; registered are:" + known));
}
}  // namespace ascendc_emu
