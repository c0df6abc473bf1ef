"""placeholder"""
def register_reference_ops() -> int:
    return 0
