"""Blocks are real concurrent contexts: barriers, flags, mixed kernels, deadlocks."""

import numpy as np
import pytest

from .launcher import LaunchError, build


@pytest.fixture(scope="module")
def kernel():
    return build("cores")


@pytest.fixture(scope="module")
def kinds():
    return build("kinds")


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
