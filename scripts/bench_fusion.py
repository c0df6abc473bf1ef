"""Measure how long ``fuse`` takes against ``torch.export`` of the same model.

    scripts/bench_fusion.py [--repeats N]

The ops are PyTorch's (as in tests/fusion), so that nothing is compiled. The first fusion in a
process traces the specs and proves the matches; later ones of the same shapes know both. Ratios of
the best of several runs; the goal is 3 for the transformer block.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]
os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import torch  # noqa: E402

from msopgen_wrap.fusion.api import fuse  # noqa: E402
from tests.fusion.models import TransformerBlock  # noqa: E402
from tests.fusion.reference_ops import library, registered  # noqa: E402

OPS = ("norm/custom_layer_norm", "activation/custom_gelu", "norm/softmax")


def seconds(run: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Return the time of the first run and the best of the others."""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return times[0], min(times[1:])


def fusion_seconds(repeats: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return (first, best later) of ``torch.export`` and of ``fuse``, of a transformer block."""
    model, inputs = TransformerBlock(256, 8).eval(), (torch.randn(2, 64, 256),)
    specs = library(*OPS)
    ops = registered(specs)
    exported = seconds(lambda: torch.export.export(model, inputs, strict=False), repeats)
    return exported, seconds(lambda: fuse(model, inputs, specs=specs, ops=ops), repeats)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    (first_export, export), (first_fuse, fusion) = fusion_seconds(options.repeats)
    print(f"export: first {first_export:.2f} s, later {export * 1e3:.0f} ms")
    print(f"fuse:   first {first_fuse:.2f} s, later {fusion * 1e3:.0f} ms")
    print(f"ratio:  first {first_fuse / first_export:.2f}, later {fusion / export:.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
