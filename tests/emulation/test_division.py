"""A division by zero does not stop the scalar unit."""

import struct

import numpy as np
import pytest

from .launcher import build


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
