"""Typed access to YAML nodes: each accessor reports what it does not like and returns None."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from msopgen_wrap.diagnostics import Location
from msopgen_wrap.spec.findings import Findings, listed, nearest, suggestion
from msopgen_wrap.spec.model import Code
from msopgen_wrap.spec.yaml_nodes import Mapping, Node, Scalar, Sequence, kind_of


class Reader:
    """Reads nodes of one file into Python values, collecting diagnostics.

    Attributes:
        differentiable: whether generated code differentiates the op, and names the gradients.
    """

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.differentiable = True

    def wrong_kind(self, node: Node, what: str, expected: str, fix: str = "") -> None:
        """Report OPG007: ``what`` must be ``expected``."""
        self.findings.error(
            "OPG007", f"{what} must be {expected}, not {kind_of(node)}", node.location, fix=fix
        )

    def mapping(self, node: Node, what: str, fix: str = "") -> Mapping | None:
        """Return ``node`` if it is a mapping."""
        if isinstance(node, Mapping):
            return node
        self.wrong_kind(node, what, "a mapping", fix)
        return None

    def known_keys(self, node: Mapping, known: Iterable[str], what: str) -> None:
        """Report OPG005 for every key outside ``known``."""
        names = list(known)
        for key, _ in node.entries:
            if key.value not in names:
                self.findings.error(
                    "OPG005",
                    f"unknown key '{key.value}' in {what}",
                    key.location,
                    why=f"known keys: {listed(names)}",
                    fix=suggestion(str(key.value), names),
                )

    def text(self, node: Node, what: str) -> str | None:
        """Return the text of a scalar; numbers and booleans count as their spelling."""
        if isinstance(node, Scalar) and (node.value is not None or node.quoted):
            return node.text
        self.wrong_kind(node, what, "text")
        return None

    def boolean(self, node: Node, what: str) -> bool | None:
        """Return a boolean."""
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        self.wrong_kind(node, what, "true or false")
        return None

    def integer(self, node: Node, what: str) -> int | None:
        """Return a 64-bit integer."""
        if isinstance(node, Scalar) and type(node.value) is int:
            if -(2**63) <= node.value < 2**63:
                return node.value
            self.findings.error("OPG007", f"{what} does not fit 64 bits", node.location)
            return None
        self.wrong_kind(node, what, "an integer")
        return None

    def number(self, node: Node, what: str) -> float | None:
        """Return an integer or float (not nan) as float."""
        if isinstance(node, Scalar):
            value = node.value
            if isinstance(value, str) and value.lstrip("+-") in ("inf", "infinity"):
                value = float(value)
            if type(value) in (int, float) and not math.isnan(value):
                try:
                    return float(value)
                except OverflowError:
                    self.findings.error("OPG007", f"{what} is too large", node.location)
                    return None
        self.wrong_kind(node, what, "a number")
        return None

    def items(self, node: Node) -> tuple[Node, ...]:
        """Return the elements of a list; anything else counts as a list of one."""
        return node.items if isinstance(node, Sequence) else (node,)

    def code(self, node: Node, what: str) -> Code | None:
        """Return a scalar as code with the place of its first character."""
        if isinstance(node, Scalar) and (node.value is not None or node.quoted):
            return Code(node.text.rstrip(), node.body, node.literal, node.columns)
        fix = "put it in quotes, or write it as a block after '|'"
        self.wrong_kind(node, what, "PyTorch code", fix)
        return None

    def rule_text(self, node: Node, what: str) -> tuple[str, Location] | None:
        """Return the source of a shape rule: text, or a flow list such as ``[4, 8]`` as written."""
        if isinstance(node, Scalar) and node.value is not None:
            place = node.body if node.literal else node.location
            return node.text.strip(), place
        if isinstance(node, Sequence) and node.text:
            return node.text, node.location
        self.wrong_kind(node, what, "a shape rule", "e.g. 'like x' or \"[*x[:-1], 4]\"")
        return None


def with_meant_keys(root: Mapping, known: tuple[str, ...]) -> Mapping:
    """Return the mapping with misspelt keys read as what they mean, when that key is missing.

    They are reported; without this, everything that depends on them would be reported as well.
    """
    present = {str(key.value) for key, _ in root.entries}
    entries = []
    for key, value in root.entries:
        near = nearest(str(key.value), known) if key.value not in known else ""
        if near and near not in present:
            present.add(near)
            key = replace(key, value=near, text=near)
        entries.append((key, value))
    return replace(root, entries=tuple(entries))


def is_given(node: Node | None) -> bool:
    """Whether a key is there and has a value."""
    return node is not None and not (isinstance(node, Scalar) and node.value is None)
