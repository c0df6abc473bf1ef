"""Tensors that a formula makes of no other one have the precision of the golden reference."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from msopgen_wrap.run.golden import KeepDouble
from msopgen_wrap.torch_import import torch

FLOATS: dict[str, Callable[[], torch.Tensor]] = {
    "zeros": lambda: torch.zeros(3),
    "full": lambda: torch.full((2,), 0.1),
    "linspace": lambda: torch.linspace(0, 1, 7),
    "arange": lambda: torch.arange(0, 1, 0.1),
    "eye": lambda: torch.eye(3, device="cpu"),
    "asked for": lambda: torch.ones(3, dtype=torch.float32),
}


@pytest.mark.parametrize("name", FLOATS)
def test_made_floats_are_double(name: str) -> None:
    with KeepDouble():
        made = FLOATS[name]()
    assert made.dtype == torch.float64
    if name == "full":
        assert float(made[0]) == 0.1


def test_made_integers_stay_integers() -> None:
    with KeepDouble():
        assert torch.arange(5).dtype == torch.int64
        assert torch.full((2,), 3).dtype == torch.int64
        assert torch.zeros(3, dtype=torch.bool).dtype == torch.bool


def test_sums_of_groups_begin_with_zeros_of_the_default_dtype() -> None:
    """``index_add`` takes two tensors of one dtype: the golden one's is that of its inputs."""
    with KeepDouble():
        sums = torch.zeros(2).index_add(0, torch.tensor([0, 1, 0]), torch.ones(3).double())
    assert torch.equal(sums, torch.tensor([2.0, 1.0]).double())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_rms_norm_has_the_epsilon_of_float32(dtype: torch.dtype) -> None:
    """PyTorch's default follows from the dtype; that of float64 is no number of a kernel."""
    x = torch.full((4,), 1e-4, dtype=dtype)
    with KeepDouble():
        golden = torch.nn.functional.rms_norm(x.double(), [4])
    native = torch.nn.functional.rms_norm(x, [4]).double()
    torch.testing.assert_close(golden, native, rtol=torch.finfo(dtype).eps, atol=0)
    with KeepDouble(epsilon=False):
        own = torch.nn.functional.rms_norm(x.double(), [4])
    assert float(own[0]) > 0.99


def test_a_resized_signal_has_positions_in_float32() -> None:
    """Those of float64 differ from PyTorch's own for float32 where an axis is long."""
    x = torch.randn(1, 2, 100003, generator=torch.Generator().manual_seed(0))
    interpolate = torch.nn.functional.interpolate
    with KeepDouble():
        golden = interpolate(x.double(), size=3, mode="linear")
    single = interpolate(x, size=3, mode="linear").double()
    torch.testing.assert_close(golden, single, rtol=1e-5, atol=1e-6)
    assert not torch.allclose(golden, interpolate(x.double(), size=3, mode="linear"), rtol=1e-5)
