"""Kernels compile, run on many blocks, are counted, and fail with words."""

from __future__ import annotations

import ctypes
import json
import struct

import numpy as np
import pytest

from .launcher import KERNELS, LaunchError, build

# ---- Kernels compile, run on many blocks, and fail with words ------------------------------------


@pytest.fixture(scope="module")
def add():
    return build("add_tail")


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize("dtype, key", [(np.float32, 1), (np.float16, 2)])
@pytest.mark.parametrize("length, blocks", [(0, 1), (1, 1), (1000, 1), (4099, 3), (70001, 40)])
def test_add(add, mode, dtype, key, length, blocks):
    rng = np.random.default_rng(length)
    x, y = (rng.standard_normal(length).astype(dtype) for _ in range(2))
    z = np.full(length, 77, dtype)
    found = add.launch(
        "add_tail",
        [x, y, z],
        tiling=struct.pack("II", length, 2048),
        key=key,
        blocks=blocks,
        mode=mode,
    )
    np.testing.assert_array_equal(z, x + y)
    assert found == []


def test_an_ascend310b_kernel_sees_its_own_ub(add):
    length = 2 * (39 << 8)  # two tiles in six buffers of 39 KB: 234 KB of its 248 KB
    x, z = np.ones(length, np.float32), np.zeros(length, np.float32)
    tiling = struct.pack("II", length, length // 2)
    assert add.launch("add_tail", [x, x, z], tiling=tiling, key=1, soc="ascend310b1") == []
    assert (z == 2).all()
    with pytest.raises(LaunchError, match="which has 196608"):
        add.launch("add_tail", [x, x, z], tiling=tiling, key=1)


def test_no_kernel_branch_writes_nothing(add):
    x = np.ones(64, np.float32)
    z = np.full(64, 77, np.float32)
    add.launch("add_tail", [x, x, z], tiling=struct.pack("II", 64, 64), key=9)
    assert (z == 77).all()


def test_overflowing_buffer_is_refused(add):
    x = np.ones(64, np.float32)
    with pytest.raises(LaunchError, match=r"add_tail.cpp:\d+: InitBuffer: UB overflow"):
        add.launch("add_tail", [x, x, x.copy()], tiling=struct.pack("II", 64, 1 << 20), key=1)


def test_a_buffer_over_the_end_may_stay_unused(add):
    x, z = np.ones(64, np.float32), np.zeros(64, np.float32)
    # Six buffers of 36 KB: the last one ends behind the UB, its first 256 bytes do not. With 44 KB
    # it starts behind the end, and one tile needs only the first of each pair.
    for tile in (9 << 10, 11 << 10):
        z[:] = 0
        add.launch("add_tail", [x, x, z], tiling=struct.pack("II", 64, tile), key=1)
        assert (z == 2).all()


def test_short_tiling_is_refused(add):
    x = np.ones(64, np.float32)
    with pytest.raises(LaunchError, match="AddTiling has 8 bytes, the host wrote 0"):
        add.launch("add_tail", [x, x, x.copy()], tiling=b"", key=1)


@pytest.mark.parametrize(
    "blocks, soc, text",
    [(0, "", "block dim 0"), (1, "ascend999", "unknown SoC"), (1, "ascend910a", "not emulated")],
)
def test_bad_launch(add, blocks, soc, text):
    x = np.ones(64, np.float32)
    with pytest.raises(LaunchError, match=text):
        add.launch(
            "add_tail",
            [x, x, x.copy()],
            tiling=struct.pack("II", 64, 64),
            key=1,
            blocks=blocks,
            soc=soc,
        )


@pytest.mark.parametrize("soc", ["ascend910b1", "Ascend910_93", "ascend310p3"])
def test_other_parts(soc):
    kernel = build("add_tail", arch=2002 if "310p" in soc else 2201)
    x = np.arange(5000, dtype=np.float32)
    z = np.zeros_like(x)
    tiling = struct.pack("II", 5000, 1024)
    found = kernel.launch(
        "add_tail", [x, x, z], tiling=tiling, key=1, blocks=7, soc=soc, mode="check"
    )
    np.testing.assert_array_equal(z, x + x)
    # Its tail is copied with DataCopyPad, which arch 2002 does not have.
    checks = {f["check"] for f in found}
    assert checks == ({"NotOnSoc"} if "310p" in soc else set())


def test_missing_api_is_told_without_sanitizer(capfd):
    kernel = build("add_tail", arch=2002)
    x = np.arange(5000, dtype=np.float32)
    for _ in range(2):
        kernel.launch(
            "add_tail",
            [x, x, x.copy()],
            tiling=struct.pack("II", 5000, 1024),
            key=1,
            soc="ascend310p3",
            mode="fast",
        )
    told = capfd.readouterr().err
    assert told.count("DataCopyPad does not exist on Ascend310P3 (arch 2002)") == 1
    assert "add_tail.cpp:" in told


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize("first", [0, -1, -2])
def test_a_read_that_begins_before_the_workspace(mode, first):
    """The system's part lies there, so all of the read is memory, as on the device."""
    kernel = build("launch")
    x = np.arange(1, 65, dtype=np.float32)
    y = np.zeros_like(x)
    found = kernel.launch(
        "workspace_edge",
        [x, y],
        tiling=struct.pack("ii", first, 64),
        workspace=256,
        behind_system=True,
        mode=mode,
    )
    want = np.concatenate([np.full(-first, -1, np.float32), x])[:64]
    np.testing.assert_array_equal(y, want)
    assert [f["severity"] for f in found] == (["warning"] if first < 0 and mode == "check" else [])
    if found:
        assert f"reads {-4 * first} bytes before the start of workspace" in found[0]["what"]


# ---- What profile mode counts, against a kernel that was counted by hand -------------------------

BUSY = {
    "gm_read": 400 + 400 + 4 + 32,
    "gm_written": 3 * 32 + 20,
    "workspace_read": 32,
    "workspace_written": 3 * 32,
    "vector_instructions": 3,
    "vector_repeats": 2 + 3 + 2,
    "vector_elements": 100 + 3 * 40 + 2 * 1,
    "ub": 512 + 2048,
}
IDLE = dict.fromkeys(BUSY, 0)


def test_counts_per_core():
    kernel = build("launch")
    kernel.emulation.opgen_counts_json.restype = ctypes.c_char_p
    x, y = np.ones(256, np.float32), np.zeros(256, np.float32)
    for _ in range(2):  # a launch starts from nothing
        kernel.launch("counted", [x, y], blocks=2, workspace=4096, mode="profile")
        counts = json.loads(kernel.emulation.opgen_counts_json())
        assert {c.pop("ub_capacity") for c in counts} == {192 * 1024}
        assert counts == [BUSY, IDLE]
    assert y[:6].tolist() == [6, 3, 3, 3, 3, 0]


# ---- A queue without a free buffer: the error names who holds them, and where --------------------

HOLDERS = {
    0: "'xLocal', which line {allocated} allocated, is neither enqueued nor freed (2 times)",
    1: "'xLocal', which line {enqueued} enqueued, is not dequeued (2 times)",
    2: "'tile', which line {dequeued} dequeued, is not freed (2 times)",
}


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize("form", HOLDERS)
def test_who_holds_the_buffers(form, mode):
    rows = (KERNELS / "launch.cpp").read_text(encoding="utf-8").split("\n")
    lines = {
        mark: next(i for i, row in enumerate(rows, 1) if row.endswith(f"// {mark}"))
        for mark in ("allocated", "enqueued", "dequeued")
    }
    with pytest.raises(LaunchError) as error:
        build("launch").launch(
            "empty_queue", [np.zeros(64, np.float32)], tiling=struct.pack("I", form), mode=mode
        )
    said = str(error.value)
    assert f"launch.cpp:{lines['allocated']}: AllocTensor" in said
    assert (
        "all 2 buffers of the queue 'inQueueX' are in use: " + HOLDERS[form].format(**lines) in said
    )


# ---- A division by zero does not stop the scalar unit --------------------------------------------


@pytest.mark.parametrize("opt", ["-O0", "-O2"])
@pytest.mark.parametrize(
    ("dividend", "divisor", "quotient", "remainder"),
    [(7, 0, 0, 7), (7, 2, 3, 1), (0, 0, 0, 0), (100, 7, 14, 2)],
)
def test_scalar_division(opt, dividend, divisor, quotient, remainder):
    y = np.full(24, -1, np.int64)
    build("division", opt=opt).launch("division", [y], tiling=struct.pack("<2q", dividend, divisor))
    assert y.tolist() == [quotient, remainder] * 12


def test_smallest_number_by_minus_one_wraps():
    y = np.zeros(24, np.int64)
    lowest = -(2**63)
    build("division").launch("division", [y], tiling=struct.pack("<2q", lowest, -1))
    assert y[16:20].tolist() == [lowest, 0] * 2
