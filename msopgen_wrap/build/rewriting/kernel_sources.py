"""A kernel's own sources as g++ takes them: what they reach, and rewritten copies of them."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msopgen_wrap.build import cache
from msopgen_wrap.build.rewriting.device_dialect import host_text
from msopgen_wrap.build.rewriting.source_text import blank_comments, is_linkage_head, open_heads
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.resources import data_dir

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


_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)


def local_sources(source: Path, folders: Sequence[Path]) -> dict[Path, str]:
    """Return the source and the headers it reaches, as text by absolute path.

    Args:
        source: absolute path.
        folders: include folders of the user; other headers are left out.

    Raises:
        OSError: the source itself cannot be read; headers that cannot are the compiler's business.
    """
    found = {source: _text(source)}
    roots = [f.absolute() for f in folders]
    known: dict[tuple[Path, str, bool], Path | None] = {}
    waiting = [source]
    while waiting:
        path = waiting.pop()
        for quoted, angled in _INCLUDE.findall(found[path]):
            key = (path.parent, quoted or angled, bool(quoted))
            if key not in known:
                places = [path.parent, *roots, source.parent] if quoted else roots
                known[key] = _first_file(quoted or angled, places)
            header = known[key]
            if header is None or header in found:
                continue
            try:
                found[header] = _text(header)
            except OSError:
                continue
            waiting.append(header)
    return found


def _text(path: Path) -> str:
    # Without the mark that editors on Windows begin a file with: text may come to stand before it.
    return path.read_text(encoding="utf-8-sig", errors="surrogateescape")


def _first_file(name: str, folders: Sequence[Path]) -> Path | None:
    for folder in folders:
        candidate = folder / name
        if candidate.is_file():
            return candidate.resolve()
    return None


def write_overlay(root: Path, texts: Mapping[Path, str]) -> None:
    """Mirror rewritten files below ``root``, so that includes of one another find the copies.

    Args:
        texts: rewritten text by absolute path; all that :func:`local_sources` found.
    """
    for path, text in texts.items():
        target = mirrored(root, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        for name in {quoted for quoted, _ in _INCLUDE.findall(text) if quoted.startswith("/")}:
            if Path(name).resolve() in texts:
                # Relative: the mirror may be moved as a whole.
                near = os.path.relpath(mirrored(root, Path(name).resolve()), target.parent)
                text = text.replace(f'"{name}"', f'"{near}"')
        target.write_text(text, encoding="utf-8", errors="surrogateescape")


def overlay_flags(root: Path, source: Path, folders: Sequence[Path]) -> list[str]:
    """Return the compiler flags that find the mirrored files, and then the original ones.

    Args:
        source: absolute path of the original; its folder comes last.
        folders: the include folders the originals are found by.
    """
    originals = [f.absolute().resolve() for f in folders]
    copies = [mirrored(root, folder) for folder in originals]
    flags = [f"-I{folder}" for folder in (*copies, *originals) if folder.is_dir()]
    near = (mirrored(root, source.parent), source.parent)
    flags += [f"-I{folder}" for folder in near if folder.is_dir()]
    # Line tables name the originals, like __FILE__.
    return [*flags, f"-fdebug-prefix-map={root}="]


def mirrored(root: Path, path: Path) -> Path:
    """Return where ``path`` is mirrored below ``root``."""
    return root / path.relative_to(path.anchor)


_TOPK_HEADER = "ascendc_emu/topk_numbers.h"
_USING = re.compile(r"\busing\s+namespace\s+(?:\w+::)*(\w+)")


def topk_flags(texts: Sequence[str]) -> list[str]:
    """Return the flags for sources that take numbers from the device library's header of TopK.

    That header leaves ``EIGHT``, ``SIXTEEN`` ... in the global scope. Kernels with numbers of their
    own by these names would find two, so a source gets those only that it uses and does not define.

    Args:
        texts: of the sources and headers, comments blanked.
    """
    names, uses, definitions = _patterns()
    used = {m for text in texts for m in uses.findall(text)}
    if not used:
        return []
    opened = {m for text in texts for m in _USING.findall(text)}
    own = {
        m["macro"] or m["name"] or m["member"]
        for text in texts
        for m in definitions.finditer(text)
        if m["macro"] or _is_global(text, m.start(), opened)
    }
    if used <= own:
        return []
    return ["-include", _TOPK_HEADER, *(f"-DOPGEN_OWN_{n}" for n in names if n in own)]


@functools.lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[str, ...], re.Pattern[str], re.Pattern[str]]:
    """Return the names, a pattern of their uses and one of their definitions."""
    path = data_dir("ascendc_kernels") / "emulation" / "include" / _TOPK_HEADER
    names = tuple(re.findall(r"ifndef OPGEN_OWN_(\w+)", path.read_text(encoding="utf-8")))
    any_name = "|".join(names)
    definitions = (
        rf"^[ \t]*#[ \t]*define[ \t]+(?P<macro>{any_name})\b"
        rf"|\b(?:constexpr|const)\b[^;()]*?(?<![=+*/-]\s)\b(?P<name>{any_name})\s*[={{]"
        rf"|\benum\b[^;()]*?(?<![=+*/-]\s)\b(?P<member>{any_name})\s*[=,}}]"
    )
    uses = re.compile(rf"(?<!::)(?<!\.)\b({any_name})\b")
    return names, uses, re.compile(definitions, re.MULTILINE)


def _is_global(text: str, at: int, opened: set[str]) -> bool:
    """Whether what is defined at an offset is found without a qualifier."""
    for head in open_heads(text, at):
        if is_linkage_head(head):
            continue
        namespace = re.search(r"\bnamespace\b\s*((?:\w+(?:::)?)*)\s*$", head)
        if namespace is None or (namespace[1] and namespace[1].split("::")[-1] not in opened):
            return False
    return True
