"""Read CMake files: their commands, and which of them a build takes.

Conditions are evaluated where their variables are known: from ``set`` and ``option`` of the files
read so far, and from what the caller knows (compute unit, build type). A condition that is not
known takes all of its branches, and is reported as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"(?P<comment>\#\[(?P<ce>=*)\[.*?\](?P=ce)\]|\#[^\n]*)"
    r"|\[(?P<be>=*)\[(?P<bracket>.*?)\](?P=be)\]"
    r'|"(?P<quoted>(?:[^"\\]|\\.)*)"'
    r"|(?P<open>\()|(?P<close>\))"
    r'|(?P<word>(?:[^\s()"#\\]|\\.)+)',
    re.S,
)
_VARIABLE = re.compile(r"\$\{([\w./+-]+)\}")
_TRUE = {"1", "ON", "YES", "TRUE", "Y"}
_FALSE = {"0", "OFF", "NO", "FALSE", "N", "IGNORE", "NOTFOUND", ""}
_COMPARISONS = {"EQUAL", "LESS", "GREATER", "LESS_EQUAL", "GREATER_EQUAL"}


class CMakeError(ValueError):
    """The text is not CMake.

    Attributes:
        line: where, from 1.
    """

    def __init__(self, text: str, line: int):
        super().__init__(text)
        self.line = line


@dataclass(frozen=True)
class Word:
    """One argument as it is written, quotes taken off."""

    text: str
    quoted: bool = False


@dataclass(frozen=True)
class Command:
    """One call: its name in lower case, its arguments, its line (from 1).

    ``certain`` is False where it stands below a condition that could not be told.
    """

    name: str
    words: tuple[Word, ...]
    line: int
    certain: bool = True

    @property
    def texts(self) -> list[str]:
        """The arguments' text."""
        return [w.text for w in self.words]


def commands(text: str) -> list[Command]:
    """Return the commands of a file.

    Raises:
        CMakeError: brackets or quotes do not match, or text stands outside of a command.
    """
    found: list[Command] = []
    name, name_line = "", 0
    words: list[Word] = []
    depth, at = 0, 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            if not text[at].isspace():
                line = text.count("\n", 0, at) + 1
                what = "a quote without end" if text[at] == '"' else f"stray {text[at]!r}"
                raise CMakeError(what, line)
            at += 1
            continue
        at, kind = match.end(), match.lastgroup
        line = text.count("\n", 0, match.start()) + 1
        if match["comment"] is not None:
            continue
        if match["open"]:
            depth += 1
            if depth == 1 and not name:
                raise CMakeError("'(' without a command", line)
            if depth > 1:
                words.append(Word("("))
        elif match["close"]:
            depth -= 1
            if depth < 0:
                raise CMakeError("')' without '('", line)
            if depth == 0:
                found.append(Command(name.lower(), tuple(words), name_line))
                name, words = "", []
            else:
                words.append(Word(")"))
        elif depth == 0:
            if name or kind != "word":
                raise CMakeError(f"{name or match[0]} is no command: no '(' follows", line)
            name, name_line = match[0], line
        elif match["bracket"] is not None:
            words.append(Word(match["bracket"], True))
        elif match["quoted"] is not None:
            words.append(Word(re.sub(r"\\(.)", r"\1", match["quoted"]), True))
        else:
            words.append(Word(match["word"]))
    if depth or name:
        raise CMakeError(f"{name}( has no ')'", name_line)
    return found


@dataclass
class Scope:
    """Variables on the way through CMake files.

    Attributes:
        values: known variables. A variable that is not here is unknown, not empty.
        unknown: conditions that could not be told, as written.
    """

    values: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)

    def expand(self, text: str) -> str:
        """Replace known variables; those that are not stay as they are written."""
        for _ in range(8):  # variables in the values of variables
            changed = _VARIABLE.sub(lambda m: self.values.get(m[1], m[0]), text)
            if changed == text:
                break
            text = changed
        return text

    def taken(self, source: str | Sequence[Command]) -> Iterator[Command]:
        """Yield the commands that a build takes, variables expanded; ``set`` is followed.

        Bodies of functions and macros are taken once, where they stand, and set nothing: what calls
        them is not evaluated. Both branches of a condition that is not known are taken. What they
        and bodies of loops set is unknown afterwards.

        Raises:
            CMakeError: the text is not CMake.
        """
        # Per open if: whether the branch is taken (None: unknown), and whether one was before.
        open_ifs: list[list[bool | None]] = []
        functions = loops = 0
        for command in commands(source) if isinstance(source, str) else source:
            functions += _opens(command.name, "function", "macro")
            loops += _opens(command.name, "foreach", "while")
            if command.name in ("if", "elseif", "else", "endif"):
                self._branch(open_ifs, command)
                continue
            states = [state[0] for state in open_ifs]
            if False in states:
                continue
            expanded = tuple(Word(self.expand(w.text), w.quoted) for w in command.words)
            certain = None not in states
            if not functions:
                self._assign(command.name, expanded, certain=certain and not loops)
            yield Command(command.name, expanded, command.line, certain)

    def _branch(self, open_ifs: list[list[bool | None]], command: Command) -> None:
        if command.name == "endif":
            del open_ifs[-1:]
            return
        reached = all(state[0] is not False for state in open_ifs[:-1])
        if command.name == "if":
            reached = all(state[0] is not False for state in open_ifs)
            holds = self._condition(command) if reached else False
            open_ifs.append([holds, holds])
        elif open_ifs:
            earlier = open_ifs[-1][1]
            if earlier is True:
                open_ifs[-1][0] = False
                return
            holds = True
            if command.name == "elseif":
                holds = self._condition(command) if reached else False
            if earlier is None and holds is not False:
                open_ifs[-1][0] = None
            else:
                open_ifs[-1][0] = holds
            if holds is True:
                open_ifs[-1][1] = True if earlier is False else None
            elif holds is None:
                open_ifs[-1][1] = None

    def _condition(self, command: Command) -> bool | None:
        holds = self.holds(command.words)
        if holds is None:
            text = " ".join(w.text for w in command.words)
            if text not in self.unknown:
                self.unknown.append(text)
        return holds

    def _assign(self, name: str, words: tuple[Word, ...], *, certain: bool) -> None:
        if not words or name not in ("set", "option", "unset", "list", "string"):
            return
        if name in ("list", "string"):
            self._change_list(words, append=name == "list" and certain)
            return
        variable = words[0].text
        cached = any(w.text == "CACHE" and not w.quoted for w in words)
        if name == "option":
            given = words[2].text if len(words) > 2 else "OFF"
        else:
            plain = []
            for word in words[1:]:
                if word.text in ("CACHE", "PARENT_SCOPE") and not word.quoted:
                    break
                plain.append(word.text)
            given = ";".join(plain)
        forced = any(w.text == "FORCE" for w in words)
        if (name == "option" or (cached and not forced)) and variable in self.values:
            return  # the cache's value stays
        if certain and "${" not in given and "$<" not in given and "$ENV" not in given:
            self.values[variable] = "" if name == "unset" else given
        else:
            self.values.pop(variable, None)

    def _change_list(self, words: tuple[Word, ...], *, append: bool) -> None:
        """Follow ``list(APPEND ...)`` if ``append``; forget what the other commands write."""
        if append and words[0].text == "APPEND" and len(words) > 1:
            variable = words[1].text
            if variable in self.values:
                old = [self.values[variable]] if self.values[variable] else []
                self.values[variable] = ";".join([*old, *(w.text for w in words[2:])])
            return
        # What these make is not followed; the variables they write are unknown from here on.
        for word in words[1:]:
            self.values.pop(word.text, None)

    # ---- conditions ----

    def holds(self, words: Sequence[Word]) -> bool | None:
        """Return whether an ``if`` with these words holds; None: it cannot be told."""
        items = list(words)
        value = self._or(items)
        return value if not items else None

    def _or(self, items: list[Word]) -> bool | None:
        value = self._and(items)
        while items and _is(items[0], "OR"):
            items.pop(0)
            other = self._and(items)
            value = True if True in (value, other) else None if None in (value, other) else False
        return value

    def _and(self, items: list[Word]) -> bool | None:
        value = self._not(items)
        while items and _is(items[0], "AND"):
            items.pop(0)
            other = self._not(items)
            value = False if False in (value, other) else None if None in (value, other) else True
        return value

    def _not(self, items: list[Word]) -> bool | None:
        if items and _is(items[0], "NOT"):
            items.pop(0)
            value = self._not(items)
            return None if value is None else not value
        if items and _is(items[0], "("):
            items.pop(0)
            value = self._or(items)
            if items and _is(items[0], ")"):
                items.pop(0)
                return value
            return None
        return self._test(items)

    def _test(self, items: list[Word]) -> bool | None:
        if not items:
            return None
        first = items.pop(0)
        if not first.quoted and first.text in ("DEFINED", "TARGET", "COMMAND", "POLICY") and items:
            name = items.pop(0).text
            return True if first.text == "DEFINED" and name in self.values else None
        if not first.quoted and first.text in ("EXISTS", "IS_DIRECTORY", "IS_ABSOLUTE") and items:
            items.pop(0)
            return None
        if items and not items[0].quoted:
            word = items[0].text
            comparison = word in ("STREQUAL", "MATCHES", "IN_LIST") or word in _COMPARISONS
            if comparison or word.startswith(("VERSION_", "STR")):
                items.pop(0)
                if not items:
                    return None
                return self._compare(first, word, items.pop(0))
        return self._truth(first)

    def _compare(self, left: Word, operator: str, right: Word) -> bool | None:
        a = self._operand(left, first=True)
        if operator == "IN_LIST":
            values = self.values.get(right.text)
            return None if a is None or values is None else a in values.split(";")
        if operator == "MATCHES":
            pattern = self.expand(right.text)
            if a is None or "${" in pattern:
                return None
            try:
                return re.search(pattern, a) is not None
            except re.error:
                return None
        b = self._operand(right)
        if a is None or b is None:
            return None
        if operator == "STREQUAL":
            return a == b
        if operator in _COMPARISONS:
            try:
                x, y = float(a), float(b)
            except ValueError:
                return False
            return {
                "EQUAL": x == y,
                "LESS": x < y,
                "GREATER": x > y,
                "LESS_EQUAL": x <= y,
                "GREATER_EQUAL": x >= y,
            }[operator]
        return None

    def _operand(self, word: Word, *, first: bool = False) -> str | None:
        """Return an operand's text; an unquoted name of a variable stands for its value.

        Args:
            first: it stands on the left, where a plain name is a variable: perhaps a parent's.
        """
        text = self.expand(word.text)
        if "${" in text or "$ENV" in text or "$<" in text:
            return None
        if first and not word.quoted and text == word.text and text not in self.values:
            return None if re.fullmatch(r"[A-Za-z_]\w*", text) else text
        return text if word.quoted else self.values.get(text, text)

    def _truth(self, word: Word) -> bool | None:
        text = self.expand(word.text)
        if "${" in text or "$ENV" in text:
            return None
        upper = text.upper()
        if upper in _TRUE or re.fullmatch(r"[1-9]\d*", text):
            return True
        if upper in _FALSE or upper.endswith("-NOTFOUND"):
            return False
        if word.quoted:
            return False
        if text not in self.values:
            return None  # a parent's or a user's variable, perhaps
        return self._truth_of(self.values[text])

    @staticmethod
    def _truth_of(value: str) -> bool:
        return value.upper() not in _FALSE and not value.upper().endswith("-NOTFOUND")


def _opens(name: str, *blocks: str) -> int:
    """Return 1 for a command that begins one of the blocks, -1 for one that ends it, else 0."""
    return (name in blocks) - (name in [f"end{b}" for b in blocks])


def _is(word: Word, text: str) -> bool:
    return not word.quoted and word.text == text


def preset_variables(presets: Mapping[str, object]) -> dict[str, str]:
    """Return the cache variables of the first configure preset of ``CMakePresets.json``."""
    listed = presets.get("configurePresets")
    first = listed[0] if isinstance(listed, list) and listed else None
    variables = first.get("cacheVariables") if isinstance(first, dict) else None
    found = {}
    for name, value in variables.items() if isinstance(variables, dict) else ():
        text = value.get("value") if isinstance(value, dict) else value
        if isinstance(text, (str, bool, int)):
            found[str(name)] = str(text)
    return found
