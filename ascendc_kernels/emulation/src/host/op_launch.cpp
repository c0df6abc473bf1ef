// SPDX-License-Identifier: Apache-2.0
// Kernels by op, SoC and dtypes, and their launch.

#include <dlfcn.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "ascendc_emu/launch.h"
#include "core/thread_object.h"
#include "host/known_calls.h"
#include "host/op_call.h"
#include "host/platform_instance.h"
#include "host/op_registry.h"

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

// The kernel for this call; loads its library at first use. Throws OpError.
std::shared_ptr<const FoundKernel> FindKernel(const OpCall &call) {
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
            const FoundKernel found = {kernel->address, kernel->entry, Kernels().size()};
            return std::make_shared<const FoundKernel>(found);
        }
        known += "\n  " + kernel->key + (kernel->soc.empty() ? "" : " on " + kernel->soc);
    }
    throw OpError(
        call.Describe() + ": no kernel for dtypes " + wanted +
        (known.empty() ? "; no kernel of this op is registered" : "; registered are:" + known));
}

// The same; a known call keeps it until another kernel is registered.
std::shared_ptr<const FoundKernel> KernelOf(const OpgenExec &exec) {
    if (exec.known == nullptr) {
        return FindKernel(exec.op);
    }
    std::shared_ptr<const FoundKernel> kernel = std::atomic_load(&exec.known->kernel);
    size_t registered = 0;
    {
        const std::lock_guard<std::mutex> lock(KernelsMutex());
        registered = Kernels().size();
    }
    if (kernel == nullptr || kernel->registered != registered) {
        kernel = FindKernel(exec.op);
        std::atomic_store(&exec.known->kernel, kernel);
    }
    return kernel;
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

uint64_t BytesOf(const OpgenTensor &tensor, const std::vector<int64_t> &dims) {
    int64_t count = 1;
    for (const int64_t dim : dims) {
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
            const std::vector<int64_t> &shape = param.shapes[i];
            const bool padded = !IsStoredAsShaped(tensor, shape);
            AddRange(tensor.data, BytesOf(tensor, padded ? StorageDims(tensor, shape) : shape),
                     full,
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
    // would clear all of it in every launch once it has learnt the size. The thread keeps one
    // mapping for its next launch, and gives its pages back: what is not written stays zero.
    struct Mapping {
        uint8_t *memory = nullptr;
        size_t bytes = 0;

        Mapping() = default;
        Mapping(const Mapping &) = delete;
        Mapping &operator=(const Mapping &) = delete;
        ~Mapping() {
            if (memory != nullptr) {
                munmap(memory, bytes);
            }
        }
        void Swap(Mapping &other) {
            std::swap(memory, other.memory);
            std::swap(bytes, other.bytes);
        }
    };
    Mapping own;
    uint8_t *base = nullptr;
    uint8_t *user = nullptr;
    uint64_t user_bytes = 0;

    Workspace(void *given, uint64_t tiled, uint64_t library) {
        base = static_cast<uint8_t *>(given);
        if (tiled < library || base == nullptr) {
            // Tiling asked for less than the device libraries use; they still need their part.
            Map(library + tiled + 64);
            base = own.memory;
        }
        user = base + library;
        user_bytes = tiled > library ? tiled - library : 0;
    }

    ~Workspace() {
        Mapping &kept = OfThread<Mapping>();
        if (own.memory != nullptr && kept.memory == nullptr && own.bytes <= kMostKept &&
            madvise(own.memory, own.bytes, MADV_DONTNEED) == 0) {
            kept.Swap(own);
        }
    }

 private:
    static constexpr size_t kMostKept = size_t{64} << 20;

    void Map(size_t bytes) {
        own.Swap(OfThread<Mapping>());
        if (own.bytes >= bytes) {
            return;
        }
        Mapping fresh;
        void *const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapped == MAP_FAILED) {
            throw OpError("no memory for a workspace of " + std::to_string(bytes) + " bytes");
        }
        fresh.memory = static_cast<uint8_t *>(mapped);
        fresh.bytes = bytes;
        own.Swap(fresh);
    }
};

// The tensors of the call, in the order of the OpDef.
void AddTensors(const OpCall &op, bool zeroed, Arguments &args) {
    const auto &inputs = op.inputs();
    const auto &outputs = op.outputs();
    constexpr size_t kOthers = 4;  // shapes of outputs, workspace, its front, tiling
    const size_t params = inputs.size() + outputs.size();
    args.lists.reserve(params);
    args.values.reserve(params + kOthers);
    args.names.reserve(params + kOthers);
    args.ranges.reserve(params + kOthers);
    for (size_t i = 0; i < inputs.size(); ++i) {
        args.AddParam(inputs[i], op.InputName(i), OPGEN_GM_INPUT);
    }
    const auto &declared = op.entry().def;
    for (size_t i = 0; i < outputs.size(); ++i) {
        // What the runtime fills before the launch may be read and added to.
        bool filled = zeroed;
        int flags = 0;
        if (declared != nullptr && i < declared->outputs.size()) {
            const ops::OpParamDef &def = declared->outputs[i];
            filled = filled || !def.init_values.empty();
            flags |= def.shape_depends_on_compute ? OPGEN_GM_PARTIAL : 0;
            flags |= def.param_type == ops::OPTIONAL ? OPGEN_GM_OPTIONAL : 0;
        }
        args.AddParam(outputs[i], op.OutputName(i), filled ? OPGEN_GM_INOUT : OPGEN_GM_OUTPUT,
                      flags);
    }
}

void ZeroOutputs(const OpCall &op) {
    for (const OpCall::Param &param : op.outputs()) {
        for (size_t i = 0; i < param.tensors.size(); ++i) {
            const OpgenTensor &tensor = param.tensors[i];
            std::memset(tensor.data, 0, BytesOf(tensor, StorageDims(tensor, param.shapes[i])));
        }
    }
}

// Outputs with an InitValue, which may have one per combination of dtypes.
void InitialiseOutputs(const OpCall &op) {
    if (op.entry().def == nullptr) {
        return;
    }
    const auto &defs = op.entry().def->outputs;
    for (size_t i = 0; i < op.outputs().size() && i < defs.size(); ++i) {
        const auto &values = defs[i].init_values;
        if (!values.empty()) {
            const int combo = op.MatchingCombo(nullptr);
            const size_t place = static_cast<size_t>(combo < 0 ? 0 : combo);
            FillOutput(op.outputs()[i], values[place < values.size() ? place : 0].value);
        }
    }
}
}  // namespace
}  // namespace ascendc_emu

OpgenExec::OpgenExec(const OpgenCall &call, std::shared_ptr<ascendc_emu::KnownCall> as)
    : op(call, *as), tiling(as->tiling), known(std::move(as)) {}

namespace ascendc_emu {
void RegisterKernel(const std::string &op_type, const std::string &soc, const std::string &key,
                    const std::string &path, const std::string &entry) {
    const std::lock_guard<std::mutex> lock(KernelsMutex());
    Kernels().push_back({CurrentScope(), op_type, Lower(soc), key, path, entry, nullptr});
}

void LaunchOp(OpgenExec &exec, void *workspace, int mode) {
    const OpCall &op = exec.op;
    const std::shared_ptr<const FoundKernel> kernel = KernelOf(exec);
    const TilingResult &tiled = *exec.tiling;
    Arguments args;
    AddTensors(op, tiled.need_atomic, args);
    exec.computed.reset(new ComputedShapes(op));
    if (!exec.computed->empty()) {
        args.values.push_back(exec.computed->data());
        args.AddRange(exec.computed->data(), exec.computed->bytes(), "output shapes",
                      OPGEN_GM_OUTPUT | OPGEN_GM_PARTIAL);
    }
    const Workspace space(workspace, tiled.workspace_size(), op.soc().LibraryWorkspace());
    const gert::TilingData &tiling = tiled.tiling_data();
    // The kernel may modify nothing of it, but takes it as GM_ADDR.
    std::vector<uint64_t> tiling_copy(tiling.GetDataSize() / sizeof(uint64_t) + 1);
    std::memcpy(tiling_copy.data(), tiling.GetData(), tiling.GetDataSize());
    if (tiled.need_atomic) {
        ZeroOutputs(op);
    }
    InitialiseOutputs(op);
    args.values.push_back(space.user);
    args.values.push_back(tiling_copy.data());
    args.AddRange(space.user, space.user_bytes, "workspace", OPGEN_GM_WORKSPACE);
    args.AddRange(space.base, static_cast<uint64_t>(space.user - space.base), "system workspace",
                  OPGEN_GM_OTHER);
    args.AddRange(tiling_copy.data(), tiling.GetDataSize(), "tiling", OPGEN_GM_TILING);
    args.NameRanges();

    OpgenLaunch launch = {};
    launch.entry = kernel->address;
    launch.args = args.values.data();
    launch.num_args = static_cast<int32_t>(args.values.size());
    launch.name = kernel->name.c_str();
    launch.soc = op.soc().name.c_str();
    launch.kind = OPGEN_KERNEL_AUTO;
    launch.mode = mode;
    launch.block_dim = tiled.block_dim;
    launch.tiling_key = tiled.key;
    launch.tiling_data = tiling_copy.data();
    launch.tiling_size = tiling.GetDataSize();
    launch.workspace = space.base;
    launch.ranges = args.ranges.data();
    launch.num_ranges = static_cast<int32_t>(args.ranges.size());
    if (opgen_run_kernel(&launch) != 0) {
        throw OpError(op.Describe() + ": kernel failed: " + opgen_launch_error());
    }
}
}  // namespace ascendc_emu
