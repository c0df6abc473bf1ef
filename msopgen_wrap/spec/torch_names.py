"""The allow-list of ``compute``: which names of torch a spec may use.

Functions and methods follow from torch's operator schemas: ``torch_operators.json``, which
``scripts/derive_torch_names.py`` writes. They are functional (no in-place form, no ``out=``), not
random, and touch no file, device or process. What is no operator (dtypes, constants, questions
about a tensor) is listed here.
"""

from __future__ import annotations

import json
from pathlib import Path

_TABLE: dict[str, dict[str, str]] = json.loads(
    Path(__file__).with_name("torch_operators.json").read_text(encoding="utf-8")
)


def words(text: str) -> frozenset[str]:
    """Return the set of words of a text."""
    return frozenset(text.split())


DTYPE_NAMES = words("float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 bool")

TORCH_DTYPES = DTYPE_NAMES | words("half float double long int short")

# Limits of a dtype; their attributes are in INFO_ATTRIBUTES.
TORCH_INFO = words("finfo iinfo")
INFO_ATTRIBUTES = words("max min eps tiny smallest_normal bits")

TORCH_CONSTANTS = words("pi inf nan e")

TORCH_FUNCTIONS = (
    frozenset(_TABLE["torch"]) | TORCH_INFO | words("is_floating_point is_tensor numel")
)

# Calls whose integer arguments are sizes: literals are bounded there.
SIZED_FUNCTIONS = words(
    "arange eye full ones zeros tile repeat_interleave repeat expand linspace new_full new_ones "
    "new_zeros unflatten constant_pad_nd pad one_hot interpolate fftfreq rfftfreq conv1d_input "
    "conv2d_input conv3d_input conv1d_weight conv2d_weight conv3d_weight"
)

# Functions that torch has not: ``spec.random_numbers``, ``spec.loops``, ``spec.strided_slices``.
OPGEN_FUNCTIONS = words(
    "bernoulli bernoulli_like dropout loop philox positions rand_like randn_like strided_slice"
)

TORCH_NAMESPACES: dict[str, frozenset[str]] = {
    **{space: frozenset(row) for space, row in _TABLE.items() if space.startswith("torch.")},
    "opgen": OPGEN_FUNCTIONS,
}

TENSOR_METHODS = frozenset(_TABLE["method"]) | words(
    """bfloat16 bool byte char dim double float half int is_floating_point long ndimension numel
    short size stride where"""
)

# Calls that give several tensors whatever their arguments are.
TUPLE_FUNCTIONS = frozenset(
    name for space, row in _TABLE.items() for name, kind in row.items() if kind == "tuple"
)

# Calls whose results have no more elements than their operands broadcast together.
BOUNDED_FUNCTIONS = frozenset(_TABLE["bounded"])

TENSOR_PROPERTIES = words("shape ndim dtype device T mT H mH")

MATH_FUNCTIONS = words(
    """ceil cos erf exp expm1 floor gcd isinf isnan log log10 log1p log2 pow prod sin sqrt tan
    tanh"""
)
MATH_CONSTANTS = words("pi e inf nan tau")

BUILTIN_FUNCTIONS = words("abs bool float int len list max min tuple zip enumerate round sum")

RANDOM_NAMES = words(
    """alpha_dropout bernoulli dropout dropout1d dropout2d dropout3d feature_alpha_dropout
    gumbel_softmax manual_seed multinomial normal poisson rand rand_like randint randint_like randn
    randn_like randperm rrelu uniform binomial native_dropout fractional_max_pool2d
    fractional_max_pool3d multi_head_attention_forward"""
)

# Random function of torch -> the call of opgen that gives such numbers from a seed.
SEEDED_CALLS = {
    "bernoulli": "opgen.bernoulli(p, seed, offset)",
    "dropout": "opgen.dropout(x, p, seed, offset)",
    "native_dropout": "opgen.dropout(x, p, seed, offset)",
    "normal": "mean + std * opgen.randn_like(x, seed, offset)",
    "rand": "opgen.rand_like(x, seed, offset)",
    "rand_like": "opgen.rand_like(x, seed, offset)",
    "randn": "opgen.randn_like(x, seed, offset)",
    "randn_like": "opgen.randn_like(x, seed, offset)",
    "uniform": "low + (high - low) * opgen.rand_like(x, seed, offset)",
}

# Functions that are random in training only, with the position of the argument that says so.
RANDOM_IN_TRAINING = {
    **dict.fromkeys(("dropout", "dropout1d", "dropout2d", "dropout3d"), 2),
    **dict.fromkeys(("alpha_dropout", "feature_alpha_dropout"), 2),
    "rrelu": 3,
    "multi_head_attention_forward": 13,
}

# Keyword arguments that write, place or name things.
REFUSED_KEYWORDS = words(
    "out generator device layout pin_memory names inplace requires_grad dropout_p"
)
