"""Configurations that a function holds and passes as template arguments.

g++ 12 dies ("internal compiler error") of a reference template argument to an object that a
function template declares itself, which cube kernels do::

    static constexpr IsResetLoad3dConfig CONFIG = {true, true};
    LoadData<float, CONFIG>(l0a, l1a, params);

Such a name becomes a reference to the same value at namespace scope. Lines keep their numbers. What
is declared at namespace scope stays: there g++ takes the object, and refuses the reference.
"""

from __future__ import annotations

import re

from msopgen_wrap.build.rewriting.source_text import blank_comments, is_namespace_head, open_heads

_VALUE = r"[A-Za-z_][\w:]*|\d+[uUlL]*"
_CONFIG = re.compile(
    r"\b(static\s+constexpr|constexpr\s+static)(\s+(?:const\s+)?)"
    rf"((?:::)?[\w:]*\bIsResetLoad3dConfig|[\w:]*\bFixpipeConfig|[\w:]*\bMatmulConfig)(\s+)(\w+)"
    rf"(\s*=\s*)\{{\s*((?:{_VALUE})(?:\s*,\s*(?:{_VALUE}))*)\s*\}}(?=\s*;)"
)


def hoist_configs(text: str) -> str:
    """Return ``text`` with such declarations as references; the same text if there are none."""
    if "Config" not in text or _CONFIG.search(text) is None:
        return text
    code = blank_comments(text)
    return _CONFIG.sub(lambda m: m[0] if _is_outside(code, m.start()) else _reference(m), text)


def _is_outside(code: str, at: int) -> bool:
    """Say whether an offset is in no braces but those of namespaces."""
    return all(map(is_namespace_head, open_heads(code, at)))


def _reference(match: re.Match[str]) -> str:
    head, space, kind, gap, name, equals, values = match.groups()
    space = space.replace("const", " ", 1) if "const" in space else space
    return f"{head}{space}const {kind}&{gap}{name}{equals}::ascendc_emu::kConfig<{kind}, {values}>"
