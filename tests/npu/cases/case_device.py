"""The device API: availability, properties, memory, streams and events as torch users call them."""

from __future__ import annotations

import re

import pytest
import torch

pytestmark = pytest.mark.npu

TABLE = [
    ("is_available", lambda: torch.npu.is_available(), True),
    ("device_count", lambda: torch.npu.device_count(), 1),
    ("current_device", lambda: torch.npu.current_device(), 0),
    ("name", lambda: torch.npu.get_device_name(0), "Ascend910B3"),
    ("properties", lambda: torch.npu.get_device_properties(0).name, "Ascend910B3"),
    ("memory", lambda: torch.npu.get_device_properties(0).total_memory, 64 << 30),
    ("cores", lambda: torch.npu.get_device_properties(0).vector_core_num, 40),
    ("accelerator", lambda: torch.accelerator.current_accelerator().type, "npu"),
    ("accelerator_available", lambda: torch.accelerator.is_available(), True),
    ("default_stream", lambda: torch.npu.current_stream() == torch.npu.default_stream(), True),
    ("synchronize", lambda: torch.npu.synchronize(), None),
    ("stream_query", lambda: torch.npu.Stream().query(), True),
    ("initialized", lambda: torch.npu.is_initialized(), True),
    ("bf16", lambda: torch.npu.is_bf16_supported(), True),
    ("device_type", lambda: torch.zeros(1).npu().device.type, "npu"),
    ("is_npu", lambda: torch.zeros(1).npu().is_npu, True),
    ("new_tensor", lambda: torch.zeros(1).npu().new_ones(2).device.type, "npu"),
]


@pytest.mark.parametrize(("name", "call", "expected"), TABLE, ids=[row[0] for row in TABLE])
def test_device_api(npu, name, call, expected):
    torch.npu.init()
    assert call() == expected


def test_set_device_refuses_missing_device(npu):
    with pytest.raises((RuntimeError, AssertionError), match=r"device|Invalid"):
        torch.npu.set_device(7)


def test_mem_get_info_follows_allocations(npu):
    torch.npu.empty_cache()
    free, total = torch.npu.mem_get_info()
    x = torch.empty(64 << 20, dtype=torch.uint8, device=npu)
    less, again = torch.npu.mem_get_info()
    assert total == again and free - less >= x.numel()
    del x
    torch.npu.empty_cache()
    assert torch.npu.mem_get_info()[0] == free


def test_memory_stats(npu):
    torch.npu.empty_cache()
    torch.npu.reset_peak_memory_stats()
    before = torch.npu.memory_allocated()
    x = torch.empty(1 << 20, dtype=torch.uint8, device=npu)
    assert torch.npu.memory_allocated() - before >= x.numel()
    assert torch.npu.max_memory_allocated() >= torch.npu.memory_allocated()
    del x
    assert torch.npu.memory_allocated() == before
    assert torch.npu.memory_reserved() >= before
    assert "NPU" in torch.npu.memory_summary() or "memory" in torch.npu.memory_summary()


def test_events_measure_time(npu):
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record()
    x = torch.randn(256, 256, device=npu)
    for _ in range(5):
        x = x @ x * 1e-3
    end.record()
    end.synchronize()
    assert 0 < start.elapsed_time(end) < 60_000
    assert end.query()


def test_print_shows_device(npu):
    text = repr(torch.arange(3, device=npu))
    assert re.fullmatch(r"tensor\(\[0, 1, 2\], device='npu:0'\)", text)
