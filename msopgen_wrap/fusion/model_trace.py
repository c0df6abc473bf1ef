"""A model as a graph of ATen calls, and why there is none."""

from __future__ import annotations

import contextlib
import io
import logging
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.graph.tracing import quiet_attempts
from msopgen_wrap.torch_import import torch


@dataclass
class ModelGraph:
    """A traced model.

    Attributes:
        module: what runs the graph; takes parameters, buffers and inputs, gives flat results.
        sources: per placeholder: kind (``parameter``, ``buffer``, ``constant``, ``input``) and
            name, or position among the flat inputs.
        constants: tensors of the code, by name.
        out_spec: how the flat results become the model's.
    """

    module: Any
    sources: list[tuple[str, Any]]
    constants: dict[str, Any]
    out_spec: Any

    @property
    def graph(self) -> Any:
        """The graph, in which autograd, random numbers and writes in place are still to come."""
        return self.module.graph

    def arguments(self, model: Any, inputs: list[Any]) -> list[Any]:
        """Return the arguments of the graph in a call of the model."""
        found = []
        for kind, name in self.sources:
            if kind == "input":
                found.append(inputs[name])
            elif kind == "constant":
                found.append(self.constants[name])
            else:
                found.append(attribute(model, name))
        return found


def attribute(model: Any, path: str) -> Any:
    """Return a parameter or buffer by its dotted name."""
    *modules, name = path.split(".")
    for part in modules:
        model = model._modules[part]
    found = model._parameters.get(name)
    return model._buffers[name] if found is None else found


@contextlib.contextmanager
def _quiet_export() -> Iterator[None]:
    """Keep ``torch.export`` from printing the graph that it had when it failed."""
    logger = logging.getLogger("torch.fx.experimental.symbolic_shapes")
    before = logger.disabled
    logger.disabled = True
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logger.disabled = before


def traced_model(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ModelGraph:
    """Trace a model on example inputs, as it is: in training or in evaluation.

    Raises:
        OpgenError: OPG740 with the line of the model.
    """
    from torch.export.graph_signature import InputKind, OutputKind

    refuse_lazy(model)
    try:
        with warnings.catch_warnings(), quiet_attempts(), _quiet_export():
            warnings.simplefilter("ignore")
            program = torch.export.export(model, args, kwargs, strict=False)
    except (Exception, SystemExit) as error:
        own = (
            None if isinstance(model, torch.jit.ScriptModule) else own_failure(model, args, kwargs)
        )
        raise OpgenError(untraceable(error) if own is None else failing(own)) from error
    kinds = {
        InputKind.PARAMETER: "parameter",
        InputKind.BUFFER: "buffer",
        InputKind.CONSTANT_TENSOR: "constant",
        InputKind.USER_INPUT: "input",
    }
    signature = program.graph_signature
    sources: list[tuple[str, Any]] = []
    position = 0
    for item in signature.input_specs:
        kind = kinds.get(item.kind)
        if kind is None:
            raise OpgenError(_unsupported(f"an input of kind {item.kind.name}"))
        sources.append((kind, position if kind == "input" else item.target))
        position += kind == "input"
    for result in signature.output_specs:
        if result.kind is not OutputKind.USER_OUTPUT:
            raise OpgenError(_unsupported(f"a result of kind {result.kind.name}"))
    spec = program.call_spec.out_spec
    _without_assertions(program.graph_module)
    refuse_sparse(program.graph_module.graph)
    without_batched_values(program.graph_module.graph)
    return ModelGraph(program.graph_module, sources, dict(program.constants), spec)


def _without_assertions(module: Any) -> None:
    """Drop the checks of dtypes that ``torch.export`` adds: each kind of call has its graph."""
    for node in list(module.graph.nodes):
        if node.target is torch.ops.aten._assert_tensor_metadata.default:
            module.graph.erase_node(node)
    module.recompile()


def is_batched(value: Any) -> bool:
    """Whether a value is a tensor inside of ``torch.vmap``, with an axis that no shape names."""
    tensor = isinstance(value, torch.Tensor)
    return tensor and bool(torch._C._functorch.is_functorch_wrapped_tensor(value))


def without_batched_values(graph: Any) -> None:
    """Forget the values of steps inside of ``torch.vmap``: they stay as they are."""
    for node in graph.nodes:
        if any(map(is_batched, torch.utils._pytree.tree_leaves(node.meta.get("val")))):
            node.meta["val"] = None


def refuse_lazy(model: Any) -> None:
    """Refuse a model whose parameters have no shape yet.

    Raises:
        OpgenError: OPG740.
    """
    if any(torch.nn.parameter.is_lazy(p) for p in (*model.parameters(), *model.buffers())):
        raise OpgenError(
            Diagnostic(
                "OPG740",
                "the model has lazy parameters that have no shape yet",
                why="a first call of the model gives them shapes",
                fix="call model(*inputs) once before",
            )
        )


def refuse_sparse(graph: Any) -> None:
    """Refuse a graph with tensors that have no strides: ops read and write dense memory.

    Raises:
        OpgenError: OPG740.
    """
    for node in graph.nodes:
        for value in torch.utils._pytree.tree_leaves(node.meta.get("val")):
            if isinstance(value, torch.Tensor) and value.layout is not torch.strided:
                raise OpgenError(_unsupported(f"a tensor '{node.name}' in layout {value.layout}"))


def _unsupported(what: str) -> Diagnostic:
    return Diagnostic(
        "OPG740",
        f"the traced model has {what}",
        why="fuse runs graphs of dense tensors, parameters and buffers",
        fix="fuse the part of the model that works on dense tensors",
    )


def untraceable(error: BaseException) -> Diagnostic:
    """Return OPG740 for what ``torch.export`` raised: where in the model, and what to do."""
    text = next((row.strip() for row in str(error).splitlines() if row.strip()), "")
    text = text or type(error).__name__
    frame = _users_frame(error)
    where = frame_place(frame, frame.filename) if frame else Location()
    name = type(error).__name__
    if "DataDependent" in name or "GuardOnData" in name or "data-dependent" in text:
        why = "the graph is recorded without values: Python can neither read nor branch on them"
        fix = "write the branch as torch.where or torch.cond, or fuse the parts around it"
    elif "ScriptModule" in text:
        why = "torch.export records Python, and a scripted module has none"
        fix = "fuse the module that went into torch.jit.script"
    elif "numpy" in text:
        why = "the graph is recorded without values, so they cannot leave torch on the way"
        fix = "write the step with torch, or fuse the parts around it"
    else:
        why = "torch.export records the model on the example inputs"
        fix = "make `torch.export.export(model, example_inputs)` work, or fuse its submodules"
    return Diagnostic("OPG740", f"the model cannot be traced: {text[:300]}", where, why, fix)


def own_failure(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> BaseException | None:
    """Return what the model itself raises on its inputs, outside of any trace."""
    from torch.utils import _pytree as pytree

    buffers: list[tuple[Any, Any]] = []
    try:
        copies = pytree.tree_map_only(torch.Tensor, lambda x: x.detach().clone(), (args, kwargs))
        buffers = [(b, b.detach().clone()) for b in model.buffers()]
        with warnings.catch_warnings(), torch.no_grad(), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")
            model(*copies[0], **copies[1])
    except (Exception, SystemExit) as error:
        return error
    finally:
        with torch.no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)
    return None


def failing(error: BaseException) -> Diagnostic:
    """Return OPG740 for a model that its example inputs do not suit, with its own line."""
    frame = _users_frame(error)
    return Diagnostic(
        "OPG740",
        f"the model fails on the example inputs: {said_by(error)}",
        frame_place(frame, frame.filename) if frame else Location(),
        "it is recorded on them",
        "give inputs with which model(*inputs) works: fuse(model, (x, y))",
    )


def said_by(error: BaseException) -> str:
    """Return kind and first line of an error."""
    text = next((row.strip() for row in str(error).splitlines() if row.strip()), "")
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__


def frame_place(frame: traceback.FrameSummary, file: str) -> Location:
    """Return where a frame of a traceback was; the expression where Python knows it (3.11)."""
    start, end = getattr(frame, "colno", None), getattr(frame, "end_colno", None)
    one_line = getattr(frame, "end_lineno", None) == frame.lineno
    if start is None or end is None:
        return Location(file, frame.lineno or 0, 1)
    length = max(1, end - start) if one_line else 1
    return Location(file, frame.lineno or 0, start + 1, length)


def _users_frame(error: BaseException | None) -> traceback.FrameSummary | None:
    """Return the innermost line of the traceback that is neither torch's nor ours."""
    while error is not None:
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            name = frame.filename.replace("\\", "/")
            if not any(part in name for part in ("/torch/", "/msopgen_wrap/", "<", "/python3")):
                return frame
        error = error.__cause__ or error.__context__
    return None
