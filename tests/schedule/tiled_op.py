"""The host library of a generated op, asked for tiling decisions without a kernel or data."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from harness import BuiltOp, make_spec

from msopgen_wrap.run.op_abi import ShapeOnly
from msopgen_wrap.run.op_runtime import OpRuntimeError
from msopgen_wrap.run.tiling_decisions import decode, tiling_fields
from msopgen_wrap.spec.model import OpSpec


def ceil_div(a: int, b: int) -> int:
    """Return a / b rounded up."""
    return -(-a // b)


def align(a: int, b: int) -> int:
    """Return a rounded up to a multiple of b."""
    return ceil_div(a, b) * b


class TiledOp:
    """The host library of an op: of a spec, or of what ``make_spec`` makes one from."""

    def __init__(self, folder: Path, *args: Any, first_output: str | None = None, **kwargs: Any):
        spec = args[0] if isinstance(args[0], OpSpec) else make_spec(*args, **kwargs)
        if first_output:
            first, *others = spec.outputs
            first = dataclasses.replace(first, dtypes=(first_output,))
            spec = dataclasses.replace(spec, outputs=(first, *others))
        self.op = BuiltOp(spec, folder, combos=())
        self.layout = tiling_fields(self.op.runtime, spec.op)
        self.plan = self.op.plan

    def tile(
        self,
        inputs: list[Any],
        outputs: list[Any],
        attrs: dict[str, Any] | None = None,
        *,
        combo: int = 0,
        cores: int = 0,
    ) -> dict[str, Any]:
        """Return the tiling fields by name, and ``cores`` and ``key``.

        Args:
            combo: index of the dtype combination.
            cores: how many the SoC has; 0: as many as it has.
        """
        spec = self.op.spec

        def given(shape: Any, dtype: str) -> Any:
            if isinstance(shape, list):
                return [ShapeOnly(dtype, s) for s in shape]
            return ShapeOnly(dtype, shape)

        info = self.op.runtime.tile(
            spec.op,
            [given(s, p.dtypes[combo]) for s, p in zip(inputs, spec.inputs, strict=True)],
            [given(s, p.dtypes[combo]) for s, p in zip(outputs, spec.outputs, strict=True)],
            attrs or {},
            block_dim=cores,
            skip_shape_check=True,
        )
        return {**decode(info.data, self.layout), "cores": info.block_dim, "key": info.key}

    def refusal(self, *args: Any) -> str:
        """Return what the tiling function says of a call that it refuses."""
        with pytest.raises(OpRuntimeError) as caught:
            self.tile(*args)
        return str(caught.value)
