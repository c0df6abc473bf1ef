"""ctypes mirror of ``ascendc_emu/op_runtime.h`` and the conversion of tensors and attributes."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.run.storage import FORMATS
from msopgen_wrap.run.tensors import Tensor

_ALIGNMENT = 512

# Attributes of a call: by name, or all of them by position.
Attrs = Mapping[str, Any] | Mapping[str | int, Any]

_KIND_INT, _KIND_FLOAT, _KIND_BOOL, _KIND_STR, _KIND_LIST_INT, _KIND_LIST_FLOAT, _KIND_DTYPE = (
    range(7)
)


class OpgenTensor(ctypes.Structure):
    """A dense tensor in host memory."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("format", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("behind", ctypes.c_uint64),
        ("holds_data", ctypes.c_int32),
    ]


class OpgenParam(ctypes.Structure):
    """One op parameter: 0, 1 or (a dynamic list) n tensors."""

    _fields_ = [
        ("is_list", ctypes.c_int32),
        ("count", ctypes.c_int32),
        ("tensors", ctypes.POINTER(OpgenTensor)),
    ]


class OpgenAttr(ctypes.Structure):
    """One attribute value."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int32),
        ("count", ctypes.c_int32),
        ("i", ctypes.c_int64),
        ("f", ctypes.c_double),
        ("s", ctypes.c_char_p),
        ("li", ctypes.POINTER(ctypes.c_int64)),
        ("lf", ctypes.POINTER(ctypes.c_float)),
    ]


class OpgenCall(ctypes.Structure):
    """One call of an op."""

    _fields_ = [
        ("op_type", ctypes.c_char_p),
        ("soc", ctypes.c_char_p),
        ("num_inputs", ctypes.c_int32),
        ("inputs", ctypes.POINTER(OpgenParam)),
        ("num_outputs", ctypes.c_int32),
        ("outputs", ctypes.POINTER(OpgenParam)),
        ("num_attrs", ctypes.c_int32),
        ("attrs", ctypes.POINTER(OpgenAttr)),
        ("deterministic", ctypes.c_int32),
        ("block_dim", ctypes.c_int32),
        ("skip_shape_check", ctypes.c_int32),
    ]


@dataclass(frozen=True)
class ShapeOnly:
    """A tensor without data, for InferShape; ``dtype`` is a torch name."""

    dtype: str
    shape: tuple[int, ...]


@dataclass
class Call:
    """A C call and everything it points to."""

    struct: OpgenCall
    keep: list[Any]


class ProfileOptions(ctypes.Structure):
    """As ``OpgenProfileOptions`` of ``ascendc_emu/profile.h``."""

    _fields_ = [
        ("l2", ctypes.c_int32),
        ("ablation", ctypes.c_int32),
        ("max_events", ctypes.c_uint64),
        ("max_records", ctypes.c_uint64),
        ("parameters", ctypes.c_char_p),
    ]


def declare(lib: Any) -> Any:
    """Set the argument and result types of the runtime's C functions on a ``ctypes.CDLL``."""
    p, u64, text = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p
    call = ctypes.POINTER(OpgenCall)
    i64s, i32s = ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_int32)
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "opgen_load_host": (ctypes.c_int, [text]),
        "opgen_register_kernel": (ctypes.c_int, [text] * 5),
        "opgen_infer": (ctypes.c_int, [call, i64s, i32s, i32s]),
        "opgen_infer_largest": (ctypes.c_int, [call, i64s, i32s]),
        "opgen_prepare": (ctypes.c_int, [call, ctypes.POINTER(p), ctypes.POINTER(u64)]),
        "opgen_recall": (ctypes.c_int, [call, ctypes.POINTER(p), ctypes.POINTER(u64)]),
        "opgen_remember": (None, [p]),
        "opgen_exec_tiling": (
            ctypes.c_int,
            [
                p,
                ctypes.POINTER(ctypes.c_uint32),
                ctypes.POINTER(u64),
                ctypes.POINTER(p),
                ctypes.POINTER(u64),
            ],
        ),
        "opgen_launch": (ctypes.c_int, [p, p]),
        "opgen_exec_output_shapes": (ctypes.c_int, [p, i64s, i32s]),
        "opgen_exec_free": (None, [p]),
        "opgen_set_mode": (ctypes.c_int, [text]),
        "opgen_findings_json": (text, []),
        "opgen_clear_findings": (None, []),
        "opgen_launch_count": (u64, []),
        "opgen_counts_json": (text, []),
        "opgen_profile_options": (None, [ctypes.POINTER(ProfileOptions)]),
        "opgen_profile_json": (text, []),
        "opgen_profile_events": (u64, [ctypes.POINTER(p)]),
        "opgen_launch_work": (None, [ctypes.POINTER(ctypes.c_uint32)] * 2),
        "opgen_op_defs_json": (text, []),
        "opgen_tiling_defs_json": (text, []),
        "opgen_template_json": (text, [text, u64]),
        "opgen_template_keys_json": (text, [text]),
        "opgen_last_error": (text, []),
        "opgen_last_crash_json": (text, []),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


@dataclass
class Buffer:
    """Zeroed memory at a 512-byte boundary; ``address`` is None when it is empty."""

    address: int | None
    owner: Any


def aligned_buffer(size: int) -> Buffer:
    """Allocate ``size`` bytes as a device would: aligned to 512."""
    if size == 0:
        return Buffer(None, None)
    owner = ctypes.create_string_buffer(size + _ALIGNMENT)
    base = ctypes.addressof(owner)
    return Buffer((base + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT, owner)


def _describe_tensor(value: Any) -> tuple[str, tuple[int, ...], int]:
    """Return torch dtype name, shape and data address of a tensor-like value."""
    if isinstance(value, ShapeOnly):
        return value.dtype, tuple(value.shape), 0
    if isinstance(value, Tensor):
        if not value.memory.flags["C_CONTIGUOUS"]:
            raise ValueError("tensors must be C-contiguous")
        return value.dtype, value.shape, value.memory.ctypes.data
    if hasattr(value, "data_ptr"):  # torch, without importing it
        if value.device.type != "cpu":
            raise ValueError(f"the emulation takes CPU tensors, not {value.device}")
        if not value.is_contiguous():
            raise ValueError("tensors must be contiguous; call .contiguous() first")
        return str(value.dtype).removeprefix("torch."), tuple(value.shape), value.data_ptr()
    if hasattr(value, "__array_interface__"):
        if not value.flags["C_CONTIGUOUS"]:
            raise ValueError("arrays must be C-contiguous")
        return str(value.dtype), tuple(value.shape), value.ctypes.data
    raise TypeError(f"not a tensor: {type(value).__name__}")


def _tensor(value: Any, keep: list[Any]) -> OpgenTensor:
    dtype, shape, address = _describe_tensor(value)
    if dtype not in BY_NAME:
        raise TypeError(f"dtype {dtype} has no ge::DataType")
    dims = (ctypes.c_int64 * max(1, len(shape)))(*shape)
    keep += [dims, value]
    layout = getattr(value, "layout", "")  # torch's is an object of its own: how it is strided
    layout = FORMATS[layout if isinstance(layout, str) and layout else "ND"]
    holds_data = getattr(value, "holds_data", False)
    row = BY_NAME[dtype]
    return OpgenTensor(address or None, row.ge, layout, len(shape), dims, 0, int(holds_data))


def _params(values: Sequence[Any], keep: list[Any]) -> Any:
    params = (OpgenParam * max(1, len(values)))()
    for param, value in zip(params, values, strict=False):
        is_list = isinstance(value, (list, tuple))
        items = list(value) if is_list else [] if value is None else [value]
        tensors = (OpgenTensor * max(1, len(items)))(*(_tensor(v, keep) for v in items))
        keep.append(tensors)
        param.is_list, param.count, param.tensors = int(is_list), len(items), tensors
    keep.append(params)
    return params


def _attr(name: str | int, value: Any, keep: list[Any]) -> OpgenAttr:
    attr = OpgenAttr(name=name.encode() if isinstance(name, str) else None)
    if hasattr(value, "item") and not getattr(value, "shape", ()):
        value = value.item()  # numpy or torch scalar
    if isinstance(value, bool):
        attr.kind, attr.i = _KIND_BOOL, int(value)
    elif isinstance(value, int):
        attr.kind, attr.i = _KIND_INT, value
    elif isinstance(value, float):
        attr.kind, attr.f = _KIND_FLOAT, value
    elif str(value).removeprefix("torch.") in BY_NAME and not isinstance(value, str):
        attr.kind, attr.i = _KIND_DTYPE, BY_NAME[str(value).removeprefix("torch.")].ge
    elif isinstance(value, str):
        attr.kind, attr.s = _KIND_STR, value.encode()
    elif isinstance(value, (list, tuple)) and any(isinstance(v, float) for v in value):
        floats = (ctypes.c_float * len(value))(*value)
        attr.kind, attr.count, attr.lf = _KIND_LIST_FLOAT, len(value), floats
        keep.append(floats)
    elif isinstance(value, (list, tuple)):
        ints = (ctypes.c_int64 * max(1, len(value)))(*(int(v) for v in value))
        attr.kind, attr.count, attr.li = _KIND_LIST_INT, len(value), ints
        keep.append(ints)
    else:
        raise TypeError(f"attr {name}: {type(value).__name__} cannot be passed to an op")
    return attr


def build_call(
    op_type: str,
    soc: str | None,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    attrs: Attrs,
    block_dim: int = 0,
    skip_shape_check: bool = False,
) -> Call:
    """Describe a call to C; attrs that are None are left to the op's defaults.

    A number as the key of an attr is its position; all attrs then have to be given, in order.
    """
    keep: list[Any] = []
    given = [_attr(name, value, keep) for name, value in attrs.items() if value is not None]
    array = (OpgenAttr * max(1, len(given)))(*given)
    keep.append(array)
    struct = OpgenCall(
        op_type=op_type.encode(),
        soc=soc.encode() if soc else None,
        num_inputs=len(inputs),
        inputs=_params(inputs, keep),
        num_outputs=len(outputs),
        outputs=_params(outputs, keep),
        num_attrs=len(given),
        attrs=array,
        deterministic=0,
        block_dim=block_dim,
        skip_shape_check=int(skip_shape_check),
    )
    return Call(struct, keep)
