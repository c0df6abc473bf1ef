// SPDX-License-Identifier: Apache-2.0
#include "host/op_call.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "ascendc_emu/host_log.h"
#include "core/crash.h"
#include "graph/types.h"
#include "host/known_calls.h"
#include "host/platform_instance.h"

namespace ascendc_emu {
namespace {
std::string Join(const std::vector<std::string> &parts, const char *separator) {
    std::string text;
    for (size_t i = 0; i < parts.size(); ++i) {
        text += (i == 0 ? "" : separator) + parts[i];
    }
    return text;
}

gert::Shape ShapeOf(const std::vector<int64_t> &dims) {
    gert::Shape shape;
    for (const int64_t dim : dims) {
        shape.AppendDim(dim);
    }
    return shape;
}

std::string ParamText(const std::string &name, const OpCall::Param &param) {
    if (param.tensors.empty()) {
        return name + (param.is_list ? "=[]" : "=absent");
    }
    std::vector<std::string> parts;
    constexpr size_t kMostShown = 8;
    for (size_t i = 0; i < param.tensors.size(); ++i) {
        if (i == kMostShown) {
            parts.push_back("... " + std::to_string(param.tensors.size()) + " tensors");
            break;
        }
        parts.push_back(TorchName(static_cast<ge::DataType>(param.tensors[i].dtype)) +
                        ShapeText(ShapeOf(param.shapes[i])));
    }
    return name + "=" + (param.is_list ? "[" + Join(parts, ", ") + "]" : parts[0]);
}

std::string NameOf(const std::deque<ops::OpParamDef> *params, size_t index, const char *kind) {
    return params != nullptr && index < params->size() ? (*params)[index].name
                                                       : kind + std::to_string(index);
}
}  // namespace

std::string TorchName(ge::DataType type) {
    switch (type) {
        case ge::DT_FLOAT:
            return "float32";
        case ge::DT_FLOAT16:
            return "float16";
        case ge::DT_BF16:
            return "bfloat16";
        case ge::DT_DOUBLE:
            return "float64";
        case ge::DT_INT8:
            return "int8";
        case ge::DT_INT16:
            return "int16";
        case ge::DT_INT32:
            return "int32";
        case ge::DT_INT64:
            return "int64";
        case ge::DT_UINT8:
            return "uint8";
        case ge::DT_UINT16:
            return "uint16";
        case ge::DT_UINT32:
            return "uint32";
        case ge::DT_UINT64:
            return "uint64";
        case ge::DT_BOOL:
            return "bool";
        case ge::DT_COMPLEX64:
            return "complex64";
        case ge::DT_COMPLEX128:
            return "complex128";
        case ge::DT_INT4:
            return "int4";
        default:
            return "undefined";
    }
}

ge::DataType FromTorchName(const std::string &name) {
    for (int type = 0; type < ge::DT_MAX; ++type) {
        if (name != "undefined" && TorchName(static_cast<ge::DataType>(type)) == name) {
            return static_cast<ge::DataType>(type);
        }
    }
    return ge::DT_UNDEFINED;
}

std::string ShapeText(const gert::Shape &shape) {
    std::vector<std::string> dims;
    for (size_t i = 0; i < shape.GetDimNum(); ++i) {
        dims.push_back(std::to_string(shape.GetDim(i)));
    }
    return "[" + Join(dims, ",") + "]";
}

OpCall::OpCall(const OpgenCall &call)
    : op_type_(call.op_type == nullptr ? "" : call.op_type),
      node_name_(op_type_),
      deterministic_(call.deterministic) {
    entry_ = FindOp(op_type_);
    if (entry_ == nullptr) {
        const std::vector<std::string> known = OpTypes();
        throw OpError("op " + op_type_ + ": no loaded host library registers it" +
                      (known.empty() ? "; none is loaded" : "; known: " + Join(known, ", ")));
    }
    soc_ = FindSocFacts(call.soc);
    if (soc_ == nullptr) {
        throw OpError("op " + op_type_ + ": unknown SoC '" +
                      (call.soc != nullptr && *call.soc != '\0' ? call.soc : "$OPGEN_SOC") +
                      "'; known: " + KnownSocs());
    }
    platform_ = PlatformOf(soc_, call.block_dim > 0 ? static_cast<uint32_t>(call.block_dim) : 0);
    ReadParams(call.inputs, call.num_inputs, inputs_);
    ReadParams(call.outputs, call.num_outputs, outputs_);
    CheckParamCounts();
    FlattenParams(inputs_, true, input_tensors_, input_descs_, input_instances_);
    FlattenParams(outputs_, false, output_tensors_, output_descs_, output_instances_);
    ReadAttrs(call);
    BuildNode();
}

OpCall::OpCall(const OpgenCall &call, const KnownCall &known)
    : op_type_(call.op_type),
      node_name_(op_type_),
      entry_(known.entry),
      soc_(known.soc),
      deterministic_(call.deterministic),
      attr_texts_(known.attr_texts) {
    ReadParams(call.inputs, call.num_inputs, inputs_);
    ReadParams(call.outputs, call.num_outputs, outputs_);
}

bool OpCall::ReadsValues() const {
    for (size_t i = 0; i < inputs_.size(); ++i) {
        if (DependsOnValue(i)) {
            return true;
        }
    }
    return false;
}

void OpCall::ReadParams(const OpgenParam *params, int32_t count, std::vector<Param> &into) {
    into.reserve(params != nullptr && count > 0 ? static_cast<size_t>(count) : 0);
    for (int32_t i = 0; params != nullptr && i < count; ++i) {
        Param param;
        param.is_list = params[i].is_list != 0;
        const size_t tensors = params[i].count > 0 ? static_cast<size_t>(params[i].count) : 0;
        param.tensors.reserve(tensors);
        param.shapes.reserve(tensors);
        for (int32_t k = 0; k < params[i].count; ++k) {
            const OpgenTensor &tensor = params[i].tensors[k];
            if (tensor.rank < 0 || tensor.rank > static_cast<int32_t>(gert::Shape::kMaxDimNum)) {
                throw OpError("op " + op_type_ + ": rank " + std::to_string(tensor.rank) +
                              " is outside 0..25");
            }
            param.tensors.push_back(tensor);
            param.shapes.emplace_back(tensor.shape, tensor.shape + tensor.rank);
        }
        into.push_back(std::move(param));
    }
}

void OpCall::CheckParamCounts() const {
    if (entry_->def == nullptr) {
        return;
    }
    const auto check = [this](const std::deque<ops::OpParamDef> &defs,
                              const std::vector<Param> &params, const char *kind) {
        if (params.size() != defs.size()) {
            throw OpError("op " + op_type_ + ": " + std::to_string(params.size()) + " " + kind +
                          "s given, the OpDef has " + std::to_string(defs.size()));
        }
        for (size_t i = 0; i < params.size(); ++i) {
            const bool dynamic = defs[i].param_type == ops::DYNAMIC;
            const std::string where = "op " + op_type_ + ": " + kind + " " + defs[i].name;
            if (defs[i].param_type == ops::REQUIRED && params[i].tensors.empty()) {
                throw OpError(where + " is required and was not given");
            }
            if (!dynamic && params[i].tensors.size() > 1) {
                throw OpError(where + " is one tensor, a list was given");
            }
        }
    };
    check(entry_->def->inputs, inputs_, "input");
    if (!outputs_.empty()) {
        check(entry_->def->outputs, outputs_, "output");
    }
}

namespace {

// Formats with blocks of channels, by the dimensions of the tensor: NCHW or NCDHW.
bool IsBlocked(int32_t format, size_t rank) {
    if (rank == 4) return format == ge::FORMAT_NC1HWC0 || format == ge::FORMAT_FRACTAL_Z;
    return rank == 5 && (format == ge::FORMAT_NDC1HWC0 || format == ge::FORMAT_FRACTAL_Z_3D);
}

ge::Format OriginOf(ge::Format format, size_t rank) {
    if (format == ge::FORMAT_FRACTAL_NZ) return ge::FORMAT_ND;
    if (!IsBlocked(format, rank)) return format;
    return rank == 4 ? ge::FORMAT_NCHW : ge::FORMAT_NCDHW;
}

}  // namespace

bool IsStoredAsShaped(const OpgenTensor &tensor, const std::vector<int64_t> &shape) {
    return tensor.format == ge::FORMAT_ND || StorageDims(tensor, shape) == shape;
}

// msopgen_wrap/run/storage.py lays the memory out.
std::vector<int64_t> StorageDims(const OpgenTensor &tensor, const std::vector<int64_t> &shape) {
    constexpr int64_t kFractalRows = 16;
    constexpr int64_t kFractalBytes = 32;
    const bool known = std::all_of(shape.begin(), shape.end(), [](int64_t d) { return d >= 0; });
    const bool fractal = tensor.format == ge::FORMAT_FRACTAL_NZ && shape.size() >= 2;
    const bool blocked = IsBlocked(tensor.format, shape.size());
    if ((!fractal && !blocked) || !known) {
        return shape;
    }
    const auto type = static_cast<ge::DataType>(tensor.dtype);
    const int64_t two = std::max<int64_t>(1, ge::GetSizeInBytes(2, type));
    const int64_t columns = 2 * kFractalBytes / two;
    const auto parts = [](int64_t whole, int64_t part) { return (whole + part - 1) / part; };
    if (blocked) {
        const int64_t h = shape[shape.size() - 2], w = shape.back();
        const int64_t c1 = parts(shape[1], columns);
        switch (tensor.format) {
            case ge::FORMAT_NC1HWC0:
                return {shape[0], c1, h, w, columns};
            case ge::FORMAT_NDC1HWC0:
                return {shape[0], shape[2], c1, h, w, columns};
            default:
                break;
        }
        const int64_t d = shape.size() == 5 ? shape[2] : 1;
        return {d * c1 * h * w, parts(shape[0], kFractalRows), kFractalRows, columns};
    }
    std::vector<int64_t> dims(shape.begin(), shape.end() - 2);
    dims.insert(dims.end(), {parts(shape.back(), columns),
                             parts(shape[shape.size() - 2], kFractalRows), kFractalRows, columns});
    return dims;
}

bool OpCall::DependsOnValue(size_t param) const {
    if (entry_->value_dependent.count(static_cast<int32_t>(param)) != 0) {
        return true;
    }
    return entry_->def != nullptr && param < entry_->def->inputs.size() &&
           entry_->def->inputs[param].value_depend != ops::IGNORE;
}

void OpCall::FlattenParams(const std::vector<Param> &params, bool with_values,
                           std::deque<gert::Tensor> &tensors,
                           std::vector<gert::CompileTimeTensorDesc> &descs,
                           std::vector<gert::AnchorInstanceInfo> &instances) {
    for (size_t i = 0; i < params.size(); ++i) {
        instances.emplace_back(static_cast<uint32_t>(tensors.size()),
                               static_cast<uint32_t>(params[i].tensors.size()));
        for (size_t k = 0; k < params[i].tensors.size(); ++k) {
            const OpgenTensor &given = params[i].tensors[k];
            const ge::DataType type = static_cast<ge::DataType>(given.dtype);
            const ge::Format format = static_cast<ge::Format>(given.format);
            const ge::Format origin = OriginOf(format, params[i].shapes[k].size());
            gert::StorageShape shape;
            shape.MutableOriginShape() = ShapeOf(params[i].shapes[k]);
            shape.MutableStorageShape() = ShapeOf(StorageDims(given, params[i].shapes[k]));
            const bool values = with_values && DependsOnValue(i);
            tensors.emplace_back(shape, gert::StorageFormat(origin, format, gert::ExpandDimsType()),
                                 values ? gert::kOnHost : gert::kOnDeviceHbm, type,
                                 values ? given.data : nullptr);
            gert::CompileTimeTensorDesc desc;
            desc.SetDataType(type);
            desc.SetOriginFormat(origin);
            desc.SetStorageFormat(format);
            descs.push_back(desc);
        }
    }
}

void OpCall::BuildNode() {
    attrs_.reset(new gert::RuntimeAttrs(attr_values_.data(), attr_values_.size()));
    gert::ComputeNodeInfo::Parts parts;
    parts.node_type = op_type_.c_str();
    parts.node_name = node_name_.c_str();
    parts.num_ir_inputs = input_instances_.size();
    parts.num_ir_outputs = output_instances_.size();
    parts.num_inputs = input_tensors_.size();
    parts.num_outputs = output_descs_.size();
    parts.input_instances = input_instances_.data();
    parts.output_instances = output_instances_.data();
    parts.inputs = input_descs_.data();
    parts.outputs = output_descs_.data();
    parts.attrs = attrs_.get();
    node_ = gert::ComputeNodeInfo(parts);
    extend_ = {node_name_.c_str(), op_type_.c_str()};
}

std::string OpCall::InputName(size_t index) const {
    return NameOf(entry_->def == nullptr ? nullptr : &entry_->def->inputs, index, "input");
}

std::string OpCall::OutputName(size_t index) const {
    return NameOf(entry_->def == nullptr ? nullptr : &entry_->def->outputs, index, "output");
}

std::string OpCall::Describe() const {
    std::vector<std::string> parts;
    for (size_t i = 0; i < inputs_.size(); ++i) {
        parts.push_back(ParamText(InputName(i), inputs_[i]));
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
        parts.push_back(ParamText(OutputName(i), outputs_[i]));
    }
    parts.insert(parts.end(), attr_texts_.begin(), attr_texts_.end());
    return "op " + op_type_ + " on " + soc_->name + " (" + Join(parts, ", ") + ")";
}

void OpCall::Fail(const std::string &step, uint32_t status, const std::string &log) const {
    char code[16];
    std::snprintf(code, sizeof(code), "0x%x", status);
    throw OpError(Describe() + ": " + step + " failed with " + code +
                  (log.empty() ? "; it logged nothing" : "; it logged:\n" + log));
}

static std::string NoteThrown(const std::string &text) {
    const CrashReport report = ReportThrown(text);
    SetLastCrash(report.json);
    return report.full;
}

void OpCall::CallGuarded(const std::string &step, void (*body)(void *), void *context) const {
    std::string failure;
    try {
        failure = RunGuarded(body, context);
    } catch (const OpError &) {
        throw;
    } catch (const std::exception &error) {
        failure = NoteThrown(std::string("an exception: ") + error.what());
    } catch (...) {
        failure = NoteThrown("an exception of unknown type");
    }
    if (!failure.empty()) {
        const std::string log = TakeHostLog();
        throw OpError(Describe() + ": " + step + " crashed: " + failure +
                      (log.empty() ? "" : "; before, it logged:\n" + log));
    }
}

uint64_t TilingResult::workspace_size() const {
    const auto *const sizes =
        reinterpret_cast<const gert::TypedContinuousVector<size_t> *>(workspaces.get());
    uint64_t total = 0;
    for (size_t i = 0; i < sizes->GetSize(); ++i) {
        total += sizes->GetData()[i];
    }
    return total;
}
}  // namespace ascendc_emu
