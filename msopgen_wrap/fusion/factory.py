"""Get a model and its example inputs from a function of the user's."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.fusion.model_trace import frame_place, said_by
from msopgen_wrap.spec.findings import suggestion
from msopgen_wrap.torch_import import torch


def model_from(target: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Return (model, inputs, inputs by name) of ``FILE.py:factory``; runs the user's file.

    Raises:
        OpgenError: OPG745 (the file or the factory fails), OPG746 (no such factory, or it gives
            something else).
    """
    file, _, name = target.rpartition(":")
    if not file or not name.isidentifier():
        raise OpgenError(
            Diagnostic(
                "OPG746",
                f"'{target}' is not FILE.py:factory",
                why="the factory is a function without arguments that gives (model, inputs)",
                fix="opgen fuse model.py:make",
            )
        )
    path = Path(file)
    if not path.is_file():
        raise OpgenError(
            Diagnostic("OPG745", f"no such file: '{file}'", fix="opgen fuse FILE.py:factory")
        )
    module = _loaded(path)
    factory = getattr(module, name, None)
    if not callable(factory):
        known = [k for k, v in vars(module).items() if callable(v) and not k.startswith("_")]
        raise OpgenError(
            Diagnostic(
                "OPG746",
                f"{file} has no function '{name}'",
                Location(file),
                fix=suggestion(name, known) or "name a function of the file",
            )
        )
    try:
        result = factory()
    except (Exception, SystemExit) as error:
        raise OpgenError(_failed(path, error, f"{name}() failed")) from error
    return _checked(result, name, file)


def _loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"opgen_fuse_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise OpgenError(Diagnostic("OPG745", f"'{path}' is no Python file"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise OpgenError(_failed(path, error, "the file cannot be run")) from error
    finally:
        sys.path.pop(0)
    return module


def _failed(path: Path, error: BaseException, what: str) -> Diagnostic:
    where = Location(str(path))
    if isinstance(error, SyntaxError) and error.lineno:
        where = Location(str(path), error.lineno, error.offset or 1)
    for frame in traceback.extract_tb(error.__traceback__):
        if Path(frame.filename).resolve() == path.resolve():
            where = frame_place(frame, str(path))
    return Diagnostic(
        "OPG745",
        f"{what}: {said_by(error)}",
        where,
        "opgen fuse runs the file and calls the factory without arguments",
        "make the file work by itself first, with a call of the factory",
    )


def _checked(result: Any, name: str, file: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    listed = list(result) if isinstance(result, (tuple, list)) else []
    if len(listed) in (2, 3) and isinstance(listed[0], torch.nn.Module):
        inputs = (listed[1],) if isinstance(listed[1], torch.Tensor) else listed[1]
        named = listed[2] if len(listed) == 3 else {}
        if isinstance(inputs, (tuple, list)) and isinstance(named, dict):
            return listed[0], tuple(inputs), named
    raise OpgenError(
        Diagnostic(
            "OPG746",
            f"{name}() gives {type(result).__name__}, not (model, inputs)",
            Location(file),
            why="the model is a torch.nn.Module, the inputs are a tensor or a tuple",
            fix="return model, (x,)  # or (model, (x,), {'mask': mask})",
        )
    )
