"""One-call specs for every name of the allow-list, with sample arguments that torch accepts."""

from __future__ import annotations

import functools
import math
import re
import warnings
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from msopgen_wrap.diagnostics import Location
from msopgen_wrap.spec import torch_names
from msopgen_wrap.spec.compute_guard import Scope, check_code
from msopgen_wrap.spec.findings import Findings
from msopgen_wrap.spec.model import Code, OpSpec, TensorParam

# Sample inputs: name -> dtype, shape.
INPUTS: dict[str, tuple[str, tuple[int, ...]]] = {
    "x": ("float32", (4, 5)),
    "y": ("float32", (4, 5)),
    "w": ("float32", (4, 5)),
    "p": ("bool", (4, 5)),
    "i": ("int32", (4, 5)),
    "j": ("int32", (4, 5)),
    "k": ("int64", (4, 5)),
    "q": ("float32", (4, 4)),
    "v": ("float32", (5,)),
    "b": ("float32", (2, 4, 6)),
}

# Arguments to try, the most usual ones first.
ARGUMENTS = """x | x, y | x, -1 | x, 2.0 | x, 2 | x, -1, keepdim=True | x, y, w | x, p | [x, y]
| [x, y], -1 | p, x, y | x, 1, -1 | x, [-1] | x, x.shape | x, -0.5, 0.5 | x, [x.shape[-1]] | x, 0, 1
| x, (0, 1) | x, 2, -1 | x, -1, 0, 2 | x, 0, 0, 2 | x, [2, 10] | p | i | i, j | i, 2 | x, p, 0.5
| x, -1, k | k, x | k, 9 | x, k | 2, 3 | 3 | 3.0 | 0, 3, 5 | [3, 5], 1.0 | x, 1.0, 0.0
| 'ij,ij->ij', x, y | x, y, -1 | x, w, y, x | q, q | q, q, q | v, v | x, v | x, [1, 1] | x, 1, 0.0
| x, -1, 0 | x, None, None, v, v | torch.float32 | x, torch.float32 | b, b | b, 2 | x, [5, 1], -1
| b | b, 3 | x, v, v | x, y, x | b, [1] | x, -1, k, x | p, 1 | i, 1 | b, b, b | v, q, v
| x, -1, k[0] | x, -1, k[0], 0.5 | x, p, y | x, 1, [5, 1] | x, -1, [5, 1] | v, b[0, :, :5], v
| x, k[:, 0] | k, x, 1 | q[0], q, q[1] | b, b.mT | b[:, :, :4], b, b.mT | x, 0, k[:, 0], x
| b.reshape(1, 8, 3, 2), 2 | q | q + 3.0 * torch.eye(4) | q, 2 | 2, x | x, 2, 0, 1.0 | x, [2, 3], -1
| x, 0.1, 0, 0, 255 | x, y, k[0], 0.5 | b, b[:, :, :1], None | v, r=2 | x, v, 0, -1
| x, 0, k[:, :1], x, 'sum' | x, (k, k), x | x, k, x | q[:3, :3], q[:3, :3] | b[0], b[1], b[0]
| x, x[:, 0], v | q, b[:, :, :4], b[:, :, :4] | b[:, :, :4], b[:, :, :4], b[:, :, :4] | [q, q]
| x[:, :3], x[:, :3] | x, v, v, v, v, False, 0.1, 1e-5, False """.replace("\n", " ")

# Functions with arguments of their own kind; families that have not come yet lower them.
WITHOUT_SAMPLE = torch_names.words(
    """affine_grid affine_grid_generator batch_norm bilinear cholesky cholesky_ex cholesky_inverse
    conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution
    cosine_embedding_loss ctc_loss embedding_bag fake_quantize_per_channel_affine fold grid_sample
    grid_sampler grid_sampler_2d grid_sampler_3d gru_cell histogramdd householder_product imag
    index_reduce instance_norm ldl_factor ldl_factor_ex ldl_solve lp_pool2d lp_pool3d lstm_cell
    lu_solve lu_unpack max_unpool1d max_unpool2d max_unpool3d native_batch_norm native_group_norm
    native_layer_norm nonzero_static orgqr ormqr poisson_nll_loss rnn_relu_cell rnn_tanh_cell
    solve_triangular tensorinv tensorsolve vander view_as_real view_as_real_copy"""
)

NAMESPACES: dict[str, tuple[str, ...]] = {
    "torch": tuple(sorted(torch_names.TORCH_FUNCTIONS)),
    "F": tuple(sorted(torch_names.TORCH_NAMESPACES["torch.nn.functional"])),
    "torch.special": tuple(sorted(torch_names.TORCH_NAMESPACES["torch.special"])),
    "torch.linalg": tuple(sorted(torch_names.TORCH_NAMESPACES["torch.linalg"])),
    "torch.fft": tuple(sorted(torch_names.TORCH_NAMESPACES["torch.fft"])),
    "torch.masked": tuple(sorted(torch_names.TORCH_NAMESPACES["torch.masked"])),
    "math": tuple(sorted(torch_names.MATH_FUNCTIONS)),
    "": tuple(sorted(torch_names.BUILTIN_FUNCTIONS)),
}
METHODS = tuple(sorted(torch_names.TENSOR_METHODS))
PROPERTIES = tuple(sorted(torch_names.TENSOR_PROPERTIES))

# What these give is no tensor or number that an output could be made of.
WITHOUT_CALL = {
    "finfo": "x * torch.finfo(torch.float32).eps",
    "iinfo": "i + torch.iinfo(torch.int8).max",
    "is_tensor": "x * float(torch.is_tensor(x))",
    "is_floating_point": "x * float(x.is_floating_point())",
    "size": "x * x.size(-1)",
    "stride": "x * x.stride(-1)",
    "shape": "x * x.shape[-1]",
    "dtype": "y.to(x.dtype)",
    "device": "x",
    "enumerate": "x + [a for a, _ in enumerate([1, 2])][0]",
    "zip": "x + [a for a, _ in zip([1, 2], [3, 4])][0]",
    "list": "x.sum(list((0, 1)))",
    "tuple": "x.sum(tuple([0, 1]))",
    "len": "x * len(x.shape)",
    "gcd": "x * math.gcd(4, 6)",
    "prod": "x * math.prod([2, 3])",
    "min": "x * min(2, 3)",
    "max": "x * max(2, 3)",
    "sum": "x * sum([2, 3])",
}


@functools.lru_cache(maxsize=1)
def every_name() -> tuple[str, ...]:
    """Return ``torch.abs``, ``F.relu``, ``.abs`` (method) and so on, each name once."""
    names = [
        f"{space}.{n}" if space else f"{n}()" for space, row in NAMESPACES.items() for n in row
    ]
    return (*names, *(f".{n}" for n in (*METHODS, *PROPERTIES)))


def calls(name: str) -> Iterator[str]:
    """Yield computes that use a name and that torch runs on the sample inputs."""
    word = name.strip("()").rsplit(".", 1)[-1]
    special = not name.startswith(("torch.prod", "torch.m", "torch.sum", ".prod", ".m", ".sum"))
    if word in WITHOUT_CALL and special:
        yield WITHOUT_CALL[word]
        return
    if name in {f".{p}" for p in PROPERTIES}:
        yield from (c for c in (f"x{name}", f"x * x{name}") if _runs(c))
        return
    for arguments in (a.strip() for a in ARGUMENTS.split("|")):
        if name.startswith("."):
            first, _, rest = arguments.partition(", ")
            text = f"{first}{name}({rest})"
        else:
            text = f"{name.strip('()')}({arguments})"
        value = _value(text)
        if _is_output(value):
            yield text
        elif isinstance(value, (int, float)):
            yield f"x * {text}"


def _runs(text: str) -> bool:
    return _is_output(_value(text))


def _is_output(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return len(value) > 1 and all(isinstance(v, torch.Tensor) for v in value)
    return isinstance(value, torch.Tensor)


def _value(text: str) -> Any:
    """Return what torch makes of a call on the sample inputs, None when it refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            names = {"torch": torch, "F": F, "math": math, **sample_inputs(text)}
            return eval(text, names)
        except Exception:
            return None


def used_inputs(text: str) -> list[str]:
    """Return the sample inputs that a compute names; ``x`` when there is none."""
    code = re.sub(r"'[^']*'", "", text)
    found = [n for n in INPUTS if re.search(rf"(?<![\w.]){n}\b(?!=)", code)]
    return found or ["x"]


def sample_inputs(text: str) -> dict[str, torch.Tensor]:
    """Return the sample tensors of a compute; integers are indices into 4 rows."""
    result = {}
    for number, name in enumerate(used_inputs(text)):
        dtype, shape = INPUTS[name]
        generator = torch.Generator().manual_seed(number)
        if dtype == "float32":
            result[name] = torch.rand(shape, generator=generator) * 0.8 + 0.1
        else:
            values = torch.randint(0, 2 if dtype == "bool" else 4, shape, generator=generator)
            result[name] = values.to(getattr(torch, dtype))
    return result


def spec_of(text: str) -> OpSpec | None:
    """Return the spec of a compute, None when the allow-list refuses its arguments."""
    value = _value(text)
    outputs = value if isinstance(value, (tuple, list)) else [value]
    names = ["z"] if len(outputs) == 1 else [f"z{n}" for n in range(len(outputs))]
    code = Code(text, Location("case.yaml", 1, 1))
    inputs = tuple(
        TensorParam(n, (INPUTS[n][0],), min_rank=len(INPUTS[n][1]), max_rank=len(INPUTS[n][1]))
        for n in used_inputs(text)
    )
    findings = Findings()
    kinds = {n: "tensor" for n in used_inputs(text)}
    if check_code(code, Scope(kinds, tuple(names)), findings) is None:
        return None
    results = tuple(
        TensorParam(n, (str(o.dtype).removeprefix("torch."),))
        for n, o in zip(names, outputs, strict=True)
    )
    return OpSpec(
        "AllowedCall", "allowed_call", "", inputs, results, (), code, None, None, "none", (), {},
        ("ascend910b",), "case.yaml", text,
    )  # fmt: skip
