"""torch with a device backend that fails to load, as torch_npu does where no CANN runtime is."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import msopgen_wrap

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(msopgen_wrap.__file__).parent
DOOR = PACKAGE / "torch_import.py"
SPEC = "op: Demo\ninputs:\n  x: float32\noutputs:\n  y: like x\ncompute: x + 1\n"


def _torch_imports(tree: ast.AST) -> Iterator[ast.stmt]:
    """Imports of torch that run; those under ``if TYPE_CHECKING`` do not."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            if any(alias.name.split(".")[0] == "torch" for alias in node.names):
                yield node
        elif isinstance(node, ast.ImportFrom):
            if not node.level and (node.module or "").split(".")[0] == "torch":
                yield node
        else:
            yield from _torch_imports(node)


def _door(tree: ast.Module) -> float:
    """The line of the module's top that takes torch from the door: torch is loaded below it."""
    return min(
        (
            node.lineno
            for node in tree.body
            if isinstance(node, ast.ImportFrom)
            and node.module == "msopgen_wrap.torch_import"
            and any(alias.name == "torch" for alias in node.names)
        ),
        default=float("inf"),
    )


def test_the_kit_imports_torch_through_one_door() -> None:
    # npu runs inside programs that want torch_npu; the plugin's fixture is for their tests.
    others = [DOOR, PACKAGE / "pytest_npu.py", *(PACKAGE / "npu").rglob("*.py")]
    wrong = []
    for path in sorted(set(PACKAGE.rglob("*.py")) - set(others)):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in _torch_imports(tree):
            if not isinstance(node, ast.ImportFrom) or node.lineno < _door(tree):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}")
    assert wrong == [], "take torch from msopgen_wrap.torch_import"


@pytest.fixture
def broken_backend(tmp_path: Path) -> dict[str, str]:
    """An environment whose torch has a backend that cannot be loaded: a torch_npu without CANN."""
    site = tmp_path / "site"
    (site / "torch_npu").mkdir(parents=True)
    (site / "torch_npu" / "__init__.py").write_text(
        "raise ImportError('libascendcl.so: cannot open shared object file')\n"
    )
    info = site / "torch_npu-0.0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch_npu\nVersion: 0.0.0\n")
    (info / "entry_points.txt").write_text("[torch.backends]\ntorch_npu = torch_npu:_autoload\n")
    # The kit's plugin is named on the command line: it is the one installed only in some setups.
    drop = ("TORCH_DEVICE_BACKEND", "PYTEST_", "ASCEND_", "LD_LIBRARY_PATH")
    env = {k: v for k, v in os.environ.items() if not k.startswith(drop)}
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    return {**env, "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])}


def _python(env: dict[str, str], cwd: Path, *args: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, args)],
        capture_output=True,
        text=True,
        env=env,
        cwd=cwd,
        timeout=600,
    )


def test_the_fixture_breaks_a_plain_import(broken_backend: dict[str, str], tmp_path: Path) -> None:
    done = _python(broken_backend, tmp_path, "-c", "import torch")
    assert done.returncode != 0 and "torch_npu" in done.stderr


COMMANDS = [
    ["check", "--deep", "demo.yaml"],
    ["plan", "demo.yaml", "--shape", "x=4,1024"],
    ["new", "demo.yaml", "-o", "project"],
    ["list"],
]


@pytest.mark.parametrize("args", COMMANDS, ids=[c[0] for c in COMMANDS])
def test_commands_work_beside_it(
    broken_backend: dict[str, str], tmp_path: Path, args: list[str]
) -> None:
    (tmp_path / "demo.yaml").write_text(SPEC)
    done = _python(broken_backend, tmp_path, "-m", "msopgen_wrap.cli", *args)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "OPG099" not in done.stderr


def test_pytest_works_beside_it(broken_backend: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("import torch\n")
    (tmp_path / "test_it.py").write_text("import torch\n\ndef test_it():\n    torch.ones(1)\n")
    plugin = ["-p", "msopgen_wrap.pytest_npu"]
    done = _python(broken_backend, tmp_path, "-m", "pytest", "-q", *plugin)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_child_process_sees_the_users_environment(
    broken_backend: dict[str, str], tmp_path: Path
) -> None:
    code = (
        "import os; from msopgen_wrap.torch_import import torch;"
        "print(torch.ones(2).sum().item(), 'TORCH_DEVICE_BACKEND_AUTOLOAD' in os.environ)"
    )
    assert _python(broken_backend, tmp_path, "-c", code).stdout.split() == ["2.0", "False"]


@pytest.mark.slow
def test_a_generated_project_works_beside_it(
    broken_backend: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "demo.yaml").write_text(SPEC)
    new = ["new", "demo.yaml", "-o", "project", "--vendor", "acme"]
    for args in (new, ["test", "project"], ["build", "project", "--install", "opp"]):
        done = _python(broken_backend, tmp_path, "-m", "msopgen_wrap.cli", *args)
        assert done.returncode == 0, done.stdout + done.stderr
    tests = ["-m", "pytest", "-q", "-p", "msopgen_wrap.pytest_npu", "tests", "-x"]
    done = _python(broken_backend, tmp_path / "project", *tests)
    assert done.returncode == 0, done.stdout + done.stderr
    env = dict(broken_backend, ASCEND_CUSTOM_OPP_PATH=str(tmp_path / "opp" / "vendors" / "acme"))
    code = "import acme, torch; print(acme.demo(torch.ones(3)).tolist(), acme.last_backend())"
    done = _python(env, tmp_path / "project" / "torch_ext", "-c", code)
    assert done.stdout.strip() == "[2.0, 2.0, 2.0] emulated", done.stderr
    assert "its runtime (libascendcl.so) is not found" in done.stderr
