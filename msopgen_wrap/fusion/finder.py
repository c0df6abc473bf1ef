"""Find where a model's graph computes what an op computes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from msopgen_wrap.fusion.attr_values import attr_choices
from msopgen_wrap.fusion.call_shapes import input_objection, output_bytes, result_shapes
from msopgen_wrap.fusion.conversion import Converter
from msopgen_wrap.fusion.matching import Match, Matcher
from msopgen_wrap.fusion.mismatches import (
    dtype_reason,
    head,
    rounding_reason,
    shapes_text,
    shown,
    weight,
)
from msopgen_wrap.fusion.numeric_proof import difference
from msopgen_wrap.fusion.patterns import (
    Pattern,
    given_inputs,
    patterns,
    run_compute,
    traced,
)
from msopgen_wrap.fusion.regions import (
    Region,
    bytes_of,
    moved_bytes,
    objection,
    place_of,
    region_between,
    written_storages,
)
from msopgen_wrap.fusion.shared_inputs import with_one_tensor
from msopgen_wrap.fusion.terms import CALL, CONST, Term, size
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.torch_import import torch

# Of the ways in which one formula may be an op, and of the values that an input may be.
MAX_MATCHES = 6
MAX_CHOICES = 16
# Those of either that are looked at for shapes that the op takes.
MAX_READINGS = 64
NO_SAVING = "ops of the library that would save no GM bytes; name them in `specs` to have them"


@dataclass(eq=False)
class Site:
    """A place in a model where an op computes the same.

    Attributes:
        inputs: input of the op -> node; absent optional inputs are left out.
        outputs: output of the op -> node; those that the model does not use are left out.
        attrs: all attrs of the call.
        before, after: GM bytes of the nodes one by one, and of the op.
    """

    spec: OpSpec
    label: str
    region: Region
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    attrs: dict[str, Any]
    before: int
    after: int

    @property
    def anchor(self) -> Any:
        """The last node of the region."""
        return self.region.nodes[-1]


@dataclass(frozen=True)
class NearMiss:
    """A formula that is almost an op.

    Attributes:
        op: the op, with its variant.
        place: node, module and line.
        reason: what differs.
        share: how much of the formula agreed, up to 1.
    """

    op: str
    place: str
    reason: str
    share: float


class Finder:
    """Looks for ops in one graph.

    Args:
        graph: of a model, nodes with fake values in ``meta``.
    """

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.terms: dict[Any, Any] = {}
        self.order = {node: i for i, node in enumerate(graph.nodes)}
        self.written = written_storages(graph)
        self.misses: list[NearMiss] = []
        self.taken: set[Any] = set()
        converter = Converter(self.terms)
        for node in graph.nodes:
            if node.op != "output":
                converter.convert(node)
        self.values = [
            node
            for node in graph.nodes
            if isinstance(self.terms.get(node), Term)
            and node.op == "call_function"
            and isinstance(node.meta.get("val"), torch.Tensor)
        ]

    def sites(self, specs: Sequence[OpSpec], *, saving: bool = False) -> list[Site]:
        """Return the places where the ops may be called, none overlapping another.

        Formulas of many steps come before those that are a part of them.

        Args:
            specs: the ops.
            saving: whether an op has to save GM bytes; one that does not keeps no other away.
        """
        listed = [pattern for spec in specs for pattern in patterns(spec)]
        listed.sort(key=lambda p: -p.steps)
        found: list[Site] = []
        for pattern in listed:
            root_name = max(pattern.outputs, key=lambda n: _steps(pattern, n))
            for node in reversed(self.values):
                if node in self.taken or not _same_head(pattern.outputs[root_name], self._at(node)):
                    continue
                site = self._site(pattern, root_name, node)
                if site is not None and saving and site.after >= site.before:
                    self.misses.append(NearMiss(site.label, place_of(node), NO_SAVING, 1.0))
                elif site is not None:
                    self.taken.update(site.region.nodes)
                    found.append(site)
        found.sort(key=lambda s: self.order[s.anchor])
        return found

    def constants(self) -> dict[Any, float]:
        """Return the nodes whose elements all have one value that no input changes, with it."""
        return {
            node: self._at(node).bare().number
            for node in self.values
            if self._at(node).bare().kind == CONST and node.meta["val"].is_floating_point()
        }

    def _at(self, node: Any) -> Term:
        term: Term = self.terms[node]
        return term

    def _site(self, pattern: Pattern, root: str, node: Any) -> Site | None:
        numbers = [pattern.attrs[name] for name in pattern.shaping]
        matcher = Matcher(strict=False, numbers=[n for n in numbers if isinstance(n, int)])
        # The operands of a product in another order may have the shapes that the op takes.
        fitting: list[tuple[Match, list[dict[str, Any]]]] = []
        others: list[tuple[Match, list[dict[str, Any]]]] = []
        matches = matcher.matches(pattern.outputs[root], self._at(node))
        for match in itertools.islice(matches, MAX_READINGS):
            choices, fits = self._choices(pattern, match)
            (fitting if fits else others).append((match, choices))
            if len(fitting) == MAX_MATCHES:
                break
        reason = ""
        best: Site | None = None
        for match, choices in fitting or others[:MAX_MATCHES]:
            for inputs in choices:
                outcome = self._judged(pattern, root, node, match, inputs)
                if isinstance(outcome, Site):
                    best = outcome if best is None or _saving(best) < _saving(outcome) else best
                    break
                reason = reason if weight(reason) > weight(outcome) else outcome
        if best is not None:
            return best
        self._note(pattern, root, node, matcher, reason, bool(fitting or others))
        return None

    def _note(
        self, pattern: Pattern, root: str, node: Any, matcher: Matcher, reason: str, matched: bool
    ) -> None:
        share = 1.0 if matched else matcher.agreed / max(1, _steps(pattern, root) - 1)
        if pattern.same and (not matched or "constants" in reason):
            return  # the same op with a tensor for each input says why
        if not matched and matcher.gave_up:
            reason = "there are too many ways to read the formula; use a spec of a part of it"
        elif not matched and matcher.obstacle is not None:
            wanted, found = matcher.obstacle
            if matcher.agreed < 2:
                return  # one operator of the formula that is also in the op says nothing
            at = place_of(found.value) if found.value is not None else "a step"
            reason = f"{shown(wanted, loose=True)} expected, {at} is {shown(found)}"
            if head(wanted) == head(found):
                reason = (
                    f"{at} has the same operator, but not on values that the op could read; see "
                    "what its operands are made of"
                )
        elif matched and not reason:
            reason = "an input of the op is no tensor of the model; make it an attr of the spec"
        if reason and share >= 0.5:
            self.misses.append(NearMiss(pattern.label, place_of(node), reason, share))

    def _choices(self, pattern: Pattern, match: Match) -> tuple[list[dict[str, Any]], bool]:
        """Return inputs of the op as nodes of the model, and whether the op takes their shapes.

        The earliest values come first. Where some fit, those that do not are left out. Shape rules
        that need attrs are not asked.
        """
        given = given_inputs(pattern.spec, pattern.variant)
        names = [name for name in given if name not in pattern.same]
        if any(name not in match.inputs for name in names):
            return [], True
        choices: list[dict[str, Any]] = []
        ways = itertools.product(*(match.inputs[n] for n in names))
        for way in itertools.islice(ways, MAX_READINGS):
            found = {name: term.value for name, term in zip(names, way, strict=True)}
            choices.append({name: found[pattern.same.get(name, name)] for name in given})
        fitting = [
            inputs for inputs in choices if not input_objection(pattern.spec, _fakes(inputs))
        ]
        return (fitting or choices)[:MAX_CHOICES], bool(fitting)

    def _judged(
        self, pattern: Pattern, root: str, node: Any, match: Match, inputs: dict[str, Any]
    ) -> Site | str:
        spec = pattern.spec
        fakes = _fakes(inputs)
        region = region_between([node], list(inputs.values()))
        if isinstance(region, str):
            return region
        if any(n in self.taken for n in region.nodes):
            return "steps of it belong to an op that is called already"
        reason = self._refused(pattern, region, {root: node}, fakes)
        if reason:
            return reason
        shapes = {name: tuple(fake.shape) for name, fake in fakes.items()}
        dtypes = {name: fake.dtype for name, fake in fakes.items()}
        reason = "its constants or axes are others; make them attrs of the spec"
        for attrs in attr_choices(pattern, match):
            exact = traced(spec, pattern.variant, attrs, shapes, dtypes)
            if exact is None or root not in exact.outputs:
                reason = (
                    f"compute does not take these shapes ({shapes_text(shapes)}); widen the shape "
                    "rules of the spec"
                )
                continue
            if pattern.same:
                outputs, _ = with_one_tensor(exact.outputs, pattern.same)
                exact = replace(exact, outputs=outputs, same=pattern.same)
            start = Match({n: (self._term_of(i),) for n, i in inputs.items()})
            for strict in Matcher(strict=True).matches(exact.outputs[root], self._at(node), start):
                outcome = self._proved(exact, root, node, strict, inputs)
                if isinstance(outcome, Site):
                    return outcome
                reason = outcome
        return reason

    def _term_of(self, node: Any) -> Term:
        return self.terms[node]  # type: ignore[no-any-return]

    def _refused(
        self, pattern: Pattern, region: Region, outputs: dict[str, Any], fakes: dict[str, Any]
    ) -> str:
        """Return what is against an op that is known by its inputs and one output."""
        for name, node in outputs.items():
            reason = dtype_reason(pattern.spec, fakes, name, node.meta["val"])
            if reason:
                return reason
        return rounding_reason(region, fakes)

    def _proved(
        self, exact: Pattern, root: str, node: Any, match: Match, inputs: dict[str, Any]
    ) -> Site | str:
        """Return the site of a strict match after all that may speak against it."""
        spec = exact.spec
        names = [p.name for p in spec.outputs]
        outputs = {root: node}
        for name in names:
            if name != root and name in exact.outputs:
                other = self._other_output(exact, name, match, inputs)
                if other is not None:
                    outputs[name] = other
        region = region_between(list(outputs.values()), list(inputs.values()))
        if isinstance(region, str):
            return region
        fakes = _fakes(inputs)
        reason = self._refused(exact, region, outputs, fakes) or objection(region, self.written)
        shapes = result_shapes(spec, fakes, exact.attrs)
        if not reason and isinstance(shapes, str):
            reason = shapes
        if not reason:
            compute = run_compute(spec, exact.attrs)
            of = f"{exact.variant}{exact.attrs}{spec.op}{spec.source}"
            reason = difference(region, fakes, inputs, outputs, compute, names, of)
        if reason or isinstance(shapes, str):
            return reason
        for name, output in outputs.items():
            if shapes[name] != tuple(output.meta["val"].shape):
                return f"{name} would have shape {list(shapes[name])}"
        before = moved_bytes(region.nodes)
        after = bytes_of(list(fakes.values())) + output_bytes(spec, fakes, shapes)
        if exact.same and after >= before:
            return "the op would read one tensor twice and save no GM bytes"
        return Site(
            spec,
            exact.label,
            region,
            dict(inputs),
            outputs,
            dict(exact.attrs),
            before,
            after,
        )

    def _other_output(
        self, exact: Pattern, name: str, match: Match, inputs: dict[str, Any]
    ) -> Any | None:
        """Return the node that holds another output of the op, None where the model has none."""
        wanted = exact.outputs[name].bare()
        if wanted.kind == "leaf":
            return None
        held = match.held.get(id(wanted))
        start = Match({n: (self._term_of(i),) for n, i in inputs.items()}, held=match.held)
        before = set(inputs.values())
        for node in self.values:
            term = self._at(node)
            if node in before or node in self.taken:
                continue
            if held is not None:
                same = term.bare() is held.bare()
            else:
                same = _same_head(wanted, term) and any(
                    Matcher(strict=True).matches(wanted, term, start)
                )
            if same and any(u not in before for u in node.users) and self._fits(exact, name, node):
                return node
        return None

    def _fits(self, exact: Pattern, name: str, node: Any) -> bool:
        """Whether a node may be an output of the op by its dtype; the proof sees the shape."""
        dtypes = exact.spec.param(name).dtypes
        return str(node.meta["val"].dtype).removeprefix("torch.") in dtypes


def _fakes(inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: node.meta["val"] for name, node in inputs.items()}


def _saving(site: Site) -> tuple[int, int]:
    return (site.before - site.after, len(site.region.nodes))


def _steps(pattern: Pattern, name: str) -> int:
    return size(pattern.outputs[name])


def _same_head(pattern: Term, term: Term) -> bool:
    one, other = pattern.bare(), term.bare()
    if one.kind == "leaf" or one.kind != other.kind:
        return False
    return one.kind != CALL or one.op == other.op
