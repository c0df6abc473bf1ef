"""Saving, loading, pickling, data loaders, moving modules."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

pytestmark = pytest.mark.npu


def round_trip(value, **options):
    """torch.save and torch.load through memory."""
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, **options)


def test_save_and_load(npu):
    x = torch.randn(3, 4, device=npu)
    loaded = round_trip({"x": x, "t": x.t()})
    assert loaded["x"].device == npu and torch.equal(loaded["x"], x)
    assert torch.equal(loaded["t"], x.t())
    on_cpu = round_trip(x, map_location="cpu")
    assert on_cpu.device.type == "cpu" and torch.equal(on_cpu, x.cpu())
    moved = round_trip(x.cpu(), map_location="npu:0")
    assert moved.device == npu and torch.equal(moved, x)


def test_pickle_and_deepcopy(npu):
    x = torch.arange(6.0, device=npu).view(2, 3)
    for twin in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert twin.device == npu and torch.equal(twin, x)
        assert twin.data_ptr() != x.data_ptr()


def test_state_dict_moves(npu):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(5, 4)).sum().backward()
    optimizer.step()
    twin = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)).to(npu)
    twin.load_state_dict(model.state_dict())
    other = torch.optim.Adam(twin.parameters())
    other.load_state_dict(optimizer.state_dict())
    assert all(p.device == npu for p in twin.parameters())
    assert all(s["exp_avg"].device == npu for s in other.state.values())
    x = torch.randn(3, 4)
    assert torch.allclose(twin.eval()(x.to(npu)).cpu(), model.eval()(x), atol=1e-6)
    assert twin.cpu()[0].weight.device.type == "cpu"
    assert twin.half().npu()[0].weight.dtype == torch.float16


def test_parameter_identity_survives_moves(npu):
    layer = torch.nn.Linear(3, 3)
    weight = layer.weight
    layer.to(npu)
    assert layer.weight is weight and weight.device == npu


@pytest.mark.parametrize("workers", [0, 2])
def test_data_loader_pins(npu, workers):
    data = TensorDataset(torch.arange(20.0).view(10, 2), torch.arange(10))
    loader = DataLoader(data, batch_size=4, num_workers=workers, pin_memory=True)
    total = 0.0
    for x, y in loader:
        assert x.is_pinned()
        total += (x.to(npu, non_blocking=True).sum() + y.to(npu, non_blocking=True).sum()).item()
    assert total == sum(range(20)) + sum(range(10))


def test_storage_moves(npu):
    x = torch.arange(4.0, device=npu)
    storage = x.untyped_storage()
    assert storage.device == npu and storage.nbytes() == 16
    assert bytes(storage.cpu()) == x.cpu().numpy().tobytes()


def test_dlpack_of_cpu_copy(npu):
    x = torch.arange(4.0, device=npu)
    assert torch.equal(torch.from_dlpack(x.cpu()), x.cpu())
