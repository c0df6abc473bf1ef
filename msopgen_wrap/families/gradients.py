"""Where the gradients of an op come from: ``backward: auto`` is decided here.

A kernel computes them where the op of the gradients can be written as a spec and planned; else
PyTorch differentiates ``compute`` when backward runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.spec.gradient import gradient_subsets
from msopgen_wrap.spec.loader import gradient_spec
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.saved_outputs import assigned_names


@dataclass(frozen=True)
class GradientChoice:
    """What gives the gradients of an op.

    Attributes:
        kernel: the op of the gradients, None where PyTorch differentiates ``compute``.
        why: why there is no kernel: the code and text of the refusal.
    """

    kernel: OpSpec | None
    why: str = ""


def gradient_choice(spec: OpSpec) -> GradientChoice:
    """Try to write and plan the op of the gradients of ``spec``."""
    from msopgen_wrap.families.planner import plan_op

    try:
        derived = gradient_spec(spec)
        plan_op(derived)
    except OpgenError as error:
        problem = error.diagnostics[0]
        why = problem.why.split("; the kernel is that of a gradient")[0]
        return GradientChoice(None, f"{problem.code}: {problem.what}" + (f"; {why}" if why else ""))
    return GradientChoice(derived)


def with_chosen_gradients(
    specs: Sequence[OpSpec], choose: Callable[[OpSpec], GradientChoice] = gradient_choice
) -> tuple[list[OpSpec], dict[str, str]]:
    """Decide every ``backward: auto``.

    Args:
        specs: as ``load_specs`` returns them: where an op of the gradients is among them, its
            forward op is decided already.

    Returns:
        The specs, where an op that gets a kernel has ``backward: kernel`` and is followed by the
        op of its gradients, and the others have ``reference``; and why these have no kernel, by
        the op's name.
    """
    found: list[OpSpec] = []
    refused: dict[str, str] = {}
    for spec in specs:
        if spec.backward != "auto":
            found.append(spec)
            continue
        choice = choose(spec)
        if choice.kernel is None:
            refused[spec.name] = choice.why
            found.append(replace(spec, backward="reference"))
        else:
            found += [replace(spec, backward="kernel"), choice.kernel]
    return found, refused


def gradient_source(spec: OpSpec, refused: str = "") -> dict[str, str]:
    """Return ``{by, why}``, what ``opgen plan`` says of the gradients of a decided op.

    Args:
        refused: why ``backward: auto`` has found no kernel.
    """
    if isinstance(spec.backward, dict):
        return {"by": "formulas", "why": "the spec writes them, PyTorch computes them"}
    if spec.backward == "kernel":
        why = f"{spec.op}Grad is an op of the same package"
        if spec.written:
            why += f"; the spec writes those of {', '.join(spec.written)}"
        why += f"; saved: {', '.join([*(p.name for p in spec.inputs), *spec.save])}"
        again = [n for n in assigned_names(spec) if n not in spec.save]
        why += f"; computed again where needed: {', '.join(again)}" if again else ""
        if subsets := gradient_subsets(spec):
            why += f"; a call computes those of {', '.join(subsets)}"
        return {"by": "kernel", "why": why}
    if spec.backward == "none":
        return {"by": "none", "why": ""}
    why = refused or "backward: auto makes a kernel of them where one can be planned"
    return {"by": "reference", "why": why}
