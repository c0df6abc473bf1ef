"""The library's own declaration of ONNX Runtime's interface: warnings, and runtimes it refuses."""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path

import pytest

from msopgen_wrap.build.toolchain import find_toolchain, run_compiler
from msopgen_wrap.doors.onnxruntime import SOURCES
from msopgen_wrap.resources import data_dir

from .test_core import compiles, sources, specs


def door_sources(folder: Path) -> Path:
    """Write what a library is compiled from; return its source."""
    sources(specs(), folder)
    for name in SOURCES:
        shutil.copyfile(data_dir("templates") / "doors" / "onnxruntime" / name, folder / name)
    return folder / "register_ops.cpp"


@pytest.mark.parametrize("family", ["clang", pytest.param("gcc", marks=pytest.mark.slow)])
def test_compiles_without_warnings(family: str, tmp_path: Path) -> None:
    compiles(family, door_sources(tmp_path))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("abi")
    source, output = door_sources(folder), folder / "libacme_ort.so"
    command = [find_toolchain().cxx, "-std=c++17", "-O0", "-fPIC", "-shared", str(source)]
    run_compiler([*command, "-fvisibility=hidden", "-o", str(output), "-ldl"], source)
    loaded = ctypes.CDLL(str(output))
    loaded.RegisterCustomOps.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    loaded.RegisterCustomOps.restype = ctypes.c_void_p
    return loaded


GET_API = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
GET_VERSION = ctypes.CFUNCTYPE(ctypes.c_void_p)
CREATE_STATUS = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)


class ApiBase(ctypes.Structure):
    _fields_ = (("get_api", GET_API), ("get_version", GET_VERSION))


def register(library: ctypes.CDLL, newest: int) -> tuple[int | None, list[int], list[str]]:
    """Register with a runtime whose newest interface has a number."""
    asked: list[int] = []
    texts: list[str] = []

    @CREATE_STATUS
    def create_status(code: int, text: bytes) -> int:
        texts.append(text.decode())
        return 1

    table = (ctypes.c_void_p * 1)(ctypes.cast(create_status, ctypes.c_void_p))

    @GET_API
    def get_api(version: int) -> int | None:
        asked.append(version)
        return ctypes.addressof(table) if version <= newest else None

    version = ctypes.create_string_buffer(b"1.9.0")

    @GET_VERSION
    def get_version() -> int:
        return ctypes.addressof(version)

    base = ApiBase(get_api, get_version)
    return library.RegisterCustomOps(None, ctypes.addressof(base)), asked, texts


def test_an_older_runtime_is_refused_by_name(library: ctypes.CDLL) -> None:
    status, asked, texts = register(library, 16)
    assert status and asked == [17, 1]
    assert texts == ["OPG541: the ops of acme need ONNX Runtime 1.17 or newer, this is 1.9.0"]


def test_a_runtime_without_any_known_interface_crashes_nothing(
    library: ctypes.CDLL, capfd: pytest.CaptureFixture[str]
) -> None:
    status, _, texts = register(library, 0)
    assert status is None and not texts
    assert "need ONNX Runtime 1.17 or newer" in capfd.readouterr().err
