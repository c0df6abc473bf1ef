"""Every diagnostic code of the spec stage, with the exact place it points at.

``@@`` marks where the finding must point; it is removed before parsing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.explain import find
from msopgen_wrap.spec.loader import find_specs, load_specs, parse_spec, read_spec, read_specs

GOOD = """\
op: Demo
inputs:
  x: [float16, float32]
  y: x
outputs:
  z: broadcast(x, y)
attrs:
  alpha: 1.0
compute: x * alpha + y
"""


# The dtype that an attr gives one output is that of another one.
TOLD = """\
op: Demo
inputs: {x: [float16, float32]}
outputs:
  z: {dtype: kind, shape: like x}
  w: {dtype: float32, shape: like x}
attrs:
  @@kind: {type: dtype, allowed: [float16, float32]}
compute: |
  z = x.to(kind)
  w = x.float()
"""


# How many elements of an output are results is said by another one.
COUNTED = """\
op: Demo
inputs: {x: float32}
attrs: {ends: [0]}
outputs:
  @@z: {dtype: x, shape: "[x[0]]", length: n}
  n: {dtype: int32, shape: "[1]"}
compute: |
  z = x
  n = (x > 0).sum().reshape(1).to(torch.int32)
"""


def swap(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


def code(text: str) -> str:
    return swap("compute: x * alpha + y", "compute: " + text)


def block(*lines: str) -> str:
    return code("|\n" + "".join(f"  {line}\n" for line in lines)).rstrip("\n") + "\n"


BAD = [
    # reading
    ("OPG002", "op: Demo\ninputs:\n@@\tx: float32\n"),
    ("OPG002", "op: Demo\ncompute: torch.where(x > 0, {a@@: b}, [}\n"),
    ("OPG002", '@@op: "Demo\\UFFFFFFFF"\n'),
    ("OPG003", swap("  y: x\n", "  y: x\n  @@x: float32\n")),
    ("OPG003", GOOD + "@@op: Again\n"),
    ("OPG004", swap("broadcast(x, y)", "[@@*x, 4]")),
    ("OPG004", swap("alpha: 1.0", "alpha: @@!!python/object:os.system x")),
    ("OPG004", swap("alpha: 1.0", "alpha: @@&a 1.0")),
    ("OPG005", GOOD + "@@computes: x\n"),
    ("OPG005", swap("y: x", "y: {dtype: x, @@optinal: true}")),
    ("OPG005", swap("alpha: 1.0", "alpha: {type: float, @@defualt: 1.0}")),
    ("OPG005", swap("z: broadcast(x, y)", "z: {@@shap: like x, dtype: x}")),
    ("OPG006", GOOD.replace("op: Demo\n", "").replace("inputs:", "@@inputs:", 1)),
    ("OPG006", "@@op: Demo\noutputs:\n  y: like x\ncompute: x\n"),
    ("OPG006", swap("  y: x", "  @@y: {optional: true}")),
    ("OPG007", "@@- op\n- list\n"),
    ("OPG007", swap("op: Demo", "op: @@[a]")),
    ("OPG007", swap("y: x", "y: {dtype: x, optional: @@yes}")),
    ("OPG007", GOOD + "cases: @@x\n"),
    ("OPG007", GOOD + "cases:\n  - @@x\n"),
    ("OPG008", GOOD + "@@---\nop: Other\n"),
    ("OPG008", "@@"),
    # names
    ("OPG010", swap("op: Demo", "op: @@fused_add")),
    ("OPG010", swap("op: Demo", "op: @@" + "A" * 65)),
    ("OPG011", swap("  y: x\n", "  y: x\n  @@int: x\n")),
    ("OPG011", swap("  y: x\n", "  y: x\n  @@lambda: x\n")),
    ("OPG011", swap("  y: x\n", "  y: x\n  @@workspace: x\n")),
    ("OPG011", swap("  y: x\n", "  y: x\n  @@a-b: x\n")),
    ("OPG011", swap("  y: x\n", "  y: x\n  @@grad_z: x\n")),
    ("OPG011", swap("alpha", "__alpha").replace("__alpha: 1", "@@__alpha: 1")),
    ("OPG012", swap("  alpha: 1.0", "  alpha: 1.0\n  @@x: 2.0")),
    ("OPG012", swap("  alpha: 1.0", "  alpha: 1.0\n  @@alphA: 2.0")),
    ("OPG012", swap("  y: x\n", "  y: x\n  @@demo: x\n")),
    ("OPG013", swap("z: broadcast(x, y)", "@@x: broadcast(x, y)").replace("x * alpha", "x")),
    # dtypes
    ("OPG014", swap("[float16, float32]", "[float16, @@half]")),
    ("OPG014", swap("[float16, float32]", "@@float64")),
    ("OPG014", swap("y: x", "y: @@X")),
    ("OPG014", swap("[float16, float32]", "[float16, @@3]")),
    ("OPG014", swap("y: x", "y: @@kind").replace("alpha: 1.0", "alpha: 1.0\n  kind: float16")),
    (
        "OPG022",
        swap("z: broadcast(x, y)", 'z: {dtype: kind, shape: "broadcast(x, y)"}').replace(
            "alpha: 1.0", "alpha: 1.0\n  @@kind: float16"
        ),
    ),
    ("OPG023", TOLD),
    ("OPG015", swap("y: x", "y: [float16, float32, int32]").replace("x: [", "x: @@[", 1)),
    ("OPG015", swap("[float16, float32]", "@@[float16, float16]")),
    ("OPG015", swap("[float16, float32]", "@@[]")),
    ("OPG016", swap("[float16, float32]", "@@[bfloat16, float32]") + "soc: ascend310p\n"),
    ("OPG017", swap("[float16, float32]", "@@y")),
    # input and output properties
    ("OPG018", swap("y: x", "y: {dtype: x, rank: @@[3, 1]}")),
    ("OPG018", swap("y: x", "y: {dtype: x, rank: @@9}")),
    ("OPG018", swap("y: x", "y: {dtype: x, range: @@[2, 1]}")),
    ("OPG018", swap("y: x", "y: {dtype: x, default: @@1.0}")),
    ("OPG018", swap("y: x", "y: {dtype: x, optional: true, @@list: true}")),
    ("OPG019", swap("z: broadcast(x, y)", "@@z: {inplace: w, dtype: x}")),
    ("OPG019", swap("z: broadcast(x, y)", "@@z: {inplace: x, dtype: x}")),
    ("OPG019", swap("z: broadcast(x, y)", "@@z: {inplace: x, dtype: float32}")),
    ("OPG019", swap("z: broadcast(x, y)", '@@z: {inplace: x, shape: "broadcast(x, y)"}')),
    # attrs
    ("OPG020", swap("alpha: 1.0", "alpha: {type: @@flaot}")),
    ("OPG020", swap("alpha: 1.0", "@@alpha: {doc: text}")),
    ("OPG020", swap("alpha: 1.0", "alpha: @@null")),
    ("OPG021", swap("alpha: 1.0", 'alpha: {type: list_int, default: @@"{1,2}"}')),
    ("OPG021", swap("alpha: 1.0", "alpha: {type: int, default: @@1.5}")),
    ("OPG021", swap("alpha: 1.0", "alpha: {type: int, default: @@9223372036854775808}")),
    ("OPG021", swap("alpha: 1.0", "alpha: {type: float, default: @@2.0, max: 1}")),
    ("OPG021", swap("alpha: 1.0", "alpha: {type: str, default: @@c, allowed: [a, b]}")),
    ("OPG022", swap("alpha: 1.0", "alpha: {type: float, min: 2, @@max: 1}")),
    ("OPG022", swap("alpha: 1.0", "alpha: {type: bool, min: @@2}")),
    ("OPG022", swap("alpha: 1.0", "alpha: {type: str, allowed: @@[]}")),
    ("OPG022", swap("alpha: 1.0", "alpha: {type: str, allowed: @@[a, a]}")),
    # shape rules
    ("OPG030", swap("broadcast(x, y)", '"broadcast@@(x, "')),
    ("OPG030", swap("broadcast(x, y)", "@@broadcast()")),
    ("OPG030", swap("broadcast(x, y)", "@@x + y")),
    ("OPG030", swap("broadcast(x, y)", '"[@@x[0] / 2]"')),
    ("OPG030", swap("broadcast(x, y)", '"[@@x[1:]]"')),
    ("OPG031", swap("broadcast(x, y)", "broadcast(x, @@yy)")),
    ("OPG031", swap("broadcast(x, y)", '"[*x[:-1], @@n]"')),
    ("OPG031", swap("broadcast(x, y)", "@@brodcast(x, y)")),
    ("OPG031", swap("y: x", "y: {dtype: x, shape: like @@z}")),
    ("OPG032", swap("z: broadcast(x, y)", "@@z: {dtype: x}")),
    ("OPG033", swap("broadcast(x, y)", '"[@@x, 4]"')),
    ("OPG033", swap("broadcast(x, y)", '"[@@alpha]"')),
    ("OPG033", swap("broadcast(x, y)", '"[x[@@9]]"')),
    ("OPG033", swap("broadcast(x, y)", "broadcast(@@alpha, x)")),
    ("OPG033", swap("y: x", "y: {dtype: x, optional: true}").replace("z: broad", "@@z: like y #")),
    ("OPG033", swap("z: broadcast(x, y)", '@@z: "[x[0] if y is not None else 1]"')),
    ("OPG033", swap("y: x", "y: {dtype: x, list: true}").replace("broad", "@@broad")),
    # version
    ("OPG034", "version: @@2\n" + GOOD),
    ("OPG034", "version: @@0\n" + GOOD),
    ("OPG007", "version: @@one\n" + GOOD),
    # code
    ("OPG040", GOOD.replace("compute: x * alpha + y\n", "").replace("Demo", "@@Demo")),
    ("OPG041", code("x +@@")),
    ("OPG041", block("z = x", "  @@w = y")),
    ("OPG041", code('@@""')),
    ("OPG042", block("@@import os", "z = x + y * alpha")),
    ("OPG042", block("@@from os import system", "z = x + y * alpha")),
    ("OPG042", code('@@__import__("os").system("true")')),
    ("OPG042", code("x.@@__class__")),
    ("OPG042", code("x.@@_backward_hooks")),
    ("OPG042", code("@@torch.__builtins__")),
    ("OPG042", code("@@torch._C._jit_clear_class_registry()")),
    ("OPG042", code('@@eval("1")')),
    ("OPG042", code('@@exec("1")')),
    ("OPG042", code('@@open("/etc/passwd").read()')),
    ("OPG042", code('@@getattr(x, "data")')),
    ("OPG042", block("z = (@@lambda: x)()")),
    ("OPG042", block("@@while True:", "  z = x", "z = x")),
    ("OPG042", block("@@for i in y:", "  z = x", "z = x")),
    ("OPG042", block("@@for i in range(2):", "  z = x", "else:", "  z = x")),
    ("OPG042", block("for i in range(2):", "  @@for j in range(2):", "    z = x", "z = x")),
    ("OPG042", block("for i in @@range(x):", "  z = x", "z = x")),
    ("OPG042", block("for @@i, j in range(2):", "  z = x", "z = x")),
    ("OPG042", block("for i in range(2):", "  @@break", "z = x")),
    ("OPG045", block("for i in range(2):", "  z = x.@@data", "z = x")),
    ("OPG042", block("@@def f(): pass", "z = x")),
    ("OPG042", block("@@return x")),
    ("OPG042", block("z = @@f'{x}'")),
    ("OPG042", block("@@x[0] = y", "z = x")),
    ("OPG042", block("@@torch = x", "z = x")),
    ("OPG042", block("@@alpha = 2.0", "z = x")),
    ("OPG042", block("@@x + y", "z = x")),
    ("OPG042", block("z = [a for a in @@x]")),
    ("OPG042", code("torch.add(x, y, out=@@x)")),
    ("OPG042", code("torch.add(x, **@@y)")),
    ("OPG042", block("z = @@[x] * 1000000000")),
    ("OPG042", code("x * len(@@'a' * 99999999)")),
    ("OPG042", block("z = (@@y := x) + 1")),
    ("OPG043", code("@@torch.load(x)")),
    ("OPG043", code("@@torch.relux(x)")),
    ("OPG043", code("@@torch.relu_(x)")),
    ("OPG043", code("@@torch.rand_like(x)")),
    ("OPG043", code("@@F.dropout(x)")),
    ("OPG043", code("@@F.dropout(x, 0.5, True)")),
    ("OPG043", code("@@F.dropout(x, training=x.ndim == 2)")),
    ("OPG043", code("@@torch.bernoulli(x, training=False)")),
    ("OPG043", code("x + @@torch.relu")),
    ("OPG043", code("@@torch.ops.aten.relu(x)")),
    ("OPG043", code("@@torch.hub.load(x)")),
    ("OPG043", code("@@math.perm(3)")),
    ("OPG044", code("x + @@yy")),
    ("OPG044", code("@@relu(x)")),
    ("OPG044", code("@@np.abs(x)")),
    ("OPG045", code("x.@@add_(y)")),
    ("OPG045", code("x.@@item()")),
    ("OPG045", code("x.@@data")),
    ("OPG045", code("x.@@register_hook(y)")),
    ("OPG045", code("x * alpha.@@hex()")),
    ("OPG046", code("x + @@" + "9" * 25)),
    ("OPG046", code("x * (@@9 ** 99999999)")),
    ("OPG046", code("x * (@@1 << 9999999)")),
    ("OPG046", code("@@torch.zeros(100000, 100000)")),
    ("OPG046", code("@@" + "(" * 80 + "x" + ")" * 80)),
    ("OPG047", block("if @@x > 0:", "  z = x", "else:", "  z = y")),
    ("OPG047", code("x if @@x.sum() > 0 else y")),
    ("OPG047", code("@@0 < x < 1")),
    ("OPG047", code("@@x and y")),
    ("OPG047", code("@@not x")),
    ("OPG047", code("x * @@float(y)")),
    ("OPG047", code("@@max(x, y)")),
    ("OPG048", block("@@w = x + y * alpha")),
    # the rest
    ("OPG050", GOOD + "backward: @@maybe\n"),
    ("OPG050", GOOD + "backward:\n  @@w: grad_z\n"),
    ("OPG050", GOOD.replace("[float16, float32]", "int32") + "backward: @@auto\n"),
    ("OPG050", GOOD.replace("x * alpha + y", "(x > y).float()") + "backward: @@kernel\n"),
    ("OPG007", GOOD + "backward: kernel\nsave: @@{z: true}\n"),
    ("OPG051", GOOD + "kernel: @@/abs/k.cpp\n"),
    ("OPG051", GOOD + "kernel: @@k.txt\n"),
    ("OPG052", GOOD + "tiling: @@t.cpp\n"),
    ("OPG052", GOOD + "workspace: @@64\n"),
    ("OPG024", COUNTED.replace("length: n", "length: m")),
    ("OPG024", COUNTED.replace("dtype: int32", "dtype: float32")),
    ("OPG024", COUNTED.replace('"[1]"', '"[2]"')),
    ("OPG024", COUNTED.replace("length: n", "length: n, pieces: ends")),
    ("OPG031", COUNTED.replace("@@", "").replace("length: n", "pieces: @@n")),
    ("OPG030", COUNTED.replace("@@", "").replace("length: n", 'pieces: "@@[ends]"')),
    ("OPG024", COUNTED.replace('"[x[0]]"', '"[]"')),
    ("OPG055", GOOD + "cases:\n  - {x: [1], y: [1], @@w: [1]}\n"),
    ("OPG055", GOOD + "cases:\n  - @@{x: [1]}\n"),
    ("OPG055", GOOD + "cases:\n  - {x: [1], y: [1], dtype: @@int8}\n"),
    ("OPG056", GOOD + "cases:\n  - @@{x: [2], y: [3]}\n"),
    ("OPG056", GOOD + "cases:\n  - {x: [@@-1], y: [3]}\n"),
    ("OPG056", GOOD + "cases:\n  - {x: @@null, y: [3]}\n"),
    ("OPG056", GOOD + "cases:\n  - {x: @@[1, 1, 1, 1, 1, 1, 1, 1, 1], y: [3]}\n"),
    ("OPG057", swap("1.0", "{type: float, default: 1, max: 2}")
     + "cases:\n  - {x: [2], y: [2], alpha: @@3}\n"),
    ("OPG060", GOOD + "tolerance: @@2\n"),
    ("OPG060", GOOD + "tolerance: {@@float8: 1e-3}\n"),
    ("OPG061", GOOD + "soc: [ascend910b, @@ascend911b]\n"),
    ("OPG062", GOOD + "soc: @@ascend910\n"),
    ("OPG070", "op: Demo\nschema: @@nonsense\ncompute: x\n"),
    ("OPG070", 'op: Demo\nschema: "f(Tensor x, @@double d) -> Tensor y"\ncompute: x\n'),
]  # fmt: skip


def place(text: str) -> tuple[str, int, int]:
    """Remove the mark; return the text and the marked line and column."""
    at = text.index("@@")
    before = text[:at]
    return text.replace("@@", ""), before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1


@pytest.mark.parametrize(
    ("expected", "marked"), BAD, ids=[f"{i}-{c}" for i, (c, _) in enumerate(BAD)]
)
def test_bad_spec_is_reported_at_its_place(expected: str, marked: str) -> None:
    text, line, column = place(marked)
    result = parse_spec(text, "demo.yaml")
    assert result.spec is None
    found = [(d.code, d.location.line, d.location.column) for d in result.diagnostics]
    if expected == "OPG041":  # Python's parser decides the column, and differs by version
        assert (expected, line) in [f[:2] for f in found], found
    else:
        assert (expected, line, column) in found, found
    assert all(d.location.file == "demo.yaml" for d in result.diagnostics)


def test_the_good_spec_is_good() -> None:
    assert parse_spec(GOOD).diagnostics == []


def test_every_code_has_an_explanation() -> None:
    codes = {c for c, _ in BAD} | {"OPG001", "OPG049", "OPG071", "OPG072"}
    assert [c for c in sorted(codes) if not find(c)] == []


def test_all_problems_come_in_one_run_and_in_file_order() -> None:
    text = swap("op: Demo", "op: demo").replace("y: x", "y: half").replace("alpha +", "beta +")
    result = parse_spec(text)
    assert [d.code for d in result.diagnostics] == ["OPG010", "OPG014", "OPG044"]


SUGGESTIONS = [
    (swap("[float16, float32]", "[fp16, float32]"), "write 'float16'"),
    (GOOD + "computes: x\n", "did you mean 'compute'?"),
    (code("x + torch.sigmiod(y)"), "did you mean 'sigmoid'?"),
    (code("F.sigmod(x) + y"), "did you mean 'sigmoid'?"),
    (code("relu(x)"), "write torch.relu"),
    (code("gelu(x)"), "write F.gelu"),
    (code("x.add_(y)"), "use '.add()'; mark the output with 'inplace:'"),
    (code("alpa * x + y"), "did you mean 'alpha'?"),
    (code(">\n  z = x\n  z = z + y * alpha"), "YAML joined its lines: write the block after '|'"),
    (GOOD + "soc: ascend910c\n", "did you mean 'ascend910_93'?"),
    (GOOD + "soc: 910b\n", "did you mean 'ascend910b'?"),
    (GOOD + "soc: ascend910\n", "did you mean 'ascend910b'? 'ascend910' is the older 910A"),
]


@pytest.mark.parametrize(("text", "fix"), SUGGESTIONS)
def test_near_names_are_suggested(text: str, fix: str) -> None:
    assert fix in [d.fix for d in parse_spec(text).diagnostics]


def test_warnings_do_not_refuse_the_spec() -> None:
    result = parse_spec(code("x + y"))
    assert result.spec is not None
    assert [(d.code, d.severity) for d in result.diagnostics] == [("OPG049", "warning")]


def test_unreadable_files(tmp_path: Path) -> None:
    missing = read_spec(tmp_path / "no.yaml")
    assert [d.code for d in missing.diagnostics] == ["OPG001"]
    binary = tmp_path / "b.yaml"
    binary.write_bytes(b"op: A\ndoc: \xff\n")
    place_of = read_spec(binary).diagnostics[0].location
    assert (place_of.line, place_of.column) == (2, 6)
    large = tmp_path / "l.yaml"
    large.write_text("op: A\n# " + "x" * 300_000)
    assert [d.code for d in read_spec(large).diagnostics] == ["OPG001"]


def test_the_same_op_in_two_files_is_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(GOOD)
    results = read_specs([tmp_path])
    assert [[d.code for d in r.diagnostics] for r in results] == [[], ["OPG012"]]
    with pytest.raises(OpgenError, match="already defined"):
        load_specs([tmp_path])
    assert find_specs([tmp_path, tmp_path / "a.yaml"]) == [tmp_path / "a.yaml", tmp_path / "b.yaml"]


def test_windows_line_ends_and_bom_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert read_spec(path).diagnostics == []
