"""Torch ops that run the ``compute`` of specs: fusion is tested without compiling kernels."""

from __future__ import annotations

import itertools
from types import ModuleType
from typing import Any

from msopgen_wrap.fusion.api import fuse
from msopgen_wrap.graph.compute_function import compute_function
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import load_specs, parse_spec
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.torch_ext.signature import torch_schema
from msopgen_wrap.torch_import import torch

_numbers = itertools.count()
_libraries: list[Any] = []  # ops exist as long as these do


def library(*names: str) -> list[OpSpec]:
    """Return ops of the op library, without the ops of their gradients."""
    specs = load_specs([data_dir("op_specs") / f"{name}.yaml" for name in names])
    return [s for s in specs if not s.differentiated]


def spec_of(text: str) -> OpSpec:
    """Return the spec that a text holds."""
    result = parse_spec(text)
    assert result.spec is not None, result.diagnostics
    return result.spec


def registered(specs: list[OpSpec]) -> ModuleType:
    """Return a module whose name is the namespace of new torch ops."""
    module = ModuleType(f"fusiontest{next(_numbers)}")
    torch_library = torch.library.Library(module.__name__, "DEF")
    _libraries.append(torch_library)
    for spec in specs:
        torch_library.define(torch_schema(spec))
        torch_library.impl(spec.name, _kernel(spec), "CompositeImplicitAutograd")
    return module


def _kernel(spec: OpSpec) -> Any:
    function = compute_function(spec)
    inputs = [p.name for p in spec.inputs]
    names = [*inputs, *(a.name for a in spec.attrs)]
    defaults = {a.name: a.default for a in spec.attrs if not a.required}

    def run(*args: Any, **kwargs: Any) -> Any:
        given = {**defaults, **dict(zip(names, args, strict=False)), **kwargs}
        outputs = function(
            {n: given.get(n) for n in inputs}, {a.name: given[a.name] for a in spec.attrs}
        )
        results = tuple(outputs[p.name].contiguous() for p in spec.outputs)
        return results if len(results) > 1 else results[0]

    return run


def fused(model: Any, inputs: Any, *specs: OpSpec) -> Any:
    """Return a model fused with reference ops, compared with the original on the example."""
    listed = list(specs)
    return fuse(model, inputs, specs=listed, ops=registered(listed))
