"""The functions of loops of an op: for each variant, and for dtypes that share the C++."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from typing import Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.graph.sample import sample_attrs
from msopgen_wrap.graph.structural import other_values
from msopgen_wrap.graph.tracing import TracedGraph, fresh_trace
from msopgen_wrap.graph.variants import Variant, variants
from msopgen_wrap.spec.model import OpSpec, ParamKind, TensorParam
from msopgen_wrap.spec.names import CPP_KEYWORDS
from msopgen_wrap.spec.torch_names import words
from msopgen_wrap.templating import cpp_comment, render_template
from msopgen_wrap.torch_cpp.axis_rules import Sample, axes_code
from msopgen_wrap.torch_cpp.loop_planner import LoopPlanner
from msopgen_wrap.torch_cpp.loop_values import LoopNest
from msopgen_wrap.torch_cpp.nest_render import NestRender
from msopgen_wrap.torch_cpp.refusals import axes_differ, unsupported_spec
from msopgen_wrap.torch_cpp.scalar_code import STORAGE_TYPES
from msopgen_wrap.torch_cpp.signatures import parameters, return_type, without_unused, wrapped

# Names of the loops' own variables and of what stands around them.
LOCALS = words(
    "i row run options at c10 loops scalar std opgen_torch opgen_binding scalar_t torch Sizes"
)


# Before lines of a render that are no statements of the function.
KERNEL_MARK = "@KERNEL@"


@dataclass(frozen=True)
class LoopFunction:
    """One function of loops: for a variant, and for combinations of dtypes that share the C++.

    Attributes:
        name: its C++ name.
        combos: the combinations of dtypes.
        types: names of its template parameters.
        arguments: per combination, what stands for them.
        text: its definition.
        rank: an input and its rank, where the function is for that rank only.
        kernels: lines that a render has marked (``KERNEL_MARK``) to stand in other files.
    """

    name: str
    variant: Variant
    combos: tuple[int, ...]
    types: tuple[str, ...]
    arguments: dict[int, tuple[str, ...]]
    text: str
    rank: tuple[str, int] | None = None
    kernels: tuple[str, ...] = ()


class Names:
    """Unused C++ names."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = set(taken) | LOCALS | set(CPP_KEYWORDS)

    def unique(self, wish: str) -> str:
        """Return the name, with a number where it is taken."""
        base = re.sub(r"_\d+$", "", wish) or wish
        for name in itertools.chain([base], (f"{base}_{n}" for n in itertools.count(2))):
            if name not in self.taken:
                self.taken.add(name)
                return name
        raise AssertionError


def check_spec(spec: OpSpec) -> None:
    """Refuse specs that the extension has no form for (OPG571)."""
    for param in (*spec.inputs, *spec.outputs):
        if param.kind is ParamKind.DYNAMIC:
            raise unsupported_spec(
                spec, f"'{param.name}' is a list of tensors", param.location, "pass single tensors"
            )
        if param.inplace is not None:
            raise unsupported_spec(
                spec,
                f"output '{param.name}' is written in place",
                param.location,
                "make it an output of its own",
            )
    for attr in spec.attrs:
        if attr.type == "dtype":
            raise unsupported_spec(
                spec, f"attr '{attr.name}' is a dtype", attr.location, "write one op per dtype"
            )
    if spec.compute is None:
        raise unsupported_spec(
            spec, "there is no compute", spec.outputs[0].location, "write `compute:`"
        )


def loop_functions(
    spec: OpSpec, render: type[NestRender] = NestRender, suffix: str = "Loops"
) -> list[LoopFunction]:
    """Return the functions of loops of an op, one or more per variant.

    Args:
        render: writes the nests.
        suffix: what the names of the functions end in.

    Raises:
        OpgenError: OPG570, OPG571, OPG572; and what tracing refuses.
    """
    check_spec(spec)
    found: list[LoopFunction] = []
    chosen = variants(spec)
    base = "".join(part.capitalize() for part in spec.name.split("_"))
    for number, variant in enumerate(chosen):
        which = _variant_suffix(variant, number) if len(chosen) > 1 else ""
        groups = _combo_groups(spec)
        for group in groups:
            kind = suffix if len(groups) == 1 else f"{suffix}{_dtype_suffix(spec, group[0])}"
            found += _functions(spec, variant, group, f"{base}{which}{kind}", render)
    return found


def _variant_suffix(variant: Variant, number: int) -> str:
    words = [str(v) for _, v in variant.attrs] + [f"with {n}" for n in variant.present]
    text = "".join(w.capitalize() for w in re.findall(r"[A-Za-z0-9]+", " ".join(words)))
    return text or f"Variant{number}"


def _dtype_suffix(spec: OpSpec, combo: int) -> str:
    given = (p.dtypes[combo] for p in (*spec.inputs, *spec.outputs))
    names = dict.fromkeys("float" if "float" in name else name for name in given)
    return "".join(n.capitalize() for n in names)


def _combo_groups(spec: OpSpec) -> list[tuple[int, ...]]:
    """Return the combinations of dtypes that are computed in the same types."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for combo in range(spec.combos):
        key = tuple(
            "float32" if "float" in p.dtypes[combo] else p.dtypes[combo]
            for p in (*spec.inputs, *spec.outputs)
        )
        groups.setdefault(key, []).append(combo)
    return [tuple(g) for g in groups.values()]


def _type_columns(spec: OpSpec, group: tuple[int, ...]) -> tuple[dict[str, str], list[list[str]]]:
    """Return the element type of every parameter, and the columns that are template parameters."""
    columns: list[list[str]] = []
    storages: dict[str, str] = {}
    params = (*spec.inputs, *spec.outputs)
    varying = {tuple(p.dtypes[i] for i in group) for p in params}
    varying = {c for c in varying if len(set(c)) > 1}
    for param in params:
        column = [param.dtypes[i] for i in group]
        if len(set(column)) == 1:
            storages[param.name] = STORAGE_TYPES[column[0]]
            continue
        if column not in columns:
            columns.append(column)
        place = columns.index(column)
        storages[param.name] = "scalar_t" if len(varying) == 1 else f"scalar{place}_t"
    return storages, columns


@dataclass(frozen=True)
class _Traced:
    """A graph, with the values of the attrs that shape it, and the rank if it is not the usual."""

    traced: TracedGraph
    attrs: dict[str, Any]
    rank: int | None = None


def _functions(
    spec: OpSpec,
    variant: Variant,
    group: tuple[int, ...],
    name: str,
    render: type[NestRender],
) -> list[LoopFunction]:
    """Return the function of all ranks, behind those of low ranks where the loops are others.

    At rank 1 there is nothing to sum a gradient over, for instance.
    """
    traces = _traces(spec, variant, group[0])
    free = [p.name for p in _open_inputs(spec, traces[0].traced)]
    usual = len(traces[0].traced.shapes[free[0]]) if len(free) == 1 else 0
    failure: OpgenError | None = None
    for front in (False, True):
        try:
            made = [_text(spec, t, group, name, front, render) for t in traces]
        except OpgenError as error:
            failure = failure or error
            continue
        same = [place for place, (text, _) in enumerate(made) if text == made[0][0]]
        others = [place for place in range(len(made)) if place not in same]
        ranks = [traces[place].rank for place in others]
        if all(rank is not None and rank < usual for rank in ranks) and len(same) > len(others):
            break
        failure = axes_differ(spec, "at every rank, or for every value of its attrs")
    else:
        assert failure is not None
        raise failure
    found = []
    for place in others:
        rank = traces[place].rank
        assert rank is not None
        text, samples = _text(spec, traces[place], group, f"{name}Rank{rank}", front, render)
        low = _finished(spec, variant, group, f"{name}Rank{rank}", text, [samples])
        found.append(replace(low, rank=(free[0], rank)))
    samples_of = [made[place][1] for place in same]
    return [*found, _finished(spec, variant, group, name, made[0][0], samples_of)]


def _finished(
    spec: OpSpec,
    variant: Variant,
    group: tuple[int, ...],
    name: str,
    text: str,
    samples: list[list[Sample]],
) -> LoopFunction:
    """Return a function whose text has marks for the axes of rows."""
    storages, columns = _type_columns(spec, group)
    types = tuple(dict.fromkeys(t for t in storages.values() if t.startswith("scalar")))
    names = _parameter_names(spec)
    for place in range(len(samples[0])):
        sizes = re.findall(rf"@AXES{place} (\w+)@", text)[:1]
        if sizes:
            code = axes_code(spec, [rows[place] for rows in samples], names, sizes[0])
            text = text.replace(f"@AXES{place} {sizes[0]}@", code)
    kept = [line.strip() for line in text.splitlines()]
    kernels = [line.removeprefix(KERNEL_MARK) for line in kept if line.startswith(KERNEL_MARK)]
    text = "\n".join(line for line in text.splitlines() if not line.strip().startswith(KERNEL_MARK))
    arguments = {
        combo: tuple(STORAGE_TYPES[column[n]] for column in columns)
        for n, combo in enumerate(group)
    }
    heads = parameters(spec, names, variant)
    heads += [f"const loops::Sizes& {names[o.name]}_shape" for o in spec.outputs]
    body = text.split(") {\n", 1)[1]
    text = text.replace(", ".join(heads), ", ".join(without_unused(heads, body)), 1)
    return LoopFunction(
        name, variant, group, types, arguments, wrapped(text), kernels=tuple(kernels)
    )


def _parameter_names(spec: OpSpec) -> dict[str, str]:
    names = [p.name for p in (*spec.inputs, *spec.outputs)] + [a.name for a in spec.attrs]
    return {n: f"{n}_" if n in LOCALS else n for n in names}


def _open_inputs(spec: OpSpec, traced: TracedGraph) -> list[TensorParam]:
    return [
        p
        for p in spec.inputs
        if p.name in traced.shapes and p.shape is None and p.min_rank < p.max_rank
    ]


def _traces(spec: OpSpec, variant: Variant, combo: int) -> list[_Traced]:
    """Return the graph at several ranks, and for several values of the attrs that shape it."""
    first = fresh_trace(spec, variant, combo)
    default = sample_attrs(spec)
    shaping = [n for n in first.structural if spec.attr(n).type in ("int", "list_int")]
    known = {n: default[n] for n in shaping}
    found = [_Traced(first, known)]
    for name in shaping:
        for value in other_values(spec.attr(name), first)[:3]:
            other = _traced(spec, variant, combo, {name: value}, None)
            if other is not None:
                found.append(_Traced(other, {**known, name: value}))
    free = _open_inputs(spec, first)
    if free:
        usual = max(len(first.shapes[p.name]) for p in free)
        for rank in (usual + 1, usual - 1, usual - 2):
            if rank >= 0 and all(p.min_rank <= rank <= p.max_rank for p in free):
                other = _traced(spec, variant, combo, {}, rank)
                if other is not None:
                    found.append(_Traced(other, known, rank))
    return found


def _traced(
    spec: OpSpec, variant: Variant, combo: int, samples: dict[str, Any], rank: int | None
) -> TracedGraph | None:
    """Return a trace; None where compute does not take such shapes."""
    try:
        return fresh_trace(spec, variant, combo, samples, rank)
    except OpgenError as error:
        if all(d.code == "OPG201" for d in error.diagnostics):
            return None
        raise


def _text(
    spec: OpSpec,
    given: _Traced,
    group: tuple[int, ...],
    name: str,
    front: bool,
    render: type[NestRender],
) -> tuple[str, list[Sample]]:
    """Return a function with marks where the axes of rows go, and the axes of its nests."""
    traced = given.traced
    storages, _ = _type_columns(spec, group)
    types = tuple(dict.fromkeys(t for t in storages.values() if t.startswith("scalar")))
    params = _parameter_names(spec)
    taken = set(params.values()) | {f"{params[o.name]}_shape" for o in spec.outputs}
    namer = Names(taken - {params[o.name] for o in spec.outputs})
    planner = LoopPlanner(spec, traced, params, storages, front, namer.unique)
    nests = planner.plan()
    samples = [Sample(n.rank, n.reduced, given.attrs) for n in nests]
    shapes = {o.name: f"{params[o.name]}_shape" for o in spec.outputs}
    lines = planner.host.demands()
    results: dict[str, str] = {}
    for place, nest in enumerate(nests):
        shape = _element_shape(nest, shapes)
        own = f"{name}{place + 1}" if len(nests) > 1 else name
        axes = f"@AXES{place}@"
        made = render(nest, spec.name, shape, axes, namer.unique, own, types).lines()
        lines += _with_sizes(made, place)
        for store in nest.stores:
            if store.output:
                results[store.output] = f"{store.tensor}.view({shapes[store.output]})"
    first = next(p for p in spec.inputs if p.name in traced.shapes)
    text = render_template(
        "torch_cpp/csrc/loops.cpp",
        name=name,
        types=types,
        label=cpp_comment(traced.variant.label()),
        params=[
            *parameters(spec, params, traced.variant),
            *(f"const loops::Sizes& {shapes[o.name]}" for o in spec.outputs),
        ],
        returns=return_type(spec),
        options=params[first.name],
        lines=lines,
        results=[results[o.name] for o in spec.outputs],
    )
    return text, samples


def _element_shape(nest: LoopNest, shapes: dict[str, str]) -> str:
    """Return the sizes of a nest over elements: those of its outputs where they have its axes."""
    if nest.has_rows or (nest.reshaped and nest.operands):
        return ""
    return shapes[nest.stores[0].output]


def _with_sizes(lines: list[str], place: int) -> list[str]:
    """Tell the mark of the axes what the sizes of the nest are called."""
    sizes = re.search(r"const loops::Sizes (\w+) =", "\n".join(lines))
    mark = f"@AXES{place}@"
    return [
        line.replace(mark, f"@AXES{place} {sizes.group(1)}@") if sizes else line for line in lines
    ]
