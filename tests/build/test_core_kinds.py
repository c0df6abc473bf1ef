"""How often a kernel is compiled, and for which cores."""

from __future__ import annotations

import pytest

from msopgen_wrap.build.core_kinds import launch_kind, mentions_core_kind, needs_two_passes


@pytest.mark.parametrize(
    ("text", "two"),
    [
        ("template <int32_t CORE_TYPE = g_coreType> void f();", True),
        ("constexpr int id = Flag<MODE, g_coreType>::ID;", True),
        ("using B = typename std::conditional<g_coreType == AscendC::AIC,\n  X, Y>::type;", True),
        ("if constexpr (g_coreType == AscendC::AIV) {", True),
        ("op.template operator()<g_coreType>(params);", True),
        ("static_assert(g_coreType == AIC);", True),
        ("#ifdef __DAV_C220_CUBE__", True),
        ("#if defined(__DAV_VEC__)", True),
        ("if (g_coreType == AIC) { return; }", False),
        ("if (i < n && g_coreType == AIV) return;", False),
        ("if ASCEND_IS_AIC { Cube(); }", False),
        ("bool aic = g_coreType == AscendC::AIC;", False),
        ("#ifdef __DAV_C310__\nint x;", False),
    ],
)
def test_needs_two_passes(text, two):
    assert needs_two_passes([text]) is two


def test_second_try_needs_a_core_kind():
    assert mentions_core_kind(["if ASCEND_IS_AIV {"]) and not mentions_core_kind(["Add(a, b);"])


def _names(*functions: str) -> set[str]:
    return {f"_ZN11ascendc_emu{len(name)}{name}ERKNS_9TensorRefE" for name in functions}


@pytest.mark.parametrize(
    ("vector", "cube", "kind"),
    [
        (_names("RunVector"), None, 0),
        (_names("RunCopyIn", "CubeSetPadding"), None, 0),
        (_names("CubeMmad", "RunCopyIn"), None, 2),
        (_names("CubeMmad", "RunVector"), None, 6),
        (_names("MatmulCompute"), None, 6),
        # compiled once per kind: what each of the two reaches
        (_names(), _names("CubeMmad", "RunCopyIn"), 2),
        (_names("RunVector"), _names("CubeFixpipe"), 6),
        (_names("RunCopyOut"), _names("CubeMmad"), 6),
        (_names("RunVector"), _names(), 0),
        # nothing of the kernel depends on the kind: both have everything
        (_names("CubeMmad", "RunCopyIn"), _names("CubeMmad", "RunCopyIn"), 2),
    ],
)
def test_launch_kind(vector, cube, kind):
    assert launch_kind(vector, vector if cube is None else cube) == kind
