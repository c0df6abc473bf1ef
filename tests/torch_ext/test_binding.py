"""The C++ binding and the Python package, on a libcust_opapi.so that computes with plain loops."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.torch_ext import build as kit_build
from msopgen_wrap.torch_ext.build import build_binding, package_dir
from msopgen_wrap.torch_ext.render import render_torch_ext

from .fakes import VENDOR, fake_specs
from .packages import run_python, write_package


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    for file in render_torch_ext(fake_specs(), VENDOR):
        path = root / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
    return root


PRELUDE = f"""
import sys, torch
import {VENDOR} as package
ops = torch.ops.{VENDOR}
def error(function):
    try:
        function()
    except RuntimeError as e:
        return str(e)
    sys.exit("no error")
"""


def run(project: Path, code: str, **environment: str | None) -> str:
    """Run ``code`` in a process of its own, which may load what it likes."""
    env = dict(os.environ, PYTHONPATH=str(project / "torch_ext"))
    for name, value in environment.items():
        env.pop(name, None)
        if value is not None:
            env[name] = value
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def custom(fake_vendor: Path) -> dict[str, str | None]:
    return {"ASCEND_CUSTOM_OPP_PATH": str(fake_vendor), "ASCEND_OPP_PATH": None}


def test_ops_run_through_aclnn(project: Path, custom: dict) -> None:
    run(
        project,
        """
x, y = torch.randn(6, 8), torch.randn(6, 8)
assert package.last_backend() == "" and package.call_count() == 0
for a, b in [(x, y), (x.t(), y.t()), (x[::2, 1:], y[::2, 1:]), (x[:0], y[:0]),
             (x[0].expand(3, 8), y[:3]), (x[1, 1], y[2, 2])]:
    torch.testing.assert_close(ops.fake_add(a, b), torch.relu(a + b))
torch.testing.assert_close(ops.fake_add(x), torch.relu(x))
torch.testing.assert_close(package.fake_add(x, None), torch.relu(x))
outs = ops.fake_each([x, y[0]], [y, x[0]])
torch.testing.assert_close(outs, [torch.relu(x + y), torch.relu(x[0] + y[0])])
state = x.clone()
view = state[:, ::2]
assert ops.fake_step(view, y[:, :4], 0.25) is None
torch.testing.assert_close(state[:, ::2], x[:, ::2] - 0.25 * y[:, :4])
torch.testing.assert_close(state[:, 1::2], x[:, 1::2])
assert package.last_backend() == "emulated"
assert package.call_count() == 10 and package.call_count("fake_add") == 8
assert package.library_path("fake_add").endswith("fakevendor/op_api/lib/libcust_opapi.so")
""",
        **custom,
    )


def test_out_of_memory_is_torchs_own_error(project: Path, custom: dict) -> None:
    """torch's stable interface drops type and text of the allocator's exception."""
    run(
        project,
        """
x = torch.zeros(1).expand(1 << 46)
said = error(lambda: ops.fake_add(x))
assert "can't allocate memory: you tried to allocate 281474976710656 bytes" in said, said
assert said == error(lambda: torch.empty(1 << 46)), said
torch.testing.assert_close(ops.fake_add(torch.ones(3)), torch.ones(3))
""",
        **custom,
    )


def test_gradient_opcheck_and_compile(project: Path, custom: dict) -> None:
    run(
        project,
        """
from torch.library import opcheck
x = torch.randn(3, 4, requires_grad=True)
y = torch.randn(3, 4, requires_grad=True)
before = package.call_count()
for arguments in [(x, y), (x, None), (x.detach(), y)]:
    results = opcheck(ops.fake_add.default, arguments)
    assert len(results) == 4 and set(results.values()) == {"SUCCESS"}, results
for op, arguments in [
    (ops.fake_each.default, ([x, y], [y, x])),
    (ops.fake_step.default, (torch.randn(3), torch.randn(3), 0.1)),
]:
    results = opcheck(op, arguments)
    assert set(results.values()) == {"SUCCESS"}, results
def model(a, b):
    return ops.fake_add(a * 2, b).sum()
torch.compile(model, fullgraph=True, dynamic=True, backend="aot_eager")(x, y).backward()
got = x.grad, y.grad
x.grad = y.grad = None
torch.relu(x * 2 + y).sum().backward()
torch.testing.assert_close(got, (x.grad, y.grad))
def step(v, g):
    ops.fake_step(v, g)
    return v * 2
v, g = torch.randn(4), torch.randn(4)
want = v - 0.5 * g
torch.testing.assert_close(torch.compile(step, fullgraph=True, backend="aot_eager")(v, g), want * 2)
torch.testing.assert_close(v, want)
assert package.call_count() > before and package.last_backend() == "emulated"
""",
        **custom,
    )


def test_errors_say_what_is_wrong(project: Path, custom: dict) -> None:
    out = run(
        project,
        """
x = torch.randn(3, 4)
print(error(lambda: ops.fake_add(x, x.double())))
print(error(lambda: ops.fake_add(x, x.half())))
print(error(lambda: ops.fake_add(x, x[:2])))
print(error(lambda: ops.fake_each([x, x.half()], [x, x])))
print(error(lambda: ops.fake_fail(x, "tiling")))
print(error(lambda: ops.fake_fail(x, "launch")))
print(error(lambda: ops.fake_fail(x.requires_grad_(), "none").sum().backward()))
print(error(lambda: ops.fake_step(x, x)))
print(error(lambda: ops.fake_add(x.to("meta"), x.double().to("meta"))))
""",
        **custom,
    )
    for text in (
        "fake_add: unsupported dtypes 'x' float32, 'y' float64; allowed are:\n"
        "  x float32, y float32 -> z float32\n  x float16, y float16 -> z float16\n",
        "inputs differ in shape",
        "fake_each: a[1] is float16, but a[0] is float32; a list has one dtype",
        "fake_fail: aclnnFakeFailGetWorkspaceSize returned 561002 (tiling failed): "
        "aclnnFakeFail: tiling of FakeFail failed: the tile of 7 does not divide 5\n",
        "fake_fail: aclnnFakeFail returned 561000: aclnnFakeFail: the kernel trapped",
        "fake_fail is not differentiable: its spec says 'backward: none'",
        "fake_step works in place and is not differentiable, but 'var' requires grad",
    ):
        assert text in out
    assert out.count("'y' float64; allowed are") == 2


# Arguments (c: on the CPU, m: on meta), and the arguments that the message must name, if any.
DEVICES = [
    ("ops.fake_add(c, m)", "'y' is on meta, but 'x' is on cpu"),
    ("ops.fake_add(m, c)", "'y' is on cpu, but 'x' is on meta"),
    ("ops.fake_add(m, c[0, 0])", "'y' is on cpu, but 'x' is on meta"),
    ("ops.fake_add(m)", ""),
    ("ops.fake_add(m, m)", ""),
    ("ops.fake_step(c, m)", "'grad' is on meta, but 'var' is on cpu"),
    ("ops.fake_step(m, c)", "'grad' is on cpu, but 'var' is on meta"),
    ("ops.fake_each([c, m], [c, c])", "'a[1]' is on meta, but 'a[0]' is on cpu"),
    ("ops.fake_each([c, c], [c, m])", "'b[1]' is on meta, but 'a[0]' is on cpu"),
    ("ops.fake_each([m, m], [c, c])", "'b[0]' is on cpu, but 'a[0]' is on meta"),
    ("ops.fake_each([m, m], [m, m])", ""),
    ("package.fake_add(c, m)", "'y' is on meta, but 'x' is on cpu"),
]


@pytest.mark.parametrize("kernel", ["emulated", "reference"])
def test_tensors_of_several_devices_are_refused(project: Path, custom: dict, kernel: str) -> None:
    run(
        project,
        f"""
c = torch.randn(3, 4)
m = c.to("meta")
for grad in (False, True):
    for call, text in {DEVICES!r}:
        c, m = c.detach(), m.detach()
        if "fake_step" not in call:
            c.requires_grad_(grad), m.requires_grad_(grad)
        if text:
            message = error(lambda: eval(call))
            assert text in message and "must be on one device" in message, (call, message)
        else:
            result = eval(call)
            for t in result if isinstance(result, list) else [result]:
                assert t.is_meta, call
""",
        **custom,
        OPGEN_CPU_KERNEL=kernel,
    )


def test_missing_package_names_paths_and_cure_and_is_found_later(
    project: Path, fake_vendor: Path
) -> None:
    out = run(
        project,
        f"""
import os
x = torch.randn(3)
print(error(lambda: ops.fake_add(x)))
os.environ["ASCEND_CUSTOM_OPP_PATH"] = "/no/such/a:/no/such/b"
print(error(lambda: ops.fake_add(x)))
os.environ["ASCEND_CUSTOM_OPP_PATH"] += ":" + {str(fake_vendor)!r}
torch.testing.assert_close(ops.fake_add(x), torch.relu(x))
""",
        ASCEND_CUSTOM_OPP_PATH=None,
        ASCEND_OPP_PATH=None,
    )
    assert "found no aclnnFakeAdd for cpu tensors" in out
    assert "neither ASCEND_CUSTOM_OPP_PATH nor ASCEND_OPP_PATH is set" in out
    assert "ASCEND_CUSTOM_OPP_PATH: /no/such/a/op_api/lib/libcust_opapi.so: no such file" in out
    assert "export ASCEND_CUSTOM_OPP_PATH=DIR/vendors/fakevendor" in out


@pytest.mark.parametrize("how", ["opp path", "add_vendor_folder"])
def test_other_ways_to_find_the_package(project: Path, fake_vendor: Path, how: str) -> None:
    (fake_vendor.parent / "config.ini").write_text(f"load_priority=other,{VENDOR}\n")
    opp = {"ASCEND_OPP_PATH": str(fake_vendor.parent.parent), "ASCEND_CUSTOM_OPP_PATH": None}
    code = "torch.testing.assert_close(ops.fake_add(torch.ones(3)), torch.ones(3))"
    if how == "add_vendor_folder":
        opp["ASCEND_OPP_PATH"] = None
        code = f"package.add_vendor_folder({str(fake_vendor)!r})\n" + code
    run(project, code, **opp)


def test_broken_library_is_named(project: Path, tmp_path: Path) -> None:
    library = tmp_path / VENDOR / "op_api" / "lib" / "libcust_opapi.so"
    library.parent.mkdir(parents=True)
    library.write_text("not an ELF file\n" * 100)
    out = run(
        project,
        "print(error(lambda: ops.fake_add(torch.ones(3))))",
        ASCEND_CUSTOM_OPP_PATH=str(tmp_path / VENDOR),
    )
    assert f"{library}: does not load: " in out and "invalid ELF header" in out


def test_reference_is_chosen_only_on_request(project: Path, custom: dict) -> None:
    run(
        project,
        """
x, y = torch.randn(4, 4), torch.randn(4, 4)
package.use_reference(True)
torch.testing.assert_close(ops.fake_add(x.t(), y), torch.relu(x.t() + y))
assert package.last_backend() == "reference" and package.call_count() == 0
assert "unsupported dtypes" in error(lambda: ops.fake_add(x.double()))
v = x.clone()
ops.fake_step(v, y)
torch.testing.assert_close(v, x - 0.5 * y)
package.use_reference(False)
ops.fake_add(x, y)
assert package.last_backend() == "emulated" and package.call_count() == 1
""",
        **custom,
    )
    run(
        project,
        'ops.fake_add(torch.ones(3)); assert package.last_backend() == "reference"',
        OPGEN_CPU_KERNEL="reference",
        ASCEND_CUSTOM_OPP_PATH=None,
    )


def test_binding_in_the_package_is_used_until_sources_change(project: Path) -> None:
    built = build_binding(project, VENDOR, into_package=True)
    package = package_dir(project, VENDOR)
    assert built.parent == package
    record = json.loads((package / "_opgen_binding.json").read_text())
    assert record["torch"] == "stable 2.10"
    stamp = built.stat().st_mtime_ns
    assert build_binding(project, VENDOR, into_package=True).stat().st_mtime_ns == stamp
    (package / "_opgen_binding.json").write_text(json.dumps({**record, "sources": "other"}))
    assert build_binding(project, VENDOR) != built
    built.unlink()


def test_build_problems_are_diagnostics(tmp_path: Path, project: Path, monkeypatch) -> None:
    with pytest.raises(OpgenError) as caught:
        build_binding(tmp_path)
    assert caught.value.diagnostics[0].code == "OPG323"
    monkeypatch.setenv("OPGEN_CXX", "no-such-compiler")
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(OpgenError) as caught:
        build_binding(project, VENDOR)
    assert caught.value.diagnostics[0].code == "OPG324"
    assert "no C++ compiler (no-such-compiler)" in str(caught.value)


# ---- What the first import of a package says while it compiles the binding: on a terminal only ---


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_the_first_import_says_that_it_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    module = kit_build._runtime()
    package = tmp_path / "acme"
    (package / "csrc").mkdir(parents=True)
    (package / "csrc" / "binding.cpp").write_text("int nothing;\n")
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "cache"))

    def compiled(csrc: Path, output: Path) -> None:
        output.parent.mkdir(parents=True)
        output.touch()

    monkeypatch.setattr(module, "compile_binding", compiled)
    reading, writing = pty.openpty() if terminal else os.pipe()
    with open(writing, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        module.build(package)
        module.build(package)  # there already: says nothing
        stream.write("end\n")
        stream.flush()
        text = ""
        while not text.endswith("end\n"):  # a terminal may hand over a line at a time
            text += os.read(reading, 4096).decode().replace("\r\n", "\n")
        monkeypatch.undo()
    os.close(reading)
    said = "compiling the torch binding of acme (once) ...\n" if terminal else ""
    assert text == said + "end\n"


# ---- The binding on torch/library.h, as torch before 2.10 gets it: same source, same behaviour ---


@pytest.mark.slow
def test_classic_binding(tmp_path: Path, fake_vendor: Path) -> None:
    root = write_package(tmp_path, fake_specs(), VENDOR)
    run_python(
        root,
        f"""
import torch, {VENDOR} as package
from torch.library import opcheck
from {VENDOR}._runtime import build
assert build.is_classic()
ops = torch.ops.{VENDOR}
x, y = torch.randn(6, 8), torch.randn(6, 8)
torch.testing.assert_close(ops.fake_add(x.t(), y.t()), torch.relu(x + y).t())
torch.testing.assert_close(ops.fake_add(x), torch.relu(x))
torch.testing.assert_close(ops.fake_each([x], [y]), [torch.relu(x + y)])
state = x.clone()
ops.fake_step(state[:, ::2], y[:, :4], 0.25)
torch.testing.assert_close(state[:, ::2], x[:, ::2] - 0.25 * y[:, :4])
torch.testing.assert_close(ops.fake_fail(x, "none", [3]), torch.relu(x))
for arguments in [(x.requires_grad_(), y), (x, None)]:
    assert set(opcheck(ops.fake_add.default, arguments).values()) == {{"SUCCESS"}}
try:
    ops.fake_add(x, y.double())
except RuntimeError as error:
    assert "unsupported dtypes 'x' float32, 'y' float64" in str(error)
else:
    raise SystemExit("no error")
assert package.last_backend() == "emulated"
""",
        OPGEN_TORCH_CLASSIC="1",
        OPGEN_CACHE_DIR=str(tmp_path / "cache"),
        ASCEND_CUSTOM_OPP_PATH=str(fake_vendor),
    )
