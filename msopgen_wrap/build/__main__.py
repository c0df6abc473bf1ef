"""``python -m msopgen_wrap.build``: build the emulation library ahead of its first use.

It needs neither torch nor the other dependencies of the command line, so that scripts can run it
while these are being installed.
"""

from __future__ import annotations

import sys

from msopgen_wrap.build.emulation_library import emulation_library
from msopgen_wrap.diagnostics import OpgenError, render


def main() -> int:
    """Build, with a line per step on standard error; 0 built, 3 it cannot be built here."""
    try:
        emulation_library(progress=lambda text: print(text, file=sys.stderr, flush=True))
    except OpgenError as error:
        for diagnostic in error.diagnostics:
            print(render(diagnostic), file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
