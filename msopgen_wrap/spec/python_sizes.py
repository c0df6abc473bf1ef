"""Names of sizes in annotations: ``[*, n]`` of one input gives ``n`` a meaning in later rules.

YAML says the same by axes: ``x[-1]``, ``*x[:-1]``, a rank.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from msopgen_wrap.spec.shapes import MAX_RANK

_ITEM = re.compile(r"\*?[A-Za-z_]\w*|\*|\d+")
_NAME = re.compile(r"(?<![\w.\]])(\*?)([A-Za-z_]\w*)(?!\s*[\w\[(])")
_BARE_STAR = re.compile(r"\*(?=\s*[,\]])")


@dataclass
class SizeNames:
    """What the names of sizes mean.

    Attributes:
        taken: names of inputs and attrs, which keep their meaning.
    """

    taken: set[str]
    sizes: dict[str, str] = field(default_factory=dict)
    runs: dict[str, str] = field(default_factory=dict)
    patterns: dict[str, str] = field(default_factory=dict)

    def new_names(self, text: str) -> list[str]:
        """Return the items of a list of names that have no meaning yet."""
        items = _items(text)
        if items is None:
            return []
        known = {*self.sizes, *self.taken, *(f"*{name}" for name in self.runs)}
        return [item for item in items if not item.isdigit() and item not in known]

    def bind(self, param: str, text: str) -> tuple[int, int]:
        """Give the names in the shape of an input their meaning; return its ranks.

        Raises:
            ValueError: why the shape cannot name sizes.
        """
        items = _items(text) or []
        new = self.new_names(text)
        if len(new) != len(items):
            known = next(item for item in items if item not in new)
            raise ValueError(
                f"'{new[0]}' is a new name and '{known}' is not: the shape of an input gives names "
                "to all of its sizes, or is a rule over sizes that have names"
            )
        if len(set(new)) != len(new):
            raise ValueError("a name stands for one size; two sizes that are equal need a rule")
        stars = [i for i, item in enumerate(items) if item.startswith("*")]
        if len(stars) > 1:
            raise ValueError("one '*' at most: nothing says where the first run of axes ends")
        if len(items) > MAX_RANK:
            raise ValueError(f"a tensor has at most {MAX_RANK} axes")
        count = len(items)
        for i, item in enumerate(items):
            if item.startswith("*"):
                stop = i - count + 1
                self.runs[item[1:]] = f"*{param}[{i or ''}:{stop or ''}]"
            else:
                self.sizes[item] = f"{param}[{i - count if stars and i > stars[0] else i}]"
        self.patterns[_dense(text)] = param
        return (count - 1, MAX_RANK) if stars else (count, count)

    def rule(self, text: str) -> str:
        """Return a rule with the names of sizes replaced by axes."""
        whole = self.patterns.get(_dense(text))
        if whole is not None:
            return f"like {whole}"
        if "" in self.runs:
            text = _BARE_STAR.sub(self.runs[""], text)
        return _NAME.sub(self._replaced, text)

    def _replaced(self, found: re.Match[str]) -> str:
        star, name = found[1], found[2]
        if name in self.taken:
            return found[0]
        if star and name in self.runs:
            return self.runs[name]
        return star + self.sizes.get(name, name)


def _items(text: str) -> list[str] | None:
    """Return the items of ``[*, n, 4]``, None for any other rule."""
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")) or not text[1:-1].strip():
        return None
    items = [item.strip() for item in text[1:-1].split(",")]
    return items if all(_ITEM.fullmatch(item) for item in items) else None


def _dense(text: str) -> str:
    return re.sub(r"\s+", "", text)
