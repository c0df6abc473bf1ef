// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// GlobalTensor and LocalTensor. A LocalTensor carries the buffer it was cut from, so that a sink
// can name it and bound its accesses.
#ifndef ASCENDC_EMU_TENSOR_H
#define ASCENDC_EMU_TENSOR_H

#include "ascendc_emu/enums.h"
#include "ascendc_emu/layout.h"

namespace ascendc_emu {

// The untyped part of a LocalTensor: what the library needs to know of an on-chip operand.
struct TensorRef;

// LocalTensor::address_, whose fields public kernels read and set: views of the tensor they stand
// in, so they follow it and cost nothing. Only a whole tensor can be copied.
class AddressFields {
 public:
    class LogicPos {
     public:
        operator uint8_t() const;
        void operator=(uint8_t position);  // moves the tensor to that position's memory
    };
    class BufferAddr {
     public:
        operator uint32_t() const;
        void operator=(
            uint64_t address);  // byte offset, or a __ubuf__ pointer turned into a number
    };
    class DataLen {
     public:
        operator uint32_t() const;
        void operator=(uint32_t bytes);
    };
    LogicPos logicPos;
    BufferAddr bufferAddr;
    DataLen dataLen;

    AddressFields() = default;
    const TensorRef& Owner() const;

 private:
    friend struct TensorRef;
    AddressFields(const AddressFields&) = default;
    AddressFields& operator=(const AddressFields&) = default;
};

struct TensorRef {
    uint8_t* ptr = nullptr;   // host address of the first byte
    uint32_t addr = 0;        // byte offset in its memory
    uint32_t size = 0;        // bytes from addr on, as GetSize() reports
    uint32_t lo = 0, hi = 0;  // bytes of memory the tensor may touch; hi == 0: unknown
    uint32_t buffer = 0;      // BufferEvent::buffer
    uint32_t queue = 0;       // BufferEvent::queue
    Mem mem = Mem::kUb;
    uint8_t pos = static_cast<uint8_t>(AscendC::TPosition::VECCALC);
    AddressFields address_;
};

inline const TensorRef& AddressFields::Owner() const {
    return *reinterpret_cast<const TensorRef*>(reinterpret_cast<const char*>(this) -
                                               offsetof(TensorRef, address_));
}
// The tensor that a field of address_ stands in.
template <size_t offset>
inline TensorRef& OwnerOf(const void* field) {
    const auto* const fields =
        reinterpret_cast<const AddressFields*>(static_cast<const char*>(field) - offset);
    return const_cast<TensorRef&>(fields->Owner());
}
// Tells the sanitizer that plain C++ has a pointer to the buffer that a tensor lies in.
void TellPointer(const TensorRef& t);
inline void NotePointer(const TensorRef& t) {
    const Core* const core = g_current;
    if (__builtin_expect(core != nullptr && core->sink != nullptr, 0)) TellPointer(t);
}
// Puts a tensor at a position and byte offset; the size is cut at the end of the memory, 0 means up
// to it.
void PlaceTensor(TensorRef& t, AscendC::TPosition pos, uint64_t address, uint32_t bytes);
// Gives a placed tensor another position. One that reaches the end of its memory, where a larger
// size was cut, reaches that of the new memory.
void MoveTensor(TensorRef& t, AscendC::TPosition pos);

inline AddressFields::LogicPos::operator uint8_t() const {
    return OwnerOf<offsetof(AddressFields, logicPos)>(this).pos;
}
inline void AddressFields::LogicPos::operator=(uint8_t position) {
    MoveTensor(OwnerOf<offsetof(AddressFields, logicPos)>(this),
               static_cast<AscendC::TPosition>(position));
}
inline AddressFields::BufferAddr::operator uint32_t() const {
    return OwnerOf<offsetof(AddressFields, bufferAddr)>(this).addr;
}
inline void AddressFields::BufferAddr::operator=(uint64_t address) {
    TensorRef& t = OwnerOf<offsetof(AddressFields, bufferAddr)>(this);
    PlaceTensor(t, static_cast<AscendC::TPosition>(t.pos), address, t.size);
}
inline AddressFields::DataLen::operator uint32_t() const {
    return OwnerOf<offsetof(AddressFields, dataLen)>(this).size;
}
inline void AddressFields::DataLen::operator=(uint32_t bytes) {
    TensorRef& t = OwnerOf<offsetof(AddressFields, dataLen)>(this);
    PlaceTensor(t, static_cast<AscendC::TPosition>(t.pos), t.addr, bytes);
}

// The untyped part of a GlobalTensor.
struct GmRef {
    uint8_t* ptr = nullptr;
    uint64_t size = 0;      // elements given to SetGlobalBuffer; 0: not given
    uint8_t* lo = nullptr;  // bytes the tensor may touch; hi null: unknown
    uint8_t* hi = nullptr;
};

// A GmRef whose address has the type that kernels see, GlobalTensor::address_.
template <typename T>
struct TypedGmRef {
    union {
        uint8_t* ptr = nullptr;
        T* address_;
        T* oriAddress_;  // the device keeps the address without cache hints there
    };
    uint64_t size = 0;
    uint8_t* lo = nullptr;
    uint8_t* hi = nullptr;

    // The fields are the same; kernels are compiled with -fno-strict-aliasing.
    operator const GmRef&() const { return reinterpret_cast<const GmRef&>(*this); }
    operator GmRef&() { return reinterpret_cast<GmRef&>(*this); }
};

// Emit the record of a scalar access. Only called with a sink attached.
void EmitScalar(const TensorRef& t, DType type, uint64_t byteOffset, uint32_t bytes, Access access,
                Loc loc);
void EmitScalar(const GmRef& t, DType type, uint64_t byteOffset, uint32_t bytes, Access access,
                Loc loc);
// Makes the reference of a tensor given by position and byte address (bare-address programming).
TensorRef MakeRaw(AscendC::TPosition pos, uint32_t addr, uint64_t bytes, Loc loc);
// Text of elements to stdout: "LocalTensor VECIN half[128]: ...".
void PrintElements(const void* data, DType type, uint64_t count, const char* what);
// 0: the file `name` holds the bytes.
int32_t WriteBytes(const void* data, uint64_t bytes, const char* name);

// Tells the profiler how the L2 cache treats a tensor of `bytes` bytes (0: size not given). Only
// called with a sink attached.
void EmitCacheHint(const GmRef& t, uint64_t bytes, int32_t mode);
inline bool HasSink() { return __builtin_expect(g_current->sink != nullptr, 0); }

}  // namespace ascendc_emu

namespace AscendC {

using ascendc_emu::Loc;

// An element type together with a position and a layout, for tensors without ShapeInfo.
template <typename T, TPosition pos = TPosition::GM,
          typename LayoutType = Layout<Shape<>, Stride<>>>
struct TensorTrait {
    using LiteType = T;
    using LiteLayoutType = LayoutType;
    static constexpr TPosition tPos = pos;

    __aicore__ inline TensorTrait(const LayoutType& t = {}) : layout_(t) {}
    __aicore__ inline LayoutType& GetLayout() { return layout_; }
    __aicore__ inline const LayoutType& GetLayout() const { return layout_; }
    __aicore__ inline void SetLayout(const LayoutType& t) { layout_ = t; }

 private:
    LayoutType layout_;
};
template <typename T, TPosition pos, typename LayoutType>
__aicore__ inline constexpr auto MakeTensorTrait(const LayoutType& t) {
    return TensorTrait<T, pos, LayoutType>(t);
}
template <typename T>
struct is_tensorTrait : Std::false_type {};
template <typename T, TPosition pos, typename LayoutType>
struct is_tensorTrait<TensorTrait<T, pos, LayoutType>> : Std::true_type {};
template <typename T>
inline constexpr bool is_tensorTrait_v = is_tensorTrait<T>::value;

template <typename T>
struct PrimTImpl {
    using type = T;
};
template <typename T, TPosition pos, typename LayoutType>
struct PrimTImpl<TensorTrait<T, pos, LayoutType>> {
    using type = T;
};
template <typename T>
using PrimT = typename PrimTImpl<T>::type;

struct ShapeInfo {
    __aicore__ ShapeInfo() {}
    __aicore__ ShapeInfo(uint8_t dim, const uint32_t dims[], uint8_t originalDim,
                         const uint32_t originalDims[], DataFormat format)
        : shapeDim(dim), originalShapeDim(originalDim), dataFormat(format) {
        for (int i = 0; i < dim && i < K_MAX_SHAPE_DIM; ++i) shape[i] = dims[i];
        for (int i = 0; i < originalDim && i < K_MAX_SHAPE_DIM; ++i)
            originalShape[i] = originalDims[i];
    }
    __aicore__ ShapeInfo(uint8_t dim, const uint32_t dims[], DataFormat format = DataFormat::ND)
        : ShapeInfo(dim, dims, dim, dims, format) {}
    uint8_t shapeDim = 0;
    uint8_t originalShapeDim = 0;
    // The device has no array at all for K_MAX_SHAPE_DIM 0; one element keeps the code here
    // standard.
    uint32_t shape[K_MAX_SHAPE_DIM > 0 ? K_MAX_SHAPE_DIM : 1] = {};
    uint32_t originalShape[K_MAX_SHAPE_DIM > 0 ? K_MAX_SHAPE_DIM : 1] = {};
    DataFormat dataFormat = DataFormat::ND;
};

__aicore__ inline uint64_t GetShapeSize(const ShapeInfo& info) {
    uint64_t n = 1;
    for (int i = 0; i < info.shapeDim; ++i) n *= info.shape[i];
    return n;
}

// Address fields kernels sometimes read directly.
struct TBuffAddr {
    uint32_t dataLen = 0;
    uint32_t bufferAddr = 0;
    TBufHandle bufferHandle = nullptr;
    uint8_t logicPos = 0;
};

template <typename T>
class LocalTensor;

// Right-hand sides of the tensor operators (dst = a + b); evaluated when assigned.
enum class TensorOp : uint8_t { kAdd, kSub, kMul, kDiv, kAnd, kOr, kLt, kGt, kNe, kEq, kLe, kGe };
template <typename T, TensorOp op>
struct TensorExpression {
    const LocalTensor<T>& a;
    const LocalTensor<T>& b;
    ascendc_emu::Loc loc;
};
// The right operand: its conversion happens in the kernel's line, which an operator cannot ask for.
template <typename T>
struct TensorOperand {
    __aicore__ TensorOperand(const LocalTensor<T>& t,
                             ascendc_emu::Loc where = ascendc_emu::Loc::Here())
        : tensor(t), loc(where) {}
    const LocalTensor<T>& tensor;
    ascendc_emu::Loc loc;
};
template <typename D, typename T, TensorOp op>
void EvaluateExpression(const LocalTensor<D>& dst, const TensorExpression<T, op>& e);

// A piece of on-chip memory with an element type. Copying copies the reference, not the data.
template <typename T>
class LocalTensor : public ascendc_emu::TensorRef {
 public:
    using PrimType = PrimT<T>;

    __aicore__ LocalTensor() {}
    explicit LocalTensor(const ascendc_emu::TensorRef& ref) : ascendc_emu::TensorRef(ref) {}
    // Bare-address programming: `size` elements at byte `address` of the buffer behind `position`.
    __aicore__ LocalTensor(TPosition position, uint32_t address, uint32_t elements,
                           Loc loc = Loc::Here())
        : ascendc_emu::TensorRef(ascendc_emu::MakeRaw(
              position, address, ascendc_emu::BytesOf<PrimType>(elements), loc)) {}
    __aicore__ explicit LocalTensor(uint32_t address, Loc loc = Loc::Here())
        : ascendc_emu::TensorRef(ascendc_emu::MakeRaw(TPosition::VECCALC, address, 0, loc)) {}

    // Scalar read of element `index` through the S pipe.
    __aicore__ PrimType GetValue(uint32_t index, Loc loc = Loc::Here()) const {
        if (ascendc_emu::HasSink()) Scalar(index, ascendc_emu::Access::kRead, loc);
        if constexpr (kIsInt4) {
            const uint8_t byte = ptr[index / 2];
            const uint8_t nibble = (index & 1) ? byte >> 4 : byte & 15;
            return PrimType{static_cast<int8_t>(nibble)};
        } else {
            PrimType value;
            memcpy(&value, ptr + static_cast<uint64_t>(index) * sizeof(PrimType), sizeof(PrimType));
            return value;
        }
    }
    template <typename V>
    __aicore__ void SetValue(uint32_t index, const V value, Loc loc = Loc::Here()) const {
        if (ascendc_emu::HasSink()) Scalar(index, ascendc_emu::Access::kWrite, loc);
        if constexpr (kIsInt4) {
            uint8_t& byte = ptr[index / 2];
            const uint8_t nibble =
                ascendc_emu::BitCast<uint8_t>(static_cast<int8_t>(Raw(value))) & 15;
            byte = (index & 1) ? (byte & 15) | (nibble << 4) : (byte & 0xf0) | nibble;
        } else {
            const PrimType v = static_cast<PrimType>(value);
            memcpy(ptr + static_cast<uint64_t>(index) * sizeof(PrimType), &v, sizeof(PrimType));
        }
    }
    __aicore__ PrimType& operator()(uint32_t index, Loc loc = Loc::Here()) const {
        if (ascendc_emu::HasSink()) Scalar(index, ascendc_emu::Access::kReadWrite, loc);
        return reinterpret_cast<PrimType*>(ptr)[index];
    }
    __aicore__ LocalTensor operator[](uint32_t offset) const {
        LocalTensor t(*this);
        const uint32_t bytes = static_cast<uint32_t>(ascendc_emu::BytesOf<PrimType>(offset));
        t.ptr += bytes;
        t.addr += bytes;
        t.size = bytes < size ? size - bytes : 0;
        return t;
    }
    // Same bytes, other element type.
    template <typename U>
    __aicore__ LocalTensor<U> ReinterpretCast() const {
        return LocalTensor<U>(static_cast<const ascendc_emu::TensorRef&>(*this));
    }
    // Address of element `offset`. The device gives a buffer address; here it is a host address, so
    // that casting it to a pointer works; the low 32 bits of one in UB are the device's.
    __aicore__ uint64_t GetPhyAddr(uint32_t offset = 0) const {
        ascendc_emu::NotePointer(*this);
        return reinterpret_cast<uint64_t>(ptr) + ascendc_emu::BytesOf<PrimType>(offset);
    }
    __aicore__ uint32_t GetSize() const {
        return static_cast<uint32_t>(ascendc_emu::ElementsIn<PrimType>(size));
    }
    __aicore__ void SetSize(uint32_t elements) {
        size = static_cast<uint32_t>(ascendc_emu::BytesOf<PrimType>(elements));
    }
    __aicore__ uint32_t GetLength() const { return size; }
    __aicore__ void SetBufferLen(uint32_t elements) { SetSize(elements); }
    __aicore__ int32_t GetPosition() const { return pos; }
    template <typename U>
    __aicore__ void SetAddrWithOffset(LocalTensor<U>& src, uint32_t offset) {
        static_cast<ascendc_emu::TensorRef&>(*this) = src[offset];
    }
    // Takes the place of another tensor; its size comes along.
    __aicore__ void SetAddr(const ascendc_emu::AddressFields& address) {
        static_cast<ascendc_emu::TensorRef&>(*this) = address.Owner();
    }
    __aicore__ void SetAddr(const TBuffAddr& address) {
        ascendc_emu::PlaceTensor(*this, static_cast<TPosition>(address.logicPos),
                                 address.bufferAddr, address.dataLen);
    }
    __aicore__ void InitBuffer(uint32_t bufferOffset, uint32_t bufferSize) {
        ascendc_emu::PlaceTensor(*this, static_cast<TPosition>(pos), bufferOffset,
                                 static_cast<uint32_t>(ascendc_emu::BytesOf<PrimType>(bufferSize)));
    }
    __aicore__ void SetUserTag(TTagType value) { tag = value; }
    __aicore__ TTagType GetUserTag() const { return tag; }
    __aicore__ void SetShapeInfo(const ShapeInfo& info) { shapeInfo_ = info; }
    __aicore__ ShapeInfo GetShapeInfo() const { return shapeInfo_; }
    __aicore__ TBufHandle GetBufferHandle() const {
        return reinterpret_cast<TBufHandle>(static_cast<uintptr_t>(buffer));
    }
    __aicore__ TBuffAddr GetBufferAddr() const {
        return TBuffAddr{size, addr, GetBufferHandle(), pos};
    }
    // The tensor's bytes into a file of the current folder; 0: written.
    template <typename Name>
    int32_t ToFile(const Name& name) const {
        if constexpr (std::is_convertible<Name, const char*>::value) {
            return ascendc_emu::WriteBytes(ptr, size, name);
        } else {
            return ascendc_emu::WriteBytes(ptr, size, name.c_str());
        }
    }
    void Print(uint32_t elements = 0) const {
        const uint64_t n = elements ? elements : GetSize();
        ascendc_emu::PrintElements(ptr, ascendc_emu::kDTypeOf<PrimType>, n, "LocalTensor");
    }

    template <typename U, TensorOp op>
    __aicore__ void operator=(const TensorExpression<U, op>& e) {
        EvaluateExpression(*this, e);
    }
#define OPGEN_TENSOR_OPERATOR(op, kind)                                                           \
    __aicore__ TensorExpression<T, TensorOp::kind> operator op(const TensorOperand<T>& o) const { \
        return {*this, o.tensor, o.loc};                                                          \
    }
    OPGEN_TENSOR_OPERATOR(+, kAdd)
    OPGEN_TENSOR_OPERATOR(-, kSub)
    OPGEN_TENSOR_OPERATOR(*, kMul)
    OPGEN_TENSOR_OPERATOR(/, kDiv)
    OPGEN_TENSOR_OPERATOR(&, kAnd)
    OPGEN_TENSOR_OPERATOR(|, kOr)
    OPGEN_TENSOR_OPERATOR(<, kLt)
    OPGEN_TENSOR_OPERATOR(>, kGt)
    OPGEN_TENSOR_OPERATOR(!=, kNe)
    OPGEN_TENSOR_OPERATOR(==, kEq)
    OPGEN_TENSOR_OPERATOR(<=, kLe)
    OPGEN_TENSOR_OPERATOR(>=, kGe)
#undef OPGEN_TENSOR_OPERATOR

    TTagType tag = 0;
    ShapeInfo shapeInfo_;

 private:
    static constexpr bool kIsInt4 = ascendc_emu::kDTypeOf<PrimType> == ascendc_emu::DType::kI4;
    template <typename V>
    static int8_t Raw(const V& v) {
        if constexpr (std::is_same<V, int4b_t>::value)
            return v.storage;
        else
            return static_cast<int8_t>(v);
    }
    void Scalar(uint32_t index, ascendc_emu::Access access, Loc loc) const {
        ascendc_emu::EmitScalar(*this, ascendc_emu::kDTypeOf<PrimType>,
                                ascendc_emu::BytesOf<PrimType>(index), sizeof(PrimType), access,
                                loc);
    }
};

// A piece of global memory with an element type.
template <typename T>
class GlobalTensor : public ascendc_emu::TypedGmRef<__gm__ PrimT<T>> {
    using Fields = ascendc_emu::TypedGmRef<__gm__ PrimT<T>>;

 public:
    using PrimType = PrimT<T>;
    using Fields::hi;
    using Fields::lo;
    using Fields::ptr;
    using Fields::size;

    __aicore__ GlobalTensor() {}
    // `elements` bounds the tensor for the checks; without it only the kernel argument bounds it.
    // No elements: their number is not known, as in that of a tensor set without one.
    __aicore__ void SetGlobalBuffer(__gm__ PrimType* buffer, uint64_t elements) {
        ptr = reinterpret_cast<uint8_t*>(buffer);
        size = elements;
        lo = elements == 0 ? nullptr : ptr;
        hi = elements == 0 ? nullptr : ptr + ascendc_emu::BytesOf<PrimType>(elements);
    }
    __aicore__ void SetGlobalBuffer(__gm__ PrimType* buffer) {
        ptr = reinterpret_cast<uint8_t*>(buffer);
        size = 0;
        lo = hi = nullptr;
    }
    // Moves the tensor's start by `offset` elements.
    __aicore__ void SetAddr(uint64_t offset) { ptr += ascendc_emu::BytesOf<PrimType>(offset); }
    __aicore__ __gm__ PrimType* GetPhyAddr() const { return reinterpret_cast<PrimType*>(ptr); }
    __aicore__ __gm__ PrimType* GetPhyAddr(uint64_t offset) const {
        return reinterpret_cast<PrimType*>(ptr + ascendc_emu::BytesOf<PrimType>(offset));
    }
    // Scalar read through the data cache.
    __aicore__ PrimType GetValue(uint64_t index, Loc loc = Loc::Here()) const {
        ascendc_emu::Core& core = ascendc_emu::Current();
        if (__builtin_expect((++core.spins & 0x3fff) == 0, 0)) ascendc_emu::Poll(core);
        if (__builtin_expect(core.sink != nullptr, 0)) {
            Scalar(index, ascendc_emu::Access::kRead, loc);
        }
        PrimType value;
        memcpy(&value, ptr + index * sizeof(PrimType), sizeof(PrimType));
        // The compiler must not keep polled values in a register.
        __asm__ __volatile__("" ::: "memory");
        return value;
    }
    __aicore__ void SetValue(uint64_t index, PrimType value, Loc loc = Loc::Here()) const {
        if (ascendc_emu::HasSink()) Scalar(index, ascendc_emu::Access::kWrite, loc);
        memcpy(ptr + index * sizeof(PrimType), &value, sizeof(PrimType));
    }
    __aicore__ __gm__ PrimType& operator()(uint64_t index, Loc loc = Loc::Here()) const {
        if (ascendc_emu::HasSink()) Scalar(index, ascendc_emu::Access::kReadWrite, loc);
        return reinterpret_cast<PrimType*>(ptr)[index];
    }
    __aicore__ GlobalTensor operator[](uint64_t offset) const {
        GlobalTensor t(*this);
        t.ptr += ascendc_emu::BytesOf<PrimType>(offset);
        return t;
    }
    __aicore__ uint64_t GetSize() const { return size; }
    template <typename U>
    __aicore__ GlobalTensor<U> ReinterpretCast() const {
        GlobalTensor<U> t;
        static_cast<ascendc_emu::GmRef&>(t) = *this;
        t.size = size * sizeof(PrimType) / sizeof(PrimT<U>);
        return t;
    }
    __aicore__ void SetShapeInfo(const ShapeInfo& info) { shapeInfo_ = info; }
    __aicore__ ShapeInfo GetShapeInfo() const { return shapeInfo_; }
    // Caches hold no data of their own here; the hint only matters for speed on the device, and for
    // the profile.
    template <CacheRwMode rwMode = CacheRwMode::RW>
    __aicore__ void SetL2CacheHint(CacheMode mode) {
        cacheMode_ = mode;
        if (ascendc_emu::HasSink()) {
            ascendc_emu::EmitCacheHint(*this, ascendc_emu::BytesOf<PrimType>(size),
                                       static_cast<int32_t>(mode));
        }
    }
    void Print(uint32_t elements = 0) const {
        const uint64_t n = elements ? elements : size;
        ascendc_emu::PrintElements(ptr, ascendc_emu::kDTypeOf<PrimType>, n, "GlobalTensor");
    }

    ShapeInfo shapeInfo_;
    CacheMode cacheMode_ = CacheMode::CACHE_MODE_NORMAL;

 private:
    void Scalar(uint64_t index, ascendc_emu::Access access, Loc loc) const {
        ascendc_emu::EmitScalar(*this, ascendc_emu::kDTypeOf<PrimType>,
                                ascendc_emu::BytesOf<PrimType>(index), sizeof(PrimType), access,
                                loc);
    }
};

template <typename T>
struct MrgSortSrcList {
    __aicore__ MrgSortSrcList() {}
    __aicore__ MrgSortSrcList(const LocalTensor<T>& a, const LocalTensor<T>& b,
                              const LocalTensor<T>& c, const LocalTensor<T>& d)
        : src1(a), src2(b), src3(c), src4(d) {}
    LocalTensor<T> src1;
    LocalTensor<T> src2;
    LocalTensor<T> src3;
    LocalTensor<T> src4;
};

}  // namespace AscendC
#endif  // ASCENDC_EMU_TENSOR_H
