"""The op library: every spec is valid, matches the schema, and its reference runs on its cases."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import torch
import yaml

from msopgen_wrap.cli.check_command import contradictions
from msopgen_wrap.diagnostics import Diagnostic
from msopgen_wrap.resources import data_dir
from msopgen_wrap.run.golden import make_inputs
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.json_schema import NAME, schema_text, spec_schema
from msopgen_wrap.spec.loader import find_specs, gradient_spec, parse_spec, read_spec

LIBRARY = data_dir("op_specs")
PATHS = find_specs([LIBRARY])
BACKWARD = [p for p in PATHS if "\nbackward: kernel" in p.read_text()]
NAMES = [p.stem for p in PATHS]

# What the project promises to have.
PROMISED = """fused_add_relu fused_mul_sigmoid my_add custom_relu custom_gelu asinh swish mish
custom_layer_norm rms_norm softmax swi_glu masked_scale maximum foreach_addcdiv_scalar apply_adam_w
bias_scale_residual embedding_gather""".split()  # noqa: SIM905


def test_the_promised_ops_are_there() -> None:
    assert [n for n in PROMISED if n not in NAMES] == []


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_spec_is_clean(path: Path) -> None:
    result = read_spec(path)
    assert result.diagnostics == []
    spec = result.spec
    assert spec is not None
    assert spec.doc and spec.cases
    assert path.read_text().startswith(f"# yaml-language-server: $schema=../{NAME}\n")


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_reference_agrees_with_its_rules(path: Path) -> None:
    spec = read_spec(path).spec
    assert spec is not None
    assert contradictions(spec) == []


@pytest.mark.parametrize("path", BACKWARD, ids=lambda path: path.stem)
def test_gradients_agree_with_their_rules(path: Path) -> None:
    spec = read_spec(path).spec
    assert spec is not None
    gradient = gradient_spec(spec)
    assert gradient is not None and contradictions(gradient) == []


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_reference_runs_on_its_cases_and_writes_no_input(path: Path) -> None:
    spec = read_spec(path).spec
    assert spec is not None
    run = compile_compute(spec)
    for case in spec.cases:
        combo = (case.dtypes or (0,))[0]
        inputs = make_inputs(spec, TestCase(combo, case.shapes, case.attrs))
        copies = {n: t.clone() for n, t in inputs.items() if isinstance(t, torch.Tensor)}
        outputs = run(inputs, case.attrs)
        assert set(outputs) == {p.name for p in spec.outputs}
        for name, copy in copies.items():
            assert torch.equal(inputs[name], copy), name


# ---- JSON Schema -------------------------------------------------------------------------------


def test_the_schema_file_is_current() -> None:
    assert (LIBRARY / NAME).read_text() == schema_text(), "python -m msopgen_wrap.spec.json_schema"


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(spec_schema())


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_every_spec_fits_the_schema(path: Path) -> None:
    validator = jsonschema.Draft202012Validator(json.loads((LIBRARY / NAME).read_text()))
    assert [e.message for e in validator.iter_errors(yaml.safe_load(path.read_text()))] == []


SLIPS = [
    "op: demo",
    "inputs: {x: {dtype: half8, shap: like x}}",
    "outputs: {y: {sape: like x}}",
    "attrs: {a: {type: flaot}}",
    "soc: ascend99",
    "backward: maybe",
    "tolerance: 3",
    "extra: 1",
]


@pytest.mark.parametrize("slip", SLIPS)
def test_the_schema_catches_slips(slip: str) -> None:
    good = yaml.safe_load("op: A\ninputs: {x: float32}\noutputs: {y: like x}\ncompute: x + 1")
    validator = jsonschema.Draft202012Validator(spec_schema())
    assert not list(validator.iter_errors(good))
    assert list(validator.iter_errors(good | yaml.safe_load(slip)))


# ---- compute against its rules -----------------------------------------------------------------

WRONG = [
    ("OPG065", "outputs: {y: '[*x[:-1]]'}\ncompute: x * 2"),
    ("OPG065", "outputs: {y: like x}\ncompute: x.sum(-1)"),
    ("OPG065", "outputs: {y: 'reduce(x, 0)'}\ncompute: x.sum(-1)"),
    ("OPG066", "outputs: {y: like x}\ncompute: x.float()"),
    ("OPG066", "outputs: {y: like x}\ncompute: x > 0"),
    ("OPG071", "outputs: {y: like x}\ncompute: x.reshape(-1, 1000003)"),
]


@pytest.mark.parametrize(("code", "body"), WRONG)
def test_contradictions_are_found(code: str, body: str) -> None:
    spec = parse_spec(f"op: A\ninputs: {{x: [float16, float32]}}\n{body}\n").spec
    assert spec is not None
    found: list[Diagnostic] = contradictions(spec)
    assert [d.code for d in found] == [code]
    assert found[0].location.line == (4 if code == "OPG071" else 3)


CREATED = [
    "compute: x * torch.arange(x.shape[-1])",
    "compute: x + torch.ones([1]) * torch.linspace(0, 1, x.shape[-1])",
    "compute: x + torch.tensor([0.5])",
    "compute: |\n  y = torch.zeros(x.shape)\n  y = torch.where(torch.zeros(x.shape) > x, y, x)",
]


@pytest.mark.parametrize("body", CREATED)
def test_tensors_made_without_a_device_fit_the_inputs(body: str) -> None:
    """The rules are checked on inputs without data, which no tensor of the CPU joins."""
    inputs = "{x: {dtype: float32, rank: [1, 8]}}"
    spec = parse_spec(f"op: A\ninputs: {inputs}\noutputs: {{y: like x}}\n{body}\n").spec
    assert spec is not None
    assert contradictions(spec) == []
