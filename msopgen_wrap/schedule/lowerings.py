"""Every lowering of an operator: importing this module registers them."""

from msopgen_wrap.schedule import (  # noqa: F401
    bessel_functions,
    counted_numbers,
    number_parts,
    pointwise,
    polygamma,
    special_functions,
)
