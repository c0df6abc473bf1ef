"""A public AscendC example folder: one program, its data generator, its verifier.

The layout is that of asc-devkit's examples: ``*.asc``, ``CMakeLists.txt``, ``scripts/gen_data.py``,
``scripts/verify_result.py`` and a README whose shell block shows how they are called. Nothing of it
is copied anywhere but into a temporary folder.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msopgen_wrap.build.rewriting.kernel_sources import local_sources
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.foreign.program_runner import (
    ProgramOptions,
    ProgramResult,
    compile_program,
    run_program,
)
from msopgen_wrap.foreign.program_sources import folder_sources, taken_cmake

_ASSIGNMENTS = re.compile(r"^[ \t]*((?:[A-Z][A-Z0-9_]*=[\w.-]+[ \t]*)+)(?:#.*)?$", re.MULTILINE)
_ASSIGNMENT = re.compile(r"([A-Z][A-Z0-9_]*)=([\w.-]+)")
_PROGRAM = re.compile(r"^\s*\./demo([^#\n]*)", re.MULTILINE)
_OPTION = re.compile(r"-D([A-Z][A-Z0-9_]*)=(\S+?)(?=[;\s])")
_CACHE = re.compile(r'set\(\s*([A-Z][A-Z0-9_]*)\s+"?([\w.]+)"?\s+CACHE\s+STRING\s+"([^"]*)"')
_PASSED = re.compile(r"(?:-D|(?<![\w-]))([A-Z][A-Z0-9_]*)=\$\{\1\}")
_RANGE = re.compile(r"(\d+)\s*[-~]\s*(\d+)")
_PYTHON = re.compile(r"^\s*python3?\s+(\S*scripts/(\w+)\.py)([^#\n]*)", re.MULTILINE)
_SCRIPT = re.compile(r"\bpython3?\s+(?:\.\./)?([\w./-]+\.py)\b")
# Numbers a CMake file defines directly; of the branches of an if() that cannot be told the last,
# which is the one for a simulator, counts.
_LITERAL = re.compile(r"(?<![\w$-])(?:-D)?([A-Z][A-Z0-9_]*)=(\d+)(?![\w.])")
_DEFINITIONS = re.compile(r"(?:target_compile_definitions|add_definitions)\(([^)]*)\)")
# "Scenario 3 ...: only the 950 / dav-3510", the way READMEs mark what other parts cannot run.
_OTHER_ARCH = re.compile(
    r"场景\s*(\d+)[^\n]*?仅[^\n]*?(?:950|3510)[^\n]*?支持|场景\s*(\d+)[^\n]*?仅支持dav-3510"
)
_FAILURE_WORDS = re.compile(r"\b(fail(ed|ure)?|mismatch)\b", re.IGNORECASE)


@dataclass
class ExampleResult:
    """Outcome of one example (and scenario).

    Attributes:
        compiles, runs, matches, clean: None when it was not reached or cannot be told.
        detail: first line of what went wrong.
    """

    name: str
    scenario: str = ""
    compiles: bool | None = None
    runs: bool | None = None
    matches: bool | None = None
    clean: bool | None = None
    seconds: float = 0.0
    compile_seconds: float = 0.0
    detail: str = ""
    skipped: str = ""


@dataclass
class Example:
    """What the folder says about itself.

    Attributes:
        sources: those that are linked with the program.
        defines: macros set by its CMake cache variables.
        variable: the one that selects a scenario, with its values; empty when there is none.
        other_arch: scenarios that the README keeps for later architectures.
    """

    folder: Path
    program: Path
    readme: str
    sources: tuple[Path, ...] = ()
    defines: dict[str, str] = field(default_factory=dict)
    variable: str = ""
    scenarios: tuple[str, ...] = ()
    other_arch: frozenset[str] = frozenset()

    @property
    def arch_2201(self) -> bool:
        """Whether the README builds it for arch 2201."""
        return "dav-2201" in self.readme or "CMAKE_ASC_ARCHITECTURES" not in self.readme


def read_example(folder: Path) -> Example | None:
    """Describe the example in ``folder``; None when there is no single program in it."""
    programs = sorted(folder.glob("*.asc"))
    if not programs:
        return None
    main = [p for p in programs if re.search(r"\bmain\s*\(", _text(p))]
    sources = [] if main else folder_sources(folder)  # host and kernels in files of their own
    main = main or sources[:1] or programs
    readme = next(
        (_text(folder / n) for n in ("README_en.md", "README.md") if (folder / n).is_file()), ""
    )
    example = Example(folder, main[0], readme, sources=tuple(sources[1:]))
    _read_defines(example)
    chinese = _text(folder / "README.md")
    example.other_arch = frozenset(a or b for a, b in _OTHER_ARCH.findall(chinese))
    return example


def _read_defines(example: Example) -> None:
    """Fill in macros and scenarios from the example's CMakeLists.txt."""
    cmake = _text(example.folder / "CMakeLists.txt")
    defaults = {name: value for name, value, _ in _CACHE.findall(cmake)}
    labels = {name: label for name, _, label in _CACHE.findall(cmake)}
    shown = _assignments(example.readme)
    passed = set(_PASSED.findall(cmake))
    for name in ("ASC_ARCHITECTURES", "NPU_ARCH"):
        if re.search(rf"(?:-D|(?<![A-Z_])){name}=", cmake):
            example.defines[name] = "2201"
    for name in sorted(passed):
        if name.startswith("CMAKE_") or name not in passed:
            continue
        values = _allowed_values(name, cmake, labels.get(name, ""))
        example.defines[name] = defaults.get(name) or shown.get(name) or (values or ("1",))[0]
        if name.startswith("SCENARIO") and values:
            example.variable, example.scenarios = name, values
    chosen = [example.variable] if example.variable else []
    for group in _DEFINITIONS.findall(taken_cmake(example.folder, unknown=chosen)):
        for name, value in _LITERAL.findall(group):
            if name not in passed and name not in ("ASC_ARCHITECTURES", "NPU_ARCH"):
                example.defines[name] = value


def build_file_defines(program: Path) -> dict[str, str]:
    """Return the macros that the CMakeLists.txt beside ``program`` passes and its sources use.

    Cache variables have their default values, as in a build that sets none of them.
    """
    if program.suffix != ".asc" or not (program.parent / "CMakeLists.txt").is_file():
        return {}
    example = read_example(program.parent)
    if example is None or not example.defines:
        return {}
    text = "\n".join(local_sources(program.resolve(), ()).values())
    return {n: v for n, v in example.defines.items() if re.search(rf"\b{n}\b", text)}


def _allowed_values(name: str, cmake: str, label: str) -> tuple[str, ...]:
    """Values of a cache variable, from its description, a list of valid ones or a pattern."""
    if bounds := _RANGE.search(label):
        return tuple(str(i) for i in range(int(bounds[1]), int(bounds[2]) + 1))
    listed = re.search(rf"{name}\s+IN_LIST\s+(\w+)", cmake)
    if listed and (values := re.search(rf"set\(\s*{listed[1]}\s+([^)]*)\)", cmake)):
        return tuple(values[1].replace('"', "").replace(";", " ").split())
    if pattern := re.search(rf'{name}\s+MATCHES\s+"\^\[(\d)-(\d)\]\$"', cmake):
        return tuple(str(i) for i in range(int(pattern[1]), int(pattern[2]) + 1))
    return ()


def run_example(
    example: Example,
    scratch: Path,
    *,
    scenario: str = "",
    mode: str = "check",
    soc: str,
    timeout: float,
) -> ExampleResult:
    """Generate data, compile, run and verify in a copy of the example under ``scratch``."""
    result = ExampleResult(example.folder.name, scenario)
    result.skipped = _skip_reason(example, scenario)
    if result.skipped:
        return result
    variables = _shell_variables(example)
    if scenario and example.variable:
        variables[example.variable] = scenario
    defines = {**example.defines}
    defines.update({k: v for k, v in variables.items() if k in example.defines})
    copy = _fresh_copy(example, scratch)
    build = copy / "build"
    program = copy / example.program.name
    options = ProgramOptions(
        soc=soc,
        mode=mode,
        defines=tuple(f"{k}={v}" for k, v in sorted(defines.items())),
        sources=tuple(copy / s.relative_to(example.folder) for s in example.sources),
        timeout=timeout,
    )
    started = time.perf_counter()
    try:
        binary = compile_program(program, options)
    except OpgenError as error:
        result.compiles = False
        first = error.diagnostics[0]
        result.detail = f"{first.location}: {first.what} {first.why}"
        return result
    result.compiles = True
    result.compile_seconds = time.perf_counter() - started
    for command in _commands(example, "gen"):
        done = _python(command, variables, build, timeout)
        if done.returncode:
            result.detail = f"gen_data: {_last_line(done.stdout)}"
            return result
    started = time.perf_counter()
    call = _PROGRAM.search(example.readme)
    arguments = _expand(call[1], variables).split() if call else []
    if binary.suffix == ".so":
        arguments = _extension_script(example, copy)
    try:
        outcome = run_program(program, arguments, options, cwd=build)
    except OpgenError as error:
        # Nothing was started: the script, or a package it needs, is missing.
        result.detail = f"{error.diagnostics[0].what}"
        return result
    result.seconds = time.perf_counter() - started
    result.runs = outcome.reported and outcome.exit_code >= 0 and not outcome.failures
    if mode == "check":
        result.clean = outcome.reported and not outcome.errors
    if not result.runs:
        result.detail = f"exit code {outcome.exit_code}: {_last_line(outcome.output)}"
        return result
    verifiers = [_python(c, variables, build, timeout) for c in _commands(example, "verify")]
    _judge(result, outcome, verifiers)
    return result


def _skip_reason(example: Example, scenario: str) -> str:
    """Return why a scenario is not run, "" where it is."""
    if not example.arch_2201:
        return "not for arch 2201"
    return "this scenario is not for arch 2201" if scenario in example.other_arch else ""


def _judge(
    result: ExampleResult,
    outcome: ProgramResult,
    verifiers: Sequence[subprocess.CompletedProcess[str]],
) -> None:
    """Note what the program's exit code, its verifiers and its findings say."""
    result.matches = outcome.exit_code == 0
    for done in verifiers:
        if done.returncode or _FAILURE_WORDS.search(done.stdout):
            result.matches = False
            result.detail = f"verify: {_last_line(done.stdout)}"
    if not verifiers and _FAILURE_WORDS.search(outcome.output):
        result.matches = False
        result.detail = _last_line(outcome.output)
    if result.clean is False and not result.detail:
        finding = outcome.errors[0]
        result.detail = f"{finding.get('check', '')} at line {finding.get('line', '?')}"


def _fresh_copy(example: Example, scratch: Path) -> Path:
    """Copy the example to ``scratch``, with the folders that its scripts expect in ``build``."""
    copy = scratch / example.folder.name
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(example.folder, copy)
    for sub in ("input", "output"):
        (copy / "build" / sub).mkdir(parents=True, exist_ok=True)
    return copy


def _extension_script(example: Example, copy: Path) -> list[str]:
    """The Python script that loads an example's extension: the README's, else the only one."""
    names = [Path(n).name for n in _SCRIPT.findall(example.readme)]
    names += sorted(p.name for p in copy.glob("*.py"))
    found = next((copy / n for n in names if (copy / n).is_file()), None)
    return [str(found)] if found else []


def _assignments(readme: str) -> dict[str, str]:
    """NAME=VALUE of the lines that hold nothing else."""
    return {k: v for line in _ASSIGNMENTS.findall(readme) for k, v in _ASSIGNMENT.findall(line)}


def _shell_variables(example: Example) -> dict[str, str]:
    variables = dict(example.defines)
    variables.update(_assignments(example.readme))
    for name, value in _OPTION.findall(example.readme):
        if not name.startswith("CMAKE_") and "$" not in value and name not in variables:
            variables[name] = value
    return variables


def _commands(example: Example, prefix: str) -> list[tuple[str, str]]:
    """(script, arguments) of the README's calls; a script the README forgets is called plainly."""
    found: dict[str, tuple[str, str]] = {}
    for path, stem, arguments in _PYTHON.findall(example.readme):
        if stem.startswith(prefix) and stem not in found:
            found[stem] = (f"scripts/{Path(path).name}", arguments.strip())
    if not found and prefix == "gen" and (example.folder / "scripts" / "gen_data.py").is_file():
        return [("scripts/gen_data.py", "")]
    return list(found.values())


def _python(
    command: tuple[str, str], variables: dict[str, str], build: Path, timeout: float
) -> subprocess.CompletedProcess[str]:
    script, arguments = command
    arguments = _expand(arguments, variables)
    try:
        return subprocess.run(
            [sys.executable, f"../{script}", *arguments.split()],
            cwd=build,
            text=True,
            errors="replace",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess([script], 124, f"no end after {timeout:g} s")


def _expand(text: str, variables: dict[str, str]) -> str:
    for name, value in sorted(variables.items(), key=lambda item: -len(item[0])):
        text = text.replace(f"${{{name}}}", value).replace(f"${name}", value)
    return text


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
