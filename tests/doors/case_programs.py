"""What the programs of cases share that run in the Python of another framework."""

from __future__ import annotations

import json
import traceback


def refused(function, *parts):
    """The text of the error that a call gives; it has all of the parts."""
    try:
        function()
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        assert all(part in text for part in parts), text
        return
    raise AssertionError("nothing was refused")


def run_cases(names):
    """Run every ``case_*`` of a program and print name -> traceback, empty where it passed."""
    results = {}
    for name, case in list(names.items()):
        if name.startswith("case_"):
            try:
                case()
                results[name] = ""
            except BaseException:
                results[name] = traceback.format_exc()
    print(json.dumps(results))
