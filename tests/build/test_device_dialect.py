"""What only the device compiler takes, rewritten for g++."""

from __future__ import annotations

import pytest

from msopgen_wrap.build.device_dialect import host_text

KERNEL = """struct Kernel {
    template <int32_t CORE_TYPE = g_coreType>
    __forceinline__ [aicore]
    void operator()(Params const &params);

    template <>
    __forceinline__ [aicore]
    void operator()<AscendC::AIC>(Params const &params) { Cube(params); }

    template <>
    __forceinline__ [aicore]
    void operator()<AscendC::AIV>(Params const &params) {%s}
};
"""


@pytest.mark.parametrize(
    ("body", "kind"),
    [(" Vector(params); ", "KERNEL_TYPE_MIX_AIC_1_2"), ("", "KERNEL_TYPE_AIC_ONLY")],
)
def test_specialisations_become_overloads(body, kind):
    text = KERNEL % body
    result = host_text(text)
    assert result.count("\n") == text.count("\n")
    assert "template <>" not in result
    assert "operator()(Params const &params, ::ascendc_emu::CoreTag<AscendC::AIC>)" in result
    assert f"KERNEL_TASK_TYPE_DEFAULT({kind})" in result


def test_a_declared_task_type_stays():
    assert "_DEFAULT(" not in host_text("// KERNEL_TASK_TYPE(1, X)\n" + KERNEL % "")


def test_launches_and_attributes_go():
    assert host_text("a<<<1, l2,\n s>>>(x); [host, aicore] [aicore]").split() == ["a", "(x);"]


def test_other_text_is_kept():
    assert host_text("x = a[aicores];\n") == "x = a[aicores];\n"


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
