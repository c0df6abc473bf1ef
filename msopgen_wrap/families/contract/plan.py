"""Plan the contract family: a product of matrices on the cube, read and written through views.

The host brings every call to one product of M x K by K x N elements per batch: batches along which
the right matrix stays the same become rows, transposed operands stay where they are and are
transposed on the way to L0, and a transposed result is the product of the transposed operands in
the other order. Blocks of the result are dealt out to the cores.
"""

from __future__ import annotations

from collections.abc import Sequence

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.families.contract.body import ProductBody, ProductPlan
from msopgen_wrap.families.contract.reading import Product, ProductLowerer
from msopgen_wrap.families.family import Family
from msopgen_wrap.graph.tracing import TracedGraph, trace
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule.buffers import Placement
from msopgen_wrap.schedule.cube import FLOAT_RESULTS, check_cube_cores, cube_block, cube_memories
from msopgen_wrap.schedule.kernel_classes import class_name
from msopgen_wrap.schedule.program import Program
from msopgen_wrap.schedule.ranks import AxisNames, Lowered, axis_names, other_ranks, prove_ranks
from msopgen_wrap.schedule.views import View
from msopgen_wrap.spec.model import OpSpec

# The last digit of the tiling key: a product, zeros, which sums of no elements are, or a product
# whose K is cut into pieces.
MODES = {"cube": 0, "zeros": 1, "pieces": 2}
# Dtype of the operands -> dtypes that the sums leave as.
RESULTS = {**FLOAT_RESULTS, "int8": ("int32",)}


def plan_products(
    family: Family, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
) -> ProductPlan:
    """Plan the product of every variant and dtype combination.

    Raises:
        OpgenError: OPG370 where there is more than one product with views around it, OPG371 for
            dtypes that the cube does not multiply, OPG372 for a SoC without cube cores.
    """
    check_cube_cores(
        spec,
        "OPG372",
        "multiplies matrices",
        "generated products run on the cube cores of arch 2201",
    )
    plan = ProductPlan(spec, family, variants, [], dict(MODES))
    plan.memories = cube_memories(spec.soc)
    names: dict[View, str] = {}
    for index in plan.served:
        traced = first.get(index) or trace(spec, variants[index])
        lowerer = _lowered(spec, traced, names)
        operands = dict(lowerer.operands)
        combos = list(range(spec.combos))
        body = ProductBody(
            class_name(spec, variants, index, combos, 1),
            index,
            tuple(combos),
            Program(),
            Placement(),
            operands,
            len(spec.outputs),
            products=tuple(lowerer.products),
        )
        left = spec.param(operands[lowerer.products[0].left].tensor)
        for combo in combos:
            _check_dtypes(spec, lowerer.products, operands, combo)
            body.blocks[combo] = cube_block(left.dtypes[combo], plan.memories)
        views = {p.output: p.view for p in lowerer.products if p.view is not None}
        body.output_views = views
        plan.bodies.append(body)
    return plan


def _lowered(spec: OpSpec, traced: TracedGraph, names: dict[View, str]) -> ProductLowerer:
    """Read the products of a graph, and see that graphs of other ranks have the same ones."""
    others = other_ranks(spec, traced)

    def read(graph: TracedGraph, ends: AxisNames, known: dict[View, str]) -> ProductLowerer:
        lowerer = ProductLowerer(spec, graph, 0, operand_names=known, axis_names=ends)
        lowerer.read()
        if len(lowerer.products) != 1:
            raise OpgenError(_several(spec))
        return lowerer

    def lower(graph: TracedGraph, ends: AxisNames) -> Lowered:
        lowerer = read(graph, ends, {})
        return Lowered(Program(), lowerer.operands)

    ends = axis_names(traced, others, lower)
    own = read(traced, ends, names)
    prove_ranks(spec, traced, others, lower, ends)
    for other in others:
        there = read(other, ends.unnamed(), {})
        if _form(there) != _form(read(traced, ends, {})):
            raise OpgenError(
                Diagnostic(
                    "OPG370",
                    f"the product of {spec.op} is another one at other ranks of its inputs",
                    spec.compute.location if spec.compute else spec.outputs[0].location,
                    "one kernel serves all ranks that the spec allows",
                    "fix the rank of the inputs with `rank:`, or count axes from the end",
                )
            )
    return own


def _form(lowerer: ProductLowerer) -> object:
    """Return what tells products apart besides the steps of their operands."""
    return [
        (p.left, p.right, p.joined, [(s.op, s.axis, s.axes) for s in p.view.steps] if p.view else 0)
        for p in lowerer.products
    ]


def _several(spec: OpSpec) -> Diagnostic:
    return Diagnostic(
        "OPG370",
        f"{spec.op} has several products as outputs",
        spec.outputs[0].location,
        "a pass on the cube makes one product",
    )


def _check_dtypes(
    spec: OpSpec, products: Sequence[Product], operands: dict[str, View], combo: int
) -> None:
    for product in products:
        left = spec.param(operands[product.left].tensor).dtypes[combo]
        right = spec.param(operands[product.right].tensor).dtypes[combo]
        result = next(p for p in spec.outputs if p.name == product.output).dtypes[combo]
        if left == right and result in RESULTS.get(left, ()):
            continue
        # other dtypes go through the workspace
        code = "OPG370" if {left, right, result} <= set(FLOAT_RESULTS) else "OPG371"
        raise OpgenError(
            Diagnostic(
                code,
                f"{spec.op} multiplies {left} by {right} to {result}",
                spec.compute.location if spec.compute else spec.outputs[0].location,
                "the cube multiplies matrices of one dtype: float16 or bfloat16 to the same or to "
                "float32, float32 to float32, int8 to int32",
                "give the inputs one of these dtypes, and the output the dtype beside it",
            )
        )
