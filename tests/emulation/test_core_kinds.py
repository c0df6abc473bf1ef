"""Kernels compiled once per core kind, and the cores a kernel runs on when it declares none."""

import numpy as np
import pytest

from msopgen_wrap.diagnostics import OpgenError

from .launcher import build, compile_kernel


@pytest.fixture(scope="module")
def kernel():
    return build("core_kinds")


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize(
    ("entry", "cube", "vector"),
    [
        ("both", [100, 101], [200, 201, 202, 203]),
        ("vector_only", [2, 2], []),
        ("declared", [1, 1], [2, 2]),
        ("cube_only", [100, 101], []),
    ],
)
def test_entry_by_core(kernel, entry, cube, vector, mode):
    y = np.zeros(20, np.int32)
    kernel.launch(entry, [y], blocks=2, mode=mode)
    assert y[:10].tolist() == cube + [0] * (10 - len(cube))
    assert y[10:].tolist() == vector + [0] * (10 - len(vector))


def test_unified_cores(tmp_path):
    source = tmp_path / "k.cpp"
    source.write_text(KERNEL.format(text="static_assert(g_coreType == MIX);", body=""))
    assert compile_kernel(source, opt="-O0", arch=2002).exists()


KERNEL = """#include "kernel_operator.h"
using namespace AscendC;
{text}
extern "C" __global__ __aicore__ void k(GM_ADDR y) {{ {body} }}
"""


@pytest.mark.parametrize(
    ("text", "body", "good"),
    [
        # nothing says beforehand that the condition has to be a constant: the second try finds out
        (
            "template <class T> void f(T) { if ASCEND_IS_AIC { static_assert(sizeof(T) == 4 || "
            'g_coreType != AIC, ""); } else { return; } }',
            "f(1);",
            True,
        ),
        ("", "int32_t kind = AscendC::g_coreType; switch (g_coreType) { case AIC: break; }", True),
        ("", "if (g_coreType == AIC) nonsense();", False),
    ],
)
def test_second_try(tmp_path, text, body, good):
    source = tmp_path / "k.cpp"
    source.write_text(KERNEL.format(text=text, body=body))
    if good:
        assert compile_kernel(source, opt="-O0").exists()
        return
    with pytest.raises(OpgenError) as error:
        compile_kernel(source, opt="-O0")
    assert "nonsense" in error.value.diagnostics[0].what


def test_headers_are_rewritten_too(tmp_path):
    folder = tmp_path / "lib" / "inner"
    folder.mkdir(parents=True)
    (folder / "body.h").write_text(
        "struct Body {\n template <int K = 1> static int f(int a);\n"
        " template <> int f<1>(int a) { return a; }\n};\n"
    )
    (tmp_path / "lib" / "body.h").write_text('#pragma once\n#include "inner/body.h"\n')
    (tmp_path / "op").mkdir()
    (tmp_path / "op" / "near.h").write_text("#include <body.h>\n")
    source = tmp_path / "op" / "k.cpp"
    source.write_text(KERNEL.format(text='#include "near.h"', body="y[0] = Body::f(3);"))
    assert compile_kernel(source, opt="-O0", include_dirs=[tmp_path / "lib"]).exists()
    (folder / "body.h").write_text("struct Body {\n int template <> };\n")
    with pytest.raises(OpgenError) as error:
        compile_kernel(source, opt="-O0", include_dirs=[tmp_path / "lib"])
    found = error.value.diagnostics[0].location
    assert (found.file, found.line) == (str(folder / "body.h"), 2)
