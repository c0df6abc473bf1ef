"""Names and numbers of dtypes in torch, numpy, CANN, kernels, msopgen and ONNX, in one table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class DType:
    """One element type.

    Attributes:
        name: torch's name, the one the kit uses everywhere.
        ge: value of ``ge::DataType`` and ``aclDataType``; ``ge_name`` its C++ name (``DT_BF16``).
        kernel: C++ type in an AscendC kernel (``half``), as ``DTYPE_X`` expands to.
        size: bytes of one element; 0 for int4, two of which share a byte.
        numpy: numpy dtype name with the same bits (of the values for int4); None where numpy has
            none (bfloat16).
        msopgen: the name in msopgen's JSON; "" for what no spec can name, as in the next three.
        onnx: number of ``onnx::TensorProto::DataType``.
        scalar: number of ``c10::ScalarType``; ``scalar_name`` its C++ name (``Half``).
    """

    name: str
    ge: int
    ge_name: str
    kernel: str
    size: int
    numpy: str | None
    msopgen: str = ""
    onnx: int = 0
    scalar: int = -1
    scalar_name: str = ""

    @property
    def ge_cpp(self) -> str:
        """The C++ expression of the ``ge::DataType``."""
        return f"ge::{self.ge_name}"


_ROWS = (
    DType("float32", 0, "DT_FLOAT", "float", 4, "float32", "float", 1, 6, "Float"),
    DType("float16", 1, "DT_FLOAT16", "half", 2, "float16", "fp16", 10, 5, "Half"),
    DType("int8", 2, "DT_INT8", "int8_t", 1, "int8", "int8", 3, 1, "Char"),
    DType("int32", 3, "DT_INT32", "int32_t", 4, "int32", "int32", 6, 3, "Int"),
    DType("uint8", 4, "DT_UINT8", "uint8_t", 1, "uint8", "uint8", 2, 0, "Byte"),
    DType("int16", 6, "DT_INT16", "int16_t", 2, "int16", "int16", 5, 2, "Short"),
    DType("uint16", 7, "DT_UINT16", "uint16_t", 2, "uint16"),
    DType("uint32", 8, "DT_UINT32", "uint32_t", 4, "uint32"),
    DType("int64", 9, "DT_INT64", "int64_t", 8, "int64", "int64", 7, 4, "Long"),
    DType("uint64", 10, "DT_UINT64", "uint64_t", 8, "uint64"),
    DType("float64", 11, "DT_DOUBLE", "double", 8, "float64"),
    DType("bool", 12, "DT_BOOL", "bool", 1, "bool", "bool", 9, 11, "Bool"),
    DType("complex64", 16, "DT_COMPLEX64", "complex64", 8, "complex64"),
    DType("complex128", 17, "DT_COMPLEX128", "complex128", 16, "complex128"),
    DType("int4", 29, "DT_INT4", "AscendC::int4b_t", 0, "int8"),
    DType("bfloat16", 27, "DT_BF16", "bfloat16_t", 2, None, "bf16", 16, 15, "BFloat16"),
)
BY_NAME = {row.name: row for row in _ROWS}
BY_GE = {row.ge: row for row in _ROWS}
BY_GE_NAME = {row.ge_name: row for row in _ROWS}

FLOATS = ("float16", "bfloat16", "float32")


def computed_dtypes(dtypes: Iterable[str]) -> tuple[str, ...]:
    """Return what kernels compute elements of some dtypes in: float32, or int32 for integers."""
    return tuple("float32" if dtype in FLOATS else "int32" for dtype in dtypes)
