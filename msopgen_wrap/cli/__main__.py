"""``python -m msopgen_wrap.cli``."""

from msopgen_wrap.cli import main

main()
