"""Pytest plugin: run tests on npu tensors where there is no NPU.

Installed with the kit. ``pytest --npu`` (or ``opgen_npu = auto`` in the ini file) activates the
emulation before any test module is imported; without it the plugin does nothing but skip tests that
want the device. On a machine with CANN, ``auto`` uses the real NPU.

It lies outside ``msopgen_wrap.npu`` because importing that package is what activates.

* fixture ``npu``: the device ``torch.device("npu:0")``.
* marker ``@pytest.mark.npu``: skips the test when the device is not available.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import torch

_CHOICES = ("off", "auto", "emulation", "real")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--npu`` and the ini value ``opgen_npu``."""
    group = parser.getgroup("opgen", "npu tensors without an NPU (opgen)")
    group.addoption(
        "--npu",
        dest="opgen_npu",
        nargs="?",
        const="auto",
        choices=_CHOICES,
        default=None,
        help="run torch_npu on opgen's emulation; auto (when no value is given) prefers a real NPU",
    )
    parser.addini("opgen_npu", "default of --npu: off, auto, emulation or real", default="off")


def _wish(config: pytest.Config) -> str:
    wish = config.getoption("opgen_npu") or config.getini("opgen_npu")
    if wish not in _CHOICES:
        raise pytest.UsageError(f"opgen_npu = {wish}: expected one of {', '.join(_CHOICES)}")
    return str(wish)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Activate before test modules and their imports of torch are collected."""
    config.addinivalue_line("markers", "npu: needs npu tensors, emulated or real (pytest --npu)")
    wish = _wish(config)
    if wish == "off":
        return
    from msopgen_wrap.npu.activation import activate

    activate(wish)


def _why_not(config: pytest.Config) -> str:
    """Return the reason to skip, "" when the device is there."""
    if importlib.util.find_spec("torch_npu") is None:
        return "torch_npu is not installed (pip install 'opgen[npu]')"
    if _wish(config) == "off":
        return "npu tests are off (pytest --npu)"
    return ""


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests marked ``npu`` when there is no device."""
    if item.get_closest_marker("npu") is not None:
        reason = _why_not(item.config)
        if reason:
            pytest.skip(reason)


@pytest.fixture
def npu(request: pytest.FixtureRequest) -> torch.device:
    """The device ``npu:0``; skips the test where it is not available."""
    reason = _why_not(request.config)
    if reason:
        pytest.skip(reason)
    import torch
    import torch_npu  # noqa: F401

    return torch.device("npu:0")
