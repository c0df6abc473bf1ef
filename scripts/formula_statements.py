"""Statements of random formulas that work element by element, and reductions."""

from __future__ import annotations

from formula_grammar import Draft, Value

UNARY = (
    "torch.relu({0})",
    "{0}.abs()",
    "-{0}",
    "torch.sigmoid({0})",
    "torch.tanh({0})",
    "torch.exp(-{0}.abs())",
    "torch.sqrt({0}.abs() + 0.5)",
    "torch.rsqrt({0}.square() + 1.0)",
    "torch.log1p({0}.abs())",
    "torch.log({0}.abs() + 1.5)",
    "{0} * 0.5 + 1",
    "F.gelu({0})",
    "F.silu({0})",
    "F.softplus({0})",
    "F.hardswish({0})",
    "F.leaky_relu({0}, 0.2)",
    "F.elu({0})",
    "F.logsigmoid({0})",
    "torch.erf({0})",
    "torch.atan({0})",
    "torch.cos({0})",
    "torch.clamp({0}, -1.5, 2.0)",
    "torch.clamp({0}, min=-1)",
    "1.0 / ({0}.abs() + 1.0)",
    "{0}.abs().pow(1.5)",
    "2 ** torch.tanh({0})",
    "torch.nan_to_num({0})",
)
# Decided alike everywhere only where the operand is free of rounding.
STEPS = (
    "torch.floor({0})",
    "torch.round({0})",
    "torch.trunc({0})",
    "torch.sign({0})",
    "torch.where({0} > 0.5, {0}, -1.0)",
    "torch.masked_fill({0}, {0} < -1, 3.0)",
    "torch.heaviside({0}, {0} * 0)",
    "torch.fmod({0}, 1.5)",
    "F.threshold({0}, 0.25, 7.0)",
)
BINARY = (
    "{0} + {1}",
    "{0} - {1}",
    "{0} * {1}",
    "torch.maximum({0}, {1})",
    "torch.minimum({0}, {1})",
    "{0} / ({1}.abs() + 1.0)",
    "torch.add({0}, {1}, alpha=0.5)",
    "torch.lerp({0}, {1}, 0.25)",
    "torch.atan2({0}, {1}.abs() + 1)",
    "torch.hypot({0}, {1})",
    "{0} * torch.sigmoid({1})",
    "torch.addcmul({0}, {0}, {1}, value=0.3)",
)
CHOICES = (
    "torch.where({0} > {1}, {0}, {1} * 0.5)",
    "torch.where({0} == {1}, {1}, {0})",
    "torch.where(({0} < 1) & ({1} > -1), {0}, 2.0)",
)
INTEGER = (
    "{0} + {1}",
    "{0} - {1}",
    "{0} * {1}",
    "torch.maximum({0}, {1})",
    "torch.minimum({0}, {1})",
    "torch.where({0} > {1}, {0}, {1})",
    "{0} & {1}",
    "{0} | {1}",
    "{0} ^ {1}",
)
INTEGER_UNARY = (
    "{0} + 1",
    "{0} * 3",
    "{0}.abs()",
    "{0} // 4",
    "{0} % 7",
    "-{0}",
    "{0} >> 1",
    "~{0}",
)
REDUCTIONS = ("sum", "mean", "amax", "amin", "var", "std", "logsumexp", "norm", "prod")
TO_BOOL = ("{0} > 0.5", "{0} <= {1}", "{0} != 0", "torch.isfinite({0})", "{0}.to(torch.bool)")


def _any(value: Value) -> bool:
    return value.dtype != "bool"


def has_axes(value: Value) -> bool:
    return value.last_axes > 0


def joined(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the sizes of two tensors that are broadcast, None where that is not known."""
    long, short = (a, b) if len(a) >= len(b) else (b, a)
    if short == ():
        return long
    if any(d[0] == "?" for d in (*a, *b)):
        return long if long == short else None
    result = list(long)
    for at in range(1, len(short) + 1):
        one, two = long[-at], short[-at]
        if one != two and "1" not in (one, two):
            return None
        if one != two and "*" in (one[0], two[0]):
            return None
        result[-at] = two if one == "1" else one
    if len(short) < len(long) and short[0][0] == "*":
        return None
    return tuple(result)


def unary(d: Draft) -> bool:
    value = d.pick(_any)
    if not value.is_float:
        text = d.rng.choice(INTEGER_UNARY)
        return d.add(text, [value.name], value.dims, value.exact)
    if value.exact and d.rng.random() < 0.15:
        return d.add(d.rng.choice(STEPS), [value.name], value.dims, False)
    text = d.rng.choice(UNARY)
    exact = value.exact and text in UNARY[:3]
    return d.add(text, [value.name], value.dims, exact)


def binary(d: Draft) -> bool:
    a = d.pick(_any)
    b = d.pick(lambda v: joined(a.dims, v.dims) is not None and v.dtype != "bool")
    if d.rng.random() < 0.5:
        a, b = b, a
    dims = joined(a.dims, b.dims)
    assert dims is not None
    if not a.is_float and not b.is_float:
        return d.add(d.rng.choice(INTEGER), [a.name, b.name], dims, True)
    choices = CHOICES if a.exact and b.exact and d.rng.random() < 0.2 else BINARY
    return d.add(d.rng.choice(choices), [a.name, b.name], dims, False)


def select(d: Draft) -> bool:
    mask = d.pick(lambda v: v.dtype == "bool")
    a = d.pick(lambda v: joined(mask.dims, v.dims) is not None)
    dims = joined(mask.dims, a.dims)
    assert dims is not None
    texts = ["torch.where({0}, {1}, 0)", "{1}.masked_fill({0}, 2)", "{1} * {0}"]
    if a.dtype == "bool":
        texts = ["{0} & {1}", "{0} | ~{1}", "torch.logical_xor({0}, {1})"]
    return d.add(d.rng.choice(texts), [mask.name, a.name], dims, a.exact)


def mask(d: Draft) -> bool:
    value = d.pick(lambda v: v.exact and v.dtype != "bool")
    other = d.pick(lambda v: v.exact and joined(v.dims, value.dims) is not None)
    text = d.rng.choice(TO_BOOL)
    both = "{1}" in text
    dims = joined(value.dims, other.dims) if both else value.dims
    assert dims is not None
    return d.add(text, [value.name, other.name] if both else [value.name], dims, True)


def cast(d: Draft) -> bool:
    value = d.pick()
    # The reference is in float64 throughout, so a float is not rounded to fewer bits.
    kinds = ["float32", "float32"]
    if value.exact and value.is_float:
        kinds += ["int32", "int8"]
    if not value.is_float:
        kinds += ["float16", "bfloat16"] * (value.dtype in ("bool", "int8"))
        kinds += ["int32", "int64", "int8", "uint8", "bool", "int16"]
    kind = d.rng.choice([k for k in kinds if k != value.dtype])
    exact = value.exact and (kind in ("float32", "int32", "int64") or kind == "bool")
    return d.add(f"{{0}}.to(torch.{kind})", [value.name], value.dims, exact)


def chosen_axes(d: Draft, value: Value) -> tuple[list[int], bool]:
    """Return axes counted from the end, and whether they are all that there are."""
    known = value.last_axes
    axes = d.rng.sample(range(-known, 0), d.rng.choice([1, 1, 1, min(2, known), min(3, known)]))
    return sorted(axes), known == len(value.dims) and len(axes) == known


def reduced(dims: tuple[str, ...], axes: list[int], keepdim: bool) -> tuple[str, ...]:
    kept = [(i - len(dims), dim) for i, dim in enumerate(dims)]
    if keepdim:
        return tuple("1" if i in axes else dim for i, dim in kept)
    return tuple(dim for i, dim in kept if i not in axes)


def reduction(d: Draft) -> bool:
    value = d.pick(has_axes)
    axes, _ = chosen_axes(d, value)
    keepdim = d.rng.random() < 0.6
    where = str(axes[0] if len(axes) == 1 else axes)
    dims = reduced(value.dims, axes, keepdim)
    name, operand = d.rng.choice(REDUCTIONS[:-1] if len(axes) > 1 else REDUCTIONS), "{0}"
    if value.dtype == "bool":
        name = d.rng.choice(("any", "all", "sum") if len(axes) == 1 else ("sum",))
    elif not value.is_float:
        name = d.rng.choice(("sum", "amax", "amin"))
    if name == "prod":
        operand = "(torch.tanh({0}) * 0.01 + 1)"
    if name == "norm":
        return d.add(
            f"torch.linalg.vector_norm({{0}}, dim={where}, keepdim={keepdim})",
            [value.name],
            dims,
            False,
        )
    text = f"{operand}.{name}({where}, keepdim={keepdim})"
    if name == "sum" and not value.is_float and d.rng.random() < 0.8:
        text += d.rng.choice((".to(torch.int32)", ".to(torch.float32)"))
    exact = value.exact and (name.startswith("am") or not value.is_float)
    return d.add(text, [value.name], dims, exact)


def total(d: Draft) -> bool:
    value = d.pick(lambda v: v.is_float and v.dims != ())
    return d.add(
        "{0}." + d.rng.choice(("sum()", "mean()", "amax()", "var()")), [value.name], (), False
    )


def normalised(d: Draft) -> bool:
    value = d.pick(lambda v: v.is_float and v.last_axes > 0)
    (axis, *_), _ = chosen_axes(d, value)
    texts = [
        f"torch.softmax({{0}}, {axis})",
        f"torch.log_softmax({{0}}, {axis})",
        f"F.normalize({{0}}, dim={axis})",
        f"{{0}} * torch.rsqrt({{0}}.square().mean({axis}, keepdim=True) + 1e-5)",
        "F.layer_norm({0}, [{0}.shape[-1]])",
        f"{{0}} - {{0}}.mean({axis}, keepdim=True)",
        f"F.softmin({{0}}, {axis})",
        f"F.glu({{0}}, {axis})",
    ]
    return d.add(d.rng.choice(texts), [value.name], value.dims, False)


def position(d: Draft) -> bool:
    value = d.pick(lambda v: v.last_axes > 0 and v.exact and v.dtype != "bool")
    (axis, *_), _ = chosen_axes(d, value)
    name = d.rng.choice(("argmax", "argmin"))
    text = f"{{0}}.{name}({axis})" + d.rng.choice((".to(torch.int32)", ""))
    return d.add(text, [value.name], reduced(value.dims, [axis], False), True)
