"""Check the functions that compute defines, their calls, and those of ``opgen.loop``.

A function is no value: its name can only be called, or be the step of ``opgen.loop``. What stands
behind it knows it, so that none calls itself. Calls in calls are two deep, so that a short text
makes few of them.
"""

from __future__ import annotations

import ast

from msopgen_wrap.spec import torch_names as allowed
from msopgen_wrap.spec.code_operators import OperatorChecker
from msopgen_wrap.spec.code_values import ANY, ROOTS, TENSOR, dotted

LOOP = "opgen.loop"
_LOOP_KEYWORDS = ("reverse",)
_LOOP_FORM = "opgen.loop(step, states, inputs, reverse=False)"
_USES = f"call it with its arguments, or write {_LOOP_FORM}"


class FunctionChecker(OperatorChecker):
    """Adds function definitions and the calls of ``opgen.loop``."""

    def statement(self, node: ast.stmt) -> None:
        """Check a statement; the checker of all statements has its own."""
        raise NotImplementedError

    def function_definition(self, node: ast.FunctionDef) -> None:
        """Check ``def step(state, input): ... return state``."""
        name, before = node.name, len(self.findings.items)
        if self.in_function or self.repeated:
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
                fix="return what it computes; a step of a loop returns its next states first",
            )
        if len(self.findings.items) > before:
            return
        # what its arguments are is known where it is called
        self._body(node, [ANY] * len(names))
        self.functions[name] = node
        own = (n.func for n in ast.walk(node) if isinstance(n, ast.Call))
        if any(isinstance(f, ast.Name) and f.id in self.functions for f in own):
            self.callers.add(name)

    def _body(self, node: ast.FunctionDef, given: list[str]) -> str:
        """Check the statements of a function, whose assignments are not those of compute.

        Args:
            given: the kinds of its arguments.

        Returns:
            The kind of what it returns.
        """
        kinds, assigned, in_function = dict(self.kinds), set(self.assigned), self.in_function
        before = len(self.findings.items)
        self.kinds.update(zip((arg.arg for arg in node.args.args), given, strict=True))
        self.in_function = True
        for statement in node.body[:-1]:
            self.statement(statement)
        last = node.body[-1]
        assert isinstance(last, ast.Return) and last.value is not None
        result = self.kind(last.value)
        self.kinds, self.assigned, self.in_function = kinds, assigned, in_function
        # another call may have found the same
        known, new = self.findings.items[:before], self.findings.items[before:]
        self.findings.items[before:] = [finding for finding in new if finding not in known]
        return result

    def kind_Call(self, node: ast.Call) -> str:
        """Return the kind of what a call gives."""
        if dotted(node.func) == LOOP:
            return self._loop_call(node)
        if isinstance(node.func, ast.Name) and self._is_function(node.func.id):
            return self._function_call(node, node.func.id)
        return super().kind_Call(node)

    def _is_function(self, name: str) -> bool:
        return name in self.functions and name not in self.kinds

    def kind_Name(self, node: ast.Name) -> str:
        """Return the kind of a name; functions are no values."""
        if self._is_function(node.id):
            return self.refuse("OPG042", f"'{node.id}' is a function, not a value", node, fix=_USES)
        return super().kind_Name(node)

    def _function_call(self, node: ast.Call, name: str) -> str:
        kinds = self.arguments(node, "")
        function = self.functions[name]
        names = [arg.arg for arg in function.args.args]
        starred = any(isinstance(argument, ast.Starred) for argument in node.args)
        if node.keywords or starred or len(node.args) != len(names):
            return self.refuse(
                "OPG042",
                f"function '{name}' is called with other arguments",
                node,
                fix=f"{name}({', '.join(names)})",
            )
        if self.in_function and name in self.callers:
            return self.refuse(
                "OPG042",
                f"function '{name}' calls functions and is called by one",
                node,
                fix="call one of the two from the formula itself",
            )
        return self._body(function, kinds)

    def _loop_call(self, node: ast.Call) -> str:
        step = node.args[0] if node.args else None
        if self.in_function:
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
        function = self.functions[step.id]
        self._body(function, [TENSOR] * len(function.args.args))
        return ANY
