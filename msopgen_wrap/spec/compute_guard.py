"""Check ``compute`` on its syntax tree before anything runs.

A spec is data: its code may name functional torch operators, tensor methods, arithmetic, literals,
``if`` on attrs and one kind of comprehension, and nothing else. What is not listed is refused, so
import, dunder names, attribute escapes, ``eval``, files and processes cannot be reached, and
literals, powers and repeats are bounded, so that evaluation cannot be made to run for ever.
``compute_runner`` executes what passes here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.diagnostics import Location
from msopgen_wrap.spec import torch_names as allowed
from msopgen_wrap.spec.findings import Findings, suggestion
from msopgen_wrap.spec.model import Code
from msopgen_wrap.spec.torch_names import words

MAX_TEXT = 16_000
MAX_TREE_NODES = 4_000
MAX_TREE_DEPTH = 60
MAX_STRING = 64
MAX_INT = 2**63
MAX_SIZE = 2**24

ROOTS = ("torch", "F", "math")
_ALIASES = {"F": "torch.nn.functional"}

# Kinds of values, as far as they can be told without running: enough to refuse what is certain to
# be wrong, never to refuse what may be right.
TENSOR, TENSORS, INT, FLOAT, BOOL, STR = "tensor", "tensors", "int", "float", "bool", "str"
NONE, SHAPE, TUPLE, DTYPE, INFO, NUMBERS, ANY = (
    "none",
    "shape",
    "tuple",
    "dtype",
    "info",
    "numbers",
    "any",
)
_SEQUENCES = (TENSORS, SHAPE, TUPLE, NUMBERS)
ATTR_KINDS = {
    "int": INT,
    "float": FLOAT,
    "bool": BOOL,
    "str": STR,
    "list_int": NUMBERS,
    "list_float": NUMBERS,
    "dtype": DTYPE,
}

_TUPLE_RESULTS = words(
    """chunk split unbind topk sort aminmax std_mean var_mean hsplit vsplit broadcast_tensors
        kthvalue mode"""
)
_REFUSED_STATEMENTS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Import: ("import", "torch, F and math are already there"),
    ast.ImportFrom: ("import", "torch, F and math are already there"),
    ast.While: ("a while loop", "write tensor operations"),
    ast.For: ("a for loop", "write tensor operations, or a comprehension over a list input"),
    ast.AsyncFor: ("a for loop", "write tensor operations"),
    ast.FunctionDef: ("a function definition", "write the statements in line"),
    ast.AsyncFunctionDef: ("a function definition", "write the statements in line"),
    ast.ClassDef: ("a class definition", ""),
    ast.Lambda: ("a lambda", ""),
    ast.With: ("a with statement", ""),
    ast.AsyncWith: ("a with statement", ""),
    ast.Try: ("a try statement", ""),
    ast.Raise: ("raise", ""),
    ast.Assert: ("assert", "limit inputs with rank:, shape: and allowed:"),
    ast.Delete: ("del", ""),
    ast.Global: ("global", ""),
    ast.Nonlocal: ("nonlocal", ""),
    ast.Return: ("return", "assign to the output's name, or end with the expression"),
    ast.JoinedStr: ("an f-string", ""),
    ast.Await: ("await", ""),
    ast.Yield: ("yield", ""),
    ast.YieldFrom: ("yield", ""),
    ast.NamedExpr: ("':='", "assign in a statement of its own"),
    ast.Dict: ("a dict", ""),
    ast.Set: ("a set", ""),
    ast.DictComp: ("a dict comprehension", ""),
    ast.SetComp: ("a set comprehension", ""),
    ast.GeneratorExp: ("a generator", "write a list comprehension"),
}


@dataclass(frozen=True)
class Scope:
    """What the code may name: value name -> kind, the outputs it must give, and list inputs."""

    names: Mapping[str, str]
    outputs: tuple[str, ...]
    attrs: frozenset[str] = frozenset()


@dataclass
class CheckedCode:
    """Code that passed.

    Attributes:
        tree: the statements; a final expression is kept as ``ast.Expr``.
        is_expression: whether the result is the value of the last statement.
        used: names of the scope that are read.
        assigned: names that are assigned.
    """

    tree: ast.Module
    is_expression: bool
    used: set[str] = field(default_factory=set)
    assigned: set[str] = field(default_factory=set)


def place_of(code: Code, node: ast.AST) -> Location:
    """Return where ``node`` of the parsed ``code`` stands in the spec file."""
    line = getattr(node, "lineno", 1)
    return locate(
        code,
        line,
        getattr(node, "col_offset", 0),
        getattr(node, "end_lineno", line),
        getattr(node, "end_col_offset", None),
    )


def locate(
    code: Code, line: int, column: int = 0, end_line: int | None = None, end: int | None = None
) -> Location:
    """Return the file location of a line (from 1) and UTF-8 byte column (from 0) of ``code``."""
    start = code.location
    if not code.literal:
        return start
    rows = code.text.split("\n")
    if not 1 <= line <= len(rows):
        return start
    row = rows[line - 1]
    chars = len(row.encode("utf-8")[:column].decode("utf-8", "ignore"))
    length = max(1, len(row.rstrip()) - chars)
    if end is not None and end_line == line:
        length = max(1, len(row.encode("utf-8")[:end].decode("utf-8", "ignore")) - chars)
    return Location(start.file, start.line + line - 1, start.column + chars, length)


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
    depth = deepest = 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        deepest = max(deepest, depth)
    if deepest > MAX_TREE_DEPTH or re.search(r"(?:[-+~]\s*|\bnot\s+){60}", text):
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


class _Checker:
    """Walk the tree; every method returns the kind of the value and reports what it refuses."""

    def __init__(self, code: Code, scope: Scope, findings: Findings) -> None:
        self.code = code
        self.scope = scope
        self.findings = findings
        self.kinds: dict[str, str] = dict(scope.names)
        self.used: set[str] = set()
        self.assigned: set[str] = set()
        self.loops = 0

    # ---- reporting ----

    def refuse(self, code: str, what: str, node: ast.AST, why: str = "", fix: str = "") -> str:
        place = place_of(self.code, node)
        if isinstance(node, ast.Attribute) and (_dotted(node) or "").split(".")[0] not in ROOTS:
            place = self.attribute_place(node, place)
        self.findings.error(code, what, place, why, fix)
        return ANY

    def attribute_place(self, node: ast.AST, place: Location) -> Location:
        """Point at the attribute's name rather than at the whole expression before it."""
        if not isinstance(node, ast.Attribute) or not self.code.literal:
            return place
        end = node.end_col_offset or 0
        start = end - len(node.attr.encode())
        return locate(self.code, node.end_lineno or 1, start, node.end_lineno, end)

    def forbidden(self, node: ast.AST) -> str:
        entry = _REFUSED_STATEMENTS.get(type(node))
        what, fix = entry if entry else (f"'{type(node).__name__}'", "")
        why = "a spec is data: only tensor expressions are allowed"
        return self.refuse("OPG042", f"{what} is not allowed in compute", node, why, fix)

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
                for statement in branch:
                    if isinstance(statement, ast.Expr):
                        self.expression_statement(statement, False)
                    else:
                        self.statement(statement)
                self.kinds = _merge(saved, self.kinds) if branch is node.orelse else self.kinds
        elif isinstance(node, ast.Pass):
            return
        else:
            self.forbidden(node)

    def assign(self, target: ast.expr, kind: str, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.assign_name(target, kind)
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
        else:
            self.refuse(
                "OPG042",
                "only names can be assigned",
                target,
                why="compute is functional: tensors are not written in place",
                fix="use torch.where, torch.cat or scatter",
            )

    def quiet_kind(self, node: ast.expr) -> str:
        """Return the kind of an expression that was already checked, without new reports."""
        mark = len(self.findings.items)
        kind = self.kind(node)
        del self.findings.items[mark:]
        return kind

    def assign_name(self, target: ast.Name, kind: str) -> None:
        name = target.id
        if name.startswith("__") or name in ROOTS or name in allowed.BUILTIN_FUNCTIONS:
            self.refuse("OPG042", f"'{name}' cannot be assigned", target, fix="choose another name")
            return
        if name in self.scope.attrs:
            self.refuse(
                "OPG042", f"attr '{name}' cannot be assigned", target, fix="choose another name"
            )
            return
        self.kinds[name] = kind
        self.assigned.add(name)

    def condition(self, test: ast.expr, node: ast.AST) -> None:
        kind = self.kind(test)
        if kind in (TENSOR, TENSORS):
            self.refuse(
                "OPG047",
                "the condition depends on tensor data",
                test,
                why="the graph is traced once: only attrs, shapes and 'is None' may branch",
                fix="use torch.where(condition, a, b)",
            )

    # ---- expressions ----

    def kind(self, node: ast.expr) -> str:
        method = getattr(self, f"kind_{type(node).__name__}", None)
        return method(node) if method else self.forbidden(node)

    def kind_Constant(self, node: ast.Constant) -> str:
        value = node.value
        if value is None:
            return NONE
        if isinstance(value, bool):
            return BOOL
        if isinstance(value, int):
            if abs(value) > MAX_INT:
                return self.refuse("OPG046", "the integer literal does not fit 64 bits", node)
            return INT
        if isinstance(value, float):
            return FLOAT
        if isinstance(value, str):
            if len(value) > MAX_STRING:
                return self.refuse("OPG046", f"text longer than {MAX_STRING} characters", node)
            return STR
        what = "..." if value is Ellipsis else type(value).__name__
        return self.refuse("OPG042", f"a literal of type {what} is not allowed", node)

    def kind_Name(self, node: ast.Name) -> str:
        name = node.id
        if name in self.kinds:
            if name in self.scope.names:
                self.used.add(name)
            return self.kinds[name]
        if name in ROOTS:
            return self.refuse("OPG043", f"'{name}' is a module, not a value", node)
        if name in allowed.BUILTIN_FUNCTIONS:
            return self.refuse("OPG043", f"'{name}' must be called", node)
        why = ""
        if name.startswith("__") or name in _DANGEROUS:
            return self.refuse(
                "OPG042",
                f"'{name}' is not allowed in compute",
                node,
                why="a spec is data: only tensor expressions are allowed",
            )
        fix = suggestion(name, [*self.kinds, *ROOTS])
        if not fix and (name in allowed.TORCH_FUNCTIONS):
            fix = f"write torch.{name}"
        elif not fix and name in allowed.TORCH_NAMESPACES["torch.nn.functional"]:
            fix = f"write F.{name}"
        elif name == "np" or name == "numpy":
            why, fix = "compute is PyTorch", "use torch instead of numpy"
        return self.refuse("OPG044", f"undefined name '{name}'", node, why, fix)

    def kind_Attribute(self, node: ast.Attribute) -> str:
        path = _dotted(node)
        if path is not None and path.split(".")[0] in ROOTS:
            return self.module_value(node, path)
        if not self.plain_attribute(node):
            return ANY
        base = self.kind(node.value)
        name = node.attr
        if base == INFO:
            if name in allowed.INFO_ATTRIBUTES:
                return FLOAT
            return self.refuse("OPG045", f"a dtype's limits have no '{name}'", node)
        if name in allowed.TENSOR_PROPERTIES:
            if base in (INT, FLOAT, BOOL, STR, NONE, SHAPE, NUMBERS, TENSORS, TUPLE, DTYPE):
                return self.refuse("OPG045", f"{_article(base)} has no '.{name}'", node)
            return {"shape": SHAPE, "ndim": INT, "dtype": DTYPE}.get(name, TENSOR)
        if name in ("values", "indices") and base in (TUPLE, TENSOR, ANY):
            return TENSOR  # named results of min, max, sort, topk
        if base == DTYPE and name == "is_floating_point":
            return BOOL
        known = [*allowed.TENSOR_PROPERTIES, *allowed.TENSOR_METHODS]
        fix = (
            f"call it: .{name}(...)" if name in allowed.TENSOR_METHODS else suggestion(name, known)
        )
        return self.refuse("OPG045", f"'.{name}' is not allowed in compute", node, fix=fix)

    def plain_attribute(self, node: ast.Attribute) -> bool:
        if not node.attr.startswith("_"):
            return True
        self.refuse(
            "OPG042",
            f"'.{node.attr}' is not allowed in compute",
            node,
            why="names that start with an underscore reach into Python itself",
        )
        return False

    def module_value(self, node: ast.Attribute, path: str) -> str:
        """Check a dotted torch or math name that is used as a value, not called."""
        if path.startswith("math."):
            if path[5:] in allowed.MATH_CONSTANTS:
                return FLOAT
            return self.unknown_function(node, path, allowed.MATH_CONSTANTS)
        prefix, _, name = path.rpartition(".")
        if prefix == "torch" and name in allowed.TORCH_DTYPES:
            return DTYPE
        if prefix == "torch" and name in allowed.TORCH_CONSTANTS:
            return FLOAT
        if name[:1] == "_" or "__" in path:
            self.plain_attribute(node)
            return ANY
        namespace = _namespace(prefix)
        if namespace is not None and name in namespace:
            return self.refuse("OPG043", f"'{path}' must be called", node, fix=f"{path}(...)")
        return self.unknown_function(node, path, allowed.TORCH_DTYPES)

    def unknown_function(self, node: ast.AST, path: str, extra: frozenset[str]) -> str:
        prefix, _, name = path.rpartition(".")
        if any(part.startswith("_") for part in path.split(".")):
            return self.refuse(
                "OPG042",
                f"'{path}' is not allowed in compute",
                node,
                why="names that start with an underscore reach into Python itself",
            )
        if name in allowed.RANDOM_NAMES:
            return self.refuse(
                "OPG043",
                f"'{path}' is random",
                node,
                why="the kernel must give the same result as the golden reference",
                fix="pass the mask or the noise as an input",
            )
        if name.endswith("_") and _namespace(prefix) is not None:
            return self.refuse(
                "OPG043",
                f"'{path}' works in place",
                node,
                why="compute is functional",
                fix=f"use '{path.rstrip('_')}'; mark the output with 'inplace:'",
            )
        pool = set(extra)
        namespace = _namespace(prefix)
        if namespace is not None:
            pool |= namespace
        fix = suggestion(name, pool)
        if not fix:
            for other, names in (("torch", allowed.TORCH_FUNCTIONS), *_spaces()):
                if name in names:
                    fix = f"write {other}.{name}"
                    break
        why = "only functional torch operators of the allow-list can be used"
        return self.refuse("OPG043", f"'{path}' is not allowed in compute", node, why, fix)

    # ---- calls ----

    def kind_Call(self, node: ast.Call) -> str:
        function = node.func
        path = _dotted(function)
        if isinstance(function, ast.Name):
            return self.builtin_call(node, function)
        if path is not None and path.split(".")[0] in ROOTS:
            return self.module_call(node, path)
        if isinstance(function, ast.Attribute):
            return self.method_call(node, function)
        self.arguments(node, "")
        return self.refuse("OPG042", "only named functions can be called", function)

    def arguments(self, node: ast.Call, name: str) -> list[str]:
        kinds = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                self.kind(argument.value)
                kinds.append(ANY)
            else:
                kinds.append(self.kind(argument))
        for keyword in node.keywords:
            if keyword.arg is None:
                self.refuse("OPG042", "'**' arguments are not allowed", keyword.value)
                continue
            self.kind(keyword.value)
            if keyword.arg in allowed.REFUSED_KEYWORDS:
                self.refuse(
                    "OPG042",
                    f"argument '{keyword.arg}=' is not allowed in compute",
                    keyword.value,
                    why="compute is functional and runs where its inputs are",
                )
        if name in allowed.SIZED_FUNCTIONS:
            self.sizes(node, name)
        return kinds

    def sizes(self, node: ast.Call, name: str) -> None:
        """Bound the element count that literal sizes ask for."""
        total = 1
        rest: list[ast.AST] = [*node.args, *(k.value for k in node.keywords)]
        while rest:
            part = rest.pop()
            value = _constant(part)
            if value is None:
                rest.extend(ast.iter_child_nodes(part))
            else:
                total *= max(1, abs(value))
        if total > MAX_SIZE:
            self.refuse("OPG046", f"{name}() would make a tensor of {total} elements", node)

    def builtin_call(self, node: ast.Call, function: ast.Name) -> str:
        name = function.id
        if name not in allowed.BUILTIN_FUNCTIONS or name in self.kinds:
            if name in self.kinds:
                self.refuse("OPG045", f"'{name}' is a value and cannot be called", function)
            else:
                self.kind_Name(function)
            self.arguments(node, "")
            return ANY
        kinds = self.arguments(node, name)
        if name in ("zip", "enumerate") and not self.loops:
            return self.refuse("OPG042", f"{name}() belongs into a comprehension", node)
        if name in ("float", "int", "bool") and TENSOR in kinds:
            return self.refuse(
                "OPG047",
                f"{name}() of a tensor reads its data",
                node,
                fix=f"use .{'to(torch.int64)' if name == 'int' else name + '()'}",
            )
        if name in ("int", "float") and STR in kinds:
            return self.refuse("OPG042", f"{name}() of text is not allowed", node)
        if name in ("min", "max") and TENSOR in kinds:
            torch_name = "minimum" if name == "min" else "maximum"
            return self.refuse(
                "OPG047", f"Python's {name}() compares tensor data", node, fix=f"torch.{torch_name}"
            )
        if name in ("len", "int"):
            return INT
        if name in ("float", "bool"):
            return name
        if name in ("list", "tuple"):
            return kinds[0] if kinds and kinds[0] in _SEQUENCES else TUPLE
        if name == "sum":
            return TENSOR if kinds and kinds[0] in (TENSORS, TUPLE) else INT
        return kinds[0] if kinds and kinds[0] in (TENSOR, INT, FLOAT) else INT

    def module_call(self, node: ast.Call, path: str) -> str:
        prefix, _, name = path.rpartition(".")
        kinds = self.arguments(node, name)
        if prefix == "math":
            if name not in allowed.MATH_FUNCTIONS:
                return self.unknown_function(node.func, path, allowed.MATH_FUNCTIONS)
            if TENSOR in kinds:
                fix = f"use torch.{name}" if name in allowed.TORCH_FUNCTIONS else ""
                return self.refuse("OPG047", f"{path}() of a tensor reads its data", node, fix=fix)
            return INT if name in ("ceil", "floor", "gcd", "prod") else FLOAT
        namespace = _namespace(prefix)
        if namespace is None or name not in namespace:
            return self.unknown_function(node.func, path, frozenset())
        if prefix == "torch":
            if name in allowed.TORCH_INFO:
                return INFO
            if name == "numel":
                return INT
            if name in ("is_tensor", "is_floating_point"):
                return BOOL
        return TUPLE if name in _TUPLE_RESULTS else TENSOR

    def method_call(self, node: ast.Call, function: ast.Attribute) -> str:
        name = function.attr
        plain = self.plain_attribute(function)
        base = self.kind(function.value)
        kinds = self.arguments(node, name)
        if not plain:
            return ANY
        if base in (STR, INT, FLOAT, BOOL, NONE, DTYPE, SHAPE, NUMBERS, TENSORS, TUPLE):
            if base == SHAPE and name == "numel":
                return INT
            return self.refuse("OPG045", f"{_article(base)} has no method '.{name}()'", function)
        if name not in allowed.TENSOR_METHODS:
            if name in allowed.RANDOM_NAMES or name.rstrip("_") in allowed.RANDOM_NAMES:
                return self.unknown_function(function, f"torch.{name.rstrip('_')}", frozenset())
            # After another refusal the base is no tensor for sure; a near name would mislead.
            near = allowed.TENSOR_METHODS | allowed.TENSOR_PROPERTIES
            fix = suggestion(name, near) if base != ANY else ""
            why = ""
            if name.endswith("_"):
                why = "methods that end in '_' write in place; compute is functional"
                fix = f"use '.{name.rstrip('_')}()'; mark the output with 'inplace:'"
            elif name in ("item", "tolist", "numpy"):
                why, fix = "it reads tensor data on the host", "keep it a tensor"
            elif name in allowed.TENSOR_PROPERTIES:
                fix = f"'.{name}' is not called"
            elif name in allowed.TORCH_NAMESPACES["torch.nn.functional"]:
                fix = f"write F.{name}(x)"
            return self.refuse(
                "OPG045", f"'.{name}()' is not allowed in compute", function, why, fix
            )
        if STR in kinds and name in ("to", "view"):
            return self.refuse("OPG045", f"'.{name}()' with text is not allowed", node)
        if name == "size":
            return INT if node.args or node.keywords else SHAPE
        if name in ("dim", "numel", "ndimension"):
            return INT
        if name == "stride":
            return INT if node.args else SHAPE
        if name == "is_floating_point":
            return BOOL
        return TUPLE if name in _TUPLE_RESULTS else TENSOR

    # ---- operators ----

    def kind_BinOp(self, node: ast.BinOp) -> str:
        left, right = self.kind(node.left), self.kind(node.right)
        operation = type(node.op)
        if STR in (left, right):
            return self.refuse("OPG042", "text cannot be computed with", node)
        if NONE in (left, right):
            return self.refuse("OPG042", "None cannot be computed with", node)
        sequences = [k for k in (left, right) if k in _SEQUENCES]
        if sequences:
            if operation is ast.Add:
                return sequences[0]
            return self.refuse(
                "OPG042", "a list can only be joined with '+'", node, fix="use tensor operations"
            )
        whole = (INT, BOOL)
        if left in whole and right in whole and operation in (ast.Pow, ast.LShift):
            return self.integer_power(node)
        if TENSOR in (left, right):
            return TENSOR
        if ANY in (left, right):
            return ANY
        if operation is ast.Div or FLOAT in (left, right):
            return FLOAT
        return INT

    def integer_power(self, node: ast.BinOp) -> str:
        left, right = node.left, node.right
        if (
            isinstance(left, ast.Constant)
            and isinstance(right, ast.Constant)
            and isinstance(left.value, int)
            and isinstance(right.value, int)
            and 0 <= right.value <= 62
            and abs(left.value) ** max(1, right.value) <= MAX_INT
            and (isinstance(node.op, ast.Pow) or left.value << right.value <= MAX_INT)
        ):
            return INT
        if (
            isinstance(node.op, ast.Pow)
            and isinstance(right, ast.Constant)
            and right.value in (2, 3)
        ):
            return INT
        return self.refuse(
            "OPG046",
            "this integer power or shift is not bounded",
            node,
            why="Python integers grow without limit",
            fix="use a float base, e.g. 2.0 ** n",
        )

    def kind_UnaryOp(self, node: ast.UnaryOp) -> str:
        kind = self.kind(node.operand)
        if isinstance(node.op, ast.Not):
            if kind == TENSOR:
                return self.refuse(
                    "OPG047", "'not' reads tensor data", node, fix="use torch.logical_not or '~'"
                )
            return BOOL
        if kind in (STR, NONE, *_SEQUENCES):
            return self.refuse("OPG042", f"{_article(kind)} cannot be computed with", node)
        return INT if kind == BOOL else kind

    def kind_BoolOp(self, node: ast.BoolOp) -> str:
        kinds = [self.kind(v) for v in node.values]
        if TENSOR in kinds:
            word = "and" if isinstance(node.op, ast.And) else "or"
            sign = "&" if word == "and" else "|"
            return self.refuse(
                "OPG047",
                f"'{word}' reads tensor data",
                node,
                fix=f"use '{sign}' or torch.logical_{word}",
            )
        return kinds[0] if len(set(kinds)) == 1 else ANY

    def kind_Compare(self, node: ast.Compare) -> str:
        kinds = [self.kind(node.left), *(self.kind(c) for c in node.comparators)]
        identity = all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops)
        if identity:
            if kinds[-1] != NONE or len(kinds) != 2:
                return self.refuse("OPG042", "'is' only compares with None", node, fix="use '=='")
            return BOOL
        if any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            return self.refuse("OPG042", "'is' only compares with None", node)
        if TENSOR in kinds:
            if len(kinds) > 2:
                return self.refuse(
                    "OPG047",
                    "a chained comparison reads tensor data",
                    node,
                    fix="write (a < x) & (x < b)",
                )
            if any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops):
                return self.refuse("OPG047", "'in' reads tensor data", node)
            return TENSOR
        return BOOL

    def kind_IfExp(self, node: ast.IfExp) -> str:
        self.condition(node.test, node)
        kinds = {self.kind(node.body), self.kind(node.orelse)}
        if len(kinds) == 1:
            return kinds.pop()
        return TENSOR if TENSOR in kinds and NONE not in kinds else ANY

    def kind_Tuple(self, node: ast.Tuple) -> str:
        return self.sequence(node.elts)

    def kind_List(self, node: ast.List) -> str:
        return self.sequence(node.elts)

    def sequence(self, elements: list[ast.expr]) -> str:
        kinds = set()
        for element in elements:
            if isinstance(element, ast.Starred):
                self.kind(element.value)
            else:
                kinds.add(self.kind(element))
        if kinds and kinds <= {INT}:
            return SHAPE
        return TENSORS if kinds == {TENSOR} else TUPLE

    def kind_Starred(self, node: ast.Starred) -> str:
        return self.refuse("OPG042", "'*' is only allowed in calls and lists", node)

    def kind_Subscript(self, node: ast.Subscript) -> str:
        base = self.kind(node.value)
        single = self.index(node.slice)
        if base == SHAPE:
            return INT if single else SHAPE
        if base == NUMBERS:
            return ANY if single else NUMBERS
        if base in (TENSORS, TUPLE):
            return TENSOR if single else base
        if base in (INT, FLOAT, BOOL, NONE, DTYPE, STR):
            return self.refuse("OPG045", f"{_article(base)} has no elements", node)
        return TENSOR if base == TENSOR else ANY

    def index(self, node: ast.expr) -> bool:
        """Check an index; return whether it picks one element."""
        if isinstance(node, ast.Slice):
            for part in (node.lower, node.upper, node.step):
                if part is not None:
                    self.kind(part)
            return False
        if isinstance(node, ast.Tuple):
            for element in node.elts:
                self.index(element)
            return True
        if isinstance(node, ast.Constant) and (node.value is Ellipsis or node.value is None):
            return True
        self.kind(node)
        return True

    def kind_ListComp(self, node: ast.ListComp) -> str:
        if len(node.generators) != 1 or node.generators[0].is_async or self.loops:
            return self.refuse("OPG042", "only one 'for' is allowed in a comprehension", node)
        generator = node.generators[0]
        self.loops += 1
        source, element = generator.iter, TENSOR
        kind = ANY
        if isinstance(source, ast.Name):
            kind = self.kind(source)
            element = TENSOR if kind in (TENSORS, TUPLE) else INT if kind == SHAPE else FLOAT
        elif (
            isinstance(source, ast.Call)
            and isinstance(source.func, ast.Name)
            and source.func.id in ("zip", "enumerate")
        ):
            kinds = self.arguments(source, "")
            kind = TENSORS if all(k in _SEQUENCES for k in kinds) and kinds else ANY
            if kind == ANY:
                self.refuse("OPG042", "zip() takes list inputs and list attrs", source)
                kind = TENSORS
            element = ANY
        if kind not in _SEQUENCES:
            self.loops -= 1
            return self.refuse(
                "OPG042",
                "a comprehension runs over a list input or zip() of them",
                source,
                why="the number of steps must be bounded by the inputs",
            )
        saved = dict(self.kinds)
        targets = (
            generator.target.elts if isinstance(generator.target, ast.Tuple) else [generator.target]
        )
        zipped = source.args if isinstance(source, ast.Call) else []
        for i, target in enumerate(targets):
            if not isinstance(target, ast.Name):
                self.refuse("OPG042", "only names can be assigned", target)
                continue
            item = element
            if zipped and isinstance(source, ast.Call) and isinstance(source.func, ast.Name):
                if source.func.id == "zip" and i < len(zipped):
                    of = self.quiet_kind(zipped[i])
                    item = TENSOR if of in (TENSORS, TUPLE) else INT if of == SHAPE else FLOAT
                elif source.func.id == "enumerate":
                    item = INT if i == 0 else TENSOR
            if target.id in ROOTS or target.id.startswith("__") or target.id in self.scope.attrs:
                self.refuse("OPG042", f"'{target.id}' cannot be assigned", target)
                continue
            self.kinds[target.id] = item
        for test in generator.ifs:
            self.condition(test, node)
        result = self.kind(node.elt)
        self.kinds = saved
        self.loops -= 1
        return TENSORS if result in (TENSOR, ANY) else TUPLE


_DANGEROUS = words(
    """eval exec compile open input getattr setattr delattr globals locals vars dir type object
        super print exit quit breakpoint memoryview bytearray bytes classmethod staticmethod
        property os sys subprocess builtins importlib help id hash isinstance issubclass
        callable chr ord repr iter next map filter sorted reversed range slice str dict set
        frozenset format"""
)


def _constant(node: ast.AST) -> int | None:
    """Return the value of an expression over integer literals, bounded; None for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _constant(node.operand)
        return None if value is None else -value
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _constant(node.left), _constant(node.right)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.Add):
        return left + right
    if isinstance(node.op, ast.Sub):
        return left - right
    if isinstance(node.op, ast.Mult):
        return left * right
    if isinstance(node.op, (ast.Pow, ast.LShift)):
        # Only whether it is beyond MAX_SIZE matters, not by how much.
        small = 0 <= right <= 62 and abs(left) <= MAX_INT
        if not small:
            return MAX_INT
        return min(left**right, MAX_INT) if isinstance(node.op, ast.Pow) else left << right
    return None


def _merge(first: dict[str, str], second: dict[str, str]) -> dict[str, str]:
    """Join the kinds after two branches."""
    merged = dict(first)
    for name, kind in second.items():
        other = first.get(name)
        if other is None or other == kind:
            merged[name] = kind
        else:
            merged[name] = TENSOR if {kind, other} <= {TENSOR, INT, FLOAT, BOOL} else ANY
    return merged


def _dotted(node: ast.expr) -> str | None:
    """Return ``a.b.c`` for a chain of attributes on a name, with ``F`` spelled out."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(_ALIASES.get(node.id, node.id) if parts else node.id)
    return ".".join(reversed(parts))


def _namespace(prefix: str) -> frozenset[str] | None:
    if prefix == "torch":
        return allowed.TORCH_FUNCTIONS
    return allowed.TORCH_NAMESPACES.get(prefix)


def _spaces() -> list[tuple[str, frozenset[str]]]:
    names = {"torch.nn.functional": "F"}
    return [(names.get(k, k), v) for k, v in allowed.TORCH_NAMESPACES.items()]


def _article(kind: str) -> str:
    words = {
        TENSOR: "a tensor",
        TENSORS: "a list of tensors",
        INT: "an integer",
        FLOAT: "a number",
        BOOL: "a boolean",
        STR: "text",
        NONE: "None",
        SHAPE: "a shape",
        TUPLE: "a tuple",
        DTYPE: "a dtype",
        NUMBERS: "a list of numbers",
    }
    return words.get(kind, "this value")


def compile_compute(spec: Any, *, wrap_errors: bool = True) -> Any:
    """Return the executable golden reference; see ``compute_runner.compile_compute``."""
    from msopgen_wrap.spec import compute_runner

    return compute_runner.compile_compute(spec, wrap_errors=wrap_errors)
