"""Files with a ``torch.nn.Module`` become specs: the calls of its forward, made small."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from yardsticks.module_specs import op_type, small_module, spec_of_file, spec_of_task
from yardsticks.module_task import load_task
from yardsticks.recorded_calls import UnwritableError

from msopgen_wrap.spec.loader import load_specs

X = torch.arange(12.0).reshape(3, 4)


def compute_of(forward, *inputs) -> list[str]:
    text = spec_of_task(small_module(forward, *inputs))
    return [line.strip() for line in text.partition("compute: |\n")[2].splitlines()]


def added_in_place(x):
    y = x * 2
    y.add_(x)
    return F.relu(y, inplace=True)


def branch_on_a_size(x):
    return x.sum(-1) if x.shape[0] > 2 else x


def written_in_place(x):
    y = torch.empty_like(x)
    y.copy_(x[0])
    z = x * 2
    return z.fill_(3) + y


def joined_again(x):
    return x.T.contiguous().view(2, 6)


FORWARDS = [
    (
        written_in_place,
        [
            "t0 = torch.empty_like(x)",
            "t1 = x[0]",
            "t2 = t1.expand_as(t0).to(t0.dtype)",
            "t3 = x * 2",
            "t4 = torch.full_like(t3, 3)",
            "y = t4 + t2",
        ],
    ),
    (joined_again, ["t0 = x.T", "t1 = t0.contiguous()", "y = t1.view(2, 6)"]),
    (lambda x: F.relu(x), ["y = F.relu(x)"]),
    (lambda x: 1 - x**2, ["t0 = x ** 2", "y = 1 - t0"]),
    (lambda x: (-2.0) ** x, ["y = (-2.0) ** x"]),
    (lambda x: x.T @ x, ["t0 = x.T", "y = t0 @ x"]),
    (lambda x: x[:, 1:, None], ["y = x[:, 1:, None]"]),
    (lambda x: x.clone().view(-1), ["t0 = x", "y = t0.view(-1)"]),
    (lambda x: torch.max(x, dim=1)[0], ["t0, t1 = torch.max(x, dim=1)", "y = t0"]),
    (lambda x: torch.special.erf(x), ["y = torch.special.erf(x)"]),
    (lambda x: x.to(torch.int32), ["y = x.to(torch.int32)"]),
    (added_in_place, ["t0 = x * 2", "t1 = t0 + x", "y = F.relu(t1)"]),
    (branch_on_a_size, ["y = x.sum(-1)"]),
]


@pytest.mark.parametrize(("forward", "lines"), FORWARDS)
def test_calls_become_statements(forward, lines):
    assert compute_of(forward, X) == lines


def after_writing(index, value):
    def forward(x):
        y = x * 1
        y[index] = value
        return y

    return forward


ROWS = torch.tensor([2, 0])
MASK = torch.arange(12).reshape(3, 4) % 3 == 0


@pytest.mark.parametrize(
    ("index", "value", "want"),
    [
        (0, 7, "torch.select_scatter(t0, torch.full_like(t0.select(0, 0), 7), 0, 0)"),
        (
            (..., slice(1, None, 2)),
            7,
            "torch.slice_scatter(t0, torch.full_like(t0[:, 1::2], 7), 1, 1, None, 2)",
        ),
        (
            (slice(None), 2),
            torch.ones(3),
            "torch.select_scatter(t0, constant1.expand_as(t0.select(1, 2)), 1, 2)",
        ),
        (ROWS, torch.ones(2, 4), "torch.index_put(t0, (constant1,), constant2)"),
        (ROWS, 7.5, "t0.index_fill(0, constant1, 7.5)"),
        (MASK, 7, "t0.masked_fill(constant1, 7)"),
    ],
)
def test_an_assignment_to_elements_gives_a_new_tensor(index, value, want):
    assert compute_of(after_writing(index, value), X) == ["t0 = x * 1", f"y = {want}"]


def writes_a_corner(x):
    y = x.clone()
    y[:2, 1:] = 0
    return y


def writes_where_data_decide(x):
    y = x.clone()
    y[y > 5] = torch.ones(6)
    return y


def writes_into_its_argument(x):
    x[1] = 0
    return x + 1


def test_an_argument_that_is_written_is_read_as_it_was():
    kept = X.clone()
    lines = compute_of(writes_into_its_argument, kept)
    assert lines[0].startswith("t0 = torch.select_scatter(x, ") and lines[1] == "y = t0 + 1"


def keeps_a_row_of_what_it_writes(x):
    y = x * 1
    row = y[0]
    row[:2] = 1
    return y


def keeps_a_view_of_what_it_writes(x):
    y = x * 1
    row = y[0]
    row.add_(1)
    return y


def drops_twice(x):
    x = F.dropout(x, 0.25)
    x = F.dropout(F.dropout(x, 0.5, training=False), p=0.0)
    F.dropout(x, 0.5, inplace=True)
    return x * 2


def test_dropout_in_training_takes_its_mask_from_a_seed():
    lines = compute_of(drops_twice, X)
    assert lines == [
        "t0 = opgen.dropout(x, 0.25, 0, 0)",
        "t1 = opgen.dropout(t0, 0.5, 0, 1)",
        "y = t1 * 2",
    ]


def gives_a_number(x):
    return float(x.sum())


@pytest.mark.parametrize(
    ("forward", "why"),
    [
        (writes_a_corner, "assigns to elements"),
        (writes_where_data_decide, "assigns to elements"),
        (keeps_a_row_of_what_it_writes, "other numbers than the model"),
        (keeps_a_view_of_what_it_writes, "other numbers than the model"),
        (gives_a_number, "results that are no tensors"),
    ],
)
def test_what_compute_cannot_hold_is_refused(forward, why):
    with pytest.raises(UnwritableError, match=why):
        spec_of_task(small_module(forward, X))


TASK = """
import torch

class Model(torch.nn.Module):
    def __init__(self, channels, groups=1024):
        super().__init__()
        self.groups = groups  # a number of the class stays
        self.norm = torch.nn.BatchNorm2d(channels)

    def forward(self, x, shift):
        return self.norm(x) * self.groups + shift

channels = 128
height = 4096 * 2
width = height // 2

def get_inputs():
    return [torch.rand(16, channels, height, width), 3.5]

def get_init_inputs():
    return [channels]
"""


@pytest.fixture
def task(tmp_path) -> Path:
    path = tmp_path / "12_Norm_of_images_.py"
    path.write_text(TASK)
    return path


def test_a_task_is_made_small(task):
    small = load_task(task)
    batch, channels, height, width = small.inputs[0].shape
    assert (batch, small.inputs[1], small.model.groups) == (16, 3.5, 1024)
    assert channels < height and width == height // 2
    assert small.inputs[0].numel() <= 150_000


TABLE = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.rand(100000, 768))

    def forward(self, indices):
        return self.table[indices]

def get_inputs():
    return [torch.randint(0, 100000, (512, 2))]
"""


def test_numbers_of_a_class_become_small_where_its_parameters_are_large(tmp_path):
    path = tmp_path / "table.py"
    path.write_text(TABLE)
    small = load_task(path)
    rows, width = small.model.table.shape
    assert small.inputs[0].shape[1] == 2 and small.inputs[0].max() < rows
    assert rows * width < 500_000 and rows > width


def test_an_attention_that_drops_nothing_is_a_formula():
    attention = torch.nn.MultiheadAttention(4, 2)
    lines = compute_of(lambda x: attention(x, x, x)[0], X[:, None])
    assert "F.multi_head_attention_forward(" in lines[0] and "training=False" in lines[0]
    attention.dropout = 0.1
    with pytest.raises(UnwritableError, match="random dropout"):
        compute_of(lambda x: attention(x, x, x)[0], X[:, None])


UPSAMPLED = """
import torch

class Model(torch.nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.up = torch.nn.ConvTranspose1d(channels, channels, 4, stride=2, padding=1)
        self.norm = torch.nn.LayerNorm(width * 2)
        self.groups = torch.nn.GroupNorm(groups, channels)

    def forward(self, x, shift):
        return self.norm(self.groups(self.up(x))) + shift

batch, channels, groups = 96, 64, 8
width = 512

def get_inputs():
    return [torch.rand(batch, channels, width), torch.rand(1024)]

def get_init_inputs():
    return [channels, groups]
"""


def test_sizes_that_must_fit_one_another_are_divided_by_one_number(tmp_path):
    path = tmp_path / "upsampled.py"
    path.write_text(UPSAMPLED)
    small = load_task(path)
    batch, channels, width = small.inputs[0].shape
    assert small.limit == 0 and small.inputs[1].shape == (2 * width,)
    assert (batch, channels, width) == (24, 16, 128)


def test_a_task_becomes_a_spec(task, tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(spec_of_file(task))
    (spec,) = load_specs((path,))
    assert spec.op == "TaskNormOfImages"
    # Running statistics are written in training, and no result reads them.
    assert [p.name for p in spec.inputs] == ["x", "norm_weight", "norm_bias"]
    assert "training=True" in path.read_text() and "3.5" in path.read_text()


def test_names_of_ops_are_short():
    assert len(op_type("conv_transposed_" * 9)) == 60
