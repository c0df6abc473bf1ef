"""How far the roundings of a sum move the results of a case.

A sum of values of both signs may leave a result that is much smaller than what was added. Its
relative error is then that of the roundings on the way, in whatever order a kernel adds: a bound on
relative error says nothing about the kernel. How far roundings move each element is measured: the
float64 reference runs again with inputs, and with results of every operator, that are off by half a
unit in the last place of float32. Inputs alone would not tell where two results nearly cancel,
whatever the inputs are: the gradient of a root mean square norm of one element. The same runs tell
which integers lie next to a tie.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from msopgen_wrap.torch_import import torch

tree_map = torch.utils._pytree.tree_map

#: Operators that add up elements, by the names of their packets.
ADDING = frozenset((
    "sum", "mean", "var", "std", "var_mean", "std_mean", "logsumexp", "norm", "linalg_vector_norm",
    "native_layer_norm", "native_group_norm", "native_batch_norm", "_native_batch_norm_legit",
    "_softmax", "_log_softmax", "_softmax_backward_data", "_log_softmax_backward_data",
    "cumsum", "mm", "bmm", "addmm", "baddbmm", "mv", "addmv", "dot", "matmul", "linear",
    "convolution", "depthwise", "depthwise_filters", "depthwise_gradient",
    "transposed_convolution", "index_add", "scatter_add", "scatter_reduce",
    "index_put", "_unsafe_index_put", "avg_pool2d", "avg_pool3d", "_adaptive_avg_pool2d",
    "_adaptive_avg_pool3d", "nansum",
    "convolution_backward", "avg_pool2d_backward", "avg_pool3d_backward",
    "_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward",
    "max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward",
    "adaptive_max_pool2d_backward", "adaptive_max_pool3d_backward",
))  # fmt: skip

_ROUNDING = 2.0**-24  # half a unit in the last place of float32, of the value
_RUNS = 6
# Where inputs that are off by a rounding move a result by no more than these roundings of its own,
# nothing was lost.
_CONDITIONED = 8
_MARGIN = 2
_QUANTILE = 0.999
Value = Any  # a tensor, a list of tensors, or None


class Conditioning:
    """The errors that roundings in float32 explain, per output of a case.

    Args:
        again: runs ``compute`` on inputs by name and gives the outputs by name; in float64 where
            the second argument is true, in the dtypes of the inputs otherwise.
        inputs: of the case, in its dtypes.
        golden: the outputs of ``compute`` in float64.
    """

    def __init__(
        self,
        again: Callable[[dict[str, Value], bool], dict[str, Value]],
        inputs: dict[str, Value],
        golden: dict[str, Value],
    ) -> None:
        self._again = again
        self._inputs = inputs
        self._golden = golden

    def allowance(self, name: str, number: int) -> torch.Tensor:
        """Return the absolute error that roundings explain, per element of an output.

        It is twice what they move the element by, or as much more as a CPU's float32 makes of
        99.9% of the elements; 0 where nothing is lost.

        Args:
            name: of the output.
            number: of the tensor in an output that is a list; 0 of others.
        """
        golden = _tensors(self._golden[name])[number].double()
        spread = self._spreads[name][number]
        lost = torch.isfinite(golden) & (spread > _CONDITIONED * _ROUNDING * golden.abs())
        lost &= torch.isfinite(spread)
        if not bool(lost.any()):
            return torch.zeros_like(golden)
        single = _tensors(self._single[name])[number].double()
        # Elements that keep what was added tell as much about the roundings as those that do not.
        moved = spread > _ROUNDING / 2 * golden.abs()
        ratio = ((single - golden).abs() / spread)[moved]
        ratio = ratio[torch.isfinite(ratio)].sort().values
        factor = 1.0
        if ratio.numel():
            factor = max(1.0, float(ratio[math.ceil(_QUANTILE * (ratio.numel() - 1))]))
        return torch.where(lost, _MARGIN * factor * spread, 0.0)

    def reached(self, name: str, number: int, actual: torch.Tensor) -> torch.Tensor:
        """Return where an output of integers is what roundings may give: one of the nudged runs.

        A zero point of a row that lies next to a tie moves all elements of the row.

        Args:
            name, number: as for ``allowance``.
            actual: integers of the shape of the output.
        """
        found = torch.zeros_like(actual, dtype=torch.bool)
        for results in self._moved[1][name]:
            found |= results[number].to(actual.dtype) == actual
        return found

    @cached_property
    def _single(self) -> dict[str, Value]:
        """The outputs in float32, which kernels compute in."""
        with _RunningSums():
            return self._again(_floats(self._inputs, lambda t: t.float()), False)

    @property
    def _spreads(self) -> dict[str, list[torch.Tensor]]:
        """Per output the root of the mean square by which nudged inputs move each element."""
        return self._moved[0]

    @cached_property
    def _moved(self) -> tuple[dict[str, list[torch.Tensor]], dict[str, list[list[torch.Tensor]]]]:
        """What runs give whose inputs and results of operators are off by a rounding.

        Returns:
            The spreads, and per output of integers its tensors in each run: floats are only added
            up, since all runs of a large case would fill the memory.
        """
        generator = torch.Generator().manual_seed(0)
        squares = {
            name: [torch.zeros_like(t, dtype=torch.float64) for t in _tensors(value)]
            for name, value in self._golden.items()
        }
        integers: dict[str, list[list[torch.Tensor]]] = {name: [] for name in squares}
        for _ in range(_RUNS):
            inputs = _floats(self._inputs, lambda value: _nudged(value.double(), generator))
            with _RoundedResults(generator):
                moved = self._again(inputs, True)
            for name, sums in squares.items():
                golden, results = _tensors(self._golden[name]), _tensors(moved[name])
                for total, off, true in zip(sums, results, golden, strict=True):
                    total += (off.double() - true.double()).square()
                if not any(t.is_floating_point() for t in results):
                    integers[name].append(results)
        spreads = {name: [(t / _RUNS).sqrt() for t in sums] for name, sums in squares.items()}
        return spreads, integers


def _nudged(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Return float64 values that are off by a rounding of float32, up or down by chance."""
    signs = torch.randint(0, 2, value.shape, generator=generator) * 2.0 - 1.0
    return value * (1.0 + _ROUNDING * signs.double())


class _RoundedResults(torch.utils._python_dispatch.TorchDispatchMode):
    """A context in which new float64 results of operators are off by a rounding of float32.

    Results that float32 holds are left as they are. Each result of a running sum has in it the
    roundings of those before it, as it has where elements are added one after another.
    """

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self._generator = generator

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if any(returned.alias_info is not None for returned in func._schema.returns):
            return result  # a view, or written in place: no rounding

        running = func is torch.ops.aten.cumsum.default

        def rounded(value: Any) -> Any:
            wide = isinstance(value, torch.Tensor) and value.dtype == torch.float64
            if not wide:
                return value
            exact = value == value.float().double()  # rounded to integers, say
            nudged = torch.where(exact, value, _nudged(value, self._generator))
            return value + (nudged - value).cumsum(args[1]) if running else nudged

        return tree_map(rounded, result)


class _RunningSums(torch.utils._python_dispatch.TorchDispatchMode):
    """A context in which running sums add in float32, where PyTorch on a CPU adds in float64."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten.cumsum.default and args[0].dtype == torch.float32 and not kwargs:
            sums = np.cumsum(args[0].detach().numpy(), args[1], dtype=np.float32)
            return torch.from_numpy(sums).reshape(args[0].shape)  # one element may have no axes
        return func(*args, **(kwargs or {}))


def _tensors(value: Value) -> list[torch.Tensor]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _floats(
    inputs: dict[str, Value], change: Callable[[torch.Tensor], torch.Tensor]
) -> dict[str, Value]:
    """Return copies of the inputs, floating ones changed."""

    def copy(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return change(value) if value.dtype.is_floating_point else value.clone()

    copies: dict[str, Value] = tree_map(copy, inputs)
    return copies
