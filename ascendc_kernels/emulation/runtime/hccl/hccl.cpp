// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Collectives for a communicator of one rank: every collective is then a copy (or nothing), which
// is what the functions below do, on the given stream. More ranks are refused by name. The types
// mirror HCCL's C interface (integers and opaque handles), so no header of it is needed.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "acl/acl.h"
#include "ascendc_emu/acl_error.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Result = int;
constexpr Result kSuccess = 0;
constexpr Result kParameter = 1;
constexpr Result kNull = 2;
constexpr Result kNotSupported = 5;
constexpr Result kRuntime = 15;
constexpr size_t kRootInfoBytes = 4108;
constexpr size_t kCommNameBytes = 128;

struct Communicator {
    uint32_t magic;
    char name[kCommNameBytes];
};
constexpr uint32_t kMagic = 0x0C0FFEE1;

Result Refuse(Result code, const std::string& text) {
    opgen_acl_set_error(code, text.c_str());
    return code;
}

Result ManyRanks(const char* api, uint32_t ranks) {
    return Refuse(kNotSupported, std::string(api) + ": " + std::to_string(ranks) +
                                     " ranks wanted; HCCL is emulated for one rank only");
}

// Bytes per element by HcclDataType; 0 for types it does not name.
size_t ElementBytes(int type) {
    switch (type) {
        case 0:
        case 7:
        case 14:
        case 15:
        case 16:
        case 17:
            return 1;  // int8 uint8 hif8 fp8*
        case 1:
        case 3:
        case 8:
        case 11:
            return 2;  // int16 fp16 uint16 bf16
        case 2:
        case 4:
        case 9:
            return 4;  // int32 fp32 uint32
        case 5:
        case 6:
        case 10:
            return 8;  // int64 uint64 fp64
        case 12:
            return 16;  // int128
        default:
            return 0;
    }
}

bool Valid(void* comm) {
    return comm != nullptr && static_cast<Communicator*>(comm)->magic == kMagic;
}

Result CopyOne(const char* api, const void* from, void* to, uint64_t count, int type, void* comm,
               aclrtStream stream) {
    if (!Valid(comm)) return Refuse(kParameter, std::string(api) + ": not a live communicator");
    size_t bytes = ElementBytes(type) * count;
    if (count != 0 && bytes == 0) {
        return Refuse(kNotSupported, std::string(api) + ": data type " + std::to_string(type));
    }
    if (bytes == 0 || from == to) return kSuccess;
    if (from == nullptr || to == nullptr) return Refuse(kNull, std::string(api) + ": null buffer");
    int code = aclrtMemcpyAsync(to, bytes, from, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream);
    return code == ACL_SUCCESS ? kSuccess : kRuntime;
}

// The V forms take per-rank counts and offsets in elements; there is one rank.
uint64_t First(const void* values) { return *static_cast<const uint64_t*>(values); }

Result Create(const char* api, uint32_t ranks, uint32_t rank, void** comm) {
    if (comm == nullptr) return Refuse(kNull, std::string(api) + ": null comm");
    if (ranks != 1) return ManyRanks(api, ranks);
    if (rank != 0) return Refuse(kParameter, std::string(api) + ": rank out of range");
    static std::atomic<uint32_t> serial{0};
    auto* created = new Communicator{};
    created->magic = kMagic;
    std::snprintf(created->name, sizeof created->name, "opgen_emulated_%u", serial++);
    *comm = created;
    return kSuccess;
}

}  // namespace

EXPORT Result HcclGetRootInfo(void* info) {
    if (info == nullptr) return Refuse(kNull, "HcclGetRootInfo: null info");
    std::memset(info, 0, kRootInfoBytes);
    return kSuccess;
}

EXPORT Result HcclCommInitRootInfo(uint32_t ranks, const void*, uint32_t rank, void** comm) {
    return Create("HcclCommInitRootInfo", ranks, rank, comm);
}

EXPORT Result HcclCommInitRootInfoConfig(uint32_t ranks, const void*, uint32_t rank, const void*,
                                         void** comm) {
    return Create("HcclCommInitRootInfoConfig", ranks, rank, comm);
}

EXPORT Result HcclCommInitAll(uint32_t count, int32_t*, void** comms) {
    return Create("HcclCommInitAll", count, 0, comms);
}

EXPORT Result HcclCreateSubCommConfig(void** comm, uint32_t ranks, uint32_t*, uint64_t,
                                      uint32_t rank, void*, void** sub) {
    if (comm == nullptr || !Valid(*comm)) {
        return Refuse(kParameter, "HcclCreateSubCommConfig: not a live communicator");
    }
    return Create("HcclCreateSubCommConfig", ranks, rank, sub);
}

// No optional communicator configuration is emulated.
EXPORT uint32_t HcclGetCommConfigCapability() { return 0; }

EXPORT Result HcclCommDestroy(void* comm) {
    if (!Valid(comm)) return Refuse(kParameter, "HcclCommDestroy: not a live communicator");
    static_cast<Communicator*>(comm)->magic = 0;
    delete static_cast<Communicator*>(comm);
    return kSuccess;
}

EXPORT Result HcclGetCommName(void* comm, char* name) {
    if (!Valid(comm) || name == nullptr) return Refuse(kParameter, "HcclGetCommName: bad argument");
    std::memcpy(name, static_cast<Communicator*>(comm)->name, kCommNameBytes);
    return kSuccess;
}

EXPORT Result HcclGetRankSize(void* comm, uint32_t* size) {
    if (!Valid(comm) || size == nullptr) return Refuse(kParameter, "HcclGetRankSize: bad argument");
    *size = 1;
    return kSuccess;
}

EXPORT Result HcclGetRankId(void* comm, uint32_t* rank) {
    if (!Valid(comm) || rank == nullptr) return Refuse(kParameter, "HcclGetRankId: bad argument");
    *rank = 0;
    return kSuccess;
}

EXPORT Result HcclGetCommAsyncError(void* comm, Result* error) {
    if (!Valid(comm) || error == nullptr) return Refuse(kParameter, "HcclGetCommAsyncError: bad");
    *error = kSuccess;
    return kSuccess;
}

EXPORT const char* HcclGetErrorString(Result code) {
    return code == kSuccess ? "success" : "error of the emulated HCCL";
}

// Deterministic or not makes no difference with one rank, so every setting is honoured.
EXPORT Result HcclSetConfig(int, int32_t) { return kSuccess; }

EXPORT Result HcclAllReduce(void* send, void* recv, uint64_t count, int type, int, void* comm,
                            aclrtStream stream) {
    return CopyOne("HcclAllReduce", send, recv, count, type, comm, stream);
}

EXPORT Result HcclReduce(void* send, void* recv, uint64_t count, int type, int, uint32_t,
                         void* comm, aclrtStream stream) {
    return CopyOne("HcclReduce", send, recv, count, type, comm, stream);
}

EXPORT Result HcclBroadcast(void* buffer, uint64_t count, int type, uint32_t, void* comm,
                            aclrtStream stream) {
    return CopyOne("HcclBroadcast", buffer, buffer, count, type, comm, stream);
}

EXPORT Result HcclAllGather(void* send, void* recv, uint64_t count, int type, void* comm,
                            aclrtStream stream) {
    return CopyOne("HcclAllGather", send, recv, count, type, comm, stream);
}

EXPORT Result HcclReduceScatter(void* send, void* recv, uint64_t count, int type, int, void* comm,
                                aclrtStream stream) {
    return CopyOne("HcclReduceScatter", send, recv, count, type, comm, stream);
}

EXPORT Result HcclScatter(void* send, void* recv, uint64_t count, int type, uint32_t, void* comm,
                          aclrtStream stream) {
    return CopyOne("HcclScatter", send, recv, count, type, comm, stream);
}

EXPORT Result HcclAlltoAll(const void* send, uint64_t send_count, int type, const void* recv,
                           uint64_t, int, void* comm, aclrtStream stream) {
    return CopyOne("HcclAlltoAll", send, const_cast<void*>(recv), send_count, type, comm, stream);
}

EXPORT Result HcclAlltoAllV(const void* send, const void* send_counts, const void* send_offsets,
                            int send_type, const void* recv, const void*, const void* recv_offsets,
                            int recv_type, void* comm, aclrtStream stream) {
    if (send_counts == nullptr || send_offsets == nullptr || recv_offsets == nullptr) {
        return Refuse(kNull, "HcclAlltoAllV: null counts or offsets");
    }
    const char* from =
        static_cast<const char*>(send) + First(send_offsets) * ElementBytes(send_type);
    char* to = const_cast<char*>(static_cast<const char*>(recv)) +
               First(recv_offsets) * ElementBytes(recv_type);
    return CopyOne("HcclAlltoAllV", from, to, First(send_counts), send_type, comm, stream);
}

EXPORT Result HcclBarrier(void* comm, aclrtStream stream) {
    if (!Valid(comm)) return Refuse(kParameter, "HcclBarrier: not a live communicator");
    return aclrtSynchronizeStream(stream) == ACL_SUCCESS ? kSuccess : kRuntime;
}

EXPORT Result HcclSend(void*, uint64_t, int, uint32_t, void*, aclrtStream) {
    return Refuse(kNotSupported, "HcclSend: there is no other rank in the emulation");
}

EXPORT Result HcclRecv(void*, uint64_t, int, uint32_t, void*, aclrtStream) {
    return Refuse(kNotSupported, "HcclRecv: there is no other rank in the emulation");
}
