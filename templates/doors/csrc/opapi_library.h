// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Finding the libcust_opapi.so of the vendor's package. Looked up at the first call of an op, not
// at import, so that setting ASCEND_CUSTOM_OPP_PATH or installing the package later still works.
#ifndef OPGEN_BINDING_OPAPI_LIBRARY_H
#define OPGEN_BINDING_OPAPI_LIBRARY_H

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "checks.h"

// Opaque here: a binding needs no CANN header.
struct aclTensor;
struct aclTensorList;
struct aclIntArray;
struct aclFloatArray;
struct aclOpExecutor;

namespace opgen_binding __attribute__((visibility("hidden"))) {

    // A libcust_opapi.so and the functions of the aclnn base library behind it.
    struct OpApi {
        void* handle = nullptr;
        bool emulated = false;
        std::string path;

        aclTensor* (*create_tensor)(const int64_t*, uint64_t, int, const int64_t*, int64_t, int,
                                    const int64_t*, uint64_t, void*) = nullptr;
        aclTensorList* (*create_tensor_list)(const aclTensor* const*, uint64_t) = nullptr;
        aclIntArray* (*create_int_array)(const int64_t*, uint64_t) = nullptr;
        aclFloatArray* (*create_float_array)(const float*, uint64_t) = nullptr;
        int (*destroy_tensor)(const aclTensor*) = nullptr;
        int (*destroy_tensor_list)(const aclTensorList*) = nullptr;
        int (*destroy_int_array)(const aclIntArray*) = nullptr;
        int (*destroy_float_array)(const aclFloatArray*) = nullptr;
        const char* (*recent_error)() = nullptr;
    };

    using LaunchFn = int (*)(void*, uint64_t, aclOpExecutor*, void*);

    // The two functions of one op, for one kind of device.
    struct OpFunctions {
        const OpApi* api = nullptr;
        void* workspace_size = nullptr;
        LaunchFn launch = nullptr;
    };

    // What a binding knows of libraries and calls, for all of its ops.
    struct BindingState {
        std::mutex mutex;
        std::vector<std::string> extra_paths;  // vendor folders added by the binding
        std::map<std::string, std::unique_ptr<OpApi>> libraries;  // by path, never unloaded
        std::map<std::pair<std::string, bool>, OpFunctions> functions;
        std::map<std::string, uint64_t> calls;
        std::string last_backend;
    };

    inline BindingState& State() {
        static BindingState* state = new BindingState;  // outlives every thread that may still call
        return *state;
    }

    inline bool FileExists(const std::string& path) {
        struct stat info;
        return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
    }

    inline std::vector<std::string> Split(const std::string& text, char separator) {
        std::vector<std::string> parts;
        std::istringstream stream(text);
        for (std::string part; std::getline(stream, part, separator);) {
            while (!part.empty() &&
                   (part.back() == '/' || part.back() == ' ' || part.back() == '\r')) {
                part.pop_back();
            }
            while (!part.empty() && part.front() == ' ') {
                part.erase(0, 1);
            }
            if (!part.empty()) {
                parts.push_back(part);
            }
        }
        return parts;
    }

    inline std::string BaseName(const std::string& path) {
        return path.substr(path.rfind('/') + 1);
    }

    // vendors/config.ini: load_priority=newest,older
    inline std::vector<std::string> InstalledVendors(const std::string& vendors) {
        std::ifstream config(vendors + "/config.ini");
        for (std::string line; std::getline(config, line);) {
            const std::string key = "load_priority=";
            if (line.compare(0, key.size(), key) == 0) {
                return Split(line.substr(key.size()), ',');
            }
        }
        return {};
    }

    struct Candidate {
        std::string origin;  // what made us look there
        std::string folder;  // a vendor folder
    };

    // Every vendor folder to look into, best first. Folders named like our vendor come before
    // others, which may hold an op of the same name.
    inline std::vector<Candidate> Candidates(const std::vector<std::string>& extra) {
        std::vector<Candidate> all;
        for (const std::string& path : extra) {
            all.push_back({"added by the package", path});
        }
        const char* custom = std::getenv("ASCEND_CUSTOM_OPP_PATH");
        for (const std::string& path : Split(custom == nullptr ? "" : custom, ':')) {
            all.push_back({"ASCEND_CUSTOM_OPP_PATH", path});
        }
        const char* opp = std::getenv("ASCEND_OPP_PATH");
        if (opp != nullptr && *opp != '\0') {
            const std::string vendors = std::string(opp) + "/vendors";
            bool ours = false;
            for (const std::string& name : InstalledVendors(vendors)) {
                all.push_back({"ASCEND_OPP_PATH", vendors + "/" + name});
                ours = ours || name == OPGEN_BINDING_VENDOR;
            }
            if (!ours) {
                all.push_back({"ASCEND_OPP_PATH", vendors + "/" OPGEN_BINDING_VENDOR});
            }
        }
        std::vector<Candidate> sorted;
        for (bool named : {true, false}) {
            for (const Candidate& candidate : all) {
                if ((BaseName(candidate.folder) == OPGEN_BINDING_VENDOR) == named) {
                    sorted.push_back(candidate);
                }
            }
        }
        return sorted;
    }

    template <typename Fn>
    bool Resolve(void* handle, const char* name, Fn* fn, std::string* missing) {
        *fn = reinterpret_cast<Fn>(dlsym(handle, name));
        if (*fn == nullptr) {
            *missing += std::string(missing->empty() ? "" : ", ") + name;
        }
        return *fn != nullptr;
    }

    // Load one library; returns null and says why.
    inline const OpApi* LoadOpApi(const std::string& path, std::string* why) {
        std::unique_ptr<OpApi>& known = State().libraries[path];
        if (known != nullptr) {
            return known.get();
        }
        auto api = std::make_unique<OpApi>();
        api->path = path;
        api->handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (api->handle == nullptr) {
            const char* text = dlerror();
            *why = std::string("does not load: ") + (text == nullptr ? "" : text);
            return nullptr;
        }
        const auto target =
            reinterpret_cast<const char* (*)()>(dlsym(api->handle, "opgen_opapi_target"));
        api->emulated = target != nullptr && std::strcmp(target(), "cpu") == 0;
        std::string missing;
        // dlsym on the handle also searches what the library depends on, so these come from the
        // base library that it was linked with, wherever that is.
        Resolve(api->handle, "aclCreateTensor", &api->create_tensor, &missing);
        Resolve(api->handle, "aclCreateTensorList", &api->create_tensor_list, &missing);
        Resolve(api->handle, "aclCreateIntArray", &api->create_int_array, &missing);
        Resolve(api->handle, "aclCreateFloatArray", &api->create_float_array, &missing);
        Resolve(api->handle, "aclDestroyTensor", &api->destroy_tensor, &missing);
        Resolve(api->handle, "aclDestroyTensorList", &api->destroy_tensor_list, &missing);
        Resolve(api->handle, "aclDestroyIntArray", &api->destroy_int_array, &missing);
        Resolve(api->handle, "aclDestroyFloatArray", &api->destroy_float_array, &missing);
        if (!missing.empty()) {
            *why = "lacks " + missing + " (is its libnnopbase.so there?)";
            return nullptr;
        }
        std::string optional;
        if (!Resolve(api->handle, "aclGetRecentErrMsg", &api->recent_error, &optional)) {
            Resolve(RTLD_DEFAULT, "aclGetRecentErrMsg", &api->recent_error, &optional);
        }
        known = std::move(api);
        return known.get();
    }

    // Look for the package in vendors/<vendor> beside the library that `inside` lies in, before
    // anywhere else: a binding and the ops it was built with travel together.
    inline void SearchBeside(const void* inside) {
        Dl_info info;
        if (dladdr(inside, &info) == 0 || info.dli_fname == nullptr) {
            return;
        }
        const std::string library = info.dli_fname;
        const size_t slash = library.rfind('/');
        const std::string folder = (slash == std::string::npos ? "." : library.substr(0, slash)) +
                                   "/vendors/" OPGEN_BINDING_VENDOR;
        BindingState& state = State();
        std::lock_guard<std::mutex> lock(state.mutex);
        for (const std::string& known : state.extra_paths) {
            if (known == folder) {
                return;
            }
        }
        state.extra_paths.insert(state.extra_paths.begin(), folder);
    }

    // Whether the process' ACL runtime is the emulated one.
    inline bool RuntimeEmulated() { return dlsym(RTLD_DEFAULT, "opgen_acl_set_error") != nullptr; }

    // Look the op up in the installed packages; throws with every path tried and the cure.
    inline OpFunctions FindOp(const char* op, const char* aclnn, bool cpu) {
        BindingState& state = State();
        std::lock_guard<std::mutex> lock(state.mutex);
        const auto key = std::make_pair(std::string(op), cpu);
        const auto found = state.functions.find(key);
        if (found != state.functions.end()) {
            return found->second;
        }
        std::string searched;
        for (const Candidate& candidate : Candidates(state.extra_paths)) {
            const std::string path = candidate.folder + "/op_api/lib/libcust_opapi.so";
            std::string why;
            const OpApi* api = nullptr;
            if (!FileExists(path)) {
                why = "no such file";
            } else if ((api = LoadOpApi(path, &why)) != nullptr) {
                OpFunctions functions;
                functions.api = api;
                functions.workspace_size =
                    dlsym(api->handle, (std::string(aclnn) + "GetWorkspaceSize").c_str());
                functions.launch = reinterpret_cast<LaunchFn>(dlsym(api->handle, aclnn));
                if (functions.workspace_size == nullptr || functions.launch == nullptr) {
                    why = std::string("has no ") + aclnn + "; rebuild and reinstall the package";
                } else if (cpu && !api->emulated) {
                    why = "is built for an NPU, the tensors are on the CPU";
                } else if (!cpu && api->emulated && !RuntimeEmulated()) {
                    why = "is built for the CPU, the tensors are on a real NPU";
                } else {
                    return state.functions[key] = functions;
                }
            }
            searched += "\n  " + candidate.origin + ": " + path + ": " + why;
        }
        if (searched.empty()) {
            searched = "\n  nowhere: neither ASCEND_CUSTOM_OPP_PATH nor ASCEND_OPP_PATH is set";
        }
        const char* target = cpu ? "cpu" : "npu";
        OPGEN_CHECK(false, std::string(op) + ": found no " + aclnn + " for " + target +
                               " tensors. Searched:" + searched +
                               "\nCure: install the package (opgen build --target " + target +
                               " makes it; sh custom_opp_*.run --install-path=DIR) and\n  export "
                               "ASCEND_CUSTOM_OPP_PATH=DIR/vendors/" OPGEN_BINDING_VENDOR);
        return {};
    }

    [[noreturn]] inline void FailPhase(const char* op, const char* aclnn, const OpApi& api,
                                       int phase, int status) {
        const char* text = api.recent_error == nullptr ? nullptr : api.recent_error();
        const char* meaning = status == 161001   ? " (null parameter)"
                              : status == 161002 ? " (bad parameter)"
                              : status == 561002 ? " (tiling failed)"
                              : status == 561003 ? " (kernel not found)"
                                                 : "";
        OPGEN_CHECK(false, std::string(op) + ": " + aclnn + (phase == 1 ? "GetWorkspaceSize" : "") +
                               " returned " + std::to_string(status) + meaning +
                               (text == nullptr || *text == '\0' ? std::string()
                                                                 : std::string(": ") + text) +
                               "\n  in " + api.path);
        std::abort();  // not reached
    }

    inline void CountCall(const char* op, const char* backend) {
        BindingState& state = State();
        std::lock_guard<std::mutex> lock(state.mutex);
        ++state.calls[op];
        state.last_backend = backend;
    }

}  // namespace opgen_binding

#endif  // OPGEN_BINDING_OPAPI_LIBRARY_H
