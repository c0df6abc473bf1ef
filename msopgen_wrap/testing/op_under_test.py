"""The op that ``check_op`` calls: its name, its arguments, which of them it writes, its device."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

from msopgen_wrap.testing.samples import map_tensors, tensors
from msopgen_wrap.torch_import import torch


class OpUnderTest:
    """A callable, with what the checks ask of it.

    Args:
        op: a function, an op of ``torch.ops``, ``SomeFunction.apply``, a module, a C++ function.
        device: where its tensors lie.
        mutates: positions of arguments that it writes on purpose; those of a registered op are
            read from its schema.
    """

    def __init__(self, op: Callable[..., Any], device: torch.device, mutates: Sequence[int] = ()):
        self.function = op
        self.device = device
        self.overload = _overload(op)
        written = set(mutates)
        if self.overload is not None:
            for index, argument in enumerate(self.overload._schema.arguments):
                if argument.alias_info is not None and argument.alias_info.is_write:
                    written.add(index)
        self.mutates = frozenset(written)

    @functools.cached_property
    def name(self) -> str:
        """What to call the op in Python text."""
        return python_name(self.function, "op")

    @functools.cached_property
    def untraceable(self) -> str:
        """Why Dynamo and export cannot see through the op, "" where they can."""
        if self.overload is not None or not isinstance(
            self.function, (types.BuiltinFunctionType, types.BuiltinMethodType)
        ):
            return ""
        owner = getattr(self.function, "__self__", None)
        module = f"{getattr(self.function, '__module__', '')} {getattr(owner, '__module__', '')}"
        own = inspect.ismethod(self.function) or isinstance(owner, type)
        if own or any(part.startswith(("torch", "math")) for part in module.split()):
            return ""
        return "tracing cannot see into a function of a C extension; register it with torch.library"

    def argument(self, index: int) -> str:
        """Return the name of an argument."""
        if self.overload is not None and index < len(self.overload._schema.arguments):
            return str(self.overload._schema.arguments[index].name)
        return f"argument {index}"

    def place(self, args: Sequence[Any]) -> list[Any]:
        """Return copies of the arguments on the op's device."""
        return [map_tensors(self._placed, a) for a in args]

    def _placed(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.detach().clone(memory_format=torch.contiguous_format).to(self.device)

    def __call__(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[torch.Tensor]:
        """Call the op; return the tensors it returns, then the arguments that it writes.

        Raises:
            TypeError: it returned something else.
            RuntimeError: it wanted to end the program.
        """
        try:
            returned = self.function(*args, **kwargs)
        except SystemExit as error:
            raise RuntimeError(f"it ends the program: SystemExit({error.code!r})") from error
        return results(returned, args, self.mutates)


def results(value: Any, args: Sequence[Any], mutates: frozenset[int]) -> list[torch.Tensor]:
    """Return the tensors of a result, then the arguments that were written.

    Raises:
        TypeError: there is no tensor.
    """
    returned = tensors(value)
    written = [t for i in sorted(mutates) if i < len(args) for t in tensors(args[i])]
    if not returned and not written:
        raise TypeError(f"it returned {type(value).__name__}, no tensor")
    # An in-place op may return what it wrote.
    own = {id(t) for t in written}
    return [t for t in returned if id(t) not in own] + written


def _overload(op: Any) -> Any:
    """Return the ``OpOverload`` of a registered op, None for other callables."""
    if isinstance(op, torch._ops.OpOverload):
        return op
    if isinstance(op, torch._ops.OpOverloadPacket):
        names = op.overloads()
        return getattr(op, names[0]) if len(names) == 1 else None
    registered = getattr(op, "_opoverload", None)  # what torch.library.custom_op returns
    return registered if isinstance(registered, torch._ops.OpOverload) else None


def python_name(function: Any, otherwise: str) -> str:
    """Return how a test would write a callable; ``otherwise`` for one without a name."""
    if isinstance(function, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return f"torch.ops.{function}"
    owner = getattr(function, "__self__", None)
    plain = getattr(function, "__name__", "")
    if plain and getattr(torch, plain, None) is function:
        return f"torch.{plain}"
    if isinstance(owner, type) and hasattr(function, "__name__"):
        return f"{owner.__qualname__.rpartition('<locals>.')[2]}.{function.__name__}"
    name = getattr(function, "__qualname__", None) or getattr(function, "_name", None)
    if not isinstance(name, str) or "<lambda>" in name:
        return otherwise
    return name.rpartition("<locals>.")[2]
