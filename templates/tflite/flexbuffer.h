// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// Reads the options of a custom op: a map in the FlexBuffers format (public description:
// FlatBuffers, "FlexBuffers"). A value stands behind what it refers to, so offsets point backwards;
// the last byte is the width of the root, the one before it the root's type.
#ifndef OPGEN_DOOR_FLEXBUFFER_H
#define OPGEN_DOOR_FLEXBUFFER_H

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "checks.h"

namespace opgen_tflite __attribute__((visibility("hidden"))) {

    class FlexValue {
     public:
        // The root of a buffer; without bytes the null value.
        static FlexValue Root(const char* data, size_t size) {
            FlexValue root;
            if (data == nullptr || size == 0) {
                return root;
            }
            root.begin_ = reinterpret_cast<const uint8_t*>(data);
            root.size_ = size;
            OPGEN_CHECK(size >= 3, "the options of the node are cut off");
            const uint8_t width = root.begin_[size - 1];
            root.SetType(root.begin_[size - 2]);
            OPGEN_CHECK(size >= 2u + width, "the options of the node are cut off");
            root.place_ = size - 2 - width;
            root.parent_width_ = width;
            return root;
        }

        bool IsNull() const { return type_ == kNull; }
        bool IsMap() const { return type_ == kMap; }
        bool IsNumber() const {
            return type_ == kInt || type_ == kUint || type_ == kFloat || type_ == kBool ||
                   (type_ >= kIndirectInt && type_ <= kIndirectFloat);
        }
        bool IsFloat() const { return type_ == kFloat || type_ == kIndirectFloat; }
        bool IsText() const { return type_ == kString || type_ == kKey; }
        bool IsList() const { return ElementType() != kNull || type_ == kVector; }

        int64_t Int() const {
            if (IsFloat()) {
                return static_cast<int64_t>(Float());
            }
            if (type_ == kUint || type_ == kBool || type_ == kIndirectUint) {
                return static_cast<int64_t>(Unsigned(NumberPlace(), NumberWidth()));
            }
            return Signed(NumberPlace(), NumberWidth());
        }
        double Float() const {
            if (!IsFloat()) {
                return static_cast<double>(Int());
            }
            return Real(NumberPlace(), NumberWidth());
        }
        std::string Text() const {
            const size_t place = Target();
            if (type_ == kString) {
                const uint64_t length = Unsigned(Before(place, width_), width_);
                return std::string(Bytes(place, length), length);
            }
            std::string text;  // a key ends with a zero
            for (size_t i = place; *Bytes(i, 1) != 0; ++i) {
                text += *Bytes(i, 1);
            }
            return text;
        }

        size_t Count() const {
            if (type_ >= kFixedBegin && type_ < kFixedEnd) {
                return 2 + (type_ - kFixedBegin) / 3;
            }
            const uint64_t count = Unsigned(Before(Target(), width_), width_);
            OPGEN_CHECK(count <= size_, "the options of the node have a list without an end");
            return static_cast<size_t>(count);
        }
        FlexValue At(size_t i) const {
            const size_t place = Target();
            FlexValue value = *this;
            value.place_ = place + i * width_;
            value.parent_width_ = width_;
            const int element = ElementType();
            if (element != kNull) {
                value.type_ = element;
                value.width_ = 1;
            } else {
                value.SetType(static_cast<uint8_t>(*Bytes(place + Count() * width_ + i, 1)));
            }
            return value;
        }
        // The value of a map under a key; null where there is none.
        FlexValue operator[](const std::string& key) const {
            if (!IsMap()) {
                return FlexValue();
            }
            const size_t place = Target();
            FlexValue keys = *this;
            const size_t offset_place = Before(place, 3 * width_);
            keys.type_ = kVectorKey;
            keys.parent_width_ = width_;
            keys.width_ = static_cast<uint8_t>(Unsigned(Before(place, 2 * width_), width_));
            CheckWidth(keys.width_);
            keys.place_ = offset_place;
            for (size_t i = 0; i < keys.Count(); ++i) {
                if (keys.At(i).Text() == key) {
                    return At(i);
                }
            }
            return FlexValue();
        }

     private:
        enum Type {
            kNull = 0,
            kInt = 1,
            kUint = 2,
            kFloat = 3,
            kKey = 4,
            kString = 5,
            kIndirectInt = 6,
            kIndirectUint = 7,
            kIndirectFloat = 8,
            kMap = 9,
            kVector = 10,
            kVectorInt = 11,
            kVectorUint = 12,
            kVectorFloat = 13,
            kVectorKey = 14,
            kVectorString = 15,
            kFixedBegin = 16,  // 2, 3 and 4 elements of int, uint, float
            kFixedEnd = 25,
            kBool = 26,
            kVectorBool = 36,
        };

        void SetType(uint8_t packed) {
            type_ = packed >> 2;
            width_ = static_cast<uint8_t>(1u << (packed & 3u));
        }
        int ElementType() const {
            if (type_ >= kFixedBegin && type_ < kFixedEnd) {
                return kInt + (type_ - kFixedBegin) % 3;
            }
            switch (type_) {
                case kVectorInt:
                    return kInt;
                case kVectorUint:
                    return kUint;
                case kVectorFloat:
                    return kFloat;
                case kVectorKey:
                    return kKey;
                case kVectorString:
                    return kString;
                case kVectorBool:
                    return kBool;
                default:
                    return kNull;
            }
        }

        static void CheckWidth(uint64_t width) {
            OPGEN_CHECK(
                width == 1 || width == 2 || width == 4 || width == 8,
                "the options of the node have a number of " + std::to_string(width) + " bytes");
        }
        const char* Bytes(size_t place, uint64_t count) const {
            OPGEN_CHECK(place <= size_ && count <= size_ - place,
                        "the options of the node are cut off");
            return reinterpret_cast<const char*>(begin_ + place);
        }
        size_t Before(size_t place, size_t distance) const {
            OPGEN_CHECK(distance <= place, "the options of the node are cut off");
            return place - distance;
        }
        uint64_t Unsigned(size_t place, size_t width) const {
            CheckWidth(width);
            uint64_t value = 0;
            std::memcpy(&value, Bytes(place, width), width);  // little endian, as the format is
            return value;
        }
        int64_t Signed(size_t place, size_t width) const {
            const uint64_t bits = Unsigned(place, width);
            const unsigned shift = static_cast<unsigned>(64 - 8 * width);
            return static_cast<int64_t>(bits << shift) >> shift;
        }
        double Real(size_t place, size_t width) const {
            if (width == 4) {
                float value = 0;
                std::memcpy(&value, Bytes(place, 4), 4);
                return value;
            }
            double value = 0;
            OPGEN_CHECK(width == 8, "the options of the node have a float of " +
                                        std::to_string(width) + " bytes");
            std::memcpy(&value, Bytes(place, 8), 8);
            return value;
        }
        bool Indirect() const { return type_ >= kIndirectInt && type_ <= kIndirectFloat; }
        size_t NumberPlace() const { return Indirect() ? Target() : place_; }
        size_t NumberWidth() const { return Indirect() ? width_ : parent_width_; }
        size_t Target() const {
            const uint64_t offset = Unsigned(place_, parent_width_);
            OPGEN_CHECK(offset <= place_, "the options of the node are cut off");
            return place_ - static_cast<size_t>(offset);
        }

        const uint8_t* begin_ = nullptr;
        size_t size_ = 0;
        size_t place_ = 0;          // of the value or its offset
        uint8_t parent_width_ = 1;  // bytes of the value or its offset
        uint8_t width_ = 1;         // bytes of what it refers to
        int type_ = kNull;
    };

}  // namespace opgen_tflite

#endif  // OPGEN_DOOR_FLEXBUFFER_H
