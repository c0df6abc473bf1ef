"""Check ``compute`` on its syntax tree before anything runs.

A spec is data: its code may name functional torch operators, tensor methods, arithmetic, literals,
``if`` on attrs, loops of a known number of steps, ``append`` to lists of its own, one kind of
comprehension and functions of its own, and nothing else.
What is not listed is refused, so import, dunder names, attribute escapes, ``eval``, files and
processes cannot be reached, and literals, powers and repeats are bounded, so that evaluation cannot
be made to run for ever.
``compute_runner`` executes what passes here.
"""

from __future__ import annotations

import ast
import re

from msopgen_wrap.diagnostics import Location
from msopgen_wrap.spec import torch_names as allowed
from msopgen_wrap.spec.code_functions import FunctionChecker
from msopgen_wrap.spec.code_names import CheckedCode, Scope
from msopgen_wrap.spec.code_values import (
    ANY,
    ATTR_KINDS,
    INT,
    ROOTS,
    SHAPE,
    TENSOR,
    TENSORS,
    TUPLE,
    locate,
    merge,
    place_of,
)
from msopgen_wrap.spec.compute_limits import appended
from msopgen_wrap.spec.findings import Findings
from msopgen_wrap.spec.model import Code
from msopgen_wrap.spec.nesting import nesting

__all__ = [
    "ATTR_KINDS",
    "TENSOR",
    "TENSORS",
    "CheckedCode",
    "Scope",
    "check_code",
    "locate",
    "place_of",
]

MAX_TEXT = 16_000
MAX_TREE_NODES = 4_000
MAX_TREE_DEPTH = 60


def check_code(code: Code, scope: Scope, findings: Findings) -> CheckedCode | None:
    """Check ``code`` against the allow-list; problems go to ``findings`` and give None.

    Codes: OPG041 syntax, OPG042 forbidden construct, OPG043 name not in the allow-list, OPG044
    undefined name, OPG045 method or attribute, OPG046 too large, OPG047 control flow on tensor
    data, OPG048 output not assigned.
    """
    tree = _parse(code, findings)
    if tree is None:
        return None
    before = len(findings.items)
    checker = _Checker(code, scope, findings)
    result = checker.module(tree)
    return result if len(findings.items) == before else None


def _parse(code: Code, findings: Findings) -> ast.Module | None:
    text = code.text
    if len(text) > MAX_TEXT:
        findings.error("OPG046", f"compute is longer than {MAX_TEXT} characters", code.location)
        return None
    # Cheap guards before Python's own parser, which recurses on nesting.
    if nesting(text) > MAX_TREE_DEPTH or re.search(r"(?:[-+~]\s*|\bnot\s+){60}", text):
        findings.error("OPG046", "compute is nested too deeply", code.location)
        return None
    if not text.strip():
        findings.error("OPG041", "compute is empty", code.location)
        return None
    try:
        tree = ast.parse(text if "\n" in text.strip() else text.strip())
    except SyntaxError as error:
        place = locate(code, error.lineno or 1, max(0, (error.offset or 1) - 1))
        findings.error(
            "OPG041",
            f"not valid Python: {error.msg}",
            Location(place.file, place.line, place.column),
            fix="" if code.literal else "YAML joined its lines: write the block after '|'",
        )
        return None
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:
        findings.error("OPG041", f"not valid Python: {error}", code.location)
        return None
    level: list[ast.AST] = [tree]
    total = 0
    for _ in range(MAX_TREE_DEPTH):
        total += len(level)
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level or total > MAX_TREE_NODES:
            break
    if level:
        what = "compute is too large" if total > MAX_TREE_NODES else "compute is nested too deeply"
        findings.error("OPG046", what, place_of(code, level[0]), fix="split it into statements")
        return None
    return tree


class _Checker(FunctionChecker):
    """Adds statements.

    Attributes:
        lists: names that hold a list which ``compute`` has written out: no list of the caller.
    """

    def __init__(self, code: Code, scope: Scope, findings: Findings) -> None:
        super().__init__(code, scope, findings)
        self.lists: set[str] = set()

    # ---- statements ----

    def module(self, tree: ast.Module) -> CheckedCode:
        body = tree.body
        last = body[-1] if body else None
        final = isinstance(last, ast.Expr) and not isinstance(last.value, ast.Constant)
        if isinstance(last, ast.Expr) and len(body) == 1:
            final = True
        for statement in body:
            if isinstance(statement, ast.Expr):
                self.expression_statement(statement, final and statement is last)
            else:
                self.statement(statement)
        if not final:
            for name in self.scope.outputs:
                if name not in self.assigned:
                    self.refuse(
                        "OPG048",
                        f"output '{name}' is never assigned",
                        body[-1] if body else tree,
                        fix=f"add a line '{name} = ...'",
                    )
        return CheckedCode(tree, final, self.used, self.assigned)

    def expression_statement(self, node: ast.Expr, final: bool) -> None:
        added = appended(node)
        if added is not None and not final:
            self.append(node, *added)
            return
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str) and not final:
            return  # a comment written as a string
        self.kind(node.value)
        if not final:
            self.refuse(
                "OPG042", "this expression has no effect", node, fix="assign it, or drop it"
            )
            return
        outputs = self.scope.outputs
        values = node.value.elts if isinstance(node.value, (ast.Tuple, ast.List)) else []
        if len(outputs) > 1 and values and len(values) != len(outputs):
            self.refuse(
                "OPG048",
                f"compute gives {len(values)} values for {len(outputs)} outputs",
                node,
                fix=f"give them in this order: {', '.join(outputs)}",
            )

    def append(self, node: ast.Expr, target: ast.Name, item: ast.expr) -> None:
        """Check ``name.append(item)``, where the name holds a list that ``compute`` has made."""
        if target.id not in self.lists:
            self.kind(item)
            self.refuse(
                "OPG045",
                f"'{target.id}' is no list that compute has made, so nothing is appended to it",
                target,
                fix=f"begin with '{target.id} = []', or write a new list: [*{target.id}, item]",
            )
            return
        longer = ast.List([ast.Starred(target, ast.Load()), item], ast.Load())
        self.kinds[target.id] = self.kind(ast.copy_location(longer, node))

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            kind = self.kind(node.value)
            for target in node.targets:
                self.assign(target, kind, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.refuse("OPG042", "type annotations are not allowed", node)
        elif isinstance(node, ast.AugAssign):
            if not isinstance(node.target, ast.Name):
                self.refuse("OPG042", "only names can be assigned", node.target)
                return
            load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
            binary = ast.copy_location(ast.BinOp(load, node.op, node.value), node)
            self.assign(node.target, self.kind(binary), binary)
        elif isinstance(node, ast.If):
            self.condition(node.test, node)
            before = dict(self.kinds)
            for branch in (node.body, node.orelse):
                saved, self.kinds = self.kinds, dict(before)
                self.block(branch)
                self.kinds = merge(saved, self.kinds) if branch is node.orelse else self.kinds
        elif isinstance(node, ast.Assert):
            self.assertion(node)
        elif isinstance(node, ast.For):
            self.loop(node)
        elif isinstance(node, ast.FunctionDef):
            self.function_definition(node)
        elif isinstance(node, ast.Pass):
            return
        else:
            self.forbidden(node)

    def assertion(self, node: ast.Assert) -> None:
        """Check ``assert condition, "text"``, which limits what the op can be called with."""
        self.condition(node.test, node)
        for part in ast.walk(node.test):
            if not isinstance(part, ast.Compare) or self.quiet_kind(part.left) != INT:
                continue
            if any(isinstance(op, (ast.In, ast.NotIn)) for op in part.ops):
                self.refuse(
                    "OPG042",
                    "an assert does not look for a size in a list",
                    part,
                    fix="compare sizes with ==, !=, <, <=, > or >=; an int attr has `allowed:`",
                )
        text = node.msg
        if text is not None and not (
            isinstance(text, ast.Constant) and isinstance(text.value, str)
        ):
            self.refuse("OPG042", "the message of an assert is a string", text, fix="write it out")

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if isinstance(statement, ast.Expr):
                self.expression_statement(statement, False)
            else:
                self.statement(statement)

    def loop(self, node: ast.For) -> None:
        """Check ``for name in range(...)``: a trace runs its steps one after another."""
        source = _range_call(node.iter)
        if self.repeated or node.orelse or source is None:
            self.refuse(
                "OPG042",
                "a loop is 'for name in range(...)', without 'else' and in no other loop",
                node,
                why="the number of steps must be known when the kernel is made",
                fix="write 'for i in range(n)' with a number or an int attr that has 'allowed:', "
                "tensor operations, or a comprehension over a list input",
            )
            return
        self.range_arguments(source)
        if not isinstance(node.target, ast.Name):
            self.refuse("OPG042", "only names can be assigned", node.target)
            return
        self.repeated = True
        before = dict(self.kinds)
        # A step may change what a name holds for the next: the first look only finds the kinds.
        found = len(self.findings.items)
        self.assign_name(node.target, INT)
        self.block(node.body)
        del self.findings.items[found:]
        self.kinds = merge(before, self.kinds)
        self.assign_name(node.target, INT)
        self.block(node.body)
        self.kinds = merge(before, self.kinds)
        self.repeated = False

    def range_arguments(self, call: ast.Call) -> None:
        kinds = [self.kind(argument) for argument in call.args]
        if call.keywords or not 1 <= len(kinds) <= 3 or not set(kinds) <= {INT, ANY}:
            self.refuse("OPG042", "range() takes one to three integers", call)

    def assign(self, target: ast.expr, kind: str, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.assign_name(target, kind)
            if isinstance(value, (ast.List, ast.ListComp)):
                self.lists.add(target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            values: list[ast.expr] | None = None
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                values = value.elts
            for i, element in enumerate(target.elts):
                if not isinstance(element, ast.Name):
                    self.refuse("OPG042", "only names can be assigned", element)
                    continue
                item = INT if kind == SHAPE else TENSOR if kind in (TUPLE, TENSORS) else ANY
                if values is not None and not isinstance(values[i], ast.Starred):
                    item = self.quiet_kind(values[i])
                self.assign_name(element, item)
                if values is not None and isinstance(values[i], (ast.List, ast.ListComp)):
                    self.lists.add(element.id)
        else:
            self.refuse(
                "OPG042",
                "only names can be assigned",
                target,
                why="compute is functional: tensors are not written in place",
                fix="use torch.where, torch.cat or scatter",
            )

    def assign_name(self, target: ast.Name, kind: str) -> None:
        name = target.id
        if name.startswith("__") or name in ROOTS or name in allowed.BUILTIN_FUNCTIONS:
            self.refuse("OPG042", f"'{name}' cannot be assigned", target, fix="choose another name")
            return
        if name in self.functions:
            self.refuse("OPG042", f"'{name}' is a function and cannot be assigned", target)
            return
        if name in self.scope.attrs:
            self.refuse(
                "OPG042", f"attr '{name}' cannot be assigned", target, fix="choose another name"
            )
            return
        self.kinds[name] = kind
        self.assigned.add(name)
        self.lists.discard(name)


def _range_call(node: ast.expr) -> ast.Call | None:
    """Return a call of ``range``; None for any other expression."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        return node
    return None
