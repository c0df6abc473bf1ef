"""Collect every area's generated files into one project tree."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.render.files import GeneratedFile, host_blocks, kernel_blocks
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.checks import check_dtypes_on_socs
from msopgen_wrap.spec.findings import Findings
from msopgen_wrap.spec.gradient import gradient_name
from msopgen_wrap.spec.model import OpSpec

if TYPE_CHECKING:
    from msopgen_wrap.schedule.plan import OpPlan

STYLES = ("8.1", "9.x")
PARTS = ("specs", "op_host", "op_kernel", "cann", "op_api", "torch_ext", "tests")
SCHEMA_NAME = "op_spec.schema.json"
_HEADER = re.compile(r"\A# yaml-language-server:[^\n]*\n")


@dataclass(frozen=True)
class ProjectOptions:
    """What the user chose for a project.

    Attributes:
        vendor: package, torch namespace and CANN vendor folder.
        style: CANN project style, ``8.1`` or ``9.x``.
        soc: SoC families or exact names; empty: those of the specs.
        parts: which of ``PARTS`` to render; tests of specs need only op_host and op_kernel.
    """

    vendor: str = "opgen"
    style: str = "8.1"
    soc: tuple[str, ...] = ()
    parts: tuple[str, ...] = PARTS


def render_project(specs: Sequence[OpSpec], options: ProjectOptions) -> list[GeneratedFile]:
    """Return every file of the project, sorted by path; the same input gives the same bytes.

    Raises:
        OpgenError: an op cannot be planned (all ops are tried, all their findings are reported).
    """
    from msopgen_wrap.families import plan_op
    from msopgen_wrap.families.gradients import unread_inputs

    files: list[GeneratedFile] = []
    problems: list[Diagnostic] = []
    plans: dict[str, OpPlan[Any]] = {}
    if options.soc:
        specs = [for_socs(spec, options.soc) for spec in specs]
    kernels = not {"op_host", "op_kernel"}.isdisjoint(options.parts)
    gradients = {gradient_name(s) for s in specs if s.backward == "kernel"}
    for spec in specs:
        if "specs" in options.parts:
            files.append(_spec_copy(spec))
        try:
            if kernels or ("torch_ext" in options.parts and spec.name in gradients):
                plans[spec.name] = plan_op(spec)
            if kernels:
                files += _render_kernel(plans[spec.name], options)
        except OpgenError as error:
            problems += error.diagnostics
    if problems:
        raise OpgenError(problems)
    files += [*kernel_blocks(files, options.style), *host_blocks(files)]
    unread = {
        spec.name: unread_inputs(spec, plans[gradient_name(spec)])
        for spec in specs
        if spec.backward == "kernel" and gradient_name(spec) in plans
    }
    files += _render_common(specs, options, unread)
    return merge(files)


def for_socs(spec: OpSpec, soc: tuple[str, ...]) -> OpSpec:
    """Return the spec for other SoCs than its own; its dtypes must exist there."""
    findings = Findings()
    check_dtypes_on_socs([*spec.inputs, *spec.outputs], soc, {}, findings)
    if findings.has_errors:
        raise OpgenError(findings.sorted())
    return replace(spec, soc=soc)


def merge(files: Iterable[GeneratedFile]) -> list[GeneratedFile]:
    """Sort by path and drop repeats; two different texts for one path are a bug of the kit."""
    by_path: dict[str, GeneratedFile] = {}
    for file in files:
        other = by_path.setdefault(file.path, file)
        if other != file:
            raise RuntimeError(f"two renderers disagree about {file.path}")
    return [by_path[path] for path in sorted(by_path)]


def _render_kernel(plan: OpPlan[Any], options: ProjectOptions) -> list[GeneratedFile]:
    from msopgen_wrap.render.op_host import render_op_host

    kernel = plan.family.render(plan, options.style)
    return [*kernel.files, *render_op_host(plan.spec, kernel.tiling, options.style)]


def _render_common(
    specs: Sequence[OpSpec], options: ProjectOptions, unread: Mapping[str, Collection[str]]
) -> list[GeneratedFile]:
    files: list[GeneratedFile] = []
    if "specs" in options.parts:
        files.append(_schema_copy())
    if "cann" in options.parts:
        from msopgen_wrap.project.cann_project import render_cann_project

        files += render_cann_project(specs, options)
    if "op_api" in options.parts:
        from msopgen_wrap.torch_ext.aclnn_render import render_aclnn

        files += render_aclnn(specs, options)
    if "torch_ext" in options.parts:
        from msopgen_wrap.torch_ext.render import render_torch_ext

        files += render_torch_ext(specs, options, unread)
    if "tests" in options.parts:
        from msopgen_wrap.render.files import render_tests

        files += render_tests(specs)
    return files


def render_spec_files(specs: Sequence[OpSpec]) -> list[GeneratedFile]:
    """Return the copies of the specs and of their schema, as every kind of project has them."""
    return [*(_spec_copy(spec) for spec in specs), _schema_copy()]


# ---- the spec's copy ---------------------------------------------------------------------------


def project_spec_path(spec: OpSpec) -> str:
    """Return where the spec of an op lies in a project."""
    return f"specs/{spec.name}.yaml"


def _spec_copy(spec: OpSpec) -> GeneratedFile:
    """Copy the spec: schema header for editors, paths of handwritten sources made local."""
    from msopgen_wrap.families.handwritten import project_source

    text = spec.source
    for key, name in (("kernel", spec.kernel), ("tiling", spec.tiling)):
        if name is not None:
            text = _replace_value(text, key, name, project_source(spec, key, name))
    text = _HEADER.sub("", text)
    header = f"# yaml-language-server: $schema={SCHEMA_NAME}\n"
    return GeneratedFile(project_spec_path(spec), header + text.rstrip("\n") + "\n")


def _replace_value(text: str, key: str, old: str, new: str) -> str:
    """Replace the value of a top-level key, quoted or not, keeping everything else."""
    pattern = re.compile(rf"^({key}\s*:\s*)([\"']?){re.escape(old)}\2(?=\s|$)", re.M)
    return pattern.sub(lambda m: m.group(1) + new, text, count=1)


def _schema_copy() -> GeneratedFile:
    text = (data_dir("op_specs") / SCHEMA_NAME).read_text(encoding="utf-8")
    return GeneratedFile(f"specs/{SCHEMA_NAME}", text)
