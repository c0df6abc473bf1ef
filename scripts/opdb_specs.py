"""Specs of one call each, from the samples of torch's operator database."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import torch

DTYPES = {"float32", "int32", "bool", "int64", "float16", "bfloat16", "int8", "uint8", "int16"}
WISHES = (torch.float32, torch.int32, torch.bool, torch.int64)
SAMPLES_AT_MOST = 200  # of one entry that are looked at
ELEMENTS_AT_MOST = 1 << 20
Range = tuple[float, float]

# How entries are written that are no call of a function with the arguments in the sample's order.
OPERATORS = {
    "__radd__": "{1} + {0}",
    "__rsub__": "{1} - {0}",
    "__rmul__": "{1} * {0}",
    "__rdiv__": "{1} / {0}",
    "__rmod__": "{1} % {0}",
    "__rpow__": "{1} ** {0}",
    "__rand__": "{1} & {0}",
    "__ror__": "{1} | {0}",
    "__rxor__": "{1} ^ {0}",
    "__rmatmul__": "{1} @ {0}",
    "__getitem__": "{0}[{1}]",
    "einsum": "torch.einsum({1}, {0})",
    "where": "torch.where({1}, {0}, {2})",
    "polygamma": "torch.polygamma({1}, {0})",
    "special.polygamma": "torch.special.polygamma({1}, {0})",
    "nn.functional.embedding": "F.embedding({1}, {0}{named})",
    "T": "{0}.T",
    "H": "{0}.H",
    "mT": "{0}.mT",
    "mH": "{0}.mH",
}


class SkipError(Exception):
    """A sample that no spec can hold."""


def label_of(op: Any) -> str:
    """Name of a database entry with its variant."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


class CallWriter:
    """Writes one sample of one entry as a call; ``inputs`` are its tensors in order."""

    def __init__(self) -> None:
        self.inputs: list[Any] = []

    def literal(self, value: Any) -> str:
        if isinstance(value, torch.Tensor):
            if value.layout != torch.strided or str(value.dtype)[6:] not in DTYPES:
                raise SkipError(f"{value.layout} {value.dtype}")
            if value.numel() > ELEMENTS_AT_MOST:
                raise SkipError("a tensor of many elements")
            self.inputs.append(value)
            return f"x{len(self.inputs) - 1}"
        if isinstance(value, torch.dtype):
            return str(value)
        if isinstance(value, slice):
            parts = ["" if v is None else self.literal(v) for v in (value.start, value.stop)]
            step = "" if value.step is None else ":" + self.literal(value.step)
            return ":".join(parts) + step
        if value is Ellipsis:
            return "..."
        if isinstance(value, (list, tuple)):
            items = [self.literal(v) for v in value]
            if isinstance(value, tuple):
                return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"
            return "[" + ", ".join(items) + "]"
        if isinstance(value, float) and value in (float("inf"), float("-inf")):
            return "math.inf" if value > 0 else "-math.inf"
        if isinstance(value, float) and value != value:
            return "math.nan"
        if value is None or isinstance(value, (bool, int, float, str)):
            return repr(value)
        raise SkipError(f"a {type(value).__name__}")

    def call(self, op: Any, sample: Any) -> str:
        """Return the call; raises SkipError where an argument is no literal."""
        if op.name == "slice":
            return self._slice(sample.input, *sample.args, **sample.kwargs)
        args = [self.literal(v) for v in (sample.input, *sample.args)]
        names = {k: self.literal(v) for k, v in sample.kwargs.items() if k != "device"}
        named = [f"{k}={v}" for k, v in names.items()]
        if op.name in OPERATORS:
            text = OPERATORS[op.name].format(*args, named="".join(", " + n for n in named))
            return text.replace("[(", "[").replace(")]", "]") if op.name == "__getitem__" else text
        args += named
        name = op.name.replace("nn.functional.", "F.")
        function = getattr(torch, name, None) if "." not in name else None
        if "." not in name and (function is None or isinstance(function, torch.dtype)):
            return f"{args[0]}.{name}({', '.join(args[1:])})"
        name = name if name.startswith("F.") else f"torch.{name}"
        return f"{name}({', '.join(args)})"

    def _slice(
        self, value: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
    ) -> str:
        """Write ``aten.slice``, which Python knows as an index."""
        index = [slice(None)] * (dim % value.dim()) + [slice(start, end, step)]
        return f"{self.literal(value)}[{', '.join(self.literal(i) for i in index)}]"


def spec_of(op: Any, number: int = 0, dtype: Any = None, open_shapes: bool = False) -> str:
    """Return the text of the spec of one call of an entry.

    Args:
        number: 0 for the first sample without empty and 0-dim tensors; another number draws one
            of all samples, the same for the same number.
        dtype: torch dtype of the samples; None for the first of ``WISHES`` that the op takes.
        open_shapes: leave rank and sizes of the inputs open where the output's shape follows.

    Raises:
        SkipError: no sample of the entry can be a spec of this kind.
    """
    dtypes = op.supported_dtypes("cpu")
    if dtype is None:
        dtype = next((d for d in WISHES if d in dtypes), None)
    if dtype not in dtypes:
        raise SkipError("no real dtype" if dtype is None else f"does not take {dtype}")
    torch.manual_seed(0)
    samples = op.sample_inputs("cpu", dtype, requires_grad=False)
    chosen: Iterator[Any] = iter(samples)
    if number:
        listed = list(itertools.islice(chosen, SAMPLES_AT_MOST))
        random.Random(f"{label_of(op)} {number}").shuffle(listed)
        chosen = iter(listed)
    why = "no sample"
    for sample in chosen:
        try:
            return _spec_of_sample(op, sample, bool(number), open_shapes)
        except SkipError as error:
            why = str(error)
            if why == "random":
                break
    raise SkipError(why)


def _spec_of_sample(op: Any, sample: Any, any_size: bool, open_shapes: bool) -> str:
    writer = CallWriter()
    call = writer.call(op, sample)
    if not writer.inputs:
        raise SkipError("no sample")
    if not any_size and any(t.numel() == 0 or t.dim() == 0 for t in writer.inputs):
        raise SkipError("no sample")
    runs = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        result = op(sample.input, *sample.args, **sample.kwargs)
        runs.append(list(result) if isinstance(result, (tuple, list)) else [result])
        if isinstance(result, (tuple, list)) and len(result) == 1 and not seed:
            call += "[0]"
    outputs = [t for t in runs[0] if isinstance(t, torch.Tensor)]
    if not outputs or len(outputs) != len(runs[0]):
        raise SkipError("results that are no tensors")
    if not any_size and any(t.numel() == 0 for t in outputs):
        raise SkipError("results that are no tensors")
    if any(str(t.dtype)[6:] not in DTYPES | {"float64"} for t in outputs):
        raise SkipError(f"gives {outputs[0].dtype}")
    pairs = zip(*runs, strict=True)
    if not all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in pairs):
        raise SkipError("random")
    text = _open_text if open_shapes else _text
    return text(label_of(op), writer.inputs, outputs, call, _float_range(op, sample))


def _float_range(op: Any, sample: Any) -> Range | None:
    """Return the range that floats need, None where the operator takes what tests draw."""

    def takes(low: float, high: float) -> bool:
        def drawn(value: Any) -> Any:
            if not isinstance(value, torch.Tensor) or not value.is_floating_point():
                return value
            return torch.rand_like(value) * (high - low) + low

        other = sample.transform(drawn)
        try:
            op(other.input, *other.args, **other.kwargs)
        except (RuntimeError, ValueError):
            return False
        return True

    return None if all(takes(-4.0, 4.0) for _ in range(5)) else (0.0, 1.0)


def _range(tensor: Any, floats: Range | None) -> str:
    """Return the range of test data of an input: an index, say, must not leave its axis."""
    if tensor.dtype == torch.bool or not tensor.numel():
        return ""
    if tensor.is_floating_point():
        return f", range: [{floats[0]}, {floats[1]}]" if floats else ""
    return f", range: [{int(tensor.min())}, {int(tensor.max())}]"


def _text(
    label: str, inputs: list[Any], outputs: list[Any], call: str, floats: Range | None
) -> str:
    """Format a spec whose shapes are those of the tensors.

    Args:
        floats: range of the floats.
    """

    def entry(name: str, tensor: Any) -> str:
        sizes = ", ".join(str(n) for n in tensor.shape)
        limits = _range(tensor, floats) if name[0] == "x" else ""
        return f'  {name}: {{dtype: [{str(tensor.dtype)[6:]}], shape: "[{sizes}]"{limits}}}'

    rows = [f"op: Db{_words(label)}", "inputs:"]
    rows += [entry(f"x{i}", t) for i, t in enumerate(inputs)]
    rows += ["outputs:", *(entry(f"y{i}", t) for i, t in enumerate(outputs))]
    rows += ["backward: none", "compute: |", f"  {call}"]
    return "\n".join(rows) + "\n"


def _open_text(
    label: str, inputs: list[Any], outputs: list[Any], call: str, floats: Range | None
) -> str:
    """Format a spec of open shapes; every output is as long as the broadcast inputs, or a number.

    Raises:
        SkipError: an output has another shape.
    """
    joined = torch.broadcast_shapes(*(t.shape for t in inputs))
    names = [f"x{i}" for i in range(len(inputs))]
    whole = f"broadcast({', '.join(names)})" if len(names) > 1 else "like x0"
    rows = [f"op: Db{_words(label)}", "inputs:"]
    for name, tensor in zip(names, inputs, strict=True):
        rows.append(f"  {name}: {{dtype: [{str(tensor.dtype)[6:]}]{_range(tensor, floats)}}}")
    rows.append("outputs:")
    for i, tensor in enumerate(outputs):
        if tensor.shape != joined and tensor.dim():
            raise SkipError("the output has a shape of its own")
        shape = f'"{whole}"' if tensor.shape == joined else '"[]"'
        rows.append(f"  y{i}: {{dtype: [{str(tensor.dtype)[6:]}], shape: {shape}}}")
    rows += ["backward: none", "compute: |", f"  {call}"]
    return "\n".join(rows) + "\n"


def _words(label: str) -> str:
    """Return a label as the camel-case word of an op type."""
    return "".join(c if c.isalnum() else " " for c in label).title().replace(" ", "")
