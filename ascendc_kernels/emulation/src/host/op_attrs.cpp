// SPDX-License-Identifier: Apache-2.0
// Attributes of a call: given values and the OpDef's defaults in the form RuntimeAttrs hands out.
#include "host/context_block.h"
#include "host/op_call.h"

namespace ascendc_emu {
namespace {
using Kind = ops::OpAttrDef::Kind;

template <typename T>
std::string ListText(const T *values, size_t count) {
    std::string text = "[";
    for (size_t i = 0; i < count; ++i) {
        text += (i == 0 ? "" : ",") + std::to_string(values[i]);
    }
    return text + "]";
}

const char *KindText(Kind kind) {
    switch (kind) {
        case Kind::kBool:
            return "bool";
        case Kind::kFloat:
            return "float";
        case Kind::kInt:
            return "int";
        case Kind::kStr:
            return "str";
        case Kind::kListBool:
            return "list of bool";
        case Kind::kListFloat:
            return "list of float";
        case Kind::kListInt:
            return "list of int";
        case Kind::kListListInt:
            return "list of lists of int";
        default:
            return "nothing";
    }
}

// The kind to store when there is no OpDef to ask.
Kind KindOf(int32_t given) {
    switch (given) {
        case OPGEN_ATTR_FLOAT:
            return Kind::kFloat;
        case OPGEN_ATTR_BOOL:
            return Kind::kBool;
        case OPGEN_ATTR_STR:
            return Kind::kStr;
        case OPGEN_ATTR_LIST_INT:
            return Kind::kListInt;
        case OPGEN_ATTR_LIST_FLOAT:
            return Kind::kListFloat;
        default:
            return Kind::kInt;
    }
}

// What is kept of an attribute: its bytes, and its text for messages.
struct Stored {
    std::vector<uint8_t> bytes;
    std::string text;
};

// False when a value of this kind cannot be made of what was given.
bool StoreScalar(const OpgenAttr &attr, Kind kind, Stored &to) {
    const bool is_number = attr.kind == OPGEN_ATTR_INT || attr.kind == OPGEN_ATTR_BOOL ||
                           attr.kind == OPGEN_ATTR_DTYPE;
    const bool is_float = attr.kind == OPGEN_ATTR_FLOAT;
    if (kind == Kind::kInt && is_number) {
        to = {Bytes(attr.i), std::to_string(attr.i)};
    } else if (kind == Kind::kInt && attr.kind == OPGEN_ATTR_STR && attr.s != nullptr &&
               FromTorchName(attr.s) != ge::DT_UNDEFINED) {
        // A dtype attribute: the OpDef holds its number.
        to = {Bytes(static_cast<int64_t>(FromTorchName(attr.s))), attr.s};
    } else if (kind == Kind::kBool && is_number) {
        to = {Bytes(attr.i != 0), attr.i != 0 ? "true" : "false"};
    } else if (kind == Kind::kFloat && (is_float || is_number)) {
        const double value = is_float ? attr.f : static_cast<double>(attr.i);
        to = {Bytes(static_cast<float>(value)), std::to_string(value)};
    } else if (kind == Kind::kStr && attr.kind == OPGEN_ATTR_STR) {
        to.text = attr.s == nullptr ? "" : attr.s;
        to.bytes = Bytes(to.text);
    } else {
        return false;
    }
    return true;
}

// As StoreScalar. An empty list fits every kind.
bool StoreList(const OpgenAttr &attr, Kind kind, Stored &to) {
    const size_t count = attr.count < 0 ? 0 : static_cast<size_t>(attr.count);
    if (kind == Kind::kListFloat && attr.kind == OPGEN_ATTR_LIST_FLOAT) {
        to = {ListBytes(std::vector<float>(attr.lf, attr.lf + count)), ListText(attr.lf, count)};
        return true;
    }
    if (attr.kind != OPGEN_ATTR_LIST_INT && count != 0) {
        return false;
    }
    to.text = ListText(attr.li, count);
    if (kind == Kind::kListInt) {
        to.bytes = ListBytes(std::vector<int64_t>(attr.li, attr.li + count));
    } else if (kind == Kind::kListFloat) {
        to.bytes = ListBytes(std::vector<float>(attr.li, attr.li + count));
    } else if (kind == Kind::kListBool) {
        std::vector<uint8_t> flags;
        for (size_t i = 0; i < count; ++i) {
            flags.push_back(attr.li[i] != 0 ? 1 : 0);
        }
        to.bytes = ListBytes(flags);
    } else {
        return false;
    }
    return true;
}
}  // namespace

void OpCall::StoreAttr(const OpgenAttr &attr, const ops::OpAttrDef *def) {
    const Kind kind = def == nullptr || def->kind == Kind::kNone ? KindOf(attr.kind) : def->kind;
    const std::string name = attr.name == nullptr ? "" : attr.name;
    Stored stored;
    if (!StoreScalar(attr, kind, stored) && !StoreList(attr, kind, stored)) {
        throw OpError("op " + op_type_ + ": attr " + name + " must be a " + KindText(kind));
    }
    attr_storage_.push_back(std::move(stored.bytes));
    attr_texts_.push_back("attr " + name + "=" + stored.text);
}

void OpCall::StoreDefault(const ops::OpAttrDef &def) {
    std::vector<uint8_t> bytes;
    switch (def.kind) {
        case Kind::kBool:
            bytes = Bytes(def.int_value != 0);
            break;
        case Kind::kFloat:
            bytes = Bytes(def.float_value);
            break;
        case Kind::kStr:
            bytes = Bytes(def.str_value);
            break;
        case Kind::kListInt:
            bytes = ListBytes(def.list_int_value);
            break;
        case Kind::kListBool:
            bytes = ListBytes(
                std::vector<uint8_t>(def.list_int_value.begin(), def.list_int_value.end()));
            break;
        case Kind::kListFloat:
            bytes = ListBytes(def.list_float_value);
            break;
        case Kind::kListListInt:
            bytes = ListListBytes(def.list_list_int_value);
            break;
        default:
            bytes = Bytes(def.int_value);
            break;
    }
    attr_storage_.push_back(std::move(bytes));
}

void OpCall::ReadAttrs(const OpgenCall &call) {
    const ops::OpDef *const def = entry_->def.get();
    const auto find = [&call](const std::string &name) -> const OpgenAttr * {
        for (int32_t i = 0; i < call.num_attrs; ++i) {
            if (call.attrs[i].name != nullptr && name == call.attrs[i].name) {
                return &call.attrs[i];
            }
        }
        return nullptr;
    };
    if (def == nullptr) {
        for (int32_t i = 0; i < call.num_attrs; ++i) {
            StoreAttr(call.attrs[i], nullptr);
        }
    } else {
        for (int32_t i = 0; i < call.num_attrs; ++i) {
            const char *const name = call.attrs[i].name;
            bool known = name == nullptr;
            for (const ops::OpAttrDef &attr : def->attrs) {
                known = known || attr.name == name;
            }
            if (!known) {
                throw OpError("op " + op_type_ + " has no attr " + name);
            }
        }
        for (size_t i = 0; i < def->attrs.size(); ++i) {
            const ops::OpAttrDef &attr = def->attrs[i];
            const OpgenAttr *given = find(attr.name);
            if (given == nullptr && static_cast<int32_t>(i) < call.num_attrs &&
                call.attrs[i].name == nullptr) {
                given = &call.attrs[i];
            }
            if (given != nullptr) {
                StoreAttr(*given, &attr);
            } else if (attr.has_default || !attr.IsRequired()) {
                StoreDefault(attr);
            } else {
                throw OpError("op " + op_type_ + ": attr " + attr.name +
                              " is required and was not given");
            }
        }
        // Attributes that the OpDef leaves out: functions read them by position.
        for (int32_t i = static_cast<int32_t>(def->attrs.size()); i < call.num_attrs; ++i) {
            if (call.attrs[i].name == nullptr) {
                StoreAttr(call.attrs[i], nullptr);
            }
        }
    }
    for (const std::vector<uint8_t> &bytes : attr_storage_) {
        attr_values_.push_back(bytes.data());
    }
}
}  // namespace ascendc_emu
