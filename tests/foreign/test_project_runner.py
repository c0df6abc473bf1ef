"""``opgen run PROJECT_DIR``: foreign projects compiled and run, and what is said about bad ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from project_sources import FILES

from msopgen_wrap.cli.app import run as opgen
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.foreign.kernel_text import without_launches
from msopgen_wrap.foreign.op_project import open_project
from msopgen_wrap.foreign.project_runner import ProjectRunner, adds_op
from msopgen_wrap.foreign.run_inputs import read_run_inputs
from msopgen_wrap.run.tensors import Tensor, TensorSpec, load_tensor, parse_spec


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def runner(project):
    return ProjectRunner(project)


def tensor(values, dtype="float32"):
    return Tensor.from_float(np.asarray(values, np.float64), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_an_op_with_a_macro_tiling_struct_runs(runner, dtype):
    x = tensor(np.arange(48).reshape(3, 16) / 4, dtype)
    done = runner.run("ScaleRows", {"x": x}, {"factor": -1.5})
    y = done.outputs["y"]
    assert (y.dtype, y.shape) == (dtype, (3, 16))
    np.testing.assert_array_equal(y.to_float(), x.to_float() * -1.5)
    assert done.result.findings == [] and done.result.block_dim == 1


@pytest.mark.parametrize(
    "factor, finds", [("float", ""), ("unknown", "does not name a type|unknown type name")]
)
def test_a_tiling_struct_that_a_kernel_header_has_too(tmp_path, factor, finds):
    """CANN makes no struct where the kernel registers its own; ours made it a second time."""
    for name, text in FILES.items():
        if "scale_rows" in name and "op_host/op_api" not in name:
            # Another op type: the registered ops of a process outlive a test.
            text = text.replace("ScaleRows", "OwnRows").replace("scale_rows", "own_rows")
            path = tmp_path / name.replace("scale_rows", "own_rows")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    kernel = tmp_path / "op_kernel" / "own_rows.cpp"
    head = '#include "own_rows_data.h"\n' + kernel.read_text()
    read = "    GET_TILING_DATA("
    head = head.replace(read, "    REGISTER_TILING_DEFAULT(OwnRowsTilingData);\n" + read)
    kernel.write_text(head, encoding="utf-8")
    (kernel.parent / "own_rows_data.h").write_text(
        f"#pragma once\nstruct OwnRowsTilingData {{ unsigned length; {factor} factor; }};\n"
    )
    runner, x = ProjectRunner(tmp_path), tensor(np.arange(48))
    if finds:
        with pytest.raises(OpgenError, match=finds):
            runner.run("OwnRows", {"x": x})
        return
    y = runner.run("OwnRows", {"x": x}, {"factor": -1.5}).outputs["y"]
    np.testing.assert_array_equal(y.to_float(), x.to_float() * -1.5)


def rows_op(folder: Path, op: str, file: str) -> tuple[Path, Path]:
    """Write the op of scaled rows under another name; return its host and kernel source.

    The registered ops of a process outlive a test, so each test has its own.
    """
    for name, text in FILES.items():
        if "scale_rows" in name and "aclnn" not in name and "fallback" not in name:
            path = folder / name.replace("scale_rows", file)
            path.parent.mkdir(exist_ok=True)
            text = text.replace("ScaleRows", op).replace("scale_rows", file)
            path.write_text(text, encoding="utf-8")
    return folder / "op_host" / f"{file}.cpp", folder / "op_kernel" / f"{file}.cpp"


def test_an_op_in_place_needs_no_infer_shape(tmp_path):
    """An aclnn call takes the shape from the tensor that is written in place."""
    host, kernel = rows_op(tmp_path, "InPlaceRows", "in_place_rows")
    text = host.read_text().replace('Output("y")', 'Output("x")')
    text = text.replace("*context->GetOutputShape(0) = *context->GetInputShape(0);", "")
    host.write_text(text)
    # As the macros of CANN's build: of the output that has the name of an input.
    kernel.write_text(kernel.read_text().replace("DTYPE_Y", "DTYPE_X_REF"))
    x = tensor(np.arange(48).reshape(3, 16))
    want = x.to_float() * -1.5
    done = ProjectRunner(tmp_path).run("InPlaceRows", {"x": x}, {"factor": -1.5})
    np.testing.assert_array_equal(done.outputs["x"].to_float(), want)
    assert not done.changed


@pytest.mark.parametrize(
    ("build_file", "registers", "left_out"),
    [
        ("target_sources(optiling PRIVATE op_host/part_rows.cpp)\n", "INFERSHAPE", True),
        ("target_sources(optiling PRIVATE op_host/part_rows.cpp)\n", "OPTILING", False),
        ("target_sources(a op_host/part_rows.cpp op_host/proto.cc)\n", "INFERSHAPE", False),
        ("file(GLOB all op_host/*.c*) # part_rows.cpp\n", "INFERSHAPE", False),
        ("", "INFERSHAPE", False),
    ],
    ids=["named_others", "tiling", "named", "collected", "no_build_file"],
)
def test_a_source_that_no_build_file_names(tmp_path, build_file, registers, left_out):
    """Repositories publish sources for a build of their own, with headers they do not publish."""
    rows_op(tmp_path, "PartRows", "part_rows")
    source = f'#include "own_build/runtime_util.h"\nIMPL_OP_{registers}(PartRows);\n'
    (tmp_path / "op_host/proto.cc").write_text(source)
    (tmp_path / "CMakeLists.txt").write_text(build_file)
    x = tensor(np.arange(16))
    if not left_out:
        with pytest.raises(OpgenError, match="own_build/runtime_util"):
            ProjectRunner(tmp_path)
        return
    y = ProjectRunner(tmp_path).run("PartRows", {"x": x}, {"factor": 2.0}).outputs["y"]
    np.testing.assert_array_equal(y.to_float(), x.to_float() * 2)


def test_an_input_that_the_kernel_writes_to_is_a_result(tmp_path, capfd):
    """Some ops update an input and leave the output that names the result alone."""
    _, kernel = rows_op(tmp_path, "UpdateRows", "update_rows")
    to_y, to_x = (f"out.SetGlobalBuffer((__gm__ DTYPE_Y*){name}" for name in "yx")
    kernel.write_text(kernel.read_text().replace(to_y, to_x))
    np.save(tmp_path / "x.npy", np.arange(16, dtype=np.float32))
    arguments = ["run", str(tmp_path), "-i", f"x={tmp_path}/x.npy", "-a", "factor=3"]
    assert opgen([*arguments, "--save", str(tmp_path / "out")]) == 0
    assert "x (input, written in place): float32[16]  0 3 6" in capfd.readouterr().out
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "x.npy"), np.arange(16) * 3)
    assert opgen([*arguments, "--json"]) == 0
    report = json.loads(capfd.readouterr().out)
    assert report["changed_inputs"] == {"x": [{"dtype": "float32", "shape": [16]}]}


def test_the_build_files_options_count(tmp_path):
    """The kernel's source, macros, and no synchronisation by its compiler: a barrier is missed."""
    _, kernel = rows_op(tmp_path, "OptionRows", "option_rows")
    send = "    outQueue.EnQue(b);\n"
    shift = "    Adds(b, b, (DTYPE_Y)SHIFT, data.length);\n"
    text = kernel.read_text().replace(send, shift + send)
    kernel.with_stem("option_rows_22").write_text(text)
    (tmp_path / "op_kernel/CMakeLists.txt").write_text(
        "add_kernel_sources(KERNEL_SRC option_rows_22.cpp COMPUTE_UNITS ascend910b\n"
        "    AUTO_SYNC false OPTIONS -DSHIFT=3)\n"
        "add_kernel_sources(COMPUTE_UNITS ascend950 OPTIONS -DSHIFT=4)\n"
    )
    x = tensor(np.arange(48))
    done = ProjectRunner(tmp_path).run("OptionRows", {"x": x}, {"factor": 2.0})
    np.testing.assert_array_equal(done.outputs["y"].to_float(), x.to_float() * 2 + 3)
    found = [(f["check"], f["severity"]) for f in done.result.findings]
    assert ("ErrorSync2", "warning") in found


def test_an_output_list_is_as_long_as_the_input_list(runner):
    x = [tensor(np.ones((2, 3)), "float16"), tensor(np.ones(5), "float16")]
    got = runner.infer(runner.declaration("ListLike"), [x], {})
    want = [TensorSpec("float32", (2, 3)), TensorSpec("float32", (5,))]
    assert got == [want, TensorSpec("int64", (2,))]


def test_output_lists_are_as_long_as_the_input_lists(runner):
    x = [tensor(np.ones((2, 3)), "float16"), tensor(np.ones(5), "float16")]
    got = runner.infer(runner.declaration("ListTwice"), [x], {})
    same = [TensorSpec("float16", (2, 3)), TensorSpec("float16", (5,))]
    assert got == [same, [TensorSpec("float32", (1,)), TensorSpec("float32", (2,))]]
    with pytest.raises(OpgenError, match="its length cannot be inferred"):
        runner.infer(runner.declaration("ListTwice"), [[]], {})


def test_ops_that_a_source_adds():
    assert adds_op("PickOne", "OP_ADD( PickOne, None);")
    assert not adds_op("PickOne", "OP_ADD(PickOneV2);")


def test_a_missing_attribute_takes_its_default(runner):
    done = runner.run("ScaleRows", {"x": tensor(np.ones(16))})
    np.testing.assert_array_equal(done.outputs["y"].to_float(), np.full(16, 2.0))


@pytest.mark.parametrize(("step", "negate"), [(5, False), (100, True), (100, False)])
def test_a_template_kernel_is_instantiated_per_tiling_key(runner, step, negate):
    x = tensor([1, 2, 3])
    done = runner.run(
        "PickTemplate",
        {"x": x},
        {"step": step, "negate": negate},
        {"y": TensorSpec("float32", (3,))},
    )
    want = x.to_float() + step
    np.testing.assert_array_equal(done.outputs["y"].to_float(), -want if negate else want)


@pytest.mark.parametrize("given", [None, (2, 5), (40,)])
def test_the_kernel_tells_the_shape_of_an_output(runner, given):
    x = tensor([1, -2, 3, 0, 5])
    outputs = {"y": TensorSpec("float32", given)} if given else {}
    done = runner.run("KeepPositive", {"x": x}, {}, outputs)
    assert done.outputs["y"].shape == (1, 3) and done.outputs["z"].shape == (1,)
    np.testing.assert_array_equal(done.outputs["y"].to_float(), [[1, 3, 5]])
    assert done.outputs["z"].to_float() == [9]
    assert done.result.computed_shapes == [None, (1, 3)]
    assert done.result.findings == []


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (1, "wrote no shape of output y"),
        (2, "wrote rank 9 as shape of output y"),
        (3, "wrote shape [1,9] of output y, whose buffer has 8 elements"),
    ],
)
def test_a_wrong_computed_shape_is_an_error(runner, told, words):
    with pytest.raises(OpgenError) as caught:
        runner.run("KeepPositive", {"x": tensor([1, 2, 3, 4])}, {"told": told}, mode="fast")
    assert words in str(caught.value)


def test_a_computed_shape_without_bounds_needs_room(runner):
    with pytest.raises(OpgenError) as caught:
        runner.run("KeepOpen", {"x": tensor([1, 2])})
    assert "leaves the shape of output y open: [2, -1]" in str(caught.value)


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "outputs", "words"),
    [
        (
            "ScaleRows",
            {"x": TensorSpec("float32", (7,))},
            {},
            {},
            "length 7 is not a multiple of 16",
        ),
        (
            "ScaleRows",
            {"x": TensorSpec("int32", (16,))},
            {},
            {},
            "does not list these input dtypes",
        ),
        ("ScaleRows", {}, {}, {}, "input x of op ScaleRows is missing"),
        ("ScaleRows", {"z": None}, {}, {}, "has no input z"),
        ("ScaleRow", {}, {}, {}, "has no op ScaleRow"),
        ("PickTemplate", {"x": TensorSpec("float32", (3,))}, {"step": 5}, {}, "no InferShape"),
        ("PickTemplate", {"x": TensorSpec("float32", (3,))}, {"step": 70}, 3, "ARGS_SEL"),
        ("PickTemplate", {"x": TensorSpec("float32", (3,))}, {"step": 6}, 3, "STEP: 6"),
    ],
)
def test_errors_name_the_cause(runner, op, inputs, attrs, outputs, words):
    given = {n: Tensor.empty(s) if s is not None else None for n, s in inputs.items()}
    if isinstance(outputs, int):
        outputs = {"y": TensorSpec("float32", (outputs,))}
    with pytest.raises(OpgenError) as caught:
        runner.run(op, given, attrs, outputs)
    assert words in str(caught.value)


def test_launchers_in_kernel_files_are_not_compiled(tmp_path):
    path = tmp_path / "k.cpp"
    path.write_text(
        "void f() {}\nvoid k_do(int b) {\n    k<float><<<b, nullptr,\n s>>>(x,\n y);\n}\n"
    )
    text = without_launches(path).read_text()
    assert "<<<" not in text and text.splitlines()[0] == f'#line 1 "{path}"'
    assert text.splitlines()[-1] == "}" and len(text.splitlines()) == 7
    waits = "if (b) { aclrtSynchronizeStream(s); }"
    kernel = "void kernel() { acl(1); if (a) { f(); } }"
    path.write_text(
        f"void k_do(int b) {{\n    k<<<b, nullptr, s>>>(x);\n    {waits}\n}}\n{kernel}\n"
    )
    text = without_launches(path).read_text()
    assert text.partition("\n")[2].split() == ["void", "k_do(int", "b)", "{", "}", *kernel.split()]
    assert len(text.splitlines()) == 6
    path.write_text("int a = 1 << 2;\n")
    assert without_launches(path) == path


def test_headers_that_a_repository_shares_are_found(tmp_path):
    op = tmp_path / "moe" / "some_op"
    for folder in (op / "op_host", op / "op_kernel", tmp_path / "common" / "include"):
        folder.mkdir(parents=True)
    (op / "op_host" / "a.cpp").write_text("")
    folders = open_project(op, [tmp_path / "given"]).include_dirs
    assert folders[:2] == [op / "op_host", op / "op_kernel"]
    assert folders.index(tmp_path / "given") < folders.index(tmp_path / "common" / "include")


def test_the_aclnn_layer_of_a_project_is_left_out(runner):
    assert [p.name for p in runner.project.skipped] == [
        "aclnn_scale_rows.cpp",
        "fallback_scale_rows.cpp",
    ]


def test_the_command_line(project, tmp_path, capfd):
    np.save(tmp_path / "x.npy", np.arange(16, dtype=np.float32))
    arguments = ["run", str(project), "--op", "ScaleRows", "-i", f"x={tmp_path}/x.npy"]
    code = opgen([*arguments, "-a", "factor=3", "--save", str(tmp_path / "out"), "--json"])
    report = json.loads(capfd.readouterr().out)
    assert code == 0 and report["ok"] and report["outputs"]["y"][0]["shape"] == [16]
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), np.arange(16) * 3)


def test_an_output_may_hold_data_before(tmp_path, capfd):
    """An aclnn call's caller may have filled it; what the op allocates itself has nothing in it."""
    for name, text in FILES.items():
        if "scale_rows" in name and "aclnn" not in name and "fallback" not in name:
            text = text.replace("ScaleRows", "SumRows").replace("scale_rows", "sum_rows")
            text = text.replace(
                "    DataCopy(out, b, data.length);",
                "    SetAtomicAdd<DTYPE_Y>();\n    DataCopy(out, b, data.length);\n"
                "    SetAtomicNone();",
            )
            path = tmp_path / name.replace("scale_rows", "sum_rows")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    np.save(tmp_path / "old.npy", np.full(16, 10, np.float32))
    (tmp_path / "case.yaml").write_text("outputs:\n  y: {file: old.npy}\n")
    arguments = ["run", str(tmp_path), "-i", "x=arange:float32[16]", "--save", str(tmp_path / "to")]
    for given, before in (
        (["-o", "y=zeros:float32[16]"], 0),
        (["-o", f"y={tmp_path}/old.npy"], 10),
        (["--case", str(tmp_path / "case.yaml")], 10),
    ):
        assert opgen([*arguments, *given]) == 0, capfd.readouterr()
        want = before + 2.0 * np.arange(16)
        np.testing.assert_array_equal(np.load(tmp_path / "to" / "y.npy"), want)
    capfd.readouterr()
    assert opgen([*arguments, "-o", "y=float32[16]"]) == 1
    assert "ErrorRead2" in capfd.readouterr().err


def test_a_part_that_is_emulated_roughly_is_said_to_be(tmp_path, capfd):
    for name, text in FILES.items():
        if "scale_rows" in name:
            # Another op type: this process has registered ScaleRows already.
            text = text.replace("ScaleRows", "RoughRows").replace("scale_rows", "rough_rows")
            path = tmp_path / name.replace("scale_rows", "rough_rows")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text.replace("ascend910b", "ascend310b"), encoding="utf-8")
    arguments = ["run", str(tmp_path), "--op", "RoughRows", "-i", "x=float32[16]"]
    assert opgen([*arguments, "--soc", "ascend910b3"]) == 1
    assert "--soc ascend310b" in capfd.readouterr().err
    # Without a wish it runs on the SoC that the op is configured for.
    for wish in ([], ["--soc", "ascend310b"]):
        assert opgen([*arguments, *wish]) == 0
        assert "OPG529" in capfd.readouterr().err


def test_a_case_file_says_the_same(project, tmp_path, capfd):
    case = tmp_path / "case.yaml"
    case.write_text(
        "op: ScaleRows\ninputs:\n  x: {shape: [2, 8], dtype: float16, range: [1, 1]}\n"
        "attrs: {factor: 4.0}\n"
    )
    assert opgen(["run", str(project), "--case", str(case)]) == 0
    assert "y: float16[2, 8]  4 4 4 4 4 4 ..." in capfd.readouterr().out


@pytest.mark.parametrize(
    ("text", "code"),
    [("inputs: [", "OPG527"), ("- 1", "OPG527"), ("input: {}", "OPG527"), ("inputs: 3", "OPG527")],
)
def test_a_bad_case_file_is_refused(tmp_path, text, code):
    path = tmp_path / "case.yaml"
    path.write_text(text)
    with pytest.raises(OpgenError) as caught:
        read_run_inputs(None, (), (), (), path, 0)
    assert caught.value.diagnostics[0].code == code


@pytest.mark.parametrize("text", ["float17[2]", "float16", "float16[2,x]", "float16[2](1)"])
def test_a_bad_tensor_text_is_refused(text):
    with pytest.raises(OpgenError, match="OPG524"):
        parse_spec(text)


def test_tensor_texts():
    rng = np.random.default_rng(0)
    assert parse_spec("float16[2, 3](-4,4)") == TensorSpec("float16", (2, 3), -4.0, 4.0)
    assert parse_spec("int32[]") == TensorSpec("int32", ())
    assert load_tensor("arange:bfloat16[3]", rng).to_float().tolist() == [0, 1, 2]
    given = read_run_inputs(None, ["x=[float16[2];float16[0]]", "y=none"], (), ["a=[1,2]"], None, 0)
    assert [t.shape for t in given.inputs["x"]] == [(2,), (0,)]
    assert given.inputs["y"] is None and given.attrs == {"a": "[1,2]"}
    with pytest.raises(OpgenError, match="OPG525"):
        load_tensor("/no/such/file.npy", rng)


def test_bfloat16_rounds_to_nearest_even():
    values = np.array([1.00390625, 1.01171875, -3.0e38, np.inf, np.nan])
    got = Tensor.from_float(values, "bfloat16").to_float()
    assert got[0] == 1.0 and got[1] == 1.015625 and got[3] == np.inf and np.isnan(got[4])


@pytest.mark.parametrize(
    ("missing", "code"), [("op_host", "OPG510"), ("op_kernel", "OPG510"), (None, "OPG511")]
)
def test_what_is_no_project_is_refused(tmp_path, missing, code):
    for name in ("op_host", "op_kernel"):
        if name != missing:
            (tmp_path / name).mkdir()
    with pytest.raises(OpgenError) as caught:
        ProjectRunner(tmp_path)
    assert caught.value.diagnostics[0].code == code
