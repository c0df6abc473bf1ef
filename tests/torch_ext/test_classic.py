"""The binding on torch/library.h, as torch before 2.10 gets it: same source, same behaviour."""

from __future__ import annotations

from pathlib import Path

import pytest

from .fakes import VENDOR, fake_specs
from .packages import run_python, write_package

pytestmark = pytest.mark.slow


def test_classic_binding(tmp_path: Path, fake_vendor: Path) -> None:
    root = write_package(tmp_path, fake_specs(), VENDOR)
    run_python(
        root,
        f"""
import torch, {VENDOR} as package
from torch.library import opcheck
from {VENDOR}._runtime import build
assert build.is_classic()
ops = torch.ops.{VENDOR}
x, y = torch.randn(6, 8), torch.randn(6, 8)
torch.testing.assert_close(ops.fake_add(x.t(), y.t()), torch.relu(x + y).t())
torch.testing.assert_close(ops.fake_add(x), torch.relu(x))
torch.testing.assert_close(ops.fake_each([x], [y]), [torch.relu(x + y)])
state = x.clone()
ops.fake_step(state[:, ::2], y[:, :4], 0.25)
torch.testing.assert_close(state[:, ::2], x[:, ::2] - 0.25 * y[:, :4])
torch.testing.assert_close(ops.fake_fail(x, "none", [3]), torch.relu(x))
for arguments in [(x.requires_grad_(), y), (x, None)]:
    assert set(opcheck(ops.fake_add.default, arguments).values()) == {{"SUCCESS"}}
try:
    ops.fake_add(x, y.double())
except RuntimeError as error:
    assert "unsupported dtypes 'x' float32, 'y' float64" in str(error)
else:
    raise SystemExit("no error")
assert package.last_backend() == "emulated"
""",
        OPGEN_TORCH_CLASSIC="1",
        OPGEN_CACHE_DIR=str(tmp_path / "cache"),
        ASCEND_CUSTOM_OPP_PATH=str(fake_vendor),
    )
