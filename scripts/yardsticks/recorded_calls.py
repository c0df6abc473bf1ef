"""The calls of torch that a model makes in one run, as statements of a spec's ``compute``.

The model runs on real tensors under a mode that sees every call of torch's public functions and
methods before torch takes it apart. Each call becomes one assignment with the names that the model
used. What Python calculates on the way (sizes, branches on ranks) is not seen: the statements hold
for the sizes of this run.
"""

from __future__ import annotations

import ast
import inspect
import keyword
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode, resolve_name

from msopgen_wrap.spec.random_numbers import opgen
from yardsticks.element_writes import written

_OPERATORS = {
    "add": "{0} + {1}",
    "radd": "{1} + {0}",
    "sub": "{0} - {1}",
    "rsub": "{1} - {0}",
    "mul": "{0} * {1}",
    "rmul": "{1} * {0}",
    "truediv": "{0} / {1}",
    "rtruediv": "{1} / {0}",
    "rdiv": "{1} / {0}",
    "div": "{0} / {1}",
    "floordiv": "{0} // {1}",
    "rfloordiv": "{1} // {0}",
    "mod": "{0} % {1}",
    "rmod": "{1} % {0}",
    "pow": "{0} ** {1}",
    "rpow": "{1} ** {0}",
    "matmul": "{0} @ {1}",
    "rmatmul": "{1} @ {0}",
    "and": "{0} & {1}",
    "rand": "{1} & {0}",
    "or": "{0} | {1}",
    "ror": "{1} | {0}",
    "xor": "{0} ^ {1}",
    "rxor": "{1} ^ {0}",
    "invert": "~{0}",
    "neg": "-{0}",
    "eq": "{0} == {1}",
    "ne": "{0} != {1}",
    "lt": "{0} < {1}",
    "le": "{0} <= {1}",
    "gt": "{0} > {1}",
    "ge": "{0} >= {1}",
}
# Calls that give back the values of their first argument.
_SAME = {"contiguous", "clone", "detach", "cpu", "requires_grad_", "positive"}
# Calls that write a tensor, by expressions of what stands in it then.
_WRITES = {
    "copy_": "{1}.expand_as({0}).to({0}.dtype)",
    "fill_": "torch.full_like({0}, {1})",
    "zero_": "torch.zeros_like({0})",
}
# What names, places or orders a tensor, and no value of it.
_UNSAID = {"device", "inplace", "out", "pin_memory", "memory_format", "requires_grad", "layout"}
# Private names of functions that torch.nn.functional dispatches to, by their public ones.
_PUBLIC = re.compile(r"^_(\w+pool\w+)$")


class UnwritableError(Exception):
    """A call that ``compute`` cannot hold; the text says which."""


def _name_in(text: str, taken: Mapping[str, Any] | set[str]) -> str:
    """Return a Python name made of a text that is not taken."""
    base = re.sub(r"\W+", "_", text).strip("_").lower() or "value"
    if not base[0].isalpha() or keyword.iskeyword(base):
        base = f"v_{base}"
    name, count = base, 1
    while name in taken:
        count += 1
        name = f"{base}{count}"
    return name


class RecordedCalls(TorchFunctionMode):
    """Records calls while it is entered.

    Args:
        named: tensors by the names that they shall have: the model's parameters and arguments.

    Attributes:
        inputs: name -> tensor; those of ``named``, and others that the model had of its own.
        statements: (results, text), one per call, in order.
    """

    def __init__(self, named: Mapping[str, torch.Tensor]) -> None:
        super().__init__()
        self.inputs = dict(named)
        self.statements: list[tuple[list[str], str]] = []
        self._names: dict[int, str] = {id(t): n for n, t in named.items()}
        self._kept: list[Any] = []  # an id means nothing once its tensor is gone
        self._constants = 0
        self._masks = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "__get__":
            name = getattr(func.__self__, "__name__", "")
            if name not in ("T", "mT", "H", "mH"):
                return func(*args, **kwargs)
            result = func(*args, **kwargs)
            self._assign(result, f"{self._text(args[0])}.{name}")
            return result
        if name == "__set__":
            raise UnwritableError("assigns to an attribute of a tensor")
        if name == "__setitem__":
            return self._write(func, args)
        if func is F.dropout:
            return self._dropout(*args, **kwargs)
        if func is F.multi_head_attention_forward and _drops(args, kwargs):
            raise UnwritableError("calls F.multi_head_attention_forward, which has random dropout")
        texts: tuple[list[str], dict[str, str]] | None
        try:
            texts = (
                [self._text(a) for a in args],
                {k: self._text(v) for k, v in kwargs.items() if k not in _UNSAID},
            )
            why = None
        except UnwritableError as error:
            texts, why = None, error
        result = func(*args, **kwargs)
        if not _holds_tensor(result):
            return result
        if why is not None or texts is None:
            raise why or UnwritableError(name)
        if self._is_known(result) and name in _SAME | {"to", "type_as", "float", "expand_as"}:
            return result
        if name == "contiguous":
            self._assign(result, f"{texts[0][0]}.contiguous()")  # a view of it may need the order
        elif name in _SAME:
            self._assign(result, texts[0][0])
        else:
            self._assign(result, self._call(func, name, args, *texts))
        return result

    def _write(self, func: Any, args: Sequence[Any]) -> None:
        """Record ``x[index] = value``: the tensor has a new name from here on."""
        text = written(args[0], args[1], args[2], self._text)
        if text is None:
            raise UnwritableError("assigns to elements of a tensor")
        func(*args)
        self._assign(args[0], text)

    def _dropout(self, x: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        """Record a dropout in training with the mask of a seed, and give that result.

        The model takes its mask from torch's generator, whose state no formula has. The mask here
        has another set of dropped elements, of the same probability.
        """
        if not training or p == 0:
            return x
        text = f"opgen.dropout({self._text(x)}, {p!r}, 0, {self._masks})"
        result = opgen.dropout(x, p, 0, self._masks)
        self._masks += 1
        if inplace:
            result = x.copy_(result)
        self._assign(result, text)
        return result

    # ---- values ------------------------------------------------------------------------------

    def _is_known(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor) and id(value) in self._names

    def _text(self, value: Any) -> str:
        """Return an argument as the text of an expression.

        Raises:
            UnwritableError: no expression of ``compute`` gives it.
        """
        if isinstance(value, torch.Tensor):
            return self._name_of(value)
        if isinstance(value, torch.dtype):
            return str(value)
        if isinstance(value, slice):
            start, stop = ("" if v is None else self._text(v) for v in (value.start, value.stop))
            return f"{start}:{stop}" + ("" if value.step is None else f":{self._text(value.step)}")
        if value is Ellipsis:
            return "..."
        if isinstance(value, (list, tuple)):
            items = [self._text(v) for v in value]
            if isinstance(value, tuple):
                return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"
            return "[" + ", ".join(items) + "]"
        if isinstance(value, float) and not math.isfinite(value):
            return "math.nan" if value != value else ("math.inf" if value > 0 else "-math.inf")
        if value is None or isinstance(value, (bool, int, float, str)):
            return repr(value)
        if isinstance(value, (torch.device, torch.memory_format)):
            return "None"
        raise UnwritableError(f"a {type(value).__name__} as an argument")

    def _name_of(self, tensor: torch.Tensor) -> str:
        name = self._names.get(id(tensor))
        if name is None:
            self._constants += 1
            name = _name_in(f"constant{self._constants}", self.inputs)
            self.inputs[name] = tensor
            self._names[id(tensor)] = name
            self._kept.append(tensor)
        return name

    def _assign(self, result: Any, text: str) -> None:
        """Write one assignment; a tensor that was written in place has a new name from here on."""
        parts = list(result) if isinstance(result, (list, tuple)) else [result]
        if not all(isinstance(p, torch.Tensor) for p in parts):
            raise UnwritableError("a call with results that are no tensors")
        names = []
        for part in parts:
            name = f"t{len(self._kept)}"
            self._names[id(part)] = name
            self._kept.append(part)
            names.append(name)
        if isinstance(result, (list, tuple)) and len(parts) == 1:
            text += "[0]"
        self.statements.append((names, text))

    # ---- calls -------------------------------------------------------------------------------

    def _call(
        self, func: Any, name: str, args: Sequence[Any], texts: list[str], named: dict[str, str]
    ) -> str:
        """Return a call as an expression of ``compute``."""
        operator = name.strip("_")
        if name.startswith("__") and name.endswith("__"):
            if name == "__getitem__":
                index = texts[1]
                inner = index[1:-1].rstrip(",") if isinstance(args[1], tuple) else index
                return f"{texts[0]}[{inner}]"
            if operator[0] == "i" and operator[1:] in _OPERATORS:
                operator = operator[1:]
            if operator in _OPERATORS:
                return _infix(operator, texts)
            if operator == "abs":
                return f"torch.abs({texts[0]})"
            raise UnwritableError(f"calls Tensor.{name}")
        if name == "batch_norm" and func is F.batch_norm:
            return _batch_norm(texts, named)
        if func is F.multi_head_attention_forward:
            named["training"] = "False"  # it drops nothing
        if name in _WRITES:
            return _WRITES[name].format(*texts)
        path = resolve_name(func) or name
        in_place = name.endswith("_") and not name.endswith("__")
        public = _PUBLIC.sub(r"\1", name.rstrip("_") if in_place else name)
        listed = ", ".join([*_said(func, args, texts), *(f"{k}={v}" for k, v in named.items())])
        if path.startswith("torch.nn.functional.") and hasattr(F, public):
            return f"F.{public}({listed})"
        if path.startswith("torch.Tensor."):
            if name == "to":
                return _conversion(args, texts, named)
            if public in _OPERATORS and len(texts) == _OPERATORS[public].count("{") and not named:
                return _infix(public, texts)
            _, _, rest = listed.partition(", ")
            return f"{texts[0]}.{public}({rest if len(texts) > 1 or named else ''})"
        space, _, last = path.removeprefix("torch.").rpartition(".")
        if space in ("special", "linalg", "fft"):
            return f"torch.{space}.{last}({listed})"
        return f"torch.{public}({listed})"


def _infix(operator: str, texts: Sequence[str]) -> str:
    """Return an operation of two values; a negative number is put in brackets: ``(-2) ** x``."""
    return _OPERATORS[operator].format(*(f"({t})" if t[0] == "-" else t for t in texts))


def _said(func: Any, args: Sequence[Any], texts: list[str]) -> list[str]:
    """Return the arguments in order, without one that says ``inplace``."""
    if func in (F.relu, F.hardtanh, F.elu, F.leaky_relu, F.silu, F.mish, F.hardswish, F.selu):
        code = getattr(func, "__code__", None)
        names = code.co_varnames[: code.co_argcount] if code else ()
        return [t for n, t in zip(names, texts, strict=False) if n != "inplace"]
    return texts


def _conversion(args: Sequence[Any], texts: list[str], named: dict[str, str]) -> str:
    for value, text in zip(args[1:], texts[1:], strict=True):
        if isinstance(value, torch.dtype):
            return f"{texts[0]}.to({text})"
        if isinstance(value, torch.Tensor):
            return f"{texts[0]}.to({text}.dtype)"
    return f"{texts[0]}.to({named['dtype']})" if "dtype" in named else texts[0]


def _drops(args: Sequence[Any], named: Mapping[str, Any]) -> bool:
    """Whether a call of F.multi_head_attention_forward drops elements."""
    given = inspect.signature(F.multi_head_attention_forward).bind(*args, **named).arguments
    return given["dropout_p"] != 0 and given.get("training", True)


def _batch_norm(texts: list[str], named: dict[str, str]) -> str:
    """Return a batch norm; in training it writes its running statistics, which nothing reads."""
    names = (
        "input",
        "running_mean",
        "running_var",
        "weight",
        "bias",
        "training",
        "momentum",
        "eps",
    )
    given = {**dict(zip(names, texts, strict=False)), **named}
    if given.get("training") == "True":
        given["running_mean"] = given["running_var"] = "None"
    listed = [given.pop(n) for n in names[:3]]
    return f"F.batch_norm({', '.join([*listed, *(f'{k}={v}' for k, v in given.items())])})"


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_holds_tensor, value))
    return isinstance(value, torch.Tensor)


def record(
    function: Callable[..., Any], arguments: Sequence[Any], named: Mapping[str, torch.Tensor]
) -> tuple[RecordedCalls, list[str], list[torch.Tensor]]:
    """Run a function and return its calls, the names of its results, and these.

    Args:
        named: tensors of the arguments and of the model, by name.

    Raises:
        UnwritableError: a call, or a result, that ``compute`` cannot hold.
    """
    calls = RecordedCalls(named)
    with torch.no_grad(), calls:
        result = function(*arguments)
    parts = list(result) if isinstance(result, (list, tuple)) else [result]
    if not parts or not all(isinstance(p, torch.Tensor) for p in parts):
        raise UnwritableError("gives results that are no tensors")
    return calls, [calls._name_of(p) for p in parts], parts


def needed(calls: RecordedCalls, results: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the statements that results need, in order, and the inputs that these read."""
    wanted = set(results)
    kept: list[str] = []
    for names, text in reversed(calls.statements):
        if wanted & set(names):
            kept.append(f"{', '.join(names)} = {text}")
            wanted |= {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
    return kept[::-1], [name for name in calls.inputs if name in wanted]
