"""What CANN's headers refuse and the emulation accepts, in the sources of projects."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    path
    for folder in ("ascendc_kernels/include", "ascendc_kernels/ops", "templates")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".h", ".cpp", ".jinja")
]
# An address is a number on the device and a pointer with the CPU-debug headers: only
# reinterpret_cast takes both. A list of two names fits several overloads of OriginOpType.
REFUSED = {
    "an address that is no pointer": re.compile(r"static_cast<uint64_t>\([^;]*GetPhyAddr\("),
    "node types in a list of no type": re.compile(r"OriginOpType\(\{"),
}


def test_there_are_sources():
    assert len(SOURCES) > 100


@pytest.mark.parametrize("what", REFUSED)
def test_sources_have_none_of_it(what):
    found = [p for p in SOURCES if REFUSED[what].search(p.read_text(encoding="utf-8"))]
    assert found == []


def test_lists_of_tensors_bring_their_header():
    """kernel_operator.h of CANN 8.1 leaves it out."""
    header = "kernel_operator_list_tensor_intf.h"
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCES}
    users = [path for path, text in texts.items() if "ListTensorDesc " in text]
    assert users
    assert [path for path in users if header not in texts[path]] == []
