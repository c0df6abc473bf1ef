"""Compare the gradients of a generated torch op with float64 autograd of its formula.

Started by ``formula_gradients.through_torch`` with the path of a spec whose package ``formulas`` is
importable; prints ``["right" or "wrong", text]``. Asked are all gradients at once, those of one
input alone, those of a part of the outputs, and those of tensors that are not contiguous.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
from collections.abc import Sequence
from typing import Any

import formulas  # type: ignore[import-not-found]
import torch
from formula_gradients import nudged, unsteady

from msopgen_wrap.run.cases import case_grid
from msopgen_wrap.run.golden import KeepDouble, make_inputs
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.run.worker import elements
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.loader import load_spec
from msopgen_wrap.spec.model import OpSpec

CASES = 8
MOST_ELEMENTS = 5000
leaves_of = torch.utils._pytree.tree_leaves


def compared(spec: OpSpec, case: TestCase, rng: random.Random) -> str:
    """Return what is wrong with the gradients of one call, "" if nothing is."""
    op = getattr(getattr(torch.ops, formulas.__name__), spec.name)
    formula = compile_compute(spec, wrap_errors=False)
    inputs = make_inputs(spec, case)
    attrs = {a.name: case.attrs.get(a.name, a.default) for a in spec.attrs}
    floats = [t for t in leaves_of(inputs) if t is not None and t.is_floating_point()]
    asked = [True] * len(floats) if rng.random() < 0.5 else [rng.random() < 0.5 for _ in floats]
    if not any(asked):
        asked[rng.randrange(len(asked))] = True
    turned = rng.random() < 0.3
    kept: list[bool] = []

    def grads(call: Any, data: Sequence[torch.Tensor], weights: Sequence[torch.Tensor]) -> Any:
        own = [
            (x.mT.contiguous().mT if turned and x.dim() > 1 else x).detach().requires_grad_(a)
            for x, a in zip(data, asked, strict=True)
        ]
        left = iter(own)
        given = torch.utils._pytree.tree_map(
            lambda t: next(left) if isinstance(t, torch.Tensor) and t.is_floating_point() else t,
            inputs,
        )
        results = [y for y in leaves_of(call(given)) if y.is_floating_point()]
        if not kept:
            kept[:] = [rng.random() < 0.7 for _ in results]
            kept[0] |= not any(kept)
        if not weights:
            weights += [torch.randn(y.shape).to(y.dtype) for y in results]  # type: ignore[operator]
        total: Any = 0
        for y, w, k in zip(results, weights, kept, strict=True):
            if k and y.requires_grad:
                total = total + (y.double() * w.double()).sum()
        if not isinstance(total, torch.Tensor):
            return [torch.zeros_like(x) for x, a in zip(own, asked, strict=True) if a]
        wanted = [x for x, a in zip(own, asked, strict=True) if a]
        return torch.autograd.grad(total, wanted, allow_unused=True, materialize_grads=True)

    def kernel(given: dict[str, Any]) -> Any:
        return op(*(given[p.name] for p in spec.inputs), **attrs)

    def golden(given: dict[str, Any]) -> Any:
        return list(formula(given, attrs).values())

    weights: list[torch.Tensor] = []
    got = grads(kernel, floats, weights)
    generator = torch.Generator().manual_seed(0)
    with KeepDouble():
        want = grads(golden, [t.double() for t in floats], weights)
        near = [grads(golden, [nudged(t, generator) for t in floats], weights) for _ in range(2)]
    near.append(grads(golden, [t.float() for t in floats], weights))
    names = [n for n, v in inputs.items() for t in leaves_of(v) if t is not None]
    names = [n for n, t in zip(names, leaves_of(inputs), strict=False) if t is not None]
    for at, (g, w) in enumerate(zip(got, want, strict=True)):
        place = f"{case.label(spec)}, gradient {at} of {asked}, outputs {kept}"
        if g.shape != w.shape:
            return f"{place}: shape {tuple(g.shape)}, expected {tuple(w.shape)}"
        steady = ~unsteady(w, [n[at] for n in near], g.dtype)
        bound = {torch.float32: 1e-3, torch.float16: 1e-2, torch.bfloat16: 5e-2}[g.dtype]
        off = ((g.double() - w).abs() - bound * (1 + w.abs()))[steady]
        if off.numel() and not bool((off <= 0).all()):
            return f"{place}: {int((~(off <= 0)).sum())} of {g.numel()} elements are wrong"
    return ""


def main() -> None:
    spec = load_spec(sys.argv[1])
    torch.manual_seed(0)
    rng = random.Random(0)
    cases = [c for c in case_grid(spec) if c.values in ("normal", "whole")]
    cases = [c for c in cases if elements(c.shapes) <= MOST_ELEMENTS]
    if len(cases) > CASES:
        cases = random.Random(0).sample(cases, CASES)
    found = (compared(spec, case, rng) for case in cases)
    wrong = next(itertools.dropwhile(lambda text: not text, found), "")
    print(json.dumps(["wrong", wrong] if wrong else ["right", f"{len(cases)} calls"]))


if __name__ == "__main__":
    main()
