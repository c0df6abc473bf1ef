"""Include names of CANN: each leads to a header, and none that was there goes away."""

from __future__ import annotations

import subprocess
from pathlib import Path

from msopgen_wrap.build import forwarding_headers
from msopgen_wrap.build.emulation import PRELUDE, kernel_defines
from msopgen_wrap.build.emulation_library import include_dirs
from msopgen_wrap.build.toolchain import find_toolchain
from msopgen_wrap.resources import data_dir

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
