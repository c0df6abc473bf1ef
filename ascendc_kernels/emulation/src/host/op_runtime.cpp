// SPDX-License-Identifier: Apache-2.0
// The C interface of the op runtime (ascendc_emu/op_runtime.h).
#include "ascendc_emu/op_runtime.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>

#include "ascendc_emu/launch.h"
#include "ascendc_emu/sanitizer.h"
#include "core/crash.h"
#include "core/thread_object.h"
#include "host/known_calls.h"
#include "host/op_call.h"
#include "host/op_registry.h"

using ascendc_emu::OpCall;
using ascendc_emu::OpError;

namespace {
std::string &LastError() {
    thread_local std::string text;
    return text;
}

std::atomic<uint64_t> g_launches{0};
std::atomic<int> g_mode{OPGEN_MODE_DEFAULT};

// Of the last opgen_recall on this thread.
std::string &KeyOfThread() { return ascendc_emu::OfThread<std::string>(); }

// Runs `body` and turns exceptions, also those of foreign op-host code, into an error text.
template <typename Body>
int Guard(Body body) {
    try {
        ascendc_emu::SetLastCrash("");
        body();
        return 0;
    } catch (const OpError &error) {
        LastError() = error.what();
    } catch (const std::bad_alloc &) {
        LastError() = "out of memory: the host has none left for the op";
    } catch (const std::exception &error) {
        LastError() = std::string("exception in op-host code: ") + error.what();
    } catch (...) {
        LastError() = "exception of unknown type in op-host code";
    }
    return 1;
}

int ModeOf(const char *name) {
    if (name == nullptr || *name == '\0') {
        return OPGEN_MODE_DEFAULT;
    }
    const std::string text = name;
    return text == "fast"      ? OPGEN_MODE_FAST
           : text == "check"   ? OPGEN_MODE_CHECK
           : text == "profile" ? OPGEN_MODE_PROFILE
                               : -1;
}

void StoreShapes(const OpCall &op, const std::vector<gert::Shape> &inferred, int64_t *shapes,
                 int32_t *ranks) {
    for (size_t i = 0; i < inferred.size(); ++i) {
        if (inferred[i].GetDimNum() > 8) {
            throw OpError(op.Describe() + ": InferShape gives output " + op.OutputName(i) +
                          " rank " + std::to_string(inferred[i].GetDimNum()));
        }
        ranks[i] = static_cast<int32_t>(inferred[i].GetDimNum());
        for (size_t d = 0; d < inferred[i].GetDimNum(); ++d) {
            shapes[i * 8 + d] = inferred[i].GetDim(d);
        }
    }
}

}  // namespace

extern "C" {

int opgen_load_host(const char *path) {
    return Guard([&] {
        const std::string failure = ascendc_emu::CrashOfLoading(path);
        if (!failure.empty()) {
            throw OpError("the initialisation of the host library crashed: " + failure);
        }
        // Never closed: registered functions live in it.
        void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            throw OpError(std::string("host library cannot be loaded: ") + dlerror());
        }
    });
}

int opgen_register_kernel(const char *op_type, const char *soc, const char *key, const char *path,
                          const char *entry) {
    return Guard([&] {
        if (op_type == nullptr || key == nullptr || path == nullptr || entry == nullptr) {
            throw OpError("opgen_register_kernel: null argument");
        }
        ascendc_emu::RegisterKernel(op_type, soc == nullptr ? "" : soc, key, path, entry);
    });
}

int opgen_infer(const OpgenCall *call, int64_t *shapes, int32_t *ranks, int32_t *dtypes) {
    return Guard([&] {
        OpCall op(*call);
        if (shapes != nullptr && ranks != nullptr) {
            StoreShapes(op, op.InferShape(), shapes, ranks);
        }
        if (dtypes != nullptr) {
            const std::vector<ge::DataType> types = op.InferDataType();
            for (size_t i = 0; i < types.size(); ++i) {
                dtypes[i] = static_cast<int32_t>(types[i]);
            }
        }
    });
}

int opgen_infer_largest(const OpgenCall *call, int64_t *shapes, int32_t *ranks) {
    return Guard([&] {
        OpCall op(*call);
        StoreShapes(op, op.LargestShapes(), shapes, ranks);
    });
}

int opgen_prepare(const OpgenCall *call, OpgenExec **exec, uint64_t *workspace_size) {
    return Guard([&] {
        std::unique_ptr<OpgenExec> prepared(new OpgenExec(*call));
        prepared->op.CheckSupport();
        if (call->skip_shape_check == 0) {
            prepared->op.CheckOutputs();
        }
        prepared->tiling = std::make_shared<const ascendc_emu::TilingResult>(prepared->op.Tile());
        *workspace_size = prepared->tiling->workspace_size();
        *exec = prepared.release();
    });
}

int opgen_recall(const OpgenCall *call, OpgenExec **exec, uint64_t *workspace_size) {
    *exec = nullptr;
    return Guard([&] {
        std::string &key = KeyOfThread();
        key = ascendc_emu::KeyOfCall(*call);
        std::shared_ptr<ascendc_emu::KnownCall> known;
        if (!key.empty()) {
            known = ascendc_emu::FindKnownCall(key, call->op_type);
        }
        if (known != nullptr) {
            *workspace_size = known->workspace_size;
            *exec = new OpgenExec(*call, std::move(known));
        }
    });
}

void opgen_remember(const OpgenExec *exec) {
    (void)Guard([&] { ascendc_emu::RememberCall(KeyOfThread(), *exec); });
}

int opgen_exec_tiling(const OpgenExec *exec, uint32_t *block_dim, uint64_t *tiling_key,
                      const void **tiling_data, uint64_t *tiling_size) {
    return Guard([&] {
        const gert::TilingData &data = exec->tiling->tiling_data();
        *block_dim = exec->tiling->block_dim;
        *tiling_key = exec->tiling->key;
        *tiling_data = data.GetData();
        *tiling_size = data.GetDataSize();
    });
}

int opgen_launch(OpgenExec *exec, void *workspace) {
    return Guard([&] {
        ascendc_emu::LaunchOp(*exec, workspace, g_mode.load());
        ++g_launches;
    });
}

int opgen_exec_output_shapes(const OpgenExec *exec, int64_t *shapes, int32_t *ranks) {
    return Guard([&] {
        if (exec->computed == nullptr) {
            throw OpError(exec->op.Describe() + ": the kernel has not run yet");
        }
        exec->computed->Read(exec->op, shapes, ranks);
    });
}

void opgen_exec_free(OpgenExec *exec) { delete exec; }

int opgen_set_mode(const char *mode) {
    return Guard([&] {
        const int value = ModeOf(mode);
        if (value < 0) {
            throw OpError(std::string("unknown mode '") + mode + "'; use fast, check or profile");
        }
        g_mode = value;
    });
}

int opgen_default_mode(void) {
    const int mode = g_mode.load();
    if (mode != OPGEN_MODE_DEFAULT) {
        return mode;
    }
    const int chosen = ModeOf(std::getenv("OPGEN_EMULATION"));
    return chosen <= OPGEN_MODE_DEFAULT ? OPGEN_MODE_FAST : chosen;
}

const char *opgen_findings_json(void) { return opgen_sanitizer_json(); }

void opgen_clear_findings(void) { opgen_sanitizer_clear(); }

uint64_t opgen_launch_count(void) { return g_launches.load(); }

const char *opgen_op_defs_json(void) {
    thread_local std::string text;
    text = ascendc_emu::OpDefsJson();
    return text.c_str();
}

const char *opgen_tiling_defs_json(void) {
    thread_local std::string text;
    text = ascendc_emu::TilingDefsJson();
    return text.c_str();
}

const char *opgen_template_json(const char *op_type, uint64_t key) {
    thread_local std::string text;
    text = ascendc_emu::TemplateJson(op_type, key);
    return text.c_str();
}

const char *opgen_template_keys_json(const char *op_type) {
    thread_local std::string text;
    text = ascendc_emu::TemplateKeysJson(op_type);
    return text.c_str();
}

const char *opgen_last_error(void) { return LastError().c_str(); }

const char *opgen_last_crash_json(void) {
    thread_local std::string text;
    text = ascendc_emu::LastCrash();
    return text.c_str();
}
}
