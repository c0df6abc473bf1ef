"""Gradients of random formulas: the op that ``backward: kernel`` derives, and torch's autograd.

The reference is float64 autograd of the formula (``spec.differentiation.vjp``). A derivative may
jump where rounding decides a comparison (``abs`` next to 0, equal maxima): elements there are left
out of a comparison that fails, and counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from formula_grammar import Formula
from random_formulas import Examiner, Outcome

ROOT = Path(__file__).resolve().parents[1]
NUDGE = 1e-6  # relative change of the inputs that finds jumps and sums that cancel
NUDGES = 3
TORCH_SECONDS = 600


def differentiable(formula: Formula) -> Formula | None:
    """Return a formula without what is in place; None if nothing in it can be differentiated."""
    values = formula.values()
    inputs = any(v.is_float for v, _ in formula.inputs)
    if not inputs or not any(values[o].is_float for o in formula.outputs):
        return None
    # The derivative of a list is that of its elements, which single tensors cover as well.
    return replace(formula, inplace="").pruned() if not formula.fixed else formula


class GradientExaminer(Examiner):
    """Plans and runs the ops of the gradients of formulas."""

    def _text(self, formula: Any, name: str) -> str:
        return str(formula.spec(name, "kernel"))

    def _spec(self, path: Path) -> Any:
        from msopgen_wrap.spec.loader import gradient_spec, load_spec

        return gradient_spec(load_spec(path))

    def _excused(self, spec: Any, case: Any, runtime: Any) -> bool:
        from msopgen_wrap.run.case_runner import judge, make_outputs
        from msopgen_wrap.run.golden import make_inputs, reference
        from msopgen_wrap.run.results import FAILED, CaseResult

        inputs = make_inputs(spec, case)
        want = reference(spec, case, inputs)
        outputs = make_outputs(spec, case, inputs, want)
        runtime.run(
            spec.op,
            [inputs[p.name] for p in spec.inputs],
            [outputs[p.name] for p in spec.outputs],
            {a.name: case.attrs.get(a.name) for a in spec.attrs},
            soc="ascend910b3",
            mode="fast",
            block_dim=case.block_dim,
        )
        others = []
        generator = torch.Generator().manual_seed(0)
        for number in range(NUDGES):
            near = _map(lambda t: nudged(t, generator), make_inputs(spec, case))
            others.append(reference(spec, case, near).golden)
            if number == 0:  # the formula in float32
                single = _map(_single, make_inputs(spec, case))
                others.append(reference(spec, case, single).native)
        for name, output in outputs.items():
            tensors = output if isinstance(output, list) else [output]
            for at, tensor in enumerate(tensors):
                golden, *near = [_item(v[name], at) for v in (want.golden, *others)]
                left_out = unsteady(golden, near, tensor.dtype)
                tensor[left_out] = golden[left_out].to(tensor.dtype)
        result = CaseResult(spec.op, "", "", FAILED)
        return not judge(spec, outputs, want, result, case.combo)


def _map(change: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    return torch.utils._pytree.tree_map(
        lambda t: change(t) if isinstance(t, torch.Tensor) and t.is_floating_point() else t, inputs
    )


def nudged(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    signs = torch.randint(-1, 2, tensor.shape, generator=generator)
    return tensor.double() * (1 + NUDGE * signs)


def _single(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float()


def _item(value: Any, at: int) -> torch.Tensor:
    item: torch.Tensor = value[at] if isinstance(value, (list, tuple)) else value
    return item


def unsteady(
    golden: torch.Tensor, others: Sequence[torch.Tensor], dtype: torch.dtype
) -> torch.Tensor:
    """Return where other computations of a gradient differ by more than the dtype's bound."""
    from msopgen_wrap.run.accuracy_rules import THRESHOLDS

    bound = THRESHOLDS[str(dtype).removeprefix("torch.")].mixed
    left_out = ~torch.isfinite(golden)
    for other in others:
        left_out |= ~((other.double() - golden).abs() <= 0.5 * bound * (1 + golden.abs()))
    return left_out


# ---- torch's autograd ----------------------------------------------------------------------------


def through_torch(formulas: Sequence[Formula], folder: Path) -> list[Outcome]:
    """Build one package of formulas and compare ``torch.autograd`` of its ops with the formulas'.

    Args:
        formulas: such whose gradients can be planned.
        folder: an empty folder for the project.

    Returns:
        An outcome per formula; ``wrong`` or ``exception`` for a finding, ``refused`` where the op
        itself has no kernel: its gradient can have one all the same.
    """
    from msopgen_wrap.package.layout import build_local_vendor
    from msopgen_wrap.project.tree import ProjectOptions, render_project
    from msopgen_wrap.spec.loader import load_specs

    (folder / "given").mkdir()
    paths = [folder / "given" / f"formula{number}.yaml" for number in range(len(formulas))]
    for path, formula in zip(paths, formulas, strict=True):
        path.write_text(formula.spec(path.stem.title(), "kernel"), encoding="utf-8")
    forward = Examiner(folder / "given")
    planned = dict(zip(paths, map(forward.plan, formulas), strict=True))
    specs = load_specs([path for path in paths if planned[path].kind == "planned"])
    if not specs:
        return list(planned.values())
    for file in render_project(specs, ProjectOptions(vendor="formulas")):
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
    build_local_vendor(folder, specs, folder / "local/formulas")
    places = [str(folder / "torch_ext"), str(ROOT / "scripts"), str(ROOT)]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(places),
        "ASCEND_CUSTOM_OPP_PATH": str(folder / "local/formulas"),
    }
    outcomes = []
    for path in paths:
        if planned[path].kind != "planned":
            outcomes.append(planned[path])
            continue
        command = [sys.executable, str(ROOT / "scripts/formula_autograd.py"), str(path)]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=TORCH_SECONDS
        )
        if done.returncode:
            tail = done.stderr.strip()[-1500:]
            outcomes.append(Outcome("exception", f"autograd {tail.splitlines()[-1][:80]}", tail))
        else:
            kind, text = json.loads(done.stdout.splitlines()[-1])
            outcomes.append(Outcome(kind, "autograd", text))
    return outcomes
