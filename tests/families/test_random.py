"""Random numbers of Philox in kernels: the same bits as the reference, for any shape and cores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from default_part import default_part
from harness import BuiltOp, check

from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import gradient_spec, load_spec
from msopgen_wrap.spec.model import OpSpec

OPEN = "x: {dtype: float32}"
PLANE = "x: {dtype: float32, rank: 2}"
INDEX = "x: {dtype: int32}"
WITH_ROW = f'{PLANE}\n  w: {{dtype: x, rank: 1, shape: "[x[-1]]"}}'

# Formula, inputs, dtype of the output, families of the passes.
CASES = {
    "words": ("opgen.philox(opgen.positions(x), seed, offset)", OPEN, "int32", ["elementwise"]),
    "words of indices": ("opgen.philox(x, seed, offset)", INDEX, "int32", ["elementwise"]),
    "words of other places": (
        "opgen.philox(opgen.positions(x) * 3 + 1, seed, offset)",
        OPEN,
        "int32",
        ["elementwise"],
    ),
    "a word for each row": (
        "torch.where(opgen.philox(torch.arange(x.shape[0])[:, None], seed, offset) < 0, x, 0.0)",
        PLANE,
        "float32",
        ["elementwise"],
    ),
    "beside rows that are broadcast": (
        "opgen.rand_like(x, seed, offset) * w",
        WITH_ROW,
        "float32",
        ["elementwise"],
    ),
    "two masks": (
        "opgen.dropout(opgen.dropout(x, 0.2, seed, offset), 0.3, seed, offset + 1)",
        OPEN,
        "float32",
        ["elementwise"],
    ),
    "dropout of a softmax": (
        "opgen.dropout(torch.softmax(x, -1), 0.1, seed, offset)",
        PLANE,
        "float32",
        ["row"],
    ),
    "dropout before a norm": (
        "F.layer_norm(opgen.dropout(x, 0.1, seed, offset) + x, [x.shape[-1]])",
        PLANE,
        "float32",
        ["row"],
    ),
    "dropout of sums": (
        "opgen.dropout(x.sum(-1), 0.1, seed, offset)",
        PLANE,
        "float32",
        ["row"],
    ),
    "columns": (
        "opgen.dropout(x, 0.3, seed, offset).sum(0)",
        PLANE,
        "float32",
        ["row"],
    ),
    "in the order of a transpose": (
        "opgen.bernoulli_like(x.mT, 0.3, seed, offset).to(x.dtype)",
        PLANE,
        "float32",
        ["elementwise"],
    ),
    "normal numbers": ("opgen.randn_like(x, seed, offset)", OPEN, "float32", ["elementwise"]),
}
SHAPE = {
    "dropout of sums": "[x[0]]",
    "columns": "[x[1]]",
    "in the order of a transpose": "[x[1], x[0]]",
}
# Compiled and run in CI's slow part; the others are planned there.
RUN = (
    "words",
    "words of indices",
    "beside rows that are broadcast",
    "dropout before a norm",
    "normal numbers",
)
SEEDS = [(7, 0), (-1, 1 << 40), (2**63 - 1, -(2**63))]
SHAPES = [(0, 3), (1, 1), (3, 5), (4, 256), (5, 1001), (2, 30_001)]
CORES = (1, 3, 20)


def spec_of(name: str, folder: Path) -> OpSpec:
    compute, inputs, dtype, _ = CASES[name]
    shape = SHAPE.get(name, "like x")
    text = (
        f"op: RandomCase{list(CASES).index(name)}\ninputs:\n  {inputs}\n"
        f'outputs:\n  z: {{dtype: {dtype}, shape: "{shape}"}}\n'
        f"attrs:\n  seed: {{type: int}}\n  offset: {{type: int, default: 0}}\n"
        f"compute: {compute}\nbackward: none\n"
    )
    path = folder / "case.yaml"
    path.write_text(text, encoding="utf-8")
    return load_spec(path)


def inputs_of(spec: OpSpec, shape: tuple[int, ...]) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)
    inputs = {}
    for param in spec.inputs:
        sizes = shape if param.name == "x" else shape[-1:]
        if param.dtypes[0] == "int32":
            inputs[param.name] = torch.randint(0, 2**31 - 1, sizes, generator=generator).int()
        else:
            inputs[param.name] = torch.randn(sizes, generator=generator)
    return inputs


@pytest.mark.parametrize("name", default_part(CASES, ("words", "dropout of a softmax")))
def test_formulas_are_made_in_passes(name, tmp_path):
    plan = plan_op(spec_of(name, tmp_path))
    assert [part.family.name for part in plan.parts] == CASES[name][3]


@pytest.fixture(scope="module", params=default_part(RUN, ()))
def built(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("random")
    spec = spec_of(request.param, folder)
    return BuiltOp(spec, folder, style="9.x" if len(request.param) % 2 else "8.1")


def compare(found: torch.Tensor, golden: torch.Tensor, name: str) -> None:
    if "norm" in name:  # near zero the last bits of logarithms and means are large
        torch.testing.assert_close(found.double(), golden.double(), rtol=1e-5, atol=2e-6)
    else:
        check(found, golden)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_and_sanitizer(built, shape):
    seed, offset = SEEDS[SHAPES.index(shape) % len(SEEDS)]
    attrs = {"seed": seed, "offset": offset}
    outputs, golden, result = built.run(inputs_of(built.spec, shape), attrs, mode="check")
    compare(outputs["z"], golden["z"], built.spec.compute.text.replace("randn", "normal"))
    assert result.findings == []


def test_any_number_of_cores_gives_the_same_bits(built):
    inputs = inputs_of(built.spec, (7, 4099))
    attrs = {"seed": 11, "offset": 5}
    first = None
    for cores in CORES:
        outputs, golden, _ = built.run(inputs, dict(attrs), block_dim=cores)
        compare(outputs["z"], golden["z"], built.spec.compute.text.replace("randn", "normal"))
        if "sum" not in built.spec.compute.text:
            first = outputs["z"] if first is None else first
            assert torch.equal(outputs["z"], first)


def test_without_the_synchronisation_of_the_compiler(built):
    inputs = inputs_of(built.spec, (130, 999))
    attrs = {"seed": 11, "offset": 5}
    outputs, golden, result = built.run(inputs, attrs, mode="check", auto_sync=False)
    compare(outputs["z"], golden["z"], built.spec.compute.text.replace("randn", "normal"))
    assert result.findings == []


def test_backward_of_dropout_makes_the_mask_again(tmp_path):
    path = tmp_path / "case.yaml"
    path.write_text(
        "op: DropoutForward\ninputs:\n  x: [float32]\noutputs:\n  y: like x\n"
        "attrs:\n  p: 0.5\n  seed: {type: int}\n"
        "compute: opgen.dropout(x, p, seed, 0)\nbackward: kernel\n",
        encoding="utf-8",
    )
    gradient = gradient_spec(load_spec(path))
    (body,) = plan_op(gradient).bodies
    assert list(body.operands) == ["grad_y"]
    assert any(inst.op == "opgen::Philox" for inst in body.program.insts)
