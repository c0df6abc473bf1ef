"""Naming rules: what an op, a parameter or an attr may be called in C++, Python and aclnn."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence

from msopgen_wrap.diagnostics import Location
from msopgen_wrap.spec.findings import Findings
from msopgen_wrap.spec.torch_names import words

OP_NAME = re.compile(r"[A-Z][A-Za-z0-9]*\Z")
PARAM_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
MAX_OP_NAME = 64
MAX_PARAM_NAME = 48

CPP_KEYWORDS = words(
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t
        char32_t class compl concept const consteval constexpr const_cast continue co_await
        co_return co_yield decltype default delete do double dynamic_cast else enum explicit
        export extern false float for friend goto if inline int long mutable namespace new
        noexcept not not_eq nullptr operator or or_eq private protected public register
        reinterpret_cast requires return short signed sizeof static static_assert static_cast
        struct switch template this thread_local throw true try typedef typeid typename union
        unsigned using virtual void volatile wchar_t while xor xor_eq half bfloat16_t"""
)

# Names that the generated kernel, op_host, aclnn function or torch wrapper already uses.
RESERVED = words(
    """workspace tiling workspaceSize workspace_size executor stream context tilingData
        tiling_data blockIdx block_idx blockDim block_dim pipe op kernel user usrWorkspace gert
        ge AscendC optiling torch F math self cls std main out_tensors len min max abs
        float int bool tuple list zip enumerate range print broadcast reduce rank numel like
        None True False"""
)


def macro_names(params: Sequence[str]) -> list[str]:
    """Return what stands for X in CANN's macros ``DTYPE_X`` of each parameter of an op.

    An output with the name of an input is ``X_REF``.

    Args:
        params: names of the inputs, then of the outputs.
    """
    return [
        name.upper() + ("_REF" if name in params[:index] else "")
        for index, name in enumerate(params)
    ]


def snake_case(name: str) -> str:
    """Return the snake_case form that msopgen gives a CamelCase op type.

    ``FusedAddRelu`` -> ``fused_add_relu``, ``RMSNorm`` -> ``rms_norm``, ``Add2D`` -> ``add2_d``
    is avoided by treating a digit as part of the word before it: ``add2d``.
    """
    step = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    step = re.sub(r"([a-z])([A-Z])", r"\1_\2", step)
    step = re.sub(r"([0-9])([A-Z][a-z])", r"\1_\2", step)
    return step.lower()


def camel_case(name: str) -> str:
    """Return a CamelCase op type for any words: ``fused_add relu`` -> ``FusedAddRelu``."""
    words = re.findall(r"[A-Za-z0-9]+", name)
    return "".join(w[:1].upper() + w[1:] for w in words)


def check_op_name(name: str, location: Location, findings: Findings) -> None:
    """Report OPG010 unless ``name`` is a CamelCase identifier."""
    if not OP_NAME.match(name):
        better = camel_case(name)
        findings.error(
            "OPG010",
            f"op name '{name}' is not CamelCase",
            location,
            why="CANN derives file, kernel and aclnn names from a CamelCase op type",
            fix=f"write '{better}'" if OP_NAME.match(better) else "write it like FusedAddRelu",
        )
    elif len(name) > MAX_OP_NAME:
        findings.error(
            "OPG010",
            f"op name has {len(name)} characters",
            location,
            why=f"more than {MAX_OP_NAME} makes file names that tar in the package refuses",
            fix="shorten it",
        )


def check_param_name(name: str, what: str, location: Location, findings: Findings) -> bool:
    """Report OPG011 unless ``name`` can name a parameter in C++, Python and aclnn."""
    why = fix = ""
    if not PARAM_NAME.match(name) or "__" in name:
        why = "names are letters, digits and single underscores, starting with a letter"
    elif len(name) > MAX_PARAM_NAME:
        why = f"names have at most {MAX_PARAM_NAME} characters"
    elif name in CPP_KEYWORDS:
        why = "it is a C++ keyword or device type, the generated kernel would not compile"
    elif keyword.iskeyword(name):
        why = "it is a Python keyword, the generated torch function would not parse"
    elif name in RESERVED or name.startswith("grad_"):
        why = "generated code uses this name itself"
    else:
        return True
    if PARAM_NAME.match(name):
        fix = f"rename it, e.g. '{name}_in' or '{name}_value'"
    findings.error("OPG011", f"'{name}' cannot name {what}", location, why, fix)
    return False
