"""From a spec to an installed package whose aclnn functions run the emulated kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from msopgen_wrap.cli.app import run as opgen

pytestmark = pytest.mark.slow

SPEC = """
op: TwiceAdd
doc: factor * x + y
inputs:
  x: {dtype: [float32]}
  y: {dtype: x}
outputs:
  z: {dtype: x, shape: "broadcast(x, y)"}
attrs:
  factor: %s
compute: factor * x + y
"""

# Runs in a process of its own, without the kit and without its cache: what a user of the package
# has. Loads one vendor's library after the other and calls the op of each in two phases.
CALL = """
import ctypes, struct, sys
lib_paths = sys.argv[1:]
for path in lib_paths:
    lib = ctypes.CDLL(path)
    lib.aclCreateTensor.restype = ctypes.c_void_p
    n = 1001
    def tensor(values):
        buffer = (ctypes.c_float * n)(*values)
        dims, strides = (ctypes.c_int64 * 1)(n), (ctypes.c_int64 * 1)(1)
        handle = lib.aclCreateTensor(
            dims, ctypes.c_uint64(1), 0, strides, ctypes.c_int64(0), 2, dims, ctypes.c_uint64(1),
            ctypes.cast(buffer, ctypes.c_void_p))
        return buffer, ctypes.c_void_p(handle)
    x, hx = tensor([float(i) for i in range(n)])
    y, hy = tensor([0.5] * n)
    z, hz = tensor([-1.0] * n)
    size, executor = ctypes.c_uint64(99), ctypes.c_void_p()
    f = lib.aclnnTwiceAddGetWorkspaceSize
    code = f(hx, hy, ctypes.c_double(3.0), hz, ctypes.byref(size),
             ctypes.byref(executor))
    assert code == 0, code
    space = ctypes.create_string_buffer(max(1, size.value))
    code = lib.aclnnTwiceAdd(space, size, executor, None)
    assert code == 0, code
    assert list(z) == [3.0 * i + 0.5 for i in range(n)], list(z)[:4]
    print("ran", path)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Two vendors with an op of the same name, installed side by side."""
    root = tmp_path_factory.mktemp("e2e")
    spec = root / "twice_add.yaml"
    libraries = []
    for vendor in ("first", "second"):
        spec.write_text(SPEC % "2.0")
        project = root / vendor
        assert opgen(["new", str(spec), "-o", str(project), "--vendor", vendor]) == 0
        assert opgen(["build", str(project), "--install", str(root / "opp")]) == 0
        libraries.append(root / "opp/vendors" / vendor / "op_api/lib/libcust_opapi.so")
    return root, libraries


def test_packages_run_without_kit_and_cache(installed, tmp_path):
    _, libraries = installed
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "OPGEN_CACHE_DIR": "/nonexistent"}
    for order in (libraries[:1], libraries, libraries[::-1]):
        done = subprocess.run(
            [sys.executable, "-I", "-c", textwrap.dedent(CALL), *map(str, order)],
            env=env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("ran") == len(order)


def test_packages_name_no_folder_of_the_builder(installed):
    root, _ = installed
    wanted = [str(root).encode(), str(os.path.expanduser("~/.cache")).encode()]
    for path in (root / "opp").rglob("*"):
        if path.is_file() and path.name != "set_env.bash":
            data = path.read_bytes()
            assert not [w for w in wanted if w in data], path


def test_doctor_is_content_with_them(installed):
    _, libraries = installed
    vendors = [str(lib.parent.parent.parent) for lib in libraries]
    from msopgen_wrap.cann.doctor import check_vendors

    findings = check_vendors({"ASCEND_CUSTOM_OPP_PATH": ":".join(vendors)})
    assert [f.status for f in findings if f.name.startswith("vendor")] == ["ok", "ok"]
    (double,) = [f for f in findings if f.name == "op TwiceAdd"]
    assert double.status == "warning"
