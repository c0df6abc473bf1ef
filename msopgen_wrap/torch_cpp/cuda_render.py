"""Loop nests as CUDA kernels: elements in grid-stride loops, rows by one block each."""

from __future__ import annotations

import re
from collections.abc import Callable

from msopgen_wrap.torch_cpp.loop_function import KERNEL_MARK
from msopgen_wrap.torch_cpp.loop_reductions import INDEXED
from msopgen_wrap.torch_cpp.loop_values import FULL, ROW, Store, Value
from msopgen_wrap.torch_cpp.nest_render import Body, NestRender, number
from msopgen_wrap.torch_cpp.scalar_code import C_TYPES, FLOATS, Expr, cast

DECLARED, DEFINED = "D", "K"
_COMBINE = {
    "sum": "Plus",
    "mean": "Plus",
    "prod": "Times",
    "any": "Or",
    "all": "And",
    "max": "Larger",
    "min": "Smaller",
}


class ProductNest(Exception):
    """A matrix product, which has no kernel of rows."""


class _KernelBody(Body):
    """Statements of a kernel: numbers of the host are members of its argument."""

    def __init__(self, member: Callable[[Value], Expr], *args: object) -> None:
        self._member = member
        super().__init__(*args)  # type: ignore[arg-type]

    def written(self, value: Value) -> Expr:
        if value.kind == "number" and "literal" not in value.options:
            return self._member(value)
        return super().written(value)


def device_text(text: str) -> str:
    """Return C++ of an element with the device's types in place of torch's."""
    for own, device in (("at::Half", "__half"), ("at::BFloat16", "__nv_bfloat16")):
        text = text.replace(f"static_cast<float>({own}(", f"(gpu::RoundedTo<{device}>(")
        text = re.sub(rf"\b{own}\b", device, text)
    return text


class CudaNestRender(NestRender):
    """A nest as a kernel; the host code around it is that of the loops.

    Lines behind ``KERNEL_MARK`` go into the header of the op (``DECLARED``) and into its ``.cu``
    file (``DEFINED``).
    """

    def lines(self) -> list[str]:
        """Return the statements that allocate results and launch the kernel.

        Raises:
            ProductNest: the nest is a matrix product.
        """
        if self.nest.product:
            raise ProductNest
        self.members: dict[str, tuple[str, str]] = {}
        self.sources = [self.unique(f"{o.name}_data") for o in self.nest.operands]
        self.results = {s.tensor: self.unique(f"{s.tensor}_data") for s in self.nest.stores}
        return self._device_rows() if self.nest.has_rows else self._device_elements()

    def _body(
        self,
        targets: list[Value],
        load: Callable[[Value], str],
        known: dict[Value, Expr],
        level: str = FULL,
    ) -> Body:
        return _KernelBody(self._member, targets, load, known, level)

    def _member(self, value: Value) -> Expr:
        text = number(value).text
        if text not in self.members:
            name = text if text.isidentifier() and text != "layout" else self.unique("number")
            self.members[text] = (name, C_TYPES[value.dtype])
        return Expr(f"call.{self.members[text][0]}", value.dtype)

    def _written(self, made: Expr, store: Store) -> str:
        if C_TYPES[made.dtype] == store.storage and made.number is None:
            return made.text
        return f"gpu::Written<{store.storage}>({made.text})"

    # ---- elements ------------------------------------------------------------------------------

    def _device_elements(self) -> list[str]:
        nest = self.nest
        elements = self.unique("elements")
        lines, shape = self._element_head()
        lines.append(f"const loops::Elements {elements}({shape}, {{{', '.join(self.tensors)}}});")

        def load(value: Value) -> str:
            place = value.operand
            where = f"gpu::Offset(call.layout, {place}, i)"
            return f"gpu::Read(call.{self.sources[place]}[{where}])"

        body = self._body([s.value for s in nest.stores], load, {})
        step = self.unique("step")
        kernel = [
            f"const int64_t {step} = int64_t{{gridDim.x}} * blockDim.x;",
            "int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;",
            f"for (; i < call.layout.count; i += {step}) {{",
            *(f"    {line}" for line in body.lines),
            *(
                f"    call.{self.results[s.tensor]}[i] = {self._written(body.written(s.value), s)};"
                for s in nest.stores
            ),
            "}",
        ]
        results = {s.tensor: s.tensor for s in nest.stores}
        launch = ("ElementLayout", "count", "gpu::ElementBlocks(call.layout.count)")
        lines += self._launch(elements, results)
        return [*lines, *self._kernel_lines(*launch, "gpu::kElementThreads", kernel)]

    # ---- rows ----------------------------------------------------------------------------------

    def _device_rows(self) -> list[str]:
        nest = self.nest
        lines, rows, columns = self._row_head()
        # the loops' pointers to results are those of the argument here
        lines = [line for line in lines if "mutable_data_ptr" not in line]
        lines = [line for line in lines if not line.startswith(f"const int64_t {columns} =")]
        kernel = [
            f"const int64_t {columns} = call.layout.columns;",
            "for (int64_t row = blockIdx.x; row < call.layout.rows.count; row += gridDim.x) {",
            *(f"    {line}" for line in self._row_body(rows, columns)),
            "}",
        ]
        if not any(columns in line for line in kernel[1:]):
            kernel = kernel[1:]
        results = {s.tensor: self._memory(s) for s in nest.stores}
        launch = ("RowLayout", "rows.count", "gpu::RowBlocks(call.layout.rows.count)")
        lines += self._launch(rows, results)
        lines += self._kernel_lines(*launch, "gpu::RowThreads(call.layout.columns)", kernel)
        return [*lines, *self._row_results(rows)]

    def _row_start(self, rows: str, place: int, name: str) -> str:
        return f"int64_t {name} = gpu::Offset(call.layout.rows, {place}, row)"

    def _row_item(self, start: str, value: Value) -> str:
        place = value.operand
        if value.level != ROW:
            start = f"{start} + i * call.layout.steps[{place}]"
        return f"gpu::Read(call.{self.sources[place]}[{start}])"

    def _row_loop(self, columns: str) -> str:
        return f"for (int64_t i = threadIdx.x; i < {columns}; i += blockDim.x) {{"

    def _start(self, reduction: Value) -> list[str]:
        return [_start(reduction)]

    def _step(self, reduction: Value, item: Expr) -> list[str]:
        return [_step(reduction, item)]

    def _finish(self, reduction: Value, columns: str, known: dict[Value, Expr]) -> list[str]:
        return _finish(reduction, columns, known)

    def _stored(self, store: Store, place: str, made: Expr) -> str:
        return f"call.{self.results[store.tensor]}[{place}] = {self._written(made, store)};"

    def _row_stores(
        self, stores: list[Store], load: Callable[[Value], str], known: dict[Value, Expr]
    ) -> list[str]:
        body = self._body([], load, known)
        lines = [self._stored(s, "row", body.written(s.value)) for s in stores]
        return ["if (threadIdx.x == 0) {", *(f"    {line}" for line in lines), "}"]

    # ---- launches ------------------------------------------------------------------------------

    def _launch(self, loops: str, results: dict[str, str]) -> list[str]:
        """Return the host's statements that fill the argument of the kernel and launch it."""
        count = max(1, len(self.nest.operands))
        name = self.unique("arguments")
        types = ", ".join(f"gpu::Device<{t}>" for t in self.types)
        lines = [f"{self.name}Arguments{f'<{types}>' if types else ''} {name} = {{}};"]
        lines.append(f"{name}.layout = gpu::LayoutOf<{count}>({loops});")
        for place, operand in enumerate(self.nest.operands):
            source = f"gpu::Source<{operand.storage}>({loops}.nest(), {place})"
            lines.append(f"{name}.{self.sources[place]} = {source};")
        for store in self.nest.stores:
            made = f"gpu::Result<{store.storage}>({results[store.tensor]})"
            lines.append(f"{name}.{self.results[store.tensor]} = {made};")
        lines += [f"{name}.{member} = {text};" for text, (member, _) in self.members.items()]
        return [*lines, f"Launch{self.name}({name}, c10::cuda::getCurrentCUDAStream());"]

    def _kernel_lines(
        self, layout: str, count: str, blocks: str, threads: str, kernel: list[str]
    ) -> list[str]:
        """Return the marked lines: argument, kernel, launch, and a mark for its instances."""
        template = f"template <typename {', typename '.join(self.types)}>" if self.types else ""
        head = [template] if template else []
        arguments = f"{self.name}Arguments"
        typed = f"{arguments}<{', '.join(self.types)}>" if self.types else arguments
        declared = [
            "",
            *head,
            f"struct {arguments} {{",
            f"    gpu::{layout}<{max(1, len(self.nest.operands))}> layout;",
        ]
        for place, operand in enumerate(self.nest.operands):
            declared.append(f"    const {operand.storage}* {self.sources[place]};")
        for store in self.nest.stores:
            declared.append(f"    {store.storage}* {self.results[store.tensor]};")
        declared += [f"    {kind} {member};" for member, kind in self.members.values()]
        launch = f"void Launch{self.name}(const {typed}& call, cudaStream_t stream)"
        declared += ["};", "", *head, f"{launch};"]
        defined = [
            "",
            *head,
            f"__global__ void {self.name}Kernel(const {typed} call) {{",
            *(f"    {line}" for line in kernel),
            "}",
            "",
            *head,
            f"{launch} {{",
            f"    if (call.layout.{count} == 0) {{",
            "        return;",
            "    }",
            f"    const unsigned blocks = {blocks};",
            f"    const unsigned threads = {threads};",
            f"    {self.name}Kernel<<<blocks, threads, 0, stream>>>(call);",
            f'    gpu::CheckLaunch("{self.name}Kernel");',
            "}",
        ]
        if self.types:
            defined += ["", f"@INSTANCES {self.name}@"]
        marked = [(DECLARED, line) for line in declared] + [(DEFINED, line) for line in defined]
        return [f"{KERNEL_MARK}{kind}{device_text(line)}" for kind, line in marked]


# ---- reductions --------------------------------------------------------------------------------


def _total(reduction: Value) -> str:
    return f"{reduction.name}_part"


def _accumulator(reduction: Value) -> tuple[str, str]:
    """Return type and first value of what a thread adds to: float, and double for doubles."""
    dtype = reduction.args[0].dtype
    c_type = C_TYPES[dtype]
    kind = reduction.target
    if kind in ("sum", "mean", "prod"):
        floats = [d for d in (dtype, reduction.dtype) if d in FLOATS]
        wide = "double" if "float64" in floats else "float" if floats else "int64_t"
        return wide, "1" if kind == "prod" else "0"
    if kind in ("any", "all"):
        return "bool", "true" if kind == "all" else "false"
    if dtype in FLOATS:
        sign = "-" if kind == "max" else ""
        return c_type, f"{sign}std::numeric_limits<{c_type}>::infinity()"
    limit = "lowest" if kind == "max" else "max"
    return c_type, f"std::numeric_limits<{c_type}>::{limit}()"


def _start(reduction: Value) -> str:
    if reduction.target in INDEXED:
        kind = f"gpu::Place<{C_TYPES[reduction.args[0].dtype]}>"
        return f"{kind} {_total(reduction)} = {{0, -1}};"
    c_type, first = _accumulator(reduction)
    return f"{c_type} {_total(reduction)} = {first};"


def _step(reduction: Value, item: Expr) -> str:
    total, kind = _total(reduction), reduction.target
    if kind in INDEXED:
        place = f"gpu::Place<{C_TYPES[reduction.args[0].dtype]}>{{{item.text}, i}}"
        return f"{total} = {_combine(kind)}({total}, {place});"
    if kind in ("sum", "mean"):
        return f"{total} += {item.text};"
    if kind == "prod":
        return f"{total} *= {item.operand};"
    if kind in ("any", "all"):
        op = "||" if kind == "any" else "&&"
        return f"{total} = {total} {op} {cast(item, 'bool').operand};"
    name = "Maximum" if kind == "max" else "Minimum"
    return f"{total} = scalar::{name}({total}, {item.text});"


def _combine(kind: str) -> str:
    if kind in INDEXED:
        return "gpu::Largest()" if "max" in kind else "gpu::Smallest()"
    return f"gpu::{_COMBINE[kind]}()"


def _finish(reduction: Value, columns: str, known: dict[Value, Expr]) -> list[str]:
    total, kind, c_type = _total(reduction), reduction.target, C_TYPES[reduction.dtype]
    reduced = f"gpu::BlockReduce({total}, {_combine(kind)})"
    if kind in INDEXED:
        lines = [f"{total} = {reduced};"]
        index = f"{total}.index"
        if kind in ("argmax", "argmin"):
            known[reduction] = Expr(index, "int64")
            return lines
        known[reduction] = Expr(f"{total}.value", reduction.dtype)
        return [*lines, f"[[maybe_unused]] const int64_t {reduction.name}_index = {index};"]
    wide = _accumulator(reduction)[0]
    if kind == "mean":
        reduced = f"{reduced} / static_cast<{wide}>({columns})"
    if wide != c_type:
        reduced = f"static_cast<{c_type}>({reduced})"
    known[reduction] = Expr(reduction.name, reduction.dtype)
    return [f"const {c_type} {reduction.name} = {reduced};"]
