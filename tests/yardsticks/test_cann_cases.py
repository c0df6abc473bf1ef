"""Cases of CANN Bench with smaller shapes, and how a spec's names meet the benchmark's."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from yardsticks.cann_bench import cases_in, counted, op_input, paired, spec_of_task
from yardsticks.cann_cases import (
    ELEMENTS_AT_MOST,
    divided,
    elements,
    proportioned,
    shortened,
    thinned,
    variants,
)

from msopgen_wrap.cli.check_command import contradictions
from msopgen_wrap.spec.loader import read_spec
from msopgen_wrap.spec.model import ParamKind


@dataclass
class Case:
    input_shapes: list[Any]
    dtypes: list[str] = field(default_factory=lambda: ["float16"])
    attrs: dict[str, Any] = field(default_factory=dict)
    value_ranges: Any = field(default_factory=lambda: [-1, 1])


@pytest.mark.parametrize(
    ("shapes", "small"),
    [
        ([[4, 16, 64]], [[4, 16, 64]]),  # small enough
        ([[8192, 8192]], [[256, 256]]),
        ([[4097, 8192]], [[129, 256]]),  # a tail stays a tail
        ([[1 << 20]], [[1 << 17]]),
        ([[[4096, 64], [64]]], [[[2048, 32], [32]]]),
        ([[1023, 1023], None], [[255, 255], None]),
    ],
)
def test_sizes_are_divided_by_a_power_of_two(shapes, small):
    made = divided(Case(shapes))
    assert made.input_shapes == small
    assert elements(made.input_shapes) <= ELEMENTS_AT_MOST


def test_a_size_is_the_same_in_attrs_and_as_largest_index():
    case = Case(
        [[100000, 64], [4096]],
        ["float16", "int64"],
        {"num_segments": 1024, "axis": -1, "perm": [1, 0]},
        [[-1, 1], [0, 1023]],
    )
    small = divided(case)
    segments = small.attrs["num_segments"]
    assert segments < 1024 and small.value_ranges == [[-1, 1], [0, segments - 1]]
    assert small.attrs["axis"] == -1 and small.attrs["perm"] == [1, 0]


def test_multiples_of_an_odd_attr_stay_such():
    case = Case([[10, 400, 127], [[508, 127]]], attrs={"hiddenSize": 127, "numLayers": 1})
    small = divided(case)
    hidden = small.attrs["hiddenSize"]
    assert hidden < 127 and small.input_shapes[1] == [[4 * hidden, hidden]]


def test_leading_axes_alone_keep_the_others_related():
    small = shortened(Case([[8192, 8194], [1, 4097], [8192]]))
    assert small.input_shapes[0][1:] == [8194] and small.input_shapes[1] == [1, 4097]
    assert small.input_shapes[2] == small.input_shapes[0][:1]


def test_second_axes_alone_keep_later_ones_related():
    case = Case(
        [[2, 128, 16, 64, 64], [2, 256, 14, 62, 62]],
        attrs={"pads": [1, 1], "filter_size": [256, 128, 3, 3, 3]},
    )
    small = thinned(case, 1 << 20)
    (images, channels, *sizes), (_, filters, *places) = small.input_shapes
    assert (images, sizes, places) == (2, [16, 64, 64], [14, 62, 62])
    assert small.attrs == {"pads": [1, 1], "filter_size": [filters, channels, 3, 3, 3]}
    assert 16 * elements(small.input_shapes) <= elements(case.input_shapes)
    # the leading axes do not get it small enough
    assert [v.input_shapes for v in variants(case)][1:] == [small.input_shapes]


def test_ends_of_groups_go_on_rising():
    ends = [4, 8, 12, 16, 20, 24, 28, 32]
    case = Case([[32, 4096], [8, 4096, 10240], [32]], attrs={"group_list": ends})
    fallen = divided(case).attrs["group_list"]
    assert fallen != sorted(fallen)
    assert next(variants(case)).attrs["group_list"] == ends


def test_multiples_of_the_smallest_leading_axis_stay_such():
    case = Case(
        [[4036, 1021], [4036], [1009, 1021], None, [16, 1021], [1009, 4]],
        ["float16", "int32", "float16", "float16", "float16", "float16"],
        value_ranges=[[-1, 1], [0, 4035], [-1, 1], None, [-1, 1], [0, 1]],
    )
    small = proportioned(case)
    rows = small.input_shapes[2][0]
    assert small.input_shapes[:2] == [[4 * rows, 1021], [4 * rows]]
    assert small.input_shapes[3:] == [None, [16, 1021], [rows, 4]]
    assert small.value_ranges[1] == [0, 4 * rows - 1]
    assert elements(small.input_shapes) <= ELEMENTS_AT_MOST
    assert proportioned(Case([[8, 9]])).input_shapes == [[8, 9]]


def test_a_second_axis_that_a_later_one_equals_is_kept():
    assert thinned(Case([[8, 64, 64]]), 100).input_shapes == [[8, 64, 64]]


def test_attrs_meet_by_name_then_in_order():
    assert paired(["rotary_mode", "layout"], ["layout", "rotaryMode"]) == {
        "layout": "layout",
        "rotaryMode": "rotary_mode",
    }
    assert paired(["value"], ["scale"]) == {"scale": "value"}
    assert paired([], ["scalar"]) == {}


def test_specs_are_those_of_the_library():
    assert spec_of_task("level2/softmax").name == "softmax.yaml"
    assert spec_of_task("level2/apply_adam_w").name == "adam_w_step.yaml"
    assert spec_of_task("level4/unknown") is None


def test_specs_of_the_benchmark_alone_are_clean():
    path = spec_of_task("level2/grid_sampler_3d")
    assert path is not None and "op_specs" not in path.parts
    result = read_spec(path)
    assert result.diagnostics == [] and result.spec is not None and result.spec.cases
    assert contradictions(result.spec) == []


def test_only_lines_of_cases_are_read():
    assert cases_in('noise\ncann-bench-case: {"case": 1, "passed": true}\n') == [
        {"case": 1, "passed": True}
    ]


@pytest.mark.parametrize(
    ("allowed", "given", "taken"),
    [((-1, -2), 1, -2), ((-1, -2), -1, -1), (None, 1, 1), ((0, 1), 1, 1)],
)
def test_axes_count_from_the_end_where_a_spec_has_them_so(
    allowed: Any, given: int, taken: int
) -> None:
    assert counted(allowed, given, 3) == taken


def test_what_halves_and_groups_divide_stays_divided() -> None:
    case = Case([[2, 60, 5, 7, 480], [1022, 2047]], attrs={"num_groups": 4})
    (_, channels, *_), (rows, _) = divided(case).input_shapes
    assert channels % 4 == 0 and rows % 2 == 0


@pytest.mark.parametrize(
    ("value", "kind", "given"),
    [
        (None, ParamKind.DYNAMIC, []),
        ([None], ParamKind.DYNAMIC, []),
        (None, ParamKind.OPTIONAL, None),
    ],
)
def test_absent_inputs(value, kind, given):
    assert op_input(SimpleNamespace(kind=kind), value) == given
