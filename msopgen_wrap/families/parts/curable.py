"""Refusals of one pass that several passes may cure."""

from __future__ import annotations

from msopgen_wrap.diagnostics import OpgenError

# What fewer outputs, or a value in the workspace, may cure: an attr that shapes more than the axes
# that are reduced (202), too much UB (310), too many operands (311), a view of a computed value
# (331), elements of 64 bits beside a reduction (332), reductions over different axes (335), axes
# that do not line up (336), outputs reshaped (337), of other shapes (338), what the family of an
# anchor does not take in (350).
CURABLE = {"OPG202", "OPG310", "OPG311", "OPG331", "OPG332", "OPG335", "OPG336", "OPG337"}
CURABLE |= {"OPG338", "OPG350"}
# a loop whose steps one pass cannot run; more than one product, convolution or attention
CURABLE |= {"OPG351", "OPG370", "OPG410", "OPG420"}


def curable(error: OpgenError) -> bool:
    """Whether several passes may make what one was refused."""
    return all(d.code in CURABLE for d in error.diagnostics)
