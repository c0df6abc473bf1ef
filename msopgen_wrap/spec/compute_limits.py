"""Bounds on what running ``compute`` may take: integers, lists, calls, elements.

The allow-list keeps code from reaching anything, but code that only computes can still run for ever
or fill the memory: ``n = n * n`` repeated, ``a = a + a``, ``x = x[:, None] * x``. Values of Python
are bounded where the rewritten code makes them; tensors where torch is called.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable
from typing import Any

from msopgen_wrap.spec.torch_names import BOUNDED_FUNCTIONS, words

MAX_BITS = 64
MAX_ITEMS = 1024  # of a list or tuple, with what is in those inside it
MAX_TEXT = 4096
MAX_STEPS = 256  # of a loop
MAX_SIZE_STEPS = 1 << 13  # of a loop over an axis of a tensor
MAX_DIGITS = 400
MAX_CALLS = 8192  # of torch functions in one run
# Elements of one result, and of all results; larger inputs raise both.
MAX_ELEMENTS = 1 << 24
MAX_TOTAL = 1 << 26
_GROWTH = 1 << 12
_FLOPS_PER_ELEMENT = 32
_PRODUCTS = {"mm": 0, "bmm": 0, "addmm": 1, "baddbmm": 1}

# Functions whose results have no more elements than the product of all sizes and numbers given.
# What others make (combinations, diag_embed, arange with a small step) is found out beforehand.
_BY_PRODUCT = BOUNDED_FUNCTIONS | words(
    """addmm bmm broadcast_to cat chunk concat contiguous cumsum detach double embedding expand
    expand_as flatten float gelu glu group_norm half int is_floating_point layer_norm linear
    log_softmax long matmul mm movedim narrow numel permute relu repeat reshape rms_norm rsub
    select silu size softmax split squeeze stack sum_to_size swapaxes t tensor to transpose type_as
    unbind unsqueeze view view_as where __get__ __getitem__ __iter__ __len__ dim"""
)


class LimitError(ArithmeticError):
    """``compute`` would take more than its bounds allow."""


# ---- values of Python ----


def bounded(value: Any) -> Any:
    """Return ``value``; raises LimitError for an integer, list or text past its bound."""
    if type(value) is int:
        if value.bit_length() > MAX_BITS:
            raise LimitError(f"an integer of compute does not fit {MAX_BITS} bits")
    elif isinstance(value, str):
        if len(value) > MAX_TEXT:
            raise LimitError(f"a text of compute is longer than {MAX_TEXT} characters")
    elif isinstance(value, (list, tuple)) and _count(value) > MAX_ITEMS:
        raise LimitError(f"a list of compute has more than {MAX_ITEMS} items")
    return value


def _count(value: list[Any] | tuple[Any, ...]) -> int:
    """Items of a list and of the lists inside it; every part was bounded when it was made."""
    if len(value) > MAX_ITEMS:
        return len(value)
    total = len(value)
    for item in value:
        if type(item) in (list, tuple):
            total += _count(item)
            if total > MAX_ITEMS:
                break
    return total


def add(left: Any, right: Any) -> Any:
    """``left + right`` of lists, texts and integers within their bounds."""
    if isinstance(left, (list, tuple, str)) and isinstance(right, (list, tuple, str)):
        longest = MAX_TEXT if isinstance(left, str) else MAX_ITEMS
        if len(left) + len(right) > longest:
            raise LimitError(f"joining makes more than {longest} items")
    return bounded(left + right)


def multiply(left: Any, right: Any) -> Any:
    """``left * right``; lists and texts cannot be repeated."""
    if isinstance(left, (list, tuple, str)) or isinstance(right, (list, tuple, str)):
        raise TypeError("a list cannot be repeated with '*'")
    return bounded(left * right)


def power(base: Any, exponent: Any) -> Any:
    """``base ** exponent``; integers within their bound."""
    whole = type(base) is int and type(exponent) is int and exponent > 1
    if whole and (base.bit_length() - 1) * exponent > MAX_BITS:
        raise LimitError(f"{base} ** {exponent} does not fit {MAX_BITS} bits")
    return bounded(base**exponent)


def shift(value: Any, count: Any) -> Any:
    """``value << count``; integers within their bound."""
    if type(value) is int and type(count) is int and value.bit_length() + count > MAX_BITS:
        raise LimitError(f"{value} << {count} does not fit {MAX_BITS} bits")
    return value << count


def steps(*ends: Any) -> range:
    """``range()`` of a loop; raises LimitError for more steps than a loop may have."""
    counted = range(*ends)
    if len(counted) > MAX_STEPS:
        raise LimitError(f"a loop of compute has more than {MAX_STEPS} steps")
    return counted


def rounded(value: Any, digits: Any = None) -> Any:
    """``round()``; with many digits Python would compute a power of ten as large."""
    if digits is None:
        return round(value)
    if type(digits) is int and abs(digits) > MAX_DIGITS:
        raise LimitError(f"round() to {digits} digits")
    return round(value, digits)


# ---- tensors ----


def watch(torch: Any, inputs: Iterable[Any]) -> Any:
    """Return a context in which torch's functions are bounded.

    Args:
        torch: the module.
        inputs: the tensors (or lists of them) that ``compute`` gets; large ones raise the bounds.

    Raises (inside):
        LimitError: too many calls, or a result of too many elements, before it is made.
    """
    given = sum(t.numel() for t in _tensors(torch, list(inputs)))
    largest = max(MAX_ELEMENTS, _GROWTH * given)
    budget = max(MAX_TOTAL, 4 * _GROWTH * given)

    class Watch(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0
            self.total = 0

        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            name = getattr(func, "__name__", "")
            kwargs = kwargs or {}
            if name == "__get__":  # a property such as shape
                return func(*args, **kwargs)
            self.calls += 1
            if self.calls > MAX_CALLS:
                raise LimitError(f"compute calls more than {MAX_CALLS} functions of torch")
            values = [*args, *kwargs.values()]
            _check_pieces(torch, name, args, kwargs)
            if name not in _BY_PRODUCT or _estimate(torch, values) > MAX_ELEMENTS:
                self._weigh(func, name, args, kwargs)
            result = func(*args, **kwargs)
            self._add(sum(t.numel() for t in _tensors(torch, result)))
            return result

        def _weigh(self, func: Any, name: str, args: Any, kwargs: Any) -> None:
            """Run the call on tensors without data, and look at all that it makes."""
            sizes = _sizes_of(torch, func, args, kwargs)
            if sizes is None:
                return
            if max(sizes, default=0) > largest:
                raise LimitError(f"{name}() would make a tensor of {max(sizes)} elements")
            if self.total + sum(sizes) > budget:
                raise LimitError(f"{name}() would make compute's work larger than its bound")

        def _add(self, count: int) -> None:
            self.total += count
            if self.total > budget:
                raise LimitError(f"compute makes tensors of {self.total} elements altogether")

    return Watch()


def _tensors(torch: Any, value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in _tensors(torch, item)]
    return []


def _estimate(torch: Any, values: list[Any]) -> float:
    """No result has more elements than the product of all sizes and numbers given."""
    total = 1.0
    for value in values:
        if isinstance(value, torch.Tensor):
            total *= max(1, value.numel())
        elif type(value) in (int, float):  # not the attrs that tracing follows: asking changes them
            total *= max(1.0, abs(value)) if math.isfinite(value) else 1.0
        elif isinstance(value, (list, tuple)):
            total *= _estimate(torch, list(value)) * max(1, len(value))
        if total > 1e30:
            break
    return total


def _check_pieces(torch: Any, name: str, args: Any, kwargs: Any) -> None:
    """Bound the number of tensors that one call may cut a tensor into."""
    if name not in ("unbind", "split", "__iter__") or not args:
        return
    tensor = args[0]
    if not isinstance(tensor, torch.Tensor) or not tensor.dim():
        return
    rest = list(args[1:])
    size = 1
    if name == "split":
        size = kwargs.get("split_size_or_sections", kwargs.get("split_size"))
        size = rest.pop(0) if rest and size is None else size
    dim = kwargs.get("dim", rest[0] if rest else 0)
    if type(size) is int and type(dim) is int and -tensor.dim() <= dim < tensor.dim():
        pieces = -(-tensor.shape[dim] // max(1, size))
        if pieces > MAX_ITEMS:
            raise LimitError(f"{name}() would make {pieces} tensors")


def _sizes_of(torch: Any, func: Callable[..., Any], args: Any, kwargs: Any) -> list[int] | None:
    """Return the elements of every tensor a call makes inside; None when it cannot be told."""
    dispatch = torch.utils._python_dispatch
    sizes: list[int] = []

    class Sizes(dispatch.TorchDispatchMode):  # type: ignore[misc, name-defined]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            result = func(*args, **(kwargs or {}))
            count = sum(t.numel() for t in _tensors(torch, result))
            sizes.append(count)
            first = _PRODUCTS.get(str(func.overloadpacket.__name__))
            if first is not None:  # a product's time is not in its size
                count = min(count, MAX_ELEMENTS) * args[first].shape[-1] // _FLOPS_PER_ELEMENT
                sizes.extend([MAX_ELEMENTS] * (count // MAX_ELEMENTS))
            return result

    def bare(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return torch.empty_strided(
                value.shape, value.stride(), dtype=value.dtype, device="meta"
            )
        if isinstance(value, (list, tuple)):
            items = [bare(item) for item in value]
            return tuple(items) if isinstance(value, tuple) else items
        return value

    try:
        with dispatch._disable_current_modes(), torch.device("meta"):
            plain = [bare(a) for a in args]
            named = {k: bare(v) for k, v in kwargs.items() if k != "device"}
            with Sizes():
                func(*plain, **named)
    except LimitError:
        raise
    except Exception:
        return None if sizes == [] else sizes
    return sizes


# ---- code --------------------------------------------------------------------------------------


def _test(condition: Any) -> Any:
    return condition


def require(condition: Any, text: str) -> None:
    """Run an assertion of ``compute``; what it raises is an error of the tensors, not of opgen."""
    if not condition:
        raise ValueError(f"compute needs {text}")


def require_equal(left: Any, right: Any, text: str) -> None:
    """Run an assertion that two numbers, or two lists of them, are equal."""
    require(left == right, text)


def append(items: list[Any], item: Any) -> None:
    """``items.append(item)``, one item per step of a loop at most; lists of lists do not grow."""
    if isinstance(item, (list, tuple)):
        raise TypeError("append() takes a tensor or a number, not a list")
    if len(items) >= MAX_SIZE_STEPS:
        raise LimitError(f"a list of compute gets more than {MAX_SIZE_STEPS} items")
    items.append(item)


def appended(node: ast.Expr) -> tuple[ast.Name, ast.expr] | None:
    """Return name and item of a statement ``name.append(item)``; None for any other one."""
    call = node.value
    method = call.func if isinstance(call, ast.Call) and not call.keywords else None
    if not isinstance(method, ast.Attribute) or not isinstance(method.value, ast.Name):
        return None
    assert isinstance(call, ast.Call)
    if method.attr != "append" or len(call.args) != 1 or isinstance(call.args[0], ast.Starred):
        return None
    return method.value, call.args[0]


# What rewritten code calls, by the names that it has there; ``round`` is a name of its own.
HELPERS: dict[str, Callable[..., Any]] = {
    "__opgen_test": _test,
    "__opgen_require": require,
    "__opgen_require_equal": require_equal,
    "__opgen_pow": power,
    "__opgen_shift": shift,
    "__opgen_mul": multiply,
    "__opgen_add": add,
    "__opgen_items": bounded,
    "__opgen_append": append,
    "__opgen_steps": steps,
}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Pow: "__opgen_pow",
    ast.LShift: "__opgen_shift",
    ast.Mult: "__opgen_mul",
    ast.Add: "__opgen_add",
}


class Rewriter(ast.NodeTransformer):
    """Make ``a op= b`` an assignment (in-place operators would write the caller's tensors).

    Args:
        guards: whether to call ``HELPERS`` where values are made and where conditions are read.
    """

    def __init__(self, guards: bool) -> None:
        self.guards = guards

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        target = node.target
        assert isinstance(target, ast.Name)
        load = ast.copy_location(ast.Name(target.id, ast.Load()), node)
        value = ast.copy_location(ast.BinOp(load, node.op, node.value), node)
        return ast.copy_location(ast.Assign([target], self.visit(value)), node)

    def test(self, node: ast.expr) -> ast.expr:
        """Hand a condition to a helper: a tracer must know that code branches on a symbol."""
        if not self.guards:
            return node
        call = ast.Call(ast.Name("__opgen_test", ast.Load()), [node], [])
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        node.test = self.test(node.test)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        called = node.iter.func if isinstance(node.iter, ast.Call) else None
        if self.guards and isinstance(called, ast.Name) and called.id == "range":
            assert isinstance(node.iter, ast.Call)
            node.iter = self._call("__opgen_steps", node.iter, *node.iter.args)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.generic_visit(node)
        added = appended(node)
        if self.guards and added is not None:
            node.value = self._call("__opgen_append", node.value, *added)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST | list[ast.stmt]:
        """Hand each comparison of an assertion to a helper, with what to say where it fails."""
        if not self.guards:
            self.generic_visit(node)
            return node
        said = f" ({node.msg.value!s})" if isinstance(node.msg, ast.Constant) else ""
        calls: list[ast.stmt] = []
        for part in _comparisons(node.test):
            text = ast.Constant(f"{ast.unparse(part)}{said}")
            visited = self.visit(part)
            equal = isinstance(visited, ast.Compare) and isinstance(visited.ops[0], ast.Eq)
            sides = (visited.left, *visited.comparators) if equal else (visited,)
            name = "__opgen_require_equal" if equal else "__opgen_require"
            call = self._call(name, part, *sides, text)
            calls.append(ast.copy_location(ast.Expr(call), node))
        return calls

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        node.test = self.test(node.test)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        node.values = [self.test(value) for value in node.values]
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            node.operand = self.test(node.operand)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        node.ifs = [self.test(condition) for condition in node.ifs]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = _OPERATORS.get(type(node.op))
        if not self.guards or name is None or _is_number(node.left, node.right):
            return node
        return self._call(name, node, node.left, node.right)

    def _call(self, name: str, node: ast.expr, *arguments: ast.expr) -> ast.expr:
        call = ast.Call(ast.Name(name, ast.Load()), list(arguments), [])
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        node.value = self.visit(node.value)
        if isinstance(node.slice, ast.Tuple):  # an index is no list: it may hold slices
            node.slice.elts = [self.visit(element) for element in node.slice.elts]
        else:
            node.slice = self.visit(node.slice)
        return node

    def _items(self, node: ast.List | ast.Tuple | ast.ListComp) -> ast.AST:
        self.generic_visit(node)
        if not self.guards or isinstance(getattr(node, "ctx", None), ast.Store):
            return node
        return self._call("__opgen_items", node, node)

    visit_List = visit_Tuple = visit_ListComp = _items


def _comparisons(test: ast.expr) -> list[ast.expr]:
    """Return the conditions that an assertion joins: ``a and b``, ``0 < a < b``."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return [part for value in test.values for part in _comparisons(value)]
    if not isinstance(test, ast.Compare):
        return [test]
    sides = [test.left, *test.comparators]
    return [
        ast.copy_location(ast.Compare(left, [op], [right]), left)
        for left, op, right in zip(sides, test.ops, sides[1:], strict=False)
    ]


def _is_number(*nodes: ast.AST) -> bool:
    return any(isinstance(n, ast.Constant) and isinstance(n.value, float) for n in nodes)
