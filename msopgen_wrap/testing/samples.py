"""The cases of ``check_op``: what an op is called with."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.torch_import import torch

if TYPE_CHECKING:
    from torch import Tensor

    from msopgen_wrap.spec.model import Tolerance

_LOWEST, _HIGHEST = -4.0, 4.0


@dataclass(frozen=True)
class Input:
    """One tensor argument where a shape alone does not say enough.

    Attributes:
        shape: its dimensions.
        dtype: its own dtype (a torch dtype or name); None takes the case's.
        low, high: range of its values, both ends included for integers.
    """

    shape: tuple[int, ...]
    dtype: Any = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Sample:
    """One call.

    Attributes:
        label: dtype, shapes and attrs, for people.
        dtype: of the case.
        args: CPU tensors, lists of tensors, None, and attrs that are passed by position.
        kwargs: attrs that are passed by name.
        shapes: the entry of ``shapes`` it was made from, as Python text.
        tolerances: per output what judges it instead of the rule; () for the rule.
    """

    label: str
    dtype: torch.dtype
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    shapes: str = ""
    tolerances: tuple[Tolerance | None, ...] = ()

    def with_args(self, args: Sequence[Any], note: str) -> Sample:
        """Return the same case with other arguments; ``note`` says in what they differ."""
        return replace(self, args=tuple(args), label=f"{self.label}, {note}")


def make_samples(shapes: Any, dtypes: Any, attrs: Any) -> list[Sample]:
    """Draw the inputs of every entry of ``shapes`` in every dtype. The same case has the same data.

    Args:
        shapes: as for ``check_op``.
        dtypes: torch dtypes or their names.
        attrs: a mapping (passed by name) or a sequence (by position).

    Raises:
        OpgenError: OPG721, the shapes or dtypes cannot be read; OPG725, a maker gave no arguments.
    """
    if isinstance(shapes, (str, bytes)) or not isinstance(shapes, Sequence) or not shapes:
        raise _bad_shapes(shapes)
    if isinstance(dtypes, str) or not isinstance(dtypes, (Sequence, set, frozenset)):
        dtypes = [dtypes]
    found = []
    for dtype in [dtype_of(d) for d in dtypes]:
        for entry in shapes:
            found.append(_sample(entry, dtype, attrs))
    if not found:
        raise OpgenError(Diagnostic("OPG721", "no dtype was given", fix="dtypes=[torch.float32]"))
    return found


def dtype_of(value: Any) -> torch.dtype:
    """Return a torch dtype from itself or its name.

    Raises:
        OpgenError: OPG721.
    """
    found = getattr(torch, value, None) if isinstance(value, str) else value
    if not isinstance(found, torch.dtype):
        raise OpgenError(
            Diagnostic("OPG721", f"no dtype: {value!r}", fix="torch.float32 or 'float32'")
        )
    if found.is_complex:
        raise OpgenError(
            Diagnostic(
                "OPG721",
                f"{found} cannot be checked",
                why="there is no accuracy rule for complex numbers",
                fix="check the real and the imaginary part as an op of real tensors",
            )
        )
    return found


def _sample(entry: Any, dtype: torch.dtype, attrs: Any) -> Sample:
    by_name = dict(attrs) if isinstance(attrs, Mapping) else {}
    by_position = () if isinstance(attrs, Mapping) else tuple(attrs or ())
    name = str(dtype).removeprefix("torch.")
    told = [f"{k}={v!r}" for k, v in by_name.items()] + [repr(v) for v in by_position]
    if callable(entry) and not isinstance(entry, torch.Tensor):
        text = getattr(entry, "__name__", "maker")
        generator = _generator(f"{name} {text}")
        args = _made(entry, dtype, generator)
    else:
        parts = _parts(entry)
        text = "(" + "".join(f"{_part_text(p)}, " for p in parts).rstrip() + ")"
        generator = _generator(f"{name} {text}")
        args = tuple(_draw(p, dtype, generator) for p in parts)
    label = " ".join([name, *(_shape_text(a) for a in args), *told])
    return Sample(label, dtype, (*args, *by_position), by_name, text)


def _generator(text: str) -> torch.Generator:
    return torch.Generator().manual_seed(zlib.crc32(text.encode()))


def _made(maker: Callable[..., Any], dtype: torch.dtype, generator: torch.Generator) -> Any:
    try:
        args = maker(dtype, generator)
    except Exception as error:
        raise OpgenError(
            Diagnostic(
                "OPG725",
                f"the input maker {getattr(maker, '__name__', maker)!r} failed: "
                f"{type(error).__name__}: {error}",
                why="it is called with (dtype, generator) and returns a tuple of arguments",
            )
        ) from error
    if not isinstance(args, tuple):
        raise OpgenError(
            Diagnostic(
                "OPG725",
                f"the input maker {getattr(maker, '__name__', maker)!r} returned "
                f"{type(args).__name__}",
                why="it is called with (dtype, generator) and returns a tuple of arguments",
                fix="return (x,) for one tensor",
            )
        )
    return args


def _is_shape(value: Any) -> bool:
    return isinstance(value, (tuple, torch.Size)) and all(
        isinstance(d, int) and not isinstance(d, bool) and d >= 0 for d in value
    )


def _parts(entry: Any) -> tuple[Any, ...]:
    """Return the arguments that an entry describes; one shape alone is one argument."""
    if isinstance(entry, Input) or _is_shape(entry):
        return (entry,)
    if not isinstance(entry, (tuple, list)):
        raise _bad_shapes(entry)
    for part in entry:
        listed = part if isinstance(part, list) else [part]
        if not all(
            p is None or isinstance(p, (Input, torch.Tensor)) or _is_shape(p) for p in listed
        ):
            raise _bad_shapes(part)
    return tuple(entry)


def _bad_shapes(value: Any) -> OpgenError:
    return OpgenError(
        Diagnostic(
            "OPG721",
            f"shapes cannot be read: {value!r}",
            why="shapes is a list of cases; a case is a tuple with one entry per tensor argument: "
            "a shape, an Input, a list of these, a tensor, or None for an absent input; or a "
            "function of (dtype, generator) that returns the arguments",
            fix="shapes=[((3, 4), (4,)), ((2, 3, 4), (4,))]",
        )
    )


def _part_text(part: Any) -> str:
    if isinstance(part, list):
        return "[" + ", ".join(_part_text(p) for p in part) + "]"
    if isinstance(part, torch.Tensor):
        return f"torch.tensor({part.tolist()!r}, dtype={part.dtype})"
    if isinstance(part, torch.Size):
        return repr(tuple(part))
    return repr(part)


def _draw(part: Any, dtype: torch.dtype, generator: torch.Generator) -> Any:
    if isinstance(part, list):
        return [_draw(p, dtype, generator) for p in part]
    if part is None or isinstance(part, torch.Tensor):
        return part
    wanted = part if isinstance(part, Input) else Input(tuple(part))
    own = dtype if wanted.dtype is None else dtype_of(wanted.dtype)
    try:
        return draw(wanted.shape, own, generator, wanted.low, wanted.high)
    except (RuntimeError, TypeError, ValueError, OverflowError, MemoryError) as error:
        text = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise OpgenError(
            Diagnostic(
                "OPG721",
                f"an input cannot be drawn: {_part_text(part)} in {own}: {text}",
                why="it has to fit into memory, and its range has to hold a number of the dtype",
                fix="a smaller shape, or Input(shape, dtype, low=0, high=3)",
            )
        ) from error


def draw(
    shape: Sequence[int],
    dtype: torch.dtype,
    generator: torch.Generator,
    low: float | None = None,
    high: float | None = None,
) -> Tensor:
    """Return random values: uniform floats, by default in [-4, 4], integers in [-10, 10]."""
    size = tuple(shape)
    if dtype is torch.bool:
        return torch.randint(0, 2, size, generator=generator).bool()
    if not dtype.is_floating_point:
        least = int(low) if low is not None else max(torch.iinfo(dtype).min, -10)
        most = int(high) if high is not None else 10
        return torch.randint(least, most + 1, size, generator=generator).to(dtype)
    lowest = _LOWEST if low is None else low
    highest = _HIGHEST if high is None else high
    data = torch.rand(size, generator=generator, dtype=torch.float64) * (highest - lowest) + lowest
    return data.to(dtype)


def _shape_text(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return "x".join(str(d) for d in value.shape) or "scalar"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_shape_text(v) for v in value) + "]"
    return "none" if value is None else repr(value)


def tensors(value: Any) -> list[Tensor]:
    """Return the tensors in an argument or a result, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, Mapping):
        return [t for v in value.values() for t in tensors(v)]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tensors(v)]
    return []


def map_tensors(function: Callable[[Tensor], Any], value: Any) -> Any:
    """Return a structure with each tensor replaced."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, Mapping):
        return {k: map_tensors(function, v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        made = [map_tensors(function, v) for v in value]
        return made if isinstance(value, list) else tuple(made)
    return value
