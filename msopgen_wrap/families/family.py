"""What every kernel family provides; outside its folder nobody asks which one a plan belongs to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from msopgen_wrap.graph.tracing import TracedGraph
    from msopgen_wrap.graph.variants import Variant
    from msopgen_wrap.render.kernel import KernelPart, KernelSources
    from msopgen_wrap.render.tiling_text import TilingText
    from msopgen_wrap.schedule.plan import OpPlan
    from msopgen_wrap.spec.model import OpSpec


class Family(ABC):
    """One way to make a kernel of a formula.

    Attributes:
        name: as plans and reports call it.
    """

    name: str

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
