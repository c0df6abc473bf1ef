"""``backward: kernel``: the gradients of an op come from an op of the same package."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.families.gradients import with_chosen_saving
from msopgen_wrap.package.layout import build_local_vendor
from msopgen_wrap.project.tree import ProjectOptions, render_project
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import load_specs, parse_spec, with_gradients

from .packages import built_once, run_python

pytestmark = pytest.mark.slow

GATE = """
op: Gate
inputs:
  a: [float32, float16]
  b: a
outputs:
  y: broadcast(a, b)
compute: a * torch.sigmoid(b)
backward: kernel
"""
SHIFT = """
op: Shift
inputs:
  x: {dtype: float32, rank: [1, 8]}
  bias: {dtype: x, optional: true, shape: "[x[-1]]"}
outputs:
  y: like x
compute: torch.sin(x) if bias is None else torch.sin(x) * bias
backward: kernel
"""
# Where y is left out, its gradient is a number, and the kernel of that gradient reads nothing.
ADDED = """
op: Added
inputs:
  x: float32
  y: {dtype: x, optional: true}
outputs:
  z: broadcast(x, y)
compute: torch.sin(x) * 2 if y is None else torch.sin(x) * 2 + y
backward: kernel
"""
# The gradient is a broadcast; its op has no keepdim, and reads what keeps its axes.
AVERAGE = """
op: Average
inputs:
  x: {dtype: float32, rank: [1, 8]}
outputs:
  y: reduce(x, dim, keepdim)
attrs:
  dim: {type: list_int, default: [-1]}
  keepdim: false
compute: torch.mean(x, dim, keepdim)
backward: kernel
"""
# Rounding counts as the identity: what PyTorch derives is 0, what the spec writes is not.
ROUNDED = """
op: Rounded
inputs:
  x: [float32, float16]
  w: {dtype: x, optional: true}
outputs:
  y: broadcast(x, w)
compute: torch.round(x) if w is None else torch.round(x) * w
backward:
  kernel: true
  x: grad_y if w is None else grad_y * w
  w: |
    whole = torch.round(x)
    grad_w = grad_y * whole
"""
# Backward reads what forward has stored; the other statistics are computed again.
SAVED = """
op: Saved
inputs:
  x: {dtype: float32, rank: [1, 8]}
  gamma: {dtype: x, shape: "[x[-1]]"}
outputs:
  y: like x
  rstd: {dtype: float32, shape: "[*x[:-1], 1]"}
attrs:
  epsilon: 1e-6
compute: |
  rstd = torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon)
  y = x * rstd * gamma
backward: kernel
save: [rstd]
"""
# The derivative is a formula of the result: forward keeps that, as PyTorch does, and not x.
SQUASHED = """
op: Squashed
inputs:
  x: [float32, float16]
outputs:
  y: like x
attrs:
  slope: 1.5
compute: torch.sigmoid(x * slope)
backward: kernel
"""
# The derivative of the second output is infinite at 0; what uses the first one only is not.
ROOTS = """
op: Roots
inputs:
  x: float32
outputs:
  y: like x
  z: like x
compute: x * 2, torch.sqrt(x)
backward: kernel
"""
# No gradient reads x or y; that of the table reads the indices.
SUMMED = """
op: Summed
inputs:
  x: {dtype: [float32, float16], rank: [1, 8]}
  y: {dtype: x, optional: true}
outputs:
  z: broadcast(x, y)
attrs:
  alpha: 2.0
compute: x * alpha if y is None else x * alpha + y
backward: kernel
"""
LOOKED_UP = """
op: LookedUp
inputs:
  table: {dtype: float32, rank: 2}
  index: {dtype: int32, rank: [1, 3]}
outputs:
  y: {dtype: table, shape: "[*index, table[1]]"}
compute: F.embedding(index, table)
backward: kernel
"""
SCALED = """
op: Scaled
inputs:
  x: {dtype: float32, list: true}
outputs:
  y: {dtype: x, shape: like x, list: true}
compute: "[t * 3 for t in x]"
backward: kernel
"""
# What arrives at the gradient is a number for each tensor.
SQUARES = """
op: Squares
inputs:
  x: {dtype: float32, list: true}
outputs:
  y: {dtype: x, shape: "[]", list: true}
compute: "[t.square().sum() for t in x]"
backward: kernel
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_once(tmp_path_factory, "gradient-kernels", build_package)


def build_package(root: Path) -> None:
    # rms_norm has two results, and a gradient that is summed over all axes but the last one
    specs = load_specs([data_dir("op_specs") / "norm/rms_norm.yaml"])
    for text in (
        GATE,
        SHIFT,
        ADDED,
        AVERAGE,
        ROUNDED,
        SAVED,
        ROOTS,
        SUMMED,
        LOOKED_UP,
        SCALED,
        SQUARES,
        SQUASHED,
    ):
        spec = parse_spec(text).spec
        assert spec is not None
        specs += with_chosen_saving(with_gradients([spec]))
    names = ("RmsNorm", "Gate", "Shift", "Added", "Average", "Rounded", "Saved", "Roots")
    names += ("Summed", "LookedUp", "Scaled", "Squares", "Squashed")
    assert [s.op for s in specs] == [n for name in names for n in (name, f"{name}Grad")]
    for file in render_project(specs, ProjectOptions(vendor="gradv")):
        path = root / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
    build_local_vendor(root, specs, root / "local" / "gradv")


START = """
import ctypes, torch, gradv
def launches():  # of all ops: forward and backward
    count = ctypes.CDLL(gradv.library_path("gate")).opgen_launch_count
    count.restype = ctypes.c_uint64
    return count()
torch.ops.gradv.gate(torch.ones(1), torch.ones(1))  # loads the library
def norm(x, gamma, epsilon=1e-6):
    rstd = torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon)
    return x * rstd * gamma, rstd
def leaves(*shapes):
    return [torch.randn(shape, requires_grad=True) for shape in shapes]
def compare(op, want, inputs, outputs=None):
    results = op(*inputs), want(*(x.double() for x in inputs))
    results = [r if isinstance(r, tuple) else (r,) for r in results]
    weights = [torch.randn_like(y) for y in results[0]]
    got, expected = (
        torch.autograd.grad(
            sum((y * w).sum() for y, w in list(zip(ys, weights))[:outputs]),
            [x for x in inputs if x.requires_grad])
        for ys in results)
    for g, e in zip(got, expected):
        assert g.shape == e.shape, (g.shape, e.shape)
        torch.testing.assert_close(g, e, rtol=1e-4, atol=1e-4, check_dtype=False)
"""


def run(package: Path, code: str) -> None:
    run_python(package, START + code, ASCEND_CUSTOM_OPP_PATH=str(package / "local" / "gradv"))


def test_gradients_are_those_of_pytorch_at_every_rank_and_come_from_the_kernel(
    package: Path,
) -> None:
    run(
        package,
        """
op = torch.ops.gradv.rms_norm
compare(op, norm, leaves((3, 20), (20,)))
before = launches()
shapes = [(), (5,), (2, 3), (1, 2, 3), (2, 1, 2, 1), (1, 1, 2, 1, 2), (2, 1, 1, 1, 1, 2),
          (1, 2, 1, 1, 1, 1, 2)]
for shape in shapes:
    compare(op, norm, leaves((*shape, 33), (33,)))
compare(op, norm, leaves((4000, 7), (7,)))
compare(op, norm, leaves((3, 20000), (20000,)))
compare(op, norm, leaves((3, 20), (20,)), outputs=1)  # nobody uses rstd
assert launches() == before + 2 * (len(shapes) + 3)
""",
    )


def test_broadcast_inputs_get_gradients_of_their_own_shape(package: Path) -> None:
    run(
        package,
        """
op = torch.ops.gradv.gate
def gate(a, b): return a * torch.sigmoid(b)
cases = [((6, 8), (6, 8)), ((6, 8), (8,)), ((1,), (2, 3, 4)), ((2, 1, 4), (3, 1)), ((), (3,)),
         ((0, 4), (4,))]
compare(op, gate, leaves(*cases[0]))
before = launches()
for shapes in cases:
    compare(op, gate, leaves(*shapes))
x = torch.randn(5, requires_grad=True)
compare(op, gate, [x, torch.randn(5)])  # a gradient of one input only
a, = torch.autograd.grad(op(x, x).sum(), x)  # the same tensor twice
b, = torch.autograd.grad(gate(x, x).sum(), x)
torch.testing.assert_close(a, b)
compare(op, gate, [x.t() for x in leaves((6, 8), (6, 8))])
assert launches() == before + 2 * (len(cases) + 3)
""",
    )


def test_only_the_gradients_that_are_asked_for_are_computed(package: Path) -> None:
    run(
        package,
        """
from torch.utils._python_dispatch import TorchDispatchMode
class Sizes(TorchDispatchMode):  # of what the ops of the gradients give
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        if func.__name__.endswith("_grad.default"):
            self.seen = [tuple(g.shape) for g in found]
        return found
def sizes(op, inputs, *asked):
    for i, x in enumerate(inputs):
        if x is not None:
            x.requires_grad_(i in asked)
    with Sizes() as mode:
        results = op(*inputs)
        results = results if isinstance(results, tuple) else (results,)
        sum(y.sum() for y in results).backward()
    return mode.seen
gate, norm_op, shift = torch.ops.gradv.gate, torch.ops.gradv.rms_norm, torch.ops.gradv.shift
a, b = torch.randn(6, 8), torch.randn(6, 8)
assert sizes(gate, (a, b), 0, 1) == [(6, 8), (6, 8)]
assert sizes(gate, (a, b), 0) == [(6, 8), (0,)]
assert sizes(gate, (a, b), 1) == [(0,), (6, 8)]
x, gamma = torch.randn(5, 40), torch.randn(40)
assert sizes(norm_op, (x, gamma), 0) == [(5, 40), (0,)]
assert sizes(norm_op, (x, gamma), 1) == [(0,), (40,)]
assert sizes(shift, (x, None), 0) == [(5, 40), (0,)]
for asked in ([0], [1], [0, 1]):
    for op, want, shapes in (
        (gate, lambda a, b: a * torch.sigmoid(b), ((6, 8), (8,))),
        (norm_op, norm, ((7, 33), (33,))),
        (norm_op, norm, ((3000, 40), (40,))),
    ):
        before = launches()
        given = [torch.randn(s, requires_grad=i in asked) for i, s in enumerate(shapes)]
        compare(op, want, given)
        assert launches() == before + 2
""",
    )


def test_a_kernel_computes_the_gradients_that_the_spec_writes(package: Path) -> None:
    run(
        package,
        """
op = torch.ops.gradv.rounded
class Wanted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return torch.round(x)
    @staticmethod
    def backward(ctx, grad): return grad
def rounded(x, w=None): return Wanted.apply(x) * (1 if w is None else w)
before = launches()
for shapes in (((5, 6), (5, 6)), ((5, 6), (6,)), ((7,),), ((2, 1, 3), (4, 1))):
    compare(op, rounded, leaves(*shapes))
x, w = torch.randn(3, 4, requires_grad=True), torch.randn(3, 4)
compare(op, rounded, [x, w])
assert launches() == before + 2 * 5
""",
    )


def test_inputs_that_no_gradient_depends_on_are_not_kept(package: Path) -> None:
    run(
        package,
        """
from torch.library import opcheck
def kept(call):  # elements that are saved, and the result
    saved = []
    def pack(tensor):
        saved.append(tensor.numel())
        return tensor
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        result = call()
    return sum(saved), result
ops = torch.ops.gradv
def summed(x, y=None): return x * 2 if y is None else x * 2 + y
before = launches()
for shapes in (((3, 4), (3, 4)), ((3, 4), (4,)), ((1, 5), (6, 1)), ((7,),), ((0, 4), (4,))):
    inputs = leaves(*shapes)
    assert kept(lambda: ops.summed(*inputs))[0] == 0
    compare(ops.summed, summed, inputs)
x, y = leaves((3, 4), (4,))
compare(ops.summed, summed, [x, y.detach()])
compare(ops.summed, summed, [x.detach(), y])
assert launches() == before + 2 * 7 + 5
assert kept(lambda: ops.average(x))[0] == 0
assert kept(lambda: ops.rms_norm(x, y))[0] == x.numel() + y.numel()
# What is kept may change; what is not kept may go, or be overwritten.
loss = ops.summed(x, y).sum()
with torch.no_grad():
    x.fill_(float("nan"))
(got,) = torch.autograd.grad(loss, x)
assert torch.equal(got, torch.full((3, 4), 2.0))
table, = leaves((9, 4))
index = torch.tensor([[3, 0, 8], [3, 3, 1]], dtype=torch.int32)
assert kept(lambda: ops.looked_up(table, index))[0] == index.numel()
(got,) = torch.autograd.grad(ops.looked_up(table, index).sum(), table)
(want,) = torch.autograd.grad(torch.nn.functional.embedding(index, table).sum(), table)
assert torch.equal(got, want)
xs = leaves((3, 4), (5,), (2, 3))
count, ys = kept(lambda: ops.scaled(xs))
assert count == 0
for g in torch.autograd.grad(sum(y.sum() for y in ys), xs):
    assert torch.equal(g, torch.full_like(g, 3.0))
ys = ops.squares(xs)
weights = (0.5, -2.0, 3.0)
for x, w, g in zip(xs, weights, torch.autograd.grad(sum(w * y for w, y in zip(weights, ys)), xs)):
    torch.testing.assert_close(g, 2 * w * x)
for op, inputs in ((ops.summed, leaves((3, 4), (4,))), (ops.average, leaves((3, 4)))):
    opcheck(op.default, tuple(inputs))
    for dynamic in (False, True):
        compiled = torch.compile(op, backend="aot_eager", fullgraph=True, dynamic=dynamic)
        for shape in ((3, 4), (6, 4)):
            given = [torch.randn(shape, requires_grad=True), *inputs[1:]]
            results = [
                torch.autograd.grad(f(*given).square().sum(), given) for f in (op, compiled)
            ]
            for g, w in zip(*results):
                assert torch.equal(g, w)
# The second derivatives of a sum are zero; those of what follows it are not.
x, = leaves((3, 4))
z = ops.summed(x, None).pow(3)
(first,) = torch.autograd.grad(z.sum(), x, create_graph=True)
(second,) = torch.autograd.grad(first.sum(), x)
torch.testing.assert_close(second, 48 * x)
""",
    )


def test_what_forward_saves_is_what_backward_reads(package: Path) -> None:
    run(
        package,
        """
from torch.library import opcheck
op = torch.ops.gradv.saved
before = launches()
for shape in ((20,), (3, 20), (2, 3, 33), (4000, 7), (3, 20000)):
    compare(op, norm, leaves(shape, shape[-1:]))
compare(op, norm, leaves((3, 20), (20,)), outputs=1)
x, gamma = leaves((3, 20), (20,))
compare(op, norm, [x, gamma.detach()])
compare(op, norm, [x.detach(), gamma])
assert launches() == before + 2 * 8
opcheck(op.default, (x, gamma))
@torch.compile(backend="aot_eager", fullgraph=True)
def step(x, gamma): return op(x, gamma)[0]
got = torch.autograd.grad(step(x, gamma).square().sum(), (x, gamma))
want = torch.autograd.grad(norm(x, gamma)[0].square().sum(), (x, gamma))
for g, w in zip(got, want):
    torch.testing.assert_close(g, w, rtol=1e-4, atol=1e-4)
y, _ = op(x, gamma)
(first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
assert torch.autograd.grad(first.square().sum(), x)[0].shape == x.shape
""",
    )


def test_a_result_is_kept_in_the_place_of_the_input(package: Path) -> None:
    run(
        package,
        """
def kept(run):
    found = {}
    def pack(t):
        found[t.untyped_storage()._cdata] = t.untyped_storage()
        return t
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        y = run()
    return y, sum(s.nbytes() for s in found.values())
own = torch.ops.gradv.squashed
eager = lambda x: torch.sigmoid(x * 1.5)
for dtype in (torch.float32, torch.float16):
    x = torch.randn(3, 70, dtype=dtype, requires_grad=True)
    other = x.detach().clone().requires_grad_()
    (y, bytes_own), (z, bytes_eager) = kept(lambda: own(x, 1.5)), kept(lambda: eager(other))
    assert bytes_own == bytes_eager, (bytes_own, bytes_eager)
    before = launches()
    (got,), (want,) = [torch.autograd.grad(t.sum(), v) for t, v in ((y, x), (z, other))]
    assert launches() == before + 1
    torch.testing.assert_close(got, want, rtol=2e-3, atol=2e-3)
def derivatives(f, x):
    value, found = f(x * x).square().sum(), []
    for _ in range(3):
        (slope,) = torch.autograd.grad(value, x, create_graph=True)
        found.append(slope)
        value = slope.square().sum()
    return found
(x,) = leaves((2, 5))
for got, want in zip(derivatives(lambda t: own(t, 1.5), x), derivatives(eager, x)):
    torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-4)
torch.library.opcheck(own.default, (x, 1.5))
step = torch.compile(lambda x: own(x, 1.5).sum(), fullgraph=True, backend="aot_eager")
(got,) = torch.autograd.grad(step(x), x)
torch.testing.assert_close(got, torch.autograd.grad(eager(x).sum(), x)[0])
gradv.use_reference()
(got,) = torch.autograd.grad(own(x, 1.5).sum(), x)
gradv.use_reference(False)
torch.testing.assert_close(got, torch.autograd.grad(eager(x).sum(), x)[0])
y = own(x, 1.5)
y.mul_(2)
try:
    y.sum().backward()
except RuntimeError as error:
    assert "modified by an inplace operation" in str(error), error
else:
    raise AssertionError("a change of what backward reads went unnoticed")
""",
    )


def test_an_optional_input_has_a_gradient_where_it_is_given(package: Path) -> None:
    run(
        package,
        """
op = torch.ops.gradv.shift
def shift(x, bias=None): return torch.sin(x) if bias is None else torch.sin(x) * bias
compare(op, shift, leaves((5,), (5,)))
before = launches()
for rank in range(8):
    compare(op, shift, leaves((*[2] * rank, 9), (9,)))
    compare(op, shift, leaves((*[2] * rank, 9)))
assert launches() == before + 2 * 16
x, = leaves((3, 4))
(grad,) = torch.autograd.grad(op(x, None).sum(), x)
torch.testing.assert_close(grad, torch.cos(x))
added = torch.ops.gradv.added
def add(x, y=None): return torch.sin(x) * 2 + (0 if y is None else y)
before = launches()
for shapes in [((3, 4),), ((3, 4), (3, 4)), ((3, 4), (4,)), ((4,), (3, 1)), ((33, 129),)]:
    compare(added, add, leaves(*shapes))
assert launches() == before + 2 * 5
""",
    )


def test_a_reduction_over_axes_of_an_attr(package: Path) -> None:
    run(
        package,
        """
op = torch.ops.gradv.average
(x,) = leaves((3, 4))
compare(lambda x: op(x), lambda x: x.mean(-1), [x])
before = launches()
count = 0
for rank in range(1, 9):
    shape = [2, 3, 1, 2, 1, 2, 1, 5][8 - rank:]
    for dim in ([], [-1], [0], list(range(rank)), list(range(0, rank, 2))):
        for keep in (False, True):
            compare(lambda x: op(x, dim, keep), lambda x: x.mean(dim or None, keep), leaves(shape))
            count += 2
assert launches() == before + count, (launches() - before, count)
@torch.compile(backend="aot_eager", fullgraph=True)
def step(x): return op(x, [0, -1])
(x,) = leaves((3, 4, 5))
(got,) = torch.autograd.grad(step(x).square().sum(), x)
(want,) = torch.autograd.grad(x.mean([0, -1]).square().sum(), x)
torch.testing.assert_close(got, want)
""",
    )


def test_second_derivatives_opcheck_compile_and_export(package: Path) -> None:
    run(
        package,
        """
from torch.library import opcheck
x, gamma = leaves((3, 4), (4,))
a, b = leaves((3, 4), (4,))
opcheck(torch.ops.gradv.rms_norm.default, (x, gamma))
opcheck(torch.ops.gradv.gate.default, (a, b))
torch.autograd.gradgradcheck(lambda a, b: torch.ops.gradv.gate(a, b), (a, b), eps=1e-2, atol=5e-2,
                             rtol=5e-2)
@torch.compile(backend="aot_eager", fullgraph=True)
def step(x, gamma):
    return torch.ops.gradv.rms_norm(x, gamma)[0]
step(x, gamma)
before = launches()
got = torch.autograd.grad(step(x, gamma).square().sum(), (x, gamma))
assert launches() == before + 2
want = torch.autograd.grad(norm(x, gamma)[0].square().sum(), (x, gamma))
for g, w in zip(got, want):
    torch.testing.assert_close(g, w, rtol=1e-4, atol=1e-4)
class Model(torch.nn.Module):
    def forward(self, a, b): return torch.ops.gradv.gate(a, b)
exported = torch.export.export(Model(), (a, b))
assert "gradv.gate.default" in exported.graph_module.code
""",
    )


def test_an_output_that_nobody_uses_takes_no_part_in_the_kernel(package: Path) -> None:
    run(
        package,
        """
x = torch.tensor([0.0, 4.0], requires_grad=True)
for places, want in (((0,), [2.0, 2.0]), ((1,), [torch.inf, 0.25]), ((0, 1), [torch.inf, 2.25])):
    outputs = torch.ops.gradv.roots(x)
    before = launches()
    (grad,) = torch.autograd.grad(sum(outputs[i].sum() for i in places), x)
    assert grad.tolist() == want and launches() == before + 1, (places, grad)
compiled = torch.compile(lambda x: torch.ops.gradv.roots(x)[0] * 3, backend="aot_eager")
(grad,) = torch.autograd.grad(compiled(x).sum(), x)
assert grad.tolist() == [6.0, 6.0]
""",
    )
