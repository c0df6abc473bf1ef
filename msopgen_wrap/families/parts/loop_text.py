"""Kernel and tiling of loops over parts: what their templates are told of each loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msopgen_wrap.families.parts.plan import PartsPlan
from msopgen_wrap.families.parts.step_loops import LoopResult, LoopState, StepLoop
from msopgen_wrap.graph.host_text import to_cpp
from msopgen_wrap.graph.scalars import tensors_of
from msopgen_wrap.render.call_reading import attrs_of, bytes_expr, input_shape_lines
from msopgen_wrap.render.kernel import storage_type
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.templating import cpp_float


def parts_of(plan: PartsPlan, loop: StepLoop) -> list[OpPlan[Any]]:
    """Return the parts that a step of a loop runs."""
    return [part for part in plan.parts if part.spec.loop == loop.number]


def looped_text(plan: PartsPlan) -> list[str]:
    """Return which classes run once for each step of a loop, a line for each loop."""
    return [
        f"Once for each step of loop {loop.number + 1}: "
        f"{', '.join(body.class_name for part in parts_of(plan, loop) for body in part.bodies)}."
        for loop in plan.loops
    ]


def steps_field(loop: StepLoop) -> str:
    """Return the tiling field with the number of steps."""
    return f"loop{loop.number + 1}Steps"


def kernel_loop(spec: OpSpec, loop: StepLoop, used: set[str]) -> dict[str, Any]:
    """Return what the entry needs to run the steps of a loop.

    Args:
        spec: the op.
        loop: the loop.
        used: the tensors that the classes of a step are given.
    """
    results = {r.param.name: r for r in loop.results}
    states = [s for s in loop.states if s.before.name in used]
    return {
        "steps": steps_field(loop),
        "backwards": loop.backwards,
        "placed": any(s.param.name in used for s in loop.slices)
        or any(r.is_kept for r in loop.results),
        "starts": [
            {
                "name": s.start,
                "before": s.before.name,
                "type": storage_type(s.before, spec),
                "value": cpp_float(float(s.value)),
            }
            for s in states
            if s.value is not None
        ],
        "states": [
            {
                "before": s.before.name,
                "start": s.start,
                "result": s.result,
                "stack": results[s.result].stack.name,
                "place": _place_before(loop, results[s.result]),
            }
            for s in states
        ],
        "slices": [
            {"name": s.param.name, "source": s.source} for s in loop.slices if s.param.name in used
        ],
        "results": [
            {
                "name": r.param.name,
                "stack": r.stack.name,
                "place": "place" if r.is_kept else "step % 2",
            }
            for r in loop.results
        ],
    }


def _place_before(loop: StepLoop, result: LoopResult) -> str:
    """Return where the result of the step before lies, in C++."""
    if not result.is_kept:
        return "(step - 1) % 2"
    return "(place + 1)" if loop.backwards else "(place - 1)"


def tiling_loop(plan: PartsPlan, loop: StepLoop, condition: str) -> dict[str, Any]:
    """Return what TilingFunc needs to know the shapes of a loop.

    Args:
        plan: the plan.
        loop: one of its loops.
        condition: of the calls that have it, "" for all.
    """
    spec = plan.spec
    made = {s.result for s in loop.states}
    results = {r.param.name: r for r in loop.results}
    inputs = {p.name for p in spec.inputs}
    every = [s.source for s in loop.slices]
    read = {*every, *(s.start for s in loop.states), *_tensors(loop)} & inputs
    lines = [
        line for p in spec.inputs if p.name in read for line in input_shape_lines(spec, p.name)
    ]
    sizes = {name: _shape(name, inputs) for name in every}
    return {
        "steps": steps_field(loop),
        "condition": condition,
        "what": ", ".join(r.param.name for r in loop.results),
        "shapes": lines,
        "source": every[0] if every else "",
        "length": _length(loop, sizes),
        "checked": [{"source": s, "shape": sizes[s]} for s in dict.fromkeys(every[1:])],
        "slices": [{"name": s.param.name, "shape": sizes[s.source]} for s in loop.slices],
        "states": [
            {
                "before": s.before.name,
                "shape": _start_shape(s, inputs),
                "result": s.result,
                "stack": results[s.result].stack.name,
                "count": _slots(loop, results[s.result]),
            }
            for s in loop.states
        ],
        "others": [
            {"name": r.param.name, "stack": r.stack.name, "count": _slots(loop, r)}
            for r in loop.results
            if r.param.name not in made
        ],
    }


def _length(loop: StepLoop, sizes: dict[str, str]) -> str:
    """Return how many steps there are, in C++."""
    if not loop.slices:
        return str(loop.count)
    shape = sizes[loop.slices[0].source]
    return f"{shape}.dim.empty() ? 0 : {shape}.dim[0]"


def _slots(loop: StepLoop, result: LoopResult) -> str:
    """Return for how many steps the workspace holds a result, in C++."""
    return steps_field(loop) if result.is_kept else "2"


def _shape(name: str, inputs: set[str]) -> str:
    """Return the expression for the shape of an input or a temporary."""
    return f"{name}Shape" if name in inputs else f"temporaries.{name}"


def _start_shape(state: LoopState, inputs: set[str]) -> str:
    if state.value is None:
        return _shape(state.start, inputs)
    return f"opgen::View::Dense({{{', '.join(map(to_cpp, state.shape))}}})"


def _tensors(loop: StepLoop) -> set[str]:
    """Return the inputs whose sizes say how large a state is."""
    return {name for s in loop.states for size in s.shape for name in tensors_of(size)}


def loop_attrs(loops: Sequence[StepLoop]) -> set[str]:
    """Return the attrs that say how large states are."""
    return {name for lo in loops for s in lo.states for size in s.shape for name in attrs_of(size)}


def loop_fields(spec: OpSpec, loop: StepLoop) -> list[dict[str, str]]:
    """Return the tiling fields of a loop, with what the host sets them to."""
    steps = steps_field(loop)
    names = ", ".join(r.param.name for r in loop.results)
    fields = [
        {"type": "uint32_t", "name": steps, "value": steps, "doc": f"steps of the loop of {names}"}
    ]
    for param in [*(s.param for s in loop.slices), *(r.param for r in loop.results)]:
        value = f"opgen::Numel(temporaries.{param.name}) * {bytes_expr(spec, param)}"
        fields.append(_field(f"{param.name}Bytes", value, f"bytes of {param.name} in a step"))
    for state in loop.states:
        if state.value is not None:
            value = f"opgen::Numel(temporaries.{state.before.name})"
            fields.append(_field(f"{state.start}Count", value, f"elements of {state.start}"))
    return fields


def _field(name: str, value: str, doc: str) -> dict[str, str]:
    return {"type": "uint64_t", "name": name, "value": value, "doc": doc}
