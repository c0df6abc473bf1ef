"""``opgen fuse``: specs for chains of a model; they are found in it again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from msopgen_wrap.cli import app, output
from msopgen_wrap.fusion.factory import model_from
from msopgen_wrap.fusion.model_trace import traced_model
from msopgen_wrap.fusion.proposals import survey
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import find_specs, load_specs
from msopgen_wrap.torch_import import torch
from tests.fusion.models import Lambda
from tests.fusion.reference_ops import fused, library

MODEL = """
import torch
from torch import nn

class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(16, 16), nn.LayerNorm(16)
        self.scale = nn.Parameter(torch.ones(16))

    def forward(self, x):
        h = torch.tanh(self.linear(x) * 0.5 + 1) * self.scale
        h = self.norm(h + x)
        return torch.sigmoid(self.linear(h)) * h - x

def make():
    return Gate().eval(), torch.randn(4, 16)

def plain():
    return nn.Linear(3, 3), (torch.randn(2, 3),)

def broken():
    return 1 / 0

def number():
    return 3

def leaves():
    raise SystemExit(0)

def nothing():
    return nn.Sequential(nn.ReLU(), nn.Tanh()), torch.ones(0, 3)
"""


F = torch.nn.functional


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "gate_model.py"
    path.write_text(MODEL)
    return path


@pytest.mark.slow
def test_proposed_specs_are_valid_and_fuse_the_model(
    file: Path, tmp_path: Path, capfd: Any
) -> None:
    folder = tmp_path / "ops"
    spec = data_dir("op_specs") / "elementwise" / "my_add.yaml"
    args = ["fuse", f"{file}:make", "-o", str(folder), "--specs", str(spec)]
    assert app.run([*args, "--json"]) == output.OK
    found = json.loads(capfd.readouterr().out)["proposals"]
    assert len(found) == 2
    saved = [p["before"] - p["after"] for p in found]
    assert saved == sorted(saved, reverse=True) and saved[-1] > 0
    assert app.run(["check", str(folder)]) == output.OK
    model, inputs, _ = model_from(f"{file}:make")
    report = fused(model, inputs, *load_specs([folder])).report
    assert len(report.fused) == 2
    assert report.bytes_before - report.bytes_after == sum(saved)
    path = find_specs([folder])[0]
    path.write_text(path.read_text() + "# edited\n")
    assert app.run(args) == output.FINDINGS
    assert "OPG748" in capfd.readouterr().err


ERRORS = [
    ("{file}:broken", "OPG745", "division by zero"),
    ("{file}:leaves", "OPG745", "leaves() failed: SystemExit: 0"),
    pytest.param("{file}:nothing", "OPG747", "no elements", marks=pytest.mark.slow),
    ("nowhere.py:make", "OPG745", "no such file"),
    ("{file}:mak", "OPG746", "make"),
    ("{file}:number", "OPG746", "return model"),
    ("{file}", "OPG746", "model.py:make"),
    pytest.param("{file}:plain", "OPG747", "no two", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("target", "code", "text"), ERRORS)
def test_errors_have_codes(file: Path, capfd: Any, target: str, code: str, text: str) -> None:
    assert app.run(["fuse", target.format(file=file)]) == output.FINDINGS
    err = capfd.readouterr().err
    assert f"error[{code}]" in err and text in err and "Traceback" not in err


def proposals(function: Any, *inputs: Any) -> Any:
    return survey(traced_model(Lambda(function), inputs, {}).graph, [])


X, ROW = torch.randn(4, 6, 8), torch.randn(8)


def test_equal_chains_are_one_op() -> None:
    def twice(x: Any) -> Any:
        x = torch.tanh(x * 2) @ torch.eye(8)
        return torch.tanh(x * 2)

    (found,) = proposals(twice, X).proposals
    assert len(found.places) == 2


def test_constants_are_attrs_and_other_constants_are_the_same_op() -> None:
    def twice(x: Any) -> Any:
        x = F.rms_norm(torch.tanh(x * 3.5), [8], ROW, 1e-5) @ torch.eye(8)
        return F.rms_norm(torch.tanh(x * 0.25), [8], ROW, 1e-3)

    (found,) = proposals(twice, X).proposals
    assert len(found.places) == 2
    assert {a.name: a.default for a in found.spec.attrs} in (
        {"factor": 3.5, "epsilon": 1e-5},
        {"factor": 0.25, "epsilon": 1e-3},
    )
    calls = fused(Lambda(twice), X, found.spec).report.fused
    assert [c.attrs["factor"] for c in calls] == pytest.approx([3.5, 0.25])
    assert [c.attrs["epsilon"] for c in calls] == pytest.approx([1e-5, 1e-3])


def test_known_ops_come_first() -> None:
    graph = traced_model(Lambda(lambda x, y: torch.relu(x + y)), (X, X + 1), {}).graph
    found = survey(graph, library("elementwise/fused_add_relu"))
    assert [s.spec.op for s in found.covered] == ["FusedAddRelu"] and not found.proposals


def test_a_chain_that_saves_clearly_more_takes_the_place_of_known_ops() -> None:
    def wider(x: Any, y: Any) -> Any:
        return torch.tanh(torch.relu(x + y) * 3.5 + y).exp()

    graph = traced_model(Lambda(wider), (X, X + 1), {}).graph
    found = survey(graph, library("elementwise/fused_add_relu"))
    assert not found.covered and not found.left
    (proposal,) = found.proposals
    assert "torch.relu" in proposal.text and "torch.exp" in proposal.text

    def split(x: Any, y: Any) -> Any:  # the chain has no kernel without its product
        return torch.tanh(torch.relu(x + y) @ torch.eye(8)).exp()

    found = survey(
        traced_model(Lambda(split), (X, X + 1), {}).graph, library("elementwise/fused_add_relu")
    )
    assert [s.spec.op for s in found.covered] == ["FusedAddRelu"] and len(found.proposals) == 1


def over_channels(x: Any) -> Any:
    centred = x - x.mean(1, keepdim=True)
    return centred * torch.rsqrt(centred.square().mean(1, keepdim=True) + 1e-5)


def statistics(x: Any) -> Any:
    mean = x.mean((0, 2), keepdim=True)
    return mean * 2, (x - mean).square().mean((0, 2))


def with_residual(x: Any, row: Any) -> Any:
    total = torch.tanh(x + row)
    return total, F.layer_norm(total, [8]) @ torch.eye(8)


def with_mean(x: Any) -> Any:
    mean = x.mean(-1, keepdim=True)
    return mean, torch.exp(x - mean)


def state_space(x: Any) -> Any:
    """A product of three operands of other shapes, which the op has in one order only."""
    step, row, column = x[:, :, :1].exp(), x[:, :1].exp(), x[:, :, 1:2].exp()
    return ((x * step).exp() * x + step * row * column).sum(-1)


def rotated(x: Any) -> Any:
    angle = x * 0.5
    return x * angle.cos() + (x + 1) * angle.sin()


def turned(x: Any, angle: Any) -> Any:
    cos, sin = angle.cos(), angle.sin()
    return x * cos + (x + 1) * sin, cos, sin


# function, shape of its input, results of the ops, what their specs say
CHAINS = [
    (over_channels, (4, 6, 8), [1], "torch.mean(x1, -2, keepdim=True)"),
    (statistics, (4, 6, 8), [2], 'shape: "[1, x1[1], 1]"'),
    (lambda x: torch.exp(x.sum(1)) * 3, (4, 6, 8), [1], 'shape: "[x1[0], x1[2]]"'),
    (with_mean, (4, 6, 8), [2], 'shape: "[*x1[:-1], 1]"'),
    (lambda x: with_residual(x, ROW), (4, 6, 8), [2], "y2 = torch.tanh"),
    (state_space, (2, 6, 4), [1], 'shape: "[x1[0], 1, x1[2]]"'),
    (rotated, (4, 6), [1], "tolerance: {y: mixed}"),
    (lambda x: turned(x, ROW), (4, 6, 8), [1], 'shape: "broadcast('),
    (lambda x: (x - 1).square().mean(), (4, 6, 8), [1], 'shape: "[]"'),
    # a number that 16 bits cannot hold
    (lambda x: (x + 3).masked_fill(x > 0, -1e30), (4, 6), [1], "dtype: [bfloat16, float32]"),
    (lambda x: (x + 3).masked_fill(x > 0, -3.4e38), (4, 6), [1], "dtype: [float32]"),
    # factors inside of nested products
    (lambda x: 0.5 * x * (1 + torch.erf(x)) - x, (4, 6), [1], "torch.erf(x1)"),
    (lambda x: F.hardswish(F.rms_norm(x + x, [8])), (4, 8), [1], "F.hardswish"),
    # calls of pointwise operators and reductions that are no steps of their own kind
    (lambda x: torch.lerp(F.relu6(x), x, 0.3), (4, 6), [1], "torch.lerp(t1, x1, 0.3)"),
    (lambda x: torch.lerp(1 - x, ROW[:6], 0.7) * 2, (4, 6), [1], "torch.lerp(t1, x2, 0.7)"),
    (lambda x: F.logsigmoid(x) * torch.sign(x), (4, 6), [1], "F.logsigmoid(x1)"),
    (lambda x: torch.add(x.exp(), x, alpha=3), (4, 6), [1], "torch.add(t1, x1, alpha=3)"),
    (lambda x: x.exp().clamp(min=ROW[:6]), (4, 6), [1], "torch.clamp(t1, min=x2)"),
    (lambda x: torch.where((x > 0) & (x < 2), x, -x), (4, 6), [1], "torch.bitwise_and(t1, t2)"),
    (
        lambda x: F.normalize(x, dim=-1) * 2,
        (4, 8),
        [1],
        "torch.norm(x1, p=2, dim=-1, keepdim=True)",
    ),
    (lambda x: x / (x.std(-1, keepdim=True) + 1e-6), (4, 8), [1], "unbiased=True"),
    (lambda x: torch.logsumexp(x * 2, -1).square(), (4, 8), [1], "torch.logsumexp(t1, -1"),
]


@pytest.mark.parametrize(("function", "shape", "results", "text"), CHAINS)
def test_chains_with_other_axes_and_several_results(
    function: Any, shape: Any, results: list[int], text: str
) -> None:
    found = proposals(function, torch.randn(shape))
    assert [len(p.spec.outputs) for p in found.proposals] == results, found.left
    assert text in found.proposals[0].text, found.proposals[0].text


PROPOSED = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(16, 16)

    def forward(self, x, image):
        total = torch.tanh(self.up(x) * 0.5 + 1) + x
        h = self.up(nn.functional.layer_norm(total, [16]))
        angle = h * 0.5
        h = self.up(h * angle.cos() + total * angle.sin())
        centred = image - image.mean(1, keepdim=True)
        return h, centred * torch.rsqrt(centred.square().mean(1, keepdim=True) + 1e-5)

def make():
    return Block().eval(), (torch.randn(4, 16), torch.randn(4, 6, 8))
"""


@pytest.mark.slow
def test_the_ops_that_are_proposed_pass_their_tests(tmp_path: Path, capfd: Any) -> None:
    path, folder = tmp_path / "model.py", tmp_path / "ops"
    path.write_text(PROPOSED)
    assert app.run(["fuse", f"{path}:make", "-o", str(folder)]) == output.OK
    specs = load_specs([folder])
    assert sorted(len(s.outputs) for s in specs) == [1, 1, 2], [s.op for s in specs]
    assert app.run(["test", str(folder)]) == output.OK, capfd.readouterr().out
    assert "failed" not in capfd.readouterr().err
    model, inputs, _ = model_from(f"{path}:make")
    assert len(fused(model, inputs, *specs).report.fused) == 3


STAYS = [
    lambda x: torch.dropout(x * 2, 0.5, True),
    lambda x: x.add_(1) * 2,
    lambda x: (x * 2).t() if x.dim() == 2 else (x * 2).transpose(0, 1),
    lambda x: (x.double() * 2).sin(),
]


@pytest.mark.parametrize("function", STAYS)
def test_no_op_is_proposed_for(function: Any) -> None:
    assert not proposals(function, X).proposals


def masked_scores(x: Any) -> Any:
    """Attention scores of two layers with one mask of ones, as models make it without a mask."""
    mask = (1.0 - torch.ones(4, 1, 8)) * -3e38
    first = torch.softmax(x / 4.0 + mask, -1)
    return torch.softmax((first @ torch.eye(8)) / 4.0 + mask, -1)


def divided(x: Any) -> Any:
    """A scale that is a tensor of one element, used twice."""
    scale = torch.full([], 4.0)
    return torch.softmax((torch.exp(x / scale) @ torch.eye(8)) / scale, -1)


def vmapped(x: Any) -> Any:
    """A mask that is made inside of ``torch.vmap``, as some models do."""
    rows = torch.arange(6)
    mask = torch.vmap(lambda i: torch.vmap(lambda j: i >= j)(torch.arange(8)))(rows)
    return torch.softmax(torch.where(mask, x * 0.3, -1e30), -1)


def routed(x: Any) -> Any:
    """Capsules routed by agreement: the first shares read no tensor of the model."""
    logits = torch.zeros(x.shape[:2])
    for _ in range(2):
        found = (torch.softmax(logits, 1).unsqueeze(-1) * x).sum(0)
        logits = logits + (x * found).sum(-1)
    return found


def test_constants_that_are_used_twice_make_no_op() -> None:
    found = proposals(routed, X)
    model = fused(Lambda(routed), (X,), *(p.spec for p in found.proposals))
    torch.testing.assert_close(model(X), routed(X))
    assert model.report.fused


@pytest.mark.parametrize(
    ("function", "places", "step"),
    [
        (masked_scores, [2], "y = torch.softmax(t2, -1)"),
        (divided, [1, 1], "t1 = x1 / 4.0"),
        (vmapped, [1], "torch.where(x2, t1, "),
    ],
)
def test_values_that_no_input_changes(function: Any, places: list[int], step: str) -> None:
    found = proposals(function, X)
    assert not found.left
    assert [len(p.places) for p in found.proposals] == places
    assert all(step in p.text for p in found.proposals)
    model = fused(Lambda(function), X, *(p.spec for p in found.proposals))
    assert len(model.report.fused) == sum(places)
