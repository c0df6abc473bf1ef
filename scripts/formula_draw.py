"""Random formulas: the one of a seed, its inputs and attrs."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import torch
from formula_calls import (
    attention,
    by_index,
    order,
    pool,
    product,
    scaled_norm,
    scan,
    slice_by_attr,
)
from formula_grammar import Draft, Formula, Value
from formula_statements import (
    BINARY,
    INTEGER,
    UNARY,
    binary,
    cast,
    joined,
    mask,
    normalised,
    position,
    reduction,
    select,
    total,
    unary,
)
from formula_views import counted, one_hot, placed, slice_of, stretched, turned

OFTEN = 4  # how often a favourite kind is tried


def optional(d: Draft) -> bool:
    other = d.values[d.rng.choice(sorted(d.optional))]
    value = d.pick(lambda v: v.is_float and joined(v.dims, other.dims) == v.dims)
    text = d.rng.choice(
        (
            "{0} * {1} if {1} is not None else {0}",
            "{0} + {1} if {1} is not None else {0} * 0.5",
            "({0} * {1}).to({0}.dtype) if {1} is not None else {0}",
        )
    )
    return d.add(text, [value.name, other.name], value.dims, False)


def with_attr(d: Draft) -> bool:
    value = d.pick(lambda v: v.is_float)
    kind = d.rng.randrange(7)
    names = [value.name]
    dims = value.dims
    if kind == 0:
        text = "{0} * " + d.attr("alpha", "{type: float, default: 0.5}", 0.5)
    elif kind == 1:
        count = d.attr("count", "{type: int, default: 2, min: 1}", 2)
        text = d.rng.choice((f"{{0}} + {count}", f"{{0}} / {count}"))
    elif kind == 2:
        text = "torch.tanh({0}) if " + d.attr("flag", "false", False) + " else {0} * 2"
    elif kind == 3:
        mode = d.attr("mode", "{type: str, default: a, allowed: [a, b]}", "a")
        other = d.pick(lambda v: v.dims == dims and v.dtype == value.dtype)
        names.append(other.name)
        text = f"{{0}} if {mode} == 'a' else {{1}}"
    elif kind == 4 and value.last_axes:
        d.attr("dim", "-1", -1)
        text = d.rng.choice(("torch.softmax({0}, dim)", "{0} / {0}.abs().amax(dim, True)"))
    elif kind == 5 and dims and value.last_axes == len(dims):
        count = d.attr("count", "{type: int, default: 2, min: 1}", 2)
        text = f"{{0}}.unsqueeze(0).expand({count}, {', '.join('-1' for _ in dims)})"
        dims = (count, *dims)
    else:
        text = "torch.clamp({0}, -" + d.attr("limit", "{type: float, default: 1.5, min: 0}", 1.5)
        text += ", limit)"
    return d.add(text, names, dims, False)


def loss(d: Draft) -> bool:
    """Draw a loss whose attr says whether and how its elements are reduced."""
    value = d.pick(lambda v: v.is_float and v.dims[:1] != () and v.dims[0][0] != "?")
    other = d.pick(lambda v: v.dims == value.dims and v.dtype == value.dtype)
    text = d.rng.choice(
        (
            "F.mse_loss({0}, {1}, reduction=how)",
            "F.l1_loss({0}, {1}, reduction=how)",
            "F.huber_loss({0}, {1}, reduction=how)",
            "F.smooth_l1_loss({0}, {1}, reduction=how, beta=0.5)",
            "F.soft_margin_loss({0}, torch.tanh({1}), reduction=how)",
            "F.binary_cross_entropy_with_logits({0}, torch.sigmoid({1}), reduction=how)",
        )
    )
    d.attr("how", "{type: str, default: mean, allowed: [none, mean, sum]}", "mean")
    rule = f"{value.rule} if how == 'none' else []"
    for env in d.env:
        env[rule] = torch.ones(())
    return d.add(text, [value.name, other.name], (f"?{rule}",), False)


def one_of_two(d: Draft) -> bool:
    """Draw two formulas between which an attr chooses: they may need other passes."""
    value = d.pick(lambda v: v.is_float and v.last_axes > 1)
    d.attr("flag", "false", False)
    one, two = d.rng.sample(
        (
            "torch.softmax({0}, -1)",
            "{0} - {0}.mean(-2, keepdim=True)",
            "torch.tanh({0})",
            "{0} * {0}.amax(-1, keepdim=True)",
            "{0}.softmax(-2).flip(-1)",
            "{0} / ({0}.abs().sum() + 1)",
        ),
        2,
    )
    return d.add(f"{one} if flag else {two}", [value.name], value.dims, False)


def reduced_by_attr(d: Draft) -> bool:
    if not d.values["x"].is_float:
        return False
    value = d.pick(lambda v: v.dims == d.values["x"].dims and v.is_float)
    d.attr("dim", "-1", -1)
    d.attr("keepdim", "false", False)
    rule = "reduce(x, dim, keepdim)"
    for env in d.env:
        env[rule] = env["x"].float().sum(-1)
    name = d.rng.choice(("sum", "mean", "amax", "var"))
    return d.add(f"{{0}}.{name}(dim, keepdim=keepdim)", [value.name], (f"?{rule}",), False)


Statement = Callable[[Draft], bool]
KINDS: dict[str, Statement] = {
    "unary": unary,
    "binary": binary,
    "select": select,
    "mask": mask,
    "cast": cast,
    "reduction": reduction,
    "total": total,
    "normalised": normalised,
    "position": position,
    "turned": turned,
    "slice_of": slice_of,
    "stretched": stretched,
    "placed": placed,
    "counted": counted,
    "one_hot": one_hot,
    "optional": optional,
    "with_attr": with_attr,
    "reduced_by_attr": reduced_by_attr,
    "loss": loss,
    "one_of_two": one_of_two,
    "product": product,
    "attention": attention,
    "scan": scan,
    "order": order,
    "pool": pool,
    "by_index": by_index,
    "slice_by_attr": slice_by_attr,
    "scaled_norm": scaled_norm,
}


def _weights(rng: random.Random) -> dict[str, int]:
    """Return how often each kind is tried: a formula is made of a few kinds."""
    favourites = rng.sample([k for k in KINDS if k not in ("unary", "binary")], 4)
    weights = dict.fromkeys(favourites, OFTEN)
    return {"unary": OFTEN, "binary": OFTEN, **weights}


def draw(seed: int) -> Formula:
    """Return the formula of a seed; the same on every machine."""
    rng = random.Random(seed)
    if rng.random() < 0.06:
        return _lists(rng)
    d = Draft(rng, is_open=rng.random() < 0.35, rank=rng.choice((1, 2, 2, 2, 3, 3, 4)))
    _inputs(d)
    weights = _weights(rng)
    if d.optional:
        weights["optional"] = OFTEN
    else:
        weights.pop("optional", None)
    wanted = len(d.values) + rng.randint(2, 9)
    for _ in range(80):
        if len(d.values) >= wanted:
            break
        kind = rng.choices(list(weights), list(weights.values()))[0]
        try:
            if KINDS[kind](d):
                d.kinds.add(kind)
        except LookupError:
            continue
    made = [v for v in d.values.values() if v.text]
    if not made:
        return draw(seed + 1_000_003)
    fresh = [v for v in made if v.name not in d.used] or made[-1:]
    # what depends on much comes first
    fresh.sort(key=lambda v: -len(d.formula([v.name]).statements))
    outputs = fresh[: rng.choice((1, 1, 2, 2, 3))]
    if rng.random() < 0.1:
        outputs.append(rng.choice(made))
    names = list(dict.fromkeys(v.name for v in outputs))
    x = d.values["x"]
    same = [n for n in names if (d.values[n].dims, d.values[n].dtype) == (x.dims, x.dtype)]
    inplace = same[0] if same and rng.random() < 0.15 else ""
    return replace(d.formula(names, inplace), wide=rng.random() < 0.3)


def _inputs(d: Draft) -> None:
    """Draw the inputs: x, and up to three that are like x, broadcast, or a part of it."""
    rng = d.rng
    kind = rng.choice(("float16", "float32", "float32", "bfloat16", "int32", "float16"))
    if rng.random() < 0.08:
        kind = rng.choice(("int8", "int16", "uint8", "bool", "int64"))
    dims = tuple(f"x[{i}]" for i in range(d.rank))
    if d.is_open:
        d.rank = max(d.rank, 2)
        dims = ("*x[:-1]", "x[-1]")
    d.add_input("x", kind, dims, ", rank: [1, 8]" if d.is_open else f", rank: {d.rank}")
    for name in ("y", "w", "b")[: rng.choice((0, 1, 1, 2, 3))]:
        own = (
            kind
            if rng.random() < 0.6
            else rng.choice(("float32", "float32", "int32", "int64", "bool"))
        )
        shape = rng.randrange(4)
        optional = rng.random() < 0.2
        if shape == 0 and d.is_open:
            own_dims = dims
        elif shape == 1:
            own_dims = dims[-1:]
        else:
            own_dims = tuple("1" if dim[0] != "*" and rng.random() < 0.4 else dim for dim in dims)
        more = f', shape: "[{", ".join(own_dims)}]"'
        if shape == 3 and not d.is_open and not optional and d.rank > 1:
            # sizes of its own, to be joined with those of x
            axis = rng.randrange(d.rank)
            own_dims = tuple(f"{name}[{i}]" if i == axis else f"x[{i}]" for i in range(d.rank))
            more = f", rank: {d.rank}"
            d.inputs[name] = more
            for number, env in enumerate(d.env):
                env[name] = _like(env["x"], axis, 4 + number)
            d.values[name] = Value(name, "", (), own_dims, kind)
            continue
        d.add_input(name, own, own_dims, more + (", optional: true" if optional else ""))
        if optional:
            d.optional.add(name)


def _like(x: torch.Tensor, axis: int, size: int) -> torch.Tensor:
    """Return a tensor like x with another size of one axis."""
    shape = list(x.shape)
    shape[axis] = size
    return torch.ones(shape).to(x.dtype)


def _lists(rng: random.Random) -> Formula:
    """Return a formula over tensor lists."""
    kind = rng.choice(("float16", "float32", "bfloat16", "int32"))
    two = rng.random() < 0.6
    text = "a"
    for _ in range(rng.randint(1, 4)):
        if kind == "int32":
            text = rng.choice(INTEGER).format(f"({text})", "b" if two else "a")
        elif rng.random() < 0.5:
            text = rng.choice(UNARY).format(f"({text})")
        else:
            text = rng.choice(BINARY).format(f"({text})", "b" if two else "a")
    attrs = {}
    if kind != "int32" and rng.random() < 0.5:
        attrs["alpha"] = "{type: float, default: 0.5}"
        text = f"({text}) * alpha"
    loop = "a, b in zip(xs, ys)" if two else "a in xs"
    inputs = [(Value("xs", "", (), (), kind), ", list: true")]
    if two:
        inputs.append((Value("ys", "", (), (), kind), ", list: true, shape: like xs"))
    output = Value("zs", "", (), (), kind)
    return Formula(
        tuple(inputs),
        attrs,
        (output,),
        ("zs",),
        fixed=f"zs = [{text} for {loop}]",
        kinds=frozenset(("lists",)),
    )
