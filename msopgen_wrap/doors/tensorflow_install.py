"""The TensorFlow that ops are built for: which it is, and how a library is compiled against it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError

#: The oldest that the generated C++ is written for; tried: 2.21.
OLDEST = (2, 16)

# Runs in the Python that has TensorFlow; its last line is the answer.
_QUESTION = """
import json, sys
try:
    import tensorflow as tf
except ImportError as error:
    print(json.dumps({"missing": error.name == "tensorflow", "error": str(error)}))
    sys.exit(0)
from tensorflow.python.framework import op_def_registry
print(json.dumps({
    "version": tf.__version__,
    "compile": tf.sysconfig.get_compile_flags(),
    "link": tf.sysconfig.get_link_flags(),
    "taken": [name for name in sys.argv[1:] if op_def_registry.get(name) is not None],
}))
"""


@dataclass(frozen=True)
class TensorFlow:
    """An installed TensorFlow.

    Attributes:
        python: the interpreter that has it.
        version: ``tf.__version__``.
        compile_flags, link_flags: what ``tf.sysconfig`` says; headers count as the system's, since
            warnings in them are not ours.
        taken: those of the asked names that are ops of TensorFlow itself.
    """

    python: str
    version: str
    compile_flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    taken: frozenset[str]


def find_tensorflow(python: Path | None = None, names: Sequence[str] = ()) -> TensorFlow:
    """Return the TensorFlow of a Python.

    Args:
        python: the interpreter; None: the one that runs.
        names: op types to look up among TensorFlow's own ops.

    Raises:
        OpgenError: OPG550 (there is none), OPG551 (it cannot be used).
    """
    program = str(python or sys.executable)
    try:
        done = subprocess.run(
            [program, "-c", _QUESTION, *names],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise _unusable(program, f"{program} cannot be started: {error.strerror}") from error
    lines = done.stdout.strip().splitlines()
    try:
        answer = json.loads(lines[-1])
    except (IndexError, ValueError):
        last = next((t for t in reversed(done.stderr.strip().splitlines()) if t.strip()), "")
        raise _unusable(
            program, f"TensorFlow fails to start: {last or f'exit code {done.returncode}'}"
        ) from None
    if answer.get("missing"):
        raise OpgenError(
            Diagnostic(
                "OPG550",
                "there is no TensorFlow",
                Location(program),
                "its headers are compiled against, and its version decides what the library fits",
                "pip install 'opgen[tensorflow]', or name another Python: --tensorflow PYTHON",
            )
        )
    if "error" in answer:
        raise _unusable(program, f"TensorFlow cannot be imported: {answer['error']}")
    version = str(answer["version"])
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers < OLDEST:
        raise _unusable(program, f"TensorFlow {version} is older than {'.'.join(map(str, OLDEST))}")
    flags: list[str] = []
    for flag in answer["compile"]:
        if flag.startswith("-I"):
            if not (Path(flag[2:]) / "tensorflow/core/framework/op_kernel.h").is_file():
                raise _unusable(program, f"TensorFlow {version} has no C++ headers in {flag[2:]}")
            flags += ["-isystem", flag[2:]]
        else:
            flags.append(flag)
    return TensorFlow(
        program, version, tuple(flags), tuple(answer["link"]), frozenset(answer["taken"])
    )


def _unusable(program: str, what: str) -> OpgenError:
    return OpgenError(
        Diagnostic(
            "OPG551",
            what,
            Location(program),
            "ops are compiled against the headers of the TensorFlow that will load them",
            "pip install --force-reinstall tensorflow-cpu in that Python, or name another one: "
            "--tensorflow PYTHON",
        )
    )
