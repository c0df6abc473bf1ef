"""Measure the emulation: fast and check mode against eager torch and the Triton interpreter.

    scripts/bench_emulation.py [--elements N] [--no-triton] [--json FILE]

Each op is measured as a handwritten kernel and, where the op library has it, as the kernel that
opgen generates (with its own tiling). Times are the best of several runs; ratios come from one
process on the same machine. The Triton interpreter (``pip install triton``) runs the same
sizes and is given at its best block size. The table of compile times leaves out the emulation
library, which is built once.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]
os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
os.environ["TRITON_INTERPRET"] = "1"

import torch  # noqa: E402
from bench_generate import compile_project  # noqa: E402

from msopgen_wrap.build.emulation import compile_kernel  # noqa: E402
from msopgen_wrap.build.emulation_library import include_dirs  # noqa: E402
from tests.emulation.launcher import KERNELS, build  # noqa: E402
from tests.emulation.test_matmul import FIELDS  # noqa: E402

ROW = 4096
BLOCKS = 32
MATMUL = 1024
MATMUL_SHARE = 256  # rows and columns of the product that a core computes
Call = Callable[[], object]


@dataclass
class Row:
    """One op by one kernel; seconds. ``triton_s`` by block size, empty where triton is absent."""

    op: str
    kernel: str
    torch_s: float
    fast_s: float
    check_s: float
    max_abs_error: float
    triton_s: dict[str, float] = field(default_factory=dict)


def best(run: Call, repeats: int) -> float:
    """Return the shortest wall time of ``repeats`` calls, seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


@dataclass
class Workload:
    """One op: what torch computes, what it is computed into, and who else can compute it."""

    name: str
    reference: Callable[[], torch.Tensor]
    out: torch.Tensor
    kernels: Mapping[str, Callable[[str], object]]  # kernel -> run(mode)
    triton: Callable[[], Mapping[str, Call]]

    def measure(self, with_triton: bool) -> list[Row]:
        """Return one row per kernel."""
        want = self.reference().float()
        eager = best(self.reference, 5)
        peer = {}
        if with_triton:
            peer = {name: best(call, 1) for name, call in self.triton().items()}
        rows = []
        for kernel, run in self.kernels.items():
            self.out.fill_(float("nan"))
            fast = best(lambda run=run: run("fast"), 5)
            error = float((self.out.float() - want).abs().max())
            check = best(lambda run=run: run("check"), 2)
            rows.append(Row(self.name, kernel, eager, fast, check, error, peer))
        return rows


def vector_workloads(elements: int, folder: Path) -> list[Workload]:
    """Return add, gelu, softmax, layer_norm and cumsum of ``elements`` float32, rows of ``ROW``."""
    x, y, z = (torch.randn(elements).view(-1, ROW) for _ in range(3))
    ones, zeros = torch.ones(ROW), torch.zeros(ROW)
    functional = torch.nn.functional
    kernel = build("throughput")
    arrays = [t.numpy().ravel() for t in (x, y, z)]
    tiling = struct.pack("II", elements, ROW)

    def handwritten(key: int) -> Callable[[str], object]:
        return lambda mode: kernel.launch(
            "throughput", arrays, tiling=tiling, key=key, blocks=BLOCKS, mode=mode
        )

    def generated(spec: str, inputs: list[torch.Tensor], **attrs: Any) -> Callable[[str], object]:
        op, runtime = library_op(spec, folder)
        return lambda mode: runtime.run(op, inputs, [z], attrs, mode=mode)

    def peer(name: str, *tensors: torch.Tensor) -> Callable[[], Mapping[str, Call]]:
        def calls() -> Mapping[str, Call]:
            import triton_peers

            return getattr(triton_peers, name)(*tensors)

        return calls

    own = {
        "add": generated("elementwise/my_add", [x, y], alpha=1),
        "gelu": generated("activation/custom_gelu", [x], approximate="tanh"),
        "softmax": generated("norm/softmax", [x], dim=-1),
        "layer_norm": generated("norm/custom_layer_norm", [x, ones, zeros], epsilon=1e-5),
        "cumsum": generated("scan/cumsum", [x], dim=-1),
        "cumsum of columns": generated("scan/cumsum", [x], dim=0),
    }
    references: dict[str, Callable[[], torch.Tensor]] = {
        "add": lambda: x + y,
        "gelu": lambda: functional.gelu(x, approximate="tanh"),
        "softmax": lambda: torch.softmax(x, -1),
        "layer_norm": lambda: functional.layer_norm(x, (ROW,), ones, zeros),
        "cumsum": lambda: torch.cumsum(x, -1),
        "cumsum of columns": lambda: torch.cumsum(x, 0),
    }
    workloads = []
    for key, (name, reference) in enumerate(references.items()):
        scans = name.startswith("cumsum")  # only generated
        kernels = {} if scans else {"handwritten": handwritten(key)}
        others = dict if scans else peer(name, *((x, y, z) if name == "add" else (x, z)))
        workloads.append(Workload(name, reference, z, {**kernels, "generated": own[name]}, others))
    return workloads


def library_op(spec: str, folder: Path) -> tuple[str, Any]:
    """Generate and compile an op of ``op_specs``; return its type and a runtime that knows it."""
    from msopgen_wrap.project.tree import ProjectOptions, render_project
    from msopgen_wrap.spec.loader import load_spec

    loaded = load_spec(ROOT / "op_specs" / f"{spec}.yaml")
    project = folder / loaded.name
    for file in render_project([loaded], ProjectOptions()):
        target = project / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(file.text, encoding="utf-8")
    return loaded.op, compile_project(loaded, project)


def matmul_workload() -> Workload:
    """Return the product of two MATMUL x MATMUL float16 matrices by the Matmul object."""
    a, b, c = (torch.randn(MATMUL, MATMUL).half() for _ in range(3))
    kernel = build("throughput_matmul")
    cores = (MATMUL // MATMUL_SHARE) ** 2
    fields = dict.fromkeys(FIELDS, 0)
    fields |= dict.fromkeys(("M", "N", "Ka", "Kb", "singleCoreK"), MATMUL)
    fields |= dict.fromkeys(("singleCoreM", "singleCoreN"), MATMUL_SHARE)
    fields |= dict(usedCoreNum=cores, baseM=128, baseN=256, baseK=64, stepM=1, stepN=1)
    fields |= dict(depthA1=8, depthB1=8, stepKa=4, stepKb=4, dbL0A=2, dbL0B=2, dbL0C=1)
    tiling = struct.pack("<50i", *(fields[name] for name in FIELDS))
    arrays = [t.numpy() for t in (a, b, c)]

    def run(mode: str) -> object:
        return kernel.launch(
            "throughput_matmul", arrays, tiling=tiling, blocks=cores, mode=mode, workspace=4096
        )

    def peer() -> Mapping[str, Call]:
        import triton_peers

        return triton_peers.matmul(a, b, c)

    return Workload("matmul", lambda: a @ b, c, {"handwritten": run}, peer)


def compile_times() -> dict[str, float]:
    """Return the seconds of a cold compile per kernel, best of two."""
    sources = {
        "vector (TQue, DataCopyPad)": KERNELS / "add_tail.cpp",
        "vector (softmax, layer norm)": KERNELS / "throughput.cpp",
        "Matmul object": KERNELS / "throughput_matmul.cpp",
        "Matmul object, 20 instances": KERNELS / "matmul_object.cpp",
    }
    include_dirs()
    nonce = time.time_ns()

    def cold(source: Path) -> None:
        nonlocal nonce
        nonce += 1  # a new macro is a new key of the compile cache
        compile_kernel(source, defines={"OPGEN_BENCH_RUN": nonce})

    return {name: best(lambda s=source: cold(s), 2) for name, source in sources.items()}


def print_rows(rows: list[Row]) -> None:
    """Print the table of times and ratios."""
    print(
        f"{'op':11}{'kernel':12}{'torch ms':>9}{'fast ms':>9}{'x torch':>9}{'check ms':>10}"
        f"{'x fast':>8}{'triton ms':>11}{'x fast':>8}  best block"
    )
    for r in rows:
        text = (
            f"{r.op:11}{r.kernel:12}{r.torch_s * 1e3:9.1f}{r.fast_s * 1e3:9.1f}"
            f"{r.fast_s / r.torch_s:9.2f}{r.check_s * 1e3:10.1f}{r.check_s / r.fast_s:8.1f}"
        )
        if r.triton_s:
            block = min(r.triton_s, key=lambda name: r.triton_s[name])
            seconds = r.triton_s[block]
            text += f"{seconds * 1e3:11.0f}{seconds / r.fast_s:8.0f}  {block}"
        print(text)
    for r in rows:
        if r.triton_s:
            ratios = ", ".join(f"{b}: {t / r.fast_s:.0f}" for b, t in r.triton_s.items())
            print(f"triton / fast by block, {r.op} {r.kernel}: {ratios}")


def main() -> int:
    """Print the tables; exit code 0 always: ratios depend on the machine's load."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--elements", type=int, default=1 << 24)
    parser.add_argument("--no-triton", action="store_true", help="leave its interpreter out")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args()
    with_triton = not options.no_triton and _has_triton()
    elements = -(-options.elements // (ROW * BLOCKS)) * ROW * BLOCKS
    rows: list[Row] = []
    print(f"{elements} float32 elements, {torch.get_num_threads()} threads")
    with tempfile.TemporaryDirectory(prefix="opgen-bench-") as folder:
        for workload in [*vector_workloads(elements, Path(folder)), matmul_workload()]:
            rows += workload.measure(with_triton)
            print(f"measured {workload.name}", file=sys.stderr, flush=True)
    print_rows(rows)
    compiled = compile_times()
    print("\ncold compile")
    for name, seconds in compiled.items():
        print(f"{name:32}{seconds:6.1f} s")
    if options.json:
        text = json.dumps({"rows": [asdict(r) for r in rows], "compile_s": compiled}, indent=1)
        options.json.write_text(text + "\n", encoding="utf-8")
    return 0


def _has_triton() -> bool:
    try:
        import triton  # noqa: F401
    except ImportError:
        print("triton is not installed: its interpreter is left out", file=sys.stderr)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
