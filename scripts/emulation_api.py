"""Write the table of AscendC APIs the emulation has, from its headers and table of instructions.

    scripts/emulation_api.py                       list what the headers declare
    scripts/emulation_api.py --docs DIR [-o FILE]  compare with the API pages of an asc-devkit tree
                                                   (its docs/zh/api), which is only read

The comparison takes the pages that say the API exists on Atlas A2 (arch 2201).
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from msopgen_wrap.build.instruction_headers import instruction_table  # noqa: E402

INCLUDE = ROOT / "ascendc_kernels" / "emulation" / "include"
# A declaration at the start of a line: a function, possibly through one of the family macros.
_FUNCTION = re.compile(
    r"^\s*(?:template\s*<.*>\s*)?__aicore__\s+(?:inline\s+)?(?:static\s+)?(?:constexpr\s+)?"
    r"[\w:<>,&*\s]+?\b(\w+)\s*\(",
    re.MULTILINE,
)
# Functions of the host in a device header, such as those of the CPU twin.
_HOST_FUNCTION = re.compile(
    r"^(?:void\*?|uint64_t|inline [\w:<>*&]+) ([A-Z]\w+|asc_\w+)\(", re.MULTILINE
)
# Functions of the runtime.
_ACL_FUNCTION = re.compile(r"^ACL_FUNC_VISIBILITY\s+\w+\s+(\w+)\(", re.MULTILINE)
_FAMILY = re.compile(r"^\s*OPGEN_[A-Z0-9_]+\((\w+)[,)]", re.MULTILINE)
# A family macro and the names it pastes together from its first parameter.
_MACRO_BODY = re.compile(r"^#define\s+(OPGEN_\w+)\((\w+)(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
# Functions of both sides, and the library's own tuples.
_CONSTANT = re.compile(
    r"^\s*(?:template\s*<.*>\s*)?(?:inline\s+|__aicore__\s+)*constexpr\s+[\w:<>,&*\s.]+?\b(\w+)\s*\(",
    re.MULTILINE,
)
_ABSENT = re.compile(r"^\s*OPGEN_(?:NOT|IDLE)_ON_2201\((\w+)\)", re.MULTILINE)
_TYPE = re.compile(r"^\s*(?:class|struct|enum class|using)\s+(\w+)", re.MULTILINE)
_MACRO = re.compile(r"^#define\s+(\w+)", re.MULTILINE)
_METHOD = re.compile(r"^\s+(?:inline\s+)?[\w:<>,&*\s]+?\b([A-Z]\w+)\s*\(", re.MULTILINE)


def declared_names() -> dict[str, str]:
    """Return every name that the headers or forms of the table declare -> its header."""
    names = {row.name: "ascendc_emu/vector_api.h" for row in instruction_table() if row.form}
    for header in sorted(INCLUDE.rglob("*.h")):
        text = header.read_text(encoding="utf-8")
        where = str(header.relative_to(INCLUDE))
        absent = set(_ABSENT.findall(text))
        for pattern in (
            _FUNCTION,
            _HOST_FUNCTION,
            _ACL_FUNCTION,
            _CONSTANT,
            _FAMILY,
            _TYPE,
            _MACRO,
            _METHOD,
        ):
            for name in pattern.findall(text):
                if name not in absent and not name.startswith(("OPGEN_", "ASCENDC_EMU")):
                    names.setdefault(name, where)
        for name in pasted_names(text):
            names.setdefault(name, where)
    return names


def pasted_names(text: str) -> set[str]:
    """Return the names that family macros with ## make of their first arguments."""
    names: set[str] = set()
    for macro in _MACRO_BODY.finditer(text):
        parameter = macro[2]
        parts = set(re.findall(rf"(\w+)##{parameter}\b(?:##(\w+))?", macro[0]))
        for argument in re.findall(rf"^\s*{macro[1]}\((\w+)[,)]", text, re.MULTILINE):
            names |= {before + argument + after for before, after in parts}
    return names


def documented(docs: Path) -> dict[str, list[str]]:
    """Return group -> API names of the pages that list Atlas A2 as supported."""
    groups: dict[str, list[str]] = defaultdict(list)
    for page in sorted(docs.rglob("*.md")):
        text = page.read_text(encoding="utf-8", errors="replace")
        support = re.search(r"Atlas A2[^\n：:]*[：:]\s*(不?支持)", text)
        name = re.match(r"[A-Za-z_]\w+", page.stem, re.ASCII)
        if not support or support[1] != "支持" or not name:
            continue
        parts = page.relative_to(docs).parts
        # Pages of one arch, of one form, and those numbered because their folder has the same name.
        stem = re.sub(r"(?:_arch_\d+|_\dD|(?<=^get)1|(?<=^layout)1)$", "", name[0])
        group = "/".join(parts[:3] if len(parts) > 3 else parts[:-1])
        if stem not in groups[group]:
            groups[group].append(stem)
    return groups


def is_there(api: str, names: dict[str, str]) -> bool:
    """Whether an API is declared; one of the C interface may be a family of typed names."""
    lower = api.lower()  # a page's name may differ from the function's in this
    return any(
        name.lower() == lower or (lower.startswith("asc_") and name.startswith(api + "_"))
        for name in names
    )


def table(groups: dict[str, list[str]], names: dict[str, str]) -> str:
    """Return the Markdown page."""
    total = sum(map(len, groups.values()))
    have = sum(is_there(n, names) for g in groups.values() for n in g)
    lines = [
        "# AscendC APIs in the emulation",
        "",
        "Written by `scripts/emulation_api.py` from the headers and the public API pages for arch",
        "2201; do not edit. A name counts as there when a header declares it; which types and",
        "parameter forms it takes is checked when a kernel is compiled, and values that are not",
        "emulated stop the launch with a message.",
        "",
        f"{have} of {total} documented names are declared.",
    ]
    for group, apis in groups.items():
        there = [n for n in apis if is_there(n, names)]
        missing = [n for n in apis if not is_there(n, names)]
        lines += ["", f"## {group} ({len(there)}/{len(apis)})", ""]
        if there:
            lines.append("There: " + ", ".join(f"`{n}`" for n in there))
        if missing:
            lines += ["", "Not there: " + ", ".join(f"`{n}`" for n in missing)]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Print or write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--docs", type=Path, help="docs/zh/api of an asc-devkit tree")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    names = declared_names()
    if options.docs is None:
        for name, header in sorted(names.items()):
            print(f"{name:40s} {header}")
        return 0
    groups = documented(options.docs)
    if not groups:
        print(f"no API pages below {options.docs}", file=sys.stderr)
        return 1
    text = table(groups, names)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
