"""Checks that need the whole spec: names, SoCs, in-place outputs, handwritten kernels, code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from msopgen_wrap.diagnostics import Location
from msopgen_wrap.platforms import architectures, find_platform, other_architecture, platforms
from msopgen_wrap.spec.compute_guard import CheckedCode, check_code
from msopgen_wrap.spec.compute_runner import backward_scope, compute_scope
from msopgen_wrap.spec.differentiation import forward_of
from msopgen_wrap.spec.findings import Findings, listed, suggestion
from msopgen_wrap.spec.gradient import FLOATS, PREFIX
from msopgen_wrap.spec.model import (
    Attr,
    Code,
    OpSpec,
    ParamKind,
    ShapeLike,
    ShapeList,
    TensorParam,
)
from msopgen_wrap.spec.names import check_aclnn_names
from msopgen_wrap.spec.shapes import (
    holds_number,
    needed_tensors,
    queried_tensors,
    rule_attrs,
    rule_choices,
    rule_tensors,
)

DEFAULT_SOC = ("ascend910b", "ascend910_93")
# What people say for a SoC family; the names themselves are in the platform table.
_SPOKEN = {
    "910b": "ascend910b",
    "a2": "ascend910b",
    "910c": "ascend910_93",
    "ascend910c": "ascend910_93",
    "a3": "ascend910_93",
    "310p": "ascend310p",
}


def supported_socs() -> list[str]:
    """Return the families and exact SoC names that the kit generates for."""
    good = [p for p in platforms() if p.emulated]
    return list(dict.fromkeys([*(p.family for p in good), *(p.name for p in good)]))


def check_socs(names: Sequence[tuple[str, Location]], findings: Findings) -> tuple[str, ...]:
    """Report unknown SoCs (OPG061) and ones the kit does not generate for (OPG062)."""
    usable = supported_socs()
    families = list(dict.fromkeys(p.family for p in platforms() if p.emulated))
    result: list[str] = []
    for name, place in names:
        low = name.lower()
        found = find_platform(low)
        if found is None:
            spoken = _SPOKEN.get(low)
            fix = f"did you mean '{spoken}'?" if spoken else ""
            fix = fix or suggestion(low, families) or suggestion(low, usable)
            why = f"SoC families: {listed(families)}"
            arch = other_architecture(low)
            if arch is not None:
                fix, why = "", f"architecture {arch} ({low}) is not supported by this version"
            elif not low.startswith("ascend"):
                fix = fix or suggestion("ascend" + low, usable)
            findings.error("OPG061", f"unknown SoC '{name}'", place, why, fix)
        elif not found.emulated:
            why = f"its architecture ({found.arch}) has another instruction set"
            fix = ""
            if low == "ascend910":
                fix = "did you mean 'ascend910b'? 'ascend910' is the older 910A"
            findings.error("OPG062", f"SoC '{name}' is not supported", place, why, fix)
        elif low in result:
            findings.error("OPG061", f"SoC '{name}' is listed twice", place)
        else:
            result.append(low)
    return tuple(result)


def check_dtypes_on_socs(
    params: Sequence[TensorParam],
    socs: Sequence[str],
    places: dict[str, Location],
    findings: Findings,
) -> None:
    """Report dtypes that a chosen SoC does not have (OPG016)."""
    for soc in socs:
        found = find_platform(soc)
        known = architectures().get(found.arch) if found else None
        if found is None or known is None or known.bfloat16:
            continue
        for param in params:
            if "bfloat16" in param.dtypes:
                findings.error(
                    "OPG016",
                    f"'{param.name}' lists bfloat16, which {soc} does not have",
                    places.get(param.name, param.location),
                    why="the vector unit of this architecture knows float16 and float32 only",
                    fix=f"drop bfloat16, or take {soc} out of 'soc:' and give it a spec of its own",
                )


def check_names(spec: OpSpec, findings: Findings) -> None:
    """Report clashes between inputs, outputs and attrs (OPG012, OPG013)."""
    inputs = {p.name: p for p in spec.inputs}
    outputs = {p.name: p for p in spec.outputs}
    for output in spec.outputs:
        if output.name in inputs and output.inplace != output.name:
            findings.error(
                "OPG013",
                f"output '{output.name}' is named like an input",
                output.location,
                why=f"msopgen silently renames it to '{output.name}_ref' in the kernel",
                fix=f"add 'inplace: {output.name}' if it overwrites that input, or rename it",
            )
    for attr in spec.attrs:
        if attr.name in inputs or attr.name in outputs:
            kind = "input" if attr.name in inputs else "output"
            findings.error(
                "OPG012",
                f"attr '{attr.name}' is named like an {kind}",
                attr.location,
                fix="rename one of the two",
            )
    # C++ names are compared without case too: file systems and CANN's parsers fold it.
    seen: dict[str, str] = {}
    named: list[TensorParam | Attr] = [*spec.inputs, *spec.outputs, *spec.attrs]
    for item in named:
        other = seen.setdefault(item.name.lower(), item.name)
        if other != item.name:
            findings.error(
                "OPG012",
                f"'{item.name}' and '{other}' differ only in case",
                item.location,
                why="CANN turns both into the same macro, DTYPE_" + item.name.upper(),
                fix="rename one of the two",
            )
    for taken, what in (
        (spec.name, "the kernel function"),
        (f"{spec.name}_kernel", "the namespace of the kernel"),
    ):
        if taken in inputs or taken in outputs:
            item = inputs.get(taken) or outputs[taken]
            findings.error(
                "OPG012", f"'{taken}' is also the name of {what}", item.location, fix="rename it"
            )
    # Names that differ only in case have been reported.
    if len({i.name.lower() for i in named}) == len({i.name for i in named}):
        check_aclnn_names(spec.inputs, spec.outputs, spec.attrs, findings)


def check_inplace(spec: OpSpec, findings: Findings) -> None:
    """Report in-place outputs that cannot share their input's memory (OPG019)."""
    inputs = {p.name: p for p in spec.inputs}
    taken: dict[str, str] = {}
    for output in spec.outputs:
        target = output.inplace
        if target is None:
            continue
        place = output.location
        source = inputs.get(target)
        if source is None:
            findings.error(
                "OPG019",
                f"output '{output.name}' overwrites unknown input '{target}'",
                place,
                why=f"inputs: {listed(inputs)}",
                fix=suggestion(target, inputs),
            )
            continue
        if target in taken:
            findings.error(
                "OPG019",
                f"outputs '{taken[target]}' and '{output.name}' both overwrite '{target}'",
                place,
            )
        taken[target] = output.name
        if output.name != target:
            findings.error(
                "OPG019",
                f"output '{output.name}' overwrites '{target}' but has another name",
                place,
                why="CANN's tools know an output in place by the name that it shares with its "
                "input; under another name they make a second argument of it",
                fix=f"call the output '{target}', in compute too",
            )
        if source.dtypes != output.dtypes:
            findings.error(
                "OPG019",
                f"output '{output.name}' overwrites '{target}' but has other dtypes",
                place,
                fix=f"write 'dtype: {target}'",
            )
        if source.kind is not output.kind:
            findings.error(
                "OPG019",
                f"output '{output.name}' overwrites '{target}', which is {source.kind.value}",
                place,
                why="an output in place is passed exactly like its input",
                fix="set 'list: true' on both"
                if ParamKind.DYNAMIC in (source.kind, output.kind)
                else "make the input required",
            )
        if output.shape is not None and output.shape != ShapeLike(target):
            findings.error(
                "OPG019",
                f"output '{output.name}' overwrites '{target}' but has another shape rule",
                place,
                fix=f"drop 'shape:' or write 'shape: like {target}'",
            )


def check_lengths(spec: OpSpec, findings: Findings) -> None:
    """Report outputs whose ``length`` is no count of elements (OPG024)."""
    outputs = {p.name: p for p in spec.outputs}
    for output in spec.outputs:
        if output.pieces is not None and (
            output.length or output.inplace or output.kind is ParamKind.DYNAMIC
        ):
            findings.error(
                "OPG024",
                f"output '{output.name}' has pieces and a length, is a list or in place",
                output.location,
                why="rows of one new tensor are given as pieces",
            )
        if output.length is None:
            continue
        count = outputs.get(output.length)
        why = fix = ""
        if count is None:
            what = f"length of output '{output.name}' names no output: '{output.length}'"
            why, fix = f"outputs: {listed(outputs)}", suggestion(output.length, outputs)
        elif ParamKind.DYNAMIC in (count.kind, output.kind) or output.inplace or count.inplace:
            what = f"output '{output.name}' or its length '{count.name}' is a list or in place"
            why = "the elements of a new tensor are counted"
        elif not (holds_number(count) and all("int" in dtype for dtype in count.dtypes)):
            what = f"length '{count.name}' of output '{output.name}' is not one integer"
            fix = f'{count.name}: {{dtype: int32, shape: "[1]"}}'
        elif isinstance(output.shape, ShapeList) and not output.shape.items:
            what = f"output '{output.name}' has a length but no axes"
        else:
            continue
        findings.error("OPG024", what, output.location, why, fix)


def check_rule_attrs(spec: OpSpec, findings: Findings) -> None:
    """Warn about shape rules that need an absent optional input (OPG033)."""
    optional = {p.name for p in spec.inputs if p.kind is ParamKind.OPTIONAL}
    for output in spec.outputs:
        rule = output.shape
        if rule is None:
            continue
        needed = [n for n in needed_tensors(rule) if n in optional]
        if needed:
            findings.error(
                "OPG033",
                f"shape of output '{output.name}' needs the optional input '{needed[0]}'",
                output.location,
                why="it has no shape when that input is absent",
                fix="use broadcast(...), which skips absent inputs, another input, or "
                f"'{needed[0]}[0] if {needed[0]} is not None else 1'",
            )
        always = [n for n in queried_tensors(rule) if n not in optional]
        if always:
            findings.error(
                "OPG033",
                f"shape of output '{output.name}' tests whether '{always[0]}' is given",
                output.location,
                why="it is given in every call",
                fix="drop the condition, or make the input optional",
            )
        for test in rule_choices(rule):
            allowed = spec.attr(test.name).allowed
            unknown = [v for v in test.values if allowed and v not in allowed]
            if unknown:
                findings.error(
                    "OPG033",
                    f"shape of output '{output.name}': {test.name} is never {unknown[0]!r}",
                    output.location,
                    why=f"its allowed values: {listed([str(v) for v in allowed or ()])}",
                )
    known = {a.name for a in spec.attrs}
    for output in spec.outputs:
        missing = [a for a in (rule_attrs(output.shape) if output.shape else ()) if a not in known]
        assert not missing, missing  # parse_shape has resolved them


def check_sources(spec: OpSpec, places: dict[str, Location], findings: Findings) -> None:
    """Check ``kernel`` and ``tiling``: relative C++ files that exist (OPG051, OPG052)."""
    start = places.get("op", Location(spec.path))
    if spec.compute is None and spec.kernel is None:
        findings.error(
            "OPG040",
            "the spec has neither compute nor kernel",
            start,
            fix="add 'compute: <PyTorch expression>', e.g. 'compute: torch.relu(x + y)'",
        )
    if "compute" in places and "gradient_of" in places:
        findings.error(
            "OPG050",
            "'compute' and 'gradient_of' are both given",
            places["gradient_of"],
            why="an op computes a formula, or the gradients of one",
            fix="keep one of the two",
        )
    if spec.tiling is not None and spec.kernel is None:
        findings.error(
            "OPG052",
            "tiling is given without kernel",
            places.get("tiling", start),
            why="a generated kernel comes with its own tiling",
            fix="add 'kernel:' or drop 'tiling:'",
        )
    if "workspace" in places and (spec.kernel is None or spec.tiling is not None):
        findings.error(
            "OPG052",
            "workspace is given " + ("beside tiling" if spec.tiling else "without kernel"),
            places["workspace"],
            why="the tiling itself says how much workspace a kernel has",
            fix="drop 'workspace:'",
        )
    for key, name in (("kernel", spec.kernel), ("tiling", spec.tiling)):
        if name is None:
            continue
        place = places.get(key, start)
        path = PurePosixPath(name)
        if path.is_absolute() or "\\" in name or ":" in name or "\0" in name:
            findings.error(
                "OPG051",
                f"{key} '{name}' is not a relative path",
                place,
                why="a spec must work on every machine",
                fix="write it relative to the spec file",
            )
        elif path.suffix not in (".cpp", ".cc", ".asc", ".h", ".hpp"):
            findings.error("OPG051", f"{key} '{name}' is not a C++ source", place)
        elif spec.path and Path(spec.path).is_file():
            full = Path(spec.path).parent / path
            if not full.is_file():
                findings.error(
                    "OPG051",
                    f"{key} file '{name}' does not exist",
                    place,
                    why="paths are relative to the spec file",
                    fix=_near_file(full),
                )


def check_gradient_of(spec: OpSpec, places: dict[str, Location], findings: Findings) -> None:
    """Check the names of an op with ``gradient_of``: what arrives, and what it gives (OPG050)."""
    if not spec.differentiated:
        return
    place = places["gradient_of"]
    forward = forward_of(spec)
    if not forward.outputs:
        findings.error(
            "OPG050",
            "gradient_of has no gradient to start from",
            place,
            why="an input 'grad_<output>' is the gradient of what the formula gives",
            fix="add it to 'inputs', e.g. 'grad_y: {dtype: x, shape: like x}'",
        )
    known = {p.name: p for p in forward.inputs}
    for output in spec.outputs:
        source = known.get(output.name.removeprefix(PREFIX))
        if not output.name.startswith(PREFIX) or source is None:
            findings.error(
                "OPG050",
                f"output '{output.name}' is no gradient of an input",
                output.location,
                why=f"the outputs are named 'grad_<input>'; inputs: {listed(known)}",
                fix=suggestion(output.name, [f"{PREFIX}{name}" for name in known]),
            )
        elif not any(d in FLOATS for d in source.dtypes):
            findings.error(
                "OPG050",
                f"input '{source.name}' is never floating point: it has no gradient",
                output.location,
            )


def _near_file(path: Path) -> str:
    try:
        return suggestion(path.name, [p.name for p in path.parent.iterdir()])
    except OSError:
        return ""


def check_codes(spec: OpSpec, findings: Findings) -> None:
    """Check ``compute`` and explicit ``backward``; warn about names that are not used."""
    checked: CheckedCode | None = None
    if spec.compute is not None:
        checked = check_code(spec.compute, compute_scope(spec), findings)
    if checked is not None:
        own = forward_of(spec).inputs if spec.differentiated else spec.inputs
        declared: list[TensorParam | Attr] = [*own, *spec.attrs]
        for item in declared:
            used = item.name in checked.used
            if not used and not _in_rules(item.name, spec):
                noun = "attr" if item in spec.attrs else "input"
                findings.warning(
                    "OPG049",
                    f"{noun} '{item.name}' is not used in compute",
                    item.location,
                    fix="use it or remove it",
                )
    explicit = spec.backward if isinstance(spec.backward, dict) else spec.written
    for target, code in explicit.items():
        if spec.param(target).dtypes and any(d in FLOATS for d in spec.param(target).dtypes):
            check_code(code, backward_scope(spec, target), findings)
        else:
            findings.error(
                "OPG050",
                f"input '{target}' is never floating point: it has no gradient",
                code.location,
            )


def _in_rules(name: str, spec: OpSpec) -> bool:
    rules = [p.shape for p in (*spec.inputs, *spec.outputs) if p.shape is not None]
    rules += [] if spec.workspace is None else [spec.workspace]
    names = {n for rule in rules for n in (*rule_attrs(rule), *rule_tensors(rule))}
    for cut in (p.pieces for p in spec.outputs):
        if cut is not None:
            names |= {cut.ends} if cut.test is None else {cut.ends, cut.test.name}
    return name in names and name in {a.name for a in spec.attrs}


def default_backward(spec: OpSpec) -> str:
    """Return ``reference`` where a gradient exists: there is compute, and floats go in and out."""
    if spec.compute is None or any(p.inplace for p in spec.outputs):
        return "none"
    floats_in = any(d in FLOATS for p in spec.inputs for d in p.dtypes)
    floats_out = any(d in FLOATS for p in spec.outputs for d in p.dtypes)
    return "reference" if floats_in and floats_out else "none"


def with_backward(
    spec: OpSpec, backward: str | dict[str, Code], written: dict[str, Code]
) -> OpSpec:
    """Return the spec with another backward, and formulas for its kernel."""
    return replace(spec, backward=backward, written=written)
