"""What grouped_matmul_swiglu_quant refuses, rows that no group has, and its pieces of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.resources import data_dir
from msopgen_wrap.run.cached_specs import rendered_spec
from msopgen_wrap.run.op_runtime import OpRuntime
from msopgen_wrap.run.preparation import load_op
from msopgen_wrap.spec.loader import load_spec

OP = "GroupedMatmulSwigluQuant"
LEAST = torch.finfo(torch.float32).tiny


@pytest.fixture(scope="module")
def runtime() -> OpRuntime:
    spec = load_spec(data_dir("op_specs") / "moe" / "grouped_matmul_swiglu_quant.yaml")
    return load_op(spec, rendered_spec(spec, "opgen"))


def tensors(rows: int, depth: int, columns: int, groups: int) -> dict[str, torch.Tensor]:
    torch.manual_seed(rows + depth)
    return {
        "x": torch.randint(-128, 128, (rows, depth), dtype=torch.int8),
        "weight": torch.randint(-128, 128, (groups, depth, columns), dtype=torch.int8),
        "weight_scale": torch.rand(groups, columns) * 0.009 + 0.001,
        "x_scale": torch.rand(rows) * 0.009 + 0.001,
    }


def call(
    runtime: OpRuntime, given: dict[str, torch.Tensor], ends: Sequence[int], **how: Any
) -> tuple[torch.Tensor, torch.Tensor, Any]:
    rows, columns = given["x"].shape[0], given["weight"].shape[-1]
    y = torch.full((rows, columns // 2), 99, dtype=torch.int8)
    y_scale = torch.full((rows,), torch.nan)
    attrs = {"group_list": list(ends)}
    run = runtime.run(OP, [*given.values()], [y, y_scale], attrs, **{"mode": "check"} | how)
    return y, y_scale, run


def expected(
    given: dict[str, torch.Tensor], ends: Sequence[int]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the result in float32, group by group."""
    x, weight, weight_scale, x_scale = given.values()
    wide = torch.zeros(x.shape[0], weight.shape[-1])
    for i, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        # exact: sums of up to 131071 products fit float64
        sums = (x[start:end].double() @ weight[i].double()).float()
        wide[start:end] = sums * x_scale[start:end].unsqueeze(1) * weight_scale[i]
    left, right = wide.chunk(2, -1)
    gated = F.silu(left) * right
    y_scale = gated.abs().amax(-1).clamp_min(LEAST) / 127.0
    return torch.round(gated / y_scale.unsqueeze(1)).to(torch.int8), y_scale


def compare(
    runtime: OpRuntime, given: dict[str, torch.Tensor], ends: Sequence[int], **how: Any
) -> Any:
    y, y_scale, run = call(runtime, given, ends, **how)
    assert run.findings == []
    wanted, scale = expected(given, ends)
    torch.testing.assert_close(y_scale, scale, rtol=1e-6, atol=0)
    # A quotient next to a tie may fall on either side.
    away = (y.int() - wanted.int()).abs()
    assert int(away.max()) <= 1 and int(away.sum()) <= max(1, away.numel() // 10000)
    return run


@pytest.mark.parametrize(
    ("sizes", "ends"),
    [
        ((40, 70, 66), (0, 7, 7, 33)),  # groups without rows, rows without a group
        ((17, 7168, 34), (3, 17)),  # sums that float32 cannot hold
        ((6, 40, 4100), (2, 5)),  # two tiles of columns
        ((5, 16, 16388), (1, 4)),  # rows that UB cannot hold
        ((600, 16, 130), (290, 600)),
    ],
)
@pytest.mark.parametrize("cores", [1, None])
def test_rows_of_groups(
    runtime: OpRuntime, sizes: tuple[int, int, int], ends: Sequence[int], cores: int | None
) -> None:
    compare(runtime, tensors(*sizes, len(ends)), ends, block_dim=cores)


def test_rows_that_no_group_has_are_zeros(runtime: OpRuntime) -> None:
    y, y_scale, _ = call(runtime, tensors(300, 8, 20, 2), (0, 130))
    assert not y[130:].any() and y[:130].any()
    assert torch.equal(y_scale[130:], torch.full((170,), LEAST) / 127.0)


def test_products_of_zeros_have_the_least_scale(runtime: OpRuntime) -> None:
    given = tensors(3, 8, 20, 1)
    given["x"][1] = 0
    y, y_scale, _ = call(runtime, given, (3,))
    assert not y[1].any() and y_scale[1] == LEAST / 127.0


def test_infinite_exponentials_give_zeros(runtime: OpRuntime) -> None:
    given = tensors(2, 64, 16, 1)
    given["x"][:] = 127
    given["weight"][:, :, :8] = -128  # swish of -1e4
    given["weight"][:, :, 8:] = 127
    given["weight_scale"][:] = given["x_scale"][:] = 0.1
    y, y_scale, _ = call(runtime, given, (2,))
    assert not y.any() and torch.equal(y_scale, torch.full((2,), LEAST) / 127.0)


@pytest.mark.parametrize(
    ("sizes", "ends"),
    [
        ((4700, 16, 4), (2300, 4690)),  # a core has more rows than scales are loaded of at once
        ((5, 16, 16388), (1, 4)),
    ],
)
def test_without_automatic_synchronisation(
    runtime: OpRuntime, sizes: tuple[int, int, int], ends: Sequence[int]
) -> None:
    compare(runtime, tensors(*sizes, 2), ends, block_dim=1, auto_sync=False)


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ((5,), "2 weights for 1 groups"),
        ((5, 6, 6), "2 weights for 3 groups"),
        ((5, 4), r"group_list\[1\] is 4: groups follow one another inside the 6 rows"),
        ((-1, 4), r"group_list\[0\] is -1"),
        ((5, 7), r"group_list\[1\] is 7: groups follow one another inside the 6 rows"),
    ],
)
def test_other_lists_are_refused(runtime: OpRuntime, ends: Sequence[int], said: str) -> None:
    with pytest.raises((OpgenError, RuntimeError), match=said):
        call(runtime, tensors(6, 8, 16, 2), ends)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"x": (6, 9)}, "rows of x have 9 elements, columns of a weight 8"),
        ({"x": (6, 0), "weight": (2, 0, 16)}, "rows of x have 0 elements; 1 to 131071"),
        ({"weight": (2, 8, 17), "weight_scale": (2, 17)}, "17 columns, which are no two halves"),
        ({"weight_scale": (2, 8)}, "weight_scale"),
        ({"x_scale": (5,)}, "x_scale"),
        ({"weight": (129, 8, 16), "weight_scale": (129, 16)}, "at most 128 groups"),
    ],
)
def test_other_shapes_are_refused(
    runtime: OpRuntime, changed: dict[str, tuple[int, ...]], said: str
) -> None:
    given = tensors(6, 8, 16, 2)
    for name, shape in changed.items():
        given[name] = torch.ones(shape, dtype=given[name].dtype)
    ends = [6] * given["weight"].shape[0]
    with pytest.raises((OpgenError, RuntimeError), match=said):
        call(runtime, given, ends)
