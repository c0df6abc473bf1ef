"""JSON Schema (draft 2020-12) of a spec, for editors; generated from the model, never by hand.

``python -m msopgen_wrap.spec.json_schema`` writes ``op_specs/op_spec.schema.json``. The schema
gives completion and catches slips while typing; ``opgen check`` knows more (names, shapes, code).
"""

from __future__ import annotations

import json
from typing import Any

from msopgen_wrap.spec import checks
from msopgen_wrap.spec.attrs import ATTR_KEYS
from msopgen_wrap.spec.builder import BACKWARD_WORDS, FORMAT_VERSION, KERNEL_KEY, KEYS
from msopgen_wrap.spec.model import ATTR_TYPES, DTYPES
from msopgen_wrap.spec.names import MAX_OP_NAME, MAX_PARAM_NAME
from msopgen_wrap.spec.params import INPUT_KEYS, OUTPUT_KEYS
from msopgen_wrap.spec.saved_outputs import AUTO
from msopgen_wrap.spec.schedule_entries import KNOBS, ROW_PLACES
from msopgen_wrap.spec.schedule_reading import ENTRY_KEYS, MAX_ENTRIES, TILE_UNIT
from msopgen_wrap.spec.shapes import MAX_RANK

NAME = "op_spec.schema.json"
_PARAM_PATTERN = r"^[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*_?$"

Schema = dict[str, Any]


def spec_schema() -> Schema:
    """Return the schema as a JSON value."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "opgen op spec",
        "description": "One operator: inputs, outputs, attrs and what it computes.",
        "type": "object",
        "additionalProperties": False,
        "properties": {key: _TOP[key] for key in KEYS},
        "required": ["op"],
        "allOf": [
            {"anyOf": [{"required": ["inputs", "outputs"]}, {"required": ["schema"]}]},
            {"anyOf": [{"required": [key]} for key in ("compute", "gradient_of", "kernel")]},
        ],
        "$defs": {
            "dtype": {"enum": list(DTYPES)},
            "dtypes": _dtypes(),
            "rule": _rule(),
            "input": _input(),
            "output": _output(),
            "attr": _attr(),
            "code": {
                "type": "string",
                "minLength": 1,
                "description": "PyTorch: an expression, or statements that assign every output.",
            },
            "number": {"type": ["number", "string"], "pattern": r"^[-+]?(inf|\.inf)$"},
            "shape": {
                "type": "array",
                "items": {"type": "integer", "minimum": 0},
                "maxItems": MAX_RANK,
            },
            "bound": {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
        },
    }


def schema_text() -> str:
    """Return the file's text."""
    return json.dumps(spec_schema(), indent=2) + "\n"


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _dtypes() -> Schema:
    return {
        "description": "One dtype per combination (lists of all parameters are parallel), one for"
        " all, or the name of a parameter to follow.",
        "anyOf": [
            {"type": "array", "items": _ref("dtype"), "minItems": 1},
            _ref("dtype"),
            {"type": "string", "pattern": _PARAM_PATTERN},
        ],
    }


def _rule() -> Schema:
    return {
        "description": 'Shape rule: like x; broadcast(x, y); "[*x[:-1], n]"; reduce(x, dim).',
        "anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "array", "maxItems": MAX_RANK},
        ],
    }


def _checked(keys: tuple[str, ...], properties: Schema) -> Schema:
    """Return an object schema; the keys must be exactly those that the loader knows."""
    assert set(keys) == set(properties), set(keys) ^ set(properties)
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {key: properties[key] for key in keys},
    }


_DOC: Schema = {"type": "string", "description": "Documentation."}


def _input() -> Schema:
    full = _checked(
        INPUT_KEYS,
        {
            "dtype": _ref("dtypes"),
            "doc": _DOC,
            "optional": {"type": "boolean", "description": "The caller may leave it out."},
            "default": {
                "type": ["number", "boolean", "null"],
                "description": "Number that stands for an absent optional input; else it is None.",
            },
            "list": {"type": "boolean", "description": "A list of tensors (CANN: dynamic)."},
            "rank": {
                "description": "Accepted rank, or [lowest, highest].",
                "anyOf": [
                    {"type": "integer", "minimum": 0, "maximum": MAX_RANK},
                    {
                        "type": "array",
                        "items": {"type": "integer", "minimum": 0, "maximum": MAX_RANK},
                        "minItems": 1,
                        "maxItems": 2,
                    },
                ],
            },
            "shape": {
                **_ref("rule"),
                "description": "Rule that the shape must satisfy, over inputs named before.",
            },
            "range": {
                "description": "Interval that test data is drawn from.",
                "type": "array",
                "items": {"type": "number"},
                "minItems": 2,
                "maxItems": 2,
            },
        },
    )
    full["anyOf"] = [{"required": ["dtype"]}, {"required": ["shape"]}]
    like = {
        "type": "string",
        "pattern": "^like ",
        "description": "Shape and dtype of an input named before: 'like x'.",
    }
    return {"anyOf": [full, _ref("dtypes"), like]}


def _output() -> Schema:
    full = _checked(
        OUTPUT_KEYS,
        {
            "dtype": _ref("dtypes"),
            "doc": _DOC,
            "shape": _ref("rule"),
            "list": {"type": "boolean", "description": "A list of tensors, one per list input."},
            "inplace": {"type": "string", "description": "The input whose memory it overwrites."},
            "pieces": {
                "type": "string",
                "description": "List attr that says where pieces of the first axis end, for torch.",
            },
            "length": {
                "type": "string",
                "description": "Output that says how many elements of its first axis are results.",
            },
        },
    )
    return {"anyOf": [full, _ref("rule")]}


def _attr() -> Schema:
    value: Schema = {"type": ["number", "boolean", "string", "array"]}
    full = _checked(
        ATTR_KEYS,
        {
            "type": {"enum": list(ATTR_TYPES)},
            "default": {**value, "description": "Value when the caller gives none."},
            "allowed": {
                "type": "array",
                "minItems": 1,
                "uniqueItems": True,
                "description": "Closed set of values; each is a kernel variant.",
            },
            "min": _ref("number"),
            "max": _ref("number"),
            "doc": _DOC,
        },
    )
    return {
        "description": "Long form, or just the default; a type name alone makes it required.",
        "anyOf": [full, value],
    }


def _tolerance() -> Schema:
    bound, whole = _ref("bound"), {"type": "integer", "minimum": 0}
    relative = {"mean": bound, "max": bound, "abs": whole, "rule": {"const": "relative"}}
    mixed: Schema = {
        "rtol": bound,
        "atol": bound,
        "cap": {"type": "number", "exclusiveMinimum": 0},
        "abs": whole,
        "rule": {"const": "mixed"},
    }
    one: Schema = {
        "anyOf": [
            bound,
            whole,
            {"const": "mixed"},
            {"type": "object", "additionalProperties": False, "properties": relative},
            {"type": "object", "additionalProperties": False, "properties": mixed},
        ]
    }
    return {
        "description": "How far outputs may be from the reference: a bound on the mean relative "
        "error (max is ten times that), or per output or dtype a bound, a whole number for "
        "integers, 'mixed' (CANN's mixed standard) or a mapping.",
        "anyOf": [
            bound,
            {"const": "mixed"},
            {
                "type": "object",
                "propertyNames": {"pattern": _PARAM_PATTERN, "maxLength": MAX_PARAM_NAME},
                "additionalProperties": one,
            },
        ],
    }


def _named(value: Schema, what: str, least: int = 1) -> Schema:
    return {
        "type": "object",
        "description": what,
        "minProperties": least,
        "propertyNames": {"pattern": _PARAM_PATTERN, "maxLength": MAX_PARAM_NAME},
        "additionalProperties": value,
    }


def _soc() -> Schema:
    names = checks.supported_socs()
    default = " and ".join(checks.DEFAULT_SOC)
    return {
        "description": f"SoC families or exact names; default {default}.",
        "anyOf": [
            {"enum": names},
            {"type": "array", "items": {"enum": names}, "minItems": 1, "uniqueItems": True},
        ],
    }


def _sentence(text: str) -> str:
    return f"{text.capitalize()}."


def _schedule() -> Schema:
    positive: Schema = {"type": "integer", "minimum": 1}
    entry = _checked(
        ENTRY_KEYS,
        {
            "when": {
                "type": "string",
                "description": "Calls that it is for: elements <= 2**20 and dtype == float16.",
            },
            "tile": {
                **positive,
                "multipleOf": TILE_UNIT,
                "description": _sentence(KNOBS["tile"]),
            },
            "buffers": {"enum": [1, 2], "description": "Copies of each queue."},
            "cores": {**positive, "description": _sentence(KNOBS["cores"])},
            "elements_per_core": {
                **positive,
                "description": _sentence(KNOBS["elements_per_core"]),
            },
            "rows": {
                "enum": list(ROW_PLACES),
                "description": "Whether rows that are reduced stay in UB.",
            },
        },
    )
    return {
        "description": "What host tiling is asked for; of a list the first entry whose 'when' holds"
        " counts. `opgen tune` writes it.",
        "anyOf": [
            entry,
            {"type": "array", "items": entry, "minItems": 1, "maxItems": MAX_ENTRIES},
        ],
    }


_TOP: dict[str, Schema] = {
    "version": {"const": FORMAT_VERSION, "description": "Version of the spec format."},
    "op": {
        "type": "string",
        "pattern": "^[A-Z][A-Za-z0-9]*$",
        "maxLength": MAX_OP_NAME,
        "description": "CamelCase op type.",
    },
    "doc": _DOC,
    "schema": {
        "type": "string",
        "description": "Replaces inputs, outputs, attrs: exp(Tensor x, float base=1.0) -> Tensor y",
    },
    "inputs": _named(_ref("input"), "Input tensors, in order."),
    "outputs": _named(_ref("output"), "Output tensors, in order."),
    "attrs": {"anyOf": [_named(_ref("attr"), "Attributes, in order.", 0), {"type": "null"}]},
    "compute": _ref("code"),
    "gradient_of": _ref("code"),
    "kernel": {"type": "string", "description": "Handwritten AscendC kernel, relative path."},
    "tiling": {"type": "string", "description": "Handwritten tiling source, relative path."},
    "workspace": {
        "type": ["string", "integer"],
        "description": "Bytes of workspace of a handwritten kernel: a dimension as in shape rules.",
    },
    "backward": {
        "description": "reference (PyTorch differentiates compute; default), kernel (an op of its"
        " own), auto (kernel where one can be planned), none, or per input PyTorch code over"
        " inputs, outputs, attrs and grad_<output>; kernel: true beside these makes a kernel of"
        " them.",
        "anyOf": [
            {"enum": list(BACKWARD_WORDS)},
            _named(_ref("code"), "Input -> code."),
            {
                **_named(_ref("code"), "Input -> code, computed by a kernel."),
                "properties": {KERNEL_KEY: {"type": "boolean"}},
                "required": [KERNEL_KEY],
                "minProperties": 2,
            },
        ],
    },
    "save": {
        "description": "Outputs that forward keeps for a kernel of the gradients; auto, as"
        " without the key: where that moves fewer bytes; []: none.",
        "anyOf": [
            {"enum": [AUTO]},
            {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        ],
    },
    "deterministic": {
        "description": "false: cores may add to sums that they share in any order, by atomics.",
        "type": "boolean",
        "default": True,
    },
    "hf32": {
        "description": "true: products on the cube round float32 operands to HF32 (11 bits of"
        " mantissa), which is twice as fast.",
        "type": "boolean",
        "default": False,
    },
    "schedule": _schedule(),
    "cases": {
        "description": "Extra test cases: shape per input, value per attr, dtype to limit them.",
        "anyOf": [{"type": "array", "items": {"type": "object"}}, {"type": "null"}],
    },
    "tolerance": _tolerance(),
    "soc": _soc(),
}


if __name__ == "__main__":
    from msopgen_wrap.resources import data_dir

    (data_dir("op_specs") / NAME).write_text(schema_text(), encoding="utf-8")
