"""Start-up hook of ``opgen exec``: activates the emulated NPU in every Python child process.

``opgen exec`` puts this folder first in PYTHONPATH. A sitecustomize of the user's own, which this
file would hide, is run afterwards.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _activate() -> None:
    package_parent = os.path.dirname(os.path.dirname(os.path.dirname(_HERE)))
    if importlib.util.find_spec("msopgen_wrap") is None:
        sys.path.append(package_parent)  # a checkout that is not installed
    try:
        import msopgen_wrap.npu  # noqa: F401
    except Exception as error:  # the child must start even when the kit does not fit its Python
        print(
            f"opgen exec: the emulated NPU is not active in {sys.executable}: {error}",
            file=sys.stderr,
        )


def _run_hidden_sitecustomize() -> None:
    rest = [p for p in sys.path if os.path.abspath(p or os.curdir) != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


_activate()
_run_hidden_sitecustomize()
