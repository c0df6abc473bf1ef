"""The tiling part of op_host, as a schedule hands it to the frame of ``op_host/<op>.cpp``."""

from __future__ import annotations

from dataclasses import dataclass


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
        header_text: whole text of the tiling header (``op_host/<op>_tiling.h`` in 8.1 style,
            ``op_kernel/<op>_tiling.h`` in 9.x style); "" when there is none.
    """

    includes: tuple[str, ...]
    functions: str
    tiling_func_name: str
    header_text: str
