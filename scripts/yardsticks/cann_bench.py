"""One op of CANN Bench: its cases on a spec's kernel, judged by the benchmark's own evaluator.

    python -m yardsticks.cann_bench ROOT TASK SPEC

prints one JSON object per case. The benchmark's ``src`` is imported and its golden functions are
executed. Inputs, golden function in float64, comparison and thresholds are the benchmark's; the
sizes are smaller (``cann_cases.py``). The kernel runs in the emulation, in check mode.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import json
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from yardsticks.cann_cases import variants

ROOT = Path(__file__).resolve().parents[2]
SPECS = ROOT / "op_specs"
# Of ops whose kernels take too long to compile for the tests of the library.
OWN_SPECS = Path(__file__).resolve().parent / "specs"
_RESULT = "cann-bench-case: "


def tasks(root: Path) -> list[str]:
    """Return the benchmark's ops, as ``level1/exp``."""
    return [
        str(path.parent.relative_to(root / "tasks"))
        for path in sorted((root / "tasks").glob("level*/*/proto.yaml"))
    ]


# Specs that have another name: the library's op of that name has other inputs or outputs.
_OTHER_NAMES = {
    "adaptive_avg_pool_3d": "adaptive_avg_pool3d",
    "apply_adam_w": "adam_w_step",
    "conv_2d": "conv2d_bias",
    "gather": "gather_elements",
}


def spec_of_task(task: str) -> Path | None:
    """Return the spec of an op, of the library or of this folder: None where there is none."""
    name = task.rpartition("/")[2]
    name = _OTHER_NAMES.get(name, name)
    found = [*sorted(SPECS.glob(f"*/{name}.yaml")), *OWN_SPECS.glob(f"{name}.yaml")]
    return next(iter(found), None)


class SpecOp:
    """The op of a spec as a function of the benchmark's parameters.

    Args:
        spec: of the op.
        tensors: the benchmark's names of the inputs, in order.
        attrs: the benchmark's names of the attrs, in order.
        defaults: the benchmark's defaults.
        results: how many outputs the benchmark has; the spec may have more after them.
    """

    def __init__(
        self,
        spec: Any,
        tensors: list[str],
        attrs: list[str],
        defaults: dict[str, Any],
        results: int,
    ) -> None:
        from msopgen_wrap.run.cached_specs import rendered_spec
        from msopgen_wrap.run.preparation import load_op

        self.spec = spec
        self.defaults = defaults
        self.results = results
        own = [p.name for p in spec.inputs]
        by_name = set(tensors) >= set(own)
        self.names = dict(zip(own, own if by_name else tensors, strict=False))
        self.attrs = paired([a.name for a in spec.attrs], attrs)
        self.runtime = load_op(spec, rendered_spec(spec, "opgen"))

    def __call__(self, **given: Any) -> Any:
        """Run the kernel.

        Raises:
            TypeError: the spec has no such attr, and it is not at its default.
            RuntimeError: the op refuses the call, or the sanitizer reports an error.
        """
        from msopgen_wrap.torch_import import torch

        inputs = [op_input(p, given.pop(self.names[p.name], None)) for p in self.spec.inputs]
        attrs = {}
        for name, value in given.items():
            own = self.attrs.get(name)
            if own is not None and value is None:
                continue  # not given: the spec's default
            if own is not None:
                attrs[own] = counted(
                    self.spec.attr(own).allowed, value, getattr(inputs[0], "ndim", 0)
                )
            elif _holds_tensors(value) or value != self.defaults.get(name):
                raise TypeError(f"the spec has no {name}={value!r}"[:200])
        lists = [p for p in self.spec.outputs if p.kind.name == "DYNAMIC"]
        count = len(inputs[0]) if lists else None
        inferred = self.runtime.infer(self.spec.op, inputs, attrs, num_outputs=count)
        made = [torch.empty(t.shape, dtype=getattr(torch, t.dtype)) for t in inferred]
        outputs = [made] if lists else made
        run = self.runtime.run(self.spec.op, inputs, outputs, attrs, mode="check")
        bad = [f for f in run.findings if f.get("severity") != "warning"]
        if bad:
            raise RuntimeError(f"sanitizer: {len(bad)} findings: {bad[0]}"[:300])
        if lists:
            return made
        places = {p.name: i for i, p in enumerate(self.spec.outputs)}
        for i, param in enumerate(self.spec.outputs):
            if param.length is not None:
                made[i] = made[i][: int(made[places[param.length]])]
        if cut := self.spec.outputs[0].pieces:
            whole = {a.name: attrs.get(a.name, a.default) for a in self.spec.attrs}
            ends = whole[cut.ends] if cut.test is None or cut.test.holds(whole) else None
            starts = [0, *(ends or ())]
            return [made[0][a:b] for a, b in zip(starts, ends, strict=False)] if ends else made[:1]
        made = made[: self.results]
        while len(made) > 1 and made[-1].shape == (0,):  # an attr says that it is not wanted
            made.pop()
        return made[0] if len(made) == 1 else tuple(made)


def counted(allowed: Sequence[Any] | None, value: Any, rank: int) -> Any:
    """Return an attr's value; an axis counts from the end where all that the spec allows do."""
    backwards = bool(allowed) and all(isinstance(v, int) and v < 0 for v in allowed or ())
    return value - rank if backwards and value >= 0 else value


def paired(own: list[str], theirs: list[str]) -> dict[str, str]:
    """Return the spec's attrs by the benchmark's names: equal names, then the others in order."""
    known = {_plain(name): name for name in own}
    pairs = {name: known[_plain(name)] for name in theirs if _plain(name) in known}
    rest = [name for name in own if name not in pairs.values()]
    left = [name for name in theirs if name not in pairs]
    return pairs | (dict(zip(left, rest, strict=True)) if len(left) == len(rest) else {})


def _plain(name: str) -> str:
    return re.sub(r"_", "", name).lower()


def _holds_tensors(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_holds_tensors, value))
    return hasattr(value, "numel")


def op_input(param: Any, value: Any) -> Any:
    """Return a tensor or a list as the op takes it: a list that is not given has no tensors."""
    if param.kind.name == "DYNAMIC":
        given = value if isinstance(value, (list, tuple)) else [value]
        return [_contiguous(v) for v in given if v is not None]
    return _contiguous(value)


def _contiguous(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_contiguous(v) for v in value]
    return value if value is None else value.contiguous()


def evaluator(root: Path) -> Any:
    """Return the benchmark's evaluator, on the CPU."""
    sys.path.insert(0, str(root / "src"))
    from kernel_eval.config import Config  # type: ignore[import-not-found]
    from kernel_eval.eval.evaluator import Evaluator  # type: ignore[import-not-found]

    return Evaluator(
        Config(
            tasks_root=str(root / "tasks"),
            device_type="cpu",
            enable_profiler=False,
            torch_op_guard_mode="off",
        )
    )


def run_task(
    root: Path, task: str, spec_path: Path, tell: Callable[[dict[str, Any]], None]
) -> None:
    """Run the cases of an op and tell the outcome of each: ``case``, ``passed``, ``why``."""
    from msopgen_wrap.spec.loader import load_specs

    judge = evaluator(root)
    proto = judge.operator_loader.get_operator(task)
    golden = inspect.signature(judge.golden_loader.get_golden_function(task))
    defaults = {
        name: p.default
        for name, p in golden.parameters.items()
        if p.default is not inspect.Parameter.empty
    }
    tensors = [i.name for i in proto.inputs]
    attrs = [name for name in golden.parameters if name not in tensors]
    spec = load_specs((spec_path,))[0]
    op = SpecOp(spec, tensors, attrs, defaults, len(proto.outputs))
    for case in judge.case_loader.scan_by_rel_path(task):
        outcome = None
        for small in variants(case):
            with contextlib.redirect_stdout(io.StringIO()):
                outcome = judge.evaluate_case(small, ai_op_func=op)
            golden_run = outcome.golden_run_result
            if golden_run is not None and golden_run.success:
                break
        assert outcome is not None
        shapes = str(small.input_shapes)
        why = "" if outcome.success else f"{shapes[:100]}: {outcome.error_msg}"
        tell({"case": case.case_num, "passed": bool(outcome.success), "why": " ".join(why.split())})


def main() -> int:
    """Run one op and print an object per case."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description="run the cases of one op of CANN Bench")
    parser.add_argument("root", type=Path)
    parser.add_argument("task")
    parser.add_argument("spec", type=Path)
    options = parser.parse_args()

    def tell(row: dict[str, Any]) -> None:
        print(_RESULT + json.dumps(row), flush=True)

    run_task(options.root, options.task, options.spec, tell)
    return 0


def cases_in(text: str) -> list[dict[str, Any]]:
    """Return the outcomes in what a run of this module printed."""
    lines = text.splitlines()
    return [json.loads(line[len(_RESULT) :]) for line in lines if line.startswith(_RESULT)]


if __name__ == "__main__":
    sys.exit(main())
