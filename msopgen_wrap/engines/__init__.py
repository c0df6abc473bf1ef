"""Where work in many pieces runs: local processes, or a Ray cluster."""

from msopgen_wrap.engines.choice import ENGINES, open_engine
from msopgen_wrap.engines.engine import Engine, Outcome, Task

__all__ = ["ENGINES", "Engine", "Outcome", "Task", "open_engine"]
