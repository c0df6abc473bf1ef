"""What stands in a trace instead of what PyTorch would record.

*Composites.* ``F.pad`` in circular mode writes into views of an empty tensor;
``F.gaussian_nll_loss`` looks at the values of a tensor first; ``F.linear`` and
``F.local_response_norm`` join axes; ``torch.einsum`` joins the axes of an ellipsis;
``torch.linspace`` takes a size as a plain number; ``F.embedding_bag`` is one operator. No
decomposition table reaches them: tracing takes what stands here instead.

*Symbolic indices.* Of an index such as ``x[:, n]`` torch takes plain numbers only. A list of a few
numbers (``x[[0, 2]]``), or several (``x[[0, 2], [1, 1]]``), would become tensors of indices; the
elements are taken one by one.

*Mutations.* PyTorch's own composite operators write temporaries in place (``rms_norm``:
``mean(...).add_(eps)``) and tracing records that. Where the written tensor is a temporary of the
graph that nothing else sees, the operator and its functional form are the same computation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msopgen_wrap.graph.bags import bag_functions
from msopgen_wrap.graph.convolutions import convolution_functions
from msopgen_wrap.graph.counting import counting_functions
from msopgen_wrap.graph.differentiated import DIFFERENTIATED, attention, padded, power
from msopgen_wrap.graph.differentiated_losses import gaussian_nll_loss
from msopgen_wrap.graph.ellipses import ellipsis_functions
from msopgen_wrap.graph.even_steps import even_step_functions
from msopgen_wrap.graph.index_decompositions import index_functions
from msopgen_wrap.graph.placement import join
from msopgen_wrap.graph.quantiles import quantile_functions
from msopgen_wrap.graph.resampling import interpolate_functions
from msopgen_wrap.graph.size_loops import Rows, has_counter, sliced
from msopgen_wrap.graph.windows import window_functions
from msopgen_wrap.torch_import import torch

# Parts of torch come after its door.
# isort: split
from torch.overrides import TorchFunctionMode

functional = torch.nn.functional


def _pad(x: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    # PyTorch pads all axes behind the channels, with a batch before these or without one
    if any(isinstance(n, torch.SymInt) for n in pad):
        return padded(x, pad, mode)
    if mode != "circular" or len(pad) not in (2 * (x.dim() - 2), 2 * (x.dim() - 1)):
        return NotImplemented
    if not all(type(n) is int and n >= 0 for n in pad):
        return NotImplemented
    for position in range(len(pad) // 2):
        dim = x.dim() - 1 - position
        before, after = pad[2 * position], pad[2 * position + 1]
        size = x.shape[dim]
        torch._check(size >= max(before, after), lambda: "padding wraps around more than once")
        pieces = [x]
        if before:
            pieces.insert(0, x.narrow(dim, size - before, before))
        if after:
            pieces.append(x.narrow(dim, 0, after))
        x = join(pieces, dim)
    return x


def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    # PyTorch's own adds the bias to rows whose axes are joined, which differ from rank to rank
    if weight.dim() != 2:
        return NotImplemented
    product = torch.matmul(x, weight.t())
    return product if bias is None else product + bias


def _pixel_shuffle(x: Any, upscale_factor: Any) -> Any:
    # PyTorch's own takes numbers for symbols, and does not say what divides the channels
    n = upscale_factor
    if x.dim() < 3:
        return NotImplemented
    *before, channels, high, wide = x.shape
    torch._check(channels % (n * n) == 0, lambda: "the factor's square divides the channels")
    blocks = x.reshape(*before, channels // (n * n), n, n, high, wide)
    order = (*range(len(before)), *(len(before) + axis for axis in (0, 3, 1, 4, 2)))
    return blocks.permute(order).reshape(*before, channels // (n * n), high * n, wide * n)


def _local_response_norm(
    x: Any, size: Any, alpha: Any = 1e-4, beta: Any = 0.75, k: Any = 1.0
) -> Any:
    # PyTorch's own joins axes and takes an average over windows of padded channels
    if x.dim() < 3 or type(size) is not int or not 1 <= size <= _MOST_LISTED:
        return NotImplemented
    margins = [0, 0] * (x.dim() - 2) + [size // 2, (size - 1) // 2]
    squares = functional.pad(x * x, margins)
    channels = [squares.narrow(1, first, x.shape[1]) for first in range(size)]
    base = sum(channels[1:], channels[0]) / size * alpha + k
    return x / (power if isinstance(beta, torch.SymFloat) else torch.pow)(base, beta)


def _tanhshrink(x: Any) -> Any:
    # next to 0 the difference of x and its tangent keeps few digits; there, its series
    if not x.is_floating_point():
        return NotImplemented
    square = x * x
    series = 17 / 315 - 62 / 2835 * square
    series = x * square * (1 / 3 - square * (2 / 15 - square * series))
    return torch.where(torch.abs(x) < 0.25, series, x - torch.tanh(x))


def _chunk(x: Any, chunks: Any, dim: Any = 0) -> Any:
    # for all steps of a loop PyTorch takes the sizes of the sample
    levels = torch._C._functorch.get_interpreter_stack() or []
    if not any(level.key() == torch._C._functorch.TransformType.Vmap for level in levels):
        return NotImplemented
    total = x.shape[dim]
    size = (total + chunks - 1) // chunks
    return x.split_with_sizes([*[size] * (chunks - 1), total - size * (chunks - 1)], dim)


def _attention(*args: Any, **kwargs: Any) -> Any:
    # PyTorch takes the square root of the number that a symbol has in the sample
    if not isinstance(kwargs.get("scale"), torch.SymFloat):
        return NotImplemented
    return attention(*args, **kwargs)


def _cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: Any = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: Any = 0.0,
) -> Any:
    # PyTorch asks whether a number smooths, for which it takes the sample's
    symbolic = isinstance(label_smoothing, torch.SymFloat)
    if not symbolic or any(a is not None for a in (weight, size_average, reduce)):
        return NotImplemented
    axis = 1 if input.dim() > 1 else 0
    logs, classes = torch.log_softmax(input, axis), input.shape[axis]
    share, kept = label_smoothing / classes, 1 - label_smoothing
    if target.is_floating_point():
        smooth = target * kept + share
        return functional.cross_entropy(input, smooth, reduction=reduction)
    hit = functional.nll_loss(logs, target, None, None, ignore_index, None, reduction)
    ignored = target == ignore_index
    rest = torch.where(ignored, 0.0, -logs.sum(axis))
    if reduction == "mean":
        rest = rest.sum() / torch.where(ignored, 0.0, 1.0).sum()
    elif reduction == "sum":
        rest = rest.sum()
    return hit * kept + rest * share


# Numbers of a list in brackets, and channels of a sum, that are taken one by one.
_MOST_LISTED = 16

_REPLACED: dict[Any, Callable[..., Any]] = {
    torch.chunk: _chunk,
    torch.Tensor.chunk: _chunk,
    functional.linear: _linear,
    functional.local_response_norm: _local_response_norm,
    functional.cross_entropy: _cross_entropy,
    functional.pad: _pad,
    functional.pixel_shuffle: _pixel_shuffle,
    torch.pixel_shuffle: _pixel_shuffle,
    functional.scaled_dot_product_attention: _attention,
    functional.tanhshrink: _tanhshrink,
    functional.gaussian_nll_loss: gaussian_nll_loss(lambda var, least: var.clamp(min=least)),
    **bag_functions(),
    **counting_functions(),
    **ellipsis_functions(),
    **even_step_functions(),
    **quantile_functions(),
}


class Composites(TorchFunctionMode):
    """Run ``compute`` with the functions of ``_REPLACED`` in place of PyTorch's.

    Args:
        differentiated: whether PyTorch differentiates it: also those of ``differentiated.py``.
        first: functions that are looked up before, with what stands in their place.
    """

    def __init__(
        self, differentiated: bool = False, first: dict[Any, Callable[..., Any]] | None = None
    ) -> None:
        super().__init__()
        own = {**window_functions(differentiated), **index_functions(differentiated)}
        if differentiated:
            own = {**own, **convolution_functions(), **DIFFERENTIATED}
        self.replaced = {**_REPLACED, **own, **interpolate_functions(own, differentiated)}
        self.first = first or {}

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call a function, or what replaces it for such arguments."""
        for table in (self.first, self.replaced):
            replaced = table.get(func)
            result = replaced(*args, **(kwargs or {})) if replaced is not None else NotImplemented
            if result is not NotImplemented:
                return result
        return func(*args, **(kwargs or {}))


class SymbolicIndices(TorchFunctionMode):
    """Selects from the rest of the index where an element of it is a symbolic integer.

    Slices at the counter of a loop, and lists that its steps append to, are those of the loop.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run a call of torch; an index with symbols becomes slices and ``select``."""
        if func in (torch.stack, torch.cat) and isinstance(_first(args, kwargs), Rows):
            return _joined(func, *args, **(kwargs or {}))
        if func in (torch.select, torch.Tensor.select) and has_counter(args[2:]):
            axis = args[1] % args[0].dim()
            return sliced(args[0], (*[slice(None)] * axis, args[2]))
        if func is torch.Tensor.__getitem__ and has_counter(args[1]):
            return sliced(args[0], args[1] if isinstance(args[1], tuple) else (args[1],))
        if func is torch.Tensor.__getitem__:
            index = args[1] if isinstance(args[1], tuple) else (args[1],)
            symbolic = any(isinstance(item, torch.SymInt) for item in index)
            if symbolic and not any(isinstance(i, (torch.Tensor, list, bool)) for i in index):
                return _selected(args[0], index)
            if _lists_numbers(index):
                return _listed(args[0], index)
            if any(_is_number_of_data(item) for item in index):
                return _at_numbers(args[0], index)
        return func(*args, **(kwargs or {}))


def _first(args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
    return args[0] if args else (kwargs or {}).get("tensors")


def _joined(func: Any, tensors: Rows, dim: int = 0) -> Any:
    """Return the items that a loop appends, stacked or joined."""
    return tensors.stack(dim) if func is torch.stack else tensors.cat(dim)


def _is_number_of_data(item: Any) -> bool:
    """Whether an item of an index is an integer tensor without axes."""
    tensor = isinstance(item, torch.Tensor) and not item.dim()
    return tensor and not item.is_floating_point() and item.dtype is not torch.bool


def _at_numbers(x: torch.Tensor, index: tuple[Any, ...]) -> torch.Tensor:
    """Return ``x[index]`` where items are integer tensors without axes.

    PyTorch reads such numbers while it traces; as tensors of one element they stay data.
    """
    others = [i for i in index if isinstance(i, (torch.Tensor, list)) and not _is_number_of_data(i)]
    found = x[tuple(i.reshape(1) if _is_number_of_data(i) else i for i in index)]
    if others:
        return found  # broadcasts with them
    places = [at for at, i in enumerate(index) if _is_number_of_data(i)]
    joined = places[-1] - places[0] == len(places) - 1
    if not joined:
        return found.select(0, 0)
    before = index[: places[0]]
    axis = sum(i is None or isinstance(i, slice) for i in before)
    if Ellipsis in before:
        rest = index[places[-1] + 1 :]
        axis = found.dim() - 1 - sum(i is None or isinstance(i, slice) for i in rest)
    return found.select(axis, 0)


def _lists_numbers(index: tuple[Any, ...]) -> bool:
    """Whether an index has lists of a few numbers, and whole axes or slices besides."""
    lists = [i for i in index if isinstance(i, list)]
    lengths = {len(numbers) for numbers in lists} - {1}
    if not lists or len(lengths) > 1 or not all(0 < n <= _MOST_LISTED for n in lengths):
        return False
    others = all(i is None or i is Ellipsis or isinstance(i, (slice, list)) for i in index)
    return others and all(type(n) is int for numbers in lists for n in numbers)


def _listed(x: torch.Tensor, index: tuple[Any, ...]) -> torch.Tensor:
    """Return ``x[index]`` as the elements that the lists in it name, one behind the other.

    The indices are known: no tensor of them is read.
    """
    result = x[tuple(slice(None) if isinstance(i, list) else i for i in index)]
    places = [p for p, i in enumerate(index) if isinstance(i, list)]
    count = max(len(index[p]) for p in places)
    axes = []
    for place in places:
        ellipsis = any(i is Ellipsis for i in index[:place])
        axes.append(result.dim() - (len(index) - place) if ellipsis else place)
    sizes = [result.shape[axis] for axis in axes]
    pieces = []
    for at in range(count):
        piece = result
        for place, axis, size in reversed(list(zip(places, axes, sizes, strict=True))):
            numbers = index[place]
            number = numbers[at if len(numbers) > 1 else 0]
            torch._check(-size <= number, lambda: "an index in brackets is out of bounds")
            torch._check(number < size, lambda: "an index in brackets is out of bounds")
            first = number if number >= 0 else size + number
            # one axis stays for all lists
            piece = piece.narrow(axis, first, 1) if axis == axes[0] else piece.select(axis, first)
        pieces.append(piece)
    joined = join(pieces, axes[0])
    # with axes between them, what lists choose comes first
    adjacent = places[-1] - places[0] == len(places) - 1
    return joined if adjacent else joined.movedim(axes[0], 0)


def _selected(x: torch.Tensor, index: tuple[Any, ...]) -> torch.Tensor:
    """Return ``x[index]``; symbols take the whole axis first, then one element of it each."""
    result = x[tuple(slice(None) if isinstance(i, torch.SymInt) else i for i in index)]
    places: list[tuple[int, torch.SymInt]] = []
    axis = 0
    for position, item in enumerate(index):
        if item is Ellipsis:
            # what is behind it counts from the end
            behind = [i for i in index[position + 1 :] if _keeps_axis(i)]
            axis = result.dim() - len(behind)
            continue
        if isinstance(item, torch.SymInt):
            places.append((axis, item))
        axis += _keeps_axis(item)
    for place, symbol in reversed(places):
        result = result.select(place, symbol)
    return result


def _keeps_axis(item: Any) -> bool:
    """Whether the result of indexing has an axis for an element of the index."""
    return item is None or isinstance(item, (slice, torch.SymInt))


Graph = torch.fx.Graph
Node = torch.fx.Node


def without_mutations(graph: Graph) -> None:
    """Rewrite ``add_`` and the like, in place; what may be seen under another name is left."""
    for node in list(graph.nodes):
        functional = functional_form(node)
        if functional is None or not _is_private(node.args[0], node):
            continue
        written = node.args[0]
        with graph.inserting_before(node):
            new = graph.call_function(functional, node.args, node.kwargs)
        new.meta = dict(node.meta)
        node.replace_all_uses_with(new)
        # What reads the tensor from here on reads the new value.
        for user in _later(written, node):
            user.replace_input_with(written, new)
        graph.erase_node(node)


def functional_form(node: Node) -> Any:
    """Return what a node that writes is without its underscore, None where there is none."""
    target = node.target
    if node.op != "call_function" or not isinstance(target, torch._ops.OpOverload):
        return None
    name = target._schema.name.removeprefix("aten::")
    if not name.endswith("_") or name.startswith("__") or not target._schema.is_mutable:
        return None
    packet = getattr(torch.ops.aten, name.rstrip("_"), None)
    return getattr(packet, target._overloadname, None)


def _is_private(written: Any, at: Node) -> bool:
    """Whether only the node itself names the memory that it writes."""
    if not isinstance(written, Node) or written.op != "call_function" or _is_alias(written):
        return False
    return not any(_is_alias(user) for user in written.users if user is not at)


def _is_alias(node: Node) -> bool:
    """Whether the result shares memory with an argument."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return node.op == "call_function" and getattr(target, "__name__", "") == "getitem"
    return any(
        a.alias_info is not None and not a.alias_info.is_write for a in target._schema.arguments
    )


def _later(value: Node, place: Node) -> list[Node]:
    """Users of a value that come after a node."""
    found, node = [], place.next
    while node.op != "root":
        if value in node.all_input_nodes:
            found.append(node)
        node = node.next
    return found
