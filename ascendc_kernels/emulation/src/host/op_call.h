// SPDX-License-Identifier: Apache-2.0
// One call of an op: its tensors and attributes in the form op-host functions read.
#ifndef OPGEN_HOST_OP_CALL_H
#define OPGEN_HOST_OP_CALL_H

#include <cstdint>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "ascendc_emu/op_runtime.h"
#include "ascendc_emu/platform_table.h"
#include "exe_graph/runtime/kernel_context.h"
#include "exe_graph/runtime/tensor.h"
#include "host/context_block.h"
#include "host/op_registry.h"
#include "platform/platform_info.h"

namespace ascendc_emu {
// Carries the text for opgen_last_error().
class OpError : public std::runtime_error {
 public:
    using std::runtime_error::runtime_error;
};

// What TilingFunc decided.
struct TilingResult {
    uint64_t key = 0;
    uint32_t block_dim = 0;
    bool need_atomic = false;
    int32_t cond = 0;
    uint32_t schedule_mode = 0;
    uint32_t local_memory = 0;
    uint32_t aicpu_block_dim = 0;
    bool logged = false;                    // TilingFunc had something to say
    std::unique_ptr<uint8_t[]> data;        // a gert::TilingData block
    std::unique_ptr<uint8_t[]> workspaces;  // a gert::TypedContinuousVector<size_t> block

    const gert::TilingData &tiling_data() const {
        return *reinterpret_cast<const gert::TilingData *>(data.get());
    }
    // Sum of the workspace sizes in bytes.
    uint64_t workspace_size() const;
};

// Dimensions of a tensor in memory: FRACTAL_NZ of a shape (.., m, n) is (.., n/c0, m/16, 16, c0),
// where c0 elements are 32 bytes; other formats keep the shape.
std::vector<int64_t> StorageDims(const OpgenTensor &tensor, const std::vector<int64_t> &shape);
// Whether these are the dimensions of the shape.
bool IsStoredAsShaped(const OpgenTensor &tensor, const std::vector<int64_t> &shape);

struct KnownCall;  // host/known_calls.h

// The kernel for a call, as it was found when so many kernels were registered.
struct FoundKernel {
    void *address = nullptr;
    std::string name;
    size_t registered = 0;
};

class OpCall {
 public:
    // Copies what the call describes but not the tensors' data. Throws OpError for an op, SoC,
    // attribute or parameter that is not there.
    explicit OpCall(const OpgenCall &call);
    // The same of a call that is known, for its launch only: without what op-host functions read.
    OpCall(const OpgenCall &call, const KnownCall &known);
    OpCall(const OpCall &) = delete;
    OpCall &operator=(const OpCall &) = delete;

    // Each throws OpError when the op's function fails; the text carries what it logged.
    std::vector<gert::Shape> InferShape();
    std::vector<ge::DataType> InferDataType();
    // As InferShape; dims it cannot tell are the upper bounds of InferShapeRange, or stay -1.
    std::vector<gert::Shape> LargestShapes();
    TilingResult Tile();

    // Positions of the outputs whose shape the kernel tells (OutputShapeDependOnCompute).
    std::vector<size_t> ComputedShapes() const;

    // Throws OpError when a given output differs from what InferShape says.
    void CheckOutputs();
    // Throws OpError when the OpDef does not list this SoC or this combination of dtypes.
    void CheckSupport() const;

    const std::string &op_type() const { return op_type_; }
    const OpEntry &entry() const { return *entry_; }
    const std::shared_ptr<const OpEntry> &shared_entry() const { return entry_; }
    const std::vector<std::string> &attr_texts() const { return attr_texts_; }
    // Whether op-host functions are given the values of an input.
    bool ReadsValues() const;
    const SocFacts &soc() const { return *soc_; }
    // Dtypes of inputs then outputs, torch names, by comma; see opgen_register_kernel.
    std::string KernelKey() const;
    // "op Add on Ascend910B3, x=float16[2,3], y=absent, attr n=1".
    std::string Describe() const;
    std::string InputName(size_t index) const;
    std::string OutputName(size_t index) const;
    // Dtype combination of the OpDef that matches, -1 when there is none.
    int MatchingCombo(std::vector<std::string> *supported) const;

    struct Param {
        bool is_list = false;
        std::vector<OpgenTensor> tensors;
        std::vector<std::vector<int64_t>> shapes;
    };
    const std::vector<Param> &inputs() const { return inputs_; }
    const std::vector<Param> &outputs() const { return outputs_; }

 private:
    void ReadParams(const OpgenParam *params, int32_t count, std::vector<Param> &into);
    void CheckParamCounts() const;
    void FlattenParams(const std::vector<Param> &params, bool with_values,
                       std::deque<gert::Tensor> &tensors,
                       std::vector<gert::CompileTimeTensorDesc> &descs,
                       std::vector<gert::AnchorInstanceInfo> &instances);
    void ReadAttrs(const OpgenCall &call);
    void StoreAttr(const OpgenAttr &attr, const ops::OpAttrDef *def);
    void StoreDefault(const ops::OpAttrDef &def);
    size_t OutputCount() const;
    // Inference is asked without outputs; its functions still see that the node has them.
    void AssumeOutputs();
    void BuildNode();
    bool DependsOnValue(size_t param) const;
    // Values of up to 8 bytes are given with InPlace, larger ones by address.
    ContextBlock Context(const std::vector<void *> &inputs,
                         const std::vector<void *> &outputs) const {
        return ContextBlock(inputs, outputs, &node_, extend_);
    }
    [[noreturn]] void Fail(const std::string &step, uint32_t status, const std::string &log) const;
    // Calls a function of the op and returns its status; an exception or a signal becomes an error.
    template <typename Body>
    uint32_t CallOp(const std::string &step, Body body) const {
        struct Work {
            Body *body;
            uint32_t status;
        } work{&body, 0};
        const auto call = [](void *raw) {
            Work &mine = *static_cast<Work *>(raw);
            mine.status = (*mine.body)();
        };
        CallGuarded(step, call, &work);
        return work.status;
    }
    void CallGuarded(const std::string &step, void (*body)(void *), void *context) const;

    std::string op_type_;
    std::string node_name_;
    std::shared_ptr<const OpEntry> entry_;
    const SocFacts *soc_ = nullptr;
    fe::PlatFormInfos *platform_ = nullptr;
    int32_t deterministic_ = 0;
    std::vector<Param> inputs_;
    std::vector<Param> outputs_;
    std::deque<gert::Tensor> input_tensors_;
    std::deque<gert::Tensor> output_tensors_;
    std::vector<gert::CompileTimeTensorDesc> input_descs_;
    std::vector<gert::CompileTimeTensorDesc> output_descs_;
    std::vector<gert::AnchorInstanceInfo> input_instances_;
    std::vector<gert::AnchorInstanceInfo> output_instances_;
    std::vector<std::vector<uint8_t>> attr_storage_;
    std::vector<const void *> attr_values_;
    std::vector<std::string> attr_texts_;
    std::unique_ptr<gert::RuntimeAttrs> attrs_;
    gert::ComputeNodeInfo node_;
    gert::KernelExtendInfo extend_;
};

// torch name of a ge::DataType ("float16"); "undefined" for one torch does not have.
std::string TorchName(ge::DataType type);
// The reverse; DT_UNDEFINED for other texts.
ge::DataType FromTorchName(const std::string &name);
std::string ShapeText(const gert::Shape &shape);

// Shapes that a kernel tells: outputs with OutputShapeDependOnCompute.
// The one GM argument between outputs and workspace, whatever the number of such outputs: nine
// uint64 for each, in OpDef order - the rank and eight dims.
// (Kernel侧输出shape依赖计算, OutputShapeDependOnCompute)
class ComputedShapes {
 public:
    explicit ComputedShapes(const OpCall &call);

    bool empty() const { return slots_ == 0; }
    void *data() { return words_.data(); }
    // Rounded up to 32 bytes, as the device's allocation is.
    uint64_t bytes() const { return words_.size() * sizeof(uint64_t); }
    // Fills what opgen_exec_output_shapes documents; throws OpError.
    void Read(const OpCall &call, int64_t *shapes, int32_t *ranks) const;

 private:
    size_t slots_ = 0;
    std::vector<uint64_t> words_;
};

// OpParamDef::InitValue: outputs that are filled before the kernel runs.
// Writes `value`, converted to the dtype, to every element. Throws OpError for a dtype without a
// conversion.
void FillOutput(const OpCall::Param &param, double value);

void RegisterKernel(const std::string &op_type, const std::string &soc, const std::string &key,
                    const std::string &path, const std::string &entry);
}  // namespace ascendc_emu

// Tiling done, ready to launch.
struct OpgenExec {
    explicit OpgenExec(const OpgenCall &call) : op(call) {}
    OpgenExec(const OpgenCall &call, std::shared_ptr<ascendc_emu::KnownCall> as);

    ascendc_emu::OpCall op;
    std::shared_ptr<const ascendc_emu::TilingResult> tiling;
    std::shared_ptr<ascendc_emu::KnownCall> known;          // null for a call that is not known
    std::unique_ptr<ascendc_emu::ComputedShapes> computed;  // null before the launch
};

namespace ascendc_emu {
// Runs the kernel for the call's SoC and dtypes, whose library is loaded at first use, in `mode`
// (OpgenMode). A null workspace, or one that is too small, is replaced. Throws OpError.
void LaunchOp(OpgenExec &exec, void *workspace, int mode);
}  // namespace ascendc_emu

#endif  // OPGEN_HOST_OP_CALL_H
