"""How often a kernel is compiled, for which cores and with which macros of absent inputs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from msopgen_wrap.build.core_kinds import launch_kind, mentions_core_kind, needs_two_passes
from msopgen_wrap.build.emulation import PRELUDE
from msopgen_wrap.build.emulation import kernel_defines as arch_defines
from msopgen_wrap.build.emulation_library import include_dirs
from msopgen_wrap.build.operators import dtype_key, kernel_defines, kernel_variants
from msopgen_wrap.build.toolchain import find_toolchain
from msopgen_wrap.project.tree import ProjectOptions, render_project
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import load_specs, parse_spec
from msopgen_wrap.spec.model import OpSpec, ParamKind

# ---- How often a kernel is compiled, and for which cores -----------------------------------------


@pytest.mark.parametrize(
    ("text", "two"),
    [
        ("template <int32_t CORE_TYPE = g_coreType> void f();", True),
        ("constexpr int id = Flag<MODE, g_coreType>::ID;", True),
        ("using B = typename std::conditional<g_coreType == AscendC::AIC,\n  X, Y>::type;", True),
        ("if constexpr (g_coreType == AscendC::AIV) {", True),
        ("op.template operator()<g_coreType>(params);", True),
        ("static_assert(g_coreType == AIC);", True),
        ("#ifdef __DAV_C220_CUBE__", True),
        ("#if defined(__DAV_VEC__)", True),
        ("if (g_coreType == AIC) { return; }", False),
        ("if (i < n && g_coreType == AIV) return;", False),
        ("if ASCEND_IS_AIC { Cube(); }", False),
        ("bool aic = g_coreType == AscendC::AIC;", False),
        ("#ifdef __DAV_C310__\nint x;", False),
    ],
)
def test_needs_two_passes(text, two):
    assert needs_two_passes([text]) is two


def test_second_try_needs_a_core_kind():
    assert mentions_core_kind(["if ASCEND_IS_AIV {"]) and not mentions_core_kind(["Add(a, b);"])


def _names(*functions: str) -> set[str]:
    return {f"_ZN11ascendc_emu{len(name)}{name}ERKNS_9TensorRefE" for name in functions}


@pytest.mark.parametrize(
    ("vector", "cube", "kind"),
    [
        (_names("RunVector"), None, 0),
        (_names("RunCopyIn", "CubeSetPadding"), None, 0),
        (_names("CubeMmad", "RunCopyIn"), None, 2),
        (_names("CubeMmad", "RunVector"), None, 6),
        (_names("MatmulCompute"), None, 6),
        # compiled once per kind: what each of the two reaches
        (_names(), _names("CubeMmad", "RunCopyIn"), 2),
        (_names("RunVector"), _names("CubeFixpipe"), 6),
        (_names("RunCopyOut"), _names("CubeMmad"), 6),
        (_names("RunVector"), _names(), 0),
        # nothing of the kernel depends on the kind: both have everything
        (_names("CubeMmad", "RunCopyIn"), _names("CubeMmad", "RunCopyIn"), 2),
    ],
)
def test_launch_kind(vector, cube, kind):
    assert launch_kind(vector, vector if cube is None else cube) == kind


# --------------------------------------------------------------------------------------------------
# Kernels without the macros of absent optional inputs, as CANN compiles a call that has None.

SPECS = {
    "same dtype": """
op: AbsentBias
inputs: {x: [float16, float32], bias: {dtype: x, optional: true}}
outputs: {y: like x}
compute: x if bias is None else x + bias
""",
    "dtype of its own": """
op: AbsentMask
inputs: {x: [float16, float32], mask: {dtype: bool, optional: true}}
outputs: {y: like x}
compute: x if mask is None else torch.where(mask, x, x * 2)
""",
    "dtype that follows from two": """
op: AbsentMixed
inputs:
  x: [float16, float16, float32]
  r: {dtype: [float16, float32, float32], shape: like x}
  scale: {dtype: [float16, float32, bfloat16], optional: true, shape: like x}
outputs: {y: {dtype: float32, shape: like x}}
compute: |
  y = x.float() + r.float()
  if scale is not None:
      y = y * scale.float()
""",
    "dtypes that only absent inputs tell": """
op: AbsentPair
inputs:
  x: int32
  a: {dtype: [float16, float32], optional: true, shape: like x}
  b: {dtype: [float16, float32], optional: true, shape: like x}
outputs: {y: {dtype: float32, shape: like x}}
compute: |
  y = x.float()
  if a is not None:
      y = y + a.float()
  if b is not None:
      y = y * b.float()
""",
    "row": """
op: AbsentWeight
inputs:
  x: [float16, float32]
  weight: {dtype: x, optional: true, shape: "[x[-1]]"}
  bias: {dtype: float32, optional: true, shape: "[x[-1]]"}
outputs: {y: like x}
compute: |
  c = x.float() - x.float().mean(-1, keepdim=True)
  if weight is not None:
      c = c * weight.float()
  if bias is not None:
      c = c + bias
  y = c.to(x.dtype)
""",
}


def synthetic(name: str) -> OpSpec:
    result = parse_spec(SPECS[name], "absent.yaml")
    assert result.spec is not None, [str(d) for d in result.diagnostics]
    return result.spec


def library() -> list[OpSpec]:
    """The ops of the library that have optional inputs."""
    specs = load_specs([data_dir("op_specs")])
    return [s for s in specs if any(p.kind is ParamKind.OPTIONAL for p in s.inputs)]


def errors(spec: OpSpec, folder: Path) -> list[str]:
    """Check the kernel for every choice of absent inputs; return what does not compile."""
    for file in render_project([spec], ProjectOptions(parts=("op_host", "op_kernel"), style="9.x")):
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
    failed = []
    for variant in kernel_variants(spec):
        command = [
            find_toolchain().cxx,
            "-std=c++17",
            "-fsyntax-only",
            *PRELUDE,
            *arch_defines(2201),
            *(f"-D{d}" for d in kernel_defines(spec, variant.combo, variant.absent)),
            f"-I{folder / 'op_kernel'}",
            *(f"-I{place}" for place in include_dirs()),
            str(folder / "op_kernel" / f"{spec.name}.cpp"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            failed.append(f"{variant}: {done.stderr[:600]}")
    return failed


@pytest.mark.parametrize("name", SPECS)
def test_kernels_compile_for_every_choice_of_absent_inputs(name: str, tmp_path: Path) -> None:
    assert errors(synthetic(name), tmp_path) == []


def test_library_kernels_compile_for_every_choice_of_absent_inputs(tmp_path: Path) -> None:
    specs = library()
    assert "bias_scale_residual" in {s.name for s in specs}
    assert [e for s in specs for e in errors(s, tmp_path / s.name)] == []


def test_a_handwritten_kernel_that_names_the_macro_is_found(tmp_path: Path) -> None:
    (tmp_path / "k.cpp").write_text(
        """
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void absent_bias(GM_ADDR x, GM_ADDR bias, GM_ADDR y,
                                                  GM_ADDR workspace, GM_ADDR tiling) {
    AscendC::GlobalTensor<DTYPE_BIAS> source;
}
""",
        encoding="utf-8",
    )
    path = tmp_path / "absent.yaml"
    path.write_text(SPECS["same dtype"] + "kernel: k.cpp\nbackward: none\n", encoding="utf-8")
    (spec,) = load_specs([path])
    found = errors(spec, tmp_path / "project")
    assert len(found) == 2 and all("absent=('bias',)" in e for e in found), found


KEYS = {
    "same dtype": [
        ("float16,float16,float16", 0, ()),
        ("float32,float32,float32", 1, ()),
        ("float16,undefined,float16", 0, ("bias",)),
        ("float32,undefined,float32", 1, ("bias",)),
    ],
    # Without what tells two combinations apart there is one.
    "dtypes that only absent inputs tell": [
        ("int32,float16,float16,float32", 0, ()),
        ("int32,float32,float32,float32", 1, ()),
        ("int32,undefined,float16,float32", 0, ("a",)),
        ("int32,undefined,float32,float32", 1, ("a",)),
        ("int32,float16,undefined,float32", 0, ("b",)),
        ("int32,float32,undefined,float32", 1, ("b",)),
        ("int32,undefined,undefined,float32", 0, ("a", "b")),
    ],
}


@pytest.mark.parametrize("name", KEYS)
def test_variants(name: str) -> None:
    spec = synthetic(name)
    found = [(dtype_key(spec, v.combo, v.absent), v.combo, v.absent) for v in kernel_variants(spec)]
    assert found == KEYS[name]


def test_the_kernel_without_the_macros_is_the_one_that_runs(tmp_path: Path) -> None:
    """A kernel may do something else when the macro is not there; the runtime must notice."""
    import torch

    from msopgen_wrap.build.operators import build_operators
    from msopgen_wrap.run.op_runtime import OpRuntime

    spec = synthetic("same dtype")
    options = ProjectOptions(parts=("op_host", "op_kernel"))
    for file in render_project([spec], options):
        path = tmp_path / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        text = file.text
        if path.name == "absent_bias.cpp" and path.parent.name == "op_kernel":
            text = text.replace("#ifndef DTYPE_BIAS", "#ifndef DTYPE_BIAS\n#define ABSENT 1", 1)
            text = text.replace(
                "AscendC::TPipe pipe;",
                "#ifdef ABSENT\n    return;\n#endif\n    AscendC::TPipe pipe;",
            )
        path.write_text(text, encoding="utf-8")
    built = build_operators([spec], tmp_path)
    runtime = OpRuntime()
    runtime.load_host(built.host)
    for key, kernel in built.kernels[spec.op].items():
        runtime.register_kernel(spec.op, "", key, kernel, spec.name)
    x, bias = torch.ones(8), torch.ones(8)
    y = torch.zeros(8)
    runtime.run(spec.op, [x, bias], [y], {}, mode="fast")
    assert y.tolist() == [2.0] * 8
    y = torch.zeros(8)
    runtime.run(spec.op, [x, None], [y], {}, mode="fast")
    assert y.tolist() == [0.0] * 8
