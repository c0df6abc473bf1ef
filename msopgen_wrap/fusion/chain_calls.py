"""Steps of a chain that are written as calls: of any pointwise operator of PyTorch."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.fusion.chains import reduced_axes
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node
Writer = Callable[[Any, dict[str, Any], dict[str, str]], "str | None"]

# Pointwise operators of ATen whose functions have other names; not all are tagged as pointwise.
_FUNCTIONS = {
    "log_sigmoid": "F.logsigmoid",
    "special_expit": "torch.sigmoid",
    "__and__": "torch.bitwise_and",
    "__or__": "torch.bitwise_or",
    "__xor__": "torch.bitwise_xor",
}
_NOT_WRITTEN = ("out", "layout", "device", "pin_memory", "memory_format", "generator")


def call_text(node: Any, given: dict[str, Any], text: dict[str, str]) -> str | None:
    """Return the call of a pointwise operator, None for another or one without a function.

    Args:
        given: arguments by the names of the operator's schema.
        text: what stands in the formula for each of them.
    """
    target = node.target
    schema = target._schema
    name = schema.name.removeprefix("aten::")
    function = _function_of(name)
    if torch.Tag.pointwise not in target.tags and name not in _FUNCTIONS:
        return None
    if function is None or schema.is_mutable or len(schema.returns) != 1:
        return None
    words = []
    for argument in schema.arguments:
        value = given.get(argument.name)
        if argument.name in _NOT_WRITTEN or is_default(node, argument.name, value):
            continue
        if isinstance(value, float) and not math.isfinite(value):
            words.append(_keyword(argument, number_text(value)))
        elif isinstance(value, (Node, bool, int, float, str)):
            words.append(_keyword(argument, text[argument.name]))
        else:
            return None
    return f"{function}({', '.join(words)})"


def number_text(value: float) -> str:
    """Return a number as it stands in a formula."""
    return repr(value) if math.isfinite(value) else f'float("{value}")'


def _keyword(argument: Any, value: str) -> str:
    positional = not argument.kwarg_only and not argument.has_default_value()
    return value if positional else f"{argument.name}={value}"


def _function_of(name: str) -> str | None:
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    if name.startswith("special_"):
        short = name.removeprefix("special_")
        return f"torch.special.{short}" if hasattr(torch.special, short) else None
    if hasattr(torch, name):
        return f"torch.{name}"
    return f"F.{name}" if hasattr(torch.nn.functional, name) else None


def is_default(node: Any, name: str, value: Any) -> bool:
    """Whether an argument of a call has the value that it has when it is left out."""
    for argument in node.target._schema.arguments:
        if argument.name == name and argument.has_default_value():
            return bool(argument.default_value == value)
    return False


def has_kernel(node: Any, text: str, names: dict[Any, str]) -> bool:
    """Whether an op of this step alone can be planned.

    A step that no kernel can do would take the kernel from the chain around it.

    Args:
        text: the step as a formula.
        names: operands of the step -> their names in the formula.
    """
    dtypes = tuple((name, _dtype(n)) for n, name in names.items())
    return _plans(text, dtypes, _dtype(node))


def _dtype(node: Any) -> str:
    return str(node.meta["val"].dtype).removeprefix("torch.")


@functools.lru_cache(maxsize=1024)
def _plans(text: str, inputs: tuple[tuple[str, str], ...], result: str) -> bool:
    from msopgen_wrap.families import plan_op

    rows = ["op: Step", "inputs:", *(f"  {name}: {{dtype: {dtype}}}" for name, dtype in inputs)]
    shape = f"broadcast({', '.join(name for name, _ in inputs)})"
    rows += ["outputs:", f'  y: {{dtype: {result}, shape: "{shape}"}}', "compute: |"]
    spec = parse_spec("\n".join([*rows, f"  y = {text}", ""])).spec
    if spec is None:
        return False
    try:
        plan_op(spec)
    except OpgenError:
        return False
    return True


def axes_text(node: Any) -> str:
    """Return the axes that a step reduces as they stand in a formula, empty where it has none."""
    axes = reduced_axes(node)
    return str(axes[0] if len(axes) == 1 else axes) if axes else ""


def _along(node: Any, given: dict[str, Any]) -> str | None:
    """Return the axes of a reduction, and whether they are kept."""
    where = axes_text(node)
    if not where or given.get("dtype") is not None:
        return None
    return f"{where}, keepdim={bool(given.get('keepdim'))}"


def _reduced_text(function: str) -> Writer:
    def write(node: Any, given: dict[str, Any], text: dict[str, str]) -> str | None:
        along = _along(node, given)
        return None if along is None else f"{function}({text['self']}, {along})"

    return write


def _spread_text(function: str) -> Writer:
    def write(node: Any, given: dict[str, Any], text: dict[str, str]) -> str | None:
        along = _along(node, given)
        unbiased = given.get("unbiased")
        correction = given.get("correction", 1 if unbiased is None else int(unbiased))
        correction = 1 if correction is None else correction
        if along is None or correction not in (0, 1):
            return None
        return f"{function}({text['self']}, {along}, unbiased={bool(correction)})"

    return write


def _vector_norm_text(node: Any, given: dict[str, Any], text: dict[str, str]) -> str | None:
    along, order = _along(node, given), given.get("ord", 2)
    if along is None or order not in (1, 2):
        return None
    return f"torch.norm({text['self']}, p={int(order)}, dim={along})"


def _expanded_text(node: Any, given: dict[str, Any], text: dict[str, str]) -> str | None:
    return f"{text['self']}.expand_as({text['other']})"


# Reductions of one operand along `dim`, and what spreads their results.
WRITERS: dict[str, Writer] = {
    "expand_as": _expanded_text,
    "var": _spread_text("torch.var"),
    "std": _spread_text("torch.std"),
    "logsumexp": _reduced_text("torch.logsumexp"),
    "prod": _reduced_text("torch.prod"),
    "linalg_vector_norm": _vector_norm_text,
}
