"""Tensors of ``opgen run``: numpy memory with a torch dtype name; bfloat16 needs no torch."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.run.storage import FORMATS, fits, from_memory, is_plain, to_memory

_SPEC = re.compile(r"\s*([a-z]+[0-9]*)\s*\[([\d\s,]*)\]\s*(?:\(([^)]*)\))?\s*(?:@(\w+))?\s*\Z")
# No plausible result: an output the kernel did not write cannot look right.
_POISON = 0xA5
_ALIGNMENT = 512  # bytes, of device allocations


@dataclass(frozen=True)
class TensorSpec:
    """dtype (torch name) and shape, with the range random values are drawn from.

    ``layout`` is a name of ``storage.FORMATS``, "" where nobody has said one.
    """

    dtype: str
    shape: tuple[int, ...]
    low: float | None = None
    high: float | None = None
    layout: str = ""


@dataclass
class Tensor:
    """A dense tensor: ``data`` has the shape; bfloat16 lies in it as uint16 bit patterns.

    ``memory`` is what a kernel gets: the data itself, except for int4 and formats
    that are not plain.
    ``holds_data``: as an output, the caller has filled it, and the op may add to it.
    """

    dtype: str
    data: np.ndarray[Any, Any]
    layout: str = ""
    holds_data: bool = False
    memory: np.ndarray[Any, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.data = _aligned(self.data)
        self.set_layout(self.layout)

    def set_layout(self, layout: str) -> None:
        """Lay the data out in memory as a format says."""
        self.layout = layout
        self.memory = self.data
        if not self._plain:
            self.memory = _aligned(to_memory(self.data, self.dtype, layout))

    @property
    def _plain(self) -> bool:
        return is_plain(self.dtype, self.layout or "ND")

    def refresh(self) -> None:
        """Take over what a kernel has written to the memory."""
        if not self._plain:
            self.data = from_memory(self.memory, self.shape, self.dtype, self.layout)

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions."""
        return tuple(self.data.shape)

    @classmethod
    def empty(cls, spec: TensorSpec) -> Tensor:
        """Return zeroed memory for a spec."""
        return cls(spec.dtype, np.zeros(spec.shape, storage_dtype(spec.dtype)), spec.layout)

    @classmethod
    def poisoned(cls, spec: TensorSpec) -> Tensor:
        """Return memory filled with a pattern that is no plausible result."""
        tensor = cls.empty(spec)
        tensor.memory.reshape(-1).view(np.uint8).fill(_POISON)
        tensor.refresh()
        return tensor

    @classmethod
    def random(cls, spec: TensorSpec, rng: np.random.Generator) -> Tensor:
        """Return random values: uniform floats in [-1, 1), integers in [-10, 10] by default."""
        row = BY_NAME[spec.dtype]
        if spec.dtype == "bool":
            flags = np.asarray(rng.integers(0, 2, spec.shape)).astype(np.bool_)
            return cls("bool", flags, spec.layout)
        if row.numpy is not None and np.dtype(row.numpy).kind in "iu":
            unsigned = np.dtype(row.numpy).kind == "u"
            least, most = (-8, 7) if spec.dtype == "int4" else (0 if unsigned else -10, 10)
            low = int(spec.low if spec.low is not None else least)
            high = int(spec.high if spec.high is not None else most)
            values = np.asarray(rng.integers(low, high + 1, spec.shape)).astype(row.numpy)
            return cls(spec.dtype, values, spec.layout)
        lowest = spec.low if spec.low is not None else -1.0
        highest = spec.high if spec.high is not None else 1.0
        return cls.from_float(rng.uniform(lowest, highest, spec.shape), spec.dtype, spec.layout)

    @classmethod
    def from_float(cls, values: np.ndarray[Any, Any], dtype: str, layout: str = "") -> Tensor:
        """Round float values to ``dtype`` (to nearest even)."""
        if dtype == "bfloat16":
            return cls(dtype, _to_bfloat16(np.asarray(values, np.float32)), layout)
        stored = np.asarray(np.asarray(values).astype(storage_dtype(dtype)), order="C")
        return cls(dtype, stored, layout)

    def to_float(self) -> np.ndarray[Any, Any]:
        """Return the values as float64 (bool and integers too)."""
        if self.dtype == "bfloat16":
            wide = self.data.astype(np.uint32) << 16
            return wide.view(np.float32).astype(np.float64)
        return self.data.astype(np.float64)

    def save(self, path: Path) -> None:
        """Write ``.npy`` (bfloat16 as uint16 bit patterns) or, by its ending, raw ``.bin``."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".bin":
            self.data.tofile(path)
        else:
            np.save(path, self.data)


def cut_to_shapes(values: Sequence[Any], shapes: Sequence[tuple[int, ...] | None]) -> list[Any]:
    """Return the outputs cut to the shapes that the kernel told; ``shapes`` are flattened."""
    rest = iter(shapes)

    def cut(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [cut(v) for v in value]
        shape = next(rest) if value is not None else None
        if shape is None:
            return value
        if isinstance(value, Tensor):
            return Tensor(value.dtype, cut_array(value.data, shape), value.layout)
        return cut_array(value, shape)

    def cut_array(array: Any, shape: tuple[int, ...]) -> Any:
        return array.reshape(-1)[: math.prod(shape)].reshape(shape)

    return [cut(value) for value in values]


def storage_dtype(dtype: str) -> np.dtype[Any]:
    """Return the numpy dtype a tensor's memory has; raises KeyError for an unknown name."""
    return np.dtype(BY_NAME[dtype].numpy or "uint16")


def _aligned(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array at an address a device allocation could have, with free bytes behind it."""
    if values.ctypes.data % _ALIGNMENT == 0 and values.flags["C_CONTIGUOUS"]:
        return values
    memory = np.zeros(values.nbytes + 2 * _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    result = memory[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    result[...] = values
    return result


def _to_bfloat16(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    bits = np.asarray(values, order="C").view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    # Rounding must not turn a NaN into infinity.
    return np.where(np.isnan(values), (bits >> 16) | 0x40, rounded).astype(np.uint16)


def parse_spec(text: str) -> TensorSpec:
    """Parse ``float16[2,3]``, with ``(-4,4)`` (range of random values) and ``@FORMAT`` behind.

    Raises:
        OpgenError: OPG524.
    """
    match = _SPEC.match(text)
    if match is None or match[1] not in BY_NAME:
        raise OpgenError(
            Diagnostic(
                "OPG524",
                f"cannot read the tensor {text!r}",
                why=f"dtypes: {', '.join(BY_NAME)}",
                fix="write float16[2,3], float16[2,3](-4,4) for a range, or a .npy/.bin file",
            )
        )
    shape = tuple(int(d) for d in match[2].split(",") if d.strip())
    low = high = None
    if match[3]:
        try:
            low, high = (float(v) for v in match[3].split(","))
        except ValueError:
            raise OpgenError(
                Diagnostic("OPG524", f"cannot read the range in {text!r}", fix="write (low,high)")
            ) from None
    layout = match[4] or ""
    if layout:
        _check_layout(text, layout, shape)
    return TensorSpec(match[1], shape, low, high, layout)


def load_output(text: str, rng: np.random.Generator) -> Tensor | TensorSpec:
    """Make an output from command-line text: :func:`parse_spec`'s, or a tensor with data in it.

    With data are a file and ``zeros:``, ``ones:`` or ``arange:``, as for :func:`load_tensor`.
    """
    if ":" not in text and not text.partition("@")[0].endswith(".npy"):
        return parse_spec(text)
    tensor = load_tensor(text, rng)
    tensor.holds_data = True
    return tensor


def _check_layout(text: str, layout: str, shape: tuple[int, ...]) -> None:
    if layout not in FORMATS or not fits(layout, len(shape)):
        raise OpgenError(
            Diagnostic(
                "OPG524",
                f"cannot read the tensor {text!r}",
                why=f"formats: {', '.join(FORMATS)}; FRACTAL_NZ is for two dimensions or more, "
                "NC1HWC0 and FRACTAL_Z for NCHW, NDC1HWC0 and FRACTAL_Z_3D for NCDHW",
                fix="give the tensor's own shape: the memory is laid out from it",
            )
        )


def load_tensor(text: str, rng: np.random.Generator) -> Tensor:
    """Make a tensor from command-line text.

    Forms: ``file.npy``; ``file.npy:bfloat16`` (bit patterns); ``file.bin:float16[2,3]``;
    ``float16[2,3]`` (random); ``zeros:``, ``ones:`` or ``arange:`` before a dtype and shape. Behind
    each ``@FORMAT``: how the op is to get it; the values are given as a plain array in any case.

    Raises:
        OpgenError: OPG524 (form), OPG525 (file).
    """
    for name in ("zeros", "ones", "arange"):
        if text.startswith(name + ":"):
            spec = parse_spec(text[len(name) + 1 :])
            count = math.prod(spec.shape)
            values = {"zeros": np.zeros(count), "ones": np.ones(count), "arange": np.arange(count)}
            return Tensor.from_float(values[name].reshape(spec.shape), spec.dtype, spec.layout)
    path, _, rest = text.partition(":")
    layout = ""
    if not path.endswith(".bin"):
        whole, _, layout = text.partition("@")
        if whole.partition(":")[0].endswith(".npy"):
            path, _, rest = whole.partition(":")
    if not path.endswith((".npy", ".bin")):
        return Tensor.random(parse_spec(text), rng)
    try:
        if path.endswith(".bin"):
            spec = parse_spec(rest)
            data = np.fromfile(path, storage_dtype(spec.dtype))
            return Tensor(spec.dtype, data.reshape(spec.shape), spec.layout)
        data = np.asarray(np.load(path, allow_pickle=False), order="C")
    except (OSError, ValueError) as error:
        raise OpgenError(
            Diagnostic("OPG525", f"cannot read {path}: {error}", Location(path))
        ) from error
    dtype = rest or str(data.dtype)
    if dtype not in BY_NAME or storage_dtype(dtype) != data.dtype:
        raise OpgenError(
            Diagnostic(
                "OPG525",
                f"{path} holds {data.dtype}, which cannot be used as {dtype}",
                Location(path),
                fix="bfloat16 is stored as uint16, int4 as int8; name them file.npy:bfloat16",
            )
        )
    if layout:
        _check_layout(text, layout, data.shape)
    return Tensor(dtype, data, layout)
