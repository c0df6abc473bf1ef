// Copyright 2026 The opgen authors. SPDX-License-Identifier: Apache-2.0
//
// AscendC::Std, the part of the C++ standard library that device code may use: type traits,
// sequences, tuple, min, max, abs, sqrt. Source: asc-devkit docs, Utils-API / C++ standard library.
#ifndef ASCENDC_EMU_STD_API_H
#define ASCENDC_EMU_STD_API_H

#include "ascendc_emu/types.h"

namespace AscendC {
namespace Std {

// A type of its own, not std's: Int<2> + Int<3> finds its operators by argument dependent lookup.
template <typename T, T v>
struct integral_constant {
    static constexpr T value = v;
    using value_type = T;
    using type = integral_constant;
    constexpr operator value_type() const noexcept { return value; }
    constexpr value_type operator()() const noexcept { return value; }
};
using true_type = integral_constant<bool, true>;
using false_type = integral_constant<bool, false>;
template <bool b>
using bool_constant = integral_constant<bool, b>;
template <size_t v>
using Int = integral_constant<size_t, v>;
#define OPGEN_INT_OPERATOR(OP)                            \
    template <size_t t, size_t u>                         \
    constexpr Int<(t OP u)> operator OP(Int<t>, Int<u>) { \
        return {};                                        \
    }
OPGEN_INT_OPERATOR(+)
OPGEN_INT_OPERATOR(-)
OPGEN_INT_OPERATOR(*)
OPGEN_INT_OPERATOR(/)
OPGEN_INT_OPERATOR(%)
#undef OPGEN_INT_OPERATOR

#define OPGEN_STD_TRAIT(NAME) \
    using std::NAME;          \
    using std::NAME##_t;
OPGEN_STD_TRAIT(add_const)
OPGEN_STD_TRAIT(add_cv)
OPGEN_STD_TRAIT(add_lvalue_reference)
OPGEN_STD_TRAIT(add_pointer)
OPGEN_STD_TRAIT(add_rvalue_reference)
OPGEN_STD_TRAIT(add_volatile)
OPGEN_STD_TRAIT(conditional)
OPGEN_STD_TRAIT(decay)
OPGEN_STD_TRAIT(enable_if)
OPGEN_STD_TRAIT(remove_const)
OPGEN_STD_TRAIT(remove_cv)
OPGEN_STD_TRAIT(remove_extent)
OPGEN_STD_TRAIT(remove_pointer)
OPGEN_STD_TRAIT(remove_reference)
OPGEN_STD_TRAIT(remove_volatile)
OPGEN_STD_TRAIT(underlying_type)
#undef OPGEN_STD_TRAIT
#define OPGEN_STD_TEST(NAME) \
    using std::NAME;         \
    using std::NAME##_v;
OPGEN_STD_TEST(is_array)
OPGEN_STD_TEST(is_base_of)
OPGEN_STD_TEST(is_class)
OPGEN_STD_TEST(is_const)
OPGEN_STD_TEST(is_convertible)
OPGEN_STD_TEST(is_enum)
OPGEN_STD_TEST(is_function)
OPGEN_STD_TEST(is_integral)
OPGEN_STD_TEST(is_lvalue_reference)
OPGEN_STD_TEST(is_pointer)
OPGEN_STD_TEST(is_reference)
OPGEN_STD_TEST(is_rvalue_reference)
OPGEN_STD_TEST(is_same)
OPGEN_STD_TEST(is_signed)
OPGEN_STD_TEST(is_union)
OPGEN_STD_TEST(is_unsigned)
OPGEN_STD_TEST(is_void)
#undef OPGEN_STD_TEST
using std::void_t;
template <typename T, typename U>
using IsSame = bool_constant<std::is_same<T, U>::value>;

// half counts as a floating point type here; bfloat16_t does as well.
template <typename T>
struct is_floating_point : bool_constant<std::is_floating_point<T>::value ||
                                         std::is_same<std::remove_cv_t<T>, half>::value ||
                                         std::is_same<std::remove_cv_t<T>, bfloat16_t>::value> {};
template <typename T>
inline constexpr bool is_floating_point_v = is_floating_point<T>::value;

template <typename T>
struct remove_cvref {
    using type = std::remove_cv_t<std::remove_reference_t<T>>;
};
template <typename T>
using remove_cvref_t = typename remove_cvref<T>::type;

template <typename T, typename... Others>
struct is_one_of : bool_constant<(std::is_same<T, Others>::value || ...)> {};
template <typename T, typename... Others>
inline constexpr bool is_one_of_v = is_one_of<T, Others...>::value;
template <typename T, T... Values>
struct is_one_of_value : false_type {};
template <typename T, T value, T first, T... rest>
struct is_one_of_value<T, value, first, rest...>
    : bool_constant<value == first || is_one_of_value<T, value, rest...>::value> {};
template <typename T, T... Values>
inline constexpr bool is_one_of_value_v = is_one_of_value<T, Values...>::value;

// Whether T is integral_constant<..., n>.
template <auto n, typename T>
struct is_constant : false_type {};
template <auto n, typename T, T v>
struct is_constant<n, integral_constant<T, v>> : bool_constant<v == n> {};
template <auto n, typename T>
struct is_constant<n, const T> : is_constant<n, T> {};
template <auto n, typename T>
struct is_constant<n, T&> : is_constant<n, T> {};
template <auto n, typename T>
struct is_constant<n, T&&> : is_constant<n, T> {};
template <auto n, typename T>
inline constexpr bool is_constant_v = is_constant<n, T>::value;

template <typename... T>
inline constexpr bool always_false_v = false;

template <typename T>
std::add_rvalue_reference_t<T> declval() noexcept;
template <typename T>
constexpr T&& forward(std::remove_reference_t<T>& v) noexcept {
    return static_cast<T&&>(v);
}
template <typename T>
constexpr T&& forward(std::remove_reference_t<T>&& v) noexcept {
    return static_cast<T&&>(v);
}
template <typename T>
constexpr std::remove_reference_t<T>&& move(T&& v) noexcept {
    return static_cast<std::remove_reference_t<T>&&>(v);
}

// 0, 1, ... N - 1 as template arguments.
template <typename T, T... N>
struct IntegerSequence {
    using type = IntegerSequence;
    using value_type = T;
    using valueType = T;
    static constexpr size_t size() { return sizeof...(N); }
};
template <typename T, T... N>
using integer_sequence = IntegerSequence<T, N...>;
#if defined(__clang__)
template <typename T, T n>
using MakeIntegerSequence = __make_integer_seq<IntegerSequence, T, n>;
#else
template <typename T, T n>
using MakeIntegerSequence = IntegerSequence<T, __integer_pack(n)...>;
#endif
template <typename T, T n>
using make_integer_sequence = MakeIntegerSequence<T, n>;
template <size_t... N>
using index_sequence = IntegerSequence<size_t, N...>;
template <size_t n>
using make_index_sequence = MakeIntegerSequence<size_t, n>;

template <typename... T>
class tuple;

namespace detail {
template <size_t i, typename T>
struct Leaf {
    constexpr Leaf() : value() {}
    template <typename U>
    constexpr Leaf(int, U&& u) : value(static_cast<U&&>(u)) {}
    T value;
};
template <typename Index, typename... T>
struct Leaves;
template <size_t... i, typename... T>
struct Leaves<IntegerSequence<size_t, i...>, T...> : Leaf<i, T>... {
    constexpr Leaves() {}
    template <typename... U>
    constexpr Leaves(int, U&&... u) : Leaf<i, T>(0, static_cast<U&&>(u))... {}
    template <typename Other>
    constexpr void Assign(const Other& other);
};
template <size_t i, typename T>
constexpr T& At(Leaf<i, T>& leaf) {
    return leaf.value;
}
template <size_t i, typename T>
constexpr const T& At(const Leaf<i, T>& leaf) {
    return leaf.value;
}
template <size_t i, typename T>
T TypeAt(const Leaf<i, T>&);
// Whether the only argument of a constructor is the tuple itself: then it is a copy.
template <typename Self, typename... U>
struct IsSelf : false_type {};
template <typename Self, typename U>
struct IsSelf<Self, U> : bool_constant<std::is_same<Self, remove_cvref_t<U>>::value> {};
}  // namespace detail

// Values of several types; at most 64.
template <typename... T>
class tuple : public detail::Leaves<make_index_sequence<sizeof...(T)>, T...> {
    using Base = detail::Leaves<make_index_sequence<sizeof...(T)>, T...>;

 public:
    constexpr tuple() {}
    constexpr tuple(const T&... v) : Base(0, v...) {}
    template <typename... U,
              std::enable_if_t<sizeof...(U) == sizeof...(T) && !detail::IsSelf<tuple, U...>::value,
                               int> = 0>
    constexpr tuple(U&&... u) : Base(0, static_cast<U&&>(u)...) {}
    constexpr tuple(const tuple&) = default;
    constexpr tuple(tuple&&) = default;
    constexpr tuple& operator=(const tuple&) = default;
    // From a tuple of other types: what tie() is for.
    template <typename... U>
    constexpr tuple& operator=(const tuple<U...>& other) {
        static_assert(sizeof...(U) == sizeof...(T), "tuples of different sizes");
        this->Assign(other);
        return *this;
    }
};
template <>
class tuple<> {};
template <typename... T>
tuple(T...) -> tuple<T...>;

template <typename T>
struct tuple_size;
template <typename... T>
struct tuple_size<tuple<T...>> : integral_constant<size_t, sizeof...(T)> {};
template <typename T>
struct tuple_size<const T> : tuple_size<T> {};
template <typename T>
struct tuple_size<volatile T> : tuple_size<T> {};
template <typename T>
struct tuple_size<const volatile T> : tuple_size<T> {};
template <typename T>
inline constexpr size_t tuple_size_v = tuple_size<T>::value;

namespace detail {
template <size_t i, typename First, typename... Rest>
struct Pick : Pick<i - 1, Rest...> {};
template <typename First, typename... Rest>
struct Pick<0, First, Rest...> {
    using type = First;
};
}  // namespace detail
template <size_t i, typename T>
struct tuple_element;
template <size_t i, typename... T>
struct tuple_element<i, tuple<T...>> : detail::Pick<i, T...> {
    static_assert(i < sizeof...(T), "the tuple has fewer elements");
};
template <size_t i, typename T>
struct tuple_element<i, const T> {
    using type = const typename tuple_element<i, T>::type;
};
template <size_t i, typename T>
using tuple_element_t = typename tuple_element<i, T>::type;

template <typename T>
struct is_tuple : false_type {};
template <typename... T>
struct is_tuple<tuple<T...>> : true_type {};
template <typename T>
struct is_tuple<const T> : is_tuple<T> {};
template <typename T>
inline constexpr bool is_tuple_v = is_tuple<T>::value;

template <size_t i, typename... T>
constexpr tuple_element_t<i, tuple<T...>>& get(tuple<T...>& t) noexcept {
    return detail::At<i>(t);
}
template <size_t i, typename... T>
constexpr const tuple_element_t<i, tuple<T...>>& get(const tuple<T...>& t) noexcept {
    return detail::At<i>(t);
}
template <size_t i, typename... T>
constexpr tuple_element_t<i, tuple<T...>>&& get(tuple<T...>&& t) noexcept {
    return static_cast<tuple_element_t<i, tuple<T...>>&&>(detail::At<i>(t));
}
template <size_t i, typename... T>
constexpr const tuple_element_t<i, tuple<T...>>&& get(const tuple<T...>&& t) noexcept {
    return static_cast<const tuple_element_t<i, tuple<T...>>&&>(detail::At<i>(t));
}

namespace detail {
template <size_t... i, typename... T>
template <typename Other>
constexpr void Leaves<IntegerSequence<size_t, i...>, T...>::Assign(const Other& other) {
    ((At<i>(*this) = Std::get<i>(other)), ...);
}
}  // namespace detail

template <typename... T>
constexpr tuple<std::decay_t<T>...> make_tuple(T&&... v) {
    return tuple<std::decay_t<T>...>(static_cast<T&&>(v)...);
}
template <typename... T>
constexpr tuple<T&...> tie(T&... v) noexcept {
    return tuple<T&...>(v...);
}
template <typename... T>
constexpr tuple<T&&...> forward_as_tuple(T&&... v) noexcept {
    return tuple<T&&...>(static_cast<T&&>(v)...);
}
// Takes any value in an assignment from a tuple.
struct ignore_t {
    template <typename T>
    constexpr const ignore_t& operator=(const T&) const noexcept {
        return *this;
    }
};
inline constexpr ignore_t ignore{};

template <typename T, typename U>
constexpr auto min(const T& a, const U& b) {
    return a > b ? b : a;
}
template <typename T, typename U>
constexpr auto max(const T& a, const U& b) {
    return a > b ? a : b;
}
template <typename T>
inline T abs(const T v) {
    return v < T(0) ? T(-v) : v;
}
// Of float and half, correctly rounded.
template <typename T>
inline T sqrt(const T v) {
    return T(__builtin_sqrtf(static_cast<float>(v)));
}
// A division by 0 gives 0.
template <typename T, typename U>
constexpr auto ceil_division(const T& a, const U& b) {
    return b == 0 ? decltype(a / b)(0) : (a + b - 1) / b;
}
template <typename T, typename U>
constexpr auto ceil_align(const T& a, const U& b) {
    return ceil_division(a, b) * b;
}
template <typename T, typename U>
constexpr auto divide(const T& a, const U& b) {
    return b == 0 ? decltype(a / b)(0) : a / b;
}

}  // namespace Std
}  // namespace AscendC
#endif  // ASCENDC_EMU_STD_API_H
