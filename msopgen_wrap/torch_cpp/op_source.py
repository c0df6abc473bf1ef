"""``csrc/<op>.cpp``: the loops of an op for a CPU, and the function that torch calls."""

from __future__ import annotations

from dataclasses import dataclass

from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.render.line_wrapping import tidy
from msopgen_wrap.spec.model import OpSpec, ParamKind, TensorParam
from msopgen_wrap.templating import cpp_comment, cpp_string, render_template
from msopgen_wrap.torch_cpp.loop_function import LoopFunction
from msopgen_wrap.torch_cpp.signatures import parameters, return_type, without_unused
from msopgen_wrap.torch_ext.binding_render import output_rule
from msopgen_wrap.torch_ext.shape_code import CppShapes


def render_source(
    spec: OpSpec,
    source: str,
    namespace: str,
    functions: list[LoopFunction],
    template: str = "torch_cpp/csrc/op.cpp",
) -> str:
    """Return the text of ``csrc/<op>.cpp``, or of what another template makes of the functions."""
    own = {n: n for n in [*(p.name for p in spec.inputs), *(a.name for a in spec.attrs)]}
    shapes = CppShapes(spec)
    checks, branches = _checks(spec, shapes), [_branch(spec, f) for f in functions]
    body = repr((checks, branches, _refusal(spec)))
    return tidy(
        render_template(
            template,
            source=source,
            spec=spec,
            doc=cpp_comment(" ".join(spec.doc.split()) or spec.op),
            namespace=namespace,
            functions=functions,
            params=without_unused(parameters(spec, own, None), body),
            returns=return_type(spec),
            inputs=", ".join(p.name for p in spec.inputs),
            checks=checks,
            branches=branches,
            refusal=_refusal(spec),
        )
    )


def _refusal(spec: OpSpec) -> list[str]:
    """Return the statement for dtypes and attrs that have no loops."""
    inputs = ", ".join(p.name for p in spec.inputs)
    rows = dict.fromkeys(", ".join(p.dtypes[i] for p in spec.inputs) for i in range(spec.combos))
    texts = [cpp_string(f"({row})") for row in rows]
    head = f'RefuseCall("{spec.name}", {{{inputs}}},'
    if len(texts) == 1 and len(head) + len(texts[0]) < 90:
        return [f"{head} {texts[0]});"]
    margin = " " * len("RefuseCall(")
    lines = [head, *(f"{margin}{text}" for text in texts)]
    return [*lines[:-1], f"{lines[-1]});"]


def _checks(spec: OpSpec, shapes: CppShapes) -> list[str]:
    lines = []
    for p in spec.inputs:
        name = cpp_string(p.name)
        if p.min_rank > 0 or p.max_rank < 8:
            lines.append(f'CheckRank("{spec.name}", {name}, {p.name}, {p.min_rank}, {p.max_rank});')
        if p.shape is not None:
            lines.append(f'CheckShape("{spec.name}", {name}, {p.name}, {shapes.rule(p.shape)});')
    for o in spec.outputs:
        lines.append(f"const Sizes {o.name}_shape = {shapes.rule(output_rule(spec, o))};")
    return lines


@dataclass(frozen=True)
class _Branch:
    """One function of loops: when it is called, and the call per combination of dtypes."""

    condition: str
    calls: list[tuple[str, str]]  # condition, call


def _branch(spec: OpSpec, function: LoopFunction) -> _Branch:
    variant = function.variant
    tests = []
    if function.rank is not None:
        tests.append(f"{function.rank[0]}.dim() == {function.rank[1]}")
    for name, value in variant.attrs:
        if isinstance(value, str):
            tests.append(f"{name} == {cpp_string(value)}")
        elif isinstance(value, bool):
            tests.append(name if value else f"!{name}")
        else:
            tests.append(f"{name} == {value!r}")
    given: list[TensorParam] = []
    for p in spec.inputs:
        if p.kind is ParamKind.OPTIONAL:
            present = p.name in variant.present
            tests.append(f"{p.name}.has_value()" if present else f"!{p.name}.has_value()")
            if not present:
                continue
        given.append(p)
    fixed = {n for n, _ in variant.attrs}
    arguments = [f"*{p.name}" if p.kind is ParamKind.OPTIONAL else p.name for p in given]
    arguments += [a.name for a in spec.attrs if a.name not in fixed]
    arguments += [f"{o.name}_shape" for o in spec.outputs]
    calls = []
    for combo in function.combos:
        names = ", ".join(p.name for p in given)
        listed = ", ".join(f"at::k{BY_NAME[p.dtypes[combo]].scalar_name}" for p in given)
        dtypes = f"HaveDtypes({{{names}}}, {{{listed}}})"
        types = f"<{', '.join(function.arguments[combo])}>" if function.types else ""
        calls.append((dtypes, f"{function.name}{types}({', '.join(arguments)})"))
    return _Branch(" && ".join(tests), calls)
