"""``check_op`` of specs and scaffolded projects: the torch op that runs the kernel."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from msopgen_wrap.cli import app
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.testing import check_op

SPEC = """
op: Gate
inputs:
  a: [float32]
  b: a
outputs:
  y: broadcast(a, b)
attrs:
  scale: 0.1
compute: scale * a * torch.sigmoid(b)
"""


def scaffold(root: Path, vendor: str, *texts: str) -> Path:
    for number, text in enumerate(texts):
        (root / f"spec{number}.yaml").write_text(text, encoding="utf-8")
    specs = sorted(map(str, root.glob("spec*.yaml")))
    assert app.run(["new", *specs, "-o", str(root / "project"), "--vendor", vendor]) == 0
    return root / "project"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scaffold(tmp_path_factory.mktemp("gate"), "gatev", SPEC)


@pytest.mark.slow
def test_a_project_passes_every_check(project: Path) -> None:
    report = check_op(project).raise_if_failed()
    assert {c.status for c in report.checks} == {"passed"}, str(report)
    own = check_op(project, shapes=[((5, 3), (3,))], attrs={"scale": 2.0}, checks="forward")
    assert own.passed and own["forward"].cases == 1


@pytest.mark.slow
def test_the_tests_of_a_project_pass(project: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout[-3000:]
    assert len(re.findall(r"PASSED \S+test_torch_op\[\w+\]", done.stdout)) == 2, done.stdout


MISTAKES = {
    "a constant of the kernel": ("op_kernel/gate.cpp", "b, 1.0f", "b, 1.5f", "forward"),
    "an output that nobody writes": (
        "op_kernel/gate.cpp",
        "opgen::Store<kBroadcast>(yGm, yLocal, yWalk, part);",
        "",
        "poison",
    ),
    "gradients in the wrong order": (
        "torch_ext/gatev/ops/gate.py",
        "return (*_grads, None)",
        "return (*reversed(_grads), None)",
        "gradients",
    ),
}
CODE = """
import sys
from msopgen_wrap.testing import check_op
report = check_op(sys.argv[1], checks=["forward", "gradients", "poison"])
print(report)
print("failed:", *report.failed)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_of_an_edited_project_is_found(project: Path, name: str) -> None:
    file, old, new, found_by = MISTAKES[name]
    path = project / file
    before = path.read_text(encoding="utf-8")
    assert old in before
    path.write_text(before.replace(old, new), encoding="utf-8")
    try:
        command = [sys.executable, "-c", CODE, str(project)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    finally:
        path.write_text(before, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert found_by in done.stdout.splitlines()[-1].split(), done.stdout
    assert f"check_op({str(project)!r}, shapes=" in done.stdout


def test_a_project_that_cannot_be_checked_has_a_code(tmp_path: Path) -> None:
    two = scaffold(tmp_path, "twov", SPEC, SPEC.replace("Gate", "Other"))
    (tmp_path / "empty").mkdir()
    for path, name, code in [
        (tmp_path / "nowhere", "", "OPG902"),
        (tmp_path / "empty", "", "OPG724"),
        (two, "third", "OPG724"),
    ]:
        with pytest.raises(OpgenError) as caught:
            check_op(path, name=name)
        assert [d.code for d in caught.value.diagnostics] == [code]
