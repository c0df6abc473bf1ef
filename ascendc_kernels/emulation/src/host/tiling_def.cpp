// SPDX-License-Identifier: Apache-2.0
// optiling::TilingDef: layout and storage of tiling structs in CANN 8 style.
#include <mutex>

#include "ascendc_emu/host_log.h"
#include "host/op_registry.h"
#include "register/tilingdata_base.h"

namespace optiling {
namespace {
constexpr size_t kStructAlignment = 8;

std::mutex &ClassesMutex() {
    static std::mutex mutex;
    return mutex;
}

std::map<std::string, TilingDataConstructor> &Classes() {
    static std::map<std::string, TilingDataConstructor> classes;
    return classes;
}
}  // namespace

TilingDef::TilingDef(const TilingDef &other)
    : data_size_(other.data_size_),
      class_name_(other.class_name_),
      fields_(other.fields_),
      nested_(other.nested_) {
    if (other.data_ptr_ != nullptr) {
        data_ptr_ = new uint8_t[data_size_]();
        owns_data_ = true;
        std::memcpy(data_ptr_, other.data_ptr_, data_size_);
    }
}

TilingDef &TilingDef::operator=(const TilingDef &other) {
    // Same class on both sides: only the values move. Values of nested structs follow when the
    // compiler assigns the nested members after this base.
    if (this != &other && data_ptr_ != nullptr && other.data_ptr_ != nullptr &&
        data_size_ == other.data_size_) {
        std::memcpy(data_ptr_, other.data_ptr_, data_size_);
    }
    return *this;
}

TilingDef::~TilingDef() {
    if (owns_data_) {
        delete[] data_ptr_;
    }
}

size_t TilingDef::Align(size_t alignment) {
    data_size_ = (data_size_ + alignment - 1) / alignment * alignment;
    return data_size_;
}

size_t TilingDef::AddField(const char *type, const char *name, size_t size) {
    const size_t offset = Align(size);
    fields_.push_back({type, name, offset, 0, false, size});
    data_size_ += size;
    return offset;
}

size_t TilingDef::AddArray(const char *type, const char *name, size_t size, size_t count) {
    const size_t offset = Align(size);
    fields_.push_back({type, name, offset, count, false, size * count});
    data_size_ += size * count;
    return offset;
}

size_t TilingDef::AddStruct(const char *type, const char *name, TilingDef *member) {
    const size_t offset = Align(kStructAlignment);
    fields_.push_back({type, name, offset, 0, true, member->GetDataSize()});
    nested_.push_back(
        {reinterpret_cast<uint8_t *>(member) - reinterpret_cast<uint8_t *>(this), offset});
    data_size_ += member->GetDataSize();
    return offset;
}

TilingDef *TilingDef::MemberAt(const Nested &nested) {
    return reinterpret_cast<TilingDef *>(reinterpret_cast<uint8_t *>(this) + nested.member);
}

void TilingDef::Finish(const char *class_name, bool allocate) {
    class_name_ = class_name;
    Align(kStructAlignment);
    if (allocate) {
        data_ptr_ = new uint8_t[data_size_]();
        owns_data_ = true;
        for (const Nested &nested : nested_) {
            MemberAt(nested)->SetDataPtr(data_ptr_ + nested.offset);
        }
    }
}

void TilingDef::SetDataPtr(void *data) {
    if (owns_data_) {
        delete[] data_ptr_;
        owns_data_ = false;
    }
    data_ptr_ = static_cast<uint8_t *>(data);
    for (const Nested &nested : nested_) {
        MemberAt(nested)->SetDataPtr(data_ptr_ + nested.offset);
    }
}

void TilingDef::Write(size_t offset, const void *value, size_t size) {
    if (data_ptr_ != nullptr && value != data_ptr_ + offset) {
        std::memcpy(data_ptr_ + offset, value, size);
    }
}

void TilingDef::SaveToBuffer(void *data, size_t capacity) {
    if (data == nullptr || data_ptr_ == nullptr || capacity < data_size_) {
        OPGEN_HOST_LOG_AT(kError, "SaveToBuffer: %s needs %zu bytes, the buffer has %zu",
                          class_name_, data_size_, data == nullptr ? size_t{0} : capacity);
        return;
    }
    std::memcpy(data, data_ptr_, data_size_);
    // A copied object's nested structs have buffers of their own.
    for (const Nested &nested : nested_) {
        TilingDef *const member = MemberAt(nested);
        if (member->data_ptr_ != data_ptr_ + nested.offset) {
            member->SaveToBuffer(static_cast<uint8_t *>(data) + nested.offset,
                                 capacity - nested.offset);
        }
    }
}

CTilingDataClassFactory &CTilingDataClassFactory::GetInstance() {
    static CTilingDataClassFactory factory;
    return factory;
}

void CTilingDataClassFactory::RegisterTilingData(const char *op_type,
                                                 const TilingDataConstructor constructor) {
    const std::lock_guard<std::mutex> lock(ClassesMutex());
    Classes()[op_type] = constructor;
}

std::shared_ptr<TilingDef> CTilingDataClassFactory::CreateTilingDataInstance(const char *op_type) {
    TilingDataConstructor constructor = nullptr;
    {
        const std::lock_guard<std::mutex> lock(ClassesMutex());
        const auto it = Classes().find(op_type);
        constructor = it == Classes().end() ? nullptr : it->second;
    }
    return constructor == nullptr ? nullptr : constructor();
}
}  // namespace optiling

namespace ascendc_emu {
std::vector<std::pair<std::string, optiling::TilingDataConstructor>> TilingClasses() {
    const std::lock_guard<std::mutex> lock(optiling::ClassesMutex());
    return {optiling::Classes().begin(), optiling::Classes().end()};
}
}  // namespace ascendc_emu
