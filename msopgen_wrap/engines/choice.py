"""Choose the engine by its name."""

from __future__ import annotations

import importlib.util
import os

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.engines.engine import Engine
from msopgen_wrap.engines.local_engine import LocalEngine
from msopgen_wrap.spec.findings import suggestion

ENGINES = ("local", "ray")


def open_engine(name: str, jobs: int | None = None) -> Engine:
    """Return an engine that is ready for tasks.

    Args:
        name: ``local`` or ``ray``. Ray takes the cluster of ``$RAY_ADDRESS``, else it starts one on
            this machine that ends with the engine.
        jobs: tasks at once; default: half of the cores of this machine, or all of a cluster.

    Raises:
        OpgenError: OPG380 an unknown engine, OPG381 Ray is missing or its cluster does not answer.
    """
    if name not in ENGINES:
        raise OpgenError(
            Diagnostic(
                "OPG380",
                f"unknown engine '{name[:40]}'",
                why=f"engines: {', '.join(ENGINES)}",
                fix=suggestion(name, ENGINES) or "write --engine local",
            )
        )
    if name == "local":
        return LocalEngine(jobs or max(1, (os.cpu_count() or 2) // 2))
    if importlib.util.find_spec("ray") is None:
        raise OpgenError(
            Diagnostic(
                "OPG381",
                "Ray is not installed",
                why="--engine ray runs its tasks in the workers of a Ray cluster",
                fix="pip install 'opgen[ray]', or take --engine local",
            )
        )
    from msopgen_wrap.engines.ray_engine import RayEngine

    return RayEngine(jobs)
