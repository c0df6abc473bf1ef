"""Loops ``for t in range(x.shape[1])``: as many steps as an axis of an input has.

Where ``compute`` runs on tensors, such a loop is one of Python. A trace knows no number of steps:
its code gets the body of the loop as a function of what the steps hand on, which it makes a call of
``opgen.loop`` (``graph.size_loops``)::

    if __opgen_open(0, x.shape[1]):
        def __opgen_step(t, h, rows): ...; return (h, rows)
        (h, rows) = __opgen_run_steps(__opgen_step, (h, rows), 0, x.shape[1])
    else:
        for t in __opgen_size_steps(0, x.shape[1]): ...
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable
from typing import Any

from msopgen_wrap.spec.compute_limits import MAX_SIZE_STEPS, LimitError, appended


def is_open(*ends: Any) -> bool:
    """Whether the number of steps is not known; only a trace says yes, by a function of its own."""
    return False


def is_counted(*ends: Any) -> bool:
    """Whether a loop over numbers is one whose steps are recorded once; only a trace says yes."""
    return False


def size_steps(*ends: Any) -> range:
    """Return the steps of a loop over an axis.

    Raises:
        LimitError: there are more than ``MAX_SIZE_STEPS``.
    """
    counted = range(*ends)
    if len(counted) > MAX_SIZE_STEPS:
        raise LimitError(f"a loop over an axis has more than {MAX_SIZE_STEPS} steps")
    return counted


def run_steps(*_: Any) -> Any:
    """Stand for the function of a trace, which ``is_open`` keeps from being called."""
    raise AssertionError("only a trace has loops of an unknown number of steps")


#: What the rewritten code calls, by the names that it has there.
SIZE_LOOP_HELPERS = {
    "__opgen_open": is_open,
    "__opgen_counted": is_counted,
    "__opgen_size_steps": size_steps,
    "__opgen_run_steps": run_steps,
}


def has_loops(text: str) -> bool:
    """Whether code may have a loop that hands states from step to step."""
    nodes = ast.walk(ast.parse(text.strip()))
    return any(
        isinstance(node, ast.For) or (isinstance(node, ast.Attribute) and node.attr == "loop")
        for node in nodes
    )


def with_size_loops(statements: list[ast.stmt], results: Iterable[str] = ()) -> list[ast.stmt]:
    """Return statements in which loops are written for both cases.

    A loop over numbers is run step by step in the second case, as it is written.

    Args:
        results: names that are read behind the last statement.
    """
    sized: set[str] = set()
    assigned: set[str] = set()
    found = []
    for place, statement in enumerate(statements):
        if isinstance(statement, ast.For) and _is_range(statement):
            later = _loaded(statements[place + 1 :]) | {*results}
            over_sizes = _has_size(statement.iter, sized)
            found.append(_both(statement, assigned, later, over_sizes=over_sizes))
        else:
            found.append(statement)
        if isinstance(statement, ast.Assign) and _has_size(statement.value, sized):
            sized |= _stored([statement])
        assigned |= _stored([statement])
    return found


def _is_range(loop: ast.For) -> bool:
    """Whether a loop counts by ``range``."""
    call = loop.iter
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.keywords:
        return False
    return call.func.id == "range" and isinstance(loop.target, ast.Name)


def _has_size(expression: ast.expr, sized: set[str]) -> bool:
    """Whether a number is made of the sizes of tensors: ``x.shape[1] - 1``, ``x.size(0) // n``."""
    if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name):
        return any(_has_size(argument, sized) for argument in expression.args)
    if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute):
        return expression.func.attr in ("size", "numel")
    if isinstance(expression, ast.Subscript):
        return isinstance(expression.value, ast.Attribute) and expression.value.attr == "shape"
    if isinstance(expression, ast.Attribute):
        return expression.attr == "shape"
    if isinstance(expression, ast.BinOp):
        return _has_size(expression.left, sized) or _has_size(expression.right, sized)
    return isinstance(expression, ast.Name) and expression.id in sized


def _both(loop: ast.For, before: set[str], later: set[str], *, over_sizes: bool) -> ast.stmt:
    """Return the two forms of a loop.

    Args:
        before: names that are assigned before the loop.
        later: names that are read behind it; they have no value before it where only it has them.
        over_sizes: whether sizes say how many steps there are.
    """
    assert isinstance(loop.iter, ast.Call) and isinstance(loop.target, ast.Name)
    counter = loop.target.id
    stored = _stored(loop.body) - {counter}
    known = stored & (before | _read_first(loop.body))
    new = sorted(stored & later - known)
    carried = sorted(known) + new
    arguments = ", ".join((counter, *carried))
    names = "".join(f"{name}, " for name in carried)
    ends = ", ".join(ast.unparse(end) for end in loop.iter.args)
    test = "__opgen_open" if over_sizes else "__opgen_counted"
    steps_of = "__opgen_size_steps" if over_sizes else "range"
    text = (
        f"if {test}({ends}):\n"
        + "".join(f"    {name} = None\n" for name in new)
        + f"    def __opgen_step({arguments}):\n        return ({names})\n"
        f"    ({names}) = __opgen_run_steps(__opgen_step, ({names}), {ends})\n"
        f"else:\n    for {counter} in {steps_of}({ends}):\n        pass\n"
    )
    if not carried:  # nothing would come of the loop
        text = text.replace("    () = ", "    ")
    found = ast.parse(text).body[0]
    assert isinstance(found, ast.If)
    function, steps = found.body[len(new)], found.orelse[0]
    assert isinstance(function, ast.FunctionDef) and isinstance(steps, ast.For)
    for node in ast.walk(found):
        if hasattr(node, "lineno"):
            ast.copy_location(node, loop)
    function.body[:0] = copy.deepcopy(loop.body)
    steps.body = loop.body
    return found


def _stored(statements: Iterable[ast.stmt]) -> set[str]:
    """Return the names that statements assign, or lists that they add to."""
    found = set()
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            added = appended(node) if isinstance(node, ast.Expr) else None
            if added is not None:
                found.add(added[0].id)
    return found


def _loaded(statements: Iterable[ast.stmt]) -> set[str]:
    """Return the names that statements read."""
    return {
        node.id
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _read_first(statements: Iterable[ast.stmt]) -> set[str]:
    """Return the names that statements read before they assign them."""
    read: set[str] = set()
    stored: set[str] = set()
    for statement in statements:
        loads = _loaded([statement])
        if isinstance(statement, ast.AugAssign):
            loads |= _stored([statement])
        read |= loads - stored
        stored |= _stored([statement])
    return read
