"""Render the Python side of the torch package: ``ops/<op>.py`` and ``reference.py``."""

from __future__ import annotations

import dataclasses
import re
import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.spec.function_source import function_source
from msopgen_wrap.spec.model import Attr, Code, OpSpec, ParamKind, TensorParam
from msopgen_wrap.spec.names import GENERATED_PYTHON
from msopgen_wrap.spec.shapes import format_test
from msopgen_wrap.spec.torch_names import OPGEN_FUNCTIONS
from msopgen_wrap.templating import python_doc, render_template
from msopgen_wrap.torch_ext.binding_render import list_source, output_rule
from msopgen_wrap.torch_ext.gradient_render import (
    backward_function,
    explicit_gradients,
    explicit_results,
    kernel_lines,
    leaves_outputs_out,
    served_argument,
    tuple_text,
)
from msopgen_wrap.torch_ext.shape_code import PythonShapes
from msopgen_wrap.torch_ext.signature import (
    defaulted,
    fresh_outputs,
    is_functional,
    mutated_input,
)

_ATTR_TYPES = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "list_int": "list[int]",
    "list_float": "list[float]",
    "dtype": "torch.dtype",
}


# A word is never broken: half an escape sequence would be another one.
_WRAP: Any = {"break_long_words": False, "break_on_hyphens": False}


@dataclass(frozen=True)
class _Param:
    """A parameter of the public function."""

    name: str
    declaration: str


def attr_default(attr: Attr) -> str:
    """Return the default of an attr as Python text."""
    if attr.type == "dtype":
        return f"torch.{attr.default}"
    if attr.type in ("list_int", "list_float"):
        return repr(list(attr.default))
    if attr.type == "float":
        value = float(attr.default)
        return repr(value) if value - value == 0 else f'float("{value}")'
    return repr(attr.default)


def _tensor_type(param: TensorParam) -> str:
    if param.kind is ParamKind.DYNAMIC:
        return "list[Tensor]"
    return "Tensor | None" if param.kind is ParamKind.OPTIONAL else "Tensor"


def _params(spec: OpSpec) -> tuple[list[_Param], str]:
    """Return the typed parameters, and the same without types on one line."""
    with_default = defaulted(spec)
    typed, plain = [], []
    for p in spec.inputs:
        default = p.name in with_default
        typed.append(
            _Param(p.name, f"{p.name}: {_tensor_type(p)}" + (" = None" if default else ""))
        )
        plain.append(p.name + ("=None" if default else ""))
    for a in spec.attrs:
        default = a.name in with_default
        text = attr_default(a) if default else ""
        typed.append(
            _Param(a.name, f"{a.name}: {_ATTR_TYPES[a.type]}" + (f" = {text}" if default else ""))
        )
        plain.append(a.name + (f"={text}" if default else ""))
    return typed, ", ".join(plain)


def plain_parameters(spec: OpSpec) -> str:
    """Return the parameters of the op's Python functions, without types: ``x, eps=1e-05``."""
    return _params(spec)[1]


def _function_doc(spec: OpSpec) -> str:
    lines = ['"""' + python_doc(" ".join(spec.doc.split()) or spec.op), "", "Args:"]
    for p in spec.inputs:
        dtypes = ", ".join(dict.fromkeys(p.dtypes))
        text = p.doc or ("list of tensors" if p.kind is ParamKind.DYNAMIC else "tensor")
        text += f" of {dtypes}"
        if p.kind is ParamKind.OPTIONAL:
            text += ", may be None"
        if mutated_input(spec, p):
            text += "; written in place"
        lines.append(f"    {p.name}: {python_doc(text)}.")
    for a in spec.attrs:
        text = a.doc or a.type
        if a.allowed is not None:
            text += ", one of " + ", ".join(map(repr, a.allowed))
        lines.append(f"    {a.name}: {python_doc(text)}.")
    fresh = fresh_outputs(spec)
    if fresh:
        lines += ["", "Returns:"]
        for o in fresh:
            dtypes = ", ".join(dict.fromkeys(o.dtypes))
            shape = f", shape {o.shape_text}" if o.shape_text else ""
            lines.append(f"    {o.name}: {python_doc(dtypes + shape)}.")
    out: list[str] = []
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        out += textwrap.wrap(line, 96, subsequent_indent=indent, **_WRAP) or [""]
    return "\n".join([*out, '"""'])


def _first_tensor(spec: OpSpec) -> str:
    """Return an expression of a tensor whose device the outputs share."""
    for p in spec.inputs:
        if p.kind is ParamKind.REQUIRED:
            return p.name
    for p in spec.inputs:
        if p.kind is ParamKind.DYNAMIC:
            return f"{p.name}[0]"
    names = ", ".join(p.name for p in spec.inputs)
    return f"next(t for t in ({names},) if t is not None)"


def _fake_lines(spec: OpSpec) -> list[str]:
    shapes = PythonShapes(spec, "[_i]")
    lines = []
    for i, o in enumerate(spec.outputs):
        if o.inplace is not None:
            continue
        rule = shapes.rule(output_rule(spec, o))
        if o.kind is ParamKind.DYNAMIC:
            source = list_source(spec, o)
            text = f"{source}[_i].new_empty({rule}, dtype=_dtypes[{i}])"
            lines.append(f"{o.name} = [{text} for _i in range(len({source}))]")
        else:
            lines.append(f"{o.name} = {_first_tensor(spec)}.new_empty({rule}, dtype=_dtypes[{i}])")
    return lines


def _reference_lines(spec: OpSpec) -> list[str]:
    lines = []
    for i, o in enumerate(spec.outputs):
        if o.inplace is None:
            lines.append(f"{o.name} = _kernels.fresh(_result_{o.name}, _inputs, _dtypes[{i}])")
        elif o.kind is ParamKind.DYNAMIC:
            lines += [
                f"for old, new in zip({o.inplace}, _result_{o.name}, strict=True):",
                "    old.copy_(new)",
            ]
        else:
            lines.append(f"{o.inplace}.copy_(_result_{o.name})")
    return lines


def reference_name(spec: OpSpec) -> str:
    """Return the name of the op's function in ``reference.py``.

    An op called like a function that formulas use (``Abs``) must not hide it from the others.
    """
    return f"{spec.name}_" if spec.name in GENERATED_PYTHON else spec.name


def from_saved_name(spec: OpSpec) -> str:
    """Return the name of the op's function that takes the outputs under ``save``, too."""
    return f"_{spec.name}_from_saved"


def _backward_spec(spec: OpSpec, target: str, code: Code) -> OpSpec:
    """Return the gradient of one input as an op: its inputs are inputs, outputs and gradients."""
    taken = {p.name for p in spec.inputs}
    required = {"kind": ParamKind.REQUIRED}
    extra = [dataclasses.replace(o, inplace=None) for o in spec.outputs if o.name not in taken]
    grads = [dataclasses.replace(o, name=f"grad_{o.name}", inplace=None) for o in spec.outputs]
    inputs = [
        p if p.kind is ParamKind.DYNAMIC else dataclasses.replace(p, **required, default=p.default)  # type: ignore[arg-type]
        for p in spec.inputs
    ]
    result = dataclasses.replace(spec.param(target), name=f"grad_{target}")
    return dataclasses.replace(
        spec, inputs=(*inputs, *extra, *grads), outputs=(result,), compute=code
    )


def _attr_argument(attr: Attr) -> str:
    return f"_checks.as_dtype({attr.name})" if attr.type == "dtype" else attr.name


def render_op(
    spec: OpSpec,
    vendor: str,
    *,
    gradient: OpSpec | None = None,
    unread: Collection[str] = (),
    reference_kernel: bool = True,
) -> GeneratedFile:
    """Return ``ops/<op>.py``: function, fake, backward, setup_context, reference, in that order.

    Args:
        gradient: the op of its gradients where a file has it; None: as ``gradient_spec`` derives.
        unread: inputs whose elements no gradient depends on: their shapes are saved.
        reference_kernel: whether the reference can stand in for the kernel, by choice.
    """
    typed, plain = _params(spec)
    fresh = fresh_outputs(spec)
    names = [p.name for p in spec.inputs]
    attrs = [f"{a.name}={_attr_argument(a)}" for a in spec.attrs]
    reference_call = ", ".join([*names, *attrs])
    dtype_attrs = [a.name for a in spec.attrs if a.type == "dtype"]
    match = ", ".join(names) + (f", attrs=({', '.join(dtype_attrs)},)" if dtype_attrs else "")
    explicit = explicit_gradients(spec, attrs)
    grads = explicit_results(spec) if explicit else []
    flat = [f"*{p.name}" if p.kind is ParamKind.DYNAMIC else p.name for p in spec.inputs]
    columns = (*spec.inputs, *spec.outputs)
    by_kernel = spec.backward == "kernel"
    left_out = leaves_outputs_out(spec, gradient) if by_kernel else not explicit
    text = render_template(
        "torch_ext/op.py",
        source=f"specs/{spec.name}.yaml",
        vendor=vendor,
        quoted=lambda params: tuple_text([f'"{p.name}"' for p in params]),
        tuple_text=tuple_text,
        name=spec.name,
        reference=reference_name(spec),
        from_saved=from_saved_name(spec) if unread and spec.save else "",
        saved_names=list(spec.save),
        doc=_module_doc(spec, reference_kernel),
        reference_kernel=reference_kernel,
        fragment=not is_functional(spec),
        inputs=spec.inputs,
        outputs=spec.outputs,
        rows=[[f"torch.{p.dtypes[i]}" for p in columns] for i in range(spec.combos)],
        params=typed,
        lambda_params=plain,
        returns=_returned_type(fresh),
        function_doc=_function_doc(spec),
        arguments=", ".join([*names, *(a.name for a in spec.attrs)]),
        pieces=_piece_calls(fresh),
        lengths=tuple_text(
            [
                f"({fresh.index(o)}, {[p.name for p in fresh].index(o.length)})"
                for o in fresh
                if o.length is not None
            ]
        )
        if any(o.length for o in fresh)
        else "",
        match_arguments=match,
        fake_lines=_fake_lines(spec),
        fresh=[o.name for o in fresh],
        has_list=any(p.kind is ParamKind.DYNAMIC for p in spec.inputs),
        functional=is_functional(spec),
        differentiable=spec.backward != "none" and spec.compute is not None,
        grad_names=[f"grad_{o.name}" for o in spec.outputs],
        input_names=names,
        kept_names=[*names, *spec.save],
        unread=_unread_argument(names, unread),
        saved_places=[[o.name for o in fresh].index(n) for n in spec.save],
        output_names=[o.name for o in spec.outputs],
        attr_names=[a.name for a in spec.attrs],
        bound_call=", ".join([*names, *_saved_attrs(spec)]),
        reference_call=reference_call,
        explicit=explicit,
        kernel=kernel_lines(spec, vendor, gradient) if by_kernel else [],
        served=served_argument(spec, gradient) if by_kernel and left_out else "",
        left_out=left_out and len(spec.outputs) > 1,
        explicit_returns=", ".join([*grads, *(["None"] * len(spec.attrs))]),
        result_names=[f"_result_{o.name}" for o in spec.outputs],
        flat_inputs=", ".join(flat),
        reference_lines=_reference_lines(spec),
    )
    return GeneratedFile(f"torch_ext/{vendor}/ops/{spec.name}.py", text)


def _unread_argument(names: list[str], unread: Collection[str]) -> str:
    """Return the argument that says which inputs are not saved."""
    places = [str(i) for i, name in enumerate(names) if name in unread]
    return f", unread={tuple_text(places)}" if places else ""


def _saved_attrs(spec: OpSpec) -> list[str]:
    """Return the attrs of a call as the context of its backward has them."""
    return [
        f"{a.name}="
        + (f"_checks.as_dtype(_ctx.attr_{a.name})" if a.type == "dtype" else f"_ctx.attr_{a.name}")
        for a in spec.attrs
    ]


def _piece_calls(fresh: Sequence[TensorParam]) -> str:
    """Return the expression of the results that callers get in pieces; empty where none is cut."""
    if not any(o.pieces for o in fresh):
        return ""
    results = []
    for i, output in enumerate(fresh):
        whole = "_results" if len(fresh) == 1 else f"_results[{i}]"
        cut = output.pieces
        if cut is not None:
            ends = cut.ends
            if cut.test is not None:
                ends += f" if {format_test(cut.test)} else None"
            whole = f"_checks.cut_to_pieces({whole}, {ends})"
        results.append(whole)
    return ", ".join(results)


def _returned_type(fresh: Sequence[TensorParam]) -> str:
    """Return the annotation of what the op's function returns."""
    types = [_tensor_type(o).split(" |")[0] for o in fresh]
    types = [f"list[{t}]" if o.pieces else t for t, o in zip(types, fresh, strict=True)]
    if len(types) > 1:
        return f"tuple[{', '.join(types)}]"
    return types[0] if types else "None"


def _module_doc(spec: OpSpec, reference_kernel: bool) -> str:
    last = "gradient, reference kernel" if reference_kernel else "gradient"
    return f'"""The op {spec.op}: function, fake kernel, {last}."""'


def reference_functions(spec: OpSpec) -> list[str]:
    """Return the sources of the op's reference and of its explicit gradients."""
    if spec.compute is None:
        why = f"the spec of {spec.op} has no compute, so there is no reference"
        head = f"def {reference_name(spec)}(*args, **kwargs):"
        return [f"{head}\n    raise NotImplementedError({why!r})\n"]
    doc = python_doc(" ".join(spec.doc.split()) or spec.op)
    sources = [_with_doc(function_source(spec, reference_name(spec)), doc)]
    if spec.save:
        source = function_source(spec, from_saved_name(spec), from_saved=True)
        sources.append(_with_doc(source, f"{spec.op} of which backward has the saved outputs."))
    if isinstance(spec.backward, dict):
        for target, code in spec.backward.items():
            name = backward_function(spec, target)
            source = function_source(_backward_spec(spec, target, code), name)
            sources.append(_with_doc(source, f"Gradient of {spec.name} for {target}."))
    return sources


def _with_doc(source: str, doc: str) -> str:
    head, body = source.split("\n", 1)
    indents: Any = {"initial_indent": "    ", "subsequent_indent": "    "}
    text = textwrap.fill(f'"""{doc}"""', 96, **indents, **_WRAP)
    return f"{head}\n{text}\n{body}"


def render_reference(specs: Sequence[OpSpec], vendor: str) -> GeneratedFile:
    """Return ``reference.py``: every op's ``compute`` as a plain PyTorch function."""
    source = ", ".join(f"specs/{s.name}.yaml" for s in specs)
    head = (
        f"# generated by opgen from {source}; edit there\n"
        '"""The ops as plain PyTorch: golden reference, source of the gradients and of the ONNX\n'
        'decomposition."""\n\n'
        "import math  # noqa: F401\n\n"
        "import torch  # noqa: F401\n"
        "import torch.nn.functional as F  # noqa: F401\n"
    )
    functions = [text for spec in specs for text in reference_functions(spec)]
    body = "".join("\n\n" + text for text in functions)
    imports = {"saved": "_saved(" in body}
    imports["vjp"] = any(spec.differentiated for spec in specs)
    if names := [f"{name} as _{name}" for name, used in imports.items() if used]:
        head += f"\nfrom ._runtime.gradients import {', '.join(names)}\n"
    if re.search(rf"\bopgen\.({'|'.join(sorted(OPGEN_FUNCTIONS))})\(", body):
        head += ("" if names else "\n") + "from ._runtime.random_numbers import opgen\n"
    return GeneratedFile(f"torch_ext/{vendor}/reference.py", head + body)
