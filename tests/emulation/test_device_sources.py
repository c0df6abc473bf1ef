"""What the device compiler accepts and g++ does not is taken care of before compiling."""

from pathlib import Path

import pytest

from msopgen_wrap.build.emulation import compile_kernel
from msopgen_wrap.diagnostics import OpgenError

HEAD = '#include "kernel_operator.h"\nusing namespace AscendC;\n'
# Public kernels pass API functions as template arguments.
HEAD += """
template <typename T> using Op =
    void(const LocalTensor<T>&, const LocalTensor<T>&, const LocalTensor<T>&, const int32_t&);
template <Op<half>* op> void Apply(GM_ADDR) { LocalTensor<half> t; op(t, t, t, 0); }
template <void (*op)(const LocalTensor<float>&, const LocalTensor<float>&,
                     const LocalTensor<float>&, uint64_t, const uint8_t,
                     const BinaryRepeatParams&)>
void Masked() {}
"""
ENTRY = 'extern "C" __global__ __aicore__ void {name}(GM_ADDR x, GM_ADDR y)\n{{\n{body}\n}}\n'


def _write(folder: Path, body: str, name: str = "k", extra: str = "") -> Path:
    path = folder / f"{name}.cpp"
    path.write_text(HEAD + ENTRY.format(name=name, body=body) + extra)
    return path


@pytest.mark.parametrize(
    "body, name, extra",
    [
        ("", "k", "void k_do(void* s, uint8_t* x) { k<<<8, nullptr, s>>>(x, x); }\n"),
        ("int a = 1\n    ASSERT(a > 0);", "k", ""),
        ('int a = 1; // text\n    ASSERT(a > 0 && "why")\n    if (a) ASSERT(a);', "k", ""),
        ("int a =\n        2 ASSERT(a > 0 && 1);", "k", ""),
        ("Apply<Add<half>>(x); Apply<Sub<half>>(x); Masked<Mul<float>>();", "k", ""),
        (
            "float b = GetAccVal<float>(); AscendCUtils::SetMask<float>(64); set_mask_count();",
            "k",
            "",
        ),
        ("float r = sqrt(2.0f); if (r < 0) y[0] = 1;", "sqrt", ""),
        ("complex64 c = {1, 2}; y[0] = (uint8_t)c.imag;", "k", ""),
        (
            "GET_TILING_DATA_PTR_WITH_STRUCT(uint64_t, data, y);"
            "SetNdParaImpl(1); if (GetSubBlockIdxImpl() > GetBlockNumImpl()) return;"
            "__tiling_data_ptr__ uint64_t* same = data; (void)same;"
            "std::uint8_t small = 1; (void)small;",
            "k",
            "",
        ),
        (
            "LocalTensor<float> f; LocalTensor<uint8_t> u; SoftMaxTiling t; uint32_t a[4];"
            "SoftMax(f, f, f, f, u, t); SoftMax(f, f, f, f, t); SimpleSoftMax(f, f, f, f, u, t);"
            "copy_data_align64((uint8_t*)a, (__gm__ uint8_t*)x, sizeof(a));",
            "k",
            "",
        ),
        ("ASSERT(GetBlockNum() > 0); uint64_t i = get_block_idx(); (void)i;", "cos", ""),
        ("pipe_barrier(PIPE_ALL); set_flag(PIPE_V, PIPE_S, EVENT_ID0);", "k", ""),
        ("constexpr half one = 1.0; half t = one + half(2); y[0] = (uint8_t)t;", "k", ""),
        (
            "constexpr auto l = MakeLayout(MakeShape(MakeShape(2, 4), MakeShape(3, 5)),"
            " MakeStride(MakeStride(3, 6), MakeStride(1, 24)));"
            "static_assert(l(MakeCoord(11, 12)) == 129 && is_layout_v<decltype(l)>);"
            "static_assert(Crd2Idx(MakeCoord(1, 2, 3), MakeLayout(MakeShape(3, 4, 5),"
            " MakeStride(20, 5, 1))) == 33);"
            "auto t = MakeTensorTrait<float, TPosition::VECIN>(l);"
            "static_assert(is_tensorTrait<decltype(t)>::value);"
            "LocalTensor<decltype(t)> u; Add(u, u, u, 0);",
            "k",
            "",
        ),
        (
            "Std::tuple<int, float, half> t{1, 2.0f, half(3)}; Std::get<0>(t) = 5;"
            "int a; float b; Std::tie(a, b, Std::ignore) = t;"
            "Std::tuple<int, Std::tuple<int, int>> nested{1, {2, 3}};"
            "static_assert(Std::is_same_v<Std::tuple_element_t<1, decltype(nested)>,"
            " Std::tuple<int, int>>);"
            "static_assert(Std::is_same_v<decltype(Std::Int<2>{} + Std::Int<3>{}), Std::Int<5>>);"
            "static_assert(Std::is_one_of_v<int, float, int>);"
            "static_assert(Std::IsSame<int, int>::value && !Std::IsSame<int, half>::value);"
            "static_assert(Std::tuple_size_v<decltype(t)> == 3);"
            "y[0] = uint8_t(Std::min(a, 3u) + Std::max(b, 1.0f) + Std::sqrt(half(4)));",
            "k",
            "",
        ),
        (
            "bfloat16_t b = Cast(1.5f); float f = Cast(b);"
            "int32_t i = Cast<float, int32_t, RoundMode::CAST_CEIL>(f); y[0] = uint8_t(i);"
            "WaitPreTaskEnd<true>(); MetricsProfStart();"
            "SetFixPipeConfig(LocalTensor<uint64_t>());",
            "k",
            "",
        ),
        (
            "DataCopyPadExtParams<int4b_t> p(false, 0, 0, 0); y[0] = p.isPad; "
            "constexpr DataCopyPadExtParams<half> q(true, 0, 1, 3); y[1] = q.isPad;",
            "k",
            "",
        ),
        (
            "constexpr SoftMaxTiling t = SoftMaxFlashV2TilingFunc({8, 64, 8, 64}, 2, 4, 100); "
            "static_assert(t.splitM == 8 && t.outMaxSize == 64 && t.rangeM == 1 && !t.tailM);",
            "k",
            "",
        ),
        (
            "LocalTensor<half> h; LocalTensor<int8_t> b; LocalTensor<int32_t> i;"
            "LocalTensor<uint8_t> t; if (x == nullptr) {"
            "AscendAntiQuant<int8_t, half, false>(h, b, half(1), half(2), 4);"
            "AscendAntiQuant<int8_t, half, false>(h, b, h, h, 4);"
            "AscendDequant<half, half, DeQuantMode::DEQUANT_WITH_MULTI_ROW>(h, i, h, t, 16);"
            "AscendDequant<half, half, false>(h, i, h, t); DumpAccChkPoint<half>(h, 1, 2, 3);"
            "TopK<half, false, false, false, TopKMode::TOPK_NORMAL, defaultTopKConfig>("
            "h, i, h, i, LocalTensor<bool>(), t, 4, TopkTiling(), TopKInfo()); }",
            "k",
            "",
        ),
        ("if ASCEND_IS_AIV { y[0] = 1; } if ASCEND_IS_AIC { y[0] = 2; }", "k", ""),
    ],
)
def test_accepted(tmp_path, body, name, extra):
    assert compile_kernel(_write(tmp_path, body, name, extra), opt="-O0").exists()


@pytest.mark.parametrize(
    "header",
    [
        "kernel_operator_mm_intf.h",
        "kernel_vec_intf.h",
        "basic_api/kernel_struct_mm.h",
        "pad/broadcast.h",
        "lib/matmul/constant_tiling.h",
        "lib/hccl/hccl.h",
    ],
)
def test_headers_of_parts_of_the_api(tmp_path, header):
    source = tmp_path / "k.cpp"
    body = "AscendC::LocalTensor<half> t; AscendC::Add(t, t, t, 16);"
    source.write_text(f'#include "{header}"\n' + ENTRY.format(name="k", body=body))
    assert compile_kernel(source, opt="-O0").exists()


def test_types_of_the_compiler_need_no_header(tmp_path):
    path = _write(tmp_path, "Count c = 1; Value v = c; y[0] = v;")
    head = "using Count = int32_t; using Value = half; __aicore__ void First(__gm__ uint8_t*);"
    path.write_text(f"{head}\n{path.read_text()}")
    assert compile_kernel(path, opt="-O0").exists()


def test_the_context_of_a_domain_is_defined_before_it_is_used(tmp_path):
    path = _write(tmp_path, "y[0] = uint8_t(Rank((__gm__ HcclOpResParam*)x));")
    used = "inline uint32_t Rank(__gm__ HcclOpResParam* c) { return c->localUsrRankId; }\n"
    base = (
        "#pragma once\n#include <stdint.h>\nstruct HcclOpResParam { uint32_t localUsrRankId; };\n"
    )
    (tmp_path / "first.h").write_text(used)
    (tmp_path / "base.h").write_text(base)
    path.write_text(f'#include "first.h"\n#include "base.h"\n{path.read_text()}')
    assert compile_kernel(path, opt="-O0").exists()


def test_utility_names(tmp_path):
    body = """
    static_assert(SupportType<half, float, half>() && !SupportType<half, float>());
    constexpr ReduceLastND reduced = {1, 2, 3, 4, 5, 6};
    static_assert(reduced.srcK == 4);
    InitDump(true, 1);
    InitDump(false, x, 1);
"""
    path = _write(tmp_path, body)
    head = "inline __gm__ struct OpSystemRunCfg g_opSystemRunCfg{0};"
    path.write_text(path.read_text().replace("using namespace", f"{head}\nusing namespace", 1))
    assert compile_kernel(path, opt="-O0").exists()


def test_api_found_by_its_arguments(tmp_path):
    """``Duplicate<float>(x, ...)`` without a using directive is C++20 for g++."""
    source = tmp_path / "k.cpp"
    body = "AscendC::LocalTensor<float> t; Duplicate<float>(t, 1.0f, 8);"
    source.write_text(HEAD.splitlines()[0] + "\n" + ENTRY.format(name="k", body=body))
    assert compile_kernel(source, opt="-O0").exists()
    source.write_text(source.read_text().replace("8);", "8); nonsense();"))
    with pytest.raises(OpgenError):
        compile_kernel(source, opt="-O0")


@pytest.mark.parametrize(
    "body, text",
    [
        ("LocalTensor<uint8_t> a; Add(a, a, a, 32);", "Add does not support this element type"),
        ("LocalTensor<bfloat16_t> a; Exp(a, a, 32);", "supported: half, float"),
        (
            "LocalTensor<half> a; LocalTensor<int64_t> b; Cast(b, a, RoundMode::CAST_NONE, 8);",
            "Cast",
        ),
        ("LocalTensor<float> a; Subs(a, a, 1.0f, 8);", "does not exist on arch 2201"),
        ("LocalTensor<float> a; Subs<float, true>(a, a, 1.0f, 8);", "Subs does not exist on arch"),
        ("LocalTensor<half> a; MmadMx(a, a, a, MmadParams());", "MmadMx does not exist on arch"),
        ("Nonsense(x);", "Nonsense"),
    ],
)
def test_refused_at_the_kernel_line(tmp_path, body, text):
    source = _write(tmp_path, body)
    with pytest.raises(OpgenError) as error:
        compile_kernel(source, opt="-O0")
    found = error.value.diagnostics[0]
    assert found.code == "OPG303"
    assert text in found.what
    assert Path(found.location.file).name == "k.cpp"
    assert found.location.line == 5 + HEAD.count("\n") - 2
