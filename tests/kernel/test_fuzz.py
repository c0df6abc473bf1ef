"""Random ops, schedules and shapes: right numbers and a silent sanitizer, whatever the op.

A seed makes one op: elementwise with broadcasting, or a row kernel (reductions, softmax and norm
shapes of several tile sizes). Each runs in check mode as the compiler would build it and, since
generated kernels order their instructions themselves, with auto-sync off.
"""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from formula_draw import draw
from formula_gradients import GradientExaminer, differentiable, unsteady
from harness import THRESHOLD, BuiltOp, make_spec
from random_formulas import Examiner, Outcome, shrunk

from msopgen_wrap.build.emulation_library import load_emulation_library
from msopgen_wrap.spec.model import DimOf, DimSlice, ShapeLike, ShapeList

UNARY = (
    "torch.relu({0})",
    "{0}.abs()",
    "-{0}",
    "torch.sigmoid({0})",
    "torch.tanh({0})",
    "torch.exp(-{0}.abs())",
    "torch.sqrt({0}.abs() + 0.5)",
    "torch.log({0}.abs() + 1.5)",
    "{0} * {0}",
    "F.gelu({0})",
    "torch.clamp({0}, -1.5, 2.0)",
    "1.0 / ({0}.abs() + 1.0)",
)
BINARY = (
    "({0} + {1})",
    "({0} - {1})",
    "({0} * {1})",
    "torch.maximum({0}, {1})",
    "torch.minimum({0}, {1})",
    "({0} / ({1}.abs() + 1.0))",
    "torch.where({0} > {1}, {0}, {1} * 0.5)",
    "torch.where({0} == 0, {1}, {0})",
)
INTEGER = (
    "({0} + {1})",
    "({0} - {1})",
    "({0} * {1})",
    "torch.maximum({0}, {1})",
    "torch.where({0} > {1}, {0}, -{1})",
)
ROW = (
    "{0}.sum(-1, keepdim=True)",
    "{0}.mean(-1, keepdim=True)",
    "{0}.amax(-1, keepdim=True)",
    "{0}.amin(-1, keepdim=True)",
    "({0} * {0}).mean(-1, keepdim=True)",
)
COLUMNS = (1, 7, 8, 64, 65, 129, 1000, 4099, 20000)


def expression(rng: random.Random, names: list[str], ops: int, integer: bool = False) -> str:
    """Return a random expression that uses every name."""
    terms = list(names)
    while ops > 0 or len(terms) > 1:
        ops -= 1
        if len(terms) > 1 and (ops < len(terms) or rng.random() < 0.5):
            a, b = terms.pop(rng.randrange(len(terms))), terms.pop(rng.randrange(len(terms)))
            terms.append(rng.choice(INTEGER if integer else BINARY).format(a, b))
        elif integer:
            at = rng.randrange(len(terms))
            terms[at] = rng.choice(INTEGER).format(terms[at], rng.choice(names))
        else:
            at = rng.randrange(len(terms))
            terms[at] = rng.choice(UNARY).format(f"({terms[at]})")
    return terms[0]


def elementwise(rng: random.Random, folder: Path) -> tuple[BuiltOp, list[dict[str, torch.Tensor]]]:
    """Make an op of one to three inputs with broadcasting, and its inputs."""
    names = ["x", "y", "w"][: rng.randint(1, 3)]
    dtype = rng.choice(("float16", "float32", "bfloat16", "float32", "int32", "int16"))
    integer = dtype.startswith("int")
    code = expression(rng, names, rng.randint(1, 6), integer)
    op = BuiltOp(make_spec(code, " ".join(names), dtypes=(dtype,)), folder)
    cases = []
    for _ in range(4):
        rank = rng.randint(1, 4)
        largest = (40000, 300, 20, 9)[rank - 1]
        full = [rng.choice((1, 2, 7, 8, rng.randint(1, largest))) for _ in range(rank)]
        inputs = {}
        for number, name in enumerate(names):
            shape = [1 if number and rng.random() < 0.3 else n for n in full]
            shape = shape[rng.randint(0, rank - 1) if number and rng.random() < 0.3 else 0 :]
            inputs[name] = data(rng, shape, dtype)
        cases.append(inputs)
    return op, cases


def row(rng: random.Random, folder: Path) -> tuple[BuiltOp, list[dict[str, torch.Tensor]]]:
    """Make an op that reduces rows and may use the result on every element."""
    dtype = rng.choice(("float16", "float32", "bfloat16", "float32"))
    scaled = rng.random() < 0.5
    names = ["x", "gamma"] if scaled else ["x"]
    lines = [f"r = {rng.choice(ROW).format(expression(rng, ['x'], rng.randint(0, 2)))}"]
    if rng.random() < 0.4:
        lines.append(f"s = {rng.choice(ROW).format(expression(rng, ['x', 'r'], 1))}")
        lines.append("r = r + s")
    lines.append(f"z = {expression(rng, ['x', 'r', *names[1:]], rng.randint(1, 4))}")
    outputs, shapes = "z", {"z": ShapeLike("x")}
    if rng.random() < 0.3:
        lines.append("m = x.amax(-1)")
        outputs, shapes["m"] = "z m", ShapeList((DimSlice("x", None, -1),))
    spec = make_spec(
        "\n".join(lines),
        " ".join(names),
        outputs,
        dtypes=(dtype,),
        shapes=shapes,
        input_shapes={"gamma": ShapeList((DimOf("x", -1),))} if scaled else None,
    )
    op = BuiltOp(spec, folder)
    cases = []
    for _ in range(4):
        columns = rng.choice(COLUMNS)
        rows = rng.randint(1, max(1, min(300, 60000 // columns)))
        shape = [rng.randint(1, 3), rows, columns] if rng.random() < 0.3 else [rows, columns]
        inputs = {"x": data(rng, shape, dtype)}
        if scaled:
            inputs["gamma"] = data(rng, [columns], dtype)
        cases.append(inputs)
    return op, cases


def data(rng: random.Random, shape: list[int], dtype: str) -> torch.Tensor:
    """Return values of moderate size."""
    generator = torch.Generator().manual_seed(rng.randrange(1 << 30))
    kind = getattr(torch, dtype)
    if dtype.startswith("int"):
        return torch.randint(-9, 10, shape, generator=generator).to(kind)
    return (torch.randn(shape, generator=generator) * 2).to(kind)


def close(actual: torch.Tensor, golden: torch.Tensor) -> bool:
    """Compare by the rule's bound, on the scale of the intermediate values."""
    if not actual.is_floating_point():
        return torch.equal(actual, golden.to(actual.dtype))
    bound = 10 * THRESHOLD[str(actual.dtype).removeprefix("torch.")] * (golden.abs() + 4)
    # What is too large for the dtype, or nearly so, may be infinite.
    may_overflow = golden.abs() + bound > torch.finfo(actual.dtype).max
    infinite = actual.double() == golden.sign() * torch.inf
    near = (actual.double() - golden).abs() <= bound
    return bool((near | (may_overflow & infinite)).all())


def fuzz(seed: int, folder: Path) -> None:
    """Make the op of a seed and run it."""
    rng = random.Random(seed)
    op, cases = (row if rng.random() < 0.5 else elementwise)(rng, folder)
    library = load_emulation_library()
    for inputs in cases:
        place = (op.spec.compute.text, {k: tuple(v.shape) for k, v in inputs.items()})
        for auto_sync in (b"on", b"off"):
            assert library.opgen_sanitizer_option(b"auto-sync=" + auto_sync) == 0
            try:
                outputs, golden, result = op.run(
                    inputs, {}, mode="check", block_dim=rng.choice((0, 0, 1, 3))
                )
            finally:
                library.opgen_sanitizer_option(b"auto-sync=on")
            assert result.findings == [], (place, auto_sync, result.findings[0])
            for name, value in outputs.items():
                assert close(value, golden[name]), (place, name)


def test_late_load_orders_what_came_before(tmp_path: Path) -> None:
    """A float32 operand needs no conversion, but the product before its load must be complete."""
    op = BuiltOp(make_spec("x * 3.0 + y", "x y"), tmp_path)
    library = load_emulation_library()
    assert library.opgen_sanitizer_option(b"auto-sync=off") == 0
    try:
        inputs = {"x": torch.arange(1000.0), "y": torch.ones(1000)}
        outputs, golden, result = op.run(inputs, {}, mode="check")
    finally:
        library.opgen_sanitizer_option(b"auto-sync=on")
    assert result.findings == []
    assert torch.equal(outputs["z"], golden["z"].float())


@pytest.mark.parametrize("seed", range(3))
def test_random_ops(seed: int, tmp_path: Path) -> None:
    fuzz(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 203))
def test_many_random_ops(seed: int, tmp_path: Path) -> None:
    fuzz(seed, tmp_path)


# ---- Formulas drawn at random are right, or refused with a code ----------------------------------

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def test_a_seed_makes_the_same_formula_every_time():
    assert [draw(s).spec("F") for s in range(40)] == [draw(s).spec("F") for s in range(40)]


def test_formulas_are_planned_or_refused_with_a_code(tmp_path):
    examiner = Examiner(tmp_path)
    outcomes = [examiner.plan(draw(seed)) for seed in range(2000, 2006)]
    assert {o.kind for o in outcomes} <= {"planned", "refused"}, outcomes
    assert all(o.key.startswith("OPG") for o in outcomes if o.kind == "refused")


class _WithoutLowering:
    """A formula that no family makes."""

    def spec(self, name):
        return (
            f"op: {name}\ninputs:\n  x: float32\noutputs:\n  z: like x\n"
            "compute: torch.special.airy_ai(x)\n"
        )


def test_a_refusal_is_no_finding(tmp_path):
    outcome = Examiner(tmp_path).plan(_WithoutLowering())
    assert (outcome.kind, outcome.key[:6]) == ("refused", "OPG331")
    assert not outcome.is_finding


class _Refuser(Examiner):
    """Finds fault with every formula that has a given text."""

    def plan(self, formula):
        return Outcome("exception" if "atan2" in formula.spec("F") else "planned")

    run = plan


def test_a_finding_is_shrunk_to_what_makes_it(tmp_path):
    examiner = _Refuser(tmp_path)
    formula = next(f for f in map(draw, range(1000)) if "atan2" in f.spec("F"))
    small, outcome = shrunk(formula, examiner.plan(formula), examiner)
    assert outcome.kind == "exception"
    assert len(small.outputs) == 1 and "atan2" in small.lines()[-1]


def test_gradients_are_planned_or_refused_with_a_code(tmp_path):
    drawn = [differentiable(draw(seed)) for seed in range(4000, 4005)]
    assert sum(formula is not None for formula in drawn) >= 3
    examiner = GradientExaminer(tmp_path)
    outcomes = [examiner.plan(formula) for formula in drawn if formula is not None]
    assert {o.kind for o in outcomes} <= {"planned", "refused"}, outcomes
    assert "planned" in {o.kind for o in outcomes}
    assert all(o.key.startswith("OPG") for o in outcomes if o.kind == "refused")


def test_elements_at_a_jump_are_left_out_and_no_others():
    golden = torch.tensor([1.0, -1.0, 2.0, 1e6], dtype=torch.float64)
    moved = torch.tensor([-1.0, -1.0, 2.0 + 1e-6, 1e6 + 1], dtype=torch.float64)
    assert unsteady(golden, [golden, moved], torch.float32).tolist() == [True, False, False, False]


@pytest.mark.slow
@pytest.mark.parametrize(("more", "words"), [([], " right"), (["--gradients"], "autograd right")])
def test_a_sample_of_formulas_is_right(more, words):
    command = [sys.executable, str(SCRIPTS / "random_formulas.py"), "--first", "3000", *more]
    command += ["--count", "20", "--batch", "4", "--seconds", "900"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert words in done.stdout
