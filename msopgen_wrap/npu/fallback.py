"""Built-in operators of npu tensors on the CPU: PyTorch's own, and references of torch_npu's."""

from __future__ import annotations

import ctypes
import logging
import platform
from pathlib import Path
from typing import TYPE_CHECKING

from ..build import cache
from ..build.toolchain import common_flags, find_toolchain, run_compiler
from .runtime_build import TorchNpuWheel, find_wheel, sources_dir

if TYPE_CHECKING:
    import torch


_log = logging.getLogger("opgen.npu")


def _build(stage: Path, wheel: TorchNpuWheel, abi: int) -> list[Path]:
    from concurrent.futures import ThreadPoolExecutor

    tool = find_toolchain()
    folder = sources_dir() / "torch_npu"
    sources = sorted(folder.glob("*.cpp"))
    include = wheel.torch / "include"
    flags = [
        *common_flags(tool),
        "-O1",
        "-fvisibility=hidden",
        f"-D_GLIBCXX_USE_CXX11_ABI={abi}",
        f"-isystem{include}",
        f"-isystem{include / 'torch' / 'csrc' / 'api' / 'include'}",
    ]
    objects = [stage / f"{source.stem}.o" for source in sources]

    def compile_one(pair: tuple[Path, Path]) -> None:
        command = [tool.cxx, "-c", *flags, str(pair[0]), "-o", str(pair[1])]
        run_compiler(command, pair[0], code="OPG703", what=f"compiling {pair[0].name}")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(compile_one, zip(sources, objects, strict=True)))
    link = [tool.cxx, "-shared", *map(str, objects), "-o", str(stage / "libopgen_npu_operators.so")]
    link += [f"-L{wheel.torch / 'lib'}", "-ltorch_cpu", "-lc10"]
    link += [f"-L{wheel.folder / 'lib'}", "-ltorch_npu", "-Wl,-z,defs"]
    # torch_npu's own needs are met by libraries that are loaded at run time.
    run_compiler([*link, "-Wl,--allow-shlib-undefined"], None, code="OPG703", what="linking")
    for item in objects:
        item.unlink()
    return [*sources, *folder.glob("*.h")]


def operators_library(wheel: TorchNpuWheel) -> Path:
    """Return the helper library for this torch and torch_npu, built on first use (about 15 s).

    torch must be imported. torch's C++ interface differs between versions and builds, so the
    cache key has both versions and the size and time of their libraries.
    """
    import torch

    abi = int(torch.compiled_with_cxx11_abi())
    stamps = []
    for path in (wheel.torch / "lib" / "libtorch_cpu.so", wheel.folder / "lib" / "libtorch_npu.so"):
        stat = path.stat()
        stamps.append(f"{path} {stat.st_size} {stat.st_mtime_ns}")
    identity = f"torch {torch.__version__} torch_npu {wheel.version}"
    key = cache.text_hash(
        "npu-operators-1", find_toolchain().identity, platform.machine(), identity, *stamps
    )
    folder, built = cache.cached(
        "npu_operators",
        key,
        f"operators of the emulated NPU ({identity})",
        lambda stage: _build(stage, wheel, abi),
    )
    if built:
        _log.info("built the operators of the emulated NPU for %s", identity)
    return folder / "libopgen_npu_operators.so"


def register_operators() -> str:
    """Override torch_npu's kernels; return the C++ side's count of what it registered.

    torch_npu must be imported. Called once per process by the import hook.
    """
    wheel = find_wheel()
    assert wheel is not None, "torch_npu is imported, so it is installed"
    library = ctypes.CDLL(str(operators_library(wheel)))
    register = library.opgen_npu_register_fallback
    register.restype = ctypes.c_char_p
    counts = register().decode()

    count = register_reference_ops()
    _log.info("emulated NPU operators: %s reference=%d", counts, count)
    return f"{counts} reference={count}"


# Kept for the life of the process: dropping the library would deregister the kernels.
_libraries: list[torch.library.Library] = []


def has_operator(name: str) -> bool:
    """Whether the loaded torch_npu has this operator (``npu_max.dim`` style name)."""
    import torch

    return torch._C._dispatch_has_kernel_for_dispatch_key(f"npu::{name}", "PrivateUse1")


def register_reference_ops() -> int:
    """Register every reference whose operator exists in this torch_npu; return how many.

    They go in at the autograd key too, so that gradients are those of the reference's own PyTorch
    operations rather than of torch_npu's formulas, which call hardware operators.
    """
    import torch

    from .references import activations, attention, layout, moe, norms, quantization, rotary

    operators = {
        name: function
        for module in (activations, attention, layout, moe, norms, quantization, rotary)
        for name, function in module.OPS.items()
    }
    if _libraries:
        return len(operators)
    library = torch.library.Library("npu", "IMPL")
    count = 0
    for name, function in operators.items():
        if not has_operator(name):
            continue
        for key in ("PrivateUse1", "AutogradPrivateUse1"):
            library.impl(name, function, key)
        count += 1
    _libraries.append(library)
    return count
