"""dtype names of torch, numpy, ``ge::DataType`` and AscendC kernels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DType:
    """One element type.

    Attributes:
        name: torch's name, the one the kit uses everywhere.
        ge: value of ``ge::DataType``; ``ge_name`` its C++ name (``DT_FLOAT16``).
        kernel: C++ type in an AscendC kernel (``half``), as ``DTYPE_X`` expands to.
        size: bytes of one element; 0 for int4, two of which share a byte.
        numpy: numpy dtype name with the same bits (of the values for int4); None where numpy has
            none (bfloat16).
    """

    name: str
    ge: int
    ge_name: str
    kernel: str
    size: int
    numpy: str | None


_ROWS = (
    DType("float32", 0, "DT_FLOAT", "float", 4, "float32"),
    DType("float16", 1, "DT_FLOAT16", "half", 2, "float16"),
    DType("int8", 2, "DT_INT8", "int8_t", 1, "int8"),
    DType("int32", 3, "DT_INT32", "int32_t", 4, "int32"),
    DType("uint8", 4, "DT_UINT8", "uint8_t", 1, "uint8"),
    DType("int16", 6, "DT_INT16", "int16_t", 2, "int16"),
    DType("uint16", 7, "DT_UINT16", "uint16_t", 2, "uint16"),
    DType("uint32", 8, "DT_UINT32", "uint32_t", 4, "uint32"),
    DType("int64", 9, "DT_INT64", "int64_t", 8, "int64"),
    DType("uint64", 10, "DT_UINT64", "uint64_t", 8, "uint64"),
    DType("float64", 11, "DT_DOUBLE", "double", 8, "float64"),
    DType("bool", 12, "DT_BOOL", "bool", 1, "bool"),
    DType("complex64", 16, "DT_COMPLEX64", "complex64", 8, "complex64"),
    DType("complex128", 17, "DT_COMPLEX128", "complex128", 16, "complex128"),
    DType("int4", 29, "DT_INT4", "AscendC::int4b_t", 0, "int8"),
    DType("bfloat16", 27, "DT_BF16", "bfloat16_t", 2, None),
)
BY_NAME = {row.name: row for row in _ROWS}
BY_GE = {row.ge: row for row in _ROWS}
BY_GE_NAME = {row.ge_name: row for row in _ROWS}
