"""Outputs that forward keeps for backward (``save:``), so that the op of the gradients reads them.

The op of the gradients has an input ``saved_<output>`` for each. Its value takes the place of what
the formula computes there; the gradient goes on through the formula.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from msopgen_wrap.spec.findings import Findings, listed, suggestion
from msopgen_wrap.spec.model import OpSpec, ParamKind, ShapeChoice, ShapeReduce, TensorParam
from msopgen_wrap.spec.yaml_nodes import Node, Scalar

SAVED = "saved_"
# The value of ``save`` that leaves the choice to the kit, as a missing key does.
AUTO = "auto"
_FLOATS = frozenset({"float16", "bfloat16", "float32"})


def saved_inputs(spec: OpSpec, used: set[str]) -> tuple[str, ...]:
    """Return the inputs of an op of gradients that hold values of its formula.

    Args:
        used: the names in the formula: an input of the forward op may be called ``saved_x``, too.
    """
    named = (p.name for p in spec.inputs if p.name.startswith(SAVED))
    return tuple(n for n in named if n not in used and n.removeprefix(SAVED) in used)


def assigned_names(spec: OpSpec) -> tuple[str, ...]:
    """Return the names that ``compute`` assigns, in order, outputs among them."""
    try:
        tree = ast.parse(spec.compute.text.strip()) if spec.compute else ast.Module([], [])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()  # reported where the formula is checked
    stored = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    stored.sort(key=lambda n: (n.lineno, n.col_offset))
    return tuple(dict.fromkeys([*(n.id for n in stored), *(p.name for p in spec.outputs)]))


def check_saved(
    spec: OpSpec, names: list[tuple[str, Node]], node: Node, findings: Findings
) -> tuple[str, ...]:
    """Check the names under ``save`` (OPG085, OPG086) and return those that can be saved."""
    if not _derives_kernel(spec):
        findings.error(
            "OPG086",
            "'save' is for gradients that a kernel derives",
            node.location,
            "without it nothing but the inputs is saved: PyTorch computes the rest again, and "
            "written formulas say themselves what they compute",
            "write 'backward: kernel', or remove 'save'",
        )
        return ()
    outputs = {p.name: p for p in spec.outputs}
    found = []
    for name, place in names:
        why, fix = "", ""
        if name not in outputs:
            known = assigned_names(spec)
            if name in {p.name for p in spec.inputs}:
                why, fix = "inputs are saved in any case", "remove it"
            elif name in known:
                why = "forward stores outputs only; this one is computed on the way"
                fix = f"add it to 'outputs', as in '{name}: {{dtype: float32, shape: ...}}'"
            else:
                why = f"compute gives {listed(known)}"
                fix = suggestion(name, known)
        elif why := _refusal(outputs[name]):
            fix = "remove it"
        if why:
            what = (
                f"'{name}' cannot be saved"
                if name in known_names(spec)
                else (f"save names unknown value '{name}'")
            )
            findings.error("OPG085", what, place.location, why, fix)
        else:
            found.append(name)
    return tuple(dict.fromkeys(found))


def saveable_outputs(spec: OpSpec) -> tuple[str, ...]:
    """Return the outputs that can be saved; none where no kernel derives the gradients."""
    if not _derives_kernel(spec):
        return ()
    return tuple(p.name for p in spec.outputs if not _refusal(p))


def _derives_kernel(spec: OpSpec) -> bool:
    return spec.backward in ("kernel", "auto") and not spec.written


def _refusal(output: TensorParam) -> str:
    """Return why an output cannot be saved; an empty text if it can."""
    if not all(d in _FLOATS for d in output.dtypes):
        return "only values of floating point are saved"
    if output.kind is not ParamKind.REQUIRED or output.inplace:
        return "lists and outputs in place are not saved"
    if isinstance(output.shape, ShapeChoice) or _open_axes(output.shape):
        return "an attr says which axes it has"
    return ""


def recorded_saving(spec: OpSpec, gradient: OpSpec) -> OpSpec:
    """Return an op that saves what the op of its gradients, from a file, takes of its outputs."""
    own = {p.name for p in spec.inputs}
    names = [
        p.name.removeprefix(SAVED)
        for p in gradient.inputs
        if p.name.startswith(SAVED) and p.name not in own
    ]
    known = saveable_outputs(spec)
    if not spec.choose_saved or any(name not in known for name in names):
        return spec
    return replace(spec, save=tuple(names), choose_saved=False)


def known_names(spec: OpSpec) -> frozenset[str]:
    """Return the inputs and all that ``compute`` assigns."""
    return frozenset([*(p.name for p in spec.inputs), *assigned_names(spec)])


def _open_axes(rule: object) -> bool:
    return isinstance(rule, ShapeReduce) and isinstance(rule.dims, str)


def with_saved_values(tree: ast.Module, names: tuple[str, ...], function: str) -> ast.Module:
    """Return statements in which ``saved_<name>`` follows the value of each of ``names``.

    Args:
        function: what gives the saved value and passes the gradient on to the computed one.
    """
    body: list[ast.stmt] = []
    for statement in tree.body:
        body.append(statement)
        stored = {
            n.id
            for n in ast.walk(statement)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        for name in names:
            if name in stored:
                line = f"{name} = {function}({name}, {SAVED}{name})"
                added = ast.parse(line).body[0]
                body.append(ast.copy_location(added, statement))
    return ast.fix_missing_locations(ast.Module(body, []))


def scalar_names(items: Sequence[Node]) -> list[tuple[str, Node]]:
    """Return the names in a list of a spec, each with its place."""
    return [(item.text, item) for item in items if isinstance(item, Scalar)]
