"""Read ``attrs`` and attr values into the nouns of ``model.py``."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.diagnostics import Location
from msopgen_wrap.spec.dtype_lists import unknown_dtype
from msopgen_wrap.spec.findings import listed, suggestion
from msopgen_wrap.spec.model import ATTR_TYPES, DTYPES, REQUIRED, Attr
from msopgen_wrap.spec.names import check_param_name
from msopgen_wrap.spec.params import read_doc
from msopgen_wrap.spec.reader import Reader
from msopgen_wrap.spec.yaml_nodes import Mapping, Node, Scalar, Sequence, kind_of

ATTR_KEYS = ("type", "default", "allowed", "min", "max", "doc")

ATTR_TYPE_ALIASES = {
    "string": "str",
    "text": "str",
    "integer": "int",
    "number": "float",
    "double": "float",
    "boolean": "bool",
    "type": "dtype",
    "ints": "list_int",
    "int[]": "list_int",
    "list": "list_int",
    "floats": "list_float",
    "float[]": "list_float",
}


def read_attrs(node: Node, reader: Reader) -> list[Attr]:
    """Read the ``attrs`` mapping; the short form ``alpha: 1.0`` gives type and default at once."""
    mapping = reader.mapping(node, "attrs", fix="write 'attrs:' and under it 'alpha: 1.0'")
    if mapping is None:
        return []
    result = []
    for key, value in mapping.entries:
        name = str(key.value)
        good = check_param_name(name, "an attr", key.location, reader.findings)
        attr = (
            _read_attr(name, key.location, value, reader)
            if isinstance(value, Mapping)
            else _short_attr(name, key.location, value, reader)
        )
        if attr is not None and good:
            result.append(attr)
    return result


def _short_attr(name: str, place: Location, node: Node, reader: Reader) -> Attr | None:
    if isinstance(node, Scalar) and isinstance(node.value, str) and not node.quoted:
        if node.value in ATTR_TYPES:
            return Attr(name, node.value, location=place)
        if node.value in DTYPES:
            return Attr(name, "dtype", node.value, location=place)
    kind = _type_of(node)
    if kind is None:
        reader.findings.error(
            "OPG020",
            f"cannot tell the type of attr '{name}'",
            node.location,
            fix=f"write '{name}: {{type: float, default: 1.0}}' or just '{name}: 1.0'",
        )
        return None
    default = attr_value(node, kind, f"default of attr '{name}'", reader)
    return None if default is None else Attr(name, kind, default, location=place)


def _type_of(node: Node) -> str | None:
    """Return the attr type that a default value implies."""
    if isinstance(node, Scalar):
        return {bool: "bool", int: "int", float: "float", str: "str"}.get(type(node.value))
    if isinstance(node, Sequence) and node.items:
        kinds = {type(i.value) if isinstance(i, Scalar) else None for i in node.items}
        if kinds == {int}:
            return "list_int"
        if kinds <= {int, float}:
            return "list_float"
    return None


def _read_attr(name: str, place: Location, node: Mapping, reader: Reader) -> Attr | None:
    what = f"attr '{name}'"
    reader.known_keys(node, ATTR_KEYS, what)
    kind = _attr_type(node, what, place, reader)
    if kind is None:
        return None
    default: Any = REQUIRED
    value = node.get("default")
    if value is not None:
        default = attr_value(value, kind, f"default of {what}", reader)
    minimum, maximum = _bounds(node, kind, what, reader)
    allowed = _allowed(node, kind, what, reader)
    attr = Attr(name, kind, default, allowed, minimum, maximum, read_doc(node, what, reader), place)
    if default is not REQUIRED and default is not None and value is not None:
        problem = attr_problem(attr, default)
        if problem:
            reader.findings.error("OPG021", f"default of {what}: {problem}", value.location)
    return None if default is None else attr


def _attr_type(node: Mapping, what: str, place: Location, reader: Reader) -> str | None:
    value = node.get("type")
    if value is None:
        default = node.get("default")
        kind = _type_of(default) if default is not None else None
        if kind is None:
            reader.findings.error(
                "OPG020", f"{what} has no type", place, why=f"types: {listed(ATTR_TYPES)}"
            )
        return kind
    text = reader.text(value, f"type of {what}")
    if text is None or text in ATTR_TYPES:
        return text
    alias = ATTR_TYPE_ALIASES.get(text.lower())
    reader.findings.error(
        "OPG020",
        f"unknown attr type '{text}'",
        value.location,
        why=f"types: {listed(ATTR_TYPES)}",
        fix=f"write '{alias}'" if alias else suggestion(text, ATTR_TYPES),
    )
    return None


def attr_value(node: Node, kind: str, what: str, reader: Reader) -> Any:
    """Return the value of ``node`` as attr type ``kind``, or None after a report (OPG021)."""
    if isinstance(node, Scalar) and kind in ("list_int", "list_float"):
        fix = "write it as a YAML list: [1, 2]"
        reader.findings.error("OPG021", f"{what} must be a list", node.location, fix=fix)
        return None
    if isinstance(node, Sequence) and kind.startswith("list_"):
        values = tuple(attr_value(i, kind[5:], f"element of {what}", reader) for i in node.items)
        return None if None in values else values
    if isinstance(node, Scalar):
        value = node.value
        number = _number(value, kind)
        if number is not None:
            return number
        if kind == "str" and (isinstance(value, str) or node.quoted):
            return _line_of_text(node, what, reader)
        if kind == "dtype" and isinstance(value, str):
            if value in DTYPES:
                return value
            unknown_dtype(value, node.location, reader.findings, [])
            return None
    shown = node.text if isinstance(node, Scalar) else kind_of(node)
    words = {"int": "an integer", "float": "a number", "bool": "true or false", "str": "text"}
    expected = words.get(kind, kind)
    reader.findings.error("OPG021", f"{what} must be {expected}, not {shown[:40]}", node.location)
    return None


def _number(value: Any, kind: str) -> bool | int | float | None:
    """Return the value of an attr of type bool, int or float, None for all that is none."""
    if kind == "bool" and isinstance(value, bool):
        return value
    if kind == "int" and type(value) is int and -(2**63) <= value < 2**63:
        return value
    if kind == "float" and (type(value) in (int, float) or value in ("inf", "-inf")):
        try:
            return float(value)
        except OverflowError:
            return None
    return None


def _line_of_text(node: Scalar, what: str, reader: Reader) -> str | None:
    if any(c < " " for c in node.text):
        reader.findings.error(
            "OPG021",
            f"{what} has a line break or a tab",
            node.location,
            why="it becomes a name of a kernel variant, a string of C++ and of torch's schema",
            fix="write it on one line",
        )
        return None
    return node.text


def _bounds(
    node: Mapping, kind: str, what: str, reader: Reader
) -> tuple[float | None, float | None]:
    bounds: list[float | None] = []
    for key in ("min", "max"):
        value = node.get(key)
        if value is None:
            bounds.append(None)
            continue
        if kind not in ("int", "float"):
            reader.findings.error(
                "OPG022", f"'{key}' does not apply to {kind} {what}", value.location
            )
        bounds.append(reader.number(value, f"'{key}' of {what}"))
    low, high = bounds
    if low is not None and high is not None and low > high:
        upper = node.key("max")
        place = upper.location if upper else node.location
        reader.findings.error("OPG022", f"{what}: min {low:g} is above max {high:g}", place)
    return low, high


def _allowed(node: Mapping, kind: str, what: str, reader: Reader) -> tuple[Any, ...] | None:
    value = node.get("allowed")
    if value is None:
        return None
    if not isinstance(value, Sequence) or not value.items:
        reader.findings.error(
            "OPG022", f"'allowed' of {what} must be a list with values", value.location
        )
        return None
    values = [attr_value(i, kind, f"'allowed' of {what}", reader) for i in value.items]
    if None in values:
        return None
    if len(set(values)) != len(values):
        reader.findings.error("OPG022", f"'allowed' of {what} repeats a value", value.location)
    return tuple(dict.fromkeys(values))


def attr_problem(attr: Attr, value: Any) -> str:
    """Say why ``value`` (of the right type) is outside the attr's limits, or return ''."""
    if attr.allowed is not None and value not in attr.allowed:
        return f"{value!r} is not one of {listed(repr(v) for v in attr.allowed)}"
    if attr.type in ("int", "float"):
        if attr.minimum is not None and value < attr.minimum:
            return f"{value} is below min {attr.minimum:g}"
        if attr.maximum is not None and value > attr.maximum:
            return f"{value} is above max {attr.maximum:g}"
    return ""
