"""What every kernel family provides; outside its folder nobody asks which one a plan belongs to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msopgen_wrap.render.kernel import KernelPart, KernelSources
from msopgen_wrap.schedule.anchors import anchors
from msopgen_wrap.spec.model import OpSpec, ParamKind

if TYPE_CHECKING:
    from msopgen_wrap.graph.tracing import TracedGraph
    from msopgen_wrap.graph.variants import Variant
    from msopgen_wrap.render.files import GeneratedFile
    from msopgen_wrap.render.tiling_text import TilingText
    from msopgen_wrap.schedule.plan import OpPlan

PlanT = TypeVar("PlanT", bound="OpPlan[Any]")


class Family(ABC):
    """One way to make a kernel of a formula.

    Attributes:
        name: as plans and reports call it.
        knobs: what ``schedule`` of a spec can ask of its tilings.
        rounds_to_hf32: whether kernels obey ``hf32`` of a spec.
        constant_buffers: whether the number of buffers of a queue is a constant of the kernel, the
            same for all calls.
    """

    name: str
    knobs: tuple[str, ...] = ("cores", "elements_per_core")
    constant_buffers = False
    rounds_to_hf32 = False

    @abstractmethod
    def claims(self, spec: OpSpec, traced: Callable[[], TracedGraph]) -> bool:
        """Whether this family makes the kernels of an op.

        Args:
            spec: the op.
            traced: returns the graph of the first variant and dtype combination; it is traced when
                the first family asks.
        """

    @abstractmethod
    def plan(
        self, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
    ) -> OpPlan[Any]:
        """Plan every variant and dtype combination.

        Args:
            spec: the op.
            variants: its variants.
            first: graphs already traced for combination 0, by variant index.

        Raises:
            OpgenError: ``compute`` cannot be lowered to kernels of this family.
        """

    @abstractmethod
    def render(self, plan: OpPlan[Any], style: str) -> KernelSources:
        """Render kernel and tiling.

        Args:
            plan: a plan that this family made.
            style: ``8.1`` or ``9.x`` project layout.
        """

    def knobs_of(self, plan: OpPlan[Any]) -> tuple[str, ...]:
        """Return what ``schedule`` can ask of the tiling of a plan."""
        return self.knobs

    def modes(self, plan: OpPlan[Any]) -> set[str]:
        """Return the modes that calls can reach, by the name their budgets have."""
        return {mode for body in plan.bodies for _, mode in body.budgets}


class PartFamily(Family):
    """A family whose plans can be one of several in a kernel."""

    @abstractmethod
    def kernel_part(self, plan: OpPlan[Any], style: str) -> KernelPart:
        """Return the kernel classes of a plan and how the entry runs them."""

    @abstractmethod
    def tiling_part(self, plan: OpPlan[Any], style: str) -> TilingText:
        """Return the struct and the function that tile one part."""


@dataclass(frozen=True)
class Rendering(Generic[PlanT]):
    """The functions that write the sources of a family's plans.

    Attributes:
        plans: the class of the plans.
        kernel: returns the files of an op's kernel, from a plan and the style of the project.
        part: returns the kernel classes of one part of a kernel.
        tiling: returns the tiling, of an op or of one part.
    """

    plans: type[PlanT]
    kernel: Callable[[PlanT, str], list[GeneratedFile]]
    part: Callable[[PlanT, str], KernelPart]
    tiling: Callable[[PlanT, str], TilingText]


class AnchorFamily(PartFamily, Generic[PlanT]):
    """A family of formulas with a call that is the anchor of a kernel of its own.

    Attributes:
        rendering: what writes its plans.
    """

    rendering: Rendering[PlanT]

    def claims(self, spec: OpSpec, traced: Callable[[], TracedGraph]) -> bool:
        """Claim formulas of single tensors with an anchor of this family."""
        if any(p.kind is ParamKind.DYNAMIC for p in spec.inputs):
            return False
        return bool(anchors(traced().graph.nodes, self.name))

    def render(self, plan: OpPlan[Any], style: str) -> KernelSources:
        """Render the kernel and its tiling."""
        own = self._own(plan)
        return KernelSources(self.rendering.kernel(own, style), self.rendering.tiling(own, style))

    def kernel_part(self, plan: OpPlan[Any], style: str) -> KernelPart:
        """Return the kernel classes of one part."""
        return self.rendering.part(self._own(plan), style)

    def tiling_part(self, plan: OpPlan[Any], style: str) -> TilingText:
        """Return the tiling of one part."""
        return self.rendering.tiling(self._own(plan), style)

    def _own(self, plan: OpPlan[Any]) -> PlanT:
        assert isinstance(plan, self.rendering.plans)
        return plan
