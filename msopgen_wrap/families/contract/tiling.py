"""Tiling struct and TilingFunc of the contract family."""

from __future__ import annotations

from msopgen_wrap.families.contract.body import ProductPlan
from msopgen_wrap.families.contract.plan import MODES
from msopgen_wrap.render.call_reading import dtype_expr
from msopgen_wrap.render.cube_tiling import block_rows, result_dtype
from msopgen_wrap.render.kernel import member_name, output_param
from msopgen_wrap.render.tiling import (
    field_row,
    setters,
    shared_values,
    tiling_text,
)
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.templating import environment

_BATCH_DIMS = 6
_FIELDS = [
    field_row("int64_t", "batchDims", _BATCH_DIMS, "sizes of the batches"),
    field_row(
        "int64_t", "leftWalk", _BATCH_DIMS + 3, "strides and offset of the left matrix, elements"
    ),
    field_row(
        "int64_t", "rightWalk", _BATCH_DIMS + 3, "strides and offset of the right matrix, elements"
    ),
    field_row(
        "int64_t",
        "resultWalk",
        _BATCH_DIMS + 3,
        "strides and offset of what blocks are written to, elements",
    ),
    field_row(
        "int64_t", "sumWalk", _BATCH_DIMS + 3, "strides and offset of the sums of pieces, elements"
    ),
    field_row("uint64_t", "total", 0, "elements of the result"),
    field_row("uint64_t", "blocks", 0, "blocks of the results of all batches and pieces"),
    field_row("uint64_t", "sumLength", 0, "elements of a result that lie without gaps"),
    field_row("uint32_t", "sumTile", 0, "elements that a vector core adds at once"),
    field_row("uint32_t", "pieces", 0, "pieces of K"),
    field_row("uint32_t", "pieceDepth", 0, "K of a piece; the last one may be shorter"),
    field_row("uint32_t", "depth", 0, "K"),
    field_row("uint32_t", "rows", 0, "rows of a result"),
    field_row("uint32_t", "columns", 0, "columns of a result"),
    field_row("uint32_t", "blockRows", 0, "rows of a block"),
    field_row("uint32_t", "blockColumns", 0, "columns of a block"),
    field_row("uint32_t", "leftTransposed", 0, "whether columns of the left matrix lie dense"),
    field_row("uint32_t", "rightTransposed", 0, "whether columns of the right matrix lie dense"),
    field_row("int32_t", "resultPitch", 0, "elements from a row of the result to the next"),
    {
        **field_row("TCubeTiling", "cube", 0, "how the Matmul object makes a block"),
        "struct": True,
    },
]
_HEADERS = ('"opgen_product_space.h"', '"opgen_tile_budget.h"', '"tiling/tiling_api.h"')


def render_tiling(plan: ProductPlan, style: str) -> TilingText:
    """Return the tiling of an op with one product.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    spec, body = plan.spec, plan.bodies[0]
    product = body.products[0]
    shared = shared_values(spec, plan, style, {}, all_views=True)
    output = output_param(spec, product.output)
    values = {
        "blocks": block_rows(plan),
        "left": product.left,
        "right": product.right,
        "result": member_name(output, True, spec),
        "joined": f"opgen::Joined::{product.joined}",
        "left_dtype": dtype_expr(spec, body.operands[product.left].tensor),
        "result_dtype": result_dtype(spec, output),
        "modes": MODES,
        "sums_dtype": _sums_dtype(spec, body.operands[product.left].tensor),
        "tiling_ref": "tiling." if style == "8.1" else "tiling->",
    }
    text = (
        environment("contract")
        .get_template("tiling.cpp.jinja")
        .render(**setters(style), **shared, **values)
    )
    return tiling_text(spec, style, text, shared, list(_FIELDS), _HEADERS)


def _sums_dtype(spec: OpSpec, left: str) -> str:
    """Return the expression for the ``ge::DataType`` in which the cube sums up."""
    dtypes = {dtype == "int8" for dtype in spec.param(left).dtypes}
    if len(dtypes) > 1:
        return f"({dtype_expr(spec, left)} == ge::DT_INT8 ? ge::DT_INT32 : ge::DT_FLOAT)"
    return "ge::DT_INT32" if dtypes == {True} else "ge::DT_FLOAT"
