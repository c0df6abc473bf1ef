"""Activation, child processes, exit, and the one-rank process group."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

pytestmark = pytest.mark.npu

CODE = "import torch; print('sum', (torch.ones(3).npu() + 1).sum().item())"


def run(*command: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    """Run a command with this process's environment (and the emulation chosen)."""
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **(env or {})}, timeout=300
    )


def opgen_exec(*command: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    """Run ``opgen exec -- command``."""
    return run(sys.executable, "-m", "msopgen_wrap.cli", "exec", *command, env=env)


def test_exec_needs_no_change_of_the_program():
    done = opgen_exec("--", sys.executable, "-c", CODE)
    assert done.returncode == 0 and done.stdout == "sum 6.0\n", done.stdout + done.stderr
    assert run(sys.executable, "-c", CODE).returncode != 0, "without opgen exec there is no device"


def test_exec_passes_settings_and_exit_codes():
    code = "import torch, sys; print(torch.npu.device_count()); sys.exit(7)"
    done = opgen_exec("--devices", "2", "--", sys.executable, "-c", code)
    assert done.returncode == 7 and "2" in done.stdout.split(), done.stderr


def test_exec_names_what_it_cannot_start():
    done = opgen_exec("--", "no-such-program")
    assert done.returncode not in (0, 70) and "OPG707" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_exec_keeps_the_users_sitecustomize(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import os; os.environ['SEEN'] = 'yes'\n")
    done = opgen_exec(
        "--", sys.executable, "-c", "import os; print(os.environ['SEEN'])",
        env={"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])},
    )  # fmt: skip
    assert "yes" in done.stdout, done.stderr


@pytest.mark.parametrize("order", ["torch", "torch_npu", "both"])
def test_import_orders(order):
    imports = {"torch": "import torch", "torch_npu": "import torch_npu, torch",
               "both": "import torch\nimport torch_npu"}[order]  # fmt: skip
    code = f"import msopgen_wrap.npu\n{imports}\nprint('sum', torch.ones(3).npu().sum().item())"
    done = run(sys.executable, "-c", code)
    assert done.returncode == 0 and "sum 3.0" in done.stdout, done.stderr


def test_late_activation_says_so(tmp_path):
    (tmp_path / "torch_npu.py").write_text("")  # some torch_npu is there already
    code = "import torch_npu\nimport msopgen_wrap.npu"
    path = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
    done = run(sys.executable, "-c", code, env={"PYTHONPATH": path})
    assert done.returncode != 0 and "OPG704" in done.stderr


def test_real_runtime_is_never_shadowed(tmp_path):
    library = tmp_path / "lib64" / "libascendcl.so"
    library.parent.mkdir()
    source = tmp_path / "real.c"
    source.write_text("int aclInit(const char *p) { return 0; }\n")
    subprocess.run(["gcc", "-shared", "-o", str(library), str(source)], check=True)
    code = "from msopgen_wrap.npu.selection import choose; c = choose(); print(c.kind, c.library)"
    env = {"ASCEND_HOME_PATH": str(tmp_path), "OPGEN_NPU": "auto"}
    done = run(sys.executable, "-c", code, env=env)
    assert done.stdout.split() == ["real", str(library)], done.stderr
    done = run(sys.executable, "-c", code, env={**env, "OPGEN_NPU": "emulation"})
    assert done.stdout.split()[0] == "emulation"
    done = run(sys.executable, "-c", code, env={"OPGEN_NPU": "maybe"})
    assert "OPG705" in done.stderr


def test_spawned_processes():
    script = Path(__file__).with_name("spawn_program.py")
    done = run(sys.executable, str(script))
    assert done.returncode == 0 and "spawned [0.0, 8.0]" in done.stdout, done.stderr
    done = opgen_exec("--", sys.executable, str(script), "plain")
    assert done.returncode == 0 and "spawned [0.0, 8.0]" in done.stdout, done.stderr


def test_a_forked_data_loader_worker_cannot_use_the_npu():
    """torch_npu's own error, and no hang."""
    script = Path(__file__).with_name("loader_program.py")
    done = opgen_exec("--", sys.executable, str(script), "fork")
    assert "error RuntimeError: Cannot re-initialize NPU in forked subprocess" in done.stdout, (
        done.stdout + done.stderr
    )


def test_a_spawned_data_loader_worker_shares_its_tensors():
    script = Path(__file__).with_name("loader_program.py")
    done = opgen_exec("--", sys.executable, str(script), "spawn")
    assert "loaded [('npu', 6.0), ('npu', 30.0)]" in done.stdout, done.stdout + done.stderr
    assert "shared 0 [1.0, 1.0, 1.0, 1.0, 1.0]" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("queue", ["0", "1", "2"])
def test_clean_exit(queue):
    code = (
        "import msopgen_wrap.npu, torch\n"
        "model = torch.nn.Linear(8, 8).npu()\n"
        "stream = torch.npu.Stream(); event = torch.npu.Event()\n"
        "pinned = torch.ones(9).pin_memory()\n"
        "with torch.npu.stream(stream):\n"
        "    y = model(torch.randn(2, 8, device='npu')).sum(); y.backward(); event.record()\n"
        "keep = [y, model, stream, event, pinned]\n"
        "print('end')"
    )
    done = run(sys.executable, "-c", code, env={"TASK_QUEUE_ENABLE": queue})
    assert done.returncode == 0 and "end" in done.stdout, done.stderr
    assert "Error" not in done.stderr and "rror" not in done.stdout, done.stderr


def test_process_group_of_one(npu):
    import torch.distributed as dist

    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29631")
    dist.init_process_group("hccl", rank=0, world_size=1)
    try:
        x = torch.arange(5.0, device=npu)
        dist.all_reduce(x)
        assert x.tolist() == list(range(5))
        out = [torch.zeros(5, device=npu)]
        dist.all_gather(out, x)
        assert out[0].tolist() == x.tolist()
        dist.broadcast(x, 0)
        dist.barrier()
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(5, 2).to(npu))
        model(x).sum().backward()
        assert model.module.weight.grad is not None
    finally:
        dist.destroy_process_group()
