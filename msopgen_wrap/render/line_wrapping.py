"""Wrap the lines of generated C++ at 100 columns."""

from __future__ import annotations

# The last column that arguments are aligned at; behind it a line hangs.
_DEEPEST = 48


def tidy(text: str) -> str:
    """Wrap argument lists that pass 100 columns and drop doubled blank lines."""
    lines: list[str] = []
    for line in text.splitlines():
        line = line.rstrip()
        if not line and lines and not lines[-1]:
            continue
        lines += wrap_line(line)
    return "\n".join(lines) + "\n"


def wrap_line(line: str, limit: int = 100) -> list[str]:
    """Break a long C++ line at a comma or operator outside strings, aligned after the bracket.

    A comment behind code comes before it.
    """
    code, comment = _trailing_comment(line)
    if len(line) > limit and comment:
        margin = " " * (len(line) - len(line.lstrip()))
        return [*wrap_line(f"{margin}{comment}", limit), *wrap_line(code, limit)]
    result = []
    hanging = len(line) - len(line.lstrip()) + 4
    aligned: list[int] = []  # columns after the brackets that are open at the start of the line
    while len(line) > limit:
        indent = len(line) - len(line.lstrip())
        if line.lstrip().startswith("//"):
            cut = line.rfind(" ", indent + 3, limit)
            prefix = " " * indent + "// "
        else:
            cut = _best_cut(line, indent, limit)
            aligned = _open_brackets(line[:cut], aligned)
            column = aligned[-1] if aligned else hanging
            prefix = " " * (column if column <= _DEEPEST else hanging)
            aligned = [min(a, len(prefix)) for a in aligned]
        if cut <= indent or len(prefix) + len(line) - cut >= len(line):
            break
        result.append(line[:cut].rstrip())
        line = prefix + line[cut:].strip()
    return [*result, line]


def _trailing_comment(line: str) -> tuple[str, str]:
    """Return the code of a line and the comment behind it; no comment for a line that is one."""
    quoted = False
    for i, c in enumerate(line):
        if c == '"' and line[i - 1] != "\\":
            quoted = not quoted
        elif not quoted and line.startswith("//", i):
            code = line[:i].rstrip()
            return (code, line[i:]) if code else (line, "")
    return line, ""


def _best_cut(line: str, indent: int, limit: int) -> int:
    """Return a good place to break: after a comma outside <>, else a word, else a comma in <>.

    Of the commas in the second half of the line the last one that is in the fewest brackets.
    """
    commas: list[tuple[int, int]] = []
    word = argument = 0
    quoted = False
    angles = depth = 0
    for i, c in enumerate(line[:limit]):
        if c == '"' and line[i - 1] != "\\":
            quoted = not quoted
        if quoted:
            continue
        depth += (c in "([{") - (c in ")]}")
        if c == "<" and line[i - 1] not in " <":
            angles += 1
        elif c == ">" and angles and line[i - 1] not in " -":
            angles -= 1
        elif c == "," and line[i + 1 : i + 2] == " ":
            if angles:
                argument = i + 1
            elif i >= indent + 8:
                commas.append((depth, i + 1))
        elif c == " " and not angles and i > indent:
            word = i
    half = [(-nested, at) for nested, at in commas if at > (indent + limit) // 2]
    if half:
        return max(half)[1]
    return commas[-1][1] if commas else word or argument


def _open_brackets(text: str, before: list[int]) -> list[int]:
    """Return the columns after the brackets that are open at the end of a text.

    Args:
        text: a line as far as it is cut.
        before: the columns of the brackets open at its start.
    """
    stack = list(before)
    for i, c in enumerate(text):
        if c in "([{":
            stack.append(i + 1)
        elif c in ")]}" and stack:
            stack.pop()
    return stack
