"""Ops whose tiling several test modules ask for: each is compiled once."""

from __future__ import annotations

import pytest
from tiled_op import TiledOp

from msopgen_wrap.spec.model import Attr, ShapeLike


@pytest.fixture(scope="session")
def softmax(tmp_path_factory: pytest.TempPathFactory) -> TiledOp:
    """A reduction along the axis that the attr ``dim`` names."""
    return TiledOp(
        tmp_path_factory.mktemp("softmax"),
        "torch.softmax(x, dim)",
        attrs=(Attr("dim", "int", -1),),
        shapes={"z": ShapeLike("x")},
    )
