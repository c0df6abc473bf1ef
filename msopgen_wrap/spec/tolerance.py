"""Read ``tolerance``: how far an output may be from its golden reference."""

from __future__ import annotations

from collections.abc import Sequence as Rows

from msopgen_wrap.spec.findings import listed, suggestion
from msopgen_wrap.spec.model import DTYPES, TensorParam, Tolerance
from msopgen_wrap.spec.reader import Reader
from msopgen_wrap.spec.yaml_nodes import Mapping, Node, Scalar

FLOATS = ("float16", "bfloat16", "float32")
WHOLES = tuple(d for d in DTYPES if d not in (*FLOATS, "bool"))
KEYS = ("mean", "max", "abs", "rule", "rtol", "atol", "cap")
_EXAMPLE = "e.g. '{float16: 1e-3}', '{y: 1}' for an integer output y, or '{y: mixed}'"


def read_tolerance(node: Node, outputs: Rows[TensorParam], reader: Reader) -> dict[str, Tolerance]:
    """Return the tolerances by dtype or output name.

    A value is a bound on the mean relative error of floats (the largest may be ten times that, as
    in CANN's rule), the largest difference of integers, ``mixed``, or a mapping of ``KEYS``.
    One value for all is meant for the float dtypes.
    """
    if isinstance(node, Scalar):
        kinds = _kinds({d for p in outputs for d in p.dtypes})
        if kinds and not _applies("float", node, "tolerance", kinds, reader):
            return {}
        value = _tolerance(node, "tolerance", {"float"}, reader)
        return {} if value is None else dict.fromkeys(FLOATS, value)
    mapping = reader.mapping(node, "tolerance", _EXAMPLE)
    result: dict[str, Tolerance] = {}
    if mapping is None:
        return result
    named = {p.name: set(p.dtypes) for p in outputs}
    for key, value_node in mapping.entries:
        name = str(key.value)
        if name not in named and name not in (*FLOATS, *WHOLES):
            known = [*named, *FLOATS, *WHOLES]
            why = "bool outputs are exact" if name == "bool" else f"outputs: {listed(named)}"
            reader.findings.error(
                "OPG060",
                f"tolerance names neither an output nor a dtype: '{name}'",
                key.location,
                why=why,
                fix=suggestion(name, known),
            )
            continue
        kinds = _kinds(named.get(name, {name}))
        value = _tolerance(value_node, f"tolerance of {name}", kinds, reader)
        if value is not None:
            result[name] = value
    return result


def _kinds(dtypes: set[str]) -> set[str]:
    return {"float" if d in FLOATS else "bool" if d == "bool" else "int" for d in dtypes}


def _tolerance(node: Node, what: str, kinds: set[str], reader: Reader) -> Tolerance | None:
    if isinstance(node, Mapping):
        return _full(node, what, kinds, reader)
    if isinstance(node, Scalar) and node.text == "mixed":
        return _mixed({}, node, what, kinds, reader)
    number = reader.number(node, what)
    if number is None:
        return None
    if "float" not in kinds or (number >= 1 and "int" in kinds):
        if not _whole(number, node, what, kinds, reader):
            return None
        return Tolerance(absolute=int(number))
    if not _share(number, node, what, reader):
        return None
    return Tolerance(number, 10 * number)


def _full(node: Mapping, what: str, kinds: set[str], reader: Reader) -> Tolerance | None:
    reader.known_keys(node, KEYS, what)
    rule = node.get("rule")
    if rule is not None and reader.text(rule, f"'rule' of {what}") not in ("relative", "mixed"):
        reader.findings.error("OPG060", f"{what}: the rule is 'relative' or 'mixed'", rule.location)
        return None
    found: dict[str, float] = {}
    for key in KEYS:
        value = node.get(key)
        if key == "rule" or value is None:
            continue
        number = reader.number(value, f"'{key}' of {what}")
        if number is None:
            return None
        if key == "abs":
            good = _whole(number, value, what, kinds, reader)
        elif key == "cap":
            good = number > 0
            if not good:
                reader.findings.error("OPG060", f"{what}: the cap is not positive", value.location)
        else:
            good = _share(number, value, what, reader)
        if not good:
            return None
        found[key] = number
    mixed = rule is not None and rule.text == "mixed" if isinstance(rule, Scalar) else False
    relative = {"mean", "max"} & set(found)
    if relative and (mixed or {"rtol", "atol", "cap"} & set(found)):
        reader.findings.error(
            "OPG060",
            f"{what} mixes two rules",
            node.location,
            why="mean and max belong to the relative rule; rtol, atol and cap to the mixed one",
        )
        return None
    if mixed or {"rtol", "atol", "cap"} & set(found):
        return _mixed(found, node, what, kinds, reader)
    absolute = int(found["abs"]) if "abs" in found else None
    if not relative and absolute is None:
        reader.findings.error("OPG060", f"{what} gives neither mean, max nor abs", node.location)
        return None
    if not relative:
        return Tolerance(absolute=absolute)
    if not _applies("float", node, what, kinds, reader):
        return None
    mean = found.get("mean", found.get("max", 0.0) / 10)
    return Tolerance(mean, found.get("max", 10 * mean), absolute)


def _mixed(
    found: dict[str, float], node: Node, what: str, kinds: set[str], reader: Reader
) -> Tolerance | None:
    if not _applies("float", node, what, kinds, reader):
        return None
    absolute = int(found["abs"]) if "abs" in found else None
    return Tolerance(
        absolute=absolute,
        rule="mixed",
        rtol=found.get("rtol"),
        atol=found.get("atol"),
        cap=found.get("cap"),
    )


def _share(number: float, node: Node, what: str, reader: Reader) -> bool:
    if 0 <= number < 1:
        return True
    reader.findings.error(
        "OPG060", f"{what}: {number:g} is not a relative error in [0, 1)", node.location
    )
    return False


def _whole(number: float, node: Node, what: str, kinds: set[str], reader: Reader) -> bool:
    if not _applies("int", node, what, kinds, reader):
        return False
    if number >= 0 and number == int(number):
        return True
    reader.findings.error(
        "OPG060",
        f"{what}: {number:g} is not a whole number",
        node.location,
        why="for integers it is the largest difference that passes",
        fix="1 accepts results that are one off",
    )
    return False


def _applies(kind: str, node: Node, what: str, kinds: set[str], reader: Reader) -> bool:
    """Say whether a bound for this kind of number has an effect; an error if not."""
    if kind in kinds:
        return True
    own = "floats" if kind == "float" else "integers"
    other = "bool, which is exact" if kinds == {"bool"} else f"not {own}"
    reader.findings.error(
        "OPG060",
        f"{what} has no effect",
        node.location,
        why=f"it is a bound for {own}, and what it is given for is {other}",
        fix="name outputs or dtypes; integers take a whole number: " + _EXAMPLE,
    )
    return False
