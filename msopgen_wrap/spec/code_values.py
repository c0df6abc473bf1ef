"""What is known of a node of compute without running it: its place, its kind, small constants."""

from __future__ import annotations

import ast

from msopgen_wrap.diagnostics import Location
from msopgen_wrap.spec import torch_names as allowed
from msopgen_wrap.spec.model import Code


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
    first = code.columns[line - 1] if line <= len(code.columns) else start.column
    return Location(start.file, start.line + line - 1, first + chars, length)


MAX_STRING = 64
MAX_INT = 2**63
MAX_SIZE = 2**24

ROOTS = ("torch", "F", "math", "opgen")
ALIASES = {"F": "torch.nn.functional"}
# A module that is reached by way of another one.
_SAME_MODULE = {"torch.nn.functional.grad": "torch.nn.grad"}

# Kinds of values, as far as they can be told without running: enough to refuse what is certain to
# be wrong, never to refuse what may be right.
TENSOR, TENSORS, INT, FLOAT, BOOL, STR = "tensor", "tensors", "int", "float", "bool", "str"
NONE, SHAPE, TUPLE, DTYPE, DEVICE, INFO, NUMBERS, ANY = (
    "none",
    "shape",
    "tuple",
    "dtype",
    "device",
    "info",
    "numbers",
    "any",
)
SEQUENCES = (TENSORS, SHAPE, TUPLE, NUMBERS)
ATTR_KINDS = {
    "int": INT,
    "float": FLOAT,
    "bool": BOOL,
    "str": STR,
    "list_int": NUMBERS,
    "list_float": NUMBERS,
    "dtype": DTYPE,
}


def constant(node: ast.AST) -> int | None:
    """Return the value of an expression over integer literals, bounded; None for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = constant(node.operand)
        return None if value is None else -value
    if not isinstance(node, ast.BinOp):
        return None
    left, right = constant(node.left), constant(node.right)
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


def merge(first: dict[str, str], second: dict[str, str]) -> dict[str, str]:
    """Join the kinds after two branches."""
    merged = dict(first)
    for name, kind in second.items():
        other = first.get(name)
        if other is None or other == kind:
            merged[name] = kind
        else:
            merged[name] = TENSOR if {kind, other} <= {TENSOR, INT, FLOAT, BOOL} else ANY
    return merged


def dotted(node: ast.expr) -> str | None:
    """Return ``a.b.c`` for a chain of attributes on a name, with ``F`` spelled out."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(ALIASES.get(node.id, node.id) if parts else node.id)
    module, dot, name = ".".join(reversed(parts)).rpartition(".")
    return _SAME_MODULE.get(module, module) + dot + name


def functions_of(prefix: str) -> frozenset[str] | None:
    if prefix == "torch":
        return allowed.TORCH_FUNCTIONS
    return allowed.TORCH_NAMESPACES.get(prefix)


def spaces() -> list[tuple[str, frozenset[str]]]:
    names = {"torch.nn.functional": "F"}
    return [(names.get(k, k), v) for k, v in allowed.TORCH_NAMESPACES.items()]


def article(kind: str) -> str:
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
        DEVICE: "a device",
        NUMBERS: "a list of numbers",
    }
    return words.get(kind, "this value")
