// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Identity of the core, synchronisation between cores, mask and control registers, scalar helpers,
// printing and assertions.
#ifndef ASCENDC_EMU_SYSTEM_API_H
#define ASCENDC_EMU_SYSTEM_API_H

#include "ascendc_emu/utility_names.h"
#include "ascendc_emu/pipe.h"

namespace ascendc_emu {
// scope: 0 all AIV, 1 all AIC and AIV, 2 all AIC. `cores` 0: all of them.
void SyncAllCores(int scope, int cores, Loc loc);
// Reports `api` in a kernel whose declared type runs without the hardware that it needs.
void NeedsScheduler(Api api, Loc loc);
// Checks the workspaces of a synchronisation through global memory: `slots` of 32 bytes from
// `firstSlot` on, zero in gm. Only called with a sink attached.
void CheckSyncSpace(const char* op, const GmRef& gm, uint64_t firstSlot, uint64_t slots,
                    const TensorRef& ub, uint64_t ubSlots, Loc loc);
void CrossSet(int mode, Pipe pipe, int flag, Loc loc);
void CrossWait(int mode, Pipe pipe, int flag, Loc loc);
void BlockSet(const GmRef& gm, int block, int event, Loc loc);
void BlockWait(const GmRef& gm, int block, int event, Loc loc);
void GroupArrive(const GmRef& gm, Loc loc);
void GroupWait(const GmRef& gm, int arrivals, Loc loc);
void CacheClean(const void* address, uint64_t bytes, Loc loc);
uint64_t SystemCycle();
// Text of the device printf; serialised over cores. Returns nothing: a kernel cannot use it.
void DevicePrintf(const char* format, ...) __attribute__((format(printf, 1, 2)));
void AssertFailed(const char* condition, const char* file, int line, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
void DumpElements(const void* data, DType type, uint32_t desc, uint64_t count,
                  const uint32_t* shape, uint32_t dims, const char* where);
enum class KindSource : uint8_t;  // launch.h
// A KERNEL_TASK_TYPE declaration reached by the kernel; restarts the launch when the running kind
// differs. The one for a tiling key overrides the default one (设置Kernel类型).
void DeclareKind(int kind, KindSource source, Loc loc);
int32_t CountLeadingZeros(uint64_t v);
int64_t FloatToInt(float v, int mode, int bits);
uint16_t FloatToHalfMode(float v, int mode);
}  // namespace ascendc_emu

namespace AscendC {

__aicore__ inline int64_t GetBlockIdx() { return ascendc_emu::Current().blockIdx; }
__aicore__ inline int64_t GetBlockNum() { return ascendc_emu::Current().blockNum; }
__aicore__ inline int64_t GetSubBlockIdx() { return ascendc_emu::Current().subBlockIdx; }
// Cores of the caller's kind in an AI core: AIVs per AIC on a vector core, 1 on a cube core.
__aicore__ inline int64_t GetSubBlockNum() {
    const ascendc_emu::Core& c = ascendc_emu::Current();
    return c.kind == ascendc_emu::CoreKind::kAic ? 1 : c.subBlockNum;
}
__aicore__ inline int64_t GetTaskRation() { return GetSubBlockNum(); }
__aicore__ inline int64_t GetTaskRatio() { return GetSubBlockNum(); }
__aicore__ inline constexpr int16_t GetDataBlockSizeInBytes() { return ONE_BLK_SIZE; }
__aicore__ inline uint32_t GetUBSizeInBytes() { return ascendc_emu::Current().capacity[1]; }
__aicore__ inline uint32_t GetRuntimeUBSize() { return ascendc_emu::Current().capacity[1]; }
__aicore__ inline int64_t GetSystemCycle() {
    return static_cast<int64_t>(ascendc_emu::SystemCycle());
}
__aicore__ inline int64_t GetProgramCounter() { return 0; }
__aicore__ inline void GetArchVersion(uint32_t& version) {
    version = ascendc_emu::Current().soc->traits.version;
}
__aicore__ inline constexpr uint32_t GetVecLen() { return 256; }
__aicore__ inline int32_t GetCoreType() { return g_coreType; }
__aicore__ inline bool IsAIV() { return ascendc_emu::OnAiv(); }
__aicore__ inline void Trap(Loc loc = Loc::Here()) {
    ascendc_emu::Trap(ascendc_emu::Current(), loc, "Trap", "the kernel called Trap()");
}
// Puts registers into the documented initial state.
__aicore__ inline void InitSocState() {
    ascendc_emu::Registers& r = ascendc_emu::Current().regs;
    r.atomicOp = 0;
    r.counter = false;
    r.mask[0] = r.mask[1] = FULL_MASK;
}
__aicore__ inline void SetHcclContextPtr(uint8_t*) {}

// Waits for all cores. Hard sync; isAIVOnly = false includes the cube cores.
template <bool isAIVOnly = true>
__aicore__ inline void SyncAll(Loc loc = Loc::Here()) {
    ascendc_emu::NeedsApi(ascendc_emu::Current(), loc, ascendc_emu::Api::kSyncAllHard);
    ascendc_emu::NeedsScheduler(ascendc_emu::Api::kSyncAll, loc);
    ascendc_emu::SyncAllCores(isAIVOnly ? 0 : 1, 0, loc);
}
// Soft sync through GM; the workspace is accepted and not needed here.
template <bool isAIVOnly = true>
__aicore__ inline void SyncAll(const GlobalTensor<int32_t>& gm, const LocalTensor<int32_t>& ub,
                               const int32_t usedCores = 0, Loc loc = Loc::Here()) {
    ascendc_emu::Core& core = ascendc_emu::Current();
    if (core.sink) {
        const uint64_t slots = static_cast<uint64_t>(usedCores > 0 ? usedCores : core.blockNum);
        ascendc_emu::CheckSyncSpace("SyncAll", gm, 0, slots, ub, slots, loc);
    }
    ascendc_emu::SyncAllCores(isAIVOnly ? 0 : 1, usedCores, loc);
}
template <uint8_t modeId, pipe_t pipe>
__aicore__ inline void CrossCoreSetFlag(uint16_t flag, Loc loc = Loc::Here()) {
    static_assert(modeId <= 2, "CrossCoreSetFlag: modes 0, 1 and 2 exist on arch 2201");
    ascendc_emu::CrossSet(modeId, static_cast<ascendc_emu::Pipe>(pipe), flag, loc);
}
template <uint8_t modeId = 0, pipe_t pipe = PIPE_S>
__aicore__ inline void CrossCoreWaitFlag(uint16_t flag, Loc loc = Loc::Here()) {
    ascendc_emu::CrossWait(modeId, static_cast<ascendc_emu::Pipe>(pipe), flag, loc);
}
// Flags between the AICs and AIVs of a block by their older names: mode 2.
template <pipe_t pipe>
__aicore__ inline void NotifyEvent(uint16_t flagId, Loc loc = Loc::Here()) {
    CrossCoreSetFlag<2, pipe>(flagId, loc);
}
template <pipe_t pipe = PIPE_S>
__aicore__ inline void WaitEvent(uint16_t flagId, Loc loc = Loc::Here()) {
    CrossCoreWaitFlag<2, pipe>(flagId, loc);
}
// Flag numbers that SyncAll uses on the device; public kernels borrow them.
constexpr uint16_t SYNC_AIC_FLAG = 11;
constexpr uint16_t SYNC_AIV_FLAG = 12;
constexpr uint16_t SYNC_AIC_AIV_FLAG = 13;
constexpr uint16_t SYNC_AIV_ONLY_ALL = 14;
template <bool isAIVOnly = true>
__aicore__ inline void IBSet(const GlobalTensor<int32_t>& gm, const LocalTensor<int32_t>& ub,
                             int32_t block, int32_t event, Loc loc = Loc::Here()) {
    ascendc_emu::Core& core = ascendc_emu::Current();
    if (core.sink) {
        const int cores = core.blockNum * (core.mixed ? 2 : 1);
        ascendc_emu::CheckSyncSpace("IBSet", gm, static_cast<uint64_t>(cores * event + block), 1,
                                    ub, 1, loc);
    }
    ascendc_emu::BlockSet(gm, block, event, loc);
}
template <bool isAIVOnly = true>
__aicore__ inline void IBWait(const GlobalTensor<int32_t>& gm, const LocalTensor<int32_t>& ub,
                              int32_t block, int32_t event, Loc loc = Loc::Here()) {
    (void)ub;
    ascendc_emu::BlockWait(gm, block, event, loc);
}
// Deterministic order: block i waits for block i - 1.
__aicore__ inline void InitDetermineComputeWorkspace(GlobalTensor<int32_t>& gm,
                                                     LocalTensor<int32_t>& ub) {
    (void)gm;
    (void)ub;
}
__aicore__ inline void WaitPreBlock(GlobalTensor<int32_t>& gm, LocalTensor<int32_t>& ub,
                                    Loc loc = Loc::Here()) {
    (void)ub;
    const int32_t block = static_cast<int32_t>(GetBlockIdx());
    // Like CANN's, it waits for all pipes first, also on the block that has no predecessor.
    ascendc_emu::Barrier(ascendc_emu::Pipe::kAll, loc);
    if (block > 0) ascendc_emu::BlockWait(gm, block - 1, 1000, loc);
}
__aicore__ inline void NotifyNextBlock(GlobalTensor<int32_t>& gm, LocalTensor<int32_t>& ub,
                                       Loc loc = Loc::Here()) {
    (void)ub;
    ascendc_emu::BlockSet(gm, static_cast<int32_t>(GetBlockIdx()), 1000, loc);
}
__aicore__ inline void SetSyncBaseAddr(uint64_t) {}
// Overlap with the neighbouring tasks of a super kernel: accepted, without effect on arch 2201.
template <pipe_t aivPipe = PIPE_MTE3, pipe_t aicPipe = PIPE_FIX, bool force = false>
__aicore__ inline void SetNextTaskStart() {}
template <bool force = false>
__aicore__ inline void WaitPreTaskEnd() {}

// Cores that arrive and cores that wait for all of them, several rounds.
enum class PipeMode : uint8_t { SCALAR_MODE = 0, MTE3_MODE = 1, MAX };
template <PipeMode mode = PipeMode::MTE3_MODE>
class GroupBarrier {
 public:
    __aicore__ inline GroupBarrier(GM_ADDR workspace, uint32_t arriveSize, uint32_t waitSize)
        : arriveSize_(arriveSize) {
        (void)waitSize;
        gm_.ptr = workspace;
    }
    __aicore__ inline void Arrive(uint32_t index, Loc loc = Loc::Here()) {
        (void)index;
        ascendc_emu::GroupArrive(gm_, loc);
    }
    __aicore__ inline void Wait(uint32_t index, Loc loc = Loc::Here()) {
        (void)index;
        ascendc_emu::GroupWait(gm_, static_cast<int>(arriveSize_ * ++rounds_), loc);
    }
    __aicore__ inline uint64_t GetWorkspaceLen() { return 512ull * (1 + arriveSize_); }

 private:
    ascendc_emu::GmRef gm_;
    uint32_t arriveSize_ = 0;
    uint32_t rounds_ = 0;
};

// Scalar accesses that skip the data cache: coherent with other cores. One core's write and
// another's read of the same address order what is around them.
template <typename T>
__aicore__ inline T ReadGmByPassDCache(__gm__ T* address,
                                       ascendc_emu::Loc loc = ascendc_emu::Loc::Here()) {
    ascendc_emu::Core& core = ascendc_emu::Current();
    if ((++core.spins & 0x3f) == 0) ascendc_emu::Poll(core);
    ascendc_emu::EmitDirect(core, ascendc_emu::SyncKind::kDirectLoad, address, sizeof(T), loc);
    T value;
    __asm__ __volatile__("" ::: "memory");
    memcpy(&value, address, sizeof(T));
    return value;
}
template <typename T>
__aicore__ inline void WriteGmByPassDCache(__gm__ T* address, T value,
                                           ascendc_emu::Loc loc = ascendc_emu::Loc::Here()) {
    ascendc_emu::EmitDirect(ascendc_emu::Current(), ascendc_emu::SyncKind::kDirectStore, address,
                            sizeof(T), loc);
    memcpy(address, &value, sizeof(T));
    __asm__ __volatile__("" ::: "memory");
}

template <typename T, CacheLine line, DcciDst dst = DcciDst::CACHELINE_OUT>
__aicore__ inline void DataCacheCleanAndInvalid(const GlobalTensor<T>& gm, Loc loc = Loc::Here()) {
    ascendc_emu::CacheClean(gm.ptr, line == CacheLine::SINGLE_CACHE_LINE ? 64 : 0, loc);
}
template <typename T, CacheLine line, DcciDst dst>
__aicore__ inline void DataCacheCleanAndInvalid(const LocalTensor<T>&, Loc loc = Loc::Here()) {
    (void)loc;
}
template <typename T>
__aicore__ inline void DataCachePreload(const GlobalTensor<uint64_t>&, const T) {}
__aicore__ inline void ICachePreLoad(const int64_t) {}
__aicore__ inline int64_t GetICachePreloadStatus() { return 0; }
template <MemDsbT kind>
__aicore__ inline void DataSyncBarrier(Loc loc = Loc::Here()) {
    ascendc_emu::NeedsApi(ascendc_emu::Current(), loc, ascendc_emu::Api::kDataSyncBarrier);
    ascendc_emu::Barrier(ascendc_emu::Pipe::kAll, loc);
}

// Mask register. Normal mode: lanes; counter mode: an element count.
__aicore__ inline void SetMaskCount() { ascendc_emu::Current().regs.counter = true; }
__aicore__ inline void SetMaskNorm() { ascendc_emu::Current().regs.counter = false; }
__aicore__ inline void ResetMask() {
    ascendc_emu::Registers& r = ascendc_emu::Current().regs;
    r.mask[0] = r.mask[1] = FULL_MASK;
}
template <typename T, MaskMode mode = MaskMode::NORMAL>
__aicore__ inline void SetVectorMask(const uint64_t high, const uint64_t low) {
    ascendc_emu::Registers& r = ascendc_emu::Current().regs;
    r.mask[0] = low;
    r.mask[1] = high;
}
template <typename T, MaskMode mode = MaskMode::NORMAL>
__aicore__ inline void SetVectorMask(int32_t len) {
    ascendc_emu::Registers& r = ascendc_emu::Current().regs;
    if (mode == MaskMode::COUNTER) {
        r.mask[0] = static_cast<uint64_t>(len);
        r.mask[1] = 0;
        return;
    }
    // Lanes beyond a repeat are dropped, as the device does.
    const int32_t lanes = sizeof(PrimT<T>) >= 4 ? 64 : 128;
    const int32_t n = len < lanes ? len : lanes;
    r.mask[0] = n >= 64 ? FULL_MASK : (1ull << n) - 1;
    r.mask[1] = n >= 128 ? FULL_MASK : n > 64 ? (1ull << (n - 64)) - 1 : 0;
}

__aicore__ inline void SetDeqScale(half scale) {
    ascendc_emu::Registers& r = ascendc_emu::Current().regs;
    r.deqScale = scale.bits;
    r.deqVector = false;
}
__aicore__ inline void SetDeqScale(float scale, int16_t offset, bool signMode) {
    ascendc_emu::Registers& r = ascendc_emu::Current().regs;
    // Layout of the register: scale in bits 0-31 (10-bit mantissa), offset 37-45, sign 46.
    const uint64_t bits = ascendc_emu::BitCast<uint32_t>(scale) & 0xffffe000u;
    r.deqScale = bits | (static_cast<uint64_t>(offset & 0x1ff) << 37) |
                 (static_cast<uint64_t>(signMode) << 46);
    r.deqVector = false;
}
template <typename T>
__aicore__ inline void SetDeqScale(const LocalTensor<T>& tensor, const VdeqInfo& info,
                                   Loc loc = Loc::Here()) {
    // Scalar stores: the kernel synchronises S with V before the instruction that reads them.
    if (ascendc_emu::HasSink()) {
        ascendc_emu::EmitScalar(tensor, ascendc_emu::DType::kU64, 0, VDEQ_TENSOR_SIZE * 8,
                                ascendc_emu::Access::kWrite, loc);
    }
    uint64_t* out = reinterpret_cast<uint64_t*>(tensor.ptr);
    for (int i = 0; i < VDEQ_TENSOR_SIZE; ++i) {
        out[i] = (ascendc_emu::BitCast<uint32_t>(info.vdeqScale[i]) & 0xffffe000u) |
                 (static_cast<uint64_t>(info.vdeqOffset[i] & 0x1ff) << 37) |
                 (static_cast<uint64_t>(info.vdeqSignMode[i]) << 46);
    }
    ascendc_emu::Registers& r = ascendc_emu::Current().regs;
    r.deqScale = tensor.addr;
    r.deqVector = true;
}

__aicore__ inline void SetHF32Mode(bool on, Loc loc = Loc::Here()) {
    ascendc_emu::NeedsApi(ascendc_emu::Current(), loc, ascendc_emu::Api::kSetHF32Mode);
    ascendc_emu::Current().regs.hf32 = on;
}
__aicore__ inline void SetHF32Mode(HF32Mode mode, Loc loc = Loc::Here()) {
    SetHF32Mode(mode == HF32Mode::ENABLE, loc);
}
__aicore__ inline void SetHF32TransMode(bool zero) { ascendc_emu::Current().regs.hf32Trans = zero; }
__aicore__ inline void SetHF32TransMode(HF32TransMode mode) {
    SetHF32TransMode(mode == HF32TransMode::NEAREST_ZERO);
}
__aicore__ inline void SetMMLayoutTransform(bool columnMajor) {
    ascendc_emu::Current().regs.mmRowMajor = !columnMajor;
}
__aicore__ inline void SetMMRowMajor() { SetMMLayoutTransform(false); }
__aicore__ inline void SetMMColumnMajor() { SetMMLayoutTransform(true); }

// Scalar helpers.
template <int countValue>
__aicore__ inline int64_t ScalarGetCountOfValue(uint64_t value) {
    const int ones = __builtin_popcountll(value);
    return countValue == 1 ? ones : 64 - ones;
}
__aicore__ inline int64_t ScalarCountLeadingZero(uint64_t value) {
    return value == 0 ? 64 : __builtin_clzll(value);
}
__aicore__ inline int64_t CountBitsCntSameAsSignBit(int64_t value) {
    const uint64_t v = static_cast<uint64_t>(value < 0 ? ~value : value);
    return v == 0 ? 63 : __builtin_clzll(v) - 1;
}
// Position of the lowest bit equal to countValue; -1 when there is none.
template <int countValue>
__aicore__ inline int64_t ScalarGetSFFValue(uint64_t value) {
    const uint64_t v = countValue == 1 ? value : ~value;
    return v == 0 ? -1 : __builtin_ctzll(v);
}
// 9.x names.
template <int countValue>
__aicore__ inline int64_t GetBitCount(uint64_t value) {
    return ScalarGetCountOfValue<countValue>(value);
}
__aicore__ inline int64_t CountLeadingZero(uint64_t value) { return ScalarCountLeadingZero(value); }
template <int countValue>
__aicore__ inline int64_t GetSFFValue(uint64_t value) {
    return ScalarGetSFFValue<countValue>(value);
}
// Runs a function on one kind of core.
enum class EngineType : uint8_t { AIC = 0, AIV };
template <EngineType engine, auto function, class... Args>
__aicore__ void Async(Args... args) {
    if (engine == EngineType::AIC ? ascendc_emu::OnAic() : ascendc_emu::OnAiv()) function(args...);
}
// Integer helpers of the utility headers.
template <typename T, typename U>
__aicore__ inline constexpr auto CeilDivision(T a, U b) {
    return b == 0 ? a : (a + b - 1) / b;
}
// One entity, so that a kernel with `using namespace AscendC` and std finds no two equal ones.
using ::max;
using ::min;
template <typename T, std::enable_if_t<!std::is_arithmetic<T>::value, bool> = true>
__aicore__ inline T max(T a, T b) {
    return a > b ? a : b;
}
template <typename T, std::enable_if_t<!std::is_arithmetic<T>::value, bool> = true>
__aicore__ inline T min(T a, T b) {
    return a < b ? a : b;
}

template <typename T>
__aicore__ inline void DumpTensor(const LocalTensor<T>& t, uint32_t desc, uint32_t count) {
    ascendc_emu::DumpElements(t.ptr, ascendc_emu::kDTypeOf<PrimT<T>>, desc, count, nullptr, 0,
                              ascendc_emu::Name(t.mem));
}
template <typename T>
__aicore__ inline void DumpTensor(const GlobalTensor<T>& t, uint32_t desc, uint32_t count) {
    ascendc_emu::DumpElements(t.ptr, ascendc_emu::kDTypeOf<PrimT<T>>, desc, count, nullptr, 0,
                              "GM");
}
template <typename T>
__aicore__ inline void DumpTensor(const LocalTensor<T>& t, uint32_t desc, uint32_t count,
                                  const ShapeInfo& shape) {
    ascendc_emu::DumpElements(t.ptr, ascendc_emu::kDTypeOf<PrimT<T>>, desc, count, shape.shape,
                              shape.shapeDim, ascendc_emu::Name(t.mem));
}
template <typename T>
__aicore__ inline void DumpTensor(const GlobalTensor<T>& t, uint32_t desc, uint32_t count,
                                  const ShapeInfo& shape) {
    ascendc_emu::DumpElements(t.ptr, ascendc_emu::kDTypeOf<PrimT<T>>, desc, count, shape.shape,
                              shape.shapeDim, "GM");
}
template <typename T>
__aicore__ inline void DumpAccChkPoint(const LocalTensor<T>& t, uint32_t index, uint32_t offset,
                                       uint32_t count) {
    DumpTensor(t[offset], index, count);
}
template <typename T>
__aicore__ inline void DumpAccChkPoint(const GlobalTensor<T>& t, uint32_t index, uint32_t offset,
                                       uint32_t count) {
    DumpTensor(t[offset], index, count);
}
// half and bfloat16 travel through varargs as double, like float.
template <typename T>
inline auto PrintArgument(const T& v) {
    if constexpr (std::is_same<T, half>::value || std::is_same<T, bfloat16_t>::value) {
        return static_cast<double>(static_cast<float>(v));
    } else if constexpr (std::is_array<T>::value) {
        return static_cast<const char*>(v);
    } else {
        return v;
    }
}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
template <class... Args>
__aicore__ inline void PRINTF(const char* format, const Args&... args) {
    ascendc_emu::DevicePrintf(format, PrintArgument(args)...);
}
template <class... Args>
__aicore__ inline void printf(const char* format, const Args&... args) {
    ascendc_emu::DevicePrintf(format, PrintArgument(args)...);
}
#pragma GCC diagnostic pop
__aicore__ inline void PrintTimeStamp(uint32_t) {}

// Workspace.
// The kernel's part of the workspace: behind the area of the device libraries. As on the device the
// launch's (or SetSysWorkspace's) base counts, not the argument, unless there is none. Launches of
// the CPU twin (tikicpulib.h) reserve nothing in it: their argument is the kernel's part already.
__aicore__ inline uint8_t* GetUserWorkspace(uint8_t* workspace) {
    const ascendc_emu::Core& c = ascendc_emu::Current();
    if (c.systemWorkspace == 0) return workspace;
    uint8_t* const base = c.workspace != nullptr ? c.workspace : workspace;
    return base == nullptr ? nullptr : base + c.systemWorkspace;
}
__aicore__ inline uint8_t* GetSysWorkSpacePtr() { return ascendc_emu::Current().workspace; }
__aicore__ inline void SetSysWorkSpacePtr(uint8_t* workspace) {
    ascendc_emu::Current().workspace = workspace;
}
__aicore__ inline void SetSysWorkspace(uint8_t* workspace) {
    if (ascendc_emu::Current().workspace == nullptr) ascendc_emu::Current().workspace = workspace;
}
__aicore__ inline void SetSysWorkspaceForce(uint8_t* workspace) {
    ascendc_emu::Current().workspace = workspace;
}
template <uint32_t index>
__aicore__ inline uint8_t* GetHcclContext() {
    return ascendc_emu::Current().hccl[index < 2 ? index : 0];
}
template <uint32_t index>
__aicore__ inline void SetHcclContext(uint8_t* context) {
    if (index < 2) ascendc_emu::Current().hccl[index] = context;
}

}  // namespace AscendC

// Names the device compiler knows without the namespace.
using AscendC::GetBlockIdx;
using AscendC::GetBlockNum;
using AscendC::GetSubBlockIdx;
using AscendC::GetSubBlockNum;
using AscendC::GetTaskRation;
// The block: both vector cores of a block have the same one, unlike with GetBlockIdx().
inline int64_t get_block_idx() { return ascendc_emu::Current().group; }
inline int64_t get_block_num() { return AscendC::GetBlockNum(); }
inline int64_t get_subblockid() { return AscendC::GetSubBlockIdx(); }
inline int64_t get_subblockdim() { return AscendC::GetSubBlockNum(); }
inline int64_t get_sys_cnt() { return AscendC::GetSystemCycle(); }
using AscendC::GetSysWorkSpacePtr;
using AscendC::GetUserWorkspace;
using AscendC::SetSysWorkSpacePtr;

#endif  // ASCENDC_EMU_SYSTEM_API_H
