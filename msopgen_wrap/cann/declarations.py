"""An op's ``OpDef`` as its text has it, and what CANN's opbuild makes of it.

opbuild stops at some mistakes ("Element num of DataType and Format is not aligned", "No operator is
registered!") and takes others without a word: an op that no SoC builds, one without tiling, two
parameters of one name. Lists that text does not show (made by macros or functions) are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msopgen_wrap.build.rewriting.source_text import blank_comments, matching, split_list
from msopgen_wrap.diagnostics import Diagnostic, Location
from msopgen_wrap.platforms import families, is_soc

_CLASS = re.compile(r"\bclass\s+(\w+)\s*(?:final\s*)?:\s*public\s+(?:ops::)?OpDef\b")
_PART = re.compile(r"\b(?:this\s*->\s*)?(Input|Output|Attr)\s*\(\s*\"(\w+)\"\s*\)")
_CALL = re.compile(r"\.\s*(\w+)\s*\(")
_ADD = re.compile(r"\bOP_ADD\s*\(\s*(\w+)")
_CONFIG = re.compile(r"\bAddConfig\s*\(\s*\"(\w+)\"")
_LIST_VARIABLE = re.compile(r"\bvector\s*<\s*(?:ge::)?(?:DataType|Format)\s*>\s*(\w+)\s*=?\s*\{")
_REGISTERED_TILING = re.compile(r"\bIMPL_OP(?:_OPTILING)?\s*\(\s*(\w+)\s*\)")
_REGISTERED_SHAPE = re.compile(r"\bIMPL_OP(?:_INFERSHAPE)?\s*\(\s*(\w+)\s*\)")
_STRUCT = re.compile(r"\bBEGIN_TILING_DATA_DEF\s*\(\s*(\w+)\s*\)")
_STRUCT_OF = re.compile(r"\bREGISTER_TILING_DATA_CLASS\s*\(\s*(\w+)\s*,\s*([\w:]+)\s*\)")
# aclnn<Op>GetWorkspaceSize has parameters of these names.
_ACLNN_NAMES = {"workspaceSize", "executor", "workspace", "stream"}

_LISTS = ("DataType", "Format", "UnknownShapeFormat")


@dataclass(frozen=True)
class Parameter:
    """An input, output or attr of an ``OpDef``.

    Attributes:
        side: ``Input``, ``Output`` or ``Attr``.
        name: as declared.
        line: where, from 1.
        calls: arguments of the calls chained to it, by function (``ParamType`` ...), as text.
        lists: items of ``DataType``, ``Format`` and ``UnknownShapeFormat`` where text shows them.
    """

    side: str
    name: str
    line: int
    calls: Mapping[str, str]
    lists: Mapping[str, tuple[str, ...]]

    @property
    def kind(self) -> str:
        """``required``, ``optional`` or ``dynamic``."""
        call = self.calls.get("AttrType" if self.side == "Attr" else "ParamType", "REQUIRED")
        return call.rsplit("::", 1)[-1].strip().lower()


@dataclass(frozen=True)
class Declaration:
    """One class derived from ``OpDef``.

    Attributes:
        op: op type.
        path: the op_host file.
        line: of the class.
        body: its text, comments blanked.
        parameters: in order of declaration.
        configs: SoC names of ``AddConfig`` with their lines.
        added: whether the file has ``OP_ADD`` of it.
    """

    op: str
    path: Path
    line: int
    body: str
    parameters: tuple[Parameter, ...]
    configs: tuple[tuple[str, int], ...]
    added: bool

    def of(self, side: str) -> list[Parameter]:
        """Return the parameters of one side."""
        return [p for p in self.parameters if p.side == side]


@dataclass
class HostText:
    """All op_host text of a project: its ops, and what is registered for them outside of OpDefs."""

    declarations: list[Declaration] = field(default_factory=list)
    tilings: set[str] = field(default_factory=set)
    shapes: set[str] = field(default_factory=set)
    structs: dict[str, Location] = field(default_factory=dict)
    registered_structs: dict[str, tuple[str, Location]] = field(default_factory=dict)


def read_host(paths: Sequence[Path]) -> HostText:
    """Read the op_host sources and headers of a project."""
    host = HostText()
    for path in paths:
        raw = path.read_text(encoding="utf-8", errors="replace")
        text = blank_comments(raw, strings=False)
        host.declarations += _declarations(path, text)
        host.tilings |= set(_REGISTERED_TILING.findall(text))
        host.shapes |= set(_REGISTERED_SHAPE.findall(text))
        for match in _STRUCT.finditer(text):
            host.structs[match[1]] = _at(path, text, match.start())
        for match in _STRUCT_OF.finditer(text):
            name = match[2].rsplit("::", 1)[-1]
            host.registered_structs[match[1]] = (name, _at(path, text, match.start()))
    return host


def _at(path: Path, text: str, place: int) -> Location:
    return Location(str(path), _line(text, place))


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _declarations(path: Path, text: str) -> list[Declaration]:
    added = set(_ADD.findall(text))
    variables = {}
    for match in _LIST_VARIABLE.finditer(text):
        end = matching(text, match.end() - 1)
        if end > 0:
            variables[match[1]] = _items(text[match.end() : end - 1])
    found = []
    for match in _CLASS.finditer(text):
        opening = text.find("{", match.end())
        end = matching(text, opening) if opening >= 0 else -1
        end = end if end > 0 else len(text)
        body = text[match.start() : end]
        start = _line(text, match.start())
        configs = tuple((m[1], start + _line(body, m.start()) - 1) for m in _CONFIG.finditer(body))
        parameters = tuple(_parameters(body, start, variables))
        found.append(
            Declaration(match[1], path, start, body, parameters, configs, match[1] in added)
        )
    return found


def _parameters(body: str, first: int, variables: Mapping[str, tuple[str, ...]]) -> list[Parameter]:
    found = []
    for match in _PART.finditer(body):
        end = body.find(";", match.end())
        chain = body[match.end() : end if end >= 0 else len(body)]
        calls: dict[str, str] = {}
        at = 0
        while (call := _CALL.search(chain, at)) is not None:
            closing = matching(chain, call.end() - 1)
            if closing < 0:
                break
            calls.setdefault(call[1], chain[call.end() : closing - 1].strip())
            at = closing
        lists = {}
        for name in _LISTS:
            text = calls.get(name, "")
            if text.startswith("{") and text.endswith("}"):
                lists[name] = _items(text[1:-1])
            elif text in variables:
                lists[name] = variables[text]
        line = first + _line(body, match.start()) - 1
        found.append(Parameter(match[1], match[2], line, calls, lists))
    return found


def _items(text: str) -> tuple[str, ...]:
    return tuple(p.strip().rsplit("::", 1)[-1] for p in split_list(text) if p.strip())


# ---- what is wrong -------------------------------------------------------------------------------


def host_problems(host: HostText, *, strict: bool) -> list[Diagnostic]:
    """Return what opbuild stops at, and what it takes and a user finds out on the board.

    Args:
        strict: the project is one of the kit's, where every op has its functions in op_host. In
            others they may be registered by files elsewhere.
    """
    found: list[Diagnostic] = []
    for declared in host.declarations:
        found += _op_problems(declared, host, strict)
    found += _struct_problems(host)
    return found


#: What is wrong, its line, why it matters and what to do.
_Problem = tuple[str, int, str, str]


def _op_problems(declared: Declaration, host: HostText, strict: bool) -> list[Diagnostic]:
    found = [
        *_unregistered(declared),
        *_unequal_lists(declared),
        *_taken_names(declared),
        *_unknown_socs(declared),
        *(_missing_functions(declared, host) if strict else ()),
    ]
    place = str(declared.path)
    return [
        Diagnostic("OPG615", f"op {declared.op}: {what}", Location(place, line), why, fix)
        for what, line, why, fix in found
    ]


def _unregistered(declared: Declaration) -> Iterator[_Problem]:
    if not declared.added:
        why = 'opbuild ends with "No operator is registered!", or builds without this op'
        fix = f"add OP_ADD({declared.op}); behind the class"
        yield "no OP_ADD registers it", declared.line, why, fix


def _unequal_lists(declared: Declaration) -> Iterator[_Problem]:
    """Yield data types and formats whose lists differ in length."""
    count: tuple[int, Parameter] | None = None
    for parameter in declared.of("Input") + declared.of("Output"):
        dtypes = parameter.lists.get("DataType")
        if dtypes is not None:
            if count is not None and len(dtypes) != count[0]:
                yield (
                    f"{parameter.name} lists {len(dtypes)} data types, {count[1].name} {count[0]}",
                    parameter.line,
                    "combination i takes entry i of every list",
                    "give all lists the same length",
                )
            count = count or (len(dtypes), parameter)
        for name in ("Format", "UnknownShapeFormat"):
            formats = parameter.lists.get(name)
            if dtypes is not None and formats is not None and len(formats) != len(dtypes):
                yield (
                    f"{parameter.name} lists {len(dtypes)} data types and {len(formats)} in {name}",
                    parameter.line,
                    'opbuild ends with "Element num of DataType and Format is not aligned"',
                    "give one format per data type",
                )


def _taken_names(declared: Declaration) -> Iterator[_Problem]:
    """Yield names that two parameters have, or a parameter of the aclnn function."""
    for side in ("Input", "Output", "Attr"):
        names = [p.name for p in declared.of(side)]
        for parameter in declared.of(side)[1:]:
            first = names.index(parameter.name)
            if declared.of(side)[first] is not parameter:
                why = "opbuild takes that; the kernel gets two parameters of one name"
                what = f"two of {side} are called {parameter.name}"
                yield what, parameter.line, why, "rename one"
    for parameter in declared.parameters:
        if parameter.name in _ACLNN_NAMES:
            why = f"aclnn{declared.op}GetWorkspaceSize has a parameter of this name"
            what = f"{parameter.side} {parameter.name} collides"
            yield what, parameter.line, why, "rename it"


def _unknown_socs(declared: Declaration) -> Iterator[_Problem]:
    if not declared.configs and "AddConfig" not in declared.body:
        why = "opbuild takes that, and the op is built for no SoC"
        fix = 'add this->AICore().AddConfig("ascend910b")'
        yield "no AddConfig", declared.line, why, fix
    for name, line in declared.configs:
        if not is_soc(name):
            why = "opbuild takes any name; the op is then missing on the SoC that is meant"
            fix = f"use one of {', '.join(families())}"
            yield f'AddConfig("{name}") names no known SoC', line, why, fix


def _missing_functions(declared: Declaration, host: HostText) -> Iterator[_Problem]:
    if "SetTiling" not in declared.body and declared.op not in host.tilings:
        why = "opbuild takes that; every call fails in tiling"
        yield "no SetTiling", declared.line, why, "add this->AICore().SetTiling(...)"
    if "SetInferShape" not in declared.body and declared.op not in host.shapes:
        why = "opbuild takes that; the op cannot be used in a graph"
        yield "no SetInferShape", declared.line, why, "add this->SetInferShape(...)"


def _struct_problems(host: HostText) -> list[Diagnostic]:
    found = []
    ops = {d.op for d in host.declarations}
    for op, (name, place) in host.registered_structs.items():
        # Structs used as fields are registered under names of their own ("XOp").
        if op not in ops and ops and not op.endswith("Op") and name not in _used(host):
            found.append(
                Diagnostic(
                    "OPG615",
                    f"REGISTER_TILING_DATA_CLASS names {op}, which is no op of the project",
                    place,
                    "the kernel of the op that is meant gets no tiling struct",
                    f"write the op type: {', '.join(sorted(ops))}",
                )
            )
    return found


def _used(host: HostText) -> set[str]:
    """Return the structs registered for ops of the project."""
    ops = {d.op for d in host.declarations}
    return {name for op, (name, _) in host.registered_structs.items() if op in ops}
