"""Write ``compute`` as the source of a plain Python function."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.spec.asked_gradients import asked_outputs, source_outputs
from msopgen_wrap.spec.compute_runner import checked_code, compute_scope, rewritten
from msopgen_wrap.spec.differentiation import forward_of
from msopgen_wrap.spec.gradient import PREFIX
from msopgen_wrap.spec.model import Attr, OpSpec, ParamKind
from msopgen_wrap.spec.saved_outputs import SAVED, with_saved_values


def function_source(
    spec: OpSpec, name: str = "reference", *, bound: bool = False, from_saved: bool = False
) -> str:
    """Return ``compute`` as the source of a plain Python function over torch, F and math.

    Inputs are positional parameters (optional ones default to None), attrs keyword-only ones with
    their defaults, dtype attrs are torch dtypes. In-place operators are already rewritten, so the
    function never writes its inputs. One output is returned bare, several as a tuple. The gradient
    of a formula calls ``_vjp``, which is ``vjp`` of the package's ``_runtime.gradients``.

    Args:
        bound: leave the attrs out of the parameters: they are names around the function.
        from_saved: the outputs under ``save`` are parameters behind the inputs, as
            ``saved_<output>``; ``_saved`` of the package's ``_runtime.gradients`` puts them in the
            place of what is computed.
    """
    if spec.compute is None:
        raise OpgenError(Diagnostic("OPG040", f"{spec.op} has no compute"))
    if spec.differentiated:
        return _gradient_source(spec, name)
    checked = checked_code(spec.compute, compute_scope(spec))
    tree = rewritten(checked, guards=False)
    names = [p.name for p in spec.outputs]
    saved = spec.save if from_saved else ()
    if saved and checked.is_expression:
        tree.body[-1] = _named(tree.body[-1], names)
    tree = with_saved_values(tree, saved, "_saved")
    lines = [ast.unparse(ast.fix_missing_locations(s)) for s in tree.body]
    if checked.is_expression and not saved:
        last = lines.pop()
        lines.append("return " + last.split(" = ", 1)[1])
    else:
        lines.append("return " + ", ".join(names))
    defaults = [
        f"if {p.name} is None:\n    {p.name} = torch.tensor({p.default!r})"
        for p in spec.inputs
        if p.kind is ParamKind.OPTIONAL and p.default is not None
    ]
    params = _input_parameters(spec, saved)
    if not bound:
        params += _attr_parameters(spec)
    body = "\n".join([*defaults, *lines])
    return f"def {name}({', '.join(params)}):\n{_indented(body)}\n"


def _named(statement: ast.stmt, names: list[str]) -> ast.stmt:
    """Return the assignment of a formula's value, written as one to the outputs."""
    assert isinstance(statement, ast.Assign)
    stored: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
    target = stored[0] if len(stored) == 1 else ast.Tuple(stored, ast.Store())
    return ast.copy_location(ast.Assign([target], statement.value), statement)


def _input_parameters(spec: OpSpec, saved: Sequence[str] = ()) -> list[str]:
    params = [f"{p.name}=None" if p.kind is ParamKind.OPTIONAL else p.name for p in spec.inputs]
    # A Python default cannot be followed by a parameter without one; pass those by keyword value.
    seen_optional = False
    for i, p in enumerate(spec.inputs):
        if p.kind is ParamKind.OPTIONAL:
            seen_optional = True
        elif seen_optional:
            params[i] = f"{p.name}=None"
    return params + [f"{SAVED}{name}" + "=None" * seen_optional for name in saved]


def _attr_parameters(spec: OpSpec) -> list[str]:
    if not spec.attrs:
        return []
    return ["*", *(a.name if a.required else f"{a.name}={_literal(a)}" for a in spec.attrs)]


def _indented(text: str) -> str:
    return "\n".join("    " + row if row else row for row in text.split("\n"))


def _gradient_source(spec: OpSpec, name: str) -> str:
    """Return the gradients of a forward formula as a function; ``_vjp`` is ``gradients.vjp``."""
    forward = forward_of(spec)
    inner = function_source(forward, "forward", bound=True, from_saved=True).rstrip("\n")
    inputs = [p.name for p in forward.inputs]
    grads = [f"{PREFIX}{output.name}" for output in forward.outputs]
    places = [inputs.index(p.name.removeprefix(PREFIX)) for p in spec.outputs]
    first = _first_tensor(forward, grads)
    own = {a.name for a in forward.attrs}
    asking = next((a for a in spec.attrs if a.name not in own), None)
    given = list(grads)
    if asking is not None:
        for place, output in enumerate(forward.outputs):
            served = [v for v in asking.allowed or () if _arrives(output.name, v)]
            if len(served) < len(asking.allowed or ()):
                given[place] += f" if {asking.name} in {tuple(served)!r} else None"
    conditions = ["True"] * len(inputs)
    taken = []
    for place, output in zip(places, spec.outputs, strict=True):
        text = f"_grads[{place}]"
        if forward.inputs[place].kind is ParamKind.OPTIONAL:
            text += f" if {inputs[place]} is not None else {first}.new_zeros(())"
        if asking is not None:
            wanted = [v for v in asking.allowed or () if output.name in _asked(spec, asking, v)]
            conditions[place] = f"({asking.name} in {tuple(wanted)!r})"
            empty = f"{first}.new_zeros((0,))"
            text = f"{empty} if not {conditions[place]} else {text}"
        taken.append(text)
    arguments = f"forward, [{', '.join(inputs)}], [{', '.join(given)}]"
    if asking is not None:
        arguments += f", [{', '.join(conditions)}]"
    if forward.save:
        arguments += f", saved=[{', '.join(SAVED + name for name in forward.save)}]"
    body = [inner, "", f"_grads = _vjp({arguments})", f"return {', '.join(taken)}"]
    heading = ", ".join([*_input_parameters(spec), *_attr_parameters(spec)])
    return f"def {name}({heading}):\n{_indented(chr(10).join(body))}\n"


def _asked(spec: OpSpec, asking: Attr, value: Any) -> frozenset[str]:
    return asked_outputs(spec, {asking.name: value})


def _arrives(output: str, value: Any) -> bool:
    """Whether the gradient of an output arrives with a value of the attr that asks."""
    return not (sources := source_outputs(value)) or output in sources


def _first_tensor(forward: OpSpec, grads: list[str]) -> str:
    return grads[0] + ("[0]" if forward.outputs[0].kind is ParamKind.DYNAMIC else "")


def _literal(attr: Any) -> str:
    if attr.type == "dtype":
        return f"torch.{attr.default}"
    if attr.type in ("list_int", "list_float"):
        return repr(tuple(attr.default))
    if isinstance(attr.default, float) and not math.isfinite(attr.default):
        return f"float('{attr.default}')"
    return repr(attr.default)
