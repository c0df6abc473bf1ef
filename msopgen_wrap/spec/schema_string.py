"""Read the ``schema:`` short form: ``"exp(Tensor x, float base=-1.0) -> Tensor y"``.

The idiom is torch's and cann-bench's. It gives names, kinds and attr defaults; dtypes are
float16, bfloat16 and float32 for every tensor, and outputs broadcast the inputs. A spec that needs
more says it in ``inputs``, ``outputs`` and ``attrs``.
"""

from __future__ import annotations

import re

from msopgen_wrap.diagnostics import Location
from msopgen_wrap.spec.attrs import attr_value
from msopgen_wrap.spec.model import REQUIRED, Attr, ParamKind, TensorParam
from msopgen_wrap.spec.names import check_param_name
from msopgen_wrap.spec.params import RawParam
from msopgen_wrap.spec.reader import Reader
from msopgen_wrap.spec.yaml_nodes import Node, Scalar, Sequence, resolve

DEFAULT_DTYPES = ("float16", "bfloat16", "float32")
MAX_TEXT = 1000
_SCHEMA = re.compile(r"\s*(?:(\w+)\s*)?\((.*)\)\s*->\s*(.*?)\s*\Z", re.S)
_PARAM = re.compile(
    r"\s*(?P<type>[A-Za-z_]+(?:\([a-z]!\))?(?:\[\d*\])?\??)\s+(?P<name>\w+)"
    r"\s*(?:=\s*(?P<default>.*?))?\s*\Z",
    re.S,
)
_ATTR_TYPES = {
    "int": "int",
    "SymInt": "int",
    "float": "float",
    "Scalar": "float",
    "bool": "bool",
    "str": "str",
    "string": "str",
    "int[]": "list_int",
    "SymInt[]": "list_int",
    "float[]": "list_float",
    "ScalarType": "dtype",
    "dtype": "dtype",
}


def read_schema(node: Node, reader: Reader) -> tuple[list[RawParam], list[RawParam], list[Attr]]:
    """Return inputs, outputs and attrs of the schema string; problems are OPG070."""
    text = reader.text(node, "schema")
    if text is None or not isinstance(node, Scalar):
        return [], [], []
    return _Schema(text, node, reader).read()


class _Schema:
    def __init__(self, text: str, node: Scalar, reader: Reader) -> None:
        self.text = text
        self.node = node
        self.reader = reader
        self.inputs: list[RawParam] = []
        self.outputs: list[RawParam] = []
        self.attrs: list[Attr] = []

    def place(self, offset: int, length: int) -> Location:
        body = self.node.body
        if not self.node.literal or "\n" in self.text[:offset]:
            return self.node.location
        return Location(body.file, body.line, body.column + offset, max(1, length))

    def error(self, what: str, offset: int, length: int, why: str = "", fix: str = "") -> None:
        self.reader.findings.error("OPG070", what, self.place(offset, length), why, fix)

    def read(self) -> tuple[list[RawParam], list[RawParam], list[Attr]]:
        match = _SCHEMA.match(self.text) if len(self.text) <= MAX_TEXT else None
        if match is None:
            self.error(
                "cannot read the schema",
                0,
                len(self.text),
                fix="write 'exp(Tensor x, float base=-1.0) -> Tensor y'",
            )
            return [], [], []
        for part, offset in _split(match.group(2), match.start(2)):
            self.parameter(part, offset)
        result, start = match.group(3), match.start(3)
        if result.startswith("(") and result.endswith(")"):
            result, start = result[1:-1], start + 1
        for part, offset in _split(result, start):
            self.result(part, offset)
        if not self.inputs:
            self.error("the schema has no tensor input", 0, len(self.text))
        if not self.outputs:
            self.error("the schema has no output", match.start(3), 1)
        names = ", ".join(r.param.name for r in self.inputs)
        for raw in self.outputs:
            if raw.param.inplace is None:
                place = self.place(0, len(self.text))
                raw.shape_source = (f"broadcast({names})", place)
        return self.inputs, self.outputs, self.attrs

    def parameter(self, part: str, offset: int) -> None:
        if part.strip() in ("*", ""):
            return
        match = _PARAM.match(part)
        if match is None:
            self.error(f"cannot read parameter '{part.strip()}'", offset, len(part))
            return
        kind, name, default = match.group("type"), match.group("name"), match.group("default")
        place = self.place(offset + match.start("name"), len(name))
        base = kind.rstrip("?")
        if re.match(r"Tensor(\([a-z]!\))?(\[\])?\Z", base):
            if not check_param_name(name, "an input", place, self.reader.findings):
                return
            param_kind = (
                ParamKind.DYNAMIC
                if base.endswith("[]")
                else ParamKind.OPTIONAL
                if kind.endswith("?")
                else ParamKind.REQUIRED
            )
            param = TensorParam(name, (), param_kind, location=place)
            raw = RawParam(param, None, None, False, DEFAULT_DTYPES, dtype_place=place)
            raw.dtype_node = _dtype_node(place)
            self.inputs.append(raw)
            return
        attr_type = _ATTR_TYPES.get(re.sub(r"\[\d+\]", "[]", base))
        if attr_type is None:
            known = ", ".join(["Tensor", "Tensor?", "Tensor[]", *_ATTR_TYPES])
            self.error(f"unknown type '{kind}'", offset + match.start("type"), len(kind), known)
            return
        if not check_param_name(name, "an attr", place, self.reader.findings):
            return
        value = REQUIRED
        if default is not None:
            at = self.place(offset + match.start("default"), len(default))
            value = attr_value(
                _default_node(default, at), attr_type, f"default of attr '{name}'", self.reader
            )
            if value is None:
                return
        self.attrs.append(Attr(name, attr_type, value, location=place))

    def result(self, part: str, offset: int) -> None:
        words = part.split()
        kind = words[0] if words else ""
        name = words[1] if len(words) > 1 else "out" if not self.outputs else ""
        match = re.match(r"Tensor(\(([a-z])!\))?(\[\])?\Z", kind)
        if match is None or len(words) > 2 or not name:
            self.error(
                f"cannot read result '{part.strip()}'",
                offset,
                len(part),
                fix="write '-> Tensor y' or '-> (Tensor y, Tensor z)'",
            )
            return
        at = offset + part.rfind(name) if len(words) > 1 else offset
        place = self.place(at, len(name))
        if not check_param_name(name, "an output", place, self.reader.findings):
            return
        inplace = self.aliased(match.group(1))
        param_kind = ParamKind.DYNAMIC if match.group(3) else ParamKind.REQUIRED
        param = TensorParam(name, (), param_kind, inplace=inplace, location=place)
        follows = inplace or (self.inputs[0].param.name if self.inputs else None)
        self.outputs.append(
            RawParam(param, _dtype_node(place), None, True, DEFAULT_DTYPES, follows, place)
        )

    def aliased(self, mark: str | None) -> str | None:
        """Return the input that carries the alias mark ``(a!)``."""
        if not mark:
            return None
        found = re.search(r"Tensor" + re.escape(mark) + r"(?:\[\])?\s+(\w+)", self.text)
        return found.group(1) if found else None


def _split(text: str, start: int) -> list[tuple[str, int]]:
    """Split at commas outside brackets; give each part its offset in the schema."""
    parts = []
    depth = begin = 0
    for i, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if char == "," and depth <= 0:
            parts.append((text[begin:i], start + begin))
            begin = i + 1
    if text[begin:].strip() or parts:
        parts.append((text[begin:], start + begin))
    return parts


def _dtype_node(place: Location) -> Node:
    items = tuple(Scalar(d, d, place, place) for d in DEFAULT_DTYPES)
    return Sequence(items, place)


def _default_node(text: str, place: Location) -> Node:
    body = text.strip()
    if body.startswith("[") and body.endswith("]"):
        parts = [p.strip() for p in body[1:-1].split(",") if p.strip()]
        return Sequence(tuple(_default_node(p, place) for p in parts), place, body)
    quoted = len(body) > 1 and body[0] == body[-1] and body[0] in "'\""
    if quoted:
        return Scalar(body[1:-1], body[1:-1], place, place, True, True)
    return Scalar(resolve(body), body, place, place)
