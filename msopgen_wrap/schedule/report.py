"""Plans as tables for people and as data for machines (``opgen plan``)."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.graph.sample import sample_attrs
from msopgen_wrap.schedule.lowering import DIFFERENCES
from msopgen_wrap.schedule.plan import ROW_UNIT, UNIT, Body, Budget, OpPlan
from msopgen_wrap.schedule.tiling_model import Tiling, tile_call
from msopgen_wrap.spec.model import OpSpec, ParamKind
from msopgen_wrap.spec.shapes import ShapeError, evaluate


def _output_dims(plan: OpPlan, shapes: dict[str, Any], attrs: dict[str, Any]) -> list[int] | None:
    """Return the shape of the first output, None where its rule does not fit the shapes."""
    rule = plan.spec.outputs[0].shape
    if rule is None:
        return None
    try:
        return [int(n) for n in evaluate(rule, shapes, attrs)]  # type: ignore[arg-type]
    except ShapeError:
        return None


def _unit(plan: OpPlan) -> int:
    return ROW_UNIT if plan.family == "row" else UNIT


def dtypes_text(spec: OpSpec, combo: int) -> str:
    """Return the name of a dtype combination: the dtypes that occur in it."""
    params = (*spec.inputs, *spec.outputs)
    return ",".join(dict.fromkeys(p.dtypes[combo] for p in params))


def _budget_rows(plan: OpPlan, body: Body) -> list[tuple[str, str, str, Budget, int, int]]:
    rows = []
    modes = {m for _, m in body.budgets}
    if plan.family == "foreach" or (plan.family == "elementwise" and not _broadcasts(plan)):
        modes = {"flat"}
    for (combo, mode), budget in body.budgets.items():
        if mode not in modes:
            continue
        for soc, ub in plan.socs.items():
            tile = budget.tile_length(ub, _unit(plan))
            rows.append((dtypes_text(plan.spec, combo), mode, soc, budget, tile, ub))
    return rows


def _broadcasts(plan: OpPlan) -> bool:
    views = plan.operands()
    return len(views) > 1 or any(v.steps for v in views.values())


def as_dict(plan: OpPlan) -> dict[str, Any]:
    """Return the plan as JSON-ready data."""
    return {
        "op": plan.spec.op,
        "family": plan.family,
        "modes": plan.modes,
        "socs": {
            soc: {"ub_bytes": ub, "vector_cores": plan.cores[soc]} for soc, ub in plan.socs.items()
        },
        "variants": [v.label() for v in plan.variants],
        "kernels": [
            {
                "class": body.class_name,
                "variant": body.variant,
                "dtypes": [dtypes_text(plan.spec, c) for c in body.combos],
                "program": body.program.text().splitlines(),
                "differences": differences(body),
                "ub": [
                    {
                        "dtypes": dtypes,
                        "mode": mode,
                        "soc": soc,
                        "bytes_per_element": budget.bytes_per_element,
                        "reserved": budget.reserved,
                        "tile": tile,
                        "used": budget.used(tile),
                        "available": ub,
                        "buffers": [
                            {
                                "name": b.name,
                                "bytes_per_element": b.bytes_per_element,
                                "copies": b.copies,
                            }
                            for b in budget.buffers
                        ],
                    }
                    for dtypes, mode, soc, budget, tile, ub in _budget_rows(plan, body)
                ],
            }
            for body in plan.bodies
        ],
    }


def differences(body: Body) -> list[str]:
    """Return where the results of a body deliberately differ from PyTorch's."""
    used = dict.fromkeys(inst.note for inst in body.program.insts)
    return [f"{note}: {DIFFERENCES[note]}" for note in used if note in DIFFERENCES]


def table_lines(rows: list[list[str]], indent: str = "  ") -> list[str]:
    """Return rows as lines of aligned columns, with a rule below the first row."""
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    lines = []
    for number, row in enumerate(rows):
        cells = [c.ljust(w) for c, w in zip(row, widths, strict=True)]
        lines.append((indent + "  ".join(cells)).rstrip())
        if number == 0:
            lines.append(indent + "  ".join("-" * w for w in widths))
    return lines


def as_text(plan: OpPlan, shapes: dict[str, Any] | None = None) -> str:
    """Return the plan as text: per kernel its program, its buffers and its UB use."""
    spec = plan.spec
    lines = [f"{spec.op}: {plan.family}"]
    if plan.family == "handwritten":
        return "\n".join([*lines, f"  kernel {spec.kernel}, no plan"])
    socs = ", ".join(f"{s} ({plan.cores[s]} vector cores, {u} B UB)" for s, u in plan.socs.items())
    lines.append(f"  for {socs}")
    for body in plan.bodies:
        label = plan.variants[body.variant].label()
        combos = "; ".join(dtypes_text(plan.spec, c) for c in body.combos)
        lines += ["", f"  {body.class_name}{f' ({label})' if label else ''}: {combos}"]
        lines += [f"    {line}" for line in body.program.text().splitlines()]
        lines += [f"    differs from torch: {text}" for text in differences(body)]
        rows = _budget_rows(plan, body)
        if rows:
            lines += ["", *_buffer_table(rows)]
            lines += ["", *_use_table(rows)]
    if shapes is not None:
        lines += ["", *_tilings(plan, shapes)]
    return "\n".join(lines)


def _buffer_table(rows: list[tuple[str, str, str, Budget, int, int]]) -> list[str]:
    columns: dict[tuple[str, str], Budget] = {}
    for dtypes, mode, _, budget, _, _ in rows:
        columns.setdefault((dtypes, mode), budget)
    names = list(dict.fromkeys(b.name for budget in columns.values() for b in budget.buffers))
    table = [["buffer (bytes per element)", *(f"{d} {m}" for d, m in columns)]]
    for name in names:
        cells = [name]
        for budget in columns.values():
            found = next((b for b in budget.buffers if b.name == name), None)
            copies = f" x{found.copies}" if found and found.copies > 1 else ""
            cells.append(f"{found.bytes_per_element:g}{copies}" if found else "-")
        table.append(cells)
    return table_lines(table, "    ")


def _use_table(rows: list[tuple[str, str, str, Budget, int, int]]) -> list[str]:
    table = [["dtypes", "mode", "soc", "B/element", "tile", "UB used", "of"]]
    for dtypes, mode, soc, budget, tile, ub in rows:
        used = budget.used(tile)
        table.append(
            [
                dtypes,
                mode,
                soc,
                f"{budget.bytes_per_element:g}",
                str(tile),
                f"{used} ({100 * used / ub:.0f}%)",
                str(ub),
            ]
        )
    return table_lines(table, "    ")


def _tilings(plan: OpPlan, shapes: dict[str, Any]) -> list[str]:
    if plan.family == "foreach":
        return ["  the tiling of tensor lists depends on every length; no table for it"]
    attrs = sample_attrs(plan.spec)
    table = [["dtypes", "soc", "mode", "cores", "tile", "details"]]
    for body in plan.bodies:
        present = {p.name for p in plan.spec.inputs if p.kind is not ParamKind.OPTIONAL} | set(
            plan.variants[body.variant].present
        )
        if any(v.tensor not in shapes or v.tensor not in present for v in body.operands.values()):
            continue
        for combo in body.combos:
            for soc, ub in plan.socs.items():
                known = {k: tuple(v) for k, v in shapes.items()}
                dims = _output_dims(plan, known, attrs)
                tiling: Tiling = tile_call(
                    plan, body, combo, known, dims, attrs, ub, plan.cores[soc]
                )
                details = ", ".join(f"{k} {v}" for k, v in tiling.details.items())
                table.append(
                    [
                        dtypes_text(plan.spec, combo),
                        soc,
                        tiling.mode,
                        str(tiling.cores),
                        str(tiling.tile),
                        details,
                    ]
                )
    given = ", ".join(f"{k}={list(v)}" for k, v in shapes.items())
    return [f"  tiling of {given}", *table_lines(table)]
