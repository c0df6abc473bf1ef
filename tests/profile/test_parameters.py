"""The numbers of the model of time: their table, and a table of the user's own."""

from __future__ import annotations

import csv

import pytest
from profiled import TILE, last, options, profiled

from msopgen_wrap.build import instruction_headers
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.resources import data_dir

TABLE = data_dir("ascendc_kernels") / "emulation" / "profile_parameters.csv"
COLUMNS = ["soc", "name", "value", "low", "high", "unit", "kind", "source"]


def rows() -> list[dict[str, str]]:
    with TABLE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(autouse=True)
def defaults():
    options()
    yield
    options()


def test_every_parameter_has_unit_kind_and_reason():
    assert list(rows()[0]) == COLUMNS
    for row in rows():
        assert row["unit"] and row["kind"] in ("published", "guessed"), row
        assert len(row["source"]) > 10, row
        if row["kind"] == "guessed" and row["unit"] not in ("lines", "instructions"):
            assert float(row["low"]) <= float(row["value"]) <= float(row["high"]), row
    keys = [(row["soc"], row["name"]) for row in rows()]
    assert len(set(keys)) == len(keys)


def test_the_built_in_table_has_every_parameter():
    assert "error" not in profiled("banks", 0, 0x8100, 0x18000, TILE, 1, 0)


def test_another_table_changes_the_time(tmp_path):
    before = profiled("banks", 0, 0x8100, 0x18000, TILE, 1, 0)
    text = TABLE.read_text(encoding="utf-8")
    slow = tmp_path / "slow.csv"
    slow.write_text(text.replace("*,launch,2.5,", "*,launch,12.5,"), encoding="utf-8")
    options(parameters=slow)
    after = last()
    assert after["time_us"] == pytest.approx(before["time_us"] + 10, abs=1e-3)
    exact = tmp_path / "exact.csv"
    exact.write_text(text + "ascend910b1,launch,22.5,,,us,published,a test\n", encoding="utf-8")
    options(parameters=exact)
    assert last()["launch_us"] == 22.5


def test_all_mistakes_of_a_table_are_told(tmp_path):
    profiled("banks", 0, 0x8100, 0x18000, TILE, 1, 0)
    text = TABLE.read_text(encoding="utf-8").replace("*,launch,2.5,", "*,launch,soon,")
    wrong = tmp_path / "wrong.csv"
    wrong.write_text(text.replace("*,store_rate,", "*,store_speed,"), encoding="utf-8")
    options(parameters=wrong)
    error = last()["error"]
    assert error["code"] == "OPG597"
    for said in ("launch: 'soon' is no number", "'store_speed'", "no value of 'store_rate'"):
        assert said in error["why"]
    options(parameters=tmp_path / "none.csv")
    assert "cannot be read" in last()["error"]["why"]
    options()
    assert last()["time_us"] > 0


# ---- costs of instructions -----------------------------------------------------------------------


def test_costs_are_those_of_the_table():
    text = instruction_headers.instruction_costs()
    costs = {row["name"]: row for row in csv.DictReader(text.splitlines())}
    assert costs["Add"] == {"name": "Add", "issue_cycles": "24", "repeat_cycles": "1"}
    assert costs["Exp"]["repeat_cycles"] == "float16:4 float32:2"
    assert costs["SoftMax"]["repeat_cycles"].startswith("~")


def test_a_cost_that_is_no_number(tmp_path, monkeypatch):
    table = tmp_path / "instructions.csv"
    text = instruction_headers.table_path().read_text(encoding="utf-8")
    table.write_text(text.replace(",V,24,1,", ",V,24,fast,", 1), encoding="utf-8")
    monkeypatch.setattr(instruction_headers, "table_path", lambda: table)
    with pytest.raises(OpgenError, match="'fast' is no cost"):
        instruction_headers.instruction_costs()
