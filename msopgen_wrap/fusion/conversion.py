"""ATen graphs as terms: each node by a rule, by PyTorch's decomposition, or as it is."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from msopgen_wrap.fusion.rules import ANY_DTYPE, RULES, Arguments, axes_of, is_number, parts
from msopgen_wrap.fusion.terms import CONST, Term, alias, call, constant, leaf, names_in
from msopgen_wrap.graph.decomposition_table import decompositions
from msopgen_wrap.graph.trace_rewrites import without_mutations
from msopgen_wrap.graph.tracing import quiet_attempts
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node
OpOverload = torch._ops.OpOverload

# What changes neither elements nor their order: axes of size 1, copies, another float dtype.
_VIEWS = names_in(
    "unsqueeze squeeze expand expand_as clone contiguous alias view_as lift_fresh "
    "lift_fresh_copy lift _unsafe_view view reshape _reshape_alias flatten unflatten "
    "view_copy"
)
_SAME_SHAPE_ONLY = names_in("view reshape _reshape_alias _unsafe_view flatten unflatten")
_SPLITS = names_in("chunk split split_with_sizes tensor_split unsafe_chunk unsafe_split")
_CASTS = names_in("_to_copy to type_as float half bfloat16")
_FILLED = names_in("full full_like zeros zeros_like ones ones_like scalar_tensor")
_OF_NUMBERS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "ge": operator.ge,
    "gt": operator.gt,
    "le": operator.le,
    "lt": operator.lt,
}
_AXES = names_in("dim dims dim0 dim1 axis")


def packet_name(target: Any) -> str:
    """Return the name of an operator without its overload and namespace of ATen."""
    if not isinstance(target, OpOverload):
        return getattr(target, "__name__", str(target))
    name: str = target._schema.name
    return name.removeprefix("aten::")


def bound_arguments(target: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by the names of the operator's schema, defaults included."""
    found: dict[str, Any] = {}
    for i, argument in enumerate(target._schema.arguments):
        if i < len(args) and not argument.kwarg_only:
            found[argument.name] = args[i]
        elif argument.name in kwargs:
            found[argument.name] = kwargs[argument.name]
        elif argument.has_default_value():
            found[argument.name] = argument.default_value
    return found


class Converter:
    """Turns the nodes of one graph into terms, in the graph's order.

    Args:
        terms: node -> its term; placeholders are put there before. Results of several tensors are
            lists of terms.
    """

    def __init__(self, terms: dict[Any, Any], *, of_model: bool = True) -> None:
        self.terms = terms
        self.of_model = of_model

    def convert(self, node: Any) -> Any:
        """Return the term of a node (a list of them for several results), and keep it."""
        result = self._term(node)
        if self.of_model and isinstance(result, Term):
            if result.value is not None or result.kind == CONST:
                result = alias(result)
            result.value = node
        self.terms[node] = result
        return result

    def _term(self, node: Any) -> Any:
        if node.op == "get_attr":
            return leaf()
        if node.op != "call_function":
            return leaf()
        if node.target is operator.getitem:
            source = self.terms.get(node.args[0])
            if isinstance(source, list) and isinstance(node.args[1], int):
                return source[node.args[1]]
            return leaf()
        if not isinstance(node.target, OpOverload) or node.target._schema.is_mutable:
            return leaf()
        if _is_random(node.target) or _has_symbols(node):
            return leaf()
        # A detached tensor has no gradient: it is not the value that a formula goes on with.
        if packet_name(node.target) in ("detach", "detach_copy") and self.of_model:
            return leaf()
        values = bound_arguments(node.target, node.args, node.kwargs)
        fakes = {k: v.meta.get("val") for k, v in values.items() if isinstance(v, Node)}
        terms = {k: self._operand(v) for k, v in values.items()}
        return self.of_call(Arguments(node.target, terms, node.meta.get("val"), fakes), node)

    def _operand(self, value: Any) -> Any:
        if isinstance(value, Node):
            return self.terms[value]
        if isinstance(value, (list, tuple)) and any(isinstance(v, Node) for v in value):
            return [self.terms[v] if isinstance(v, Node) else v for v in value]
        return value

    def of_call(self, a: Arguments, node: Any) -> Any:
        """Return the term of a call of an operator."""
        name = packet_name(a.target)
        if name in _SPLITS:
            listed = parts(a)
            if listed is not None:
                return listed
        result = self._simple(a, name)
        if result is not None:
            return result
        if name == "dropout":
            return leaf()
        if _decomposes(a.target):
            inner = decomposed(node)
            if inner is not None:
                return self._inlined(inner, node)
        return self._plain_call(a, name)

    def _simple(self, a: Arguments, name: str) -> Term | None:
        fake = a.fake
        if name in _FILLED and isinstance(fake, torch.Tensor):
            value = {"zeros": 0.0, "zeros_like": 0.0, "ones": 1.0, "ones_like": 1.0}.get(name)
            if value is None:
                given = a.values.get("fill_value", a.values.get("s"))
                value = float(given) if given is not None and is_number(given) else None
            return None if value is None else constant(value)
        source = a.values.get("self")
        before = a.fakes.get("self")
        if not isinstance(fake, torch.Tensor):
            return None
        if isinstance(source, Term) and before is not None:
            if name == "dropout" and (a.values.get("train") is False or a.values.get("p") == 0):
                return alias(source, "dropout")
            if name in _VIEWS and _same_elements(name, before.shape, fake.shape):
                return alias(source, name)
            if name in _CASTS:
                if before.dtype == fake.dtype:
                    return alias(source, "copy")
                floats = before.dtype.is_floating_point and fake.dtype.is_floating_point
                return alias(source, "cast") if floats else call("cast", (source,), (fake.dtype,))
        elif not is_number(source):  # `1 - x` is decomposed to sub(1, x)
            return None
        rule = RULES.get(name)
        if rule is None or (not fake.dtype.is_floating_point and name not in ANY_DTYPE):
            return None
        return rule(a)

    def _plain_call(self, a: Arguments, name: str) -> Any:
        children: list[Term] = []
        parameters: list[Any] = []
        ranks = [f.dim() for f in a.fakes.values() if isinstance(f, torch.Tensor)]
        for argument in a.target._schema.arguments:
            value = a.values.get(argument.name)
            kind = str(argument.type)
            if isinstance(value, Term):
                children.append(value)
            elif isinstance(value, list) and value and all(isinstance(v, Term) for v in value):
                children += value
            elif value is not None and is_number(value) and "number" in kind:
                children.append(constant(float(value)))
            elif argument.name in _AXES and ranks and isinstance(value, (int, list, tuple)):
                parameters.append(axes_of(value, ranks[0]))
            elif isinstance(value, (list, tuple)):
                parameters.append(tuple(value) if not any(map(_is_term, value)) else len(value))
            elif argument.name not in ("memory_format", "layout", "device", "pin_memory"):
                parameters.append(value)
        if isinstance(a.fake, (tuple, list)):
            return [
                call(f"{name}.{i}", tuple(children), tuple(parameters)) for i in range(len(a.fake))
            ]
        return _folded(name, children) or call(name, tuple(children), tuple(parameters))

    def _inlined(self, module: Any, node: Any) -> Any:
        inner: dict[Any, Any] = {}
        converter = Converter(inner, of_model=False)
        given = iter(_tensor_nodes(node))
        for step in module.graph.nodes:
            if step.op == "placeholder":
                inner[step] = self.terms[next(given)]
            elif step.op == "output":
                result = step.args[0]
                several = isinstance(node.meta.get("val"), (tuple, list))
                terms = [inner[r] if r is not None else leaf() for r in result]
                return terms if several else terms[0]
            elif step.op == "get_attr":
                inner[step] = _constant_of(getattr(module, str(step.target), None))
            else:
                converter.convert(step)
        return leaf()


def _folded(name: str, children: list[Term]) -> Term | None:
    """Return what a call on numbers gives: PyTorch's decompositions choose branches by them."""
    bare = [child.bare() for child in children]
    if name == "where" and len(bare) == 3 and bare[0].kind == CONST:
        return alias(children[1 if bare[0].number else 2])
    function = _OF_NUMBERS.get(name)
    if function is None or not bare or any(term.kind != CONST for term in bare):
        return None
    return constant(float(function(*(term.number for term in bare))))


def _is_term(value: Any) -> bool:
    return isinstance(value, Term)


def _constant_of(value: Any) -> Term:
    if isinstance(value, torch.Tensor) and value.numel() == 1 and not _is_fake(value):
        return constant(float(value))
    return leaf()


def _is_fake(value: Any) -> bool:
    return isinstance(value, torch._subclasses.fake_tensor.FakeTensor)


def _is_random(target: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in target.tags and packet_name(target) != "dropout"


def _has_symbols(node: Any) -> bool:
    values = [n.meta.get("val") for n in (*node.all_input_nodes, node)]
    for value in torch.utils._pytree.tree_leaves(values):
        if isinstance(value, (torch.SymInt, torch.SymFloat)):
            return True
        if isinstance(value, torch.Tensor) and any(
            isinstance(n, torch.SymInt) for n in (*value.shape, *value.stride())
        ):
            return True
    return False


def _same_elements(name: str, before: Sequence[int], after: Sequence[int]) -> bool:
    """Whether a view only adds or removes axes of size 1 (or repeats along them)."""
    if name not in _SAME_SHAPE_ONLY:
        return True
    return [n for n in before if n != 1] == [n for n in after if n != 1]


@functools.lru_cache(maxsize=4096)
def _decomposes(target: Any) -> bool:
    if target.namespace != "aten":
        return False
    composite = torch._C._dispatch_has_kernel_for_dispatch_key(
        target.name(), "CompositeImplicitAutograd"
    )
    return bool(composite) or target in decompositions()


def _tensor_nodes(node: Any) -> list[Any]:
    """Return the nodes among the arguments of a node whose values are tensors, as often as used."""
    leaves = torch.utils._pytree.tree_leaves((node.args, node.kwargs))
    return [v for v in leaves if isinstance(v, Node)]


_graphs: dict[Any, Any] = {}


def decomposed(node: Any) -> Any:
    """Return the graph that PyTorch's tables decompose one call into; None where they do not.

    Its placeholders are the node's tensors, in order, and its output is a list.
    """
    leaves, spec = torch.utils._pytree.tree_flatten((node.args, node.kwargs))
    fakes = [v.meta.get("val") if isinstance(v, Node) else v for v in leaves]
    if any(isinstance(v, (tuple, list)) for v in fakes):
        return None
    key = (node.target, spec, tuple(_described(v) for v in fakes))
    if key not in _graphs:
        _graphs[key] = _decompose(node.target, spec, leaves, fakes)
    return _graphs[key]


def _described(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return (tuple(value.shape), tuple(value.stride()), value.dtype)
    return (type(value), value)


def _decompose(target: Any, spec: Any, leaves: list[Any], fakes: list[Any]) -> Any:
    from torch.fx.experimental.proxy_tensor import make_fx

    places = [i for i, v in enumerate(leaves) if isinstance(v, Node)]

    def run(*tensors: Any) -> list[Any]:
        filled = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            filled[place] = tensor
        args, kwargs = torch.utils._pytree.tree_unflatten(filled, spec)
        result = target(*args, **kwargs)
        return list(result) if isinstance(result, (tuple, list)) else [result]

    mode = torch._subclasses.fake_tensor.FakeTensorMode()
    try:
        with torch.no_grad(), mode, quiet_attempts():
            tensors = [
                torch.empty_strided(fakes[i].shape, fakes[i].stride(), dtype=fakes[i].dtype)
                for i in places
            ]
            functional = torch.func.functionalize(run, remove="mutations")
            module = make_fx(functional, decomposition_table=decompositions())(*tensors)
            without_mutations(module.graph)
    except Exception:  # no decomposition at these arguments: the call stays what it is
        return None
    calls = [n for n in module.graph.nodes if n.op == "call_function"]
    if len(calls) == 1 and calls[0].target is target:
        return None
    if any(isinstance(n.target, OpOverload) and n.target._schema.is_mutable for n in calls):
        return None
    return module
