"""Write an op as a typed Python function: ``@op`` gives it a spec, and it stays the reference.

    from typing import Annotated

    import torch
    from msopgen_wrap import Field, op
    from torch import Tensor

    @op(backward="kernel")
    def rms_scale(
        x: Annotated[Tensor, "float16, float32", "[*, n]"],
        gamma: Annotated[Tensor, "x", "[n]"],
        *,
        epsilon: Annotated[float, Field(min=0)] = 1e-6,
    ) -> Annotated[Tensor, "like x"]:
        \"\"\"x / sqrt(mean(x^2) + epsilon) * gamma.\"\"\"
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon) * gamma

``rms_scale.spec`` is the ``OpSpec`` that the YAML of ``rms_scale.yaml()`` gives. A call runs the
function itself, with PyTorch. ``docs/python_authoring.md`` has the rules.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ForwardRef, Generic, ParamSpec, TypeVar, overload

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError, render
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.python_file import PythonFile, parse_python
from msopgen_wrap.spec.python_function import function_spec

P = ParamSpec("P")
R = TypeVar("R")

if TYPE_CHECKING:
    from torch import Tensor as Tensor
else:

    class Tensor:
        """``Tensor["float16, float32", "[*, n]"]``: short for ``Annotated[torch.Tensor, ...]``.

        Type checkers know the long form only.
        """

        def __class_getitem__(cls, said: Any) -> Any:
            texts = said if isinstance(said, tuple) else (said,)
            parts = (ForwardRef("torch.Tensor"), *texts)
            return Annotated[parts]


class Field:
    """What an annotation says of a parameter beside its dtypes and shape.

    The keys are those of a spec: ``rank``, ``range``, ``default``, ``doc`` of an input; ``name``,
    ``inplace``, ``doc`` of an output; ``min``, ``max``, ``allowed``, ``doc`` of an attr.
    """

    def __init__(self, **keys: Any) -> None:
        self.keys = keys

    def __repr__(self) -> str:
        return f"Field({', '.join(f'{key}={value!r}' for key, value in self.keys.items())})"


class FunctionError(OpgenError):
    """What is wrong with a decorated function: its text has every finding with its place."""

    def __str__(self) -> str:
        return "\n" + "\n".join(render(d) for d in self.diagnostics)


class OpFunction(Generic[P, R]):
    """A function with a spec. Calling it runs the function.

    Attributes:
        spec: the ``OpSpec``.
    """

    def __init__(self, function: Callable[P, R], spec: OpSpec) -> None:
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self.spec = spec
        self._defaults = {p.name: p.default for p in spec.inputs if p.default is not None}
        self._signature = inspect.signature(function) if self._defaults else None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function, with PyTorch; a number stands for an absent input that has one."""
        if self._signature is None:
            return self.__wrapped__(*args, **kwargs)
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name, number in self._defaults.items():
            if bound.arguments[name] is None:
                bound.arguments[name] = self._number(name, number, bound.arguments)
        return self.__wrapped__(*bound.args, **bound.kwargs)

    def _number(self, name: str, number: float, given: Mapping[str, Any]) -> Any:
        """Return a number as a 0-dim tensor in the dtype of the inputs that have the same ones."""
        from msopgen_wrap.torch_import import import_torch

        torch: Any = import_torch()
        dtypes = self.spec.param(name).dtypes
        for param in self.spec.inputs:
            value = given.get(param.name)
            if param.dtypes == dtypes and value is not None:
                like = value[0] if isinstance(value, (list, tuple)) else value
                return torch.full((), number, dtype=like.dtype, device=like.device)
        return torch.full((), number, dtype=getattr(torch, dtypes[0]))

    def yaml(self) -> str:
        """Return the op as YAML: what ``opgen new`` copies into a project."""
        return self.spec.source

    def __repr__(self) -> str:
        return f"<op {self.spec.op}: {self.spec.path}:{self.__wrapped__.__name__}>"


@overload
def op(function: Callable[P, R], /) -> OpFunction[P, R]: ...


@overload
def op(
    *,
    name: str | None = None,
    doc: str | None = None,
    kernel: str | None = None,
    tiling: str | None = None,
    backward: str | Mapping[str, str] | None = None,
    save: str | Sequence[str] | None = None,
    deterministic: bool | None = None,
    hf32: bool | None = None,
    tolerance: float | str | Mapping[str, Any] | None = None,
    soc: str | Sequence[str] | None = None,
    cases: Sequence[Mapping[str, Any]] | None = None,
    version: int | None = None,
) -> Callable[[Callable[P, R]], OpFunction[P, R]]: ...


def op(function: Callable[..., Any] | None = None, /, **keys: Any) -> Any:
    """Make an op of a typed function; use it as ``@op`` or ``@op(backward="kernel", ...)``.

    The spec is read from the text of the file that the function stands in, arguments of the
    decorator included, so they are literals. The body is checked by the same allow-list as
    ``compute`` of a YAML spec.

    Args:
        name: op type in CamelCase; by default from the function's name.
        doc, kernel, tiling, backward, save, deterministic, hf32: keys of a spec.
        tolerance, soc, cases, version: keys of a spec.

    Raises:
        FunctionError: with everything that is wrong, each with its place in the file.
    """
    if function is None:
        return functools.partial(_decorated, given=bool(keys))
    return _decorated(function, given=False)


def _decorated(function: Callable[..., Any], given: bool) -> OpFunction[..., Any]:
    if not isinstance(function, types.FunctionType):
        what = f"@op stands above a function, not {type(function).__name__}"
        raise FunctionError(Diagnostic("OPG075", what))
    file, node, decorator = _source(function)
    if given and decorator is None:
        place = file.place(node)
        why = "arguments of @op are read from the text above the function"
        what = "op(...) was not written as a decorator"
        raise FunctionError(Diagnostic("OPG074", what, place, why, "write it above the function"))
    spec, findings = function_spec(file, node, decorator)
    findings += _other_modules(function, file, node)
    if spec is None or any(d.severity == "error" for d in findings):
        raise FunctionError(findings)
    return OpFunction(function, spec)


def _other_modules(
    function: types.FunctionType, file: PythonFile, node: ast.FunctionDef
) -> list[Diagnostic]:
    """Return a finding per name that is a module in ``compute`` and another thing in the file."""
    found = []
    for name, module in (("torch", "torch"), ("F", "torch.nn.functional"), ("math", "math")):
        used = name in function.__code__.co_names
        value = function.__globals__.get(name)
        if used and value is not None and value is not sys.modules.get(module):
            what = f"'{name}' is not {module} in this file"
            why = f"in the formula of an op, {name} is {module}: a call here would do another thing"
            found.append(Diagnostic("OPG075", what, file.place(node), why, "rename it"))
    return found


def _source(
    function: types.FunctionType,
) -> tuple[PythonFile, ast.FunctionDef, ast.expr | None]:
    """Return the file of a function, its definition, and the ``@op`` above it."""
    code = function.__code__
    path, line = code.co_filename, code.co_firstlineno
    linecache.checkcache(path)
    text = "".join(linecache.getlines(path, function.__globals__))
    if text:
        file = _parsed(text, path)
        nodes = [n for n in ast.walk(file.tree) if getattr(n, "name", None) == function.__name__]
        decorators = {id(n): d for n, d in file.ops()}
        for node in nodes:
            first = min([getattr(node, "lineno", 0), *(d.lineno for d in _decorators(node))])
            if first == line and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                decorator = decorators.get(id(node)) or _own_decorator(node)
                return file, node, decorator  # type: ignore[return-value]
    raise FunctionError(
        Diagnostic(
            "OPG074",
            f"the text of function '{function.__name__}' is not at hand",
            Location(path, line, 1),
            why="the formula is read from the file that holds the function",
            fix="write the function with 'def' in a file, or in a notebook cell",
        )
    )


@functools.lru_cache(maxsize=8)
def _parsed(text: str, path: str) -> PythonFile:
    try:
        return parse_python(text.replace("\r\n", "\n"), path)
    except OpgenError as error:
        raise FunctionError(error.diagnostics) from None


def _decorators(node: ast.AST) -> list[ast.expr]:
    return list(getattr(node, "decorator_list", []))


def _own_decorator(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.expr | None:
    """Return the only decorator of a function: under another name it is op all the same."""
    return node.decorator_list[0] if len(node.decorator_list) == 1 else None
