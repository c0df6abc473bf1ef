"""Gradients of what users of torch.nn write: the kernels that ``backward: kernel`` derives.

Each formula is planned, compiled and run on some cases of its grid in check mode, against float64
autograd of the formula. What has no kernel is refused with a code, and a text that names the
operation and a cure.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from formula_gradients import GradientExaminer

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import gradient_spec, parse_spec

ANY = "x: {dtype: float32, rank: RANK}"
SAME = "t: {dtype: x, shape: like x}"
THIRD = "u: {dtype: x, shape: like x}"
LAST = "[*x[:-1]]"
BY_CHANNEL = ("w: {dtype: x, shape: '[x[1]]'}", "b: {dtype: x, shape: '[x[1]]'}")


class Formula(NamedTuple):
    """A formula of ``x`` and other inputs, and the shape of its result."""

    compute: str
    shape: str = "like x"
    others: tuple[str, ...] = ()
    rank: str = "[1, 8]"
    attrs: str = ""

    def spec(self, name: str, backward: str = "kernel") -> str:
        """Return the YAML."""
        inputs = "".join(f"  {row}\n" for row in (ANY.replace("RANK", self.rank), *self.others))
        compute = "".join(f"  {line}\n" for line in self.compute.splitlines())
        attrs = f"attrs: {{{self.attrs}}}\n" if self.attrs else ""
        return (
            f'op: {name}\ninputs:\n{inputs}outputs:\n  y: {{dtype: x, shape: "{self.shape}"}}\n'
            f"{attrs}compute: |\n{compute}backward: {backward}\n"
        )


RIGHT = {
    "softshrink": Formula("F.softshrink(x)"),
    "a mean slope": Formula("F.rrelu(x, 0.1, 0.3, False)"),
    "soft margin": Formula("F.soft_margin_loss(x, t.detach())", "[]", (SAME,)),
    "hinge": Formula("F.hinge_embedding_loss(x, t, margin=0.7)", "[]", (SAME,)),
    "hinge of each": Formula("F.hinge_embedding_loss(x, t, reduction='none')", others=(SAME,)),
    "margin ranking": Formula("F.margin_ranking_loss(x, t, u, 0.2)", "[]", (SAME, THIRD)),
    "triplet margin": Formula("F.triplet_margin_loss(x, t, u)", "[]", (SAME, THIRD), "[2, 8]"),
    "labels of several classes": Formula(
        "F.multilabel_soft_margin_loss(x, t)", "[]", (SAME,), "[2, 8]"
    ),
    "focal": Formula(
        "p = torch.sigmoid(x)\n"
        "loss = F.binary_cross_entropy_with_logits(x, t, reduction='none')\n"
        "pt = p * t + (1 - p) * (1 - t)\n"
        "y = (loss * (1 - pt) ** gamma).mean()",
        "[]",
        (SAME,),
        attrs="gamma: 2.0",
    ),
    "cosine similarity": Formula("F.cosine_similarity(x, t)", "[x[0], x[2], x[3]]", (SAME,), "4"),
    "prelu": Formula("F.prelu(x, w)", others=BY_CHANNEL[:1], rank="[2, 8]"),
    "instance norm": Formula("F.instance_norm(x)", rank="[3, 5]"),
    "instance norm with scale": Formula(
        "F.instance_norm(x, weight=w, bias=b)", others=BY_CHANNEL, rank="4"
    ),
    "batch norm": Formula(
        "F.batch_norm(x, None, None, w, b, training=True)", others=BY_CHANNEL, rank="[2, 5]"
    ),
    "batch norm with statistics": Formula(
        "F.batch_norm(x, m.detach(), v.detach(), w, b)",
        others=(
            "m: {dtype: x, shape: '[x[1]]'}",
            "v: {dtype: x, shape: '[x[1]]', range: [0.1, 2]}",
            *BY_CHANNEL,
        ),
        rank="4",
    ),
    "largest": Formula("x.amax(-1)", LAST),
    "largest and where": Formula("x.max(-1)[0]", LAST),
    "product": Formula("x.prod(-1)", LAST),
    "product of all": Formula("x.prod()", "[]"),
    "power of an attr": Formula("x.abs() ** p", attrs="p: 2.5"),
    "variance along an attr": Formula(
        "x.var(dim, keepdim=keepdim)", "reduce(x, dim, keepdim)", attrs="dim: -1, keepdim: false"
    ),
    "variances below eps": Formula(
        "F.gaussian_nll_loss(x, t, t.relu(), eps=0.5, reduction='sum')", "[]", (SAME,)
    ),
    "sine over its argument": Formula("torch.sinc(x * 1e-3) + torch.sinc(x)"),
    "trace": Formula("torch.trace(x)", "[]", rank="2"),
    "mean of an axis that was added": Formula(
        "(x * t).unsqueeze(0).mean((0, 2))", "[x[0]]", (SAME,), rank="2"
    ),
    "order": Formula("x.sort(-1)[0]", rank="2"),
    "median": Formula("x.median(-1)[0]", LAST, rank="2"),
    "slopes": Formula("F.prelu(x, w)", others=("w: {dtype: x, shape: '[x[1]]'}",), rank="[2, 4]"),
    "lerp by an attr": Formula("torch.lerp(x, t, w)", others=(SAME,), attrs="w: 0.3"),
    "cross entropy of pixels": Formula(
        "F.cross_entropy(x.reshape(x.shape[0], x.shape[1], -1), t.reshape(t.shape[0], -1))",
        "[]",
        ("t: {dtype: int64, shape: '[x[0], *x[2:]]', range: [0, 1]}",),
        "[2, 5]",
    ),
    "ends cut twice": Formula("(x[..., :-1][..., :-1] ** 2).sum()", "[]"),
    "every second": Formula("x[:, ::2] * 2", "[x[0], (x[1] + 1) // 2]", rank="2"),
    "margins of two axes by reflection": Formula(
        "F.pad(x, (1, 2, 2, 1), mode='reflect')", "[x[0], x[1], x[2] + 3, x[3] + 3]", rank="4"
    ),
    "margins of two axes that wrap around": Formula(
        "F.pad(x, (1, 2, 2, 1), mode='circular')", "[x[0], x[1], x[2] + 3, x[3] + 3]", rank="4"
    ),
    "margins of an attr": Formula(
        "F.pad(x, (n, n, 0, n), mode='replicate')",
        "[x[0], x[1], x[2] + n, x[3] + 2 * n]",
        rank="4",
        attrs="n: {type: int, default: 2, min: 0}",
    ),
    "blocks of a factor that is an attr": Formula(
        "F.pixel_shuffle(x, n)",
        "[x[0], x[1] // (n * n), x[2] * n, x[3] * n]",
        rank="4",
        attrs="n: {type: int, default: 2, min: 1}",
    ),
    "labels smoothed by an attr": Formula(
        "F.cross_entropy(x, t, label_smoothing=smooth)",
        "[]",
        ("t: {dtype: int64, shape: '[x[0]]', range: [0, 1]}",),
        "2",
        "smooth: {type: float, default: 0.1, min: 0, max: 1}",
    ),
    "windows": Formula("x.unfold(-1, 3, 1).amax(-1)", "[x[0], x[1] - 2]", rank="2"),
}


class Text(NamedTuple):
    """A spec without its name, for formulas whose inputs are not shaped as one another."""

    text: str

    def spec(self, name: str, backward: str = "kernel") -> str:
        """Return the YAML."""
        return f"op: {name}\n{self.text}backward: {backward}\n"


ATTENTION = """\
inputs:
  q: {dtype: float32, rank: RANK}
  k: {dtype: q, rank: RANK}
  v: {dtype: q, shape: like k}
  m: {dtype: MASK, optional: true, shape: "MASKED"}
outputs: {y: like q}
compute: |
  COMPUTE
tolerance: {y: mixed}
cases:
  - {q: SOME, k: OTHERS, v: OTHERS, m: BOTH}
"""


def attention(compute: str, heads: bool = False, mask: str = "q") -> Text:
    """Return the spec of attention over ``q``, ``k``, ``v`` and an optional mask ``m``."""
    before = "2, 3, " if heads else "2, "
    axis = 2 if heads else 1
    words = {
        "RANK": str(axis + 2),
        "MASKED": f"[q[{axis}], k[{axis}]]",
        "MASK": mask,
        "COMPUTE": compute.replace("\n", "\n  "),
        "SOME": f"[{before}20, 16]",
        "OTHERS": f"[{before}33, 16]",
        "BOTH": "[20, 33]",
    }
    text = ATTENTION
    for word, value in words.items():
        text = text.replace(word, value)
    return Text(text)


ROWS = """\
inputs:
  x: {dtype: [float16, float32], rank: 2}
  i: {dtype: int64, rank: [0, 3], range: RANGE}
outputs: {y: {dtype: x, shape: "[*i, x[1]]"}}
compute: |
  COMPUTE
"""


def rows(compute: str, values: str = "[0, 6]") -> Text:
    """Return the spec of rows of ``x`` that ``i`` chooses."""
    return Text(ROWS.replace("RANGE", values).replace("COMPUTE", compute.replace("\n", "\n  ")))


RIGHT_OF_PRODUCTS = {
    "attention": attention(
        "s = torch.einsum('bid,bjd->bij', q, k) / 4\n"
        "s = s if m is None else s + m\n"
        "y = torch.softmax(s, -1) @ v",
    ),
    "fused attention": attention(
        "F.scaled_dot_product_attention(q, k, v, m)", heads=True, mask="bool"
    ),
}
# Views, indices and products whose gradients have axes that count from either end.
INDEX = "i: {dtype: int64, shape: like x}"
ROWS_OF = "i: {dtype: int64, rank: 1}"
RIGHT_OF_RANKS = {
    "axes of both ends": Formula(
        "x.transpose(0, -1).exp()", "[x[-1], *x[1:-1], x[0]]", (), "[2, 5]"
    ),
    "a diagonal": Formula("x.diagonal(dim1=-2, dim2=-1).sum(-1)", "[*x[:-2]]", (), "[2, 5]"),
    "rows of both factors": Formula("x[i] * x[i]", "[i[0], *x[1:]]", (ROWS_OF,), "[2, 4]"),
    "a sum of rows": Formula("x[i].sum(0)", "[*x[1:]]", (ROWS_OF,), "[2, 4]"),
    "elements along the first axis": Formula("x.exp().gather(0, i)", "like x", (INDEX,), "[2, 4]"),
    "elements in any order": Formula("x.take_along_dim(i, -1)", "like x", (INDEX,), "[2, 4]"),
    "a median": Formula("x.median(0).values", "[*x[1:]]", (), "[2, 4]"),
    "a product with itself": Formula("x @ x.mT", "[*x[:-1], x[-2]]", (), "[2, 4]"),
    "pairs of pieces": Formula(
        "low = torch.maximum(x[:, None, 1:], t[None, :, 1:])\n"
        "high = torch.minimum(x[:, None, :-1], t[None, :, :-1])\n"
        "y = (high - low).exp().sum(-1)",
        "[x[0], x[0]]",
        (SAME,),
        "2",
    ),
    "windows of one sum": Formula(
        "F.pad(x, (1, 1)).unfold(-1, 3, 1).sum(-1)", "like x", (), "[2, 4]"
    ),
}
RIGHT_OF_ROWS = {
    "rows that there may not be": rows(
        "there = (i >= 0) & (i < x.shape[0])\n"
        "padded = F.pad(x, [0, 0, 0, 1])\n"
        "y = F.embedding(torch.where(there, i, x.shape[0]), padded)",
        "[-3, 9]",
    ),
    "rows counted from the end": rows(
        "n = x.shape[0]\n"
        "i = i.clamp(-n, n - 1)\n"
        "y = F.embedding(torch.where(i < 0, i + n, i), x) * 2",
        "[-3, 3]",
    ),
    "rows of what is computed": rows("F.embedding(i, torch.tanh(x) * 2)"),
}


SAMPLES = """\
inputs:
  x: {dtype: float32, rank: 4}
  grid: {dtype: x, rank: 4}
outputs: {y: {dtype: x, shape: "[x[0], x[1], grid[1], grid[2]]"}}
compute: F.grid_sample(x, grid, align_corners=False)
cases:
  - {x: [2, 3, 8, 8], grid: [2, 4, 5, 2]}
"""


class Examiner(GradientExaminer):
    """Runs the ops of the gradients of formulas of this file."""

    def _text(self, formula: Any, name: str) -> str:
        return str(formula.spec(name))


EVERY = {
    **RIGHT,
    **RIGHT_OF_PRODUCTS,
    **RIGHT_OF_ROWS,
    **RIGHT_OF_RANKS,
    "samples by a grid": Text(SAMPLES),
    "cubic samples by a grid": Text(SAMPLES.replace("grid, a", "grid, mode='bicubic', a")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_a_kernel_gives_the_gradient(name: str, tmp_path: Path) -> None:
    outcome = Examiner(tmp_path).run(EVERY[name])
    assert outcome.kind == "right", f"{outcome.kind} {outcome.detail}"


# What has no kernel: the formula, and what the refusal says.
REFUSED = {
    "no derivative": (Formula("F.soft_margin_loss(x, t)", "[]", (SAME,)), "'target'"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_operation_and_a_cure(name: str) -> None:
    formula, text = REFUSED[name]
    spec = parse_spec(formula.spec("Refused"), "op.yaml").spec
    assert spec is not None
    with pytest.raises(OpgenError) as raised:
        plan_op(gradient_spec(spec))
    (problem, *_) = raised.value.diagnostics
    assert text in problem.what + problem.why
    assert problem.code.startswith("OPG") and "backward: reference" in problem.fix
