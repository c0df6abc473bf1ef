"""Formulas and values of the sweep over every pointwise lowering; see test_special_values.py."""

from __future__ import annotations

import ast
import functools
import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from harness import make_spec

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.schedule import (
    bessel_functions,
    comparisons,
    mathematics,
    number_parts,
    pointwise,
    special_functions,
)
from msopgen_wrap.schedule.calls import HANDLERS, Handler
from msopgen_wrap.spec.model import OpSpec, ShapeLike, TensorParam

MODULES = {
    module.__name__
    for module in (
        *(pointwise, mathematics, comparisons),
        *(special_functions, bessel_functions, number_parts),
    )
}
FLOATS = ("float32", "float16", "bfloat16")
INTEGERS = ("int32", "int16", "int8", "uint8", "bool")
# Outputs of one op: a kernel has 8 queues for them.
OUTPUTS = 8
# Inputs after the tensors of a formula: what a number argument of a schema becomes.
NUMBERS = {"float32": ("0.5", "-3.0"), "int32": ("3", "-5")}

ACTIVATIONS = (
    *("softplus", "elu", "selu", "celu", "hardswish", "hardsigmoid", "logsigmoid"),
    *("softsign", "tanhshrink", "hardshrink", "softshrink", "leaky_relu"),
)

# Lowerings that no formula reaches by its own name, or that need more than one.
FORMULAS: dict[str, tuple[str, ...]] = {
    "aten.add.Tensor": ("x + y", "torch.add(x, y, alpha=2)", "x + 1.5"),
    "aten.sub.Tensor": ("x - y", "1.5 - x"),
    "aten.div.Tensor": ("x / y", "x / 3.0", "2.0 / x"),
    "aten.div.Tensor_mode": (
        "torch.div(x, y, rounding_mode='floor')",
        "torch.div(x, y, rounding_mode='trunc')",
    ),
    "aten.floor_divide.default": ("x // y", "x // 3"),
    "aten.clamp.default": ("torch.clamp(x, -1.5, 2.0)", "torch.clamp(x, min=0.5)"),
    "aten.clamp.Tensor": ("torch.clamp(x, y, y + 1)",),
    "aten.hardtanh.default": ("F.hardtanh(x)", "F.relu6(x)"),
    "aten.relu.default": ("torch.relu(x)", "torch.relu(x + x)"),
    "aten.mish.default": ("F.mish(x)",),
    "aten.gelu.default": ("F.gelu(x)", "F.gelu(x, approximate='tanh')"),
    "aten.pow.Tensor_Scalar": tuple(
        f"x ** {e}" for e in ("2", "3", "8", "-1", "-3", "0.5", "-0.5", "2.5", "0", "9", "-7.5")
    ),
    "aten.pow.Tensor_Tensor": ("x ** y",),
    "aten.pow.Scalar": ("2.0 ** x", "0.5 ** x"),
    "aten.lerp.Scalar": ("torch.lerp(x, y, 0.3)",),
    "aten.lerp.Tensor": ("torch.lerp(x, y, torch.sigmoid(x))",),
    "aten.addcmul.default": ("torch.addcmul(x, y, y, value=0.5)",),
    "aten.addcdiv.default": ("torch.addcdiv(x, y, x, value=0.5)",),
    "aten._to_copy.default": (
        "x.to(torch.float16).to(torch.float32)",
        "x.to(torch.bfloat16).to(torch.float32)",
        "x.to(torch.bool)",
        "(x > 0).to(torch.float32)",
    ),
    "aten.copysign.Tensor": ("torch.copysign(x, y) + y",),
    "aten.where.self": (
        "torch.where(x > y, x, y)",
        "torch.where(x == x, 2.0, y)",
        "torch.where(x > 1, x, -5)",
    ),
    "aten.masked_fill.Scalar": ("x.masked_fill(x > 1, 3.0)",),
    "aten.full_like.default": ("torch.full_like(x, 2.5)", "torch.full_like(x, -5)"),
    "aten.full.default": ("x + torch.full([1], 2.5)",),
    "aten.scalar_tensor.default": ("x * torch.scalar_tensor(2.5)",),
    "aten.frexp.Tensor": ("torch.frexp(x)[0]", "torch.frexp(x)[1]"),
    "aten.bitwise_left_shift.Tensor": ("x << y",),
    "aten.bitwise_right_shift.Tensor": ("x >> y",),
    "aten.bitwise_left_shift.Tensor_Scalar": ("x << 3",),
    "aten.bitwise_right_shift.Tensor_Scalar": ("x >> 3",),
    "": (
        # compositions of torch.nn.functional, and what a user writes by hand
        *(f"F.{name}(x)" for name in ACTIVATIONS),
        "torch.logaddexp(x, y)",
        "torch.nan_to_num(x)",
        "torch.sinc(x)",
        "torch.xlogy(x, y)",
        "torch.logit(x)",
        "F.smooth_l1_loss(x, y, reduction='none')",
        "torch.nan_to_num(x).clamp(-100, 100).to(torch.int32)",
        "torch.nan_to_num(x).clamp(0, 100).to(torch.uint8)",
    ),
}


def lowerings() -> list[str]:
    """Return the ATen overloads that the pointwise modules lower."""
    return sorted(t for t, f in HANDLERS.items() if f.__module__ in MODULES)


def candidates(target: str, dtype: str) -> list[list[str]]:
    """Return groups of formulas that may reach an overload, made from its schema."""
    found = []
    namespace, name, overload = target.split(".")
    operator = getattr(getattr(getattr(torch.ops, namespace), name), overload)
    tensors, first, second = iter("xyw"), [], []
    numbers = NUMBERS.get(dtype, NUMBERS["int32" if dtype in INTEGERS else "float32"])
    for argument in operator._schema.arguments:
        kind = str(argument.type)
        if argument.has_default_value() or argument.kwarg_only:
            continue
        if "Tensor" in kind:
            text = next(tensors)
            first.append(text)
            second.append(text)
        else:
            first.append(numbers[0])
            second.append(numbers[1])
    for arguments in [first, second] if first != second else [first]:
        call = ", ".join(arguments)
        base = name.strip("_")
        mode = ", rounding_mode='floor'" if overload.endswith("_mode") else ""
        found.append(
            [
                f"torch.{base}({call}{mode})",
                f"F.{base}({call})",
                f"{arguments[0]}.{base}({', '.join(arguments[1:])})",
                f"torch.special.{base.removeprefix('special_')}({call})",
            ]
        )
    return found


def spec_of(
    formulas: list[str], dtypes: tuple[str, ...], outputs: list[tuple[str, ...]] | None = None
) -> OpSpec:
    """Return an op with one output per formula, of the given dtypes each (default: the inputs')."""
    names = [f"z{i}" for i in range(len(formulas))]
    code = "\n".join(f"{n} = {f}" for n, f in zip(names, formulas, strict=True))
    inputs = " ".join(n for n in "xyw" if any(uses(f, n) for f in formulas)) or "x"
    spec = make_spec(code, inputs, " ".join(names), dtypes=dtypes)
    first = inputs.split()[0]
    params = tuple(
        TensorParam(n, d, shape=ShapeLike(first))
        for n, d in zip(names, outputs or [dtypes] * len(names), strict=True)
    )
    return replace(spec, outputs=params)


@functools.cache
def uses(formula: str, name: str) -> bool:
    """Whether a formula reads the input ``name``."""
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(ast.parse(formula)))


def evaluate(
    formula: str, inputs: dict[str, torch.Tensor], dtype: torch.dtype | None
) -> torch.Tensor | None:
    """Compute a formula with PyTorch, floating-point inputs in ``dtype``; None when it cannot."""
    values = {n: v.to(dtype) if dtype and v.is_floating_point() else v for n, v in inputs.items()}
    try:
        result = eval(formula, {"torch": torch, "F": torch.nn.functional, "math": math, **values})
    except Exception:
        return None
    return result if isinstance(result, torch.Tensor) else None


def output_dtype(formula: str, dtype: str) -> str | None:
    """Return the dtype of a formula's result, None for an error and what no kernel stores."""
    ones = {n: torch.ones(4, dtype=getattr(torch, dtype)) for n in "xyw"}
    result = evaluate(formula, ones, None)
    name = None if result is None else str(result.dtype).removeprefix("torch.")
    return None if name in ("int64", "float64") else name


@functools.lru_cache(maxsize=1)
def formulas() -> dict[str, set[str]]:
    """Return the formulas of the table, and one per overload and set of numbers beside them.

    Returns:
        formula -> dtypes it is tried for: a number with a fraction says nothing of small integers.
    """
    found = {f: {"float32", *INTEGERS} for group in FORMULAS.values() for f in group}
    for target in lowerings():
        for dtype in () if target in FORMULAS else ("float32", "int32", "bool"):
            tried = {"float32", "int32"} if dtype == "float32" else set(INTEGERS)
            for forms in candidates(target, dtype):
                runs = [f for f in forms if output_dtype(f, dtype) and uses(f, "x")]
                for formula in runs[:1]:
                    found.setdefault(formula, set()).update(tried)
    return found


@dataclass
class Sweep:
    """What is swept.

    Attributes:
        dtypes: formula -> dtypes that it is planned for.
        reached: the overloads whose lowerings that used.
    """

    dtypes: dict[str, list[str]]
    reached: set[str]


@functools.lru_cache(maxsize=1)
def planned() -> Sweep:
    """Plan every formula for every dtype, many in one op: a trace costs more than a formula.

    A narrow integer is computed as int32 and wrapped, so only results of its own dtype and masks
    say anything that int32's did not.
    """
    sweep, swept = Sweep({}, set()), formulas()
    handlers = dict(HANDLERS)
    try:
        for target, handler in handlers.items():
            HANDLERS[target] = _noted(handler, target, sweep.reached)
        for dtype in ("float32", *INTEGERS):
            narrow = dtype in INTEGERS and dtype != "int32"
            own = (dtype, "bool") if narrow else ("float32", "int32", "bool")
            rows = [f for f, t in swept.items() if dtype in t and output_dtype(f, dtype) in own]
            for group in groups(rows):
                accepted = _accepted(group, dtype)
                halves = _accepted(accepted, "float16") if dtype == "float32" else []
                for formula in accepted:
                    # the program of a half is that of float32 with conversions around it
                    kinds = FLOATS if formula in halves else (dtype,)
                    kinds = tuple(k for k in kinds if output_dtype(formula, k))
                    sweep.dtypes[formula] = [*sweep.dtypes.get(formula, []), *kinds]
    finally:
        HANDLERS.update(handlers)
    return sweep


def _noted(handler: Handler, target: str, reached: set[str]) -> Handler:
    def noted(low: Any, node: Any) -> Any:
        result = handler(low, node)  # a refusal is not reached
        reached.add(target)
        return result

    return noted


def _accepted(rows: list[str], dtype: str) -> list[str]:
    """Return the formulas that the planner does not refuse, halving a group that it does."""
    try:
        plan_op(spec_of(rows, (dtype,), [(str(output_dtype(f, dtype)),) for f in rows]))
        return rows
    except OpgenError:
        middle = len(rows) // 2
        if not middle:
            return []
        return _accepted(rows[:middle], dtype) + _accepted(rows[middle:], dtype)


# Lowerings that no formula of ``compute`` reaches: PyTorch decomposes the call before, or its
# tracer writes another overload (``.Tensor`` with a number, ``__lshift__`` for a shift).
UNREACHED = {
    "aten.add.Scalar",
    "aten.addcdiv.default",
    "aten.addcmul.default",
    "aten.bitwise_left_shift.Tensor",
    "aten.bitwise_left_shift.Tensor_Scalar",
    "aten.bitwise_right_shift.Tensor",
    "aten.bitwise_right_shift.Tensor_Scalar",
    "aten.clamp_max.default",
    "aten.clamp_min.Tensor",
    "aten.clamp_min.default",
    "aten.copy.default",
    "aten.div.Scalar",
    "aten.div.Scalar_mode",
    "aten.empty.memory_format",  # what decompositions make for its shape; the values are never read
    "aten.empty_like.default",
    "aten.empty_permuted.default",
    "aten.fill.Scalar",
    "aten.fill.Tensor",
    "aten.floor_divide.default",
    "aten.frac.default",
    "aten.hardtanh.default",
    "aten.isfinite.default",
    "aten.masked_fill.Scalar",
    "aten.masked_fill.Tensor",
    "aten.mul.Scalar",
    "aten.new_empty.default",
    "aten.ones.default",
    "aten.ones_like.default",
    "aten.rsub.Scalar",
    "aten.rsub.Tensor",
    "aten.sgn.default",
    "aten.silu.default",
    "aten.square.default",
    "aten.sub.Scalar",
    "aten.to.dtype",
    "aten.where.Scalar",
    "aten.where.ScalarOther",
    "aten.where.ScalarSelf",
    "aten.zeros.default",
    "aten.zeros_like.default",
    "prims.convert_element_type.default",
}
# Formulas that are refused for every dtype: shifts by a tensor, and names that ``compute`` lacks.
REFUSED = {
    "torch.empty_like(x)",
    "x.new_empty(3)",
}


# ---- values ---------------------------------------------------------------------------------


def singles(dtype: str) -> torch.Tensor:
    """Return the values a lowering of one tensor is tried on."""
    kind = getattr(torch, dtype)
    if dtype == "bool":
        return torch.tensor([False, True])
    if dtype in INTEGERS:
        info = torch.iinfo(kind)
        values = {info.min, info.min + 1, info.max, info.max - 1, *range(-9, 10), 100, -100, 127}
        values |= {1 << k for k in range(31)} | {-(1 << k) for k in range(31)} | {16777217, 1000003}
        return torch.tensor(sorted(v for v in values if info.min <= v <= info.max), dtype=kind)
    info = torch.finfo(kind)
    smallest = float(info.smallest_normal) * float(info.eps)
    near = [1 + float(info.eps), 1 - float(info.eps) / 2]
    ties = [k + 0.5 for k in range(6)] + [1e-5, 0.1, 0.3, 0.7, 1.3, 2047.5, 4095.5]
    whole = [0, 1, 2, 3, 4, 5, 7, 10, 16, 31, 88, 89, 104, 127, 128, 255, 1000, 4097, 65504]
    large = [8388607.0, 8388609.0, 16777215.0, 1e10, 1e20, 8e37, 3e38, float(info.max)]
    small = [smallest, float(info.smallest_normal), 1.2e-38, 1e-30, 1e-10]
    small += [float(info.smallest_normal) - smallest, smallest * 3]
    turns = [math.pi * k / 2 for k in (1, 2, 3, 4, 7, 1000, 100001)] + [math.pi / 4, math.e]
    generator = torch.Generator().manual_seed(7)
    drawn = (torch.randn(60, generator=generator) * 4).tolist()
    spread = torch.exp((torch.rand(60, generator=generator) - 0.5) * 170).tolist()
    values = [float(v) for v in (*near, *ties, *whole, *large, *small, *turns, math.inf)]
    values = [*values, *(-v for v in values), math.nan, *drawn, *spread]
    return torch.tensor(values, dtype=torch.float64).to(kind)


def pairs(dtype: str) -> list[torch.Tensor]:
    """Return the pairs (and a third value) lowerings of several tensors are tried on."""
    values = singles(dtype)
    if dtype in FLOATS:
        values = values[: -60 - 60 + 10]
    a, b = torch.cartesian_prod(torch.arange(len(values)), torch.arange(len(values))).unbind(1)
    return [values[a], values[b], values[(a + 3 * b) % len(values)]]


def groups(rows: list[str], size: int = OUTPUTS) -> list[list[str]]:
    """Cut formulas into ops of ``size`` outputs, those that read one tensor apart."""
    found = []
    for several in (False, True):
        block = [f for f in rows if any(uses(f, n) for n in "yw") is several]
        found += [block[i : i + size] for i in range(0, len(block), size)]
    return found
