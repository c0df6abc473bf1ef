"""Combinations of data types and formats that an op declares, and those that tensors of a call fit.

The format of a tensor is what the user says, else what the op's declaration lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.dtypes import BY_GE_NAME
from msopgen_wrap.platforms import covers
from msopgen_wrap.run.storage import FORMATS, fits
from msopgen_wrap.run.tensors import Tensor
from msopgen_wrap.spec.names import macro_names


@dataclass(frozen=True)
class Combo:
    """One dtype (and format) combination of an op: ge names per parameter, inputs then outputs."""

    names: tuple[str, ...]
    dtypes: tuple[str, ...]
    formats: tuple[str, ...]

    @property
    def key(self) -> str:
        """The kernel key of ``opgen_register_kernel``."""
        return ",".join(BY_GE_NAME[d].name if d in BY_GE_NAME else "undefined" for d in self.dtypes)

    @property
    def defines(self) -> list[str]:
        """The macros CANN gives a kernel: ``DTYPE_X``, ``ORIG_DTYPE_X``, ``FORMAT_X``."""
        result: dict[str, str] = {}
        names = macro_names(self.names)
        for upper, dtype, layout in zip(names, self.dtypes, self.formats, strict=True):
            row = BY_GE_NAME.get(dtype)
            result[f"DTYPE_{upper}"] = row.kernel if row else "void"
            result[f"ORIG_DTYPE_{upper}"] = dtype
            result[f"FORMAT_{upper}"] = f"FORMAT_{layout}"
        return [f"{name}={value}" for name, value in result.items()]


def combos(declaration: Mapping[str, Any], soc: str) -> list[Combo]:
    """Return the dtype combinations of an op on a SoC, parameters of its AddConfig included.

    Raises:
        OpgenError: OPG513, no AddConfig covers the SoC.
    """
    config = next((c for c in declaration["socs"] if covers(c["soc"], soc)), None)
    if config is None:
        socs = [c["soc"] for c in declaration["socs"]]
        known = ", ".join(socs) or "none"
        raise OpgenError(
            Diagnostic(
                "OPG513",
                f"op {declaration['op']} is not configured for {soc}",
                why=f"its AICore().AddConfig() calls name: {known}",
                fix=f"choose one of these (--soc {socs[0]}), or add an AddConfig"
                if socs
                else "add this->AICore().AddConfig(...) to the OpDef",
            )
        )
    params = [
        _override(p, config[side]) for side in ("inputs", "outputs") for p in declaration[side]
    ]
    count = max([len(p["dtypes"]) for p in params if p["dtypes"]] or [1])
    rows: list[list[str]] = [[]]
    base: list[list[list[str]]] = []
    for index in range(count):
        rows = [[]]
        for param in params:
            choices = _choices(param, index)
            rows = [[*row, choice] for row in rows for choice in choices]
        base.append(rows)
    parameters = tuple(p["name"] for p in params)
    result = []
    for index, rows in enumerate(base):
        formats = tuple(_at(p["formats"], index, "ND") for p in params)
        for row in rows:
            result.append(Combo(parameters, tuple(_follow(row, params)), formats))
    return list(dict.fromkeys(result))


def _override(param: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    for other in others:
        if other["name"] == param["name"] and (other["dtypes"] or other["dtype_list"]):
            return other
    return param


def _choices(param: Mapping[str, Any], index: int) -> list[str]:
    if param["dtypes"]:
        return [_at(param["dtypes"], index, "DT_UNDEFINED")]
    if param["follow"]:
        return ["FOLLOW"]
    return list(param["dtype_list"]) or ["DT_UNDEFINED"]


def _follow(row: Sequence[str], params: Sequence[Mapping[str, Any]]) -> list[str]:
    values = dict(zip((p["name"] for p in params), row, strict=True))
    return [
        values.get(p["follow"], "DT_UNDEFINED") if dtype == "FOLLOW" else dtype
        for dtype, p in zip(row, params, strict=True)
    ]


def _at(values: Sequence[str], index: int, missing: str) -> str:
    if not values:
        return missing
    return values[index] if index < len(values) else values[0]


def settle_formats(fitting: Sequence[Combo], values: Sequence[Any]) -> None:
    """Lay tensors out whose format nobody has said: ND where the op takes it, else as it lists.

    Args:
        fitting: combinations of the op that fit the data types.
        values: tensors in the order of the declaration, inputs then outputs.
    """
    best = by_format(fitting, values)
    for position, value in enumerate(values):
        listed = [combo.formats[position] for combo in best if position < len(combo.formats)]
        for tensor in tensors_of(value):
            if tensor.layout:
                continue
            first = next((name for name in listed if name in FORMATS), "ND")
            takes = fits(first, len(tensor.shape)) and "ND" not in listed
            tensor.set_layout(first if takes else "ND")


def by_format(fitting: Sequence[Combo], values: Sequence[Any]) -> list[Combo]:
    """Return the combinations that agree most with the formats that tensors have."""

    def misses(combo: Combo) -> int:
        pairs = zip(combo.formats, values, strict=False)
        return sum(
            bool(tensor.layout) and tensor.layout != name
            for name, value in pairs
            for tensor in tensors_of(value)
        )

    least = min((misses(combo) for combo in fitting), default=0)
    return [combo for combo in fitting if misses(combo) == least]


def refresh(values: Iterable[Any]) -> None:
    """Take over what a kernel has written to the memory of tensors."""
    for value in values:
        for tensor in tensors_of(value):
            tensor.refresh()


def tensors_of(value: Any) -> list[Tensor]:
    """Return the tensors of a parameter, which has one, a list of them, or none."""
    items = value if isinstance(value, (list, tuple)) else [value]
    return [item for item in items if isinstance(item, Tensor)]
