"""Stands for the compiled torch extension of a benchmark task.

What the real extension's C++ would do - order arguments, make scalars of tensors, allocate
outputs - follows from the op's declaration and from the reference's result.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernel_bench.binding import (
    bind_arguments,
    fixed_attrs,
    launched_inputs,
    order_tensors,
    read_binding,
)
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.foreign.combinations import combos
from msopgen_wrap.foreign.project_runner import ProjectRunner
from msopgen_wrap.run.tensors import Tensor, TensorSpec


class UnsupportedCase(Exception):
    """The op does not declare the dtypes of a case."""


def copied(value: Any) -> Any:
    """Return a deep copy of tensors in lists."""
    if hasattr(value, "clone"):
        return value.clone()
    if isinstance(value, (list, tuple)):
        return type(value)(copied(v) for v in value)
    return value


def detached(value: Any) -> Any:
    """Return a result without its autograd graph."""
    if isinstance(value, (list, tuple)):
        return [detached(v) for v in value]
    return value.detach() if hasattr(value, "detach") else value


def elements(value: Any) -> int:
    """Return how many elements the tensors of a value have together."""
    if isinstance(value, (list, tuple)):
        return sum(map(elements, value))
    return value.numel() if hasattr(value, "numel") else 0


def first_line(error: OpgenError) -> str:
    """Return an error's first diagnostic as one short line."""
    first = error.diagnostics[0]
    return f"{first.location}: {first.what} {first.why}"[:600]


class Extension:
    """Stands for the compiled extension: every call runs the project's op.

    Args:
        binding: the extension's source, which may call aclnn with its arguments in another order.
    """

    def __init__(
        self,
        project: Path,
        mode: str,
        soc: str,
        headers: Sequence[Path] = (),
        binding: Path | None = None,
    ):
        self.project, self.mode, self.soc, self.headers = project, mode, soc, headers
        self._binding = read_binding(binding)
        self.alarms: list[str] = []
        self.notes: list[str] = []
        self.kernel_compile_seconds = 0.0
        self._golden: Any = None

    def open(self) -> None:
        """Compile and load op_host."""
        self._runner = ProjectRunner(self.project, soc=self.soc, include_dirs=self.headers)
        self._op = self._runner.declaration()

    def call_as(self, golden: Any, model: Callable[..., Any], inputs: Sequence[Any]) -> Any:
        """Call the model; ``golden`` tells the shapes of outputs the caller has to allocate."""
        self._golden = golden
        return model(*inputs)

    def run(self, *args: Any) -> Any:
        """Run the op; the aclnn function takes inputs, then attrs."""
        labels: Sequence[str] = ()
        self._given: dict[str, Any] = {}
        if self._binding and len(args) == len(self._binding.order):
            self._given = dict(zip(self._binding.params, args, strict=True))
            args = tuple(args[i] for i in self._binding.order)
            labels = self._binding.labels
            launched = launched_inputs(self.project / "op_host", self._op["op"])
            ordered, labels = order_tensors(args, labels, launched)
            args = tuple(ordered)
        fixed = fixed_attrs(self._op, self._binding.fixed if self._binding else ())
        open_attrs = [a for a in self._op["attrs"] if a["name"] not in fixed]
        inputs, attrs = bind_arguments({**self._op, "attrs": open_attrs}, args, labels)
        attrs.update(fixed)
        self._take_scalars(inputs)
        before = {name: copied(value) for name, value in inputs.items()}
        started = time.perf_counter()
        outputs = self._outputs(inputs, attrs)
        try:
            done = self._runner.run(None, inputs, attrs, outputs, mode=self.mode)
        except OpgenError as error:
            # What check mode refuses (a tail written past the end, say) the device may forgive:
            # the finding is kept, and the result compared as well.
            if self.mode != "check" or "kernel failed" not in error.diagnostics[0].what:
                raise
            self.alarms.append(first_line(error))
            inputs = before
            before = {name: copied(value) for name, value in inputs.items()}
            done = self._runner.run(None, inputs, attrs, outputs, mode="fast")
        self.kernel_compile_seconds += time.perf_counter() - started - done.result.seconds
        self._note_findings(done.result.findings)
        results = [_torch(value) for value in done.outputs.values()]
        results = self._returned(results)
        if not results:  # the op works in place without saying so
            results = self._changed(inputs, before)
        if isinstance(self._golden, (list, tuple)) and not (
            len(results) == 1 and isinstance(results[0], list)
        ):
            return results
        return results[0] if results else None

    def _note_findings(self, findings: Sequence[dict[str, Any]]) -> None:
        for finding in findings:
            if finding.get("severity") == "error":
                place = f"{Path(finding.get('file', '')).name}:{finding.get('line', 0)}"
                self.alarms.append(f"{finding.get('check')} {place}")

    def _changed(self, inputs: dict[str, Any], before: dict[str, Any]) -> list[Any]:
        """Return the tensors that an op changed in place: those the binding keeps, or all."""
        names = self._binding.kept if self._binding and self._given else ()
        kept = [self._given[name] for name in names]
        results = kept or [v for n, v in inputs.items() if not _same(v, before[n])]
        if len(results) > 1:
            results = [t for v in results for t in (v if isinstance(v, list) else [v])]
        return results

    def _returned(self, results: list[Any]) -> list[Any]:
        """Return of the outputs what the extension returns, in its order."""
        count = len(self._golden) if isinstance(self._golden, (list, tuple)) else 1
        if self._binding and self._binding.appended:
            first = self._binding.results[0] if self._binding.results else ()
            more = [i for name, i in self._binding.appended if not name or self._given.get(name)]
            return [results[i] for i in (*first, *more) if i < len(results)]
        for positions in self._binding.results if self._binding else ():
            if len(positions) == count and max(positions) < len(results):
                return [results[i] for i in positions]
        return results

    def _take_scalars(self, inputs: dict[str, Any]) -> None:
        """Convert one-element tensors to the dtype declared, as the extension's aclScalars are.

        Raises:
            UnsupportedCase: no combination of dtypes fits the others either.
        """
        from msopgen_wrap.torch_import import torch

        rows = combos(self._op, self._runner.platform.name)
        names = [p["name"] for p in self._op["inputs"]]
        keys = [combo.key.split(",")[: len(names)] for combo in rows]
        given = [_input_dtype(inputs.get(n)) for n in names]
        scalars = [_is_scalar(inputs.get(n)) for n in names]
        if any(all(g in (None, k) for g, k in zip(given, key, strict=True)) for key in keys):
            return
        # Tensors of one element are ambiguous: as few as possible are taken for scalars.
        keys.sort(key=lambda key: sum(g != k for g, k in zip(given, key, strict=True)))
        for key in keys:
            triples = zip(given, key, scalars, strict=True)
            if all(g in (None, k) or (s and hasattr(torch, k)) for g, k, s in triples):
                for name, wanted, scalar in zip(names, key, scalars, strict=True):
                    if scalar:
                        inputs[name] = inputs[name].to(getattr(torch, wanted))
                return
        raise UnsupportedCase(
            "op {} does not declare inputs of {}".format(
                self._op["op"], ", ".join(str(g) for g in given)
            )
        )

    def _outputs(self, inputs: Mapping[str, Any], attrs: Mapping[str, Any]) -> dict[str, Any]:
        """Allocate what the extension would where it differs from what the op infers.

        An aclnn call asks neither InferShape nor InferDataType, so those of public tasks may be
        wrong: this is noted, and the reference tells. An output whose shape the kernel computes
        gets the room of the largest input when nothing bounds it.
        """
        declared = [p for p in self._op["outputs"] if p["name"] not in inputs]
        golden = self._golden
        if len(declared) == 1 and declared[0]["param_type"] == "dynamic":
            offers = [offer[0] for offer in self._offers(inputs)]
            specs = []
            for value in golden:  # a reference may compute in a wider type
                dtype = _dtype(value)
                wanted = dtype if dtype in offers or not offers else offers[0]
                specs.append(TensorSpec(wanted, tuple(value.shape)))
            return {declared[0]["name"]: specs}
        values = list(golden) if isinstance(golden, (list, tuple)) else [golden]
        if len(declared) != len(self._op["outputs"]):
            return {}  # some are written in place
        inferred = self._inferred(inputs, attrs)
        if len(values) != len(declared):
            return {} if inferred else self._with_room(inputs, declared, values)
        dtypes = self._output_dtypes(inputs, values, inferred)
        room = max((elements(v) for v in inputs.values()), default=0)
        chosen: dict[str, Any] = {}
        for i, (param, value) in enumerate(zip(declared, values, strict=True)):
            shape = tuple(value.shape)
            if inferred and math.prod(inferred[i].shape) == value.numel():
                shape = inferred[i].shape
            elif param["computed_shape"]:
                bound = inferred[i].shape if inferred else ()
                fits = math.prod(bound) >= value.numel()
                shape = bound if fits else (max(room, value.numel()),)
            elif inferred:
                self.notes.append(
                    f"InferShape gives {param['name']} {list(inferred[i].shape)}, "
                    f"the reference {list(shape)}"
                )
            if inferred and inferred[i].dtype != dtypes[i]:
                self.notes.append(
                    f"InferDataType gives {param['name']} {inferred[i].dtype}, not {dtypes[i]}"
                )
            chosen[param["name"]] = TensorSpec(dtypes[i], shape)
            if self._binding and i in self._binding.cleared:
                cleared = Tensor.empty(chosen[param["name"]])
                cleared.holds_data = True
                chosen[param["name"]] = cleared
        return chosen

    def _with_room(
        self,
        inputs: Mapping[str, Any],
        declared: Sequence[Mapping[str, Any]],
        golden: Sequence[Any],
    ) -> dict[str, Any]:
        """Allocate when the reference returns some of the outputs and nothing tells the others.

        These get the room of the largest tensor, which is noted: kernels write what they know.
        """
        known = self._binding.results if self._binding else ()
        first = tuple(range(min(len(golden), len(declared))))
        places = next((r for r in known if len(r) == len(golden)), first)
        wanted = dict(zip(places, golden, strict=False))
        offers = self._offers(inputs)
        fitting = [o for o in offers if all(o[i] == _dtype(v) for i, v in wanted.items())]
        room = max(elements(v) for v in [*inputs.values(), *golden])
        chosen = {}
        for i, (param, dtype) in enumerate(zip(declared, (fitting or offers)[0], strict=True)):
            shape = tuple(wanted[i].shape) if i in wanted else (room,)
            chosen[param["name"]] = TensorSpec(dtype, shape)
            if i not in wanted:
                self.notes.append(f"nothing tells the shape of {param['name']}: it has room {room}")
        return chosen

    def _inferred(
        self, inputs: Mapping[str, Any], attrs: Mapping[str, Any]
    ) -> list[TensorSpec] | None:
        """Return what the op infers, None where it cannot; a failure is noted."""
        has = self._op["has_infer_shape"] or self._op["has_infer_shape_range"]
        if not has or any(p["param_type"] == "dynamic" for p in self._op["outputs"]):
            return None
        arranged = [inputs.get(p["name"]) for p in self._op["inputs"]]
        try:
            return self._runner.infer(self._op, arranged, attrs)
        except OpgenError as error:
            if error.diagnostics[0].code != "OPG518":  # OPG518: merely left to the kernel
                self.notes.append(first_line(error))
            return None

    def _offers(self, inputs: Mapping[str, Any]) -> list[list[str]]:
        """Return the output dtypes that the op declares for these inputs."""
        names = [p["name"] for p in self._op["inputs"]]
        given = [_input_dtype(inputs.get(n)) for n in names]
        offers = []
        for combo in combos(self._op, self._runner.platform.name):
            key = combo.key.split(",")
            if all(g in (None, k) for g, k in zip(given, key, strict=False)):
                offers.append(key[len(names) :])
        return offers

    def _output_dtypes(
        self,
        inputs: Mapping[str, Any],
        golden: Sequence[Any],
        inferred: Sequence[TensorSpec] | None,
    ) -> list[str]:
        """Choose what the op declares for these inputs: the reference's if it can, or inferred."""
        offers = self._offers(inputs)
        wanted = [_dtype(g) for g in golden]
        seen = [spec.dtype for spec in inferred or ()]
        return next((d for d in (wanted, seen) if d in offers), offers[0])


def _is_scalar(value: Any) -> bool:
    return hasattr(value, "numel") and value.numel() == 1


def _input_dtype(value: Any) -> str | None:
    if isinstance(value, (list, tuple)):
        return _dtype(value[0]) if value else None
    return None if value is None else _dtype(value)


def _dtype(value: Any) -> str:
    return str(value.dtype).removeprefix("torch.")


def _torch(value: Any) -> Any:
    from msopgen_wrap.torch_import import torch

    if isinstance(value, (list, tuple)):
        return [_torch(v) for v in value]
    if value is None or hasattr(value, "data_ptr"):
        return value
    plain = torch.from_numpy(value.data.view("int16") if value.dtype == "bfloat16" else value.data)
    return plain.view(torch.bfloat16) if value.dtype == "bfloat16" else plain


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, (list, tuple)):
        return all(_same(a, b) for a, b in zip(left, right, strict=True))
    return left is None or bool(((left == right) | (left != left)).all())
