"""What a kernel moves and computes at given shapes, counted by running it in profile mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from msopgen_wrap.diagnostics import Location
from msopgen_wrap.graph.kept_tensors import frozen_shapes, shape_text
from msopgen_wrap.graph.sample import sample_attrs
from msopgen_wrap.run.cached_specs import rendered_spec
from msopgen_wrap.run.call_failure import op_failure
from msopgen_wrap.run.case_runner import make_outputs
from msopgen_wrap.run.golden import NotApplicable, make_inputs, reference
from msopgen_wrap.run.op_case import TestCase, combined_attrs
from msopgen_wrap.run.op_runtime import OpRuntime, OpRuntimeError
from msopgen_wrap.run.preparation import load_op
from msopgen_wrap.run.tiling_decisions import RefusedShapes, check_shapes
from msopgen_wrap.schedule.report import dtypes_text, table_lines
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.torch_import import quiet_torch

_COLUMNS = (
    "dtypes",
    "GM read",
    "of least",
    "GM written",
    "of least",
    "workspace read, written",
    "vector calls",
    "per element",
    "UB used",
    "cores",
    "busiest/mean",
)


@dataclass(frozen=True)
class Measurement:
    """Counts of one call, sizes in bytes.

    Attributes:
        gm_read_bytes, gm_written_bytes: of all cores; the workspace counts, the tiling data does
            not. Bytes that are read twice count twice.
        gm_compulsory_read_bytes, gm_compulsory_written_bytes: every input and output once.
        gm_workspace_read_bytes, gm_workspace_written_bytes: the workspace's part of the above.
        vector_instructions, vector_repeats: calls of the vector unit, and their steps of 256 bytes.
        vector_elements: elements that these instructions go over.
        elements: of the largest input or output.
        ub_bytes, ub_capacity_bytes: where the highest buffer ends, on the core that uses most.
        cores: that moved or computed anything; the bytes of cores are read and written.
    """

    dtypes: str
    soc: str
    shapes: dict[str, Any]
    attrs: dict[str, Any]
    gm_read_bytes: int
    gm_compulsory_read_bytes: int
    gm_written_bytes: int
    gm_compulsory_written_bytes: int
    gm_workspace_read_bytes: int
    gm_workspace_written_bytes: int
    vector_instructions: int
    vector_repeats: int
    vector_elements: int
    elements: int
    ub_bytes: int
    ub_capacity_bytes: int
    cores: int
    busiest_core_bytes: int
    mean_core_bytes: float

    @property
    def read_ratio(self) -> float:
        """Bytes read for each that has to be."""
        return _ratio(self.gm_read_bytes, self.gm_compulsory_read_bytes)

    @property
    def written_ratio(self) -> float:
        """Bytes written for each that has to be."""
        return _ratio(self.gm_written_bytes, self.gm_compulsory_written_bytes)

    @property
    def instructions_per_element(self) -> float:
        """How many vector instructions an element of the largest tensor goes through."""
        return _ratio(self.vector_elements, self.elements)

    @property
    def balance(self) -> float:
        """Bytes of the busiest core against the mean of those that have work."""
        return _ratio(self.busiest_core_bytes, self.mean_core_bytes)

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as JSON-ready data."""
        own = {"vector_instructions_per_element": self.instructions_per_element}
        return {**asdict(self), **own}


def measure_op(spec: OpSpec, shapes: dict[str, Any]) -> list[Measurement]:
    """Run the op's kernel on random data, once per dtype combination, on the spec's first SoC.

    Attrs have their defaults, or the values that ``opgen plan`` takes where there is none.

    Args:
        shapes: per input a shape, a sequence of shapes for a dynamic input, or None when absent.

    Raises:
        RefusedShapes: the rules of the spec or its ``compute`` exclude the shapes.
        OpgenError: the op cannot be planned or compiled, or its host code or kernel failed.
    """
    shapes, attrs = frozen_shapes(shapes), sample_attrs(spec)
    check_shapes(spec, shapes, attrs)
    with quiet_torch():
        runtime = load_op(spec, rendered_spec(spec, "opgen"))
        cases = [TestCase(i, shapes, combined_attrs(spec, i, attrs)) for i in range(spec.combos)]
        return [_measure(spec, case, runtime) for case in cases]


def _measure(spec: OpSpec, case: TestCase, runtime: OpRuntime) -> Measurement:
    given = make_inputs(spec, case)
    try:
        want = reference(spec, case, given)
    except NotApplicable as refusal:
        raise RefusedShapes(str(refusal)) from refusal
    outputs = make_outputs(spec, case, given, want)
    sources = [t for p in spec.inputs for t in _tensors(given[p.name])]
    results = [t for p in spec.outputs for t in _tensors(outputs[p.name])]
    try:
        run = runtime.run(
            spec.op,
            [given[p.name] for p in spec.inputs],
            [outputs[p.name] for p in spec.outputs],
            {a.name: case.attrs.get(a.name) for a in spec.attrs},
            soc=spec.soc[0],
            mode="profile",
        )
    except OpRuntimeError as error:
        raise op_failure(error, Location(spec.path)) from error
    moved = [c["gm_read"] + c["gm_written"] for c in run.counts]
    busy = [m for c, m in zip(run.counts, moved, strict=True) if m or c["vector_instructions"]]

    def total(name: str, combine: Callable[[Iterator[int]], int] = sum) -> int:
        return combine(c[name] for c in run.counts) if run.counts else 0

    return Measurement(
        dtypes=dtypes_text(spec, case.combo),
        soc=spec.soc[0],
        shapes=case.shapes,
        attrs=case.attrs,
        gm_read_bytes=total("gm_read"),
        gm_compulsory_read_bytes=sum(t.nbytes for t in sources),
        gm_written_bytes=total("gm_written"),
        gm_compulsory_written_bytes=sum(t.nbytes for t in results),
        gm_workspace_read_bytes=total("workspace_read"),
        gm_workspace_written_bytes=total("workspace_written"),
        vector_instructions=total("vector_instructions"),
        vector_repeats=total("vector_repeats"),
        vector_elements=total("vector_elements"),
        elements=max((t.numel() for t in [*sources, *results]), default=0),
        ub_bytes=total("ub", max),
        ub_capacity_bytes=total("ub_capacity", max),
        cores=len(busy),
        busiest_core_bytes=max(busy, default=0),
        mean_core_bytes=sum(busy) / len(busy) if busy else 0.0,
    )


def measurement_lines(rows: list[Measurement]) -> list[str]:
    """Return the counts as a table, with the ratios that tell how good they are."""
    if not rows:
        return []
    table = [list(_COLUMNS)]
    for m in rows:
        table.append(
            [
                m.dtypes,
                str(m.gm_read_bytes),
                _times(m.read_ratio),
                str(m.gm_written_bytes),
                _times(m.written_ratio),
                f"{m.gm_workspace_read_bytes}, {m.gm_workspace_written_bytes}",
                str(m.vector_instructions),
                f"{m.instructions_per_element:.1f}",
                f"{m.ub_bytes} ({100 * _ratio(m.ub_bytes, m.ub_capacity_bytes):.0f}%)",
                str(m.cores),
                f"{m.balance:.2f}",
            ]
        )
    first = rows[0]
    given = ", ".join(f"{k}={shape_text(v)}" for k, v in first.shapes.items())
    attrs = "".join(f", {k}={v}" for k, v in first.attrs.items())
    return [
        f"  counted on {first.soc} in the emulation: {given}{attrs}",
        *table_lines(table),
        "  least: every input read once, every output written once; sizes in bytes",
        f"  per element: vector instructions that go over an element of the largest tensor, which "
        f"has {first.elements}",
    ]


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return list(value)
    return [] if value is None else [value]


def _ratio(value: float, base: float) -> float:
    return value / base if base else 0.0


def _times(ratio: float) -> str:
    return f"{ratio:.2f}x"
