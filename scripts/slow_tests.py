"""Choose the tests that are too long for the default suite, from their measured times.

    pytest -n auto --dist worksteal -m "not slow" --durations=0 --durations-min=1 | tee times.txt
    python scripts/slow_tests.py times.txt            # adds to tests/slow_tests.txt

Tests that run longer than --seconds are added; the shortest of them stays in the default suite
where its file has no shorter one. Times of fixtures do not count: the next test would pay for them.
A test that no longer exists is dropped from the list.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "slow_tests.txt"
HEAD = (
    "# Tests that the default suite leaves out because they take seconds: scripts/slow_tests.py\n"
    "# wrote this list from measured times, tests/conftest.py marks them as slow.\n"
)
_LINE = re.compile(r"^\s*([\d.]+)s (call|setup|teardown)\s+(tests/\S.*?)\s*$")


def called(text: str) -> dict[str, float]:
    """Return the seconds of each test's call, without its fixtures.

    Args:
        text: what pytest prints with ``--durations``.
    """
    found = (_LINE.match(line) for line in text.splitlines())
    return {m[3]: float(m[1]) for m in found if m and m[2] == "call"}


def chosen(seconds: dict[str, float], limit: float) -> set[str]:
    """Return the tests that take longer than the limit, but one of a file that has no others."""
    files: dict[str, list[str]] = defaultdict(list)
    for test in sorted(seconds, key=lambda t: seconds[t]):
        files[test.partition("::")[0]].append(test)
    slow = set()
    for tests in files.values():
        long = [t for t in tests if seconds[t] > limit]
        slow |= set(long if len(long) < len(tests) else long[1:])
    return slow


def exists(test: str) -> bool:
    """Whether a file has a test function of this name."""
    file, _, name = test.partition("::")
    path = ROOT / file
    if not path.is_file():
        return False
    function = name.partition("[")[0].rpartition("::")[2]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(n, ast.FunctionDef) and n.name == function for n in ast.walk(tree))


def listed(path: Path = LIST) -> set[str]:
    """Return the tests of the list."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {line for line in lines if line and not line.startswith("#")}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("times", type=Path, help="what pytest printed")
    parser.add_argument("--seconds", type=float, default=4.0)
    arguments = parser.parse_args()
    seconds = called(arguments.times.read_text(encoding="utf-8"))
    kept = {test for test in listed() if exists(test)}
    slow = sorted(kept | chosen(seconds, arguments.seconds))
    LIST.write_text(HEAD + "".join(f"{test}\n" for test in slow), encoding="utf-8")
    saved = sum(seconds.get(test, 0.0) for test in slow)
    print(f"{len(slow)} tests are slow; {saved:.0f} s less in the default suite")


if __name__ == "__main__":
    main()
