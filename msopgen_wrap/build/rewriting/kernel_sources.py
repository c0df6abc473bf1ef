"""A kernel's own sources as g++ takes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msopgen_wrap.build import cache
from msopgen_wrap.build.rewriting.device_dialect import host_text
from msopgen_wrap.build.rewriting.source_overlay import (
    local_sources,
    mirrored,
    overlay_flags,
    write_overlay,
)
from msopgen_wrap.build.rewriting.source_text import blank_comments
from msopgen_wrap.build.rewriting.topk_numbers import topk_flags
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError

# ASSERT is empty in the device compiler's release builds, so a missing semicolon before it passes
# there: "x = y\n ASSERT(...);". A comment line in front is a false alarm without consequence.
_OPEN_STATEMENT = re.compile(r"[\w\]](?<!\belse)(?<!\bdo)\s+ASSERT\(")


# Instructions by the compiler's names (ascendc_emu/compiler_names.h).
_COMPILER_NAMES = (
    r"(?:copy_(?:gm_to_ubuf|ubuf_to_gm)(?:_align_b\d+)?|v(?:conv|cmp|cmpv|cmpvs)_\w+"
    r"|v(?:abs|exp|ln|not|rec|relu|rsqrt|sqrt|adds|muls|maxs|mins|lrelu|sel|brcb|gather|reducev2)"
    r"|v(?:mla|madd|maddrelu|axpy|addrelu|subrelu|shl|shr|copy|gatherb|bitsort|mrgsort4)"
    r"|vc(?:max|min)|bcnt[01]|clz|sff[01]|dsb|get_(?:cmpmask|coreid|vms4_sr)|set_deqscale"
    r"|set_(?:atomic_\w+|padding|ctrl|cmpmask|ffts_base_addr)|get_(?:ctrl|rsvd_cnt)|sbitset[01]"
    r"|ffts_cross_core_sync|wait_flag_dev|dcci)"
)
# Those of the cube (ascendc_emu/cube_instructions.h).
_CUBE_NAMES = (
    r"(?:copy_gm_to_cbuf(?:_multi_nd2nz_b\d+s?)?|load_(?:cbuf|gm)_to_c[ab](?:_transpose)?"
    r"|load_gm_to_cbuf|mad|copy_cbuf_to_(?:bt|fbuf)|copy_matrix_cc_to_(?:gm|cbuf)"
    r"|img2colv2_cbuf_to_c[ab]|create_(?:ca|cb|cbuf)_matrix|set_(?:nd_para|quant_pre|fmatrix(?:_b)?|l3d_rpt))"
)
_HEADERS = {
    "ascendc_emu/compiler_names.h": _COMPILER_NAMES,
    "ascendc_emu/cube_instructions.h": _CUBE_NAMES,
}
_BEFORE = r"(?<![\w.>:])(?:(?<!\w\s)|(?<=return\s))"
_CALLED = {h: re.compile(rf"{_BEFORE}{n}\s*\(") for h, n in _HEADERS.items()}
_RESULT = r"\b(?:void|auto|bool|int|unsigned|u?int\d+_t|T)"
_DEFINED = {h: re.compile(rf"{_RESULT}\s+{n}\s*\(") for h, n in _HEADERS.items()}

# What the device compiler's own headers bring along, and sources use without including it.
_STANDARD = {
    "cmath": re.compile(
        r"\bstd::(?:ceil|floor|round|trunc|log2?|log10|exp|pow|sqrt|f?abs|fmod)\s*\("
    ),
    "algorithm": re.compile(r"\bstd::(?:min|max|clamp|fill|copy|sort|swap)\s*(?:<[^;()]*>)?\s*\("),
}

# Structs of acl_prof.h that programs define for headers without them; CANN's guard is named so.
_PROFILING_STRUCT = re.compile(r"\bstruct\s+aclprof(?:Tensor(?:Info)?|EventAttributes)\s*\{")
_PROFILING_GUARD = "ACL_PROF_TENSOR_INFO_DEFINED"

_CONTEXT_USED = re.compile(r"\bHcclOpResParam\b")
_CONTEXT_DEFINED = re.compile(r"\bstruct\s+HcclOpResParam\s*\{")


def dialect_flags(texts: Iterable[str]) -> list[str]:
    """Return the flags for what only some sources write.

    These are statements that lack the semicolon before an ``ASSERT``, calls of instructions by the
    compiler's names, calls of the standard library, numbers of TopK's header, and structs of
    profiling messages; sources that define functions, numbers or structs of these names keep
    their own.

    Args:
        texts: of the sources and headers, comments blanked.
    """
    texts = list(texts)
    flags = ["-DOPGEN_OPEN_ASSERT"] if any(_OPEN_STATEMENT.search(t) for t in texts) else []
    for header in _HEADERS:
        by_name = any(_CALLED[header].search(t) for t in texts)
        if by_name and not any(_DEFINED[header].search(t) for t in texts):
            flags += ["-include", header]
    for header, called in _STANDARD.items():
        if any(called.search(t) for t in texts):
            flags += ["-include", header]
    own = any(_PROFILING_STRUCT.search(t) for t in texts)
    if own and not any(_PROFILING_GUARD in t for t in texts):
        flags.append(f"-D{_PROFILING_GUARD}")
    return [*flags, *topk_flags(texts)]


@dataclass(frozen=True)
class KernelSources:
    """A kernel and its own headers as g++ takes them.

    Attributes:
        main: the kernel file, or its rewritten copy.
        flags: compiler flags that the sources ask for.
        texts: of all of them, comments blanked.
    """

    main: Path
    flags: tuple[str, ...]
    texts: tuple[str, ...]


def kernel_sources(source: Path, folders: Sequence[Path]) -> KernelSources:
    """Read a kernel and the headers it reaches; rewrite what g++ does not take.

    Args:
        source: the kernel file.
        folders: the user's include folders.

    Raises:
        OpgenError: OPG303, the file cannot be read.
    """
    source = source.resolve()
    try:
        originals = local_sources(source, folders)
    except OSError as error:
        text = f"cannot read {source}: {error.strerror}"
        raise OpgenError(Diagnostic("OPG303", text, Location(str(source)))) from error
    clean = {path: blank_comments(text) for path, text in originals.items()}
    texts = tuple(clean.values())
    flags = dialect_flags(texts)
    early = _early_headers(clean, source)
    rewritten = {path: host_text(text) for path, text in originals.items()}
    if rewritten == originals:
        return KernelSources(source, (*flags, *_include(early)), texts)
    for path, text in rewritten.items():
        rewritten[path] = f'#line 1 "{path}"\n{text}'
    key = cache.text_hash(*(f"{p}\0{t}" for p, t in rewritten.items()), *map(str, folders))

    def build(folder: Path) -> list[Path]:
        write_overlay(folder / "root", rewritten)
        return []

    root, _ = cache.cached("source", key, source.name, build)
    root = root / "root"
    flags += _include([mirrored(root, path) for path in early])
    flags += overlay_flags(root, source, folders)
    return KernelSources(mirrored(root, source), tuple(flags), texts)


def _early_headers(texts: Mapping[Path, str], source: Path) -> list[Path]:
    """Return the header with the context of a communication domain that other headers rely on.

    Kernels of communication define its layout themselves, and include headers that use it before.
    """
    defining = [path for path, text in texts.items() if _CONTEXT_DEFINED.search(text)]
    using = [path for path, text in texts.items() if _CONTEXT_USED.search(text)]
    # Several definitions are for the compiler to judge, in the order of the sources.
    return defining if len(defining) == 1 and source not in defining and len(using) > 1 else []


def _include(headers: Sequence[Path]) -> list[str]:
    flags = ["-include", "kernel_operator.h"] if headers else []
    return flags + [flag for path in headers for flag in ("-include", str(path))]
