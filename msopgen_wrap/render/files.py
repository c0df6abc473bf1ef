"""What renderers return: text with a path, nothing on disk."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GeneratedFile:
    """A file of a generated project.

    Attributes:
        path: POSIX path relative to the project root.
        text: content, ending with a newline; byte-stable for the same spec and kit version.
        executable: whether the mode has the x bit.
    """

    path: str
    text: str
    executable: bool = False
