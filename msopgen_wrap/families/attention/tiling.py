"""Tiling struct and TilingFunc of the attention family."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.families.attention.plan import AttentionBody, AttentionPlan, infinite
from msopgen_wrap.families.attention.scores import FILL_ABOVE
from msopgen_wrap.graph.host_text import to_cpp
from msopgen_wrap.render.call_reading import dtype_expr, scalar_fields, scalar_values
from msopgen_wrap.render.cube_tiling import block_rows
from msopgen_wrap.render.kernel import member_name, output_param
from msopgen_wrap.render.tiling import combo_dtypes, field_row, setters, shared_values, tiling_text
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.schedule.program import I32, Scalar
from msopgen_wrap.spec.model import ParamKind
from msopgen_wrap.templating import environment

_WALK = 9
_BATCH_DIMS = 6


def _cube(name: str, doc: str) -> dict[str, Any]:
    return {**field_row("TCubeTiling", name, 0, doc), "struct": True}


_FIELDS = [
    field_row("int64_t", "batchDims", _BATCH_DIMS, "sizes of the batches"),
    field_row("int64_t", "queryWalk", _WALK, "strides and offset of the queries, elements"),
    field_row("int64_t", "keyWalk", _WALK, "of the keys, which stand in columns"),
    field_row("int64_t", "valueWalk", _WALK, "of the values"),
    field_row("int64_t", "resultWalk", _WALK, "of the result"),
]
_SIZES = [
    field_row("int64_t", "shift", 0, "a row sees keys up to its own number and this"),
    field_row("uint64_t", "blocks", 0, "blocks of rows of all batches"),
    field_row("uint32_t", "rows", 0, "queries of a batch"),
    field_row("uint32_t", "keys", 0, "keys of a batch"),
    field_row("uint32_t", "depth", 0, "elements of a query and of a key"),
    field_row("uint32_t", "width", 0, "elements of a value"),
    field_row("uint32_t", "sumPitch", 0, "elements between rows of sums"),
    field_row("uint32_t", "blockRows", 0, "rows of a block of the result"),
    field_row("uint32_t", "blockColumns", 0, "columns of a block of the result"),
    field_row("uint32_t", "stepKeys", 0, "keys of a step"),
    field_row("uint32_t", "scoreRows", 0, "rows of scores that a vector core works on at a time"),
    field_row("uint32_t", "sumRows", 0, "rows of sums that it works on at a time"),
    field_row("uint32_t", "tileLength", 0, "elements of either in UB"),
    field_row("uint32_t", "triangle", 0, "whether rows see different numbers of keys"),
    field_row("uint32_t", "transposed", 0, "bits: queries, keys, values lie transposed"),
    _cube("scoreCube", "how the Matmul object makes the scores of a step"),
    _cube("sumCube", "how it multiplies probabilities by values"),
]
_HEADERS = ('"opgen_attention_space.h"', '"opgen_tile_budget.h"', '"tiling/tiling_api.h"')


def render_tiling(plan: AttentionPlan, style: str) -> TilingText:
    """Return the tiling of an attention.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    spec, body = plan.spec, plan.bodies[0]
    own = body.attention
    used = plan.numbers
    repeats = [to_cpp(number) for number in own.repeats]
    hidden = {f"repeat{i}": Scalar(number, I32) for i, number in enumerate(own.repeats)}
    shared = shared_values(spec, plan, style, {**used, **hidden}, all_views=True)
    output = output_param(spec, own.output)
    names = {scalar: name for name, scalar in used.items()}
    masks: list[dict[str, Any]] = [
        {
            "name": name,
            "walk": f"mask{number}Walk",
            "number": number,
            "condition": _condition(plan, name),
        }
        for name, number in plan.masks().items()
    ]
    budgets = {
        (b.variant, tuple(_dtypes(plan, combo))): b.budgets[combo, "attention"]
        for b in plan.bodies
        for combo in b.combos
    }
    rows = block_rows(plan)
    for row in rows:
        budget = budgets[row["variant"], tuple(row["dtypes"])]
        row["per_score"], row["reserved"] = budget.bytes_per_element, budget.fixed
    values = {
        "blocks": rows,
        "own": own,
        "repeats": repeats,
        "result": member_name(output, True, spec),
        "joined": f"opgen::Joined::{own.joined}",
        "masks": masks,
        "diagonals": _diagonals(plan),
        "scalars": scalar_values(names, used),
        "dtype": dtype_expr(spec, body.operands[own.query].tensor),
        "tiling_ref": "tiling." if style == "8.1" else "tiling->",
    }
    text = (
        environment("attention")
        .get_template("tiling.cpp.jinja")
        .render(**setters(style), **shared, **values)
    )
    fields = [
        *_FIELDS,
        *(field_row("int64_t", m["walk"], _WALK, f"of {m['name']}") for m in masks),
        *scalar_fields(names, used),
        *_SIZES,
    ]
    return tiling_text(spec, style, text, shared, fields, _HEADERS)


def _dtypes(plan: AttentionPlan, combo: int) -> list[str]:
    return combo_dtypes(plan.spec, combo)


def _variants(plan: AttentionPlan, bodies: list[AttentionBody]) -> str:
    """Return the condition in C++ that a call is a variant of some bodies, "" for all."""
    if len(bodies) == len(plan.bodies):
        return ""
    return " || ".join(f"variant == {body.variant}" for body in bodies)


def _condition(plan: AttentionPlan, name: str) -> str:
    bodies = [b for b in plan.bodies if name in b.attention.masks.values()]
    condition = _variants(plan, bodies)
    param = plan.spec.param(plan.operands()[name].tensor)
    if param.kind is ParamKind.OPTIONAL and not condition:
        return f"{param.name}Storage != nullptr"
    return condition


def _diagonals(plan: AttentionPlan) -> list[dict[str, str]]:
    """Return the diagonals above which no key counts, with the variants that have them."""
    found: dict[str, list[AttentionBody]] = {}
    for body in plan.bodies:
        for step in body.attention.steps:
            if step.kind == FILL_ABOVE and infinite(step.number):
                found.setdefault(to_cpp(step.diagonal), []).append(body)
    return [
        {"value": value, "condition": _variants(plan, bodies)} for value, bodies in found.items()
    ]
