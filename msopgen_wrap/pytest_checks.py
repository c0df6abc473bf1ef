"""Part of the pytest plugin: ``check_op`` as tests of their own, one per check.

::

    @pytest.mark.opgen_check(my_op, my_reference, shapes=[((3, 4), (4,))], dtypes=["float32"])
    def test_my_op(opgen_check):
        opgen_check()

becomes one test for each check; a check that does not apply is skipped with its reason. Without the
marker ``opgen_check(op, reference, ...)`` runs all checks at once and returns the report. With
``--npu`` the op runs on npu tensors unless ``device=`` says otherwise.

It is imported by ``msopgen_wrap.pytest_npu``, which prepares torch's import.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from msopgen_wrap.testing import OpReport

_MARKER = "opgen_check"


def pytest_configure(config: pytest.Config) -> None:
    """Add the marker."""
    config.addinivalue_line(
        "markers",
        "opgen_check(op, reference, shapes, dtypes, ...): the arguments of check_op; the fixture "
        "opgen_check becomes one test per check",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test per check of a test that has the marker and uses the fixture."""
    marker = metafunc.definition.get_closest_marker(_MARKER)
    if marker is None or _MARKER not in metafunc.fixturenames:
        return
    from msopgen_wrap.testing.check import chosen_checks

    names = chosen_checks(marker.kwargs.get("checks"), marker.kwargs.get("skip", ()))
    ids = [name.replace(" ", "-") for name in names]
    metafunc.parametrize(_MARKER, names, indirect=True, ids=ids)


@pytest.fixture
def opgen_check(request: pytest.FixtureRequest) -> Callable[..., OpReport]:
    """A function with the arguments of ``check_op`` that raises unless the op passed.

    It returns the report. On a test with the marker it runs one check, with the marker's arguments
    and those that it is given besides.
    """
    from msopgen_wrap.testing import check_op

    marker = request.node.get_closest_marker(_MARKER)
    name = getattr(request, "param", None)
    default = {"device": "npu"} if _on_npu(request.config) else {}

    def check(*args: Any, **options: Any) -> OpReport:
        if marker is None or name is None:
            return check_op(*args, **{**default, **options}).raise_if_failed()
        given = {**default, **marker.kwargs, **options}
        given.pop("skip", None)
        if given.pop("checks", None) is None:
            from msopgen_wrap.testing.check import make_subject, run_checks

            report = run_checks(make_subject(*(args or marker.args), **given), [name])
        else:
            report = check_op(*(args or marker.args), **given, checks=[name])
        only = report[name]
        if only.status == "not applicable":
            pytest.skip(f"{name} does not apply: {only.detail}")
        return report.raise_if_failed()

    return check


def _on_npu(config: pytest.Config) -> bool:
    wish = getattr(config.known_args_namespace, "opgen_npu", None) or config.getini("opgen_npu")
    return wish != "off"
