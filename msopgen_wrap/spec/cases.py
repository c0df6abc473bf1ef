"""Read how an op is tested: ``cases``, and ``tolerance``, how far off an output may be."""

from __future__ import annotations

from collections.abc import Sequence as Rows
from typing import Any

from msopgen_wrap.spec.attrs import attr_problem, attr_value
from msopgen_wrap.spec.findings import Findings, listed, suggestion
from msopgen_wrap.spec.model import (
    DTYPES,
    Attr,
    Case,
    ParamKind,
    TensorParam,
    Tolerance,
)
from msopgen_wrap.spec.reader import Reader
from msopgen_wrap.spec.shapes import MAX_RANK, ShapeError, evaluate, rule_attrs
from msopgen_wrap.spec.yaml_nodes import Mapping, Node, Scalar, Sequence

MAX_CASES = 1000
MAX_NUMEL = 2**31


def read_cases(
    node: Node,
    inputs: Rows[TensorParam],
    outputs: Rows[TensorParam],
    attrs: Rows[Attr],
    reader: Reader,
) -> list[Case]:
    """Read the list of cases and check each against ranks, shape rules and attr limits."""
    if not isinstance(node, Sequence):
        reader.wrong_kind(node, "cases", "a list", "e.g. '- {x: [3, 5], y: [5]}'")
        return []
    if len(node.items) > MAX_CASES:
        reader.findings.error("OPG056", f"more than {MAX_CASES} cases", node.location)
        return []
    result = []
    for item in node.items:
        mapping = reader.mapping(item, "a case", "e.g. '- {x: [3, 5], y: [5]}'")
        if mapping is None:
            continue
        case = _read_case(mapping, inputs, outputs, attrs, reader)
        if case is not None:
            result.append(case)
    return result


def _read_case(
    node: Mapping,
    inputs: Rows[TensorParam],
    outputs: Rows[TensorParam],
    attrs: Rows[Attr],
    reader: Reader,
) -> Case | None:
    findings = reader.findings
    before = len(findings.items)
    tensors = {p.name: p for p in inputs}
    known_attrs = {a.name: a for a in attrs}
    shapes: dict[str, Any] = {}
    values: dict[str, Any] = {}
    combos: tuple[int, ...] | None = None
    for key, value in node.entries:
        name = str(key.value)
        if name in tensors:
            shapes[name] = _case_shape(value, tensors[name], reader)
        elif name in known_attrs:
            given = attr_value(value, known_attrs[name].type, f"attr '{name}'", reader)
            if given is not None:
                values[name] = given
                problem = attr_problem(known_attrs[name], given)
                if problem:
                    findings.error("OPG057", f"attr '{name}': {problem}", value.location)
        elif name == "dtype":
            combos = _case_dtypes(value, inputs, reader)
        else:
            names = [*tensors, *known_attrs, "dtype"]
            findings.error(
                "OPG055",
                f"unknown name '{name}' in a case",
                key.location,
                why=f"inputs and attrs: {listed([*tensors, *known_attrs])}",
                fix=suggestion(name, names),
            )
    for param in inputs:
        if param.name not in shapes and param.kind is not ParamKind.OPTIONAL:
            findings.error(
                "OPG055", f"the case gives no shape for input '{param.name}'", node.location
            )
        shapes.setdefault(param.name, None)
    for attr in attrs:
        if attr.name not in values and attr.required:
            findings.error(
                "OPG055", f"the case gives no value for required attr '{attr.name}'", node.location
            )
    if len(findings.items) != before:
        return None
    full = {a.name: a.default for a in attrs if not a.required} | values
    _check_shapes(node, shapes, full, inputs, outputs, findings)
    if len(findings.items) != before:
        return None
    return Case(shapes, values, combos, node.location)


def _case_shape(node: Node, param: TensorParam, reader: Reader) -> Any:
    """Return a tuple of dims, a list of tuples for a dynamic input, None for an absent one."""
    name = param.name
    if isinstance(node, Scalar) and node.value is None:
        if param.kind is not ParamKind.OPTIONAL:
            reader.findings.error(
                "OPG056", f"input '{name}' is required, its shape cannot be null", node.location
            )
        return None
    if not isinstance(node, Sequence):
        fix = "a shape is a list: [3, 5]; [] is a scalar"
        reader.wrong_kind(node, f"the shape of '{name}'", "a list of dimensions", fix)
        return None
    if param.kind is ParamKind.DYNAMIC:
        if not all(isinstance(i, Sequence) for i in node.items):
            reader.findings.error(
                "OPG056",
                f"'{name}' is a tensor list: its shape is a list of shapes",
                node.location,
                fix="e.g. [[3, 5], [7]]",
            )
            return None
        return [_dims(i, param, reader) for i in node.items if isinstance(i, Sequence)]
    return _dims(node, param, reader)


def _dims(node: Sequence, param: TensorParam, reader: Reader) -> tuple[int, ...]:
    findings = reader.findings
    dims: list[int] = []
    total = 1
    for item in node.items:
        value = reader.integer(item, f"a dimension of '{param.name}'")
        if value is None:
            return ()
        if value < 0:
            findings.error("OPG056", f"dimension {value} is negative", item.location)
            return ()
        dims.append(value)
        total *= value
    if total > MAX_NUMEL:
        findings.error("OPG056", f"shape {dims} has {total} elements", node.location)
    if not param.min_rank <= len(dims) <= min(param.max_rank, MAX_RANK):
        findings.error(
            "OPG056",
            f"shape {dims} of '{param.name}' has rank {len(dims)}",
            node.location,
            why=f"its rank is limited to {param.min_rank}..{param.max_rank}",
        )
    return tuple(dims)


def _case_dtypes(node: Node, inputs: Rows[TensorParam], reader: Reader) -> tuple[int, ...] | None:
    """Return the combinations whose first input has one of the given dtypes."""
    chosen: list[int] = []
    for item in reader.items(node):
        text = reader.text(item, "dtype of a case")
        if text is None:
            continue
        found = [i for i, d in enumerate(inputs[0].dtypes) if d == text] if inputs else []
        if not found:
            known = dict.fromkeys(inputs[0].dtypes) if inputs else {}
            reader.findings.error(
                "OPG055",
                f"no dtype combination has '{text}' for '{inputs[0].name if inputs else '?'}'",
                item.location,
                why=f"its dtypes: {listed(known)}",
                fix=suggestion(text, known),
            )
        chosen += found
    return tuple(dict.fromkeys(chosen))


def _check_shapes(
    node: Mapping,
    shapes: dict[str, Any],
    values: dict[str, Any],
    inputs: Rows[TensorParam],
    outputs: Rows[TensorParam],
    findings: Findings,
) -> None:
    for param in (*inputs, *outputs):
        rule = param.shape
        if rule is None or any(name not in values for name in rule_attrs(rule)):
            continue
        is_input = any(param is p for p in inputs)
        if is_input and shapes.get(param.name) is None:
            continue
        try:
            expected = evaluate(rule, shapes, values)
        except ShapeError as error:
            what = f"shape of {'input' if is_input else 'output'} '{param.name}': {error}"
            findings.error("OPG056", what, node.location, why=f"rule: {param.shape_text}")
            continue
        if param.kind is ParamKind.DYNAMIC and not isinstance(expected, list):
            expected = [expected] * len(shapes.get(param.name) or ())  # the rule of each tensor
        if is_input and shapes[param.name] != expected:
            key = node.key(param.name)
            findings.error(
                "OPG056",
                f"shape {list(shapes[param.name])} of '{param.name}' should be {list(expected)}",
                key.location if key else node.location,
                why=f"rule: {param.shape_text}",
            )


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
