// SPDX-License-Identifier: Apache-2.0
#include "ascendc/host_api/tiling/template_argument.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "ascendc_emu/host_log.h"
#include "core/crash.h"
#include "host/op_registry.h"

namespace ascendc_emu {
namespace {
struct Declared {
    TemplateParams params;
    std::vector<TemplateParams> selected;
    std::map<uint64_t, uint64_t> encoded;  // keys made of it, and when
};

std::mutex &TemplatesMutex() {
    static std::mutex mutex;
    return mutex;
}

// By op type; sources for several architectures may declare one op's parameters differently.
std::map<std::string, std::vector<Declared>> &Templates() {
    static std::map<std::string, std::vector<Declared>> templates;
    return templates;
}

bool Same(const TemplateParams &a, const TemplateParams &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const TemplateParam &x, const TemplateParam &y) {
                          return x.name == y.name && x.values == y.values;
                      });
}

template <typename Function>
void ForEachLike(const TemplateParams &params, const Function &function) {
    for (auto &item : Templates()) {
        for (Declared &declared : item.second) {
            if (Same(declared.params, params)) {
                function(declared);
            }
        }
    }
}

// The declaration a key was last made of, else the one declared last; null without any.
const Declared *Find(const std::string &op_type, uint64_t key) {
    const auto it = Templates().find(op_type);
    const Declared *found = nullptr;
    uint64_t when = 0;
    if (it != Templates().end()) {
        for (const Declared &declared : it->second) {
            const auto made = declared.encoded.find(key);
            const uint64_t then = made == declared.encoded.end() ? 0 : made->second;
            if (then >= when) {
                found = &declared;
                when = then;
            }
        }
    }
    return found;
}

bool IsParameter(TemplateKind kind) {
    return kind != TemplateKind::kKernelType && kind != TemplateKind::kDeterministic &&
           kind != TemplateKind::kStruct;
}

// The legal values of a UINT parameter: ranges and single values written out, in order.
std::vector<uint64_t> UintValues(const std::vector<uint64_t> &written) {
    std::vector<uint64_t> values;
    if (written.empty()) {
        return values;
    }
    size_t next = 1;
    if (written[0] != ASCENDC_TPL_UI_LIST && written.size() > 1) {
        const uint64_t ranges = written[1];
        next = 2;
        for (uint64_t i = 0; i < ranges && next + 1 < written.size(); ++i, next += 2) {
            for (uint64_t v = written[next]; v <= written[next + 1]; ++v) {
                values.push_back(v);
            }
        }
    }
    values.insert(values.end(), written.begin() + static_cast<std::ptrdiff_t>(next), written.end());
    return values;
}

std::vector<uint64_t> Values(const TemplateParam &param) {
    return param.kind == TemplateKind::kUint ? UintValues(param.values) : param.values;
}

bool Follows(const std::vector<uint64_t> &values) {
    return !values.empty() && values[0] >= ASCENDC_TPL_INPUT_BIAS;
}

bool Allows(const TemplateParam &param, uint64_t value) {
    const std::vector<uint64_t> values = Values(param);
    return Follows(values) || std::find(values.begin(), values.end(), value) != values.end();
}

// Whether a selected combination contains these values; parameters it does not name are free.
bool Selects(const TemplateParams &row, const TemplateParams &declared,
             const std::vector<uint64_t> &values) {
    for (size_t i = 0; i < declared.size(); ++i) {
        for (const TemplateParam &param : row) {
            if (param.name == declared[i].name && IsParameter(param.kind) &&
                !Allows(param, values[i])) {
                return false;
            }
        }
    }
    return true;
}

const char *KindName(TemplateKind kind) {
    switch (kind) {
        case TemplateKind::kDataType:
            return "datatype";
        case TemplateKind::kFormat:
            return "format";
        case TemplateKind::kUint:
            return "uint";
        case TemplateKind::kBool:
            return "bool";
        case TemplateKind::kSharedKernelType:
            return "kernel_type";
        default:
            return "dtype";
    }
}
}  // namespace

TemplateParams DeclareTemplate(const char *op_type, const TemplateParams &params) {
    const std::lock_guard<std::mutex> lock(TemplatesMutex());
    std::vector<Declared> &known = Templates()[op_type];
    const auto same = [&](const Declared &declared) { return Same(declared.params, params); };
    const auto place = std::find_if(known.begin(), known.end(), same);
    Declared declared = place == known.end() ? Declared{params, {}, {}} : *place;
    if (place != known.end()) {
        known.erase(place);
    }
    known.push_back(std::move(declared));
    return params;
}

std::vector<TemplateParams> SelectTemplates(const TemplateParams &declared,
                                            const std::vector<TemplateParams> &selected) {
    const std::lock_guard<std::mutex> lock(TemplatesMutex());
    ForEachLike(declared, [&](Declared &known) { known.selected = selected; });
    return selected;
}

uint64_t EncodeTilingKey(const TemplateParams &declared,
                         const std::vector<TemplateParams> &selected,
                         const std::vector<uint64_t> &values) {
    constexpr uint64_t kInvalid = ~uint64_t{0};
    if (values.size() != declared.size()) {
        OPGEN_HOST_LOG_AT(kError, "the tiling key takes %zu template parameters, %zu were given",
                          declared.size(), values.size());
        return kInvalid;
    }
    uint64_t key = 0;
    uint32_t shift = 0;
    for (size_t i = 0; i < declared.size(); ++i) {
        const TemplateParam &param = declared[i];
        const std::vector<uint64_t> legal = Values(param);
        uint64_t code = values[i];
        if (!Follows(legal)) {
            const auto place = std::find(legal.begin(), legal.end(), values[i]);
            if (place == legal.end()) {
                OPGEN_HOST_LOG_AT(
                    kError, "template parameter %s: %llu is not among the %zu declared values",
                    param.name.c_str(), static_cast<unsigned long long>(values[i]), legal.size());
                return kInvalid;
            }
            // UINT parameters are encoded by position, so that large values need few bits.
            if (param.kind == TemplateKind::kUint) {
                code = static_cast<uint64_t>(place - legal.begin());
            }
        }
        if (param.bits < 64 && code >> param.bits != 0) {
            OPGEN_HOST_LOG_AT(kError, "template parameter %s: code %llu does not fit %u bits",
                              param.name.c_str(), static_cast<unsigned long long>(code),
                              param.bits);
            return kInvalid;
        }
        key |= shift < 64 ? code << shift : 0;
        shift += param.bits;
    }
    const auto selects = [&](const TemplateParams &row) { return Selects(row, declared, values); };
    if (!selected.empty() && std::none_of(selected.begin(), selected.end(), selects)) {
        // A header may select by the kernel's macros, which op_host does not have. CANN asks in
        // debug builds only, and finds no kernel otherwise.
        OPGEN_HOST_LOG_AT(kWarning, "no ASCENDC_TPL_ARGS_SEL contains these template parameters");
    }
    static uint64_t keys_made = 0;
    const std::lock_guard<std::mutex> lock(TemplatesMutex());
    ++keys_made;
    ForEachLike(declared, [&](Declared &known) { known.encoded[key] = keys_made; });
    return key;
}

std::string TemplateJson(const std::string &op_type, uint64_t key) {
    const std::lock_guard<std::mutex> lock(TemplatesMutex());
    const Declared *const known = Find(op_type, key);
    if (known == nullptr) {
        return "";
    }
    const TemplateParams &declared = known->params;
    std::vector<std::string> parts;
    std::vector<uint64_t> values;
    for (const TemplateParam &param : declared) {
        const uint64_t mask = param.bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << param.bits) - 1;
        uint64_t value = key & mask;
        key = param.bits >= 64 ? 0 : key >> param.bits;
        const std::vector<uint64_t> legal = Values(param);
        if (param.kind == TemplateKind::kUint) {
            value = value < legal.size() ? legal[value] : ~uint64_t{0};
        }
        values.push_back(value);
        parts.push_back("{\"name\":" + JsonString(param.name) +
                        ",\"kind\":" + JsonString(KindName(param.kind)) +
                        ",\"value\":" + std::to_string(value) + "}");
    }
    std::string kernel_type = "null";
    bool selected = known->selected.empty();
    for (const TemplateParams &row : known->selected) {
        if (!Selects(row, declared, values)) {
            continue;
        }
        selected = true;
        for (const TemplateParam &param : row) {
            if (param.kind == TemplateKind::kKernelType && !param.values.empty()) {
                kernel_type = std::to_string(param.values[0]);
            }
        }
        break;
    }
    return "{\"args\":" + JsonArray(parts) + ",\"kernel_type\":" + kernel_type +
           ",\"selected\":" + (selected ? "true" : "false") + "}";
}

std::string TemplateKeysJson(const std::string &op_type) {
    Declared known;
    {
        const std::lock_guard<std::mutex> lock(TemplatesMutex());
        const auto it = Templates().find(op_type);
        if (it == Templates().end()) {
            return "[]";
        }
        known = it->second.back();
    }
    std::vector<std::string> keys;
    for (const TemplateParams &row : known.selected) {
        std::vector<uint64_t> values;
        for (const TemplateParam &param : known.params) {
            std::vector<uint64_t> legal = Values(param);
            for (const TemplateParam &chosen : row) {
                if (chosen.name == param.name && IsParameter(chosen.kind)) {
                    legal = Values(chosen);
                }
            }
            // A data type that follows an input is any of the declared ones.
            values.push_back(legal.empty() || Follows(legal) ? 0 : legal.front());
        }
        const uint64_t key = EncodeTilingKey(known.params, known.selected, values);
        const std::string text = std::to_string(key);
        if (key != ~uint64_t{0} && std::find(keys.begin(), keys.end(), text) == keys.end()) {
            keys.push_back(text);
        }
    }
    return JsonArray(keys);
}
}  // namespace ascendc_emu
