"""Dtype attrs that choose the dtype of an output: combinations, graphs, host code."""

from __future__ import annotations

import torch

from msopgen_wrap.graph.tracing import trace
from msopgen_wrap.graph.variants import variants
from msopgen_wrap.render.infer_shape import infer_data_type_body
from msopgen_wrap.run.cases import case_grid
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import OpSpec

TEXT = """
op: Chosen
inputs: {x: [float16, float32], n: {dtype: [int32, int64]}}
outputs:
  y: {dtype: kind, shape: "broadcast(x, n)"}
  again: {dtype: y, shape: like y}
  z: {dtype: x, shape: "broadcast(x, n)"}
attrs: {kind: {type: dtype, default: int8, allowed: [int8, uint8]}, scale: 2.0}
compute: |
  z = x * n
  y = (z * scale).to(kind)
  again = y
cases:
  - {x: [3, 5], n: [5], kind: uint8}
"""


def spec_of(text: str) -> OpSpec:
    parsed = parse_spec(text.replace("shape: like y", 'shape: "broadcast(x, n)"'), "test.yaml")
    assert parsed.spec is not None, [str(d) for d in parsed.diagnostics]
    return parsed.spec


def test_each_value_is_a_combination() -> None:
    spec = spec_of(TEXT)
    dtypes = {p.name: p.dtypes for p in (*spec.inputs, *spec.outputs)}
    assert dtypes["x"] == ("float16", "float16", "float32", "float32")
    assert dtypes["n"] == ("int32", "int32", "int64", "int64")
    assert dtypes["y"] == dtypes["again"] == ("int8", "uint8") * 2
    assert dtypes["z"] == dtypes["x"]
    assert [spec.chosen_attrs(i) for i in range(spec.combos)] == [
        {"kind": "int8"},
        {"kind": "uint8"},
    ] * 2


def test_a_combination_has_a_graph_and_no_variant() -> None:
    spec = spec_of(TEXT)
    (variant,) = variants(spec)
    found = [trace(spec, variant, i).outputs["y"].meta["val"].dtype for i in range(2)]
    assert found == [torch.int8, torch.uint8]


def test_infer_data_type_reads_the_attr() -> None:
    text = infer_data_type_body(spec_of(TEXT))
    assert "const int64_t* y_number = y_attrs->GetInt(0);" in text
    assert "OPGEN_CHECK(context, y_type == DT_INT8 || y_type == DT_UINT8," in text
    assert "context->SetOutputDataType(0, y_type);" in text
    assert "context->SetOutputDataType(2, context->GetRequiredInputDataType(0));" in text


def test_cases_agree_with_their_combination() -> None:
    spec = spec_of(TEXT)
    grid = case_grid(spec)
    assert {case.combo for case in grid} == set(range(4))
    assert all(case.attrs["kind"] == spec.outputs[0].dtypes[case.combo] for case in grid)
    own = [case for case in grid if case.shapes == {"x": (3, 5), "n": (5,)}]
    assert {case.combo for case in own} == {1, 3}
