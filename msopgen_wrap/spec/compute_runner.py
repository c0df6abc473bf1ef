"""Execute checked ``compute`` and ``backward`` code; nothing else of the spec stage needs torch."""

from __future__ import annotations

import ast
import contextlib
import copy
import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.spec import compute_limits
from msopgen_wrap.spec.compute_guard import (
    ATTR_KINDS,
    TENSOR,
    TENSORS,
    CheckedCode,
    Scope,
    check_code,
    locate,
)
from msopgen_wrap.spec.differentiation import forward_of, saved_value, vjp
from msopgen_wrap.spec.findings import Findings
from msopgen_wrap.spec.model import Code, OpSpec, ParamKind, TensorParam
from msopgen_wrap.spec.saved_outputs import SAVED, with_saved_values
from msopgen_wrap.spec.size_loops import SIZE_LOOP_HELPERS, with_size_loops

_RESULT = "__opgen_result"
_SAVED_VALUE = "__opgen_saved"
FILE = "<compute>"
# What running allow-listed code on wrong shapes or values can raise; anything else is our bug.
_USER_ERRORS = (
    ArithmeticError,
    AttributeError,
    IndexError,
    NameError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
)
Outputs = dict[str, Any]


def compute_scope(spec: OpSpec) -> Scope:
    """Return what ``compute`` may name."""
    if spec.differentiated:
        return compute_scope(forward_of(spec))
    names = {p.name: _kind(p) for p in spec.inputs}
    names.update({a.name: ATTR_KINDS.get(a.type, "any") for a in spec.attrs})
    return Scope(names, tuple(p.name for p in spec.outputs), frozenset(a.name for a in spec.attrs))


def backward_scope(spec: OpSpec, target: str) -> Scope:
    """Return what the backward code of input ``target`` may name."""
    forward = compute_scope(spec)
    names = dict(forward.names)
    for output in spec.outputs:
        names.setdefault(output.name, _kind(output))
        names[f"grad_{output.name}"] = _kind(output)
    return Scope(names, (f"grad_{target}",), forward.attrs)


def _kind(param: TensorParam) -> str:
    return TENSORS if param.kind is ParamKind.DYNAMIC else TENSOR


def checked_code(code: Code, scope: Scope) -> CheckedCode:
    """Return code that the guard has accepted; raises OpgenError with all that it refuses."""
    findings = Findings()
    checked = check_code(code, scope, findings)
    if checked is None:
        raise OpgenError(findings.sorted())
    return checked


def compile_compute(
    spec: OpSpec, *, wrap_errors: bool = True, replacements: Mapping[str, Any] | None = None
) -> Callable[[Mapping[str, Any], Mapping[str, Any]], Outputs]:
    """Return ``f(inputs, attrs) -> outputs`` that runs the golden reference.

    ``inputs`` maps names to tensors (lists of tensors for dynamic inputs); absent optional inputs
    are left out or None. ``attrs`` may leave out attrs that have a default; dtype attrs are given
    as names or torch dtypes. ``outputs`` maps every output name to a tensor or a list of tensors.
    The code is checked again here, so a spec made by other means is as safe as a loaded one.

    Args:
        spec: the op; ``spec.compute`` must not be None.
        wrap_errors: turn an exception of torch into OPG071 with the line of the spec; False lets
            it through (for tracers that steer by exceptions).

    Raises:
        OpgenError: the code is refused (at once), or fails on the given tensors (in the call).
    """
    if spec.compute is None:
        raise OpgenError(Diagnostic("OPG040", f"{spec.op} has no compute"))
    if spec.differentiated:
        forward = forward_of(spec)
        given = {**(replacements or {}), _SAVED_VALUE: saved_value}
        formula = compile_compute(forward, wrap_errors=wrap_errors, replacements=given)

        def gradients(inputs: Mapping[str, Any], attrs: Mapping[str, Any] | None = None) -> Outputs:
            return vjp(formula, forward, spec, inputs, attrs or {})

        return gradients
    code = spec.compute
    checked = checked_code(code, compute_scope(spec))
    names = tuple(p.name for p in spec.outputs)
    saved = spec.save if _SAVED_VALUE in (replacements or {}) else ()
    program, namespace = _program(checked, code, saved, names)
    namespace.update(replacements or {})

    def run(inputs: Mapping[str, Any], attrs: Mapping[str, Any] | None = None) -> Outputs:
        values = dict(namespace)
        values.update(_bind(spec, inputs, attrs or {}))
        values.update({f"{SAVED}{name}": inputs[f"{SAVED}{name}"] for name in saved})
        _execute(program, values, code, wrap_errors)
        return _collect(spec, names, values, checked.is_expression, code)

    return run


def compile_backward(
    spec: OpSpec, *, wrap_errors: bool = True
) -> Callable[
    [Mapping[str, Any], Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]], Outputs
]:
    """Return ``f(inputs, attrs, outputs, grads) -> {input: gradient}`` for explicit backward code.

    ``grads`` maps output names to their gradients. Inputs that ``backward`` does not list are not
    in the result.

    Raises:
        OpgenError: ``backward`` is not explicit, the code is refused, or fails on the tensors.
    """
    if not isinstance(spec.backward, dict):
        raise OpgenError(Diagnostic("OPG050", f"backward of {spec.op} is '{spec.backward}'"))
    programs = []
    for target, code in spec.backward.items():
        checked = checked_code(code, backward_scope(spec, target))
        programs.append((target, code, checked, *_program(checked, code)))

    def run(
        inputs: Mapping[str, Any],
        attrs: Mapping[str, Any],
        outputs: Mapping[str, Any],
        grads: Mapping[str, Any],
    ) -> Outputs:
        result = {}
        for target, code, checked, program, namespace in programs:
            values = dict(namespace)
            values.update(outputs)
            values.update(_bind(spec, inputs, attrs))
            values.update({f"grad_{name}": grad for name, grad in grads.items()})
            _execute(program, values, code, wrap_errors)
            result[target] = values[_RESULT if checked.is_expression else f"grad_{target}"]
        return result

    return run


def rewritten(checked: CheckedCode, guards: bool, results: tuple[str, ...] = ()) -> ast.Module:
    """Return statements that never write their inputs.

    Args:
        checked: the code.
        guards: bound them by ``compute_limits``.
        results: names that are read behind the last statement.
    """
    # A copy: the checked tree may be used again.
    body: list[ast.stmt] = []
    for i, statement in enumerate(checked.tree.body):
        final = i == len(checked.tree.body) - 1
        if isinstance(statement, ast.Expr):
            if not (final and checked.is_expression):
                if compute_limits.appended(statement) is not None:
                    body.append(statement)
                continue
            target = ast.copy_location(ast.Name(_RESULT, ast.Store()), statement)
            statement = ast.copy_location(ast.Assign([target], statement.value), statement)
        body.append(statement)
    body = copy.deepcopy(body)
    module = ast.Module(with_size_loops(body, results) if guards else body, [])
    return ast.fix_missing_locations(compute_limits.Rewriter(guards).visit(module))


def _program(
    checked: CheckedCode,
    code: Code,
    saved: tuple[str, ...] = (),
    results: tuple[str, ...] = (),
) -> tuple[Any, dict[str, Any]]:
    from msopgen_wrap.spec.torch_names import BUILTIN_FUNCTIONS

    torch = _torch()
    from msopgen_wrap.spec.random_numbers import opgen  # imports torch

    try:
        tree = with_saved_values(rewritten(checked, True, results), saved, _SAVED_VALUE)
        program = compile(tree, FILE, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise OpgenError(
            Diagnostic("OPG041", f"compute does not compile: {error}", code.location)
        ) from error
    import builtins

    # torch's C++ side imports parts of torch through the calling frame's builtins.
    bare = {"__import__": _import_for_torch}
    namespace: dict[str, Any] = {"__builtins__": bare, "torch": torch, "math": math}
    namespace["F"] = torch.nn.functional
    namespace["opgen"] = opgen
    namespace.update({n: getattr(builtins, n) for n in BUILTIN_FUNCTIONS})
    namespace.update(compute_limits.HELPERS)
    namespace.update(SIZE_LOOP_HELPERS)
    namespace["round"] = compute_limits.rounded
    return program, namespace


def _torch() -> Any:
    from msopgen_wrap.torch_import import import_torch

    return import_torch()


def _import_for_torch(name: str, *args: Any, **kwargs: Any) -> Any:
    """Import parts of torch and what is loaded anyway; the spec's code cannot name this."""
    import builtins

    if name.split(".")[0] in ("torch", "torch_npu") or name in sys.modules:
        return builtins.__import__(name, *args, **kwargs)
    raise ImportError(f"compute may not import {name}")


def _bind(spec: OpSpec, inputs: Mapping[str, Any], attrs: Mapping[str, Any]) -> dict[str, Any]:
    torch = _torch()
    values: dict[str, Any] = {}
    for param in spec.inputs:
        value = inputs.get(param.name)
        if value is None and param.kind is not ParamKind.OPTIONAL:
            raise OpgenError(Diagnostic("OPG072", f"input '{param.name}' of {spec.op} is missing"))
        if value is None and param.default is not None:
            value = _default_tensor(spec, param, inputs, torch)
        values[param.name] = value
    for attr in spec.attrs:
        if attr.name in attrs:
            value = attrs[attr.name]
        elif attr.required:
            raise OpgenError(Diagnostic("OPG072", f"attr '{attr.name}' of {spec.op} is missing"))
        else:
            value = attr.default
        if attr.type == "dtype" and isinstance(value, str):
            value = getattr(torch, value)
        values[attr.name] = value
    return values


def _default_tensor(spec: OpSpec, param: TensorParam, inputs: Mapping[str, Any], torch: Any) -> Any:
    """Make the 0-dim tensor that stands for an absent input, in the dtype the combo gives it."""
    for other in spec.inputs:
        given = inputs.get(other.name)
        if given is None or other.dtypes != param.dtypes:
            continue
        sample = given[0] if isinstance(given, (list, tuple)) else given
        return torch.full((), param.default, dtype=sample.dtype, device=sample.device)
    return torch.full((), param.default, dtype=getattr(torch, param.dtypes[0]))


def _execute(program: Any, values: dict[str, Any], code: Code, wrap_errors: bool) -> None:
    try:
        # Tracing runs small samples, with sizes that must not be asked for.
        limits = compute_limits.watch(_torch(), values.values()) if wrap_errors else None
        with limits or contextlib.nullcontext(), _made_without_data(values):
            exec(program, values)
    except OpgenError:
        raise
    except compute_limits.LimitError as error:
        raise OpgenError(
            Diagnostic(
                "OPG046",
                str(error),
                error_place(code),
                why="evaluation of a spec must end, whatever it says",
                fix="compute it with fewer or smaller values",
            )
        ) from error
    except _USER_ERRORS as error:
        if not wrap_errors:
            raise
        raise OpgenError(
            Diagnostic(
                "OPG071",
                f"compute failed: {str(error).splitlines()[0] if str(error) else error!r}",
                error_place(code),
                why=f"torch raised {type(error).__name__}",
            )
        ) from error


def _made_without_data(values: Mapping[str, Any]) -> Any:
    """Return a context in which tensors made of nothing fit inputs that have no data.

    A formula that says ``torch.arange(5)`` means the device of its inputs.
    """
    torch = _torch()
    given = [v[0] if isinstance(v, list) and v else v for v in values.values()]
    if any(isinstance(v, torch.Tensor) and v.is_meta for v in given):
        return torch.device("meta")
    return contextlib.nullcontext()


def error_place(code: Code) -> Location:
    """Return the spec line whose evaluation raised the exception being handled."""
    frame = sys.exc_info()[2]
    line = 0
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == FILE:
            line = frame.tb_lineno
        frame = frame.tb_next
    return locate(code, line) if line else code.location


def _collect(
    spec: OpSpec, names: tuple[str, ...], values: dict[str, Any], is_expression: bool, code: Code
) -> Outputs:
    if not is_expression:
        result = {}
        for name in names:
            if name not in values:
                raise OpgenError(
                    Diagnostic("OPG071", f"compute gave no value to '{name}'", code.location)
                )
            result[name] = values[name]
    else:
        value = values[_RESULT]
        if len(names) == 1:
            result = {names[0]: value}
        elif isinstance(value, (tuple, list)) and len(value) == len(names):
            result = dict(zip(names, value, strict=True))
        else:
            count = len(value) if isinstance(value, (tuple, list)) else 1
            raise OpgenError(
                Diagnostic(
                    "OPG071",
                    f"compute gave {count} value(s) for {len(names)} outputs",
                    code.location,
                    fix=f"end with '{', '.join(names)}'",
                )
            )
    torch = _torch()
    for output in spec.outputs:
        result[output.name] = _as_output(output, result[output.name], torch, code)
    return result


def _as_output(output: TensorParam, value: Any, torch: Any, code: Code) -> Any:
    if output.kind is ParamKind.DYNAMIC:
        if isinstance(value, (list, tuple)) and all(torch.is_tensor(v) for v in value):
            return list(value)
        what = f"output '{output.name}' is a tensor list, compute gave {type(value).__name__}"
        raise OpgenError(Diagnostic("OPG071", what, code.location))
    # max(dim) and friends return a pair; a bare tuple for one output is a mistake worth naming.
    if not torch.is_tensor(value):
        what = f"output '{output.name}' is a tensor, compute gave {type(value).__name__}"
        raise OpgenError(Diagnostic("OPG071", what, code.location))
    return value
