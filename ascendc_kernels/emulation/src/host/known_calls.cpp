// SPDX-License-Identifier: Apache-2.0
#include "host/known_calls.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <unordered_map>

#include "ascendc_emu/launch.h"
#include "ascendc_emu/op_runtime.h"

namespace ascendc_emu {
namespace {
// Shapes that change from call to call would fill memory; then it starts anew.
constexpr size_t kMostCalls = 1024;

struct Memory {
    std::mutex mutex;
    std::unordered_map<std::string, std::shared_ptr<KnownCall>> known;
    std::unordered_map<std::string, std::shared_ptr<KnownCall>> seen_once;
    // Ops whose tiling differs from call to call; kept alive, as their addresses stand for them.
    std::set<std::shared_ptr<const OpEntry>> changing;
};

Memory &TheMemory() {
    static Memory *const memory = new Memory;  // streams may outlive main()
    return *memory;
}

template <typename T>
void Append(std::string &key, const T &value) {
    key.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

void AppendText(std::string &key, const char *text) {
    const char *const given = text == nullptr ? "" : text;
    key.append(given, std::strlen(given) + 1);
}

void AppendParams(std::string &key, const OpgenParam *params, int32_t count) {
    Append(key, count);
    for (int32_t i = 0; i < count; ++i) {
        Append(key, params[i].is_list);
        Append(key, params[i].count);
        for (int32_t k = 0; k < params[i].count; ++k) {
            const OpgenTensor &tensor = params[i].tensors[k];
            const int32_t numbers[] = {tensor.dtype, tensor.format, tensor.rank,
                                       static_cast<int32_t>(tensor.holds_data)};
            Append(key, numbers);
            key.append(reinterpret_cast<const char *>(tensor.shape),
                       sizeof(*tensor.shape) * static_cast<size_t>(tensor.rank));
        }
    }
}

void AppendAttr(std::string &key, const OpgenAttr &attr) {
    AppendText(key, attr.name);
    Append(key, attr.kind);
    Append(key, attr.count);
    Append(key, attr.i);
    Append(key, attr.f);
    if (attr.kind == OPGEN_ATTR_STR) {
        AppendText(key, attr.s);
    } else if (attr.kind == OPGEN_ATTR_LIST_INT && attr.count > 0) {
        key.append(reinterpret_cast<const char *>(attr.li),
                   sizeof(*attr.li) * static_cast<size_t>(attr.count));
    } else if (attr.kind == OPGEN_ATTR_LIST_FLOAT && attr.count > 0) {
        key.append(reinterpret_cast<const char *>(attr.lf),
                   sizeof(*attr.lf) * static_cast<size_t>(attr.count));
    }
}

// Tiling functions may read the environment. setenv() puts a new pointer in for a new value.
void AppendEnvironment(std::string &key) {
    uint64_t sum = 1469598103934665603ull;
    for (char **entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        sum = (sum ^ reinterpret_cast<uintptr_t>(*entry)) * 1099511628211ull;
    }
    Append(key, sum);
}

bool IsSet(const char *name, char off) {
    const char *const text = std::getenv(name);
    return text != nullptr && *text != '\0' && (off == '\0' || (text[0] == off && text[1] == '\0'));
}

bool SameTiling(const TilingResult &a, const TilingResult &b) {
    const gert::TilingData &x = a.tiling_data(), &y = b.tiling_data();
    return a.key == b.key && a.block_dim == b.block_dim && a.need_atomic == b.need_atomic &&
           a.cond == b.cond && a.schedule_mode == b.schedule_mode &&
           a.local_memory == b.local_memory && a.aicpu_block_dim == b.aicpu_block_dim &&
           a.workspace_size() == b.workspace_size() && x.GetDataSize() == y.GetDataSize() &&
           std::memcmp(x.GetData(), y.GetData(), x.GetDataSize()) == 0;
}
}  // namespace

std::string KeyOfCall(const OpgenCall &call) {
    std::string key;
    if (opgen_default_mode() != OPGEN_MODE_FAST || IsSet("OPGEN_TILING_CACHE", '0') ||
        IsSet("OPGEN_HOST_LOG", '\0')) {
        return key;
    }
    key.reserve(512);
    AppendText(key, CurrentScope().c_str());
    AppendText(key, call.op_type);
    const bool named = call.soc != nullptr && *call.soc != '\0';
    AppendText(key, named ? call.soc : std::getenv("OPGEN_SOC"));
    const int32_t numbers[] = {call.deterministic, call.block_dim, call.skip_shape_check};
    Append(key, numbers);
    AppendEnvironment(key);
    AppendParams(key, call.inputs, call.num_inputs);
    AppendParams(key, call.outputs, call.num_outputs);
    Append(key, call.num_attrs);
    for (int32_t i = 0; i < call.num_attrs; ++i) {
        AppendAttr(key, call.attrs[i]);
    }
    return key;
}

std::shared_ptr<KnownCall> FindKnownCall(const std::string &key, const char *op_type) {
    Memory &memory = TheMemory();
    std::shared_ptr<KnownCall> found;
    {
        const std::lock_guard<std::mutex> lock(memory.mutex);
        const auto it = memory.known.find(key);
        if (it == memory.known.end()) {
            return nullptr;
        }
        found = it->second;
    }
    // A library that was loaded since may have registered the op anew.
    return FindOp(op_type) == found->entry ? found : nullptr;
}

void RememberCall(const std::string &key, const OpgenExec &exec) {
    const OpCall &op = exec.op;
    const std::shared_ptr<const OpEntry> entry = op.shared_entry();
    if (key.empty() || entry->def == nullptr || exec.tiling->logged || op.ReadsValues() ||
        !op.ComputedShapes().empty()) {
        return;
    }
    Memory &memory = TheMemory();
    const std::lock_guard<std::mutex> lock(memory.mutex);
    if (memory.changing.count(entry) != 0) {
        return;
    }
    const auto first = memory.seen_once.find(key);
    if (first != memory.seen_once.end() && first->second->entry == entry) {
        if (SameTiling(*first->second->tiling, *exec.tiling)) {
            if (memory.known.size() >= kMostCalls) {
                memory.known.clear();
            }
            memory.known[key] = first->second;
        } else {
            memory.changing.insert(entry);
        }
        memory.seen_once.erase(key);
        return;
    }
    auto call = std::make_shared<KnownCall>();
    call->entry = entry;
    call->soc = &op.soc();
    call->attr_texts = op.attr_texts();
    call->tiling = exec.tiling;
    call->workspace_size = exec.tiling->workspace_size();
    if (memory.seen_once.size() >= kMostCalls) {
        memory.seen_once.clear();
    }
    memory.seen_once[key] = call;
}
}  // namespace ascendc_emu
