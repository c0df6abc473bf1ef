"""Errors: out of memory, mixed devices, operators that are not emulated, misuse of the runtime."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

pytestmark = pytest.mark.npu


def run(code: str, **env: str) -> subprocess.CompletedProcess:
    """Run Python code in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **env}
    )


def test_out_of_memory():
    code = (
        "import msopgen_wrap.npu, torch\n"
        "torch.npu.set_device(0)\n"  # torch_npu sets none before the first allocation
        "assert torch.npu.mem_get_info()[1] == 256 << 20\n"
        "kept = torch.empty(100 << 20, dtype=torch.uint8, device='npu')\n"
        "try: torch.empty(200 << 20, dtype=torch.uint8, device='npu')\n"
        "except torch.OutOfMemoryError as e: print('OOM', e)\n"
        "del kept; torch.npu.empty_cache()\n"
        "torch.empty(200 << 20, dtype=torch.uint8, device='npu'); print('recovered')"
    )
    done = run(code, OPGEN_NPU_MEMORY="256M")
    assert done.returncode == 0, done.stderr
    assert "OOM NPU out of memory. Tried to allocate 20" in done.stdout, done.stdout
    assert "256.00 MiB total" in done.stdout and "recovered" in done.stdout


@pytest.mark.parametrize(
    ("variable", "value", "check"),
    [
        ("OPGEN_NPU_DEVICES", "3", "torch.npu.device_count() == 3"),
        ("OPGEN_SOC", "ascend910b2", "torch.npu.get_device_name() == 'Ascend910B2'"),
        ("OPGEN_NPU_MEMORY", "1.5G", "torch.npu.mem_get_info()[1] == 3 << 29"),
    ],
)
def test_settings(variable, value, check):
    code = f"import msopgen_wrap.npu, torch; torch.npu.set_device(0); print('held', {check})"
    done = run(code, **{variable: value})
    assert "held True" in done.stdout, done.stdout + done.stderr


def test_unknown_soc_is_named():
    done = run("import msopgen_wrap.npu, torch_npu", OPGEN_SOC="ascend911b")
    assert done.returncode != 0 and "OPG501" in done.stderr and "ascend911b" in done.stderr


def test_several_devices():
    code = (
        "import msopgen_wrap.npu, torch\n"
        "x = torch.arange(4., device='npu:0'); y = x.to('npu:1')\n"
        "assert y.device.index == 1 and (y * 2).device.index == 1 and y.tolist() == x.tolist()\n"
        "torch.npu.set_device(1); z = torch.ones(4, device='npu'); assert z.device.index == 1\n"
        "try: x + z\n"
        "except RuntimeError as e: print(e)\n"
        "z.copy_(x); assert z.tolist() == x.tolist(); print('two devices')"
    )
    done = run(code, OPGEN_NPU_DEVICES="2")
    assert done.returncode == 0, done.stderr
    assert "same device" in done.stdout and "two devices" in done.stdout


MIXED = {
    "add": lambda x, c: x + c,
    "matmul": lambda x, c: x @ c,
    "cat": lambda x, c: torch.cat([x, c]),
    "where": lambda x, c: torch.where(x > 0, x, c),
    "out": lambda x, c: torch.add(x, 1, out=c),
    "in place": lambda x, c: c.add_(x),
    "linear": lambda x, c: torch.nn.functional.linear(x, c),
}


@pytest.mark.parametrize("name", MIXED)
def test_mixed_devices_are_refused(npu, name):
    with pytest.raises(RuntimeError, match="same device"):
        MIXED[name](torch.ones(3, 3, device=npu), torch.ones(3, 3))


def test_cpu_scalars_and_indices_are_welcome(npu):
    x = torch.arange(5.0, device=npu)
    assert (x + torch.tensor(2.0)).tolist() == [2, 3, 4, 5, 6]
    assert x[torch.tensor([0, 3])].tolist() == [0, 3]
    assert torch.where(x > 2, x, torch.tensor(0.0)).tolist() == [0, 0, 0, 3, 4]


def test_kernel_errors_keep_their_text(npu):
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        torch.ones(2, 3, device=npu) @ torch.ones(2, 3, device=npu)
    with pytest.raises(IndexError, match=r"out of range|out of bounds"):
        torch.ones(3, device=npu)[torch.tensor([5], device=npu)]
    assert torch.ones(2, device=npu).sum().item() == 2.0  # the device is still alive


def test_operator_that_is_not_emulated_names_itself(npu):
    import torch_npu

    x = torch.ones(4, device=npu)
    with pytest.raises(NotImplementedError, match="npu::npu_nms_v4 is not emulated"):
        torch_npu.npu_nms_v4(x, x, 1, x, x)
    with pytest.raises(NotImplementedError, match=r"npu_quant_matmul.*scale"):
        a = torch.ones(2, 2, dtype=torch.int8, device=npu)
        torch_npu.npu_quant_matmul(a, a, torch.ones(2, dtype=torch.int64, device=npu))


def test_graph_capture_is_refused(npu):
    with (
        pytest.raises(RuntimeError, match=r"aclmdlRI|[Gg]raph|aclrtSetStreamAttribute"),
        torch.npu.graph(torch.npu.NPUGraph()),
    ):
        torch.ones(2, device=npu) + 1


def acl() -> ctypes.CDLL:
    """The loaded emulated libascendcl."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        if line.rstrip().endswith("libascendcl.so"):
            library = ctypes.CDLL(line.split()[-1])
            library.aclGetRecentErrMsg.restype = ctypes.c_char_p
            return library
    raise AssertionError("libascendcl.so is not loaded")


def test_runtime_misuse_is_named(npu):
    x = torch.ones(4, device=npu)
    library = acl()
    bogus = ctypes.c_void_p(0x10)
    size = ctypes.c_size_t(64)
    pointer = ctypes.c_void_p(x.data_ptr())
    # 1: host to device; the target is no device memory
    assert library.aclrtMemcpy(bogus, size, pointer, size, 1) == 107000
    assert b"not inside any live device allocation" in library.aclGetRecentErrMsg()
    assert library.aclrtFree(bogus) == 100000
    assert b"not the start of a live device allocation" in library.aclGetRecentErrMsg()
    assert library.aclrtSynchronizeStream(bogus) == 107017
    assert b"not a live stream" in library.aclGetRecentErrMsg()
    huge = ctypes.c_size_t(1 << 40)
    assert library.aclrtMemcpy(pointer, huge, pointer, huge, 3) == 107000
    assert b"overrun" in library.aclGetRecentErrMsg()
    assert library.rtKernelLaunch() == 207000
    assert b"rtKernelLaunch is not emulated" in library.aclGetRecentErrMsg()
