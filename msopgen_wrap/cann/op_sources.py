"""What a project in msopgen layout holds: its ops, read from op_host text, and their kernels.

Nothing is compiled: the ``OpDef`` of an op is regular enough to be read as text, lists held by
variables included. Text whose OpDefs are made by macros can be preprocessed by the caller first. An
op whose lists cannot be read has no dtype combinations here, and the caller says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from msopgen_wrap.cann.kernel_prelude import strip_comments
from msopgen_wrap.dtypes import BY_GE_NAME
from msopgen_wrap.spec.names import macro_names, snake_case

_CLASS = re.compile(r"class\s+(\w+)\s*(?:final\s*)?:\s*public\s+(?:ops::)?OpDef\b")
_PARAM = re.compile(r"\b(?:this->)?(Input|Output)\s*\(\s*\"(\w+)\"\s*\)([^;]*);", re.DOTALL)
_DTYPES = re.compile(r"\.\s*DataType(?:List)?\s*\(\s*(?:\{([^}]*)\}|(\w+))\s*\)")
_LIST_VARIABLE = re.compile(r"vector\s*<\s*(?:ge::)?DataType\s*>\s*(\w+)\s*=?\s*\{([^}]*)\}")
_CONFIG = re.compile(r"AddConfig\s*\(\s*\"(\w+)\"")
_OP_FILE = re.compile(r"opFile\.value\"\s*,\s*\"(\w+)\"")


@dataclass(frozen=True)
class OpSource:
    """One op of a project.

    Attributes:
        op: op type.
        host: the op_host file that defines it.
        kernel: its kernel file, or None.
        params: parameter names, inputs then outputs.
        combos: per dtype combination the ``DT_*`` name of every parameter.
        units: compute units of its ``AddConfig`` calls.
        stem: name of the kernel entry, and of its file without suffix.
        computed_shape: the kernel tells an output's shape, through one more parameter.
        passed: inputs and outputs the kernel gets; one name may be both.
    """

    op: str
    host: Path
    kernel: Path | None
    params: tuple[str, ...]
    combos: tuple[tuple[str, ...], ...]
    units: tuple[str, ...]
    stem: str = ""
    computed_shape: bool = False
    passed: tuple[str, ...] = ()

    def label(self, combo: int) -> str:
        """Return the dtypes of a combination, shortened when all are the same."""
        names = [BY_GE_NAME[d].name if d in BY_GE_NAME else d for d in self.combos[combo]]
        return names[0] if len(set(names)) == 1 else ",".join(names)

    def kernel_defines(self, combo: int) -> list[str]:
        """Return the macros CANN puts on the kernel's compile line for a combination.

        A dtype without a C++ type for kernels (complex64) has no ``DTYPE_X``.
        """
        defines = []
        for upper, dtype in zip(macro_names(self.params), self.combos[combo], strict=True):
            defines.append(f"ORIG_DTYPE_{upper}={dtype}")
            kind = _kernel_type(dtype)
            if kind:
                defines.append(f"DTYPE_{upper}={kind}")
        return defines

    def untyped(self, combo: int) -> list[str]:
        """Return the parameters of a combination that have no ``DTYPE_X``."""
        pairs = zip(self.params, self.combos[combo], strict=True)
        return [name for name, dtype in pairs if not _kernel_type(dtype)]


def host_files(project: Path) -> list[Path]:
    """Return op_host sources and headers, sorted."""
    folder = project / "op_host"
    return sorted(p for p in folder.rglob("*") if p.suffix in (".cpp", ".cc", ".h", ".hpp"))


def read_op_sources(
    project: Path, preprocess: Callable[[Path], str] | None = None
) -> list[OpSource]:
    """Return the ops defined in ``project/op_host``, in file order.

    Args:
        project: folder with ``op_host/`` and ``op_kernel/``.
        preprocess: returns a source with its macros expanded ("" when it cannot); asked for files
            that register an op whose definition cannot be read from the text.
    """
    ops: list[OpSource] = []
    for path in host_files(project):
        if path.suffix not in (".cpp", ".cc"):
            continue
        text = strip_comments(path.read_text(encoding="utf-8", errors="replace"))
        found = _ops_in(project, path, text)
        registers = bool(found) or bool(_MACRO_OP.search(text))
        if preprocess and registers and not (found and all(o.combos for o in found)):
            expanded = _ops_in(project, path, preprocess(path))
            found = expanded if any(o.combos for o in expanded) else found
        ops += found
    return ops


# An op made by a macro of the project: OP_ADD(X) or SOMETHING_OPDEF(X) at the start of a line.
_MACRO_OP = re.compile(r"^\s*(?:OP_ADD|\w*(?:OPDEF|OP_DEF|OPP_DEF)\w*)\s*\(", re.MULTILINE)


def _ops_in(project: Path, path: Path, text: str) -> list[OpSource]:
    variables = {name: items for name, items in _LIST_VARIABLE.findall(text)}
    starts = [(m.start(), m[1]) for m in _CLASS.finditer(text)]
    ends = [*(start for start, _ in starts[1:]), len(text)][: len(starts)]
    return [
        _read_op(project, path, op, text[start:end], variables)
        for (start, op), end in zip(starts, ends, strict=True)
    ]


def _read_op(project: Path, host: Path, op: str, body: str, variables: dict[str, str]) -> OpSource:
    names: list[str] = []
    columns: list[list[str]] = []
    for _kind, name, chain in _PARAM.findall(body):
        if name in names:
            continue
        match = _DTYPES.search(chain)
        names.append(name)
        items = (match[1] if match[1] is not None else variables.get(match[2], "")) if match else ""
        columns.append(re.findall(r"\bDT_\w+", items))
    count = max((len(c) for c in columns), default=0)
    readable = bool(columns) and all(len(c) in (1, count) and c for c in columns)
    combos: list[tuple[str, ...]] = []
    if readable:
        for i in range(count):
            combo = tuple(c[i] if len(c) == count else c[0] for c in columns)
            if combo not in combos:
                combos.append(combo)
    match = _OP_FILE.search(body)
    stem = match[1] if match else snake_case(op)
    units = tuple(dict.fromkeys(_CONFIG.findall(body)))
    kernel = _kernel_file(project, stem)
    computed = "OutputShapeDependOnCompute" in body
    # An AICore configuration of a SoC names parameters again.
    passed = tuple(name for _, name in dict.fromkeys((k, n) for k, n, _ in _PARAM.findall(body)))
    return OpSource(op, host, kernel, tuple(names), tuple(combos), units, stem, computed, passed)


def _kernel_file(project: Path, stem: str) -> Path | None:
    folder = project / "op_kernel"
    direct = folder / f"{stem}.cpp"
    if direct.is_file():
        return direct
    for pattern in (f"{stem}.cpp", f"{stem}_kernel.cpp", f"{stem}_apt.cpp"):
        found = sorted(folder.rglob(pattern))
        if found:
            return found[0]
    kernels = [
        p
        for p in sorted(folder.rglob("*.cpp"))
        if "__global__" in p.read_text(encoding="utf-8", errors="replace")
    ]
    return kernels[0] if len(kernels) == 1 else None


def _kernel_type(dtype: str) -> str:
    """Return the C++ type behind ``DTYPE_X``; "" for complex, which older CANN lacks."""
    row = BY_GE_NAME.get(dtype)
    return row.kernel if row and "COMPLEX" not in dtype else ""
