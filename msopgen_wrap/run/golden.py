"""Inputs of a test case and its golden reference in float64."""

from __future__ import annotations

import contextlib
import functools
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.graph.index_ranges import index_uses, searched_sequences, sort_sequences
from msopgen_wrap.graph.kept_tensors import meta_inputs
from msopgen_wrap.graph.orders import order_decompositions
from msopgen_wrap.graph.resampling import upsampling_steps
from msopgen_wrap.graph.trace_rewrites import Composites
from msopgen_wrap.run.chosen_places import ChosenPlaces, has_nan
from msopgen_wrap.run.conditioning import Conditioning
from msopgen_wrap.run.exact_slopes import ExactSlopes
from msopgen_wrap.run.hf32_products import Hf32Products
from msopgen_wrap.run.hidden_keys import HiddenKeys, attention_in_steps
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.run.reference_modes import KernelSteps, Provenance, RoundedProducts, StableOrders
from msopgen_wrap.run.special_values import searched, set_special_values
from msopgen_wrap.run.temporary_sizes import MOST_PAIRS, MOST_TEMPORARY, LargestTemporary
from msopgen_wrap.run.unspecified_integers import (
    beyond,
    converted_floats,
    differences,
    saturated,
)
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.model import OpSpec, ParamKind, TensorParam
from msopgen_wrap.spec.shapes import float32
from msopgen_wrap.torch_import import torch

tree_leaves, tree_map = torch.utils._pytree.tree_leaves, torch.utils._pytree.tree_map

# exp overflows float32 above 88; half still adds and squares a row of these.
WIDE = 120.0
_FLOATS = (torch.float16, torch.bfloat16, torch.float32)
_FLOAT_EPSILON, _DOUBLE_EPSILON = (torch.finfo(d).eps for d in (torch.float32, torch.float64))
Value = Any  # a tensor, a list of tensors, or None


class NotApplicable(Exception):
    """The op's own PyTorch reference refuses this case, so there is nothing to compare with."""


@dataclass(frozen=True)
class Reference:
    """What a case should give.

    Attributes:
        golden: per output the float64 result (integers and bool in their own dtype).
        native: per output the result computed in the case's own dtypes by PyTorch on the CPU.
        quantised: integer outputs that were rounded from floats which ``compute`` calculated.
        constant: outputs made of no element of an input.
        steps: per output the result of ``KernelSteps``, in cases of extreme values only, and where
            PyTorch itself overflows on its way to a finite result.
        conditioning: the errors that roundings explain; None where ``compute`` adds nothing up.
        ties: tells which integers lie next to a tie; None where none are quantised.
        places: outputs that say where elements were found, any of equal ones.
        unspecified: per output which elements follow from integers that PyTorch leaves open.
    """

    golden: dict[str, Value]
    native: dict[str, Value]
    quantised: frozenset[str] = frozenset()
    constant: frozenset[str] = frozenset()
    steps: dict[str, Value] = field(default_factory=dict)
    conditioning: Conditioning | None = None
    ties: Conditioning | None = None
    places: dict[str, ChosenPlaces] = field(default_factory=dict)
    unspecified: dict[str, Value] = field(default_factory=dict)


class KeepDouble(Provenance):
    """Refuse to leave float64: a reference that says ``x.float()`` still computes in double.

    Sorts are stable, as those of kernels are: without ``stable=True`` PyTorch gives equal elements
    in any order, so that positions could not be compared. ``topk`` is the beginning of such a sort:
    work behind its positions then gives one result. The mode of a row with NaN is that of its
    numbers, as for kernels: PyTorch's depends on where the NaN is. An attention has no part of the
    values that a causal mask hides. A polynomial of NaN is NaN. Slopes keep their digits
    (``exact_slopes``).

    Args:
        saturating: whether floats that an integer cannot hold become those of a kernel.
        epsilon: whether ``rms_norm`` adds the epsilon of float32 where it is given none, as for
            float16, bfloat16 and float32; not where the case itself is in float64.

    Attributes:
        unspecified: whether there was such a float.
    """

    def __init__(self, saturating: bool = False, epsilon: bool = True) -> None:
        super().__init__()
        self.saturating, self.unspecified = saturating, False
        self.epsilon = epsilon
        self._hidden_keys = HiddenKeys(self.constant)
        self._slopes = ExactSlopes()
        self._upsampling = upsampling_steps()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        # ``rms_norm`` is made of calls, one of which adds the epsilon of the dtype
        if self.epsilon and args[1:] and type(args[1]) is float and args[1] == _DOUBLE_EPSILON:
            args = (args[0], _FLOAT_EPSILON, *args[2:])
        exact = self._slopes.gradient(func, args)
        if exact is not None:
            self.note(func, args, exact)
            return exact
        if kwargs.get("dtype") in _FLOATS or _makes_floats(func, args, kwargs):
            kwargs["dtype"] = torch.float64
        if func is torch.ops.aten.sort.default:
            func = torch.ops.aten.sort.stable
        if func is torch.ops.aten.sort.stable:
            kwargs["stable"] = True
            names = ("dim", "descending")  # these follow a bar in the other overload
            kwargs.update(zip(names, args[1:], strict=False))
            args = args[:1]
        if func is torch.ops.aten.topk.default:
            return self._first_of_stable_sort(func, types, args, kwargs)
        if func is torch.ops.aten.mode.default and args[0].is_floating_point() and args[0].dim():
            return self._mode_of_numbers(func, types, args, kwargs)
        with self:
            steps = attention_in_steps(func, args, kwargs)
        if steps is not NotImplemented:
            return steps
        found = searched(func, args, kwargs)
        if found is not None:
            self.note(func, args, found)
            return found
        if func in self._upsampling and args[0].is_floating_point():
            # PyTorch's kernels for narrower floats have positions in float32: far out on a long
            # axis these differ from those of float64
            result = self._upsampling[func](*args, **kwargs)
            self.note(func, args, result)
            return result
        result = super().__torch_dispatch__(func, types, args, kwargs)
        name = func.overloadpacket.__name__
        self._slopes.note(func, args, result)
        self._hidden_keys.note(name, args, result)
        set_special_values(name, args, result)
        floats = converted_floats(name, args, result)
        if floats is not None and bool((open_ := beyond(floats, result.dtype)).any()):
            self.unspecified = True
            if self.saturating:
                result.copy_(torch.where(open_, saturated(floats, result.dtype), result))
        return result

    def _first_of_stable_sort(
        self, func: Any, types: Any, args: Any, kwargs: dict[str, Any]
    ) -> Any:
        result = super().__torch_dispatch__(func, types, args, kwargs)
        named = dict(zip(("self", "k", "dim", "largest", "sorted"), args, strict=False)) | kwargs
        source, axis = named["self"], named.get("dim", -1)
        if source.dim():
            largest = named.get("largest", True)
            ordered = torch.sort(source, dim=axis, descending=largest, stable=True)
            for kept, found in zip(result, ordered, strict=True):
                kept.copy_(found.narrow(axis, 0, named["k"]))  # stays the result noted
        return result

    def _mode_of_numbers(self, func: Any, types: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        result = super().__torch_dispatch__(func, types, args, kwargs)
        axis = args[1] if len(args) > 1 else kwargs.get("dim", -1)
        unordered = has_nan(args[0], axis).reshape(result[0].shape)
        numbers = order_decompositions()[func](*args, **kwargs)
        result[0].copy_(torch.where(unordered, numbers[0], result[0]))  # stays the result noted
        return result


def make_inputs(spec: OpSpec, case: TestCase) -> dict[str, Value]:
    """Draw the case's inputs; the same case gives the same data on every machine."""
    generator = torch.Generator().manual_seed(zlib.crc32(case.label(spec).encode()))
    inputs: dict[str, Value] = {}
    indices = index_uses(spec, case)
    for param in spec.inputs:
        shape = case.shapes.get(param.name)
        dtype = getattr(torch, param.dtypes[case.combo])
        if shape is None:
            inputs[param.name] = None
        elif param.name in indices:
            inputs[param.name] = indices[param.name].draw(shape, generator).to(dtype)
        elif param.kind is ParamKind.DYNAMIC:
            inputs[param.name] = [_draw(param, s, dtype, case, generator) for s in shape]
        else:
            inputs[param.name] = _draw(param, shape, dtype, case, generator)
    if case.values == "special":
        _ensure_special(spec, inputs)
    sort_sequences(inputs, searched_sequences(spec, case))
    return inputs


def _ensure_special(spec: OpSpec, inputs: dict[str, Value]) -> None:
    """Make the first float NaN where inputs are so small that no NaN and infinity was drawn.

    Without one the cases of a formula may not tell its results from zeros, as those of
    ``log_softmax`` of one number.
    """
    free = {p.name for p in spec.inputs if p.low is None and p.high is None}
    given = [inputs[name] for name in inputs if name in free]
    floats = [v for v in given if isinstance(v, torch.Tensor) and v.is_floating_point()]
    drawn = [v for v in floats if v.numel()]
    if drawn and all(bool(torch.isfinite(v).all()) for v in drawn):
        drawn[0].view(-1)[0] = torch.nan


def _draw(
    param: TensorParam,
    shape: tuple[int, ...],
    dtype: torch.dtype,
    case: TestCase,
    generator: torch.Generator,
) -> torch.Tensor:
    if dtype is torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        low = int(param.low) if param.low is not None else max(info.min, -50)
        high = int(param.high) if param.high is not None else min(info.max, 100)
        return torch.randint(low, high + 1, shape, generator=generator).to(dtype)
    if case.values == "whole" and param.low is None and param.high is None:
        return torch.randint(-1, 2, shape, generator=generator).to(dtype)
    if case.values == "wide" and param.low is None and param.high is None:
        return (torch.rand(shape, generator=generator) * 2 - 1).mul(WIDE).to(dtype)
    lowest = -4.0 if param.low is None else param.low
    highest = 4.0 if param.high is None else param.high
    data = torch.rand(shape, generator=generator) * (highest - lowest) + lowest
    if case.values == "special" and param.low is None and param.high is None:
        data = _sprinkle(data, dtype, generator)
    return data.to(dtype)


def _sprinkle(data: torch.Tensor, dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    """Replace a quarter of the elements by the values arithmetic is hardest on."""
    info = torch.finfo(dtype)
    extremes = torch.tensor(
        [
            float("inf"),
            float("-inf"),
            float("nan"),
            0.0,
            -0.0,
            info.max,
            info.min,
            info.tiny,
            -info.tiny,
            info.smallest_normal / 4,
            1.0,
            -1.0,
            20.0,
            -20.0,
        ],
        dtype=torch.float64,
    )
    picks = torch.randint(0, len(extremes), data.shape, generator=generator)
    chosen = torch.rand(data.shape, generator=generator) < 0.25
    return torch.where(chosen, extremes[picks], data.double())


def _attrs_as_passed(spec: OpSpec, case: TestCase) -> dict[str, Any]:
    """Return the attrs with floats rounded to float32, which is what CANN hands to an op.

    ``1 - beta`` of a float32 0.9 is off by 2e-7, more than a float32 result may be: the rounding
    belongs to the interface, not to the kernel under test.
    """
    attrs = {a.name: a.default for a in spec.attrs if a.type in ("float", "list_float")}
    attrs = {n: v for n, v in attrs.items() if isinstance(v, (float, tuple, list))} | case.attrs
    return {name: _as_float32(value) for name, value in attrs.items()}


def _as_float32(value: Any) -> Any:
    """Return a number or a list with floats rounded to float32; anything else as it is."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_as_float32, value))
    return float32(value) if isinstance(value, float) else value


def _makes_floats(func: Any, args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether a call makes a tensor of no other one, in the dtype that PyTorch has by default."""
    if not _asks_dtype(func) or kwargs.get("dtype") is not None:
        return False
    if any(map(torch.is_tensor, tree_leaves((args, kwargs)))):
        return False
    with torch.utils._python_dispatch._disable_current_modes():
        return bool(func(*args, **{**kwargs, "device": "meta"}).is_floating_point())


@functools.cache
def _asks_dtype(func: Any) -> bool:
    return any(argument.name == "dtype" for argument in func._schema.arguments)


def reference(spec: OpSpec, case: TestCase, inputs: dict[str, Value]) -> Reference:
    """Run the spec's ``compute`` in float64 and in the case's own dtypes.

    Raises:
        NotApplicable: ``compute`` itself refuses the case (say, an axis the rank does not have).
    """
    function = _in_stable_order(_compiled(spec)) if spec.differentiated else _compiled(spec)
    attrs = _attrs_as_passed(spec, case)
    try:
        with torch.no_grad():
            with KeepDouble() as origins:
                golden = function(tree_map(_wide_copy, inputs), attrs)
            other: dict[str, Value] | None = None
            if origins.unspecified:
                with KeepDouble(saturating=True):
                    other = function(tree_map(_wide_copy, inputs), attrs)
            with RoundedProducts(), Hf32Products() if spec.hf32 else contextlib.nullcontext():
                native = function(_copies(inputs), attrs)
            stepped: dict[str, Value] = {}
            if case.values != "normal" or _overflows_on_the_way(golden, native):
                # where PyTorch adds up inside of a derivative, the kernel's formula shows the sums
                formulas = Composites(True) if spec.differentiated else contextlib.nullcontext()
                with KernelSteps(), formulas:
                    stepped = function(tree_map(_float_copy, inputs), attrs)
    except (RuntimeError, IndexError, ValueError, ZeroDivisionError) as error:
        raise NotApplicable(str(error).splitlines()[0]) from error
    except OpgenError as error:
        raise _too_long(error) from error
    rounded = frozenset(
        p.name
        for p in spec.outputs
        if origins.quantised(golden[p.name], getattr(torch, p.dtypes[case.combo]))
    )
    constant = frozenset(p.name for p in spec.outputs if origins.constant(golden[p.name]))
    wide = _as_outputs(spec, case, golden, wide=True)

    def again(given: dict[str, Value], double: bool) -> dict[str, Value]:
        with torch.no_grad(), KeepDouble() if double else contextlib.nullcontext():
            return _as_outputs(spec, case, function(given, attrs), wide=True)

    conditioning = Conditioning(again, inputs, wide)
    return Reference(
        wide,
        _as_outputs(spec, case, native),
        rounded,
        constant,
        {p.name: stepped[p.name] for p in spec.outputs if p.name in stepped},
        conditioning if origins.adds else None,
        conditioning if rounded else None,
        {p.name: found for p in spec.outputs if (found := origins.places(golden[p.name]))},
        {p.name: differences(golden[p.name], other[p.name]) for p in spec.outputs if other},
    )


def _in_stable_order(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a gradient's function that chooses the first of equal elements."""

    def ordered(*args: Any) -> Any:
        with StableOrders():
            return function(*args)

    return ordered


_last_compiled: list[tuple[OpSpec, Callable[..., dict[str, Value]]]] = []


def _compiled(spec: OpSpec) -> Callable[..., dict[str, Value]]:
    """Return the function of ``compute``, which the cases of one spec share."""
    if not _last_compiled or _last_compiled[0][0] is not spec:
        _last_compiled[:] = [(spec, compile_compute(spec, wrap_errors=False))]
    return _last_compiled[0][1]


def acceptance(spec: OpSpec) -> Callable[[dict[str, Any], dict[str, Any]], bool]:
    """Return a function that says whether ``compute`` takes input shapes with attrs.

    It runs ``compute`` on meta tensors. A ``compute`` that needs data to run is not judged. Shapes
    are refused, too, of which a temporary has more than ``MOST_TEMPORARY`` elements, or of which a
    kernel makes more than ``MOST_PAIRS`` pairs.
    """
    function = compile_compute(spec, wrap_errors=False)

    def accepts(shapes: dict[str, Any], attrs: dict[str, Any]) -> bool:
        try:
            with LargestTemporary() as temporaries:
                _on_meta(function, spec, TestCase(0, shapes, attrs))
        except NotApplicable:
            return False
        return temporaries.elements <= MOST_TEMPORARY and temporaries.pairs <= MOST_PAIRS

    return accepts


def meta_results(spec: OpSpec, case: TestCase) -> dict[str, Value] | None:
    """Return what ``compute`` gives on meta tensors (shapes and dtypes without data).

    Returns:
        The outputs by name; None for a ``compute`` that needs data to run.

    Raises:
        NotApplicable: ``compute`` refuses the case.
    """
    return _on_meta(compile_compute(spec, wrap_errors=False), spec, case)


def _on_meta(function: Any, spec: OpSpec, case: TestCase) -> dict[str, Value] | None:
    inputs = meta_inputs(spec, case.shapes, case.combo)
    try:
        with torch.no_grad():
            results: dict[str, Value] = function(inputs, dict(case.attrs))
            return results
    except OpgenError as error:
        raise _too_long(error) from error
    except (NotImplementedError, TypeError, ZeroDivisionError):
        # the last: torch's own backward functions divide by the number of elements, in Python
        return None
    except (RuntimeError, IndexError, ValueError, AssertionError) as error:
        # the last: functions of PyTorch in Python check shapes by assertions
        text = str(error)
        if "meta" in text.lower():
            return None
        raise NotApplicable(text.splitlines()[0] if text else type(error).__name__) from error


def _too_long(error: OpgenError) -> Exception:
    """Return what to raise for an error of ``compute``: a case of too many steps does not apply."""
    if error.diagnostics[0].code != "OPG046":
        return error
    return NotApplicable(error.diagnostics[0].what)


def _wide_copy(value: Any) -> Any:
    """Return a copy of a tensor, floats in float64; anything else as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    dtype = torch.float64 if value.dtype.is_floating_point else value.dtype
    return value.to(dtype, copy=True)


def _float_copy(value: Any) -> Any:
    """Return a copy of a tensor, floats in float32, which kernels compute in."""
    if not isinstance(value, torch.Tensor):
        return value
    dtype = torch.float32 if value.dtype.is_floating_point else value.dtype
    return value.to(dtype, copy=True)


def _overflows_on_the_way(golden: dict[str, Value], native: dict[str, Value]) -> bool:
    """Whether a result of PyTorch in a case's own dtypes is not finite where the golden one is."""
    pairs = zip(tree_leaves(golden), tree_leaves(native), strict=True)
    return any(
        bool((torch.isfinite(wide) & ~torch.isfinite(own)).any())
        for wide, own in pairs
        if isinstance(own, torch.Tensor) and own.is_floating_point()
    )


def _copies(inputs: dict[str, Value]) -> dict[str, Value]:
    return tree_map(lambda t: t.clone() if isinstance(t, torch.Tensor) else t, inputs)


def _as_outputs(
    spec: OpSpec, case: TestCase, values: dict[str, Value], *, wide: bool = False
) -> dict[str, Value]:
    """Convert to the declared output dtypes; floats of the golden stay float64."""
    outputs: dict[str, Value] = {}
    for param in spec.outputs:
        dtype = getattr(torch, param.dtypes[case.combo])
        target = torch.float64 if wide and dtype.is_floating_point else dtype
        outputs[param.name] = tree_map(
            lambda t, d=target: t.to(d) if isinstance(t, torch.Tensor) else t, values[param.name]
        )
    return outputs
