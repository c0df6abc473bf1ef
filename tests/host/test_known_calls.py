"""Calls that were tiled before: what makes two calls alike, and which ops are never remembered."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from msopgen_wrap.run import op_abi as abi
from msopgen_wrap.run.op_abi import ShapeOnly
from msopgen_wrap.run.op_runtime import OpRuntime

# One op per way in which a tiling function may depend on more than its call.
HOST = """
#include <cstdlib>
#include "register/op_def_registry.h"
#include "log/log.h"
namespace optiling {
static uint64_t Number(gert::TilingContext* context, const char* type) {
    static uint64_t calls = 0;
    const char* text = std::getenv("OPGEN_TEST_ROWS");
    const uint64_t rows = text == nullptr ? 7 : static_cast<uint64_t>(std::atoi(text));
    if (type[0] == 'C') return ++calls;
    if (type[0] == 'L') OP_LOGW(context, "something to say");
    return rows + static_cast<uint64_t>(*context->GetAttrs()->GetInt(0));
}
static ge::graphStatus Tiling(gert::TilingContext* context) {
    auto* into = static_cast<uint64_t*>(context->GetRawTilingData()->GetData());
    into[0] = Number(context, context->GetNodeType());
    context->GetRawTilingData()->SetDataSize(8);
    context->SetBlockDim(1);
    context->GetWorkspaceSizes(1)[0] = 64;
    return ge::GRAPH_SUCCESS;
}
}
static ge::graphStatus Same(gert::InferShapeContext* context) {
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    return ge::GRAPH_SUCCESS;
}
namespace ops {
#define OP_WITH(Name, VALUES)                                                                   \\
    class Name : public OpDef {                                                                 \\
    public:                                                                                     \\
        explicit Name(const char* name) : OpDef(name) {                                         \\
            Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_INT64})               \\
                .Format({ge::FORMAT_ND, ge::FORMAT_ND}) VALUES;                                 \\
            Input("mask").ParamType(OPTIONAL).DataType({ge::DT_BOOL, ge::DT_BOOL})              \\
                .Format({ge::FORMAT_ND, ge::FORMAT_ND});                                        \\
            Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_INT64})              \\
                .Format({ge::FORMAT_ND, ge::FORMAT_ND});                                        \\
            Attr("n").AttrType(OPTIONAL).Int(1);                                                \\
            Attr("axes").AttrType(OPTIONAL).ListInt({1, 2});                                    \\
            Attr("mode").AttrType(OPTIONAL).String("none");                                     \\
            SetInferShape(Same);                                                                \\
            AICore().SetTiling(optiling::Tiling).AddConfig("ascend910b");                       \\
        }                                                                                       \\
    };                                                                                          \\
    OP_ADD(Name)
OP_WITH(PlainOp, );
OP_WITH(CountingOp, );
OP_WITH(LoggingOp, );
OP_WITH(ValueOp, .ValueDepend(OPTIONAL));
}
"""


@pytest.fixture(scope="module")
def runtime(load_ops: Callable[[dict[str, str]], OpRuntime]) -> OpRuntime:
    loaded = load_ops({"known_ops.cpp": HOST})
    assert loaded._lib.opgen_set_mode(b"fast") == 0
    return loaded


def x(*shape: int, dtype: str = "float32") -> ShapeOnly:
    return ShapeOnly(dtype, shape)


def known(runtime: OpRuntime, op: str, value: Any = None, **more: Any) -> int | None:
    """Ask for a call like aclnn does; the number that its tiling holds if it is known."""
    given = x(3, 5) if value is None else value
    inputs = [given, more.pop("mask", None)]
    soc, cores = more.pop("soc", None), more.pop("cores", 0)
    call = abi.build_call(op, soc, inputs, [given], {"n": 1, **more}, cores)
    lib, execution, size = runtime._lib, ctypes.c_void_p(), ctypes.c_uint64()
    where = (ctypes.byref(call.struct), ctypes.byref(execution), ctypes.byref(size))
    assert lib.opgen_recall(*where) == 0
    found = bool(execution)
    if not found:
        assert lib.opgen_prepare(*where) == 0, lib.opgen_last_error()
        lib.opgen_remember(execution)
    assert size.value == 64
    tiling = runtime._tiling(execution, size.value)
    lib.opgen_exec_free(execution)
    return int.from_bytes(tiling.data, "little") if found else None


def test_a_call_is_known_after_two_of_its_like(runtime: OpRuntime) -> None:
    assert [known(runtime, "PlainOp") for _ in range(4)] == [None, None, 8, 8]


OTHERS: list[dict[str, Any]] = [
    {"value": x(5, 3)},
    {"value": x(15)},
    {"value": x(3, 5, dtype="int64")},
    {"mask": x(1, dtype="bool")},
    {"n": 2},
    {"axes": [1, 3]},
    {"axes": [1, 2, 2]},
    {"mode": "other"},
    {"soc": "ascend910b1"},
    {"cores": 3},
]


@pytest.mark.parametrize("other", OTHERS, ids=str)
def test_another_call_is_not_that_call(runtime: OpRuntime, other: dict[str, Any]) -> None:
    for _ in range(3):
        known(runtime, "PlainOp")
    assert known(runtime, "PlainOp", **other) is None
    assert known(runtime, "PlainOp", **other) is None
    assert known(runtime, "PlainOp", **other) == 7 + other.get("n", 1)
    assert known(runtime, "PlainOp") == 8


def test_the_environment_belongs_to_a_call(
    runtime: OpRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        known(runtime, "PlainOp")
    monkeypatch.setenv("OPGEN_TEST_ROWS", "40")
    assert [known(runtime, "PlainOp") for _ in range(3)] == [None, None, 41]
    monkeypatch.setenv("OPGEN_TILING_CACHE", "0")
    assert [known(runtime, "PlainOp") for _ in range(3)] == [None] * 3


@pytest.mark.parametrize("op", ["CountingOp", "LoggingOp", "ValueOp"])
def test_ops_that_are_never_remembered(runtime: OpRuntime, op: str) -> None:
    import numpy as np

    value = np.zeros((3, 5), np.int64) if op == "ValueOp" else None
    assert [known(runtime, op, value) for _ in range(5)] == [None] * 5


def test_check_mode_tiles_every_call(runtime: OpRuntime) -> None:
    for _ in range(3):
        known(runtime, "PlainOp")
    assert runtime._lib.opgen_set_mode(b"check") == 0
    try:
        assert known(runtime, "PlainOp") is None
    finally:
        assert runtime._lib.opgen_set_mode(b"fast") == 0


def test_an_op_registered_anew_is_another_op(
    runtime: OpRuntime, load_ops: Callable[[dict[str, str]], OpRuntime]
) -> None:
    for _ in range(3):
        known(runtime, "PlainOp")
    load_ops({"newer_ops.cpp": HOST.replace("rows + ", "100 + rows + ")})
    assert [known(runtime, "PlainOp") for _ in range(3)] == [None, None, 108]


def test_memory_is_bounded(runtime: OpRuntime) -> None:
    for length in range(1, 1400):
        for _ in range(2):
            known(runtime, "PlainOp", x(length))
    assert known(runtime, "PlainOp", x(1399)) is not None
    assert known(runtime, "PlainOp", x(1)) is None
