"""Naming rules: what an op, a parameter or an attr may be called in C++, Python and aclnn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.spec.findings import Findings
from msopgen_wrap.spec.model import Attr, ParamKind, TensorParam
from msopgen_wrap.spec.taken_names import (
    CPP_NEIGHBOURS,
    OP_RULES,
    PARAM_RULES,
    VENDOR_RULES,
    why_taken,
)

OP_NAME = re.compile(r"[A-Z][A-Za-z0-9]*\Z")
PARAM_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
MAX_OP_NAME = 64
MAX_PARAM_NAME = 48
_VENDOR = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}\Z")
# Attr types whose parameters opbuild marks as optional: those it passes as pointers.
_OPTIONAL_ATTRS = ("str", "list_int", "list_float")


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
    else:
        why = why_taken(snake_case(name), OP_RULES)
        if name in CPP_NEIGHBOURS:
            why = "CANN has a C++ class of this name beside the op's"
        elif name.endswith("GetWorkspaceSize"):
            why = "aclnn functions of other ops end like this"
        if why:
            findings.error(
                "OPG010",
                f"'{name}' ('{snake_case(name)}' in C++ and Python) cannot name an op",
                location,
                why=why,
                fix=f"rename it, e.g. 'Custom{name}'",
            )


def check_param_name(name: str, what: str, location: Location, findings: Findings) -> bool:
    """Report OPG011 unless ``name`` can name a parameter in C++, Python and aclnn."""
    why = fix = ""
    if not PARAM_NAME.match(name) or "__" in name:
        why = "names are letters, digits and single underscores, starting with a letter"
    elif len(name) > MAX_PARAM_NAME:
        why = f"names have at most {MAX_PARAM_NAME} characters"
    else:
        why = why_taken(name, PARAM_RULES)
    if not why:
        return True
    if PARAM_NAME.match(name):
        better = name.lower() if not why_taken(name.lower(), PARAM_RULES) else f"{name.lower()}_in"
        fix = f"rename it, e.g. '{better}'"
    findings.error("OPG011", f"'{name}' cannot name {what}", location, why, fix)
    return False


def check_vendor(vendor: str) -> str:
    """Return ``vendor`` if it can be a folder, a shell and CMake word, a Python package and a
    namespace of torch.ops.

    Raises:
        OpgenError: OPG603.
    """
    why = (
        why_taken(vendor, VENDOR_RULES)
        if _VENDOR.match(vendor)
        else "it becomes a folder, a shell variable, a Python package and a namespace of torch.ops"
    )
    if why:
        raise OpgenError(
            Diagnostic(
                "OPG603",
                f"vendor name {vendor!r} cannot be used",
                why=why,
                fix="use letters, digits and '_', starting with a letter, at most 64 characters, "
                "and a name of your own, e.g. 'acme_ops'",
            )
        )
    return vendor


# ---- parameters of aclnn functions ---------------------------------------------------------------


def lower_camel(name: str) -> str:
    """Return the form opbuild gives parameter names: ``input_x`` -> ``inputX``, ``X`` -> ``x``."""
    head, *rest = name.split("_")
    return head[:1].lower() + head[1:] + "".join(word[:1].upper() + word[1:] for word in rest)


def aclnn_input(param: TensorParam, inplace: bool) -> str:
    """Return the C name of an input; ``inplace`` says that an output overwrites it."""
    optional = "Optional" if param.kind is ParamKind.OPTIONAL else ""
    return lower_camel(param.name) + ("Ref" if inplace else "") + optional


def aclnn_attr(attr: Attr) -> str:
    """Return the C name of an attr: optional text and lists end in ``Optional``, numbers do not."""
    optional = not attr.required and attr.type in _OPTIONAL_ATTRS
    return lower_camel(attr.name) + ("Optional" if optional else "")


def aclnn_output(param: TensorParam, alone: bool) -> str:
    """Return the C name of an output; ``alone`` says that the op has no other."""
    return "out" if alone else lower_camel(param.name) + "Out"


def check_aclnn_names(
    inputs: Sequence[TensorParam],
    outputs: Sequence[TensorParam],
    attrs: Iterable[Attr],
    findings: Findings,
) -> None:
    """Report parameters that get one name in the aclnn function or in the kernel (OPG012)."""
    overwritten = {o.inplace for o in outputs}
    named: list[tuple[TensorParam | Attr, str]] = [
        (p, aclnn_input(p, p.name in overwritten)) for p in inputs
    ]
    named += [(a, aclnn_attr(a)) for a in attrs]
    named += [(o, aclnn_output(o, len(outputs) == 1)) for o in outputs if o.inplace is None]
    seen: dict[str, TensorParam | Attr] = {}
    for item, name in named:
        other = seen.setdefault(name, item)
        if other is item:
            continue
        # An output alone is 'out' whatever the spec calls it: the other one has to give way.
        bad, good = (other, item) if name == "out" and item in outputs else (item, other)
        findings.error(
            "OPG012",
            f"'{bad.name}' and '{good.name}' are one parameter, '{name}', of the aclnn function",
            bad.location,
            why="CANN's opbuild writes parameters in camelCase and calls a single output 'out'",
            fix=f"rename '{bad.name}'",
        )
    # The kernel's names: types of x and X_y are TX and TXY; an output in place is x and xOut.
    kernel: dict[str, TensorParam] = {}
    for param in (*inputs, *outputs):
        form = lower_camel(param.name) + ("Out" if param.inplace else "")
        other_param = kernel.setdefault(form, param)
        if other_param is not param and other_param.name != param.name:
            findings.error(
                "OPG012",
                f"'{param.name}' and '{other_param.name}' have one name in the kernel, '{form}'",
                param.location,
                why="generated C++ writes parameters in camelCase",
                fix="rename one of the two",
            )
