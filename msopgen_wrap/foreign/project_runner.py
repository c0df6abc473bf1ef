"""Run an op of a foreign project: host library, tiling and kernel compiled and called here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.foreign.combinations import combos, refresh, settle_formats, tensors_of
from msopgen_wrap.foreign.host_library import build_host_library
from msopgen_wrap.foreign.launcher_attrs import arranged_attrs
from msopgen_wrap.foreign.op_project import OpProject, declaration_problems, open_project
from msopgen_wrap.foreign.project_kernels import (
    Progress,
    ProjectKernels,
)
from msopgen_wrap.foreign.run_inputs import arranged_values, parameter_error
from msopgen_wrap.platforms import (
    DEFAULT_SOC,
    approximation,
    covers,
    find_platform,
    platform,
)
from msopgen_wrap.run.call_failure import call_failure, op_failure
from msopgen_wrap.run.op_abi import Attrs
from msopgen_wrap.run.op_runtime import OpRuntime, OpRuntimeError, RunResult
from msopgen_wrap.run.tensors import Tensor, TensorSpec, cut_to_shapes


@dataclass
class OpRun:
    """One executed op: its outputs by name (a list for a dynamic output) and what happened.

    Attributes:
        changed: inputs that the kernel wrote to and that are no outputs, as outputs are.
    """

    op: str
    outputs: dict[str, Any]
    result: RunResult
    changed: dict[str, Any] = field(default_factory=dict)
    warnings: list[Diagnostic] = field(default_factory=list)


class ProjectRunner:
    """A project whose ops can be run.

    Args:
        root: folder with ``op_host/`` and ``op_kernel/``.
        soc: exact or family name; None for ascend910b3 or, where no op is configured for that, the
            first SoC the ops are configured for.
        include_dirs: further include folders for host and kernel sources.
        defines: further macros for both.

    Raises:
        OpgenError: the layout is wrong, or op_host does not compile or load.
    """

    def __init__(
        self,
        root: Path,
        *,
        soc: str | None = None,
        include_dirs: Sequence[Path] = (),
        defines: Sequence[str] = (),
        progress: Progress = lambda _: None,
    ):
        self.platform = platform(soc or DEFAULT_SOC)
        self.project: OpProject = open_project(root, include_dirs)
        self.defines = tuple(defines)
        self.progress = progress
        self.runtime = OpRuntime()
        progress("compiling op_host")
        host = build_host_library(self.project, self.defines, progress)
        before = self.runtime.op_defs()
        try:
            self.runtime.load_host(host)
        except OpRuntimeError as error:
            raise self._failure(error, "OPG515", f"op_host does not load: {error}") from error
        after = self.runtime.op_defs()
        names = {n for n, d in after.items() if d["declared"]}
        self._undeclared = sorted(n for n in after if n not in before and n not in names)
        fresh = {n for n in names if after[n] != before.get(n)}
        # A project that was loaded before declares nothing new; its op types are in the sources.
        texts = [p.read_text(encoding="utf-8", errors="replace") for p in self.project.host_sources]
        self._reads_attrs = any("GetAttr" in t for t in texts)
        self.ops = sorted(n for n in names if n in fresh or any(adds_op(n, t) for t in texts))
        if not self.ops:
            raise OpgenError(
                Diagnostic(
                    "OPG516",
                    "op_host declares no op",
                    Location(str(root / "op_host")),
                    why="no source calls OP_ADD(<OpType>)",
                    fix="end the OpDef's file with OP_ADD(<OpType>);",
                )
            )

        if soc is None:
            self._take_configured_soc()
        self.kernels = ProjectKernels(
            self.project, self.runtime, self.platform, self.defines, progress
        )

    def _take_configured_soc(self) -> None:
        """Run on a SoC that the ops are configured for, when none is for the default one."""
        named = [c["soc"] for op in self.ops for c in self.declaration(op)["socs"]]
        known = [p for p in map(find_platform, named) if p is not None]
        if known and not any(covers(name, self.platform.name) for name in named):
            self.progress(f"no op is configured for {self.platform.name}: taking {known[0].name}")
            self.platform = known[0]

    def declaration(self, op: str | None = None) -> dict[str, Any]:
        """Return the declaration of an op; without a name the project's only one.

        Raises:
            OpgenError: OPG517, no such op, or the project has several.
        """
        if op is None and len(self.ops) == 1:
            op = self.ops[0]
        if op not in self.ops:
            raise OpgenError(
                Diagnostic(
                    "OPG517",
                    f"the project has no op {op}" if op else "the project has several ops",
                    Location(str(self.project.root)),
                    why=f"its ops: {', '.join(self.ops)}",
                    fix="name one with --op",
                )
            )
        return self.runtime.op_defs()[op]

    def _failure(
        self, error: OpRuntimeError, code: str = "OPG519", what: str = "", **texts: str
    ) -> OpgenError:
        """Return the diagnostic of a failed call: OPG530 where a signal ended the op's code."""
        return op_failure(error, Location(str(self.project.root)), code, what, **texts)

    # ---- running -----------------------------------------------------------------------------

    def run(
        self,
        op: str | None,
        inputs: Mapping[str, Any],
        attrs: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
        *,
        mode: str = "check",
        block_dim: int | None = None,
    ) -> OpRun:
        """Run one op.

        Args:
            inputs: by parameter name a tensor, a list of them (dynamic), or None (absent). A
                :class:`~msopgen_wrap.run.tensors.Tensor`, a numpy array or a torch CPU tensor.
            outputs: by name a tensor to write into, a ``TensorSpec`` to allocate, or a list of
                them. What is missing is allocated as InferShape says; with all of them given
                InferShape is not asked, as in an aclnn call. For an output whose shape the kernel
                computes it is the largest buffer that may be needed.

        Raises:
            OpgenError: OPG518 (a wrong or missing parameter), OPG303 (the kernel does not
                compile), OPG519 (a step of the call failed).
        """
        declared = self.declaration(op)
        name = declared["op"]
        problems = declaration_problems(declared, self._undeclared)
        errors = [p for p in problems if p.severity == "error"]
        if errors:
            raise OpgenError(errors)
        values = arranged_values(declared, "inputs", inputs)
        arranged = arranged_attrs(
            self.project.root, declared, attrs or {}, reads_attrs=self._reads_attrs
        )
        results: list[Any] = []
        try:
            results = self._outputs(declared, values, arranged, dict(outputs or {}))
            used = [*values, *results]
            settle_formats(self.kernels.fitting(declared, used), used)
            results_named = {p["name"] for p in declared["outputs"]}
            before = {
                p["name"]: (v, [t.memory.copy() for t in tensors_of(v)])
                for p, v in zip(declared["inputs"], values, strict=True)
                if p["name"] not in results_named
            }
            result = self.runtime.run(
                name,
                values,
                results,
                arranged,
                soc=self.platform.name,
                mode=mode,
                block_dim=block_dim,
                # What was inferred has its shape; an aclnn call asks InferShape for nothing else.
                skip_shape_check=True,
                tiled=lambda tiling: self.kernels.ensure(declared, values, results, tiling.key),
                auto_sync=self.kernels.options(name).auto_sync,
            )
        except OpRuntimeError as error:
            if error.crash is not None:
                raise self._failure(error) from error
            raise call_failure(
                self.project.root, declared, outputs or {}, results, error
            ) from error
        refresh(results)
        results = cut_to_shapes(results, result.computed_shapes)
        by_name = {p["name"]: v for p, v in zip(declared["outputs"], results, strict=True)}
        changed = {n: v for n, (v, old) in before.items() if _differs(v, old)}
        refresh(changed.values())
        notes = [*approximation(self.platform.name), *problems]
        return OpRun(name, by_name, result, changed, notes)

    def _outputs(
        self,
        declared: Mapping[str, Any],
        inputs: Sequence[Any],
        attrs: Attrs,
        given: dict[str, Any],
    ) -> list[Any]:
        unknown = sorted(set(given) - {p["name"] for p in declared["outputs"]})
        if unknown:
            raise parameter_error(declared, "outputs", unknown[0])
        params = declared["outputs"]
        inferred: list[TensorSpec] = []
        names = [p["name"] for p in declared["inputs"]]
        missing = [p for p in params if p["name"] not in given and p["name"] not in names]
        if any(p["param_type"] != "optional" for p in missing):
            inferred = self.infer(declared, inputs, attrs)
        results: list[Any] = []
        for position, param in enumerate(params):
            value = given.get(param["name"])
            if value is None and param["name"] in names:
                # An output with the name of an input is that input, written in place.
                value = inputs[names.index(param["name"])]
            elif value is None and inferred:
                value = inferred[position]
            results.append(_allocate(value))
        return results

    def infer(self, declared: Mapping[str, Any], inputs: Sequence[Any], attrs: Attrs) -> list[Any]:
        """Return dtype and (largest) shape of every output, a list of them for an output list.

        Args:
            declared: :meth:`declaration` of the op.
            inputs: tensors in the order of the declaration, None where absent.

        Raises:
            OpgenError: OPG518 (there is no InferShape, or it does not tell), OPG519 (it failed).
        """
        op = declared["op"]
        if not declared["has_infer_shape"] and not declared["has_infer_shape_range"]:
            raise OpgenError(
                Diagnostic(
                    "OPG518",
                    f"op {op} has no InferShape, so the outputs must be given",
                    why="without it nobody but the caller knows the output shapes",
                    fix=f"add --output {declared['outputs'][0]['name']}=float16[2,3] for each",
                )
            )
        if any(p["param_type"] == "dynamic" for p in declared["outputs"]):
            return self._infer_list(declared, inputs, attrs)
        try:
            shapes = self.runtime.infer_largest_shapes(op, inputs, attrs, soc=self.platform.name)
        except OpRuntimeError as error:
            raise self._failure(
                error,
                why="only a graph asks InferShape; an aclnn call gets its outputs from the caller",
                fix="mend InferShape, or give all outputs: --output y=float16[2,3]",
            ) from error
        for param, shape in zip(declared["outputs"], shapes, strict=True):
            if min(shape, default=0) < 0:
                raise OpgenError(
                    Diagnostic(
                        "OPG518",
                        f"op {op}: InferShape leaves the shape of output {param['name']} open: "
                        f"{list(shape)}",
                        why="the kernel computes it, and no InferShapeRange bounds it",
                        fix=f"give the largest it may get: --output {param['name']}=float16[1024]",
                    )
                )
        dtypes = ["undefined"] * len(shapes)
        if declared["has_infer_data_type"]:
            try:
                dtypes = self.runtime.infer_dtypes(op, inputs, attrs, soc=self.platform.name)
            except OpRuntimeError as error:
                raise self._failure(error) from error
        if "undefined" in dtypes:
            listed = self._dtypes_by_combo(declared, inputs)
            if declared["has_infer_data_type"] and not any(shapes):
                raise OpgenError(
                    Diagnostic(
                        "OPG518",
                        f"InferShape and InferDataType of op {op} say nothing about its outputs",
                        why="they succeed and leave the outputs as they are, like the functions "
                        "of a template that nobody filled in",
                        fix=f"give the outputs: --output {declared['outputs'][0]['name']}="
                        f"{listed[0]}[2,3] for each",
                    )
                )
            dtypes = [d if d != "undefined" else c for d, c in zip(dtypes, listed, strict=True)]
        return [TensorSpec(d, s) for d, s in zip(dtypes, shapes, strict=True)]

    def _infer_list(
        self, declared: Mapping[str, Any], inputs: Sequence[Any], attrs: Attrs
    ) -> list[Any]:
        """Infer the outputs of an op with output lists.

        One with the name of an input is as long as that, others are as long as the input lists.
        """
        op = declared["op"]
        # An optional list that is absent has no length.
        lists = {
            p["name"]: len(v)
            for p, v in zip(declared["inputs"], inputs, strict=True)
            if isinstance(v, (list, tuple)) and v
        }
        common = lists.values() if len(set(lists.values())) == 1 else [0]
        counts = [
            lists.get(p["name"], min(common)) if p["param_type"] == "dynamic" else 1
            for p in declared["outputs"]
        ]
        if 0 in counts:
            raise OpgenError(
                Diagnostic(
                    "OPG518",
                    f"op {op} has an output list; its length cannot be inferred",
                    fix="give the outputs: --output y=float16[2,3];float16[4]",
                )
            )
        count = sum(counts)
        soc = self.platform.name
        try:
            shapes = self.runtime.infer_shapes(op, inputs, attrs, num_outputs=count, soc=soc)
            types = ["undefined"] * count
            if declared["has_infer_data_type"]:
                types = self.runtime.infer_dtypes(op, inputs, attrs, num_outputs=count, soc=soc)
        except OpRuntimeError as error:
            raise self._failure(error) from error
        listed = self._dtypes_by_combo(declared, inputs) if "undefined" in types else []
        specs: list[Any] = []
        rest = iter(zip(shapes, types, strict=True))
        for position, length in enumerate(counts):
            many = declared["outputs"][position]["param_type"] == "dynamic"
            items = [next(rest) for _ in range(length)]
            made = [TensorSpec(listed[position] if t == "undefined" else t, s) for s, t in items]
            specs.append(made if many else made[0])
        return specs

    def _dtypes_by_combo(self, declared: Mapping[str, Any], inputs: Sequence[Any]) -> list[str]:
        """Take the output dtypes of the first combination that fits the inputs."""
        fitting = self.kernels.fitting(declared, inputs)
        if fitting:
            return fitting[0].key.split(",")[len(inputs) :]
        raise OpgenError(
            Diagnostic(
                "OPG518",
                f"op {declared['op']} does not list these input dtypes",
                why="it lists " + "; ".join(c.key for c in combos(declared, self.platform.name)),
            )
        )


def _differs(value: Any, before: Sequence[np.ndarray[Any, Any]]) -> bool:
    """Say whether tensors have other bytes than before."""
    pairs = zip(tensors_of(value), before, strict=True)
    return not all(np.array_equal(_bytes(t.memory), _bytes(old)) for t, old in pairs)


def _bytes(memory: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return memory.reshape(-1).view(np.uint8)


def adds_op(op: str, text: str) -> bool:
    """Say whether a host source declares an op, not one whose name begins the same."""
    return re.search(rf"\bOP_ADD\s*\(\s*{op}\b", text) is not None


def _allocate(value: Any) -> Any:
    if isinstance(value, TensorSpec):
        return Tensor.poisoned(value)
    if isinstance(value, (list, tuple)):
        return [_allocate(v) for v in value]
    return value
