"""Attrs of a call that gives some of them: sizes that are alternatives keep their defaults."""

from __future__ import annotations

from msopgen_wrap.graph.sample import call_attrs, sample_attrs
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import load_spec


def test_alternative_sizes_are_not_filled_in() -> None:
    spec = load_spec(data_dir("op_specs") / "window" / "resize_bilinear.yaml")
    sample = sample_attrs(spec)
    assert any(sample["output_size"]) or any(sample["scale_factor"])
    assert call_attrs(spec, {}) == sample
    given = call_attrs(spec, {"output_size": (3, 4)})
    assert given == {**sample, "output_size": (3, 4), "scale_factor": (0.0, 0.0)}
    assert call_attrs(spec, {"align_corners": True}) == {**sample, "align_corners": True}
