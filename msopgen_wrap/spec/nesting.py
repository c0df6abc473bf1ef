"""How deep brackets of a text nest, before Python's own parser, which recurses on them."""

from __future__ import annotations


def nesting(text: str, opening: str = "([{", closing: str = ")]}") -> int:
    """Return how many of the brackets are open at once, at most."""
    depth = deepest = 0
    for char in text:
        depth += (char in opening) - (char in closing)
        deepest = max(deepest, depth)
    return deepest
