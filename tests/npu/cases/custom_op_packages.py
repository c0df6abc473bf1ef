"""Builds and installs two vendors' packages through the command line, for the custom-op cases."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ADD = """\
op: {name}
doc: {expression}
inputs:
  x: {{dtype: [float32]}}
  y: {{dtype: x}}
outputs:
  z: {{dtype: x, shape: "broadcast(x, y)"}}
compute: {expression}
"""

#: vendor -> (op type, expression); both vendors' ops are found side by side.
VENDORS = {
    "acme": ("AcmeAddRelu", "torch.relu(x + y)"),
    "zenith": ("ZenithMulTanh", "torch.tanh(x * y)"),
}


@dataclass(frozen=True)
class Package:
    """An installed package: its vendor folder and the folder of its torch package."""

    vendor: str
    folder: Path
    python: Path


def opgen(*arguments: str) -> None:
    """Run an opgen command; a failure shows its output."""
    env = dict(os.environ, OPGEN_NPU="auto")
    done = subprocess.run(
        [sys.executable, "-m", "msopgen_wrap.cli", *arguments],
        capture_output=True,
        text=True,
        env=env,
    )
    assert done.returncode == 0, f"opgen {' '.join(arguments)}:\n{done.stdout}{done.stderr}"


def build(vendor: str, work: Path, install: Path) -> Package:
    """Spec -> project -> .run -> installed package."""
    name, expression = VENDORS[vendor]
    spec = work / f"{vendor}.yaml"
    spec.write_text(ADD.format(name=name, expression=expression))
    project, out = work / f"{vendor}_project", work / f"{vendor}_out"
    opgen("new", str(spec), "-o", str(project), "--vendor", vendor)
    opgen("build", str(project), "--target", "cpu", "-o", str(out))
    (archive,) = out.glob("*.run")
    subprocess.run(
        ["sh", str(archive), "--quiet", f"--install-path={install}"],
        check=True,
        capture_output=True,
    )
    return Package(vendor, install / "vendors" / vendor, project / "torch_ext")
