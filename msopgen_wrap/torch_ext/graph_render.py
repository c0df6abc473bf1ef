"""Render what graph exporters need: ``onnx.py`` and ``torchair.py`` of the torch package."""

from __future__ import annotations

from collections.abc import Sequence

from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.spec.model import OpSpec, ParamKind
from msopgen_wrap.templating import render_template
from msopgen_wrap.torch_ext.ops_render import plain_parameters, reference_name
from msopgen_wrap.torch_ext.signature import fresh_outputs, is_functional


def _source(specs: Sequence[OpSpec]) -> str:
    return ", ".join(f"specs/{s.name}.yaml" for s in specs)


def render_onnx(specs: Sequence[OpSpec], vendor: str) -> GeneratedFile:
    """Return ``onnx.py``: the exporter helper; node keys are those of the parser plugin."""
    ops = []
    for spec in specs:
        exportable = is_functional(spec) and spec.compute is not None
        ops.append(
            {
                "name": spec.name,
                "op_type": spec.op,
                "inputs": repr(tuple((p.name, p.kind.value) for p in spec.inputs)),
                "outputs": repr(tuple((o.name, o.kind.value) for o in fresh_outputs(spec))),
                "attrs": repr(tuple((a.name, a.type) for a in spec.attrs)),
                "reference": f"_reference.{reference_name(spec)}" if exportable else "None",
            }
        )
    text = render_template("torch_ext/onnx.py", source=_source(specs), vendor=vendor, ops=ops)
    return GeneratedFile(f"torch_ext/{vendor}/onnx.py", text)


def render_torchair(specs: Sequence[OpSpec], vendor: str) -> GeneratedFile:
    """Return ``torchair.py``: one graph-engine converter per op, for CANN's graph mode."""
    ops = []
    for spec in specs:
        if not is_functional(spec):
            continue
        ops.append(
            {
                "spec": spec,
                "signature": plain_parameters(spec),
                "outputs": fresh_outputs(spec),
                "list_outputs": {o.name for o in spec.outputs if o.kind is ParamKind.DYNAMIC},
                "first_list": next(
                    (p.name for p in spec.inputs if p.kind is ParamKind.DYNAMIC), ""
                ),
            }
        )
    text = render_template("torch_ext/torchair.py", source=_source(specs), vendor=vendor, ops=ops)
    return GeneratedFile(f"torch_ext/{vendor}/torchair.py", text)
