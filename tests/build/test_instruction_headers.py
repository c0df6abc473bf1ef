"""The table of instructions: what it says, and what is made of it for C++."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import pytest

from msopgen_wrap.build import instruction_headers
from msopgen_wrap.build.emulation import PRELUDE, kernel_defines
from msopgen_wrap.build.emulation_library import include_dirs
from msopgen_wrap.build.instruction_headers import Instruction
from msopgen_wrap.build.toolchain import find_toolchain
from msopgen_wrap.diagnostics import OpgenError

TABLE = instruction_headers.instruction_table()
ROWS = {row.name: row for row in TABLE}
HEAD = "name,form,operands,types,arithmetic,flow,pipe,archs,types_2002,page"


def test_rows_are_sorted_and_their_constants_differ() -> None:
    assert [row.name for row in TABLE] == sorted(ROWS)
    constants = [row.enumerator for row in TABLE]
    assert len(set(constants)) == len(constants)
    assert all(constant.isidentifier() for constant in constants)


@pytest.mark.parametrize(
    ("name", "constant"),
    [
        ("Add", "kAdd"),
        ("asc_copy", "kasc_copy"),
        ("DataCopy L0C>GM", "kDataCopyL0CToGM"),
        ("SyncAll hard", "kSyncAllHard"),
        ("Matmul::Iterate", "kMatmulIterate"),
        ("operator()", "kOperatorCall"),
    ],
)
def test_constants_of_names(name: str, constant: str) -> None:
    assert ROWS[name].enumerator == constant


def test_a_row_becomes_declarations_lanes_and_facts() -> None:
    texts = instruction_headers.header_texts((ROWS["Max"], ROWS["MulAddRelu"]))
    assert "// Max(dst, src0, src1); page Max.\nOPGEN_BINARY(Max)\n" in texts["vector_forms.inc"]
    assert "OPGEN_TYPES_Max half, float, int16_t, int32_t\n" in texts["element_types.inc"]
    assert "return Pick<2, false, MaxOp>(dt, st);" in texts["float_lanes.inc"]
    assert "return Pick<MaxOp, 2, int16_t, int32_t>(dt);" in texts["integer_lanes.inc"]
    # It shares the arithmetic of FusedMulAddRelu, which reads its destination.
    assert "return Pick<2, true, FusedMulAddReluOp>(dt, st);" in texts["float_lanes.inc"]
    assert '{"MulAddRelu", VecOp::kFusedMulAddRelu, true, ' in texts["instruction_rows.inc"]


def test_instructions_that_share_an_arithmetic_make_the_same_of_it() -> None:
    made: dict[str, tuple[object, ...]] = {}
    for row in TABLE:
        if row.form:
            shape = (row.types, row.sources, row.reads_dst)
            assert made.setdefault(row.arithmetic, shape) == shape, row.name


def test_the_folder_holds_what_the_compiler_is_given() -> None:
    folder = instruction_headers.instruction_folder()
    assert folder in include_dirs()
    texts = instruction_headers.header_texts(TABLE)
    found = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert found == {f"ascendc_emu/{name}" for name in texts}
    for name, text in texts.items():
        assert (folder / "ascendc_emu" / name).read_text(encoding="utf-8") == text


def test_another_table_has_another_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The flags of the library name the folder, so the library is compiled again."""
    path = tmp_path / "instructions.csv"
    text = instruction_headers.table_path().read_text(encoding="utf-8")
    path.write_text(text.replace("Abs,unary,dst src,", "Abs,unary,dst:rw src,"), encoding="utf-8")
    before = instruction_headers.instruction_folder()
    monkeypatch.setattr(instruction_headers, "table_path", lambda: path)
    after = instruction_headers.instruction_folder()
    assert after != before
    assert "Pick<1, true, AbsOp>" in (after / "ascendc_emu" / "float_lanes.inc").read_text()


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("Old,ternary,dst src,float16,Old,,V,2201,,", "Old: form 'ternary' is none of unary, "),
        ("Old,unary,dst src,float8,Old,,V,2201,,", "Old: types 'float8' is none of "),
        ("Old,,,,,sideways,V,2201,,", "Old: flow 'sideways' is none of lanes, "),
        ("Old,unary,dst src,,Old,,V,2201,,", "Old: a form needs operands, types and "),
        ("Old,,,,,,V,1 2 3 4 5,,", "Old: more than 4 architectures"),
    ],
)
def test_mistakes_in_a_row(
    row: str, problem: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "instructions.csv"
    path.write_text(f"{HEAD}\n{row}\n", encoding="utf-8")
    monkeypatch.setattr(instruction_headers, "table_path", lambda: path)
    with pytest.raises(OpgenError) as refused:
        instruction_headers.instruction_table()
    [diagnostic] = refused.value.diagnostics
    assert diagnostic.code == "OPG304"
    assert problem in diagnostic.what


def test_a_route_of_an_api_belongs_to_it() -> None:
    text = instruction_headers.header_texts(TABLE)["instruction_routes.inc"]
    assert "{Api::kDataCopy, Mem::kL0c, Mem::kGm, Api::kDataCopyL0CToGM}," in text


def test_rows_without_a_form_have_lanes_of_their_own() -> None:
    """Replacing nothing: a row of a declared API alone makes no case."""
    row: Instruction = dataclasses.replace(ROWS["Abs"], form="")
    texts = instruction_headers.header_texts((row,))
    assert "case" not in texts["float_lanes.inc"] + texts["integer_lanes.inc"]


KERNEL = """
#include "kernel_operator.h"
using namespace AscendC;
void Call(LocalTensor<{type}> dst, LocalTensor<{type}> x, LocalTensor<{type}> y, uint64_t* bits) {{
    BinaryRepeatParams params;
    Distance(dst, x, y, 64);
    Distance(dst, x, y, uint64_t(64), 1, params);
    Distance(dst, x, y, bits, 1, params);
}}
"""


def test_a_row_declares_an_instruction(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In all forms, for its types; the arithmetic is all that has to be written by hand."""
    lines = instruction_headers.table_path().read_text(encoding="utf-8").splitlines()
    row = dict.fromkeys(lines[0].split(","), "") | {
        "name": "Distance",
        "form": "binary",
        "operands": "dst src0 src1",
        "types": "float16 float32",
        "arithmetic": "Distance",
        "pipe": "V",
    }
    path = tmp_path / "instructions.csv"
    path.write_text("\n".join([*lines, ",".join(row.values())]) + "\n", encoding="utf-8")
    monkeypatch.setattr(instruction_headers, "table_path", lambda: path)
    flags = ["-std=c++17", "-Wall", "-Werror", *PRELUDE, *kernel_defines(2201)]
    flags += [f"-I{folder}" for folder in include_dirs()]

    def errors(element: str) -> str:
        source = tmp_path / f"{element}.cpp"
        source.write_text(KERNEL.format(type=element), encoding="utf-8")
        command = [find_toolchain().cxx, "-fsyntax-only", *flags, str(source)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr

    assert errors("half") == ""
    assert "Distance does not support this element type on arch 2201; supported: half, float" in (
        errors("int32_t")
    )
