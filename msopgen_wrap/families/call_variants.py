"""Variants whose graph is one call over views of inputs, which a reader of a family recognises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.other_traces import trace_with
from msopgen_wrap.graph.scalars import ScalarExpr
from msopgen_wrap.graph.tracing import TracedGraph, trace
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule.mixed_ranks import prove_mixed_ranks
from msopgen_wrap.schedule.program import Program
from msopgen_wrap.schedule.ranks import (
    AxisNames,
    Lowered,
    axis_names,
    other_ranks,
    prove_ranks,
    ranked_input,
)
from msopgen_wrap.schedule.views import Span
from msopgen_wrap.spec.model import OpSpec

CallT_co = TypeVar("CallT_co", covariant=True)
CallT = TypeVar("CallT")
# Shapes and numbers that the tiling function makes of the sizes of inputs.
Sizes = tuple[tuple[Span, ...], tuple[ScalarExpr, ...]]


class Reader(Protocol[CallT_co]):
    """What reads the call of a graph.

    Attributes:
        operands: the views of inputs that the call takes, by name; known once it is read.
    """

    operands: dict[str, Any]

    def read(self) -> CallT_co:
        """Return the call; raises OpgenError where the graph is something else."""


@dataclass(frozen=True)
class CallVariant(Generic[CallT]):
    """The call of one variant.

    Attributes:
        index: of the variant.
        traced: its graph.
        others: its graphs at other ranks.
        names: what the axes of the sample are at every rank.
        call: the call.
        operands: the views of inputs that it takes, in the order of the inputs.
    """

    index: int
    traced: TracedGraph
    others: list[TracedGraph]
    names: AxisNames
    call: CallT
    operands: dict[str, Any]


def read_variants(
    spec: OpSpec,
    variants: list[Variant],
    served: list[int],
    first: dict[int, TracedGraph],
    reader_of: Callable[..., Reader[CallT]],
    sizes_of: Callable[[CallT], Sizes] = lambda _: ((), ()),
) -> Iterator[CallVariant[CallT]]:
    """Read the call of each variant that a pass serves, proved for every rank.

    Args:
        spec: the op.
        variants: all of its variants.
        served: those to read, by position.
        first: graphs already traced, by position.
        reader_of: makes a reader of ``(spec, traced, combination, axis_names=names)``.
        sizes_of: what the tiling function computes of sizes for a call, beside its operands.

    Raises:
        OpgenError: the graph is not one call, or another one at another rank (OPG204).
    """

    def lower(traced: TracedGraph, names: AxisNames) -> Lowered:
        reader = reader_of(spec, traced, 0, axis_names=names)
        call = reader.read()
        spans, numbers = sizes_of(call)
        return Lowered(Program(), reader.operands, spans, numbers=numbers)

    order = [p.name for p in spec.inputs]
    for index in served:
        traced = first.get(index) or trace(spec, variants[index])
        others = other_ranks(spec, traced)
        names = axis_names(traced, others, lower, ranked=ranked_input(spec, traced))
        prove_ranks(spec, traced, others, lower, names)
        others += prove_mixed_ranks(spec, traced, lower, names)
        reader = reader_of(spec, traced, 0, axis_names=names)
        call = reader.read()
        operands = sorted(reader.operands.items(), key=lambda item: order.index(item[1].tensor))
        yield CallVariant(index, traced, others, names, call, dict(operands))


def prove_numbers(
    spec: OpSpec,
    traced: TracedGraph,
    call: tuple[Any, dict[str, Any]],
    reader_of: Callable[..., Reader[Any]],
    others: Mapping[str, Iterable[Any]],
    what: str = "convolution",
) -> None:
    """Prove that attrs which shape a graph are numbers of its call, and nothing else.

    Args:
        spec: the op.
        traced: a graph of it.
        call: its call, and the operands.
        reader_of: makes a reader of ``(spec, traced, combination)``.
        others: other values of each attr that shapes the graph.
        what: whose numbers they are.

    Raises:
        OpgenError: OPG202 where the call is another one with such a value.
    """
    for name, values in others.items():
        for value in values:
            again = trace_with(spec, traced, name, value)
            if again is None:
                continue  # no value for the sample's shapes
            other = reader_of(spec, again, 0)
            if (other.read(), other.operands) != call:
                raise OpgenError(
                    Diagnostic(
                        "OPG202",
                        f"attr {name!r} changes what compute does beyond the {what}",
                        spec.attr(name).location,
                        "the kernel is generated once and must serve every value",
                        f"give it `allowed:` values, or use it only as a number of the {what}",
                    )
                )


def different_variants(spec: OpSpec, what: str, cure: str) -> Diagnostic:
    """Return OPG335: variants that one tiling function does not serve.

    Args:
        spec: the op.
        what: its variants do: "have other windows".
        cure: beside splitting the op.
    """
    return Diagnostic(
        "OPG335",
        f"the variants of {spec.op} {what}",
        spec.compute.location if spec.compute else spec.outputs[0].location,
        "all kernels of a pass share one tiling function",
        f"{cure}, or split the op",
    )


def axis_at_every_rank(
    spec: OpSpec, axes: Sequence[tuple[int, int]], named: bool, what: str
) -> int:
    """Return an axis as one number for every rank.

    Args:
        spec: the op.
        axes: per rank the axis, counted in the way that is preferred and in the other one.
        named: whether an attr gives the axis, which TilingFunc then reads.
        what: the axis is: "the indexed axis of Op".

    Raises:
        OpgenError: OPG204 where neither way gives one number.
    """
    for numbers in map(set, zip(*axes, strict=True)):
        if len(numbers) == 1 or named:
            return int(numbers.pop())
    raise OpgenError(
        Diagnostic(
            "OPG204",
            f"{what} depends on the rank of its inputs",
            spec.compute.location if spec.compute else spec.outputs[0].location,
            "one kernel serves every rank, and counts axes from the front or from the end",
            "give the input a `rank`, or name the axis by one number",
        )
    )
