"""How often a row kernel reads its rows, and how long they may be to stay in UB."""

from __future__ import annotations

import pytest
from harness import make_spec

from msopgen_wrap.families import plan_op
from msopgen_wrap.resources import data_dir
from msopgen_wrap.schedule.plan import DOUBLE, RESIDENT
from msopgen_wrap.spec.loader import load_spec
from msopgen_wrap.spec.model import ShapeLike

MEAN = "x.mean(-1, keepdim=True)"
# A formula, and per pass of reductions over rows that stream through what it gathers.
PASSES = [
    ("torch.softmax(x, -1)", [["AddExpSum"]]),
    ("torch.log_softmax(x, -1)", [["AddExpSum"]]),
    ("x - torch.logsumexp(x, -1, keepdim=True)", [["AddExpSum"]]),
    ("F.layer_norm(x, [x.shape[-1]], None, None, 1e-5)", [["AddVariance"]]),
    ("x / x.var(-1, keepdim=True)", [["AddVariance"]]),
    (f"x - {MEAN} + x.amax(-1, keepdim=True)", [["Reduce", "Reduce"]]),
    # exp(x - max) is of another value than the maximum
    ("torch.exp(x - x.abs().amax(-1, keepdim=True)).sum(-1, keepdim=True) + x",
     [["Reduce"], ["Reduce"]]),
    # no rule for distances without squares, and none for squared distances from a maximum
    (f"(x - {MEAN}).abs().sum(-1, keepdim=True) + x", [["Reduce"], ["Reduce"]]),
    ("(x - x.amax(-1, keepdim=True)).square().sum(-1, keepdim=True) + x",
     [["Reduce"], ["Reduce"]]),
    # the second sum needs the first pair
    ("torch.softmax(F.layer_norm(x, [x.shape[-1]], None, None, 1e-5), -1)",
     [["AddVariance"], ["AddExpSum"]]),
]  # fmt: skip


@pytest.mark.parametrize(("compute", "passes"), PASSES)
def test_passes_of_reductions(compute: str, passes: list[list[str]]) -> None:
    (body,) = plan_op(make_spec(compute, shapes={"z": ShapeLike("x")})).bodies
    gathers = ("Reduce", "AddExpSum", "AddVariance")
    found = [[i.op for i in piece.program.insts if i.op in gathers] for piece in body.pieces[:-1]]
    assert found == passes
    # the pass for the outputs begins with what is in UB
    assert body.holds == (len(passes) == 1)


# Op, dtype, longest row that stays in UB of ascend910b, and with two copies of each queue.
ROWS = [
    ("norm/custom_layer_norm", "float32", 6144, 6144),
    ("norm/custom_layer_norm", "float16", 8192, 6144),
    ("norm/rms_norm", "float32", 8192, 6144),
    ("norm/rms_norm", "float16", 8192, 8192),
    ("norm/softmax", "float32", 8192, 8192),
    ("norm/softmax", "float16", 8192, 8192),
    ("norm/add_rms_norm", "float32", 6144, 4096),
    ("norm/add_rms_norm", "float16", 8192, 6144),
]


@pytest.mark.parametrize(("op", "dtype", "single", "double"), ROWS)
def test_rows_that_stay_in_ub(op: str, dtype: str, single: int, double: int) -> None:
    plan = plan_op(load_spec(data_dir("op_specs") / f"{op}.yaml"))
    combo = plan.spec.inputs[0].dtypes.index(dtype)
    ub = plan.socs["ascend910b"]
    for mode, least in ((RESIDENT, single), (DOUBLE, double)):
        assert plan.body(0, combo).budgets[combo, mode].tile_length(ub) >= least, mode
