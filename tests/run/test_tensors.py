"""Tensors of ``opgen run`` and of cases: their rank, scalars, int4 and FRACTAL_NZ."""

from __future__ import annotations

import json

import numpy as np
import pytest

from msopgen_wrap.cli.app import run as opgen
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.run.storage import fractal_shape, from_memory, to_memory
from msopgen_wrap.run.tensors import Tensor, TensorSpec, load_output, load_tensor, parse_spec

# ---- Tensors of ``opgen run``: every way to give one keeps its rank, that of a scalar too --------

DTYPES = ("float16", "bfloat16", "float32", "int8", "int32", "int64", "bool", "int4")
SHAPES = ((), (1,), (3,), (2, 0), (2, 3))


def text(shape: tuple[int, ...]) -> str:
    return ",".join(map(str, shape))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_shape_is_the_one_given(tmp_path, dtype, shape):
    rng = np.random.default_rng(0)
    made = {
        form: load_tensor(f"{form}{dtype}[{text(shape)}]", rng)
        for form in ("", "zeros:", "ones:", "arange:")
    }
    ones = made["ones:"]
    ones.save(tmp_path / "t.npy")
    ones.save(tmp_path / "t.bin")
    suffix = f":{dtype}" if dtype in ("bfloat16", "int4") else ""
    made["npy"] = load_tensor(f"{tmp_path / 't.npy'}{suffix}", rng)
    made["output"] = load_output(f"{tmp_path / 't.npy'}{suffix}", rng)
    made["bin"] = load_tensor(f"{tmp_path / 't.bin'}:{dtype}[{text(shape)}]", rng)
    made["poisoned"] = Tensor.poisoned(TensorSpec(dtype, shape))
    assert {form: t.shape for form, t in made.items()} == dict.fromkeys(made, shape)
    for form in ("npy", "bin", "output"):
        assert made[form].to_float().tolist() == ones.to_float().tolist()
        assert not made[form].data.size or made[form].memory.ctypes.data % 512 == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_a_kernel_writes_to_a_scalar_comes_back(tmp_path, dtype):
    tensor = Tensor.poisoned(TensorSpec(dtype, ()))
    source = load_tensor(f"ones:{dtype}[]", np.random.default_rng(0))
    tensor.memory.reshape(-1).view(np.uint8)[...] = source.memory.reshape(-1).view(np.uint8)
    tensor.refresh()
    assert tensor.shape == () and float(tensor.to_float()) == 1.0
    tensor.save(tmp_path / "out.npy")
    assert np.load(tmp_path / "out.npy").shape == ()


# --------------------------------------------------------------------------------------------------
# An op with a scalar tensor: its case grid, and ``opgen run`` of its project with 0-d files.

SPEC = """\
op: ScaleBy
doc: x times a scalar tensor.
inputs:
  x: {dtype: [float32], rank: [0, 8]}
  s: {dtype: x, rank: 0}
outputs:
  y: {dtype: x, shape: like x}
compute: x * s
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("scalar")
    (root / "scale_by.yaml").write_text(SPEC, encoding="utf-8")
    assert opgen(["new", str(root / "scale_by.yaml"), "-o", str(root / "project")]) == 0
    return root / "project"


@pytest.mark.slow
def test_its_cases_pass(project, capfd):
    assert opgen(["test", str(project), "-k", "s=scalar", "--json"]) in (0, 1)
    report = json.loads(capfd.readouterr().out)
    results = [case["status"] for op in report["ops"] for case in op["cases"]]
    assert len(results) > 10 and set(results) == {"passed"}, results


@pytest.mark.parametrize("shape", [(), (1,), (2, 3)])
def test_files_keep_rank_zero(project, tmp_path, shape, capfd):
    x = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape) + 3
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "s.npy", np.array(2.5, np.float32))
    arguments = ["run", str(project), "-i", f"x={tmp_path}/x.npy", "-i", f"s={tmp_path}/s.npy"]
    assert opgen([*arguments, "--save", str(tmp_path / "out")]) == 0, capfd.readouterr()
    y = np.load(tmp_path / "out" / "y.npy")
    assert y.shape == shape
    np.testing.assert_array_equal(y, x * np.float32(2.5))
    assert opgen([*arguments[:-1], f"s={tmp_path}/x.npy"]) == (0 if shape == () else 1)


# ---- int4 and FRACTAL_NZ: plain arrays outside, the device's layout in memory --------------------


@pytest.mark.parametrize(
    "dtype, layout, shape, stored",
    [
        ("float16", "ND", (3, 5), (3, 5)),
        ("float16", "NCHW", (1, 2, 3, 5), (1, 2, 3, 5)),
        ("float16", "FRACTAL_NZ", (20, 30), (2, 2, 16, 16)),
        ("int8", "FRACTAL_NZ", (3, 32, 33), (3, 2, 2, 16, 32)),
        ("float32", "FRACTAL_NZ", (16, 8), (1, 1, 16, 8)),
        ("int4", "ND", (3, 5), (8,)),
        ("int4", "FRACTAL_NZ", (17, 65), (2 * 2 * 16 * 64 // 2,)),
    ],
)
def test_memory_holds_the_values_in_the_format(dtype, layout, shape, stored):
    rng = np.random.default_rng(0)
    tensor = Tensor.random(TensorSpec(dtype, shape, -8, 7, layout), rng)
    assert tensor.shape == shape
    assert tensor.memory.shape == stored
    back = from_memory(tensor.memory, shape, dtype, layout)
    np.testing.assert_array_equal(back, tensor.data)


def test_an_element_lies_where_the_format_says():
    values = np.arange(40 * 50, dtype=np.float16).reshape(40, 50)
    memory = to_memory(values, "float16", "FRACTAL_NZ").reshape(-1)
    rows = -(-40 // 16) * 16
    for m, n in ((0, 0), (17, 3), (39, 49)):
        assert memory[(n // 16) * rows * 16 + m * 16 + n % 16] == values[m, n]
    assert fractal_shape((40, 50), 16) == (4, 3, 16, 16)


def test_two_elements_share_a_byte():
    memory = to_memory(np.array([1, -1, -8, 7, 3], np.int8), "int4", "ND")
    assert memory.view(np.uint8).tolist() == [0xF1, 0x78, 0x03]


def test_a_kernel_writes_to_the_memory():
    tensor = Tensor.poisoned(TensorSpec("int4", (2, 3)))
    assert set(tensor.data.reshape(-1).tolist()) == {5, -6}
    tensor.memory[...] = 0x12
    tensor.refresh()
    assert tensor.data.tolist() == [[2, 1, 2], [1, 2, 1]]


def test_texts_name_the_format(tmp_path):
    rng = np.random.default_rng(0)
    assert parse_spec("int8[2,3](-4,4)@FRACTAL_NZ").layout == "FRACTAL_NZ"
    np.save(tmp_path / "w.npy", np.ones((4, 6), np.int8))
    np.ones(24, np.float16).tofile(tmp_path / "w.bin")
    for text, dtype, layout in (
        ("w.npy", "int8", ""),
        ("w.npy@FRACTAL_NZ", "int8", "FRACTAL_NZ"),
        ("w.npy:int4@FRACTAL_NZ", "int4", "FRACTAL_NZ"),
        ("w.npy:int4", "int4", ""),
        ("w.bin:float16[4,6]@FRACTAL_NZ", "float16", "FRACTAL_NZ"),
    ):
        tensor = load_tensor(str(tmp_path / text), rng)
        assert (tensor.dtype, tensor.layout, tensor.shape) == (dtype, layout, (4, 6))
    assert load_tensor("ones:float16[1,2,3,4]@NCHW", rng).layout == "NCHW"


@pytest.mark.parametrize("text", ["float16[2,3]@NZ", "float16[3]@FRACTAL_NZ"])
def test_a_format_that_does_not_fit_is_refused(text):
    with pytest.raises(OpgenError, match="OPG524"):
        parse_spec(text)
