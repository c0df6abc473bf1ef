// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Buffers and queues: TPipe, TQue, TQueBind, TBuf, TBufPool, LocalMemAllocator, event ids. The
// classes are thin; the rules live in src/core: pipe.cpp, queue.cpp, events.cpp, raw_tensor.cpp.
#ifndef ASCENDC_EMU_PIPE_H
#define ASCENDC_EMU_PIPE_H

#include "ascendc_emu/tensor.h"

namespace ascendc_emu {

constexpr int kMaxQueueBuffers = 64;

// State of a TPipe.
class PipeState {
 public:
    uint32_t next[kMemCount] = {};  // first free byte per memory
    uint8_t events[64] = {};        // ids in use, one bit each, per HardEvent
    uint8_t takenFlags = 0;         // M_MTE1 flags the pipe has set for products, once waited for
    uint8_t queueEvents[64] = {};   // those of them that queues have taken and set
    uint32_t buffers = 0;           // InitBuffer'ed so far; at most 64
    bool active = false;
};

// State of one TQue / TQueBind / TBuf. Plain data: kernels may copy queue objects.
struct QueueState {
    uint32_t queue = 0;        // 0: InitBuffer has not run
    uint32_t firstBuffer = 0;  // its buffers are numbered consecutively
    uint32_t addr = 0;         // of the first buffer
    uint32_t bytes = 0;        // of one buffer
    uint32_t stride = 0;       // from one buffer to the next; == bytes but in custom pools
    uint8_t number = 0;
    uint8_t used = 0;    // allocated, not yet freed
    uint8_t queued = 0;  // enqueued, not yet dequeued
    uint8_t head = 0;
    uint8_t cursor = 0;
    uint8_t forgotten = 0;  // enqueued, and pushed out by later ones before a DeQue
    Mem mem = Mem::kUb;
    uint8_t src = 0, dst = 0;  // positions
    int8_t depth = 0;
    uint8_t state[kMaxQueueBuffers] = {};  // AscendC::TBufState
    uint8_t fifo[kMaxQueueBuffers] = {};
    // Event ids, plus one, that EnQue and FreeTensor hold until DeQue and AllocTensor have waited
    // for them; kept while a sink listens.
    uint8_t filledId[kMaxQueueBuffers] = {};
    uint8_t freedId[kMaxQueueBuffers] = {};
    Loc declared;  // InitBuffer
    Loc last[kMaxQueueBuffers] =
        {};       // AllocTensor, EnQue or DeQue: what brought a buffer into its state
    Loc pastEnd;  // of an InitBuffer that gave it more than the memory has; no file: it fits
};

// What a region of memory is carved from: the pipe itself, or a TBufPool.
struct PoolState {
    Mem mem = Mem::kUb;
    uint32_t base = 0, size = 0, used = 0;
    bool ready = false;
};

void PipeInit(PipeState& pipe, Loc loc);
void PipeReset(PipeState& pipe, bool destroy, Loc loc);
void InitQueue(PipeState& pipe, PoolState* pool, QueueState& q, AscendC::TPosition src,
               AscendC::TPosition dst, int32_t depth, uint32_t number, uint32_t bytes, bool isBuf,
               Loc loc);
void InitPool(PipeState& pipe, PoolState* parent, PoolState& pool, AscendC::TPosition pos,
              uint32_t bytes, const PoolState* share, Loc loc);
void ResetPool(PoolState& pool, Loc loc);
// A custom pool's way to make a queue: the queue first, then every buffer's place.
void PlaceQueue(QueueState& q, AscendC::TPosition src, AscendC::TPosition dst, int32_t depth,
                uint32_t number, uint32_t bytes, Loc loc);
void PlaceBuffer(QueueState& q, uint32_t index, uint32_t addr, bool isBuf, Loc loc);
TensorRef QueueAlloc(QueueState& q, Loc loc);
void QueueFree(QueueState& q, TensorRef& tensor, Loc loc);
// Positions that EnQue and DeQue of a TQueBind name: they decide which pipes hand the tensor over.
struct UserPositions {
    AscendC::TPosition src = AscendC::TPosition::MAX, dst = AscendC::TPosition::MAX;
};
void QueueEnQue(QueueState& q, const TensorRef& tensor, Loc loc, UserPositions user = {});
TensorRef QueueDeQue(QueueState& q, Loc loc, UserPositions user = {});
TensorRef BufGet(const QueueState& q, uint32_t offset, uint32_t bytes, bool whole, Loc loc);
// Lowest free event id; reserve: take it.
int32_t EventId(PipeState& pipe, AscendC::HardEvent event, bool reserve, Loc loc);
void ReleaseEvent(PipeState& pipe, AscendC::HardEvent event, int32_t id, Loc loc);
void SetEvent(Pipe src, Pipe dst, int32_t id, Loc loc);
void WaitEvent(Pipe src, Pipe dst, int32_t id, Loc loc);
void Barrier(Pipe pipe, Loc loc);
// Memory of the pipe not handed out yet (PopStackBuffer).
TensorRef Remaining(AscendC::TPosition pos, Loc loc);
TensorRef AbsoluteTensor(AscendC::TPosition pos, uint32_t offset, uint32_t bytes, Loc loc);

}  // namespace ascendc_emu

namespace AscendC {

struct TQueConfig {
    bool nd2nz = false;
    bool nz2nd = false;
    bool scmBlockGroup = false;
    uint32_t bufferLen = 0;
    uint32_t bufferNumber = 0;
    uint32_t consumerSize = 0;
    TPosition consumer[8] = {};
    bool enableStaticEvtId = false;
    bool enableLoopQueue = false;
};
__aicore__ constexpr TQueConfig GetTQueConfig(bool nd2nz, bool nz2nd, bool scm, uint32_t len = 0,
                                              uint32_t number = 0, uint32_t consumers = 0,
                                              const TPosition = TPosition::MAX,
                                              bool staticId = false, bool loop = false) {
    TQueConfig c;
    c.nd2nz = nd2nz;
    c.nz2nd = nz2nd;
    c.scmBlockGroup = scm;
    c.bufferLen = len;
    c.bufferNumber = number;
    c.consumerSize = consumers;
    c.enableStaticEvtId = staticId;
    c.enableLoopQueue = loop;
    return c;
}

// A queue whose buffers travel from position `src` to `dst`.
template <TPosition src, TPosition dst, int32_t depth, auto mask = 0>
class TQueBind {
 public:
    static constexpr bool isTQue = true;
    static constexpr TPosition srcPosition = src;
    static constexpr TPosition dstPosition = dst;
    static constexpr int32_t queDepth = depth;

    // A free buffer of the queue as a tensor of its whole length; content is garbage.
    template <typename T>
    __aicore__ LocalTensor<T> AllocTensor(Loc loc = Loc::Here()) {
        return LocalTensor<T>(ascendc_emu::QueueAlloc(q_, loc));
    }
    template <typename T>
    __aicore__ void AllocTensor(LocalTensor<T>& tensor, Loc loc = Loc::Here()) {
        static_cast<ascendc_emu::TensorRef&>(tensor) = ascendc_emu::QueueAlloc(q_, loc);
    }
    template <typename T>
    __aicore__ void FreeTensor(LocalTensor<T>& tensor, Loc loc = Loc::Here()) {
        ascendc_emu::QueueFree(q_, tensor, loc);
    }
    template <typename T>
    __aicore__ void FreeTensor(LocalTensor<T>&& tensor, Loc loc = Loc::Here()) {
        ascendc_emu::QueueFree(q_, tensor, loc);
    }
    template <typename T>
    __aicore__ bool EnQue(const LocalTensor<T>& tensor, Loc loc = Loc::Here()) {
        ascendc_emu::QueueEnQue(q_, tensor, loc);
        return true;
    }
    template <TPosition srcUserPos, TPosition dstUserPos, typename T>
    __aicore__ bool EnQue(const LocalTensor<T>& tensor, Loc loc = Loc::Here()) {
        ascendc_emu::QueueEnQue(q_, tensor, loc, {srcUserPos, dstUserPos});
        return true;
    }
    template <typename T>
    __aicore__ LocalTensor<T> DeQue(Loc loc = Loc::Here()) {
        return LocalTensor<T>(ascendc_emu::QueueDeQue(q_, loc));
    }
    template <typename T>
    __aicore__ void DeQue(LocalTensor<T>& tensor, Loc loc = Loc::Here()) {
        static_cast<ascendc_emu::TensorRef&>(tensor) = ascendc_emu::QueueDeQue(q_, loc);
    }
    // The buffer's handle only.
    __aicore__ TBufHandle DeQue(Loc loc = Loc::Here()) {
        return reinterpret_cast<TBufHandle>(
            static_cast<uintptr_t>(ascendc_emu::QueueDeQue(q_, loc).buffer));
    }
    template <TPosition srcUserPos, TPosition dstUserPos, typename T>
    __aicore__ LocalTensor<T> DeQue(Loc loc = Loc::Here()) {
        return LocalTensor<T>(ascendc_emu::QueueDeQue(q_, loc, {srcUserPos, dstUserPos}));
    }
    __aicore__ bool VacantInQue() const { return q_.queued < (depth > 0 ? depth : 1); }
    __aicore__ bool HasTensorInQue() const { return q_.queued > 0; }
    __aicore__ int32_t GetTensorCountInQue() const { return q_.queued; }
    __aicore__ bool HasIdleBuffer() const { return q_.used < q_.number; }
    __aicore__ void FreeAllEvent(Loc loc = Loc::Here()) { (void)loc; }
    template <typename T>
    __aicore__ TBufState GetState(const LocalTensor<T>& tensor) const {
        const uint32_t i = tensor.buffer - q_.firstBuffer;
        return i < q_.number ? static_cast<TBufState>(q_.state[i]) : TBufState::FREE;
    }

    // Where a buffer of the queue lies; `buffer` is the handle of one of its tensors.
    __aicore__ TBuffAddr GetBufferAddr(TBufHandle buffer) const {
        const uint32_t index =
            static_cast<uint32_t>(reinterpret_cast<uintptr_t>(buffer)) - q_.firstBuffer;
        return TBuffAddr{q_.bytes, q_.addr + index * q_.stride, buffer, q_.src};
    }

    // For custom pools (EXTERN_IMPL_BUFPOOL).
    __aicore__ void InitStartBufHandle(TBufHandle, uint8_t number, uint32_t bytes,
                                       Loc loc = Loc::Here()) {
        ascendc_emu::PlaceQueue(q_, src, dst, depth, number, bytes, loc);
    }
    template <typename P>
    __aicore__ void InitBufHandle(P*, uint32_t index, TBufHandle, uint32_t address, uint32_t,
                                  Loc loc = Loc::Here()) {
        ascendc_emu::PlaceBuffer(q_, index, address, depth == 0, loc);
    }

    ascendc_emu::QueueState q_;
};

template <TPosition pos, int32_t depth, auto mask = 0>
class TQue : public TQueBind<pos, pos, depth, mask> {};

template <TPosition pos, int32_t depth = 1, auto mask = 0>
using TSCM = TQueBind<pos, TPosition::TSCM, depth, mask>;

// Scratch memory without queue semantics.
template <TPosition pos = TPosition::LCM>
class TBuf : public TQueBind<pos, pos, 0, 0> {
 public:
    static constexpr bool isTQue = false;

    template <typename T>
    __aicore__ LocalTensor<T> Get(Loc loc = Loc::Here()) {
        return LocalTensor<T>(ascendc_emu::BufGet(this->q_, 0, this->q_.bytes, true, loc));
    }
    // The first `elements` elements.
    template <typename T>
    __aicore__ LocalTensor<T> Get(uint32_t elements, Loc loc = Loc::Here()) {
        return LocalTensor<T>(ascendc_emu::BufGet(
            this->q_, 0, static_cast<uint32_t>(ascendc_emu::BytesOf<PrimT<T>>(elements)), false,
            loc));
    }
    // `elements` elements from byte `offset` on.
    template <typename T>
    __aicore__ LocalTensor<T> GetWithOffset(uint32_t elements, uint32_t offset,
                                            Loc loc = Loc::Here()) {
        return LocalTensor<T>(ascendc_emu::BufGet(
            this->q_, offset, static_cast<uint32_t>(ascendc_emu::BytesOf<PrimT<T>>(elements)),
            false, loc));
    }
    template <typename T>
    __aicore__ LocalTensor<T> AllocTensor(Loc loc = Loc::Here()) {
        return Get<T>(loc);
    }
    template <typename T>
    __aicore__ void FreeTensor(LocalTensor<T>&) {}
    template <typename T>
    __aicore__ void EnQue(const LocalTensor<T>&) {}
    template <typename T>
    __aicore__ LocalTensor<T> DeQue(Loc loc = Loc::Here()) {
        return Get<T>(loc);
    }
    __aicore__ uint32_t GetBufLen() const { return this->q_.bytes; }
};

constexpr uint32_t defaultBufIDSize = 128;

// Members of a user's own pool class; its InitBuffer places the buffers through them.
#define EXTERN_IMPL_BUFPOOL(CLASS, POSITION, BUFID_SIZE)                                       \
 public:                                                                                       \
    static constexpr AscendC::TPosition poolPos = POSITION;                                    \
    static constexpr int bufIDSize = BUFID_SIZE;                                               \
    static constexpr bool isTbufPool = true;                                                   \
    __aicore__ inline ~CLASS() { Reset(); }                                                    \
    __aicore__ inline void Reset() {                                                           \
        if (pool_.ready) ascendc_emu::ResetPool(pool_, ascendc_emu::Loc());                    \
        curBufSize_ = 0;                                                                       \
    }                                                                                          \
    __aicore__ inline void Init() { curBufSize_ = 0; }                                         \
    __aicore__ inline AscendC::TBufHandle GetBufHandle(uint8_t offset) {                       \
        return reinterpret_cast<AscendC::TBufHandle>(static_cast<uintptr_t>(offset));          \
    }                                                                                          \
    __aicore__ inline void SetCurAddr(uint32_t address) { pool_.used = address - pool_.base; } \
    __aicore__ inline uint32_t GetCurAddr() { return pool_.base + pool_.used; }                \
    __aicore__ inline void SetCurBufSize(uint8_t size) { curBufSize_ = size; }                 \
    __aicore__ inline uint8_t GetCurBufSize() { return curBufSize_; }                          \
    ascendc_emu::PoolState pool_;                                                              \
                                                                                               \
 private:                                                                                      \
    uint8_t curBufSize_ = 0

class TPipe;

// A region of the pipe's memory that is carved anew after every Reset().
template <TPosition pos, uint32_t bufIDSize = defaultBufIDSize>
class TBufPool {
 public:
    static constexpr TPosition poolPos = pos;
    static constexpr bool isTbufPool = true;

    template <class Q>
    __aicore__ bool InitBuffer(Q& queue, uint8_t number, uint32_t bytes, Loc loc = Loc::Here());
    template <TPosition bufPos>
    __aicore__ bool InitBuffer(TBuf<bufPos>& buf, uint32_t bytes, Loc loc = Loc::Here());
    template <class P>
    __aicore__ bool InitBufPool(P& pool, uint32_t bytes, Loc loc = Loc::Here());
    template <class P, class U>
    __aicore__ bool InitBufPool(P& pool, uint32_t bytes, U& share, Loc loc = Loc::Here());
    __aicore__ void Reset(Loc loc = Loc::Here()) { ascendc_emu::ResetPool(pool_, loc); }

    ascendc_emu::PoolState pool_;
};

// Owner of a core's on-chip memory and event ids.
class TPipe : public ascendc_emu::PipeState {
 public:
    __aicore__ TPipe(Loc loc = Loc::Here()) { ascendc_emu::PipeInit(*this, loc); }
    __aicore__ ~TPipe() { ascendc_emu::PipeReset(*this, true, Loc()); }
    // A copy goes on behind what the original has handed out, as a copied value does on the device.
    TPipe(const TPipe&) = default;
    TPipe& operator=(const TPipe&) = default;
    __aicore__ void Init(Loc loc = Loc::Here()) { ascendc_emu::PipeInit(*this, loc); }

    // Where the memory of a logical position begins; null for GM.
    uint8_t* GetBaseAddr(int8_t logicPos) const {
        const ascendc_emu::Core& core = ascendc_emu::Current();
        const ascendc_emu::Mem mem =
            ascendc_emu::MemOf(static_cast<TPosition>(logicPos), core.soc->traits.unified);
        return core.memory[static_cast<int>(mem)];
    }

    // `number` buffers of `bytes` bytes (rounded up to 32) for a queue.
    template <class Q>
    __aicore__ bool InitBuffer(Q& queue, uint8_t number, uint32_t bytes, Loc loc = Loc::Here()) {
        ascendc_emu::InitQueue(*this, nullptr, queue.q_, Q::srcPosition, Q::dstPosition,
                               Q::queDepth, number, bytes, !Q::isTQue, loc);
        return true;
    }
    template <TPosition pos>
    __aicore__ bool InitBuffer(TBuf<pos>& buf, uint32_t bytes, Loc loc = Loc::Here()) {
        ascendc_emu::InitQueue(*this, nullptr, buf.q_, pos, pos, 0, 1, bytes, true, loc);
        return true;
    }
    template <class P>
    __aicore__ bool InitBufPool(P& pool, uint32_t bytes, Loc loc = Loc::Here()) {
        ascendc_emu::InitPool(*this, nullptr, pool.pool_, P::poolPos, bytes, nullptr, loc);
        return true;
    }
    // A pool over the same memory as `share`.
    template <class P, class U>
    __aicore__ bool InitBufPool(P& pool, uint32_t bytes, U& share, Loc loc = Loc::Here()) {
        ascendc_emu::InitPool(*this, nullptr, pool.pool_, P::poolPos, bytes, &share.pool_, loc);
        return true;
    }
    template <HardEvent event>
    __aicore__ TEventID AllocEventID(Loc loc = Loc::Here()) {
        return static_cast<TEventID>(ascendc_emu::EventId(*this, event, true, loc));
    }
    template <HardEvent event>
    __aicore__ void ReleaseEventID(TEventID id, Loc loc = Loc::Here()) {
        ascendc_emu::ReleaseEvent(*this, event, id, loc);
    }
    // The next free id without reserving it.
    template <HardEvent event>
    __aicore__ TEventID FetchEventID(Loc loc = Loc::Here()) {
        return static_cast<TEventID>(ascendc_emu::EventId(*this, event, false, loc));
    }
    __aicore__ TEventID FetchEventID(HardEvent event, Loc loc = Loc::Here()) {
        return static_cast<TEventID>(ascendc_emu::EventId(*this, event, false, loc));
    }
    template <TPosition pos, typename T>
    __aicore__ LocalTensor<T> GetAbsAddr(int32_t offset, int32_t elements,
                                         Loc loc = Loc::Here()) const {
        return LocalTensor<T>(ascendc_emu::AbsoluteTensor(
            pos, static_cast<uint32_t>(offset),
            static_cast<uint32_t>(ascendc_emu::BytesOf<PrimT<T>>(elements)), loc));
    }
    template <TPosition pos>
    __aicore__ TBuffAddr GetAbsAddr(int32_t offset, int32_t bytes, Loc loc = Loc::Here()) const {
        return LocalTensor<uint8_t>(ascendc_emu::AbsoluteTensor(pos, static_cast<uint32_t>(offset),
                                                                static_cast<uint32_t>(bytes), loc))
            .GetBufferAddr();
    }
    __aicore__ void Destroy(Loc loc = Loc::Here()) { ascendc_emu::PipeReset(*this, true, loc); }
    // On the device without the barrier over all pipes; the checks see one here as well.
    __aicore__ void DestroyWithoutPipeAll(Loc loc = Loc::Here()) {
        ascendc_emu::PipeReset(*this, true, loc);
    }
    __aicore__ void Reset(Loc loc = Loc::Here()) { ascendc_emu::PipeReset(*this, false, loc); }

    // SPM buffer: global memory that takes what does not fit into UB. The calls wait for the vector
    // unit and for each other's copies, as documented. The page gives offsets in bytes, CANN's
    // public implementation counts elements of T, and so do we. Source: pages InitSpmBuffer,
    // Write-, ReadSpmBuffer.
    template <typename T>
    __aicore__ void InitSpmBuffer(const GlobalTensor<T>& workspace, const int32_t bufferSize) {
        spm_ = workspace;
        spmBytes_ = bufferSize;
    }
    __aicore__ void InitSpmBuffer(const int32_t, Loc loc = Loc::Here()) {
        ascendc_emu::Trap(ascendc_emu::Current(), loc, "InitSpmBuffer",
                          "an SPM buffer in L1 does not exist on this arch; pass global memory");
    }
    template <typename T>
    __aicore__ void WriteSpmBuffer(const LocalTensor<T>& tensor, const DataCopyParams& params,
                                   int32_t offset = 0, Loc loc = Loc::Here()) {
        SpmOrder<HardEvent::V_MTE3>(loc);
        SpmOrder<HardEvent::MTE2_MTE3>(loc);
        DataCopy(Spm<T>(offset, loc), tensor, params, loc);
        SpmOrder<HardEvent::MTE3_MTE2>(loc);
        SpmOrder<HardEvent::MTE3_V>(loc);
    }
    template <typename T>
    __aicore__ void WriteSpmBuffer(const LocalTensor<T>& tensor, const int32_t elements,
                                   int32_t offset = 0, Loc loc = Loc::Here()) {
        WriteSpmBuffer(tensor, SpmBlocks<T>(elements), offset, loc);
    }
    template <typename T>
    __aicore__ void ReadSpmBuffer(const LocalTensor<T>& tensor, const DataCopyParams& params,
                                  int32_t offset = 0, Loc loc = Loc::Here()) {
        SpmOrder<HardEvent::V_MTE2>(loc);
        DataCopy(tensor, Spm<T>(offset, loc), params, loc);
        SpmOrder<HardEvent::MTE2_V>(loc);
        SpmOrder<HardEvent::MTE2_MTE3>(loc);
    }
    template <typename T>
    __aicore__ void ReadSpmBuffer(const LocalTensor<T>& tensor, const int32_t elements,
                                  int32_t offset = 0, Loc loc = Loc::Here()) {
        ReadSpmBuffer(tensor, SpmBlocks<T>(elements), offset, loc);
    }

 private:
    template <HardEvent event>
    __aicore__ void SpmOrder(Loc loc) {
        const auto id = FetchEventID<event>(loc);
        constexpr ascendc_emu::PipePair p = ascendc_emu::PipesOf(event);
        ascendc_emu::SetEvent(p.src, p.dst, id, loc);
        ascendc_emu::WaitEvent(p.src, p.dst, id, loc);
    }
    template <typename T>
    __aicore__ GlobalTensor<T> Spm(int32_t offset, Loc loc) const {
        if (spm_.ptr == nullptr) {
            ascendc_emu::Trap(ascendc_emu::Current(), loc, "SpmBuffer", "call InitSpmBuffer first");
        }
        GlobalTensor<T> gm;
        gm.SetGlobalBuffer(reinterpret_cast<__gm__ PrimT<T>*>(spm_.ptr),
                           static_cast<uint64_t>(spmBytes_) / sizeof(PrimT<T>));
        return gm[offset];
    }
    template <typename T>
    static DataCopyParams SpmBlocks(int32_t elements) {
        const int64_t bytes = static_cast<int64_t>(elements) * sizeof(PrimT<T>);
        return DataCopyParams(1, static_cast<uint16_t>(bytes / ONE_BLK_SIZE), 0, 0);
    }

    ascendc_emu::GmRef spm_;
    int32_t spmBytes_ = 0;
};

template <TPosition pos, uint32_t ids>
template <class Q>
__aicore__ bool TBufPool<pos, ids>::InitBuffer(Q& queue, uint8_t number, uint32_t bytes, Loc loc) {
    ascendc_emu::InitQueue(*ascendc_emu::Current().pipe, &pool_, queue.q_, Q::srcPosition,
                           Q::dstPosition, Q::queDepth, number, bytes, !Q::isTQue, loc);
    return true;
}
template <TPosition pos, uint32_t ids>
template <TPosition bufPos>
__aicore__ bool TBufPool<pos, ids>::InitBuffer(TBuf<bufPos>& buf, uint32_t bytes, Loc loc) {
    ascendc_emu::InitQueue(*ascendc_emu::Current().pipe, &pool_, buf.q_, bufPos, bufPos, 0, 1,
                           bytes, true, loc);
    return true;
}
template <TPosition pos, uint32_t ids>
template <class P>
__aicore__ bool TBufPool<pos, ids>::InitBufPool(P& pool, uint32_t bytes, Loc loc) {
    ascendc_emu::InitPool(*ascendc_emu::Current().pipe, &pool_, pool.pool_, P::poolPos, bytes,
                          nullptr, loc);
    return true;
}
template <TPosition pos, uint32_t ids>
template <class P, class U>
__aicore__ bool TBufPool<pos, ids>::InitBufPool(P& pool, uint32_t bytes, U& share, Loc loc) {
    ascendc_emu::InitPool(*ascendc_emu::Current().pipe, &pool_, pool.pool_, P::poolPos, bytes,
                          &share.pool_, loc);
    return true;
}

template <pipe_t src, pipe_t dst>
class TQueSync {
 public:
    __aicore__ void SetFlag(TEventID id, Loc loc = Loc::Here()) {
        ascendc_emu::SetEvent(static_cast<ascendc_emu::Pipe>(src),
                              static_cast<ascendc_emu::Pipe>(dst), id, loc);
    }
    __aicore__ void WaitFlag(TEventID id, Loc loc = Loc::Here()) {
        ascendc_emu::WaitEvent(static_cast<ascendc_emu::Pipe>(src),
                               static_cast<ascendc_emu::Pipe>(dst), id, loc);
    }
};

// Sequential allocation inside one hardware buffer, for kernels without TPipe.
template <Hardware hard = Hardware::UB>
class LocalMemAllocator {
 public:
    __aicore__ LocalMemAllocator() {}
    __aicore__ uint32_t GetCurAddr() const { return head_; }
    template <class T, uint32_t elements>
    __aicore__ LocalTensor<T> Alloc(Loc loc = Loc::Here()) {
        return Take<T>(DefaultPosition(), elements, loc);
    }
    template <TPosition pos, class T, uint32_t elements>
    __aicore__ LocalTensor<T> Alloc(Loc loc = Loc::Here()) {
        return Take<T>(pos, elements, loc);
    }
    template <class T>
    __aicore__ LocalTensor<T> Alloc(uint32_t elements, Loc loc = Loc::Here()) {
        return Take<T>(DefaultPosition(), elements, loc);
    }
    template <TPosition pos, class T>
    __aicore__ LocalTensor<T> Alloc(uint32_t elements, Loc loc = Loc::Here()) {
        return Take<T>(pos, elements, loc);
    }

 private:
    static constexpr TPosition DefaultPosition() {
        switch (hard) {
            case Hardware::L1:
                return TPosition::A1;
            case Hardware::L0A:
                return TPosition::A2;
            case Hardware::L0B:
                return TPosition::B2;
            case Hardware::L0C:
                return TPosition::CO1;
            case Hardware::BIAS:
                return TPosition::C2;
            case Hardware::FIXBUF:
                return TPosition::C2PIPE2GM;
            default:
                return TPosition::VECCALC;
        }
    }
    template <class T>
    LocalTensor<T> Take(TPosition pos, uint32_t elements, Loc loc) {
        LocalTensor<T> t(
            ascendc_emu::MakeRaw(pos, head_, ascendc_emu::BytesOf<PrimT<T>>(elements), loc));
        head_ += (t.size + 31) / 32 * 32;
        return t;
    }
    uint32_t head_ = 0;
};

template <HardEvent event>
__aicore__ inline void SetFlag(int32_t id, Loc loc = Loc::Here()) {
    constexpr ascendc_emu::PipePair p = ascendc_emu::PipesOf(event);
    ascendc_emu::SetEvent(p.src, p.dst, id, loc);
}
template <HardEvent event>
__aicore__ inline void WaitFlag(int32_t id, Loc loc = Loc::Here()) {
    constexpr ascendc_emu::PipePair p = ascendc_emu::PipesOf(event);
    ascendc_emu::WaitEvent(p.src, p.dst, id, loc);
}
template <pipe_t pipe>
__aicore__ inline void PipeBarrier(Loc loc = Loc::Here()) {
    ascendc_emu::Barrier(static_cast<ascendc_emu::Pipe>(pipe), loc);
}

// The part of the memory behind `pos` that InitBuffer has not handed out.
template <typename T, TPosition pos>
__aicore__ inline bool PopStackBuffer(LocalTensor<T>& tensor, Loc loc = Loc::Here()) {
    static_cast<ascendc_emu::TensorRef&>(tensor) = ascendc_emu::Remaining(pos, loc);
    return tensor.size > 0;
}

// The TPipe the kernel constructed last; null before that.
__aicore__ inline TPipe* GetTPipePtr() { return static_cast<TPipe*>(ascendc_emu::Current().pipe); }

}  // namespace AscendC

using AscendC::GetTPipePtr;

// Instruction-level names of the same synchronisation.
inline void set_flag(pipe_t src, pipe_t dst, int32_t id,
                     ascendc_emu::Loc loc = ascendc_emu::Loc::Here()) {
    ascendc_emu::SetEvent(static_cast<ascendc_emu::Pipe>(src), static_cast<ascendc_emu::Pipe>(dst),
                          id, loc);
}
inline void wait_flag(pipe_t src, pipe_t dst, int32_t id,
                      ascendc_emu::Loc loc = ascendc_emu::Loc::Here()) {
    ascendc_emu::WaitEvent(static_cast<ascendc_emu::Pipe>(src), static_cast<ascendc_emu::Pipe>(dst),
                           id, loc);
}
inline void pipe_barrier(pipe_t pipe, ascendc_emu::Loc loc = ascendc_emu::Loc::Here()) {
    ascendc_emu::Barrier(static_cast<ascendc_emu::Pipe>(pipe), loc);
}

#endif  // ASCENDC_EMU_PIPE_H
