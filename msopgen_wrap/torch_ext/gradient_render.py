"""What the backward of an op runs: lines of ``ops/<op>.py``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from msopgen_wrap.spec.asked_gradients import asked_name, source_outputs
from msopgen_wrap.spec.gradient import (
    PREFIX,
    broadcast_inputs,
    gradient_attrs,
    gradient_inputs,
    gradient_name,
    gradient_outputs,
    gradient_subsets,
    kept_outputs,
)
from msopgen_wrap.spec.model import OpSpec, ParamKind, TensorParam


def tuple_text(items: Sequence[str]) -> str:
    """Return a Python tuple display."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


@dataclass(frozen=True)
class Explicit:
    """Explicit gradient of one input.

    Attributes:
        name: the input.
        call: what computes it.
        condition: whether it is asked for, in terms of ``_needed``.
    """

    name: str
    call: str
    condition: str

    @property
    def result(self) -> str:
        """The variable that holds it."""
        return f"grad_{self.name}"


def backward_function(spec: OpSpec, target: str) -> str:
    """Return the name of the reference function with an explicit gradient."""
    return f"{spec.name}_grad_{target}"


def explicit_gradients(spec: OpSpec, attrs: list[str]) -> list[Explicit]:
    """Return the calls of the gradients that the spec writes out."""
    if not isinstance(spec.backward, dict):
        return []
    names = [p.name for p in spec.inputs]
    arguments = names + [o.name for o in spec.outputs if o.name not in names]
    arguments += [f"grad_{o.name}" for o in spec.outputs]
    given = ", ".join([*arguments, *attrs])
    return [
        Explicit(
            target,
            f"_reference.{backward_function(spec, target)}({given})",
            _needed(spec, names.index(target)),
        )
        for target in spec.backward
    ]


def no_gradient(param: TensorParam) -> str:
    """Return what stands for the gradient of an input that has none: for a list torch wants one."""
    return f"[None] * len({param.name})" if param.kind is ParamKind.DYNAMIC else "None"


def explicit_results(spec: OpSpec) -> list[str]:
    """Return what a backward with written gradients returns for the inputs."""
    assert isinstance(spec.backward, dict)
    found = []
    for param in spec.inputs:
        written = param.name in spec.backward
        nothing = no_gradient(param)
        result = f"grad_{param.name}"
        if written and param.kind is ParamKind.DYNAMIC:
            result += f" or {nothing}"
        found.append(result if written else nothing)
    return found


def _needed(spec: OpSpec, place: int) -> str:
    """Return an expression of whether the gradient of an input is asked for."""
    is_list = spec.inputs[place].kind is ParamKind.DYNAMIC
    return f"any(_needed[{place}])" if is_list else f"_needed[{place}]"


def _subsets(spec: OpSpec, gradient: OpSpec | None) -> dict[str, tuple[str, ...]]:
    """Return which gradients a call may ask for, where the op of them has the attr that says it."""
    subsets = gradient_subsets(spec)
    own = {a.name for a in gradient.attrs} if gradient else {asked_name(spec)}
    return subsets if asked_name(spec) in own else {}


def _asked_argument(spec: OpSpec, subsets: dict[str, tuple[str, ...]]) -> list[str]:
    """Return what says which gradients are asked for, where the op of them has an attr for it."""
    names = [p.name for p in spec.inputs]
    rows = [
        f"{json.dumps(value)}: {tuple_text([str(names.index(n)) for n in chosen])}"
        for value, chosen in subsets.items()
        if not source_outputs(value)
    ]
    if not rows:
        return []
    found = f"_gradients.asked(_needed, {{{', '.join(rows)}}})"
    if len(rows) == 1:
        found = json.dumps(next(iter(subsets)))
    return [f"_served or {found}" if len(rows) < len(subsets) else found]


def leaves_outputs_out(spec: OpSpec, gradient: OpSpec | None) -> bool:
    """Whether an output without gradient takes no part in backward.

    Formulas that the spec or a file writes read a gradient of every output: zeros.
    """
    derived = gradient is None or gradient.differentiated
    return derived and not spec.written and len(gradient_outputs(spec)) > 1


def served_argument(spec: OpSpec, gradient: OpSpec | None) -> str:
    """Return the call that says which value of the attr has the outputs that have gradients."""
    outputs = gradient_outputs(spec)
    values = {
        value: sources for value in _subsets(spec, gradient) if (sources := source_outputs(value))
    }
    rows = [
        f"{json.dumps(value)}: {tuple_text([str(outputs.index(n)) for n in sources])}"
        for value, sources in values.items()
    ]
    grads = tuple_text([f"{PREFIX}{name}" for name in outputs])
    return f"_gradients.served({grads}, {{{', '.join(rows)}}})"


def kernel_lines(spec: OpSpec, vendor: str, gradient: OpSpec | None) -> list[str]:
    """Return statements that set ``_grads``, one per input, by the op of the gradients."""
    inputs = [p.name for p in spec.inputs]
    kept = kept_outputs(spec)
    grads = [
        f"_gradients.kept(grad_{name}, {kept[name].tensor}, _ctx.attr_{kept[name].dims})"
        if name in kept
        else f"grad_{name}"
        for name in gradient_outputs(spec)
    ]
    targets = gradient_inputs(spec)
    found = ", ".join(f"grad_{name}" for name in targets)
    together = broadcast_inputs(spec)
    lines = []
    if leaves_outputs_out(spec, gradient) and any(map(source_outputs, _subsets(spec, gradient))):
        lines += [
            f"{PREFIX}{name} = _gradients.unread({PREFIX}{name}, _ctx.outputs[{place}])"
            for place, name in enumerate(p.name for p in spec.outputs)
            if name in gradient_outputs(spec)
        ]
    passed = dict(zip(inputs, inputs, strict=True))
    if together:
        wide = [f"_{name}" for name in together]
        passed.update(zip(together, wide, strict=True))
        given = tuple_text(list(together))
        lines.append(f"{', '.join(wide)} = _gradients.broadcast({given})")
    attrs = [f"_ctx.attr_{a.name}" for a in gradient_attrs(spec)]
    attrs += _asked_argument(spec, _subsets(spec, gradient))
    arguments = [*passed.values(), *grads, *spec.save, *attrs]
    lines += [
        f"{found} = torch.ops.{vendor}.{gradient_name(spec)}.default(",
        *(f"    {argument}," for argument in arguments),
        ")",
    ]
    results = []
    for place, name in enumerate(inputs):
        nothing = no_gradient(spec.inputs[place])
        made = f"_gradients.summed(grad_{name}, {name})" if name in together else f"grad_{name}"
        chosen = f"{made} if {_needed(spec, place)} else {nothing}"
        results.append(chosen if name in targets else nothing)
    return [*lines, f"_grads = {tuple_text(results)}"]
