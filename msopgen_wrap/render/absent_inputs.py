"""Types that a kernel gives to optional inputs that are absent.

CANN's kernel compiler defines ``DTYPE_X`` for the tensors of a call only: an optional input that is
None has no such macro. The kernel text names the types of all operands, also in branches that only
run when the input is there, so it has to define what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence

from msopgen_wrap.schedule.program import CPP_TYPE
from msopgen_wrap.spec.model import OpSpec, ParamKind, TensorParam
from msopgen_wrap.spec.names import camel_case, macro_names


def absent_types(spec: OpSpec, text: str) -> list[str]:
    """Return preprocessor lines that define every ``DTYPE_X`` of an optional input in ``text``.

    The type is that of the op's first dtype combination which has the dtypes of the tensors that
    are there, so that the kernel compiles for every choice of absent inputs.

    Args:
        text: the C++ that follows.
    """
    params = [p for p in (*spec.inputs, *spec.outputs) if p.site is None]
    macros = dict(zip(params, macro_names([p.name for p in params]), strict=True))
    optional = [
        p
        for p in spec.inputs
        if p.kind is ParamKind.OPTIONAL and f"DTYPE_{macros[p]}>" in _spaced(text)
    ]
    known = [p for p in params if p.kind is not ParamKind.OPTIONAL]
    writer = _Writer(spec, macros)
    lines: list[str] = []
    for index, param in enumerate(optional):
        lines.append(f"#ifndef DTYPE_{macros[param]}")
        lines += writer.define(param, known, optional[index + 1 :])
        lines.append("#endif")
        known.append(param)
    return lines


def _spaced(text: str) -> str:
    """Return ``text`` with ``>`` behind every macro, so that ``DTYPE_X`` is not in ``DTYPE_X2``."""
    return text.replace(",", ">").replace(" ", ">")


class _Writer:
    def __init__(self, spec: OpSpec, macros: dict[TensorParam, str]) -> None:
        self.rows = range(spec.combos)
        self.macros = macros

    def define(
        self, param: TensorParam, known: Sequence[TensorParam], later: Sequence[TensorParam]
    ) -> list[str]:
        """Return the ``#define`` of ``param``.

        Args:
            known: parameters whose macros are defined here.
            later: optional inputs that may be defined.
        """
        types: dict[tuple[str, ...], set[str]] = {}
        for row in self.rows:
            key = tuple(p.dtypes[row] for p in known)
            types.setdefault(key, set()).add(param.dtypes[row])
        if later and any(len(found) > 1 for found in types.values()):
            first, *rest = later
            return [
                f"#ifdef DTYPE_{self.macros[first]}",
                *self.define(param, [*known, first], rest),
                "#else",
                *self.define(param, known, rest),
                "#endif",
            ]
        macro, text = f"DTYPE_{self.macros[param]}", self.type_of(param, known)
        if "Choose" not in text:
            return [f"#define {macro} {text}"]
        alias = f"TypeOf{camel_case(param.name)}"
        return [f"using {alias} = {text};", f"#define {macro} {alias}"]

    def type_of(self, param: TensorParam, known: Sequence[TensorParam]) -> str:
        """Return the C++ type of ``param``, given the dtypes of ``known``."""
        if len(set(param.dtypes)) == 1:
            return CPP_TYPE[param.dtypes[0]]
        for other in known:
            if other.dtypes == param.dtypes:
                return f"DTYPE_{self.macros[other]}"
        result = ""
        seen: dict[tuple[str, ...], str] = {}
        for row in self.rows:
            seen.setdefault(tuple(p.dtypes[row] for p in known), param.dtypes[row])
        telling = [i for i, p in enumerate(known) if len(set(p.dtypes)) > 1]
        for key, dtype in reversed(seen.items()):
            if not result:
                result = CPP_TYPE[dtype]
                continue
            condition = " && ".join(
                f"opgen::Same<DTYPE_{self.macros[known[i]]}, {CPP_TYPE[key[i]]}>::value"
                for i in telling
            )
            result = f"opgen::Choose<{condition}, {CPP_TYPE[dtype]}, {result}>::Type"
        return result
