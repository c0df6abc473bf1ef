#!/usr/bin/env python3
"""Derive from torch's operator schemas which of its functions a spec may call.

    python scripts/derive_torch_names.py            writes msopgen_wrap/spec/torch_operators.json
    python scripts/derive_torch_names.py --why as_strided from_file dropout

A public name of ``torch``, ``torch.nn.functional``, ``torch.special``, ``torch.linalg``,
``torch.fft`` or of tensors is allowed when an overload of its ATen operator writes none of its
arguments, takes no generator, gives tensors only, has a kernel for the CPU, and is tagged neither
as random nor as one whose result has a size that depends on data. Functions of
``torch.nn.functional`` that are written in Python take a tensor and are not tagged as random;
those of ``torch.masked`` take a mask; those of ``torch.nn.grad`` are the gradients of
convolutions. ``DENIED`` lists the exceptions with reasons.

The table is committed because ``opgen check`` reads specs without importing torch; a test derives
it again and compares.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

TABLE = Path(__file__).resolve().parent.parent / "msopgen_wrap" / "spec" / "torch_operators.json"

# Reason -> names, as patterns of whole names.
DENIED = {
    "it belongs to one backend or to another library": (
        r"(cudnn|miopen|mkldnn|fbgemm|quantized)_.*|_?to_mkldnn"
    ),
    "its result is uninitialised memory": r"(new_)?empty(_like|_permuted|_strided|_quantized)?",
    "it changes the memory of a tensor": r"resize(_as)?|rename|wait",
    "it reads a tensor by addresses": r"as_strided(_copy|_scatter)?|slice_inverse",
    "it reads a file": r"from_file",
    "it moves a tensor to another device or memory": r"cpu|cuda|pin_memory",
    "it makes or reads sparse tensors": (
        r"sparse_.*|to_sparse.*|to_dense|to_padded_tensor|coalesce|hspmm|smm|sspaddmm|segment_reduce"
        r"|(ccol_|col_|crow_|row_)?indices(_copy)?|values(_copy)?"
    ),
    "it makes or reads quantised tensors": (
        r"quantize_.*|dequantize|int_repr|q_.*|choose_qparams_optimized"
    ),
    "it gives complex numbers, which AscendC kernels do not have": (
        r"chalf|complex|polar|view_as_complex(_copy)?|eig|eigvals|stft|istft|i?[rh]?fft[2n]?"
    ),
    "it is a helper of normalisations across devices": r"batch_norm_.*",
    "it is a test by bits, not a function of values": r"hash_tensor",
    "it takes a function": r"triplet_margin_with_distance_loss",
    "it is random by its defaults": (
        r"(feature_)?(alpha_)?dropout[123]?d?|fractional_max_pool.*|gumbel_softmax|rrelu"
        r"|multi_head_attention_forward"
    ),
    "it needs a device of one vendor": r"(scaled_)?grouped_mm|scaled_mm",
    "torch deprecates it": r"range",
}

# Allowed although the rule leaves them out, with the reason.
ALSO = {
    "torch": {"tensor": "a constant; TorchScript's operator of that name is no ATen operator"},
    "torch.nn.functional": {
        "logsigmoid": "its operator is called log_sigmoid",
        "one_hot": "its size depends on data only where num_classes is left out",
        "scaled_dot_product_attention": "random only with dropout_p, which is refused",
    },
}

RANDOM = ("nondeterministic_seeded",)
DATA_SIZED = ("dynamic_output_shape", "data_dependent_output")
SPACES = {
    "torch": "",
    "torch.special": "special_",
    "torch.linalg": "linalg_",
    "torch.fft": "fft_",
}


def refusal(schema: Any, tags: set[str]) -> str:
    """Return why an overload cannot be called, an empty text when it can."""
    if schema.is_mutable or any(a.is_out for a in schema.arguments):
        return "writes an argument"
    if not schema.returns or not all("Tensor" in str(r.type) for r in schema.returns):
        return "gives no tensor"
    if any("Generator" in str(a.type) for a in schema.arguments) or tags & set(RANDOM):
        return "is random"
    if tags & set(DATA_SIZED):
        return "has a result whose size depends on data"
    return ""


def denied(name: str) -> str:
    """Return why a name is on the deny-list, an empty text when it is not."""
    for reason, pattern in DENIED.items():
        if re.fullmatch(pattern, name):
            return reason
    return ""


class Schemas:
    """The ATen operators of the installed torch."""

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.overloads: dict[str, list[Any]] = {}
        for schema in torch._C._jit_get_all_schemas():
            space, _, name = schema.name.partition("::")
            if space == "aten":
                self.overloads.setdefault(name, []).append(schema)

    def usable(self, name: str) -> tuple[list[Any], list[str]]:
        """Return the overloads of an operator that may be called, and why others may not."""
        good, reasons = [], []
        for schema in self.overloads.get(name, []):
            packet = getattr(self.torch.ops.aten, name, None)
            overload = getattr(packet, schema.overload_name or "default", None)
            if overload is None:
                continue
            reason = refusal(schema, {t.name for t in overload.tags})
            if not reason and not self._has_cpu_kernel(schema):
                reason = "has no kernel for the CPU"
            if reason:
                reasons.append(reason)
            else:
                good.append(schema)
        return good, reasons

    def _has_cpu_kernel(self, schema: Any) -> bool:
        name = schema.name + ("." + schema.overload_name if schema.overload_name else "")
        if not self.torch._C._dispatch_has_kernel(name):
            return False  # of TorchScript, not an operator
        has = self.torch._C._dispatch_has_kernel_for_dispatch_key
        keys = ("CPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd")
        return any(has(name, key) for key in (*keys, "CompositeExplicitAutogradNonFunctional"))

    def bounded(self, name: str) -> bool:
        """Whether no result has more elements than the operands broadcast together."""
        packet = getattr(self.torch.ops.aten, name)
        overloads = [getattr(packet, s.overload_name or "default") for s in self.usable(name)[0]]
        tags = [{t.name for t in overload.tags} for overload in overloads]
        return bool(tags) and all("pointwise" in t or "reduction" in t for t in tags)


def result_kind(overloads: list[Any]) -> str:
    """Return ``tensor``, or ``tuple`` when every overload gives several."""
    single = [len(s.returns) == 1 and str(s.returns[0].type) == "Tensor" for s in overloads]
    return "tensor" if any(single) else "tuple"


def public(space: Any) -> list[str]:
    """Names of a module or class that are callable, not private and not in-place."""
    names = {n: getattr(space, n) for n in dir(space) if n[0] != "_" and n[-1] != "_"}
    return [n for n, value in names.items() if callable(value) and not inspect.isclass(value)]


def takes_tensor(function: Any) -> bool:
    """Whether the first parameter of a function of F is a tensor; unknown counts as one."""
    try:
        first = next(iter(inspect.signature(function).parameters.values()), None)
    except ValueError:
        return True  # a builtin; its schema was looked at
    if first is None or first.kind is first.VAR_POSITIONAL:
        return first is not None
    plain = first.annotation is first.empty and first.name == "input"
    return plain or "Tensor" in str(first.annotation)


def derive() -> dict[str, dict[str, str]]:
    """Return space (``torch``, ``torch.nn.functional``, ..., ``method``) -> name -> result kind."""
    import torch

    schemas = Schemas()
    table: dict[str, dict[str, str]] = {}
    for space, prefix in SPACES.items():
        module = torch if space == "torch" else getattr(torch, space.rpartition(".")[2])
        row = {}
        for name in public(module):
            good = schemas.usable(prefix + name)[0] or schemas.usable(name)[0]
            if good and not denied(name):
                row[name] = result_kind(good)
        table[space] = row
    table["method"] = {}
    for name in public(torch.Tensor):
        good = [s for s in schemas.usable(name)[0] if s.arguments and s.arguments[0].name == "self"]
        if good and not denied(name):
            table["method"][name] = result_kind(good)
    table["torch.nn.functional"] = functionals(schemas)
    table["torch.masked"] = dict.fromkeys(masked_functions(), "tensor")
    table["torch.nn.grad"] = dict.fromkeys(convolution_gradients(), "tensor")
    for space, names in ALSO.items():
        table[space].update(dict.fromkeys(names, "tensor"))
    table["bounded"] = {
        n: "" for n in sorted({*table["torch"], *table["method"]}) if schemas.bounded(n)
    }
    return {space: dict(sorted(row.items())) for space, row in table.items()}


def functionals(schemas: Schemas) -> dict[str, str]:
    """Return the functions of torch.nn.functional and what they give."""
    from torch.nn import functional

    row = {}
    for name in public(functional):
        function = getattr(functional, name)
        home = getattr(function, "__module__", None)
        if denied(name) or home not in (functional.__name__, "torch", "torch._C._nn"):
            continue
        good, reasons = schemas.usable(name)
        if home == functional.__name__ and (not takes_tensor(function) or "is random" in reasons):
            continue
        if home != functional.__name__ and not good:
            continue
        row[name] = "tuple" if name.endswith("_with_indices") else "tensor"
    return row


def masked_functions() -> list[str]:
    """Return the functions of torch.masked on plain tensors: those that take a mask by name."""
    from torch import masked

    return [
        name
        for name in public(masked)
        if any(p.endswith("mask") for p in inspect.signature(getattr(masked, name)).parameters)
        and takes_tensor(getattr(masked, name))
        and "masked_tensor" not in name
    ]


def convolution_gradients() -> list[str]:
    """Return the functions of torch.nn.grad: each gives one gradient of a convolution."""
    from torch.nn import grad

    return [name for name in public(grad) if re.fullmatch(r"conv[123]d_(input|weight)", name)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--why", nargs="+", default=[], help="say why these names are left out")
    options = parser.parse_args()
    if options.why:
        schemas = Schemas()
        for name in options.why:
            good, reasons = schemas.usable(name)
            why = denied(name) or ("" if good else ", ".join(dict.fromkeys(reasons)))
            print(f"{name}: {why or ('allowed' if good else 'no ATen operator of that name')}")
        return 0
    table = derive()
    TABLE.write_text(json.dumps(table, indent=0, sort_keys=True) + "\n")
    print({space: len(row) for space, row in table.items()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
