"""Custom ops of installed packages run their emulated AscendC kernel on npu tensors."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))
import custom_op_packages as packages

pytestmark = pytest.mark.npu


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Both vendors' packages in one install folder, found through ASCEND_CUSTOM_OPP_PATH."""
    work = tmp_path_factory.mktemp("packages")
    found = {v: packages.build(v, work, work / "opp") for v in packages.VENDORS}
    os.environ["ASCEND_CUSTOM_OPP_PATH"] = os.pathsep.join(str(p.folder) for p in found.values())
    for package in found.values():
        sys.path.insert(0, str(package.python))
    modules = {vendor: importlib.import_module(vendor) for vendor in found}
    yield found, modules
    del os.environ["ASCEND_CUSTOM_OPP_PATH"]


def acme(*arguments):
    return torch.ops.acme.acme_add_relu(*arguments)


SHAPES = [
    ((3, 5), (3, 5)),
    ((7, 1000), (1000,)),
    ((2, 1, 33), (4, 33)),
    ((0, 4), (4,)),
    ((1,), (1,)),
    ((), ()),
]


@pytest.mark.parametrize(("a", "b"), SHAPES, ids=str)
def test_kernel_runs_on_npu_tensors(npu, installed, a, b):
    module = installed[1]["acme"]
    before = module.call_count()
    x, y = torch.randn(a), torch.randn(b)
    z = acme(x.to(npu), y.to(npu))
    assert z.device == npu and torch.equal(z.cpu(), torch.relu(x + y))
    assert module.call_count() == before + 1 and module.last_backend() == "emulated"


def test_kernel_was_really_launched(npu, installed):
    from msopgen_wrap.npu import check_mode

    acme(torch.ones(3, device=npu), torch.ones(3, device=npu))
    torch.npu.synchronize()
    before = check_mode.launch_count()
    for _ in range(3):
        acme(torch.ones(3, device=npu), torch.ones(3, device=npu))
    torch.npu.synchronize()
    assert check_mode.launch_count() == before + 3


def test_two_vendors(npu, installed):
    x, y = torch.randn(4, 9), torch.randn(4, 9)
    z = torch.ops.zenith.zenith_mul_tanh(x.to(npu), y.to(npu))
    torch.testing.assert_close(z.cpu(), torch.tanh(x * y), rtol=1e-4, atol=1e-5)
    assert installed[1]["zenith"].last_backend() == "emulated"
    w = acme(z, y.to(npu))
    torch.testing.assert_close(w.cpu(), torch.relu(z.cpu() + y))


def test_views_and_autograd(npu, installed):
    x = torch.randn(6, 4, requires_grad=True)
    y = torch.randn(4, 6)
    a = x.detach().to(npu).requires_grad_()
    z = acme(a.t()[1:], y.to(npu)[1:])
    expected = torch.relu(x.t()[1:] + y[1:])
    assert torch.equal(z.detach().cpu(), expected.detach())
    (z * 2).sum().backward()
    (expected * 2).sum().backward()
    assert a.grad.device == npu and torch.equal(a.grad.cpu(), x.grad)


def test_opcheck(npu, installed):
    arguments = (torch.randn(3, 4, device=npu, requires_grad=True), torch.randn(4, device=npu))
    torch.library.opcheck(
        torch.ops.acme.acme_add_relu.default,
        arguments,
        # test_autograd_registration knows cpu, cuda and xpu only.
        test_utils=("test_schema", "test_faketensor", "test_aot_dispatch_dynamic"),
    )


def test_model_with_custom_op_trains_and_compiles(npu, installed):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(8, 8)
            self.bias = torch.nn.Parameter(torch.randn(8))

        def forward(self, x):
            return acme(self.linear(x), self.bias).sum(-1)

    torch.manual_seed(0)
    model = Model().to(npu)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    x = torch.randn(5, 8, device=npu)
    torch.testing.assert_close(compiled(x), model(x))
    losses = []
    for _ in range(4):
        loss = compiled(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_streams_order_custom_ops(npu, installed):
    a, b = torch.npu.Stream(), torch.npu.Stream()
    one = torch.ones(5000, device=npu)
    torch.npu.synchronize()
    for _ in range(10):
        with torch.npu.stream(a):
            x = one
            for _ in range(4):
                x = acme(x, one)
            event = a.record_event()
        b.wait_event(event)
        with torch.npu.stream(b):
            y = acme(x, x)
        b.synchronize()
        assert y.cpu().eq(10).all()


def test_builtin_after_custom_op_sees_its_result(npu, installed):
    one = torch.ones(100_000, device=npu)
    for _ in range(10):
        assert (acme(one, one) * 3).sum().item() == 600_000


def test_errors_name_op_and_cause(npu, installed):
    x = torch.ones(4, 5, device=npu)
    with pytest.raises(RuntimeError, match=r"acme_add_relu.*do not broadcast"):
        acme(x, torch.ones(3, device=npu))
    with pytest.raises(RuntimeError, match=r"acme_add_relu.*float64"):
        acme(x.double(), x.double())
    with pytest.raises(RuntimeError, match=r"device|cpu"):
        acme(x, torch.ones(5))


def run(code: str, python: Path, **env: str) -> subprocess.CompletedProcess:
    """Run code with one torch package importable; an empty value removes the variable."""
    path = os.pathsep.join([str(python), os.environ["PYTHONPATH"]])
    full = {**os.environ, "PYTHONPATH": path, **env}
    full = {k: v for k, v in full.items() if v}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=full)


CALL = """
import msopgen_wrap.npu, torch, acme
x = torch.ones(4, 100, device='npu')
try: print(torch.ops.acme.acme_add_relu(x, x).sum().item())
except RuntimeError as error: print('ERROR', error)
torch.npu.synchronize()
"""


def test_missing_package_says_where_it_looked(installed):
    package = installed[0]["acme"]
    done = run(CALL, package.python, ASCEND_CUSTOM_OPP_PATH="")
    assert "ERROR" in done.stdout and "ASCEND_CUSTOM_OPP_PATH" in done.stdout, done.stderr
    assert "install the package" in done.stdout
    other = installed[0]["zenith"].folder
    done = run(CALL, package.python, ASCEND_CUSTOM_OPP_PATH=str(other))
    assert "has no aclnnAcmeAddRelu" in done.stdout and str(other) in done.stdout, done.stderr


def test_check_mode_covers_custom_ops(installed):
    package = installed[0]["acme"]
    done = run(CALL, package.python, OPGEN_EMULATION="check",
               ASCEND_CUSTOM_OPP_PATH=str(package.folder))  # fmt: skip
    assert "800.0" in done.stdout, done.stderr
    assert "opgen: sanitizer clean, 1 kernel launches" in done.stderr, done.stderr


def run_program(package, code, **env):
    """Run Python code with the package alone, in a process of its own."""
    env = {**os.environ, "ASCEND_CUSTOM_OPP_PATH": str(package.folder), **env}
    env["PYTHONPATH"] = os.pathsep.join([str(package.python), env["PYTHONPATH"]])
    command = [sys.executable, "-m", "msopgen_wrap.cli", "exec", "--", "python", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=300)


def test_out_of_memory_is_torchs_own_error(installed):
    code = (
        "import torch, acme\n"
        "x = torch.ones(25 << 20, dtype=torch.float32, device='npu')\n"
        "kept = torch.ones(25 << 20, dtype=torch.float32, device='npu')\n"
        "def error(make):\n"
        "    try: make()\n"
        "    except torch.OutOfMemoryError as e: return str(e)\n"
        "said = error(lambda: torch.ops.acme.acme_add_relu(x, x))\n"
        "assert said == error(lambda: torch.empty_like(x)), said\n"
        "assert 'NPU out of memory. Tried to allocate 10' in said, said\n"
        "del kept; torch.npu.empty_cache()\n"
        "print('recovered', torch.ops.acme.acme_add_relu(x, x).max().item())\n"
    )
    done = run_program(installed[0]["acme"], code, OPGEN_NPU_MEMORY="256M")
    assert done.stdout.endswith("recovered 2.0\n"), done.stdout + done.stderr


@pytest.mark.parametrize("device", ["npu", "cpu"])
def test_a_kernel_that_does_not_end_is_an_error(tmp_path_factory, device):
    work = tmp_path_factory.getbasetemp() / "waiter"
    if not work.exists():
        work.mkdir()
        packages.build_waiter(work, work / "opp")
    package = packages.Package(
        "waiter", work / "opp" / "vendors" / "waiter", work / "waiter_project" / "torch_ext"
    )
    code = (
        "import torch, waiter\n"
        f"x = torch.ones(40, device='{device}')\n"
        "print(torch.ops.waiter.waiter_double(x).sum().item())\n"
        "x[0] = 200\n"
        "try: print('done', torch.ops.waiter.waiter_double(x).cpu())\n"
        "except RuntimeError as e: print('error', e)\n"
    )
    done = run_program(package, code, OPGEN_TIMEOUT="1")
    assert done.stdout.startswith("80.0\nerror "), done.stdout + done.stderr
    assert "kernel failed: waiter_double: it did not end within 1 s: AIV 0 is at" in done.stdout
    assert "opgen test of its project names the line" in done.stdout
