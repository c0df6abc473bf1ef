"""Where the gradients of an op come from: ``backward: auto`` is decided here.

A kernel computes them where the op of the gradients can be written as a spec and planned; else
PyTorch differentiates ``compute`` when backward runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families.saving import SavingChoice, saving_choice
from msopgen_wrap.spec.gradient import gradient_inputs, gradient_subsets
from msopgen_wrap.spec.loader import gradient_spec
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.saved_outputs import assigned_names

if TYPE_CHECKING:
    from msopgen_wrap.schedule.plan import OpPlan


@dataclass(frozen=True)
class GradientChoice:
    """What gives the gradients of an op.

    Attributes:
        kernel: the op of the gradients, None where PyTorch differentiates ``compute``.
        why: why there is no kernel: the code and text of the refusal.
        saving: what forward saves for it, where the kit has chosen that.
    """

    kernel: OpSpec | None
    why: str = ""
    saving: SavingChoice | None = None


def gradient_choice(spec: OpSpec) -> GradientChoice:
    """Choose what forward saves, and try to write and plan the op of the gradients."""
    from msopgen_wrap.families.planner import plan_op

    saving = saving_choice(spec) if spec.choose_saved else None
    try:
        derived = gradient_spec(with_saving(spec, saving))
        plan_op(derived)
    except OpgenError as error:
        problem = error.diagnostics[0]
        why = problem.why.split("; the kernel is that of a gradient")[0]
        return GradientChoice(None, f"{problem.code}: {problem.what}" + (f"; {why}" if why else ""))
    return GradientChoice(derived, saving=saving)


def with_saving(spec: OpSpec, saving: SavingChoice | None) -> OpSpec:
    """Return an op that saves what was chosen; None: nothing where the kit was to choose."""
    if not spec.choose_saved:
        return spec
    return replace(spec, save=saving.save if saving else (), choose_saved=False)


def with_chosen_saving(
    specs: Sequence[OpSpec], choose: Callable[[OpSpec], SavingChoice | None] | None = None
) -> list[OpSpec]:
    """Decide what the ops with ``backward: kernel`` save, and derive their gradients for it.

    Args:
        specs: as ``load_specs`` returns them.
        choose: what decides; None: ``saving_choice``.
    """
    found: dict[str, OpSpec] = {}
    for spec in specs:
        if spec.backward == "kernel" and spec.choose_saved:
            spec = with_saving(spec, (choose or saving_choice)(spec))
            derived = gradient_spec(spec) if spec.save else None
            if derived is not None:
                found[derived.name] = derived  # takes the place of the one that follows
        found.setdefault(spec.name, spec)
    order = {spec.name: place for place, spec in enumerate(specs)}
    return sorted(found.values(), key=lambda s: order.get(s.name, len(order)))


def with_chosen_gradients(
    specs: Sequence[OpSpec],
    choose: Callable[[OpSpec], GradientChoice] = gradient_choice,
    save: Callable[[OpSpec], SavingChoice | None] | None = None,
) -> tuple[list[OpSpec], dict[str, str]]:
    """Decide every ``backward: auto``, and what is saved where the spec does not say it.

    Args:
        specs: as ``load_specs`` returns them: where an op of the gradients is among them, its
            forward op is decided already.
        choose: what decides ``auto``.
        save: what decides what is saved for ``kernel``; None: ``saving_choice``.

    Returns:
        The specs, where an op that gets a kernel has ``backward: kernel`` and is followed by the
        op of its gradients, and the others have ``reference``; and why these have no kernel, by
        the op's name.
    """
    found: list[OpSpec] = []
    refused: dict[str, str] = {}
    for spec in with_chosen_saving(specs, save):
        if spec.backward != "auto":
            found.append(spec)
            continue
        choice = choose(spec)
        if choice.kernel is None:
            refused[spec.name] = choice.why
            found.append(replace(with_saving(spec, None), backward="reference"))
        else:
            chosen = with_saving(spec, choice.saving)
            found += [replace(chosen, backward="kernel"), choice.kernel]
    return found, refused


def unread_inputs(spec: OpSpec, gradient: OpPlan[Any]) -> tuple[str, ...]:
    """Return the inputs whose elements no gradient depends on, as those of a sum.

    Backward needs their shapes only, so that they are not saved. Integers are: PyTorch, which
    gives second derivatives, may use them as indices. Formulas of the spec or of a file keep
    everything: second derivatives are those of ``compute``.

    Args:
        spec: the forward op.
        gradient: the plan of the op of its gradients.
    """
    if spec.backward != "kernel" or spec.written or not gradient.spec.differentiated:
        return ()
    read = gradient.inputs_read()
    return tuple(name for name in gradient_inputs(spec) if name not in read)


def gradient_source(
    spec: OpSpec, refused: str = "", unread: Collection[str] = ()
) -> dict[str, str]:
    """Return ``{by, why}``, what ``opgen plan`` says of the gradients of a decided op.

    Args:
        refused: why ``backward: auto`` has found no kernel.
        unread: inputs of which a kernel needs the shape only.
    """
    if isinstance(spec.backward, dict):
        return {"by": "formulas", "why": "the spec writes them, PyTorch computes them"}
    if spec.backward == "kernel":
        why = f"{spec.op}Grad is an op of the same package"
        if spec.written:
            why += f"; the spec writes those of {', '.join(spec.written)}"
        saved = [p.name for p in spec.inputs if p.name not in unread] + list(spec.save)
        why += f"; saved: {', '.join(saved) or 'nothing'}"
        why += f"; shapes saved: {', '.join(unread)}" if unread else ""
        again = [n for n in assigned_names(spec) if n not in spec.save]
        why += f"; computed again where needed: {', '.join(again)}" if again else ""
        if subsets := gradient_subsets(spec):
            why += f"; a call computes those of {', '.join(subsets)}"
        return {"by": "kernel", "why": why}
    if spec.backward == "none":
        return {"by": "none", "why": ""}
    why = refused or "backward: auto makes a kernel of them where one can be planned"
    return {"by": "reference", "why": why}
