"""Ops of others as nodes of a custom domain: what their torch schema tells of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .onnx_ops import OnnxOp

_INPUTS = {"Tensor": "required", "Optional[Tensor]": "optional", "List[Tensor]": "dynamic"}
_ATTRS = {
    "int": "int",
    "SymInt": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "List[int]": "list_int",
    "List[SymInt]": "list_int",
    "List[bool]": "list_int",
    "List[float]": "list_float",
    "ScalarType": "dtype",
    "number": "float",
    "Scalar": "float",
}


@dataclass(frozen=True)
class ForeignOp(OnnxOp):
    """An op that is not of this package.

    Attributes:
        overload: the torch op.
        domain, version: of its nodes.
        places: per argument of the schema ``"input"``, ``"attr"`` or ``""`` (not written).
    """

    overload: Any = None
    domain: str = ""
    version: int = 1
    places: tuple[str, ...] = ()

    def split(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        pairs = list(zip(self.places, values, strict=True))
        return (
            [value for place, value in pairs if place == "input"],
            [value for place, value in pairs if place == "attr"],
        )

    def join(self, tensors: Sequence[Any], attrs: Sequence[Any]) -> list[Any]:
        inputs, others = iter(tensors), iter(attrs)
        defaults = [argument.default_value for argument in self.overload._schema.arguments]
        return [
            next(inputs) if place == "input" else next(others) if place == "attr" else default
            for place, default in zip(self.places, defaults, strict=True)
        ]

    def arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """Return the values of all arguments of a call, in the order of the schema."""
        values = list(args)
        for argument in self.overload._schema.arguments[len(args) :]:
            values.append(kwargs.get(argument.name, argument.default_value))
        return values


class _Guard:
    """Lets a decomposition call the very op that it decomposes."""

    def __init__(self) -> None:
        self.active = False

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        self.active = True
        try:
            yield
        finally:
            self.active = False


guard = _Guard()


def find_overload(target: Any) -> Any:
    """Return the overload of a torch op given as such, as its packet, or as ``ns::op[.overload]``.

    Raises:
        ValueError: there is no such op.
    """
    if isinstance(target, str):
        namespace, _, name = target.partition("::")
        name, _, overload = name.partition(".")
        try:
            target = getattr(getattr(torch.ops, namespace), name)
            return getattr(target, overload or "default")
        except AttributeError as error:
            raise ValueError(
                f"torch has no op {target!r}: import the package that registers it first"
            ) from error
    if isinstance(target, torch._ops.OpOverloadPacket):
        return target.default
    if isinstance(target, torch._ops.OpOverload):
        return target
    overload = getattr(target, "_opoverload", None)  # what torch.library.custom_op returns
    if overload is None:
        raise ValueError(f"{target!r} is not a torch op: give 'namespace::name'")
    return overload


def check_domain(domain: Any, vendor: str) -> None:
    """Refuse what cannot be the domain of someone else's nodes.

    Raises:
        ValueError: no text, ONNX's own domain, or that of this package.
    """
    if not isinstance(domain, str):
        raise ValueError(f"domain={domain!r}: it is a text such as 'custom'")
    if not domain or domain == "ai.onnx":
        raise ValueError(f"domain={domain!r}: that of ONNX itself cannot hold other ops")
    if domain == vendor:
        raise ValueError(f"domain={domain!r}: that of this package holds its own ops")
    if any(c.isspace() or c == ":" for c in domain):
        raise ValueError(f"domain={domain!r}: blanks and colons separate names")


def foreign_op(
    target: Any,
    domain: str,
    op_type: str | None,
    version: int,
    rename: Mapping[str, str],
    drop: Sequence[str],
) -> ForeignOp:
    """Read the op's schema; see ``Exporter.register_foreign`` for the arguments.

    Raises:
        ValueError: no such op, it works in place, or an argument has no form in ONNX.
    """
    overload = find_overload(target)
    schema = overload._schema
    name = schema.name.split("::")[1]
    if schema.is_mutable:
        raise ValueError(f"{schema.name} works in place, which an ONNX graph cannot express")
    unknown = (set(rename) | set(drop)) - {a.name for a in schema.arguments}
    if unknown:
        raise ValueError(f"{schema.name} has no argument {', '.join(sorted(unknown))}")
    inputs, attrs, places = [], [], []
    for argument in schema.arguments:
        kind = str(argument.real_type if hasattr(argument, "real_type") else argument.type)
        bare = kind.removeprefix("Optional[").removesuffix("]") if "Optional[" in kind else kind
        if argument.name in drop:
            places.append("")
        elif kind in _INPUTS:
            places.append("input")
            inputs.append((argument.name, _INPUTS[kind]))
        elif bare in _ATTRS:
            places.append("attr")
            attrs.append((rename.get(argument.name, argument.name), _ATTRS[bare]))
        else:
            raise ValueError(
                f"argument '{argument.name}' of {schema.name} is a {kind}, which ONNX cannot "
                f"hold: leave it out with drop=[{argument.name!r}]"
            )
    names = [name for name, _ in (*inputs, *attrs)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{schema.name}: rename= gives two arguments the name {', '.join(twice)}")
    if op_type is not None and not str(op_type).isidentifier():
        raise ValueError(f"op_type={op_type!r}: a node's type is a name such as 'DeformConv2d'")
    outputs = [
        (r.name or f"output_{i}", "dynamic" if "List" in str(r.type) else "required")
        for i, r in enumerate(schema.returns)
    ]

    keywords = [a.name for a in schema.arguments if a.kwarg_only]

    def fake(*values: Any) -> Any:
        first = len(values) - len(keywords)
        with guard():
            return overload(*values[:first], **dict(zip(keywords, values[first:], strict=True)))

    camel = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
    return ForeignOp(
        name,
        op_type or camel,
        tuple(inputs),
        tuple(outputs),
        tuple(attrs),
        None,
        fake,
        overload,
        domain,
        version,
        tuple(places),
    )
