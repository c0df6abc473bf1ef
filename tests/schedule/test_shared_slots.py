"""Which operands an output may share a scratch slot with."""

from __future__ import annotations

from msopgen_wrap.project.tree import ProjectOptions, render_project
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import load_spec


def _kernel(name: str) -> str:
    spec = load_spec(data_dir("op_specs") / f"activation/{name}.yaml")
    files = render_project([spec], ProjectOptions(vendor="acme", style="8.1"))
    return next(f.text for f in files if f.path == f"op_kernel/{spec.name}.cpp")


def test_instructions_that_read_late_keep_their_operand():
    """asinh takes the sign from x after it has written y: y on x's slot loses it."""
    assert "kYSlot = kXSlot;" not in _kernel("asinh")


def test_other_instructions_share():
    assert "kYSlot = kXSlot;" in _kernel("custom_relu")


def test_an_operand_on_a_shared_slot_waits_for_who_reads_the_output():
    """y lies on x1's slot and is read before x1 is loaded: without auto-sync that is a race."""
    kernel = _kernel("swi_glu")
    assert "kYSlot = kX1Slot;" in kernel
    _, _, after = kernel.partition("Div(x, x, y, count);")
    before, _, _ = after.partition("opgen::WidenOperand<kBroadcast>(x1,")
    assert "PipeBarrier<PIPE_V>();" in before
