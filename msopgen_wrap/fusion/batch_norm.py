"""Convolution and batch norm in evaluation as one convolution, for models and for tensors."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.fusion.norm_calls import NORMS, NormCall, norm_calls
from msopgen_wrap.torch_import import torch

nn = torch.nn


@dataclass(frozen=True)
class FoldedNorm:
    """A batch norm that is part of a convolution now.

    Attributes:
        convolution, norm: paths of the modules.
        epilogue: what is called next in the graph, when it is an activation; a kernel of the
            convolution could apply it to its results.
    """

    convolution: str
    norm: str
    epilogue: str


@dataclass(frozen=True)
class Folding:
    """A model with its batch norms folded.

    Attributes:
        model: the copy without the norms in ``done``; the original when there are none.
        done: what was folded.
        left: norm and why it stays, one line each.
    """

    model: Any
    done: list[FoldedNorm]
    left: list[str]


def folding_of(model: Any, example: tuple[tuple[Any, ...], dict[str, Any]]) -> Folding:
    """Return what ``fold_batch_norms`` gives as one value; it raises the same errors.

    Where nothing can be folded, the model is the one that was given, not a copy.

    Args:
        example: positional and keyword arguments of a call.
    """
    folded, done, left = _folded(model, example)
    return Folding(folded if done else model, done, left)


def refuse_training() -> None:
    """Raise OPG749: a model with folded batch norms cannot be trained."""
    raise OpgenError(
        Diagnostic(
            "OPG749",
            "batch norms are folded in evaluation only",
            why="in training they take mean and variance of the batch",
            fix="model.eval() first; train the model as it is",
        )
    )


def fold_batch_norms(model: Any, inputs: Any = None) -> tuple[Any, list[FoldedNorm], list[str]]:
    """Return a copy of a model with batch norms folded into the convolutions before them.

    ``w' = w * gamma / sqrt(var + eps)`` and the bias likewise, as ``torch.nn.utils.fusion`` does:
    exact but for rounding, in evaluation only. The copy has other parameters than the model, and
    an identity in place of each folded norm.

    Args:
        model: in evaluation.
        inputs: example inputs of the model, a tuple for several: they help to follow the calls of
            models that ``torch.fx`` cannot follow without values.

    Returns:
        The copy, what was folded, and per pair that was not why.

    Raises:
        OpgenError: OPG749 when the model is in training: the norm takes the statistics of the batch
            then, which no weights can stand for. OPG740 when its calls cannot be followed.
    """
    if inputs is None:
        return _folded(model, None)
    return _folded(model, (inputs if isinstance(inputs, tuple) else (inputs,), {}))


def _folded(
    model: Any, example: tuple[tuple[Any, ...], dict[str, Any]] | None
) -> tuple[Any, list[FoldedNorm], list[str]]:
    if any(m.training for m in model.modules() if isinstance(m, NORMS)):
        refuse_training()
    folded = copy.deepcopy(model)
    done: list[FoldedNorm] = []
    left: list[str] = []
    for call in norm_calls(folded, example):
        reason = _objection(folded, call)
        if reason:
            left.append(f"{call.norm}: {reason}")
            continue
        convolution, norm = (folded.get_submodule(p) for p in (call.convolution, call.norm))
        _put(folded, call.convolution, torch.nn.utils.fusion.fuse_conv_bn_eval(convolution, norm))
        _put(folded, call.norm, nn.Identity())
        done.append(FoldedNorm(call.convolution, call.norm, call.epilogue))
    return folded, done, left


def _objection(model: Any, call: NormCall) -> str:
    if not call.convolution:
        return "no convolution before it; it stays a step of its own"
    norm = model.get_submodule(call.norm)
    if norm.running_mean is None or norm.running_var is None:
        return "it keeps no statistics; make it with track_running_stats=True"
    if call.shared:
        return (
            f"the result of {call.convolution} is used elsewhere, too; give each use a convolution "
            "of its own"
        )
    if call.repeated:
        return f"{call.repeated} is called more than once; use a copy for each call"
    for path in (call.convolution, call.norm):
        module = model.get_submodule(path)
        if module._forward_hooks or module._forward_pre_hooks:
            return f"{path} has hooks; remove them first"
    return ""


def _put(model: Any, path: str, module: Any) -> None:
    parent, _, name = path.rpartition(".")
    setattr(model.get_submodule(parent), name, module)
