"""Ops of ``op_specs`` written as Python functions; ``test_python_ops.py`` compares the two."""

# ruff: noqa: SIM108  (the formulas are those of the YAML)
from __future__ import annotations

from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

import msopgen_wrap
from msopgen_wrap import Field, op

FLOATS = "float16, bfloat16, float32"
Floats = Annotated[Tensor, "float16, bfloat16, float32"]
Rows = Annotated[Tensor, FLOATS, "[*, n]"]


@op(cases=[{"x": [3, 5], "y": [5]}, {"x": [64, 1, 33], "y": [7, 33]}])
def fused_add_relu(
    x: Annotated[Tensor, FLOATS], y: Annotated[Tensor, "x"]
) -> Annotated[Tensor, "z: broadcast(x, y)"]:
    """max(x + y, 0), with NumPy broadcasting."""
    return torch.relu(x + y)


@op(cases=[{"x": [16, 4096]}, {"x": [16, 4096], "approximate": "none"}])
def custom_gelu(
    x: Floats, *, approximate: Literal["none", "tanh"] = "tanh"
) -> Annotated[Tensor, "like x"]:
    """Gaussian error linear unit, exact (erf) or by tanh."""
    return F.gelu(x, approximate=approximate)


@msopgen_wrap.op(
    cases=[
        {"a": [17], "b": [17]},
        dict(a=[2, 3, 4], b=[4], alpha=-3),
        {"a": [8, 8], "b": [], "dtype": torch.int32},
    ]
)
def my_add(
    a: Annotated[Tensor, "float16, bfloat16, float32, int32"],
    b: Annotated[Tensor, "a"],
    alpha: Annotated[int, Field(min=-100, max=100, doc="factor of a")] = 2,
) -> Annotated[Tensor, "c: broadcast(a, b)"]:
    """alpha * a + b; the op to start from."""
    return a * alpha + b


@op(cases=[{"x": [31, 33], "beta": 1.5}])
def swish(x: Floats, *, beta: float = 1.0) -> Annotated[Tensor, "like x"]:
    """x * sigmoid(beta * x); beta 1 is silu."""
    return x * torch.sigmoid(beta * x)


@op(
    cases=[
        {"x": [6, 768], "bias": [768], "residual": [6, 768]},
        {"x": [6, 768], "residual": [6, 768], "scale": 1.25},
        {"x": [2, 3, 1001], "bias": [1001], "residual": [2, 3, 1001]},
    ],
)
def bias_scale_residual(
    x: Floats,
    bias: Annotated[Tensor | None, "x", "[x[-1]]", Field(doc="left out means no bias")],
    residual: Annotated[Tensor, "x", "like x"],
    scale: Annotated[float, Field(doc="1 / (1 - p) of the dropout")] = 1.0,
) -> Annotated[Tensor, "y: like x"]:
    """residual + (x + bias) * scale: what a transformer block does after its last
    projection, without the randomness of dropout.
    """
    if bias is None:
        y = residual + x * scale
    else:
        y = residual + (x + bias) * scale
    return y


@op(cases=[{"x1": [[3, 5], [7]], "x2": [[3, 5], [7]], "x3": [[3, 5], [7]], "value": 0.5}])
def foreach_addcdiv_scalar(
    x1: list[Annotated[Tensor, FLOATS]],
    x2: Annotated[list[Tensor], "x1", "like x1"],
    x3: Annotated[list[Tensor], "x1", "like x1", Field(range=(0.5, 2))],
    value: float = 1.0,
) -> list[Annotated[Tensor, "like x1"]]:
    """x1[i] + value * x2[i] / x3[i] for every tensor of three lists."""
    return [a + value * b / c for a, b, c in zip(x1, x2, x3)]  # noqa: B905


@op(
    cases=[
        {"x": [[3, 5], [7]]},
        {"x": [[300, 500], [0], [], [70000], [1]]},
        {"x": [[30, 50], [], [7]], "scalar": 1.5},
        {"x": [[30, 50], [7]], "scalar": float("inf")},
        {"x": [[30, 50], [7]], "scalar": -1.0},
        {"x": [[30, 50], [7]], "scalar": 0.0},
    ]
)
def foreach_norm(x: list[Floats], scalar: float = 2.0) -> Annotated[list[Tensor], "y: []", "x"]:
    """The norm of every tensor of a list, of any order; an order of 0 counts what is not 0."""
    return [torch.linalg.vector_norm(t, scalar) for t in x]


@op(
    backward="kernel",
    cases=[{"x": (3, 4096), "gamma": (4096,)}, {"x": (2, 7, 100), "gamma": (100,)}],
)
def rms_norm(
    x: Rows,
    gamma: Annotated[Tensor, "x", "[n]"],
    *,
    epsilon: Annotated[float, Field(min=0)] = 1e-6,
) -> tuple[Annotated[Tensor, "[*, n]"], Annotated[Tensor, "float32", "[*, 1]"]]:
    """x / sqrt(mean(x^2) + epsilon) * gamma over the last axis; also gives the reciprocal root."""
    # The sum is taken in float32 whatever the dtype of x.
    x32 = x.float()
    rstd = torch.rsqrt(x32.square().mean(-1, keepdim=True) + epsilon)
    y = (x32 * rstd * gamma.float()).to(x.dtype)
    return y, rstd


@op(
    name="CustomGroupNorm",
    tolerance={"y": "mixed"},
    cases=[
        {"x": [2, 6, 5, 7], "gamma": [6], "beta": [6], "num_groups": 3},
        {"x": [3, 32, 64], "gamma": [32], "beta": [32], "num_groups": 8},
    ],
)
def group_norm(
    x: Annotated[Tensor, FLOATS, Field(rank=(2, 8))],
    gamma: Annotated[Tensor, "x", "[x[1]]"],
    beta: Annotated[Tensor, "x", "[x[1]]"],
    num_groups: Annotated[int, Field(min=1)] = 1,
    epsilon: Annotated[float, Field(min=0)] = 1e-5,
) -> Annotated[Tensor, "like x"]:
    """Normalise groups of channels of x [N, C, ...], with scale and shift per channel."""
    return F.group_norm(x, num_groups, gamma, beta, epsilon)


@op(cases=[{"scores": [300, 200]}])
def sinkhorn(
    scores: Annotated[Tensor, FLOATS, "[*, m, n]"],
) -> Annotated[Tensor, "[*, m, n]"]:
    """Two rounds of Sinkhorn's normalisation of exp(scores), by columns and then by rows, in \
logarithms."""
    s = scores.float()
    s = s - torch.logsumexp(s, -2, keepdim=True)
    s = s - torch.logsumexp(s, -1, keepdim=True)
    s = s - torch.logsumexp(s, -2, keepdim=True)
    plan = torch.softmax(s, -1).to(scores.dtype)
    return plan


@op(
    name="ReduceSumDim",
    cases=[
        {"x": [3, 1000]},
        {"x": [4, 50, 6], "dim": [1], "keepdim": True},
        {"x": [5, 7, 11], "dim": [0, 2]},
        {"x": [130, 70], "dim": [0]},
    ],
)
def reduce_sum(
    x: Annotated[Tensor, FLOATS, Field(rank=(1, 8))],
    dim: tuple[int, ...] = (-1,),
    keepdim: bool = False,
) -> Annotated[Tensor, "reduce(x, dim, keepdim)"]:
    """Sum over the given axes; no axes means all."""
    return torch.sum(x, dim, keepdim)


@op(
    cases=[
        {"x": [3, 1021], "mask": [3, 1021]},
        {"x": [5, 64], "mask": [5, 64], "value": 0.5, "dtype": "float32"},
    ]
)
def masked_scale(
    x: Annotated[
        Tensor,
        "float16, bfloat16, float32, float16, bfloat16, float32, float16, bfloat16, float32, "
        "float16, bfloat16, float32, float16, bfloat16, float32, float16, bfloat16, float32",
    ],
    mask: Annotated[
        Tensor,
        "bool, bool, bool, uint8, uint8, uint8, int8, int8, int8, float16, float16, float16, "
        "bfloat16, bfloat16, bfloat16, float32, float32, float32",
        "like x",
        Field(range=[0, 1]),
    ],
    value: float = 1.25,
) -> Annotated[Tensor, "like x"]:
    """x * mask * value, the backward of dropout with a given mask."""
    return (x * mask * value).to(x.dtype)


@op(
    backward="none",
    cases=[{"x": [3, 1000]}],
)
def arg_max_row(
    x: Annotated[Tensor, FLOATS, Field(rank=(1, 8))],
) -> Annotated[Tensor, "index: [*x[:-1]]", "int64"]:
    """Index of the first largest element of every row."""
    return torch.argmax(x, -1)


@op(cases=[{"var": [3, 1001], "m": [3, 1001], "v": [3, 1001], "grad": [3, 1001]}])
def apply_adam_w(
    var: Floats,
    m: Annotated[Tensor, "float32", "like var"],
    v: Annotated[Tensor, "float32", "like var", Field(range=(0, 1))],
    grad: Annotated[Tensor, "var", "like var", Field(range=(-4, 4))],
    *,
    lr: Annotated[float, Field(min=0)] = 1e-3,
    beta1: Annotated[float, Field(min=0, max=1)] = 0.9,
    beta2: Annotated[float, Field(min=0, max=1)] = 0.999,
    epsilon: Annotated[float, Field(min=0)] = 1e-8,
    weight_decay: Annotated[float, Field(min=0)] = 0.01,
    bias_correction1: Annotated[float, Field(doc="1 - beta1 ** step")] = 0.1,
    bias_correction2: Annotated[float, Field(doc="1 - beta2 ** step")] = 0.001,
) -> tuple[
    Annotated[Tensor, Field(inplace="var")],
    Annotated[Tensor, Field(inplace="m")],
    Annotated[Tensor, Field(inplace="v")],
]:
    """One AdamW step, in place on the parameter and its two moments; arithmetic in float32.
    The bias corrections are 1 - beta ** step, so the caller counts the steps.
    """
    g = grad.float()
    p = var.float() * (1 - lr * weight_decay)
    m = m * beta1 + g * (1 - beta1)
    v = v * beta2 + g * g * (1 - beta2)
    update = (m / bias_correction1) / (torch.sqrt(v / bias_correction2) + epsilon)
    var = (p - lr * update).to(var.dtype)
    return var, m, v


@op(
    kernel="../../ascendc_kernels/ops/embedding_gather/op_kernel/embedding_gather.cpp",
    backward={
        "table": """
            rows = index.reshape(-1).to(torch.int64)
            valid = (rows >= 0) & (rows < table.shape[0])
            rows = torch.where(valid, rows, table.shape[0])
            sums = torch.zeros_like(F.pad(table, [0, 0, 0, 1]))
            sums = sums.index_add(0, rows, grad_y.reshape(-1, table.shape[-1]))
            sums[:-1]
        """
    },
    cases=[
        {"table": [100, 64], "index": [3, 5]},
        {"table": [17, 33], "index": [40]},
        {"table": [5, 8], "index": []},
    ],
)
def embedding_gather(
    table: Annotated[
        Tensor, "float16, bfloat16, float32, float16, bfloat16, float32", Field(rank=2)
    ],
    index: Annotated[
        Tensor, "int32, int32, int32, int64, int64, int64", Field(rank=(0, 7), range=(0, 6))
    ],
) -> Annotated[Tensor, "y: [*index, table[-1]]", "table"]:
    """Rows of a table by index. An index outside the table gives a row of zeros and is reported.
    The kernel is handwritten, as no schedule covers a gather; all else is generated.
    """
    # A row of zeros below the table serves every index that is out of range.
    padded = F.pad(table, [0, 0, 0, 1])
    rows = index.reshape(-1).to(torch.int64)
    valid = (rows >= 0) & (rows < table.shape[0])
    rows = torch.where(valid, rows, table.shape[0])
    y = padded.index_select(0, rows).reshape([*index.shape, table.shape[-1]])
    return y
