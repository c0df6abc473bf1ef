"""Tensors of ``opgen run``: every way to give one keeps its rank, that of a scalar too."""

from __future__ import annotations

import numpy as np
import pytest

from msopgen_wrap.run.tensors import Tensor, TensorSpec, load_output, load_tensor

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
