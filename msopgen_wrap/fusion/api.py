"""``fuse``: a model with its formulas replaced by ops."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.fusion.batch_norm import folding_of
from msopgen_wrap.fusion.fused_module import FusedModule
from msopgen_wrap.fusion.model_trace import refuse_lazy
from msopgen_wrap.fusion.packages import op_source
from msopgen_wrap.torch_import import torch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from msopgen_wrap.spec.model import OpSpec


def fuse(
    model: Any,
    example_inputs: Any,
    *,
    example_kwargs: dict[str, Any] | None = None,
    specs: OpSpec | str | Path | Iterable[OpSpec | str | Path] | None = None,
    ops: str | ModuleType | None = None,
    fold: bool = False,
) -> FusedModule:
    """Replace the parts of a model that ops compute, in training as in inference.

    Args:
        model: a ``torch.nn.Module``; it is not changed.
        example_inputs: positional inputs, a tuple or one tensor; the fused model is compared with
            the original on them.
        example_kwargs: inputs by name.
        specs: the ops: specs, paths of YAML files or folders, or YAML texts. By default those of
            ``ops``, else the op library as far as an op saves GM bytes.
        ops: package with the torch ops (``torch.ops.<ops>``); None compiles the ops that are
            found for this CPU, and keeps them in the build cache.
        fold: fold batch norms into the convolutions before them first (``fold_batch_norms``). The
            model has to be in evaluation and the result stays there; its convolutions are copies.

    Returns:
        A module with the parameters of the model; its ``report`` says what was done.

    Raises:
        OpgenError: OPG740 (the model cannot be traced), OPG741 or OPG743 (the fused model differs
            or fails on the example), OPG742 (no such ops), OPG749 (``fold`` in training), and
            those of building ops.
    """
    if not isinstance(model, torch.nn.Module):
        raise OpgenError(
            Diagnostic(
                "OPG740",
                f"fuse takes a torch.nn.Module, not {type(model).__name__}",
                fix="put the function into the forward of a module",
            )
        )
    if isinstance(example_inputs, torch.Tensor):
        example_inputs = (example_inputs,)
    if not isinstance(example_inputs, (tuple, list)):
        raise OpgenError(
            Diagnostic(
                "OPG740",
                f"the example inputs are of type {type(example_inputs).__name__}",
                why="they are the positional arguments of a call of the model",
                fix="fuse(model, (x,))",
            )
        )
    if not isinstance(example_kwargs, (dict, type(None))):
        raise OpgenError(
            Diagnostic(
                "OPG740",
                f"the example inputs by name are of type {type(example_kwargs).__name__}",
                why="they are the keyword arguments of a call of the model",
                fix="fuse(model, (x,), example_kwargs={'mask': mask})",
            )
        )
    refuse_lazy(model)
    source = op_source(specs, ops)
    example = (tuple(example_inputs), dict(example_kwargs or {}))
    fused = FusedModule(model, source, folding_of(model, example) if fold else None)
    graph = fused.graph_for(*example)
    fused.__dict__["report"] = graph.report
    return fused
