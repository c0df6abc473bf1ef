"""Read an attention from a traced graph: two products, a softmax, and the work on the scores.

PyTorch writes a softmax as the largest score, a difference, ``exp``, a sum and a division, and that
of ``scaled_dot_product_attention`` with 0 in rows without a score. Masks are selections or numbers
that are added. Repeated heads are expanded and joined, which is a map of indices here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.families.attention.places import (
    CASTS,
    CONDITIONS,
    FILLED,
    INFINITE,
    NOT,
    PlaceReader,
    all_same,
)
from msopgen_wrap.families.attention.scores import (
    ADD,
    ADD_WHERE,
    FILL,
    FILL_ABOVE,
    ONE,
    SCALE,
    ZERO,
    Attention,
    Choice,
    Condition,
    Line,
    Operand,
    Scores,
    ScoreStep,
    Stage,
)
from msopgen_wrap.families.contract.reading import PRODUCTS, Product
from msopgen_wrap.graph.scalars import Binary, ScalarExpr, fold
from msopgen_wrap.graph.sizes import same_size
from msopgen_wrap.graph.wide_products import is_widening
from msopgen_wrap.schedule.calls import IDENTITY, RESHAPES, VIEW_OPS, Node, target_name
from msopgen_wrap.schedule.views import Step, View


@dataclass
class AttentionReader(PlaceReader):
    """Reads the graph of a pass that is one attention.

    Attributes:
        attention: the attention, once ``read_attention`` has found it.
    """

    attention: Attention = field(default_factory=Attention)
    _found: dict[Node, tuple[Scores, Operand, bool]] = field(default_factory=dict)

    def read_attention(self) -> Attention:
        """Return the attention that the only output is.

        Raises:
            OpgenError: OPG420 where there is more in the graph.
        """
        if len(self.spec.outputs) != 1:
            raise self.more(self.traced.outputs[self.spec.outputs[0].name])
        super().read()
        return self.attention

    def more(self, node: Any) -> OpgenError:
        """Return the refusal of a call that is no part of an attention."""
        what = target_name(node) if isinstance(node, Node) else "a number"
        return OpgenError(
            Diagnostic(
                "OPG420",
                f"{self.spec.op} has {what} where an attention has none",
                self.location(what.split(".")[1] if what.startswith("aten.") else what),
                "one pass makes softmax(q x k) x v, with numbers, masks and tensors on the scores "
                "and views of inputs around it",
                "make the rest an op of its own, or write the kernel with `kernel:`",
            )
        )

    # ---- nodes ---------------------------------------------------------------------------------

    def _value(self, node: Node) -> Any:
        target = target_name(node)
        if target in PRODUCTS:
            return self._product_of(node)
        name = target.split(".")[1] if target.startswith("aten.") else target
        values = [self.values.get(n) for n in node.all_input_nodes]
        if target in FILLED:
            return self._filled(node, target)
        if is_widening(node) and isinstance(values[0], View):
            return values[0]  # probabilities have the dtype of the values
        if any(isinstance(v, (Scores, Stage)) for v in values):
            return self._on_scores(node, name, target)
        shape = getattr(node.meta.get("val"), "shape", None)
        if name in ("arange", "iota"):
            return self._call(node)
        if not shape and not any(isinstance(v, View) for v in values):
            return self._scalar(node, name)  # also as a tensor
        if any(isinstance(v, (Line, Condition, Choice)) for v in values) or any(
            isinstance(v, View) and v.counted is not None for v in values
        ):
            return self._on_places(node, name, target)
        if name in CONDITIONS:
            return self._on_places(node, name, target)
        if name in ("mul", "div") and isinstance(values[0], View):
            factor = self._number(node.args[1])
            view = Operand.of(values[0])
            return replace(view, factor=_scaled(view.factor, name, factor))
        if target in RESHAPES and isinstance(values[0], View):
            repeated = self._repeated(node, values[0])
            if repeated is not None:
                return repeated
        return super()._value(node)

    def _repeated(self, node: Node, view: View) -> Operand | None:
        """Return a view whose matrices an expand repeats next to each other; None: not that."""
        source: Any = node.args[0]
        expand: Any = source
        while target_name(expand) in IDENTITY:
            expand = expand.args[0]
        before, after = list(source.meta["val"].shape), list(node.meta["val"].shape)
        if target_name(expand) != "aten.expand.default" or len(before) != len(after) + 1:
            return None
        inner: Any = expand.args[0].meta["val"].shape
        ones = len(inner) == len(before) and isinstance(inner[-3], int) and inner[-3] == 1
        if len(before) < 4 or not ones:
            return None
        kept = [*before[:-4], *before[-2:]], [*after[:-3], *after[-2:]]
        if not all(map(same_size, *kept)):
            return None
        sizes: Any = expand.args[1]
        operand = Operand.of(view)
        steps = (*operand.steps, Step("squeeze", -3))
        return replace(
            operand,
            rank=operand.rank - 1,
            steps=steps,
            repeat=self.scalar_expr(sizes[-3]),
            repeated_at=len(steps),
        )

    # ---- products ------------------------------------------------------------------------------

    def _product_of(self, node: Node) -> Any:
        left = self.values.get(_behind(node.args[0]))
        if isinstance(left, Stage):
            return self._times_values(node, left)
        matrices = super()._product_of(node)
        shape = node.meta["val"].shape
        batches = tuple(matrices.sizes)
        if target_name(node) == "aten.mm.default":
            batches = batches[:-1]  # the last one is the rows
            if batches:
                raise self.more(node)  # rows of several batches
        query, key = Operand.of(matrices.left), Operand.of(matrices.right)
        factor = fold("*", query.factor, key.factor)
        self._check_repeats(node, query, key)
        scores = Scores(query, key, batches, shape[-2], shape[-1])
        return scores if factor == ONE else scores.then(ScoreStep(SCALE, factor))

    def _times_values(self, node: Node, left: Stage) -> Any:
        if left.name not in ("softmax", "safe"):
            raise self.more(node)
        scores = left.scores
        sizes: tuple[Any, ...] = scores.batches
        view, batches = self._operand(node.args[1])
        if target_name(node) == "aten.mm.default":
            view, batches, sizes = self._plain(node.args[1])[0], (), (*sizes, scores.rows)
        elif not all_same(batches, scores.batches):
            view, batches = self._plain(node.args[1])
        if not all_same(batches, scores.batches):
            raise self.more(node)
        matrices = self._checked(scores.query.plain(), view, sizes, node)
        value = Operand.of(view)
        if value.factor != ONE:
            raise self.more(node)
        self._check_repeats(node, value)
        matrices.right = value.plain()
        self._found[node] = (scores, value, left.name == "safe")
        return matrices

    def _check_repeats(self, node: Node, *views: Operand) -> None:
        """Repeated matrices stay where they are among the batches."""
        for view in views:
            later = view.steps[view.repeated_at :] if view.repeat != ONE else ()
            for step in later:
                if step.op != "permute" or set(step.axes) != {-1, -2}:
                    raise self.more(node)

    # ---- scores --------------------------------------------------------------------------------

    def _on_scores(self, node: Node, name: str, target: str) -> Any:
        stages = [
            (n, self.values[n])
            for n in node.all_input_nodes
            if isinstance(self.values.get(n), (Scores, Stage))
        ]
        source, value = stages[0]
        if target == "aten.sym_size.int":
            axis: Any = node.args[1]
            return self._size_of(source, int(axis))
        if target in CASTS | IDENTITY or target == "aten.expand.default":
            return value
        if target in VIEW_OPS | RESHAPES:
            if _keeps_order(source, node, target):
                return value
            raise self.more(node)
        if isinstance(value, Scores) and len(stages) == 1:
            self._check_shape(source, value)
            return self._changed(node, name, source, value)
        return self._stage(node, name, stages)

    def _check_shape(self, node: Node, scores: Scores) -> None:
        """Masks line up with the scores where these have their own shape."""
        shape = node.meta["val"].shape
        if not all_same(shape, (*scores.batches, scores.rows, scores.keys)):
            raise self.more(node)

    def _changed(self, node: Node, name: str, source: Node, scores: Scores) -> Any:
        """Return the scores after a call, or the first part of their softmax."""
        args = node.args
        others = [self.values.get(a) if isinstance(a, Node) else a for a in args if a is not source]
        other: Any = others[0] if others else None
        if name == "amax" and _of_keys(node):
            return Stage("largest", scores)
        if name == "eq" and self._number(args[1]) == INFINITE:
            return Stage("masked", scores)
        if name in ("mul", "div") and args[0] is source:
            return scores.then(ScoreStep(SCALE, _scaled(ONE, name, self._number(args[1]))))
        if name == "mul":
            return scores.then(ScoreStep(SCALE, self._number(args[0])))
        if name == "add" and not node.kwargs:
            return scores.then(*self._added(node, other))
        if name == "where":
            return scores.then(*self._selected(node, source))
        raise self.more(node)

    def _added(self, node: Node, other: Any) -> list[ScoreStep]:
        if isinstance(other, View) and other.counted is None:
            operand = Operand.of(other)
            return [ScoreStep(ADD, operand.factor, self._mask_view(node, operand))]
        if isinstance(other, Choice):
            condition, number = other.condition, other.number
            if number == ZERO:
                condition, number = condition.opposite(), other.other
            elif other.other != ZERO:
                raise self.more(node)
            return self._filling(node, condition, number, ADD_WHERE)
        raise self.more(node)

    def _selected(self, node: Node, source: Node) -> list[ScoreStep]:
        condition = self._condition(node.args[0], node)
        number: Any = node.args[1]
        if number is source:
            condition, number = condition.opposite(), node.args[2]
        return self._filling(node, condition, self._number(number), FILL)

    def _filling(
        self, node: Node, condition: Condition, number: ScalarExpr, kind: str
    ) -> list[ScoreStep]:
        """Return the steps that give scores a number where a condition holds."""
        if condition.every and len(condition.literals) != 1:
            raise self.more(node)
        steps = []
        for literal in condition.literals:
            if literal.view is not None:
                steps.append(ScoreStep(kind, number, literal.view, literal.true))
            elif not literal.true and (kind == FILL or number == INFINITE):
                steps.append(ScoreStep(FILL_ABOVE, number, diagonal=literal.diagonal))
            else:
                raise self.more(node)
        return steps

    def _stage(self, node: Node, name: str, stages: list[tuple[Node, Any]]) -> Stage:
        """Return the next part of a softmax."""
        values = [value for _, value in stages]
        names = [value.name if isinstance(value, Stage) else "" for value in values]
        owners = {id(v.scores) if isinstance(v, Stage) else id(v) for v in values}
        scores = values[0].scores if isinstance(values[0], Stage) else values[0]
        in_order = [n for n, _ in stages] == [a for a in node.args if isinstance(a, Node)]
        if len(owners) > 1:
            raise self.more(node)
        if name == "sub" and names == ["", "largest"] and in_order:
            return Stage("below", scores)
        if name == "exp" and names == ["below"]:
            return Stage("exp", scores)
        if name == "sum" and names == ["exp"] and _of_keys(node):
            return Stage("sum", scores)
        if name == "div" and names == ["exp", "sum"] and in_order:
            return Stage("softmax", scores)
        if name in NOT and names in (["masked"], ["any"]):
            return Stage("scored" if names == ["masked"] else "none", scores)
        if name == "any" and names == ["scored"] and _of_keys(node):
            return Stage("any", scores)
        if name == "where" and names == ["none", "softmax"]:
            zero: Any = node.args[1]
            if self._number(zero) == ZERO and node.args[2] is stages[1][0]:
                return Stage("safe", scores)
        raise self.more(node)

    # ---- outputs -------------------------------------------------------------------------------

    def _stored(self, name: str, result: Any) -> Product:
        product = super()._stored(name, result)
        node: Any = result
        while node not in self._found:
            node = node.args[0]
        scores, value, safe = self._found[node]
        if self.operands[product.right] != _named_form(value.plain()):
            raise self.more(result)  # the result is transposed
        key = self._named(scores.key.plain())
        masks = {
            i: self._named(step.view)
            for i, step in enumerate(scores.steps)
            if step.view is not None
        }
        self.attention = Attention(
            product.left,
            key,
            product.right,
            (scores.key.repeat, value.repeat),
            scores.steps,
            masks,
            safe,
            name,
            product.joined,
        )
        return product


def _named_form(view: View) -> View:
    return replace(view, leading=0, rank=view.rank - view.leading)


def _scaled(factor: ScalarExpr, name: str, number: ScalarExpr) -> ScalarExpr:
    if name == "mul":
        return number if factor == ONE else fold("*", factor, number)
    return Binary("/", factor, number)


def _behind(node: Any) -> Any:
    while target_name(node) in IDENTITY:
        node = node.args[0]
    return node


def _without_ones(node: Any) -> list[Any]:
    return [s for s in node.meta["val"].shape if not (isinstance(s, int) and s == 1)]


def _keeps_order(source: Node, node: Node, target: str) -> bool:
    """Whether a view of scores leaves their rows and keys where they are, but for axes of 1."""
    if target in RESHAPES:
        before, after = _without_ones(source)[-2:], _without_ones(node)[-2:]
        return len(before) == 2 and all_same(before, after)
    if target == "aten.permute.default":
        order: Any = node.args[1]
        shape: Any = source.meta["val"].shape
        moved = [a % len(shape) for a in order]
        moved = [a for a in moved if not (isinstance(shape[a], int) and shape[a] == 1)]
        return moved == sorted(moved)
    return target.startswith(("aten.unsqueeze", "aten.squeeze"))


def _of_keys(node: Node) -> bool:
    """Whether a reduction is over the last axis, which it keeps."""
    axes: Any = node.args[1] if len(node.args) > 1 else None
    keep = len(node.args) > 2 and bool(node.args[2])
    rank = len(node.all_input_nodes[0].meta["val"].shape)
    listed = axes if isinstance(axes, (list, tuple)) else [axes]
    return keep and [a % rank for a in listed if isinstance(a, int)] == [rank - 1]
