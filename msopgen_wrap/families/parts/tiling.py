"""Tiling struct and TilingFunc of a kernel of several parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msopgen_wrap.families.parts.kernel import part_field
from msopgen_wrap.families.parts.plan import PartsPlan
from msopgen_wrap.render.kernel import KernelPart
from msopgen_wrap.render.line_wrapping import tidy
from msopgen_wrap.render.tiling_attrs import attr_loads, variant_lines
from msopgen_wrap.render.tiling_text import TilingText, standard_includes
from msopgen_wrap.schedule.program import DTYPE_BYTES
from msopgen_wrap.templating import environment


def render_tiling(
    plan: PartsPlan, kernels: list[KernelPart], tilings: list[TilingText], style: str
) -> TilingText:
    """Return a TilingFunc that tiles every part and launches as many cores as the largest needs.

    Args:
        plan: the plan.
        kernels: the classes of each part.
        tilings: the tiling of each part; its function fills the part's struct.
        style: ``8.1`` or ``9.x`` project layout.
    """
    spec = plan.spec
    parts: list[dict[str, Any]] = [
        {
            "name": part.part,
            "field": part_field(part.part),
            "struct": f"{spec.op}{part.part}TilingData",
            "namespace": f"{part_field(part.part)}_tiling",
            "outputs": ", ".join(p.name for p in part.spec.outputs),
            "functions": tiling.functions.strip("\n"),
            "fields": tiling.fields,
            "modes": len({b["mode"] for b in kernel.branches}) > 1,
            "workspace": kernel.workspace,
            "temporaries": bool(part.spec.temporaries),
            "condition": _condition(plan, part.served),
        }
        for part, kernel, tiling in zip(plan.parts, kernels, tilings, strict=True)
    ]
    grouped = any(len(part.served) < len(plan.variants) for part in plan.parts)
    variant_attrs = {name for name, _ in plan.variants[0].attrs}
    values = {
        "spec": spec,
        "style": style,
        "source": f"specs/{spec.name}.yaml",
        "struct": f"{spec.op}TilingData",
        "guard": f"{spec.name.upper()}_TILING_H",
        "parts": parts,
        "temporaries": [
            {
                "name": p.name,
                "bytes": DTYPE_BYTES[p.dtypes[0]],
                "doc": p.doc,
                "condition": _condition(plan, part.served),
            }
            for part in plan.parts
            for p in part.spec.outputs
            if p.site is not None
        ],
        "waits": _waits(plan),
        "grouped": grouped,
        "attrs": attr_loads(spec, variant_attrs) if grouped else [],
        "variant_lines": variant_lines(spec, plan) if grouped else [],
    }
    text = environment("parts").get_template("tiling.cpp.jinja").render(values)
    header = environment("parts").get_template("tiling.h.jinja").render(values)
    includes = {line for tiling in tilings for line in tiling.includes}
    return TilingText(
        includes=tuple(sorted({*includes, *standard_includes(text), '"opgen_part_use.h"'})),
        functions=tidy(text),
        tiling_func_name="TilingFunc",
        header_text=tidy(header),
    )


def _condition(plan: PartsPlan, served: Sequence[int]) -> str:
    """Return the condition in C++ that a call is one of some variants, "" for all variants."""
    if len(served) == len(plan.variants):
        return ""
    return " || ".join(f"variant == {index}" for index in served)


def _waits(plan: PartsPlan) -> str:
    """Return the condition in C++ that cores wait for one another between the parts of a call."""
    waiting = {
        i for part, waits in zip(plan.parts, plan.waits, strict=True) if waits for i in part.served
    }
    return _condition(plan, sorted(waiting)) or "true" if waiting else "false"
