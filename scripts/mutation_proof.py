#!/usr/bin/env python3
"""Prove the tests: break generated kernels one line at a time and count what notices.

    scripts/mutation_proof.py SPEC... [--limit 40] [-k PATTERN] [--budget SECONDS] [--json FILE]

Every mutant is one changed line of the op's kernel or of the building blocks it includes: a wait,
flag, barrier, EnQue or FreeTensor removed; a count, an offset, a stride, a loop bound, a mask or a
cast mode altered. It is compiled and run
through the case grid in check mode, in a process of its own. Outcomes:

    compiler    does not compile (no proof: left out of the score)
    same code   compiles to the same kernel: the line is not used by this op (left out as well)
    sanitizer   a finding of severity error
    accuracy    wrong numbers, or bytes the kernel did not write
    crash       the launch failed: trap, deadlock, time-out or a dead process
    SURVIVED    nothing noticed; the list at the end says what was changed, and why it lived:
        not reached   no case of the grid executes the line (proved with a trap in its place)
        still ordered a wait, flag or barrier without which all accesses remain ordered
        same bits     every case gives bit for bit the result of the unchanged kernel
        in tolerance  results differ, by less than the accuracy rule allows
        unknown       the line takes no trap

With auto-sync on, the sanitizer trusts the compiler to order vector instructions and the scalar
unit; a removed barrier between two of them then survives rightly. `--auto-sync off` (default)
demands them.
Exit status: 0 all mutants in lines that run were caught, 1 some survived, 2 an unchanged kernel
is not clean.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import select
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

Change = Callable[[str], Iterator[str]]


@dataclass
class Mutant:
    """One changed line and what became of it."""

    op: str
    file: str
    line: int
    kind: str
    before: str
    after: str
    outcome: str = ""
    detail: str = ""
    seconds: float = 0.0
    checks: list[str] = field(default_factory=list)
    reason: str = ""


def _remove(pattern: str) -> Change:
    """Delete a statement that stands on a line of its own."""
    found = re.compile(rf"^\s*[\w.:>-]*{pattern}.*;\s*(//.*)?$")

    def change(line: str) -> Iterator[str]:
        if found.match(line):
            yield re.match(r"\s*", line)[0] + "; // removed"  # type: ignore[index]

    return change


def _replace(pattern: str, *texts: str | Callable[[re.Match[str]], str]) -> Change:
    """Replace each match of the pattern, one at a time."""
    found = re.compile(pattern)

    def change(line: str) -> Iterator[str]:
        for match in found.finditer(line):
            for text in texts:
                new = text(match) if callable(text) else match.expand(text)
                if new != match[0]:
                    yield line[: match.start()] + new + line[match.end() :]

    return change


_VECTOR = (
    r"Add|Sub|Mul|Div|Max|Min|Adds|Muls|Maxs|Mins|Exp|Ln|Sqrt|Rsqrt|Abs|Relu|Reciprocal|Cast|And|Or|"
    r"Not|Duplicate|Compare|Compares|CompareScalar|Select|ReduceSum|ReduceMax|ReduceMin|Axpy|DataCopy"
)
_MODES = {
    "CAST_NONE": "CAST_FLOOR",
    "CAST_RINT": "CAST_FLOOR",
    "CAST_ROUND": "CAST_TRUNC",
    "CAST_FLOOR": "CAST_CEIL",
    "CAST_CEIL": "CAST_FLOOR",
    "CAST_TRUNC": "CAST_CEIL",
}

#: kind -> how a line is altered
CHANGES: dict[str, Change] = {
    "wait removed": _remove(r"WaitFlag<[^;]*"),
    "flag removed": _remove(r"SetFlag<[^;]*"),
    "barrier removed": _remove(r"(PipeBarrier<|VectorBarrier\()[^;]*"),
    "core sync removed": _remove(r"(SyncAll|CrossCoreWaitFlag|IBWait)\b[^;]*"),
    "enqueue removed": _remove(r"EnQue\("),
    "free removed": _remove(r"FreeTensor\("),
    "atomic removed": _remove(r"SetAtomic(Add|Max|Min)<"),
    "cast mode": _replace(r"CAST_(?!ODD)[A-Z]+", lambda m: _MODES.get(m[0], m[0])),
    "count shortened": _replace(
        rf"\b((?:{_VECTOR})(?:<[^;()]*>)?\(.*,\s*)(\w+)(\);)", r"\1\2 - 8\3"
    ),
    "offset moved": _replace(r"((?:[gG][mM]|Global)\w*\[)([^\]]+)(\])", r"\1\2 + 1\3"),
    "tail cut": _replace(r"(blockLen\s*=\s*|\* sizeof\(\w+\))", lambda m: _cut_tail(m)),
    "length": _replace(r"\b(count|cols|rows) \* sizeof", r"(\1 - 1) * sizeof"),
    "stride": _replace(r"((?:src|dst)Stride\s*=\s*)([^;=]+);", r"\1(\2) + 1;"),
    "rounding": _replace(r"( \+ \w+) - 1\)", r"\1)", r")"),
    "loop bound": _replace(r"(for\s*\([^;]*;[^;<]*)<(?!=)([^;]*;)", r"\1<=\2", r"\1< -1 +\2"),
    "comparison": _replace(r"(if\s*\([^;]*)(>=|<=)([^;]*\))", lambda m: m[1] + m[2][0] + m[3]),
    "operation": _replace(
        r"\b(Add|Sub|Mul|Max|Min|Adds|Muls|Maxs|Mins)(?=[<(])",
        lambda m: (
            {"Add": "Sub", "Sub": "Add", "Mul": "Add", "Max": "Min", "Min": "Max"}[m[1][:3]]
            + m[1][3:]
        ),
    ),
    "mask": _replace(r"((?:mask|Mask)\w*\s*=\s*)([^;]+);", r"\1(\2) - 1;"),
    "constant": _replace(r"(?<![\w.])(\d+\.\d+)(f?)(?![\w.])", r"(\1\2 * 1.25\2)"),
}


def _cut_tail(match: re.Match[str]) -> str:
    return match[0] + "0 * " if "=" in match[0] else match[0] + " / 32 * 32"


def mutants(op: str, file: Path, root: Path, used: set[str] | None = None) -> list[Mutant]:
    """Return every change of a file; comments, includes and macros are skipped.

    used: names of the functions whose lines count; None: all lines.
    """
    found = []
    function = ""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if match := _FUNCTION.match(line):
            function = match[1]
        if line.lstrip().startswith(("//", "#", "*", "/*")):
            continue
        if used is not None and function not in used:
            continue
        code = line.split("//")[0].rstrip()
        for kind, change in CHANGES.items():
            for after in change(code):
                place = str(file.relative_to(root))
                found.append(Mutant(op, place, number, kind, code.strip(), after.strip()))
    return found


def sources(kernel: Path) -> list[Path]:
    """Return the kernel and the building blocks of the project that it includes."""
    found, todo = [], [kernel]
    while todo:
        file = todo.pop(0)
        if file in found or not file.is_file():
            continue
        found.append(file)
        names = re.findall(r'#include "(opgen/[^"]+)"', file.read_text(encoding="utf-8"))
        todo += [kernel.parent / name for name in names]
    return found


_FUNCTION = re.compile(r"^\s*(?:static )?__aicore__ inline [^(;]*?\b(\w+)\(")


def reachable(kernel: Path, files: list[Path]) -> set[str]:
    """Return the names of building-block functions that the kernel calls, directly or not."""
    bodies: dict[str, str] = {}
    for file in files:
        if file == kernel:
            continue
        name = ""
        for line in file.read_text(encoding="utf-8").splitlines():
            if match := _FUNCTION.match(line):
                name = match[1]
            bodies[name] = bodies.get(name, "") + line + "\n"
    used: set[str] = {""}
    todo = [kernel.read_text(encoding="utf-8")]
    while todo:
        words = set(re.findall(r"\w+", todo.pop()))
        fresh = {n for n in bodies if n in words} - used
        used |= fresh
        todo += [bodies[n].split("(", 1)[-1] for n in fresh]
    return used


def apply(mutant: Mutant, project: Path) -> None:
    """Change the line in the copy of the project."""
    file = project / mutant.file
    lines = file.read_text(encoding="utf-8").splitlines()
    lines[mutant.line - 1] = mutant.after
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def spread(items: list[Mutant]) -> list[Mutant]:
    """Order mutants so that every beginning has an even share of each kind, over all lines."""
    kinds: dict[str, list[Mutant]] = {}
    for item in items:
        kinds.setdefault(item.kind, []).append(item)
    chosen: list[Mutant] = []
    rank = 0
    while len(chosen) < len(items):
        for group in kinds.values():
            # Halving steps: first, middle, quarters ... of the group.
            order = sorted(range(len(group)), key=lambda i: bin(i)[:1:-1])
            if rank < len(order):
                chosen.append(group[order[rank]])
        rank += 1
    return chosen


class _FewCombos:
    """An op spec that seems to have its first dtype combinations only: fewer kernels to compile."""

    def __init__(self, spec: Any, combos: int):
        self._spec = spec
        self.combos = combos

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spec, name)


def judge(
    spec: Any, project: Path, options: argparse.Namespace, unchanged: list[str]
) -> dict[str, Any]:
    """Run the op's grid until something notices; runs in the child process.

    Most mutants fail with the first dtypes already, so the others are compiled only if not.
    unchanged: digests of the original kernels, to recognise changes without effect.
    """
    ran, done = 0, 0
    kernels: list[str] = []
    outputs: list[str] = []
    for combos in sorted({1, options.dtypes or spec.combos}):
        result = _judge_combos(spec, project, options, range(done, combos), unchanged)
        if result["outcome"] not in ("SURVIVED", "same code"):
            return result
        ran += result["cases"]
        kernels = result["kernels"]
        outputs += result["outputs"]
        done = combos
    outcome = result["outcome"] if ran or result["outcome"] == "same code" else "no case"
    return {"outcome": outcome, "detail": f"{ran} cases", "kernels": kernels, "outputs": outputs}


class _Recording:
    """A runtime that keeps a digest of what every launch wrote."""

    def __init__(self, runtime: Any):
        self._runtime = runtime
        self.digests: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    def run(
        self, op: str, inputs: list[Any], outputs: list[Any], *rest: Any, **options: Any
    ) -> Any:
        import torch

        result = self._runtime.run(op, inputs, outputs, *rest, **options)
        digest = hashlib.sha256()
        for output in outputs:
            for tensor in output if isinstance(output, (list, tuple)) else [output]:
                data = tensor.contiguous().reshape(-1).view(torch.uint8)
                digest.update(data.numpy().tobytes() if data.numel() else b"-")
        self.digests.append(digest.hexdigest()[:16])
        return result


def _judge_combos(
    spec: Any,
    project: Path,
    options: argparse.Namespace,
    combos: range,
    unchanged: list[str],
) -> dict[str, Any]:
    import ctypes

    from msopgen_wrap.build.emulation_library import load_emulation_library
    from msopgen_wrap.build.operators import build_operators
    from msopgen_wrap.diagnostics import OpgenError
    from msopgen_wrap.run.case_runner import run_case
    from msopgen_wrap.run.cases import case_grid
    from msopgen_wrap.run.findings import errors, parse
    from msopgen_wrap.run.op_runtime import OpRuntime
    from msopgen_wrap.run.worker import elements

    try:
        built = build_operators([_FewCombos(spec, combos.stop)], project)  # type: ignore[list-item]
    except OpgenError as error:
        first = error.diagnostics[0]
        own = first.code == "OPG303"  # the kernel's sources, not the compiler or the emulation
        return {"outcome": "compiler" if own else "broken", "detail": str(error)}
    paths = list(built.kernels[spec.op].values())
    kernels = [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
    if unchanged and kernels == unchanged[: len(kernels)]:
        return {"outcome": "same code", "cases": 0, "kernels": kernels, "outputs": []}
    runtime = _Recording(OpRuntime())
    runtime.load_host(built.host)
    for key, path in built.kernels[spec.op].items():
        runtime.register_kernel(spec.op, "", key, path, spec.name)
    library = load_emulation_library()
    library.opgen_sanitizer_json.restype = ctypes.c_char_p
    ran = 0
    for case in case_grid(spec):
        if elements(case.shapes) > options.largest or case.combo not in combos:
            continue
        result = run_case(spec, case, runtime, soc=options.soc, mode="check")
        if result.status == "not applicable":
            continue
        ran += 1
        label = f"{result.dtype} {result.label}"
        # A launch that failed hands over no findings, but the library still has them.
        bad = errors(parse(result.findings or library.opgen_sanitizer_json()))
        if result.status != "passed" and bad:
            return {
                "outcome": "sanitizer",
                "detail": f"{label}: line {bad[0].line}: {bad[0].what}",
                "checks": sorted({f.check for f in bad}),
            }
        if result.status == "crashed":
            return {"outcome": "crash", "detail": f"{label}: {result.reason}"}
        if result.status == "failed":
            return {"outcome": "accuracy", "detail": f"{label}: {result.reason}"}
    return {"outcome": "SURVIVED", "cases": ran, "kernels": kernels, "outputs": runtime.digests}


def isolated(work: Callable[[], dict[str, Any]], timeout: float) -> dict[str, Any]:
    """Run in a forked child: a mutant may corrupt memory, crash or never end."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        try:
            result = work()
        except BaseException as error:
            result = {"outcome": "crash", "detail": f"{type(error).__name__}: {error}"}
        os.write(write, json.dumps(result).encode())
        os._exit(0)
    os.close(write)
    data = b""
    end = time.monotonic() + timeout
    while True:
        ready, _, _ = select.select([read], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(read)
            return {"outcome": "crash", "detail": f"not done after {timeout:.0f} s"}
        part = os.read(read, 1 << 16)
        if not part:
            break
        data += part
    os.close(read)
    _, status = os.waitpid(child, 0)
    if not data:
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        return {"outcome": "crash", "detail": f"process died of signal {number}"}
    return json.loads(data)


def render(specs: list[Any], target: Path) -> None:
    """Write op_host and op_kernel of the specs."""
    from msopgen_wrap.project.tree import ProjectOptions, render_project

    options = ProjectOptions(vendor="opgen", parts=("op_host", "op_kernel"))
    for file in render_project(specs, options):
        path = target / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")


def prove(spec: Any, options: argparse.Namespace, scratch: Path) -> list[Mutant]:
    """Run all mutants of one op."""
    original = scratch / spec.name
    render([spec], original)
    kernel = original / "op_kernel" / f"{spec.name}.cpp"

    patience = options.timeout

    def run(project: Path, unchanged: list[str]) -> dict[str, Any]:
        return isolated(lambda: judge(spec, project, options, unchanged), patience)

    started = time.monotonic()
    base = run(original, [])
    # A mutant that never ends must not use up the time of all others.
    patience = min(patience, max(30.0, 4 * (time.monotonic() - started)))
    if base["outcome"] != "SURVIVED":
        print(f"{spec.op}: the unchanged kernel is not clean: {base}", file=sys.stderr)
        sys.exit(2)
    files = sources(kernel)
    used = reachable(kernel, files)
    everything = mutants(spec.op, kernel, original)
    for file in files[1:]:
        everything += mutants(spec.op, file, original, used)
    if options.only:
        everything = [m for m in everything if re.search(options.only, f"{m.file} {m.kind}")]
    # Those that change nothing are quickly seen and do not count.
    limit = options.limit or len(everything)
    print(f"{spec.op}: {limit} of {len(everything)} mutants, {base['detail']} each", flush=True)

    def try_line(mutant: Mutant, line: str) -> dict[str, Any]:
        # In place: a kernel knows its file name, and the same code must compile to the same bytes.
        changed = original / mutant.file
        text = changed.read_text(encoding="utf-8")
        apply(replace(mutant, after=line), original)
        result = run(original, base["kernels"])
        changed.write_text(text, encoding="utf-8")
        return result

    done: list[Mutant] = []
    for number, mutant in enumerate(spread(everything), 1):
        if sum(m.outcome not in _IDLE for m in done) >= limit:
            break
        if time.monotonic() > options.deadline:
            print(f"  out of time after {len(done)} mutants of {spec.op}")
            break
        started = time.monotonic()
        result = try_line(mutant, mutant.after)
        done.append(mutant)
        if result["outcome"] == "broken":
            sys.exit(f"cannot go on: {result['detail']}")
        mutant.seconds = round(time.monotonic() - started, 2)
        mutant.outcome = result["outcome"]
        mutant.detail = result.get("detail", "")
        mutant.checks = result.get("checks", [])
        if mutant.outcome == "SURVIVED":
            mutant.reason = reason_to_survive(
                mutant, result["outputs"] == base["outputs"], try_line, base["outputs"]
            )
        names = f" [{', '.join(mutant.checks) or mutant.reason}]"
        names = "" if names == " []" else names
        print(
            f"  {number:3d} {mutant.file}:{mutant.line}: {mutant.kind}: {mutant.outcome}{names}",
            flush=True,
        )
    return done


_IDLE = ("compiler", "same code")
_SYNC_KINDS = ("barrier", "flag", "wait", "sync")


def reason_to_survive(
    mutant: Mutant,
    same_outputs: bool,
    try_line: Callable[[Mutant, str], dict[str, Any]],
    outputs: list[str],
) -> str:
    """Class of a mutant that nothing noticed; see the head of this file."""
    probe = try_line(mutant, f"__builtin_trap(); {mutant.before}")
    if probe["outcome"] in ("SURVIVED", "same code") and probe.get("outputs", outputs) == outputs:
        return "not reached"
    if probe["outcome"] == "compiler":
        return "same bits" if same_outputs else "unknown"
    if mutant.kind.split()[0] in _SYNC_KINDS or "sync" in mutant.kind:
        return "still ordered"
    return "same bits" if same_outputs else "in tolerance"


def report(done: list[Mutant]) -> int:
    """Print the score and the survivors; return how many survived."""
    real = [m for m in done if m.outcome not in _IDLE]
    outcomes = ["sanitizer", "accuracy", "crash", "SURVIVED"]
    for title, key in (("op", "op"), ("mutation", "kind")):
        print(f"\n| {title:20s} |" + "".join(f" {name:>9s} |" for name in outcomes))
        print("|---|" + "---:|" * len(outcomes))
        for value in sorted({getattr(m, key) for m in real}):
            counts = Counter(m.outcome for m in real if getattr(m, key) == value)
            print(f"| {value:20s} |" + "".join(f" {counts[name]:9d} |" for name in outcomes))
    left = [m for m in real if m.outcome == "SURVIVED"]
    executed = [m for m in left if m.reason != "not reached"]
    print(f"\n{len(real) - len(left)} of {len(real)} mutants caught", end="")
    print(f", {len(left) - len(executed)} of the others in lines that no case reaches", end="")
    print(f"; {len(done) - len(real)} did not compile or change the kernel")
    for why, count in sorted(Counter(m.reason for m in left).items()):
        print(f"  survived, {why}: {count}")
    for m in sorted(left, key=lambda m: (m.reason, m.op, m.file, m.line, m.kind, m.after)):
        print(f"\n  {m.reason}: {m.op} {m.file}:{m.line} ({m.kind})")
        print(f"    - {m.before}\n    + {m.after}")
    return len(executed)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("specs", nargs="+", type=Path, help="spec files")
    parser.add_argument("--limit", type=int, default=40, help="mutants per op, 0: all (default 40)")
    parser.add_argument(
        "--dtypes", type=int, default=0, help="dtype combinations to run, 0: all (default)"
    )
    parser.add_argument("--largest", type=int, default=1 << 20, help="elements of the largest case")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds per mutant")
    parser.add_argument(
        "-k", dest="only", help="only mutants whose 'file kind' matches this pattern"
    )
    parser.add_argument(
        "--budget", type=float, default=0.0, help="seconds for everything, 0: no limit (default)"
    )
    parser.add_argument("--soc", default="ascend910b3")
    parser.add_argument("--auto-sync", choices=["on", "off"], default="off")
    parser.add_argument("--json", type=Path, help="write all mutants to this file")
    options = parser.parse_args()
    options.deadline = time.monotonic() + options.budget if options.budget > 0 else float("inf")

    # Generated kernels cut their tails to size: rounding one up is a mutant to be caught.
    os.environ["OPGEN_CHECK"] = f"auto-sync={options.auto_sync},tail-write=error"
    os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    os.environ.setdefault("OPGEN_CXXFLAGS", "-O1")  # many compilations, short runs
    import torch

    torch.set_num_threads(1)  # children are forked: a thread pool would not survive that
    from msopgen_wrap.diagnostics import OpgenError
    from msopgen_wrap.diagnostics import render as show
    from msopgen_wrap.spec.loader import load_specs

    done: list[Mutant] = []
    try:
        with tempfile.TemporaryDirectory(prefix="opgen-mutants-") as scratch:
            for spec in load_specs(options.specs):
                done += prove(spec, options, Path(scratch))
    except OpgenError as error:
        for diagnostic in error.diagnostics:
            print(show(diagnostic), file=sys.stderr)
        return 2
    finally:
        if options.json:
            options.json.write_text(json.dumps([asdict(m) for m in done], indent=2))
    return 1 if report(done) else 0


if __name__ == "__main__":
    sys.exit(main())
