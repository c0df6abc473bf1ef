"""int4 and FRACTAL_NZ: plain arrays outside, the device's layout in memory."""

import numpy as np
import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.run.storage import fractal_shape, from_memory, to_memory
from msopgen_wrap.run.tensors import Tensor, TensorSpec, load_tensor, parse_spec


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
