// SPDX-License-Identifier: Apache-2.0
// TilingParse and TilingFunc of a call, and what the OpDef allows.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <mutex>
#include <set>
#include <string>

#include "ascendc_emu/host_log.h"
#include "core/crash.h"
#include "exe_graph/runtime/tiling_context.h"
#include "host/platform_instance.h"
#include "host/op_call.h"
#include "host/op_registry.h"

namespace ascendc_emu {
namespace {
// Runs `body` with standard output going to a file and returns the last 2000 bytes of it. Other
// threads' output goes there too meanwhile, so this is for failures only.
template <typename Body>
std::string CaptureStdout(Body body) {
    static std::mutex mutex;
    const std::lock_guard<std::mutex> lock(mutex);
    std::FILE *const file = std::tmpfile();
    if (file == nullptr) {
        return "";
    }
    std::cout.flush();
    std::fflush(stdout);
    const int saved = dup(STDOUT_FILENO);
    if (saved < 0 || dup2(fileno(file), STDOUT_FILENO) < 0) {
        std::fclose(file);
        return "";
    }
    body();
    std::cout.flush();
    std::fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    constexpr long kLongest = 2000;
    std::fseek(file, 0, SEEK_END);
    const long size = std::ftell(file);
    const long start = size > kLongest ? size - kLongest : 0;
    std::fseek(file, start, SEEK_SET);
    std::string text(static_cast<size_t>(size - start), '\0');
    text.resize(std::fread(&text[0], 1, text.size(), file));
    std::fclose(file);
    return text;
}

constexpr size_t kMinTilingCapacity = 16 * 1024;
constexpr size_t kMaxWorkspaces = 16;

// Room for any registered struct of this op ("Op" or "Op_<key>").
size_t TilingCapacity(const std::string &op_type) {
    size_t capacity = kMinTilingCapacity;
    for (const auto &item : TilingClasses()) {
        if (item.first.compare(0, op_type.size(), op_type) == 0) {
            capacity = std::max(capacity, item.second()->GetDataSize());
        }
    }
    return capacity;
}

// Compile info made by TilingParse, freed with the op's own deleter.
struct CompileInfo {
    void *object = nullptr;
    void (*destroy)(void *) = nullptr;
    ~CompileInfo() {
        if (object != nullptr && destroy != nullptr) {
            destroy(object);
        }
    }
};

// dtypes[combo] of one parameter of the OpDef, after the SoC's own configuration.
struct ParamTypes {
    const ops::OpParamDef *def;
    const std::vector<ge::DataType> *list;
};

ParamTypes TypesOf(const ops::OpParamDef &def, const std::deque<ops::OpParamDef> &overrides) {
    const ops::OpParamDef *chosen = &def;
    for (const ops::OpParamDef &other : overrides) {
        const bool has_types = !other.data_types.empty() || !other.data_type_list.empty();
        if (other.name == def.name && has_types) {
            chosen = &other;
        }
    }
    const bool by_list = chosen->data_types.empty();
    return {chosen, by_list ? &chosen->data_type_list : &chosen->data_types};
}

const ops::OpAICoreConfig *ConfigFor(const ops::OpDef &def, const SocFacts &soc) {
    for (const auto &config : def.ai_core.configs) {
        const std::string name = Lower(config.first);
        if (name == Lower(soc.family) || name == Lower(soc.name)) {
            return &config.second;
        }
    }
    return nullptr;
}
}  // namespace

TilingResult OpCall::Tile() {
    if (entry_->tiling == nullptr) {
        throw OpError("op " + op_type_ + " has no tiling function (AICore().SetTiling)");
    }
    fe::PlatFormInfos *platform = platform_;
    const PlatformScope scope(platform);
    CompileInfo compile_info;
    if (entry_->tiling_parse != nullptr) {
        compile_info.destroy = entry_->delete_compile_info;
        compile_info.object = entry_->create_compile_info();
        const char *json = "{}";
        const std::vector<void *> in = {const_cast<char *>(json), platform};
        const std::vector<void *> out = {compile_info.object};
        ContextBlock block = Context(in, out);
        auto *const context = block.As<gert::KernelContext>();
        (void)TakeHostLog();
        const uint32_t status =
            CallOp("TilingParse", [&] { return entry_->tiling_parse(context); });
        const std::string log = TakeHostLog();
        if (status != ge::GRAPH_SUCCESS) {
            Fail("TilingParse", status, log);
        }
    }
    TilingResult result;
    result.data = gert::TilingData::CreateCap(TilingCapacity(op_type_));
    result.workspaces = gert::ContinuousVector::Create<size_t>(kMaxWorkspaces);
    std::vector<void *> in;
    for (gert::Tensor &tensor : input_tensors_) {
        in.push_back(&tensor);
    }
    for (gert::Tensor &tensor : output_tensors_) {
        in.push_back(&tensor);
    }
    in.push_back(compile_info.object);
    in.push_back(platform);
    in.push_back(nullptr);
    in.push_back(InPlace(deterministic_));
    std::vector<void *> out(gert::TilingContext::kOutputNum);
    out[gert::TilingContext::kOutputTilingData] = result.data.get();
    out[gert::TilingContext::kOutputWorkspace] = result.workspaces.get();
    ContextBlock block = Context(in, out);
    auto *const context = block.As<gert::TilingContext>();
    (void)TakeHostLog();
    const uint32_t status = CallOp("TilingFunc", [&] { return entry_->tiling(context); });
    std::string log = TakeHostLog();
    if (status != ge::GRAPH_SUCCESS) {
        if (log.empty()) {
            // Many public ops print instead of logging; ask again and listen.
            auto again = [&] { (void)entry_->tiling(context); };
            log = CaptureStdout([&] {
                (void)RunGuarded([](void *raw) { (*static_cast<decltype(again) *>(raw))(); },
                                 &again);
            });
        }
        Fail("TilingFunc", status, log);
    }
    result.logged = !log.empty();
    result.key = context->GetTilingKey();
    result.block_dim = context->GetBlockDim();
    result.need_atomic = context->NeedAtomic();
    result.cond = context->GetTilingCond();
    result.schedule_mode = context->GetScheduleMode();
    result.local_memory = context->GetLocalMemorySize();
    result.aicpu_block_dim = context->GetAicpuBlockDim();
    const gert::TilingData &data = result.tiling_data();
    if (data.GetDataSize() > data.GetCapacity()) {
        throw OpError(Describe() + ": TilingFunc sets a tiling data size of " +
                      std::to_string(data.GetDataSize()) + " bytes, the buffer has " +
                      std::to_string(data.GetCapacity()));
    }
    if (!log.empty() && log.find("SaveToBuffer") != std::string::npos) {
        throw OpError(Describe() + ": " + log);
    }
    if (result.block_dim == 0) {
        throw OpError(Describe() + ": TilingFunc did not set a block dim (SetBlockDim)");
    }
    return result;
}

int OpCall::MatchingCombo(std::vector<std::string> *supported) const {
    const ops::OpDef &def = *entry_->def;
    const ops::OpAICoreConfig *const config = ConfigFor(def, *soc_);
    static const std::deque<ops::OpParamDef> none;
    std::vector<ParamTypes> types;
    std::vector<const Param *> params;
    for (size_t i = 0; i < def.inputs.size(); ++i) {
        types.push_back(TypesOf(def.inputs[i], config == nullptr ? none : config->inputs));
        params.push_back(&inputs_[i]);
    }
    for (size_t i = 0; i < def.outputs.size(); ++i) {
        types.push_back(TypesOf(def.outputs[i], config == nullptr ? none : config->outputs));
        params.push_back(i < outputs_.size() ? &outputs_[i] : nullptr);
    }
    size_t combos = 1;
    for (const ParamTypes &type : types) {
        if (!type.def->data_types.empty()) {
            combos = std::max(combos, type.def->data_types.size());
        }
    }
    int match = -1;
    for (size_t combo = 0; combo < combos; ++combo) {
        bool fits = true;
        std::string text;
        for (size_t i = 0; i < types.size(); ++i) {
            const std::vector<ge::DataType> &list = *types[i].list;
            const bool free = types[i].def->data_types.empty() || combo >= list.size();
            text += (i == 0 ? "" : ",") + (free ? "*" : TorchName(list[combo]));
            for (size_t k = 0; params[i] != nullptr && k < params[i]->tensors.size(); ++k) {
                const auto given = static_cast<ge::DataType>(params[i]->tensors[k].dtype);
                const bool ok =
                    free ? list.empty() || std::find(list.begin(), list.end(), given) != list.end()
                         : list[combo] == given;
                fits = fits && ok;
            }
        }
        if (supported != nullptr) {
            supported->push_back(text);
        }
        if (fits && match < 0) {
            match = static_cast<int>(combo);
        }
    }
    return match;
}

void OpCall::CheckSupport() const {
    if (entry_->def == nullptr) {
        return;
    }
    const ops::OpDef &def = *entry_->def;
    if (ConfigFor(def, *soc_) == nullptr) {
        std::string known;
        for (const auto &config : def.ai_core.configs) {
            known += (known.empty() ? "" : ", ") + config.first;
        }
        throw OpError(Describe() + ": the OpDef has no AICore().AddConfig(\"" +
                      Lower(soc_->family) + "\"); " +
                      (known.empty() ? "it has none at all" : "it has " + known));
    }
    std::vector<std::string> supported;
    if (MatchingCombo(&supported) < 0) {
        std::string text;
        std::set<std::string> seen;
        for (const std::string &combo : supported) {
            if (seen.insert(combo).second) {
                text += (text.empty() ? "" : "; ") + combo;
            }
        }
        throw OpError(Describe() +
                      ": these dtypes are not supported; supported (inputs, outputs): " + text);
    }
}

std::string OpCall::KernelKey() const {
    std::string key;
    for (const std::vector<Param> *const params : {&inputs_, &outputs_}) {
        for (const Param &param : *params) {
            // Absent: any kernel that fits otherwise.
            const std::string name =
                param.tensors.empty()
                    ? "*"
                    : TorchName(static_cast<ge::DataType>(param.tensors[0].dtype));
            key += (key.empty() ? "" : ",") + name;
        }
    }
    return key;
}
}  // namespace ascendc_emu

// What CANN's op library has for its cache of tilings. Here every call is tiled anew, so there is
// nothing to prepare. The repositories' op_cache_tiling.h declares both.
namespace optiling {
bool TilingPrepareForOpCache(gert::TilingContext *) { return true; }
bool TilingPrepareForOpCache(gert::TilingParseContext *) { return true; }
}  // namespace optiling
