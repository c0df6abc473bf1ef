"""A queue without a free buffer: the error names who holds them, and where."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from .launcher import KERNELS, LaunchError, build

HOLDERS = {
    0: "'xLocal', which line {allocated} allocated, is neither enqueued nor freed (2 times)",
    1: "'xLocal', which line {enqueued} enqueued, is not dequeued (2 times)",
    2: "'tile', which line {dequeued} dequeued, is not freed (2 times)",
}


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize("form", HOLDERS)
def test_who_holds_the_buffers(form, mode):
    rows = (KERNELS / "empty_queue.cpp").read_text(encoding="utf-8").split("\n")
    lines = {
        mark: next(i for i, row in enumerate(rows, 1) if row.endswith(f"// {mark}"))
        for mark in ("allocated", "enqueued", "dequeued")
    }
    with pytest.raises(LaunchError) as error:
        build("empty_queue").launch(
            "empty_queue", [np.zeros(64, np.float32)], tiling=struct.pack("I", form), mode=mode
        )
    said = str(error.value)
    assert f"empty_queue.cpp:{lines['allocated']}: AllocTensor" in said
    assert (
        "all 2 buffers of the queue 'inQueueX' are in use: " + HOLDERS[form].format(**lines) in said
    )
