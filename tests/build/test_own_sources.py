"""What the kit generates compiles without a warning, by g++ and by a clang as the device's is."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from msopgen_wrap.build import operators
from msopgen_wrap.build.compile_commands import source_commands
from msopgen_wrap.build.operators import generated_sources
from msopgen_wrap.build.toolchain import warnings_as_errors
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.manifest import Manifest
from msopgen_wrap.project.tree import ProjectOptions, render_project
from msopgen_wrap.project.writer import write_project
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import load_spec, load_specs
from msopgen_wrap.spec.model import OpSpec

LIBRARY = data_dir("op_specs")
# The ops of the golden files: elementwise, row, tensor lists, optional inputs, in-place outputs.
GOLDEN = (
    "elementwise/fused_add_relu",
    "activation/custom_gelu",
    "norm/softmax",
    "foreach/foreach_addcdiv_scalar",
    "foreach/foreach_norm",
    "optimizer/apply_adam_w",
)
COMPILERS = {"gcc": "g++", "clang": "clang++"}
# Whatever the suite compiles and runs is strict with g++ already.
each_family = pytest.mark.parametrize(
    "family", ["clang", pytest.param("gcc", marks=pytest.mark.slow)]
)


def compiler(family: str) -> str:
    """Return a compiler of the family; without one the test is skipped, but not in CI."""
    path = shutil.which(COMPILERS[family])
    if path is None:
        missing = f"no {COMPILERS[family]} on this machine"
        assert not os.environ.get("CI"), missing
        pytest.skip(missing)
    return path


def problems(family: str, source: Path, flags: Sequence[str]) -> str:
    """Return what a compiler says about a source, warnings included."""
    done = subprocess.run(
        [
            compiler(family),
            *("-std=c++17", "-fsyntax-only"),
            *warnings_as_errors(family),
            *flags,
            str(source),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) == (not done.stderr.strip()), done.stderr
    return done.stderr


def project(specs: Sequence[OpSpec], root: Path, style: str = "9.x") -> None:
    """Write a project, by default of the style whose tiling struct is a plain header."""
    files = render_project(specs, ProjectOptions(vendor="acme", style=style))
    write_project(files, root, Manifest("acme", style, ("ascend910b",), (), {}))


def sources(spec: OpSpec, root: Path, every: bool) -> list[tuple[Path, list[str]]]:
    """Return kernel, host and aclnn sources of an op, and what each is compiled with.

    Args:
        every: the kernel with every dtype and without each optional input, instead of with the
            first dtype, all inputs present and all that are optional left out.
    """
    variants = operators.kernel_variants(spec)
    if not every:
        variants = [v for v in variants if v.combo == 0 and v.absent in ((), variants[-1].absent)]
    return source_commands(spec, root, variants)


def check(specs: Sequence[OpSpec], root: Path, family: str, every: bool = False) -> None:
    """Compile all sources of some ops (``every`` as for :func:`sources`)."""
    compiler(family)
    project(specs, root)
    work = [
        item for spec in specs for item in sources(spec, root, range(spec.combos if every else 1))
    ]
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda item: problems(family, *item), work))
    assert not "".join(said), "".join(said)


@each_family
def test_golden_ops(family, tmp_path):
    check([load_spec(LIBRARY / f"{name}.yaml") for name in GOLDEN], tmp_path, family)


@pytest.mark.slow
@pytest.mark.parametrize("family", COMPILERS)
def test_library_ops(family, tmp_path):
    # g++ compiles the kernels of all dtypes when the library is tested.
    check(load_specs([LIBRARY]), tmp_path, family, every=family == "clang")


# Code that only some formulas reach: bits, masks without numbers, integers, copies.
FORMULAS = {
    "SignAgain": ("float32", "torch.copysign(x, y) + y"),
    "MaskOnly": ("bool", "torch.logical_and(x, y)"),
    "Counts": ("int32", "torch.where(x > y, x // 3, y % 5) + (x << 2)"),
    "Bytes": ("int8", "torch.maximum(x, y) - x"),
    "Copy": ("float16", "torch.where(x == y, x, x)"),
    "Powers": ("float32", "torch.pow(x, y) + torch.fmod(x, y) + torch.sin(x) + torch.atan2(x, y)"),
}


@each_family
def test_formulas(family, tmp_path):
    files = []
    for op, (dtype, compute) in FORMULAS.items():
        path = tmp_path / f"{op}.yaml"
        path.write_text(
            f"op: {op}\ninputs:\n  x: [{dtype}]\n  y: x\n"
            f"outputs:\n  z: {{dtype: x, shape: 'broadcast(x, y)'}}\ncompute: {compute}\n"
        )
        files.append(path)
    check(load_specs(files), tmp_path / "project", family)


@each_family
def test_binding(family, tmp_path):
    specs = [load_spec(LIBRARY / f"{name}.yaml") for name in GOLDEN]
    for file in render_project(specs, ProjectOptions(vendor="acme", style="9.x")):
        if file.path.endswith((".cpp", ".h")) and "/csrc/" in file.path:
            path = tmp_path / Path(file.path).name
            path.write_text(file.text)
    root = Path(torch.__file__).parent / "include"
    include = [f"-isystem{root}", f"-isystem{root / 'torch' / 'csrc' / 'api' / 'include'}"]
    assert not problems(family, tmp_path / "binding.cpp", include)
    include.append("-std=c++20")  # what torch's own headers need, unlike its stable ones
    assert not problems(family, tmp_path / "autograd_entry.cpp", include)


@pytest.mark.slow
@pytest.mark.parametrize("style", ["8.1", "9.x"])
def test_ops_of_one_library_have_no_name_in_common(style, tmp_path):
    """One library has the host code of all ops; classes of one name would be mixed up.

    The ops have several parts each, and a part of the first one has the name of the second behind
    that of its op. ``-Wodr`` compares the types of all objects.
    """
    names = ("loss/cross_entropy", "loss/cross_entropy_loss", "norm/log_softmax")
    specs = [load_spec(LIBRARY / f"{name}.yaml") for name in names]
    project(specs, tmp_path, style)
    objects = []
    for spec in specs:
        host = source_commands(spec, tmp_path, [])[0]
        objects.append(str(tmp_path / f"{spec.name}.o"))
        command = ["g++", "-std=c++17", "-fPIC", "-flto", "-O1", *host[1], "-c", str(host[0])]
        subprocess.run([*command, "-o", objects[-1]], check=True)
    link = ["g++", "-shared", "-flto", "-O1", "-Wodr", *objects, "-o", str(tmp_path / "host.so")]
    done = subprocess.run(link, capture_output=True, text=True, check=True)
    assert "Wodr" not in done.stderr, done.stderr


def test_warnings_stop_generated_code_only(tmp_path):
    """A warning is an error in a file as it was generated, and nothing in one that was edited."""
    spec = load_spec(LIBRARY / "elementwise" / "fused_add_relu.yaml")
    project([spec], tmp_path)
    host = tmp_path / "op_host" / f"{spec.name}.cpp"
    foreign = tmp_path / "op_host" / "foreign.cpp"
    foreign.write_text("int Foreign() { int unused; return 0; }\n")
    assert generated_sources(tmp_path, [host, foreign]) == [host]
    host.write_text(host.read_text() + "\nint Edited() { int unused; return 0; }\n")
    assert generated_sources(tmp_path, [host]) == []
    operators.build_host([spec], tmp_path)
    (tmp_path / "opgen.json").unlink()
    assert generated_sources(tmp_path, [host]) == [host]
    with pytest.raises(OpgenError, match="unused"):
        operators.build_host([spec], tmp_path)


def test_edited_blocks_are_the_users(tmp_path):
    spec = load_spec(LIBRARY / "elementwise" / "fused_add_relu.yaml")
    project([spec], tmp_path)
    kernel = tmp_path / "op_kernel" / f"{spec.name}.cpp"
    assert generated_sources(tmp_path, [kernel]) == [kernel]
    block = tmp_path / "op_kernel" / "opgen" / "tile.h"
    block.write_text(block.read_text() + "// mine\n")
    assert generated_sources(tmp_path, [kernel]) == []
