"""What compute may say, that it runs, and that nothing else ever runs."""

from __future__ import annotations

import ast
import sys
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.spec import torch_names
from msopgen_wrap.spec.compute_guard import Scope, check_code
from msopgen_wrap.spec.compute_runner import compile_backward, compile_compute
from msopgen_wrap.spec.findings import Findings
from msopgen_wrap.spec.function_source import function_source
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import Code, OpSpec
from msopgen_wrap.spec.random_numbers import opgen

HEAD = """\
op: Demo
inputs:
  x: [float32]
  y: {dtype: x, optional: true}
  bias: {dtype: x, optional: true, default: 0.5}
outputs:
  z: like x
attrs:
  alpha: 2.0
  mode: {type: str, default: a, allowed: [a, b]}
  flag: true
  n: 3
  kind: float16
"""


def spec_of(code: str, head: str = HEAD) -> OpSpec:
    lines = "".join(f"  {row}\n" for row in code.splitlines())
    result = parse_spec(head + "compute: |\n" + lines)
    errors = [d for d in result.diagnostics if d.severity == "error"]
    assert not errors, errors
    assert result.spec is not None
    return result.spec


X = torch.tensor([[-1.0, 2.0, 3.0], [4.0, -5.0, 6.0]])

WORKS = [
    ("x", X),
    (
        "rows = []\nfor i in range(2):\n    rows.append(x[i] * i)\nz = torch.stack(rows)",
        X * torch.tensor([[0.0], [1.0]]),
    ),
    ("rows = [x[1]]\nif flag:\n    rows.append(x[0])\nz = torch.stack(rows)", X[[1, 0]]),
    ("torch.relu(x) * alpha", X.relu() * 2),
    ("x if flag else -x", X),
    ("z = x\nif mode == 'b':\n    z = -x", X),
    ("z = x if y is None else x + y", X),
    ("if y is None:\n    z = -x\nelse:\n    z = y", -X),
    ("x + bias", X + 0.5),
    ("F.dropout(x, 0.5, False)", X),
    ("F.alpha_dropout(torch.dropout(x, p=0.5, train=False), training=False)", X),
    ("F.rrelu(x, 0.1, 0.3, training=False)", torch.where(X > 0, X, X * 0.2)),
    ("a, b = x.chunk(2)\nz = torch.cat([b, a])", torch.cat([X[1:], X[:1]])),
    ("x.to(kind).float()", X),
    ("x.reshape([*x.shape[:-1], 1, -1]).squeeze(1)", X),
    ("x * float(n)", X * 3),
    ("x ** 2", X**2),
    ("x * 2 ** 10", X * 1024),
    ("x / math.sqrt(x.shape[-1])", X / 3**0.5),
    ("torch.where((x > 0) & ~(x > 3), x, 0.0)", torch.where((X > 0) & (X <= 3), X, 0.0)),
    ("x.max(-1, keepdim=True).values + x * 0", X.max(-1, keepdim=True).values + X * 0),
    ("x.clamp(max=torch.finfo(x.dtype).max)", X),
    ("'text as a comment'\nz = x", X),
    ("z = x\nz += 1\nz *= n", (X + 1) * 3),
    ("F.pad(x, [0, 1])[..., :-1]", X),
    ("x[:, None].sum(1)", X),
    ("torch.softmax(x, dim=-1)", X.softmax(-1)),
    ("x.masked_fill(x > 0, float('-inf')).exp()", X.masked_fill(X > 0, -torch.inf).exp()),
    ("x + torch.arange(x.size(-1), device=x.device)", X + torch.arange(3)),
    ("x.detach() + 0", X),
]


@pytest.mark.parametrize(("code", "expected"), WORKS, ids=[c for c, _ in WORKS])
def test_allowed_code_runs(code: str, expected: torch.Tensor) -> None:
    spec = spec_of(code)
    before = X.clone()
    torch.testing.assert_close(compile_compute(spec)({"x": X}, {})["z"], expected)
    namespace: dict[str, Any] = {
        "torch": torch,
        "F": torch.nn.functional,
        "math": __import__("math"),
    }
    exec(function_source(spec), namespace)
    torch.testing.assert_close(namespace["reference"](X), expected)
    assert torch.equal(X, before), "compute wrote its input"


def test_lists_and_several_outputs() -> None:
    head = "op: D\ninputs:\n  a: {dtype: float32, list: true}\n  b: {dtype: a, list: true}\n"
    head += "outputs:\n  s: {shape: like a, list: true}\n  p: {shape: like a, list: true}\n"
    spec = spec_of("s = [i + j for i, j in zip(a, b)]\np = [i * 2 for i in a]", head)
    rows = [torch.ones(2), torch.ones(3)]
    result = compile_compute(spec)({"a": rows, "b": rows}, {})
    assert [t.tolist() for t in result["s"]] == [[2, 2], [2, 2, 2]]
    assert [t.tolist() for t in result["p"]] == [[2, 2], [2, 2, 2]]


def test_explicit_backward() -> None:
    text = "op: D\ninputs:\n  x: float32\noutputs:\n  y: like x\ncompute: x.exp()\n"
    spec = parse_spec(text + "backward:\n  x: grad_y * y\n").spec
    assert spec is not None
    outputs = compile_compute(spec)({"x": X}, {})
    grads = compile_backward(spec)({"x": X}, {}, outputs, {"y": torch.ones_like(X)})
    torch.testing.assert_close(grads["x"], X.exp())


ERRORS = [
    ("x @ x", "OPG071", 2),  # shapes do not match
    ("y = 1.0\nz = x.reshape(7)", "OPG071", 3),
    ("x, x", "OPG071", 2),
    ("x.max(-1)", "OPG071", 2),
]


@pytest.mark.parametrize(("code", "expected", "line"), ERRORS)
def test_run_time_errors_name_the_spec_line(code: str, expected: str, line: int) -> None:
    spec = spec_of(code)
    with pytest.raises(OpgenError) as caught:
        compile_compute(spec)({"x": X}, {})
    problem = caught.value.diagnostics[0]
    assert problem.code == expected
    assert problem.location.line == HEAD.count("\n") + line


def test_integer_powers_are_bounded_at_run_time_too() -> None:
    spec = spec_of("a = n if flag else None\nz = x * a ** 1000000000")
    with pytest.raises(OpgenError, match="64 bits"):
        compile_compute(spec)({"x": X}, {})


@pytest.mark.parametrize(
    "code", ["rows = (x,)\nrows.append(x)\nz = x", "x.append(x)\nz = x", "n.append(x)\nz = x"]
)
def test_only_a_list_that_compute_has_made_grows(code: str) -> None:
    lines = "".join(f"  {row}\n" for row in code.splitlines())
    found = parse_spec(HEAD + "compute: |\n" + lines).diagnostics
    assert [d.code for d in found] == ["OPG045"]


def test_a_list_does_not_get_lists() -> None:
    """Lists of lists are bounded where they are made; one that holds itself has no end."""
    with pytest.raises(OpgenError) as caught:
        compile_compute(spec_of("rows = [x]\nrows.append(rows)\nz = x"))({"x": X}, {})
    assert caught.value.diagnostics[0].code == "OPG071"
    assert "takes a tensor" in caught.value.diagnostics[0].what


def test_lists_cannot_be_repeated_at_run_time_either() -> None:
    spec = spec_of("a = (x.shape, 1)[0]\nz = x * len(a * 1000000000)")
    with pytest.raises(OpgenError, match="repeated"):
        compile_compute(spec)({"x": X}, {})


def test_missing_arguments_are_named() -> None:
    with pytest.raises(OpgenError, match="'x' of Demo is missing"):
        compile_compute(spec_of("x"))({}, {})


def test_every_allowed_name_exists_in_torch() -> None:
    spaces = {"torch": torch_names.TORCH_FUNCTIONS | torch_names.TORCH_DTYPES}
    for path, names in {**spaces, **torch_names.TORCH_NAMESPACES}.items():
        module: Any = opgen if path.split(".")[0] == "opgen" else torch
        for part in path.split(".")[1:]:
            module = getattr(module, part)
        assert [n for n in sorted(names) if not hasattr(module, n)] == []
    methods = torch_names.TENSOR_METHODS | torch_names.TENSOR_PROPERTIES
    assert [n for n in sorted(methods) if not hasattr(torch.Tensor, n)] == []


def test_no_allowed_name_is_in_place_or_private() -> None:
    spaces = [torch_names.TORCH_FUNCTIONS, torch_names.TENSOR_METHODS]
    for names in (*spaces, *torch_names.TORCH_NAMESPACES.values()):
        assert [n for n in names if n.endswith("_") or n.startswith("_")] == []


# ---- hostile input: nothing may run, whatever the text -----------------------------------------

SCOPE = Scope({"x": "tensor", "xs": "tensors", "n": "int", "s": "str"}, ("z",), frozenset({"n"}))

ESCAPES = [
    "__import__('os').system('true')",
    "().__class__.__base__.__subclasses__()",
    "x.__class__.__init__.__globals__",
    "x.numpy().ctypes",
    "x.data_ptr()",
    "x.storage()",
    "x.to('cuda')",
    "torch.ones_like(x, device='cuda')",
    "torch.add(x, x, out=x.device)",
    "x.device.index",
    "x.device.abs()",
    "float('1' * 9)",
    "float(s)",
    "x.apply_(print)",
    "x.map_(x, print)",
    "torch.load('f')",
    "torch.save(x, 'f')",
    "torch.hub.load('a', 'b')",
    "torch.utils.data",
    "torch.serialization.os.system('true')",
    "torch.os.system('true')",
    "torch.sys.modules",
    "torch.classes.load_library('a')",
    "torch.ops.load_library('a')",
    "torch.jit.load('f')",
    "torch.from_file('f')",
    "torch.compile(x)",
    "torch.nn.functional.torch.load('f')",
    "F.torch.load('f')",
    "F.handle_torch_function(print, (), x)",
    "torch.special.torch",
    "math.__loader__.load_module('os')",
    "'{0.__class__}'.format(x)",
    "'%s' % x",
    "f'{x.__class__}'",
    "(lambda: x)()",
    "[c for c in x.__class__.__mro__]",
    "[y for y in [1] for z in [2]]",
    "[i for i in range(10**9)]",
    "globals()['__builtins__']",
    "getattr(x, 'da' + 'ta')",
    "type(x)",
    "x.__getattribute__('data')",
    "x.grad_fn",
    "x.backward()",
    "x.requires_grad_()",
    "x._version",
    "print(x)",
    "exit()",
    "zip.__self__",
    "sum.__call__",
    "(yield x)",
    "await x",
    "max.__self__.eval('1')",
    "sorted(xs, key=print)",
    "n.__pow__(10**10)",
    "9**9**9**9",
    "1 << (1 << 40)",
    "'a' * 10**10",
    "[0] * 10**10",
    "(0,) * n * n * n",
    "x.repeat(10**9, 10**9)",
    "torch.ones(2**20, 2**20)",
    "torch.arange(99999999999)",
]


@pytest.mark.parametrize("text", ESCAPES)
@pytest.mark.parametrize("form", ["{}", "z = {}", "if {}:\n    z = x\nz = x", "z = x[{}]"])
def test_escapes_are_refused_before_anything_runs(text: str, form: str) -> None:
    findings = Findings()
    assert check_code(Code(form.format(text)), SCOPE, findings) is None
    assert findings.has_errors


def test_deep_and_long_texts_are_refused() -> None:
    for text in (
        "(" * 5000 + "x" + ")" * 5000,
        "-" * 5000 + "x",
        "not " * 3000 + "x",
        "x" + ".T" * 5000,
        "x" + " + x" * 3900,
        "x" + "[0]" * 4000,
        "x ** " * 3000 + "x",
        "x if n else " * 1200 + "x",
        "x\n" * 20000,
        "[" * 3000,
        "\0",
        "x = " * 3000 + "x",
    ):
        findings = Findings()
        assert check_code(Code(text), SCOPE, findings) is None, text[:20]


WORDS = """x xs n s z torch F math relu sigmoid sum shape __class__ __import__ os import eval open
lambda def for in if else while return ( ) [ ] { } , . : = == + - ** * % @ ~ & | < > not and or is
None True 1 0 9999999999 1e999 'a' f'{x}' zip len float max ; # \\ " ' := -> ... _""".split()  # noqa: SIM905
PIECES = st.sampled_from([*WORDS, "\n", "\n    ", "\t"])


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=25).map(" ".join))
def test_random_code_never_raises(text: str) -> None:
    check_code(Code(text), SCOPE, Findings())


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80))
def test_random_text_never_raises(text: str) -> None:
    check_code(Code(text), SCOPE, Findings())


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=14).map(" ".join))
def test_what_passes_reaches_only_allowed_names(text: str) -> None:
    checked = check_code(Code(text), SCOPE, Findings())
    if checked is None:
        return
    known = {*SCOPE.names, *checked.assigned, *torch_names.BUILTIN_FUNCTIONS, "torch", "F", "math"}
    for node in ast.walk(checked.tree):
        if isinstance(node, ast.Name):
            assert node.id in known
        if isinstance(node, ast.Attribute):
            assert not node.attr.startswith("_") and not node.attr.endswith("_")


def test_checking_needs_no_torch() -> None:
    import subprocess

    code = (
        "import sys; from msopgen_wrap.spec.loader import parse_spec;"
        "r = parse_spec('op: A\\ninputs: {x: float32}\\noutputs: {y: like x}\\ncompute: x + 1\\n');"
        "assert r.spec is not None; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
