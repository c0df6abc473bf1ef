"""Kernel text that the device compiler takes and g++ does not, rewritten line by line.

* ``add<<<dim, l2ctrl, stream>>>(...);`` in a launcher that a kernel library never calls goes, and
  so do the function attributes ``[aicore]`` and ``[host, aicore]``.
* ``__bf16`` and ``__fp16``, which g++ 13 and g++ for aarch64 have as types of their own, are
  ``bfloat16_t`` and ``half``.
* Explicit specialisations inside a class: see ``member_specialisations``.
* Members that a constexpr constructor initialises in its body: see ``constexpr_members``.
* Configurations of a function as template arguments: see ``local_configs``.
* Conditions on the tiling key: see ``key_conditions``.
* Arrays in a core's memory, ``__ubuf__ float x[64];``: see ``local_arrays``.
* A kernel kind declared outside of functions: see ``task_types``.
* ``reinterpret_cast<__ubuf__ float*>(512)``, a place in UB by its number, becomes a call that gives
  the address of UB's memory here: kernels read and write through it. So do places in the cube's
  memories (``__cbuf__``, ``__ca__`` ...).

Lines keep their numbers.
"""

from __future__ import annotations

import re

from msopgen_wrap.build.rewriting.constexpr_members import initialise_members
from msopgen_wrap.build.rewriting.key_conditions import runtime_conditions
from msopgen_wrap.build.rewriting.local_arrays import place_arrays
from msopgen_wrap.build.rewriting.local_configs import hoist_configs
from msopgen_wrap.build.rewriting.member_specialisations import rewrite_members
from msopgen_wrap.build.rewriting.task_types import place_task_types

_LAUNCH_STATEMENT = re.compile(r"[\w:]+(?:\s*<[^<>;{}]*>)?\s*<<<[^;{}]*?>>>\s*\([^;{}]*?\)(?=\s*;)")
_LAUNCH = re.compile(r"<<<.*?>>>", re.DOTALL)
_BF16 = re.compile(r"\b__bf16\b")
_FP16 = re.compile(r"\b__fp16\b")
_MEMORIES = {
    "cbuf": "kL1",
    "ca": "kL0a",
    "cb": "kL0b",
    "cc": "kL0c",
    "biasbuf": "kBt",
    "fbuf": "kFb",
}
_PLACE_CAST = re.compile(
    r"\breinterpret_cast\s*<\s*((?:(?:const|volatile)\s+)*)"
    rf"__(ubuf|{'|'.join(_MEMORIES)})__\s+([\w:]+)\s*\*\s*>(?=\s*\()"
)
_ATTRIBUTE = re.compile(r"\[\s*(?:host\s*,\s*)?aicore\s*\]")


def host_text(text: str) -> str:
    """Return the text for g++; the same object content when there is nothing to rewrite."""
    if "<<<" in text:
        text = _LAUNCH.sub(_blank, _LAUNCH_STATEMENT.sub(_blank, text))
    return program_text(text)


def program_text(text: str) -> str:
    """Like :func:`host_text`, with launches kept."""
    text = _ATTRIBUTE.sub(_blank, text) if "aicore" in text else text
    text = _BF16.sub("bfloat16_t", text) if "__bf16" in text else text
    text = _FP16.sub("half", text) if "__fp16" in text else text
    text = _PLACE_CAST.sub(_place, text) if "reinterpret_cast" in text else text
    text = runtime_conditions(text) if "TILING_KEY_" in text else text
    return hoist_configs(initialise_members(rewrite_members(place_arrays(place_task_types(text)))))


def _place(match: re.Match[str]) -> str:
    qualifiers, memory, name = match.groups()
    if memory == "ubuf":
        return f"::ascendc_emu::UbPointer<{qualifiers}{name}*>"
    mem = f"::ascendc_emu::Mem::{_MEMORIES[memory]}"
    return f"::ascendc_emu::MemoryPointer<{mem}, {qualifiers}{name}*>"


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])
