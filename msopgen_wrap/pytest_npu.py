"""Pytest plugin: run tests on npu tensors where there is no NPU.

Installed with the kit. ``pytest --npu`` (or ``opgen_npu = auto`` in the ini file) activates the
emulation before any test module or conftest is imported; without it the plugin skips tests that
want the device, and keeps a torch_npu that has no runtime from failing ``import torch``. On a
machine with CANN, ``auto`` uses the real NPU.

It lies outside ``msopgen_wrap.npu`` because importing that package is what activates.

* fixture ``npu``: the device ``torch.device("npu:0")``.
* marker ``@pytest.mark.npu``: skips the test when the device is not available.
* fixture and marker ``opgen_check``: see ``msopgen_wrap.pytest_checks``.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import torch

pytest_plugins = ["msopgen_wrap.pytest_checks"]

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
    wish = config.known_args_namespace.opgen_npu or config.getini("opgen_npu")
    if wish not in _CHOICES:
        raise pytest.UsageError(f"opgen_npu = {wish}: expected one of {', '.join(_CHOICES)}")
    return str(wish)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Prepare ``import torch`` before the first conftest that may do it."""
    _prepare(early_config)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Add the marker; prepare ``import torch`` where the hook above came too late."""
    config.addinivalue_line("markers", "npu: needs npu tensors, emulated or real (pytest --npu)")
    _prepare(config)


def _prepare(config: pytest.Config) -> None:
    wish = _wish(config)
    if wish == "off":
        from msopgen_wrap.torch_import import keep_unusable_backends_out

        keep_unusable_backends_out()
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
