// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// A stand-in for the op runtime, so that the aclnn layer can be tested by itself: three ops in
// float32 with plain loops instead of tiling and kernels. FakeFail fails in the step its attr
// names.
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "ascendc_emu/op_runtime.h"

struct OpgenExec {
    std::string op;
    std::vector<std::vector<OpgenTensor>> inputs, outputs;
    std::vector<std::vector<int64_t>> shapes;
    double scalar = 0;
    bool fail_launch = false;
};

namespace {

thread_local std::string error;
uint64_t launches = 0;
uint64_t behind = 0;  // the storage behind the last launch's first output
std::string loaded;

int64_t Count(const OpgenTensor& t) {
    int64_t n = 1;
    for (int i = 0; i < t.rank; ++i) n *= t.shape[i];
    return n;
}

}  // namespace

extern "C" {

int opgen_load_host(const char* path) {
    loaded += std::string(path) + "\n";
    return 0;
}
int opgen_register_kernel(const char* op, const char* soc, const char* key, const char* path,
                          const char* entry) {
    loaded += std::string(op) + "|" + soc + "|" + key + "|" + path + "|" + entry + "\n";
    return 0;
}
void opgen_set_scope(const char*) {}
const char* fake_loaded() { return loaded.c_str(); }

int opgen_infer(const OpgenCall* call, int64_t* shapes, int32_t* ranks, int32_t* dtypes) {
    const OpgenTensor& x = call->inputs[0].tensors[0];
    for (int i = 1; i < call->num_inputs; ++i) {
        if (call->inputs[i].count == 1 && Count(call->inputs[i].tensors[0]) != Count(x)) {
            error = std::string(call->op_type) + ": InferShape: inputs differ in shape";
            return 1;
        }
    }
    for (int o = 0; o < call->num_outputs; ++o) {
        std::memcpy(shapes + o * 8, x.shape, x.rank * sizeof(int64_t));
        ranks[o] = x.rank;
        dtypes[o] = x.dtype;
    }
    return 0;
}

int opgen_recall(const OpgenCall*, OpgenExec** exec, uint64_t*) {
    *exec = nullptr;
    return 0;
}

void opgen_remember(const OpgenExec*) {}

int opgen_prepare(const OpgenCall* call, OpgenExec** exec, uint64_t* workspace) {
    std::string step;
    for (int i = 0; i < call->num_attrs; ++i) {
        if (call->attrs[i].kind == OPGEN_ATTR_STR) step = call->attrs[i].s;
    }
    if (step == "tiling") {
        error = "tiling of FakeFail failed: the tile of 7 does not divide 5";
        return 1;
    }
    *exec = new OpgenExec;
    (*exec)->op = call->op_type;
    (*exec)->fail_launch = step == "launch";
    for (int i = 0; i < call->num_inputs; ++i) {
        const OpgenParam& p = call->inputs[i];
        (*exec)->inputs.emplace_back(p.tensors, p.tensors + p.count);
    }
    for (int i = 0; i < call->num_outputs; ++i) {
        const OpgenParam& p = call->outputs[i];
        (*exec)->outputs.emplace_back(p.tensors, p.tensors + p.count);
    }
    for (int i = 0; i < call->num_attrs; ++i) {
        if (call->attrs[i].kind == OPGEN_ATTR_FLOAT) (*exec)->scalar = call->attrs[i].f;
    }
    *workspace = 64;
    return 0;
}

int opgen_launch(OpgenExec* exec, void* workspace) {
    if (exec->fail_launch) {
        error = "the kernel trapped";
        return 1;
    }
    std::memset(workspace, 0xAB, 64);
    ++launches;
    behind = exec->outputs[0].empty() ? 0 : exec->outputs[0][0].behind;
    for (size_t item = 0; item < exec->outputs[0].size(); ++item) {
        const auto* x = static_cast<const float*>(exec->inputs[0][item].data);
        const float* y = nullptr;
        if (exec->inputs.size() > 1 && !exec->inputs[1].empty()) {
            y = static_cast<const float*>(exec->inputs[1][item].data);
        }
        auto* z = static_cast<float*>(exec->outputs[0][item].data);
        const int64_t n = Count(exec->outputs[0][item]);
        for (int64_t i = 0; i < n; ++i) {
            if (exec->op == "FakeStep") {
                z[i] = x[i] - static_cast<float>(exec->scalar) * y[i];
            } else {
                z[i] = std::fmax(x[i] + (y == nullptr ? 0.0f : y[i]), 0.0f);
            }
        }
    }
    return 0;
}

void opgen_exec_free(OpgenExec* exec) { delete exec; }
uint64_t opgen_launch_count(void) { return launches; }
uint64_t fake_behind(void) { return behind; }
const char* opgen_last_error(void) { return error.c_str(); }

}  // extern "C"
