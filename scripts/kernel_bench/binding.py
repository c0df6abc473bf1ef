"""How the arguments of a benchmark task's extension become the inputs and attrs of its op."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msopgen_wrap.build.rewriting.source_text import split_list
from msopgen_wrap.dtypes import BY_GE_NAME
from msopgen_wrap.foreign.launch_source import blank_comments

_FUNCTION = re.compile(r"\b(\w+)\s*\(([^{};]*)\)\s*\{")
_CALL = re.compile(r"\bEXEC_NPU_CMD\s*\(([^;]*)\)\s*;")
# Tensors that the extension makes itself are outputs, whatever they are shaped after.
_MADE = re.compile(r"\b(empty|zeros|ones|full|new_)\w*\s*\(")


@dataclass(frozen=True)
class Binding:
    """What the C++ function of an extension does with its arguments and outputs.

    Attributes:
        params: names of its parameters.
        order: which of them is each argument of the aclnn call.
        results: what it may return, each as positions among the outputs of the call.
        appended: what it returns besides, as (bool parameter it depends on or "", position).
        cleared: outputs that it fills with zeros before the call, which an op may add to.
        kept: parameters that it returns itself, as ops without outputs work on them.
        fixed: names and values of local variables that are arguments of the call.
    """

    params: tuple[str, ...]
    order: tuple[int, ...]
    results: tuple[tuple[int, ...], ...]
    appended: tuple[tuple[str, int], ...] = ()
    cleared: tuple[int, ...] = ()
    kept: tuple[str, ...] = ()
    fixed: tuple[tuple[str, bool | int | float], ...] = ()

    @property
    def labels(self) -> list[str]:
        """The parameters' names in the order of the call."""
        return [self.params[i] for i in self.order]


def read_binding(source: Path | None) -> Binding | None:
    """Read the function that calls ``EXEC_NPU_CMD(aclnnOp, ...)``.

    None when the call is no plain reordering of the parameters (or there is no such file): then
    arguments come as declared.
    """
    if source is None or not source.is_file():
        return None
    text = blank_comments(source.read_text(encoding="utf-8", errors="replace"))
    for function in _FUNCTION.finditer(text):
        body = _body(text, function.end())
        params = [_name(p) for p in split_list(function[2]) if p.strip()]
        for call in _CALL.finditer(body):
            arguments = [a.strip() for a in split_list(call[1])[1:]]
            sources = _sources(arguments, params, body)
            order = [params.index(s) for s in sources if s]
            if sorted(order) == list(range(len(params))):
                rest = [a for a, source in zip(arguments, sources, strict=True) if not source]
                values = [(name, _constant(name, body)) for name in rest]
                outputs = [name for name, value in values if value is None]
                return Binding(
                    tuple(params),
                    tuple(order),
                    _results(body, outputs),
                    _appended(body, outputs),
                    tuple(i for i, name in enumerate(outputs) if _is_cleared(name, body)),
                    _kept(params, body),
                    tuple((name, value) for name, value in values if value is not None),
                )
    return None


def _sources(arguments: list[str], params: list[str], body: str) -> list[str | None]:
    """Return the parameter that each argument of a call comes from, None for other values."""
    sources = [_source(a, params, body) for a in arguments]
    # What is computed from the only parameter left stands for it ("mean" as a number).
    left = [p for p in params if p not in sources]
    gap = [i for i, source in enumerate(sources[: len(params)]) if source is None]
    if len(left) == len(gap) == 1 and _is_local_value(arguments[gap[0]], body):
        sources[gap[0]] = left[0]
    return sources


def launched_inputs(op_host: Path, op: str) -> list[str]:
    """Return the parameters that a hand-written aclnn function passes as inputs of an op.

    They are those of its ``ADD_TO_LAUNCHER_LIST_AICORE(Op, OP_INPUT(...), ...)``, which need not
    have the order of the aclnn function's parameters; none when there is no such call.
    """
    call = re.compile(rf"\bADD_TO_LAUNCHER_LIST_AICORE\s*\(\s*{op}\s*,\s*OP_INPUT\s*\(([^)]*)\)")
    for source in sorted(op_host.rglob("*.cpp")):
        found = call.search(source.read_text(encoding="utf-8", errors="replace"))
        if found:
            return [name.strip() for name in found[1].split(",")]
    return []


def _results(body: str, outputs: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    found = []
    for names in re.findall(r"(?:\breturn|=|\bresults?)\s*\{([\w\s,]+)\}\s*;", body):
        listed = [n.strip() for n in names.split(",")]
        if all(n in outputs for n in listed):
            found.append(tuple(outputs.index(n) for n in listed))
    return tuple(dict.fromkeys(found))


def _kept(params: Sequence[str], body: str) -> tuple[str, ...]:
    """Return the parameters that the result is made of, lists by a loop over their tensors."""
    lists = dict(re.findall(r"\bfor\s*\([\w\s:&]*?[\s&](\w+)\s*:\s*(\w+)\s*\)", body))
    names = (_source(lists.get(name, name), params, body) for name in _APPEND.findall(body))
    return tuple(dict.fromkeys(name for name in names if name))


_APPEND = re.compile(r"\.(?:push|emplace)_back\s*\(\s*(\w+)\s*\)")
_CONDITION = re.compile(r"\bif\s*\(\s*(\w+)\s*\)\s*\{([^{}]*)\}")


def _appended(body: str, outputs: Sequence[str]) -> tuple[tuple[str, int], ...]:
    conditions = {
        name: branch[1]
        for branch in _CONDITION.finditer(body)
        for name in _APPEND.findall(branch[2])
    }
    names = [n for n in _APPEND.findall(body) if n in outputs]
    return tuple((conditions.get(n, ""), outputs.index(n)) for n in names)


def _constant(name: str, body: str) -> bool | int | float | None:
    """Return the value of a local variable that a number or truth value initialises."""
    text = rf"\b(?!return\b)\w+\s+{re.escape(name)}\s*[={{]\s*([\w.+-]+)\s*}}?\s*;"
    found = re.search(text, body)
    if not name.isidentifier() or found is None:
        return None
    if found[1] in ("true", "false"):
        return found[1] == "true"
    number = re.sub(r"(?<=[\d.])[fFlLuU]+$", "", found[1])
    for read in (int, float):
        try:
            return read(number)
        except ValueError:
            continue
    return None


def _is_local_value(name: str, body: str) -> bool:
    """Say whether the function declares a variable of that name that is no tensor."""
    found = re.search(rf"([\w:>]+)\s*[*&]?\s+{re.escape(name)}\s*[;={{(]", body)
    return name.isidentifier() and found is not None and not found[1].endswith("Tensor")


def _is_cleared(output: str, body: str) -> bool:
    name = re.escape(output)
    made = rf"\b{name}\s*=\s*[\w:.]*\bzeros\w*\s*\("
    return (
        re.search(rf"{made}|\b{name}\.(?:zero_\s*\(|fill_\s*\(\s*0[.0f]*\s*\))", body) is not None
    )


def _body(text: str, start: int) -> str:
    depth, at = 1, start
    while at < len(text) and depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[start:at]


def _name(param: str) -> str:
    names = re.findall(r"\w+", param.partition("=")[0])
    return names[-1] if names else ""


def _source(argument: str, params: Sequence[str], body: str) -> str | None:
    """Return the parameter an argument comes from, directly or by one local variable."""
    if argument in params:
        return argument
    definition = re.search(rf"\b{re.escape(argument)}\s*[=({{]([^;]*);", body)
    if not argument.isidentifier() or definition is None or _MADE.search(definition[1]):
        return None
    used = {n for n in re.findall(r"\w+", definition[1]) if n in params}
    return used.pop() if len(used) == 1 else None


def bind_arguments(
    declared: Mapping[str, Any], args: Sequence[Any], labels: Sequence[str] = ()
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the extension's arguments the names of the op's inputs and attrs.

    Tensors go to inputs, other values to attrs, each in order. A value stands for an input when
    tensors alone cannot fill the required ones (an ``aclScalar`` or ``aclIntArray``); a tensor that
    is left over is the value of an attr.

    Args:
        labels: the arguments' names in the extension. Where they name every attr (``training`` is
            ``is_training``), attrs follow the names: an aclnn function may order them differently.
    """
    from msopgen_wrap.torch_import import torch

    slots, names = list(declared["inputs"]), [a["name"] for a in declared["attrs"]]
    complete = len(args) == len(slots) + len(names)
    inputs: dict[str, Any] = {}
    values: list[tuple[str, Any]] = []
    tensors = sum(_is_tensor(a) or a is None for a in args)
    for position, arg in enumerate(args):
        label = labels[position] if position < len(labels) else ""
        required = sum(p["param_type"] == "required" for p in slots)
        if _is_tensor(arg) or arg is None:
            tensors -= 1
            if slots:
                inputs[slots.pop(0)["name"]] = _contiguous(arg)
            elif arg is not None:
                values.append((label, arg.item() if arg.numel() == 1 else arg.tolist()))
        elif slots and not isinstance(arg, (str, bool)) and (complete or tensors < required):
            param = slots.pop(0)
            inputs[param["name"]] = torch.tensor(arg, dtype=_value_dtype(param, arg)).reshape(-1)
        else:
            values.append((label, list(arg) if isinstance(arg, tuple) else arg))
    kinds = {a["name"]: a["type"] for a in declared["attrs"]}
    order = _attrs_by_label([label for label, _ in values], names) or names
    return inputs, {
        name: _as_kind(value, kinds[name]) for name, (_, value) in zip(order, values, strict=False)
    }


def fixed_attrs(
    declared: Mapping[str, Any], fixed: Sequence[tuple[str, bool | int | float]]
) -> dict[str, Any]:
    """Return the attrs that the extension's own constants set, found by their names."""
    kinds = {a["name"]: a["type"] for a in declared["attrs"]}
    found = {}
    for label, value in fixed:
        name = _attr_named(label, list(kinds))
        if name is not None:
            found[name] = _as_kind(value, kinds[name])
    return found


def order_tensors(
    args: Sequence[Any], labels: Sequence[str], names: Sequence[str]
) -> tuple[list[Any], list[str]]:
    """Reorder an extension's tensors as its op is launched with them.

    Args:
        labels: names of the arguments in the extension.
        names: of the tensors in the order of the op's inputs, as its aclnn function names them
            (``self`` is ``self_input``); unless each names one argument, nothing changes.
    """
    places = [i for i, arg in enumerate(args) if _is_tensor(arg) or arg is None]
    plain = {i: labels[i].lower().replace("_", "") for i in places if i < len(labels)}
    chosen = []
    for name in names:
        wanted = name.lower().replace("_", "")
        fits = [i for i, label in plain.items() if label == wanted]
        fits = fits or [i for i, label in plain.items() if _alike(label, wanted)]
        chosen += fits if len(fits) == 1 else []
    if len(chosen) != len(places) or sorted(chosen) != places:
        return list(args), list(labels)
    order = list(range(len(args)))
    for place, source in zip(places, chosen, strict=True):
        order[place] = source
    return [args[i] for i in order], [labels[i] for i in order]


def _attrs_by_label(labels: Sequence[str], names: Sequence[str]) -> list[str] | None:
    """Return the attr that each label names when every one names another attr, exactly one."""
    chosen = [name for label in labels if (name := _attr_named(label, names)) is not None]
    return chosen if len(chosen) == len(labels) and len(set(chosen)) == len(names) else None


def _attr_named(label: str, names: Sequence[str]) -> str | None:
    """Return the one attr that a label names, in part or in full."""
    plain = label.lower().replace("_", "")
    alike = [n for n in names if _alike(plain, n.lower().replace("_", ""))]
    fits = [n for n in alike if n.lower().replace("_", "") == plain] or alike
    return fits[0] if plain and len(fits) == 1 else None


def _alike(label: str, name: str) -> bool:
    return min(len(label), len(name)) >= 3 and (label in name or name in label)


def _as_kind(value: Any, kind: str) -> Any:
    plain = isinstance(value, (int, float))
    convert = {"float": float, "bool": bool, "int": int}.get(kind) if plain else None
    return convert(value) if convert else value


def _value_dtype(param: Mapping[str, Any], value: Any) -> Any:
    from msopgen_wrap.torch_import import torch

    known = [BY_GE_NAME[d].name for d in param["dtypes"] or param["dtype_list"] if d in BY_GE_NAME]
    first = value[0] if isinstance(value, (list, tuple)) and value else value
    wanted = "float32" if isinstance(first, float) else "int64"
    return getattr(torch, wanted if wanted in known or not known else known[0])


def _is_tensor(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return bool(value) and all(hasattr(v, "data_ptr") for v in value)
    return hasattr(value, "data_ptr")


def _contiguous(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [v.contiguous() for v in value]
    return None if value is None else value.contiguous()
