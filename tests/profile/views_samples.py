"""A small profile and its events, written by hand by the rules of ``ascendc_emu/profile.h``."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from msopgen_wrap.profile.event_table import EVENT, NONE, Events

FILES = ["add.asc", "queue.h"]
APIS = ["DataCopy", "Add", "", "SetFlag"]
OPERANDS = ["", "dst: half UB+0x0, 64 B"]


def profile_json(**changes: Any) -> dict[str, Any]:
    """Return a profile of a kernel that adds on two cores, with top-level ``changes``."""
    pipes = {
        "MTE2": {"busy_us": 6.0, "stalled_us": 0.0, "instructions": 4, "waits": []},
        "V": {
            "busy_us": 2.0,
            "stalled_us": 4.0,
            "instructions": 2,
            "waits": [{"for": "event MTE2_V 0", "file": "add.asc", "line": 12, "us": 4.0}],
        },
        "MTE3": {
            "busy_us": 3.0,
            "stalled_us": 2.0,
            "instructions": 2,
            "waits": [{"for": "queue out", "file": "add.asc", "line": 14, "us": 2.0}],
        },
    }
    slower = copy.deepcopy(pipes)
    slower["MTE2"]["busy_us"] = 8.0
    data: dict[str, Any] = {
        "format": 1,
        "soc": "Ascend910B3",
        "kernel": "add_custom",
        "l2": "cold",
        "validated": False,
        "not_validated": ["cross_core"],
        "time_us": 14.5,
        "time_low_us": 13.0,
        "time_high_us": 16.0,
        "launch_us": 4.0,
        "kernel_us": 10.5,
        "clock_mhz": 1850,
        "sampled": None,
        "cores": [
            {"core": 0, "kind": "AIV", "start_us": 4.0, "end_us": 12.5, "pipes": pipes},
            {"core": 1, "kind": "AIV", "start_us": 4.2, "end_us": 14.5, "pipes": slower},
        ],
        "memory": {
            "gm_read": 98304,
            "gm_written": 32768,
            "l2_hit": 32768,
            "ub_read": 98304,
            "ub_written": 98304,
            "buffers": [
                {
                    "name": "x",
                    "read": 65536,
                    "written": 0,
                    "distinct_read": 32768,
                    "distinct_written": 0,
                },
                {
                    "name": "y",
                    "read": 32768,
                    "written": 0,
                    "distinct_read": 32768,
                    "distinct_written": 0,
                },
                {
                    "name": "z",
                    "read": 0,
                    "written": 32768,
                    "distinct_read": 0,
                    "distinct_written": 32768,
                },
            ],
        },
        "lines": [
            {
                "file": "add.asc",
                "line": 10,
                "pipe": "MTE2",
                "busy_us": 14.0,
                "stalled_us": 0.0,
                "instructions": 8,
                "bytes": 98304,
            },
            {
                "file": "add.asc",
                "line": 12,
                "pipe": "V",
                "busy_us": 4.0,
                "stalled_us": 8.0,
                "instructions": 4,
                "bytes": 98304,
            },
            {
                "file": "add.asc",
                "line": 14,
                "pipe": "MTE3",
                "busy_us": 6.0,
                "stalled_us": 4.0,
                "instructions": 4,
                "bytes": 32768,
            },
        ],
        "limits": {
            "gm_us": 5.0,
            "l2_us": 1.5,
            "vector_us": 2.0,
            "scalar_us": 0.5,
            "cube_us": 0.0,
            "mte2_us": 4.0,
            "mte3_us": 2.0,
            "launch_us": 4.0,
        },
        "ablation": [
            {"what": "gm_reread", "time_us": 11.5, "saved_us": 3.0},
            {"what": "single_buffer", "time_us": 13.0, "saved_us": 1.5},
            {"what": "bank_conflicts", "time_us": 14.5, "saved_us": 0.0},
        ],
        "files": FILES,
        "apis": APIS,
        "operands": OPERANDS,
    }
    return {**data, **changes}


def sample_events() -> Events:
    """Return the events of one tile on each of two cores.

    MTE2 copies, sets a flag (no length), V stalls for it, adds, sets a flag for MTE3.
    """
    rows = []
    for core in (0, 1):
        first = len(rows)
        base = 4000.0 + 200.0 * core
        rows += [
            (base, base + 1000.0, 4096, core, 10, 0, NONE, 0, 4, 0, 0),
            (base + 500.0, base + 1400.0, 4096, core, 10, 0, NONE, 0, 4, 0, 0),
            (base + 1400.0, base + 1400.0, 0, core, 11, 0, NONE, 3, 4, 2, 0),
            (base + 100.0, base + 1400.0, 0, core, 12, 0, first + 2, 1, 1, 1, 0),
            (base + 1400.0, base + 1700.5, 8192, core, 12, 0, NONE, 1, 1, 0, 1),
            (base + 1700.5, base + 1700.5, 0, core, 13, 0, NONE, 3, 1, 2, 0),
            (base + 1700.5, base + 1700.5, 0, core, 14, 0, first + 5, 2, 5, 3, 0),
            (base + 1700.5, base + 2200.0, 4096, core, 14, 0, NONE, 0, 5, 0, 0),
        ]
    return np.array(rows, EVENT)


def many_events(count: int, cores: int = 40) -> Events:
    """Return ``count`` events: on each core copies and additions by turns, with flags between."""
    events = np.zeros(count, EVENT)
    index = np.arange(count)
    per_core = -(-count // cores)
    core, step = index // per_core, index % per_core
    kind = step % 4
    events["core"] = core
    events["pipe"] = np.where(kind < 2, 4, 1)
    events["kind"] = np.array([0, 2, 1, 0])[kind]
    events["api"] = np.array([0, 3, 1, 1])[kind]
    events["line"] = 10 + kind
    tile = step // 4
    begins = np.array([0.0, 100.0, 0.0, 100.0])[kind] + tile * 150.0
    lengths = np.array([100.0, 0.0, 100.0, 50.25])[kind]
    events["start_ns"] = begins
    events["end_ns"] = begins + lengths
    events["bytes"] = np.where(kind == 0, 4096, 0)
    events["from"] = np.where(kind == 2, index - 1, NONE)
    return events
