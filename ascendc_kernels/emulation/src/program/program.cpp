// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
#include "ascendc_emu/program.h"

#include <stdio.h>
#include <stdlib.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "ascendc_emu/core.h"
#include "ascendc_emu/op_runtime.h"
#include "core/crash.h"
#include "core/time_limit.h"
#include "program/exit_report.h"

namespace ascendc_emu {
namespace {

// Collected over the life of the program and written where `opgen run` asked for it.
class ExitReport {
 public:
    static ExitReport& Instance() {
        static ExitReport report;
        return report;
    }

    void AddFailure(const char* kernel, const char* text) {
        std::lock_guard<std::mutex> lock(mutex_);
        ++failures_;
        const std::string place = LastCrash();
        if (place.find("\"limit\"") != std::string::npos) {
            late_ += std::string(late_.empty() ? "" : ", ") + "{\"kernel\": " + JsonString(kernel) +
                     ", \"crash\": " + place + "}";
        }
        fprintf(stderr, "kernel %s failed: %s\n", kernel, text);
        fflush(stderr);
    }

    void AddLaunch() {
        std::lock_guard<std::mutex> lock(mutex_);
        ++launches_;
    }

    ~ExitReport() { Write(true); }

    // Args: ended: in good order, so that what is still allocated is a leak.
    void Write(bool ended) {
        const char* path = getenv("OPGEN_PROGRAM_REPORT");
        if (path == nullptr || *path == '\0') {
            return;
        }
        if (ended) opgen_gm_exit();
        FILE* file = fopen(path, "w");
        if (file == nullptr) {
            fprintf(stderr, "opgen: cannot write the report of the program to %s\n", path);
            return;
        }
        fprintf(file,
                "{\"launches\": %llu, \"failures\": %llu, \"late\": [%s], \"findings\": %s}\n",
                static_cast<unsigned long long>(launches_),
                static_cast<unsigned long long>(failures_), late_.c_str(), opgen_findings_json());
        fclose(file);
    }

 private:
    // The findings live in the library's own static storage: touching them here makes them outlive
    // this object.
    ExitReport() { (void)opgen_findings_json(); }

    std::mutex mutex_;
    unsigned long long launches_ = 0;
    unsigned long long failures_ = 0;
    std::string late_;  // launches that ran out of time, as JSON
};

}  // namespace

void WriteExitReport() { ExitReport::Instance().Write(false); }

void RunReported(const OpgenLaunch& launch) {
    ExitReport& report = ExitReport::Instance();
    report.AddLaunch();
    SetLastCrash("");
    NoteProgress(true);
    const int status = opgen_run_kernel(&launch);
    NoteProgress(false);
    if (status != 0) {
        report.AddFailure(launch.name, opgen_launch_error());
    }
}

namespace {

// What the libraries of CANN reserve for themselves in a kernel's workspace on arch 2201.
constexpr size_t kSystemWorkspace = 16u << 20;

}  // namespace

void* SystemWorkspace() {
    static void* memory = [] {
        void* fresh = calloc(1, kSystemWorkspace);
        opgen_register_gm(fresh, kSystemWorkspace, "system workspace");
        return fresh;
    }();
    return memory;
}

namespace {
std::map<std::pair<int, std::string>, KernelBody>& CubeBodies() {
    static std::map<std::pair<int, std::string>, KernelBody> all;
    return all;
}
}  // namespace

bool RegisterCubeBody(int site, const char* call, KernelBody body) {
    CubeBodies()[{site, call}] = body;
    return true;
}

KernelBody FindCubeBody(int site, const char* call) {
    const auto found = CubeBodies().find({site, call});
    if (found != CubeBodies().end()) return found->second;
    // The type's name may say the core kind; a launch that stands in no template has one call.
    KernelBody only = nullptr;
    for (const auto& [key, body] : CubeBodies()) {
        if (key.first != site) continue;
        if (only != nullptr) return nullptr;
        only = body;
    }
    return only;
}

bool RunsOnCubeCore() { return Current().kind == CoreKind::kAic; }

void LaunchProgramBody(const char* name, OpgenKernelKind kind, int suggested, uint32_t blocks,
                       void* stream, void (*body)(void*), void* context) {
    (void)stream;  // streams of the emulated runtime execute in program order
    SuggestKind(reinterpret_cast<void*>(body), suggested);
    OpgenLaunch launch = {};
    launch.body = body;
    launch.context = context;
    launch.name = name;
    launch.kind = kind;
    launch.block_dim = blocks;
    launch.workspace = SystemWorkspace();
    RunReported(launch);
}

}  // namespace ascendc_emu
