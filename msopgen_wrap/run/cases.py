"""The default case grid: which shapes, attrs, dtypes and values an op is tried on.

Pure data, no torch: the grid is derived from the spec alone, so it is the same on every machine.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.spec.model import OpSpec, ParamKind, ShapeBroadcast, TensorParam
from msopgen_wrap.spec.shapes import ShapeError, evaluate

Shape = tuple[int, ...]

# Bare sizes first, then the layouts that break kernels: empty, one element, primes, last axes just
# under, at and over a 32-byte block, long rows, many short rows, high rank.
BASE_SHAPES: tuple[Shape, ...] = (
    (1, 1),
    (13, 7),
    (16, 8),
    (5, 32),
    (97, 1),
    (3, 20000),
    (1023,),
    (2, 3, 5, 7),
    (),
    (0,),
    (4, 0, 3),
    (1,),
    (257, 129),
    (8, 16, 33),
    (2, 1, 2, 3, 1, 2, 1, 3),
    (4099,),
)
MANY_CORES: Shape = (512, 1031)
LARGE: Shape = (2**24 + 3,)
SPECIAL_SHAPE: Shape = (7, 77)
MAX_OUTPUT = 2**23  # elements of an output that is larger than every input


@dataclass(frozen=True)
class TestCase:
    """One run of an op.

    Attributes:
        combo: index of the dtype combination.
        shapes: per input a shape, a tuple of shapes for a dynamic input, or None when absent.
        values: ``normal`` draws from the inputs' ranges, ``wide`` from a range where exponentials
            of float32 overflow, ``special`` mixes in inf, nan, signed zeros, subnormals and the
            largest values.
        block_dim: 0 lets tiling see all cores, 1 restricts it to one.
        large: too big for a quick run.
    """

    __test__ = False  # not a pytest class

    combo: int
    shapes: dict[str, Any]
    attrs: dict[str, Any] = field(default_factory=dict)
    values: str = "normal"
    block_dim: int = 0
    large: bool = False

    def label(self, spec: OpSpec) -> str:
        """Return a stable, readable name such as ``float16 x=13x7 y=7 dim=-1 1core``."""
        parts = [",".join(dict.fromkeys(p.dtypes[self.combo] for p in spec.inputs))]
        parts += [f"{name}={_shape_text(shape)}" for name, shape in self.shapes.items()]
        parts += [f"{name}={value}" for name, value in self.attrs.items()]
        if self.values != "normal":
            parts.append(self.values)
        if self.block_dim:
            parts.append(f"{self.block_dim}core")
        return " ".join(parts)


def _shape_text(shape: Any) -> str:
    if shape is None:
        return "none"
    if shape and isinstance(shape[0], (tuple, list)):
        return "[" + ",".join(_shape_text(s) for s in shape) + "]"
    return "x".join(str(d) for d in shape) or "scalar"


def case_grid(spec: OpSpec, *, large: bool = False) -> list[TestCase]:
    """Return every case of ``spec``: the default grid for each dtype, then the spec's own cases.

    Args:
        large: include the 2^24+3 element case (for the first dtype combination).
    """
    cases: list[TestCase] = []
    for combo in range(spec.combos):
        cases += list(_combo_cases(spec, combo, large=large and combo == 0))
    for extra in spec.cases:
        combos = extra.dtypes if extra.dtypes is not None else range(spec.combos)
        shapes = {p.name: _freeze(extra.shapes.get(p.name)) for p in spec.inputs}
        cases += [TestCase(combo, shapes, dict(extra.attrs)) for combo in combos]
    return list({case_key(case): case for case in cases}.values())


def case_key(case: TestCase) -> str:
    """Return a hashable identity of the case."""
    return repr((case.combo, case.shapes, sorted(case.attrs.items()), case.values, case.block_dim))


def _combo_cases(spec: OpSpec, combo: int, *, large: bool) -> Iterator[TestCase]:
    defaults = _default_attrs(spec)
    usable = [s for s in BASE_SHAPES if _input_shapes(spec, s, defaults) is not None]
    for shape in usable:
        yield TestCase(combo, _input_shapes(spec, shape, defaults) or {}, defaults)
    if (many := _input_shapes(spec, MANY_CORES, defaults)) is not None:
        yield TestCase(combo, many, defaults)
        yield TestCase(combo, many, defaults, block_dim=1)
    for shapes in _broadcast_shapes(spec, defaults):
        yield TestCase(combo, shapes, defaults)
    for attrs in _attr_variants(spec, defaults):
        for shape in ((13, 7), (5, 32), (2, 3, 5, 7), (8, 16, 33)):
            if (varied := _input_shapes(spec, shape, attrs)) is not None:
                yield TestCase(combo, varied, attrs)
    for shapes in _optional_shapes(spec, defaults):
        yield TestCase(combo, shapes, defaults)
    if (special := _input_shapes(spec, SPECIAL_SHAPE, defaults)) is not None and any(
        p.low is None and p.high is None and "float" in p.dtypes[combo] for p in spec.inputs
    ):
        # Special values turn whole rows into nan; a row kernel that forgets to subtract the largest
        # element before exp shows with finite ones.
        yield TestCase(combo, special, defaults, values="wide")
        yield TestCase(combo, special, defaults, values="special")
    if large and (big := _input_shapes(spec, LARGE, defaults)) is not None:
        yield TestCase(combo, big, defaults, large=True)


def _freeze(shape: Any) -> Any:
    if shape is None:
        return None
    if shape and isinstance(shape[0], (tuple, list)):
        return tuple(tuple(s) for s in shape)
    return tuple(shape)


def _default_attrs(spec: OpSpec) -> dict[str, Any]:
    return {a.name: _sample_value(a) if a.required else a.default for a in spec.attrs}


def _sample_value(attr: Any) -> Any:
    """A value for an attr that has no default."""
    if attr.allowed:
        return attr.allowed[0]
    low = attr.minimum
    plain = {
        "int": 1 if low is None else math.ceil(low),
        "float": 0.5 if low is None else float(low),
        "bool": False,
        "str": "",
        "list_int": (0,),
        "list_float": (1.0,),
        "dtype": "float32",
    }
    return plain[attr.type]


def _input_shapes(spec: OpSpec, base: Shape, attrs: dict[str, Any]) -> dict[str, Any] | None:
    """Give every input a shape that fits ``base``; None when the op cannot take it."""
    shapes: dict[str, Any] = {}
    for param in spec.inputs:
        shape = _one_input(param, base, shapes, attrs)
        if shape is None or not param.min_rank <= len(shape) <= param.max_rank:
            return None
        shapes[param.name] = _as_list(shape) if param.kind is ParamKind.DYNAMIC else shape
    return shapes if _outputs_fit(spec, shapes, attrs) else None


def _as_list(shape: Shape) -> tuple[Shape, ...]:
    """A tensor list of mixed sizes whose first element has the shape asked for."""
    return (shape, (17,), (3, 9))


def _one_input(
    param: TensorParam, base: Shape, known: dict[str, Any], attrs: dict[str, Any]
) -> Shape | None:
    if param.shape is None:
        return base
    try:
        return _first_shape(evaluate(param.shape, _plain(known), attrs))
    except ShapeError:
        return None


def _first_shape(shape: Any) -> Shape:
    """A rule's result; the first tensor stands for a list."""
    return tuple(shape[0]) if shape and isinstance(shape[0], (tuple, list)) else tuple(shape)


def _plain(shapes: dict[str, Any]) -> dict[str, Any]:
    """Shapes as shape rules see them: the first tensor stands for a list."""
    return {
        name: (shape[0] if shape and isinstance(shape[0], tuple) else shape)
        for name, shape in shapes.items()
    }


def _outputs_fit(spec: OpSpec, shapes: dict[str, Any], attrs: dict[str, Any]) -> bool:
    try:
        for output in spec.outputs:
            if output.shape is not None:
                dims = _first_shape(evaluate(output.shape, _plain(shapes), attrs))
                if any(d < 0 for d in dims) or len(dims) > 8:
                    return False
                # A gather multiplies its inputs: one base shape for both would ask for gigabytes.
                if math.prod(dims) > MAX_OUTPUT > max(map(_size, _plain(shapes).values())):
                    return False
    except ShapeError:
        return False
    return True


def _size(shape: Any) -> int:
    return -1 if shape is None else math.prod(shape)


def _broadcast_groups(spec: OpSpec) -> tuple[str, ...]:
    """Inputs that an output rule broadcasts together and that no input rule ties down."""
    names: list[str] = []
    for output in spec.outputs:
        if isinstance(output.shape, ShapeBroadcast):
            names += output.shape.tensors
    free = {p.name for p in spec.inputs if p.shape is None and p.kind is not ParamKind.DYNAMIC}
    return tuple(n for n in dict.fromkeys(names) if n in free)


def _broadcast_shapes(spec: OpSpec, attrs: dict[str, Any]) -> Iterator[dict[str, Any]]:
    group = _broadcast_groups(spec)
    if len(group) < 2:
        return
    patterns: tuple[tuple[Shape, Shape], ...] = (
        ((37, 129), (129,)),
        ((37, 129), (37, 1)),
        ((37, 129), ()),
        ((1,), (19, 40)),
        ((8, 1, 33), (16, 1)),
        ((2, 3, 5, 7), (3, 1, 7)),
        ((1, 1031), (301, 1)),
        ((4, 1, 6, 1), (5, 1, 64)),
        ((0, 5), (1,)),
    )
    for first, other in patterns:
        for big, small in ((first, other), (other, first)):
            # The first input takes one side; each of the rest has its turn at the other.
            for turn in group[1:]:
                shapes: dict[str, Any] = {}
                for param in spec.inputs:
                    if param.name in group:
                        shapes[param.name] = small if param.name == turn else big
                    else:
                        shape = _one_input(param, big, shapes, attrs)
                        if shape is None:
                            break
                        shapes[param.name] = shape
                ranks_fit = len(shapes) == len(spec.inputs) and all(
                    p.min_rank <= len(shapes[p.name]) <= p.max_rank for p in spec.inputs
                )
                if ranks_fit and _outputs_fit(spec, shapes, attrs):
                    yield shapes


def _attr_variants(spec: OpSpec, defaults: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Each attr at each of its other interesting values, one attr at a time; pairs of variants."""
    choices: dict[str, list[Any]] = {}
    for attr in spec.attrs:
        values: list[Any] = []
        if attr.allowed:
            values = list(attr.allowed)
        elif attr.type == "bool":
            values = [False, True]
        elif attr.type == "int" and _names_axis(spec, attr.name):
            values = [0, 1, -1, -2]
        elif attr.type == "int":
            values = [defaults[attr.name], defaults[attr.name] + 1]
        elif attr.type == "list_int" and _names_axis(spec, attr.name):
            values = [(0,), (-1,), (0, 1), (0, -1)]
        elif attr.type == "float":
            values = [defaults[attr.name], defaults[attr.name] * 1.5 + 0.25]
        choices[attr.name] = [v for v in values if _in_bounds(attr, v)]
    seen = {repr(sorted(defaults.items()))}
    for one, two in itertools.combinations_with_replacement(choices, 2):
        for a, b in itertools.product(choices[one], choices[two]):
            if one == two and a != b:
                continue
            attrs = {**defaults, one: a, two: b}
            if (key := repr(sorted(attrs.items()))) not in seen:
                seen.add(key)
                yield attrs


def _names_axis(spec: OpSpec, name: str) -> bool:
    """Whether an int attr is an axis: a shape rule reduces over it, or it is called so."""
    rules = [o.shape for o in spec.outputs]
    return name in ("dim", "dims", "axis", "axes") or any(
        getattr(rule, "dims", None) == name for rule in rules
    )


def _in_bounds(attr: Any, value: Any) -> bool:
    if attr.allowed is not None:
        return value in attr.allowed
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        low = -math.inf if attr.minimum is None else attr.minimum
        high = math.inf if attr.maximum is None else attr.maximum
        return low <= value <= high
    return True


def _optional_shapes(spec: OpSpec, attrs: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every subset of the optional inputs left out (all subsets of up to three)."""
    names = [p.name for p in spec.inputs if p.kind is ParamKind.OPTIONAL][:3]
    for count in range(1, len(names) + 1):
        for absent in itertools.combinations(names, count):
            for base in ((13, 7), (5, 32), (2, 3, 5, 7)):
                shapes = _input_shapes(spec, base, attrs)
                if shapes is not None:
                    yield {n: None if n in absent else s for n, s in shapes.items()}
