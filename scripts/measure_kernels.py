"""What the library's normalisation kernels move and compute, against what they have to.

    scripts/measure_kernels.py                     all ops on all shapes
    scripts/measure_kernels.py softmax rms_norm    these ops
    scripts/measure_kernels.py --rows 512x4096     this shape, all dtypes

Columns: bytes of global memory read and written for each byte that has to be; vector instructions
that go over an element; share of the unified buffer; cores with work; bytes of the busiest core
against the mean. The bar is what the reads should reach: 1.05 for rows that fit the unified
buffer, 2 for longer ones.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from msopgen_wrap.cli.plan_command import parse_shapes  # noqa: E402
from msopgen_wrap.run.measurement import Measurement, measure_op  # noqa: E402
from msopgen_wrap.schedule.report import table_lines  # noqa: E402
from msopgen_wrap.spec.loader import load_specs  # noqa: E402

OPS = {
    "layer_norm": "custom_layer_norm",
    "rms_norm": "rms_norm",
    "softmax": "softmax",
    "add_rms_norm": "add_rms_norm",
}
#: Shape, dtype (None: all), most reads per byte.
BARS = (
    ("512x4096", "float16", 1.05),
    ("64x8192", "float16", 1.05),
    ("64x6144", "float32", 1.05),
    ("8x65536", "float16", 2.0),
    ("8x65536", "float32", 2.0),
)
HEAD = ["op", "shape", "dtype", "read", "bar", "written", "per element", "UB", "cores", "busiest"]


def main() -> int:
    """Print the table; exit code 1 when a kernel reads more than its bar."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ops", nargs="*", help=f"of {', '.join(OPS)}; default: all")
    parser.add_argument("--rows", help="another shape instead of the bars', such as 512x4096")
    options = parser.parse_args()
    unknown = [name for name in options.ops if name not in OPS]
    if unknown:
        parser.error(f"unknown op {unknown[0]}; there are {', '.join(OPS)}")
    bars = [(options.rows, None, None)] if options.rows else BARS
    table = [HEAD]
    over = 0
    for name in options.ops or OPS:
        (spec,) = load_specs([ROOT / "op_specs" / "norm" / f"{OPS[name]}.yaml"])
        counts: dict[str, list[Measurement]] = {}
        for shape, dtype, bar in bars:
            if shape not in counts:
                given = parse_shapes(spec, (f"{spec.inputs[0].name}={shape}",))
                assert given is not None
                counts[shape] = measure_op(spec, given)
            for m in counts[shape]:
                own = m.dtypes.split(",")[0]
                if dtype in (None, own):
                    over += bar is not None and m.read_ratio > bar
                    table.append([name, shape, own, *_ratios(m, bar)])
    print("\n".join(table_lines(table, "")))
    return 1 if over else 0


def _ratios(m: Measurement, bar: Any) -> list[str]:
    return [
        f"{m.read_ratio:.2f}",
        "" if bar is None else f"{bar:g}",
        f"{m.written_ratio:.2f}",
        f"{m.instructions_per_element:.1f}",
        f"{100 * m.ub_bytes / m.ub_capacity_bytes:.0f}%",
        str(m.cores),
        f"{m.balance:.2f}",
    ]


if __name__ == "__main__":
    sys.exit(main())
