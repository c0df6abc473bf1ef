"""Rewriting of kernel launches in self-contained programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.foreign.launch_source import find_launches, kernel_kinds, rewrite


@pytest.mark.parametrize(
    ("code", "name", "config", "arguments"),
    [
        ("f() { add<<<8, nullptr, stream>>>(x, y); }", "add", ("8", " nullptr", " stream"), "x, y"),
        ("add<<<n / 2, 0, s()>>>(p(1, 2))", "add", ("n / 2", " 0", " s()"), "p(1, 2)"),
        ("k<half, 4><<<1, 0, s>>>(x)", "k", ("1", " 0", " s"), "x"),
        ("ns::k<A<B>, (1 > 0)><<<1, 0, s>>>(x)", "k", ("1", " 0", " s"), "x"),
        ("k <<< blocks , 0 >>> (x)", "k", (" blocks ", " 0 "), "x"),
        (
            "k<<<1, 0, s>>>(\n  x, // a >>> b\n  y)",
            "k",
            ("1", " 0", " s"),
            "\n  x, // a >>> b\n  y",
        ),
        ("k<<<f<int>(2), 0, a[1]>>>()", "k", ("f<int>(2)", " 0", " a[1]"), ""),
    ],
)
def test_finds_launch(code, name, config, arguments):
    (launch,) = find_launches(code)
    assert (launch.name, launch.config, launch.arguments) == (name, config, arguments)


@pytest.mark.parametrize("code", ['"k<<<1, 0, s>>>(x)"', "// k<<<1, 0, s>>>(x)", "/* <<< */ a"])
def test_ignores_comments_and_strings(code):
    assert find_launches(code) == []


@pytest.mark.parametrize("code", ["k<<<1, 0, s>>>;", "k<<<1, 0", "<<<1, 0, s>>>(x)", "k<<<1>>>(x)"])
def test_refuses_incomplete_launch(code):
    with pytest.raises(OpgenError, match="OPG905"):
        find_launches(code)


def test_keeps_lines():
    text = "int a;\nk<<<1,\n  0, s>>>(\n  x);\nint b;\n"
    out = rewrite(text, {"k": "OPGEN_KERNEL_AIV_ONLY"}, Path("/p/main.asc"))
    assert out.startswith('#line 1 "/p/main.asc"\n')
    body = out.split("\n", 1)[1]
    assert body.split("\n").index("int b;") == text.split("\n").index("int b;")
    assert 'LaunchProgram<0>("k", OPGEN_KERNEL_AIV_ONLY, (1), ( s), [&] { k(\n  x); })' in body
    assert "LaunchProgram<5>(" in rewrite(text, {}, Path("/p/main.asc"), 5)


@pytest.mark.parametrize(
    ("declaration", "kind"),
    [
        ("__global__ __vector__ void k(int)", "OPGEN_KERNEL_AIV_ONLY"),
        ("__vector__ __global__ __aicore__ void k(int)", "OPGEN_KERNEL_AIV_ONLY"),
        ('extern "C" __global__ __cube__ void k(int)', "OPGEN_KERNEL_AIC_ONLY"),
        ("__global__ __mix__(1, 2) void k(int)", "OPGEN_KERNEL_MIX_AIC_1_2"),
        ("__mix__(1,1) __global__ void k(int)", "OPGEN_KERNEL_MIX_AIC_1_1"),
        ('extern "C" __global__ __aicore__ void k(int)', "OPGEN_KERNEL_AUTO"),
        # the instructions that it reaches tell; see test_core_kinds
        ("__global__ __aicore__ void k(int) { Mmad(a, b); }", "OPGEN_KERNEL_AUTO"),
    ],
)
def test_kernel_kind(declaration, kind):
    assert kernel_kinds([declaration]) == {"k": kind}
