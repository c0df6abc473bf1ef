"""A gradient asked of some inputs only: which subsets an op of gradients has, and what it gives."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from msopgen_wrap.families.planner import plan_op
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.asked_gradients import asked_outputs
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.function_source import function_source
from msopgen_wrap.spec.gradient import gradient_subsets
from msopgen_wrap.spec.loader import gradient_spec, parse_spec, with_gradients
from msopgen_wrap.spec.model import OpSpec


def op(
    inputs: str, compute: str, outputs: str = "{y: 'broadcast(a, b)'}", more: str = ""
) -> OpSpec:
    text = f"op: AnOp\ninputs: {inputs}\noutputs: {outputs}\n{more}compute: {compute}\n"
    result = parse_spec(text + "backward: kernel\n", "op.yaml")
    assert result.spec is not None, [str(d) for d in result.diagnostics]
    return result.spec


GATE = op("{a: float32, b: a}", "a * torch.sigmoid(b)")


@pytest.mark.parametrize(
    ("count", "values"),
    [
        (1, []),
        (2, ["all", "a", "b"]),
        (3, ["all", "a", "b", "c", "b+c"]),
        (4, ["all", "a", "b", "c", "d", "b+c+d"]),
        (5, ["all", "a", "b+c+d+e"]),
    ],
)
def test_the_subsets_are_those_that_models_ask_for(count: int, values: list[str]) -> None:
    names = "abcde"[:count]
    rows = ", ".join(["a: float32", *(f"{n}: {{dtype: a, shape: like a}}" for n in names[1:])])
    spec = op(f"{{{rows}}}", " * ".join(names), "{y: like a}")
    assert list(gradient_subsets(spec)) == values


def test_variants_of_the_op_leave_fewer_subsets() -> None:
    attrs = "attrs: {how: {type: str, default: p, allowed: [p, q, r, s, t]}, flag: false}\n"
    compute = "a * (2 if how == 'p' else 3) + (b if flag else 2 * b)"
    assert gradient_subsets(op("{a: float32, b: a}", compute, more=attrs)) == {}
    lists = op(
        "{a: {dtype: float32, list: true}, b: {dtype: a, list: true, shape: like a}}",
        "'[x * y for x, y in zip(a, b)]'",
        "{y: {dtype: a, list: true, shape: like a}}",
    )
    assert gradient_subsets(lists) == {}


def test_the_attr_gets_a_name_of_its_own() -> None:
    spec = op("{a: float32, b: a}", "a * b + asked", more="attrs: {asked: 1.0}\n")
    grad = gradient_spec(spec)
    assert [a.name for a in grad.attrs] == ["asked", "asked_"]
    values = {"a": torch.ones(2), "b": torch.full((2,), 3.0), "grad_y": torch.ones(2)}
    found = compile_compute(grad)(values, {"asked": 5.0, "asked_": "a"})
    assert found["grad_a"].tolist() == [3.0, 3.0] and found["grad_b"].numel() == 0


def test_what_is_not_asked_for_is_empty_in_the_reference_too() -> None:
    grad = gradient_spec(GATE)
    assert asked_outputs(grad, {}) == {"grad_a", "grad_b"}
    assert asked_outputs(grad, {"asked": "b"}) == {"grad_b"}
    a, b, weights = torch.randn(3, 4, 5).unbind()
    runtime: dict[str, Any] = {"torch": torch}
    path = data_dir("templates") / "torch_ext/runtime/gradients.py"
    exec(path.read_text("utf-8"), runtime)
    namespace: dict[str, Any] = {"torch": torch, "_vjp": runtime["vjp"]}
    exec(function_source(grad, "an_op_grad"), namespace)
    gate = torch.sigmoid(b)
    full = {"a": weights * gate, "b": weights * a * gate * (1 - gate)}
    for value, names in gradient_subsets(GATE).items():
        found = compile_compute(grad)({"a": a, "b": b, "grad_y": weights}, {"asked": value})
        again = namespace["an_op_grad"](a, b, weights, asked=value)
        for name, same in zip("ab", again, strict=True):
            wanted = full[name] if name in names else torch.empty(0)
            torch.testing.assert_close(found[f"grad_{name}"], wanted)
            torch.testing.assert_close(same, wanted)


def test_kernels_compute_only_what_is_asked_for() -> None:
    plan = plan_op(gradient_spec(GATE))
    made = [" ".join(p.name for p in part.spec.outputs) for part in plan.parts]
    assert made == ["grad_a grad_b", "grad_a", "grad_b"]
    reads = [{view.tensor for view in part.operands().values()} for part in plan.parts]
    assert reads == [{"a", "b", "grad_y"}, {"b", "grad_y"}, {"a", "b", "grad_y"}]


def test_a_gradient_op_of_a_user_may_compute_all_in_every_call() -> None:
    derived = gradient_spec(GATE)
    for text in (
        derived.source,
        derived.source.replace(' if asked in ("all", "a") else [0]', "")
        .replace(' if asked in ("all", "b") else [0]', "")
        .replace("attrs:\n  asked: {type: str, default: all, allowed: [all, a, b]}\n", "")
        .replace("gradient_of: |\n  y = a * torch.sigmoid(b)", "compute: grad_y, grad_y * a"),
    ):
        own = parse_spec(text, "own.yaml").spec
        assert own is not None
        assert with_gradients([GATE, own])[1].source == text


def test_an_output_that_nobody_uses_meets_no_infinite_derivative() -> None:
    runtime: dict[str, Any] = {"torch": torch}
    path = data_dir("templates") / "torch_ext/runtime/gradients.py"
    exec(path.read_text("utf-8"), runtime)
    x = torch.zeros(1)
    found = runtime["vjp"](lambda x: (x.sqrt(), x * 2), (x,), (None, torch.ones(1)))
    assert found[0].tolist() == [2.0]
    assert runtime["vjp"](lambda x: (x.sqrt(), x * 2), (x,), (None, None))[0].tolist() == [0.0]


ROOTS = op("{a: float32}", "a * 2, torch.sqrt(a)", "{y: like a, z: like a}")


def test_each_output_alone_has_a_variant_that_leaves_the_others_out() -> None:
    assert list(gradient_subsets(ROOTS)) == ["all", "all from y", "all from z"]
    both = "{a: float32, b: {dtype: a, shape: like a}}"
    two = op(both, "a * b, a + b", "{y: like a, z: like a}")
    assert list(gradient_subsets(two)) == ["all", "a", "b", "all from y", "all from z"]
    attrs = "attrs: {how: {type: str, default: p, allowed: [p, q, r, s]}}\n"
    compute = "a * (2 if how == 'p' else 3), a.sin()"
    several = op("{a: float32}", compute, "{y: like a, z: like a}", more=attrs)
    assert list(gradient_subsets(several)) == ["all", "all from y", "all from z"]


def test_outputs_without_gradient_take_no_part_in_the_references() -> None:
    grad = gradient_spec(ROOTS)
    runtime: dict[str, Any] = {"torch": torch}
    path = data_dir("templates") / "torch_ext/runtime/gradients.py"
    exec(path.read_text("utf-8"), runtime)
    namespace: dict[str, Any] = {"torch": torch, "_vjp": runtime["vjp"]}
    exec(function_source(grad, "roots_grad"), namespace)
    a, ones = torch.zeros(2), torch.ones(2)
    values = {"a": a, "grad_y": ones, "grad_z": torch.full((2,), torch.nan)}
    assert compile_compute(grad)(values, {"asked": "all from y"})["grad_a"].tolist() == [2.0, 2.0]
    assert namespace["roots_grad"](*values.values(), asked="all from y").tolist() == [2.0, 2.0]
    assert namespace["roots_grad"](a, ones, ones, asked="all").isinf().all()


def test_a_call_takes_the_variant_of_the_outputs_that_have_gradients() -> None:
    runtime: dict[str, Any] = {"torch": torch}
    path = data_dir("templates") / "torch_ext/runtime/gradients.py"
    exec(path.read_text("utf-8"), runtime)
    served, grad = runtime["served"], torch.ones(1)
    values = {"all from y": (0,), "all from z": (1,)}
    assert served((grad, grad), values) == ""
    assert served((None, grad), values) == "all from z"
    assert served((grad, None, grad), values) is None
    assert served(([grad, None],), {}) is None
