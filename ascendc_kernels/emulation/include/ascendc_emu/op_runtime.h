/*
 * Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
 *
 * C interface of the emulated op runtime: InferShape -> TilingFunc -> workspace -> block dim ->
 * tiling key -> kernel, the order CANN uses. Python (ctypes), libcust_opapi.so and `opgen run` all
 * go through it. Every function returns 0 on success; on failure opgen_last_error() has the text,
 * which names the op, the step and the logged reason.
 */
#ifndef ASCENDC_EMU_OP_RUNTIME_H
#define ASCENDC_EMU_OP_RUNTIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A dense tensor in host memory. dtype and format hold ge::DataType / ge::Format values. */
typedef struct OpgenTensor {
    void* data;
    int32_t dtype;
    int32_t format;
    int32_t rank;
    const int64_t* shape;
    uint64_t behind;    /* bytes of the same storage behind the tensor: not 0 for a slice */
    int32_t holds_data; /* not 0: an output that the caller has filled, which the op may add to */
} OpgenTensor;

/* One op parameter: count 1 for a plain tensor, 0 for an absent optional one, n for a dynamic list
 * (is_list = 1). */
typedef struct OpgenParam {
    int32_t is_list;
    int32_t count;
    OpgenTensor* tensors;
} OpgenParam;

typedef enum OpgenAttrKind {
    OPGEN_ATTR_INT = 0,
    OPGEN_ATTR_FLOAT = 1,
    OPGEN_ATTR_BOOL = 2,
    OPGEN_ATTR_STR = 3,
    OPGEN_ATTR_LIST_INT = 4,
    OPGEN_ATTR_LIST_FLOAT = 5,
    OPGEN_ATTR_DTYPE = 6, /* a ge::DataType in i */
} OpgenAttrKind;

/* Attributes are given in OpDef order. */
typedef struct OpgenAttr {
    const char* name;
    int32_t kind;
    int32_t count; /* list length */
    int64_t i;     /* int, bool, dtype */
    double f;
    const char* s;
    const int64_t* li;
    const float* lf;
} OpgenAttr;

typedef struct OpgenCall {
    const char* op_type; /* CamelCase */
    const char* soc;     /* e.g. "ascend910b3"; NULL: OPGEN_SOC or the default */
    int32_t num_inputs;
    OpgenParam* inputs;
    int32_t num_outputs;
    OpgenParam* outputs;
    int32_t num_attrs;
    const OpgenAttr* attrs;
    int32_t deterministic;
    int32_t block_dim;        /* 0: as tiled; otherwise overrides the core count tiling sees */
    int32_t skip_shape_check; /* 1: do not compare outputs with InferShape (foreign ops that leave
                                 the InferShape of a template) */
} OpgenCall;

typedef struct OpgenExec OpgenExec; /* a tiled call, ready to launch */

/* dlopen an op_host library; its static registrars add OpDefs, InferShape and tiling functions. */
int opgen_load_host(const char* path);

/* Make a kernel known. key: the dtypes of inputs then outputs in OpDef order, torch names, joined
 * with ',' ("float16,float16,float16"); path: a shared object whose symbol `entry` is the kernel,
 * loaded at first use. soc: exact or family name, or "" for any. Later registrations win. */
int opgen_register_kernel(const char* op_type, const char* soc, const char* key, const char* path,
                          const char* entry);

/* Keep this thread's next registrations, and look up its next calls, under a name of their own:
 * two vendors may have an op of one type. NULL or "" is the common scope, which all others see. */
void opgen_set_scope(const char* scope);

/* Run InferShape and InferDataType. shapes: room for num_outputs * 8 dims; ranks, dtypes:
 * num_outputs. Only the inputs and attrs of `call` are read, and how many tensors its outputs stand
 * for: a dynamic list of n outputs counts n here (call->outputs may be NULL when there is none).
 * With shapes and ranks NULL only dtypes are inferred, with dtypes NULL only shapes. */
int opgen_infer(const OpgenCall* call, int64_t* shapes, int32_t* ranks, int32_t* dtypes);

/* As opgen_infer without dtypes; a dim that depends on computed values is its upper bound by
 * InferShapeRange, -1 where the op has none. */
int opgen_infer_largest(const OpgenCall* call, int64_t* shapes, int32_t* ranks);

/* Check outputs against InferShape, run TilingFunc, report the workspace size in bytes. The
 * tensors' data pointers are captured; they must stay valid until opgen_launch returns. */
int opgen_prepare(const OpgenCall* call, OpgenExec** exec, uint64_t* workspace_size);

/* As opgen_prepare, for a call whose like has been remembered: no op-host function runs. *exec is
 * NULL when there is none, and in check and profile mode always. Shapes and dtypes of all tensors,
 * attributes, SoC, scope and environment make a call; addresses do not. */
int opgen_recall(const OpgenCall* call, OpgenExec** exec, uint64_t* workspace_size);
/* Remember what opgen_prepare gave for the call of this thread's last opgen_recall. A call is known
 * when two of its like gave the same tiling. Never known are ops that read values of their inputs,
 * log, compute shapes in the kernel, or once gave two tilings for one call. OPGEN_TILING_CACHE=0
 * turns it off. */
void opgen_remember(const OpgenExec* exec);

/* What tiling decided; data stays owned by exec. */
int opgen_exec_tiling(const OpgenExec* exec, uint32_t* block_dim, uint64_t* tiling_key,
                      const void** tiling_data, uint64_t* tiling_size);

/* Run the kernel on all blocks; workspace may be NULL when its size is 0. */
int opgen_launch(OpgenExec* exec, void* workspace);

/* Shapes the kernel computed (OutputShapeDependOnCompute), valid after opgen_launch: for every
 * tensor of the outputs, lists flattened, its rank (-1: not a computed one) and 8 dims. An error
 * when the kernel left one out or tells more elements than the tensor holds. */
int opgen_exec_output_shapes(const OpgenExec* exec, int64_t* shapes, int32_t* ranks);

void opgen_exec_free(OpgenExec* exec);

/* "fast", "check" or "profile"; also OPGEN_EMULATION. */
int opgen_set_mode(const char* mode);
/* JSON array of the sanitizer's findings since the last clear ("[]" when clean). */
const char* opgen_findings_json(void);
void opgen_clear_findings(void);
/* How many kernels this process has really executed: tests use it to refuse a silent fallback. */
uint64_t opgen_launch_count(void);

/* What the loaded host libraries declare, a JSON array of ops:
 *   op, declared (by OP_ADD), has_infer_shape, has_infer_shape_range, has_infer_data_type,
 * has_tiling, problems [text] inputs/outputs [{name, param_type, dtypes [DT_*], dtype_list,
 * formats, format_list, follow, follow_type, value_depend, scalar, scalar_list, computed_shape,
 * init_value}] attrs [{name, type, required, default}]     socs [{soc, inputs, outputs, config {}}]
 * Valid until the next call on this thread. */
const char* opgen_op_defs_json(void);
/* Tiling structs declared with BEGIN_TILING_DATA_DEF and registered, a JSON array:
 *   name (as registered: "Add", "Add_11", or a nested struct's own), class, size in bytes,
 *   fields [{type, name, offset, count (0: scalar), struct, size}]
 * Valid until the next call on this thread. */
const char* opgen_tiling_defs_json(void);

/* What a tiling key of an op with template parameters (ASCENDC_TPL_*) stands for, a JSON object:
 *   args [{name, kind (dtype, datatype, format, uint, bool, kernel_type), value}] in the order of
 *   the kernel's template parameters; kernel_type: number of ASCENDC_TPL_* or null.
 * "" for an op without. Valid until the next call on this thread. */
const char* opgen_template_json(const char* op_type, uint64_t key);

/* A JSON array of tiling keys, one for each ASCENDC_TPL_ARGS_SEL of the op; "[]" for an op without.
 * Valid until the next call on this thread. */
const char* opgen_template_keys_json(const char* op_type);

const char* opgen_last_error(void);

/* Where a signal ended op_host code or a kernel in the last call, "" if none did:
 * {"signal": 11, "text": "SIGSEGV: read of ...", "sites": [{"function", "file", "line"}]},
 * innermost first. Code whose time was over (OPGEN_TIMEOUT) has "limit" in seconds; of a kernel
 * then "cores":
 * [{"core": "AIV 0", "file", "line", "doing": "in f()"}], the first 64 of "stopped" in all. The
 * call failed as with any other error. Valid until the next call on this thread. */
const char* opgen_last_crash_json(void);

#ifdef __cplusplus
}
#endif
#endif /* ASCENDC_EMU_OP_RUNTIME_H */
