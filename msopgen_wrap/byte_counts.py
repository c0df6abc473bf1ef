"""Numbers of bytes as people read them."""

from __future__ import annotations


def size_text(count: float) -> str:
    """Return bytes as text with a binary unit."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"
