"""The events of a profiled launch as a table: what each pipe of each core did when."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

#: ``OpgenProfileEvent`` of ``ascendc_emu/profile.h``; times in nanoseconds.
EVENT = np.dtype(
    [
        ("start_ns", "<f8"),
        ("end_ns", "<f8"),
        ("bytes", "<u8"),
        ("core", "<u4"),
        ("line", "<u4"),
        ("file", "<u4"),
        ("from", "<u4"),
        ("api", "<u2"),
        ("pipe", "u1"),
        ("kind", "u1"),
        ("operands", "<u4"),
    ],
    align=True,
)
#: No other event: an event that waited for none.
NONE = 0xFFFFFFFF
#: Names of the kinds, by their numbers.
KINDS = ("instruction", "stall", "set flag", "wait flag", "barrier", "SyncAll", "cross-core flag")
INSTRUCTION, STALL, SET_FLAG, WAIT_FLAG, BARRIER, SYNC_ALL, CROSS_CORE = range(len(KINDS))
#: Names of the pipes, by the numbers of ``pipe_t``.
PIPE_NAMES = ("S", "V", "M", "MTE1", "MTE2", "MTE3", "ALL", "MTE4", "MTE5", "V2", "FIX")

Events = np.ndarray[Any, np.dtype[np.void]]


def no_events() -> Events:
    """Return a table without events."""
    return np.empty(0, EVENT)


def events_at(address: int | None, count: int) -> Events:
    """Return a copy of the events of the last launch, which the next one overwrites.

    Args:
        address: of the first event; None where there is none.
    """
    if not address or not count:
        return no_events()
    memory = (ctypes.c_char * (count * EVENT.itemsize)).from_address(address)
    return np.frombuffer(memoryview(memory), EVENT, count).copy()


def pipe_name(number: int) -> str:
    """Return the name of a pipe."""
    return PIPE_NAMES[number] if number < len(PIPE_NAMES) else f"pipe {number}"
