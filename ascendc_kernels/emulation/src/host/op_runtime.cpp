// SPDX-License-Identifier: Apache-2.0
// The C interface of the op runtime (ascendc_emu/op_runtime.h).
#include "ascendc_emu/op_runtime.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>

#include "ascendc_emu/launch.h"
#include "ascendc_emu/sanitizer.h"
#include "core/crash.h"
#include "host/op_call.h"
#include "host/op_json.h"
#include "host/computed_shapes.h"
#include "host/load_probe.h"
#include "host/op_kernels.h"
#include "host/output_fill.h"
#include "host/template_keys.h"

using ascendc_emu::OpCall;
using ascendc_emu::OpError;

// Tiling done, ready to launch.
struct OpgenExec {
    explicit OpgenExec(const OpgenCall &call) : op(call) {}

    OpCall op;
    ascendc_emu::TilingResult tiling;
    void *entry = nullptr;
    std::string entry_name;
    std::unique_ptr<ascendc_emu::ComputedShapes> computed;
};

namespace {
std::string &LastError() {
    thread_local std::string text;
    return text;
}

std::atomic<uint64_t> g_launches{0};
std::atomic<int> g_mode{OPGEN_MODE_DEFAULT};

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

// Memory block of a dynamic list: offset of the pointers, one shape per tensor, the pointers.
std::vector<uint64_t> ListBlock(const OpCall::Param &param) {
    const uint64_t count = param.tensors.size();
    std::vector<uint64_t> block(1);
    bool scalars_only = true;
    for (const auto &shape : param.shapes) {
        scalars_only = scalars_only && shape.empty();
    }
    if (scalars_only) {
        block.push_back(count << 32);
        block.push_back(0xffffffffU);
    } else {
        for (uint64_t i = 0; i < count; ++i) {
            block.push_back(i << 32 | param.shapes[i].size());
            for (const int64_t dim : param.shapes[i]) {
                block.push_back(static_cast<uint64_t>(dim));
            }
        }
    }
    block[0] = block.size() * sizeof(uint64_t);
    for (const OpgenTensor &tensor : param.tensors) {
        block.push_back(reinterpret_cast<uint64_t>(tensor.data));
    }
    return block;
}

uint64_t BytesOf(const OpgenTensor &tensor, const std::vector<int64_t> &shape) {
    int64_t count = 1;
    for (const int64_t dim : ascendc_emu::StorageDims(tensor, shape)) {
        count *= dim;
    }
    const auto type = static_cast<ge::DataType>(tensor.dtype);
    return static_cast<uint64_t>(ge::GetSizeInBytes(count, type));
}

// Everything a launch points to; alive until the kernel has run.
struct Arguments {
    std::vector<void *> values;
    std::vector<OpgenGmRange> ranges;
    std::vector<std::vector<uint64_t>> lists;
    std::vector<std::string> names;

    void AddRange(void *data, uint64_t bytes, const std::string &name, int kind, int32_t item = 0) {
        // An output that is also an input (in place) is one range that may be written.
        for (OpgenGmRange &range : ranges) {
            if (range.data == data && data != nullptr && range.bytes == bytes) {
                range.kind = OPGEN_GM_INOUT |
                             ((range.kind | kind) & OPGEN_GM_SLICE);  // other flags: of outputs
                return;
            }
        }
        names.push_back(name);
        ranges.push_back({data, bytes, nullptr, kind, item});
    }

    // Args: flags: OPGEN_GM_PARTIAL, OPGEN_GM_OPTIONAL.
    void AddParam(const OpCall::Param &param, const std::string &name, OpgenGmKind kind,
                  int flags = 0) {
        for (size_t i = 0; i < param.tensors.size(); ++i) {
            const std::string full = param.is_list ? name + "[" + std::to_string(i) + "]" : name;
            const OpgenTensor &tensor = param.tensors[i];
            const int own =
                tensor.holds_data != 0 && kind == OPGEN_GM_OUTPUT ? OPGEN_GM_INOUT : kind;
            const auto type = static_cast<ge::DataType>(tensor.dtype);
            // Blocks of a private format are written whole or not.
            const bool padded =
                ascendc_emu::StorageDims(tensor, param.shapes[i]) != param.shapes[i];
            AddRange(tensor.data, BytesOf(tensor, param.shapes[i]), full,
                     own | flags | (tensor.behind > 0 ? OPGEN_GM_SLICE : 0) |
                         (padded ? OPGEN_GM_PARTIAL : 0),
                     type == ge::DT_INT4 ? 0 : static_cast<int32_t>(ge::GetSizeInBytes(1, type)));
        }
        if (param.is_list) {
            lists.push_back(ListBlock(param));
            values.push_back(lists.back().data());
            AddRange(lists.back().data(), lists.back().size() * sizeof(uint64_t), name + " (list)",
                     OPGEN_GM_INPUT);
        } else {
            values.push_back(param.tensors.empty() ? nullptr : param.tensors[0].data);
        }
    }

    // Pointers into `names` are taken last: the vector may have moved while it grew.
    void NameRanges() {
        for (size_t i = 0; i < ranges.size(); ++i) {
            ranges[i].name = names[i].c_str();
        }
    }
};

// What lies in front of the user's workspace, and the user's workspace, as the generated entry
// of CANN's kernel compiler passes them.
struct Workspace {
    // Mapped, not calloc'ed: the libraries' part is 16 MB and hardly touched, and the allocator
    // would clear all of it in every launch once it has learnt the size.
    struct Unmap {
        size_t bytes;
        void operator()(uint8_t *memory) const { munmap(memory, bytes); }
    };
    std::unique_ptr<uint8_t, Unmap> own{nullptr, Unmap{0}};
    uint8_t *base = nullptr;
    uint8_t *user = nullptr;
    uint64_t user_bytes = 0;

    Workspace(void *given, uint64_t tiled, uint64_t library) {
        base = static_cast<uint8_t *>(given);
        if (tiled < library || base == nullptr) {
            // Tiling asked for less than the device libraries use; they still need their part.
            const size_t bytes = library + tiled + 64;
            void *mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (mapped == MAP_FAILED) {
                throw OpError("no memory for a workspace of " + std::to_string(bytes) + " bytes");
            }
            own = {static_cast<uint8_t *>(mapped), Unmap{bytes}};
            base = own.get();
        }
        user = base + library;
        user_bytes = tiled > library ? tiled - library : 0;
    }
};

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

void Launch(OpgenExec &exec, void *workspace) {
    Arguments args;
    const auto &inputs = exec.op.inputs();
    const auto &outputs = exec.op.outputs();
    args.lists.reserve(inputs.size() + outputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
        args.AddParam(inputs[i], exec.op.InputName(i), OPGEN_GM_INPUT);
    }
    const auto &declared = exec.op.entry().def;
    for (size_t i = 0; i < outputs.size(); ++i) {
        // What the runtime fills before the launch may be read and added to.
        const bool filled =
            exec.tiling.need_atomic || (declared != nullptr && i < declared->outputs.size() &&
                                        !declared->outputs[i].init_values.empty());
        int flags = 0;
        if (declared != nullptr && i < declared->outputs.size()) {
            flags |= declared->outputs[i].shape_depends_on_compute ? OPGEN_GM_PARTIAL : 0;
            flags |= declared->outputs[i].param_type == ops::OPTIONAL ? OPGEN_GM_OPTIONAL : 0;
        }
        args.AddParam(outputs[i], exec.op.OutputName(i), filled ? OPGEN_GM_INOUT : OPGEN_GM_OUTPUT,
                      flags);
    }
    exec.computed.reset(new ascendc_emu::ComputedShapes(exec.op));
    if (!exec.computed->empty()) {
        args.values.push_back(exec.computed->data());
        args.AddRange(exec.computed->data(), exec.computed->bytes(), "output shapes",
                      OPGEN_GM_OUTPUT | OPGEN_GM_PARTIAL);
    }
    const uint64_t tiled = exec.tiling.workspace_size();
    const Workspace space(workspace, tiled, exec.op.soc().LibraryWorkspace());
    const gert::TilingData &tiling = exec.tiling.tiling_data();
    // The kernel may modify nothing of it, but takes it as GM_ADDR.
    std::vector<uint64_t> tiling_copy(tiling.GetDataSize() / sizeof(uint64_t) + 1);
    std::memcpy(tiling_copy.data(), tiling.GetData(), tiling.GetDataSize());
    if (exec.tiling.need_atomic) {
        for (const OpCall::Param &param : outputs) {
            for (size_t i = 0; i < param.tensors.size(); ++i) {
                std::memset(param.tensors[i].data, 0, BytesOf(param.tensors[i], param.shapes[i]));
            }
        }
    }
    if (exec.op.entry().def != nullptr) {
        const auto &defs = exec.op.entry().def->outputs;
        for (size_t i = 0; i < outputs.size() && i < defs.size(); ++i) {
            if (!defs[i].init_values.empty()) {
                const int combo = exec.op.MatchingCombo(nullptr);
                const size_t place = static_cast<size_t>(combo < 0 ? 0 : combo);
                const auto &values = defs[i].init_values;
                const auto &value = values[place < values.size() ? place : 0];
                ascendc_emu::FillOutput(outputs[i], value.value);
            }
        }
    }
    args.values.push_back(space.user);
    args.values.push_back(tiling_copy.data());
    args.AddRange(space.user, space.user_bytes, "workspace", OPGEN_GM_WORKSPACE);
    args.AddRange(space.base, static_cast<uint64_t>(space.user - space.base), "system workspace",
                  OPGEN_GM_OTHER);
    args.AddRange(tiling_copy.data(), tiling.GetDataSize(), "tiling", OPGEN_GM_TILING);
    args.NameRanges();

    OpgenLaunch launch = {};
    launch.entry = exec.entry;
    launch.args = args.values.data();
    launch.num_args = static_cast<int32_t>(args.values.size());
    launch.name = exec.entry_name.c_str();
    launch.soc = exec.op.soc().name.c_str();
    launch.kind = OPGEN_KERNEL_AUTO;
    launch.mode = g_mode.load();
    launch.block_dim = exec.tiling.block_dim;
    launch.tiling_key = exec.tiling.key;
    launch.tiling_data = tiling_copy.data();
    launch.tiling_size = tiling.GetDataSize();
    launch.workspace = space.base;
    launch.ranges = args.ranges.data();
    launch.num_ranges = static_cast<int32_t>(args.ranges.size());
    if (opgen_run_kernel(&launch) != 0) {
        throw OpError(exec.op.Describe() + ": kernel failed: " + opgen_launch_error());
    }
    ++g_launches;
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
        prepared->tiling = prepared->op.Tile();
        *workspace_size = prepared->tiling.workspace_size();
        *exec = prepared.release();
    });
}

int opgen_exec_tiling(const OpgenExec *exec, uint32_t *block_dim, uint64_t *tiling_key,
                      const void **tiling_data, uint64_t *tiling_size) {
    return Guard([&] {
        const gert::TilingData &data = exec->tiling.tiling_data();
        *block_dim = exec->tiling.block_dim;
        *tiling_key = exec->tiling.key;
        *tiling_data = data.GetData();
        *tiling_size = data.GetDataSize();
    });
}

int opgen_launch(OpgenExec *exec, void *workspace) {
    return Guard([&] {
        exec->entry = ascendc_emu::KernelEntry(exec->op, &exec->entry_name);
        Launch(*exec, workspace);
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
