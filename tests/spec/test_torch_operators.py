"""The allow-list follows from torch's operator schemas."""

from __future__ import annotations

import json
import re

import derive_torch_names as derivation
import pytest

from msopgen_wrap.spec import torch_names


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
    for names in (*spaces, *torch_names.TORCH_NAMESPACES.values()):
        assert sorted(names & FORBIDDEN) == []
    assert "cond" not in torch_names.TORCH_FUNCTIONS  # that of torch.linalg is a number
