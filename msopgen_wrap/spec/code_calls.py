"""Check the calls of compute: builtins, torch functions and tensor methods."""

from __future__ import annotations

import ast

from msopgen_wrap.spec import torch_names as allowed
from msopgen_wrap.spec.code_names import NameChecker
from msopgen_wrap.spec.code_values import (
    ANY,
    BOOL,
    DEVICE,
    DTYPE,
    FLOAT,
    INFO,
    INT,
    MAX_SIZE,
    NONE,
    NUMBERS,
    ROOTS,
    SEQUENCES,
    SHAPE,
    STR,
    TENSOR,
    TENSORS,
    TUPLE,
    article,
    constant,
    dotted,
    functions_of,
)
from msopgen_wrap.spec.findings import suggestion


class CallChecker(NameChecker):
    """Adds calls."""

    # ---- calls ----

    def kind_Call(self, node: ast.Call) -> str:
        function = node.func
        path = dotted(function)
        if isinstance(function, ast.Name):
            return self.builtin_call(node, function)
        if path is not None and path.split(".")[0] in ROOTS:
            return self.module_call(node, path)
        if isinstance(function, ast.Attribute):
            return self.method_call(node, function)
        self.arguments(node, "")
        return self.refuse("OPG042", "only named functions can be called", function)

    def arguments(self, node: ast.Call, name: str) -> list[str]:
        kinds = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                self.kind(argument.value)
                kinds.append(ANY)
            else:
                kinds.append(self.kind(argument))
        for keyword in node.keywords:
            if keyword.arg is None:
                self.refuse("OPG042", "'**' arguments are not allowed", keyword.value)
                continue
            kind = self.kind(keyword.value)
            # Only the device of a tensor can be named, so nothing moves.
            harmless = keyword.arg == "device" and kind == DEVICE
            # no element is dropped
            harmless |= keyword.arg == "dropout_p" and _is_zero(keyword.value)
            if keyword.arg in allowed.REFUSED_KEYWORDS and not harmless:
                self.refuse(
                    "OPG042",
                    f"argument '{keyword.arg}=' is not allowed in compute",
                    keyword.value,
                    why="compute is functional and runs where its inputs are",
                )
        if name in allowed.SIZED_FUNCTIONS:
            self.sizes(node, name)
        return kinds

    def sizes(self, node: ast.Call, name: str) -> None:
        """Bound the element count that literal sizes ask for."""
        total = 1
        rest: list[ast.AST] = [*node.args, *(k.value for k in node.keywords)]
        while rest:
            part = rest.pop()
            value = constant(part)
            if value is None:
                rest.extend(ast.iter_child_nodes(part))
            else:
                total *= max(1, abs(value))
        if total > MAX_SIZE:
            self.refuse("OPG046", f"{name}() would make a tensor of {total} elements", node)

    def builtin_call(self, node: ast.Call, function: ast.Name) -> str:
        name = function.id
        if name not in allowed.BUILTIN_FUNCTIONS or name in self.kinds:
            if name in self.kinds:
                self.refuse("OPG045", f"'{name}' is a value and cannot be called", function)
            else:
                self.kind_Name(function)
            self.arguments(node, "")
            return ANY
        kinds = self.arguments(node, name)
        refused = self._refused_builtin(node, name, kinds)
        if refused is not None:
            return refused
        if name in ("len", "int"):
            return INT
        if name in ("float", "bool"):
            return name
        if name in ("list", "tuple"):
            return kinds[0] if kinds and kinds[0] in SEQUENCES else TUPLE
        if name == "sum":
            return TENSOR if kinds and kinds[0] in (TENSORS, TUPLE) else INT
        return kinds[0] if kinds and kinds[0] in (TENSOR, INT, FLOAT) else INT

    def _refused_builtin(self, node: ast.Call, name: str, kinds: list[str]) -> str | None:
        """Refuse a builtin on such arguments; None where it may be called."""
        if name in ("zip", "enumerate") and not self.loops:
            return self.refuse("OPG042", f"{name}() belongs into a comprehension", node)
        if name in ("float", "int", "bool") and TENSOR in kinds:
            return self.refuse(
                "OPG047",
                f"{name}() of a tensor reads its data",
                node,
                fix=f"use .{'to(torch.int64)' if name == 'int' else name + '()'}",
            )
        infinity = name == "float" and len(node.args) == 1 and _is_infinity(node.args[0])
        if name in ("int", "float") and STR in kinds and not infinity:
            return self.refuse("OPG042", f"{name}() of text is not allowed", node)
        if name in ("min", "max") and TENSOR in kinds:
            torch_name = "minimum" if name == "min" else "maximum"
            return self.refuse(
                "OPG047", f"Python's {name}() compares tensor data", node, fix=f"torch.{torch_name}"
            )
        return None

    def module_call(self, node: ast.Call, path: str) -> str:
        prefix, _, name = path.rpartition(".")
        kinds = self.arguments(node, name)
        if prefix == "math":
            if name not in allowed.MATH_FUNCTIONS:
                return self.unknown_function(node.func, path, allowed.MATH_FUNCTIONS)
            if TENSOR in kinds:
                fix = f"use torch.{name}" if name in allowed.TORCH_FUNCTIONS else ""
                return self.refuse("OPG047", f"{path}() of a tensor reads its data", node, fix=fix)
            return INT if name in ("ceil", "floor", "gcd", "prod") else FLOAT
        namespace = functions_of(prefix)
        if namespace is not None and _is_off(node, name):
            return TENSOR
        if namespace is None or name not in namespace:
            return self.unknown_function(node.func, path, frozenset())
        if prefix == "torch":
            if name in allowed.TORCH_INFO:
                return INFO
            if name == "numel":
                return INT
            if name in ("is_tensor", "is_floating_point"):
                return BOOL
        return TUPLE if name in allowed.TUPLE_FUNCTIONS else TENSOR

    def method_call(self, node: ast.Call, function: ast.Attribute) -> str:
        name = function.attr
        plain = self.plain_attribute(function)
        base = self.kind(function.value)
        kinds = self.arguments(node, name)
        if not plain:
            return ANY
        if base in (STR, INT, FLOAT, BOOL, NONE, DTYPE, DEVICE, SHAPE, NUMBERS, TENSORS, TUPLE):
            if base == SHAPE and name == "numel":
                return INT
            return self.refuse("OPG045", f"{article(base)} has no method '.{name}()'", function)
        if name not in allowed.TENSOR_METHODS:
            if name in allowed.RANDOM_NAMES or name.rstrip("_") in allowed.RANDOM_NAMES:
                return self.unknown_function(function, f"torch.{name.rstrip('_')}", frozenset())
            # After another refusal the base is no tensor for sure; a near name would mislead.
            near = allowed.TENSOR_METHODS | allowed.TENSOR_PROPERTIES
            fix = suggestion(name, near) if base != ANY else ""
            why = ""
            if name.endswith("_"):
                why = "methods that end in '_' write in place; compute is functional"
                fix = f"use '.{name.rstrip('_')}()'; mark the output with 'inplace:'"
            elif name in ("item", "tolist", "numpy"):
                why, fix = "it reads tensor data on the host", "keep it a tensor"
            elif name in allowed.TENSOR_PROPERTIES:
                fix = f"'.{name}' is not called"
            elif name in allowed.TORCH_NAMESPACES["torch.nn.functional"]:
                fix = f"write F.{name}(x)"
            return self.refuse(
                "OPG045", f"'.{name}()' is not allowed in compute", function, why, fix
            )
        if STR in kinds and name in ("to", "view"):
            return self.refuse("OPG045", f"'.{name}()' with text is not allowed", node)
        if name == "size":
            return INT if node.args or node.keywords else SHAPE
        if name in ("dim", "numel", "ndimension"):
            return INT
        if name == "stride":
            return INT if node.args else SHAPE
        if name == "is_floating_point":
            return BOOL
        return TUPLE if name in allowed.TUPLE_FUNCTIONS else TENSOR


def _is_infinity(node: ast.expr) -> bool:
    """Whether the node is a text that float() turns into inf or nan, a common idiom."""
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, str) and value.lstrip("+-") in ("inf", "infinity", "nan")


def _is_off(node: ast.Call, name: str) -> bool:
    """Whether a call of a function that is random in training says that nothing is trained."""
    position = allowed.RANDOM_IN_TRAINING.get(name)
    if position is None:
        return False
    flags = [k.value for k in node.keywords if k.arg in ("training", "train")]
    flags += node.args[position : position + 1]
    return len(flags) == 1 and isinstance(flags[0], ast.Constant) and flags[0].value is False


def _is_zero(node: ast.expr) -> bool:
    """Whether an argument is a literal zero."""
    return isinstance(node, ast.Constant) and type(node.value) in (int, float) and not node.value
