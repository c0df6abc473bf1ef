"""Kernels compile, run on many blocks, and fail with words."""

import struct

import numpy as np
import pytest

from .launcher import LaunchError, build


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
    kernel = build("workspace_edge")
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
