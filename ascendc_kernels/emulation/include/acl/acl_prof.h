// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Collecting profiling data of a running program (aclprof*, CANN's libmsprofiler). There is no
// device to take times from: sessions, subscriptions, ranges and marks are accepted, nothing is
// recorded, and aclprofStart says so once on stderr. Functions live in this header: the absence of
// exported aclprof symbols is what tells torch_npu that it cannot profile here.
#ifndef ACL_ACL_PROF_H
#define ACL_ACL_PROF_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "acl/acl_base.h"
#include "acl/acl_rt.h"

#define ACL_PROF_ACL_API 0x00000001ULL
#define ACL_PROF_TASK_TIME 0x00000002ULL
#define ACL_PROF_AICORE_METRICS 0x00000004ULL
#define ACL_PROF_AICPU 0x00000008ULL
#define ACL_PROF_L2CACHE 0x00000010ULL
#define ACL_PROF_HCCL_TRACE 0x00000020ULL
#define ACL_PROF_TRAINING_TRACE 0x00000040ULL
#define ACL_PROF_MSPROFTX 0x00000080ULL
#define ACL_PROF_RUNTIME_API 0x00000100ULL
#define ACL_PROF_TASK_TIME_L0 0x00000800ULL
#define ACL_PROF_TASK_MEMORY 0x00001000ULL
#define ACL_PROF_OP_ATTR 0x00004000ULL

#define ACL_PROF_MAX_OP_NAME_LEN 257
#define ACL_PROF_MAX_OP_TYPE_LEN 65

typedef enum {
    ACL_AICORE_ARITHMETIC_UTILIZATION = 0,
    ACL_AICORE_PIPE_UTILIZATION = 1,
    ACL_AICORE_MEMORY_BANDWIDTH = 2,
    ACL_AICORE_L0B_AND_WIDTH = 3,
    ACL_AICORE_RESOURCE_CONFLICT_RATIO = 4,
    ACL_AICORE_MEMORY_UB = 5,
    ACL_AICORE_L2_CACHE = 6,
    ACL_AICORE_PIPE_EXECUTE_UTILIZATION = 7,
    ACL_AICORE_MEMORY_ACCESS = 8,
    ACL_AICORE_NONE = 0xFF
} aclprofAicoreMetrics;

typedef enum { ACL_STEP_START = 0, ACL_STEP_END = 1 } aclprofStepTag;

typedef enum {
    ACL_PROF_ARGS_MIN = 0,
    ACL_PROF_STORAGE_LIMIT,
    ACL_PROF_AIV_METRICS,
    ACL_PROF_SYS_HARDWARE_MEM_FREQ,
    ACL_PROF_LLC_MODE,
    ACL_PROF_SYS_IO_FREQ,
    ACL_PROF_SYS_INTERCONNECTION_FREQ,
    ACL_PROF_DVPP_FREQ,
    ACL_PROF_HOST_SYS,
    ACL_PROF_HOST_SYS_USAGE,
    ACL_PROF_HOST_SYS_USAGE_FREQ,
    ACL_PROF_ARGS_MAX
} aclprofConfigType;

struct aclprofConfig {
    uint64_t dataTypes;
};
struct aclprofSubscribeConfig {
    void* fd;
};
struct aclprofStepInfo {
    uint64_t unused;
};
struct aclprofStopConfig;
struct aclprofAicoreEvents;
struct aclprofTensor;
struct aclprofTensorInfo;
struct aclprofEventAttributes;
typedef struct aclprofConfig aclprofConfig;
typedef struct aclprofSubscribeConfig aclprofSubscribeConfig;
typedef struct aclprofStepInfo aclprofStepInfo;
typedef struct aclprofStopConfig aclprofStopConfig;
typedef struct aclprofAicoreEvents aclprofAicoreEvents;
typedef struct aclprofTensor aclprofTensor;
typedef struct aclprofTensorInfo aclprofTensorInfo;
typedef struct aclprofEventAttributes aclprofEventAttributes;

// Headers before CANN 9 lack these, and programs for both define them under the same guard.
#ifndef ACL_PROF_TENSOR_INFO_DEFINED
#define ACL_PROF_TENSOR_INFO_DEFINED
struct aclprofTensor {
    uint32_t type;  // 0: input, 1: output
    uint32_t format;
    uint32_t dataType;
    uint32_t shapeDim;
    uint32_t shape[8];
};
struct aclprofTensorInfo {
    uint64_t opNameId;
    uint64_t opTypeId;
    uint32_t resv;
    uint32_t tensorNum;
    uint32_t kernelType;
    uint32_t blockNums;
    void* stream;
    aclprofTensor* tensors;
};
struct aclprofEventAttributes {
    uint16_t version;
    uint16_t size;         // of the message, bytes
    uint32_t messageType;  // 0: tensors
    union message {
        aclprofTensorInfo* tensorInfo;
    } message;
};
#endif  // ACL_PROF_TENSOR_INFO_DEFINED

// ---- sessions and subscriptions: accepted, nothing is recorded ---------------------------------

static inline aclError aclprofInit(const char* path, size_t length) {
    return path != NULL && length > 0 ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}
static inline aclError aclprofSetConfig(aclprofConfigType type, const char* config, size_t length) {
    return type > ACL_PROF_ARGS_MIN && type < ACL_PROF_ARGS_MAX && config != NULL && length > 0
               ? ACL_SUCCESS
               : ACL_ERROR_INVALID_PARAM;
}
static inline aclError aclprofFinalize(void) { return ACL_SUCCESS; }
static inline aclprofConfig* aclprofCreateConfig(uint32_t* devices, uint32_t count,
                                                 aclprofAicoreMetrics metrics,
                                                 const aclprofAicoreEvents* events,
                                                 uint64_t dataTypes) {
    (void)metrics;
    (void)events;
    if (devices == NULL && count > 0) return NULL;
    aclprofConfig* made = (aclprofConfig*)malloc(sizeof(aclprofConfig));
    if (made != NULL) made->dataTypes = dataTypes;
    return made;
}
static inline aclError aclprofDestroyConfig(const aclprofConfig* config) {
    free((void*)config);
    return config != NULL ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}
static inline aclError aclprofStart(const aclprofConfig* config) {
    static int told = 0;
    if (config == NULL) return ACL_ERROR_INVALID_PARAM;
    if (!told++)
        fprintf(stderr, "opgen: aclprofStart: no profiling data is recorded in the emulation\n");
    return ACL_SUCCESS;
}
static inline aclError aclprofStop(const aclprofConfig* config) {
    return config != NULL ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}
static inline aclError aclprofWarmup(const aclprofConfig* config) { return aclprofStop(config); }
static inline aclprofSubscribeConfig* aclprofCreateSubscribeConfig(int8_t timeInfoSwitch,
                                                                   aclprofAicoreMetrics metrics,
                                                                   void* fd) {
    (void)timeInfoSwitch;
    (void)metrics;
    aclprofSubscribeConfig* made = (aclprofSubscribeConfig*)malloc(sizeof(aclprofSubscribeConfig));
    if (made != NULL) made->fd = fd;
    return made;
}
static inline aclError aclprofDestroySubscribeConfig(const aclprofSubscribeConfig* config) {
    free((void*)config);
    return config != NULL ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}
static inline aclError aclprofModelSubscribe(uint32_t model, const aclprofSubscribeConfig* config) {
    (void)model;
    return config != NULL ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}
static inline aclError aclprofModelUnSubscribe(uint32_t model) {
    (void)model;
    return ACL_SUCCESS;
}

// ---- steps, stamps, ranges and marks: accepted, nothing is recorded ----------------------------

static inline aclprofStepInfo* aclprofCreateStepInfo(void) {
    return (aclprofStepInfo*)calloc(1, sizeof(aclprofStepInfo));
}
static inline void aclprofDestroyStepInfo(aclprofStepInfo* info) { free(info); }
static inline aclError aclprofGetStepTimestamp(aclprofStepInfo* info, aclprofStepTag tag,
                                               aclrtStream stream) {
    (void)tag;
    (void)stream;
    return info != NULL ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}
static inline void* aclprofCreateStamp(void) { return malloc(1); }
static inline void aclprofDestroyStamp(void* stamp) { free(stamp); }
static inline aclError aclprofSetStampTraceMessage(void* stamp, const char* text, uint32_t length) {
    (void)length;
    return stamp != NULL && text != NULL ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}
static inline aclError aclprofMark(void* stamp) {
    return stamp != NULL ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}
static inline aclError aclprofMarkEx(const char* text, size_t length, aclrtStream stream) {
    (void)length;
    (void)stream;
    return text != NULL ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}
static inline aclError aclprofPush(void* stamp) { return aclprofMark(stamp); }
static inline aclError aclprofPop(void) { return ACL_SUCCESS; }
static inline aclError aclprofRangeStart(void* stamp, uint32_t* id) {
    if (stamp == NULL || id == NULL) return ACL_ERROR_INVALID_PARAM;
    *id = 0;
    return ACL_SUCCESS;
}
static inline aclError aclprofRangeStop(uint32_t id) {
    (void)id;
    return ACL_SUCCESS;
}
static inline aclError aclprofRangePushEx(const aclprofEventAttributes* attributes) {
    return attributes != NULL ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}
static inline aclError aclprofRangePop(void) { return ACL_SUCCESS; }
// An id that is the same for the same text.
static inline uint64_t aclprofStr2Id(const char* text) {
    uint64_t id = 1469598103934665603ULL;
    for (; text != NULL && *text; ++text) id = (id ^ (unsigned char)*text) * 1099511628211ULL;
    return id;
}

// ---- what a subscription delivers: nothing comes, so there is nothing to read ------------------

static inline aclError aclprofGetOpDescSize(size_t* size) {
    if (size == NULL) return ACL_ERROR_INVALID_PARAM;
    *size = 1;
    return ACL_SUCCESS;
}
static inline aclError aclprofGetOpNum(const void* info, size_t length, uint32_t* count) {
    (void)info;
    (void)length;
    if (count == NULL) return ACL_ERROR_INVALID_PARAM;
    *count = 0;
    return ACL_SUCCESS;
}
static inline aclError aclprofGetOpTypeLen(const void* info, size_t length, uint32_t index,
                                           size_t* size) {
    (void)info;
    (void)length;
    (void)index;
    (void)size;
    return ACL_ERROR_INVALID_PARAM;
}
static inline aclError aclprofGetOpNameLen(const void* info, size_t length, uint32_t index,
                                           size_t* size) {
    return aclprofGetOpTypeLen(info, length, index, size);
}
#define OPGEN_PROF_NO_TEXT(name)                                                             \
    static inline aclError name(const void* info, size_t length, uint32_t index, char* text, \
                                size_t size) {                                               \
        (void)info;                                                                          \
        (void)length;                                                                        \
        (void)index;                                                                         \
        (void)text;                                                                          \
        (void)size;                                                                          \
        return ACL_ERROR_INVALID_PARAM;                                                      \
    }
OPGEN_PROF_NO_TEXT(aclprofGetOpType)
OPGEN_PROF_NO_TEXT(aclprofGetOpName)
#undef OPGEN_PROF_NO_TEXT
#define OPGEN_PROF_ZERO(Result, name)                                            \
    static inline Result name(const void* info, size_t length, uint32_t index) { \
        (void)info;                                                              \
        (void)length;                                                            \
        (void)index;                                                             \
        return 0;                                                                \
    }
OPGEN_PROF_ZERO(uint64_t, aclprofGetOpStart)
OPGEN_PROF_ZERO(uint64_t, aclprofGetOpEnd)
OPGEN_PROF_ZERO(uint64_t, aclprofGetOpDuration)
OPGEN_PROF_ZERO(size_t, aclprofGetModelId)
#undef OPGEN_PROF_ZERO

#endif  // ACL_ACL_PROF_H
