"""Collective communication: one rank receives what it sends, and every core can wait for it."""

import numpy as np
import pytest

from .launcher import LaunchError, build


@pytest.fixture(scope="module")
def kernel():
    return build("hccl")


def _run(kernel, key, mode):
    x = np.arange(32, dtype=np.int32)
    y, z = np.zeros_like(x), np.zeros_like(x)
    options = {"key": key, "blocks": 3, "workspace": 4096, "outputs": 2, "threads": 1}
    found = kernel.launch("hccl", [x, y, z], mode=mode, **options)
    return x, y, z, found


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize("key", [1, 2, 3, 4, 5])
def test_every_task_copies(kernel, key, mode):
    x, y, z, found = _run(kernel, key, mode)
    assert y.tolist() == x.tolist() and z.tolist() == x.tolist()
    assert found == []


@pytest.mark.parametrize(
    ("key", "text"),
    [(6, "GetWindowsInAddr.*needs the memory of other ranks"), (7, "Hccl::Wait")],
)
def test_what_cannot_end_well_is_said(kernel, key, text):
    with pytest.raises(LaunchError, match=f"(?s){text}"):
        _run(kernel, key, "fast")
