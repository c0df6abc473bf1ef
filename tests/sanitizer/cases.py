"""The sanitizer's test kernels: what each must report, and how to launch it in check mode."""

from __future__ import annotations

import ctypes
import functools
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from msopgen_wrap.build.emulation import compile_kernel
from msopgen_wrap.build.emulation_library import load_emulation_library
from msopgen_wrap.run.findings import Finding, parse

KERNELS = Path(__file__).parent / "kernels"
#: elements of each of the tensors x, y, z, ws (``kCount`` of skeleton.h)
COUNT = 1024
_KINDS = {"auto": 0, "aiv": 1, "aic": 2, "aiv_mix": 3, "aic_mix": 4, "mix11": 5, "mix12": 6}
_MODE_CHECK = 2
_INPUT, _OUTPUT, _INOUT, _WORKSPACE = 0, 1, 2, 3
_SLICE = 0x100
_PARTIAL = 0x200


@dataclass(frozen=True)
class Case:
    """One launch of a kernel: ``found`` cases must report `check` at the marked lines, ``warning``
    ones as a warning, ``silent`` ones nothing at all."""

    name: str
    check: str
    expect: str
    file: Path
    kernel: str
    blocks: int = 1
    kind: str = "auto"
    auto_sync: bool = True
    soc: str = "ascend910b3"
    #: elements of output z; "slice": it is a part of a larger tensor; "near": ws starts behind it
    z: int = COUNT
    place: str = ""
    tail_write: str = "warning"
    freed_tensor: str = "warning"
    #: of z: "whole": the kernel has to write all of it, "cleared": the caller has filled it with
    #: zeros; else it may be written in part
    output: str = ""
    #: (check, line) pairs marked in the source
    marks: tuple[tuple[str, int], ...] = field(default=())

    @property
    def statement(self) -> str:
        """The marked source line, for the table of checks."""
        if not self.marks:
            return ""
        text = self.file.read_text().splitlines()[self.marks[0][1] - 1]
        return text.split("//")[0].strip()


_HEAD = re.compile(r"^// case (\w+): (\w+) (found|silent|warning)(.*)$")
_KERNEL = re.compile(r"^KERNEL\((\w+)\)")
_MARK = re.compile(r"// <- (\w+)\s*$")


def load_cases() -> list[Case]:
    """Read all cases from the comments of the kernel files."""
    cases = []
    for file in sorted(KERNELS.glob("*.cpp")):
        heads: list[dict[str, Any]] = []
        marks: list[tuple[str, int]] = []
        kernel = ""
        lines = [*file.read_text().splitlines(), "// case end: x silent"]
        for number, line in enumerate(lines, 1):
            if match := _HEAD.match(line):
                if kernel:
                    cases += [
                        Case(**h, kernel=kernel, marks=() if h["expect"] == "silent" else (*marks,))
                        for h in heads
                    ]
                    heads, marks, kernel = [], [], ""
                options = dict(item.split("=") for item in match[4].split())
                heads.append(
                    {
                        "name": match[1],
                        "check": match[2],
                        "expect": match[3],
                        "file": file,
                        "blocks": int(options.get("blocks", 1)),
                        "kind": options.get("kind", "auto"),
                        "auto_sync": options.get("auto", "on") != "off",
                        "soc": options.get("soc", "ascend910b3"),
                        "z": int(options.get("z", COUNT)),
                        "place": options.get("place", ""),
                        "tail_write": options.get("tail", "warning"),
                        "freed_tensor": options.get("freed", "warning"),
                        "output": options.get("output", ""),
                    }
                )
            elif match := _KERNEL.match(line):
                kernel = match[1]
            if match := _MARK.search(line):
                marks.append((match[1], number))
    return cases


class _Range(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int32),
        ("item", ctypes.c_int32),
    ]


class _Launch(ctypes.Structure):
    """``OpgenLaunch`` of ``ascendc_emu/launch.h``."""

    _fields_ = [
        ("entry", ctypes.c_void_p),
        ("args", ctypes.POINTER(ctypes.c_void_p)),
        ("num_args", ctypes.c_int32),
        ("body", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("soc", ctypes.c_char_p),
        ("kind", ctypes.c_int32),
        ("mode", ctypes.c_int32),
        ("block_dim", ctypes.c_uint32),
        ("tiling_key", ctypes.c_uint64),
        ("tiling_data", ctypes.c_void_p),
        ("tiling_size", ctypes.c_uint64),
        ("workspace", ctypes.c_void_p),
        ("ranges", ctypes.POINTER(_Range)),
        ("num_ranges", ctypes.c_int32),
        ("entry_aic", ctypes.c_void_p),
        ("threads", ctypes.c_int32),
    ]


def launch(
    entry: Any,
    tensors: dict[str, tuple[np.ndarray, int]],
    *,
    name: str,
    blocks: int = 1,
    kind: str = "auto",
    mode: int = _MODE_CHECK,
    soc: str = "",
) -> str:
    """Run a kernel; return the launch's error text, empty when it ran to its end."""
    library = load_emulation_library()
    library.opgen_launch_error.restype = ctypes.c_char_p
    ranges = (_Range * len(tensors))(
        *(
            _Range(a.ctypes.data, a.nbytes, key.encode(), k, a.itemsize)
            for key, (a, k) in tensors.items()
        )
    )
    pointers = (ctypes.c_void_p * len(tensors))(*(a.ctypes.data for a, _ in tensors.values()))
    request = _Launch(
        entry=ctypes.cast(entry, ctypes.c_void_p),
        args=pointers,
        num_args=len(tensors),
        name=name.encode(),
        soc=soc.encode() or None,
        kind=_KINDS[kind],
        mode=mode,
        block_dim=blocks,
        ranges=ranges,
        num_ranges=len(tensors),
    )
    status = library.opgen_run_kernel(ctypes.byref(request))
    return (library.opgen_launch_error() or b"?").decode() if status else ""


@dataclass(frozen=True)
class Outcome:
    """What a launch in check mode reported."""

    findings: list[Finding]
    error: str


def _aligned(values: np.ndarray) -> np.ndarray:
    """Copy to memory aligned like device memory (512 bytes)."""
    raw = np.zeros(values.nbytes + 512, np.uint8)
    start = -raw.ctypes.data % 512
    view = raw[start : start + values.nbytes].view(values.dtype)
    view[:] = values
    return view


@functools.cache
def _kernels(file: Path, arch: int) -> ctypes.CDLL:
    return ctypes.CDLL(str(compile_kernel(file, opt="-O1", arch=arch)))


def run(case: Case) -> Outcome:
    """Compile (cached) and run one case in check mode."""
    arch = 2002 if "310p" in case.soc else 2201
    entry = getattr(_kernels(case.file, arch), case.kernel)
    library = load_emulation_library()
    library.opgen_sanitizer_json.restype = ctypes.c_char_p
    library.opgen_sanitizer_clear()
    for option in (
        f"auto-sync={'on' if case.auto_sync else 'off'}",
        f"tail-write={case.tail_write}",
        f"freed-tensor={case.freed_tensor}",
    ):
        assert library.opgen_sanitizer_option(option.encode()) == 0
    rng = np.random.default_rng(1)
    tensors = {
        "x": (_aligned(rng.random(COUNT, np.float32)), _INOUT),
        "y": (_aligned(rng.random(COUNT - 3, np.float32)), _INPUT),
        "z": (_aligned(np.full(case.z, np.nan, np.float32)), _OUTPUT | _PARTIAL),
        "ws": (_aligned(np.full(COUNT, np.nan, np.float32)), _WORKSPACE),
    }
    if case.place == "slice":
        tensors["z"] = (tensors["z"][0], _OUTPUT | _PARTIAL | _SLICE)
    if case.place == "near":
        both = _aligned(np.full(case.z + COUNT, np.nan, np.float32))
        tensors["z"] = (both[: case.z], _OUTPUT | _PARTIAL)
        tensors["ws"] = (both[case.z :], _WORKSPACE)
    if case.output == "whole":
        tensors["z"] = (tensors["z"][0], _OUTPUT)
    if case.output == "cleared":
        tensors["z"] = (_aligned(np.zeros(case.z, np.float32)), _INOUT)
    error = launch(entry, tensors, name=case.name, blocks=case.blocks, kind=case.kind, soc=case.soc)
    library.opgen_sanitizer_option(b"auto-sync=on")
    library.opgen_sanitizer_option(b"tail-write=warning")
    library.opgen_sanitizer_option(b"freed-tensor=warning")
    return Outcome(parse(library.opgen_sanitizer_json()), error)
