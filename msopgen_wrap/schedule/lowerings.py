"""Every lowering of an operator: importing this module registers them."""

from msopgen_wrap.schedule import (  # noqa: F401
    bessel_functions,
    number_parts,
    orthogonal_polynomials,
    pointwise,
    random_words,
    special_functions,
    wide_integers,
)
