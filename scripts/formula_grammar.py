"""Formulas drawn at random: typed values with sizes that shape rules can say, and their specs.

Every statement is evaluated at two choices of sizes while it is drawn, so that its dtype is torch's
and its sizes are known to be those of the rule. ``formula_draw.py`` draws them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
import torch.nn.functional as F

DTYPES = ("float16", "bfloat16", "float32", "int8", "int16", "int32", "int64", "uint8", "bool")
FLOATS = frozenset(("float16", "bfloat16", "float32"))
# Sizes of the axes of x at the two evaluations; no two axes are equal in both.
SIZES = ((5, 7, 6, 11), (8, 6, 9, 7))
MAX_ELEMENTS = 200_000


@dataclass(frozen=True)
class Value:
    """A tensor of a formula.

    Attributes:
        text: the expression, with ``{0}`` for the first of ``args``; "" for an input.
        dims: its sizes as a shape rule writes them; ``*x[:-1]`` for all leading axes, and one item
            ``?RULE`` for a shape that only another form of rule can say.
        exact: it is free of rounding, so that comparisons with it are decided alike everywhere.
    """

    name: str
    text: str
    args: tuple[str, ...]
    dims: tuple[str, ...]
    dtype: str
    exact: bool = True

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    @property
    def rule(self) -> str:
        """The shape rule."""
        if self.dims[:1] and self.dims[0].startswith("?"):
            return self.dims[0][1:]
        return f"[{', '.join(self.dims)}]"

    @property
    def last_axes(self) -> int:
        """How many axes are known from the end."""
        known = 0
        for dim in reversed(self.dims):
            if dim[0] in "*?":
                break
            known += 1
        return known


@dataclass(frozen=True)
class Formula:
    """A formula as a spec holds it.

    Attributes:
        inputs: values with what the spec says about them beside their dtype (YAML, flow style).
        attrs: name -> the YAML of its entry.
        fixed: statements instead of ``statements``, for formulas over tensor lists.
        wide: whether the spec has a combination of dtypes per float dtype.
    """

    inputs: tuple[tuple[Value, str], ...]
    attrs: dict[str, str]
    statements: tuple[Value, ...]
    outputs: tuple[str, ...]
    inplace: str = ""
    fixed: str = ""
    kinds: frozenset[str] = frozenset()
    wide: bool = False

    def dtypes(self, value: Value) -> str:
        """Return the list of dtypes of a value."""
        own = value.dtype
        if self.wide and self.has_one_float and value.is_float:
            return f"[{', '.join(dict.fromkeys((own, 'float16', 'bfloat16', 'float32')))}]"
        return f"[{own}]"

    @property
    def has_one_float(self) -> bool:
        """Whether all floats have the dtype of x and would have that of another x, too."""
        floats = {v.dtype for v in self.values().values() if v.is_float}
        cast = any(".to(torch." in v.text for v in self.statements)
        return not cast and floats == {self.values()["x"].dtype}

    def spec(self, name: str, backward: str = "none") -> str:
        """Return the text of the spec."""
        rows = [f"op: {name}", "inputs:"]
        rows += [f"  {v.name}: {{dtype: {self.dtypes(v)}{more}}}" for v, more in self.inputs]
        rows.append("outputs:")
        values = self.values()
        for output in self.outputs:
            value = values[output]
            entry = f'{{dtype: {self.dtypes(value)}, shape: "{value.rule}"}}'
            if self.fixed:
                entry = f"{{dtype: [{value.dtype}], shape: like xs, list: true}}"
            if output == self.inplace:
                entry = f"{{dtype: {self.dtypes(value)}, shape: like x, inplace: x}}"
            rows.append(f"  {'x' if output == self.inplace else output}: {entry}")
        if self.attrs:
            rows += ["attrs:", *(f"  {n}: {entry}" for n, entry in self.attrs.items())]
        if any(values[o].is_float for o in self.outputs):
            rows.append("tolerance: {float16: mixed, bfloat16: mixed, float32: mixed}")
        rows += [f"backward: {backward}", "compute: |"]
        return "\n".join([*rows, *(f"  {line}" for line in self.lines())]) + "\n"

    def lines(self) -> list[str]:
        """Return the statements of ``compute``."""
        if self.fixed:
            return self.fixed.splitlines()
        lines = [f"{v.name} = {v.text.format(*v.args)}" for v in self.statements]
        return [*lines, f"x = {self.inplace}"] if self.inplace else lines

    def values(self) -> dict[str, Value]:
        """Return inputs and statements by name."""
        return {v.name: v for v in (*(v for v, _ in self.inputs), *self.statements)}

    def pruned(self) -> Formula:
        """Return the formula without what no output needs."""
        needed = set(self.outputs)
        kept = []
        for value in reversed(self.statements):
            if value.name in needed:
                kept.append(value)
                needed |= set(value.args)
        text = " ".join(v.text + " " + " ".join(v.dims) for v in kept)
        rules = " ".join(more for v, more in self.inputs if v.name in needed)
        inputs = tuple(
            (v, more)
            for v, more in self.inputs
            if v.name in needed or v.name == "x" or f"{v.name}[" in text + rules
        )
        text += " ".join(more for _, more in inputs)
        attrs = {n: e for n, e in self.attrs.items() if _word(n, text)}
        return replace(self, inputs=inputs, attrs=attrs, statements=tuple(reversed(kept)))

    def smaller(self) -> list[Formula]:
        """Return formulas that miss something of this one, those that miss most first."""
        found: list[Formula] = []
        values = self.values()
        if self.fixed:
            return found
        if self.wide:
            found.append(replace(self, wide=False))
        if self.inplace:
            found.append(replace(self, inplace=""))
        if len(self.outputs) > 1:
            found += [replace(self, outputs=(o,)) for o in self.outputs]
            found += [
                replace(self, outputs=tuple(x for x in self.outputs if x != o))
                for o in self.outputs
            ]
        for output in self.outputs:
            for arg in values[output].args:
                if values[arg].text and arg not in self.outputs and output != self.inplace:
                    others = tuple(arg if o == output else o for o in self.outputs)
                    found.append(replace(self, outputs=others))
        for value in reversed(self.statements):
            for arg in value.args:
                other = values[arg]
                if value.name not in self.outputs and (other.dims, other.dtype) == (
                    value.dims,
                    value.dtype,
                ):
                    found.append(self._renamed(value.name, arg))
        unique = {f.spec("F"): f for f in (g.pruned() for g in found)}
        unique.pop(self.spec("F"), None)
        return sorted(unique.values(), key=lambda f: len(f.spec("F")))

    def _renamed(self, old: str, new: str) -> Formula:
        kept = tuple(
            replace(v, args=tuple(new if a == old else a for a in v.args))
            for v in self.statements
            if v.name != old
        )
        return replace(self, statements=kept)


def _word(name: str, text: str) -> bool:
    words = "".join(c if c.isalnum() or c == "_" else " " for c in text).split()
    return name in words


@dataclass
class Draft:
    """A formula while it is drawn.

    Attributes:
        env: name -> tensor, attr or None, at each of two choices of sizes.
    """

    rng: random.Random
    is_open: bool
    rank: int
    inputs: dict[str, str] = field(default_factory=dict)
    attrs: dict[str, str] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    env: list[dict[str, Any]] = field(default_factory=lambda: [{}, {}])
    kinds: set[str] = field(default_factory=set)
    optional: set[str] = field(default_factory=set)

    def pick(self, test: Callable[[Value], bool] = lambda _: True) -> Value:
        """Return a value, rather one that nothing uses yet; raises LookupError without any."""
        fitting = [v for v in self.values.values() if v.name not in self.optional and test(v)]
        if not fitting:
            raise LookupError
        fresh = [v for v in fitting if v.name not in self.used]
        return self.rng.choice(fresh if fresh and self.rng.random() < 0.7 else fitting)

    def attr(self, name: str, entry: str, value: Any) -> str:
        """Add an attr and return its name."""
        self.attrs[name] = entry
        for env in self.env:
            env[name] = value
        return name

    def add_input(self, name: str, dtype: str, dims: Sequence[str], more: str) -> None:
        """Add an input with tensors of the sizes that ``dims`` stand for."""
        self.inputs[name] = more
        self.values[name] = Value(name, "", (), tuple(dims), dtype)
        for number, env in enumerate(self.env):
            shape = SIZES[number][: self.rank] if name == "x" else self.sizes(dims, number)
            data = torch.randn(shape, generator=torch.Generator().manual_seed(len(self.inputs)))
            env[name] = (data * 2).to(getattr(torch, dtype))

    def sizes(self, dims: Sequence[str], number: int) -> tuple[int, ...]:
        """Return the sizes that ``dims`` stand for at one choice of sizes."""
        shapes: dict[str, Any] = {
            n: tuple(t.shape) if isinstance(t, torch.Tensor) else t
            for n, t in self.env[number].items()
        }
        if dims and dims[0].startswith("?"):
            rule = dims[0][1:]
            if rule.startswith("broadcast"):
                names = rule[len("broadcast(") : -1].split(", ")
                return tuple(torch.broadcast_shapes(*(shapes[n] for n in names)))
            return tuple(self.env[number][rule].shape)
        scope = {"min": min, "max": max, "__builtins__": {}}
        return tuple(eval(f"[{', '.join(dims)}]", scope, shapes))  # text of our own making

    def add(self, text: str, args: Sequence[str], dims: Sequence[str], exact: bool) -> bool:
        """Add a statement if torch takes it and gives the sizes expected; says whether it did."""
        name = f"v{len(self.values)}"
        dtypes = set()
        results = []
        for number, env in enumerate(self.env):
            scope = {"torch": torch, "F": F, "math": math}
            try:
                result = eval(text.format(*args), scope, env)  # text of our own making
                expected = self.sizes(dims, number)
            except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError):
                return False
            if not isinstance(result, torch.Tensor) or tuple(result.shape) != expected:
                return False
            if not 0 < result.numel() < MAX_ELEMENTS or result.dim() > 8:
                return False
            dtypes.add(str(result.dtype).removeprefix("torch."))
            results.append(result)
        if len(dtypes) != 1 or not dtypes <= set(DTYPES):
            return False
        for env, result in zip(self.env, results, strict=True):
            env[name] = result
        self.values[name] = Value(name, text, tuple(args), tuple(dims), dtypes.pop(), exact)
        self.used |= set(args)
        return True

    def formula(self, outputs: Sequence[str], inplace: str = "") -> Formula:
        """Return what was drawn, with some of the values as outputs."""
        whole = Formula(
            tuple((self.values[n], more) for n, more in self.inputs.items()),
            dict(self.attrs),
            tuple(v for v in self.values.values() if v.text),
            tuple(outputs),
            inplace,
            kinds=frozenset(self.kinds),
        )
        return whole.pruned()
