"""Read YAML text into nodes that know their place in the file.

Only the plain part of YAML is accepted: mappings with string keys, sequences and scalars. Anchors,
aliases and tags are refused (a spec is small and is read by people), so a document can neither
grow on expansion nor construct objects. Scalars follow the YAML 1.2 core schema: ``no`` and ``on``
are strings, ``1e-5`` is a number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from msopgen_wrap.diagnostics import Location
from msopgen_wrap.spec.findings import Findings

MAX_BYTES = 256 * 1024
MAX_DEPTH = 24
MAX_NODES = 50_000

_INT = re.compile(r"[-+]?[0-9]+\Z")
_HEX = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_INF = re.compile(r"[-+]?\.(inf|Inf|INF)\Z")
_NAN = re.compile(r"\.(nan|NaN|NAN)\Z")


@dataclass(frozen=True)
class Scalar:
    """A scalar: ``value`` is str, int, float, bool or None; ``text`` what the file says.

    ``body`` is where the first character of the text stands (inside quotes, or the first line of a
    block), and ``literal`` whether the lines of ``text`` are lines of the file. ``columns`` is that
    of ``Code``.
    """

    value: Any
    text: str
    location: Location
    body: Location
    literal: bool = True
    quoted: bool = False
    columns: tuple[int, ...] = ()


@dataclass(frozen=True)
class Sequence:
    """A list; ``text`` is its source when written in flow style on one line, else empty."""

    items: tuple[Node, ...]
    location: Location
    text: str = ""


@dataclass(frozen=True)
class Mapping:
    """A mapping in file order, keys unique."""

    entries: tuple[tuple[Scalar, Node], ...]
    location: Location
    text: str = ""

    def get(self, key: str) -> Node | None:
        """Return the value under ``key``, or None."""
        for k, v in self.entries:
            if k.value == key:
                return v
        return None

    def key(self, name: str) -> Scalar | None:
        """Return the key node called ``name``, or None."""
        for k, _ in self.entries:
            if k.value == name:
                return k
        return None


Node = Scalar | Sequence | Mapping


def kind_of(node: Node) -> str:
    """Return a word for the node's kind, as used in messages."""
    if isinstance(node, Mapping):
        return "a mapping"
    if isinstance(node, Sequence):
        return "a list"
    if node.value is None:
        return "nothing"
    return {str: "text", bool: "a boolean", int: "an integer", float: "a number"}[type(node.value)]


@dataclass
class _Open:
    """A collection being read."""

    is_map: bool
    start: yaml.Mark
    flow: bool
    items: list[Any] = field(default_factory=list)
    key: Scalar | None = None


def parse_yaml(text: str, file: str, findings: Findings) -> Node | None:
    """Parse one YAML document; problems go to ``findings`` and give None.

    Duplicate keys are reported all at once and the first one is kept.
    """
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        findings.error(
            "OPG001",
            f"the spec is larger than {MAX_BYTES // 1024} KiB",
            Location(file),
            fix="split it: one op per file",
        )
        return None
    lines = text.split("\n")
    try:
        return _build(yaml.parse(text, Loader=yaml.SafeLoader), text, lines, file, findings)
    except yaml.YAMLError as error:
        _report_yaml_error(error, lines, file, findings)
    except (ValueError, OverflowError, RecursionError, IndexError) as error:
        # PyYAML lets a few Python errors through, e.g. chr() for an escape beyond Unicode.
        findings.error("OPG002", f"not valid YAML: {error}", Location(file, 1, 1))
    return None


def _location(file: str, start: yaml.Mark, end: yaml.Mark, lines: list[str]) -> Location:
    if start.line == end.line:
        length = max(1, end.column - start.column)
    else:
        row = lines[start.line] if start.line < len(lines) else ""
        length = max(1, len(row.rstrip()) - start.column)
    return Location(file, start.line + 1, start.column + 1, length)


def _build(events: Any, text: str, lines: list[str], file: str, findings: Findings) -> Node | None:
    stack: list[_Open] = []
    root: Node | None = None
    documents = nodes = 0
    ok = True
    for event in events:
        node: Node | None = None
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                place = _location(file, event.start_mark, event.end_mark, lines)
                findings.error(
                    "OPG008", "more than one YAML document", place, fix="one op per file"
                )
                return None
        elif isinstance(event, yaml.AliasEvent):
            place = _location(file, event.start_mark, event.end_mark, lines)
            findings.error(
                "OPG004",
                f"'*{event.anchor}' is a YAML alias here",
                place,
                why="an unquoted '*' starts an alias in YAML; specs do not use aliases",
                fix="quote shape rules that start with '[' and hold '*': shape: \"[*x[:-1], 4]\"",
            )
            return None
        elif isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
            ok &= _plain(event, lines, file, findings)
            is_map = isinstance(event, yaml.MappingStartEvent)
            stack.append(_Open(is_map, event.start_mark, bool(event.flow_style)))
            if len(stack) > MAX_DEPTH:
                place = _location(file, event.start_mark, event.end_mark, lines)
                findings.error("OPG002", f"nested deeper than {MAX_DEPTH} levels", place)
                return None
        elif isinstance(event, yaml.ScalarEvent):
            ok &= _plain(event, lines, file, findings)
            node = _scalar(event, lines, file)
            ok &= _printable(node, findings)
        elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            node = _close(stack.pop(), event.end_mark, text, lines, file, findings)
        if node is None:
            continue
        nodes += 1
        if nodes > MAX_NODES:
            findings.error("OPG001", f"more than {MAX_NODES} YAML nodes", node.location)
            return None
        if not stack:
            root = node
        elif not stack[-1].is_map:
            stack[-1].items.append(node)
        elif stack[-1].key is None:
            stack[-1].key = _key(node, findings)
        else:
            stack[-1].items.append((stack[-1].key, node))
            stack[-1].key = None
    if root is None and ok:
        findings.error("OPG008", "the file holds no YAML document", Location(file, 1, 1))
    return root if ok else None


def _plain(event: Any, lines: list[str], file: str, findings: Findings) -> bool:
    anchor, tag = event.anchor, event.tag
    if anchor is None and tag is None:
        return True
    name = f"anchor '&{anchor}'" if anchor is not None else f"tag '{tag}'"
    findings.error(
        "OPG004",
        f"YAML {name} is not allowed",
        _location(file, event.start_mark, event.end_mark, lines),
        why="a spec is plain data: mappings, lists, text, numbers",
        fix="remove it, or put the text in quotes",
    )
    return False


# Control characters but line ends and tabs, lone surrogates, marks that reorder the text shown.
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]"
)


def _printable(node: Scalar, findings: Findings) -> bool:
    bad = _UNPRINTABLE.search(node.text)
    if bad is None:
        return True
    findings.error(
        "OPG009",
        f"the text holds the character U+{ord(bad[0]):04X}",
        node.location,
        why="generated sources cannot hold control characters, halves of characters, or marks that "
        "change the order in which text is shown",
        fix="remove it",
    )
    return False


def _key(node: Node, findings: Findings) -> Scalar:
    if isinstance(node, Scalar):
        # A key is always its text: an input may be called `null` or `1` only to be refused later.
        return Scalar(node.text, node.text, node.location, node.body, node.literal, node.quoted)
    findings.error("OPG007", f"a key must be text, not {kind_of(node)}", node.location)
    return Scalar("", "", node.location, node.location)


def _close(
    frame: _Open, end: yaml.Mark, text: str, lines: list[str], file: str, findings: Findings
) -> Node:
    place = _location(file, frame.start, end, lines)
    source = ""
    if frame.flow and frame.start.line == end.line and frame.start.line < len(lines):
        source = lines[frame.start.line][frame.start.column : end.column]
    if not frame.is_map:
        return Sequence(tuple(frame.items), place, source)
    seen: dict[Any, Scalar] = {}
    entries = []
    for key, value in frame.items:
        if key.value in seen:
            findings.error(
                "OPG003",
                f"duplicate key '{key.value}'",
                key.location,
                why=f"first given in line {seen[key.value].location.line};"
                " YAML readers would silently keep only one",
                fix="remove one of the two",
            )
            continue
        seen[key.value] = key
        entries.append((key, value))
    return Mapping(tuple(entries), place, source)


def _scalar(event: yaml.ScalarEvent, lines: list[str], file: str) -> Scalar:
    start, end = event.start_mark, event.end_mark
    place = _location(file, start, end, lines)
    if event.style in ("|", ">"):
        first = start.line + 1
        while first < len(lines) and not lines[first].strip():
            first += 1
        row = lines[first] if first < len(lines) else ""
        indent = len(row) - len(row.lstrip(" "))
        # Leading blank lines belong to the text, so the body starts right after the header.
        body = Location(file, start.line + 2, indent + 1, max(1, len(row.strip())))
        header = max(1, len(lines[start.line].rstrip()) - start.column)
        place = Location(file, start.line + 1, start.column + 1, header)
        return Scalar(event.value, event.value, place, body, event.style == "|", True)
    quoted = event.style in ("'", '"')
    body = Location(file, place.line, place.column + quoted, max(1, place.length - 2 * quoted))
    single = start.line == end.line and (
        not quoted or len(event.value) == end.column - start.column - 2
    )
    value = event.value if quoted else resolve(event.value)
    return Scalar(value, event.value, place, body, single, quoted)


def resolve(text: str) -> Any:
    """Give an unquoted scalar its YAML 1.2 core value."""
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text in ("true", "True", "TRUE"):
        return True
    if text in ("false", "False", "FALSE"):
        return False
    if len(text) > 64:
        return text
    if _INT.match(text):
        return int(text)
    if _HEX.match(text):
        return int(text, 16)
    if _FLOAT.match(text):
        return float(text)
    if _INF.match(text):
        return float("-inf") if text[0] == "-" else float("inf")
    if _NAN.match(text):
        return float("nan")
    return text


_KEY_LINE = re.compile(r"( *)[\w.-]+ *:(?: |$)")


def _wrong_indentation(number: int, lines: list[str]) -> tuple[str, str] | None:
    """Return why and fix when the line's indentation fits no key above it; else None.

    ``number`` counts from 0. Only lines that look like a key are judged.
    """
    here = _KEY_LINE.match(lines[number]) if number < len(lines) else None
    if here is None:
        return None
    indent = len(here[1])
    above = []
    for row in reversed(lines[:number]):
        other = _KEY_LINE.match(row)
        if other is not None:
            above.append((len(other[1]), row))
            if not other[1]:
                break
    if not above or indent == 0:
        return None
    last, row = above[0]
    if indent in {i for i, _ in above} or (indent > last and row.rstrip().endswith(":")):
        return None
    key = lines[number].strip().split(":")[0]
    allowed = sorted({i for i, _ in above if i})
    spaces = " or ".join(map(str, allowed)) or "0"
    why = f"'{key}' is indented by {indent} spaces, which fits no key above it"
    return why, f"indent it by {spaces} spaces, like the keys it belongs to"


def _report_yaml_error(
    error: yaml.YAMLError, lines: list[str], file: str, findings: Findings
) -> None:
    mark = getattr(error, "problem_mark", None)
    context = getattr(error, "context", None)
    problem = getattr(error, "problem", None) or str(error).split("\n")[0]
    place = Location(file, 1, 1)
    why = fix = ""
    if mark is not None:
        place = Location(file, mark.line + 1, mark.column + 1)
        row = lines[mark.line] if mark.line < len(lines) else ""
        if "alias" in str(problem) or "alias" in str(getattr(error, "context", "")):
            fix = "put the value in quotes: an unquoted '*' starts a YAML alias"
        elif "mapping values are not allowed" in problem:
            fix = "put the value in quotes, or write it as a block after '|': it contains ': '"
        elif "\t" in row[: mark.column + 1]:
            fix = "indent with spaces; YAML does not allow tabs"
        elif wrong := _wrong_indentation(mark.line, lines):
            why, fix = wrong
            context = None
        elif "[" in row or "{" in row:
            fix = "put shape rules and code that hold brackets in quotes"
    else:
        # The reader's errors give a position in characters, not a mark.
        position = getattr(error, "position", None)
        if isinstance(position, int):
            before = "\n".join(lines)[:position]
            place = Location(file, before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1)
            problem = f"character {getattr(error, 'character', '')!r} is not allowed in YAML"
    if context:
        why = str(context)
    findings.error("OPG002", f"not valid YAML: {problem}", place, why=why, fix=fix)
