"""Inputs that a formula uses as indices only: they never broadcast with what they index."""

from __future__ import annotations

import ast

from msopgen_wrap.spec.model import Code

# Function -> place of the index among its arguments; a method has one argument less.
_PLACES = {
    "embedding": 0,
    "gather": 2,
    "index_add": 2,
    "index_copy": 2,
    "index_fill": 2,
    "index_select": 2,
    "scatter": 2,
    "scatter_add": 2,
}
_KEYWORDS = ("index", "input")  # the second is that of ``embedding``
# Methods whose result has the values of the tensor.
_SAME_VALUES = frozenset({"expand", "flatten", "int", "long", "reshape", "to", "unsqueeze", "view"})
_SIZES = frozenset({"dim", "ndim", "numel", "shape", "size"})
_MODULES = frozenset({"torch", "F"})


def is_index_only(code: Code, name: str) -> bool:
    """Whether every use of an input in a formula is one as an index.

    Args:
        code: of the formula; what it assigns on the way is not followed.
        name: of the input.
    """
    try:
        tree = ast.parse(code.text.strip())
    except SyntaxError:  # reported where the formula is checked
        return False
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    uses = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == name and not _is_size(parents.get(node))
    ]
    return bool(uses) and all(_indexes(node, parents) for node in uses)


def _is_size(parent: ast.AST | None) -> bool:
    return isinstance(parent, ast.Attribute) and parent.attr in _SIZES


def _indexes(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether the value of a node, seen through views and casts, is an index."""
    while True:
        parent = parents[node]
        if isinstance(parent, ast.Attribute) and parent.attr in _SAME_VALUES:
            node = parents[parent]
            if not isinstance(node, ast.Call):
                return False
        elif isinstance(parent, ast.Subscript) and parent.value is node:
            node = parent
        elif isinstance(parent, ast.keyword):
            return parent.arg in _KEYWORDS and _place(parents[parent]) is not None
        elif isinstance(parent, ast.Call):
            place = _place(parent)
            return place is not None and place < len(parent.args) and parent.args[place] is node
        elif isinstance(parent, ast.Tuple) and isinstance(parents[parent], ast.Subscript):
            node = parent
        else:
            return isinstance(parent, ast.Subscript) and parent.slice is node


def _place(call: ast.AST) -> int | None:
    """Return the place of the index in a call, None where it is no call that indexes."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    place = _PLACES.get(call.func.attr)
    owner = call.func.value
    if isinstance(owner, ast.Name) and owner.id in _MODULES:
        return place
    return None if place in (None, 0) else place - 1
