"""What forward saves for a kernel of the gradients where the spec leaves it to the kit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from msopgen_wrap.cli import app
from msopgen_wrap.families.gradients import unread_inputs, with_chosen_gradients
from msopgen_wrap.families.planner import plan_op
from msopgen_wrap.families.saving import saving_choice
from msopgen_wrap.run.saved_bytes import saved_bytes
from msopgen_wrap.spec.loader import gradient_spec, load_specs, parse_spec, with_gradients
from msopgen_wrap.spec.model import OpSpec

HEAD = """\
op: Some
inputs:
  x: {dtype: [float16, float32], rank: [1, 8]}
"""
SIGMOID = (
    HEAD
    + """\
outputs:
  y: like x
compute: torch.sigmoid(x)
backward: kernel
"""
)
# Rows that do not fit take a pass more for the statistics, and these are small.
STATISTICS = """\
op: Norm
inputs:
  x: {dtype: float32, rank: [1, 8]}
outputs:
  y: like x
  rstd: {dtype: float32, shape: "[*x[:-1], 1]"}
compute: |
  rstd = torch.rsqrt((x - 1).square().mean(-1, keepdim=True) + 1e-6)
  y = torch.tanh(x * rstd)
backward: kernel
cases:
  - {x: [64, 512]}
"""


def spec_of(text: str) -> OpSpec:
    result = parse_spec(text, "op.yaml")
    assert result.spec is not None, [str(d) for d in result.diagnostics]
    return result.spec


def chosen(compute: str) -> OpSpec:
    text = SIGMOID.replace("torch.sigmoid(x)", compute)
    return with_chosen_gradients(with_gradients([spec_of(text)]))[0][0]


@pytest.mark.parametrize(
    ("compute", "save"),
    [
        ("torch.sigmoid(x)", ("y",)),
        ("torch.exp(x * 2)", ("y",)),
        ("torch.relu(x)", ("y",)),
        ("F.log_softmax(x, -1)", ("y",)),
        ("torch.sigmoid(x) * 2", ()),  # the result of sigmoid is no output
        ("x * torch.sigmoid(x)", ()),
        ("torch.sin(x)", ()),
    ],
)
def test_a_result_takes_the_place_of_the_input(compute: str, save: tuple[str, ...]) -> None:
    spec = chosen(compute)
    assert (spec.save, spec.choose_saved) == (save, False)
    unread = unread_inputs(spec, plan_op(gradient_spec(spec)))
    assert unread == (("x",) if save else ())
    found = saved_bytes(spec, unread)
    assert found is not None and found.kernel <= found.eager


def test_both_kinds_of_calls_count() -> None:
    spec = spec_of(STATISTICS)
    choice = saving_choice(spec)
    by_set = {a.save: a for a in choice.alternatives}
    size = 64 * 512 * 4
    none, rstd = by_set[()], by_set[("rstd",)]
    # x, the gradients of y and rstd, and that of x; the results of the passes before the last one
    assert none.moved.resident == 3 * size + 64 * 4
    assert rstd.moved.resident == none.moved.resident + 64 * 4
    assert none.moved.streamed - rstd.moved.streamed == size - 64 * 4
    assert "rstd" in choice.save
    assert all(a.saved <= choice.eager for a in choice.alternatives if a.save == choice.save)


def test_an_empty_list_saves_nothing_and_a_list_is_kept() -> None:
    for save, wanted in (("[]", ()), ("[y]", ("y",)), ("auto", None)):
        spec = spec_of(SIGMOID + f"save: {save}\n")
        assert (spec.save, spec.choose_saved) == (wanted or (), wanted is None)
        found, _ = with_chosen_gradients(with_gradients([spec]))
        assert found[0].save == (("y",) if wanted is None else wanted)
        assert ("saved_y" in [p.name for p in found[1].inputs]) == bool(found[0].save)


def test_auto_needs_a_derived_kernel() -> None:
    result = parse_spec(SIGMOID.replace("kernel", "reference") + "save: auto\n")
    assert "OPG086" in [d.code for d in result.diagnostics]


def test_reference_and_written_gradients_choose_nothing() -> None:
    for backward in ("reference", "none", "{kernel: true, x: grad_y}", "{x: grad_y}"):
        spec = spec_of(SIGMOID.replace("backward: kernel", f"backward: {backward}"))
        assert (spec.save, spec.choose_saved) == ((), False)


def test_a_project_records_the_choice(tmp_path: Path, capfd: Any) -> None:
    path, root = tmp_path / "op.yaml", tmp_path / "project"
    path.write_text(SIGMOID)

    def files() -> dict[Path, str]:
        return {p: p.read_text() for p in root.rglob("*") if p.is_file()}

    assert app.run(["new", str(path), "-o", str(root)]) == 0
    first = files()
    assert "saved_y" in first[root / "specs/some_grad.yaml"]
    assert "unread=(0,), replaced=True" in first[root / "torch_ext/opgen/ops/some.py"]
    spec, gradient = load_specs([root / "specs/some.yaml", root / "specs/some_grad.yaml"])
    assert (spec.save, spec.choose_saved) == (("y",), False)
    assert gradient.source == first[root / "specs/some_grad.yaml"]
    for given in ([], [str(path)]):
        assert app.run(["new", *given, "-o", str(root)]) == 0
        assert files() == first
    # the file of another choice is kept, too
    path.write_text(SIGMOID + "save: []\n")
    assert app.run(["new", str(path), "-o", str(root)]) == 0
    assert "saved_y" not in (root / "specs/some_grad.yaml").read_text()
    (root / "specs/some.yaml").write_text(SIGMOID)
    spec = load_specs([root / "specs"])[0]
    assert (spec.save, spec.choose_saved) == ((), False)
    capfd.readouterr()


def test_plan_says_what_each_alternative_moves(tmp_path: Path, capfd: Any) -> None:
    path = tmp_path / "op.yaml"
    path.write_text(SIGMOID + "cases:\n  - {x: [64, 100]}\n")
    assert app.run(["plan", str(path)]) == 0
    text = capfd.readouterr().out
    assert "y: saved; saved: backward moves 38,400, forward keeps 12,800" in text
    assert "bytes at x=64x100 in float16; eager PyTorch keeps 12,800" in text
    assert app.run(["plan", str(path), "--json"]) == 0
    saving = json.loads(capfd.readouterr().out)["plans"][0]["gradient"]["saving"]
    assert saving["save"] == ["y"] and len(saving["alternatives"]) == 2
    path.write_text(SIGMOID.replace("torch.sigmoid(x)", "torch.sin(x)"))
    assert app.run(["plan", str(path)]) == 0
    assert "y: computed again; eager PyTorch does not keep it" in capfd.readouterr().out


def test_the_choice_is_one_for_all_combinations_of_dtypes() -> None:
    # in float16 PyTorch keeps the result before it is rounded; in float32 the two are one
    assert chosen("torch.sigmoid(x.float()).to(x.dtype)").save == ()
    wide = replace(spec_of(SIGMOID), choose_saved=False)
    assert with_chosen_gradients(with_gradients([wide]))[0][0].save == ()
