"""What TilingFunc will decide for given shapes: a model of the generated host code in Python.

It mirrors ``opgen/host/iteration_space.h`` and ``row_space.h``; the tests compare the two.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.graph.scalars import evaluate as evaluate_scalar
from msopgen_wrap.schedule.plan import ROW_UNIT, UNIT, Body, OpPlan
from msopgen_wrap.schedule.program import DTYPE_BYTES
from msopgen_wrap.schedule.views import SQUEEZED, Span, Step, View

MAX_BLOCKS = 4095


def ceil_div(a: int, b: int) -> int:
    """a / b rounded up."""
    return -(-a // b)


def align(a: int, b: int) -> int:
    """a rounded up to a multiple of b."""
    return ceil_div(a, b) * b


@dataclass
class Strided:
    """Sizes and strides of an operand."""

    dim: list[int]
    stride: list[int]
    offset: int = 0

    @staticmethod
    def dense(shape: tuple[int, ...]) -> Strided:
        """A contiguous tensor."""
        stride = [1] * len(shape)
        for i in range(len(shape) - 2, -1, -1):
            stride[i] = stride[i + 1] * shape[i + 1]
        return Strided(list(shape), stride)


def apply_steps(view: View, shapes: dict[str, tuple[int, ...]], attrs: dict[str, Any]) -> Strided:
    """Replay the steps of a view on a concrete shape."""
    result = Strided.dense(tuple(shapes[view.tensor]))
    for step in view.steps:
        rank = len(result.dim)
        if step.op == "slice":
            start = int(evaluate_scalar(step.start, attrs, shapes))
            length = int(evaluate_scalar(step.length, attrs, shapes))
            axis = _axis(step.axis, rank)
            result.offset += start * result.stride[axis] if length else 0
            result.dim[axis] = length
        elif step.op == "every":
            axis, every = _axis(step.axis, rank), int(evaluate_scalar(step.length, attrs, shapes))
            result.dim[axis] = ceil_div(result.dim[axis], every)
            result.stride[axis] *= every
        elif step.op == "diagonal":
            _take_diagonal(result, step, int(evaluate_scalar(step.start, attrs, shapes)))
        elif step.op == "unfold":
            size = int(evaluate_scalar(step.length, attrs, shapes))
            every = int(evaluate_scalar(step.start, attrs, shapes))
            axis = _axis(step.axis, rank)
            result.dim[axis] = (result.dim[axis] - size) // every + 1
            result.dim.append(size)
            result.stride.append(result.stride[axis])
            result.stride[axis] *= every
        elif step.op == "select":
            axis = _axis(step.axis, rank)
            index = int(evaluate_scalar(step.start, attrs, shapes)) % result.dim[axis]
            result.offset += index * result.stride[axis]
            del result.dim[axis], result.stride[axis]
        elif step.op == "unsqueeze":
            axis = _axis(step.axis, rank + 1)
            result.dim.insert(axis, 1)
            result.stride.insert(axis, 0)
        elif step.op == "squeeze":
            axis = _axis(step.axis, rank)
            if result.dim[axis] == 1:
                del result.dim[axis], result.stride[axis]
        elif step.op == "permute":
            order = [*range(rank - len(step.axes)), *(_axis(a, rank) for a in step.axes)]
            result.dim = [result.dim[a] for a in order]
            result.stride = [result.stride[a] for a in order]
        elif step.op == "reshape":
            sizes = [int(evaluate_scalar(s, attrs, shapes)) for s in step.shape]
            total = _product(result.dim)
            known = _product([s for s in sizes if s >= 0])
            sizes = [s if s >= 0 else (total // known if known else 0) for s in sizes]
            result = Strided.dense(tuple(sizes))
    return result


def span_dims(span: Span, shapes: dict[str, tuple[int, ...]], attrs: dict[str, Any]) -> list[int]:
    """Return the sizes of a span for concrete shapes."""
    if span.tensor:
        return list(shapes[span.tensor])
    return [int(evaluate_scalar(size, attrs, shapes)) for size in span.sizes]


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise IndexError(f"no axis {axis} at rank {rank}")
    return axis % rank


def _take_diagonal(view: Strided, step: Step, shift: int) -> None:
    rank = len(view.dim)
    i, j = (_axis(a, rank) for a in step.axes)
    down, right = max(0, -shift), max(0, shift)
    length = max(0, min(view.dim[i] - down, view.dim[j] - right))
    if length:
        view.offset += down * view.stride[i] + right * view.stride[j]
    stride = view.stride[i] + view.stride[j]
    for axis in sorted((i, j), reverse=True):
        del view.dim[axis], view.stride[axis]
    view.dim.append(length)
    view.stride.append(stride)


def _product(values: list[int]) -> int:
    result = 1
    for value in values:
        result *= value
    return result


@dataclass
class Tiling:
    """A tiling decision.

    Attributes:
        mode: mode name of the family.
        cores: block dim.
        tile: elements per tile.
        details: mode-specific numbers, for people.
    """

    mode: str
    cores: int
    tile: int
    details: dict[str, Any] = field(default_factory=dict)


def broadcast(shapes: list[list[int]]) -> list[int]:
    """Broadcast shapes (they are known to fit)."""
    rank = max((len(s) for s in shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for i, size in enumerate(shape):
            at = rank - len(shape) + i
            if size != 1:
                result[at] = size
    return result


def collapse(
    dims: list[int], views: list[Strided], flags: list[bool] | None = None
) -> tuple[list[int], list[list[int]], list[bool]]:
    """Merge adjacent dimensions; returns sizes, strides per operand, and the merged flags."""
    size: list[int] = []
    stride: list[list[int]] = [[] for _ in views]
    kinds: list[bool] = []
    for i, d in enumerate(dims):
        if d == 1:
            continue
        steps = []
        for v in views:
            at = i - (len(dims) - len(v.dim))
            steps.append(v.stride[at] if at >= 0 and v.dim[at] != 1 else 0)
        flag = flags[i] if flags else False
        merges = bool(size) and kinds[-1] == flag
        merges = merges and all(s[-1] == step * d for s, step in zip(stride, steps, strict=True))
        if merges:
            size[-1] *= d
            for s, step in zip(stride, steps, strict=True):
                s[-1] = step
        else:
            size.append(d)
            kinds.append(flag)
            for s, step in zip(stride, steps, strict=True):
                s.append(step)
    return size, stride, kinds


def tile_call(
    plan: OpPlan,
    body: Body,
    combo: int,
    shapes: dict[str, tuple[int, ...]],
    out_dims: list[int] | None,
    attrs: dict[str, Any],
    ub: int,
    cores: int,
) -> Tiling:
    """Return what TilingFunc decides for an elementwise or row op."""
    spec = plan.spec
    views = [apply_steps(v, shapes, attrs) for v in body.operands.values()]
    spans = [span_dims(s, shapes, attrs) for s in body.spans]
    sizes = [DTYPE_BYTES[p.dtypes[combo]] for p in (*spec.inputs, *spec.outputs)]
    pitch = 32 // min(sizes)
    if plan.family == "row":
        return _tile_rows(plan, body, combo, views, spans, attrs, ub, cores, pitch)
    if out_dims is None:
        dims = broadcast([*(v.dim for v in views), *spans])
    else:
        first = spec.outputs[0].name
        stored = body.output_views.get(first, View.of_input(first, len(out_dims)))
        dims = apply_steps(stored, {**shapes, first: tuple(out_dims)}, attrs).dim
    views += [Strided.dense(tuple(dims)) for _ in spec.outputs]
    size, stride, _ = collapse(dims, views)
    total = _product(size)
    flat = total == 0 or all(
        v.offset == 0 and len(size) <= 1 and (not size or s == [1])
        for v, s in zip(views, stride, strict=True)
    )
    budget = body.budgets[combo, "flat" if flat else "broadcast"]
    longest = budget.tile_length(ub)
    if flat:
        units = ceil_div(total, UNIT)
        used = max(1, min(cores, units))
        per_core = ceil_div(units, used) * UNIT
        half = align(ceil_div(per_core, 2), UNIT)
        tile = max(UNIT, min(longest, max(half, min(per_core, 2048))))
        return Tiling("flat", used, tile, {"elements": total, "per core": per_core})
    if any(s[-1] not in (0, 1) for s in stride):
        size, stride = [*size, 1], [[*s, 0] for s in stride]
    rows_all = size[-2] if len(size) > 1 else 1
    cols_all, outer = size[-1], _product(size[:-2])
    cols, rows = cols_all, 1
    if align(cols_all, pitch) <= longest:
        rows = min(rows_all, longest // align(cols_all, pitch), MAX_BLOCKS)
        rows = max(1, min(rows, rows_all * outer // cores))
    else:
        cols = longest
    bands = outer * ceil_div(rows_all, rows)
    if bands < cores:
        cols = min(cols, max(UNIT, align(ceil_div(cols_all, cores // bands), UNIT)))
    boxes = bands * ceil_div(cols_all, cols)
    detail = {"space": size, "box": [rows, cols], "boxes": boxes}
    return Tiling("broadcast", max(1, min(cores, boxes)), longest, detail)


def reduced_axes(plan: OpPlan, rank: int, attrs: dict[str, Any]) -> list[int]:
    """Return the reduced axes of a row plan for a space of ``rank`` dimensions, non-negative."""
    rule = plan.details["axes"]
    if "attr" in rule:
        value = attrs[rule["attr"]]
        axes = list(value) if isinstance(value, (list, tuple)) else [value]
        axes = axes or list(range(rank))
    elif rule.get("all"):
        axes = list(range(rank))
    else:
        axes = list(rule["axes"])
    return [a % rank for a in axes]


def restore_axes(view: Strided, reduced: list[bool]) -> None:
    """Give an operand that lines up with a reduced result sizes of 1 for the reduced axes."""
    missing = reduced.count(False) - len(view.dim)
    dim, stride = iter([1] * missing + view.dim), iter([0] * missing + view.stride)
    pairs = [(1, 0) if r else (next(dim), next(stride)) for r in reduced]
    view.dim, view.stride = [p[0] for p in pairs], [p[1] for p in pairs]


def _tile_rows(
    plan: OpPlan,
    body: Body,
    combo: int,
    views: list[Strided],
    spans: list[list[int]],
    attrs: dict[str, Any],
    ub: int,
    cores: int,
    pitch: int,
) -> Tiling:
    full = list(views)
    squeezed = [v.extent == SQUEEZED for v in body.operands.values()]
    own = [v.dim for v, s in zip(full, squeezed, strict=True) if not s]
    dims = broadcast([*own, *spans]) or [1]
    axes = reduced_axes(plan, len(dims), attrs)
    flags = [i in axes for i in range(len(dims))]
    for view, without in zip(full, squeezed, strict=True):
        if without:
            restore_axes(view, flags)
    dims = broadcast([dims, *(v.dim for v in full)])
    row_dims = [1 if f else d for d, f in zip(dims, flags, strict=True)]
    row_outputs = body.details["row_outputs"]
    for param in plan.spec.outputs:
        full.append(Strided.dense(tuple(row_dims if param.name in row_outputs else dims)))
    size, stride, kinds = collapse(dims, full, flags)
    if not size:
        size, stride, kinds = [1], [[0] for _ in full], [True]
    if any(s[-1] > 1 for s in stride):
        size, kinds = [*size, 1], [*kinds, not kinds[-1]]
        stride = [[*s, 0] for s in stride]
    lanes = kinds[-1]
    cols = size[-1]
    row_at = next((i for i in range(len(size) - 2, -1, -1) if kinds[i] != lanes), None)
    rows = 1 if row_at is None else size[row_at]
    others = [i for i in range(len(size) - 1) if i != row_at]
    kept = _product([size[i] for i in others if not kinds[i]])
    reduced = _product([size[i] for i in others if kinds[i]])
    tile = body.budgets[combo, "row"].tile_length(ub, ROW_UNIT)
    row_length = tile // 8
    if lanes:
        box_rows, box_cols = _boxes_lanes(tile, row_length, pitch, cores, rows, cols, kept, reduced)
        items, chunks = kept * ceil_div(rows, box_rows), reduced * ceil_div(cols, box_cols)
    else:
        box_rows, box_cols = _boxes_rows(tile, row_length, pitch, cores, rows, cols, kept, reduced)
        items, chunks = kept * ceil_div(cols, box_cols), reduced * ceil_div(rows, box_rows)
    resident = chunks == 1
    split = not resident and items > 0 and items * 2 <= cores and chunks > 1
    return Tiling(
        "resident" if resident else "streamed",
        max(1, min(cores, chunks if split else items)),
        tile,
        {
            "reduce along": "columns" if lanes else "rows",
            "space": [kept, reduced, rows, cols],
            "box": [box_rows, box_cols],
            "items": items,
            "chunks": chunks,
            "split": split,
        },
    )


def _boxes_lanes(
    tile: int,
    row_length: int,
    pitch: int,
    cores: int,
    rows: int,
    cols: int,
    kept: int,
    reduced: int,
) -> tuple[int, int]:
    box_cols = max(1, cols)
    if align(box_cols, pitch) <= tile:
        most = min(tile // align(box_cols, pitch), row_length)
        box_rows = min(rows, most, MAX_BLOCKS)
        return max(1, min(box_rows, ceil_div(rows * kept, cores))), box_cols
    box_cols = tile
    if rows * kept * 2 <= cores:
        each = ceil_div(cols * reduced, cores)
        box_cols = min(box_cols, max(1024, align(each, UNIT)))
    return 1, box_cols


def _boxes_rows(
    tile: int,
    row_length: int,
    pitch: int,
    cores: int,
    rows: int,
    cols: int,
    kept: int,
    reduced: int,
) -> tuple[int, int]:
    rows, cols = max(1, rows), max(1, cols)
    widest = min(cols, row_length // pitch * pitch)
    parts = max(1, cores // max(1, kept))
    fair = align(ceil_div(cols, parts), max(64, pitch))
    widest = max(1, min(widest, fair))
    room = tile // rows // pitch * pitch
    if reduced == 1 and rows <= MAX_BLOCKS and room >= min(cols, 64):
        return rows, min(widest, room)
    box_cols = min(widest, 512 // pitch * pitch)
    box_rows = max(1, min(rows, tile // align(box_cols, pitch), MAX_BLOCKS))
    if kept * ceil_div(cols, box_cols) * 2 <= cores:
        each = ceil_div(rows * reduced, cores)
        box_rows = max(1, min(box_rows, max(each, 8)))
    return box_rows, box_cols
