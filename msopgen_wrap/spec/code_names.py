"""Check the expressions of compute: literals, names, attributes and operators."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from msopgen_wrap.diagnostics import Location
from msopgen_wrap.spec import torch_names as allowed
from msopgen_wrap.spec.code_values import (
    ANY,
    BOOL,
    DEVICE,
    DTYPE,
    FLOAT,
    INFO,
    INT,
    MAX_INT,
    MAX_STRING,
    NONE,
    NUMBERS,
    ROOTS,
    SHAPE,
    STR,
    TENSOR,
    TENSORS,
    TUPLE,
    article,
    dotted,
    functions_of,
    locate,
    place_of,
    spaces,
)
from msopgen_wrap.spec.findings import Findings, suggestion
from msopgen_wrap.spec.model import Code
from msopgen_wrap.spec.torch_names import words

_REFUSED_STATEMENTS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Import: ("import", "torch, F and math are already there"),
    ast.ImportFrom: ("import", "torch, F and math are already there"),
    ast.While: ("a while loop", "write tensor operations"),
    ast.AsyncFor: ("a for loop", "write tensor operations"),
    ast.AsyncFunctionDef: ("a function definition", "write the statements in line"),
    ast.ClassDef: ("a class definition", ""),
    ast.Lambda: ("a lambda", ""),
    ast.With: ("a with statement", ""),
    ast.AsyncWith: ("a with statement", ""),
    ast.Try: ("a try statement", ""),
    ast.Raise: ("raise", ""),
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


class NameChecker:
    """Reports what it refuses; every ``kind_*`` method returns the kind of the value.

    This part knows literals, names and attributes.
    """

    def __init__(self, code: Code, scope: Scope, findings: Findings) -> None:
        self.code = code
        self.scope = scope
        self.findings = findings
        self.kinds: dict[str, str] = dict(scope.names)
        self.used: set[str] = set()
        self.assigned: set[str] = set()
        self.loops = 0
        self.repeated = False  # inside a for statement
        self.functions: dict[str, ast.FunctionDef] = {}
        self.callers: set[str] = set()  # functions that call others
        self.in_function = False

    # ---- reporting ----

    def refuse(self, code: str, what: str, node: ast.AST, why: str = "", fix: str = "") -> str:
        place = place_of(self.code, node)
        if isinstance(node, ast.Attribute) and (dotted(node) or "").split(".")[0] not in ROOTS:
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
        path = dotted(node)
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
            if base in (INT, FLOAT, BOOL, STR, NONE, SHAPE, NUMBERS, TENSORS, TUPLE, DTYPE, DEVICE):
                return self.refuse("OPG045", f"{article(base)} has no '.{name}'", node)
            kinds = {"shape": SHAPE, "ndim": INT, "dtype": DTYPE, "device": DEVICE}
            return kinds.get(name, TENSOR)
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
        namespace = functions_of(prefix)
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
                fix=random_fix(name),
            )
        if name.endswith("_") and functions_of(prefix) is not None:
            return self.refuse(
                "OPG043",
                f"'{path}' works in place",
                node,
                why="compute is functional",
                fix=f"use '{path.rstrip('_')}'; mark the output with 'inplace:'",
            )
        pool = set(extra)
        namespace = functions_of(prefix)
        if namespace is not None:
            pool |= namespace
        fix = suggestion(name, pool)
        if not fix:
            for other, names in (("torch", allowed.TORCH_FUNCTIONS), *spaces()):
                if name in names:
                    fix = f"write {other}.{name}"
                    break
        why = "only functional torch operators of the allow-list can be used"
        return self.refuse("OPG043", f"'{path}' is not allowed in compute", node, why, fix)

    def quiet_kind(self, node: ast.expr) -> str:
        """Return the kind of an expression that was already checked, without new reports."""
        mark = len(self.findings.items)
        kind = self.kind(node)
        del self.findings.items[mark:]
        return kind

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


def random_fix(name: str) -> str:
    """Return what to write instead of a random function of torch."""
    call = allowed.SEEDED_CALLS.get(name)
    fix = "pass the mask or the noise as an input"
    if call:
        fix = f"write {call} with int attrs seed and offset, or {fix}"
    return fix + (", or say training=False" if name in allowed.RANDOM_IN_TRAINING else "")


_DANGEROUS = words(
    """eval exec compile open input getattr setattr delattr globals locals vars dir type object
        super print exit quit breakpoint memoryview bytearray bytes classmethod staticmethod
        property os sys subprocess builtins importlib help id hash isinstance issubclass
        callable chr ord repr iter next map filter sorted reversed range slice str dict set
        frozenset format"""
)
