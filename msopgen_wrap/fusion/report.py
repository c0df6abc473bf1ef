"""What was fused where, what came near, and what it saves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from msopgen_wrap.byte_counts import size_text
from msopgen_wrap.fusion.batch_norm import FoldedNorm
from msopgen_wrap.fusion.finder import NO_SAVING, NearMiss, Site
from msopgen_wrap.fusion.regions import line_of, module_of
from msopgen_wrap.fusion.verification import Agreement

# Formulas that stay, in the text of a report; the nearest come first.
MAX_LINES = 20


@dataclass(frozen=True)
class FusedCall:
    """One call of an op in the fused model.

    Attributes:
        op: the op, with its variant.
        module, line: where the model had the formula.
        replaced: the nodes that it stands for.
        inputs, outputs: parameter -> name of the node in the graph.
        attrs: of the call.
        bytes_before, bytes_after: GM bytes of the nodes one by one, and of the op.
    """

    op: str
    module: str
    line: str
    replaced: tuple[str, ...]
    inputs: dict[str, str]
    outputs: dict[str, str]
    attrs: dict[str, Any]
    bytes_before: int
    bytes_after: int

    @property
    def text(self) -> str:
        """Return the op with its variant and the attrs that this does not say."""
        attrs = [f"{k}={v}" for k, v in self.attrs.items()]
        further = ", ".join(a for a in attrs if a not in self.op)
        return f"{self.op}({further})" if further or self.op.isidentifier() else self.op


@dataclass
class FusionReport:
    """The outcome of one fusion.

    Attributes:
        fused: the calls, in the order of the model.
        left: formulas that are an op or almost, with why they stay.
        skipped: op -> why no model is searched for it.
        bytes_before, bytes_after: GM bytes of the whole graph, before and after.
        agreements: how close the results are on the example.
        memory: lines about live memory.
        folded: batch norms that are part of convolutions now.
        unfolded: batch norms that stay, with why.
        epilogues: convolution -> what the activation behind it is: an op, or a step of its own.
        notes: further lines.
    """

    fused: list[FusedCall] = field(default_factory=list)
    left: list[NearMiss] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    bytes_before: int = 0
    bytes_after: int = 0
    agreements: list[Agreement] = field(default_factory=list)
    memory: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    folded: list[FoldedNorm] = field(default_factory=list)
    unfolded: list[str] = field(default_factory=list)
    epilogues: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        rows = [f"{len(self.fused)} op calls in place of parts of the model"]
        for call in self.fused:
            where = ", ".join(p for p in (call.module, call.line) if p)
            rows.append(f"  {call.text}" + (f"  at {where}" if where else ""))
            rows.append(
                f"    for {', '.join(call.replaced)}: "
                f"{size_text(call.bytes_before)} -> {size_text(call.bytes_after)}"
            )
        for norm in self.folded:
            clause = self.epilogues.get(norm.convolution, "")
            rows.append(
                f"  batch norm {norm.norm} is a part of convolution {norm.convolution} now"
                + (f"; {clause}" if clause else "")
            )
        rows += [f"  left: batch norm {line}" for line in self.unfolded]
        if self.bytes_before:
            rows.append(
                f"GM bytes of the graph: {size_text(self.bytes_before)} -> "
                f"{size_text(self.bytes_after)} (each node reads its inputs, writes its outputs)"
            )
        rows += self.memory
        # What the library has and would save nothing is most of it, and one line says all.
        useless = [near for near in self.left if near.reason == NO_SAVING]
        told = [near for near in self.left if near.reason != NO_SAVING]
        for near in told[:MAX_LINES]:
            rows.append(f"  left: {near.op} at {near.place}: {near.reason}")
        if len(told) > MAX_LINES:
            rows.append(f"  {len(told) - MAX_LINES} more in the attribute 'left'")
        if useless:
            names = ", ".join(dict.fromkeys(near.op for near in useless))
            places = len({near.place for near in useless})
            rows.append(f"  left at {places} place(s): {NO_SAVING}: {names}")
        for op, reason in self.skipped.items():
            rows.append(f"  not searched for: {op}: {reason}")
        for found in self.agreements:
            note = f" ({found.note})" if found.note else ""
            rows.append(
                f"{found.name}: mean relative error {found.mean:.1e}, "
                f"largest {found.maximum:.1e}{note}"
            )
        return "\n".join([*rows, *self.notes])


def fused_call(site: Site) -> FusedCall:
    """Return what a report says of a site."""
    return FusedCall(
        site.label,
        module_of(site.anchor),
        line_of(site.anchor),
        tuple(n.name for n in site.region.nodes),
        {k: n.name for k, n in site.inputs.items()},
        {k: n.name for k, n in site.outputs.items()},
        dict(site.attrs),
        site.before,
        site.after,
    )


def nearest(misses: Sequence[NearMiss], fused_places: set[str]) -> list[NearMiss]:
    """Return one line per place and op that is worth reading: the best of its attempts."""
    best: dict[tuple[str, str], NearMiss] = {}
    for miss in misses:
        if miss.place in fused_places or not miss.reason:
            continue
        key = (miss.op.split(" (")[0], miss.place)
        if key not in best or best[key].share < miss.share:
            best[key] = miss
    return sorted(best.values(), key=lambda m: (-m.share, m.op, m.place))
