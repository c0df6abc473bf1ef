"""The reader of a node's options: values of a real buffer, and buffers that are cut or changed."""

from __future__ import annotations

import random
import subprocess

import pytest

from msopgen_wrap.build.toolchain import base_flags, find_toolchain, warnings_as_errors
from msopgen_wrap.resources import data_dir

# {"s": "it's é", "b": True, "l": [1, -300, 70000], "m": [0.5, 0.1], "n": -5, "u": 3000000000,
#  "e": [], "f": 2.5}, written by the flatbuffers package.
BUFFER = bytes.fromhex(
    "7300076974277320c3a90062006c00000300000001000000d4feffff701101000606066d000000000200000000000000000000000000e03f9a9999999999b93f0f0f6e007500650000660008410705422d0f520f000000000c000000000000000100000000000000080000000000000001000000000000002f00000000000000000000000000044074000000000000006000000000000000fbffffffffffffff9d00000000000000005ed0b2000000006b280f2a2b071407482701"
)

PROGRAM = r"""
#include "flexbuffer.h"
#include <cstdio>
#include <vector>
using opgen_tflite::FlexValue;
static void Show(const FlexValue& value) {
    if (value.IsNull()) std::printf("null");
    else if (value.IsText()) std::printf("'%s'", value.Text().c_str());
    else if (value.IsFloat()) std::printf("%g", value.Float());
    else if (value.IsNumber()) std::printf("%lld", static_cast<long long>(value.Int()));
    else if (value.IsList()) {
        std::printf("[");
        for (size_t i = 0; i < value.Count(); ++i) { Show(value.At(i)); std::printf(","); }
        std::printf("]");
    } else std::printf("?");
}
int main() {
    uint32_t size = 0;
    while (std::fread(&size, 4, 1, stdin) == 1) {
        std::vector<char> bytes(size);
        if (size > 0 && std::fread(bytes.data(), size, 1, stdin) != 1) return 2;
        try {
            const FlexValue root = FlexValue::Root(bytes.data(), bytes.size());
            for (const char* key : {"b", "e", "f", "l", "m", "n", "s", "u", "x"}) {
                std::printf("%s=", key);
                Show(root[key]);
                std::printf(" ");
            }
        } catch (const std::exception& error) {
            std::printf("error: %s", error.what());
        }
        std::printf("\n");
    }
}
"""


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """Return a function that reads buffers and gives a line per buffer."""
    folder = tmp_path_factory.mktemp("flexbuffer")
    (folder / "main.cpp").write_text(PROGRAM)
    tool = find_toolchain()
    command = [tool.cxx, *base_flags(tool.family), *warnings_as_errors(tool.family)]
    command += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command += [f"-I{data_dir('templates') / name}" for name in ("tflite", "doors/csrc")]
    subprocess.run([*command, str(folder / "main.cpp"), "-o", str(folder / "main")], check=True)

    def run(*buffers: bytes) -> list[str]:
        given = b"".join(len(b).to_bytes(4, "little") + b for b in buffers)
        done = subprocess.run([folder / "main"], input=given, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()[-2000:]
        return done.stdout.decode(errors="replace").splitlines()

    return run


def test_values(read):
    assert read(BUFFER) == [
        "b=1 e=[] f=2.5 l=[1,-300,70000,] m=[0.5,0.1,] n=-5 s='it's é' u=3000000000 x=null "
    ]
    assert read(b"")[0] == "b=null e=null f=null l=null m=null n=null s=null u=null x=null "


def test_damaged_buffers_are_refused_or_read(read):
    draw = random.Random(17)
    buffers = [BUFFER[:n] for n in range(len(BUFFER))] + [BUFFER[n:] for n in range(len(BUFFER))]
    for _ in range(3000):
        changed = bytearray(BUFFER)
        for _ in range(draw.randint(1, 4)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        buffers.append(bytes(changed))
    lines = read(*buffers)
    assert len(lines) >= len(buffers)
    assert any("error: the options of the node" in line for line in lines)
