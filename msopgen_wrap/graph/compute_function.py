"""``compute`` of a spec as a function of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.model import OpSpec


def compute_function(
    spec: OpSpec, replacements: dict[str, Any] | None = None
) -> Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]:
    """Return ``compute`` as ``f(inputs, attrs) -> outputs`` (guarded, no builtins).

    The function of a part returns all outputs of the whole op.

    Args:
        replacements: values for names in ``compute`` and for the helpers that it is rewritten to.
    """
    return compile_compute(spec.whole or spec, wrap_errors=False, replacements=replacements)
