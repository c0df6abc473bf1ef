"""Philox as one call of a graph, ``opgen::philox(index, seed, offset)``, and loops as two."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.graph.frozen_steps import frozen
from msopgen_wrap.graph.loop_gradients import current_tape
from msopgen_wrap.graph.loops import traced_loop
from msopgen_wrap.graph.step_loops import traced_steps
from msopgen_wrap.spec.random_numbers import RandomNumbers, philox_words
from msopgen_wrap.torch_import import torch

_LIBRARY = torch.library.Library("opgen", "FRAGMENT")
_LIBRARY.define("philox(Tensor index, SymInt seed, SymInt offset) -> Tensor")


def _philox_meta(index: Any, seed: Any, offset: Any) -> Any:
    return torch.empty_like(index, dtype=torch.int32)


_LIBRARY.impl("philox", _philox_meta, "Meta")
_LIBRARY.impl("philox", philox_words, "CPU")


class TracedRandomNumbers(RandomNumbers):
    """The functions under ``opgen`` while ``compute`` is traced.

    Attributes:
        loops: how many loops the trace has so far.
        stepwise: whether the steps of loops are recorded for one place.
    """

    whole: Any = staticmethod(torch.sym_int)
    largest: Any = staticmethod(torch.sym_max)

    def __init__(self, *, stepwise: bool = False) -> None:
        self.loops = 0
        self.stepwise = stepwise

    def loop(self, step: Any, states: Any, inputs: Any, reverse: bool = False) -> Any:
        """Return the results of a loop, whose step is recorded once."""
        tape = current_tape()
        if tape is not None:
            return tape.run(self.run_loop, frozen(step), states, inputs, reverse)
        return self.run_loop(step, states, inputs, reverse, {})

    def run_loop(
        self, step: Any, states: Any, inputs: Any, reverse: bool, ahead: dict[Any, Any]
    ) -> Any:
        """Record a loop; ``ahead`` gets what is computed for all steps before it."""
        self.loops += 1
        if self.stepwise:
            return traced_steps(step, states, inputs, reverse, ahead)
        return traced_loop(self.loops, step, states, inputs, reverse)

    def philox(self, index: Any, seed: Any, offset: Any) -> Any:
        """Return the words as one call of the graph: the kernel has a block for it."""
        return torch.ops.opgen.philox(index, seed, offset)
