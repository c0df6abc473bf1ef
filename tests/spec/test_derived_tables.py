"""Committed tables are those that their scripts derive: torch's operators, special fits."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import derive_torch_names as derivation
import numpy as np
import pytest
import special_fits as fits
import torch

from msopgen_wrap.schedule import special_fits as table
from msopgen_wrap.spec import torch_names

# ---- The allow-list follows from torch's operator schemas ----------------------------------------


def test_the_committed_table_is_what_the_schemas_give() -> None:
    assert json.loads(derivation.TABLE.read_text()) == derivation.derive()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("add_", "writes"),
        ("set_", "writes"),
        ("item", "no tensor"),
        ("equal", "no tensor"),
        ("bernoulli", "random"),
        ("nonzero", "depends on data"),
        ("from_file", "file"),
        ("as_strided", "addresses"),
        ("empty_like", "uninitialised"),
        ("resize", "memory"),
        ("cuda", "device"),
        ("cudnn_convolution", "backend"),
    ],
)
def test_a_refused_name_has_a_reason(name: str, reason: str) -> None:
    why = derivation.Schemas().usable(name)[1]
    assert re.search(reason, f"{derivation.denied(name)} {why}")
    assert name not in torch_names.TORCH_FUNCTIONS | torch_names.TENSOR_METHODS


# What reaches files, processes, devices, global state, memory by address, or Python itself.
FORBIDDEN = torch_names.words(
    """load save compile from_file from_numpy frombuffer set_default_dtype manual_seed seed
    set_num_threads use_deterministic_algorithms vmap while_loop fork wait import_ir_module numpy
    data_ptr storage untyped_storage tolist item backward register_hook set resize apply map cuda
    cpu to_dlpack share_memory requires_grad retain_grad as_subclass pin_memory empty empty_like
    as_strided rand dropout handle_torch_function boolean_dispatch assert_int_or_pair
    has_torch_function"""
)


def test_nothing_dangerous_follows_from_the_schemas() -> None:
    spaces = [torch_names.TORCH_FUNCTIONS, torch_names.TENSOR_METHODS]
    # opgen's own functions do not come from the schemas; its dropout has a seed
    spaces += [row for space, row in torch_names.TORCH_NAMESPACES.items() if space != "opgen"]
    for names in spaces:
        assert sorted(names & FORBIDDEN) == []
    assert "cond" not in torch_names.TORCH_FUNCTIONS  # that of torch.linalg is a number


# --------------------------------------------------------------------------------------------------
# The committed fits of special functions are those that the script derives, and close enough.

# Half of float32's spacing is 6e-8: fits add little to what rounding costs.
BOUND = 3e-7


def test_the_committed_table_is_derived() -> None:
    assert fits.TARGET.read_text(encoding="utf-8") == fits.table()


def _gelu(fit: Any, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return GELU as the kernel evaluates it in float32, and the exact one."""
    *lower, last = (np.float32(-c) for c in fit.coefficients)
    with np.errstate(over="ignore", under="ignore"):
        square = x * x
        powers = last * square + lower[-1]  # as the block does it: no 0 meets an infinity
        for c in lower[-2::-1]:
            powers = powers * square + c
        got = x / (np.exp(x * powers) + np.float32(1))
    exact = [v * math.erfc(-v / math.sqrt(2)) / 2 for v in x.astype(np.float64)]
    return got, np.array(exact)


def test_gelu_of_every_half_is_within_one_unit() -> None:
    for sign in (0, 0x8000):
        x = (np.arange(0x7C00, dtype=np.uint16) | sign).view(np.float16).astype(np.float32)
        got, exact = _gelu(table.NORMAL_LOGIT_FLOAT16, x)
        spacing = np.maximum(np.abs(exact), 2.0**-14) * 2**-10
        assert np.max(np.abs(got.astype(np.float16) - exact) / spacing) < 1


def test_gelu_of_every_bfloat16_is_within_the_accuracy_rule() -> None:
    """Each value by itself meets the bound of the mean, and small ones that of values near 0."""
    for sign in (0, 0x8000):
        bits = np.arange(0x7F80, dtype=np.uint32) | sign
        x = (bits << 16).view(np.float32)
        got, exact = _gelu(table.NORMAL_LOGIT_BFLOAT16, x)
        rounded = torch.from_numpy(got).bfloat16().double().numpy()
        error, large = np.abs(rounded - exact), np.abs(exact) >= 2.0**-8
        assert np.max(error[large] / np.abs(exact[large])) < 2.0**-7
        assert np.max(error[~large]) < 2.0**-16
        assert np.max(np.abs(got - exact)[x < -5], initial=0) < 3e-9


def test_gelu_of_floats_keeps_its_tail() -> None:
    """The fit without a cut: relative errors as `DIFFERENCES` says, and 0 in the far tail."""
    x = np.concatenate([np.linspace(-4.9, 20, 20001), np.linspace(-40, -4.9, 20001)])
    x = np.concatenate([x, [-3e38, -1e20, 1e20, 3e38, 0.0, -1e-30]]).astype(np.float32)
    got, exact = _gelu(table.NORMAL_LOGIT_FLOAT32, x)
    error, near = np.abs(got - exact), x >= -4.9
    assert np.max(error[near] / np.maximum(np.abs(exact[near]), 1e-30)) < 4e-5
    assert np.max(error[~near]) < 8e-11


def test_fits_are_close() -> None:
    for name, (function, low, high, degree) in fits.FITS.items():
        exact, _ = fits.errors(function, low, high, fits.fit(function, low, high, degree))
        assert exact < BOUND, name
