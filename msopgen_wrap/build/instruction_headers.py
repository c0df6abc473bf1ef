"""What C++ knows of the table of instructions, ``ascendc_kernels/emulation/instructions.csv``.

A row per API or instruction. Columns:

``name``
    as kernels write it. A row of one way of an API adds the way: ``DataCopy L0C>GM``.
``form``
    how it is called, where a macro of ``vector_api.h`` declares all its overloads
    (:data:`FORMS`); empty: the API has declarations of its own.
``operands``
    of a lane-wise instruction, in order: ``dst`` (``dst:rw``: also read), sources, ``scalar``.
``types``
    the element types that it takes on arch 2201; of Cast and the like empty.
``arithmetic``
    what the lanes compute, a function ``<name>Op`` of ``src/vector``; several rows may share one.
``flow``
    how the sanitizer follows data through it, words of :data:`FLOWS`; empty: any part of a result
    may come from any part of a source. Lane-wise instructions follow their lanes anyway.
``pipe``
    that it runs on; empty: the call decides.
``issue_cycles``, ``repeat_cycles``
    what it costs on arch 2201: head and tail in cycles, and cycles for each 256 bytes of its widest
    operand; empty: the defaults of ``profile_parameters.csv``. ``1`` holds for all types,
    ``float16:4 float32:2`` by the type of the source. Only the model of time reads them
    (``src/profile``); ``docs/profile_model.md`` names the sources.
``archs``, ``types_<arch>``
    architectures that have it, and the types there (empty: all); both only where the documentation
    lists them. Calls are checked on an architecture that has a column of types.
``page``
    of CANN's documentation.

The files are written into the build cache, keyed by what makes them.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from ..diagnostics import Diagnostic, OpgenError
from ..resources import data_dir
from . import cache

# Form -> macro of vector_api.h.
FORMS = {
    "unary": "OPGEN_UNARY",
    "binary": "OPGEN_BINARY",
    "binary_words": "OPGEN_BINARY_WORDS",
    "binary_mixed": "OPGEN_BINARY_MIXED",
    "scalar": "OPGEN_SCALAR",
    "scalar_mixed": "OPGEN_SCALAR_MIXED",
}
# Word of ``flow`` -> the field of Instruction (src/core/instructions.h) and its value.
FLOWS = {
    "lanes": ("flow", "Flow::kLanes"),
    "blocks": ("flow", "Flow::kBlocks"),
    "absorbs_zeros": ("absorbs", "Absorbs::kZeros"),
    "absorbs_ones": ("absorbs", "Absorbs::kOnes"),
    "fills": ("fills", "true"),
    "chooses": ("chooses", "true"),
    "bits": ("makesBits", "true"),
}
_FLOATS = {"float16": "half", "float32": "float"}
_INTEGERS = {name: f"{name}_t" for name in ("int16", "uint16", "int32", "uint32")}
_TYPES = {**_FLOATS, **_INTEGERS, "bfloat16": "bfloat16_t"}
_ROUTE = re.compile(r"(\w+) (\w+)>(\w+)")
_COST = re.compile(r"(\w+:)?\d+(\.\d+)?")
_TYPES_OF = "types_"
# Instruction::kMostArchs of src/core/instructions.h.
_MOST_ARCHS = 4
_folders: dict[tuple[str, int], Path] = {}


@dataclass(frozen=True)
class Instruction:
    """A row of the table; see the module for the columns.

    Attributes:
        types_on: architecture -> its column of types.
    """

    name: str
    form: str
    operands: tuple[str, ...]
    types: tuple[str, ...]
    arithmetic: str
    flow: tuple[str, ...]
    pipe: str
    archs: tuple[str, ...]
    types_on: dict[str, str]
    page: str

    @property
    def enumerator(self) -> str:
        """Its constant of ``ascendc_emu::Api``: ``DataCopy L0C>GM`` is ``kDataCopyL0CToGM``."""
        words = self.name.replace("::", " ").replace(">", " to ").replace("()", " call").split()
        if len(words) == 1:
            return "k" + self.name
        return "k" + "".join(word[0].upper() + word[1:] for word in words)

    @property
    def sources(self) -> int:
        """How many tensors it reads besides ``dst``."""
        return sum(operand.startswith("src") for operand in self.operands)

    @property
    def reads_dst(self) -> bool:
        """Whether ``dst`` is a source, too."""
        return "dst:rw" in self.operands


def table_path() -> Path:
    """Return the path of the table."""
    return data_dir("ascendc_kernels") / "emulation" / "instructions.csv"


def instruction_table() -> tuple[Instruction, ...]:
    """Return the rows of the table, in its order.

    Raises:
        OpgenError: OPG304 when a row holds a word that is not known.
    """
    return _rows(table_path().read_text(encoding="utf-8"))


def _rows(text: str) -> tuple[Instruction, ...]:
    rows = tuple(_instruction(cells) for cells in csv.DictReader(io.StringIO(text)))
    problems = [problem for row in rows for problem in _problems(row)]
    if problems:
        raise OpgenError(
            Diagnostic("OPG304", "the table of instructions has mistakes: " + "; ".join(problems))
        )
    return rows


def _instruction(cells: dict[str, str]) -> Instruction:
    words = {name: tuple(cells[name].split()) for name in ("operands", "types", "flow", "archs")}
    return Instruction(
        name=cells["name"],
        form=cells["form"],
        arithmetic=cells["arithmetic"],
        pipe=cells["pipe"],
        page=cells["page"],
        types_on={
            name.removeprefix(_TYPES_OF): cell
            for name, cell in cells.items()
            if name.startswith(_TYPES_OF)
        },
        **words,
    )


def _problems(row: Instruction) -> Iterable[str]:
    known: tuple[tuple[str, Iterable[str], Collection[str]], ...] = (
        ("form", {row.form} - {""}, FORMS),
        ("types", row.types, _TYPES),
        ("flow", row.flow, FLOWS),
    )
    for column, words, allowed in known:
        for word in words:
            if word not in allowed:
                yield f"{row.name}: {column} {word!r} is none of {', '.join(allowed)}"
    if row.form and not (row.types and row.arithmetic and row.sources):
        yield f"{row.name}: a form needs operands, types and an arithmetic"
    if len(row.archs) > _MOST_ARCHS or len(row.types_on) > _MOST_ARCHS:
        yield f"{row.name}: more than {_MOST_ARCHS} architectures"


def instruction_costs() -> str:
    """Return the costs as a CSV text: ``name,issue_cycles,repeat_cycles``, rows with a cost only.

    Raises:
        OpgenError: OPG304 when a cost is no number.
    """
    lines, problems = ["name,issue_cycles,repeat_cycles"], []
    for cells in csv.DictReader(io.StringIO(table_path().read_text(encoding="utf-8"))):
        issue, repeat = cells["issue_cycles"], cells["repeat_cycles"]
        for word in [*issue.split(), *repeat.split()]:
            if not _COST.fullmatch(word):
                problems.append(f"{cells['name']}: {word!r} is no cost")
        if issue or repeat:
            lines.append(f"{cells['name']},{issue},{repeat}")
    if problems:
        raise OpgenError(
            Diagnostic("OPG304", "the table of instructions has mistakes: " + "; ".join(problems))
        )
    return "\n".join(lines) + "\n"


def header_texts(rows: tuple[Instruction, ...]) -> dict[str, str]:
    """Return the files that C++ includes as ``ascendc_emu/<name>`` -> their texts."""
    makers: dict[str, Callable[[tuple[Instruction, ...]], Iterable[str]]] = {
        "api_names.inc": _api_names,
        "element_types.inc": _element_types,
        "float_lanes.inc": _float_lanes,
        "instruction_routes.inc": _routes,
        "instruction_rows.inc": _instruction_rows,
        "integer_lanes.inc": _integer_lanes,
        "lane_operations.inc": _lane_operations,
        "listed_archs.inc": _listed_archs,
        "vector_forms.inc": _vector_forms,
    }
    head = "// Written from instructions.csv by msopgen_wrap/build/instruction_headers.py.\n"
    return {name: head + "\n".join(make(rows)) + "\n" for name, make in makers.items()}


def _api_names(rows: tuple[Instruction, ...]) -> Iterable[str]:
    return (f"        {row.enumerator}," for row in rows)


def _lane_operations(rows: tuple[Instruction, ...]) -> Iterable[str]:
    return (f"    k{name}," for name in dict.fromkeys(r.arithmetic for r in rows if r.arithmetic))


def _element_types(rows: tuple[Instruction, ...]) -> Iterable[str]:
    for row in rows:
        if row.types:
            yield f"#define OPGEN_TYPES_{row.name} {', '.join(_TYPES[t] for t in row.types)}"


def _vector_forms(rows: tuple[Instruction, ...]) -> Iterable[str]:
    for row in rows:
        if row.form:
            yield f"// {row.name}({', '.join(row.operands)}); page {row.page or 'not known'}."
            yield f"{FORMS[row.form]}({row.name})"


def _computed(rows: tuple[Instruction, ...]) -> Iterable[Instruction]:
    """Return a row with a form per arithmetic."""
    return {row.arithmetic: row for row in rows if row.form}.values()


def _float_lanes(rows: tuple[Instruction, ...]) -> Iterable[str]:
    for row in _computed(rows):
        if _FLOATS.keys() & set(row.types):
            dst = "true" if row.reads_dst else "false"
            yield f"        case VecOp::k{row.arithmetic}:"
            yield f"            return Pick<{row.sources}, {dst}, {row.arithmetic}Op>(dt, st);"


def _integer_lanes(rows: tuple[Instruction, ...]) -> Iterable[str]:
    for row in _computed(rows):
        types = ", ".join(_INTEGERS[name] for name in row.types if name in _INTEGERS)
        if types:
            yield f"        case VecOp::k{row.arithmetic}:"
            yield f"            return Pick<{row.arithmetic}Op, {row.sources}, {types}>(dt);"


def _listed_archs(rows: tuple[Instruction, ...]) -> Iterable[str]:
    return (f"    {arch}," for arch in rows[0].types_on)


def _routes(rows: tuple[Instruction, ...]) -> Iterable[str]:
    by_name = {row.name: row for row in rows}
    for row in rows:
        route = _ROUTE.fullmatch(row.name)
        if route:
            places = ", ".join(f"Mem::k{place.capitalize()}" for place in route.groups()[1:])
            yield f"    {{Api::{by_name[route[1]].enumerator}, {places}, Api::{row.enumerator}}},"


def _instruction_rows(rows: tuple[Instruction, ...]) -> Iterable[str]:
    for row in rows:
        said = {
            "flow": "Flow::kWhole",
            "absorbs": "Absorbs::kNothing",
            "fills": "false",
            "chooses": "false",
            "makesBits": "false",
        } | dict(FLOWS[word] for word in row.flow)
        cells = (
            f'"{row.name}"',
            f"VecOp::k{row.arithmetic or 'None'}",
            "true" if row.reads_dst else "false",
            *said.values(),
            f"Pipe::k{row.pipe.capitalize() or 'All'}",
            f'"{row.page}"',
            f"{{{', '.join(row.archs)}}}",
            f"{{{', '.join(f'{chr(34)}{types}{chr(34)}' for types in row.types_on.values())}}}",
        )
        yield f"    {{{', '.join(cells)}}},"


def instruction_folder() -> Path:
    """Return the folder of includes with the files of :func:`header_texts`, writing them if absent.

    Raises:
        OpgenError: OPG305 when the build cache cannot be written, OPG304 for a wrong table.
    """
    path = table_path()
    place = (str(cache.cache_dir()), path.stat().st_mtime_ns)
    folder = _folders.get(place)
    if folder is None or not folder.is_dir():
        texts = header_texts(instruction_table())

        def write(stage: Path) -> list[Path]:
            target = stage / "include" / "ascendc_emu"
            target.mkdir(parents=True)
            for name, text in texts.items():
                (target / name).write_text(text, encoding="utf-8")
            return []

        key = cache.text_hash("".join(texts.values()))
        entry, _ = cache.cached("headers", key, "instruction headers", write)
        folder = _folders[place] = entry / "include"
    return folder
