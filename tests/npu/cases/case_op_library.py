"""Every op of the library, from an installed package, on npu tensors against its golden reference.

Builds the package first, which takes minutes; OPGEN_NPU_LIBRARY selects ops by globs on file names
("custom_*,swi_glu").
"""

from __future__ import annotations

import fnmatch
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))
from custom_op_packages import opgen

from msopgen_wrap.resources import data_dir
from msopgen_wrap.run.accuracy import compare
from msopgen_wrap.run.case_runner import tolerance_of
from msopgen_wrap.run.cases import case_grid
from msopgen_wrap.run.golden import NotApplicable, make_inputs, reference
from msopgen_wrap.spec.loader import load_spec

pytestmark = pytest.mark.npu

PATTERNS = os.environ.get("OPGEN_NPU_LIBRARY", "*").split(",")
SPECS = [
    path
    for path in sorted(data_dir("op_specs").glob("*/*.yaml"))
    if any(fnmatch.fnmatch(path.stem, pattern) for pattern in PATTERNS)
]


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The whole selection as one installed package."""
    work = tmp_path_factory.mktemp("library")
    project, out, target = work / "project", work / "out", work / "opp"
    opgen("new", *map(str, SPECS), "-o", str(project), "--vendor", "oplib")
    opgen("build", str(project), "--target", "cpu", "-o", str(out))
    (archive,) = out.glob("*.run")
    subprocess.run(["sh", str(archive), "--quiet", f"--install-path={target}"], check=True)
    os.environ["ASCEND_CUSTOM_OPP_PATH"] = str(target / "vendors" / "oplib")
    sys.path.insert(0, str(project / "torch_ext"))
    yield importlib.import_module("oplib")
    del os.environ["ASCEND_CUSTOM_OPP_PATH"]


def to_npu(value, npu):
    """Move a tensor or a list of them; None stays."""
    if isinstance(value, (list, tuple)):
        return [to_npu(item, npu) for item in value]
    return value if value is None else value.clone().to(npu)


def call(op, given, attrs, spec):
    """Call the op; returns its outputs by name, in-place ones included."""
    arguments = [given[p.name] for p in spec.inputs]
    result = op(*arguments, *[attrs[a.name] for a in spec.attrs])
    results = list(result) if isinstance(result, (list, tuple)) else [result]
    written = [
        value
        for argument, value in zip(op._schema.arguments, arguments, strict=False)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    if result is None:
        results = []
    if len(spec.outputs) == 1 and isinstance(result, list):
        results = [results]
    found = written + [r for r in results if not any(r is w for w in written)]
    return dict(zip([p.name for p in spec.outputs], found, strict=True))


def leaves(value):
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_op_on_npu(npu, package, path):
    spec = load_spec(path)
    op = getattr(torch.ops.oplib, spec.name).default
    before, ran, seen = package.call_count(spec.name), 0, set()
    for case in case_grid(spec):
        key = (case.combo, case.values)
        if case.large or case.block_dim or len([k for k in seen if k[0] == key]) >= 4:
            continue
        seen.add((key, len(seen)))
        inputs = make_inputs(spec, case)
        try:
            want = reference(spec, case, inputs)
        except NotApplicable:
            continue
        attrs = {a.name: case.attrs.get(a.name, a.default) for a in spec.attrs}
        given = {name: to_npu(value, npu) for name, value in inputs.items()}
        outputs = call(op, given, attrs, spec)
        ran += 1
        for param in spec.outputs:
            for actual, golden, native in zip(
                leaves(outputs[param.name]),
                leaves(want.golden[param.name]),
                leaves(want.native[param.name]),
                strict=True,
            ):
                assert actual.device == npu
                accuracy = compare(
                    actual.cpu(),
                    golden,
                    native,
                    tolerance_of(spec, param, case.combo),
                    param.name in want.quantised,
                )
                assert accuracy.passed, f"{case.label(spec)}: {param.name}: {accuracy.reason}"
    assert ran > 0 and package.call_count(spec.name) == before + ran
    assert package.last_backend() == "emulated"


def _comparable(spec, case):
    """Whether results have no nan, which opcheck takes as different from itself."""
    if case.large or case.values != "normal":
        return False
    want = reference(spec, case, make_inputs(spec, case))
    values = [value for name in want.golden for value in leaves(want.golden[name])]
    return not any(value.isnan().any() for value in values if value.is_floating_point())


@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_opcheck_on_npu(npu, package, path):
    spec = load_spec(path)
    case = next(c for c in case_grid(spec) if _comparable(spec, c))
    given = {n: to_npu(v, npu) for n, v in make_inputs(spec, case).items()}
    arguments = [given[p.name] for p in spec.inputs]
    arguments += [case.attrs.get(a.name, a.default) for a in spec.attrs]
    torch.library.opcheck(
        getattr(torch.ops.oplib, spec.name).default,
        tuple(arguments),
        test_utils=("test_schema", "test_faketensor", "test_aot_dispatch_dynamic"),
    )
