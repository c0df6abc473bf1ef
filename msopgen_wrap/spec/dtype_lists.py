"""Resolve the dtype lists of parameters: names of dtypes, other parameters that they follow."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import replace

from msopgen_wrap.diagnostics import Location
from msopgen_wrap.spec.findings import Findings, listed, suggestion
from msopgen_wrap.spec.model import DTYPES, Attr
from msopgen_wrap.spec.params import RawParam
from msopgen_wrap.spec.yaml_nodes import Mapping, Scalar, Sequence, kind_of

DTYPE_ALIASES = {
    "half": "float16",
    "fp16": "float16",
    "bf16": "bfloat16",
    "float": "float32",
    "fp32": "float32",
    "double": "float32",
    "float64": "float32",
    "int": "int32",
    "long": "int64",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "boolean": "bool",
}
_RULE_WORDS = {"like", "broadcast", "reduce", "rank", "numel", "min", "max", "true", "false"}


def resolve_dtypes(raws: list[RawParam], attrs: Iterable[Attr], findings: Findings) -> None:
    """Give every parameter its dtype list, all of one length.

    ``attrs`` are those of the op: a shape rule may hold their names besides those of ``raws``, and
    a dtype attr may choose the dtype of outputs.
    """
    choosers = {a.name: a for a in attrs if a.type == "dtype"}
    by_name: dict[str, RawParam] = {}
    for raw in raws:
        # An in-place output may carry its input's name; the input's dtypes win.
        by_name.setdefault(raw.param.name, raw)
    for raw in raws:
        chooser = _chooser(raw, choosers, by_name)
        if chooser is not None:
            _read_choice(raw, chooser, findings)
        else:
            _read_dtypes(raw, by_name, {a.name for a in attrs}, findings)
    for raw in raws:
        _follow(raw, by_name, findings)
    _equalize([r for r in raws if r.dtypes and r.param.chosen_by is None], findings)
    _multiply(raws, choosers, findings)


def _chooser(raw: RawParam, choosers: dict[str, Attr], known: dict[str, RawParam]) -> Attr | None:
    """Return the dtype attr that a parameter names as its dtype."""
    node = raw.dtype_node
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or node.value in known:
        return None
    return choosers.get(node.value)


def _read_choice(raw: RawParam, attr: Attr, findings: Findings) -> None:
    """Note that a dtype attr chooses the dtype of an output."""
    assert raw.dtype_node is not None
    raw.dtype_place = raw.dtype_node.location
    if not raw.is_output or raw.param.inplace:
        findings.error(
            "OPG014",
            f"attr '{attr.name}' cannot be the dtype of '{raw.param.name}'",
            raw.dtype_place,
            why="the caller's tensor has a dtype of its own; an attr chooses that of a new output",
            fix="list the dtypes, or follow another input",
        )
    elif not attr.allowed:
        findings.error(
            "OPG022",
            f"dtype attr '{attr.name}' chooses '{raw.param.name}' and has no allowed values",
            attr.location,
            why="each of its values is a kernel of its own",
            fix="add 'allowed: [float16, bfloat16]' to the attr",
        )
    else:
        raw.param = replace(raw.param, chosen_by=attr.name)
        raw.dtypes = tuple(attr.allowed)


def _multiply(raws: list[RawParam], choosers: dict[str, Attr], findings: Findings) -> None:
    """Give every combination of dtypes one for each value of the attrs that choose outputs."""
    named = dict.fromkeys(r.param.chosen_by for r in raws if r.param.chosen_by is not None)
    if not named:
        return
    others = [r for r in raws if r.param.chosen_by is None and r.dtypes]
    rows = max((len(r.dtypes or ()) for r in others), default=1)
    values = list(itertools.product(*(choosers[name].allowed or () for name in named)))
    for raw in raws:
        if raw.param.chosen_by is not None:
            place = list(named).index(raw.param.chosen_by)
            raw.dtypes = tuple(row[place] for row in values) * rows
        elif raw.dtypes:
            raw.dtypes = tuple(d for d in raw.dtypes for _ in values)
        raw.param = replace(raw.param, dtypes=raw.dtypes or ())
    if all(raw.dtypes for raw in raws):
        _check_told_apart(raws, [choosers[name] for name in named if name], findings)


def _check_told_apart(raws: list[RawParam], attrs: list[Attr], findings: Findings) -> None:
    """Report outputs whose dtypes the attrs do not tell apart (OPG023).

    Bindings take the first combination that has the dtypes of the inputs and, among its outputs,
    those of the attrs.
    """
    inputs = list(zip(*(r.dtypes or () for r in raws if not r.is_output), strict=True))
    outputs = list(zip(*(r.dtypes or () for r in raws if r.is_output), strict=True))
    chosen = {r.param.chosen_by: r.dtypes for r in raws if r.param.chosen_by is not None}
    for row, dtypes in enumerate(outputs):
        wanted = [(chosen[a.name] or ())[row] for a in attrs]
        fitting = (
            other
            for other, found in enumerate(outputs)
            if (not inputs or inputs[other] == inputs[row]) and set(wanted) <= set(found)
        )
        if outputs[next(fitting)] != dtypes:
            findings.error(
                "OPG023",
                f"{wanted[-1]} as '{attrs[-1].name}' may be the dtype of another output",
                attrs[-1].location,
                why="a call finds its combination by the dtypes of its inputs and attrs",
                fix=f"put {wanted[-1]} first in 'allowed'",
            )
            return


def _read_dtypes(
    raw: RawParam, known: dict[str, RawParam], attrs: set[str], findings: Findings
) -> None:
    node, name = raw.dtype_node, raw.param.name
    raw.dtype_place = node.location if node is not None else raw.param.location
    if node is None:
        words = _rule_names(raw)
        raw.follows = next((w for w in words if w in known and known[w] is not raw), None)
        if raw.follows is None and raw.is_output and not words:  # "[]": that of the first input
            raw.follows = next((n for n, other in known.items() if not other.is_output), None)
        # An unknown name in the rule is reported there; a second finding here would mislead.
        if raw.follows is None and not set(words) - attrs - {name}:
            findings.error(
                "OPG006",
                f"{'output' if raw.is_output else 'input'} '{name}' has no dtype",
                raw.param.location,
                fix="add 'dtype: x' to follow input x, or a list of dtypes",
            )
        return
    if isinstance(node, Scalar) and isinstance(node.value, str) and node.value not in DTYPES:
        followed = node.value.removeprefix("like ").strip()
        if followed in known and known[followed] is not raw:
            raw.follows = followed
            return
        names = [n for n in known if n != name]
        unknown_dtype(node.value, node.location, findings, names)
        return
    if isinstance(node, Mapping):
        findings.error(
            "OPG007", f"dtype of '{name}' must be a dtype or a list of dtypes", node.location
        )
        return
    items = node.items if isinstance(node, Sequence) else (node,)
    if not items:
        findings.error("OPG015", f"'{name}' has an empty dtype list", node.location)
        return
    dtypes = []
    for item in items:
        if not isinstance(item, Scalar) or not isinstance(item.value, str):
            findings.error("OPG014", f"a dtype must be a name, not {kind_of(item)}", item.location)
        elif item.value not in DTYPES:
            unknown_dtype(item.value, item.location, findings, [])
        else:
            dtypes.append(item.value)
    if len(dtypes) == len(items):
        raw.dtypes = tuple(dtypes)


def _rule_names(raw: RawParam) -> list[str]:
    """Return the names in an output's shape rule, first the input it overwrites."""
    if raw.param.inplace:
        return [raw.param.inplace]
    words = re.findall(r"[A-Za-z_][A-Za-z0-9_]*", raw.shape_source[0]) if raw.shape_source else []
    return [w for w in words if w not in _RULE_WORDS]


# dtypes of torch and CANN that are known and not supported: a near name would mislead.
_OTHER_DTYPES = (
    (
        r"(float8|fp8|hifloat8|hif8|float4|fp4)",
        "vector units of the supported SoCs have no 8-bit or 4-bit floating point",
        "store it as int8 or uint8 with a scale, or compute in float16 or bfloat16",
    ),
    (r"(u?int4|quint4|int2|uint2)", "sub-byte integers are not supported", "unpack it to int8"),
    (r"(uint16|uint32|uint64)$", "unsigned integers beyond 8 bits are not supported", ""),
    (r"(complex|c64$|c128$)", "complex numbers are not supported", "pass real and imaginary parts"),
    (r"(quint|qint)", "torch's quantised dtypes are not supported", "write int8 or uint8"),
    (r"(string|str|object)$", "a tensor holds numbers", ""),
)


def unknown_dtype(text: str, place: Location, findings: Findings, names: list[str]) -> None:
    """Report OPG014 with the nearest dtype, or the nearest of ``names``."""
    low = text.lower()
    alias = DTYPE_ALIASES.get(low)
    fix = f"write '{alias}'" if alias else suggestion(text, [*DTYPES, *names])
    why = f"dtypes: {listed(DTYPES)}"
    if low in ("double", "float64"):
        why = "the vector unit has no 64-bit floating point"
    for pattern, what, cure in _OTHER_DTYPES:
        if re.match(pattern, low):
            why, fix = f"{what}; {why}", cure
            break
    findings.error("OPG014", f"unknown dtype '{text}'", place, why, fix)


def _follow(raw: RawParam, known: dict[str, RawParam], findings: Findings) -> None:
    seen = {id(raw)}
    current = raw
    while current.dtypes is None and current.follows is not None:
        target = known.get(current.follows)
        if target is None:
            # Outputs follow names that exist (or their inplace input, which is checked apart).
            return
        if id(target) in seen:
            findings.error(
                "OPG017",
                f"dtype of '{raw.param.name}' follows itself",
                raw.dtype_place,
                fix="give one parameter of the circle a list of dtypes",
            )
            return
        seen.add(id(target))
        current = target
    raw.dtypes = current.dtypes
    if current.param.chosen_by is not None:
        raw.param = replace(raw.param, chosen_by=current.param.chosen_by)


def _equalize(raws: list[RawParam], findings: Findings) -> None:
    counts = {len(r.dtypes or ()) for r in raws if len(r.dtypes or ()) > 1}
    if len(counts) > 1:
        longest = max(counts)
        first = next(r for r in raws if len(r.dtypes or ()) == longest)
        for raw in raws:
            count = len(raw.dtypes or ())
            if count in (1, longest) or raw.follows:
                continue
            findings.error(
                "OPG015",
                f"'{raw.param.name}' lists {count} dtypes, '{first.param.name}' {longest}",
                raw.dtype_place,
                why="dtype lists are parallel: entry i of every list is one combination",
                fix="give all lists the same length, or one dtype for all combinations",
            )
        return
    count = counts.pop() if counts else 1
    for raw in raws:
        if raw.dtypes is not None and len(raw.dtypes) == 1:
            raw.dtypes *= count
        raw.param = replace(raw.param, dtypes=raw.dtypes or ())
    rows = list(zip(*((r.dtypes or ()) for r in raws), strict=True)) if raws else []
    for i, row in enumerate(rows):
        if row in rows[:i]:
            findings.error(
                "OPG015",
                f"dtype combination {i + 1} ({', '.join(row)}) repeats combination "
                f"{rows.index(row) + 1}",
                raws[0].dtype_place,
                why="CANN would build the same kernel twice and pick either",
                fix="remove one of the two",
            )
