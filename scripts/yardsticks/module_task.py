"""Tasks that are a file with ``Model``, ``get_inputs`` and ``get_init_inputs``, made small.

The files of KernelBench and of MultiKernelBench have this form. Their sizes are those of a device:
tensors of gigabytes. A task is loaded with smaller numbers in place of the large ones that stand
outside its classes; different numbers stay different, and what is calculated from them follows.
Where parameters are too large all the same, the numbers inside the classes become smaller, too.
Where none of these sizes fit one another (an upsampled axis that has to equal another size), all
large numbers are divided by one power of two, so that their ratios stay.
"""

from __future__ import annotations

import ast
import itertools
import math
import types
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

#: Numbers up to the first are left as they are; the next is tried while tensors are too large.
LIMITS = (64, 48, 32, 24, 16, 8)
#: Of all inputs; the second where no limit keeps to the first (three axes, batch and channels).
ELEMENTS_AT_MOST = (150_000, 500_000)
PARAMETERS_AT_MOST = 500_000
#: What large numbers are divided by, and the least number that is divided.
DIVISORS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
DIVIDED_FROM = 16


@dataclass
class ModuleTask:
    """A loaded task.

    Attributes:
        model: as the task makes it: in training, as the benchmarks run it.
        inputs: arguments of a call.
        limit: the largest number that was left as it was; 0 where numbers were divided.
    """

    name: str
    model: torch.nn.Module
    inputs: list[Any]
    limit: int


class _Smaller(ast.NodeTransformer):
    """Writes smaller numbers into a module, except into definitions of numbers by other ones.

    Args:
        smaller: number -> what stands for it.
        in_classes: write into classes, too.
    """

    def __init__(self, smaller: dict[int, int], in_classes: bool) -> None:
        self.smaller, self.in_classes = smaller, in_classes

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self.generic_visit(node) if self.in_classes else node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if type(node.value) is int and node.value in self.smaller:
            return ast.copy_location(ast.Constant(self.smaller[node.value]), node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Take ``8192 * 2`` as the number that it is, and ``n // 2`` as what it follows from."""
        value = _number(node)
        if value is not None:
            return ast.copy_location(ast.Constant(self.smaller.get(value, value)), node)
        return self.generic_visit(node)


def _number(node: ast.expr) -> int | None:
    """Return the value of arithmetic between whole numbers, None where there is a name in it."""
    if any(isinstance(n, (ast.Name, ast.Call, ast.Attribute)) for n in ast.walk(node)):
        return None
    try:
        value = eval(compile(ast.Expression(node), "number", "eval"), {"__builtins__": {}})
    except Exception:
        return None
    return value if type(value) is int else None


class _Numbers(ast.NodeVisitor):
    """Finds the whole numbers that :class:`_Smaller` may replace."""

    def __init__(self, in_classes: bool) -> None:
        self.found: set[int] = set()
        self.in_classes = in_classes

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if self.in_classes:
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if type(node.value) is int:
            self.found.add(node.value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        value = _number(node)
        if value is None:
            self.generic_visit(node)
        else:
            self.found.add(value)


def smaller_numbers(tree: ast.Module, limit: int, in_classes: bool) -> dict[int, int]:
    """Return what stands for the numbers above ``limit``, in their order.

    All are multiples of 4, and every second one of 8: heads and groups divide them.
    """
    numbers = _Numbers(in_classes)
    numbers.visit(tree)
    large = sorted(n for n in numbers.found if n > limit)
    step = 8 if limit > 16 else 4
    return {n: limit + step * rank for rank, n in enumerate(large)}


def divided_numbers(tree: ast.Module, divisor: int) -> dict[int, int]:
    """Return the large numbers outside classes divided by a power of two; odd factors stay.

    A number that the divisor does not divide, such as 24 by 16, is divided as often as it can be.
    """
    numbers = _Numbers(in_classes=False)
    numbers.visit(tree)
    found = {}
    for number in numbers.found:
        if number >= DIVIDED_FROM:
            found[number] = number // math.gcd(number, divisor)
    return found


@dataclass(frozen=True)
class Shrink:
    """A way to make the numbers of a task small.

    Attributes:
        limit: numbers above it are replaced by others in their order; 0 to divide instead.
        divisor: what large numbers are divided by.
        most: elements of all inputs.
        in_classes: replace the numbers inside classes, too.
    """

    limit: int
    divisor: int
    most: int
    in_classes: bool

    def numbers(self, tree: ast.Module) -> dict[int, int]:
        """Return number -> what stands for it."""
        if self.limit:
            return smaller_numbers(tree, self.limit, self.in_classes)
        return divided_numbers(tree, self.divisor)


def shrinks() -> list[Shrink]:
    """Return the ways in the order in which they are tried."""
    ranked = itertools.product((False, True), ELEMENTS_AT_MOST, LIMITS)
    divided = itertools.product(ELEMENTS_AT_MOST, DIVISORS)
    return [
        *(Shrink(limit, 1, most, in_classes) for in_classes, most, limit in ranked),
        *(Shrink(0, divisor, most, in_classes=False) for most, divisor in divided),
    ]


def _loaded(path: Path, shrink: Shrink) -> ModuleTask:
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    smaller = shrink.numbers(tree)
    tree = ast.fix_missing_locations(_Smaller(smaller, shrink.in_classes).visit(tree))
    module = types.ModuleType(f"task_{path.stem}")
    module.__file__ = str(path)
    torch.manual_seed(0)
    exec(compile(tree, str(path), "exec"), module.__dict__)
    with torch.device("meta"):  # what the inputs would take, before they are made
        elements = sum(t.numel() for t in _tensors(_inputs(module)))
    if elements > shrink.most:
        raise MemoryError(f"{elements} elements")
    init = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
    elements = _parameter_elements(module, init)
    if elements > PARAMETERS_AT_MOST:
        raise MemoryError(f"{elements} elements of parameters")
    model = module.Model(*init)
    return ModuleTask(path.stem, model, _inputs(module), shrink.limit)


def _parameter_elements(module: types.ModuleType, init: Sequence[Any]) -> int:
    """Count the elements of parameters without making them; 0 for a model that needs values."""
    try:
        with torch.device("meta"):
            return sum(p.numel() for p in module.Model(*init).parameters())
    except (NotImplementedError, RuntimeError):  # reads a value, as `.item()` does
        return 0


def _inputs(module: types.ModuleType) -> list[Any]:
    found = module.get_inputs()
    return list(found) if isinstance(found, (list, tuple)) else [found]


def _tensors(values: Sequence[Any]) -> list[torch.Tensor]:
    return [v for v in values if isinstance(v, torch.Tensor)]


def load_task(path: Path) -> ModuleTask:
    """Load a task with the largest sizes that are small enough.

    Running it executes the file. Its model is run once, so that sizes that do not fit one another
    are found here.

    Raises:
        Exception: whatever the task raises at all limits; of the largest.
    """
    first: Exception | None = None
    for shrink in shrinks():
        try:
            task = _loaded(path, shrink)
            with torch.no_grad():
                task.model(*_copies(task.inputs))
            return task
        except Exception as error:
            if first is None or isinstance(first, MemoryError):
                first = error
    assert first is not None
    raise first


def _copies(values: Sequence[Any]) -> list[Any]:
    return [v.clone() if isinstance(v, torch.Tensor) else v for v in values]
