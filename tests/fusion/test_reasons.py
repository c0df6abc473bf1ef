"""What stays as it is has a reason, and each reason says what to do."""

from __future__ import annotations

import ast
import inspect
from types import ModuleType
from typing import Any

import pytest
import torch

from msopgen_wrap.fusion import batch_norm, call_shapes, chains, numeric_proof, regions
from msopgen_wrap.fusion.model_trace import traced_model
from msopgen_wrap.fusion.packages import searched
from msopgen_wrap.fusion.proposals import survey
from msopgen_wrap.spec.loader import parse_spec

SOURCES: list[tuple[ModuleType, str]] = [
    (batch_norm, "_objection"),
    (call_shapes, "_refusal"),
    (call_shapes, "input_objection"),
    (chains, "objection"),
    (numeric_proof, "_difference"),
    (regions, "objection"),
    (regions, "region_between"),
    (regions, "_mode_change"),
]


def texts(module: ModuleType, name: str) -> list[str]:
    """Return the texts that the functions of a name return, values in them as ``{}``."""
    found = []
    for function in ast.walk(ast.parse(inspect.getsource(module))):
        if not isinstance(function, ast.FunctionDef) or function.name != name:
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Return) and isinstance(
                node.value, (ast.Constant, ast.JoinedStr)
            ):
                parts = getattr(node.value, "values", [node.value])
                found.append("".join(str(getattr(p, "value", "")) for p in parts if p))
    return [text for text in found if text not in ("", "None")]


@pytest.mark.parametrize(("module", "name"), SOURCES, ids=lambda x: getattr(x, "__name__", x))
def test_each_reason_says_what_to_do(module: ModuleType, name: str) -> None:
    found = texts(module, name)
    assert found and [text for text in found if "; " not in text] == []


def in_double(x: Any) -> Any:
    return (x.double() * 2).tanh()


MODELS = [
    (in_double, "float64", "convert it before the chain"),
    (lambda x: (x.to(torch.int64) + 1) * 3, "no float", "convert it to one"),
]


@pytest.mark.parametrize(("function", "what", "cure"), MODELS)
def test_what_is_left_says_what_and_what_to_do(function: Any, what: str, cure: str) -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return function(x)

    graph = traced_model(Model(), (torch.randn(4, 6),), {}).graph
    left = survey(graph, []).left
    assert any(what in text and cure in text for text in left), left


def test_an_op_of_more_variants_than_are_generated_is_not_looked_for() -> None:
    absent = ", ".join(f"o{i}: {{dtype: x, optional: true}}" for i in range(7))
    text = f"op: ManyAbsent\ninputs: {{x: [float32], {absent}}}\noutputs: {{y: like x}}\n"
    spec = parse_spec(f"{text}compute: x * 2\n", "spec.yaml").spec
    assert spec is not None
    found, reasons = searched([spec])
    assert not found
    assert "128 graph variants" in reasons["ManyAbsent"]
