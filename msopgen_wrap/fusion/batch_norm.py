"""Convolution and batch norm in evaluation as one convolution, for models and for tensors."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
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


_ACTIVATIONS = {
    nn.ReLU: "relu",
    nn.SiLU: "silu",
    nn.GELU: "gelu",
    nn.Hardswish: "hardswish",
    nn.LeakyReLU: "leaky_relu",
    torch.relu: "relu",
    nn.functional.relu: "relu",
    nn.functional.silu: "silu",
    nn.functional.gelu: "gelu",
}
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def folding_of(model: Any) -> Folding:
    """Return what ``fold_batch_norms`` gives as one value; it raises the same errors.

    Where nothing can be folded, the model is the one that was given, not a copy.
    """
    folded, done, left = fold_batch_norms(model)
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


def fold_batch_norms(model: Any) -> tuple[Any, list[FoldedNorm], list[str]]:
    """Return a copy of a model with batch norms folded into the convolutions before them.

    ``w' = w * gamma / sqrt(var + eps)`` and the bias likewise, as ``torch.nn.utils.fusion`` does:
    exact but for rounding, in evaluation only. The copy has other parameters than the model, and
    an identity in place of each folded norm.

    Args:
        model: in evaluation.

    Returns:
        The copy, what was folded, and per pair that was not why.

    Raises:
        OpgenError: OPG749 when the model is in training: the norm takes the statistics of the batch
            then, which no weights can stand for. OPG740 when its calls cannot be followed.
    """
    if any(m.training for m in model.modules() if isinstance(m, _NORMS)):
        refuse_training()
    folded = copy.deepcopy(model)
    try:
        graph = torch.fx.Tracer().trace(folded)
    except Exception as error:
        text = str(error).splitlines() or [type(error).__name__]
        raise OpgenError(
            Diagnostic(
                "OPG740",
                f"the calls of the model's modules cannot be followed: {text[0]}",
                why="torch.fx follows them without values",
                fix="fold the submodules without branches: fold_batch_norms(model.backbone)",
            )
        ) from error
    modules = dict(folded.named_modules(remove_duplicate=False))
    done: list[FoldedNorm] = []
    left: list[str] = []
    for node in graph.nodes:
        norm = modules.get(str(node.target)) if node.op == "call_module" else None
        if not isinstance(norm, _NORMS):
            continue
        before = node.args[0] if node.args else None
        convolution = (
            modules.get(str(before.target))
            if isinstance(before, torch.fx.Node) and before.op == "call_module"
            else None
        )
        if not isinstance(convolution, _CONVOLUTIONS):
            left.append(f"{node.target}: no convolution before it; it stays a step of its own")
            continue
        assert isinstance(before, torch.fx.Node)
        reason = _objection(graph, before, node, convolution, norm)
        if reason:
            left.append(f"{node.target}: {reason}")
            continue
        merged = torch.nn.utils.fusion.fuse_conv_bn_eval(convolution, norm)
        _put(folded, str(before.target), merged)
        _put(folded, str(node.target), nn.Identity())
        done.append(FoldedNorm(str(before.target), str(node.target), _epilogue(node, modules)))
    return folded, done, left


def _objection(graph: Any, before: Any, node: Any, convolution: Any, norm: Any) -> str:
    if norm.running_mean is None or norm.running_var is None:
        return "it keeps no statistics; make it with track_running_stats=True"
    if len(before.users) > 1:
        return (
            f"the result of {before.target} is used elsewhere, too; give each use a convolution "
            "of its own"
        )
    for called, module in ((before, convolution), (node, norm)):
        if sum(n.op == "call_module" and n.target == called.target for n in graph.nodes) > 1:
            return f"{called.target} is called more than once; use a copy for each call"
        if module._forward_hooks or module._forward_pre_hooks:
            return f"{called.target} has hooks; remove them first"
    return ""


def _put(model: Any, path: str, module: Any) -> None:
    parent, _, name = path.rpartition(".")
    setattr(model.get_submodule(parent), name, module)


def _epilogue(node: Any, modules: dict[str, Any]) -> str:
    if len(node.users) != 1:
        return ""
    user = next(iter(node.users))
    if user.op == "call_module":
        return _ACTIVATIONS.get(type(modules.get(str(user.target))), "")
    return _ACTIVATIONS.get(user.target, "") if user.op == "call_function" else ""
