"""Explicit specialisations inside a class (CWG 727), in words that every C++17 compiler takes.

g++ accepts them from version 14 on. Catlass kernels have a body per core kind this way::

    template <int32_t CORE_TYPE = g_coreType> void operator()(Params const &params);
    template <> void operator()<AscendC::AIC>(Params const &params) { ... }

A specialised member function becomes an overload with a tag parameter, which the primary template
calls; a specialised member class becomes a partial specialisation, with one parameter more that
nobody gives. Lines keep their numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from msopgen_wrap.build.rewriting.source_text import (
    blank_comments,
    class_scopes,
    matching,
    matching_angle,
    split_list,
    without_default,
)

_TEMPLATE = re.compile(r"\btemplate\s*<")
_SPECIAL = re.compile(r"\btemplate\s*<\s*>")
_CLASS_NAME = re.compile(r"\s*(?:struct|class)\s+(\w+)")
_FUNCTION_NAME = re.compile(r"(operator\s*\(\s*\)|\boperator\s*[^\s\w(<]+|[A-Za-z_]\w*)\s*$")
# What stands before parentheses that are not the parameters.
_NOT_PARAMETERS = re.compile(r"\b(?:operator|__attribute__|alignas|decltype|__declspec)\s*$")
_LAST_WORD = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$")
_TYPE_WORDS = {"const", "volatile", "int", "bool", "float", "double", "char", "long", "short"}
_SAME = "OpgenSame"


def rewrite_members(text: str) -> str:
    """Return ``text`` without explicit specialisations in classes; the same text if it has none."""
    return _Rewriter(text).result() if _SPECIAL.search(text) else text


@dataclass(frozen=True)
class _Function:
    """A member function template or a specialisation of one, as spans of the text.

    Attributes:
        template: from ``template`` to behind its ``>``.
        name: the function's name.
        arguments: ``<ARGS>`` behind the name; empty for a primary template.
        parameters: what is between the parentheses.
        body: offset of the ``{`` or ``;``.
    """

    template: tuple[int, int]
    name: tuple[int, int]
    arguments: tuple[int, int]
    parameters: tuple[int, int]
    body: int

    @property
    def special(self) -> bool:
        return self.arguments[0] < self.arguments[1]


class _Rewriter:
    def __init__(self, text: str):
        self.text = text
        self.code = blank_comments(text)
        self.edits: list[tuple[int, int, str]] = []

    def result(self) -> str:
        scopes = class_scopes(self.code)
        concerned = []
        for match in _SPECIAL.finditer(self.code):
            scope = max((s for s in scopes if s[0] < match.start() < s[1]), default=None)
            if scope and scope not in concerned and self._direct(scope, match.start()):
                concerned.append(scope)
        for scope in concerned:
            self._rewrite_class(scope)
        out, last = [], 0
        for begin, end, new in sorted(self.edits, key=lambda e: e[:2]):
            out += [self.text[last:begin], new]
            last = end
        return "".join([*out, self.text[last:]])

    def _direct(self, scope: tuple[int, int], at: int) -> bool:
        """Whether ``at`` is no deeper than the scope's own braces."""
        between = self.code[scope[0] + 1 : at]
        return between.count("{") == between.count("}")

    def _rewrite_class(self, scope: tuple[int, int]) -> None:
        primaries: dict[str, list[_Function]] = {}
        specials: list[_Function] = []
        classes: dict[str, list[tuple[int, int]]] = {}
        special_classes: list[tuple[str, tuple[int, int]]] = []
        for match in _TEMPLATE.finditer(self.code, scope[0], scope[1]):
            end = matching_angle(self.code, match.end() - 1)
            if end < 0 or not self._direct(scope, match.start()):
                continue
            empty = not self.code[match.end() : end - 1].strip()
            span = (match.end() - 1, end)
            if named := _CLASS_NAME.match(self.code, end):
                if empty:
                    special_classes.append((named[1], span))
                elif self.code[named.end() :].lstrip()[:1] != "<":
                    classes.setdefault(named[1], []).append(span)
            elif function := self._function(match.start(), end):
                if empty:
                    specials.append(function)
                elif not function.special:
                    primaries.setdefault(self._name(function), []).append(function)
        for name in {n for n, _ in special_classes if n in classes}:
            for _, end in classes[name]:
                self.edits.append((end - 1, end - 1, f", class {_SAME} = void"))
        for name, span in special_classes:
            if name in classes:
                self._rewrite_class_special(span)
        for name in dict.fromkeys(self._name(f) for f in specials):
            for index, function in enumerate(primaries.get(name, ())):
                self._rewrite_primary(function, declare_tag=index == 0)
        for function in specials:
            if own := primaries.get(self._name(function)):
                self._rewrite_special(function, self._is_static(own[0]))

    def _function(self, begin: int, header: int) -> _Function | None:
        """Read ``HEAD name<ARGS>(PARAMETERS) REST {`` behind a template header."""
        at = header
        while at < len(self.code) and self.code[at] != "(":
            if self.code[at] in ";{}=":
                return None
            at = matching_angle(self.code, at) if self.code[at] == "<" else at + 1
            if at < 0:
                return None
            if self.code[at : at + 1] == "(" and _NOT_PARAMETERS.search(self.code, header, at):
                at = matching(self.code, at)
        head = self.code[header:at].rstrip()
        arguments = (at, at)
        if head.endswith(">"):
            opening = self._opening_angle(header, header + len(head))
            arguments = (opening, header + len(head))
            head = self.code[header:opening]
        name = _FUNCTION_NAME.search(head)
        close = matching(self.code, at) if at < len(self.code) else -1
        body = re.compile(r"[{;]").search(self.code, max(close, 0))
        if name is None or close < 0 or body is None:
            return None
        span = (header + name.start(1), header + name.end(1))
        return _Function((begin, header), span, arguments, (at + 1, close - 1), body.start())

    def _opening_angle(self, begin: int, end: int) -> int:
        depth = 0
        for i in range(end - 1, begin - 1, -1):
            depth += {">": 1, "<": -1}.get(self.code[i], 0)
            if depth == 0:
                return i
        return begin

    def _name(self, function: _Function) -> str:
        return re.sub(r"\s", "", self.code[slice(*function.name)])

    def _tag(self, function: _Function) -> str:
        return "OpgenTag_" + re.sub(r"\W", "_", self._name(function))

    # ---- rewriting ---------------------------------------------------------------------------

    def _rewrite_class_special(self, span: tuple[int, int]) -> None:
        """``template <> struct S<A>`` becomes ``template <class Same> struct S<A, Same>``."""
        self.edits.append((span[0] + 1, span[1] - 1, f"class {_SAME}"))
        angle = self.code.index("<", span[1])
        end = matching_angle(self.code, angle)
        empty = not self.code[angle + 1 : end - 1].strip()
        self.edits.append((end - 1, end - 1, _SAME if empty else f", {_SAME}"))

    def _is_static(self, function: _Function) -> bool:
        head = self.code[function.template[1] : function.name[0]]
        return re.search(r"\bstatic\b", head) is not None

    def _rewrite_special(self, function: _Function, static: bool) -> None:
        """``template <> void f<A>(...)`` becomes ``void f(..., Tag<A>)``."""
        arguments = _flat(self.code[slice(*function.arguments)])
        # The specialisation of a static function does not say so again; an overload has to.
        start = "static " if static and not self._is_static(function) else ""
        self.edits.append((*function.template, start + self._line_ends(function.template)))
        self.edits.append((*function.arguments, self._line_ends(function.arguments)))
        self._add_parameter(function, self._tag(function) + arguments)

    def _rewrite_primary(self, function: _Function, declare_tag: bool) -> None:
        """Put a function in front that calls this one, now with a tag, or a specialisation."""
        opening = self.code.index("<", function.template[0])
        given = split_list(self.code[opening + 1 : function.template[1] - 1])
        bare = [_flat(without_default(p)) for p in given]
        header = f"template <{', '.join(bare)}>"
        tag = f"{self._tag(function)}<{', '.join(_template_argument(p) for p in bare)}>"
        head = _flat(self.code[function.template[1] : function.name[0]])
        name = self._name(function)
        declared, values = [], []
        for index, parameter in enumerate(split_list(self.code[slice(*function.parameters)])):
            plain = without_default(parameter)
            default, plain = _flat(parameter[len(plain) :]), _flat(plain)
            value = _parameter_name(plain)
            if value is None:
                value = f"opgenArgument{index}"
                plain = f"{plain} {value}"
            declared.append(f"{plain} {default}".strip())
            values.append(f"static_cast<decltype({value})>({value})" if "&&" in plain else value)
        rest = _flat(self.code[function.parameters[1] + 1 : function.body])
        text = f"{header} struct {self._tag(function)} {{}}; " if declare_tag else ""
        text += f"template <{', '.join(map(_flat, given))}> {head} {name}({', '.join(declared)}) "
        text += f"{rest} {{ return {name}({', '.join([*values, tag + '{}'])}); }} {header}"
        self.edits.append((*function.template, text + self._line_ends(function.template)))
        self._drop_defaults(function)
        self._add_parameter(function, tag)
        if self.code[function.body] == ";" and re.search(r"\bvoid\b", head):
            self.edits.append((function.body, function.body + 1, " {}"))

    def _drop_defaults(self, function: _Function) -> None:
        at = function.parameters[0]
        for parameter in split_list(self.code[slice(*function.parameters)]):
            kept = len(without_default(parameter))
            if kept < len(parameter):
                span = (at + kept, at + len(parameter))
                self.edits.append((*span, self._line_ends(span)))
            at += len(parameter) + 1

    def _add_parameter(self, function: _Function, tag: str) -> None:
        end = function.parameters[1]
        empty = not self.code[slice(*function.parameters)].strip()
        self.edits.append((end, end, tag if empty else f", {tag}"))

    def _line_ends(self, span: tuple[int, int]) -> str:
        return "\n" * self.code.count("\n", *span)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _template_argument(parameter: str) -> str:
    """Return how ``class T``, ``int N`` or ``class... Ts`` is passed on."""
    match = _LAST_WORD.search(parameter)
    name = match[1] if match else parameter
    return name + ("..." if "..." in parameter else "")


def _parameter_name(parameter: str) -> str | None:
    """Return the name of a function parameter, None when it has none."""
    match = _LAST_WORD.search(parameter)
    if match is None or match[1] in _TYPE_WORDS:
        return None
    before = parameter[: match.start()].rstrip()
    # "Params const" and "unsigned x": a name needs a type in front of it.
    typed = re.sub(r"\b(?:const|volatile|typename|struct|class)\b", "", before).strip()
    return match[1] if typed and not typed.endswith("::") else None
