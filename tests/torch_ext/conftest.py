"""Fixtures: the fake vendor package, built once per session."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")


@pytest.fixture(scope="session")
def fake_vendor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``vendors/fakevendor`` with a libcust_opapi.so on the fake op runtime."""
    from .fakes import build_vendor

    return build_vendor(tmp_path_factory.mktemp("fake"))
