// SPDX-License-Identifier: Apache-2.0
// BEGIN_TILING_DATA_DEF and friends: tiling structs of CANN 8 style. Byte layout as CANN's: each
// field aligned to its own size, nested structs to 8, the total rounded up to 8.
#ifndef OPGEN_EMULATION_REGISTER_TILINGDATA_BASE_H
#define OPGEN_EMULATION_REGISTER_TILINGDATA_BASE_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/types.h"
#include "securec.h"

namespace optiling {
// One field of a tiling struct; offset and sizes in bytes.
struct FieldInfo {
    std::string type_;
    std::string name_;
    size_t offset_;
    size_t count_;  // 0: scalar, n: array
    bool is_struct_;
    size_t size_;
};

// Values live in a byte buffer: its own, or a part of the enclosing struct's.
class TilingDef {
 public:
    TilingDef() = default;
    TilingDef(const TilingDef &other);
    TilingDef &operator=(const TilingDef &other);
    ~TilingDef();

    // Copies the bytes out. Nothing is written when `capacity` is too small; that is logged.
    void SaveToBuffer(void *data, size_t capacity);
    std::vector<FieldInfo> GetFieldInfo() const { return fields_; }
    const char *GetTilingClassName() const { return class_name_; }
    size_t GetDataSize() const { return data_size_; }
    // Moves the values into memory the caller owns (GetDataSize() bytes).
    void SetDataPtr(void *data);

 protected:
    size_t AddField(const char *type, const char *name, size_t size);
    size_t AddArray(const char *type, const char *name, size_t size, size_t count);
    size_t AddStruct(const char *type, const char *name, TilingDef *member);
    void Finish(const char *class_name, bool allocate);
    void Write(size_t offset, const void *value, size_t size);

    uint8_t *data_ptr_ = nullptr;
    size_t data_size_ = 0;

 private:
    struct Nested {
        ptrdiff_t member;  // from this object to the member object
        size_t offset;
    };
    TilingDef *MemberAt(const Nested &nested);
    size_t Align(size_t alignment);

    const char *class_name_ = "";
    bool owns_data_ = false;
    std::vector<FieldInfo> fields_;
    std::vector<Nested> nested_;
};

using TilingDataConstructor = std::shared_ptr<TilingDef> (*)();

// Tiling structs by op type ("Add") or op type and tiling key ("Add_11").
class CTilingDataClassFactory {
 public:
    static CTilingDataClassFactory &GetInstance();
    void RegisterTilingData(const char *op_type, const TilingDataConstructor constructor);
    // Null when nothing is registered under the name.
    std::shared_ptr<TilingDef> CreateTilingDataInstance(const char *op_type);
};
}  // namespace optiling

#define BEGIN_TILING_DATA_DEF(class_name)                 \
    class class_name : public ::optiling::TilingDef {     \
     public:                                              \
        class_name() { this->Finish(#class_name, true); } \
        explicit class_name(void *data) {                 \
            this->Finish(#class_name, false);             \
            if (data != nullptr) {                        \
                this->SetDataPtr(data);                   \
            }                                             \
        }

#define TILING_DATA_FIELD_DEF(data_type, field_name)                  \
 public:                                                              \
    void set_##field_name(data_type value) {                          \
        field_name##_ = value;                                        \
        this->Write(field_name##_offset_, &value, sizeof(data_type)); \
    }                                                                 \
    data_type get_##field_name() const { return field_name##_; }      \
                                                                      \
 private:                                                             \
    data_type field_name##_ = 0;                                      \
    size_t field_name##_offset_ = this->AddField(#data_type, #field_name, sizeof(data_type));

#define TILING_DATA_FIELD_DEF_ARR(arr_type, arr_size, field_name)                    \
 public:                                                                             \
    /* not const, as in CANN */                                                      \
    void set_##field_name(arr_type *values) {                                        \
        this->Write(field_name##_offset_, values, (arr_size) * sizeof(arr_type));    \
    }                                                                                \
    arr_type *get_##field_name() {                                                   \
        return reinterpret_cast<arr_type *>(this->data_ptr_ + field_name##_offset_); \
    }                                                                                \
                                                                                     \
 private:                                                                            \
    size_t field_name##_offset_ =                                                    \
        this->AddArray(#arr_type, #field_name, sizeof(arr_type), arr_size);

#define TILING_DATA_FIELD_DEF_STRUCT(struct_type, field_name) \
 public:                                                      \
    struct_type field_name{nullptr};                          \
                                                              \
 private:                                                     \
    size_t field_name##_offset_ = this->AddStruct(#struct_type, #field_name, &field_name);

#define END_TILING_DATA_DEF \
    }                       \
    ;

#define REGISTER_TILING_DATA_CLASS(op_type, class_name)                            \
    namespace {                                                                    \
    class op_type##class_name##Helper {                                            \
     public:                                                                       \
        op_type##class_name##Helper() {                                            \
            ::optiling::CTilingDataClassFactory::GetInstance().RegisterTilingData( \
                #op_type, &op_type##class_name##Helper::Make);                     \
        }                                                                          \
        static std::shared_ptr<::optiling::TilingDef> Make() {                     \
            return std::make_shared<class_name>();                                 \
        }                                                                          \
    };                                                                             \
    static op_type##class_name##Helper g_tilingdata_##op_type##class_name##helper  \
        __attribute__((unused));                                                   \
    }

#endif  // OPGEN_EMULATION_REGISTER_TILINGDATA_BASE_H
