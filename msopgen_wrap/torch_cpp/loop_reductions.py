"""Reductions in a loop over a row, on one thread."""

from __future__ import annotations

from msopgen_wrap.torch_cpp.loop_values import Value
from msopgen_wrap.torch_cpp.scalar_code import C_TYPES, FLOATS, Expr, cast


def known_value(known: dict[Value, Expr], value: Value) -> Expr:
    """Return the expression of a value that was computed before."""
    if value.kind == "reduction" and value.target == "index":
        return Expr(value.name, "int64")
    return known[value]


def accumulator(reduction: Value) -> tuple[str, str]:
    """Return type and first value of what a reduction adds to."""
    dtype = reduction.args[0].dtype
    c_type = C_TYPES[dtype]
    kind = reduction.target
    if kind in ("sum", "mean", "prod"):
        # double and int64_t: long rows lose no digits
        wide = "double" if reduction.dtype in FLOATS or dtype in FLOATS else "int64_t"
        return wide, "1" if kind == "prod" else "0"
    if kind in ("any", "all"):
        return "bool", "true" if kind == "all" else "false"
    limit = "lowest" if kind == "max" else "max"
    if dtype in FLOATS:
        sign = "-" if kind == "max" else ""
        return c_type, f"{sign}std::numeric_limits<{c_type}>::infinity()"
    return c_type, f"std::numeric_limits<{c_type}>::{limit}()"


def _total(reduction: Value) -> str:
    return f"{reduction.name}_{'best' if reduction.target in INDEXED else 'total'}"


INDEXED = ("argmax", "argmin", "max_dim", "min_dim")


def start(reduction: Value) -> list[str]:
    """Return the statements before the loop."""
    if reduction.target in INDEXED:
        c_type = C_TYPES[reduction.args[0].dtype]
        return [f"{c_type} {_total(reduction)} = 0;", f"int64_t {reduction.name}_index = 0;"]
    c_type, first = accumulator(reduction)
    return [f"{c_type} {_total(reduction)} = {first};"]


def step(reduction: Value, item: Expr) -> list[str]:
    """Return the statements that take in an element."""
    total, kind = _total(reduction), reduction.target
    if kind in ("sum", "mean"):
        return [f"{total} += {item.text};"]
    if kind == "prod":
        return [f"{total} *= {item.operand};"]
    if kind in ("any", "all"):
        op = "||" if kind == "any" else "&&"
        return [f"{total} = {total} {op} {cast(item, 'bool').operand};"]
    if kind in ("max", "min"):
        name = "Maximum" if kind == "max" else "Minimum"
        return [f"{total} = scalar::{name}({total}, {item.text});"]
    name = "Exceeds" if "max" in kind else "FallsBelow"
    return [
        f"if (i == 0 || scalar::{name}({item.text}, {total})) {{",
        f"    {total} = {item.text};",
        f"    {reduction.name}_index = i;",
        "}",
    ]


def finish(reduction: Value, columns: str, known: dict[Value, Expr]) -> list[str]:
    """Return the statements after the loop; the result is in ``known`` from now on."""
    total, kind, c_type = _total(reduction), reduction.target, C_TYPES[reduction.dtype]
    if kind in ("argmax", "argmin"):
        known[reduction] = Expr(f"{reduction.name}_index", "int64")
        return []
    if kind in ("max_dim", "min_dim"):
        known[reduction] = Expr(total, reduction.dtype)
        return []
    wide = accumulator(reduction)[0]
    value = f"{total} / static_cast<double>({columns})" if kind == "mean" else total
    if wide == c_type:
        known[reduction] = Expr(total, reduction.dtype)
        return []
    known[reduction] = Expr(reduction.name, reduction.dtype)
    return [f"const {c_type} {reduction.name} = static_cast<{c_type}>({value});"]
