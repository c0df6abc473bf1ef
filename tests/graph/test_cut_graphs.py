"""Graphs of parts: what they hold, and what is read of the whole for them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from msopgen_wrap.graph.cuts import sites
from msopgen_wrap.graph.tracing import trace
from msopgen_wrap.graph.variants import variants
from msopgen_wrap.spec.loader import load_spec
from msopgen_wrap.spec.model import OpSpec, Site, TensorParam

CHAIN = """
op: Chain
inputs:
  x: {dtype: float32, rank: 2}
outputs:
  y: like x
attrs:
  scale: 2.0
compute: |
  for i in range(20):
    x = torch.tanh(x) * scale
  y = torch.exp(x)
"""


@pytest.fixture
def chain(tmp_path: Path) -> OpSpec:
    path = tmp_path / "chain.yaml"
    path.write_text(CHAIN, encoding="utf-8")
    return load_spec(path)


def calls(graph: torch.fx.Graph) -> list[str]:
    return [str(n.target) for n in graph.nodes if n.op == "call_function"]


def test_a_part_copies_what_lies_between_its_inputs_and_outputs(
    chain: OpSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    variant = variants(chain)[0]
    whole = trace(chain, variant)
    found = {site: node for node, site in sites(whole.graph).items()}
    read, written = Site("aten.tanh.default", 4), Site("aten.tanh.default", 6)
    assert {read, written} <= {*found}
    copied: list[str] = []
    own = torch.fx.Graph.node_copy

    def node_copy(graph, node, *rest):
        copied.append(node.op)
        return own(graph, node, *rest)

    monkeypatch.setattr(torch.fx.Graph, "node_copy", node_copy)
    part = replace(
        chain,
        inputs=(*chain.inputs, TensorParam("before", ("float32",), site=read)),
        outputs=(TensorParam("behind", ("float32",), site=written),),
        whole=chain,
    )
    traced = trace(part, variant)
    assert copied.count("call_function") == 4
    assert calls(traced.graph) == ["aten.mul.Tensor", "aten.tanh.default"] * 2
    assert traced.outputs["behind"].meta["site"] == written
    assert traced.inputs == {"arg0_1": "x", "temporary_before": "before"}
    names = [n.name for n in traced.graph.nodes if n.op == "placeholder"]
    assert names[:2] == ["arg0_1", "temporary_before"]  # the attrs are behind the tensors


def test_a_part_that_hands_on_a_temporary_computes_nothing(chain: OpSpec) -> None:
    site = Site("aten.tanh.default", 4)
    given = TensorParam("before", ("float32",), site=site)
    part = replace(
        chain,
        inputs=(*chain.inputs, given),
        outputs=(TensorParam("behind", ("float32",), site=site),),
        whole=chain,
    )
    traced = trace(part, variants(chain)[0])
    assert calls(traced.graph) == []
    assert traced.outputs["behind"].name == "temporary_before"
