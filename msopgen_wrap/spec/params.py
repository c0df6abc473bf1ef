"""Read ``inputs`` and ``outputs`` into the nouns of ``model.py``."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from msopgen_wrap.diagnostics import Location
from msopgen_wrap.spec.findings import Findings
from msopgen_wrap.spec.model import (
    DimSlice,
    ParamKind,
    ShapeLike,
    ShapeList,
    ShapeRule,
    TensorParam,
)
from msopgen_wrap.spec.names import check_param_name
from msopgen_wrap.spec.reader import Reader
from msopgen_wrap.spec.shape_parser import ShapeNames, parse_pieces, parse_shape
from msopgen_wrap.spec.shapes import MAX_RANK, rule_tensors
from msopgen_wrap.spec.yaml_nodes import Mapping, Node, Scalar, Sequence

INPUT_KEYS = ("dtype", "doc", "optional", "default", "list", "rank", "shape", "range")
OUTPUT_KEYS = ("dtype", "doc", "shape", "list", "inplace", "length", "pieces")


@dataclass
class RawParam:
    """A parameter before names are resolved: dtypes may still follow another parameter."""

    param: TensorParam
    dtype_node: Node | None
    shape_source: tuple[str, Location] | None
    is_output: bool
    dtypes: tuple[str, ...] | None = None
    follows: str | None = None
    dtype_place: Location = field(default_factory=Location)
    pieces_source: tuple[str, Location] | None = None


def read_inputs(node: Node, reader: Reader) -> list[RawParam]:
    """Read the ``inputs`` mapping."""
    return _read_params(node, reader, "inputs", _read_input)


def read_outputs(node: Node, reader: Reader) -> list[RawParam]:
    """Read the ``outputs`` mapping."""
    return _read_params(node, reader, "outputs", _read_output)


def _read_params(node: Node, reader: Reader, what: str, read: Any) -> list[RawParam]:
    mapping = reader.mapping(
        node, what, fix=f"write '{what}:' and under it 'x: [float16, float32]'"
    )
    if mapping is None:
        return []
    result = []
    for key, value in mapping.entries:
        name = str(key.value)
        noun = f"an {what[:-1]}"
        # what nothing differentiates may have parameters that are gradients themselves
        checked = name if reader.differentiable else name.removeprefix("grad_")
        good = check_param_name(checked, noun, key.location, reader.findings)
        raw = read(name, key.location, value, reader)
        if raw is not None and good:
            result.append(raw)
    return result


def _read_input(name: str, place: Location, node: Node, reader: Reader) -> RawParam | None:
    param = TensorParam(name, (), location=place)
    if isinstance(node, Scalar) and str(node.value).startswith("like "):
        # Shape and dtype of an input named before.
        return RawParam(param, None, reader.rule_text(node, f"shape of input '{name}'"), False)
    if not isinstance(node, Mapping):
        return RawParam(param, node, None, False)
    what = f"input '{name}'"
    reader.known_keys(node, INPUT_KEYS, what)
    dtype = node.get("dtype")
    optional = _flag(node, "optional", what, reader)
    dynamic = _flag(node, "list", what, reader)
    if optional and dynamic:
        key = node.key("list")
        reader.findings.error(
            "OPG018",
            f"{what} is both optional and a list",
            key.location if key else place,
            why="CANN knows required, optional and dynamic parameters, not mixtures",
            fix="drop 'optional'",
        )
    kind = ParamKind.DYNAMIC if dynamic else ParamKind.OPTIONAL if optional else ParamKind.REQUIRED
    low_rank, high_rank = _rank(node.get("rank"), what, reader)
    low, high = _range(node.get("range"), what, reader)
    param = replace(
        param,
        kind=kind,
        doc=read_doc(node, what, reader),
        min_rank=low_rank,
        max_rank=high_rank,
        low=low,
        high=high,
        default=_input_default(node, kind, what, reader),
    )
    shape = node.get("shape")
    source = reader.rule_text(shape, f"shape of {what}") if shape is not None else None
    return RawParam(param, dtype, source, False)


def _read_output(name: str, place: Location, node: Node, reader: Reader) -> RawParam | None:
    param = TensorParam(name, (), location=place)
    what = f"output '{name}'"
    if not isinstance(node, Mapping):
        # The short form of an output is its shape rule; its dtype follows the rule's first input.
        source = reader.rule_text(node, f"shape of {what}")
        return RawParam(param, None, source, True)
    reader.known_keys(node, OUTPUT_KEYS, what)
    dynamic = _flag(node, "list", what, reader)
    length = node.get("length")
    inplace_node = node.get("inplace")
    inplace = reader.text(inplace_node, f"inplace of {what}") if inplace_node is not None else None
    param = replace(
        param,
        kind=ParamKind.DYNAMIC if dynamic else ParamKind.REQUIRED,
        doc=read_doc(node, what, reader),
        inplace=inplace,
        length=None if length is None else reader.text(length, f"length of {what}"),
    )
    shape = node.get("shape")
    source = reader.rule_text(shape, f"shape of {what}") if shape is not None else None
    pieces = node.get("pieces")
    cut = reader.rule_text(pieces, f"pieces of {what}") if pieces is not None else None
    return RawParam(param, node.get("dtype"), source, True, pieces_source=cut)


def _flag(node: Mapping, key: str, what: str, reader: Reader) -> bool:
    value = node.get(key)
    return bool(reader.boolean(value, f"'{key}' of {what}")) if value is not None else False


def read_doc(node: Mapping, what: str, reader: Reader) -> str:
    """Return the text under ``doc``, or an empty string."""
    value = node.get("doc")
    return (reader.text(value, f"doc of {what}") or "").strip() if value is not None else ""


def _input_default(
    node: Mapping, kind: ParamKind, what: str, reader: Reader
) -> float | int | bool | None:
    value = node.get("default")
    if value is None or (isinstance(value, Scalar) and value.value is None):
        return None
    if kind is not ParamKind.OPTIONAL:
        reader.findings.error(
            "OPG018",
            f"{what} has a default but is not optional",
            value.location,
            fix="add 'optional: true', or make it an attr",
        )
        return None
    if isinstance(value, Scalar) and isinstance(value.value, (int, float, bool)):
        return value.value
    reader.wrong_kind(value, f"default of {what}", "a number")
    return None


def _rank(node: Node | None, what: str, reader: Reader) -> tuple[int, int]:
    """Read ``rank: 2`` or ``rank: [1, 8]``."""
    if node is None:
        return 0, MAX_RANK
    values = [reader.integer(item, f"rank of {what}") for item in reader.items(node)]
    if any(v is None for v in values):
        return 0, MAX_RANK
    low, high = (values[0], values[-1]) if values else (None, None)
    if len(values) not in (1, 2) or low is None or high is None or not 0 <= low <= high <= MAX_RANK:
        reader.findings.error(
            "OPG018",
            f"rank of {what} is not a range within 0 to {MAX_RANK}",
            node.location,
            fix="write 'rank: 2' or 'rank: [1, 8]'",
        )
        return 0, MAX_RANK
    return low, high


def _range(node: Node | None, what: str, reader: Reader) -> tuple[float | None, float | None]:
    """Read ``range: [lo, hi]``, the interval that test data is drawn from."""
    if node is None:
        return None, None
    if not isinstance(node, Sequence) or len(node.items) != 2:
        reader.findings.error(
            "OPG018", f"range of {what} is not [low, high]", node.location, fix="e.g. [-2, 2]"
        )
        return None, None
    low, high = (reader.number(item, f"range of {what}") for item in node.items)
    if low is not None and high is not None and low > high:
        reader.findings.error("OPG018", f"range of {what}: {low:g} > {high:g}", node.location)
        return None, None
    return low, high


# ---- shapes ------------------------------------------------------------------------------------


def resolve_shapes(
    inputs: list[RawParam],
    outputs: list[RawParam],
    attrs: dict[str, str],
    findings: Findings,
) -> None:
    """Parse every shape rule; outputs without one get ``like`` their input where that is clear."""
    lists = frozenset(r.param.name for r in inputs if r.param.kind is ParamKind.DYNAMIC)
    earlier: list[str] = []
    for position, raw in enumerate(inputs):
        if raw.shape_source is not None:
            later = tuple(r.param.name for r in inputs[position + 1 :])
            names = ShapeNames(tuple(earlier), attrs, lists, later)
            raw.param = _with_rule(raw, names, findings)
        earlier.append(raw.param.name)
    names = ShapeNames(tuple(earlier), attrs, lists)
    for raw in outputs:
        if raw.pieces_source is not None:
            text, place = raw.pieces_source
            raw.param = replace(raw.param, pieces=parse_pieces(text, names, place, findings))
        if raw.shape_source is not None:
            raw.param = _scalars_of_list(_with_rule(raw, names, findings), inputs)
            _check_list_rule(raw, lists, findings)
            continue
        source = raw.param.inplace or (earlier[0] if len(earlier) == 1 else None)
        if source in earlier and source is not None:
            raw.param = replace(raw.param, shape=ShapeLike(source), shape_text=f"like {source}")
        elif not raw.param.inplace:
            findings.error(
                "OPG032",
                f"output '{raw.param.name}' has no shape rule",
                raw.param.location,
                fix=f"add 'shape: broadcast({', '.join(earlier[:2]) or 'x, y'})' or the like",
            )


def _with_rule(raw: RawParam, names: ShapeNames, findings: Findings) -> TensorParam:
    assert raw.shape_source is not None
    text, place = raw.shape_source
    rule = parse_shape(text, names, place, findings)
    return replace(raw.param, shape=rule, shape_text=text)


def _scalars_of_list(output: TensorParam, inputs: list[RawParam]) -> TensorParam:
    """Return an output; a list of scalars (``[]``) follows the first list input."""
    source = next((r.param for r in inputs if r.param.kind is ParamKind.DYNAMIC), None)
    if source is None or output.kind is not ParamKind.DYNAMIC or output.shape != ShapeList(()):
        return output
    return replace(output, shape=ShapeList((DimSlice(source.name, 0, 0),)))


def _check_list_rule(raw: RawParam, lists: frozenset[str], findings: Findings) -> None:
    rule: ShapeRule | None = raw.param.shape
    if rule is None or raw.shape_source is None:
        return
    follows = [n for n in rule_tensors(rule) if n in lists]
    dynamic = raw.param.kind is ParamKind.DYNAMIC
    if dynamic and not follows:
        findings.error(
            "OPG033",
            f"output '{raw.param.name}' is a list, its shape rule names no list input",
            raw.shape_source[1],
            why="a list output has one tensor per element of a list input",
        )
    elif follows and not dynamic:
        findings.error(
            "OPG033",
            f"shape of output '{raw.param.name}' follows the list '{follows[0]}'",
            raw.shape_source[1],
            fix="add 'list: true' to the output",
        )
