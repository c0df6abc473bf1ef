"""The blocks that a cube core multiplies at once, and the memories that hold them."""

from __future__ import annotations

from dataclasses import dataclass, field

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.platforms import platforms
from msopgen_wrap.schedule.plan import Body
from msopgen_wrap.schedule.program import DTYPE_BYTES
from msopgen_wrap.spec.model import OpSpec

# Rows and columns of a fractal, and its bytes along K.
FRACTAL = 16
FRACTAL_BYTES = 32
# Sums are float32 or int32.
SUM_BYTES = 4
# L0A, L0B and L1 hold the block that is used and the one that comes next.
COPIES = 2
# Dtype of floating operands -> dtypes that the sums leave as.
FLOAT_RESULTS = {
    "float16": ("float16", "float32"),
    "bfloat16": ("bfloat16", "float32"),
    "float32": ("float32",),
}


@dataclass(frozen=True)
class CubeBlock:
    """The largest block of one dtype: rows, columns and depth of what the cube multiplies at once.

    Attributes:
        m, n, k: elements.
        depth: blocks along K that L1 takes at a time.
        bytes: of an element of an operand.
    """

    m: int
    n: int
    k: int
    depth: int
    bytes: int

    def used(self) -> dict[str, int]:
        """Return the bytes of every memory of a cube core."""
        left, right = self.m * self.k * self.bytes, self.k * self.n * self.bytes
        return {
            "L1": COPIES * self.depth * (left + right),
            "L0A": COPIES * left,
            "L0B": COPIES * right,
            "L0C": self.m * self.n * SUM_BYTES,
        }


def cube_block(dtype: str, memories: dict[str, int]) -> CubeBlock:
    """Return the largest block of a dtype that the memories hold.

    128 x 256 sums fill L0C: every element of an operand in L0 is then used 128 times or more. K is
    as long as two blocks in L0A and in L0B allow, and L1 takes as many of them as fit twice.

    Args:
        dtype: of the operands.
        memories: bytes of L1, L0A, L0B, L0C.
    """
    size = DTYPE_BYTES[dtype]
    m, n = 128, 256
    while m * n * SUM_BYTES > memories["L0C"]:
        m, n = n // 2, m
    unit = FRACTAL_BYTES // size
    rooms = (memories["L0A"] // (COPIES * m * size), memories["L0B"] // (COPIES * n * size))
    k = min(rooms) // unit * unit
    depth = memories["L1"] // (COPIES * (m + n) * k * size)
    return CubeBlock(m, n, k, 1 << (depth.bit_length() - 1), size)


def cube_memories(socs: tuple[str, ...]) -> dict[str, int]:
    """Return the bytes of the memories of a cube core, the least among some SoCs."""
    columns = {"L1": "l1_size", "L0A": "l0_a_size", "L0B": "l0_b_size", "L0C": "l0_c_size"}
    parts = [p for p in platforms() if p.name in socs or p.family in socs]
    return {name: min(int(p.columns[key]) for p in parts) for name, key in columns.items()}


def cube_cores(soc: str) -> int:
    """Return the cube cores of a SoC family's smallest chip, 0 where vector cores have none."""
    parts = [p for p in platforms() if soc in (p.name, p.family)]
    return min(int(p.columns["cube_core_cnt"] or 0) for p in parts)


def check_cube_cores(spec: OpSpec, code: str, does: str, reason: str) -> None:
    """Raise an error where a SoC of a spec has no cube cores beside its vector cores.

    Args:
        spec: the op.
        code: of the diagnostic.
        does: what the op does with them.
        reason: why it needs them.
    """
    for soc in spec.soc:
        if not cube_cores(soc):
            raise OpgenError(
                Diagnostic(
                    code,
                    f"{spec.op} {does}, and {soc} has no cube cores beside its vector cores",
                    spec.compute.location if spec.compute else spec.outputs[0].location,
                    reason,
                    "take ascend910b or ascend910_93 in `soc:`, or write the kernel with `kernel:`",
                )
            )


@dataclass
class CubeBody(Body):
    """A kernel class that multiplies on the cube.

    Attributes:
        blocks: dtype combination -> the largest block.
    """

    blocks: dict[int, CubeBlock] = field(default_factory=dict)

    def memory_rows(self) -> list[tuple[int, str, int]]:
        """Return what the largest base block of each combination uses of L1 and L0."""
        rows = []
        for combo, block in self.blocks.items():
            rows += [(combo, memory, used) for memory, used in block.used().items()]
        return rows
