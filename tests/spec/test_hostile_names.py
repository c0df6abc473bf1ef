"""Names and texts that could break generated code: each is refused, or everything compiles."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.render import value_names
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.names import PARAM_RULES, check_vendor, cpp_local, why_taken


def listed(text: str) -> list[str]:
    return text.split()


REFUSED_OPS = listed(
    """Class Import Lambda Int Main Std Float Template Yield Async Torch Math Onnx Ops
Reference Opgen Gert Ge AscendC OpDef FooGetWorkspaceSize Name Range Len Nan CallCount
Memcpy Exit Malloc"""
)
# Functions of C, Python and torch.
FINE_OPS = listed(
    """Abs Exp Max Sum Round Write Index Time Select Tanh Custom Tensor Test Matmul
Print2 X"""
)

REFUSED_PARAMS = listed(
    """NULL GM_ADDR EOF INFINITY M_PI SIGINT EINVAL BUFSIZ ACL_SUCCESS DTYPE_X CON_A
workspaceSize workspace executor stream tiling tilingData pipe kernel context opgen opgen_call gert
ge std Add DataCopy TPipe GlobalTensor LocalTensor Tensor ScalarType Sizes AscendC int class lambda
half template import None True errno stdin assert linux major torch F math self len zip abs nan inf
timeStamp tmp1 inputDesc nnopExecutor opType grad_y coreNum g_tilingKey
uint32_t size_t int4b_t aclTensor"""
)
# What the templates and headers themselves use, and words that look special.
FINE_PARAMS = listed(
    """X W1 dim dims axes axis split count lengths total index sizes bytes scale part
tiles scratch tileLength views cores platform variant position que buf signal time exp read y0 item
inputs output old match type data shape value tmp0x xGm xQueue xShape xWalk xAttr scalar mask0
user_ string weight bias eps out_scale"""
)
assert not set(REFUSED_PARAMS) & set(FINE_PARAMS)

SPEC = """
op: Hostile
doc: {doc}
inputs:
  a9: [float16, float32]
  {input}: a9
outputs:
  {output}: broadcast(a9, {input})
attrs:
  {attr}: 1.5
compute: (a9 + {input}) * {attr}
"""


def hostile(**names: str) -> str:
    return SPEC.format(**{"doc": "text", "input": "b9", "output": "y9", "attr": "c9", **names})


def good(text: str) -> OpSpec:
    result = parse_spec(text, "hostile.yaml")
    assert result.spec is not None, [str(d) for d in result.diagnostics]
    return result.spec


def codes(text: str) -> set[str]:
    result = parse_spec(text, "hostile.yaml")
    return {d.code for d in result.diagnostics if d.severity == "error"}


@pytest.mark.parametrize("name", REFUSED_OPS)
def test_refused_ops(name: str) -> None:
    assert codes(hostile().replace("Hostile", name)) == {"OPG010"}


@pytest.mark.parametrize("name", FINE_OPS)
def test_fine_ops(name: str) -> None:
    assert codes(hostile().replace("Hostile", name)) == set()


@pytest.mark.parametrize("position", ["input", "output", "attr"])
def test_parameters(position: str) -> None:
    for name in REFUSED_PARAMS:
        found = parse_spec(hostile(**{position: name}), "hostile.yaml").diagnostics
        assert "OPG011" in {d.code for d in found}, name
        assert all(d.why for d in found if d.code == "OPG011"), name
    for name in FINE_PARAMS:
        assert codes(hostile(**{position: name})) == set(), name


SHARED = [
    ({"attr": "out"}, {"OPG012"}),
    ({"input": "out"}, {"OPG012"}),
    ({"output": "out"}, set()),
    ({"input": "x_y", "attr": "xY"}, {"OPG012"}),
    ({"input": "x_y", "output": "xY"}, {"OPG012"}),
    ({"input": "hostile"}, {"OPG012"}),
    ({"input": "hostile_kernel"}, {"OPG012"}),
    ({"attr": "hostile"}, set()),
]


@pytest.mark.parametrize(("names", "expected"), SHARED)
def test_names_that_become_one(names: dict[str, str], expected: set[str]) -> None:
    assert codes(hostile(**names)) == expected


def test_out_is_free_when_there_are_two_outputs() -> None:
    text = hostile(attr="out").replace("attrs:", "  z9: like a9\nattrs:")
    text = text.replace("compute: (a9", "compute: |\n  z9 = a9 * 2\n  y9 = (a9")
    assert codes(text) == set()


VENDORS_REFUSED = listed(
    """os sys json types test torch numpy aten prims class lambda int linux EOF NULL
ACME load_library onnx site 1st a-b"""
)


@pytest.mark.parametrize("name", ["", *VENDORS_REFUSED])
def test_refused_vendors(name: str) -> None:
    with pytest.raises(OpgenError) as caught:
        check_vendor(name)
    (finding,) = caught.value.diagnostics
    assert finding.code == "OPG603" and finding.why and finding.fix


@pytest.mark.parametrize("name", ["acme", "opgen", "customize", "Acme", "my_ops", "A"])
def test_fine_vendors(name: str) -> None:
    assert check_vendor(name) == name


# Written as YAML in double quotes.
UNPRINTABLE = ["\\0", "\\ud800", "x\\u202ey", "\\x07", "\\e", "\\x7f"]


@pytest.mark.parametrize("text", UNPRINTABLE)
def test_characters_that_no_source_can_hold(text: str) -> None:
    assert codes(hostile(doc=f'"a{text}b"')) == {"OPG009"}
    assert codes(hostile().replace("c9: 1.5", f'c9: 1.5\n  d9: "a{text}b"')) == {"OPG009"}
    listed = f'c9: 1.5\n  d9: {{type: str, default: a, allowed: [a, "b{text}"]}}'
    assert codes(hostile().replace("c9: 1.5", listed)) == {"OPG009"}
    doc = f'b9: {{dtype: a9, doc: "{text}"}}'
    assert codes(hostile().replace("b9: a9", doc)) == {"OPG009"}


def test_text_values_stand_on_one_line() -> None:
    assert codes(hostile().replace("c9: 1.5", 'c9: 1.5\n  d9: "a\\nb"')) == {"OPG021"}


TEXTS = [
    "ends in a backslash \\",
    "a \\ in the middle, and at the very end of a word\\ " + "long words to wrap " * 8 + "\\",
    'a "quote" and an end "',
    "closes */ comments /* and \"\"\" and ''' strings",
    "{{ spec }} {% raw %} %s %d $HOME `id` #{x}",
    "\\N{DASH} \\x \\u12 \\777 ??/",
    "日本語 é 😀",
    "C:\\new\\table\\",
]
VALUES = ["", "+", "-", "a\\", 'a"b', "é", "日本", "😀", "a b", "%s", "{{x}}", "??/", "\\n"]


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def text_specs() -> list[OpSpec]:
    specs = []
    for number, text in enumerate(TEXTS):
        body = hostile(doc=quoted(text)).replace("Hostile", f"HostileText{number}")
        body = body.replace("b9: a9", f"b9: {{dtype: a9, doc: {quoted(text)}}}")
        body = body.replace("c9: 1.5", f"c9: {{type: float, default: 1.5, doc: {quoted(text)}}}")
        specs.append(good(body))
    listed = ", ".join(quoted(v) for v in VALUES)
    attr = f"c9: 1.5\n  d9: {{type: str, default: {quoted(VALUES[3])}, allowed: [{listed}]}}"
    body = hostile().replace("Hostile", "HostileValues").replace("c9: 1.5", attr)
    body = body.replace("compute: (a9 + b9) * c9", "compute: |\n  y9 = (a9 + b9) * c9\n")
    body += "".join(
        f"  if d9 == {value!r}:\n      y9 = y9 * {i + 2}\n" for i, value in enumerate(VALUES[:6])
    )
    specs.append(good(body))
    return specs


def packed(names: list[str], position: str, size: int) -> list[OpSpec]:
    """Ops that have ``size`` of the names each, as inputs, outputs or attrs."""
    specs = []
    for start in range(0, len(names), size):
        part = names[start : start + size]
        head = f"op: Hostile{position.title()}{start}\ninputs:\n  a9: [float16, float32]\n"
        if position == "input":
            rows = "".join(f"  {n}: a9\n" for n in part)
            body = f"outputs: {{y9: 'broadcast(a9, {', '.join(part)})'}}\n"
            text = head + rows + body + f"compute: a9 + {' + '.join(part)}\n"
        elif position == "output":
            rows = "".join(f"  {n}: like a9\n" for n in part)
            lines = "".join(f"  {n} = a9 * {i}.5\n" for i, n in enumerate(part))
            text = head + "outputs:\n" + rows + "compute: |\n" + lines
        else:
            rows = "".join(f"  {n}: {i}.5\n" for i, n in enumerate(part))
            text = head + "outputs: {y9: like a9}\nattrs:\n" + rows
            formula = f"a9 * {' + a9 * '.join(part)}"
            text += f"compute: {formula}\n" if position == "attr" else ""
            text += f"compute: torch.softmax({formula}, -1)\n" if position == "row" else ""
        specs.append(good(text))
    return specs


# Kernels with most of what generated code declares: masks, rows, positions, boxes and lists.
RICH = {
    "rows": """
op: RichRows
inputs:
  a9: {dtype: [float16, int8], rank: 3}
  b9: {dtype: bool, shape: "[*a9[:-1], 1]"}
  c9: {dtype: [float32, int32], shape: "[a9[-1]]"}
outputs:
  y9: like a9
  z9: {dtype: float32, shape: "[*a9[:-1], 1]"}
attrs:
  e9: 1.5
compute: |
  y9 = torch.where(b9, a9 * e9, a9 + c9).to(a9.dtype)
  z9 = torch.softmax(a9.float() * c9, -1).sum(-1, keepdim=True)
""",
    "positions": """
op: RichPositions
inputs:
  a9: {dtype: [float16, float32], rank: [1, 8]}
outputs:
  y9: {dtype: int64, shape: "reduce(a9, d9, k9)"}
attrs:
  d9: -1
  k9: false
compute: torch.argmax(a9, d9, k9)
""",
    "boxes": """
op: RichBoxes
inputs:
  a9: [float16, int8]
  b9: {dtype: bool}
  c9: {dtype: [float32, int16], optional: true}
outputs:
  y9: {dtype: a9, shape: "broadcast(a9, b9, c9)"}
compute: |
  other = a9 + a9 if c9 is None else c9.to(a9.dtype)
  y9 = torch.where(b9, a9, other).to(a9.dtype)
""",
    "lists": """
op: RichLists
inputs:
  a9: {dtype: [float16, float32], list: true}
  b9: {dtype: a9, list: true, shape: like a9}
outputs:
  y9: {shape: like a9, list: true}
attrs:
  e9: 1.0
compute: "[p9 + e9 * q9 for p9, q9 in zip(a9, b9)]"
""",
}


def rich_sources() -> list[tuple[str, str]]:
    """Return path and text of what is generated for ops that declare much, without comments."""
    from msopgen_wrap.project.tree import ProjectOptions, render_project

    sources = []
    for text in RICH.values():
        parts = ("op_host", "op_kernel")
        for file in render_project([good(text)], ProjectOptions(parts=parts)):
            if re.fullmatch(r"op_(?:host|kernel)/rich_\w+\.(?:cpp|h)", file.path):
                sources.append((file.path, re.sub(r'//.*|"[^"]*"', " ", file.text)))
    return sources


def template_texts(*folders: str) -> list[tuple[str, str]]:
    """Return name and text of the templates, without comments and what jinja reads."""
    sources = []
    for path in sorted(p for name in folders for p in (data_dir("templates") / name).glob("*")):
        text = re.sub(r"\{[{%].*?[}%]\}", " ", path.read_text(encoding="utf-8"), flags=re.S)
        sources.append((path.name, re.sub(r'//.*|"[^"]*"', " ", text)))
    return sources


def generated_names() -> list[str]:
    """Every identifier of templates and generated sources that may name a parameter.

    One of each camelCase form.
    """
    found: dict[str, str] = {}
    folders = ("op_kernel", "tiling", "op_host", "torch_ext/csrc")
    for _, text in [*template_texts(*folders), *rich_sources()]:
        for name in re.findall(r"\b[a-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*\b", text):
            if not why_taken(name, PARAM_RULES) and len(name) <= 48 and "9" not in name:
                found.setdefault(name.replace("_", "").lower(), name)
    return sorted(found.values())


DECLARED = re.compile(
    r"(?:^|[(;,])\s*(?:static |constexpr |const )*[A-Za-z_:<>0-9]+(?: const)?[&*]? "
    r"([a-z]\w*)(?:\(|\[|;| =|,|\)| :)",
    flags=re.M,
)


def test_locals_of_generated_code_are_known() -> None:
    """What TilingFunc and the kernels declare must not be declared again by a parameter."""
    missing = []
    for path, text in [*template_texts("tiling", "op_kernel"), *rich_sources()]:
        for name in dict.fromkeys(DECLARED.findall(text)):
            # members of the struct of budgets, a parameter of the OpDef's constructor
            if "9" in name or name in ("reserved", "exchanged", "name"):
                continue
            if value_names.gives_way(name):
                continue  # they give way to parameters, see GIVES_WAY
            if cpp_local(name) == name and not why_taken(name, PARAM_RULES):
                missing.append(f"{path}: {name}")
    assert missing == []


# Row values of this are a mean, a sum of squares, a variance, ones and a reciprocal root.
GIVES_WAY = """
op: GivesWay
inputs:
  mean: {dtype: [float32, float16], rank: 2}
  rstd: {dtype: mean, shape: "[mean[1]]"}
  mean2: {dtype: mean, shape: "[mean[1]]"}
outputs:
  squares: like mean
  largest: {dtype: mean, shape: "[mean[0]]"}
attrs:
  ones: 1.0
  rowMean: 2.0
  squareSum: 0.5
compute: |
  normal = F.layer_norm(mean, [mean.shape[-1]], rstd, mean2, 1e-5)
  squares = normal * ones + mean.amax(-1, keepdim=True) * rowMean
  largest = mean.amax(-1) + (mean * mean).sum(-1) * squareSum
"""


# An attr that is two numbers, a list of numbers and a second view of an input have names beside
# the parameters' own.
MADE_UP = """
op: MadeUp
inputs:
  s: {dtype: float32, rank: 2}
  row: {dtype: float32, shape: "[s[0], 1]"}
  n: {dtype: int32, shape: like s}
  v1: {dtype: float32, shape: like s}
  tile: {dtype: float32, shape: like s}
outputs:
  y9: like s
attrs:
  s1: 2
  rows: 3
  v: {type: list_float, default: [1.0, 2.0]}
  other: 1.5
  set_y: 2.5
compute: |
  m = n * s1 + n * rows
  y9 = torch.softmax(s * row * s1 + s[..., :1] * m * tile, -1) * rows + v[1] * v1 * other + set_y
"""


def test_names_that_generated_code_makes_up(tmp_path: Path) -> None:
    from hostile_projects import problems

    elementwise = MADE_UP.replace("MadeUp", "MadeUpPoints").replace("torch.softmax(", "torch.exp(")
    specs = [good(MADE_UP), good(elementwise.replace("tile, -1)", "tile)"))]
    assert problems(specs, "acme", tmp_path / "new") == []
    assert problems(specs, "acme", tmp_path / "old", "8.1") == []


def test_hostile_texts_and_names_compile(tmp_path: Path) -> None:
    from hostile_projects import problems

    names = ["dims", "split", "count", "rowElements", "row0", "set_count"]
    specs = [text_specs()[1], text_specs()[-1], *packed(names, "row", 6)]
    specs += packed(["que", "buf", "part", "xGm", "item"], "input", 5)
    specs += [good(hostile().replace("Hostile", "Abs")), good(GIVES_WAY)]
    assert problems(specs, "acme", tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("position", ["input", "output", "attr", "row", "texts", "ops"])
def test_every_accepted_name_compiles(position: str, tmp_path: Path) -> None:
    from hostile_projects import problems

    sizes = {"input": 7, "output": 6, "attr": 25, "row": 20}
    if position == "texts":
        specs = text_specs()
    elif position == "ops":
        specs = [good(hostile().replace("Hostile", name)) for name in FINE_OPS]
    else:
        names = dict.fromkeys([*FINE_PARAMS, *generated_names()])
        distinct = {n.replace("_", "").lower(): n for n in reversed(names)}
        specs = packed(list(distinct.values()), position, sizes[position])
    assert problems(specs, "acme", tmp_path) == []
