"""Streams, events, threads and the caching allocator under load."""

from __future__ import annotations

import threading

import pytest
import torch

pytestmark = pytest.mark.npu


def test_event_orders_streams(npu):
    a, b = torch.npu.Stream(), torch.npu.Stream()
    assert a != b
    for step in range(20):
        with torch.npu.stream(a):
            x = torch.full((1000,), float(step), device=npu)
            for _ in range(5):
                x = x + 1
            done = a.record_event()
        b.wait_event(done)
        with torch.npu.stream(b):
            y = x * 2
        b.synchronize()
        assert y.cpu().eq(2 * (step + 5)).all()


def test_wait_stream_and_query(npu):
    side = torch.npu.Stream(priority=-1)
    x = torch.ones(10, device=npu)
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        assert torch.npu.current_stream() == side
        y = x + 1
    torch.npu.current_stream().wait_stream(side)
    y.record_stream(torch.npu.current_stream())
    assert (y * 2).tolist() == [4.0] * 10
    assert side.query() and torch.npu.current_stream() == torch.npu.default_stream()


def test_memory_survives_until_recorded_streams_finish(npu):
    side = torch.npu.Stream()
    for _ in range(50):
        x = torch.randn(4096, device=npu)
        expected = x.cpu()
        with torch.npu.stream(side):
            y = x * 1
            x.record_stream(side)
        del x
        torch.empty(4096, device=npu).fill_(-1)
        side.synchronize()
        assert torch.equal(y.cpu(), expected)


def test_eight_threads(npu):
    errors = []

    def work(number):
        try:
            torch.npu.set_device(0)
            stream = torch.npu.Stream()
            with torch.npu.stream(stream):
                torch.manual_seed(number)
                x = torch.full((64, 64), float(number), device=npu, requires_grad=True)
                for _ in range(30):
                    y = (x @ x / 64).relu().sum()
                    (grad,) = torch.autograd.grad(y, x)
                    if not torch.allclose(grad.cpu(), torch.full((64, 64), 2.0 * number)):
                        raise AssertionError(f"thread {number} got {grad[0, 0].item()}")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors


def test_allocator_stress(npu):
    torch.manual_seed(0)
    kept: dict[int, tuple[torch.Tensor, float]] = {}
    for step in range(600):
        size = int(2 ** (torch.rand(()).item() * 18)) + 1
        kept[step] = (torch.full((size,), float(step), device=npu), float(step))
        if len(kept) > 40:
            oldest = min(kept)
            tensor, value = kept.pop(oldest)
            assert tensor[0].item() == value and tensor[-1].item() == value
        if step % 150 == 0:
            torch.npu.empty_cache()
    for tensor, value in kept.values():
        assert tensor.eq(value).all().item()


def test_expandable_segments_setting(npu, tmp_path):
    import os
    import subprocess
    import sys

    code = (
        "import msopgen_wrap.npu, torch\n"
        "xs = [torch.full((1 << 20,), float(i), device='npu') for i in range(8)]\n"
        "del xs[::2]; torch.npu.empty_cache()\n"
        "y = torch.ones(6 << 20, device='npu')\n"
        "assert all(x.eq(2 * i + 1).all() for i, x in enumerate(xs)) and y.sum() == 6 << 20\n"
        "print('expanded')"
    )
    env = dict(os.environ, PYTORCH_NPU_ALLOC_CONF="expandable_segments:True")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.returncode == 0 and "expanded" in done.stdout, done.stderr
