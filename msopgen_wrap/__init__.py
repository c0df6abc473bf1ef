"""opgen: one YAML op spec to AscendC kernel, host code, torch op and CANN package."""

__version__ = "0.1.0"
