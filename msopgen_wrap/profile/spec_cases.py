"""Which case of a spec is profiled, and its tensors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from msopgen_wrap.byte_counts import size_text
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.foreign.run_inputs import AttrText, attr_value
from msopgen_wrap.graph.kept_tensors import frozen_shapes
from msopgen_wrap.graph.sample import call_attrs
from msopgen_wrap.run.cached_specs import known_grid
from msopgen_wrap.run.case_runner import make_outputs
from msopgen_wrap.run.golden import NotApplicable, Reference, make_inputs, meta_results, reference
from msopgen_wrap.run.op_case import TestCase, combined_attrs
from msopgen_wrap.run.tiling_decisions import RefusedShapes, check_shapes
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.shapes import tensor_shapes
from msopgen_wrap.torch_import import quiet_torch, torch

if TYPE_CHECKING:
    from msopgen_wrap.profile.targets import ProfileOptions

# Part of the free memory that tensors may take: the record of the launch needs the rest.
_PART = 0.6
# Elements of a case whose inputs are drawn; larger ones of floats are zeros that nobody reads.
MOST_DRAWN = 1 << 25
# Of allocations on a device, bytes.
_ALIGNMENT = 512


def chosen_case(
    spec: OpSpec, options: ProfileOptions, shapes: dict[str, Any] | None
) -> tuple[TestCase, str]:
    """Return the case to profile, and a sentence where nobody chose it.

    Args:
        shapes: those that the user gave, None for none.

    Raises:
        OpgenError: OPG599 (no such case or dtype), OPG721 (attrs).
        RefusedShapes: the spec excludes the shapes.
    """
    combos = _combos(spec, options.dtype)
    attrs = _attrs(spec, options.attrs)
    if shapes is not None:
        values = call_attrs(spec, attrs)
        given = frozen_shapes(shapes)
        check_shapes(spec, given, values)
        values = combined_attrs(spec, combos[0], values)
        case = TestCase(combos[0], given, values, block_dim=options.block_dim or 0)
        return case, _first(spec, options, combos)
    with quiet_torch():
        grid = [c for c in known_grid(spec) if c.combo in combos and c.values == "normal"]
    fitting = [c for c in grid if options.case in c.label(spec)]
    if not fitting:
        shown = ", ".join(repr(c.label(spec)) for c in sorted(grid, key=_elements)[-3:])
        raise OpgenError(
            Diagnostic(
                "OPG599",
                f"{spec.op} has no case with {options.case!r} in its name",
                Location(spec.path),
                why=f"some of its cases: {shown}" if shown else "its grid has no case",
                fix="opgen test -v lists the cases; --shape gives shapes of your own",
            )
        )
    case = max(fitting, key=_elements)
    attrs = combined_attrs(spec, case.combo, {**case.attrs, **attrs})
    case = TestCase(case.combo, case.shapes, attrs, block_dim=options.block_dim or 0)
    why = "" if options.case else "the largest case of the test grid; --shape or --case chooses"
    return case, why


def _first(spec: OpSpec, options: ProfileOptions, combos: list[int]) -> str:
    if options.dtype or len(combos) < 2:
        return ""
    return f"the first of {len(combos)} combinations of dtypes; --dtype chooses"


def _combos(spec: OpSpec, dtype: str) -> list[int]:
    wanted = [d.strip() for d in dtype.split(",")] if dtype else []
    found = [
        i
        for i in range(spec.combos)
        if not wanted or wanted == [p.dtypes[i] for p in spec.inputs][: len(wanted)]
    ]
    if not found:
        rows = dict.fromkeys(",".join(p.dtypes[i] for p in spec.inputs) for i in range(spec.combos))
        raise OpgenError(
            Diagnostic(
                "OPG599",
                f"{spec.op} does not take the dtypes {dtype}",
                Location(spec.path),
                why="it takes " + "; ".join(rows),
                fix="--dtype with the dtype of the first input, or of the first few",
            )
        )
    return found


def _attrs(spec: OpSpec, texts: tuple[str, ...]) -> dict[str, Any]:
    from msopgen_wrap.testing.targets import given_attrs

    kinds = {a.name: a.type for a in spec.attrs}
    values = {}
    for text in texts:
        name, _, value = text.partition("=")
        values[name.strip()] = attr_value(AttrText(value.strip()), kinds.get(name.strip(), ""))
    return given_attrs(spec, values)


def _elements(case: TestCase) -> int:
    from msopgen_wrap.run.worker import elements

    return elements(case.shapes)


def refuse_too_large(spec: OpSpec, case: TestCase, *, values: bool = True) -> None:
    """Refuse a case whose tensors do not fit in memory (OPG591), before they are made.

    Args:
        values: False where nothing is read from the tensors of :func:`undrawn`: only an address
            for the largest of them has to be had then.

    Raises:
        OpgenError: OPG591.
        RefusedShapes: ``compute`` does not take the case.
    """
    sizes = [
        math.prod(shape) * BY_NAME[p.dtypes[case.combo]].size
        for p in spec.inputs
        for shape in tensor_shapes(case.shapes.get(p.name))
    ]
    with quiet_torch():
        results = _results(spec, case)
    if results is not None:
        for value in results.values():
            for tensor in value if isinstance(value, (list, tuple)) else [value]:
                sizes.append(tensor.numel() * tensor.element_size())
    needed = sum(sizes) if values else max(sizes, default=0)
    free = free_memory()
    if needed <= _PART * free:
        return
    whose = "its tensors take" if values else "one of its tensors takes"
    part = 2 ** math.ceil(math.log2(needed / max(1, _PART * free)))
    raise OpgenError(
        Diagnostic(
            "OPG591",
            f"the case is too large to profile here: {whose} {size_text(needed)}, and "
            f"{size_text(free)} of memory are free",
            Location(spec.path),
            why="the kernel runs in the emulation, where every tensor has to lie in memory"
            if values
            else "without arithmetic no tensor takes memory, but the system gives no tensor more "
            "addresses than it has memory",
            fix=f"profile a case of 1/{part} of the elements: tiles repeat, so that the modelled "
            f"time without launch grows nearly in proportion, to {part} times; two parts tell how "
            "nearly",
        )
    )


def as_on_device(value: Any) -> Any:
    """Return a tensor, or a list of them, where a device would allocate it.

    Copies are modelled by the lines of L2 that they touch; on a CPU torch aligns tensors to less.
    """
    if isinstance(value, (list, tuple)):
        return [as_on_device(v) for v in value]
    if value is None or value.data_ptr() % _ALIGNMENT == 0:
        return value
    room = torch.empty(value.nbytes + _ALIGNMENT, dtype=torch.uint8)
    return _placed(room, value.shape, value.dtype).copy_(value)


def _placed(room: Any, shape: Any, dtype: Any) -> Any:
    """Return a tensor in bytes that have room for it and for its alignment."""
    skip = -room.data_ptr() % _ALIGNMENT
    return room[skip : skip + room.numel() - _ALIGNMENT].view(dtype).view(tuple(shape))


def free_memory() -> int:
    """Return the bytes of memory that can be had; a very large number where nobody tells."""
    try:
        rows = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found = next(row for row in rows if row.startswith("MemAvailable:"))
        return int(found.split()[1]) * 1024
    except (OSError, StopIteration, ValueError, IndexError):
        return 2**62


def is_undrawn(spec: OpSpec, case: TestCase) -> bool:
    """Whether a case is so large that its inputs are not drawn where nobody asks for values.

    Shapes that follow from data need data, and so do indices and other integers.
    """
    if _elements(case) <= MOST_DRAWN or _results(spec, case) is None:
        return False
    return all(getattr(torch, p.dtypes[case.combo]).is_floating_point for p in spec.inputs)


def undrawn(spec: OpSpec, case: TestCase) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return inputs and outputs of zeros, which take no memory until somebody touches them."""
    inputs: dict[str, Any] = {}
    for param in spec.inputs:
        shape = case.shapes.get(param.name)
        dtype = getattr(torch, param.dtypes[case.combo])
        if shape is None:
            inputs[param.name] = None
        elif shape and isinstance(shape[0], tuple):
            inputs[param.name] = [_untouched(s, dtype) for s in shape]
        else:
            inputs[param.name] = _untouched(shape, dtype)
    results, outputs = _results(spec, case) or {}, {}
    for param in spec.outputs:
        if param.inplace:
            outputs[param.name] = inputs[param.inplace]
            continue
        dtype = getattr(torch, param.dtypes[case.combo])
        like = results[param.name]
        is_list = isinstance(like, (list, tuple))
        made = [_untouched(x.shape, dtype) for x in (like if is_list else [like])]
        outputs[param.name] = made if is_list else made[0]
    return inputs, outputs


def _untouched(shape: Any, dtype: Any) -> Any:
    size = math.prod(shape) * torch.empty(0, dtype=dtype).element_size()
    # torch writes its zeros; numpy's are pages that the system has not made yet.
    return _placed(torch.from_numpy(np.zeros(size + _ALIGNMENT, np.uint8)), shape, dtype)


def _results(spec: OpSpec, case: TestCase) -> dict[str, Any] | None:
    try:
        return meta_results(spec, case)
    except NotApplicable as refusal:
        raise RefusedShapes(str(refusal)) from refusal


def allocated(spec: OpSpec, case: TestCase) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return inputs with data and outputs for the kernel to write, by name.

    ``compute`` runs with data only where its shapes depend on them.
    """
    inputs = {name: as_on_device(value) for name, value in make_inputs(spec, case).items()}
    results = _results(spec, case)
    if results is None:
        try:
            want = reference(spec, case, inputs)
        except NotApplicable as refusal:
            raise RefusedShapes(str(refusal)) from refusal
        return inputs, make_outputs(spec, case, inputs, want)
    outputs = make_outputs(spec, case, inputs, Reference(results, results))
    return inputs, {name: as_on_device(value) for name, value in outputs.items()}
