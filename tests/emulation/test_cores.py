"""Cores as concurrent contexts: barriers, flags, deadlocks, kinds of cores, communication."""

import numpy as np
import pytest

from msopgen_wrap.diagnostics import OpgenError

from .launcher import LaunchError, build, compile_kernel

# ---- Blocks are real concurrent contexts: barriers, flags, mixed kernels, deadlocks --------------


@pytest.fixture(scope="module")
def kernel():
    return build("cores")


@pytest.fixture(scope="module")
def kinds():
    return build("cores")


def _run(kernel, key, blocks, threads, **options):
    x, y = np.zeros(256, np.int32), np.zeros(256, np.int32)
    kernel.launch(
        "cores", [x, y], key=key, blocks=blocks, threads=threads, workspace=4096, **options
    )
    return y


THREADS = pytest.mark.parametrize("threads", [1, 2])


@THREADS
def test_barrier(kernel, threads):
    y = _run(kernel, 1, 7, threads)
    want = [[(i + 1) % 7 * 10 + r for r in range(3)] for i in range(7)]
    assert y[:21].reshape(7, 3).tolist() == want


@THREADS
def test_chain_of_blocks(kernel, threads):
    assert _run(kernel, 2, 12, threads)[:12].tolist() == [2**i for i in range(12)]


@pytest.mark.parametrize("mode", ["fast", "check"])
@THREADS
def test_a_loop_without_calls_gives_way(kernel, threads, mode):
    assert _run(kernel, 33, 6, threads, mode=mode)[:6].tolist() == [5, 4, 3, 2, 1, 0]


@THREADS
def test_cube_and_two_vector_cores(kernel, threads):
    assert _run(kernel, 3, 5, threads)[:5].tolist() == [2 * (100 + i) + 1 for i in range(5)]


def test_cores_of_a_kind_in_an_ai_core(kernel):
    y = _run(kernel, 14, 3, 1)
    assert y[:3].tolist() == [111] * 3 and y[8:14].tolist() == [222] * 6


@THREADS
def test_flags_of_all_cores_of_a_kind(kernel, threads):
    y = _run(kernel, 4, 4, threads)
    assert y[:4].tolist() == [6] * 4
    assert y[50:54].tolist() == [6] * 4


@THREADS
def test_barrier_over_both_kinds(kernel, threads):
    assert _run(kernel, 8, 3, threads)[:6].tolist() == [1, 1, 2, 2, 3, 3]


@THREADS
def test_a_flag_counts_to_15_and_its_setter_waits_then(kernel, threads):
    assert _run(kernel, 12, 2, threads)[:2].tolist() == [40, 40]


@THREADS
@pytest.mark.parametrize(
    "key, text",
    [
        (13, r"deadlock.*AIC 0 at .*cores.cpp:\d+: CrossCoreSetFlag: the flag's counter"),
        (5, r"deadlock.*AIV 0 at .*cores.cpp:\d+: CrossCoreWaitFlag 6"),
        (6, r"deadlock.*AIV 0 at .*cores.cpp:\d+: SyncAll: not all cores arrive"),
        (9, r"cores.cpp:\d+: ASSERT: i < 2 && \"too many blocks\""),
        (30, r"cores.cpp:\d+: ASSERT: i < 2 && \"too many blocks\""),
        (10, r"cores.cpp:\d+: WaitFlag: waits for event MTE2_V id 3 that nothing has set"),
    ],
)
def test_stops_with_a_reason(kernel, key, text, threads):
    with pytest.raises(LaunchError, match=text):
        _run(kernel, key, 3, threads)


def _cores(kernel, entry, key, threads=1, kind=0):
    y = np.zeros(64, np.int32)
    kernel.launch(entry, [y], key=key, blocks=2, threads=threads, kind=kind)
    return int(y[:32].sum()), int(y[32:].sum())


@THREADS
@pytest.mark.parametrize(
    ("entry", "key", "cores"),
    [
        ("kinds", 0, (2, 4)),
        ("kinds", 1, (0, 2)),
        ("kinds", 2, (2, 2)),
        ("kinds", 3, (2, 0)),
        ("kinds", 4, (2, 4)),
        ("kinds_late", 0, (0, 2)),
        ("kinds_late", 1, (2, 2)),
        ("kinds_fill", 0, (2, 4)),
    ],
)
def test_a_task_type_of_the_key_overrides_the_default(kinds, entry, key, cores, threads):
    assert _cores(kinds, entry, key, threads) == cores
    assert _cores(kinds, entry, key, threads) == cores  # what the first launch found out is kept


def test_two_default_task_types_are_an_error(kinds):
    with pytest.raises(LaunchError, match="declares two different KERNEL_TASK_TYPEs"):
        _cores(kinds, "kinds_twice", 0)


def test_the_launch_decides_over_the_kernel(kinds):
    assert _cores(kinds, "kinds", 1, kind=5) == (2, 2)


@THREADS
def test_polling_lets_others_run(kernel, threads):
    assert _run(kernel, 7, 6, threads)[:2].tolist() == [5, 7]


@THREADS
@pytest.mark.parametrize("key", [31, 32, 39])
def test_polling_by_copies_lets_others_run(kernel, threads, key):
    assert _run(kernel, key, 6, threads)[:48:8].tolist() == [9] * 6


@THREADS
def test_atomic_add(kernel, threads):
    y = _run(kernel, 11, 40, threads)
    assert y[:64].view(np.float32).tolist() == [40.0] * 64


def test_atomic_type_alone(kernel):
    y = _run(kernel, 15, 5, 1).view(np.float32)
    assert y[:192].reshape(3, 64).tolist() == [[5.0] * 64, [1.0] * 64, [1.0] * 64]


def test_barrier_needs_a_core_per_block(kernel):
    with pytest.raises(LaunchError, match="block dim 41 exceeds the 40 cores"):
        _run(kernel, 1, 41, 1)


# ---- Kernels compiled once per core kind, and the cores a kernel runs on when it declares none ---


@pytest.fixture(scope="module")
def kernel_by_kind():
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
def test_entry_by_core(kernel_by_kind, entry, cube, vector, mode):
    y = np.zeros(20, np.int32)
    kernel_by_kind.launch(entry, [y], blocks=2, mode=mode)
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


# ---- Collective communication: one rank receives what it sends, and every core can wait for it ---


@pytest.fixture(scope="module")
def hccl():
    return build("cores")


def _communicate(hccl, key, mode):
    x = np.arange(32, dtype=np.int32)
    y, z = np.zeros_like(x), np.zeros_like(x)
    options = {"key": key, "blocks": 3, "workspace": 4096, "outputs": 2, "threads": 1}
    found = hccl.launch("hccl", [x, y, z], mode=mode, **options)
    return x, y, z, found


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize("key", [1, 2, 3, 4, 5])
def test_every_task_copies(hccl, key, mode):
    x, y, z, found = _communicate(hccl, key, mode)
    assert y.tolist() == x.tolist() and z.tolist() == x.tolist()
    assert found == []


@pytest.mark.parametrize(
    ("key", "text"),
    [(6, "GetWindowsInAddr.*needs the memory of other ranks"), (7, "Hccl::Wait")],
)
def test_what_cannot_end_well_is_said(hccl, key, text):
    with pytest.raises(LaunchError, match=f"(?s){text}"):
        _communicate(hccl, key, "fast")
