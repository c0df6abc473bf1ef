"""OpSpec -> the JSON that msopgen reads, and running the real msopgen on it.

msopgen writes attr defaults into C++ as they stand, so every default here is a piece of C++: that
is what makes ``[1, 2]``, quotes in a string and dtype defaults come out right.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msopgen_wrap.cann_discovery import CannTree
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.platforms import soc_targets
from msopgen_wrap.spec.model import Attr, OpSpec, TensorParam

_ATTR_TO_MSOPGEN = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "str": "string",
    "list_int": "list_int",
    "list_float": "list_float",
    # msopgen knows "type" and writes .Type(...), which OpAttrDef does not have; the
    # number of the ge::DataType travels instead, here and in op_host.
    "dtype": "int",
}


def msopgen_entry(spec: OpSpec) -> dict[str, Any]:
    """Return msopgen's description of one op."""
    return {
        "op": spec.op,
        "input_desc": [_tensor(p) for p in spec.inputs],
        "output_desc": [_tensor(p) for p in spec.outputs],
        "attr": [_attr(a) for a in spec.attrs],
    }


def msopgen_json(specs: Sequence[OpSpec]) -> str:
    """Return the JSON text for ``msopgen gen -i`` (a list, one entry per op)."""
    return json.dumps([msopgen_entry(s) for s in specs], indent=2, ensure_ascii=False) + "\n"


def cpp_default(attr: Attr) -> str:
    """Return the default of an optional attr as a C++ initialiser.

    Raises:
        ValueError: the attr is required and so has none.
    """
    if attr.required:
        raise ValueError(f"attr {attr.name} is required and has no default")
    return _cpp_value(attr.type, attr.default)


def _cpp_value(kind: str, value: Any) -> str:
    if kind == "bool":
        return "true" if value else "false"
    if kind == "int":
        return str(int(value))
    if kind == "float":
        return _cpp_float(float(value))
    if kind == "str":
        return _cpp_escape(str(value))
    if kind == "dtype":
        return str(BY_NAME[str(value)].ge)
    if kind == "list_int":
        return "{" + ",".join(str(int(v)) for v in value) + "}"
    if kind == "list_float":
        return "{" + ",".join(_cpp_float(float(v)) for v in value) + "}"
    raise ValueError(f"unknown attr type {kind!r}")


def _cpp_float(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError("msopgen cannot carry inf or nan as an attr default")
    text = repr(value)
    return text if any(c in text for c in ".e") else text + ".0"


def _cpp_escape(text: str) -> str:
    """Escape for the inside of a C++ string literal; msopgen adds the quotes and no escapes."""
    out = []
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif char == "\n":
            out.append("\\n")
        elif char == "\t":
            out.append("\\t")
        else:
            out.append(char)
    return "".join(out)


def _tensor(param: TensorParam) -> dict[str, Any]:
    # msopgen counts formats and types separately and fails with error 112 when they differ.
    return {
        "name": param.name,
        "param_type": param.kind.value,
        "format": ["ND"] * len(param.dtypes),
        "type": [BY_NAME[d].msopgen for d in param.dtypes],
    }


def _attr(attr: Attr) -> dict[str, Any]:
    entry = {
        "name": attr.name,
        "param_type": "required" if attr.required else "optional",
        "type": _ATTR_TO_MSOPGEN[attr.type],
    }
    if not attr.required:
        entry["default_value"] = cpp_default(attr)
    return entry


@dataclass(frozen=True)
class MsopgenRun:
    """Result of running msopgen: exit code, its log and the first error line in it."""

    returncode: int
    log: str
    command: tuple[str, ...]

    @property
    def first_error(self) -> str:
        """The first line msopgen marks as an error, without time and process id."""
        for line in self.log.splitlines():
            if "[ERROR]" in line:
                return line.split("[ERROR]", 1)[1].strip()
        lines = [line for line in self.log.splitlines() if line.strip()]
        return lines[-1].strip() if lines and self.returncode else ""

    @property
    def warnings(self) -> list[str]:
        """Lines msopgen marks as warnings."""
        return [
            line.split("[WARNING]", 1)[1].strip()
            for line in self.log.splitlines()
            if "[WARNING]" in line
        ]


def run_msopgen(
    tree: CannTree,
    ops: Sequence[tuple[str, str]],
    soc: Sequence[str],
    out: Path,
    framework: str = "onnx",
) -> MsopgenRun:
    """Run the msopgen of ``tree``, writing a project to ``out`` (created, empty).

    Args:
        ops: name in snake_case and JSON text of each op, a list with one entry.
        soc: SoC families or exact names.

    msopgen adds ops to an existing project one at a time (``-m 1``), so it runs once per op; the
    log is the concatenation. It stops at the first op that fails.

    Raises:
        OpgenError: OPG602, the tree has no msopgen.
    """
    if tree.msopgen is None or tree.site_packages is None:
        raise OpgenError(
            Diagnostic(
                "OPG602",
                f"{tree.root} has no msopgen",
                Location(str(tree.root)),
                "looked for python/site-packages/bin/msopgen",
                "install the CANN toolkit package (Ascend-cann-toolkit), not only the runtime",
            )
        )
    units = ",".join(t.msopgen for t in soc_targets(list(soc)))
    env = dict(os.environ)
    # msopgen looks for its templates below the install it belongs to, which in a combined tree is
    # not the root.
    home = next(
        (p for p in tree.site_packages.parents if (p / "tools/op_project_templates").is_dir()),
        tree.root,
    )
    env.update(
        ASCEND_HOME_PATH=str(home),
        ASCEND_TOOLKIT_HOME=str(home),
        ASCEND_OPP_PATH=str(home / "opp"),
        PYTHONPATH=str(tree.site_packages),
        # The tree may be read-only or shared; leave no bytecode in it.
        PYTHONDONTWRITEBYTECODE="1",
    )
    logs: list[str] = []
    code = 0
    command: list[str] = []
    with tempfile.TemporaryDirectory(prefix="opgen_msopgen_") as tmp:
        for index, (name, text) in enumerate(ops):
            # msopgen refuses input that is not owned by the caller or writable by others.
            source = Path(tmp) / f"{name}.json"
            source.write_text(text, encoding="utf-8")
            source.chmod(0o600)
            command = [sys.executable, str(tree.msopgen), "gen", "-i", str(source)]
            command += ["-f", framework, "-c", units, "-lan", "cpp"]
            command += ["-m", "0" if index == 0 else "1", "-out", str(out)]
            done = subprocess.run(
                command,
                env=env,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
                errors="replace",
                timeout=120,
                check=False,
            )
            logs.append(done.stdout)
            code = done.returncode
            if code == 0 and "[ERROR]" in done.stdout:
                code = 1
            if code:
                break
    return MsopgenRun(code, "".join(logs), tuple(command))


def patch_presets(text: str, vendor: str, units: Sequence[str], cann: str | None = None) -> str:
    """Return msopgen's ``CMakePresets.json`` with vendor and compute units set right.

    msopgen leaves several ``-c`` values unmapped (``ascend910b1;ascend310p3``, not the compute
    units) and the vendor at ``customize``.
    """
    presets = json.loads(text)
    for preset in presets["configurePresets"]:
        cache = preset.get("cacheVariables", {})
        for key, value in (
            ("ASCEND_COMPUTE_UNIT", ";".join(units)),
            ("vendor_name", vendor),
            ("ASCEND_CANN_PACKAGE_PATH", cann),
        ):
            if key in cache and value is not None:
                cache[key]["value"] = value
    return json.dumps(presets, indent=4) + "\n"
