"""The tiling part of op_host, as a schedule hands it to the frame of ``op_host/<op>.cpp``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TilingText:
    """Tiling struct and TilingFunc as C++ text.

    Attributes:
        includes: operands of ``#include`` the functions need (``<algorithm>``,
            ``"tiling/platform/platform_ascendc.h"``); the frame adds the op registry,
            ``opgen_log.h``, ``opgen_shape.h`` and the tiling header itself.
        functions: definitions, put into ``namespace optiling``. They log failed checks with
            ``OPGEN_LOGE(context, format, ...)`` or ``OPGEN_CHECK(context, condition, format, ...)``
            of ``opgen_log.h``; ``opgen::ToString(shape).c_str()`` prints shapes.
        tiling_func_name: the function ``ge::graphStatus NAME(gert::TilingContext* context)``.
        fields: rows of the tiling struct (``field_row``), for kernels of several parts.
        header_text: whole text of the tiling header (``op_host/<op>_tiling.h`` in 8.1 style,
            ``op_kernel/<op>_tiling.h`` in 9.x style); "" when there is none.
    """

    includes: tuple[str, ...]
    functions: str
    tiling_func_name: str
    header_text: str
    fields: tuple[dict[str, Any], ...] = ()


# Standard headers, and the names of namespace std that TilingFuncs take from them.
_STANDARD = {
    "<algorithm>": ("copy", "equal", "max", "min"),
    "<cmath>": (),  # all others
    "<string>": ("string", "to_string"),
    "<vector>": ("vector",),
}
_STD_NAME = re.compile(r"\bstd::(\w+)")


def standard_includes(text: str) -> list[str]:
    """Return the standard headers that the text of a TilingFunc needs.

    What is none of the containers and algorithms that tilings use is a function of ``<cmath>``:
    attrs and sizes make numbers through them.
    """
    by_name = {name: header for header, names in _STANDARD.items() for name in names}
    names: Sequence[str] = _STD_NAME.findall(text)
    return sorted({by_name.get(name, "<cmath>") for name in names})
