"""The custom ops of tutorials as ``autograd.Function``: as they should be, and as they were."""

from __future__ import annotations

import torch
from torch.autograd import Function

SLOPE = 0.7978845608
CUBIC = 0.044715


def gelu_reference(x):
    return torch.nn.functional.gelu(x, approximate="tanh")


def relu_reference(x):
    return torch.relu(x)


def layer_norm_reference(x, weight, bias, eps=1e-5):
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps)


def add_relu_reference(x, y):
    return torch.relu(x + y)


class CustomRelu(Function):
    """max(x, 0); right as the tutorial has it but for NaN, which its mask let through as 1."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad, 0.0)


class CustomGELU(Function):
    """GELU by tanh: 0.5 x (1 + tanh(a (x + b x^3)))."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 0.5 * x * (1 + torch.tanh(SLOPE * (x + CUBIC * x**3)))

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        t = torch.tanh(SLOPE * (x + CUBIC * x**3))
        return grad * 0.5 * (1 + t + x * (1 - t * t) * SLOPE * (1 + 3 * CUBIC * x * x))


class CustomLayerNorm(Function):
    """Over the last axis. The gradients of weight and bias are sums over all axes but the last."""

    @staticmethod
    def forward(ctx, x, weight, bias, eps=1e-5):
        centred = x - x.mean(-1, keepdim=True)
        rstd = torch.rsqrt(centred.square().mean(-1, keepdim=True) + eps)
        normal = centred * rstd
        ctx.save_for_backward(normal, weight, rstd)
        return normal * weight + bias

    @staticmethod
    def backward(ctx, grad):
        normal, weight, rstd = ctx.saved_tensors
        rows = list(range(grad.dim() - 1))
        own = grad * weight
        mean = own.mean(-1, keepdim=True)
        projection = (own * normal).mean(-1, keepdim=True)
        grad_x = (own - mean - normal * projection) * rstd
        grad_weight, grad_bias = grad * normal, grad
        if rows:  # sum over no axes would be over all of them
            grad_weight, grad_bias = grad_weight.sum(rows), grad_bias.sum(rows)
        return grad_x, grad_weight, grad_bias, None


class OneAxisLayerNorm(CustomLayerNorm):
    """As the tutorial has it: weight and bias are summed over the last axis but one only."""

    @staticmethod
    def backward(ctx, grad):
        normal, weight, rstd = ctx.saved_tensors
        own = grad * weight
        mean = own.mean(-1, keepdim=True)
        projection = (own * normal).mean(-1, keepdim=True)
        grad_x = (own - mean - normal * projection) * rstd
        return grad_x, (grad * normal).sum(-2), grad.sum(-2), None


class FusedAddReLU:
    """As the tutorial has it: backward reads what forward never keeps."""

    def forward(self, x, y):
        return (x + y).clamp(min=0)

    def backward(self, grad):
        mask = self.x + self.y > 0
        return grad * mask, grad * mask

    def __call__(self, x, y):
        layer = self

        class Call(Function):
            @staticmethod
            def forward(ctx, x, y):
                return layer.forward(x, y)

            @staticmethod
            def backward(ctx, grad):
                return layer.backward(grad)

        return Call.apply(x, y)


class KeptAddReLU(FusedAddReLU):
    """Mended in the obvious way, and still wrong: the next call overwrites what it keeps."""

    def forward(self, x, y):
        self.x, self.y = x, y
        return super().forward(x, y)


class SavedAddReLU(Function):
    """Right: what backward reads belongs to the graph of its call."""

    @staticmethod
    def forward(ctx, x, y):
        z = (x + y).clamp(min=0)
        ctx.save_for_backward(z)
        return z

    @staticmethod
    def backward(ctx, grad):
        (z,) = ctx.saved_tensors
        own = torch.where(z > 0, grad, 0.0)
        return own.sum_to_size(grad.shape), own.sum_to_size(grad.shape)


class OperatorTester:
    """The tutorial's tester: its gradients are taken at different random points."""

    def __init__(self, op, reference):
        self.op, self.reference = op, reference

    def gradients(self, *shapes):
        found = []
        for function in (self.op, self.reference):
            inputs = [torch.randn(shape, requires_grad=True) for shape in shapes]
            function(*inputs).sum().backward()
            found.append([x.grad for x in inputs])
        return found
