"""What ``opgen run PROJECT_DIR`` is told: tensors and attributes, from options or a file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.run.tensors import Tensor, TensorSpec, load_output, load_tensor, parse_spec

_WORDS = {"true": True, "false": False, "none": None}
_TEXT_TYPES = ("str", "string", "std::string", "char")


class AttrText(str):
    """The text behind ``--attr NAME=``, before the type of the attr is known."""


def attr_value(value: Any, kind: str) -> Any:
    """Return what an attr of type ``kind`` takes; values that are no ``AttrText`` stay.

    For a text attr it is the text itself (``none`` is a word there), without the quotes around it.
    For others it is a Python literal, ``true``, ``false``, or ``none`` for the default; where the
    type is not known (``""``) only ``None`` means the default.
    """
    if not isinstance(value, AttrText):
        return value
    text = str(value)
    literal = _literal(text)
    if kind in _TEXT_TYPES:
        return literal if isinstance(literal, str) else text
    if text.lower() in _WORDS and (kind or text != "none"):
        return _WORDS[text.lower()]
    return literal


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


_KEYS = ("op", "inputs", "outputs", "attrs")


@dataclass
class RunInputs:
    """One call of an op.

    Attributes:
        inputs: by name a ``Tensor``, a list of them, or None.
        outputs: by name a ``TensorSpec``, a ``Tensor`` that holds data, or a list of them; missing
            ones come from InferShape.
        attrs: by name.
    """

    op: str | None = None
    inputs: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    attrs: dict[str, Any] = field(default_factory=dict)


def read_run_inputs(
    op: str | None,
    inputs: Iterable[str],
    outputs: Iterable[str],
    attrs: Iterable[str],
    case: Path | None,
    seed: int,
) -> RunInputs:
    """Combine a case file with the command line, which wins.

    Args:
        inputs: ``name=VALUE`` texts; several tensors of a list are separated by ``;``.
        outputs: ``name=dtype[shape]`` texts, or ``name=VALUE`` for what is in one before.
        attrs: ``name=VALUE`` texts; what VALUE is depends on the attr's type (``AttrText``).
        case: YAML file with the keys op, inputs, outputs and attrs.
        seed: of the random inputs.

    Raises:
        OpgenError: OPG524..OPG527.
    """
    rng = np.random.default_rng(seed)
    result = RunInputs(op)
    if case is not None:
        _read_case(case, result, rng)
        result.op = op or result.op
    for text in inputs:
        name, value = _split(text, "--input")
        result.inputs[name] = _tensors(value, lambda v: load_tensor(v, rng))
    for text in outputs:
        name, value = _split(text, "--output")
        result.outputs[name] = _tensors(value, lambda v: load_output(v, rng))
    for text in attrs:
        name, value = _split(text, "--attr")
        result.attrs[name] = AttrText(value)
    return result


def _split(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise OpgenError(
            Diagnostic("OPG526", f"{option} {text!r} is not NAME=VALUE", fix=f"{option} x=...")
        )
    return name.strip(), value.strip()


def _tensors(text: str, read: Any) -> Any:
    if text in ("", "none", "None"):
        return None
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1] + ";"
    if ";" in text:
        return [read(part.strip()) for part in text.split(";") if part.strip()]
    return read(text)


def _read_case(path: Path, into: RunInputs, rng: np.random.Generator) -> None:
    import yaml

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise OpgenError(Diagnostic("OPG525", f"cannot read {path}: {error}")) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = Location(str(path), mark.line + 1, mark.column + 1) if mark else Location(str(path))
        raise OpgenError(Diagnostic("OPG527", f"not YAML: {error}", place)) from error
    if not isinstance(data, Mapping):
        raise _case_error(path, "the file holds no mapping")
    unknown = sorted(set(map(str, data)) - set(_KEYS))
    if unknown:
        raise _case_error(path, f"unknown key {unknown[0]!r}")
    into.op = None if data.get("op") is None else str(data["op"])
    for key in ("inputs", "outputs", "attrs"):
        if not isinstance(data.get(key) or {}, Mapping):
            raise _case_error(path, f"{key!r} holds no mapping")
    for name, value in (data.get("inputs") or {}).items():
        into.inputs[str(name)] = _case_tensor(path, value, rng)
    for name, value in (data.get("outputs") or {}).items():
        into.outputs[str(name)] = _case_output(path, value, rng)
    into.attrs.update({str(k): v for k, v in (data.get("attrs") or {}).items()})


def _case_error(path: Path, what: str) -> OpgenError:
    return OpgenError(
        Diagnostic(
            "OPG527",
            f"{path}: {what}",
            Location(str(path)),
            why=f"a case file has the keys {', '.join(_KEYS)}; a tensor is text as on the command "
            "line, or {file: x.npy}, or {shape: [2, 3], dtype: float16, range: [-1, 1]}, "
            "either with format: FRACTAL_NZ or another",
        )
    )


def _case_tensor(path: Path, value: Any, rng: np.random.Generator) -> Any:
    if value is None:
        return None
    if isinstance(value, list):
        return [_case_tensor(path, v, rng) for v in value]
    if isinstance(value, str):
        return load_tensor(_beside(path, value), rng)
    if isinstance(value, Mapping) and "file" in value:
        suffix = f":{value['dtype']}" if "dtype" in value else ""
        if "shape" in value:
            suffix = f":{value.get('dtype', 'float32')}{list(value['shape'])}"
        if "format" in value:
            suffix += f"@{value['format']}"
        return load_tensor(_beside(path, str(value["file"]) + suffix), rng)
    return Tensor.random(_case_spec(path, value), rng)


def _case_output(path: Path, value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, list):
        return [_case_output(path, v, rng) for v in value]
    if isinstance(value, str):
        return load_output(_beside(path, value), rng)
    if isinstance(value, Mapping) and "file" in value:
        tensor = _case_tensor(path, value, rng)
        tensor.holds_data = True
        return tensor
    return _case_spec(path, value)


def _case_spec(path: Path, value: Any) -> TensorSpec:
    if not isinstance(value, Mapping) or not isinstance(value.get("shape"), list):
        raise _case_error(path, f"cannot read the tensor {value!r}")
    dims = value["shape"]
    if not all(isinstance(d, int) and d >= 0 for d in dims):
        raise _case_error(path, f"cannot read the shape {dims!r}")
    text = f"{value.get('dtype', 'float32')}[{','.join(map(str, dims))}]"
    bounds = value.get("range")
    if bounds is not None:
        if not isinstance(bounds, list) or len(bounds) != 2:
            raise _case_error(path, f"cannot read the range {bounds!r}")
        text += f"({bounds[0]},{bounds[1]})"
    if value.get("format") is not None:
        text += f"@{value['format']}"
    return parse_spec(text)


def _beside(path: Path, text: str) -> str:
    """Make a file of the case relative to the case file."""
    name = re.split("[:@]", text, maxsplit=1)[0]
    if name.endswith((".npy", ".bin")) and not Path(name).is_absolute():
        return str(path.parent / name) + text[len(name) :]
    return text


def arranged_values(declared: Mapping[str, Any], side: str, given: Mapping[str, Any]) -> list[Any]:
    """Return given values in the order of a declaration, None for optional ones left out.

    Args:
        declared: the op's declaration.
        side: ``inputs`` or ``outputs`` of it.

    Raises:
        OpgenError: OPG518, the op has no such parameter, or a required one is missing.
    """
    names = [p["name"] for p in declared[side]]
    for name in given:
        if name not in names:
            raise parameter_error(declared, side, name)
    for param in declared[side]:
        if param["param_type"] == "required" and given.get(param["name"]) is None:
            raise OpgenError(
                Diagnostic(
                    "OPG518",
                    f"input {param['name']} of op {declared['op']} is missing",
                    why="required inputs: "
                    + ", ".join(p["name"] for p in declared[side] if p["param_type"] == "required"),
                    fix=f"add --input {param['name']}=file.npy or {param['name']}=float16[2,3]",
                )
            )
    return [
        []
        if p["param_type"] == "dynamic" and given.get(p["name"]) is None
        else given.get(p["name"])
        for p in declared[side]
    ]


def parameter_error(declared: Mapping[str, Any], side: str, name: str) -> OpgenError:
    """Return the error (OPG518) for a name that the op's declaration does not have."""
    names = ", ".join(p["name"] for p in declared[side])
    what = f"op {declared['op']} has no {side[:-1]} {name}"
    return OpgenError(Diagnostic("OPG518", what, why=f"its {side}: {names}"))
