"""What the cases of an op covered, and whether that is enough to say that the op is right."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.run.shape_search import fixed_inputs
from msopgen_wrap.spec.model import OpSpec

if TYPE_CHECKING:
    from msopgen_wrap.run.op_case import TestCase
    from msopgen_wrap.run.results import CaseResult

_BLOCK = 32  # bytes that a copy moves at least
NON_CONTIGUOUS = "handed over as contiguous copies, as aclnn does: not a matter of the kernel"


def traits(spec: OpSpec, case: TestCase) -> dict[str, Any]:
    """Return what one case tries.

    ``elements`` of the largest input; ``ranks`` of the inputs; ``aligned``: whether the last axis
    of the largest input is whole 32-byte blocks (None without one); ``empty``, ``one`` (element),
    ``broadcast``; ``absent`` inputs; ``values``.
    """
    tensors: list[tuple[tuple[int, ...], str]] = []
    for param in spec.inputs:
        shape = case.shapes.get(param.name)
        if shape is None:
            continue
        listed = shape if shape and isinstance(shape[0], (tuple, list)) else [shape]
        tensors += [(tuple(s), param.dtypes[case.combo]) for s in listed]
    sizes = [math.prod(s) for s, _ in tensors]
    aligned = None
    if tensors:
        shape, dtype = tensors[sizes.index(max(sizes))]
        if shape and shape[-1]:
            aligned = shape[-1] * BY_NAME[dtype].size % _BLOCK == 0
    free = {p.name for p in spec.inputs if p.shape is None}
    given = {tuple(s) for n, s in case.shapes.items() if n in free and s is not None}
    return {
        "elements": max(sizes, default=0),
        "ranks": sorted({len(s) for s, _ in tensors}),
        "aligned": aligned,
        "empty": 0 in sizes,
        "one": bool(sizes) and max(sizes) == 1,
        "broadcast": len(given) > 1 and not any(s and isinstance(s[0], tuple) for s in given),
        "absent": [n for n, s in case.shapes.items() if s is None],
        "values": case.values,
    }


def bounded_reason(spec: OpSpec) -> str:
    """Say why the op can never have much work, "" when it can."""
    return "the spec fixes the size of every input" if fixed_inputs(spec) else ""


def summary(cases: Iterable[CaseResult]) -> dict[str, Any]:
    """Return what the passed cases of an op covered, as the JSON report has it."""
    passed = [c for c in cases if c.status == "passed" and c.traits]
    tried = [c.traits for c in passed]

    def count(name: str, value: Any = True) -> int:
        return sum(t[name] == value for t in tried)

    kernels: dict[str, dict[str, Any]] = {}
    for case in passed:
        known = kernels.setdefault(
            f"{case.dtype} key {case.key}",
            {"cases": 0, "cores": 0, "tiles": 0, "several": False, "aligned": 0, "unaligned": 0},
        )
        known["cases"] += 1
        known["cores"] = max(known["cores"], case.cores)
        known["tiles"] = max(known["tiles"], case.tiles)
        # Several tiles on each of several cores: the first and the last of them are different.
        known["several"] = known["several"] or (case.cores > 1 and case.tiles > 1)
        if (aligned := case.traits["aligned"]) is not None:
            known["aligned" if aligned else "unaligned"] += 1
    return {
        "ranks": sorted({r for t in tried for r in t["ranks"]}),
        "cores": max((c.cores for c in passed), default=0),
        "tiles": max((c.tiles for c in passed), default=0),
        "aligned": count("aligned"),
        "unaligned": count("aligned", False),
        "empty": count("empty"),
        "one": count("one"),
        "broadcast": count("broadcast"),
        "absent": sum(bool(t["absent"]) for t in tried),
        "special": sum(t["values"] != "normal" for t in tried),
        "non_contiguous": NON_CONTIGUOUS,
        "kernels": kernels,
    }


def text(covered: dict[str, Any]) -> str:
    """Return a summary as one line."""
    kernels = covered["kernels"].values()
    parts = [
        f"ranks {_ranks(covered['ranks'])}",
        f"up to {covered['cores']} cores",
        f"up to {covered['tiles']} tiles a core",
        f"both in {sum(k['several'] for k in kernels)} of {len(kernels)} kernels",
        f"tails {covered['aligned']} aligned {covered['unaligned']} not",
        f"empty {covered['empty']}",
        f"one element {covered['one']}",
        f"broadcast {covered['broadcast']}",
        f"absent inputs {covered['absent']}",
        f"special values {covered['special']}",
    ]
    return ", ".join(parts)


def gaps(cases: Sequence[CaseResult], bounded: str) -> list[str]:
    """Return what keeps the cases that passed from being a proof.

    Args:
        bounded: why the op can never have several tiles or cores; then there is no gap.
    """
    if bounded:
        return []
    found = []
    passed = [c for c in cases if c.status == "passed"]
    for dtype in dict.fromkeys(c.dtype for c in passed):
        own = [c for c in passed if c.dtype == dtype]
        missing = []
        if max(c.cores for c in own) < 2:
            missing.append("two cores at work")
        if max(c.tiles for c in own) < 2:
            missing.append("two tiles on one core")
        if missing:
            found.append(f"no case of {dtype} had {' or '.join(missing)}")
    return found


def _ranks(ranks: list[int]) -> str:
    if not ranks:
        return "none"
    if len(ranks) > 2 and ranks == list(range(ranks[0], ranks[-1] + 1)):
        return f"{ranks[0]}-{ranks[-1]}"
    return ",".join(map(str, ranks))
