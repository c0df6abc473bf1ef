"""Kernel text that the device compiler takes and g++ does not, rewritten line by line.

* ``add<<<dim, l2ctrl, stream>>>(...);`` in a launcher that a kernel library never calls goes, and
  so do the function attributes ``[aicore]`` and ``[host, aicore]``.
* ``__bf16`` and ``__fp16``, which g++ 13 and g++ for aarch64 have as types of their own, are
  ``bfloat16_t`` and ``half``.
* ``reinterpret_cast<__ubuf__ float*>(512)``, a place in UB by its number, becomes a call that gives
  the address of UB's memory here: kernels read and write through it. So do places in the cube's
  memories (``__cbuf__``, ``__ca__`` ...).
* A kernel kind declared outside of functions: :func:`place_task_types`.
* Arrays in a core's memory, ``__ubuf__ float x[64];``: :func:`place_arrays`.
* Explicit specialisations inside a class: see ``member_specialisations``.
* Members that a constexpr constructor initialises in its body: :func:`initialise_members`.
* Configurations of a function as template arguments: :func:`hoist_configs`.
* Conditions on the tiling key: :func:`runtime_conditions`.

Lines keep their numbers.
"""

from __future__ import annotations

import re

from msopgen_wrap.build.rewriting.member_specialisations import rewrite_members
from msopgen_wrap.build.rewriting.source_text import (
    blank_comments,
    class_scopes,
    is_namespace_head,
    matching,
    open_heads,
)

_LAUNCH_STATEMENT = re.compile(r"[\w:]+(?:\s*<[^<>;{}]*>)?\s*<<<[^;{}]*?>>>\s*\([^;{}]*?\)(?=\s*;)")
_LAUNCH = re.compile(r"<<<.*?>>>", re.DOTALL)
_BF16 = re.compile(r"\b__bf16\b")
_FP16 = re.compile(r"\b__fp16\b")
# Qualifier without its underscores -> ascendc_emu::Mem.
_MEMORIES = {
    "ubuf": "kUb",
    "cbuf": "kL1",
    "ca": "kL0a",
    "cb": "kL0b",
    "cc": "kL0c",
    "biasbuf": "kBt",
    "fbuf": "kFb",
}
_PLACE_CAST = re.compile(
    r"\breinterpret_cast\s*<\s*((?:(?:const|volatile)\s+)*)"
    rf"__({'|'.join(_MEMORIES)})__\s+([\w:]+)\s*\*\s*>(?=\s*\()"
)
_ATTRIBUTE = re.compile(r"\[\s*(?:host\s*,\s*)?aicore\s*\]")


def host_text(text: str) -> str:
    """Return the text for g++; the same object content when there is nothing to rewrite."""
    if "<<<" in text:
        text = _LAUNCH.sub(_blank, _LAUNCH_STATEMENT.sub(_blank, text))
    return program_text(text)


def program_text(text: str) -> str:
    """Like :func:`host_text`, with launches kept."""
    text = _ATTRIBUTE.sub(_blank, text) if "aicore" in text else text
    text = _BF16.sub("bfloat16_t", text) if "__bf16" in text else text
    text = _FP16.sub("half", text) if "__fp16" in text else text
    text = _PLACE_CAST.sub(_place, text) if "reinterpret_cast" in text else text
    text = runtime_conditions(text) if "TILING_KEY_" in text else text
    return hoist_configs(initialise_members(rewrite_members(place_arrays(place_task_types(text)))))


def _place(match: re.Match[str]) -> str:
    qualifiers, memory, name = match.groups()
    if memory == "ubuf":
        return f"::ascendc_emu::UbPointer<{qualifiers}{name}*>"
    mem = f"::ascendc_emu::Mem::{_MEMORIES[memory]}"
    return f"::ascendc_emu::MemoryPointer<{mem}, {qualifiers}{name}*>"


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


_PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
_KERNEL_STEP = re.compile(r"[{}]|\bKERNEL_TASK_TYPE_DEFAULT\s*\(|\b__global__\b")
_SPACE = re.compile(r"\s*")


def place_task_types(text: str) -> str:
    """Return the text with each ``KERNEL_TASK_TYPE_DEFAULT(...);`` outside of functions moved.

    It counts for every kernel below it. The device compiler only looks for the text; here it runs,
    so it moves into the kernels.
    """
    if "KERNEL_TASK_TYPE_DEFAULT" not in text:
        return text
    code = _PREPROCESSOR.sub(_blank, blank_comments(text))
    declared, edits, position = "", [], 0
    while step := _KERNEL_STEP.search(code, position):
        position = step.end()
        if step[0] == "{":
            # Namespaces and linkage blocks hold kernels; a function's own declaration stays.
            head = code[max(code.rfind(c, 0, step.start()) for c in ";{}") + 1 : step.start()]
            if not is_namespace_head(head):
                position = max(matching(code, step.start()), position)
        elif step[0].startswith("KERNEL"):
            end = matching(code, step.end() - 1)
            if end < 0:
                break
            position = end
            if code[_SPACE.match(code, end).end() :][:1] == ";":  # type: ignore[union-attr]
                declared = " ".join(text[step.start() : end].split()) + ";"
                edits.append((step.start(), end, ""))
        elif step[0] == "__global__" and declared:
            body = _kernel_body(code, position)
            if body >= 0:
                edits.append((body, body, f" {declared}"))
                position = max(matching(code, body - 1), body)
    for begin, end, new in reversed(edits):
        text = text[:begin] + new + "\n" * text.count("\n", begin, end) + text[end:]
    return text


def _kernel_body(code: str, position: int) -> int:
    """Return the offset behind the ``{`` of a kernel; -1 when it is only declared."""
    while position < len(code) and code[position] not in "{;":
        if code[position] == "(":
            position = matching(code, position)
            if position < 0:
                return -1
        else:
            position += 1
    return position + 1 if code[position : position + 1] == "{" else -1


_ARRAY = re.compile(
    rf"(?<!\w)__(?P<memory>{'|'.join(_MEMORIES)})__\s+(?P<type>\w[\w:]*(?:\s*<[^<>;]*>)?)\s+"
    r"(?P<names>\w+(?:\s*\[[^\][;]+\])+(?:\s*,\s*\w+(?:\s*\[[^\][;]+\])+)*)\s*;"
)
_ARRAY_NAME = re.compile(r"(\w+)((?:\s*\[[^\][;]+\])+)")


def place_arrays(text: str) -> str:
    """Return the text with arrays that are declared in a core's memory placed there.

    A kernel of the C interface declares ``__ubuf__ float x[64];``, on the device in the core's UB,
    L1, L0A ... To g++ it would be on the host's stack, so each becomes a reference to storage that
    the core hands out.
    """
    return _ARRAY.sub(_placed_array, text)


def _placed_array(match: re.Match[str]) -> str:
    memory = f"::ascendc_emu::Mem::{_MEMORIES[match['memory']]}"
    placed = " ".join(
        f"auto& {name} = ::ascendc_emu::LocalVariable<{memory}, {match['type']}{sizes}>([] {{}});"
        for name, sizes in _ARRAY_NAME.findall(match["names"])
    )
    return placed + "\n" * (match[0].count("\n") - placed.count("\n"))


_CLASS = re.compile(r"(?s:.*)\b(?:class|struct)\s+(\w+)[^;{}()]*$")
_MEMBER = re.compile(
    r"(?<=[;{}:])\s*(?!(?:using|typedef|static|friend|return|public|private|protected|template)\b)"
    r"(?:(?:const|mutable|typename|unsigned|long)\s+)*[A-Za-z_][\w:]*(?:\s*<[^;{}()]*>)?(?:::\w+)*"
    r"[\s*]+\w+\s*(?:\[[^\];]*\]\s*)*(?=;)"
)


def initialise_members(text: str) -> str:
    """Return ``text`` with an initialiser for members that a constexpr constructor leaves out.

    C++17 wants every member in the initialiser list; the device compiler takes C++20's rule::

        constexpr Coord(Index const (&values)[RANK]) { for (...) idx[i] = values[i]; }
        Index idx[RANK];

    Such members get an empty initialiser. It is the same text if there is no such class.
    """
    if "constexpr" not in text:
        return text
    code = blank_comments(text)
    places: list[int] = []
    for begin, end in class_scopes(code):
        name = _CLASS.match(code, max(code.rfind(c, 0, begin) for c in ";{}") + 1, begin)
        if name and _has_bare_constructor(code, name[1], begin, end):
            direct = _direct_text(code, begin, end)
            places += [begin + m.end() for m in _MEMBER.finditer(direct)]
    for at in sorted(places, reverse=True):
        text = f"{text[:at]}{{}}{text[at:]}"
    return text


def _has_bare_constructor(code: str, name: str, begin: int, end: int) -> bool:
    """Whether a constexpr constructor has a body, parameters and no initialiser list."""
    for match in re.finditer(rf"\bconstexpr\s[\w\s]*?\b{name}\s*\(", code[begin:end]):
        close = matching(code, begin + match.end() - 1)
        if 0 < close < end and re.match(r"\s*\{\s*[^}\s]", code[close:end]):
            return True
    return False


def _direct_text(code: str, begin: int, end: int) -> str:
    """Return the class body with what stands in inner braces blanked."""
    out, depth = [], 0
    for char in code[begin:end]:
        depth -= char == "}"
        out.append(char if depth <= 1 or char in "\n" else " ")
        depth += char == "{"
    return "".join(out)


_VALUE = r"[A-Za-z_][\w:]*|\d+[uUlL]*"
_CONFIG = re.compile(
    r"\b(static\s+constexpr|constexpr\s+static)(\s+(?:const\s+)?)"
    rf"((?:::)?[\w:]*\bIsResetLoad3dConfig|[\w:]*\bFixpipeConfig|[\w:]*\bMatmulConfig)(\s+)(\w+)"
    rf"(\s*=\s*)\{{\s*((?:{_VALUE})(?:\s*,\s*(?:{_VALUE}))*)\s*\}}(?=\s*;)"
)


def hoist_configs(text: str) -> str:
    """Return ``text`` with configurations that a function holds as references.

    g++ 12 dies ("internal compiler error") of a reference template argument to an object that a
    function template declares itself, which cube kernels do::

        static constexpr IsResetLoad3dConfig CONFIG = {true, true};
        LoadData<float, CONFIG>(l0a, l1a, params);

    Such a name becomes a reference to the same value at namespace scope. What is declared at
    namespace scope stays: there g++ takes the object, and refuses the reference.
    """
    if "Config" not in text or _CONFIG.search(text) is None:
        return text
    code = blank_comments(text)
    return _CONFIG.sub(lambda m: m[0] if _is_outside(code, m.start()) else _reference(m), text)


def _is_outside(code: str, at: int) -> bool:
    """Say whether an offset is in no braces but those of namespaces."""
    return all(map(is_namespace_head, open_heads(code, at)))


def _reference(match: re.Match[str]) -> str:
    head, space, kind, gap, name, equals, values = match.groups()
    space = space.replace("const", " ", 1) if "const" in space else space
    return f"{head}{space}const {kind}&{gap}{name}{equals}::ascendc_emu::kConfig<{kind}, {values}>"


_CONSTANT_KEY = re.compile(r"\bif(\s+)constexpr(\s*\((?=[^;{}]*\bTILING_KEY_(?:IS|VAR)\b))")
_TILING_KEY = re.compile(r"\bTILING_KEY_(?:IS|VAR)\b")
_ONE_KEY = re.compile(
    r"^[ \t]*#[ \t]*(?:el)?if(?:\\\n|[^\n])*\bdefined[ \t]*\(?[ \t]*TILING_KEY_VAR\b"
    r"(?:\\\n|[^\n])*",
    re.MULTILINE,
)
_DEFINED_KEY = re.compile(r"\bdefined\s*(?:\(\s*TILING_KEY_VAR\s*\)|TILING_KEY_VAR\b)")
_DIRECTIVE = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b(.*)")
_KEY_VALUE = re.compile(r"\bTILING_KEY_VAR\b|\bTILING_KEY_(?:IS|LIST)\s*\([^()]*\)")
_DECLARES = re.compile(
    r"^\s*(?:#\s*(?:include|define)\b|template\b|extern\b)|__global__", re.MULTILINE
)


def runtime_conditions(text: str) -> str:
    """Return the text with conditions on the tiling key evaluated when the kernel runs.

    The device compiles a kernel once per tiling key, so kernels write ``#if TILING_KEY_VAR == 1``
    in functions and ``if constexpr (TILING_KEY_IS(1))``. Here one binary serves all keys, and
    conditions are ordinary ones. ``#if defined(TILING_KEY_VAR) && ...`` asks for a compilation of
    one key, which this is not.
    """
    text = _ONE_KEY.sub(lambda m: _KEY_VALUE.sub("0", _DEFINED_KEY.sub("0", m[0])), text)
    lines = _CONSTANT_KEY.sub(r"if\1\2", text).split("\n")
    open_groups: list[list[tuple[int, str, str]]] = []
    for number, line in enumerate(lines):
        match = _DIRECTIVE.match(line)
        if match is None:
            continue
        word, condition = match[1], re.sub(r"//.*|/\*.*?\*/", "", match[2]).strip()
        if word.startswith("if"):
            open_groups.append([(number, word, condition)])
        elif open_groups:
            open_groups[-1].append((number, word, condition))
        if word == "endif" and open_groups:
            _make_statements(lines, open_groups.pop())
    return "\n".join(lines)


def _make_statements(lines: list[str], group: list[tuple[int, str, str]]) -> None:
    """Turn one #if ... #endif on the tiling key into an if, unless it guards declarations."""
    conditions = [c for _, _, c in group]
    if group[0][1] != "if" or not any(_TILING_KEY.search(c) for c in conditions):
        return
    body = "\n".join(lines[group[0][0] + 1 : group[-1][0]])
    if any("defined" in c or c.endswith("\\") for c in conditions) or _DECLARES.search(body):
        return
    texts = {"if": "if (%s) {", "elif": "} else if (%s) {", "else": "} else {", "endif": "}"}
    for number, word, condition in group:
        lines[number] = texts[word] % condition if "%s" in texts[word] else texts[word]
