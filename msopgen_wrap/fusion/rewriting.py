"""Put the calls of ops into a model's graph."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from msopgen_wrap.fusion.finder import Site
from msopgen_wrap.graph.tracing import quiet_attempts
from msopgen_wrap.torch_import import torch


def call_arguments(site: Site, moved: dict[Any, Any] | None = None) -> list[Any]:
    """Return the arguments of an op: inputs in the order of the spec, then attrs.

    Args:
        moved: nodes that were replaced -> what stands for them now.
    """
    nodes = [site.inputs.get(p.name) for p in site.spec.inputs]
    found: list[Any] = [(moved or {}).get(node, node) for node in nodes]
    for attr in site.spec.attrs:
        value = site.attrs[attr.name]
        found.append(getattr(torch, value) if attr.type == "dtype" else value)
    return found


def results_of(site: Site, op: Callable[..., Any]) -> dict[str, Any] | str:
    """Return fake results of the op at a site by output, or why it cannot stand there."""
    fakes = [n.meta["val"] for n in site.inputs.values()]
    mode = next((f.fake_mode for f in fakes if hasattr(f, "fake_mode")), None)
    assert mode is not None
    arguments = torch.fx.node.map_arg(tuple(call_arguments(site)), lambda n: n.meta["val"])
    try:
        with torch.no_grad(), mode, quiet_attempts():
            results = op(*arguments)
    except Exception as error:
        text = str(error).splitlines() or [type(error).__name__]
        return f"the op refuses the call: {text[0]}"
    listed = [results] if isinstance(results, torch.Tensor) else list(results)
    found = dict(zip([p.name for p in site.spec.outputs], listed, strict=True))
    for name, node in site.outputs.items():
        wanted, given = node.meta["val"], found[name]
        if tuple(given.shape) != tuple(wanted.shape) or given.dtype != wanted.dtype:
            return f"{name} would be {given.dtype} {tuple(given.shape)}"
        if not _same_layout(given, wanted):
            return f"{name} has strides {tuple(wanted.stride())} in the model; an op's are dense"
    return found


def _same_layout(one: Any, other: Any) -> bool:
    """Whether strides agree where they matter: on axes of several elements."""
    if not one.numel():
        return True
    return all(
        n == 1 or a == b for n, a, b in zip(one.shape, one.stride(), other.stride(), strict=True)
    )


def replace(
    graph: Any,
    site: Site,
    op: Callable[..., Any],
    fakes: dict[str, Any],
    moved: dict[Any, Any],
) -> Any:
    """Put the call of an op in place of a region; returns the node of the call.

    Args:
        fakes: output of the op -> fake result.
        moved: nodes that were replaced -> what stands for them now; this site's are added.
    """
    order = {node: i for i, node in enumerate(graph.nodes)}
    given = [moved.get(n, n) for n in site.inputs.values() if n.op != "placeholder"]
    last = max(given, key=lambda n: order[n], default=None)
    if last is None:
        last = [n for n in graph.nodes if n.op == "placeholder"][-1]
    with graph.inserting_after(last):
        call = graph.call_function(op, tuple(call_arguments(site, moved)))
    for key in ("nn_module_stack", "stack_trace"):
        if key in site.anchor.meta:
            call.meta[key] = site.anchor.meta[key]
    several = len(site.spec.outputs) > 1
    # The model's own values, where it has them: views that follow are views of their memory.
    values = {n: site.outputs[n].meta["val"] if n in site.outputs else f for n, f in fakes.items()}
    call.meta["val"] = tuple(values.values()) if several else next(iter(values.values()))
    after = call
    for position, param in enumerate(site.spec.outputs):
        node = site.outputs.get(param.name)
        if node is None:
            continue
        result = call
        if several:
            with graph.inserting_after(after):
                result = graph.call_function(operator.getitem, (call, position))
            result.meta["val"] = values[param.name]
            after = result
        node.replace_all_uses_with(result)
        moved[node] = result
    for node in reversed(site.region.nodes):
        graph.erase_node(node)
    return call
