"""A plain torch C++ or CUDA extension of an op: loops derived from ``compute``, no Ascend in it."""
