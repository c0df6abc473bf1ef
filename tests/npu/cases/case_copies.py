"""Copies in all directions and layouts, compared with the CPU."""

from __future__ import annotations

import pytest
import torch

pytestmark = pytest.mark.npu

DTYPES = [
    torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16,
    torch.int32, torch.int64, torch.bool, torch.complex64,
]  # fmt: skip

LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.t(),
    "slice": lambda x: x[1:, ::2],
    "column": lambda x: x[:, 1],
    "expanded": lambda x: x[:1].expand(5, -1),
    "flipped": lambda x: x.flip(0),
    "empty": lambda x: x[:0],
    "scalar": lambda x: x[0, 0],
    "offset": lambda x: x.view(-1)[3:],
    "permuted": lambda x: x.view(2, 2, -1).permute(2, 0, 1),
}


def sample(dtype: torch.dtype) -> torch.Tensor:
    torch.manual_seed(0)
    return (torch.randn(4, 6) * 20).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_round_trip(npu, dtype, layout):
    x = LAYOUTS[layout](sample(dtype))
    y = x.to(npu)
    assert y.device == npu and y.dtype == dtype
    assert torch.equal(y.cpu(), x)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("source", ["cpu", "npu:0"])
@pytest.mark.parametrize("target", ["cpu", "npu:0"])
def test_copy_into_view(npu, layout, source, target):
    if layout == "expanded":
        pytest.skip("an expanded tensor cannot be written")
    values = LAYOUTS[layout](sample(torch.float32)).clone()
    expected_base = torch.zeros(4, 6)
    expected_view = LAYOUTS[layout](expected_base)
    base = torch.zeros(4, 6, device=target)
    view = LAYOUTS[layout](base)
    view.copy_(values.to(source))
    expected_view.copy_(values)
    assert torch.equal(base.cpu(), expected_base)
    assert torch.equal(view.cpu(), expected_view)


@pytest.mark.parametrize("to", DTYPES, ids=str)
@pytest.mark.parametrize("of", [torch.float32, torch.int64, torch.bool], ids=str)
def test_converting_copy(npu, of, to):
    x = sample(torch.float32).clamp(0, 100).to(of)
    assert torch.equal(x.to(npu).to(to).cpu(), x.to(to))
    assert torch.equal(x.to(npu, to).cpu(), x.to(to))
    out = torch.empty(4, 6, dtype=to, device=npu)
    out.copy_(x)  # host to device with a conversion on the way
    assert torch.equal(out.cpu(), x.to(to))


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("non_blocking", [False, True])
def test_non_blocking(npu, pinned, non_blocking):
    x = torch.randn(1000)
    if pinned:
        x = x.pin_memory()
        assert x.is_pinned()
    y = x.to(npu, non_blocking=non_blocking)
    back = torch.empty(1000, pin_memory=pinned)
    back.copy_(y * 2, non_blocking=non_blocking)
    torch.npu.synchronize()
    assert torch.equal(back, x * 2)


def test_views_share_memory(npu):
    x = torch.zeros(4, 6, device=npu)
    x.t()[2].fill_(3)
    x.view(-1)[5] = 7
    x[1:3].mul_(2).add_(1)
    expected = torch.zeros(4, 6)
    expected.t()[2].fill_(3)
    expected.view(-1)[5] = 7
    expected[1:3].mul_(2).add_(1)
    assert torch.equal(x.cpu(), expected)
    assert x.t().data_ptr() == x.data_ptr()


def test_overlapping_arguments(npu):
    x = torch.arange(6.0, device=npu)
    x[1:].copy_(x[:-1].clone())
    assert x.tolist() == [0, 0, 1, 2, 3, 4]
    with pytest.raises(RuntimeError, match=r"overlap|memory location"):
        x[1:].add_(x[:-1])


def test_numpy_and_item(npu):
    x = torch.tensor([1.5, 2.5], device=npu)
    assert x.cpu().numpy().tolist() == [1.5, 2.5]
    assert x[1].item() == 2.5
    assert x.tolist() == [1.5, 2.5]
    with pytest.raises((TypeError, RuntimeError), match=r"npu|CPU|cpu"):
        x.numpy()


def test_resizing_outputs(npu):
    a, b = torch.randn(3, 4), torch.randn(4, 5)
    for out in (torch.empty(0, device=npu), torch.empty(3, 5, device=npu)):
        torch.matmul(a.to(npu), b.to(npu), out=out)
        assert torch.allclose(out.cpu(), a @ b)
    values, indices = torch.empty(0, device=npu), torch.empty(0, dtype=torch.long, device=npu)
    torch.sort(a.to(npu), out=(values, indices))
    assert torch.equal(values.cpu(), a.sort().values) and indices.device == npu
