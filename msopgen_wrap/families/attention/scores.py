"""What stands between the two products of an attention: the scores, step by step, and conditions.

Values of a graph that only an attention has: products of queries and keys with the work on them,
the parts of their softmax, and conditions on the place of a score or on a mask.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from msopgen_wrap.graph.scalars import Const, ScalarExpr, fold
from msopgen_wrap.schedule.views import View

ONE, ZERO = Const(1), Const(0)

# Kinds of steps.
SCALE, SHIFT, ADD, ADD_WHERE, FILL, FILL_ABOVE = (
    "scale",
    "shift",
    "add",
    "add where",
    "fill",
    "fill above",
)


@dataclass(frozen=True)
class ScoreStep:
    """One change of all scores.

    Attributes:
        kind: ``scale`` by a number, ``shift`` by one, ``add`` a tensor times a number, ``add
            where`` a bool tensor says so or ``fill`` with a number there, ``fill above`` the
            diagonal.
        number: the factor, or the value.
        view: the tensor.
        where: what the tensor says of the scores that change.
        diagonal: row r keeps the scores of keys up to ``r + diagonal``.
    """

    kind: str
    number: ScalarExpr = ONE
    view: View | None = None
    where: bool = True
    diagonal: ScalarExpr = ZERO


@dataclass(frozen=True)
class Operand(View):
    """A view of queries, keys or values that the graph has worked on.

    Attributes:
        factor: what its elements are multiplied by.
        repeat: how many batches that follow one another every matrix serves.
        repeated_at: how many steps the view had when it was repeated.
    """

    factor: ScalarExpr = ONE
    repeat: ScalarExpr = ONE
    repeated_at: int = 0

    @staticmethod
    def of(view: View) -> Operand:
        """Return a view as one of these."""
        if isinstance(view, Operand):
            return view
        return Operand(view.tensor, view.rank, view.steps, view.extent, view.leading, view.counted)

    def plain(self) -> View:
        """Return the view alone."""
        return View(self.tensor, self.rank, self.steps, self.extent, self.leading, self.counted)


@dataclass(frozen=True)
class Scores:
    """Products of queries and keys, changed by steps.

    Attributes:
        query, key: their views; the keys stand in columns.
        batches: sizes of the batches.
        rows, keys: sizes of a matrix of scores.
        steps: the changes, in their order.
    """

    query: Operand
    key: Operand
    batches: tuple[Any, ...]
    rows: Any
    keys: Any
    steps: tuple[ScoreStep, ...] = ()

    def then(self, *steps: ScoreStep) -> Scores:
        """Return the scores after more steps."""
        found = list(self.steps)
        for step in steps:
            if step.kind == SCALE and found and found[-1].kind == SCALE:
                number = fold("*", found.pop().number, step.number)
                found.append(ScoreStep(SCALE, number))
            else:
                found.append(step)
        return replace(self, steps=tuple(found))


@dataclass(frozen=True)
class Stage:
    """A part of the softmax of some scores.

    Attributes:
        name: ``largest``, ``below`` (score - largest), ``exp``, ``sum``, ``softmax``; on the way to
            rows without a score: ``masked``, ``scored``, ``any``, ``none``; ``safe`` is the softmax
            that is 0 in those.
        scores: what it is of.
    """

    name: str
    scores: Scores


@dataclass(frozen=True)
class Line:
    """Integers that change by a constant from row to row and from key to key."""

    by_row: int = 0
    by_key: int = 0
    first: ScalarExpr = ZERO

    def plus(self, other: Line, sign: int = 1) -> Line:
        """Return the sum, or the difference."""
        return Line(
            self.by_row + sign * other.by_row,
            self.by_key + sign * other.by_key,
            fold("+" if sign > 0 else "-", self.first, other.first),
        )


@dataclass(frozen=True)
class Literal:
    """A condition on a score.

    Attributes:
        view: a bool tensor, or None for the diagonal.
        diagonal: without a tensor: true for keys up to ``row + diagonal``.
        true: whether the condition is this, or the opposite.
    """

    view: View | None = None
    diagonal: ScalarExpr = ZERO
    true: bool = True

    def opposite(self) -> Literal:
        """Return the opposite."""
        return replace(self, true=not self.true)


@dataclass(frozen=True)
class Condition:
    """Conditions of which all hold, or any.

    Attributes:
        literals: the conditions; none: true where all are asked for, false where any is.
        every: whether all must hold.
    """

    literals: tuple[Literal, ...] = ()
    every: bool = True

    def opposite(self) -> Condition:
        """Return the opposite."""
        return Condition(tuple(lit.opposite() for lit in self.literals), not self.every)

    def joined(self, other: Condition, every: bool) -> Condition | None:
        """Return both conditions, or either of them; None where they are mixed."""
        for one in (self, other):
            if len(one.literals) != 1 and one.every != every:
                return None
        return Condition((*self.literals, *other.literals), every)


@dataclass(frozen=True)
class Choice:
    """A tensor of two numbers: one where a condition holds, the other elsewhere."""

    condition: Condition
    number: ScalarExpr
    other: ScalarExpr


@dataclass(frozen=True)
class Attention:
    """An attention.

    Attributes:
        query, key, value: operands, as names of views; the keys stand in columns.
        repeats: how many batches a matrix of keys serves, and one of values.
        steps: what happens to the scores.
        masks: operands that steps read, by the position of the step.
        safe: whether rows without a score above -inf are 0.
        output: the output that holds the result.
        joined: axes of the result that are one axis of the output.
    """

    query: str = ""
    key: str = ""
    value: str = ""
    repeats: tuple[ScalarExpr, ScalarExpr] = (ONE, ONE)
    steps: tuple[ScoreStep, ...] = ()
    masks: dict[int, str] = field(default_factory=dict)
    safe: bool = False
    output: str = ""
    joined: str = ""
