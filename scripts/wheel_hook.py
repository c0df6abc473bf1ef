"""Build hook of the wheel: adds the emulation library that scripts/build_wheels.sh compiled.

OPGEN_WHEEL_PREBUILT names the folder of libraries (``<machine>-<cpu level>/lib....so``) and
OPGEN_WHEEL_TAG the platform they need (``manylinux_2_34_x86_64``). Without them, as in
``pip install .``, the wheel is pure Python and the library is compiled at first use.
"""

from __future__ import annotations

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PrebuiltLibraryHook(BuildHookInterface):
    """Adds ``_data/ascendc_kernels/prebuilt`` to a wheel and names its platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Change what hatchling puts into the wheel."""
        folder = os.environ.get("OPGEN_WHEEL_PREBUILT")
        if not folder or version == "editable":
            return
        target = "msopgen_wrap/_data/ascendc_kernels/prebuilt"
        build_data["force_include"][folder] = target
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ['OPGEN_WHEEL_TAG']}"
