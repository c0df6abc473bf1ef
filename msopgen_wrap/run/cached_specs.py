"""What the build cache keeps of a spec for ``opgen test``: sources, shapes, what gives gradients.

A second run of the same spec then neither traces ``compute`` nor compiles: the folder is the same,
so compiled objects are found again, and a finding names a file that is still there. Nor does it ask
``compute`` which shapes it takes: that runs on meta tensors, for which torch imports its compiler,
as long as torch itself takes.
"""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from msopgen_wrap.build import cache
from msopgen_wrap.resources import data_dir
from msopgen_wrap.run.cases import case_grid
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.spec.loader import gradient_spec
from msopgen_wrap.spec.model import OpSpec

_PARTS = ("op_host", "op_kernel")


def rendered_spec(spec: OpSpec, vendor: str) -> Path:
    """Return a folder with the op_host and op_kernel sources of a spec.

    Args:
        vendor: as for ``opgen new``.

    Raises:
        OpgenError: the op cannot be planned, or a handwritten source cannot be read.
    """
    # The planner is imported where it is needed: with it comes torch.
    handwritten = []
    if spec.kernel is not None:
        from msopgen_wrap.families.handwritten import kernel_sources

        handwritten = kernel_sources(spec)
    texts = [text for file in handwritten for text in (file.path, file.text)]
    # SoCs and schedule may be others than those of the source (`opgen plan --soc`, `opgen tune`).
    asked = [repr(spec.schedule), str(spec.open_schedule)]
    key = cache.text_hash(kit_hash(), spec.path, spec.source, vendor, *spec.soc, *asked, *texts)

    def build(folder: Path) -> list[Path]:
        from msopgen_wrap.project.tree import ProjectOptions, render_project

        for file in render_project([spec], ProjectOptions(vendor=vendor, parts=_PARTS)):
            path = folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text, encoding="utf-8")
        return []

    return cache.cached("rendered", key, f"{spec.op} of {Path(spec.path).name}", build)[0]


@functools.lru_cache(maxsize=1)
def kit_hash() -> str:
    """Return a hash of the kit and of torch's version: of what decides how a spec is understood."""
    package = Path(__file__).resolve().parent.parent
    blocks = data_dir("ascendc_kernels") / "include"
    files = [*package.rglob("*.py"), *data_dir("templates").rglob("*"), *blocks.rglob("*")]
    tables = (data_dir("ascendc_kernels") / "emulation").glob("*.csv")
    sources = sorted(p for p in [*files, *tables] if p.is_file())
    digests = [part for path in sources for part in (path.name, cache.file_hash(path))]
    return cache.text_hash(metadata.version("torch"), *digests)


_FILE = "accepted.json"


def known_grid(
    spec: OpSpec, *, large: bool = False, answers: dict[str, bool] | None = None
) -> list[TestCase]:
    """Return the grid as ``case_grid`` does.

    Args:
        answers: what ``accepted_shapes`` gave, where that is known.

    Raises:
        OpgenError: the cache cannot be written.
    """
    return case_grid(
        spec, large=large, answers=accepted_shapes(spec) if answers is None else dict(answers)
    )


def accepted_shapes(spec: OpSpec) -> dict[str, bool]:
    """Return which of the shapes that the grid tries ``compute`` takes.

    Raises:
        OpgenError: the cache cannot be written.
    """

    def build(folder: Path) -> list[Path]:
        answers: dict[str, bool] = {}
        case_grid(spec, answers=answers)
        (folder / _FILE).write_text(json.dumps(answers, indent=0) + "\n", encoding="utf-8")
        return []

    key = cache.text_hash(kit_hash(), spec.source)
    folder = cache.cached("grid", key, f"{spec.op}: shapes that compute takes", build)[0]
    answers: dict[str, bool] = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    return answers


_CHOICE = "gradient.json"


def with_known_gradients(specs: list[OpSpec]) -> list[OpSpec]:
    """Decide gradients, and what is saved for them, as ``families.gradients`` does, once.

    Raises:
        OpgenError: the cache cannot be written.
    """
    found: list[OpSpec] = []
    taken: set[str] = set()
    for spec in specs:
        if spec.backward == "auto" or (spec.backward == "kernel" and spec.choose_saved):
            asked, (planned, save) = spec.backward, _known_choice(spec)
            spec = replace(spec, save=save or spec.save, choose_saved=False)
            if asked == "auto":
                spec = replace(spec, backward="kernel" if planned else "reference")
            if (asked == "auto" and planned) or (asked == "kernel" and save):
                found += [spec, derived := gradient_spec(spec)]
                taken.add(derived.name)
                continue
        if spec.name not in taken:
            found.append(spec)
    return found


def _known_choice(spec: OpSpec) -> tuple[bool, tuple[str, ...]]:
    """Return whether a kernel gives the gradients, and what is chosen to be saved for it."""

    def build(folder: Path) -> list[Path]:
        from msopgen_wrap.families.gradients import gradient_choice
        from msopgen_wrap.families.saving import saving_choice

        if spec.backward == "auto":
            choice = gradient_choice(spec)
            planned, saving = choice.kernel is not None, choice.saving
        else:
            planned, saving = True, saving_choice(spec)
        save = saving.save if planned and saving else ()
        text = json.dumps({"kernel": planned, "save": save})
        (folder / _CHOICE).write_text(text, encoding="utf-8")
        return []

    key = cache.text_hash(kit_hash(), spec.source, str(spec.choose_saved))
    folder = cache.cached("gradient", key, f"{spec.op}: what gives its gradients", build)[0]
    known = json.loads((folder / _CHOICE).read_text(encoding="utf-8"))
    return known["kernel"], tuple(known["save"])
