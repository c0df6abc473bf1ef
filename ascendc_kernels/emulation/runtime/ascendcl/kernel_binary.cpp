// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Loading kernel binaries and finding their functions (aclrtBinary*).
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <unordered_set>

#include "acl/acl.h"
#include "state.h"

namespace opgen_runtime {

namespace {

struct Binary {
    std::map<std::string, std::unique_ptr<Function>> functions;
};

std::mutex binaries_mutex;

std::unordered_set<void*>& LiveBinaries() {
    static std::unordered_set<void*> all;
    return all;
}

// A handle that is not here is refused instead of read.
std::unordered_set<void*>& LiveFunctions() {
    static std::unordered_set<void*> all;
    return all;
}

std::map<std::string, std::string>& KnownPaths() {
    static std::map<std::string, std::string> all;
    return all;
}

// Files that hold binaries given as data; a library's lines are looked up in its file until the
// end.
struct TemporaryFiles {
    std::vector<std::string> paths;
    ~TemporaryFiles() {
        for (const std::string& path : paths) unlink(path.c_str());
    }
};

std::string FileOf(const std::string& content) {
    std::lock_guard<std::mutex> lock(binaries_mutex);
    auto known = KnownPaths().find(content);
    if (known != KnownPaths().end()) return known->second;
    static TemporaryFiles files;
    std::string path = TemporaryPattern("opgen-kernel");
    int file = mkstemp(&path[0]);
    if (file < 0) return "";
    size_t done = 0;
    while (done < content.size()) {
        ssize_t written = write(file, content.data() + done, content.size() - done);
        if (written <= 0) break;
        done += static_cast<size_t>(written);
    }
    close(file);
    files.paths.push_back(path);
    if (done < content.size()) return "";
    KnownPaths()[content] = path;
    return path;
}

aclError Load(const std::string& path, aclrtBinHandle* handle, const char* api) {
    const OpgenRuntimeKernel* table = OpenKernels(path, api);
    if (table == nullptr) return ACL_ERROR_INVALID_FILE;
    auto binary = std::make_unique<Binary>();
    for (const OpgenRuntimeKernel* kernel = table; kernel->name != nullptr; ++kernel) {
        for (const std::string& name : {LinkName(*kernel), std::string(kernel->name)}) {
            std::unique_ptr<Function>& slot = binary->functions[name];
            if (slot == nullptr) slot.reset(new Function{name, kernel, binary.get()});
        }
    }
    std::lock_guard<std::mutex> lock(binaries_mutex);
    for (const auto& entry : binary->functions) LiveFunctions().insert(entry.second.get());
    *handle = binary.get();
    LiveBinaries().insert(binary.release());
    return ACL_SUCCESS;
}

}  // namespace

const OpgenRuntimeKernel* OpenKernels(const std::string& path, const char* api) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const void* table = library != nullptr ? dlsym(library, "opgen_runtime_kernels") : nullptr;
    if (table == nullptr) {
        const char* const reason = library == nullptr ? dlerror() : nullptr;
        Fail(ACL_ERROR_INVALID_FILE,
             "%s: this is no binary that aclrtc of the emulation made (%s); code for a device "
             "cannot run here",
             api, reason != nullptr ? reason : "it has no table of kernels");
    }
    return static_cast<const OpgenRuntimeKernel*>(table);
}

std::string LinkName(const OpgenRuntimeKernel& kernel) {
    Dl_info info;
    if (dladdr(kernel.address, &info) != 0 && info.dli_sname != nullptr &&
        info.dli_saddr == kernel.address) {
        return info.dli_sname;
    }
    return kernel.name;
}

std::string TemporaryPattern(const char* name) {
    const char* folder = getenv("TMPDIR");
    return std::string(folder != nullptr && *folder != 0 ? folder : "/tmp") + "/" + name +
           "-XXXXXX";
}

bool ReadFile(const std::string& path, std::string* content) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream bytes;
    if (!file || !(bytes << file.rdbuf())) return false;
    *content = bytes.str();
    return true;
}

void RememberBinary(const std::string& content, const std::string& path) {
    std::lock_guard<std::mutex> lock(binaries_mutex);
    KnownPaths()[content] = path;
}

const Function* ResolveFunction(const void* handle, const char* api) {
    std::lock_guard<std::mutex> lock(binaries_mutex);
    if (LiveFunctions().count(const_cast<void*>(handle)) != 0)
        return static_cast<const Function*>(handle);
    Fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: the handle is no function of a loaded binary", api);
    return nullptr;
}

}  // namespace opgen_runtime

using namespace opgen_runtime;

extern "C" {

aclrtBinary aclrtCreateBinary(const void* data, size_t dataLen) {
    if (data == nullptr || dataLen == 0) {
        Fail(ACL_ERROR_INVALID_PARAM, "aclrtCreateBinary: no data");
        return nullptr;
    }
    return new std::string(static_cast<const char*>(data), dataLen);
}

aclError aclrtDestroyBinary(aclrtBinary binary) {
    if (binary == nullptr)
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtDestroyBinary: null argument");
    delete static_cast<std::string*>(binary);
    return ACL_SUCCESS;
}

aclError aclrtBinaryLoad(const aclrtBinary binary, aclrtBinHandle* binHandle) {
    if (binary == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtBinaryLoad: null argument");
    const auto& content = *static_cast<const std::string*>(binary);
    return aclrtBinaryLoadFromData(content.data(), content.size(), nullptr, binHandle);
}

aclError aclrtBinaryLoadFromFile(const char* binPath, aclrtBinaryLoadOptions*,
                                 aclrtBinHandle* binHandle) {
    if (binPath == nullptr || binHandle == nullptr) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtBinaryLoadFromFile: null argument");
    }
    std::string bytes;
    if (!ReadFile(binPath, &bytes)) {
        return Fail(ACL_ERROR_INVALID_FILE, "aclrtBinaryLoadFromFile: cannot read %s", binPath);
    }
    return aclrtBinaryLoadFromData(bytes.data(), bytes.size(), nullptr, binHandle);
}

aclError aclrtBinaryLoadFromData(const void* data, size_t length, const aclrtBinaryLoadOptions*,
                                 aclrtBinHandle* binHandle) {
    if (data == nullptr || length == 0 || binHandle == nullptr) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtBinaryLoadFromData: no data or null argument");
    }
    const std::string path = FileOf(std::string(static_cast<const char*>(data), length));
    if (path.empty()) {
        return Fail(ACL_ERROR_INTERNAL_ERROR,
                    "aclrtBinaryLoadFromData: cannot write a temporary file");
    }
    return Load(path, binHandle, "aclrtBinaryLoadFromData");
}

aclError aclrtBinaryUnLoad(aclrtBinHandle binHandle) {
    std::lock_guard<std::mutex> lock(binaries_mutex);
    if (LiveBinaries().erase(binHandle) == 0) {
        return Fail(ACL_ERROR_RT_INVALID_HANDLE,
                    "aclrtBinaryUnLoad: the handle is no loaded binary");
    }
    auto* binary = static_cast<Binary*>(binHandle);
    for (const auto& entry : binary->functions) LiveFunctions().erase(entry.second.get());
    delete binary;
    return ACL_SUCCESS;
}

aclError aclrtBinaryGetFunction(const aclrtBinHandle binHandle, const char* kernelName,
                                aclrtFuncHandle* funcHandle) {
    if (kernelName == nullptr || funcHandle == nullptr) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtBinaryGetFunction: null argument");
    }
    std::lock_guard<std::mutex> lock(binaries_mutex);
    if (LiveBinaries().count(binHandle) == 0) {
        return Fail(ACL_ERROR_RT_INVALID_HANDLE,
                    "aclrtBinaryGetFunction: the handle is no loaded binary");
    }
    const auto& functions = static_cast<Binary*>(binHandle)->functions;
    auto found = functions.find(kernelName);
    if (found == functions.end()) {
        std::string names;
        for (const auto& entry : functions) names += (names.empty() ? "" : ", ") + entry.first;
        return Fail(ACL_ERROR_INVALID_PARAM,
                    "aclrtBinaryGetFunction: no kernel %s; the binary has: %s", kernelName,
                    names.empty() ? "none" : names.c_str());
    }
    *funcHandle = found->second.get();
    return ACL_SUCCESS;
}

aclError aclrtFunctionGetBinary(const aclrtFuncHandle funcHandle, aclrtBinHandle* binHandle) {
    const Function* function = ResolveFunction(funcHandle, "aclrtFunctionGetBinary");
    if (function == nullptr) return ACL_ERROR_RT_INVALID_HANDLE;
    if (binHandle == nullptr)
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtFunctionGetBinary: null argument");
    *binHandle = function->binary;
    return ACL_SUCCESS;
}

aclError aclrtGetFunctionName(aclrtFuncHandle funcHandle, uint32_t maxLen, char* name) {
    const Function* function = ResolveFunction(funcHandle, "aclrtGetFunctionName");
    if (function == nullptr) return ACL_ERROR_RT_INVALID_HANDLE;
    if (name == nullptr || maxLen == 0) {
        return Fail(ACL_ERROR_INVALID_PARAM, "aclrtGetFunctionName: no room for a name");
    }
    const size_t length = std::min<size_t>(function->name.size(), maxLen - 1);
    std::memcpy(name, function->name.data(), length);
    name[length] = 0;
    return ACL_SUCCESS;
}

}  // extern "C"
