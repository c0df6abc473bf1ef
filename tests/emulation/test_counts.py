"""What profile mode counts, against a kernel that was counted by hand."""

from __future__ import annotations

import ctypes
import json

import numpy as np

from .launcher import build

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
    kernel = build("counted")
    kernel.emulation.opgen_counts_json.restype = ctypes.c_char_p
    x, y = np.ones(256, np.float32), np.zeros(256, np.float32)
    for _ in range(2):  # a launch starts from nothing
        kernel.launch("counted", [x, y], blocks=2, workspace=4096, mode="profile")
        counts = json.loads(kernel.emulation.opgen_counts_json())
        assert {c.pop("ub_capacity") for c in counts} == {192 * 1024}
        assert counts == [BUSY, IDLE]
    assert y[:6].tolist() == [6, 3, 3, 3, 3, 0]
