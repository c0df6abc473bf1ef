"""The parts below torch_npu: symbols, version check, selection, the C runtime by ctypes."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from msopgen_wrap.build.emulation_library import include_dirs
from msopgen_wrap.build.shared_object import read_symbols
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.npu import runtime_build, selection


@pytest.fixture(scope="session")
def runtime():
    """The generic flavour, built once."""
    return runtime_build.build_runtime()


def compile_shared(tmp_path: Path, name: str, source: str, *flags: str) -> Path:
    """Compile C++ text to a shared object."""
    cpp, out = tmp_path / f"{name}.cpp", tmp_path / f"{name}.so"
    cpp.write_text(source)
    subprocess.run(["g++", "-shared", "-fPIC", str(cpp), "-o", str(out), *flags], check=True)
    return out


def test_read_symbols(tmp_path):
    source = 'extern "C" { void offered() {} int wanted(); int call() { return wanted(); } }'
    path = compile_shared(tmp_path, "lib", source, "-Wl,-soname,libx.so.1")
    symbols = read_symbols(path)
    assert {"offered", "call"} <= symbols.defined and symbols.undefined == {"wanted"}
    assert symbols.soname == "libx.so.1"
    other = tmp_path / "text.so"
    other.write_text("no ELF" * 20)
    with pytest.raises(ValueError, match="not a 64-bit"):
        read_symbols(other)


def fake_wheel(tmp_path: Path, wants: str) -> runtime_build.TorchNpuWheel:
    """A torch_npu whose one library wants some functions."""
    torch, npu = tmp_path / "torch", tmp_path / "torch_npu"
    for folder in (torch / "lib", npu / "lib", npu / "include"):
        folder.mkdir(parents=True)
    calls = "".join(f"int {name}();" for name in wants.split())
    body = "+".join(f"{name}()" for name in wants.split())
    library = compile_shared(
        tmp_path, "w", f'extern "C" {{ {calls} int all() {{ return {body}; }} }}'
    )
    library.rename(npu / "lib" / "libtorch_npu.so")
    return runtime_build.TorchNpuWheel(npu, "9.9.9", torch)


def test_unknown_function_refuses_the_wheel_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "cache"))
    wheel = fake_wheel(tmp_path, "aclInit rtKernelLaunch aclrtBrandNew HcclBrandNew")
    with pytest.raises(OpgenError) as caught:
        runtime_build.build_runtime(wheel)
    (problem,) = caught.value.diagnostics
    assert problem.code == "OPG701" and "9.9.9" in problem.what
    assert "aclrtBrandNew (wanted by libtorch_npu.so)" in problem.what
    assert "HcclBrandNew" in problem.what
    assert "aclInit" not in problem.what and "rtKernelLaunch" not in problem.what


def test_other_torch_version_is_named(tmp_path):
    wheel = fake_wheel(tmp_path, "aclInit _ZN3c1010NewThingEv")
    wanted = runtime_build.wanted_from_cann(wheel)
    assert set(wanted) == {"aclInit", "_ZN3c1010NewThingEv"}
    with pytest.raises(OpgenError) as caught:
        runtime_build.check_symbols(wheel, wanted, frozenset({"aclInit"}))
    assert caught.value.diagnostics[0].code == "OPG702"


def test_known_stubs_are_not_implemented_as_well(runtime):
    offered = read_symbols(runtime.folder / "libascendcl.so").defined
    assert not offered & runtime_build.known_stubs()


def test_soc_table_has_every_row():
    text = "soc,ai_core_cnt,cube_core_cnt,vector_core_cnt,ai_cpu_cnt,ub_size,l2_size,memory_size\n"
    text += "A,1,2,3,4,5,6,7\nAscend910B3,1,1,1,1,1,1,\n"
    rows = runtime_build.soc_table(text).splitlines()
    assert rows[0].strip().startswith('{"Ascend910B3"'), "the default comes first"
    assert rows[1].strip() == '{"A", 1, 2, 3, 4, 5, 6, 7ULL, 0},'


@pytest.mark.parametrize(
    ("wish", "home", "kind"),
    [
        ("", False, "emulation"),
        ("auto", False, "emulation"),
        ("auto", True, "real"),
        ("emulation", True, "emulation"),
        ("real", False, "real"),
    ],
)
def test_selection(tmp_path, monkeypatch, wish, home, kind):
    monkeypatch.setattr(selection, "_loader_cache", lambda: [])
    monkeypatch.delenv("ASCEND_TOOLKIT_HOME", raising=False)
    monkeypatch.setenv("LD_LIBRARY_PATH", "")
    monkeypatch.setenv("OPGEN_NPU", wish)
    if home:
        (tmp_path / "lib64").mkdir()
        built = compile_shared(tmp_path, "real", 'extern "C" int aclInit() { return 0; }')
        built.rename(tmp_path / "lib64" / "libascendcl.so")
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    choice = selection.choose()
    assert choice.kind == kind and choice.reason


def test_own_library_is_not_taken_for_a_real_one(runtime, monkeypatch):
    monkeypatch.setattr(selection, "_loader_cache", lambda: [])
    monkeypatch.delenv("ASCEND_HOME_PATH", raising=False)
    monkeypatch.delenv("ASCEND_TOOLKIT_HOME", raising=False)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(runtime.folder))
    monkeypatch.setenv("OPGEN_NPU", "auto")
    assert selection.choose().emulated


PROGRAM = r"""
#include <cstdio>
#include <cstring>
#include "acl/acl.h"
#define CHECK(x) do { int c = (x); if (c != 0) { \
    std::printf("%s -> %d %s\n", #x, c, aclGetRecentErrMsg()); return 1; } } while (0)
static int hits = 0;
static void OnHost(void* p) { hits += *static_cast<int*>(p); }
int main() {
    CHECK(aclInit(nullptr));
    int32_t device = -1;
    if (aclrtGetDevice(&device) != ACL_ERROR_RT_CONTEXT_NULL) return 2;
    CHECK(aclrtSetDevice(0));
    aclrtStream stream; aclrtEvent a, b;
    CHECK(aclrtCreateStream(&stream));
    CHECK(aclrtCreateEvent(&a)); CHECK(aclrtCreateEvent(&b));
    char host[64], back[64]; void* dev = nullptr;
    std::memset(host, 7, 64);
    CHECK(aclrtMalloc(&dev, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtRecordEvent(a, stream));
    CHECK(aclrtMemcpyAsync(dev, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    CHECK(aclrtMemset(dev, 64, 1, 32));
    CHECK(aclrtRecordEvent(b, stream));
    CHECK(aclrtMemcpy(back, 64, dev, 64, ACL_MEMCPY_DEVICE_TO_HOST));
    int one = 1; CHECK(aclrtLaunchHostFunc(stream, OnHost, &one));
    CHECK(aclrtSynchronizeStream(stream));
    float ms = -1; CHECK(aclrtEventElapsedTime(&ms, a, b));
    if (back[0] != 1 || back[63] != 7 || hits != 1 || ms < 0) return 3;
    if (aclrtMemcpy(back, 64, dev, 65, ACL_MEMCPY_DEVICE_TO_HOST) == 0) return 4;
    aclGetRecentErrMsg();
    for (int bits = 0; bits < 65536; ++bits) {
        if ((bits & 0x7C00) == 0x7C00 && (bits & 0x3FF) != 0) continue;  // nan
        if (aclFloatToFloat16(aclFloat16ToFloat(bits)) != bits) return 5;
    }
    if (aclFloatToFloat16(65520.0F) != 0x7C00 || aclFloatToFloat16(65519.0F) != 0x7BFF) return 6;
    char runtime[] = "runtime", text[ACL_PKG_VERSION_MAX_SIZE]; int32_t number = 0;
    aclCANNPackageVersion package;
    CHECK(aclsysGetVersionNum(runtime, &number)); CHECK(aclsysGetVersionStr(runtime, text));
    CHECK(aclsysGetCANNVersion(ACL_PKG_NAME_CANN, &package));
    if (number != 90000000 || std::strcmp(text, package.version) != 0) return 8;
    if (std::strcmp(package.majorVersion, "9") != 0) return 9;
    if (aclsysGetVersionNum(nullptr, &number) == 0) return 10;
    CHECK(aclrtFree(dev));
    if (aclrtFree(dev) == 0) return 7;
    CHECK(aclrtDestroyEvent(a)); CHECK(aclrtDestroyEvent(b));
    CHECK(aclrtDestroyStream(stream)); CHECK(aclrtResetDevice(0)); CHECK(aclFinalize());
    std::printf("%s ok\n", aclrtGetSocName());
    return 0;
}
"""


def test_acl_program(runtime, tmp_path):
    source, program = tmp_path / "program.cpp", tmp_path / "program"
    source.write_text(PROGRAM)
    includes = [f"-I{folder}" for folder in include_dirs()]
    command = ["g++", "-std=c++17", *includes, str(source), "-o", str(program)]
    subprocess.run([*command, f"-L{runtime.folder}", "-lascendcl"], check=True)
    env = dict(os.environ, LD_LIBRARY_PATH=runtime_build.library_path(runtime, ""))
    env |= {"OPGEN_SOC": "ascend310p3"}
    done = subprocess.run([str(program)], capture_output=True, text=True, env=env)
    assert done.returncode == 0, f"{done.returncode}: {done.stdout}"
    assert done.stdout.startswith("Ascend310P3 ok")


def test_unknown_soc_is_refused(runtime):
    code = (
        f"import ctypes; l = ctypes.CDLL({str(runtime.folder / 'libascendcl.so')!r});"
        "l.aclGetRecentErrMsg.restype = ctypes.c_char_p;"
        "print(l.aclInit(None), l.aclGetRecentErrMsg().decode())"
    )
    env = dict(os.environ, OPGEN_SOC="ascend999")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.stdout.startswith("100000 OPGEN_SOC=ascend999 is not a SoC")


def test_virtual_memory(runtime):
    library = ctypes.CDLL(str(runtime.folder / "libascendcl.so"))
    size = ctypes.c_size_t(4 << 20)
    address, handle = ctypes.c_void_p(), ctypes.c_void_p()

    class Prop(ctypes.Structure):
        _fields_ = [
            ("handle_type", ctypes.c_int),
            ("allocation", ctypes.c_int),
            ("attr", ctypes.c_int),
            ("id", ctypes.c_uint32),
            ("kind", ctypes.c_int),
            ("reserve", ctypes.c_uint64),
        ]

    prop = Prop(0, 0, 4, 0, 1, 0)
    library.aclrtSetDevice(0)
    zero, null = ctypes.c_uint64(0), ctypes.c_void_p(None)
    none = ctypes.c_size_t(0)
    assert library.aclrtReserveMemAddress(ctypes.byref(address), size, none, null, zero) == 0
    assert address.value % (2 << 20) == 0
    assert library.aclrtMallocPhysical(ctypes.byref(handle), size, ctypes.byref(prop), zero) == 0
    assert library.aclrtMapMem(address, size, none, handle, zero) == 0
    assert library.aclrtMemset(address, size, 5, size) == 0
    assert ctypes.string_at(address.value + size.value - 1, 1) == b"\x05"
    assert library.aclrtUnmapMem(address) == 0
    assert library.aclrtFreePhysical(handle) == 0
    assert library.aclrtReleaseMemAddress(address) == 0
    assert library.aclrtReleaseMemAddress(address) != 0


def test_memory_of_several_processes(runtime):
    code = f"""
import ctypes, sys
l = ctypes.CDLL({str(runtime.folder / "libascendcl.so")!r})
l.aclGetRecentErrMsg.restype = ctypes.c_char_p
l.aclrtSetDevice(0)
address, key = ctypes.c_void_p(), sys.argv[1].encode()
zero = ctypes.c_uint64(0)
status = l.aclrtIpcMemImportByKey(ctypes.byref(address), key, zero)
if status != 0:
    sys.exit(l.aclGetRecentErrMsg().decode())
data = (ctypes.c_ubyte * (1 << 20)).from_address(address.value)
print(data[7], data[(1 << 20) - 1])
data[8] = 9
assert l.aclrtFree(address) != 0
print(l.aclrtIpcMemClose(key))
"""
    library = ctypes.CDLL(str(runtime.folder / "libascendcl.so"))
    library.aclrtSetDevice(0)
    size, zero = ctypes.c_size_t(1 << 20), ctypes.c_uint64(0)
    key, length = ctypes.create_string_buffer(65), ctypes.c_size_t(65)
    small, large = ctypes.c_void_p(), ctypes.c_void_p()
    assert library.aclrtMalloc(ctypes.byref(small), ctypes.c_size_t(512), 0) == 0
    half = ctypes.c_size_t(256)
    assert library.aclrtIpcMemGetExportKey(small, half, key, length, zero) == 207000
    assert library.aclrtMalloc(ctypes.byref(large), size, 0) == 0
    data = (ctypes.c_ubyte * size.value).from_address(large.value)
    data[7], data[size.value - 1] = 5, 6
    assert library.aclrtIpcMemGetExportKey(large, size, key, length, zero) == 0
    first = key.value.decode()
    assert library.aclrtIpcMemGetExportKey(large, size, key, length, zero) == 0
    assert key.value.decode() == first  # shared once

    def imported() -> subprocess.CompletedProcess:
        command = [sys.executable, "-c", code, first]
        return subprocess.run(command, capture_output=True, text=True)

    done = imported()
    assert done.stdout.split() == ["5", "6", "0"], done.stderr
    assert data[8] == 9 and data[7] == 5
    assert library.aclrtFree(large) == 0
    done = imported()
    assert done.returncode == 1 and "has ended or has freed it" in done.stderr
    assert library.aclrtFree(small) == 0


ACTIVATED = [
    ("nothing", {}, "ours"),
    ("virtual environment", {"VIRTUAL_ENV": "{other}"}, "other"),
    ("conda", {"CONDA_PREFIX": "{other}"}, "other"),
    ("environment without a Python", {"VIRTUAL_ENV": "{tmp}/gone"}, "ours"),
]


@pytest.mark.parametrize(("variables", "python"), [a[1:] for a in ACTIVATED], ids=str)
@pytest.mark.parametrize("command", [["python"], ["python3"], ["sh", "-c", "python $1 $2", "sh"]])
def test_exec_takes_the_python_of_the_environment(tmp_path, variables, python, command):
    """Outside an activated environment: the one that opgen runs under, also for scripts."""
    other = tmp_path / "other/bin"
    other.mkdir(parents=True)
    out = tmp_path / "out"
    for name in ("python", "python3"):
        (other / name).write_text(f"#!/bin/sh\necho other > {out}\n")
        (other / name).chmod(0o755)
    environment = {"PATH": f"{other}{os.pathsep}/usr/bin{os.pathsep}/bin"}
    for name, value in variables.items():
        environment[name] = value.format(other=other.parent, tmp=tmp_path)
    code = f"open({str(out)!r},'w').write('ours')"
    ours = Path(sys.executable).parent / "python"
    if command[0] == "sh" and not ours.exists():
        pytest.skip("this Python has no such name")
    assert selection.run([*command, "-c", code], environment) == 0
    assert out.read_text().strip() == python


def test_a_program_that_is_not_there_has_a_code(tmp_path):
    with pytest.raises(OpgenError, match="OPG707"):
        selection.run([str(tmp_path / "none")], {})
