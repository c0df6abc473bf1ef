"""The half of the exporters that writes through TorchScript."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from . import onnx_calls, onnx_function, onnx_inlining
from .onnx_foreign import ForeignOp
from .onnx_ops import OnnxOp, onnx_attrs, suffix

VERSION = 1  # of the vendor's domain, part of the parser plugin's keys
VARIANT = "opgen_variant"  # attribute that marks a node until its function is attached


class TorchScriptExport:
    """What ``Exporter`` (onnx_export.py) has for ``exporter="torchscript"``.

    Attributes:
        vendor: namespace of the ops and domain of the nodes.
        ops: the package's ops by name.
        foreign: ops of others.
    """

    vendor: str
    ops: dict[str, OnnxOp]
    foreign: list[ForeignOp]
    _session: Any
    register: Callable[[], None]
    _advise: Callable[[], None]
    _node: Callable[[OnnxOp], tuple[str, int]]
    _overload: Callable[[OnnxOp], Any]
    _require_exportable: Callable[[OnnxOp], None]
    _require_reference: Callable[[OnnxOp], None]

    def _torchscript(
        self,
        model: Any,
        args: tuple,
        opset: int,
        dynamic_axes: Any,
        names: dict[str, Any],
        nodes: str,
    ) -> Any:
        import io

        import onnx

        self.register()
        if self._session is not None:
            recorder = onnx_calls.CallRecorder(
                self.vendor, self.ops, self._require_reference, self._session.calls
            )
            with torch.no_grad(), recorder:
                model(*args)
        buffer = io.BytesIO()
        own = {self._overload(op): op for op in self.ops.values()}
        inlining = onnx_inlining.Inlining(own, self._require_reference)
        versions = {op.domain: op.version for op in self.foreign}
        if nodes != "standard":
            versions[self.vendor] = VERSION
        with (
            inlining if nodes == "standard" else contextlib.nullcontext(),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", DeprecationWarning)
            torch.onnx.export(
                model,
                args,
                buffer,
                dynamo=False,
                opset_version=opset,
                custom_opsets=versions,
                dynamic_axes=dynamic_axes,
                **names,
            )
        return onnx.load_from_string(buffer.getvalue())

    def _symbolic(self, op: OnnxOp) -> Callable[..., Any]:
        from torch.onnx import symbolic_helper as helper

        kinds = {"int": "i", "bool": "b", "float": "f", "str": "s", "dtype": "i"}
        kinds.update({"list_int": "is", "list_float": "fs"})

        def symbolic(g: Any, *values: Any) -> Any:
            foreign = isinstance(op, ForeignOp)
            if not foreign:
                self._require_exportable(op)
            given, others = op.split(values)
            tensors: list[Any] = []
            for (_, kind), value in zip(op.inputs, given, strict=True):
                if kind == "dynamic":
                    tensors.append(helper._unpack_list(value))
                else:
                    tensors.append(None if helper._is_none(value) else value)
            attrs = [
                None if helper._is_none(value) else helper._get_const(value, kinds[kind], name)
                for (name, kind), value in zip(op.attrs, others, strict=True)
            ]
            metas: list[torch.Tensor] = []
            fixed = False
            kwargs = {
                f"{name}_{suffix(value)}": value for name, value in onnx_attrs(op, attrs).items()
            }
            if self._session is not None and not foreign:
                variant = onnx_function.Variant(
                    op,
                    onnx_calls.matching_call(
                        op, [onnx_calls.types(v) for v in tensors], self._session.calls
                    ),
                    tuple(plain_value(value) for value in attrs),
                )
                kwargs[f"{VARIANT}_i"] = self._session.index(variant)
                fixed = all(
                    d is None or all(isinstance(dim, int) for dim in d.dims)
                    for d in onnx_calls.flat(variant.inputs)
                )
                metas = _metas(op, variant.inputs, attrs)
            else:
                if not foreign:
                    self._advise()
                with contextlib.suppress(onnx_calls.UnknownInputError):
                    metas = _metas(op, onnx_calls.known_inputs(tensors), attrs)
                    fixed = True
            lists = [t for t in tensors if isinstance(t, list)]
            count = sum(len(lists[0]) if kind == "dynamic" else 1 for _, kind in op.outputs)
            inputs = [_absent(g) if t is None else t for t in op.trimmed(onnx_calls.flat(tensors))]
            results = g.op(self._node(op)[0], *inputs, outputs=count, **kwargs)
            for result, meta in zip([results] if count == 1 else results, metas, strict=False):
                kind = torch._C.TensorType.get().with_dtype(meta.dtype)
                sizes = list(meta.shape) if fixed else [None] * meta.dim()
                result.setType(kind.with_sizes(sizes))
            if any(kind == "dynamic" for _, kind in op.outputs):
                return g.op("prim::ListConstruct", *([results] if count == 1 else results))
            return results

        return symbolic


def _metas(op: OnnxOp, inputs: tuple, attrs: Sequence[Any]) -> list[torch.Tensor]:
    """Return the outputs on the meta device."""
    return onnx_calls.flat([op.fake(*op.join([onnx_calls.meta(i) for i in inputs], attrs))])


def _absent(g: Any) -> Any:
    """Return the value that stands for an optional input that is not given."""
    none = g.op("prim::Constant")
    none.setType(torch._C.OptionalType.ofTensor())
    return none


def plain_value(value: Any) -> Any:
    """Return a value of an attr that can be part of a key."""
    return tuple(value) if isinstance(value, (list, tuple)) else value
