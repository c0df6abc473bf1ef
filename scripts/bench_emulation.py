"""Measure the emulation: fast and check mode against eager torch and the Triton interpreter.

    scripts/bench_emulation.py [--elements N] [--json FILE]

Times are the best of several runs, ratios come from one process on the same machine. The Triton
interpreter is measured when triton is installed, on fewer elements, and scaled.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import numpy as np  # noqa: E402
import torch  # noqa: E402

from tests.emulation.launcher import build  # noqa: E402

ROW = 4096
BLOCKS = 32
TRITON_SAMPLE = 1 << 19


def _best(run: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def _triton_add(x: torch.Tensor, y: torch.Tensor) -> float | None:
    """Seconds per element of an add in the Triton interpreter, at its best block size of a few."""
    os.environ["TRITON_INTERPRET"] = "1"
    try:
        import triton
        import triton.language as tl
    except ImportError:
        return None

    @triton.jit
    def add(x_ptr, y_ptr, z_ptr, n, block: tl.constexpr):
        at = tl.program_id(0) * block + tl.arange(0, block)
        on = at < n
        tl.store(z_ptr + at, tl.load(x_ptr + at, on) + tl.load(y_ptr + at, on), on)

    n = min(TRITON_SAMPLE, x.numel())
    z = torch.empty(n)
    best = min(
        _best(lambda b=b: add[(triton.cdiv(n, b),)](x[:n], y[:n], z, n, block=b), 2)
        for b in (1024, 16384, 65536)
    )
    return best / n


def main() -> int:
    """Print the table; exit code 0 always: ratios depend on the machine's load."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--elements", type=int, default=1 << 24)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    n = -(-options.elements // (ROW * BLOCKS)) * ROW * BLOCKS
    x, y, z = torch.randn(n), torch.randn(n), torch.zeros(n)
    rows = x.view(-1, ROW)
    functional = torch.nn.functional
    ops: dict[str, Callable[[], torch.Tensor]] = {
        "add": lambda: x + y,
        "gelu": lambda: functional.gelu(x, approximate="tanh"),
        "softmax": lambda: torch.softmax(rows, -1),
        "layer_norm": lambda: functional.layer_norm(rows, (ROW,)),
    }
    kernel = build("throughput")
    arrays = [t.numpy() for t in (x, y, z)]
    triton = _triton_add(x, y)
    results = []
    print(f"{n} float32 elements, {torch.get_num_threads()} threads")
    print(
        f"{'op':12s}{'torch ms':>10s}{'fast ms':>10s}{'x torch':>9s}{'check ms':>10s}{'x fast':>8s}"
    )
    for key, (name, reference) in enumerate(ops.items()):
        want = reference().numpy().ravel()
        eager = _best(reference, 5)

        def launch(mode: str, key: int = key) -> None:
            tiling = struct.pack("II", n, ROW)
            kernel.launch("throughput", arrays, tiling=tiling, key=key, blocks=BLOCKS, mode=mode)

        fast = _best(lambda launch=launch: launch("fast"), 5)
        error = float(np.abs(arrays[2] - want).max())
        check = _best(lambda launch=launch: launch("check"), 2)
        print(
            f"{name:12s}{eager * 1e3:10.1f}{fast * 1e3:10.1f}{fast / eager:9.2f}"
            f"{check * 1e3:10.1f}{check / fast:8.1f}"
        )
        results.append(
            {"op": name, "torch_s": eager, "fast_s": fast, "check_s": check, "max_abs_error": error}
        )
        if key == 0 and triton is not None:
            print(f"{'':12s}Triton interpreter: {triton * n / fast:.0f} x fast")
            results[-1]["triton_interpreter_s"] = triton * n
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
