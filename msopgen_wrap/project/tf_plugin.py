"""The TensorFlow parser plugin of an op: how the graph engine turns a TensorFlow node into it."""

from __future__ import annotations

from collections.abc import Sequence

from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.spec.model import OpSpec, ParamKind
from msopgen_wrap.templating import environment


def node_types(op: str, vendor: str) -> list[str]:
    """Return the node types of an op in a TensorFlow graph, the preferred one first.

    TensorFlow has no domains: an op whose name is taken there (``Softmax``) is registered under
    the vendor's namespace instead (``Acme>Softmax``).
    """
    return [op, f"{vendor[0].upper()}{vendor[1:]}>{op}"]


def length_attr(name: str) -> str:
    """Return the attr of a TensorFlow node that holds the length of a list.

    An optional input is a list, too, of 0 or 1 tensors: TensorFlow has no optional inputs.
    """
    return f"N_{name}"


def render_tf_plugin(
    specs: Sequence[OpSpec], vendor: str = "opgen", style: str = "8.1"
) -> list[GeneratedFile]:
    """Return ``framework/tf_plugin/``: one plugin per op, and the CMakeLists.txt.

    Args:
        specs: the ops of the project.
        vendor: namespace of node types that TensorFlow has itself.
        style: ``8.1`` or ``9.x``; only the CMakeLists.txt differ.
    """
    env = environment()
    plugin = env.get_template("cann/tf_plugin.cpp.jinja")
    folder = "framework/tf_plugin"
    files = [_plugin(plugin, spec, vendor, folder) for spec in specs]
    family = "cann9" if style == "9.x" else "cann81"
    cmake = env.get_template(f"{family}/framework/tf_plugin/CMakeLists.txt.jinja").render()
    return [*files, GeneratedFile(f"{folder}/CMakeLists.txt", cmake)]


def _plugin(plugin, spec: OpSpec, vendor: str, folder: str) -> GeneratedFile:  # type: ignore[no-untyped-def]
    first = next((p.name for p in spec.inputs if p.kind is ParamKind.DYNAMIC), "")
    lists = [
        ("kInput", p.name, length_attr(p.name)) for p in spec.inputs if p.kind is ParamKind.DYNAMIC
    ] + [
        ("kOutput", p.name, length_attr(first))
        for p in spec.outputs
        if p.kind is ParamKind.DYNAMIC and first
    ]
    optional = [p.name for p in spec.inputs if p.kind is ParamKind.OPTIONAL]
    dtypes = [a.name for a in spec.attrs if a.type == "dtype"]
    plain = not (lists or optional or dtypes)
    # Of the optional inputs only the last of all inputs may be absent: those behind it would move.
    trailing = {len(optional) - 1} if optional and spec.inputs[-1].name == optional[-1] else set()
    text = plugin.render(
        spec=spec,
        source=f"specs/{spec.name}.yaml",
        types=node_types(spec.op, vendor),
        parser="AutoMappingByOpFn" if plain else f"Map{spec.op}",
        lists=lists,
        optional=[(name, length_attr(name)) for name in optional],
        trailing=trailing,
        dtypes=dtypes,
        unmapped=bool(lists and optional),
    )
    return GeneratedFile(f"{folder}/tensorflow_{spec.name}_plugin.cpp", text)
