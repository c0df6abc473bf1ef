"""Cases for the control with zeros, where no case of the grid tells an output from zeros.

Some outputs are zero unless inputs are equal, as that of ``torch.isin``, or have one value of few,
as the label of ``cosine_embedding_loss``. Small whole numbers are drawn until the reference has
something else than zeros: that takes no run of the kernel.
"""

from __future__ import annotations

from dataclasses import replace

from msopgen_wrap.run.case_runner import judge, zero_outputs
from msopgen_wrap.run.cases import whole_number_cases
from msopgen_wrap.run.golden import NotApplicable, make_inputs, reference
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.run.results import FAILED, CaseResult
from msopgen_wrap.spec.model import OpSpec

_DRAWS = 24


def telling_cases(spec: OpSpec, cases: list[TestCase], untold: set[str]) -> list[TestCase]:
    """Return cases of whole numbers whose reference is not zeros, for each combination of dtypes.

    Args:
        cases: of the grid.
        untold: keys of ``CaseResult.controls`` that no case has told from zeros.

    Returns:
        As few drawings as tell all of them; the first drawing where none tells any.
    """
    chosen: list[TestCase] = []
    for case in whole_number_cases(cases):
        left, found = set(untold), []
        for draw in range(_DRAWS):
            tried = replace(case, draw=draw)
            told = left & _told(spec, tried)
            if told:
                found.append(tried)
                left -= told
            if not left:
                break
        chosen += found or [case]
    return chosen


def _told(spec: OpSpec, case: TestCase) -> set[str]:
    """Return the controls that refuse zeros in a case."""
    inputs = make_inputs(spec, case)
    try:
        want = reference(spec, case, inputs)
    except NotApplicable:
        return set()
    result = CaseResult(spec.op, case.label(spec), spec.inputs[0].dtypes[case.combo], FAILED)
    judge(spec, zero_outputs(spec, case, want), want, result, case.combo)
    return {key for key, refused in result.controls.items() if refused}
