"""What DataCopyPad puts beside the rows it copies to UB."""

import struct

import numpy as np
import pytest

from .launcher import build

ROWS, VALUE = 3, 9.0


@pytest.mark.parametrize(
    ("length", "is_pad", "left", "right", "set_value", "filled"),
    [
        # Pads of the call, in front and behind; the rest of the block gets the value too.
        (5, True, 0, 3, 0, "value"),
        (5, True, 2, 1, 0, "value"),
        (5, True, 1, 0, 0, "value"),
        (5, True, 0, 1, 0, "value"),
        # Without pads the rest repeats the row's first element, whatever isPad and SetPadValue say.
        (5, False, 0, 0, 0, "first"),
        (5, True, 0, 0, 0, "first"),
        (5, False, 0, 0, 1, "first"),
        (8, True, 0, 0, 0, "first"),
        # isPad false: the value that was last set, by SetPadValue or a call with isPad.
        (5, False, 0, 3, 1, "value"),
        (5, False, 2, 1, 2, "value"),
    ],
)
def test_rows_are_padded(length, is_pad, left, right, set_value, filled):
    x = np.arange(1, ROWS * length + 1, dtype=np.float32).reshape(ROWS, length)
    padded = -(-(left + length + right) // 8) * 8
    fill = np.full((ROWS, padded), VALUE, np.float32) if filled == "value" else x[:, :1]
    want = np.broadcast_to(fill, (ROWS, padded)).copy()
    want[:, left : left + length] = x
    z = np.zeros_like(want)
    tiling = struct.pack("6If", ROWS, length, is_pad, left, right, set_value, VALUE)
    findings = build("copy_pad").launch("pad_rows", [x, z], tiling=tiling, mode="check")
    assert not [f for f in findings if f["severity"] == "error"]
    np.testing.assert_array_equal(z, want)
