"""``aclrtlaunch_<kernel>.h``: the headers that CANN's build generates for kernel calls from a host.

A host source includes one per kernel and calls ``ACLRT_LAUNCH_KERNEL(kernel)(blocks, stream, ..)``,
which starts the kernel on the stream and returns 0 (CANN: "Kernel direct invocation", the CMake
function ``ascendc_library``). Here the function is added at the end of the source that defines the
kernel, where the types of its parameters are known; the header declares it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from msopgen_wrap.build.rewriting.source_text import blank_comments, matching, split_list

_CALL = re.compile(r"\baclrtlaunch_(\w+)\s*\(")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]aclrtlaunch_(\w+)\.h[">]', re.MULTILINE)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel: its type as written, its name."""

    type: str
    name: str

    @property
    def host_type(self) -> str:
        """The type a host passes: addresses of device memory are ``void*``."""
        address = "*" in self.type or "GM_ADDR" in self.type.split()
        return "void*" if address else self.type


def wanted_kernels(texts: Iterable[str]) -> list[str]:
    """Return the kernels whose launch headers the sources include, by name.

    So are those whose launch function the sources declare themselves and do not define.
    """
    texts = list(texts)
    names = {name for text in texts for name in _INCLUDE.findall(text)}
    calling = [blank_comments(text) for text in texts if _CALL.search(text)]
    named = {name for code in calling for name in _CALL.findall(code)}
    own = {n for n in named if any(_defines_launcher(code, n) for code in calling)}
    return sorted(names | (named - own))


def _defines_launcher(code: str, name: str) -> bool:
    return re.search(rf"\baclrtlaunch_{name}\s*\([^;{{}}]*\)\s*\{{", code) is not None


def add_launchers(texts: Mapping[Path, str]) -> tuple[dict[Path, str], dict[str, str]]:
    """Give every kernel whose launch header is included the function behind it.

    Args:
        texts: sources and headers by path. A launch header that is among them is the user's own.

    Returns:
        The changed texts, and the headers to write: text by file name. A kernel that no source
        defines gets neither; the compiler then names the missing header.
    """
    own = {path.name for path in texts}
    names = [n for n in wanted_kernels(texts.values()) if f"aclrtlaunch_{n}.h" not in own]
    changed: dict[Path, str] = {}
    headers: dict[str, str] = {}
    for name in names:
        for path, text in texts.items():
            parameters = kernel_parameters(text, name)
            if parameters is None:
                continue
            changed[path] = changed.get(path, text).rstrip("\n") + _launcher(name, parameters)
            headers[f"aclrtlaunch_{name}.h"] = _header(name, parameters)
            break
    return changed, headers


def kernel_parameters(text: str, name: str) -> list[Parameter] | None:
    """Return the parameters of the kernel ``name`` that ``text`` defines, None when it does not."""
    code = blank_comments(text)
    for found in re.finditer(rf"\bvoid\s+{re.escape(name)}\s*\(", code):
        head = code[max(code.rfind(c, 0, found.start()) for c in ";}") + 1 : found.start()]
        end = matching(code, found.end() - 1)
        if "__global__" in head and end > 0 and code[end:].lstrip().startswith("{"):
            parts = [" ".join(p.split()) for p in split_list(code[found.end() : end - 1])]
            return [_parameter(part) for part in parts if part not in ("", "void")]
    return None


def _parameter(text: str) -> Parameter:
    declared = text.partition("=")[0].strip()
    name = re.search(r"(\w+)$", declared)
    kind = declared[: name.start()].strip() if name else ""
    # A type alone: the parameter has no name.
    return Parameter(kind, name[1]) if name and kind else Parameter(declared, "")


def _launcher(name: str, parameters: list[Parameter]) -> str:
    named = [Parameter(p.type, p.name or f"opgenArg{i}") for i, p in enumerate(parameters)]
    declared = "".join(f", {p.type} {p.name}" for p in named)
    passed = ", ".join(p.name for p in named)
    return (
        f'\nextern "C" uint32_t aclrtlaunch_{name}(uint32_t opgenBlocks, void* opgenStream'
        f"{declared})\n{{\n    {name}<<<opgenBlocks, nullptr, opgenStream>>>({passed});\n"
        "    return 0;\n}\n"
    )


def _header(name: str, parameters: list[Parameter]) -> str:
    declared = "".join(f", {p.host_type}" for p in parameters)
    guard = f"OPGEN_ACLRTLAUNCH_{name.upper()}_H"
    return (
        f"#ifndef {guard}\n#define {guard}\n"
        '#include "acl/acl_base.h"\n'
        "#ifndef ACLRT_LAUNCH_KERNEL\n"
        "#define ACLRT_LAUNCH_KERNEL(kernel_func) aclrtlaunch_##kernel_func\n"
        "#endif\n"
        f'extern "C" uint32_t aclrtlaunch_{name}(uint32_t numBlocks, aclrtStream stream'
        f"{declared});\n#endif\n"
    )
