"""``compute`` of a spec as a function of tensors, and why it cannot be traced."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.torch_import import torch

# Parts of torch come after its door.
# isort: split
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode


def compute_function(
    spec: OpSpec, replacements: dict[str, Any] | None = None
) -> Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]:
    """Return ``compute`` as ``f(inputs, attrs) -> outputs`` (guarded, no builtins).

    The function of a part returns all outputs of the whole op.

    Args:
        replacements: values for names in ``compute`` and for the helpers that it is rewritten to.
    """
    return compile_compute(spec.whole or spec, wrap_errors=False, replacements=replacements)


fake_tensor = torch._subclasses.fake_tensor

# What PyTorch says of an operator whose sizes cannot be symbols.
_NEEDS_NUMBERS = (
    "SymIntArrayRef expected to contain only concrete integers",
    "INTERNAL ASSERT FAILED",
    "on tensor with symbolic sizes/strides",
)


# Where PyTorch refuses to differentiate a function by one of its arguments.
_NO_DERIVATIVE = re.compile(
    r"The function '(\w+)' is not differentiable with respect to argument '(\w+)'"
)


def trace_failure(spec: OpSpec, failure: Exception | None) -> Diagnostic:
    """Return OPG201 for the first of the errors that tracing the sample shapes ended in."""
    assert spec.compute is not None
    text = str(failure).strip().splitlines()[0] if failure and str(failure).strip() else ""
    text = text or type(failure).__name__
    by_value = (
        fake_tensor.DataDependentOutputException,
        fake_tensor.DynamicOutputShapeException,
        GuardOnDataDependentSymNode,
    )
    why = "it is run on sample tensors of every accepted rank and on the shapes of `cases`"
    fix = "give input `rank`/`shape` rules or a case whose shapes compute accepts"
    if isinstance(failure, by_value):
        text = f"it asks for the values of a tensor ({text})"
        why = "its graph is traced once, with sizes and no values, and the kernel serves all values"
        fix = (
            "give what the values decide as a number or an attr (`num_classes=10`), replace a "
            "branch by torch.where, or use `kernel:`"
        )
    elif isinstance(failure, fake_tensor.UnsupportedOperatorException):
        text = f"PyTorch does not know the shapes of the results of {text}"
        fix = "write it with other operators, or use `kernel:`"
    elif any(known in text for known in _NEEDS_NUMBERS):
        text = "it calls an operator of PyTorch that takes no sizes that are symbols"
        why = "its graph is traced once and its kernel serves every size"
        fix = "write it with other operators (views, products and sums), or use `kernel:`"
    elif found := _NO_DERIVATIVE.search(text):
        text = f"PyTorch has no derivative of {found[1]} by '{found[2]}'"
        why = "the op of the gradients has one output per floating-point input"
        fix = f"give it `x.detach()` as '{found[2]}', where x is an input: its gradient is then 0"
    elif "'SymInt' is not iterable" in text or "'SymInt' object is not iterable" in text:
        text = "a size stands where PyTorch takes a list of sizes"
        why = "sizes are symbols when the graph is traced, and stay what they are in a call"
        fix = "write a list: `x.sum([dim])`, `x.expand([n, -1])`"
    return Diagnostic(
        "OPG201",
        f"compute of {spec.op} cannot be traced: {text}",
        spec.compute.location,
        why,
        fix,
    )
