"""Whether the files that describe an op agree: spec, OpDef, op_proto, msopgen JSON, plugins.

A project's own files are read, also where they were edited; the OpDef is what the others are held
against, since opbuild derives an op's package from it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msopgen_wrap.build.rewriting.source_text import blank_comments, split_list
from msopgen_wrap.cann.declarations import Declaration
from msopgen_wrap.diagnostics import Diagnostic, Location
from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.project.msopgen_json import cpp_default
from msopgen_wrap.project.onnx_plugin import onnx_keys
from msopgen_wrap.project.tf_plugin import node_types
from msopgen_wrap.spec.model import OpSpec

_ATTR_CALLS = {
    "int": "Int",
    "float": "Float",
    "bool": "Bool",
    "str": "String",
    "list_int": "ListInt",
    "list_float": "ListFloat",
    "dtype": "Int",
}

# ---- the spec ------------------------------------------------------------------------------------


def spec_problems(spec: OpSpec, declared: Declaration | None, host: Path) -> list[Diagnostic]:
    """Return where the OpDef of an op is not what its spec says."""
    if declared is None:
        fix = "scaffold it again: opgen new, or take the spec out of opgen.json"
        return [
            Diagnostic(
                "OPG616",
                f"op {spec.op} of {Path(spec.path).name} has no OpDef",
                Location(str(host)),
                "no class derived from OpDef has this name",
                fix,
            )
        ]
    return [
        Diagnostic(
            "OPG616",
            f"op {spec.op}: {what}",
            Location(str(declared.path), line),
            f"{Path(spec.path).name} says so, and the torch op, the aclnn headers and the "
            "tests follow it",
            "change both, or neither",
        )
        for what, line in (*_tensor_differences(spec, declared), *_attr_differences(spec, declared))
    ]


def _tensor_differences(spec: OpSpec, declared: Declaration) -> Iterator[tuple[str, int]]:
    """Yield how inputs and outputs differ, each with its line."""
    for side, params in (("Input", spec.inputs), ("Output", spec.outputs)):
        there = declared.of(side)
        names = [p.name for p in params]
        if [p.name for p in there] != names:
            given = ", ".join(p.name for p in there) or "none"
            yield f"{side.lower()}s are {given}, not {', '.join(names)}", declared.line
            continue
        for meant, param in zip(params, there, strict=True):
            if param.kind != meant.kind.value:
                yield f"{param.name} is {param.kind}, not {meant.kind.value}", param.line
            wanted = tuple(BY_NAME[d].ge_name for d in meant.dtypes)
            listed = param.lists.get("DataType")
            if listed is not None and listed != wanted:
                text = f"{param.name} has data types {', '.join(listed)}, not {', '.join(wanted)}"
                yield text, param.line


def _attr_differences(spec: OpSpec, declared: Declaration) -> Iterator[tuple[str, int]]:
    """Yield how attrs differ, each with its line."""
    there = declared.of("Attr")
    if [p.name for p in there] != [a.name for a in spec.attrs]:
        given = ", ".join(p.name for p in there) or "none"
        yield f"attrs are {given}, not {', '.join(a.name for a in spec.attrs) or 'none'}", 0
        return
    for attr, param in zip(spec.attrs, there, strict=True):
        kind = "required" if attr.required else "optional"
        call = _ATTR_CALLS[attr.type]
        if param.kind != kind:
            yield f"attr {attr.name} is {param.kind}, not {kind}", param.line
        elif call not in param.calls:
            yield f"attr {attr.name} is not of type {call}", param.line
        elif not attr.required and not _same_value(param.calls[call], cpp_default(attr)):
            text = f"attr {attr.name} has default {param.calls[call]}, not {cpp_default(attr)}"
            yield text, param.line


def _same_value(text: str, default: str) -> bool:
    def numbers(value: str) -> list[float] | None:
        try:
            items = value.strip().strip("{}")
            return [float(v.strip().rstrip("fFlLuU")) for v in split_list(items)]
        except ValueError:
            return None

    if text.strip().strip('"') == default.strip().strip('"'):
        return True
    left, right = numbers(text), numbers(default)
    return left is not None and left == right


# ---- op_proto ------------------------------------------------------------------------------------

_REG_OP = re.compile(r"\bREG_OP\s*\(\s*(\w+)\s*\)(.*?)\.\s*OP_END_FACTORY_REG\s*\(\s*(\w+)", re.S)
_PROTO_PART = re.compile(
    r"\.\s*(OPTIONAL_INPUT|DYNAMIC_INPUT|DYNAMIC_OUTPUT|INPUT|OUTPUT|REQUIRED_ATTR|ATTR)"
    r"\s*\(\s*(\w+)([^;]*?)(?=\)\s*(?:\.|$))",
    re.S,
)
_SKIPPED = {".git", "build", "build_out", "dist", "tests", "torch_ext"}


def proto_files(project: Path) -> list[Path]:
    """Return the headers and sources of a project that register op prototypes (``REG_OP``)."""
    found = []
    for suffix in ("*.h", "*.hpp", "*.cc", "*.cpp"):
        for path in project.rglob(suffix):
            parts = path.relative_to(project).parts
            if set(parts[:-1]) & _SKIPPED or "proto" not in path.as_posix().lower():
                continue
            if _REG_OP.search(_text(path)):
                found.append(path)
    return sorted(found)


def proto_problems(path: Path, ops: Sequence[Declaration]) -> list[Diagnostic]:
    """Return where prototypes of a file are not those of the OpDefs."""
    text = blank_comments(_text(path), strings=False)
    by_name = {d.op: d for d in ops}
    found = []
    for match in _REG_OP.finditer(text):
        place = Location(str(path), text.count("\n", 0, match.start()) + 1)
        op = match[1]
        if match[3] != op:
            what = f"REG_OP({op}) ends with OP_END_FACTORY_REG({match[3]})"
            found.append(_disagree(what, place, "the factory is registered under another name"))
        declared = by_name.get(op)
        if declared is None:
            what = f"REG_OP({op}): op_host has no such op"
            found.append(_disagree(what, place, f"it has {', '.join(by_name)}"))
            continue
        parts = [(m[1], m[2]) for m in _PROTO_PART.finditer(match[2] + "\n.")]
        for side, words in (
            ("Input", ("INPUT",)),
            ("Output", ("OUTPUT",)),
            ("Attr", ("ATTR",)),
        ):
            given = [(w, n) for w, n in parts if w.endswith(words)]
            wanted = [(_proto_word(p.side, p.kind), p.name) for p in declared.of(side)]
            if given != wanted:
                what = f"REG_OP({op}) has {_listed(given)}, the OpDef {_listed(wanted)}"
                why = "the graph engine takes the prototype's, the kernel is built for the OpDef's"
                found.append(_disagree(what, place, why))
    return found


def _proto_word(side: str, kind: str) -> str:
    word = side.upper()
    if side == "Attr":
        return "REQUIRED_ATTR" if kind == "required" else "ATTR"
    if kind == "dynamic":
        return f"DYNAMIC_{word}"
    return f"OPTIONAL_{word}" if kind == "optional" and side == "Input" else word


def _listed(parts: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{word}({name})" for word, name in parts) or "none"


def _disagree(what: str, place: Location, why: str) -> Diagnostic:
    return Diagnostic("OPG616", what, place, why, "change both, or neither")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


# ---- msopgen's JSON ------------------------------------------------------------------------------

MSOPGEN_TYPES = {
    **{"fp16": "DT_FLOAT16", "half": "DT_FLOAT16", "float16": "DT_FLOAT16"},
    **{"float": "DT_FLOAT", "fp32": "DT_FLOAT", "float32": "DT_FLOAT"},
    **{"bf16": "DT_BF16", "bfloat16": "DT_BF16", "double": "DT_DOUBLE", "bool": "DT_BOOL"},
    **{f"{u}int{n}": f"DT_{u.upper()}INT{n}" for u in ("", "u") for n in (8, 16, 32, 64)},
    **{"qint8": "DT_QINT8", "qint16": "DT_QINT16", "qint32": "DT_QINT32"},
    **{"quint8": "DT_QUINT8", "quint16": "DT_QUINT16", "string": "DT_STRING"},
    **{"complex64": "DT_COMPLEX64", "complex128": "DT_COMPLEX128"},
}
_FORMATS = {
    *("ND", "NCHW", "NHWC", "NC1HWC0", "FRACTAL_NZ", "FRACTAL_Z", "HWCN", "NDHWC", "NCDHW"),
    *("NDC1HWC0", "FRACTAL_Z_3D", "DHWCN", "NC", "NCL", "FRACTAL_Z_C04", "C1HWNCoC0"),
    *("FRACTAL_ZN_LSTM", "FRACTAL_ZN_RNN", "ND_RNN_BIAS", "NC1HWC0_C04", "RESERVED", "ALL"),
}
_KINDS = {"required", "optional", "dynamic"}
_ATTR_TYPES = {
    *("int", "float", "string", "bool", "type", "tensor", "list_int", "list_float"),
    *("list_bool", "list_string", "list_list_int", "list_type", "list_tensor"),
}


def msopgen_files(project: Path) -> list[Path]:
    """Return the files at the top of a project that describe ops to msopgen."""
    found = []
    for path in sorted(project.glob("*.json")):
        text = _text(path)
        if path.name == "msopgen.json" or ('"input_desc"' in text and '"op"' in text):
            found.append(path)
    return found


def msopgen_problems(path: Path, ops: Sequence[Declaration]) -> list[Diagnostic]:
    """Return what is wrong with a file for msopgen, by its rules and beside the OpDefs."""
    text = _text(path)
    place = Location(str(path))
    try:
        entries = json.loads(text)
    except ValueError as error:
        line = getattr(error, "lineno", 0)
        where = Location(str(path), line, getattr(error, "colno", 0))
        why = "msopgen stops at it"
        return [Diagnostic("OPG616", f"not JSON: {error}", where, why, "correct the file")]
    entries = entries if isinstance(entries, list) else [entries]
    by_name = {d.op: d for d in ops}
    found: list[Diagnostic] = []
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("op"), str):
            why = "msopgen reads one object, or a list of objects, with op, input_desc ..."
            return [*found, Diagnostic("OPG616", "an entry names no op", place, why, "add it")]
        found += _entry_problems(entry, by_name.get(entry["op"]), path, text)
        if entry["op"] not in by_name:
            what = f"op {entry['op']} has no OpDef in op_host"
            found.append(_disagree(what, _find(path, text, entry["op"]), "msopgen would add one"))
    return found


def _entry_problems(
    entry: dict[str, Any], declared: Declaration | None, path: Path, text: str
) -> list[Diagnostic]:
    op = entry["op"]
    found: list[Diagnostic] = []

    def add(what: str, name: str, why: str) -> None:
        found.append(_disagree(f"op {op}: {what}", _find(path, text, name, after=op), why))

    for key, side in (("input_desc", "Input"), ("output_desc", "Output"), ("attr", "Attr")):
        items = entry.get(key) or []
        if not isinstance(items, list) or not all(isinstance(i, dict) for i in items):
            add(f"{key} is no list of objects", key, "msopgen stops at it")
            continue
        for item in items:
            name = str(item.get("name", ""))
            if item.get("param_type", "required") not in _KINDS:
                add(f"{name}: unknown param_type {item.get('param_type')!r}", name, "msopgen's")
            if side == "Attr":
                if item.get("type") not in _ATTR_TYPES:
                    why = f"it knows {', '.join(sorted(_ATTR_TYPES))}"
                    add(f"attr {name}: unknown type {item.get('type')!r}", name, why)
                if isinstance(item.get("default_value"), list):
                    why = 'msopgen writes [1,2] into C++ as it stands; the text "{1,2}" is right'
                    add(f"attr {name}: its default is a list", name, why)
                continue
            types, formats = item.get("type") or [], item.get("format") or []
            types = types if isinstance(types, list) else [types]
            formats = formats if isinstance(formats, list) else [formats]
            if len(formats) not in (1, len(types)):
                what = f"{name} has {len(types)} types and {len(formats)} formats"
                add(what, name, "msopgen ends with error 112")
            for word in types:
                if str(word).lower() not in MSOPGEN_TYPES:
                    add(f"{name}: unknown type {word!r}", name, "msopgen ends with error 114")
            for word in formats:
                if word not in _FORMATS:
                    why = "msopgen only warns, and writes C++ that does not compile"
                    add(f"{name}: unknown format {word!r}", name, why)
        if declared is not None:
            _compare(items, side, declared, add)
    return found


def _compare(items: list[dict[str, Any]], side: str, declared: Declaration, add: Any) -> None:
    there = declared.of(side)
    names = [str(i.get("name", "")) for i in items]
    if names != [p.name for p in there]:
        wanted = ", ".join(p.name for p in there) or "none"
        what = f"its {side.lower()}s are {', '.join(names) or 'none'}, those of the OpDef {wanted}"
        add(what, declared.op, "msopgen's tree would be for another op")
        return
    for item, param in zip(items, there, strict=True):
        if item.get("param_type", "required") != param.kind:
            what = f"{param.name} is {item.get('param_type')}, in the OpDef {param.kind}"
            add(what, param.name, "msopgen's tree would be for another op")
        listed = param.lists.get("DataType")
        if side == "Attr" or listed is None:
            continue
        types = item.get("type") or []
        types = types if isinstance(types, list) else [types]
        given = tuple(MSOPGEN_TYPES.get(str(t).lower(), "") for t in types)
        if given != listed:
            what = f"{param.name} has types {', '.join(map(str, types))}, in the OpDef "
            add(what + ", ".join(listed), param.name, "msopgen's tree would be for another op")


def _find(path: Path, text: str, name: str, after: str = "") -> Location:
    start = max(text.find(f'"{after}"'), 0) if after else 0
    place = text.find(f'"{name}"', start)
    return Location(str(path), text.count("\n", 0, place) + 1 if place >= 0 else 0)


# ---- parser plugins ------------------------------------------------------------------------------

_PLUGIN = re.compile(r"\bREGISTER_CUSTOM_OP\s*\(\s*\"(\w+)\"\s*\)(.*?);", re.S)
_KEYS = re.compile(r"\"((?:[\w.]+::)+\w+)\"")


def plugin_problems(
    path: Path, ops: Sequence[Declaration], vendor: str = "", kind: str = "onnx_plugin"
) -> list[Diagnostic]:
    """Return what is wrong with a parser plugin beside the OpDefs.

    Args:
        vendor: of a project of the kit, whose exporter writes nodes into this domain; "" for
            others.
        kind: ``onnx_plugin`` or ``tf_plugin``.
    """
    text = blank_comments(_text(path), strings=False)
    names = {d.op for d in ops}
    found = []
    matches = list(_PLUGIN.finditer(text))
    if not matches and path.stem.endswith("_plugin"):
        what = f"{path.name} registers no plugin"
        why = "without REGISTER_CUSTOM_OP no node of a model becomes the op"
        found.append(_disagree(what, Location(str(path)), why))
    for match in matches:
        op, chain = match[1], match[2]
        place = Location(str(path), text.count("\n", 0, match.start()) + 1)
        if op not in names:
            why = f"op_host has {', '.join(sorted(names))}"
            found.append(_disagree(f'REGISTER_CUSTOM_OP("{op}") names no op', place, why))
            continue
        for call, why in (
            ("FrameworkType", "ATC does not know which models it is for"),
            ("OriginOpType", "ATC finds no node for it"),
            ("ParseParams", "ATC stops at a plugin without a parser"),
        ):
            if call not in chain:
                what = f'REGISTER_CUSTOM_OP("{op}") has no {call}'
                found.append(_disagree(what, place, why))
        if kind == "tf_plugin":
            found += _framework_problems(op, chain, place, vendor)
            continue
        keys = set(_KEYS.findall(chain))
        bad = sorted(k for k in keys if not re.fullmatch(r"[\w.]+::\d+::\w+", k))
        if bad:
            what = f"{bad[0]} is no key of an ONNX node"
            found.append(_disagree(what, place, "keys are domain::version::Type"))
        missing = [k for k in onnx_keys(op, vendor) if k not in keys] if vendor else []
        if missing and keys:
            what = f"the plugin of {op} does not know nodes {missing[0]}"
            why = f"{len(missing)} keys that exporters write are not in OriginOpType"
            found.append(_disagree(what, place, why))
    return found


def _framework_problems(op: str, chain: str, place: Location, vendor: str) -> list[Diagnostic]:
    """Return what is wrong with the TensorFlow side of a plugin's registration."""
    found = []
    if "FrameworkType(TENSORFLOW)" not in re.sub(r"\s+|\bdomi::|\bFrameworkType::", "", chain):
        what = f"the plugin of {op} is not for TensorFlow"
        found.append(_disagree(what, place, "framework/tf_plugin holds TensorFlow's plugins"))
    missing = [t for t in node_types(op, vendor) if f'"{t}"' not in chain] if vendor else []
    if missing:
        what = f"the plugin of {op} does not know nodes {missing[0]}"
        found.append(_disagree(what, place, "the TensorFlow library registers the op so"))
    return found
