"""Signatures of the generated C++ functions, and the wrapping of long lines."""

from __future__ import annotations

import re

from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.render.line_wrapping import tidy
from msopgen_wrap.spec.model import OpSpec, ParamKind

ATTR_TYPES = {
    "int": "int64_t",
    "float": "double",
    "bool": "bool",
    "str": "std::string_view",
    "list_int": "at::IntArrayRef",
    "list_float": "at::ArrayRef<double>",
}


def parameters(spec: OpSpec, names: dict[str, str], variant: Variant | None) -> list[str]:
    """Return the declarations of the inputs and attrs.

    Args:
        variant: leave out what it does not pass or fixes; None: all, as torch passes them.
    """
    found = []
    for p in spec.inputs:
        optional = p.kind is ParamKind.OPTIONAL
        if variant is not None and optional and p.name not in variant.present:
            continue
        wrapped = optional and variant is None
        kind = "std::optional<at::Tensor>" if wrapped else "at::Tensor"
        found.append(f"const {kind}& {names[p.name]}")
    fixed = {n for n, _ in variant.attrs} if variant is not None else set()
    for a in spec.attrs:
        if a.name not in fixed:
            found.append(f"{ATTR_TYPES[a.type]} {names[a.name]}")
    return found


def without_unused(declarations: list[str], body: str) -> list[str]:
    """Return declarations of parameters, those without a name that the body does not use."""
    found = []
    for declaration in declarations:
        head, name = declaration.rsplit(" ", 1)
        used = re.search(rf"\b{re.escape(name)}\b", body)
        found.append(declaration if used else f"{head} /* {name} */")
    return found


def return_type(spec: OpSpec) -> str:
    """Return the C++ type of the results."""
    count = len(spec.outputs)
    if count == 1:
        return "at::Tensor"
    return f"std::tuple<{', '.join(['at::Tensor'] * count)}>"


def wrapped(text: str) -> str:
    """Wrap long lines: assignments after the sign where the rest then fits."""
    lines = []
    for line in text.splitlines():
        place = line.find(" = ")
        indent = len(line) - len(line.lstrip()) + 4
        if len(line) > 100 and place > 0 and indent + len(line) - place - 3 <= 100:
            lines += [line[: place + 2], " " * indent + line[place + 3 :]]
        else:
            lines.append(line)
    return tidy("\n".join(lines))
