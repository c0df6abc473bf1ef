"""opgen: one YAML op spec to AscendC kernel, host code, torch op and CANN package."""

__version__ = "0.1.0"

_LAZY = {"fuse": "msopgen_wrap.fusion.api"}


def __getattr__(name: str) -> object:
    """Import what needs torch when it is asked for."""
    if name in _LAZY:
        import importlib

        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
