"""Inputs with the names of members and locals of the templates of families."""

from __future__ import annotations

import pytest
from harness import BuiltOp

from msopgen_wrap.spec.loader import parse_spec

TEXTS = {
    "rows by index": """\
inputs:
  {0}: {{dtype: float32, rank: 2}}
  {1}: {{dtype: int32, rank: 1}}
  {2}: {{dtype: float32, shape: "[{1}[0], {0}[1]]"}}
outputs: {{sums: like {0}}}
compute: sums = {0}.index_add(0, {1}, {2})
""",
    "a convolution": """\
inputs:
  {0}: {{dtype: float16, rank: 4}}
  {1}: {{dtype: float16, shape: "[8, {0}[1], 3, 3]"}}
outputs:
  image: {{dtype: float16, shape: "[{0}[0], 8, {0}[2] - 2, {0}[3] - 2]"}}
compute: image = F.conv2d({0}, {1})
cases:
  - {{ {0}: [2, 4, 6, 6], {1}: [8, 4, 3, 3] }}
""",
    "an attention": """\
inputs:
  {0}: {{dtype: float16, rank: 4}}
  {1}: {{dtype: float16, rank: 4}}
  {2}: {{dtype: float16, shape: like {1}}}
outputs: {{result: like {0}}}
compute: result = F.scaled_dot_product_attention({0}, {1}, {2})
cases:
  - {{ {0}: [1, 2, 16, 32], {1}: [1, 2, 24, 32], {2}: [1, 2, 24, 32] }}
""",
    "a sort": """\
inputs:
  {0}: {{dtype: float16, rank: 2}}
outputs: {{sorted: like {0}}}
compute: sorted = {0}.sort(-1).values
""",
}
NAMES = [
    ("rows by index", ("items", "pieces", "rows")),
    ("rows by index", ("found", "rowPitch", "valueLength")),
    ("a convolution", ("columns", "filters")),
    ("a convolution", ("depth", "convolved")),
    ("an attention", ("shared", "steps", "transposed")),
    ("an attention", ("depth", "idle", "scoreProduct")),
    ("a sort", ("order",)),
]


@pytest.mark.slow
@pytest.mark.parametrize("kind, names", NAMES)
def test_kernels_and_tilings_compile(kind, names, tmp_path):
    text = f"op: Named{NAMES.index((kind, names))}\nbackward: none\n" + TEXTS[kind].format(*names)
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    assert BuiltOp(spec, tmp_path).plan.bodies
