"""A backend of ``torch.compile`` that calls ops where the graphs compute what they compute."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.fusion.fused_module import (
    MAX_GRAPHS,
    autocast_state,
    described,
    fused_graph,
)
from msopgen_wrap.fusion.model_trace import (
    ModelGraph,
    is_batched,
    refuse_sparse,
    without_batched_values,
)
from msopgen_wrap.fusion.packages import OpSource, op_source
from msopgen_wrap.fusion.report import FusionReport
from msopgen_wrap.graph.tracing import quiet_attempts
from msopgen_wrap.spec.findings import suggestion
from msopgen_wrap.torch_import import torch

Runner = Callable[..., Any]


class FusionBackend:
    """What ``torch.compile(model, backend=...)`` calls with each graph that it captures.

    The graphs run under autograd as they are: the gradient is that of the ops. Sizes that vary get
    a graph each, up to ``MAX_GRAPHS``; after that, and where a graph cannot be traced, it runs
    without ops, and a note in a report says so.

    Args:
        source: the ops.
        inner: name of the backend that compiles the fused graphs; None runs them as they are.

    Attributes:
        reports: one per graph, in the order in which they were made.
    """

    def __init__(self, source: OpSource, inner: str | None = None) -> None:
        self.source = source
        self.inner = inner
        self.reports: list[FusionReport] = []

    def __call__(self, module: Any, example_inputs: list[Any]) -> Runner:
        """Return what runs in place of a captured graph."""
        graphs: dict[Any, Runner] = {}

        def run(*args: Any) -> Any:
            key = (autocast_state(), *(described(a) for a in args))
            if key not in graphs:
                if len(graphs) >= MAX_GRAPHS:
                    self._note("too many kinds of inputs: the graph runs without ops")
                    graphs[key] = module
                else:
                    graphs[key] = self._made(module, list(args))
            return graphs[key](*args)

        disabled: Runner = torch._dynamo.disable(run)
        return disabled

    def _note(self, text: str) -> None:
        self.reports.append(FusionReport(notes=[text]))

    def _made(self, module: Any, args: list[Any]) -> Runner:
        try:
            traced = _traced(module, args)
        except Exception as error:  # dynamo's graph runs all the same
            reason = str(error).splitlines() or [type(error).__name__]
            self._note(f"left as it is: the graph cannot be traced: {reason[0]}")
            return module  # type: ignore[no-any-return]
        sources: list[tuple[str, Any]] = [("input", i) for i in range(len(args))]
        original = ModelGraph(traced, sources, {}, None)
        fused, report = fused_graph(original, self.source, args)
        self.reports.append(report)
        if self.inner is None:
            return fused  # type: ignore[no-any-return]
        return torch._dynamo.lookup_backend(self.inner)(fused, args)  # type: ignore[no-any-return]


def _traced(module: Any, args: list[Any]) -> Any:
    """Return the ATen graph of a captured graph, before autograd and before dispatch."""
    from torch.fx.experimental.proxy_tensor import make_fx

    def run(*given: Any) -> Any:
        return torch.fx.Interpreter(module).run(*given)

    with (
        warnings.catch_warnings(),
        quiet_attempts(),
        torch.fx.traceback.preserve_node_meta(),
        _as_exporting(),
    ):
        warnings.simplefilter("ignore")
        traced = make_fx(run, tracing_mode="fake", pre_dispatch=True)(*args)
    if any(is_batched(value) for value in vars(traced).values()):
        raise ValueError("a value inside of torch.vmap became a constant")
    refuse_sparse(traced.graph)
    without_batched_values(traced.graph)
    return traced


@contextmanager
def _as_exporting() -> Iterator[None]:
    """Let PyTorch record the calls that open and close ``torch.vmap``, as it does for export."""
    before = torch.compiler.is_exporting()
    torch.compiler._is_exporting_flag = True
    try:
        yield
    finally:
        torch.compiler._is_exporting_flag = before


def fusion_backend(
    *, specs: Any = None, ops: Any = None, inner: str | None = None
) -> FusionBackend:
    """Return a backend for ``torch.compile`` that puts ops into the graphs of a model.

    Args:
        specs, ops: as for ``fuse``.
        inner: backend that compiles what is left, such as ``inductor``; None runs it eagerly.

    Raises:
        OpgenError: OPG742, OPG750 (no such inner backend); when the compiled model runs also
            OPG741 and OPG743.
    """
    if inner is not None:
        _check_inner(inner)
    return FusionBackend(op_source(specs, ops), inner)


def _check_inner(inner: Any) -> None:
    """Refuse what ``torch.compile`` does not know, before a model is compiled (OPG750)."""
    if not isinstance(inner, str) or inner not in torch._dynamo.list_backends(exclude_tags=()):
        known = sorted(torch._dynamo.list_backends())
        named = [inner] if isinstance(inner, str) else []
        raise OpgenError(
            Diagnostic(
                "OPG750",
                f"there is no backend {inner!r} of torch.compile",
                why=f"there are {', '.join(known)}",
                fix=next((s for n in named if (s := suggestion(n, known))), "")
                or "fusion_backend(inner='inductor')",
            )
        )


def opgen(module: Any, example_inputs: list[Any]) -> Runner:
    """Return a graph fused with the op library: ``torch.compile(model, backend="opgen")``."""
    return fusion_backend()(module, example_inputs)
