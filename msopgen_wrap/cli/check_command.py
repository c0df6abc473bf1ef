"""``opgen check``: validate specs, optionally down to compiled kernels and their tiling.

``--deep`` adds all that ``opgen test`` does before it runs a kernel. First ``compute`` runs on meta
tensors (shapes and dtypes only, nothing is computed) for several ranks, every dtype combination and
every value of closed attrs; what comes out is compared with what InferShape and InferDataType will
say. Then follows what ``opgen test`` does before its first launch (``run.preparation``): plan,
which traces the graph, lowers it and proves that it fits in UB on every SoC of the spec; render;
compile; InferShape and tiling of every case of the grid.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from msopgen_wrap.cli import output
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError, is_about_machine
from msopgen_wrap.run.op_case import combined_attrs
from msopgen_wrap.spec.contradicted_shape import contradicted_shape
from msopgen_wrap.spec.loader import LoadResult, read_specs
from msopgen_wrap.spec.model import OpSpec, ParamKind, TensorParam
from msopgen_wrap.spec.shapes import ShapeError, evaluate


@click.command("check", epilog=output.EXIT_CODES)
@click.argument("specs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--deep",
    is_flag=True,
    help="Also do all that `opgen test` does before it runs a kernel: compute against the shape "
    "rules, memory plan, compiling, tiling of every case (needs torch and a compiler).",
)
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def command(specs: tuple[Path, ...], deep: bool, strict: bool, as_json: bool) -> int:
    """Validate SPECS: every problem of every file in one run.

    A spec is a file, a folder of *.yaml, or FILE.py:NAME, a function under @op (the file is read,
    not run).
    """
    results = read_specs(specs)
    if deep:
        results = [_with(r, deep_findings(r.spec)) if r.spec else r for r in results]
    findings = [d for r in results for d in r.diagnostics]
    failed = any(d.severity == "error" or strict for d in findings)
    # Findings about the machine (check --deep without torch) are no findings about the specs.
    code = (output.exit_code(findings) or output.FINDINGS) if failed else output.OK
    if as_json:
        output.print_json(_json(results, failed))
        return code
    output.print_diagnostics(findings, err=False)
    good = sum(1 for r in results if r.spec is not None)
    word = "spec" if len(results) == 1 else "specs"
    output.echo(f"{len(results)} {word}, {good} valid: {output.count_text(findings)}")
    if failed:
        codes = " ".join(sorted({d.code for d in findings})[:6])
        output.echo(f"`opgen explain {codes}` tells more")
    return code


def _with(result: LoadResult, more: list[Diagnostic]) -> LoadResult:
    bad = any(d.severity == "error" for d in more)
    return LoadResult(result.path, None if bad else result.spec, [*result.diagnostics, *more])


def _json(results: list[LoadResult], failed: bool) -> dict[str, object]:
    return {
        "ok": not failed,
        "specs": [
            {"path": r.path, "op": r.spec.op if r.spec else None, "ok": r.spec is not None}
            for r in results
        ],
        "diagnostics": [d.as_dict() for r in results for d in r.diagnostics],
    }


MAX_VARIANTS = 16
MAX_SHAPES = 24


def deep_findings(spec: OpSpec) -> list[Diagnostic]:
    """Return the problems that only show when compute runs, or the op is planned and compiled.

    Raises:
        OpgenError: this machine lacks something, so nothing is known about the spec.
    """
    from msopgen_wrap.run.preparation import refusals
    from msopgen_wrap.torch_import import quiet_torch

    with quiet_torch():
        findings = contradictions(spec) if spec.compute is not None else []
        if findings or spec.compute is None:
            return findings
        try:
            return refusals(spec)
        except OpgenError as error:
            if is_about_machine(error.diagnostics):
                raise
            return list(error.diagnostics)


def contradictions(spec: OpSpec) -> list[Diagnostic]:
    """Compare compute's shapes and dtypes with the rules (OPG065, OPG066, OPG071).

    One finding per output and kind of problem is enough: the first counterexample is shown.
    """
    from msopgen_wrap.graph.kept_tensors import meta_inputs
    from msopgen_wrap.graph.sample import candidate_shapes, sample_attrs
    from msopgen_wrap.spec.compute_runner import compile_compute

    run = compile_compute(spec)
    found: dict[tuple[str, str], Diagnostic] = {}
    tried = worked = 0
    failure: Diagnostic | None = None

    def shape_sets() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        yield from itertools.islice(_shape_sets(spec), MAX_SHAPES)
        if not worked:  # compute may want an even size, as F.glu does
            sizes = candidate_shapes(spec, sample_attrs(spec))
            yield from ((shapes, {}) for shapes in itertools.islice(sizes, MAX_SHAPES))

    for first, own in shape_sets():
        for given in itertools.islice(_attr_sets(spec), MAX_VARIANTS):
            for combo in range(spec.combos):
                attrs = combined_attrs(spec, combo, {**given, **own})
                shapes = _with_rules(spec, first, attrs)
                if shapes is None:
                    continue
                tried += 1
                try:
                    results = run(meta_inputs(spec, shapes, combo), attrs)
                except OpgenError as error:
                    failure = failure or error.diagnostics[0]
                    continue
                worked += 1
                for problem in _compare(spec, shapes, attrs, combo, results):
                    key = (problem.code, str(problem.location))
                    found.setdefault(key, problem)
    # Some shapes may not suit an op (axis 1 of a vector); failing on all of them is an error.
    if tried and not worked and failure is not None:
        return [failure]
    return list(found.values())


def _with_rules(
    spec: OpSpec, shapes: dict[str, Any], attrs: dict[str, Any]
) -> dict[str, Any] | None:
    """Return shapes in which inputs with a rule have what it gives with these attrs; None: nothing.

    An attr that a case does not set takes other values than its default here.
    """
    found = dict(shapes)
    values = spec.default_attrs | attrs
    try:
        for param in spec.inputs:
            if param.shape is not None and found[param.name] is not None:
                found[param.name] = evaluate(param.shape, found, values)
    except ShapeError:
        return None
    return found


def _shape_sets(spec: OpSpec) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield input shapes and the attrs that belong to them.

    These are the cases, then one set of shapes per rank that satisfies the rules.
    """
    for case in spec.cases:
        yield case.shapes, case.attrs
    for stretched in (False, True):
        for rank in (2, 3, 1, 4, 0):
            dims = (6, 4, 5, 7)[4 - rank :] if rank else ()
            shapes: dict[str, Any] = {}
            try:
                for i, param in enumerate(spec.inputs):
                    shape = _stretched(dims, i) if stretched else dims
                    shapes[param.name] = _shape_of(param, shape, shapes, spec)
            except ShapeError:
                continue
            yield shapes, {}


def _stretched(dims: tuple[int, ...], index: int) -> tuple[int, ...]:
    """Return ``dims`` with ones at every other axis: neighbours then stretch each other.

    Inputs without a shape rule may have any shape that compute accepts, so what broadcasts must
    agree with the rules as well.
    """
    return tuple(1 if (axis + index) % 2 else dim for axis, dim in enumerate(dims))


def _shape_of(
    param: TensorParam, dims: tuple[int, ...], known: dict[str, Any], spec: OpSpec
) -> Any:
    if param.shape is not None:
        attrs = spec.default_attrs
        try:
            return evaluate(param.shape, known, attrs)
        except KeyError:
            raise ShapeError("the rule needs a required attr") from None
    low, high = param.min_rank, param.max_rank
    shape = dims
    if len(dims) < low:
        shape = (3,) * (low - len(dims)) + dims
    elif len(dims) > high:
        shape = dims[len(dims) - high :]
    return [shape, shape[:1]] if param.kind is ParamKind.DYNAMIC else shape


def _attr_sets(spec: OpSpec) -> Iterator[dict[str, Any]]:
    """Yield attr values: the defaults, then every mix of closed attrs and booleans."""
    base: dict[str, Any] = {}
    choices: list[list[tuple[str, Any]]] = []
    chosen = spec.chosen_attrs(0)
    for attr in spec.attrs:
        if attr.name in chosen:
            continue  # every combination of dtypes has its value
        if attr.required:
            base[attr.name] = _sample(attr)
        values = attr.allowed or ((False, True) if attr.type == "bool" else None)
        if values:
            choices.append([(attr.name, value) for value in values])
    yield dict(base)
    defaults = spec.default_attrs | base
    for mix in itertools.product(*choices):
        if any(value != defaults[name] for name, value in mix):
            yield {**base, **dict(mix)}


def _sample(attr: Any) -> Any:
    if attr.allowed:
        return attr.allowed[0]
    low = attr.minimum if attr.minimum is not None else None
    number = low if low is not None else min(1, attr.maximum) if attr.maximum is not None else 1
    return {
        "int": int(number),
        "float": float(number),
        "bool": False,
        "str": "",
        "list_int": (0,),
        "list_float": (1.0,),
        "dtype": "float32",
    }[attr.type]


def _compare(
    spec: OpSpec, shapes: dict[str, Any], attrs: dict[str, Any], combo: int, results: dict[str, Any]
) -> Iterator[Diagnostic]:
    values = spec.default_attrs | attrs
    given = ", ".join(f"{n} {_text(s)}" for n, s in shapes.items() if s is not None)
    shown = ", ".join(f"{n}={v}" for n, v in attrs.items())
    given += f" ({shown})" if shown else ""
    for param in spec.outputs:
        if param.shape is None:
            continue
        value = results[param.name]
        found = contradicted_shape(param, value, shapes, values)
        if found is not None:
            actual, expected = found
            yield Diagnostic(
                "OPG065",
                f"shape of '{param.name}' is {_text(actual)} by compute, "
                f"{_text(expected)} by its rule",
                _place(spec, param),
                f"rule: {param.shape_text}; inputs: {given}",
                "correct the rule or compute (the param's memory is allocated by the rule), or "
                "limit the inputs with 'shape:', 'rank:' or an assert in compute",
            )
        dtypes = {
            str(v.dtype).removeprefix("torch.")
            for v in (value if isinstance(value, list) else [value])
        }
        if dtypes - {param.dtypes[combo]}:
            names = ", ".join(f"{p.name} {p.dtypes[combo]}" for p in spec.inputs)
            yield Diagnostic(
                "OPG066",
                f"'{param.name}' is {', '.join(sorted(dtypes))} by compute, declared "
                f"{param.dtypes[combo]}",
                _place(spec, param),
                f"inputs: {names}",
                f"end with .to(...), or declare 'dtype: {sorted(dtypes)[0]}'",
            )


def _text(shape: Any) -> str:
    if isinstance(shape, str):
        return shape
    if isinstance(shape, list):
        return "[" + ", ".join(_text(s) for s in shape) + "]"
    return str(list(shape))


def _place(spec: OpSpec, output: TensorParam) -> Location:
    return output.location if output.location.line else Location(spec.path)
