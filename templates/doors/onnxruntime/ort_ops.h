// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// The ops of a table as custom ops of ONNX Runtime: one per row of an op's dtype table, all of the
// op's name. The runtime chooses by the types of a node's inputs and outputs.
#ifndef OPGEN_DOOR_ORT_OPS_H
#define OPGEN_DOOR_ORT_OPS_H

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "op_call.h"
#include "ort_abi.h"
#include "ort_frame.h"
#include "ort_shapes.h"

namespace opgen_ort __attribute__((visibility("hidden"))) {

    struct RowOp : OrtCustomOp {
        const OpInfo* info = nullptr;
        const ort_abi::Functions* ort = nullptr;
        std::vector<int> input_types;  // of the parameters; 0: any
        std::vector<int> output_types;
        std::vector<int> input_kinds;
        std::vector<int> output_kinds;
    };

    // A node of a session.
    struct Kernel {
        const RowOp* op;
        AttrValues attrs;
    };

    inline const RowOp& AsRow(const OrtCustomOp* op) { return *static_cast<const RowOp*>(op); }

    // Runs `work`; an exception becomes a status, since none may cross the runtime. `code` goes
    // before its text.
    template <typename Work>
    OrtStatus* Guarded(const ort_abi::Functions& ort, const std::string& code, Work work) {
        try {
            work();
            return nullptr;
        } catch (const std::exception& error) {
            return ort.CreateStatus(ort_abi::kInvalidArgument, (code + error.what()).c_str());
        } catch (...) {
            return ort.CreateStatus(ort_abi::kFail, "unknown error in a custom op");
        }
    }

    inline OrtStatus* CreateKernel(const OrtCustomOp* op, const OrtApi*, const OrtKernelInfo* info,
                                   void** kernel) {
        const RowOp& row = AsRow(op);
        return Guarded(*row.ort, "OPG542: ", [&] {
            NodeAttrs source(*row.ort, row.info->type, info);
            *kernel = new Kernel{&row, ReadAttrs(*row.info, source)};
        });
    }

    inline OrtStatus* Compute(void* kernel, OrtKernelContext* context) {
        const Kernel& node = *static_cast<const Kernel*>(kernel);
        return Guarded(*node.op->ort, "OPG543: ", [&] {
            NodeFrame frame(*node.op->ort, *node.op->info, context);
            node.op->info->call(*node.op->info, node.attrs, frame);
        });
    }

    // Types and kinds of the parameters of one row. A runtime has one list only, at the end: an op
    // with lists takes all of its tensors as that, and looks at their types when it runs.
    inline void FillParams(const std::vector<TensorParam>& params, const Dtype* row,
                           std::vector<int>* types, std::vector<int>* kinds) {
        bool lists = false;
        bool same = true;
        for (size_t i = 0; i < params.size(); ++i) {
            lists = lists || params[i].kind == Kind::kList;
            same = same && row[i] == row[0];
        }
        if (lists) {
            *types = {same ? NumberOf(row[0]) : 0};
            *kinds = {ort_abi::kVariadic};
            return;
        }
        for (size_t i = 0; i < params.size(); ++i) {
            types->push_back(NumberOf(row[i]));
            kinds->push_back(params[i].kind == Kind::kOptional ? ort_abi::kOptional
                                                               : ort_abi::kRequired);
        }
    }

    inline void FillFunctions(RowOp * op, bool infers) {
        op->version = ort_abi::kCustomOpVersion;
        op->CreateKernel = nullptr;  // CreateKernelV2 is used
        op->KernelCompute = nullptr;
        op->GetName = [](const OrtCustomOp* self) { return AsRow(self).info->type; };
        op->GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
        op->GetInputType = [](const OrtCustomOp* self, size_t i) {
            return AsRow(self).input_types[i];
        };
        op->GetInputTypeCount = [](const OrtCustomOp* self) {
            return AsRow(self).input_types.size();
        };
        op->GetOutputType = [](const OrtCustomOp* self, size_t i) {
            return AsRow(self).output_types[i];
        };
        op->GetOutputTypeCount = [](const OrtCustomOp* self) {
            return AsRow(self).output_types.size();
        };
        op->KernelDestroy = [](void* kernel) { delete static_cast<Kernel*>(kernel); };
        op->GetInputCharacteristic = [](const OrtCustomOp* self, size_t i) {
            return AsRow(self).input_kinds[i];
        };
        op->GetOutputCharacteristic = [](const OrtCustomOp* self, size_t i) {
            return AsRow(self).output_kinds[i];
        };
        op->GetInputMemoryType = [](const OrtCustomOp*, size_t) { return 0; };
        op->GetVariadicInputMinArity = [](const OrtCustomOp*) { return 0; };
        op->GetVariadicInputHomogeneity = [](const OrtCustomOp*) { return 0; };
        op->GetVariadicOutputMinArity = [](const OrtCustomOp*) { return 0; };
        op->GetVariadicOutputHomogeneity = [](const OrtCustomOp*) { return 0; };
        op->CreateKernelV2 = &CreateKernel;
        op->KernelComputeV2 = &Compute;
        op->InferOutputShapeFn = nullptr;
        if (infers) {
            op->InferOutputShapeFn = [](const OrtCustomOp* self,
                                        OrtShapeInferContext* context) -> OrtStatus* {
                InferShapes(*AsRow(self).ort, *AsRow(self).info, context);
                return nullptr;
            };
        }
        op->GetStartVersion = [](const OrtCustomOp*) { return 1; };
        op->GetEndVersion = [](const OrtCustomOp*) { return std::numeric_limits<int>::max(); };
    }

    inline bool HasOptional(const std::vector<TensorParam>& params) {
        return std::any_of(params.begin(), params.end(),
                           [](const TensorParam& p) { return p.kind == Kind::kOptional; });
    }

    // The custom ops of a table; they live as long as the process, like every session may.
    inline std::vector<std::unique_ptr<RowOp>> MakeOps(
        const std::vector<OpInfo>& infos, const ort_abi::Functions& ort, bool absent_inputs) {
        std::vector<std::unique_ptr<RowOp>> ops;
        for (const OpInfo& info : infos) {
            const bool infers = absent_inputs || !HasOptional(info.inputs);
            std::set<std::pair<std::vector<int>, std::vector<int>>> known;
            for (const std::vector<Dtype>& row : info.dtypes) {
                auto op = std::make_unique<RowOp>();
                op->info = &info;
                op->ort = &ort;
                FillParams(info.inputs, row.data(), &op->input_types, &op->input_kinds);
                FillParams(info.outputs, row.data() + info.inputs.size(), &op->output_types,
                           &op->output_kinds);
                FillFunctions(op.get(), infers);
                if (known.emplace(op->input_types, op->output_types).second) {
                    ops.push_back(std::move(op));
                }
            }
        }
        return ops;
    }

    // By the text: asked for an interface that it lacks, a runtime writes to stderr.
    inline bool KnowsAbsentInputs(const char* version) {
        int major = 0;
        int minor = 0;
        return std::sscanf(version, "%d.%d", &major, &minor) == 2 &&
               (major > 1 || minor >= ort_abi::kMinorOfAbsentInputs);
    }

    // What RegisterCustomOps does, for the ops of `infos` in the domain `vendor`.
    inline OrtStatus* Register(OrtSessionOptions * options, const OrtApiBase* base,
                               const char* vendor, const std::vector<OpInfo>& infos) {
        const OrtApi* api = base->GetApi(ort_abi::kOldestApi);
        if (api == nullptr) {
            const std::string text = std::string("OPG541: the ops of ") + vendor +
                                     " need ONNX Runtime " + ort_abi::kOldestRuntime +
                                     " or newer, this is " + base->GetVersionString();
            const OrtApi* first = base->GetApi(1);
            if (first == nullptr) {  // no way to return a text
                std::fprintf(stderr, "%s\n", text.c_str());
                return nullptr;
            }
            return ort_abi::Functions(first).CreateStatus(ort_abi::kFail, text.c_str());
        }
        const bool absent_inputs = KnowsAbsentInputs(base->GetVersionString());
        // One runtime per process: its table, the ops and their domain are made once.
        static std::mutex mutex;
        static const ort_abi::Functions* ort = new ort_abi::Functions(api);
        static OrtCustomOpDomain* domain = nullptr;
        return Guarded(*ort, "", [&] {
            std::lock_guard<std::mutex> lock(mutex);
            if (domain == nullptr) {
                OrtCustomOpDomain* made = nullptr;
                Check(*ort, ort->CreateCustomOpDomain(vendor, &made));
                for (auto& op : MakeOps(infos, *ort, absent_inputs)) {
                    Check(*ort, ort->CustomOpDomainAdd(made, op.release()));
                }
                domain = made;
            }
            Check(*ort, ort->AddCustomOpDomain(options, domain));
        });
    }

}  // namespace opgen_ort

#endif  // OPGEN_DOOR_ORT_OPS_H
