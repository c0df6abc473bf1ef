"""Host functions of an op that a neighbour's source registers or defines.

Ops of one family often share their tiling and InferShape: ``IMPL_OP_OPTILING(ForeachAddScalar)``
stands in ``foreach_utils/op_host``, or a second version's functions beside the first one's. An op
may also declare another op's tiling function itself and call it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from msopgen_wrap.build.rewriting.source_text import blank_comments
from msopgen_wrap.foreign.include_finder import for_other_arch, host_sources, repository_root

_DECLARED = re.compile(r"\bOP_ADD\s*\(\s*(\w+)")
_TILING = r"\bIMPL_OP(?:_OPTILING)?\s*\(\s*(\w+)"
_SHAPE = r"\bIMPL_OP(?:_INFERSHAPE)?\s*\(\s*(\w+)"
_SKIP = {"tests", "op_api", "examples", "op_graph"}
_BESIDE = "*/op_host/**/*"


def registering_sources(root: Path, own: Mapping[Path, str]) -> list[Path]:
    """Return sources beside a project that register functions its own sources do not.

    They may also lie in a ``common`` folder above. An op that a macro of a header declares is known
    by the project's folder.

    Args:
        root: the project's folder.
        own: its host sources and their texts.
    """
    texts = [blank_comments(text) for text in own.values()]
    declared = {name.lower() for text in texts for name in _DECLARED.findall(text)}
    declared = declared or {root.absolute().name.replace("_", "").lower()}
    wanted = {}
    for pattern, method in ((_TILING, "SetTiling("), (_SHAPE, "SetInferShape(")):
        if not any(method in text for text in texts):
            wanted[pattern] = declared - _registered(pattern, texts)
    if not any(wanted.values()):
        return []
    found = []
    for path in [*host_sources(root.absolute().parent, _BESIDE), *_shared_sources(root)]:
        if path.is_relative_to(root.absolute()) or _SKIP & set(path.parts[len(root.parts) :]):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if "IMPL_OP" not in text or for_other_arch(path):
            continue
        text = blank_comments(text)
        if any(_registered(pattern, [text]) & ops for pattern, ops in wanted.items()):
            found.append(path)
    return found


def _shared_sources(root: Path) -> list[Path]:
    """Return the sources of the ``common`` folders above a project, up to its repository's."""
    repository = repository_root(root)
    above = [p for p in root.absolute().parents if p.is_relative_to(repository)]
    return [path for parent in above for path in host_sources(parent / "common")]


def defining_sources(root: Path, functions: Iterable[tuple[str, ...]]) -> list[Path]:
    """Return sources beside a project that define one of some functions, or members of a class.

    Args:
        root: the project's folder.
        functions: scopes and name of each, ``("optiling", "Tiler", "DoTiling")``; a constructor is
            named by its class, any member of a class is ``""``.
    """
    wanted = [names for names in functions if names]
    found = []
    for path in host_sources(root.absolute().parent, _BESIDE) if wanted else []:
        if path.is_relative_to(root.absolute()) or _SKIP & set(path.parts[len(root.parts) :]):
            continue
        if defines_one(path, wanted):
            found.append(path)
    return found


def defines_one(path: Path, functions: Iterable[tuple[str, ...]]) -> bool:
    """Say whether a source reads as if it defines one of some functions, named as above."""
    text = path.read_text(encoding="utf-8", errors="replace")
    named = [d for names in functions if names and (d := _Definition(names)).name in text]
    code = blank_comments(text) if named else ""
    return any(definition.is_in(code) for definition in named)


class _Definition:
    """Where a function is defined: ``Scope::name(...) {``, or without scope inside of it."""

    def __init__(self, names: tuple[str, ...]):
        scope = names[-2] if len(names) > 1 else ""
        self.name = names[-1] or scope
        body = rf"{names[-1] or '~?[A-Za-z_]+'}\s*\([^;{{}}]*\)[^;{{}}()]*\{{"
        self._scoped = re.compile(rf"\b(?:{scope or self.name}|{self.name})\s*::\s*{body}")
        self._free = re.compile(rf"(?<![:\w]){body}") if names[-1] else None
        opening = rf"\b(?:namespace\s+(?:\w+::)*|class\s+|struct\s+){scope}\b"
        self._scope = re.compile(opening) if scope else None

    def is_in(self, code: str) -> bool:
        if self._scoped.search(code):
            return True
        inside = self._scope is None or self._scope.search(code)
        return bool(inside and self._free and self._free.search(code))


def _registered(pattern: str, texts: Iterable[str]) -> set[str]:
    return {name.lower() for text in texts for name in re.findall(pattern, text)}
