"""A model that runs its fused graphs: one per training mode, shapes and dtypes of its inputs."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.fusion.batch_norm import Folding, refuse_training
from msopgen_wrap.fusion.epilogues import epilogues
from msopgen_wrap.fusion.finder import Finder, NearMiss, Site
from msopgen_wrap.fusion.in_place import put_back, with_reuse, without_writes
from msopgen_wrap.fusion.memory import memory_lines
from msopgen_wrap.fusion.model_trace import ModelGraph, failing, own_failure, traced_model
from msopgen_wrap.fusion.packages import OpSource, searched
from msopgen_wrap.fusion.regions import moved_bytes, place_of
from msopgen_wrap.fusion.report import FusionReport, fused_call, nearest
from msopgen_wrap.fusion.rewriting import replace, results_of
from msopgen_wrap.fusion.verification import agreements, same_bits
from msopgen_wrap.torch_import import torch

pytree = torch.utils._pytree

MAX_GRAPHS = 16


def fuse_graph(graph: Any, source: OpSource) -> FusionReport:
    """Replace what the ops of ``source`` compute in a graph; returns what was done.

    Args:
        graph: fx graph of ATen calls whose nodes hold fake values; changed in place.
    """
    specs, skipped = searched(source.specs)
    report = FusionReport(skipped=skipped if source.chosen else {})
    report.bytes_before = moved_bytes(graph.nodes)
    before = memory_lines(graph, "before: ")
    writes = without_writes(graph)
    finder = Finder(graph)
    done: list[Site] = []
    moved: dict[Any, Any] = {}
    extra: list[NearMiss] = []
    sites = finder.sites(specs, saving=not source.chosen)
    called = {node: site.label for site in sites for node in site.region.nodes}
    report.epilogues = epilogues(graph, called)
    for site in sites:
        call = fused_call(site)
        op = source.op(site.spec)
        fakes = results_of(site, op)
        if isinstance(fakes, str):
            extra.append(NearMiss(site.label, place_of(site.anchor), fakes, 1.0))
            continue
        replace(graph, site, op, fakes, moved)
        done.append(site)
        report.fused.append(call)
    put_back(graph, writes)
    graph.lint()
    # An op reads a tensor once per input, also where two inputs are one tensor.
    saved = sum(call.bytes_before - call.bytes_after for call in report.fused)
    report.bytes_after = report.bytes_before - saved
    report.left = nearest([*extra, *finder.misses], set())
    report.memory = [*before, *memory_lines(graph, "after: ")]
    return report


def fused_graph(
    original: ModelGraph, source: OpSource, arguments: list[Any]
) -> tuple[Any, FusionReport]:
    """Return what runs a traced model with ops, compared with the original, and the report.

    Args:
        arguments: of the graph: parameters, buffers and inputs.

    Raises:
        OpgenError: OPG741, OPG742, OPG743, and those of building ops.
    """
    graph = copy.deepcopy(original.graph)
    report = fuse_graph(graph, source)
    module = torch.fx.GraphModule(original.module, graph)
    if report.fused:
        report.agreements = agreements(original, module, arguments, _mutable(arguments))
    return module, report


def reusing(module: Any, report: FusionReport, arguments: list[Any]) -> Any:
    """Return what runs a fused graph without gradients: steps write over operands nobody reads.

    It has to give the same bits on the example; where it does not, the module itself is returned,
    and the report says so.

    Args:
        arguments: of the graph: parameters, buffers and inputs.
    """
    graph = copy.deepcopy(module.graph)
    count, same = with_reuse(graph)
    if not count:
        return module
    lean = torch.fx.GraphModule(module, graph)
    if not same_bits(module, lean, arguments, _mutable(arguments)):
        report.memory.append("  steps that write in place give other results: not done")
        return module
    report.memory += memory_lines(graph, f"without gradients, {count} steps in place: ", same)
    return lean


def _mutable(arguments: list[Any]) -> list[Any]:
    """Return the tensors that a run may write: buffers and inputs."""
    return [
        a
        for a in arguments
        if isinstance(a, torch.Tensor) and not isinstance(a, torch.nn.Parameter)
    ]


@dataclass
class FusedGraph:
    """The fused graph of one kind of call.

    Attributes:
        original: the traced model.
        module: runs the fused graph.
        without_gradients: the same where no gradient is asked; its steps write in place.
        report: what was fused.
    """

    original: ModelGraph
    module: Any
    without_gradients: Any
    report: FusionReport


class FusedModule(torch.nn.Module):
    """A model with parts replaced by ops.

    It shares submodules, parameters and buffers with the original: ``state_dict`` is the same, and
    training one trains the other. The graph of the current mode is traced, fused and compared at
    the first call with inputs of new shapes or dtypes; after ``MAX_GRAPHS`` of them a call raises.

    Args:
        model: the original.
        source: the ops that may be called.
        folding: the model without the batch norms that were folded; it runs in place of the model,
            and is compared with it.

    Attributes:
        report: of the graph that ran last, or was made last.
    """

    def __init__(self, model: Any, source: OpSource, folding: Folding | None = None) -> None:
        super().__init__()
        self.__dict__["_unfolded"] = model if folding else None
        self.__dict__["_folding"] = folding
        if folding:
            model = folding.model
        self._parameters = model._parameters
        self._buffers = model._buffers
        self._modules = model._modules
        self._non_persistent_buffers_set = model._non_persistent_buffers_set
        self.__dict__["_original"] = model
        self.__dict__["_source"] = source
        self.__dict__["_graphs"] = {}
        self.__dict__["report"] = FusionReport()
        self.training = model.training

    @property
    def original(self) -> Any:
        """The model as it was given, or its copy in which batch norms are folded."""
        return self.__dict__["_original"]

    def train(self, mode: bool = True) -> FusedModule:
        """Set the mode of this and of the original.

        Raises:
            OpgenError: OPG749, its batch norms are folded, which holds in evaluation only.
        """
        folding: Folding | None = self.__dict__["_folding"]
        if mode and folding and folding.done:
            refuse_training()
        self.original.train(mode)
        super().train(mode)
        return self

    def graph_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> FusedGraph:
        """Return the fused graph of a call, made when it is new.

        Raises:
            OpgenError: the model cannot be traced (OPG740), differs (OPG741, OPG743), or has been
                called in too many ways (OPG744).
        """
        graphs: dict[Any, FusedGraph] = self.__dict__["_graphs"]
        key = self._key(args, kwargs)
        if key not in graphs:
            if len(graphs) >= MAX_GRAPHS:
                raise OpgenError(
                    Diagnostic(
                        "OPG744",
                        f"the fused model was called with {MAX_GRAPHS} kinds of inputs already",
                        why="each shape, dtype and mode has a graph of its own",
                        fix="pad inputs to a few shapes, or fuse the parts whose shapes stay",
                    )
                )
            graphs[key] = self._fused(args, kwargs)
        return graphs[key]

    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        leaves, spec = pytree.tree_flatten((args, kwargs))
        modes = tuple(m.training for m in self.original.modules())
        tensors = itertools.chain(self.original.parameters(), self.original.buffers())
        state = tuple((t.dtype, t.device, t.stride()) for t in tensors)
        return (modes, state, spec, autocast_state(), tuple(described(v) for v in leaves))

    def _fused(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> FusedGraph:
        original = traced_model(self.original, args, kwargs)
        try:
            return self._made(original, args, kwargs)
        except OpgenError:
            raise
        except Exception as error:
            # What tracing lets pass, such as dtypes that a kernel of PyTorch refuses.
            own = own_failure(self.original, args, kwargs)
            if own is None:
                raise
            raise OpgenError(failing(own)) from error

    def _made(
        self, original: ModelGraph, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> FusedGraph:
        arguments = original.arguments(self.original, pytree.tree_leaves((args, kwargs)))
        module, report = fused_graph(original, self.__dict__["_source"], arguments)
        folding: Folding | None = self.__dict__["_folding"]
        if folding:
            report.folded, report.unfolded = list(folding.done), list(folding.left)
            self._compare_with_unfolded(module, report, arguments, args, kwargs)
        lean = reusing(module, report, arguments)
        return FusedGraph(original, module, lean, report)

    def _compare_with_unfolded(
        self,
        module: Any,
        report: FusionReport,
        arguments: list[Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """Compare a fused graph without batch norms with the model that has them."""
        model = self.__dict__["_unfolded"]
        before = traced_model(model, args, kwargs)
        given = before.arguments(model, pytree.tree_leaves((args, kwargs)))
        report.bytes_before = moved_bytes(before.graph.nodes)
        changed = _mutable([*given, *arguments])
        report.agreements = agreements(before, module, given, changed, arguments)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the fused graph for these inputs."""
        fused = self.graph_for(args, kwargs)
        self.__dict__["report"] = fused.report
        leaves = pytree.tree_leaves((args, kwargs))
        module = fused.module if torch.is_grad_enabled() else fused.without_gradients
        results = module(*fused.original.arguments(self.original, leaves))
        return pytree.tree_unflatten(results, fused.original.out_spec)

    def extra_repr(self) -> str:
        """Say how many calls were fused."""
        report: FusionReport = self.__dict__["report"]
        return f"{len(report.fused)} fused op calls"


def autocast_state() -> tuple[Any, ...]:
    """Return what decides about the casts that a graph has on CPU and NPU."""
    kinds = ("cpu", torch._C._get_privateuse1_backend_name())
    return tuple(torch.get_autocast_dtype(k) for k in kinds if torch.is_autocast_enabled(k))


def described(value: Any) -> Any:
    """Return what a graph depends on of one of its inputs."""
    if isinstance(value, torch.Tensor):
        return (tuple(value.shape), tuple(value.stride()), value.dtype, value.device)
    try:
        hash(value)
    except TypeError:
        return (type(value), id(value))
    return (type(value), value)
