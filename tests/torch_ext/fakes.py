"""Hand-made specs and a libcust_opapi.so on the fake op runtime."""

from __future__ import annotations

from pathlib import Path

from msopgen_wrap.build.emulation_library import include_dirs
from msopgen_wrap.build.operators import nnopbase_dir
from msopgen_wrap.build.toolchain import find_toolchain, run_compiler
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.torch_ext.aclnn_render import render_aclnn

HERE = Path(__file__).resolve().parent
VENDOR = "fakevendor"

TEXTS = {
    "add": """
op: FakeAdd
inputs: {x: [float32, float16], y: {dtype: x, optional: true}}
outputs: {z: like x}
compute: torch.relu(x if y is None else x + y)
""",
    "step": """
op: FakeStep
inputs: {var: float32, grad: float32}
outputs: {var: {inplace: var}}
attrs: {lr: 0.5}
compute: var = var - lr * grad
backward: none
""",
    "each": """
op: FakeEach
inputs: {a: {dtype: float32, list: true}, b: {dtype: float32, list: true}}
outputs: {c: {shape: like a, list: true}}
compute: "[torch.relu(p + q) for p, q in zip(a, b)]"
""",
    "fail": """
op: FakeFail
inputs: {x: float32}
outputs: {z: like x}
attrs:
  step: {type: str, default: none}
  flags: {type: list_int, default: [1, 2]}
compute: torch.relu(x)
backward: none
""",
}


def spec(text: str) -> OpSpec:
    """Parse a spec that must be right."""
    result = parse_spec(text, "test.yaml")
    assert result.spec is not None, [str(d) for d in result.diagnostics]
    return result.spec


def fake_specs() -> list[OpSpec]:
    """The ops of the fake runtime."""
    return [spec(text) for text in TEXTS.values()]


def build_vendor(root: Path) -> Path:
    """Build ``root/vendors/fakevendor`` and return it."""
    vendor = root / "vendors" / VENDOR
    library = vendor / "op_api" / "lib" / "libcust_opapi.so"
    library.parent.mkdir(parents=True)
    sources = []
    for file in render_aclnn(fake_specs()):
        path = root / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
        if path.suffix == ".cpp":
            sources.append(path)
    base = nnopbase_dir()
    sources += [*sorted(base.glob("*.cpp")), HERE / "fake_op_runtime.cpp"]
    command = [find_toolchain().cxx, "-std=c++17", "-O0", "-Wall", "-Wextra", "-fPIC", "-shared"]
    command += ["-Wl,-Bsymbolic", "-fvisibility-inlines-hidden", "-fno-gnu-unique"]
    command += [f"-I{folder}" for folder in (*include_dirs(), base, root / "op_api")]
    command += [*map(str, sources), "-o", str(library), "-ldl", "-pthread"]
    warnings = run_compiler(command, None)
    assert "warning" not in warnings, warnings
    # What the package would hold; the fake runtime only records it.
    kernels = vendor / "op_impl" / "ai_core" / "tbe" / "kernel"
    (kernels / "ascend910b").mkdir(parents=True)
    (kernels / "ascend910b" / "fake.so").write_text("")
    (kernels / "opgen_kernels.txt").write_text(
        "# op soc key path entry\nhost ../host.so\n"
        "FakeAdd * float32,float32,float32 ascend910b/fake.so fake_add\n"
    )
    (kernels.parent / "host.so").write_text("")
    return vendor
