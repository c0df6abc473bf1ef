"""``csrc/cuda/<op>*``: the CUDA kernels of an op, and the function that torch calls for them."""

from __future__ import annotations

import re

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.templating import cpp_comment, render_template
from msopgen_wrap.torch_cpp.cuda_render import (
    DECLARED,
    DEFINED,
    CudaNestRender,
    ProductNest,
    device_text,
)
from msopgen_wrap.torch_cpp.loop_function import LoopFunction, loop_functions
from msopgen_wrap.torch_cpp.op_source import render_source
from msopgen_wrap.torch_cpp.signatures import wrapped


def cuda_functions(spec: OpSpec) -> list[LoopFunction]:
    """Return the functions that launch the kernels of an op.

    Raises:
        OpgenError: OPG580 for a matrix product, and what ``loop_functions`` refuses.
    """
    try:
        return loop_functions(spec, CudaNestRender, "Cuda")
    except ProductNest:
        raise OpgenError(
            Diagnostic(
                "OPG580",
                f"the matrix product of {spec.op} has no CUDA kernel",
                spec.compute.location if spec.compute else Location(spec.path),
                "a kernel of torch-cuda runs over elements or along rows; a product that a block "
                "of threads shares well is another kind of kernel",
                "--backend torch-cpp writes it as plain loops for a CPU",
            )
        ) from None


def render_cuda(
    spec: OpSpec, source: str, namespace: str, functions: list[LoopFunction]
) -> list[GeneratedFile]:
    """Return the files of an op: kernels, their launches' declarations, and the dispatch."""
    declared, defined = [], []
    for function in functions:
        for line in function.kernels:
            kind, text = line[0], line[1:]
            if kind == DECLARED:
                declared.append(text)
            elif kind == DEFINED and (found := re.fullmatch(r"@INSTANCES (\w+)@", text)):
                defined += _instances(function, found[1])
            else:
                defined.append(text)
    folder = f"csrc/cuda/{spec.name}"
    doc = cpp_comment(" ".join(spec.doc.split()) or spec.op)
    header = render_template(
        "torch_cuda/op_kernels.h", source=source, spec=spec, declarations=declared
    )
    kernels = render_template(
        "torch_cuda/op.cu", source=source, spec=spec, doc=doc, definitions=defined
    )
    host = render_source(spec, source, namespace, functions, "torch_cuda/op_cuda.cpp")
    return [
        GeneratedFile(f"{folder}.cu", wrapped(kernels)),
        GeneratedFile(f"{folder}_kernels.h", wrapped(header)),
        GeneratedFile(f"{folder}_cuda.cpp", host),
    ]


def _instances(function: LoopFunction, name: str) -> list[str]:
    lines = dict.fromkeys(
        f"template void Launch{name}(const {name}Arguments<{', '.join(types)}>&, cudaStream_t);"
        for types in (function.arguments[combo] for combo in function.combos)
    )
    return [device_text(line) for line in lines]
