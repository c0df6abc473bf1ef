// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// A vendor package finds its own parts from where it is installed, so no environment variable has
// to be right for a loaded libcust_opapi.so to work.
#include "package.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <fstream>
#include <mutex>
#include <sstream>
#include <vector>

#include "ascendc_emu/op_runtime.h"

namespace opgen_aclnn {
namespace {

bool Exists(const std::string& path) {
    struct stat info;
    return stat(path.c_str(), &info) == 0;
}

std::string Parent(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string OwnFolder() {
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(&LoadPackage), &info) == 0 || info.dli_fname == nullptr) {
        return "";
    }
    return Parent(info.dli_fname);
}

// Lines of opgen_kernels.txt, fields separated by blanks, '#' starts a comment line:
//   host <path>                            op_host library
//   <op> <soc> <key> <path> <entry>        kernel; soc '*' means any
// Paths are relative to the manifest's folder, or absolute.
std::string ReadManifest(const std::string& manifest, std::vector<std::string>* hosts) {
    std::ifstream file(manifest);
    if (!file) {
        return "cannot read " + manifest;
    }
    const auto locate = [&manifest](const std::string& path) {
        return path[0] == '/' ? path : Parent(manifest) + "/" + path;
    };
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
        std::istringstream stream(line);
        std::vector<std::string> fields;
        for (std::string field; stream >> field;) {
            fields.push_back(field);
        }
        if (fields.empty() || fields[0][0] == '#') {
            continue;
        }
        if (fields.size() == 2 && fields[0] == "host") {
            hosts->push_back(locate(fields[1]));
        } else if (fields.size() == 5) {
            const std::string soc = fields[1] == "*" || fields[1] == "-" ? "" : fields[1];
            const std::string path = locate(fields[3]);
            if (!Exists(path)) {
                return manifest + ":" + std::to_string(number) + ": no file " + path;
            }
            if (opgen_register_kernel(fields[0].c_str(), soc.c_str(), fields[2].c_str(),
                                      path.c_str(), fields[4].c_str()) != 0) {
                return manifest + ":" + std::to_string(number) + ": " + opgen_last_error();
            }
        } else {
            return manifest + ":" + std::to_string(number) + ": expected 'op soc key path entry'";
        }
    }
    return "";
}

std::string Load() {
    const std::string own = OwnFolder();
    const std::string vendor = own + "/../..";
    const std::string impl = vendor + "/op_impl/ai_core/tbe";
    const std::vector<std::string> manifests = {own + "/opgen_kernels.txt",
                                                impl + "/kernel/opgen_kernels.txt"};
    std::string searched;
    for (const std::string& manifest : manifests) {
        searched += "\n  " + manifest;
        if (!Exists(manifest)) {
            continue;
        }
        std::vector<std::string> hosts;
        std::string problem = ReadManifest(manifest, &hosts);
        if (!problem.empty()) {
            return problem;
        }
        if (hosts.empty()) {
            hosts.push_back(impl + "/op_tiling/liboptiling.so");
        }
        for (const std::string& host : hosts) {
            if (!Exists(host)) {
                return "no op_host library " + host;
            }
            if (opgen_load_host(host.c_str()) != 0) {
                return "cannot load " + host + ": " + opgen_last_error();
            }
        }
        return "";
    }
    return "the package beside this libcust_opapi.so has no kernel list; looked for" + searched +
           "\ninstall the .run again, or rebuild it with `opgen build --target cpu`";
}

}  // namespace

PackageScope::PackageScope() {
    static const std::string* const name = new std::string(OwnFolder());
    opgen_set_scope(name->c_str());
}

PackageScope::~PackageScope() { opgen_set_scope(""); }

const std::string& LoadPackage() {
    static std::string* problem = nullptr;
    static std::once_flag once;
    std::call_once(once, [] { problem = new std::string(Load()); });
    return *problem;
}

}  // namespace opgen_aclnn
