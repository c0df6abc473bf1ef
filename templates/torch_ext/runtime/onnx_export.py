"""ONNX export: nodes in the vendor's domain, with their decomposition as model-local functions.

ATC reads the nodes through the package's parser plugin; any other runtime runs the functions.
Needs the packages onnx and onnxscript (``pip install onnx onnxscript``).
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from . import onnx_calls, onnx_foreign, onnx_function, onnx_inlining
from .gradients import IN_PLACE
from .import_watch import when_imported
from .onnx_foreign import ForeignOp
from .onnx_ops import OnnxOp, onnx_attrs
from .onnx_torchscript import VARIANT, VERSION, TorchScriptExport, plain_value

DYNAMO_SINCE = 18  # torch's dynamo exporter writes no older opset by itself
NODES = ("functions", "only", "standard")


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


class Exporter(TorchScriptExport):
    """The exporters of one package.

    Args:
        vendor: namespace of the ops and domain of the nodes.
        ops: the package's ops.
    """

    def __init__(self, vendor: str, ops: Sequence[OnnxOp]) -> None:
        self.vendor = vendor
        self.ops = {op.name: op for op in ops}
        self.foreign: list[ForeignOp] = []
        self._session: _Session | None = None
        self._registered = False
        self._advised = False
        self._nodes_chosen = False  # the user asked for what is written
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
        nodes: str = "functions",
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
            nodes: how the ops are written: ``functions``, as nodes of the vendor's domain with
                their decomposition, which any runtime runs where it has no kernel of that name;
                ``only``, as nodes alone; ``standard``, by their decomposition alone, in ops of
                ONNX itself (``asinh`` is ``Asinh``).
            dynamic_shapes: for dynamo, as in ``torch.export.export``.
            dynamic_axes: for torchscript, as in ``torch.onnx.export``.

        Raises:
            RuntimeError: the opset is not honoured, an op has no decomposition there, or a package
                is missing.
        """
        onnx = _require_onnx()
        exporter = exporter or ("dynamo" if opset >= DYNAMO_SINCE else "torchscript")
        if exporter not in ("dynamo", "torchscript"):
            raise ValueError(f"exporter={exporter!r}: expected 'dynamo' or 'torchscript'")
        if nodes not in NODES:
            raise ValueError(f"nodes={nodes!r}: expected one of {', '.join(NODES)}")
        if opset < 13:
            raise RuntimeError(f"opset {opset} is not supported: the functions need 13 or newer")
        names = {"input_names": input_names, "output_names": output_names}
        if exporter == "torchscript":
            with onnx_inlining.more_symbolics(), self._collect(nodes) as session:
                proto = self._torchscript(model, args, opset, dynamic_axes, names, nodes)
        else:
            with self._collect(nodes) as session:
                proto = self._dynamo(model, args, opset, dynamic_shapes, names, nodes)
        written = {o.domain: o.version for o in proto.opset_import}.get("", 0)
        if written != opset:
            raise RuntimeError(
                f"the {exporter} exporter wrote opset {written} where {opset} was asked for; "
                f"take that opset, or exporter='torchscript'"
            )
        if session is not None:
            with onnx_inlining.more_symbolics():
                self._attach(proto, session, exporter, opset)
        onnx.checker.check_model(proto)
        if path is not None:
            onnx.save(proto, str(path))
        return proto

    def register_foreign(
        self,
        target: Any,
        domain: str,
        op_type: str | None = None,
        *,
        version: int = 1,
        rename: Mapping[str, str] | None = None,
        drop: Sequence[str] = (),
    ) -> str:
        """Export an op that is not of this package as a node of a custom domain, from now on.

        Tensors of its torch schema become inputs, all other arguments attributes of their names.
        It holds for ``export`` and for plain ``torch.onnx.export``, with both exporters.

        Args:
            target: the op, ``torch.ops.ns.name`` or ``"ns::name"``.
            domain: of its nodes.
            op_type: of its nodes; default: the torch name in camel case, ``DeformConv2d``.
            version: of the domain.
            rename: attribute names in place of argument names.
            drop: arguments that are not written.

        Returns:
            The key of its nodes, ``domain::version::Type``.

        Raises:
            ValueError: OPG544: there is no such op, it works in place, an argument has no form in
                ONNX, or a name cannot be that of a node.
        """
        try:
            onnx_foreign.check_domain(domain, self.vendor)
            op = onnx_foreign.foreign_op(target, domain, op_type, version, rename or {}, drop)
            if op.overload.namespace == self.vendor:
                raise ValueError(f"{op.overload} is of this package and is exported already")
        except ValueError as error:
            raise ValueError(f"OPG544: {error}") from None
        self.foreign = [f for f in self.foreign if f.overload is not op.overload] + [op]
        if self._registered:
            self._add_symbolic(op)
        return f"{domain}::{version}::{op.op_type}"

    def register(self) -> None:
        """Teach ``torch.onnx.export`` the ops, as nodes of the vendor's domain, for both exporters.

        Called by itself when ``torch.onnx`` is imported. Models exported that way hold no
        decomposition: they are for ATC, which reads the nodes.
        """
        if self._registered:
            return
        self._registered = True
        for op in self._all():
            self._add_symbolic(op)
        plain = torch.onnx.export

        @functools.wraps(plain)
        def export(*args: Any, **kwargs: Any) -> Any:
            with self._decomposed():
                return plain(*args, **kwargs)

        torch.onnx.export = export

    def _all(self) -> list[OnnxOp]:
        return [*self.ops.values(), *self.foreign]

    def _add_symbolic(self, op: OnnxOp) -> None:
        schema = self._overload(op)._schema.name
        torch.onnx.register_custom_op_symbolic(schema, self._symbolic(op), 9)

    def _node(self, op: OnnxOp) -> tuple[str, int]:
        """Return the name and the domain version of the op's nodes."""
        if isinstance(op, ForeignOp):
            return f"{op.domain}::{op.op_type}", op.version
        return f"{self.vendor}::{op.op_type}", VERSION

    @contextlib.contextmanager
    def _decomposed(self) -> Iterator[None]:
        """Let the dynamo exporter replace the ops; it has no public table, but takes torch's.

        Only while it runs: other users of that table (Inductor) are to leave the ops alone.
        """
        from torch._decomp import global_decomposition_table, register_decomposition

        tables = [global_decomposition_table[kind] for kind in ("post_autograd", "meta")]
        added = [self._overload(op) for op in self._all()]
        added = [overload for overload in added if overload not in tables[0]]  # a nested export
        try:
            for op in self._all():
                overload = self._overload(op)
                if overload not in added:
                    continue
                register_decomposition(overload)(self._plain_decomposition(op, overload))
                # With an entry here fake tensors keep to the op's own fake kernel.
                register_decomposition(overload, type="meta")(op.fake)
            yield
        finally:
            for table in tables:
                for overload in added:
                    table.pop(overload, None)

    def _overload(self, op: OnnxOp) -> Any:
        if isinstance(op, ForeignOp):
            return op.overload
        return getattr(getattr(torch.ops, self.vendor), op.name).default

    def _advise(self) -> None:
        """Say once what a model of plain ``torch.onnx.export`` lacks."""
        if not self._advised and not self._nodes_chosen:
            self._advised = True
            warnings.warn(
                f"torch.onnx.export writes the ops of {self.vendor} as nodes for CANN's ATC; for a "
                f"model that other runtimes can run, call {self.vendor}.onnx.export(model, args, "
                "path)",
                stacklevel=2,
            )

    # ---- dynamo ----

    def _dynamo(
        self,
        model: Any,
        args: tuple,
        opset: int,
        dynamic_shapes: Any,
        names: dict[str, Any],
        nodes: str,
    ) -> Any:
        program = torch.export.export(model, args, dynamic_shapes=dynamic_shapes, strict=False)
        table = {}
        for op in self._all():
            overload = self._overload(op)
            if not any(n.target is overload for n in program.graph.nodes):
                continue
            if not isinstance(op, ForeignOp):
                (self._require_exportable if nodes == "only" else self._require_reference)(op)
            if nodes == "standard" and not isinstance(op, ForeignOp):
                table[overload] = onnx_inlining.decomposition(op, overload)
            else:
                table[overload] = self._decomposition(op, overload)
        program = program.run_decompositions(table)
        exported = torch.onnx.export(
            program, dynamo=True, opset_version=opset, verbose=False, **names
        )
        return exported.model_proto

    def _decomposition(self, op: OnnxOp, overload: Any) -> Callable[..., Any]:
        defaults = [a.default_value for a in overload._schema.arguments]

        def replace(*args: Any, **kwargs: Any) -> Any:
            foreign = isinstance(op, ForeignOp)
            if foreign and onnx_foreign.guard.active:
                return NotImplemented  # the op itself, called for shapes and dtypes
            values = op.arguments(args, kwargs) if foreign else [*args, *defaults[len(args) :]]
            tensors, attrs = op.split(values)
            results = op.fake(*values)  # for shapes and dtypes; unused nodes of it are dropped
            flat = onnx_calls.flat([results])
            attributes = onnx_attrs(op, attrs)
            if self._session is not None and not foreign:
                variant = onnx_function.Variant(
                    op,
                    tuple(onnx_calls.describe(value) for value in tensors),
                    tuple(plain_value(value) for value in attrs),
                )
                attributes[VARIANT] = self._session.index(variant)
            node, version = self._node(op)
            outputs = torch.onnx.ops.symbolic_multi_out(
                node,
                op.trimmed(onnx_calls.flat(tensors)),
                attributes,
                dtypes=[t.dtype for t in flat],
                shapes=[t.shape for t in flat],
                version=version,
            )
            return _nested(outputs, results)

        return replace

    def _plain_decomposition(self, op: OnnxOp, overload: Any) -> Callable[..., Any]:
        replace = self._decomposition(op, overload)

        def in_export(*args: Any, **kwargs: Any) -> Any:
            # The table is everyone's; outside of an export the op stays what it is.
            if not torch.onnx.is_in_onnx_export():
                return NotImplemented
            if not isinstance(op, ForeignOp):
                self._advise()
            return replace(*args, **kwargs)

        return in_export

    # ---- functions ----

    @contextlib.contextmanager
    def _collect(self, nodes: str) -> Iterator[_Session | None]:
        self._session = _Session() if nodes == "functions" else None
        self._nodes_chosen = True
        try:
            yield self._session
        finally:
            self._session = None
            self._nodes_chosen = False

    def _require_exportable(self, op: OnnxOp) -> None:
        if self._overload(op)._schema.is_mutable:
            raise RuntimeError(IN_PLACE.format(op.name))

    def _require_reference(self, op: OnnxOp) -> None:
        self._require_exportable(op)
        if op.reference is None:
            raise RuntimeError(
                f"the spec of {op.name} has no compute, so it has no decomposition; "
                "nodes='only' and torch.onnx.export write its node alone"
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


def _require_onnx() -> Any:
    try:
        import onnx
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise RuntimeError(
            f"export needs the package {error.name}: pip install onnx onnxscript"
        ) from error
    return onnx


def _nodes(proto: Any) -> Iterator[Any]:
    graphs = [proto.graph.node, *(f.node for f in proto.functions)]
    while graphs:
        for node in graphs.pop():
            yield node
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    graphs.append(attribute.g.node)
                graphs += [g.node for g in attribute.graphs]


def _nested(flat: Sequence[Any], like: Any) -> Any:
    items = iter(flat)

    def take(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(take(item) for item in value)
        return next(items)

    return take(like)
