"""What only the device compiler takes, rewritten for g++."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from msopgen_wrap.build.emulation import compile_kernel
from msopgen_wrap.build.rewriting.device_dialect import host_text
from msopgen_wrap.build.rewriting.kernel_sources import topk_flags
from msopgen_wrap.build.toolchain import find_toolchain

HEAD = """
#define DEVICE __attribute__((always_inline)) inline
constexpr int KIND = 2;
struct Params { int value; };
enum class Side { LEFT, RIGHT };
struct MatmulConfig { bool a; Side side; unsigned n; };
constexpr MatmulConfig NONE = {false, Side::LEFT, 0};
template <class T, const MatmulConfig& config = NONE> unsigned sum(const T&, int line = __LINE__)
{ if constexpr (config.side == Side::RIGHT) return config.a + config.n; return line; }
namespace ascendc_emu { template <class T, auto... values> constexpr T kConfig = {values...}; }
"""

# Text, an expression over it that must be true.
MEMBERS = [
    (
        """struct Kernel {
    template <int CORE_TYPE = KIND>
    DEVICE void operator()(Params const &params);

    template <>
    DEVICE void operator()<1>(Params const &params) { seen = -params.value; }

    template <>
    DEVICE
    void operator()<2>(Params const &params)
    {
        seen = params.value;
    }
    int seen = 0;
};
""",
        "(k(Params{5}), k.seen == 5) && (k.operator()<1>({6}), k.seen == -6)"
        " && (k.operator()<7>({1}), k.seen == -6)",
    ),
    (
        """template <class T> struct Kernel {
    template <class U, bool twice = false> static int f(T const a, U = U(), int = 3)
    { return 1; }
    template <> int f<char, true>(T const a, char, int b) { return a + b; }
    int f(int) { return 9; }
};
""",
        "K::f<long>(1) == 1 && K::f<char, true>(4) == 7 && k.f(1) == 9",
    ),
    (
        """template <class T> struct Kernel {
    template <bool a = true, bool b = true> struct P { int v = 3; };
    template <> struct P<false, false> { int v = 4; };
    template <class U> struct Helper { using type = typename U::inner; };
    template <>
    struct Helper<void> {
        using type = char; };
};
""",
        "K::P<>().v == 3 && K::P<false, false>().v == 4 && sizeof(K::Helper<void>::type) == 1",
    ),
    (
        """template <class T> struct Kernel {
    T data[2];
    int count;
    constexpr explicit Kernel(T v = 0) { for (int i = 0; i < 2; ++i) data[i] = v; count = 2; }
    int f() const { int local; local = 1; return local; }
};
constexpr Kernel<int> made(4);
static_assert(made.data[1] == 4 && made.count == 2, "");
""",
        "made.f() == 1",
    ),
    (
        """template <class T> struct Kernel {
    static constexpr MatmulConfig OF_CLASS = {true, Side::RIGHT, 4u};
    unsigned f() {
        static constexpr MatmulConfig CONFIG = {true, Side::RIGHT,
                                                6};  // a reference argument: g++ 12 dies
        constexpr static const MatmulConfig OTHER = { false, Side::RIGHT, OF_CLASS.n == 4 ? 1 : 0 };
        return sum<T, CONFIG>(T()) + CONFIG.n + sum<T, OF_CLASS>(T()) + OTHER.n;
    }
};
""",
        "k.f() == 7 + 6 + 5 + 1",
    ),
    (
        """namespace outer {
static constexpr MatmulConfig OF_FILE = {true, Side::RIGHT, 4u};  // { as an object
template <class T, const MatmulConfig& config> struct Matmul { unsigned f() { return config.n; } };
template <class T> struct Kernel {
    Matmul<T, OF_FILE> product;
    unsigned f() { return product.f() + sum<T, OF_FILE>(T()); }
};
}
using outer::Kernel;
""",
        "k.f() == 4 + 5",
    ),
    ("struct Kernel { int [host, aicore] f() { return 1; } };\n", "k.f() == 1"),
]


@pytest.mark.parametrize(("text", "check"), MEMBERS)
def test_accepted_and_right(tmp_path, text, check):
    result = host_text(text)
    assert result.count("\n") == text.count("\n")
    assert host_text(result) == result
    name = "Kernel<int>" if "template <class T> struct Kernel" in text else "Kernel"
    main = f"using K = {name};\nint main() {{ K k; (void)k; return ({check}) ? 0 : 1; }}\n"
    source, program = tmp_path / "a.cpp", tmp_path / "a"
    source.write_text(HEAD + result + main)
    cxx = find_toolchain().cxx
    subprocess.run([cxx, "-std=c++17", str(source), "-o", str(program)], check=True)
    assert subprocess.run([str(program)]).returncode == 0


def test_compiler_name_of_bfloat16():
    assert host_text("A<__bf16, x__bf16>;") == "A<bfloat16_t, x__bf16>;"
    assert host_text("A<__fp16, __fp16x>;") == "A<half, __fp16x>;"


def test_launches_and_attributes_go():
    assert host_text("a<<<1, l2,\n s>>>(x); [host, aicore] [aicore]").split() == [";"]
    assert host_text("if (b) n::a<T, 2><<<f(1), 0, s>>>(\n(T*)x, g());").split()[1:] == ["(b)", ";"]
    assert host_text("return a<<<1, 0, s>>>(x), 1;").split() == ["return", "a", "(x),", "1;"]


@pytest.mark.parametrize(
    "text",
    [
        "x = a[aicores];\n",
        "template <> struct A<int> {};\nnamespace n { template <> void f<int>() {} }\n",
        "struct A { int v; constexpr A(int x) : v(x) { check(x); } int w[2]; };\n",
        "struct A { int v; A() { v = 1; } };\n",
    ],
)
def test_other_text_is_kept(text):
    assert host_text(text) == text


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("if constexpr (TILING_KEY_IS(1)) {", "if (TILING_KEY_IS(1)) {"),
        ("if  constexpr(A && TILING_KEY_VAR == 3) {", "if (A && TILING_KEY_VAR == 3) {"),
        (
            "if constexpr (A) { if (TILING_KEY_IS(1)) {",
            "if constexpr (A) { if (TILING_KEY_IS(1)) {",
        ),
    ],
)
def test_the_tiling_key_is_no_constant(text, changed):
    assert " ".join(host_text(text).split()).replace("if(", "if (") == changed


RUNTIME = """void k() {
#if TILING_KEY_VAR == 1 || TILING_KEY_VAR == 2  // small
    A a;
#ifdef X
    a.x();
#endif
#elif (TILING_KEY_VAR == 3)
    B b;
#else
    C c;
#endif
}
"""


def test_directives_on_the_tiling_key_become_statements():
    assert host_text(RUNTIME).split("\n") == [
        "void k() {",
        "if (TILING_KEY_VAR == 1 || TILING_KEY_VAR == 2) {",
        "    A a;",
        "#ifdef X",
        "    a.x();",
        "#endif",
        "} else if ((TILING_KEY_VAR == 3)) {",
        "    B b;",
        "} else {",
        "    C c;",
        "}",
        "}",
        "",
    ]


@pytest.mark.parametrize(
    "text",
    [
        '#if TILING_KEY_VAR == 1\n#include "a.h"\n#endif',
        "#if TILING_KEY_VAR == 1\ntemplate <class T> void f();\n#endif",
        "#if defined(X) && TILING_KEY_VAR == 1\nf();\n#endif",
        "#if X == 1\nf(TILING_KEY_VAR);\n#endif",
    ],
)
def test_other_directives_stay(text):
    assert host_text(text) == text


@pytest.mark.parametrize(
    ("line", "want"),
    [
        (
            "__ubuf__ float x[64];",
            "auto& x = ::ascendc_emu::LocalVariable<::ascendc_emu::Mem::kUb, float[64]>([] {});",
        ),
        (
            "__ubuf__ half x[2][N];",
            "auto& x = ::ascendc_emu::LocalVariable<::ascendc_emu::Mem::kUb, half[2][N]>([] {});",
        ),
        (
            "__ca__ int8_t a[512];",
            "auto& a = ::ascendc_emu::LocalVariable<::ascendc_emu::Mem::kL0a, int8_t[512]>([] {});",
        ),
        ("__ubuf__ float* p = x;", "__ubuf__ float* p = x;"),
        ("void f(__ubuf__ float* x);", "void f(__ubuf__ float* x);"),
    ],
)
def test_arrays_in_the_memory_of_a_core(line, want):
    assert host_text(f"void k() {{\n    {line}\n}}\n") == f"void k() {{\n    {want}\n}}\n"


def test_several_arrays_in_one_declaration():
    text = host_text("__ubuf__ float a[N], sums[8];\n")
    assert (
        "auto& a = ::ascendc_emu::LocalVariable<::ascendc_emu::Mem::kUb, float[N]>([] {});" in text
    )
    assert (
        "auto& sums = ::ascendc_emu::LocalVariable<::ascendc_emu::Mem::kUb, float[8]>([] {});"
        in text
    )


DEFAULT_KIND = """
KERNEL_TASK_TYPE_DEFAULT(
    KERNEL_TYPE_MIX_AIC_1_2);
#define OTHER KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY)
void helper() { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY); }
__global__ __aicore__ void declared(GM_ADDR x);
namespace n {
template <int K> __global__ __aicore__ void
kernel(GM_ADDR x)
{
    f(x);
}
}
extern "C" {
__global__ __aicore__ void second(GM_ADDR x) {}
}
"""


def test_a_kind_declared_outside_of_functions_moves_into_the_kernels():
    text = host_text(DEFAULT_KIND).split("\n")
    declaration = "KERNEL_TASK_TYPE_DEFAULT( KERNEL_TYPE_MIX_AIC_1_2);"
    want = DEFAULT_KIND.split("\n")
    want[1:3] = ["", ";"]
    want[9] = "{ " + declaration
    want[14] = f"__global__ __aicore__ void second(GM_ADDR x) {{ {declaration}}}"
    assert text == want


def test_a_kind_in_a_kernel_stays():
    text = "__global__ __aicore__ void k() { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY); }"
    assert host_text(text) == text


def test_a_compilation_for_one_key_is_not_this_one():
    text = host_text(
        "#if defined(TILING_KEY_VAR) && (TILING_KEY_VAR != A && \\\n    TILING_KEY_VAR != B)\n"
        "#define SKIP 1\n#elif defined TILING_KEY_VAR && TILING_KEY_IS(3)\nint a;\n#endif\n"
    )
    assert text.split("\n")[:2] == ["#if 0 && (0 != A && \\", "    0 != B)"]
    assert "#elif 0 && 0\nint a;" in text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("reinterpret_cast<__ubuf__ float *>(8)", "::ascendc_emu::UbPointer<float*>(8)"),
        ("reinterpret_cast< const __ubuf__ a::T*>(p)", "::ascendc_emu::UbPointer<const a::T*>(p)"),
        (
            "reinterpret_cast<__cbuf__ T*>(n)",
            "::ascendc_emu::MemoryPointer<::ascendc_emu::Mem::kL1, T*>(n)",
        ),
        (
            "reinterpret_cast<__cc__ float *>(0)",
            "::ascendc_emu::MemoryPointer<::ascendc_emu::Mem::kL0c, float*>(0)",
        ),
        ("reinterpret_cast<__ubuf__ T*&>(p)", None),
        ("reinterpret_cast<__gm__ T*>(8)", None),
    ],
)
def test_places_in_a_memory_by_their_number(text, wanted):
    assert host_text(text) == (wanted or text)


# ---- Numbers of the device library's header of TopK in kernels that use them ---------------------

HEADER = ["-include", "ascendc_emu/topk_numbers.h"]


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("int x = EIGHTY;", []),
        ("int x = EIGHT;", HEADER),
        ("constexpr int EIGHT = 8;\nint x = EIGHT;", []),
        ("const uint32_t ONE = 1, EIGHT = 8;\nint x = EIGHT;", []),
        ("enum { ONE, EIGHT };\nint x = EIGHT;", []),
        ("#define EIGHT 8\nint x = EIGHT;", []),
        ("namespace {\nconstexpr int EIGHT = 8;\n}\nint x = EIGHT;", []),
        ("namespace K {\nconstexpr int EIGHT = 8;\n}\nint x = EIGHT;", HEADER),
        ("namespace K {\nconst int EIGHT = 8;\n}\nusing namespace K;\nint x = EIGHT;", []),
        ("void f() { const int EIGHT = 9; }\nint x = EIGHT;", HEADER),
        ("struct S { static constexpr int EIGHT = 8; };\nint x = EIGHT;", HEADER),
        ("const int TWO = 2;\nint x = TWO + EIGHT;", [*HEADER, "-DOPGEN_OWN_TWO"]),
        ("int x = Other::EIGHT;", []),
        ("constexpr int A = EIGHT, B = 1;", HEADER),
        ("const int a[] = {EIGHT, TWO};", HEADER),
        ("enum { A = EIGHT, B };", HEADER),
    ],
)
def test_flags(text: str, flags: list[str]) -> None:
    assert topk_flags([text]) == flags


def test_a_kernels_own_numbers_are_its_own(tmp_path: Path) -> None:
    kernel = tmp_path / "numbers.cpp"
    kernel.write_text(
        """#include "kernel_operator.h"
constexpr uint32_t TWO = 20;
#define SIX 60
namespace K {
constexpr uint32_t FOUR = 40;
}
using namespace K;
static_assert(TWO == 20 && SIX == 60 && FOUR == 40 && EIGHT == 8 && MIN_SORT32_SIZE == 32, "");
extern "C" __global__ __aicore__ void numbers(GM_ADDR x, GM_ADDR y, GM_ADDR w, GM_ADDR t) {}
""",
        encoding="utf-8",
    )
    assert compile_kernel(kernel).is_file()
