// SPDX-License-Identifier: Apache-2.0
// Contexts of TilingFunc and TilingParse, and the data that TilingFunc writes.
#ifndef OPGEN_EMULATION_EXE_GRAPH_RUNTIME_TILING_CONTEXT_H
#define OPGEN_EMULATION_EXE_GRAPH_RUNTIME_TILING_CONTEXT_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>

#include "exe_graph/runtime/continuous_vector.h"
#include "exe_graph/runtime/kernel_context.h"
#include "exe_graph/runtime/shape.h"
#include "exe_graph/runtime/tensor.h"
#include "graph/types.h"
#include "securec.h"

namespace fe {
class PlatFormInfos;
}  // namespace fe

namespace gert {
// gert::TilingData: the byte buffer TilingFunc fills for the kernel.
class TilingData {
 public:
    TilingData(const TilingData &) = delete;
    TilingData &operator=(const TilingData &) = delete;

    size_t GetCapacity() const { return capacity_; }
    size_t GetDataSize() const { return size_; }
    void SetDataSize(const size_t size) { size_ = size; }
    void *GetData() { return data_; }
    const void *GetData() const { return data_; }
    template <typename T, typename std::enable_if<std::is_standard_layout<T>::value, int>::type = 0>
    ge::graphStatus Append(const T &value) {
        return Append(&value, 1);
    }
    template <typename T, typename std::enable_if<std::is_standard_layout<T>::value, int>::type = 0>
    ge::graphStatus Append(const T *values, size_t count) {
        void *const place = Expand(sizeof(T) * count);
        if (place == nullptr) {
            return ge::GRAPH_FAILED;
        }
        std::memcpy(place, values, sizeof(T) * count);
        return ge::GRAPH_SUCCESS;
    }
    // Room for `bytes` more, or null when the capacity does not allow it.
    void *Expand(size_t bytes) {
        if (size_ > capacity_ || bytes > capacity_ - size_) {
            return nullptr;
        }
        void *const place = static_cast<uint8_t *>(data_) + size_;
        size_ += bytes;
        return place;
    }
    static std::unique_ptr<uint8_t[]> CreateCap(const size_t capacity) {
        std::unique_ptr<uint8_t[]> block(new (std::nothrow)
                                             uint8_t[sizeof(TilingData) + capacity]());
        if (block != nullptr) {
            (new (block.get()) TilingData())->Init(capacity, block.get() + sizeof(TilingData));
        }
        return block;
    }
    void Init(const size_t capacity, void *const data) {
        capacity_ = capacity;
        size_ = 0;
        data_ = data;
    }

 private:
    TilingData() = default;

    size_t capacity_ = 0;
    size_t size_ = 0;
    void *data_ = nullptr;
};

template <typename T>
TilingData &operator<<(TilingData &out, const T &value) {
    (void)out.Append(value);
    return out;
}

// gert::TilingContext: what TilingFunc reads and what it decides.
// Inputs of the step: input tensors, output tensors, compile info, platform, one reserved slot,
// the deterministic switch. Outputs: see TilingOutputIndex.
class TilingContext : public ExtendedKernelContext {
 public:
    enum TilingOutputIndex : uint32_t {
        kOutputTilingKey,
        kOutputBlockDim,
        kOutputAtomicCleanFlag,
        kOutputTilingData,
        kOutputWorkspace,
        kOutputTilingCond,
        kOutputScheduleMode,
        kOutputLocalMemorySize,
        kOutputDynUBufSize = kOutputLocalMemorySize,
        kOutputAicpuBlockDim,
        kOutputNum
    };

    // What TilingParse made, null when the op has none.
    const void *GetCompileInfo() const { return GetInputValue<void *>(ExtraSlot(0)); }
    template <typename T>
    const T *GetCompileInfo() const {
        return static_cast<const T *>(GetCompileInfo());
    }
    fe::PlatFormInfos *GetPlatformInfo() const {
        return GetInputValue<fe::PlatFormInfos *>(ExtraSlot(1));
    }
    int32_t GetDeterministic() const { return GetInputValue<int32_t>(ExtraSlot(3)); }
    // 0: off, 1: same result for the same call. CANN 9 knows more levels, which only the builder of
    // a context sets.
    int32_t GetDeterministicLevel() const {
        return ExtraSlot(4) < GetInputNum() ? GetInputValue<int32_t>(ExtraSlot(4))
                                            : GetDeterministic();
    }

    const StorageShape *GetInputShape(const size_t index) const {
        return index < GetComputeNodeInputNum() ? GetInputPointer<StorageShape>(index) : nullptr;
    }
    const StorageShape *GetOptionalInputShape(const size_t ir_index) const {
        return GetDynamicInputPointer<StorageShape>(ir_index, 0);
    }
    const StorageShape *GetRequiredInputShape(const size_t ir_index) const {
        return GetDynamicInputPointer<StorageShape>(ir_index, 0);
    }
    const StorageShape *GetDynamicInputShape(const size_t ir_index,
                                             const size_t relative_index) const {
        return GetDynamicInputPointer<StorageShape>(ir_index, relative_index);
    }
    const Tensor *GetInputTensor(const size_t index) const {
        return GetInputPointer<Tensor>(index);
    }
    const Tensor *GetOptionalInputTensor(const size_t ir_index) const {
        return GetDynamicInputPointer<Tensor>(ir_index, 0);
    }
    const Tensor *GetRequiredInputTensor(const size_t ir_index) const {
        return GetDynamicInputPointer<Tensor>(ir_index, 0);
    }
    const Tensor *GetDynamicInputTensor(const size_t ir_index, const size_t relative_index) const {
        return GetDynamicInputPointer<Tensor>(ir_index, relative_index);
    }
    const StorageShape *GetOutputShape(const size_t index) const {
        return index < GetComputeNodeOutputNum()
                   ? GetInputPointer<StorageShape>(GetComputeNodeInputNum() + index)
                   : nullptr;
    }
    const StorageShape *GetDynamicOutputShape(const size_t ir_index,
                                              const size_t relative_index) const {
        return GetDynamicOutputPointer<StorageShape>(ir_index, relative_index);
    }
    // Tensors are handed over dense: none is a view, its offset is 0 and its Stride has no
    // dimensions (the aclnn layer made it contiguous). Null and 0 for a tensor that is not there.
    bool InputIsView(const size_t) const { return false; }
    bool OptionalInputIsView(const size_t) const { return false; }
    bool RequiredInputIsView(const size_t) const { return false; }
    bool DynamicInputIsView(const size_t, const size_t) const { return false; }
    bool OutputIsView(const size_t) const { return false; }
    const Stride *GetInputStride(const size_t index) const {
        return DenseStride(GetInputShape(index));
    }
    const Stride *GetOptionalInputStride(const size_t ir_index) const {
        return DenseStride(GetOptionalInputShape(ir_index));
    }
    const Stride *GetRequiredInputStride(const size_t ir_index) const {
        return DenseStride(GetRequiredInputShape(ir_index));
    }
    const Stride *GetDynamicInputStride(const size_t ir_index, const size_t relative_index) const {
        return DenseStride(GetDynamicInputShape(ir_index, relative_index));
    }
    const Stride *GetOutputStride(const size_t index) const {
        return DenseStride(GetOutputShape(index));
    }
    int64_t GetInputOffset(const size_t) const { return 0; }
    int64_t GetOptionalInputOffset(const size_t) const { return 0; }
    int64_t GetRequiredInputOffset(const size_t) const { return 0; }
    int64_t GetDynamicInputOffset(const size_t, const size_t) const { return 0; }
    int64_t GetOutputOffset(const size_t) const { return 0; }

    ge::graphStatus SetTilingKey(const uint64_t tiling_key) {
        return Set<uint64_t>(kOutputTilingKey, tiling_key);
    }
    uint64_t GetTilingKey() const { return Get<uint64_t>(kOutputTilingKey); }
    ge::graphStatus SetBlockDim(const uint32_t block_dim) {
        return Set<uint32_t>(kOutputBlockDim, block_dim);
    }
    uint32_t GetBlockDim() const { return Get<uint32_t>(kOutputBlockDim); }
    // CANN 9 names of the two above.
    ge::graphStatus SetSimdNumBlocks(const uint32_t num_blocks) { return SetBlockDim(num_blocks); }
    uint32_t GetSimdNumBlocks() const { return GetBlockDim(); }
    ge::graphStatus SetScheduleMode(const uint32_t schedule_mode) {
        return Set<uint32_t>(kOutputScheduleMode, schedule_mode);
    }
    uint32_t GetScheduleMode() const { return Get<uint32_t>(kOutputScheduleMode); }
    ge::graphStatus SetTilingCond(int32_t tiling_cond) {
        return Set<int32_t>(kOutputTilingCond, tiling_cond);
    }
    int32_t GetTilingCond() const { return Get<int32_t>(kOutputTilingCond); }
    // Asks the runtime to clear the outputs before the kernel runs.
    ge::graphStatus SetNeedAtomic(const bool atomic) {
        return Set<bool>(kOutputAtomicCleanFlag, atomic);
    }
    bool NeedAtomic() const { return Get<bool>(kOutputAtomicCleanFlag); }
    ge::graphStatus SetLocalMemorySize(const uint32_t local_memory_size) {
        return Set<uint32_t>(kOutputLocalMemorySize, local_memory_size);
    }
    uint32_t GetLocalMemorySize() const { return Get<uint32_t>(kOutputLocalMemorySize); }
    // CANN 9 names of the two above.
    ge::graphStatus SetDynUBufSize(const uint32_t dyn_ubuf_size) {
        return SetLocalMemorySize(dyn_ubuf_size);
    }
    uint32_t GetDynUBufSize() const { return GetLocalMemorySize(); }
    // Cores of the AI CPU part of a communication op, which the emulation has none of.
    ge::graphStatus SetAicpuBlockDim(const uint32_t block_dim) {
        return Set<uint32_t>(kOutputAicpuBlockDim, block_dim);
    }
    uint32_t GetAicpuBlockDim() const { return Get<uint32_t>(kOutputAicpuBlockDim); }
    TilingData *GetRawTilingData() const { return Get<TilingData *>(kOutputTilingData); }
    // The buffer as a plain struct of CANN 9 style; null when it is larger than the buffer.
    template <typename T>
    T *GetTilingData() {
        TilingData *const raw = GetRawTilingData();
        if (raw == nullptr || raw->GetCapacity() < sizeof(T)) {
            return nullptr;
        }
        raw->SetDataSize(sizeof(T));
        return static_cast<T *>(raw->GetData());
    }
    // Array of `count` workspace sizes in bytes to fill; null when count exceeds the capacity.
    size_t *GetWorkspaceSizes(const size_t count) {
        auto *const sizes = GetOutputPointer<TypedContinuousVector<size_t>>(kOutputWorkspace);
        return sizes == nullptr || sizes->SetSize(count) != ge::GRAPH_SUCCESS
                   ? nullptr
                   : sizes->MutableData();
    }
    size_t GetWorkspaceNum() const {
        const auto *const sizes = GetOutputPointer<TypedContinuousVector<size_t>>(kOutputWorkspace);
        return sizes == nullptr ? 0 : sizes->GetSize();
    }

 private:
    static const Stride *DenseStride(const StorageShape *shape) {
        static const Stride dense;
        return shape == nullptr ? nullptr : &dense;
    }
    size_t ExtraSlot(size_t offset) const {
        return GetComputeNodeInputNum() + GetComputeNodeOutputNum() + offset;
    }
    template <typename T>
    ge::graphStatus Set(TilingOutputIndex slot, T value) {
        T *const place = GetOutputPointer<T>(slot);
        if (place == nullptr) {
            return ge::GRAPH_FAILED;
        }
        *place = value;
        return ge::GRAPH_SUCCESS;
    }
    template <typename T>
    T Get(TilingOutputIndex slot) const {
        const T *const place = GetOutputPointer<T>(slot);
        return place == nullptr ? T{} : *place;
    }
};
static_assert(std::is_standard_layout<TilingContext>::value, "contexts are cast to each other");

// gert::TilingParseContext: makes the op's compile info from the platform, once per SoC.
class TilingParseContext : public ExtendedKernelContext {
 public:
    // Compile info as JSON text: "{}" here, kernels of this emulation bring none.
    const ge::char_t *GetCompiledJson() const { return GetInputValue<const char *>(0); }
    fe::PlatFormInfos *GetPlatformInfo() const { return GetInputValue<fe::PlatFormInfos *>(1); }
    // Where TilingParse leaves what it finds, however large it is.
    template <typename T>
    T *GetCompiledInfo() {
        return static_cast<T *>(GetOutputPointer<void>(0));
    }
};
}  // namespace gert

#endif  // OPGEN_EMULATION_EXE_GRAPH_RUNTIME_TILING_CONTEXT_H
