"""Check the functions that compute defines: the steps of ``opgen.loop``.

A function is no value. Its name can only be the first argument of ``opgen.loop``, so nothing calls
it but the loop, and no function calls itself.
"""

from __future__ import annotations

import ast

from msopgen_wrap.spec import torch_names as allowed
from msopgen_wrap.spec.code_operators import OperatorChecker
from msopgen_wrap.spec.code_values import ANY, ROOTS, TENSOR, dotted

LOOP = "opgen.loop"
_LOOP_KEYWORDS = ("reverse",)
_LOOP_FORM = "opgen.loop(step, states, inputs, reverse=False)"


class FunctionChecker(OperatorChecker):
    """Adds function definitions and the calls of ``opgen.loop``."""

    def statement(self, node: ast.stmt) -> None:
        """Check a statement; the checker of all statements has its own."""
        raise NotImplementedError

    def function_definition(self, node: ast.FunctionDef) -> None:
        """Check ``def step(state, input): ... return state``."""
        name, before = node.name, len(self.findings.items)
        if self.in_step or self.repeated:
            self.refuse("OPG042", "a function is defined in a function or a loop", node)
            return
        given = node.args
        plain = not (given.defaults or given.kw_defaults or given.kwonlyargs or given.posonlyargs)
        names = [arg.arg for arg in given.args]
        if node.decorator_list or not plain or given.vararg or given.kwarg or not names:
            self.refuse(
                "OPG042",
                f"function '{name}' has decorators, or arguments that are not plain names",
                node,
                fix="def step(state, x): ...",
            )
        if node.returns or any(arg.annotation for arg in given.args):
            self.refuse("OPG042", "type annotations are not allowed", node)
        for arg_name in (name, *names):
            wrong = arg_name.startswith("__") or arg_name in ROOTS
            if wrong or arg_name in allowed.BUILTIN_FUNCTIONS:
                self.refuse("OPG042", f"'{arg_name}' cannot be assigned", node)
        if name in self.kinds or name in self.functions:
            self.refuse("OPG042", f"function '{name}' is called like a value", node)
        last = node.body[-1]
        if not isinstance(last, ast.Return) or last.value is None:
            self.refuse(
                "OPG042",
                f"function '{name}' does not end with 'return'",
                last,
                fix="return the next states, then other results of the step",
            )
        if len(self.findings.items) > before:
            return
        self._body(node, names)
        self.functions[name] = len(names)

    def _body(self, node: ast.FunctionDef, names: list[str]) -> None:
        """Check the statements of a function, whose assignments are not those of compute."""
        kinds, assigned = dict(self.kinds), set(self.assigned)
        self.kinds.update(dict.fromkeys(names, TENSOR))
        self.in_step = True
        for statement in node.body[:-1]:
            self.statement(statement)
        last = node.body[-1]
        assert isinstance(last, ast.Return) and last.value is not None
        self.kind(last.value)
        self.in_step = False
        self.kinds, self.assigned = kinds, assigned

    def kind_Call(self, node: ast.Call) -> str:
        """Return the kind of what a call gives."""
        if dotted(node.func) == LOOP:
            return self._loop_call(node)
        return super().kind_Call(node)

    def kind_Name(self, node: ast.Name) -> str:
        """Return the kind of a name; functions are no values."""
        if node.id in self.functions and node.id not in self.kinds:
            return self.refuse(
                "OPG042", f"'{node.id}' is a function, not a value", node, fix=_LOOP_FORM
            )
        return super().kind_Name(node)

    def _loop_call(self, node: ast.Call) -> str:
        step = node.args[0] if node.args else None
        if self.in_step:
            return self.refuse("OPG042", "a loop in a step of a loop", node)
        if not isinstance(step, ast.Name) or step.id not in self.functions:
            return self.refuse(
                "OPG042",
                "the step of opgen.loop is no function of this compute",
                step or node,
                why="a loop calls a function that stands before it: def step(state, x): ...",
                fix=_LOOP_FORM,
            )
        named = [keyword.arg for keyword in node.keywords]
        if len(node.args) != 3 or any(name not in _LOOP_KEYWORDS for name in named):
            self.refuse("OPG042", "opgen.loop has other arguments", node, fix=_LOOP_FORM)
        for value in (*node.args[1:], *(keyword.value for keyword in node.keywords)):
            self.kind(value)
        return ANY
