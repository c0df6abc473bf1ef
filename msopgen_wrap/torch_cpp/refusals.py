"""What the C++ backend refuses, with code and place."""

from __future__ import annotations

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.schedule.anchors import ANCHORS
from msopgen_wrap.schedule.calls import find_in_compute, target_name
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

# What a graph's own operators (``opgen.ordered``) stand for, which a formula calls by other names.
_WORK = {
    "convolution": "a convolution",
    "depthwise": "a convolution",
    "index": "a gather or a scatter",
    "order": "a sort, or what a sorted row gives,",
    "resize": "a resized image",
    "scan": "a scan",
    "window": "work on windows",
}


def unsupported_call(spec: OpSpec, node: Node, why: str = "") -> OpgenError:
    """Return OPG570 for a call that has no loop."""
    target = target_name(node)
    word = target.split(".")[1] if target.startswith("aten.") else target
    work = _WORK.get(ANCHORS.get(target, ""), target) if target.startswith("opgen.") else target
    return OpgenError(
        Diagnostic(
            "OPG570",
            f"{work} cannot be written as a C++ loop",
            find_in_compute(spec, word.strip("_")),
            why
            or "the extension has loops over elements, reductions along axes, matrix products and "
            "views of inputs, and never calls an operator of PyTorch in their place",
            "write it with supported operations",
        )
    )


def unsupported_spec(spec: OpSpec, what: str, place: Location, fix: str) -> OpgenError:
    """Return OPG571 for a property of a spec that the extension has no form for."""
    return OpgenError(
        Diagnostic(
            "OPG571",
            f"{what}, which a plain torch extension of {spec.op} cannot have",
            place,
            "the backends torch-cpp and torch-cuda generate functions of tensors and attrs that "
            "return new tensors",
            fix,
        )
    )


def axes_differ(spec: OpSpec, why: str) -> OpgenError:
    """Return OPG572: the loops are not the same at every rank, or for every value of an attr."""
    place = spec.compute.location if spec.compute else Location(spec.path)
    return OpgenError(
        Diagnostic(
            "OPG572",
            f"the loops of {spec.op} are not the same {why}",
            place,
            "one C++ function serves every rank and every value of the attrs",
            "count axes from the end, fix the rank of the input (`rank: 3`), or give the attr "
            "`allowed:` values",
        )
    )
