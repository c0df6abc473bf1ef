"""Compile kernels with the emulation's headers and hold the objects against the device's language.

Also finds out whether the file has the entry that CANN launches: its name, its linkage and its
parameters. No CANN is needed for any of this.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msopgen_wrap.build.arch_conditions import text_for
from msopgen_wrap.build.core_kinds import CorePass, compile_passes
from msopgen_wrap.build.emulation import PRELUDE, kernel_defines
from msopgen_wrap.build.emulation_library import include_dirs
from msopgen_wrap.build.object_file import ObjectError
from msopgen_wrap.build.rewriting.kernel_sources import kernel_sources
from msopgen_wrap.build.rewriting.source_text import split_list
from msopgen_wrap.build.toolchain import find_toolchain, run_compiler
from msopgen_wrap.cann.device_language import LANGUAGE_FLAGS, DeviceCode, marks
from msopgen_wrap.cann.kernel_prelude import is_library_name
from msopgen_wrap.cann.op_sources import OpSource
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.platforms import architectures

_TEMPLATE_ENTRY = r"\btemplate\s*<[^;{{}}]*>\s*(?:__\w+__\s+)+void\s+{}\s*\("
_ENTRY = r"\bvoid\s+{}\s*\("


@dataclass(frozen=True)
class DeviceCompile:
    """One kernel to compile for one dtype combination and architecture.

    Attributes:
        op: the op.
        label: its dtypes, for people.
        number: a number of its own, for file names.
        folders: include folders of the project.
        defines: macros of the combination.
        prelude: header with the tiling struct.
        arch: architecture, 2201 for ascend910b.
        strict: the emulation takes every kernel of the project, as it does of the kit's own.
    """

    op: OpSource
    label: str
    number: int
    project: Path
    folders: tuple[Path, ...]
    defines: tuple[str, ...]
    prelude: Path
    arch: int
    strict: bool

    def run(self, work: Path) -> tuple[list[Diagnostic], str]:
        """Compile and judge.

        Returns:
            The findings, and why nothing could be judged ("" when it was).
        """
        assert self.op.kernel is not None
        kernel = self.op.kernel
        tool = find_toolchain()
        try:
            sources = kernel_sources(kernel, self.folders)
            base = [tool.cxx, "-std=c++17", "-w", *sources.flags]
            base += [f"-I{f}" for f in (kernel.parent, *self.folders)]
            base += [f"-I{f}" for f in include_dirs()]
            base += [*kernel_defines(self.arch), *(f"-D{d}" for d in self.defines), *PRELUDE]
            ending = ["-include", str(self.prelude), str(sources.main)]

            def objects(*passes: CorePass) -> list[Path]:
                return [self._object(base, ending, p, work) for p in passes]

            separate = architectures()[self.arch].cores == "separate"
            built = compile_passes(objects, sources.texts if separate else ())
        except OpgenError as error:
            plain = [*base, *ending, "-fsyntax-only"] if "ending" in locals() else []
            first = error.diagnostics[0]
            if plain and _compiles(plain, kernel):
                return [_language(d) for d in error.diagnostics], ""
            if self.strict:
                return list(error.diagnostics), ""
            return [], f"the emulation's headers do not take it: {first.what}"
        found: dict[Diagnostic, None] = {}
        codes = [DeviceCode(p, kernel, (self.project, *self.folders)) for p in built]
        try:
            for code in codes:
                found.update(dict.fromkeys(code.problems()))
            entries = set().union(*(c.entries for c in codes))
            found.update(dict.fromkeys(self._entry_problems(codes[0], entries)))
        except (ObjectError, OSError) as error:
            return [], f"its object cannot be read: {error}"
        return list(found), ""

    def _object(self, base: list[str], ending: list[str], core: CorePass, work: Path) -> Path:
        out = work / f"device_{self.number}_{core.value}.o"
        flags = [*core.defines, *marks(), *LANGUAGE_FLAGS, "-O0", "-g1", "-ffunction-sections"]
        run_compiler([*base, *flags, *ending, "-c", "-o", str(out)], self.op.kernel, code="OPG613")
        return out

    def _entry_problems(self, code: DeviceCode, entries: set[str]) -> list[Diagnostic]:
        assert self.op.kernel is not None
        kernel, name = self.op.kernel, self.op.stem
        text = text_for(kernel.read_text(encoding="utf-8", errors="replace"), self.arch)
        match = re.search(_ENTRY.format(name), text)
        where = Location(str(kernel), _line(text, match.start()) if match else 0)
        if re.search(_TEMPLATE_ENTRY.format(name), text):
            return self._parameter_problems(text, where)
        if name not in entries and not (is_library_name(name) and f"{name}_entry" in entries):
            if code.mangled_entries(name):
                return [
                    Diagnostic(
                        "OPG614",
                        f"the kernel entry {name} has no C linkage",
                        where,
                        "CANN launches it by its plain name",
                        f'write extern "C" __global__ __aicore__ void {name}(...)',
                    )
                ]
            has = f"it has {', '.join(sorted(entries))}" if entries else "it has none"
            return [
                Diagnostic(
                    "OPG614",
                    f"{kernel.name} has no kernel entry {name}",
                    Location(str(kernel), _first_entry(text, entries)),
                    f"CANN launches op {self.op.op} by this name; {has}",
                    f'write extern "C" __global__ __aicore__ void {name}(...)',
                )
            ]
        return self._parameter_problems(text, where)

    def _parameter_problems(self, text: str, where: Location) -> list[Diagnostic]:
        match = re.search(_ENTRY.format(self.op.stem), text)
        if match is None:
            return []  # made by a macro: the compiler knows the name, not the text
        end = text.find(")", match.end())
        given = [p for p in split_list(text[match.end() : end]) if p.strip()]
        names = [re.sub(r"\W+$", "", p).split()[-1].lstrip("*&") for p in given]
        if any("..." in p or "(" in p for p in given):
            return []
        wanted = list(self.op.passed)
        counts = {len(wanted) + 2 + extra for extra in ({0, 1} if self.op.computed_shape else {0})}
        if len(given) not in counts:
            return [
                Diagnostic(
                    "OPG614",
                    f"kernel entry {self.op.stem} has {len(given)} parameters, not "
                    f"{len(wanted) + 2}",
                    where,
                    f"CANN passes {', '.join([*wanted, 'workspace', 'tiling'])}",
                    "give it one GM_ADDR for each of these, in this order",
                )
            ]
        for parameter, name in zip(given, names, strict=True):
            if "GM_ADDR" not in parameter and "*" not in parameter:
                return [
                    Diagnostic(
                        "OPG614",
                        f"parameter {name} of kernel entry {self.op.stem} is no address",
                        where,
                        "CANN passes addresses in global memory",
                        f"write GM_ADDR {name}",
                    )
                ]
        for name, meant in zip(names, wanted, strict=False):
            if name != meant and name in wanted and wanted.count(name) == 1:
                return [
                    Diagnostic(
                        "OPG614",
                        f"kernel entry {self.op.stem} has parameter {name} where CANN passes "
                        f"{meant}",
                        where,
                        f"the order is that of the OpDef: {', '.join(wanted)}",
                        "put the parameters into this order",
                    )
                ]
        return []


def _compiles(command: list[str], kernel: Path) -> bool:
    try:
        run_compiler(command, kernel, code="OPG613")
    except OpgenError:
        return False
    return True


def _language(found: Diagnostic) -> Diagnostic:
    return Diagnostic(
        "OPG613",
        f"a kernel cannot use this: {found.what}",
        found.location,
        "the device has neither exceptions nor RTTI",
        "check in TilingFunc, and use templates",
    )


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _first_entry(text: str, entries: Sequence[str] | set[str]) -> int:
    places = [m.start() for e in entries if (m := re.search(_ENTRY.format(e), text))]
    return _line(text, min(places)) if places else 0
