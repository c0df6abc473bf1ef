"""Render the ops of a project for TensorFlow: the C++ of the library, and its Python module."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.doors.ops_render import ATTR_TYPES
from msopgen_wrap.doors.tensorflow_signature import Argument, Signature, signature
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.spec.gradient import (
    PREFIX,
    broadcast_inputs,
    gradient_attrs,
    gradient_name,
    kept_outputs,
)
from msopgen_wrap.spec.model import DimBinary, DimExpr, OpSpec, ParamKind, TensorParam
from msopgen_wrap.spec.saved_outputs import SAVED
from msopgen_wrap.templating import (
    cpp_comment,
    cpp_string,
    python_doc,
    render_template,
    static_text,
)
from msopgen_wrap.torch_ext.binding_render import list_source, output_rule
from msopgen_wrap.torch_ext.ops_render import attr_default
from msopgen_wrap.torch_ext.shape_code import CppShapes
from msopgen_wrap.torch_ext.signature import defaulted

HEADERS = ("partial_shapes.h", "tensorflow_kernel.h")

_KINDS = {
    ParamKind.REQUIRED: "Required",
    ParamKind.OPTIONAL: "Optional",
    ParamKind.DYNAMIC: "List",
}


class PartialShapes(CppShapes):
    """Shape expressions over sizes that may be unknown (``partial_shapes.h``)."""

    def dim(self, dim: DimExpr) -> str:
        """Return an expression of a size."""
        if isinstance(dim, DimBinary) and dim.op in ("min", "max"):
            return f"{dim.op.capitalize()}({self.dim(dim.left)}, {self.dim(dim.right)})"
        return super().dim(dim)


def _inference_lines(spec: OpSpec) -> list[str]:
    """Return the statements that infer the shapes of a node's outputs."""
    shapes = PartialShapes(spec, "[opgen_item]")
    lines = [
        f"[[maybe_unused]] const auto {p.name} = opgen_op.{_KINDS[p.kind]}({i});"
        for i, p in enumerate(spec.inputs)
    ]
    lines += [
        f"[[maybe_unused]] const auto& {a.name} = "
        f"std::get<{_attr_type(a.type)}>(opgen_op.Attr({i}));"
        for i, a in enumerate(spec.attrs)
    ]
    for i, p in enumerate(spec.inputs):
        if p.shape is None:
            continue
        text = f"opgen_op.Check({i}, {shapes.tensor(p.name)}, {shapes.rule(p.shape)});"
        if p.kind is ParamKind.DYNAMIC:
            lines += [_each(p.name), f"    {text}", "}"]
        elif p.kind is ParamKind.OPTIONAL:
            # Its shape follows from other inputs, which are there then.
            lines += [f"if ({p.name}.has_value()) {{", f"    {text}", "}"]
        else:
            lines.append(text)
    for i, o in enumerate(spec.outputs):
        if o.inplace is not None:
            lines.append(f"opgen_op.Output({i}, {o.inplace});")
        elif o.kind is ParamKind.DYNAMIC:
            name = f"opgen_{o.name}"
            lines += [
                f"std::vector<Sizes> {name};",
                _each(list_source(spec, o)),
                f"    {name}.push_back({shapes.rule(output_rule(spec, o))});",
                "}",
                f"opgen_op.Outputs({i}, {name});",
            ]
        else:
            lines.append(f"opgen_op.Output({i}, {shapes.rule(output_rule(spec, o))});")
    return lines


def _each(name: str) -> str:
    return f"for (size_t opgen_item = 0; opgen_item < {name}.size(); ++opgen_item) {{"


def _attr_type(kind: str) -> str:
    # ``Sizes`` are partial shapes here.
    return "std::vector<int64_t>" if kind == "list_int" else ATTR_TYPES[kind]


@dataclass(frozen=True)
class _Op:
    """What the C++ template needs of one op."""

    name: str
    type: str
    doc: str
    lines: list[str]
    inputs: str
    outputs: str
    attrs: tuple[str, ...]
    input_texts: list[str]
    output_texts: list[str]


def _cpp_op(spec: OpSpec, node_type: str) -> _Op:
    sign = signature(spec)
    return _Op(
        name=spec.name,
        type=node_type,
        doc=cpp_comment(" ".join(spec.doc.split())) or spec.op,
        lines=_inference_lines(spec),
        inputs=", ".join(f'"{a.name}"' for a in sign.inputs),
        outputs=", ".join(f'"{a.name}"' for a in sign.outputs),
        attrs=sign.attrs,
        input_texts=[a.declaration for a in sign.inputs],
        output_texts=[a.declaration for a in sign.outputs],
    )


def render_library(
    specs: Sequence[OpSpec], vendor: str, node_types: Mapping[str, str]
) -> list[GeneratedFile]:
    """Return ``tensorflow_ops.cpp`` and the headers it needs beside those of every door.

    Args:
        specs: the ops.
        vendor: their vendor.
        node_types: op type -> the type of its nodes (``project.tf_plugin.node_types``).

    Raises:
        OpgenError: OPG321, an output list whose length no input gives.
    """
    text = render_template(
        "tensorflow/ops.cpp",
        source=_source(specs),
        vendor=vendor,
        ops=[_cpp_op(spec, node_types[spec.op]) for spec in specs],
        cpp_string=cpp_string,
    )
    head = "// generated by opgen from its own templates; do not edit\n"
    headers = [GeneratedFile(n, head + static_text(f"tensorflow/{n}")) for n in HEADERS]
    return [GeneratedFile("tensorflow_ops.cpp", text), *headers]


def _source(specs: Sequence[OpSpec]) -> str:
    return ", ".join(f"specs/{s.name}.yaml" for s in specs)


# ---- the Python module -------------------------------------------------------------------------


def _argument_rows(arguments: Sequence[Argument]) -> str:
    rows = [f"({a.name!r}, {a.param.kind.value!r}, {a.length!r})" for a in arguments]
    return f"({''.join(row + ', ' for row in rows)})"


def _takes_name(spec: OpSpec) -> bool:
    """Whether the function has TensorFlow's ``name``: no parameter of the spec is called so."""
    names = [p.name for p in spec.inputs] + [a.name for a in spec.attrs]
    return "name" not in names


def _parameters(spec: OpSpec) -> str:
    with_default = defaulted(spec)
    names = [p.name + ("=None" if p.name in with_default else "") for p in spec.inputs]
    names += [a.name + (f"={_default(a)}" if a.name in with_default else "") for a in spec.attrs]
    if _takes_name(spec):
        names.append("name=None")
    return ", ".join(names)


def _default(attr: Any) -> str:
    return f"tf.{attr.default}" if attr.type == "dtype" else attr_default(attr)


def _doc(spec: OpSpec) -> str:
    lines = [python_doc(" ".join(spec.doc.split()) or spec.op), "", "Args:"]
    for p in spec.inputs:
        kind = {ParamKind.DYNAMIC: "list of tensors", ParamKind.OPTIONAL: "tensor or None"}
        text = f"{kind.get(p.kind, 'tensor')} of {', '.join(dict.fromkeys(p.dtypes))}"
        if any(o.inplace == p.name for o in spec.outputs):
            text += "; it stays as it is, what the op makes of it is returned"
        lines.append(f"    {p.name}: {python_doc(text)}.")
    lines += [f"    {a.name}: {python_doc(a.doc or a.type)}." for a in spec.attrs]
    lines += ["", "Returns:"]
    lines += [f"    {o.name}: {', '.join(dict.fromkeys(o.dtypes))}." for o in spec.outputs]
    wrapped: list[str] = []
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        wrapped += textwrap.wrap(line, 92, subsequent_indent=indent, break_long_words=False) or [""]
    return "\n".join(wrapped)


@dataclass(frozen=True)
class _Gradient:
    """How the gradients of an op are found: by another op, or not, and why."""

    op: str
    rows: str
    together: tuple[str, ...]
    refusal: str


def _gradient(spec: OpSpec, specs: Sequence[OpSpec]) -> _Gradient:
    """Return the call of the op of the gradients: where each of its arguments comes from."""
    found = next((s for s in specs if s.name == gradient_name(spec)), None)
    if found is None or spec.backward in ("none", "reference"):
        if spec.differentiated:
            why = (
                f"{spec.op} has no gradient: it computes gradients itself, and second derivatives "
                "have no kernel; write them with tf.custom_gradient"
            )
        elif spec.backward == "none":
            why = f"{spec.op} has no gradient ('backward: none' in its spec)"
        else:
            why = (
                f"{spec.op} has no kernel for its gradient: write 'backward: kernel' in its spec, "
                "or use tf.custom_gradient"
            )
        return _Gradient("", "()", (), why)
    inputs = [p.name for p in spec.inputs]
    outputs = [p.name for p in spec.outputs]
    rows = []
    for p in found.inputs:
        if p.name in inputs:
            rows.append(("input", inputs.index(p.name)))
        elif p.name.startswith(PREFIX) and p.name.removeprefix(PREFIX) in outputs:
            rows.append(("gradient", outputs.index(p.name.removeprefix(PREFIX))))
        else:
            rows.append(("output", outputs.index(p.name.removeprefix(SAVED))))
    return _Gradient(found.name, repr(tuple(rows)), broadcast_inputs(spec), "")


def _targets(spec: OpSpec, specs: Sequence[OpSpec]) -> str:
    """Return, per input, the position of its gradient among the outputs of the op of them."""
    found = next((s for s in specs if s.name == gradient_name(spec)), None)
    names = [p.name for p in found.outputs] if found else []
    places = [
        names.index(PREFIX + p.name) if PREFIX + p.name in names else None for p in spec.inputs
    ]
    return repr(tuple(places))


def _kept(spec: OpSpec) -> tuple[tuple[int, str] | None, ...]:
    """Return, per output, the input and the attr whose axes its gradient has with size 1."""
    kept = kept_outputs(spec)
    names = [p.name for p in spec.inputs]
    return tuple(
        (names.index(kept[p.name].tensor), str(kept[p.name].dims)) if p.name in kept else None
        for p in spec.outputs
    )


def _rows(params: Sequence[TensorParam], combos: int) -> str:
    rows = [f"({''.join(f'{p.dtypes[i]!r}, ' for p in params)})" for i in range(combos)]
    return f"({''.join(row + ', ' for row in rows)})"


def render_module(
    specs: Sequence[OpSpec], vendor: str, node_types: Mapping[str, str], version: str
) -> GeneratedFile:
    """Return ``<vendor>_tf.py``: it loads the library and registers the gradients.

    Args:
        specs: the ops.
        vendor: their vendor.
        node_types: op type -> the type of its nodes.
        version: the TensorFlow that the library is compiled for; another one is refused.
    """
    ops = []
    for spec in specs:
        sign = signature(spec)
        ops.append(
            {
                "name": spec.name,
                "type": node_types[spec.op],
                "parameters": _parameters(spec),
                "doc": _doc(spec),
                "named": _takes_name(spec),
                "inputs": _argument_rows(sign.inputs),
                "outputs": _argument_rows(sign.outputs),
                "input_names": [p.name for p in spec.inputs],
                "attrs": [a.name for a in spec.attrs],
                "dtype_attrs": repr(tuple(a.name for a in spec.attrs if a.type == "dtype")),
                "chosen": repr(tuple(_chosen(sign))),
                "rows": _rows((*spec.inputs, *spec.outputs), spec.combos),
                "gradient": _gradient(spec, specs),
                "targets": _targets(spec, specs),
                "kept": repr(_kept(spec)),
                "gradient_attrs": [a.name for a in gradient_attrs(spec)],
                "wide": [p.name in broadcast_inputs(spec) for p in spec.inputs],
            }
        )
    text = render_template(
        "tensorflow/module.py", source=_source(specs), vendor=vendor, version=version, ops=ops
    )
    return GeneratedFile(f"{vendor}_tf.py", text)


def _chosen(sign: Signature) -> list[tuple[str, int]]:
    """Return the type attrs that a caller has to give, each with the column of its dtype."""
    arguments = (*sign.inputs, *sign.outputs)
    return [
        (name, next(i for i, a in enumerate(arguments) if a.type == name)) for name in sign.chosen
    ]
