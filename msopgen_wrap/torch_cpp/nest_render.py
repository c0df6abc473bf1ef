"""Loop nests as C++ for a CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from msopgen_wrap.torch_cpp.loop_reductions import INDEXED, finish, known_value, start, step
from msopgen_wrap.torch_cpp.loop_values import FULL, ROW, LoopNest, Store, Value
from msopgen_wrap.torch_cpp.scalar_code import (
    C_TYPES,
    SCALAR_CALLS,
    Expr,
    cast,
    literal,
)

# An expression of this length gets a local variable.
LONGEST = 48


def expression(value: Value, written: Callable[[Value], Expr]) -> Expr:
    """Return the expression of a call, where ``written`` gives those of its arguments."""
    options = {k: written(v) if isinstance(v, Value) else v for k, v in value.options.items()}
    args = [None if a.kind == "absent" else written(a) for a in value.args]
    return SCALAR_CALLS[value.target](args, value.dtype, options)  # type: ignore[arg-type]


def number(value: Value) -> Expr:
    """Return a number: a literal, or C++ that runs before the loops."""
    if "literal" in value.options:
        known = value.options["literal"]
        return replace(literal(known, value.dtype), number=known)
    return Expr(value.target, value.dtype, value.target.isidentifier())


class _Needs:
    """Which values a loop computes, each after its arguments, and how often each is used."""

    def __init__(self, targets: Iterable[Value], level: str) -> None:
        self.order: list[Value] = []
        self.uses: dict[Value, int] = {}
        self.level = level
        for target in targets:
            self._visit(target)

    def _visit(self, value: Value) -> None:
        if value.level != self.level or value.kind in ("number", "absent", "reduction"):
            return
        self.uses[value] = self.uses.get(value, 0) + 1
        if self.uses[value] > 1:
            return
        for argument in arguments(value):
            self._visit(argument)
        self.order.append(value)


def arguments(value: Value) -> list[Value]:
    """Return the values that a call reads."""
    return [*value.args, *(v for v in value.options.values() if isinstance(v, Value))]


class Body:
    """Statements of one loop body: the values that ``targets`` need, as local variables.

    Args:
        load: returns the C++ that reads an operand.
        known: expressions of values that exist before.
    """

    def __init__(
        self,
        targets: list[Value],
        load: Callable[[Value], str],
        known: dict[Value, Expr],
        level: str = FULL,
    ) -> None:
        self.lines: list[str] = []
        self.known = dict(known)
        needs = _Needs(targets, level)
        direct = {id(t) for t in targets}
        for value in needs.order:
            if value in self.known:
                continue
            if value.kind == "load":
                made = Expr(load(value), value.dtype)
            else:
                made = expression(value, self.written)
            named = value.kind == "load" or needs.uses[value] > 1 or len(made.text) > LONGEST
            if named and not (
                id(value) in direct and needs.uses[value] == 1 and value.kind != "load"
            ):
                made = _cast_float(made, value.dtype)
                self.lines.append(f"const {C_TYPES[value.dtype]} {value.name} = {made.text};")
                made = Expr(value.name, value.dtype)
            self.known[value] = made

    def written(self, value: Value) -> Expr:
        """Return the expression of a value."""
        if value.kind == "number":
            return number(value)
        return known_value(self.known, value)


def _cast_float(made: Expr, dtype: str) -> Expr:
    return made if made.dtype == dtype else cast(made, dtype)


def converted(made: Expr, storage: str) -> str:
    """Return the text of an expression as an element of a tensor."""
    if made.number is not None and storage in C_TYPES.values():
        return literal(made.number, next(d for d, c in C_TYPES.items() if c == storage)).text
    if C_TYPES[made.dtype] == storage:
        return made.text
    return f"static_cast<{storage}>({made.text})"


class NestRender:
    """C++ of one nest.

    Args:
        nest: what to render.
        shape: C++ of the sizes of loops over elements; empty: the common shape of what is read.
        axes: C++ of the axes of the rows.
        unique: returns an unused C++ name for a wish.
        name: C++ name that is the nest's own.
        types: template parameters of the function that the nest is in.
    """

    def __init__(
        self,
        nest: LoopNest,
        op: str,
        shape: str,
        axes: str,
        unique: Callable[[str], str],
        name: str,
        types: tuple[str, ...],
    ) -> None:
        self.nest, self.op, self.shape, self.axes, self.unique = nest, op, shape, axes, unique
        self.name, self.types = name, types
        self.tensors: list[str] = []

    def lines(self) -> list[str]:
        """Return the statements that make the tensors of the nest."""
        return self._row_lines() if self.nest.has_rows else self._element_lines()

    def _body(
        self,
        targets: list[Value],
        load: Callable[[Value], str],
        known: dict[Value, Expr],
        level: str = FULL,
    ) -> Body:
        return Body(targets, load, known, level)

    # ---- elements ------------------------------------------------------------------------------

    def _element_head(self) -> tuple[list[str], str]:
        """Return the statements that allocate the results, and C++ of the shape."""
        nest = self.nest
        shape = self.shape
        if not shape:
            shape = self.unique("sizes")
        lines = self._operand_lines()
        if not self.shape:
            listed = ", ".join(self.tensors)
            lines.append(f"const loops::Sizes {shape} = loops::CommonShape({{{listed}}});")
        for store in nest.stores:
            made = f"loops::Empty<{store.storage}>({shape}, options)"
            lines.append(f"const at::Tensor {store.tensor} = {made};")
        return lines, shape

    def _element_lines(self) -> list[str]:
        nest = self.nest
        elements = self.unique("elements")
        lines, shape = self._element_head()
        tensors = [*self.tensors, *(s.tensor for s in nest.stores)]
        lines.append(f"const loops::Elements {elements}({shape}, {{{', '.join(tensors)}}});")
        lines.append(f"{elements}.ForEachRun([&](const loops::Run& run) {{")
        pointers = {}
        for place, operand in enumerate(nest.operands):
            pointers[place] = self.unique(f"{operand.name}_in")
            lines.append(
                f"    const auto {pointers[place]} = run.at<const {operand.storage}>({place});"
            )
        outputs = []
        for place, store in enumerate(nest.stores, len(nest.operands)):
            outputs.append(self.unique(f"{store.tensor}_out"))
            lines.append(f"    const auto {outputs[-1]} = run.at<{store.storage}>({place});")
        body = self._body([s.value for s in nest.stores], lambda v: f"{pointers[v.operand]}[i]", {})
        lines.append("    for (int64_t i = 0; i < run.length; ++i) {")
        lines += [f"        {line}" for line in body.lines]
        for name, store in zip(outputs, nest.stores, strict=True):
            text = converted(body.written(store.value), store.storage)
            lines.append(f"        {name}[i] = {text};")
        return [*lines, "    }", "});"]

    def _operand_lines(self) -> list[str]:
        """Name the tensors that are read, in ``self.tensors``; return what makes their views."""
        lines = []
        for operand in self.nest.operands:
            name = operand.text
            if not name.isidentifier():
                name = self.unique(f"{operand.name}_view")
                lines.append(f"const at::Tensor {name} = {operand.text};")
            self.tensors.append(name)
        return lines

    # ---- rows ----------------------------------------------------------------------------------

    def _row_lines(self) -> list[str]:
        lines, rows, columns = self._row_head()
        lines.append(f"{rows}.ForEachRow([&](int64_t row) {{")
        lines += [f"    {line}" for line in self._row_body(rows, columns)]
        lines.append("});")
        return [*lines, *self._row_results(rows)]

    def _row_head(self) -> tuple[list[str], str, str]:
        """Return the statements before the loops, and the names of the rows and their length."""
        nest = self.nest
        rows = self.unique("rows")
        shape = self.unique("sizes")
        lines = self._operand_lines()
        lines.append(f"const loops::Sizes {shape} = loops::CommonShape({{{self._domain(0)}}});")
        seen = {nest.domains[0]}
        for place, domain in enumerate(nest.domains):
            if domain not in seen:
                seen.add(domain)
                common = f"loops::CommonShape({{{self._domain(place)}}})"
                lines.append(f'loops::CheckRows("{self.op}", {common}, {shape});')
        listed = ", ".join(self.tensors)
        lines.append(f"const loops::Rows {rows}({shape}, {self.axes}, {{{listed}}});")
        columns = self.unique("columns")
        lines.append(f"const int64_t {columns} = {rows}.columns();")
        if any(r.target in ("max", "min", *INDEXED) for r in nest.reductions):
            lines.append(f'{rows}.CheckColumns("{self.op}");')
        for store in nest.stores:
            make = "Empty" if store.value.level == FULL else "EmptyColumn"
            made = f"{rows}.{make}<{store.storage}>(options)"
            lines.append(f"const at::Tensor {self._memory(store)} = {made};")
            data = f"{self._memory(store)}.mutable_data_ptr<{store.storage}>()"
            lines.append(f"{store.storage}* const {store.tensor}_data = {data};")
        return lines, rows, columns

    def _row_results(self, rows: str) -> list[str]:
        """Return the statements that name the results by their shapes."""
        lines = []
        for store in self.nest.stores:
            if store.value.level == FULL:
                text = f"{rows}.Restored({self._memory(store)})"
            elif store.output:
                text = self._memory(store)
            else:
                keep = "true" if store.keepdim else "false"
                text = f"{rows}.RestoredColumn({self._memory(store)}, {keep})"
            lines.append(f"const at::Tensor {store.tensor} = {text};")
        return lines

    def _memory(self, store: Store) -> str:
        return f"{store.tensor}_memory"

    def _domain(self, place: int) -> str:
        return ", ".join(self.tensors[i] for i in sorted(self.nest.domains[place]))

    def _row_body(self, rows: str, columns: str) -> list[str]:
        """Return the statements of one row: reductions by depth, then what every element gets."""
        nest = self.nest
        lines: list[str] = []
        pointers = []
        for place, operand in enumerate(nest.operands):
            pointers.append(self.unique(f"{operand.name}_row"))
            lines.append(f"const {self._row_start(rows, place, pointers[-1])};")
        known: dict[Value, Expr] = {}

        def load(value: Value) -> str:
            return self._row_item(pointers[value.operand], value)

        full = [s.value for s in nest.stores if s.value.level == FULL]
        single = [s.value for s in nest.stores if s.value.level == ROW]
        loop = self._row_loop(columns)
        lines += self._row_values(0, full, single, load, known)
        for depth in range(1, max(r.depth for r in nest.reductions) + 1):
            group = [r for r in nest.reductions if r.depth == depth]
            for reduction in group:
                lines += self._start(reduction)
            lines.append(loop)
            body = self._body([r.args[0] for r in group], load, known)
            lines += [f"    {line}" for line in body.lines]
            for reduction in group:
                item = body.written(reduction.args[0])
                lines += [f"    {line}" for line in self._step(reduction, item)]
            lines.append("}")
            for reduction in group:
                lines += self._finish(reduction, columns, known)
            lines += self._row_values(depth, full, single, load, known)
        if full:
            lines.append(loop)
            body = self._body(full, load, known)
            lines += [f"    {line}" for line in body.lines]
            for store in nest.stores:
                if store.value.level == FULL:
                    made = body.written(store.value)
                    lines.append(f"    {self._stored(store, f'row * {columns} + i', made)}")
            lines.append("}")
        rest = [s for s in nest.stores if s.value.level == ROW]
        return [*lines, *(self._row_stores(rest, load, known) if rest else [])]

    # ---- what a row is made of, on another device something else -------------------------------

    def _row_start(self, rows: str, place: int, name: str) -> str:
        """Return the declaration of where the row of an operand starts."""
        return f"auto {name} = {rows}.Row<const {self.nest.operands[place].storage}>({place}, row)"

    def _row_item(self, start: str, value: Value) -> str:
        """Return the element ``i`` of a row, or the only one."""
        return f"{start}[{'0' if value.level == ROW else 'i'}]"

    def _row_loop(self, columns: str) -> str:
        return f"for (int64_t i = 0; i < {columns}; ++i) {{"

    def _start(self, reduction: Value) -> list[str]:
        return start(reduction)

    def _step(self, reduction: Value, item: Expr) -> list[str]:
        return step(reduction, item)

    def _finish(self, reduction: Value, columns: str, known: dict[Value, Expr]) -> list[str]:
        return finish(reduction, columns, known)

    def _stored(self, store: Store, place: str, made: Expr) -> str:
        return f"{store.tensor}_data[{place}] = {converted(made, store.storage)};"

    def _row_stores(
        self, stores: list[Store], load: Callable[[Value], str], known: dict[Value, Expr]
    ) -> list[str]:
        """Return the statements that store one value per row."""
        values = [(s, s.value) for s in stores]
        return [
            self._stored(s, "row", number(v) if v.kind == "number" else known_value(known, v))
            for s, v in values
        ]

    def _row_values(
        self,
        depth: int,
        full: list[Value],
        single: list[Value],
        load: Callable[[Value], str],
        known: dict[Value, Expr],
    ) -> list[str]:
        """Return the statements of the values per row that are known from now on."""
        targets: list[Value] = []
        seen: set[Value] = set()

        def visit(value: Value) -> None:
            if value in seen:
                return
            seen.add(value)
            for argument in arguments(value):
                visit(argument)
            if value.level == ROW and value.kind in ("call", "load") and value.depth <= depth:
                targets.append(value)

        for value in (*(r.args[0] for r in self.nest.reductions), *full, *single):
            visit(value)
        lines = []
        for value in targets:
            if value in known:
                continue
            body = self._body([value], load, known, ROW)
            lines += body.lines
            made = body.written(value)
            if made.text != value.name:
                lines.append(f"const {C_TYPES[value.dtype]} {value.name} = {made.text};")
            known.update(body.known)
            known[value] = Expr(value.name, value.dtype)
        return lines
