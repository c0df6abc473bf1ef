"""Statements of random formulas that have kernels of other families than rows and elements.

Products, attention, scans, sorts, pools, and elements by index; with inputs of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from formula_grammar import Draft, Value
from formula_statements import has_axes, reduced


def _weight(d: Draft, dtype: str, dims: Sequence[str]) -> str:
    """Add an input of given sizes and return its name."""
    name = f"p{len(d.inputs)}"
    d.add_input(name, dtype, dims, f', shape: "[{", ".join(dims)}]"')
    return name


def _index(d: Draft, dims: Sequence[str]) -> str:
    """Add an input of indices and return its name; the draft evaluates with zeros."""
    dtype = d.rng.choice(("int64", "int64", "int32"))
    name = f"i{len(d.inputs)}"
    d.add_input(name, dtype, dims, f', shape: "[{", ".join(dims)}]"')
    for env in d.env:
        env[name] = torch.zeros_like(env[name])
    return name


def _is_matrix(value: Value) -> bool:
    return value.is_float and value.last_axes > 1


def product(d: Draft) -> bool:
    value = d.pick(lambda v: v.is_float and v.last_axes > 0)
    dims, last = value.dims, value.dims[-1]
    kind = d.rng.randrange(6)
    if kind == 0 and len(dims) > 1:
        weight = _weight(d, value.dtype, (last, "4"))
        return d.add("{0} @ {1}", [value.name, weight], (*dims[:-1], "4"), False)
    if kind == 1 and len(dims) > 1:
        args = [value.name, _weight(d, value.dtype, ("6", last)), _weight(d, value.dtype, ("6",))]
        return d.add("F.linear({0}, {1}, {2})", args, (*dims[:-1], "6"), False)
    if kind == 2 and len(dims) > 1:
        weight = _weight(d, value.dtype, (last, last))
        return d.add("torch.matmul({0}, {1})", [value.name, weight], dims, False)
    if kind == 3 and value.last_axes > 1:
        text = d.rng.choice(
            ("{0} @ {0}.transpose(-1, -2)", "torch.einsum('...ik,...jk->...ij', {0}, {0})")
        )
        return d.add(text, [value.name], (*dims[:-1], dims[-2]), False)
    other = d.pick(lambda v: v.dims == dims and v.dtype == value.dtype)
    return d.add(
        "torch.einsum('...i,...i->...', {0}, {1})", [value.name, other.name], dims[:-1], False
    )


def attention(d: Draft) -> bool:
    query = d.pick(_is_matrix)
    if d.rng.random() < 0.4:
        query = d.pick(lambda v: _is_matrix(v) and len(v.dims) > 2)
    keys = d.pick(
        lambda v: (
            _is_matrix(v)
            and v.dtype == query.dtype
            and (*v.dims[:-2], v.dims[-1]) == (*query.dims[:-2], query.dims[-1])
        )
    )
    values = d.pick(lambda v: v.dims == keys.dims and v.dtype == keys.dtype)
    args = [query.name, keys.name, values.name]
    kind = d.rng.randrange(5)
    more = ""
    if kind == 1:
        more = ", is_causal=True"
    elif kind == 2:
        more = ", scale=" + d.attr("scale", "{type: float, default: 0.3, min: 0.01}", 0.3)
    elif kind == 3:
        args.append(_weight(d, query.dtype, (query.dims[-2], keys.dims[-2])))
        more = ", attn_mask={3}"
    call = f"F.scaled_dot_product_attention({{0}}, {{1}}, {{2}}{more})"
    if kind == 4:
        call = "torch.softmax({0} @ {1}.transpose(-1, -2) * 0.25, -1) @ {2}"
    return d.add(call, args, query.dims, False)


def scan(d: Draft) -> bool:
    value = d.pick(lambda v: v.last_axes > 0 and v.dtype != "bool")
    axis = d.rng.randrange(-value.last_axes, 0)
    texts = [f"{{0}}.cumsum({axis})", f"{{0}}.cummax({axis}).values", f"{{0}}.cummin({axis})[0]"]
    if value.is_float:
        texts.append(f"torch.cumprod(torch.tanh({{0}}) * 0.01 + 1, {axis})")
        texts.append(f"torch.logcumsumexp({{0}}, {axis})")
        texts.append(f"{{0}}.flip({axis}).cumsum({axis}).flip({axis})")
    else:
        texts.append(f"{{0}}.cumsum({axis}).to(torch.int32)")
    text = d.rng.choice(texts)
    exact = value.exact and (not value.is_float or "cumm" in text)
    return d.add(text, [value.name], value.dims, exact)


def order(d: Draft) -> bool:
    value = d.pick(lambda v: v.last_axes > 0 and v.dtype != "bool")
    axis = d.rng.randrange(-value.last_axes, 0)
    dims = list(value.dims)
    kind = d.rng.randrange(5)
    if kind == 0:
        down = d.rng.choice(("", ", descending=True"))
        return d.add(f"torch.sort({{0}}, {axis}{down}).values", [value.name], dims, value.exact)
    if kind == 1 and value.exact:
        text = f"torch.argsort({{0}}, {axis}, stable=True)" + d.rng.choice(("", ".to(torch.int32)"))
        return d.add(text, [value.name], dims, True)
    if kind == 2:
        text = f"{{0}}.median({axis}).values"
        return d.add(text, [value.name], reduced(value.dims, [axis], False), value.exact)
    if kind == 3:
        text = f"{{0}}.kthvalue(1, {axis}, keepdim=True).values"
        return d.add(text, [value.name], reduced(value.dims, [axis], True), value.exact)
    count = "2"
    if d.rng.random() < 0.4:
        count = d.attr("most", "{type: int, default: 2, min: 1}", 2)
    dims[axis] = f"min({count}, {dims[axis]})" if dims[axis] != "1" else "1"
    text = f"{{0}}.topk(min({count}, {{0}}.shape[{axis}]), {axis}).values"
    return d.add(text, [value.name], dims, value.exact)


def pool(d: Draft) -> bool:
    value = d.pick(lambda v: v.is_float and v.last_axes == len(v.dims) > 1)
    dims = list(value.dims)
    kind = d.rng.randrange(5)
    if kind == 0 and len(dims) in (2, 3):
        text, dims[-1] = "F.max_pool1d({0}, 2)", f"({dims[-1]}) // 2"
    elif kind == 1 and len(dims) in (2, 3):
        text = "F.avg_pool1d({0}, 3, 1, 1)"
    elif kind == 2 and len(dims) in (3, 4):
        text = "F.max_pool2d({0}, 3, 1, 1)"
    elif kind == 3 and len(dims) in (3, 4):
        text = "F.avg_pool2d({0}, 2)"
        dims[-2:] = [f"({dims[-2]}) // 2", f"({dims[-1]}) // 2"]
    elif len(dims) in (3, 4):
        text = f"F.adaptive_avg_pool{len(dims) - 2}d({{0}}, 1)"
        dims[2:] = ["1"] * (len(dims) - 2)
    else:
        return False
    return d.add(text, [value.name], dims, False)


def by_index(d: Draft) -> bool:
    value = d.pick(lambda v: v.last_axes == len(v.dims) > 0 and v.dtype != "bool")
    axis = d.rng.randrange(len(value.dims))
    dims = list(value.dims)
    kind = d.rng.randrange(5)
    if kind == 0:
        dims[axis] = "3"
        args = [value.name, _index(d, ("3",))]
        return d.add(f"torch.index_select({{0}}, {axis}, {{1}})", args, dims, value.exact)
    if kind == 1:
        args = [value.name, _index(d, ("2", "3"))]
        return d.add("{0}[{1}]", args, ("2", "3", *dims[1:]), value.exact)
    if kind == 2 and len(dims) == 2:
        args = [value.name, _index(d, ("x[0]", "3"))]
        return d.add("F.embedding({1}, {0})", args, ("x[0]", "3", dims[1]), value.exact)
    args = [value.name, _index(d, dims)]
    if kind == 3:
        text = f"torch.zeros_like({{0}}).scatter_add({axis}, {{1}}.long(), {{0}})"
        return d.add(text, args, dims, value.exact and not value.is_float)
    return d.add(f"torch.gather({{0}}, {axis}, {{1}}.long())", args, dims, value.exact)


def slice_by_attr(d: Draft) -> bool:
    value = d.pick(has_axes)
    dims = list(value.dims)
    axis = d.rng.randrange(-value.last_axes, 0)
    after = ", :" * (-axis - 1)
    if d.rng.random() < 0.5:
        count = d.attr("most", "{type: int, default: 2, min: 1}", 2)
        text, dims[axis] = f"{{0}}[..., :{count}{after}]", f"min({count}, {dims[axis]})"
    else:
        step = d.attr("step", "{type: int, default: 2, min: 1}", 2)
        text = f"{{0}}[..., ::{step}{after}]"
        dims[axis] = f"({dims[axis]} + {step} - 1) // {step}"
    return d.add(text, [value.name], dims, value.exact)


def scaled_norm(d: Draft) -> bool:
    value = d.pick(lambda v: v.is_float and v.last_axes > 0)
    dims = value.dims
    weight = _weight(d, value.dtype, dims[-1:])
    text = d.rng.choice(
        (
            "F.layer_norm({0}, [{0}.shape[-1]], {1})",
            "F.rms_norm({0}, [{0}.shape[-1]], {1})",
            "F.normalize({0} * {1}, dim=-1)",
        )
    )
    return d.add(text, [value.name, weight], dims, False)
