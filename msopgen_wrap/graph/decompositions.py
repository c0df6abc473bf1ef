"""Decompositions of statistics, normalisations and gradients into plain and pointwise operations.

PyTorch's own tables stop at ``var_mean`` or go down to ``prims``; the row schedule wants plain
reductions with a kept dimension, two-pass (centred) variance and float32 accumulation.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.graph.convolutions import (
    convolution_backward,
    decomposed_convolution,
    is_depthwise,
    transposed_convolution,
)
from msopgen_wrap.graph.index_decompositions import MEAN
from msopgen_wrap.graph.placement import lined_up
from msopgen_wrap.graph.sizes import reduced_count
from msopgen_wrap.torch_import import torch

# Parts of torch come after its door.
# isort: split
from torch.fx.experimental.symbolic_shapes import statically_known_true

_aten = torch.ops.aten


def _dims(x: torch.Tensor, dim: Any) -> list[int]:
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return list(range(x.dim()))
    return [dim] if isinstance(dim, int) else list(dim)


def _squeeze(value: torch.Tensor, dims: list[int], keepdim: bool) -> torch.Tensor:
    return value if keepdim or not dims else _aten.squeeze.dims(value, dims)


def _variance(x: torch.Tensor, dims: list[int], correction: Any) -> tuple[Any, Any]:
    mean = x.mean(dims, keepdim=True) if dims else x
    centred = x - mean
    total = (centred * centred).sum(dims, keepdim=True) if dims else centred * centred
    freedom = reduced_count(x, dims)
    if type(correction) is not int or correction != 0:
        # Like PyTorch: too few elements for the correction divide by 0, not by a negative count.
        freedom = torch.sym_max(0, freedom - (1 if correction is None else correction))
    return total / freedom, mean


def _running_mean(mean: Any) -> Any:
    """Return the mean that PyTorch gives beside a variance: no infinity, but NaN.

    It adds to the mean what an element is off it, which leaves NaN behind an infinity.
    """
    return mean + (mean - mean)


def _var(x: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    dims = _dims(x, dim)
    return _squeeze(_variance(x, dims, correction)[0], dims, keepdim)


def _var_mean(x: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    dims = _dims(x, dim)
    var, mean = _variance(x, dims, correction)
    return _squeeze(var, dims, keepdim), _squeeze(_running_mean(mean), dims, keepdim)


def _std(x: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    dims = _dims(x, dim)
    return _squeeze(_variance(x, dims, correction)[0].sqrt(), dims, keepdim)


def _std_mean(x: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    dims = _dims(x, dim)
    var, mean = _variance(x, dims, correction)
    return _squeeze(var.sqrt(), dims, keepdim), _squeeze(_running_mean(mean), dims, keepdim)


def _native_layer_norm(x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    dims = list(range(x.dim() - len(shape), x.dim()))
    var, mean = _variance(x, dims, 0)
    rstd = (var + eps).rsqrt()
    out = (x - mean) * rstd
    if weight is not None:
        out = out * weight
    if bias is not None:
        out = out + bias
    return out, _running_mean(mean), rstd


def _native_group_norm(
    x: Any, weight: Any, bias: Any, n: Any, c: Any, hxw: Any, group: int, eps: float
) -> Any:
    grouped = x.view(n, group, c // group, hxw)
    var, mean = _variance(grouped, [2, 3], 0)
    rstd = (var + eps).rsqrt()
    out = (grouped - mean) * rstd
    if weight is not None:
        out = out * weight.view(1, group, c // group, 1)
    if bias is not None:
        out = out + bias.view(1, group, c // group, 1)
    return out.view(x.shape), _running_mean(mean).view(n, group), rstd.view(n, group)


_RUNNING_BUFFERS = Diagnostic(
    "OPG331",
    "batch_norm in training changes its running statistics in place, which compute cannot",
    Location(),
    "an op writes its outputs only: the new statistics are outputs of their own",
    "pass None for both running statistics (`y = F.batch_norm(x, None, None, weight, bias, True)`)"
    " and give their new values as outputs, such as `new_mean = mean * 0.9 + x.mean([0, 2, 3]) * "
    "0.1` and `new_var = var * 0.9 + x.var([0, 2, 3]) * 0.1`",
)


def _scaled(x: Any, out: Any, weight: Any, bias: Any) -> Any:
    if weight is not None:
        out = out * lined_up(x, 1, weight)
    if bias is not None:
        out = out + lined_up(x, 1, bias)
    return out


def _batch_norm_training(
    x: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float
) -> Any:
    dims = [0, *range(2, x.dim())]
    var, mean = _variance(x, dims, 0)
    rstd = (var + eps).rsqrt()
    out = _scaled(x, (x - mean) * rstd, weight, bias)
    return out, _squeeze(mean, dims, False), _squeeze(rstd, dims, False)


def _native_batch_norm(
    x: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    if not training:
        rstd = (lined_up(x, 1, running_var) + eps).rsqrt()
        out = _scaled(x, (x - lined_up(x, 1, running_mean)) * rstd, weight, bias)
        return out, x.new_empty(0), x.new_empty(0)  # no statistics of the batch
    if running_mean is not None or running_var is not None:
        raise OpgenError(_RUNNING_BUFFERS)
    return _batch_norm_training(x, weight, bias, training, momentum, eps)


def _repeat(x: Any, repeats: Any) -> Any:
    # PyTorch's own views the expanded tensor, which a symbolic size does not allow. An axis of one
    # element is expanded as it is; any other that is repeated gets an axis before it.
    while x.dim() < len(repeats):
        x = x.unsqueeze(0)
    sizes = list(x.shape)
    apart = []
    for count, size in zip(repeats, sizes, strict=True):
        if statically_known_true(size == 1):
            apart.append(count)
            continue
        if not statically_known_true(count == 1):
            x = x.unsqueeze(len(apart))
            apart.append(count)
        apart.append(size)
    x = x.expand(apart).clone(memory_format=torch.contiguous_format)
    if len(apart) == len(sizes):
        return x
    return x.view([count * size for count, size in zip(repeats, sizes, strict=True)])


def _dist(x: Any, y: Any, p: Any = 2) -> Any:
    return torch.linalg.vector_norm(x - y, p)


def _ldexp(x: Any, exponent: Any) -> Any:
    return x * torch.pow(2.0, exponent)


def _lcm(x: Any, y: Any) -> Any:
    dtype = torch.promote_types(x.dtype, y.dtype)
    if dtype in (torch.int8, torch.uint8, torch.int16):
        # a product that overflows loses its sign before its upper bits
        return _lcm(x.to(torch.int32), y.to(torch.int32)).to(dtype)
    divisor = torch.gcd(x, y)
    # only two zeros have no divisor
    reduced = torch.div(x, torch.where(divisor == 0, 1, divisor), rounding_mode="trunc")
    return torch.abs(reduced * y)


def _polygamma(n: Any, x: Any) -> Any:
    return torch.digamma(x) if type(n) is int and n == 0 else NotImplemented


def _mvlgamma(x: Any, p: Any) -> Any:
    # PyTorch's own sums over an axis made for it
    if type(p) is not int:
        return NotImplemented
    x = x if x.is_floating_point() else x.to(torch.float32)
    terms = [torch.lgamma(x - k / 2) for k in range(p)]
    return functools.reduce(torch.add, terms) + p * (p - 1) / 4 * math.log(math.pi)


def _addmv(x: Any, matrix: Any, vector: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    product = (matrix * vector).sum(-1)
    product = product if alpha == 1 else product * alpha
    if type(beta) in (int, float) and beta == 0:
        return product.clone()  # not even NaN of what is added counts
    return (x if beta == 1 else x * beta) + product


def _added(x: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """Return ``beta * x + alpha * product``, without ``x`` where beta is 0."""
    product = product if type(alpha) in (int, float) and alpha == 1 else product * alpha
    if type(beta) in (int, float) and beta == 0:
        return product  # not even NaN of what is added counts
    return (x if type(beta) in (int, float) and beta == 1 else x * beta) + product


def _addmm(x: Any, left: Any, right: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _added(x, _aten.mm.default(left, right), beta, alpha)


def _baddbmm(x: Any, left: Any, right: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _added(x, _aten.bmm.default(left, right), beta, alpha)


def _addbmm(x: Any, left: Any, right: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _added(x, _aten.bmm.default(left, right).sum(0), beta, alpha)


def _convolution(
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: Any,
) -> Any:
    if not transposed and is_depthwise(x, weight, groups):
        return torch.ops.opgen.depthwise(x, weight, bias, stride, padding, dilation)
    if transposed:
        made = transposed_convolution(x, weight, stride, padding, dilation, output_padding, groups)
    elif bias is None:
        return NotImplemented
    else:
        made = _aten.convolution.default(
            x, weight, None, stride, padding, dilation, transposed, output_padding, groups
        )
    return made if bias is None else lined_up(x, 1, bias) + made


def _heaviside(x: Any, values: Any) -> Any:
    return torch.where(x == 0, values, (x > 0).to(x.dtype))


def _narrow_copy(x: Any, dim: Any, start: Any, length: Any) -> Any:
    return _aten.slice.Tensor(x, dim, start, start + length).clone()


def _angle(x: Any) -> Any:
    turned = torch.where(x < 0, torch.pi, 0.0)
    return torch.where(torch.isnan(x), x, turned) if x.is_floating_point() else turned


def _shrink_backward(grad: Any, x: Any, lambd: Any) -> Any:
    # PyTorch's own takes no sizes that are symbols
    return torch.where((x >= -lambd) & (x <= lambd), 0.0, grad)


def _smooth_l1_loss_backward(grad: Any, x: Any, target: Any, reduction: int, beta: float) -> Any:
    # PyTorch's own gives 0 for NaN, where its kernel gives NaN.
    share = grad / x.numel() if reduction == MEAN else grad
    return torch.clamp((x - target) / beta, -1, 1) * share


# Of three slopes PyTorch's own give NaN one that its kernels do not; as these, they are chosen by
# comparisons that NaN fails.


def _elu_backward(
    grad: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool, x: Any
) -> Any:
    below = alpha * scale
    curve = x + below if is_result else below * torch.exp(x * input_scale)
    return torch.where(x > 0, grad * scale, grad * (input_scale * curve))


def _hardswish_backward(grad: Any, x: Any) -> Any:
    middle = torch.where(x >= 3, grad, grad * (x / 3 + 0.5))
    return torch.where(x <= -3, 0.0, middle)


def _hardtanh_backward(grad: Any, x: Any, low: Any, high: Any) -> Any:
    return torch.where((x > low) & (x < high), grad, 0.0)


# Of x sigmoid(x (a + b x^2)), PyTorch's tanh form.
_TANH_SCALE = 2 * math.sqrt(2 / math.pi)
_TANH_CUBIC = 0.044715 * _TANH_SCALE
# Beyond, the sigmoid is 0 or 1 in float32, and its slope 0.
_TANH_FLAT = 20.0


def _gelu_backward(grad: Any, x: Any, *, approximate: str = "none") -> Any:
    # PyTorch's own take the difference of 1 and a tanh or erf, which loses the small slopes of
    # negative x, and multiply a zero with the overflow of x^2 where x is large.
    dtype = torch.promote_types(x.dtype, torch.float32)
    grad, result, x = grad.to(dtype), x.dtype, x.to(dtype)
    if approximate == "tanh":
        near = torch.clamp(x, -_TANH_FLAT, _TANH_FLAT)
        square = near * near
        share = torch.sigmoid(near * (square * _TANH_CUBIC + _TANH_SCALE))
        slope = (1 - share) * (square * (3 * _TANH_CUBIC) + _TANH_SCALE)
        # x meets the small factors first: an infinite one gives NaN as in PyTorch, no finite one
        return (grad * (share + (x * share) * slope)).to(result)
    share = 0.5 * torch.erfc(x * -math.sqrt(0.5))
    density = torch.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))
    return (grad * (share + x * density)).to(result)


def _same_size(a: Any, b: Any) -> bool:
    return statically_known_true(a == b)


def lerp_decomposition(whole: Callable[..., Any]) -> Callable[..., Any]:
    """Return a table entry that decomposes ``lerp`` of unlike shapes only.

    One of equal shapes is lowered directly. Of others PyTorch's own shape function expands the
    operands, which it cannot do by symbolic sizes.

    Args:
        whole: PyTorch's decomposition.
    """

    def decomposed(start: Any, end: Any, weight: Any) -> Any:
        tensors = [t for t in (end, weight) if isinstance(t, torch.Tensor)]
        alike = all(
            t.dim() == start.dim()
            and all(
                statically_known_true(a == b) for a, b in zip(t.shape, start.shape, strict=True)
            )
            for t in tensors
        )
        return NotImplemented if alike else whole(start, end, weight)

    return decomposed


def reduction_decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the table entries that replace PyTorch's."""
    return {
        _aten.var.correction: _var,
        _aten.var_mean.correction: _var_mean,
        _aten.std.correction: _std,
        _aten.std_mean.correction: _std_mean,
        _aten.native_layer_norm.default: _native_layer_norm,
        _aten.native_group_norm.default: _native_group_norm,
        _aten._native_batch_norm_legit.no_stats: _batch_norm_training,
        _aten.native_batch_norm.default: _native_batch_norm,
        _aten.repeat.default: _repeat,
        _aten.dist.default: _dist,
        _aten.ldexp.Tensor: _ldexp,
        _aten.angle.default: _angle,
        _aten.lcm.default: _lcm,
        _aten.polygamma.default: _polygamma,
        _aten.mvlgamma.default: _mvlgamma,
        _aten.gelu_backward.default: _gelu_backward,
        _aten.addmv.default: _addmv,
        _aten.addmm.default: _addmm,
        _aten.baddbmm.default: _baddbmm,
        _aten.addbmm.default: _addbmm,
        _aten.convolution.default: _convolution,
        _aten.convolution_backward.default: convolution_backward,
        torch.ops.opgen.convolution.default: decomposed_convolution,
        _aten.heaviside.default: _heaviside,
        _aten.narrow_copy.default: _narrow_copy,
        _aten.hardshrink_backward.default: _shrink_backward,
        _aten.softshrink_backward.default: _shrink_backward,
        _aten.elu_backward.default: _elu_backward,
        _aten.hardswish_backward.default: _hardswish_backward,
        _aten.hardtanh_backward.default: _hardtanh_backward,
        _aten.smooth_l1_loss_backward.default: _smooth_l1_loss_backward,
    }
