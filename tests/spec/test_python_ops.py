"""Ops as Python functions: the spec of the YAML, the same guard, mistakes with their places."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from msopgen_wrap.authoring import FunctionError, OpFunction
from msopgen_wrap.cli import app
from msopgen_wrap.diagnostics import Location, render
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.loader import load_spec, load_specs, parse_spec, read_spec
from msopgen_wrap.spec.python_file import parse_python
from msopgen_wrap.spec.python_function import read_function

LIBRARY = {s.op: s for s in (load_spec(p) for p in sorted(data_dir("op_specs").rglob("*.yaml")))}
HEAD = """\
import math
from typing import Annotated, Literal
import torch
import torch.nn.functional as F
from torch import Tensor
from msopgen_wrap import Field, op
"""
OPS = Path(__file__).with_name("python_ops.py")
NAMES = [name for name in read_spec(OPS).diagnostics[0].why.split(", ") if name]


def module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = loaded
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture(scope="module")
def ops() -> ModuleType:
    return module(OPS)


def test_the_file_has_ops_of_every_kind() -> None:
    assert len(NAMES) >= 12
    specs = [read_spec(f"{OPS}:{name}").spec for name in NAMES]
    assert sum(s is not None and s.kernel is not None for s in specs) == 1
    assert {s.backward if isinstance(s.backward, str) else "code" for s in specs if s} == {
        *("reference", "kernel", "none", "code")
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_function_and_the_library_give_one_spec(name: str, ops: ModuleType) -> None:
    function = getattr(ops, name)
    assert isinstance(function, OpFunction)
    assert function.spec == LIBRARY[function.spec.op]
    assert function.spec == load_spec(f"{OPS}:{name}")
    again = parse_spec(function.yaml(), function.spec.path)
    assert again.spec == function.spec and not again.diagnostics
    assert again.spec is not None and again.spec.source == function.spec.source == function.yaml()


def test_specs_that_say_other_things_are_not_equal() -> None:
    text = HEAD + '@op\ndef a(x: Tensor["float32"]) -> Tensor["like x"]:\n    return x + %s\n'
    one, two = (read_function(parse_python(text % n, "a.py"), "a")[0] for n in (1, 2))
    assert one is not None and one != two


def test_a_call_runs_the_function(ops: ModuleType) -> None:
    x, y = torch.tensor([-1.0, 2.0]), torch.tensor([0.5, 0.5])
    assert ops.fused_add_relu(x, y).tolist() == [0.0, 2.5]
    assert ops.my_add(x, y, alpha=3).tolist() == [-2.5, 6.5]
    assert ops.fused_add_relu.__name__ == "fused_add_relu" and "broadcasting" in (
        ops.fused_add_relu.__doc__
    )
    run = compile_compute(ops.custom_gelu.spec)
    assert torch.equal(ops.custom_gelu(x), run({"x": x}, {})["y"])


def test_a_number_stands_for_an_absent_input(tmp_path: Path) -> None:
    path = tmp_path / "absent_input.py"
    path.write_text(
        HEAD + "@op\ndef shift(\n"
        '    x: Annotated[Tensor, "float16, float32"],\n'
        '    by: Annotated[Tensor | None, "x", Field(default=0.5)] = None,\n'
        ') -> Annotated[Tensor, "broadcast(x, by)"]:\n    return x + by\n'
    )
    shift = module(path).shift
    x = torch.ones(2, dtype=torch.float16)
    assert shift(x).tolist() == [1.5, 1.5] and shift(x).dtype is torch.float16
    assert torch.equal(shift(x), compile_compute(shift.spec)({"x": x}, {})["y"])
    assert shift(x, x).tolist() == [2.0, 2.0]


SHORT = """
import msopgen_wrap as kit
from msopgen_wrap import Field, Tensor

HALVES = "float16, float32"
Row = Tensor[HALVES, "[*batch, n]"]

@kit.op
def mixed(x: Row, w: Tensor["x", "[n]"], k: Tensor["int32", "[*batch, 2 * n]"],
          steps: "int" = 3) -> tuple[Tensor["y: [*batch, n]"], Tensor["s: [n // 2, 4]", "x"]]:
    return x * w + k[..., :x.shape[-1]], w[: x.shape[-1] // 2, None].expand(-1, 4)
"""


def test_the_short_form_and_names_of_sizes(tmp_path: Path) -> None:
    path = tmp_path / "short_form.py"
    path.write_text(SHORT)
    spec = module(path).mixed.spec
    assert [(p.name, p.shape_text, p.min_rank, p.max_rank) for p in spec.inputs] == [
        ("x", "", 1, 8),
        ("w", "[x[-1]]", 0, 8),
        ("k", "[*x[:-1], 2 * x[-1]]", 0, 8),
    ]
    assert [(p.name, p.shape_text) for p in spec.outputs] == [
        ("y", "like x"),
        ("s", "[x[-1] // 2, 4]"),
    ]
    assert spec.attr("steps").default == 3
    assert spec.compute is not None and spec.compute.text.startswith("x * w + k[")


def findings(body: str, head: str = HEAD) -> list[str]:
    """Return ``code line:column snippet`` of each finding; the op's text starts in line 1."""
    text = head + body
    file = parse_python(text, "ops.py")
    names = [node.name for node, _ in file.ops()]
    spec, found = read_function(file, names[0] if names else "f")
    assert (spec is None) == any(d.severity == "error" for d in found)
    rows = text.split("\n")
    result = []
    for d in found:
        place: Location = d.location
        at = rows[place.line - 1][place.column - 1 : place.column - 1 + place.length]
        result.append(f"{d.code} {place.line - head.count(chr(10))}:{place.column} {at}")
        assert "^" in render(d, text)
    return result


def formula(body: str) -> str:
    lines = "".join(f"    {row}\n" for row in body.split("\n"))
    return (
        f'@op\ndef f(x: Annotated[Tensor, "float32"]) -> Annotated[Tensor, "y: like x"]:\n{lines}'
    )


HOSTILE = [
    ("import os\nreturn x", ["OPG042 3:5 import os"]),
    (
        "return x.__class__.__mro__[1].__subclasses__()",
        ["OPG042 3:24 __mro__", "OPG042 3:35 __subclasses__"],
    ),
    ('return __import__("os").system("id")', ["OPG042 3:12"]),
    ("return x * SCALE", ["OPG044 3:16 SCALE"]),
    ("return x * globals()['SCALE']", ["OPG04"]),
    ('return torch.load("x.pt")', ["OPG043 3:12 torch.load"]),
    ("return (lambda t: t)(x)", ["OPG04"]),
    ("x.fill_(0)\nreturn x", ["OPG04"]),
    ("if x.sum() > 0:\n    return x\nreturn -x", ["OPG047 3:8", "OPG042 4:9 return x"]),
    ('return getattr(x, "data")', ["OPG04"]),
    ('open("f")\nreturn x', ["OPG04"]),
    ("while True:\n    pass\nreturn x", ["OPG042 3:5 while True:"]),
    ("def g(t):\n    return g(t)\nreturn g(x)", ["OPG044 4:16 g"]),
]


@pytest.mark.parametrize(("body", "expected"), HOSTILE, ids=[b for b, _ in HOSTILE])
def test_the_guard_refuses_what_it_refuses_in_yaml(body: str, expected: list[str]) -> None:
    found = findings(formula(body))
    for start in expected:
        assert any(text.startswith(start) for text in found), found


def test_a_function_in_a_function_is_one_of_compute() -> None:
    body = "def g(t, n):\n    return t * n\nreturn g(x, 2) + g(x, 3.0)"
    assert findings(formula(body)) == []


X = 'x: Annotated[Tensor, "float32"]'
Y = 'Annotated[Tensor, "y: like x"]'
MISTAKES = [
    (f"@op\ndef f({X}) -> {Y}:\n    y = x + 1\n", ["OPG078 3:5 y = x + 1"]),
    (f"@op\ndef f({X}, alpha) -> {Y}:\n    return x\n", ["OPG075 2:40 alpha"]),
    (f"@op\ndef f({X}):\n    return x\n", ["OPG075 2:1 def f"]),
    (f"@op\ndef f({X}, *xs: Tensor) -> {Y}:\n    return x\n", ["OPG075 2:41 xs: Tensor"]),
    (
        f"@op\ndef f({X}, k: int, z: Tensor['x']) -> {Y}:\n    return x\n",
        ["OPG075 2:48 z: Tensor['x']"],
    ),
    (f"@op\nasync def f({X}) -> {Y}:\n    return x\n", ["OPG075 2:11 f"]),
    (f"@op\n@torch.no_grad()\ndef f({X}) -> {Y}:\n    return x\n", ["OPG075 2:2 torch.no_grad()"]),
    (f"@op(bakward='none')\ndef f({X}) -> {Y}:\n    return x\n", ["OPG075 1:5 bakward='none'"]),
    (f"@op(soc=SOCS)\ndef f({X}) -> {Y}:\n    return x\n", ["OPG077 1:9 SOCS"]),
    (f"@op(soc='ascend910x')\ndef f({X}) -> {Y}:\n    return x\n", ["OPG061 1:9 'ascend910x'"]),
    (
        f"@op(cases=[{{'x': [3], 'q': 2}}])\ndef f({X}) -> {Y}:\n    return x + 1\n",
        ["OPG055 1:23 'q'"],
    ),
    (
        f"@op\ndef f(x: Annotated[Tensor, 'float33']) -> {Y}:\n    return x\n",
        ["OPG014 2:29 float33"],
    ),
    (f"@op\ndef f(x: torch.device) -> {Y}:\n    return x\n", ["OPG076 2:10 torch.device"]),
    (f"@op\ndef f({X}, k: float = 1 + 1) -> {Y}:\n    return x\n", ["OPG077 2:51 1 + 1"]),
    (f"@op\ndef f({X}, k: int = 1.5) -> {Y}:\n    return x\n", ["OPG021 2:49 1.5"]),
    (
        f"@op\ndef f({X}, k: Literal['a', 'b'] = 'c') -> {Y}:\n    return x\n",
        ["OPG021 2:63 'c'"],
    ),
    (
        f"@op\ndef f(x: Annotated[Tensor, 'float32', '[m, m]']) -> {Y}:\n    return x\n",
        ["OPG076 2:39"],
    ),
    (f"@op\ndef f({X}) -> Annotated[Tensor, 'y: broadcast(x, q)']:\n    return x\n", ["OPG03"]),
    (
        f"@op\ndef f({X}) -> tuple[Tensor, Tensor]:\n    return x + 1, x + 2\n",
        ["OPG075 2:49 Tensor", "OPG075 2:57 Tensor"],
    ),
    (
        f"@op\ndef f(x: Annotated[Tensor, 'float32', Field(rnk=2)]) -> {Y}:\n    return x\n",
        ["OPG005"],
    ),
    (f"@op\ndef f({X}) -> {Y}:\n    return (x +\n            F.relo(x))\n", ["OPG043 4:13 F.relo"]),
    (f"@op\ndef f({X}) -> {Y}:\n    t = x + 1\n    return t * F.relo(x)\n", ["OPG043 4:16 F.relo"]),
    (f"@op\ndef f({X}) -> {Y}: return F.relo(x)\n", ["OPG043 2:82 F.relo"]),
    ("def f(x): return x\n", ["OPG074 1:1 def f(x): return x"]),
]


@pytest.mark.parametrize(("text", "expected"), MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_has_a_code_and_its_place(text: str, expected: list[str]) -> None:
    found = findings(text)
    assert len(found) >= len(expected)
    for start in expected:
        assert any(text.startswith(start) for text in found), found


def test_all_mistakes_are_reported_at_once_when_the_file_is_run(tmp_path: Path) -> None:
    path = tmp_path / "two_mistakes.py"
    path.write_text(
        HEAD + "@op(soc='ascend910x')\ndef f(x: Annotated[Tensor, 'half'], k: int = 1.5) -> "
        "Annotated[Tensor, 'like x']:\n    return F.relo(x)\n"
    )
    with pytest.raises(FunctionError) as caught:
        module(path)
    assert {d.code for d in caught.value.diagnostics} >= {"OPG014", "OPG021", "OPG043", "OPG061"}
    assert f"{path}:7:9: error[OPG061]" in str(caught.value) and "^~~" in str(caught.value)


def test_a_module_under_another_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other_module.py"
    path.write_text(HEAD + "import cmath as math\n" + formula("return x * math.pi"))
    with pytest.raises(FunctionError, match="OPG075"):
        module(path)


def test_a_function_without_text_is_refused() -> None:
    namespace: dict[str, object] = {}
    with pytest.raises(FunctionError, match="OPG074"):
        exec(HEAD + formula("return x + 1"), namespace)


def test_the_command_line_reads_and_does_not_run_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ops.py"
    path.write_text(
        HEAD
        + "raise SystemExit('this file was run')\n"
        + formula("return x + 1")
        + "\n"
        + formula("return x * 2").replace("def f", "def twice_it")
    )
    assert app.run(["check", f"{path}:twice_it"]) == 0
    assert app.run(["check", str(path)]) == 0 and "2 specs, 2 valid" in capsys.readouterr().out
    assert app.run(["check", f"{path}:twice"]) == 1
    assert "twice_it" in capsys.readouterr().out
    assert app.run(["check", f"{tmp_path / 'none.py'}:f"]) == 1
    assert [s.op for s in load_specs([f"{path}:twice_it"])] == ["TwiceIt"]
    assert app.run(["new", f"{path}:twice_it", "-o", str(tmp_path / "p")]) == 0
    copied = (tmp_path / "p" / "specs" / "twice_it.yaml").read_text()
    assert "op: TwiceIt" in copied and load_spec(tmp_path / "p" / "specs" / "twice_it.yaml")
    assert app.run(["new", "-o", str(tmp_path / "p")]) == 0  # from its own specs/, as from YAML
    assert "unchanged" in capsys.readouterr().out


def test_importing_the_package_imports_neither_torch_nor_the_decorator() -> None:
    code = (
        "import sys, msopgen_wrap; assert 'torch' not in sys.modules; "
        "from msopgen_wrap import op, Field, Tensor; assert 'torch' not in sys.modules; "
        "print(Tensor['float32', Field(rank=2)] | None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and "Field(rank=2)" in done.stdout, done.stderr


def test_the_example_of_the_documentation(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "python_authoring.md").read_text(encoding="utf-8")
    path = tmp_path / "documented_op.py"
    path.write_text(page.split("```python\n")[1].split("```")[0])
    documented = module(path).scaled_rms_norm
    assert [p.shape_text for p in documented.spec.outputs] == ["like x", "[*x[:-1], 1]"]
    assert documented(torch.ones(2, 4), torch.ones(4))[1].shape == (2, 1)


@pytest.mark.slow
def test_type_checkers_accept_the_long_form() -> None:
    options = ["--strict", "--ignore-missing-imports", "--follow-imports=silent"]
    command = [sys.executable, "-m", "mypy", *options, str(OPS)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=OPS.parents[2])
    assert done.returncode == 0, done.stdout
