"""Gradients that a spec writes out, as the ``compute`` of the op of the gradients."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from msopgen_wrap.spec.model import OpSpec, ParamKind


def written_formula(
    spec: OpSpec, forward: str, asked: str, subsets: Mapping[str, tuple[str, ...]]
) -> str:
    """Return statements that assign ``grad_<input>`` for every formula of ``spec.written``.

    Each formula has the dtype of its input. It stands under the condition that its gradient is
    asked for, and that an optional input is there.

    Args:
        forward: statements that assign the outputs; they are left out where no formula reads one.
        asked: the attr that says which gradients are asked for.
        subsets: the gradients of each of its values; empty: all are computed.
    """
    lines: list[str] = []
    read = {name for code in spec.written.values() for name in _names(code.text)}
    if any(p.name in read for p in spec.outputs):
        lines += forward.split("\n")
    start = next(f"grad_{p.name}" for p in spec.outputs if p.kind is ParamKind.REQUIRED)
    for name, code in spec.written.items():
        block = _assignment(f"grad_{name}", code.text)
        block.append(f"grad_{name} = grad_{name}.to({name}.dtype)")
        if spec.param(name).kind is ParamKind.OPTIONAL:
            empty = f"grad_{name} = {start}.new_zeros([])"
            block = [f"if {name} is None:", f"    {empty}", "else:", *_indented(block)]
        if subsets:
            values = [value for value, names in subsets.items() if name in names]
            test = " or ".join(f"{asked} == '{value}'" for value in values)
            empty = f"grad_{name} = {start}.new_zeros([0])"
            block = [f"if {test}:", *_indented(block), "else:", f"    {empty}"]
        lines += block
    return "\n".join(lines)


def _names(text: str) -> set[str]:
    return {n.id for n in ast.walk(ast.parse(text.strip())) if isinstance(n, ast.Name)}


def _assignment(target: str, text: str) -> list[str]:
    """Return the lines of a formula; an expression is assigned to ``target``."""
    text = text.strip("\n")
    if isinstance(ast.parse(text.strip()).body[-1], ast.Expr):
        text = f"{target} = {text.strip()}" if "\n" not in text else f"{target} = (\n{text}\n)"
    return text.split("\n")


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line if line else line for line in lines]
