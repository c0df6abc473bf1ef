"""The emulation library: include names of CANN, and the build of it that a wheel carries."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from msopgen_wrap.build import emulation_library, forwarding_headers, wheel_library
from msopgen_wrap.build.emulation import PRELUDE, kernel_defines
from msopgen_wrap.build.emulation_library import include_dirs, library_units
from msopgen_wrap.build.toolchain import CpuLevel, cpu_level, find_toolchain, machine_name
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.resources import data_dir

# ---- Include names of CANN: each leads to a header, and none that was there goes away ------------

# Every include name of CANN that the emulation has had; a new name is added here, too.
NAMES = (Path(__file__).parent / "include_names.txt").read_text(encoding="utf-8").split()
OWN = data_dir("ascendc_kernels") / "emulation" / "include"
TABLE = forwarding_headers.forwarding_table()


def test_every_include_name_is_found() -> None:
    missing = [n for n in NAMES if not any((d / n).is_file() for d in include_dirs())]
    assert not missing
    offered = {*TABLE, *(p.relative_to(OWN).as_posix() for p in OWN.rglob("*") if p.is_file())}
    assert {n for n in offered if not n.startswith("ascendc_emu/")} == set(NAMES)


def test_the_table_is_sorted_and_leads_to_headers_of_ours() -> None:
    assert list(TABLE) == sorted(TABLE)
    assert not [n for n in TABLE if (OWN / n).exists()]
    for name, headers in TABLE.items():
        assert headers, name
        for header in headers:
            assert (OWN / header).is_file() or header in TABLE, (name, header)


def test_the_forwarding_folder_holds_the_table_and_nothing_else() -> None:
    folder = forwarding_headers.forwarding_folder()
    found = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert found == set(TABLE)


def test_every_forwarding_header_is_preprocessed_without_an_error(tmp_path: Path) -> None:
    """A header that includes itself through others, or a name that nobody has, fails here."""
    flags = ["-std=c++17", *PRELUDE, *kernel_defines(2201), *(f"-I{d}" for d in include_dirs())]
    source = tmp_path / "all.cpp"
    source.write_text("".join(f"#include <{name}>\n" for name in TABLE), encoding="utf-8")
    done = subprocess.run(
        [find_toolchain().cxx, "-E", "-w", *flags, str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


# ---- The library that a wheel carries: used where it loads, and only there -----------------------


@pytest.fixture
def kit(tmp_path, monkeypatch) -> Path:
    """A kit folder whose wheel may carry libraries, with a cache of its own."""
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(emulation_library, "data_dir", lambda _: tmp_path / "kit")
    return tmp_path / "kit" / "prebuilt" / f"{machine_name()}-{cpu_level().name}"


def library(folder: Path, source: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "a.cpp").write_text(source)
    path = folder / "libascendc_emulation-0.so"
    command = ["g++", "-shared", "-fPIC", "-o", path, folder / "a.cpp"]
    subprocess.run(command, check=True)
    return path


def test_a_checkout_has_none(kit):
    assert emulation_library.prebuilt_library() is None


def test_one_that_loads_is_used(kit):
    path = library(kit, "int x = 1;")
    assert emulation_library.prebuilt_library() == path
    assert emulation_library.emulation_library().path == path


@pytest.mark.parametrize(
    "damage",
    [
        lambda p: p.write_bytes(b"no library"),
        lambda p: p.write_bytes(p.read_bytes()[:2000]),
        # as on a machine whose libc is older than the wheel's
        lambda p: library(p.parent / "other", 'extern "C" int nobody(); int x = nobody();').replace(
            p
        ),
    ],
    ids=["other file", "truncated", "missing symbol"],
)
def test_one_that_does_not_load_is_passed_over(kit, damage):
    damage(library(kit, "int x = 1;"))
    assert emulation_library.prebuilt_library() is None


def test_the_tag_is_the_newest_glibc_needed(kit):
    path = library(kit, '#include <stdio.h>\nint f() { return puts(""); }')
    tag = wheel_library.manylinux_tag([path], "x86_64")
    assert tag.startswith("manylinux_2_") and tag.endswith("_x86_64")


def test_every_source_is_in_one_unit():
    root = data_dir("ascendc_kernels") / "emulation"
    names = [name for unit in library_units(root) for name in unit.sources]
    assert sorted(names) == sorted(
        p.relative_to(root).as_posix() for p in (root / "src").rglob("*.cpp")
    )


@pytest.mark.parametrize("value", ["native", "x86-64-v4", "Baseline"])
def test_an_unknown_cpu_level_is_reported(monkeypatch, value):
    monkeypatch.setenv("OPGEN_CPU_LEVEL", value)
    with pytest.raises(OpgenError, match="OPG308"):
        cpu_level()


def test_the_baseline_has_no_flags(monkeypatch):
    monkeypatch.setenv("OPGEN_CPU_LEVEL", "baseline")
    level = cpu_level()
    assert isinstance(level, CpuLevel) and not level.flags
