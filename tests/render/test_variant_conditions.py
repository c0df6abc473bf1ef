"""How TilingFunc tells variants apart: every attr type, every kind of allowed value."""

from __future__ import annotations

import re

import pytest
import torch
from harness import BuiltOp, check, make_spec

from msopgen_wrap.families import plan_op
from msopgen_wrap.families.row.kernel import render_kernel
from msopgen_wrap.render.tiling_attrs import attr_test
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import load_spec
from msopgen_wrap.spec.model import Attr, ShapeLike

CONDITIONS = [
    ("int", 3, "aValue == 3"),
    ("int", -1, "aValue == -1"),
    ("float", 0.5, "aValue == 0.5f"),
    ("float", 2, "aValue == 2.0f"),
    ("bool", True, "aValue"),
    ("bool", False, "!aValue"),
    ("str", "tanh", 'aValue == "tanh"'),
    ("dtype", "float16", "aValue == static_cast<int64_t>(ge::DT_FLOAT16)"),
    ("list_int", (), "aAttr->GetSize() == 0"),
    ("list_int", (0, -1), "aAttr->GetSize() == 2 && aValue[0] == 0 && aValue[1] == -1"),
    ("list_float", (1, 0.1), "aAttr->GetSize() == 2 && aValue[0] == 1.0f && "
     "aValue[1] == 0.1f"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value", "text"), CONDITIONS)
def test_conditions(kind, value, text):
    assert attr_test(Attr("a", kind, value), value) == text


def test_kernels_of_like_values_have_names_of_their_own():
    values = ((2.0, 0.1), (20.0, 0.1), (2.0, 1.0), (2.0, 10.0), (-2.0, 1.0))
    attr = Attr("w", "list_float", values[0], allowed=values)
    plan = plan_op(make_spec("x * w[0] + w[1]", attrs=(attr,)))
    names = [body.class_name for body in plan.bodies]
    assert len(set(names)) == len(values), names
    assert all(re.fullmatch(r"\w+", n) for n in names)


def test_variants_that_compute_alike_share_a_class():
    spec = load_spec(data_dir("op_specs") / "reduce/reduce_sum.yaml")
    (kernel,) = render_kernel(plan_op(spec), "8.1")
    assert kernel.text.count("\nclass Kernel {") == kernel.text.count("\nclass ") == 1
    assert "For float16, bfloat16, float32.\n" in kernel.text


@pytest.mark.slow
def test_lists_choose_the_kernel(tmp_path):
    # the attr is called like a variable of TilingFunc
    values = ((-1,), (0,), (0, 1))
    attr = Attr("axes", "list_int", (-1,), allowed=values)
    compute = "x * len(axes) + (1.0 if axes[0] == 0 else 2.0)"
    op = BuiltOp(make_spec(compute, attrs=(attr,), shapes={"z": ShapeLike("x")}), tmp_path)
    for value in values:
        outputs, golden, _ = op.run({"x": torch.rand(3, 70)}, {"axes": list(value)})
        check(outputs["z"], golden["z"])
