"""The kernels of a foreign project: which source serves a call, compiled when it is needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msopgen_wrap.build.arch_conditions import text_for
from msopgen_wrap.build.emulation import compile_kernel
from msopgen_wrap.build.kernel_tiling import kernel_tiling_header, registered_keys
from msopgen_wrap.build.rewriting.source_text import split_list
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.dtypes import BY_GE
from msopgen_wrap.foreign.combinations import Combo, by_format, combos
from msopgen_wrap.foreign.compile_options import CompileOptions, read_options
from msopgen_wrap.foreign.host_library import with_header_advice
from msopgen_wrap.foreign.kernel_text import (
    declared_name,
    has_c_linkage,
    selects_by_macros,
    template_instance,
    without_launches,
)
from msopgen_wrap.foreign.op_project import KernelSource, OpProject
from msopgen_wrap.platforms import Platform
from msopgen_wrap.run.op_runtime import OpRuntime

# As g++ and clang++ say it.
_REDEFINED = re.compile(r"redefinition of ['\u2018](?:struct |class )?(?:\w+::)*(\w+)")
# An entry whose template arguments come from the tiling key.
_TEMPLATE_ENTRY = re.compile(r"\btemplate\s*<[^;{}]*>\s*(?:__\w+__\s+)+void\b")

Progress = Callable[[str], None]


class ProjectKernels:
    """Compiles the kernels of a project for one SoC and registers them with the op runtime.

    Args:
        project: where the sources are.
        runtime: has the project's host library loaded.
        platform: the SoC they are compiled for.
        defines: macros besides those of the dtype combination and of the build files, over which
            they win.
    """

    def __init__(
        self,
        project: OpProject,
        runtime: OpRuntime,
        platform: Platform,
        defines: Sequence[str],
        progress: Progress,
    ):
        self.project = project
        self.runtime = runtime
        self.platform = platform
        self.defines = tuple(defines)
        self.progress = progress
        self._registered: set[tuple[str, str, int | None]] = set()
        self._options: dict[str, CompileOptions] = {}

    def options(self, op: str) -> CompileOptions:
        """Return what the project's build files say of an op's kernel on the SoC."""
        if op not in self._options:
            found = read_options(self.project.root, op, self.platform.family)
            for place in found.assumed:
                self.progress(f"{place}: its options are taken; its condition is not known")
            self._options[op] = found
        return self._options[op]

    def compile_all(self, declared: Mapping[str, Any]) -> int:
        """Compile the kernels of every dtype combination on this SoC without running anything.

        Of a kernel that is a template over the tiling key, one selected combination of template
        arguments is compiled per dtype combination that fits its data types.

        Returns:
            How many dtype combinations were left out because only a call tells their tiling key.

        Raises:
            OpgenError: OPG303, one does not compile.
        """
        op = declared["op"]
        source = self._source(declared)
        found = combos(declared, self.platform.name)
        if _TEMPLATE_ENTRY.search(self._text(source)):
            return self._compile_templates(declared, source, found)
        for combo in found:
            self.progress(f"compiling {source.path.name} [{combo.key}]")
            self._compile(source, without_launches(source.path), combo, op, None)
        return 0

    def _compile_templates(
        self, declared: Mapping[str, Any], source: KernelSource, found: Sequence[Combo]
    ) -> int:
        op = declared["op"]
        name = self._declared_name(op)
        made = [(k, self.runtime.template(name, k)) for k in self.runtime.template_keys(name)]
        # Sources for two architectures may declare different parameters under the op's name.
        count = _template_parameters(self._text(source), source.entry)
        made = [(k, t) for k, t in made if t is None or count in (None, len(t["args"]))]
        missing = 0
        for combo in found:
            fitting = [(k, t) for k, t in made if t is not None and _takes(t, combo)]
            if not fitting:
                missing += 1
                continue
            key, template = fitting[0]
            self.progress(f"compiling {source.path.name} [{combo.key}]")
            kernel, _ = self._instance(declared, source, template)
            self._compile(source, kernel, combo, op, key)
        return missing

    def ensure(
        self, declared: Mapping[str, Any], inputs: Sequence[Any], outputs: Sequence[Any], key: int
    ) -> None:
        """Compile and register the kernel that a call with this tiling key runs.

        Raises:
            OpgenError: OPG303, it does not compile.
        """
        op = declared["op"]
        values = [*inputs, *outputs]
        chosen = by_format(self.fitting(declared, values), values)
        if not chosen:
            return  # the runtime's own message lists what is supported
        source = self._source(declared)
        # Parameters under another name may be those of a neighbour, whose kernel this is not.
        text = self._text(source)
        is_template = _TEMPLATE_ENTRY.search(text) is not None
        name = self._declared_name(op) if is_template else op
        # So may be those of the op's kernel for another architecture.
        is_plain = not is_template and _defines_entry(text, source.entry)
        template = None if is_plain else self.runtime.template(name, key)
        defs = self.runtime.tiling_defs()
        if template and not template["selected"]:
            self._check_selection(source, op, key)
        by_key = key if template or key in registered_keys(op, defs) else None
        combo = chosen[0]
        key_and_formats = ",".join((combo.key, *combo.formats))
        if (op, key_and_formats, by_key) in self._registered:
            return
        self.progress(f"compiling {source.path.name} [{combo.key}]")
        entry = source.entry
        kernel = without_launches(source.path)
        if template or not (is_template or has_c_linkage(text, source.entry)):
            kernel, entry = self._instance(declared, source, template)
        path = self._compile(source, kernel, combo, op, by_key)
        self.runtime.register_kernel(op, "", combo.key, path, entry)
        # One kernel per tiling key: the last one registered wins, so others of this combination
        # have to be registered again when they are needed.
        self._registered = {r for r in self._registered if not _same_key(r, op, combo)}
        self._registered.add((op, key_and_formats, by_key))

    def _check_selection(self, source: KernelSource, op: str, key: int) -> None:
        """Raise for a tiling key whose template arguments no header of the kernel selects."""
        if selects_by_macros(self.project.kernel_dir, self.project.kernel_include_dirs):
            return
        raise OpgenError(
            Diagnostic(
                "OPG519",
                f"op {op}: no ASCENDC_TPL_ARGS_SEL contains the template arguments of "
                f"tiling key {key}",
                Location(str(source.path)),
                why="CANN compiles the kernel for the combinations of ASCENDC_TPL_SEL only",
                fix="add the combination, or have TilingFunc pass others to GET_TPL_TILING_KEY",
            )
        )

    def fitting(self, declared: Mapping[str, Any], values: Sequence[Any]) -> list[Combo]:
        """Return the listed dtype combinations that the first ``len(values)`` tensors fit."""
        return [c for c in combos(declared, self.platform.name) if _fits(c, values)]

    def _source(self, declared: Mapping[str, Any]) -> KernelSource:
        """Return the kernel that OpDef, build files or the op's name tell, in this order."""
        op = declared["op"]
        file = _op_file(declared, self.platform.family) or self.options(op).kernel
        return self.project.kernel(op, file)

    def _text(self, source: KernelSource) -> str:
        """Return what the SoC's architecture compiles of a kernel source, without comments."""
        text = source.path.read_text(encoding="utf-8", errors="replace")
        return text_for(text, self.platform.arch)

    def _declared_name(self, op: str) -> str:
        return declared_name(self.project.kernel_dir, op, self.project.kernel_include_dirs)

    def _instance(
        self, declared: Mapping[str, Any], source: KernelSource, template: Mapping[str, Any] | None
    ) -> tuple[Path, str]:
        """Return source and entry of a template kernel for a key, or of one without C linkage."""
        computed = any(p["computed_shape"] for p in declared["outputs"])
        count = len(declared["inputs"]) + len(declared["outputs"]) + computed + 2
        entry = f"opgen_{source.entry}"
        kernel = KernelSource(without_launches(source.path), source.entry)
        return template_instance(kernel, entry, template, count), entry

    def _compile(
        self, source: KernelSource, kernel: Path, combo: Combo, op: str, key: int | None
    ) -> Path:
        defs = self.runtime.tiling_defs()
        own: frozenset[str] = frozenset()
        options = self.options(op)
        while True:
            header = kernel_tiling_header(op, defs, key, source.path, own)
            flags = ["-include", str(header)] if header is not None else []
            try:
                return compile_kernel(
                    kernel,
                    defines=[*combo.defines, *options.defines, *self.defines],
                    include_dirs=[
                        source.path.parent,
                        *options.include_dirs,
                        *self.project.kernel_include_dirs,
                    ],
                    output_name=f"lib{source.entry}.so",
                    opt="-O1",
                    arch=self.platform.arch,
                    flags=flags,
                )
            except OpgenError as error:
                # A header of the kernel has the struct as well: then the kernel's own counts, as
                # CANN makes none for a kernel that registers one.
                more = _redefined(error) & {str(d["class"]) for d in defs}
                if header is None or more <= own:
                    raise with_header_advice(error, self.project.root) from error
                own |= more


def _redefined(error: OpgenError) -> frozenset[str]:
    """Return the structs that a compiler saw twice."""
    found = (_REDEFINED.search(d.what) for d in error.diagnostics)
    return frozenset(m[1] for m in found if m)


def _same_key(registered: tuple[str, str, int | None], op: str, combo: Combo) -> bool:
    return registered[0] == op and registered[1].startswith(combo.key + ",")


def _takes(template: Mapping[str, Any], combo: Combo) -> bool:
    """Say whether the data types among template arguments are those of a dtype combination."""
    types = [int(a["value"]) for a in template["args"] if a["kind"] == "datatype"]
    return all(v in BY_GE and BY_GE[v].name in combo.key.split(",") for v in types)


def _template_parameters(text: str, entry: str) -> int | None:
    """Return how many template parameters the entry has, None when the source does not show it."""
    found = re.search(rf"\btemplate\s*<([^;{{}}]*)>\s*(?:__\w+__\s+)+void\s+{entry}\s*\(", text)
    return len(split_list(found[1])) if found else None


def _defines_entry(text: str, entry: str) -> bool:
    """Say whether the source itself has the entry, not one it includes."""
    return re.search(rf"\b__global__\b[^;{{}}()]*\b{entry}\s*\(", text) is not None


def _op_file(declared: Mapping[str, Any], family: str) -> str:
    for config in declared["socs"]:
        if config["soc"].lower() == family:
            return str(config["config"].get("opFile.value", ""))
    return ""


def _dtype_of(value: Any) -> str | None:
    if isinstance(value, (list, tuple)):
        return _dtype_of(value[0]) if value else None
    if value is None:
        return None
    return str(value.dtype).removeprefix("torch.")


def _fits(combo: Combo, values: Sequence[Any]) -> bool:
    wanted = combo.key.split(",")[: len(values)]
    given = [_dtype_of(v) for v in values]
    return all(g is None or g == w for g, w in zip(given, wanted, strict=True))
