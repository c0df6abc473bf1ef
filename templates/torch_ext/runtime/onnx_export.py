"""ONNX export: nodes in the vendor's domain, with their decomposition as model-local functions.

ATC reads the nodes through the package's parser plugin; any other runtime runs the functions.
Needs the packages onnx and onnxscript (``pip install onnx onnxscript``).
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from . import onnx_calls, onnx_function
from .checks import as_dtype
from .gradients import IN_PLACE
from .import_watch import when_imported

VERSION = 1  # of the vendor's domain, part of the parser plugin's keys
VARIANT = "opgen_variant"  # attribute that marks a node until its function is attached
DYNAMO_SINCE = 18  # torch's dynamo exporter writes no older opset by itself

# TensorProto.DataType
_ONNX_DTYPES = {
    torch.float32: 1,
    torch.uint8: 2,
    torch.int8: 3,
    torch.int16: 5,
    torch.int32: 6,
    torch.int64: 7,
    torch.bool: 9,
    torch.float16: 10,
    torch.bfloat16: 16,
}


@dataclass(frozen=True)
class OnnxOp:
    """What the exporters need of one op.

    Attributes:
        name: torch name; op_type: ONNX and CANN name.
        inputs, outputs: (name, kind) with kind ``required``, ``optional`` or ``dynamic``.
        attrs: (name, type) in order.
        reference: the op in PyTorch; None when it works in place or its spec has no compute.
        fake: its fake kernel.
    """

    name: str
    op_type: str
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    attrs: tuple[tuple[str, str], ...]
    reference: Callable[..., Any] | None
    fake: Callable[..., Any]


@dataclass
class _Session:
    """What one export has met.

    Attributes:
        calls: (op name, inputs) of the calls when the model is run on its example.
        variants: the ways ops are called, by signature.
    """

    calls: list[tuple[str, tuple]] = field(default_factory=list)
    variants: dict[tuple, onnx_function.Variant] = field(default_factory=dict)

    def index(self, variant: onnx_function.Variant) -> int:
        """Return the number of a variant among those of its op, adding it when it is new."""
        known = self.variants.setdefault(variant.key, variant)
        if known.index < 0:
            known.index = sum(v.op.name == variant.op.name for v in self.variants.values()) - 1
        return known.index


class Exporter:
    """The exporters of one package.

    Args:
        vendor: namespace of the ops and domain of the nodes.
        ops: the package's ops.
    """

    def __init__(self, vendor: str, ops: Sequence[OnnxOp]) -> None:
        self.vendor = vendor
        self.ops = {op.name: op for op in ops}
        self._session: _Session | None = None
        self._registered = False
        self._advised = False
        when_imported("torch.onnx", self.register)

    def node_key(self, op: str) -> str:
        """Return ``domain::version::Type`` under which ATC looks for the op's parser."""
        return f"{self.vendor}::{VERSION}::{self.ops[op].op_type}"

    # ---- entry points ----

    def export(
        self,
        model: torch.nn.Module,
        args: tuple[Any, ...],
        path: str | Path | None = None,
        *,
        opset: int = 18,
        exporter: str | None = None,
        dynamic_shapes: Any = None,
        dynamic_axes: Any = None,
        input_names: Sequence[str] | None = None,
        output_names: Sequence[str] | None = None,
    ) -> Any:
        """Export ``model`` and return the ``onnx.ModelProto`` (written to ``path`` if given).

        Args:
            model: a module that calls ops of this package.
            args: example inputs.
            opset: ONNX opset, 13 or newer.
            exporter: ``dynamo`` (torch.export) or ``torchscript``; default: dynamo from opset 18
                on, torchscript below.
            dynamic_shapes: for dynamo, as in ``torch.export.export``.
            dynamic_axes: for torchscript, as in ``torch.onnx.export``.

        Raises:
            RuntimeError: the opset is not honoured, or an op has no decomposition there.
        """
        import onnx

        exporter = exporter or ("dynamo" if opset >= DYNAMO_SINCE else "torchscript")
        if exporter not in ("dynamo", "torchscript"):
            raise ValueError(f"exporter={exporter!r}: expected 'dynamo' or 'torchscript'")
        if opset < 13:
            raise RuntimeError(f"opset {opset} is not supported: the functions need 13 or newer")
        names = {"input_names": input_names, "output_names": output_names}
        with self._collect() as session:
            if exporter == "dynamo":
                proto = self._dynamo(model, args, opset, dynamic_shapes, names)
            else:
                proto = self._torchscript(model, args, opset, dynamic_axes, names)
        written = {o.domain: o.version for o in proto.opset_import}.get("", 0)
        if written != opset:
            raise RuntimeError(
                f"the {exporter} exporter wrote opset {written} where {opset} was asked for; "
                f"take that opset, or exporter='torchscript'"
            )
        self._attach(proto, session, exporter, opset)
        onnx.checker.check_model(proto)
        if path is not None:
            onnx.save(proto, str(path))
        return proto

    def register(self) -> None:
        """Teach ``torch.onnx.export`` the ops, as nodes of the vendor's domain, for both exporters.

        Called by itself when ``torch.onnx`` is imported. Models exported that way hold no
        decomposition: they are for ATC, which reads the nodes.
        """
        if self._registered:
            return
        self._registered = True
        for op in self.ops.values():
            torch.onnx.register_custom_op_symbolic(
                f"{self.vendor}::{op.name}", self._symbolic(op), 9
            )
        plain = torch.onnx.export

        @functools.wraps(plain)
        def export(*args: Any, **kwargs: Any) -> Any:
            with self._decomposed():
                return plain(*args, **kwargs)

        torch.onnx.export = export

    @contextlib.contextmanager
    def _decomposed(self) -> Iterator[None]:
        """Let the dynamo exporter replace the ops; it has no public table, but takes torch's.

        Only while it runs: other users of that table (Inductor) are to leave the ops alone.
        """
        from torch._decomp import global_decomposition_table, register_decomposition

        tables = [global_decomposition_table[kind] for kind in ("post_autograd", "meta")]
        added = [self._overload(op) for op in self.ops.values()]
        added = [overload for overload in added if overload not in tables[0]]  # a nested export
        try:
            for op in self.ops.values():
                overload = self._overload(op)
                if overload in added:
                    register_decomposition(overload)(self._plain_decomposition(op, overload))
                    # With an entry here fake tensors keep to the op's fake kernel.
                    register_decomposition(overload, type="meta")(op.fake)
            yield
        finally:
            for table in tables:
                for overload in added:
                    table.pop(overload, None)

    def _overload(self, op: OnnxOp) -> Any:
        return getattr(getattr(torch.ops, self.vendor), op.name).default

    def _advise(self) -> None:
        """Say once what a model of plain ``torch.onnx.export`` lacks."""
        if not self._advised:
            self._advised = True
            warnings.warn(
                f"torch.onnx.export writes the ops of {self.vendor} as nodes for CANN's ATC; for a "
                f"model that other runtimes can run, call {self.vendor}.onnx.export(model, args, "
                "path)",
                stacklevel=2,
            )

    # ---- dynamo ----

    def _dynamo(
        self, model: Any, args: tuple, opset: int, dynamic_shapes: Any, names: dict[str, Any]
    ) -> Any:
        program = torch.export.export(model, args, dynamic_shapes=dynamic_shapes, strict=False)
        table = {}
        for op in self.ops.values():
            overload = self._overload(op)
            used = any(n.target is overload for n in program.graph.nodes)
            if used:
                self._require_reference(op)
                table[overload] = self._decomposition(op, overload)
        program = program.run_decompositions(table)
        exported = torch.onnx.export(
            program, dynamo=True, opset_version=opset, verbose=False, **names
        )
        return exported.model_proto

    def _decomposition(self, op: OnnxOp, overload: Any) -> Callable[..., Any]:
        defaults = [a.default_value for a in overload._schema.arguments]

        def replace(*args: Any) -> Any:
            values = [*args, *defaults[len(args) :]]
            tensors, attrs = values[: len(op.inputs)], values[len(op.inputs) :]
            results = op.fake(*values)  # for shapes and dtypes; unused nodes of it are dropped
            flat = onnx_calls.flat([results])
            attributes = _onnx_attrs(op, attrs)
            if self._session is not None:
                variant = onnx_function.Variant(
                    op,
                    tuple(onnx_calls.describe(value) for value in tensors),
                    tuple(_plain(value) for value in attrs),
                )
                attributes[VARIANT] = self._session.index(variant)
            outputs = torch.onnx.ops.symbolic_multi_out(
                f"{self.vendor}::{op.op_type}",
                _trimmed(onnx_calls.flat(tensors)),
                attributes,
                dtypes=[t.dtype for t in flat],
                shapes=[t.shape for t in flat],
                version=VERSION,
            )
            return _nested(outputs, results)

        return replace

    def _plain_decomposition(self, op: OnnxOp, overload: Any) -> Callable[..., Any]:
        replace = self._decomposition(op, overload)

        def in_export(*args: Any) -> Any:
            # The table is everyone's; outside of an export the op stays what it is.
            if not torch.onnx.is_in_onnx_export():
                return NotImplemented
            self._advise()
            return replace(*args)

        return in_export

    # ---- torchscript ----

    def _torchscript(
        self, model: Any, args: tuple, opset: int, dynamic_axes: Any, names: dict[str, Any]
    ) -> Any:
        import io

        import onnx

        self.register()
        assert self._session is not None
        with (
            torch.no_grad(),
            onnx_calls.CallRecorder(
                self.vendor, self.ops, self._require_reference, self._session.calls
            ),
        ):
            model(*args)
        buffer = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            torch.onnx.export(
                model,
                args,
                buffer,
                dynamo=False,
                opset_version=opset,
                custom_opsets={self.vendor: VERSION},
                dynamic_axes=dynamic_axes,
                **names,
            )
        return onnx.load_from_string(buffer.getvalue())

    def _symbolic(self, op: OnnxOp) -> Callable[..., Any]:
        from torch.onnx import symbolic_helper as helper

        kinds = {"int": "i", "bool": "b", "float": "f", "str": "s", "dtype": "i"}
        kinds.update({"list_int": "is", "list_float": "fs"})

        def symbolic(g: Any, *values: Any) -> Any:
            self._require_exportable(op)
            tensors: list[Any] = []
            for (_, kind), value in zip(op.inputs, values, strict=False):
                if kind == "dynamic":
                    tensors.append(helper._unpack_list(value))
                else:
                    tensors.append(None if helper._is_none(value) else value)
            attrs = [
                helper._get_const(value, kinds[kind], name)
                for (name, kind), value in zip(op.attrs, values[len(op.inputs) :], strict=True)
            ]
            metas: list[torch.Tensor] = []
            fixed = False
            kwargs = {
                f"{name}_{_suffix(value)}": value for name, value in _onnx_attrs(op, attrs).items()
            }
            if self._session is not None:
                variant = onnx_function.Variant(
                    op,
                    onnx_calls.matching_call(
                        op, [onnx_calls.types(v) for v in tensors], self._session.calls
                    ),
                    tuple(_plain(value) for value in attrs),
                )
                kwargs[f"{VARIANT}_i"] = self._session.index(variant)
                fixed = all(
                    d is None or all(isinstance(dim, int) for dim in d.dims)
                    for d in onnx_calls.flat(variant.inputs)
                )
                metas = _metas(op, variant.inputs, attrs)
            else:
                self._advise()
                with contextlib.suppress(onnx_calls.UnknownInputError):
                    metas = _metas(op, onnx_calls.known_inputs(tensors), attrs)
                    fixed = True
            count = sum(len(tensors[0]) if kind == "dynamic" else 1 for _, kind in op.outputs)
            inputs = [
                g.op("prim::Constant") if t is None else t
                for t in _trimmed(onnx_calls.flat(tensors))
            ]
            results = g.op(f"{self.vendor}::{op.op_type}", *inputs, outputs=count, **kwargs)
            for result, meta in zip([results] if count == 1 else results, metas, strict=False):
                kind = torch._C.TensorType.get().with_dtype(meta.dtype)
                sizes = list(meta.shape) if fixed else [None] * meta.dim()
                result.setType(kind.with_sizes(sizes))
            if any(kind == "dynamic" for _, kind in op.outputs):
                return g.op("prim::ListConstruct", *([results] if count == 1 else results))
            return results

        return symbolic

    # ---- functions ----

    @contextlib.contextmanager
    def _collect(self) -> Iterator[_Session]:
        self._session = _Session()
        try:
            yield self._session
        finally:
            self._session = None

    def _require_exportable(self, op: OnnxOp) -> None:
        if self._overload(op)._schema.is_mutable:
            raise RuntimeError(IN_PLACE.format(op.name))

    def _require_reference(self, op: OnnxOp) -> None:
        self._require_exportable(op)
        if op.reference is None:
            raise RuntimeError(
                f"the spec of {op.name} has no compute, so it has no decomposition; "
                "torch.onnx.export writes its node alone"
            )

    def _attach(self, proto: Any, session: _Session, exporter: str, opset: int) -> None:
        """Give every node of the domain the function of its variant."""
        for node in _nodes(proto):
            if node.domain != self.vendor:
                continue
            for i, attribute in enumerate(node.attribute):
                if attribute.name == VARIANT:
                    if attribute.i:
                        node.overload = str(attribute.i)
                    del node.attribute[i]
                    break
        for variant in session.variants.values():
            proto.functions.append(
                onnx_function.build(variant, self.vendor, exporter=exporter, opset=opset)
            )
        if session.variants:
            # 8: model-local functions, 10: overloads of one
            overloaded = any(v.index for v in session.variants.values())
            proto.ir_version = max(proto.ir_version, 10 if overloaded else 8)
            if all(o.domain != self.vendor for o in proto.opset_import):
                proto.opset_import.add(domain=self.vendor, version=VERSION)


def _nodes(proto: Any) -> Iterator[Any]:
    graphs = [proto.graph.node, *(f.node for f in proto.functions)]
    while graphs:
        for node in graphs.pop():
            yield node
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    graphs.append(attribute.g.node)
                graphs += [g.node for g in attribute.graphs]


def _metas(op: OnnxOp, inputs: tuple, attrs: Sequence[Any]) -> list[torch.Tensor]:
    """Return the outputs on the meta device."""
    return onnx_calls.flat([op.fake(*map(onnx_calls.meta, inputs), *attrs)])


def _trimmed(values: list[Any]) -> list[Any]:
    """Drop trailing absent inputs: ONNX leaves them out."""
    while values and values[-1] is None:
        values = values[:-1]
    return values


def _nested(flat: Sequence[Any], like: Any) -> Any:
    items = iter(flat)

    def take(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(take(item) for item in value)
        return next(items)

    return take(like)


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, (list, tuple)) else value


def _onnx_attrs(op: OnnxOp, values: Sequence[Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for (name, kind), value in zip(op.attrs, values, strict=True):
        if kind == "dtype":
            value = _ONNX_DTYPES[as_dtype(value)]
        elif kind == "bool":
            value = int(value)
        elif kind == "list_float":
            value = [float(v) for v in value]
        elif kind == "float":
            value = float(value)
        elif kind == "list_int":
            value = list(value)
        result[name] = value
    return result


def _suffix(value: Any) -> str:
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, str):
        return "s"
    return "f" if isinstance(first, float) else "i"
