"""A worker of the local engine: one task per line of standard input, one answer per line.

Whatever a task prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys

from msopgen_wrap.build.child_processes import end_children_on_signals
from msopgen_wrap.engines.engine import execute


def main() -> int:
    """Answer tasks until there are no more."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    end_children_on_signals()
    for line in sys.stdin:
        task = json.loads(line)
        answer = execute(task["function"], task["arguments"])
        channel.write(json.dumps(answer) + "\n")
        channel.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
