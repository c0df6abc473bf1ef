"""How ``compute`` runs for the golden reference: what its outputs are made of, and in whose steps.

Integers are of interest that were rounded from floats which ``compute`` calculated. Such a float
lies on one or the other side of a tie by the last bits of the calculation, so that a right kernel
may give the neighbouring integer. An integer made of exact values has no such excuse:
``x.to(int32)`` of an input, an index, a comparison, integer arithmetic.

A constant is made of no element of an input: ``zeros_like(x)``, the sum of no elements.

In the steps of a kernel, extreme values make results differ from PyTorch's.

PyTorch rounds some sums of products once. Kernels round the product first, and so does the
computation in the output's dtype that they are measured by.
"""

from __future__ import annotations

from typing import Any

from msopgen_wrap.graph.decompositions import reduction_decompositions
from msopgen_wrap.graph.dispatch_modes import DispatchMode, ReplacedOperators
from msopgen_wrap.graph.orders import order_decompositions
from msopgen_wrap.graph.resampling import kernel_steps
from msopgen_wrap.run.chosen_places import KEEPING, ChosenPlaces
from msopgen_wrap.run.conditioning import ADDING
from msopgen_wrap.run.hidden_keys import attention_in_steps
from msopgen_wrap.torch_import import torch

tree_leaves = torch.utils._pytree.tree_leaves

# Their result is one of the values they are given, a sign change of one, or a whole number next to
# one: exact when those are. Views, copies and conversions to a wider type are as well.
# fmt: off
_EXACT = frozenset((
    "abs", "neg", "relu", "clamp", "clamp_min", "clamp_max", "minimum", "maximum", "where",
    "floor", "ceil", "trunc", "round", "sign", "amax", "amin", "max", "min", "aminmax",
    "argmax", "argmin", "sort", "topk", "kthvalue", "median", "cummax", "cummin", "eq", "ne",
    "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not", "isnan", "isinf",
    "isfinite", "masked_fill", "masked_select", "threshold", "hardtanh", "fmax", "fmin",
    "nan_to_num", "copysign", "detach", "clone", "copy", "contiguous", "view", "reshape",
    "expand", "permute", "transpose", "t", "squeeze", "unsqueeze", "slice", "select", "split",
    "unbind", "cat", "stack", "gather", "index", "index_select", "flip", "roll", "repeat",
    "alias", "as_strided", "unfold", "pad", "constant_pad_nd", "tril", "triu", "diagonal",
    "_to_copy", "to", "lift_fresh", "_unsafe_view", "zeros", "ones", "full", "empty", "arange",
    "eye", "scalar_tensor", "zeros_like", "ones_like", "full_like", "empty_like", "new_zeros",
    "new_ones", "new_full", "fill", "zero", "_local_scalar_dense", "item",
))
# What keeps an integer that may be one off at most one off.
_KEEPS = frozenset((
    "clamp", "clamp_min", "clamp_max", "minimum", "maximum", "where", "neg", "relu", "add",
    "sub", "rsub", "detach", "clone", "copy", "contiguous", "view", "reshape", "expand",
    "permute", "transpose", "t", "squeeze", "unsqueeze", "slice", "select", "split", "unbind",
    "cat", "stack", "gather", "index", "index_select", "flip", "roll", "repeat", "alias",
    "as_strided", "pad", "constant_pad_nd", "_to_copy", "to", "_unsafe_view", "masked_fill",
))
# fmt: on
_SUMS = ("add", "sub", "rsub")
# What takes nothing but shape and dtype from the tensor it is given.
_OF_A_SHAPE = frozenset(
    (
        "zeros_like",
        "ones_like",
        "full_like",
        "new_zeros",
        "new_ones",
        "new_full",
        "zero",
        "fill",
    )
)

# Operators that give places only, and those that give them as their second result.
_FINDING = frozenset(("argmax", "argmin", "argsort"))
_FINDING_TOO = frozenset(
    ("cummax", "cummin", "kthvalue", "max", "median", "min", "mode", "nanmedian", "sort", "topk")
)
_REDUCING = (_FINDING | _FINDING_TOO) - {"argsort", "cummax", "cummin", "sort", "topk"}


# They compare the class of a label with the other classes, of which one class has none.
_BETWEEN_CLASSES = frozenset(("multi_margin_loss", "multilabel_margin_loss_forward"))


def _zero_of_one(name: str, read: list[torch.Tensor], result: Any) -> Any:
    """Return the loss between classes where there is one class: it is 0, whatever the number is."""
    if name not in _BETWEEN_CLASSES or not read or read[0].shape[-1:] not in ((), (1,)):
        return None
    return result[0] if isinstance(result, (list, tuple)) else result


def _place_of_one(name: str, read: list[torch.Tensor], result: Any) -> Any:
    """Return the result that says where elements were found, if each was found among one.

    Its places are 0, whatever the elements are.
    """
    place = result if name in _FINDING else None
    if name in _FINDING_TOO and isinstance(result, (list, tuple)) and len(result) == 2:
        place = result[1]
    if place is None or not read:
        return None
    elements = read[0].numel()
    # A reduction that leaves as many elements has an axis of one.
    alone = elements == 1 or (name in _REDUCING and place.numel() == elements)
    return place if alone else None


class Provenance(DispatchMode):
    """Follows which tensors were calculated; use it around a run of ``compute``.

    Attributes:
        adds: whether an operator added up elements.
    """

    def __init__(self) -> None:
        super().__init__()
        self.adds = False
        self._calculated: set[int] = set()
        self._rounded: set[int] = set()
        self._constant: set[int] = set()
        self._places: dict[int, ChosenPlaces] = {}
        self._alive: list[torch.Tensor] = []  # an id belongs to one tensor while that exists

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        result = func(*args, **kwargs)
        self.note(func, [*args, *kwargs.values()], result)
        self._note_places(func, args, kwargs, result)
        return result

    def _note_places(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        name = func.overloadpacket.__name__.rstrip("_")
        if isinstance(result, (list, tuple)) and len(result) == 2:
            found = ChosenPlaces.of(name, args, kwargs)
            if found is not None:
                self._places[id(result[1])] = found
        elif name in KEEPING and args and id(args[0]) in self._places:
            self._places[id(result)] = self._places[id(args[0])]

    def places(self, value: Any) -> ChosenPlaces | None:
        """Return where a result says that elements were found, None where it says something else.

        An integer that is no index of a call is nobody's choice.
        """
        return self._places.get(id(value))

    def note(self, func: Any, given: Any, result: Any) -> None:
        """Record one call of an operator and what it gave."""
        name = func.overloadpacket.__name__.rstrip("_")
        self.adds = self.adds or name in ADDING
        tensors = [v for v in tree_leaves(given) if isinstance(v, torch.Tensor)]
        floats = [t for t in tensors if t.is_floating_point()]
        calculated = any(id(t) in self._calculated or id(t) in self._rounded for t in tensors)
        calculated = calculated or (name not in _EXACT and bool(tensors))
        rounded = sum(id(t) in self._rounded for t in tensors)
        # Of two that may each be one off the sum may be two off.
        kept = name in _KEEPS and (rounded == 1 or (rounded > 1 and name not in _SUMS))
        converted = name in ("_to_copy", "to", "copy")
        read = tensors if name not in _OF_A_SHAPE else tensors[1:]
        constant = all(id(t) in self._constant or not t.numel() for t in read)
        same = (_place_of_one(name, read, result), _zero_of_one(name, read, result))
        for value in tree_leaves(result):
            if not isinstance(value, torch.Tensor):
                continue
            self._alive.append(value)
            known_value = constant or any(value is each for each in same)
            (self._constant.add if known_value else self._constant.discard)(id(value))
            if value.dtype is torch.bool:
                continue
            if value.is_floating_point():
                known, follows = self._calculated, calculated
            else:
                from_float = converted and any(id(t) in self._calculated for t in floats)
                known = self._rounded
                follows = from_float or kept
            (known.add if follows else known.discard)(id(value))

    def quantised(self, value: Any, dtype: torch.dtype) -> bool:
        """Say whether a result that becomes an integer ``dtype`` was rounded from such floats."""
        if dtype.is_floating_point or dtype is torch.bool:
            return False
        return any(
            id(t) in self._rounded or id(t) in self._calculated
            for t in tree_leaves(value)
            if isinstance(t, torch.Tensor)
        )

    def constant(self, value: Any) -> bool:
        """Say whether a result is the same for all elements that the inputs could have."""
        tensors = [t for t in tree_leaves(value) if isinstance(t, torch.Tensor)]
        return all(id(t) in self._constant for t in tensors)


class StableOrders(ReplacedOperators):
    """Decide as kernels do what PyTorch leaves open.

    It does not say which of equal elements ``topk`` gives, and the gradient goes to that one: here
    to the first. In the derivative of a shrink its vector code gives 0 at NaN. Its scalar code,
    which takes the end of a tensor and small ones, passes the gradient on, as is done here.
    """

    def __init__(self) -> None:
        super().__init__({**order_decompositions(), **_SHRINKS})


_SHRINKS = {
    operator: reduction_decompositions()[operator]
    for operator in (
        torch.ops.aten.hardshrink_backward.default,
        torch.ops.aten.softshrink_backward.default,
    )
}

_PERIODIC = frozenset((
    "sin", "cos", "tan", "special_bessel_j0", "special_bessel_j1", "special_bessel_y0",
    "special_bessel_y1", "special_spherical_bessel_j0",
))  # fmt: skip
_LARGEST_ARGUMENT = 1e5


def _addcmul(x: Any, a: Any, b: Any, *, value: Any = 1) -> Any:
    product = a * b
    return x + (product if value == 1 else product * value)


def _addcmul_each(x: Any, a: Any, b: Any, value: Any = 1) -> Any:
    return [_addcmul(*tensors, value=value) for tensors in zip(x, a, b, strict=True)]


def _lerp(start: Any, end: Any, weight: Any) -> Any:
    step = end - start
    small = abs(torch.as_tensor(weight)) < 0.5
    return torch.where(small, start + step * weight, end - step * (1 - weight))


def _with_alpha(sum_: Any) -> Any:
    def rounded(x: Any, y: Any, *, alpha: Any = 1) -> Any:
        return sum_(x, y * alpha) if alpha != 1 else NotImplemented

    return rounded


_aten = torch.ops.aten
_ROUNDED_PRODUCTS = {
    _aten.addcmul.default: _addcmul,
    _aten._foreach_addcmul.Scalar: _addcmul_each,
    _aten.lerp.Tensor: _lerp,
    _aten.lerp.Scalar: _lerp,
    _aten.add.Tensor: _with_alpha(torch.add),
    _aten.sub.Tensor: _with_alpha(torch.sub),
}


class RoundedProducts(ReplacedOperators):
    """Run ``compute`` with the products of ``addcmul``, ``lerp`` and ``alpha`` rounded.

    PyTorch fuses them with the sum that follows; kernels do not.
    """

    def __init__(self) -> None:
        super().__init__(_ROUNDED_PRODUCTS)


class KernelSteps(DispatchMode):
    """Run ``compute`` on float32 so, and give NaN where a kernel is declared to differ.

    PyTorch's own standard deviation of float32 is calculated in double precision, which has room
    for squares that float32 has not; kernels decompose it into sums. They add and multiply in an
    order of their own, so NaN stands for what overflows or cancels in some order, and for periodic
    functions of large arguments: the differences that ``op_specs/README.md`` lists.
    """

    def __init__(self) -> None:
        super().__init__()
        # once: every operator is looked up
        self._replaced = {**reduction_decompositions(), **kernel_steps(), **_ROUNDED_PRODUCTS}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        with self:
            attention = attention_in_steps(func, args, kwargs)
        if attention is not NotImplemented:
            return attention
        steps = self._replaced.get(func)
        if steps is not None:
            with self:
                result = steps(*args, **kwargs)
            if result is not NotImplemented:
                return result
        result = func(*args, **kwargs)
        name = func.overloadpacket.__name__
        if name in _PERIODIC:
            return torch.where(args[0].abs() > _LARGEST_ARGUMENT, torch.nan, result)
        if (name in _JOINED or _averages(name)) and result.is_floating_point():
            kwargs.pop("dtype", None)
            return torch.where(_depends_on_order(name, func, args, kwargs), torch.nan, result)
        if name in _PRODUCTS and result.is_floating_point():
            return torch.where(_overflows(func, args, kwargs), torch.nan, result)
        return result


_JOINED = ("sum", "prod", "cumsum", "cumprod")
_PRODUCTS = (
    *("mm", "bmm", "matmul", "addmm", "baddbmm"),
    *("convolution", "depthwise", "depthwise_filters", "depthwise_gradient"),
    "transposed_convolution",
)


def _averages(name: str) -> bool:
    """Say whether an operator divides sums by how many elements they have."""
    return name == "mean" or "avg_pool" in name


def _overflows(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Return where the sums of a product of matrices overflow float32 in some order."""

    def size(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            # the strides of a convolution; whether it is transposed; no bias
            plain = value is None or isinstance(value, (bool, list, tuple))
            return value if plain else abs(value)
        double = value.double().abs()
        return torch.where(torch.isfinite(double), double, 0.0)

    sums = func(*map(size, args), **{name: size(value) for name, value in kwargs.items()})
    return sums > torch.finfo(torch.float32).max


def _depends_on_order(name: str, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Return where the numbers that a reduction or a scan joins overflow float32 in some order."""
    info = torch.finfo(torch.float32)
    size, rest = args[0].double().abs(), args[1:]
    size = torch.where(torch.isfinite(size), size, 0.0)  # these stay, in whatever order
    if name.endswith("prod"):
        large = func(size.clamp(min=1), *rest, **kwargs) > info.max
        return large | (func(size.clamp(max=1), *rest, **kwargs) < info.tiny)
    if _averages(name):
        return func(size * size.numel(), *rest, **kwargs) > info.max
    return func(size, *rest, **kwargs) > info.max
