"""What the build cache already holds for a job, found while the worker imports torch.

The worker takes the sources, objects and accepted shapes that are named here instead of looking
them up itself. They are checked as every entry of the cache is; where one is missing or no longer
current the worker finds out again, and builds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from msopgen_wrap.build.operators import BuiltOperators
    from msopgen_wrap.run.worker import Job


@dataclass(frozen=True)
class KnownBuild:
    """Paths of one op's sources and objects in the cache.

    Attributes:
        op: type of the op.
        project: root of the sources.
        host: the op_host library.
        kernels: dtype key -> kernel object, in the order of ``build.operators.kernel_variants``.
        answers: which shapes ``compute`` takes, see ``run.cached_specs``.
    """

    op: str
    project: str
    host: str
    kernels: dict[str, str]
    answers: dict[str, bool]

    def built(self) -> BuiltOperators:
        """Return the objects as a build returns them."""
        from msopgen_wrap.build.operators import BuiltOperators

        kernels = {key: Path(path) for key, path in self.kernels.items()}
        return BuiltOperators(Path(self.host), {self.op: kernels})


def known_build(job: Job) -> KnownBuild | None:
    """Return what the cache holds for the first op of a job, None unless it is all there.

    Only the first: the worker would wait for the others.
    """
    from msopgen_wrap.build import cache
    from msopgen_wrap.build.operators import build_operators
    from msopgen_wrap.diagnostics import OpgenError
    from msopgen_wrap.run.cached_specs import accepted_shapes, rendered_spec
    from msopgen_wrap.spec.loader import load_specs

    try:
        # The worker reports what is wrong with a spec or a source.
        specs = [s for s in load_specs([Path(p) for p in job.specs]) if s.op not in job.skip]
        if not specs:
            return None
        spec = specs[0]
        if spec.kernel is not None and not job.project:
            return None  # its sources are read by the planner, which imports torch
        with cache.without_building():
            project = Path(job.project) if job.project else rendered_spec(spec, job.vendor)
            built = build_operators([spec], project, small=job.small_kernels)
            answers = accepted_shapes(spec)
    except (OpgenError, OSError, cache.NotCached):
        return None
    kernels = {key: str(path) for key, path in built.kernels[spec.op].items()}
    return KnownBuild(spec.op, str(project), str(built.host), kernels, answers)
