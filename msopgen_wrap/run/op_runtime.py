"""Python face of the emulated op runtime: InferShape, tiling and kernel of loaded ops."""

from __future__ import annotations

import ctypes
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.dtypes import BY_GE
from msopgen_wrap.run import op_abi as abi
from msopgen_wrap.run.run_environment import synchronised_by_source

MODES = ("fast", "check", "profile")


class OpRuntimeError(RuntimeError):
    """A call failed; the text names the op, its tensors, the step and what the op logged.

    ``crash`` is what the library noted of a signal that ended the op's code, else None.
    """

    def __init__(self, text: str, crash: dict[str, Any] | None = None):
        super().__init__(text)
        self.crash = crash


@dataclass(frozen=True)
class InferredTensor:
    """What InferShape and InferDataType say about one output; dims may be -1, shape (-2,)."""

    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class TilingInfo:
    """What TilingFunc decided; ``data`` are the bytes of the tiling struct, sizes in bytes."""

    block_dim: int
    key: int
    data: bytes
    workspace_size: int


@dataclass
class RunResult:
    """One executed call.

    Attributes:
        block_dim, tiling_key: as tiled.
        tiling_bytes: raw tiling data.
        workspace_size: bytes tiling asked for (library part included).
        findings: the sanitizer's findings of this call (``check`` mode), see ``sanitizer.h``.
        seconds: wall time of the kernel alone.
        computed_shapes: per output tensor, lists flattened, the shape the kernel told
            (``OutputShapeDependOnCompute``); None for all others.
        cores: cores that had work; ``tiles`` those of the core with most: tensors its busiest queue
            gave out, or copies to global memory where the kernel uses no queue.
        counts: per core what it moved and computed (``profile`` mode), see ``profiler.h``.
    """

    block_dim: int
    tiling_key: int
    tiling_bytes: bytes
    workspace_size: int
    findings: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    computed_shapes: list[tuple[int, ...] | None] = field(default_factory=list)
    cores: int = 0
    tiles: int = 0
    counts: list[dict[str, int]] = field(default_factory=list)


class OpRuntime:
    """The op runtime of this process.

    Registered ops and kernels live as long as the process; several instances share them, and a
    later registration of the same op wins.

    Tensors are numpy arrays or torch CPU tensors (any dtype torch has, bfloat16 included); they
    must be contiguous. An absent optional input is None, a dynamic list is a list of tensors.
    """

    def __init__(self) -> None:
        from msopgen_wrap.build.emulation_library import load_emulation_library

        self._lib = abi.declare(load_emulation_library())

    # ---- registration ------------------------------------------------------------------------

    def load_host(self, path: Path | str) -> None:
        """Load an op_host library; its ops become known.

        Raises:
            OpRuntimeError: the library does not load (the text has the loader's reason).
        """
        self._check(self._lib.opgen_load_host(str(Path(path).absolute()).encode()))

    def register_kernel(
        self, op_type: str, soc: str, key: str, path: Path | str, entry: str
    ) -> None:
        """Make a kernel library known for an op type.

        Args:
            op_type: CamelCase op type.
            soc: exact or family name, or "" for any.
            key: dtypes of inputs then outputs, torch names joined with ","; "*" in a place
                stands for any dtype (an absent optional input matches anything).
            entry: symbol of the kernel.
        """
        args = (op_type, soc, key, str(Path(path).absolute()), entry)
        self._check(self._lib.opgen_register_kernel(*(a.encode() for a in args)))

    def op_defs(self) -> dict[str, dict[str, Any]]:
        """Return the declarations of all known ops by op type (see ``op_runtime.h``)."""
        rows = json.loads(self._lib.opgen_op_defs_json().decode())
        return {row["op"]: row for row in rows}

    def tiling_defs(self) -> list[dict[str, Any]]:
        """Return the registered 8.x-style tiling structs with their byte layout."""
        rows: list[dict[str, Any]] = json.loads(self._lib.opgen_tiling_defs_json().decode())
        return rows

    def template(self, op_type: str, key: int) -> dict[str, Any] | None:
        """Return what a tiling key of a template kernel stands for, None for other ops.

        ``args`` are ``{name, kind, value}`` in the order of the kernel's template parameters;
        ``kernel_type`` is a number of ``ASCENDC_TPL_*`` or None, ``selected`` whether op_host's
        ``ASCENDC_TPL_SEL`` contains the combination.
        """
        text = self._lib.opgen_template_json(op_type.encode(), key).decode()
        return json.loads(text) if text else None

    def template_keys(self, op_type: str) -> list[int]:
        """Return one tiling key per combination that a template kernel selects, [] for others."""
        keys: list[int] = json.loads(self._lib.opgen_template_keys_json(op_type.encode()).decode())
        return keys

    # ---- calls -------------------------------------------------------------------------------

    def infer(
        self,
        op_type: str,
        inputs: Sequence[Any],
        attrs: abi.Attrs | None = None,
        *,
        num_outputs: int | None = None,
        soc: str | None = None,
    ) -> list[InferredTensor]:
        """Run InferShape and InferDataType.

        Args:
            inputs: tensors, or ``abi.ShapeOnly(dtype, shape)`` where only the shape matters
                (dims may then be -1, or the shape (-2,)).
            num_outputs: tensors the op has as outputs when one of them is a list (the list is
                taken to be the last parameter); default: one per output of the OpDef.

        Raises:
            OpRuntimeError: a function failed; the text has what it logged.
        """
        shapes = self.infer_shapes(op_type, inputs, attrs, num_outputs=num_outputs, soc=soc)
        dtypes = self.infer_dtypes(op_type, inputs, attrs, num_outputs=num_outputs, soc=soc)
        return [InferredTensor(s, d) for s, d in zip(shapes, dtypes, strict=True)]

    def infer_shapes(
        self,
        op_type: str,
        inputs: Sequence[Any],
        attrs: abi.Attrs | None = None,
        *,
        num_outputs: int | None = None,
        soc: str | None = None,
    ) -> list[tuple[int, ...]]:
        """Run InferShape alone; see :meth:`infer`."""
        count = self._output_count(op_type, num_outputs)
        call = abi.build_call(
            op_type, soc, inputs, self._placeholders(op_type, num_outputs), attrs or {}
        )
        shapes, ranks = _shape_arrays(count)
        self._check(self._lib.opgen_infer(ctypes.byref(call.struct), shapes, ranks, None))
        return [tuple(shapes[8 * i : 8 * i + ranks[i]]) for i in range(count)]

    def infer_largest_shapes(
        self,
        op_type: str,
        inputs: Sequence[Any],
        attrs: abi.Attrs | None = None,
        *,
        soc: str | None = None,
    ) -> list[tuple[int, ...]]:
        """Return what buffers of the outputs must hold at most; a dim nobody bounds is -1.

        As :meth:`infer_shapes`; dims that only the kernel can tell come from InferShapeRange.
        """
        count = self._output_count(op_type, None)
        call = abi.build_call(op_type, soc, inputs, [], attrs or {})
        shapes, ranks = _shape_arrays(count)
        self._check(self._lib.opgen_infer_largest(ctypes.byref(call.struct), shapes, ranks))
        return [tuple(shapes[8 * i : 8 * i + ranks[i]]) for i in range(count)]

    def infer_dtypes(
        self,
        op_type: str,
        inputs: Sequence[Any],
        attrs: abi.Attrs | None = None,
        *,
        num_outputs: int | None = None,
        soc: str | None = None,
    ) -> list[str]:
        """Run InferDataType alone; torch names, "undefined" where it said nothing."""
        count = self._output_count(op_type, num_outputs)
        call = abi.build_call(
            op_type, soc, inputs, self._placeholders(op_type, num_outputs), attrs or {}
        )
        dtypes = (ctypes.c_int32 * max(1, count))()
        self._check(self._lib.opgen_infer(ctypes.byref(call.struct), None, None, dtypes))
        return [BY_GE[d].name if d in BY_GE else "undefined" for d in dtypes[:count]]

    def tile(
        self,
        op_type: str,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        attrs: abi.Attrs | None = None,
        *,
        soc: str | None = None,
        block_dim: int = 0,
        skip_shape_check: bool = False,
    ) -> TilingInfo:
        """Run everything up to the kernel and return what TilingFunc decided."""
        call = abi.build_call(
            op_type, soc, inputs, outputs, attrs or {}, block_dim, skip_shape_check
        )
        execution, size = self._prepare(call)
        try:
            return self._tiling(execution, size)
        finally:
            self._lib.opgen_exec_free(execution)

    def run(
        self,
        op_type: str,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        attrs: abi.Attrs | None = None,
        *,
        soc: str | None = None,
        mode: str = "fast",
        block_dim: int | None = None,
        skip_shape_check: bool = False,
        tiled: Callable[[TilingInfo], None] | None = None,
        auto_sync: bool = True,
    ) -> RunResult:
        """Tile and run an op; the results are written into ``outputs``.

        Args:
            attrs: values by name; None or missing takes the OpDef's default.
            soc: exact or family name; default ``$OPGEN_SOC`` or ascend910b3.
            mode: ``fast``, ``check`` (sanitizer) or ``profile`` (counts).
            block_dim: number of cores tiling sees instead of the SoC's.
            skip_shape_check: do not compare outputs with InferShape.
            tiled: called before the launch with what TilingFunc decided, to register a kernel for
                it. As in CANN, TilingFunc runs once per call: it may keep state.
            auto_sync: whether the kernel's compiler synchronises pipes on its own; without, check
                mode demands it of the source. An ``auto-sync`` in ``$OPGEN_CHECK`` wins.

        Raises:
            OpRuntimeError: any step failed.
        """
        if mode not in MODES:
            raise OpgenError(
                Diagnostic("OPG502", f"unknown mode {mode!r}", fix=f"use {', '.join(MODES)}")
            )
        call = abi.build_call(
            op_type, soc, inputs, outputs, attrs or {}, block_dim or 0, skip_shape_check
        )
        execution, size = self._prepare(call)
        try:
            tiling = self._tiling(execution, size)
            if tiled is not None:
                tiled(tiling)
            workspace = abi.aligned_buffer(size)
            self._check(self._lib.opgen_set_mode(mode.encode()))
            self._lib.opgen_clear_findings()
            launches = self.launch_count()
            started = time.perf_counter()
            with synchronised_by_source(self._lib, not auto_sync):
                self._check(self._lib.opgen_launch(execution, workspace.address))
            seconds = time.perf_counter() - started
            findings = json.loads(self._lib.opgen_findings_json().decode())
            computed = self._computed_shapes(execution, op_type, outputs)
            launched = self.launch_count() != launches
            cores, tiles = self._launch_work() if launched else (0, 0)
            profiled = launched and mode == "profile"
            counts = json.loads(self._lib.opgen_counts_json().decode()) if profiled else []
        finally:
            self._lib.opgen_exec_free(execution)
        return RunResult(
            tiling.block_dim,
            tiling.key,
            tiling.data,
            tiling.workspace_size,
            findings,
            seconds,
            computed,
            cores,
            tiles,
            counts,
        )

    def profile_options(
        self,
        *,
        l2: str = "",
        ablation: bool = True,
        max_events: int = 0,
        parameters: Path | None = None,
    ) -> None:
        """Set the options of the profiles from now on; the last launch is replayed with them.

        Args:
            l2: ``cold`` or ``warm``; "" takes ``$OPGEN_PROFILE_L2``, else cold.
            ablation: also model the launch without single costs, where that is fast enough.
            max_events: events that are kept; 0 takes the default.
            parameters: another table of the model's numbers.
        """
        options = abi.ProfileOptions(
            l2={"cold": 1, "warm": 2}.get(l2, 0),
            ablation=0 if ablation else 2,
            max_events=max_events,
            parameters=os.fsencode(parameters) if parameters is not None else None,
        )
        self._lib.opgen_profile_options(ctypes.byref(options))

    def profile_text(self) -> str:
        """Return the modelled profile of the last launch in ``profile`` mode, JSON (``profile.h``).

        Making it takes longer than the launch. It is there for a launch that failed, too, up to
        where it got; ``{}`` before the first one.
        """
        text: bytes = self._lib.opgen_profile_json()
        return text.decode(errors="replace")

    def profile_events(self) -> tuple[int, int]:
        """Return address and number of the events of that profile, valid until the next launch."""
        first = ctypes.c_void_p()
        count = self._lib.opgen_profile_events(ctypes.byref(first))
        return first.value or 0, int(count)

    def launch_count(self) -> int:
        """Return how many kernels this process has really executed."""
        return int(self._lib.opgen_launch_count())

    def _launch_work(self) -> tuple[int, int]:
        """Return how many cores of the last launch had work, and the most tiles of one of them."""
        cores, tiles = ctypes.c_uint32(), ctypes.c_uint32()
        self._lib.opgen_launch_work(ctypes.byref(cores), ctypes.byref(tiles))
        return cores.value, tiles.value

    # ---- helpers -----------------------------------------------------------------------------

    def _output_count(self, op_type: str, given: int | None) -> int:
        return len(self._declaration(op_type)["outputs"]) if given is None else given

    def _placeholders(self, op_type: str, count: int | None) -> list[Any]:
        """Return stand-ins for the outputs: InferShape must know how long an output list is."""
        params = self._declaration(op_type)["outputs"]
        stand_in = abi.ShapeOnly("float32", ())
        if count is None:
            count = len(params)
        rest = count - sum(1 for p in params if p["param_type"] != "dynamic")
        return [[stand_in] * rest if p["param_type"] == "dynamic" else stand_in for p in params]

    def _declaration(self, op_type: str) -> dict[str, Any]:
        declared = self.op_defs().get(op_type)
        if declared is None:
            raise OpRuntimeError(f"op {op_type}: no loaded host library registers it")
        return declared

    def _prepare(self, call: abi.Call) -> tuple[ctypes.c_void_p, int]:
        execution, size = ctypes.c_void_p(), ctypes.c_uint64()
        self._check(
            self._lib.opgen_prepare(
                ctypes.byref(call.struct), ctypes.byref(execution), ctypes.byref(size)
            )
        )
        return execution, size.value

    def _computed_shapes(
        self, execution: ctypes.c_void_p, op_type: str, outputs: Sequence[Any]
    ) -> list[tuple[int, ...] | None]:
        counts = [len(v) if isinstance(v, (list, tuple)) else int(v is not None) for v in outputs]
        if not any(p["computed_shape"] for p in self._declaration(op_type)["outputs"]):
            return [None] * sum(counts)
        shapes, ranks = _shape_arrays(sum(counts))
        self._check(self._lib.opgen_exec_output_shapes(execution, shapes, ranks))
        return [
            None if ranks[i] < 0 else tuple(shapes[8 * i : 8 * i + ranks[i]])
            for i in range(sum(counts))
        ]

    def _tiling(self, execution: ctypes.c_void_p, workspace_size: int) -> TilingInfo:
        block_dim, key = ctypes.c_uint32(), ctypes.c_uint64()
        data, size = ctypes.c_void_p(), ctypes.c_uint64()
        self._check(
            self._lib.opgen_exec_tiling(
                execution,
                ctypes.byref(block_dim),
                ctypes.byref(key),
                ctypes.byref(data),
                ctypes.byref(size),
            )
        )
        raw = ctypes.string_at(data.value, size.value) if data.value else b""
        return TilingInfo(block_dim.value, key.value, raw, workspace_size)

    def _check(self, code: int) -> None:
        if code:
            crash = self._lib.opgen_last_crash_json().decode(errors="replace")
            text = self._lib.opgen_last_error().decode(errors="replace")
            raise OpRuntimeError(text, json.loads(crash) if crash else None)


def _shape_arrays(count: int) -> tuple[Any, Any]:
    return (ctypes.c_int64 * (8 * max(1, count)))(), (ctypes.c_int32 * max(1, count))()
