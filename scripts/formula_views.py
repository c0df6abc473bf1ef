"""Statements of random formulas that move elements, and numbers counted along axes."""

from __future__ import annotations

from formula_grammar import Draft
from formula_statements import has_axes


def plus(dim: str, number: int) -> str:
    """Return a size with a number added."""
    if dim.lstrip("-").isdigit():
        return str(int(dim) + number)
    return f"{dim} + {number}" if number > 0 else f"{dim} - {-number}" if number else dim


def turned(d: Draft) -> bool:
    value = d.pick(lambda v: v.last_axes > 1)
    dims = list(value.dims)
    a, b = d.rng.sample(range(-value.last_axes, 0), 2)
    if value.last_axes == len(dims) > 2 and d.rng.random() < 0.4:
        order = list(range(len(dims)))
        d.rng.shuffle(order)
        text = f"{{0}}.permute({', '.join(map(str, order))})"
        return d.add(text, [value.name], [dims[i] for i in order], value.exact)
    dims[a], dims[b] = dims[b], dims[a]
    return d.add(f"{{0}}.transpose({a}, {b})", [value.name], dims, value.exact)


def slice_of(d: Draft) -> bool:
    value = d.pick(has_axes)
    dims = list(value.dims)
    axis = d.rng.randrange(-value.last_axes, 0)
    dim = dims[axis]
    kind = d.rng.randrange(7)
    after = ", :" * (-axis - 1)
    if kind == 0:
        low = d.rng.randint(1, 2)
        text, dims[axis] = f"{{0}}[..., {low}:{after}]", plus(dim, -low)
    elif kind == 1:
        text, dims[axis] = f"{{0}}[..., :-1{after}]", plus(dim, -1)
    elif kind == 2:
        text, dims[axis] = f"{{0}}[..., ::2{after}]", f"({plus(dim, 1)}) // 2"
    elif kind == 3:
        text, dims[axis] = f"{{0}}[..., :{{0}}.shape[{axis}] // 2{after}]", f"({dim}) // 2"
    elif kind == 4:
        text = f"{{0}}.select({axis}, {d.rng.choice((0, -1, 1))})"
        del dims[axis]
    elif kind == 5:
        n = d.attr("start", "{type: int, default: 1, min: 0}", 1)
        text, dims[axis] = f"{{0}}[..., {n}:{after}]", f"{dim} - {n}"
    else:
        text, dims[axis] = f"{{0}}.narrow({axis}, 1, 2)", "2"
    return d.add(text, [value.name], dims, value.exact)


def stretched(d: Draft) -> bool:
    value = d.pick(lambda v: not v.dims or v.dims[0][0] != "?")
    dims = list(value.dims)
    kind = d.rng.randrange(6)
    ones = [i - len(dims) for i, dim in enumerate(dims) if dim == "1"]
    if kind == 0 and ones:
        axis = d.rng.choice(ones)
        text = f"{{0}}.squeeze({axis})"
        del dims[axis]
    elif kind == 1 and value.last_axes == len(dims) > 0:
        axis = d.rng.randrange(len(dims))
        times = d.rng.choice((2, 3))
        counts = [times if i == axis else 1 for i in range(len(dims))]
        text = f"{{0}}.repeat({', '.join(map(str, counts))})"
        dims[axis] = f"({dims[axis]}) * {times}" if dims[axis] != "1" else str(times)
    elif kind == 2 and value.last_axes == len(dims):
        text = f"{{0}}.expand({', '.join(['3'] + ['-1'] * len(dims))})"
        dims.insert(0, "3")
    elif kind == 3 and len(dims) > 1 and value.last_axes == len(dims):
        text = "{0}.flatten()"
        dims = [" * ".join(f"({dim})" for dim in dims)]
    elif kind == 4 and value.last_axes > 1:
        text = "{0}.flatten(-2)"
        dims[-2:] = [f"({dims[-2]}) * ({dims[-1]})"]
    else:
        at = d.rng.randint(0, value.last_axes)
        text = f"{{0}}.unsqueeze({-at - 1})"
        dims.insert(len(dims) - at, "1")
    return d.add(text, [value.name], dims, value.exact)


def placed(d: Draft) -> bool:
    value = d.pick(has_axes)
    dims = list(value.dims)
    axis = d.rng.randrange(-value.last_axes, 0)
    dim = dims[axis]
    kind = d.rng.randrange(10)
    names = [value.name]
    if kind == 0:
        text = f"torch.flip({{0}}, [{axis}])"
    elif kind == 1:
        text = f"torch.roll({{0}}, {d.rng.choice((1, 2, -1))}, {axis})"
    elif kind in (2, 3):
        other = d.pick(
            lambda v: (
                len(v.dims) == len(dims)
                and v.dtype == value.dtype
                and v.last_axes == value.last_axes
                and v.dims[:axis] == value.dims[:axis]
                and v.dims[len(dims) + axis + 1 :] == value.dims[len(dims) + axis + 1 :]
            )
        )
        names.append(other.name)
        numbers = dim.isdigit() and other.dims[axis].isdigit()
        text = f"torch.cat([{{0}}, {{1}}], {axis})"
        both = f"{dim} + {other.dims[axis]}"
        dims[axis] = str(int(dim) + int(other.dims[axis])) if numbers else both
    elif kind == 4:
        other = d.pick(lambda v: v.dims == value.dims and v.dtype == value.dtype)
        names.append(other.name)
        at = d.rng.choice((-1, -2)) if value.last_axes > 1 else -1
        text = f"torch.stack([{{0}}, {{1}}], {at})"
        dims.insert(len(dims) + at + 1, "2")
    elif kind == 5:
        low, high = d.rng.randint(0, 3), d.rng.randint(-1, 3)
        text = f"F.pad({{0}}, ({'0, 0, ' * (-axis - 1)}{low}, {high}), value={low})"
        dims[axis] = plus(dim, low + high)
    elif kind == 6 and len(dims) in (2, 3):
        text = f"F.pad({{0}}, (2, 1), mode='{d.rng.choice(('reflect', 'replicate', 'circular'))}')"
        dims[-1] = plus(dims[-1], 3)
    elif kind == 7 and value.last_axes > 1:
        text = f"torch.{d.rng.choice(('tril', 'triu'))}({{0}}, {d.rng.choice((0, 1, -1))})"
    elif kind == 8:
        text = f"{{0}}.repeat_interleave(2, {axis})"
        dims[axis] = f"({dim}) * 2"
    else:
        text = f"{{0}}.unfold({axis}, 3, 1)"
        dims[axis] = plus(dim, -2)
        dims.append("3")
    return d.add(text, names, dims, value.exact)


def counted(d: Draft) -> bool:
    value = d.pick(lambda v: v.last_axes > 0 and v.dtype != "bool")
    shape = "{0}.shape[-1]"
    texts = [
        f"{{0}} * torch.arange({shape})",
        f"{{0}} + torch.arange({shape}).flip(0)",
        f"torch.where(torch.arange({shape}) < 3, {{0}}, 0)",
        f"{{0}} * (torch.arange({shape}) % 2)",
        f"{{0}} * torch.ones({shape})",
        f"{{0}} * torch.linspace(0, 1, {shape})",
        f"torch.where(torch.arange({shape}) == {shape} - 1, -1, {{0}})",
    ]
    if value.last_axes > 1:
        texts += [
            "{0} * torch.eye({0}.shape[-2], {0}.shape[-1])",
            "{0}.masked_fill(torch.ones({0}.shape[-2], {0}.shape[-1]).tril() == 0, -1)",
            "{0} + torch.arange({0}.shape[-2]).unsqueeze(-1)",
        ]
    return d.add(d.rng.choice(texts), [value.name], value.dims, False)


def one_hot(d: Draft) -> bool:
    value = d.pick(lambda v: not v.is_float and v.dtype != "bool")
    if value.dims[:1] and value.dims[0][0] == "?":
        return False
    text = (
        "({0}.unsqueeze(-1) == torch.arange(5)).to(torch."
        + d.rng.choice(("int32", "float32"))
        + ")"
    )
    return d.add(text, [value.name], (*value.dims, "5"), True)
