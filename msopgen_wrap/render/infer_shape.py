"""C++ of InferShape and InferDataType from the shape rules and dtype lists of a spec.

The code uses ``opgen::ShapeBuilder`` (``templates/op_host/opgen_shape.h.jinja``); it gives what
``msopgen_wrap.spec.shapes.evaluate`` gives, and passes unknown dims and ranks through.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.spec.model import (
    AttrTest,
    DimAttr,
    DimConst,
    DimExpr,
    DimGiven,
    DimNumel,
    DimOf,
    DimRank,
    DimScaled,
    DimSlice,
    OpSpec,
    ParamKind,
    ShapeBroadcast,
    ShapeChoice,
    ShapeLike,
    ShapePermute,
    ShapeReduce,
    ShapeRule,
    ShapeStridedSlice,
    TensorParam,
)
from msopgen_wrap.spec.shapes import rule_attrs, rule_tensors
from msopgen_wrap.templating import cpp_int, cpp_string

_CALLS = {"+": "Add", "-": "Sub", "*": "Mul", "//": "FloorDiv", "%": "Mod", "min": "Min"}
_CALLS["max"] = "Max"
_GETTERS = {
    "int": ("int64_t", "GetInt"),
    "dtype": ("int64_t", "GetInt"),
    "bool": ("bool", "GetBool"),
    "float": ("float", "GetFloat"),
    "str": ("char", "GetStr"),
    "list_int": ("gert::TypedContinuousVector<int64_t>", "GetListInt"),
    "list_float": ("gert::TypedContinuousVector<float>", "GetListFloat"),
}


def infer_shape_body(spec: OpSpec) -> str:
    """Return the statements of InferShape; empty when some output has no rule."""
    if any(p.shape is None for p in spec.outputs):
        return ""
    return "\n".join(f"    {line}" if line else "" for line in _InferShape(spec).lines())


def workspace_lines(spec: OpSpec, variable: str) -> list[str]:
    """Return the statements of a TilingFunc that find the bytes of ``spec.workspace``.

    Args:
        spec: the op; none without a rule.
        variable: the ``int64_t`` that they set.
    """
    rule = spec.workspace
    if rule is None:
        return []
    lines = []
    getters = {ParamKind.REQUIRED: "Required", ParamKind.OPTIONAL: "Optional"}
    for index, param in enumerate(spec.inputs):
        if param.name in rule_tensors(rule):
            call = (
                f"GetDynamicInputShape({index}, 0)"
                if param.kind is ParamKind.DYNAMIC
                else f"Get{getters[param.kind]}InputShape({index})"
            )
            storage = f"{param.name}_storage"
            lines += [
                f"const gert::StorageShape* {storage} = context->{call};",
                f"const gert::Shape* {_shape(param.name)} = "
                f"{storage} == nullptr ? nullptr : &{storage}->GetStorageShape();",
            ]
    builder = _InferShape(spec)
    lines += builder.read_attrs(rule_attrs(rule))
    lines.append("opgen::ShapeBuilder opgen_bytes;")
    lines += builder.statements(rule, "opgen_bytes")
    lines += [
        "gert::Shape opgen_size;",
        'OPGEN_CHECK(context, opgen_bytes.Store(&opgen_size), "workspace: %s",',
        "            opgen_bytes.Error());",
        f"{variable} = opgen_size.GetDim(0);",
    ]
    return lines


class _InferShape:
    def __init__(self, spec: OpSpec):
        self.spec = spec
        self.inputs = {p.name: i for i, p in enumerate(spec.inputs)}
        self.attrs = {a.name: (i, a) for i, a in enumerate(spec.attrs)}

    def lines(self) -> Iterator[str]:
        yield from self._read_inputs()
        yield from self._read_attrs()
        for param in self.spec.inputs:
            yield from self._check_input(param)
        for position, param in enumerate(self.spec.outputs):
            yield from self._output(position, param)

    # ---- reading -----------------------------------------------------------------------------

    def _read_inputs(self) -> Iterator[str]:
        used = self._used_inputs()
        for param in self.spec.inputs:
            if param.name not in used:
                continue
            index = self.inputs[param.name]
            variable = _shape(param.name)
            if param.kind is ParamKind.REQUIRED:
                yield f"const gert::Shape* {variable} = context->GetRequiredInputShape({index});"
                yield (
                    f'OPGEN_CHECK(context, {variable} != nullptr, "input {param.name} is missing");'
                )
            elif param.kind is ParamKind.OPTIONAL:
                yield f"const gert::Shape* {variable} = context->GetOptionalInputShape({index});"
            else:
                yield f"const gert::Shape* {variable} = context->GetDynamicInputShape({index}, 0);"

    def _used_inputs(self) -> set[str]:
        used = {p.name for p in self.spec.inputs if p.min_rank > 0 or p.max_rank < 8}
        for param in (*self.spec.inputs, *self.spec.outputs):
            if param.shape is not None:
                read = set(rule_tensors(param.shape))
                if param in self.spec.inputs:
                    read.add(param.name)
                elif param.kind is ParamKind.DYNAMIC:
                    read -= self._lists()  # read tensor by tensor, where the output is
                used |= read
        return used

    def _lists(self) -> set[str]:
        return {p.name for p in self.spec.inputs if p.kind is ParamKind.DYNAMIC}

    def _read_attrs(self) -> Iterator[str]:
        names: list[str] = []
        for param in (*self.spec.inputs, *self.spec.outputs):
            names += rule_attrs(param.shape) if param.shape is not None else []
        yield from self.read_attrs(names)

    def read_attrs(self, names: Collection[str]) -> Iterator[str]:
        """Yield the statements that read attrs."""
        if not names:
            return
        yield "const gert::RuntimeAttrs* attrs = context->GetAttrs();"
        yield 'OPGEN_CHECK(context, attrs != nullptr, "the attributes are missing");'
        for name in dict.fromkeys(names):
            index, attr = self.attrs[name]
            kind, getter = _GETTERS[attr.type]
            variable = _attr(name)
            yield f"const {kind}* {variable} = attrs->{getter}({index});"
            yield f'OPGEN_CHECK(context, {variable} != nullptr, "attr {name} is missing");'

    # ---- checks and outputs ------------------------------------------------------------------

    def _check_input(self, param: TensorParam) -> Iterator[str]:
        variable = _shape(param.name)
        least, most = param.min_rank, param.max_rank
        if least > 0 or most < 8:
            text = f"{least}" if least == most else f"{least} to {most}"
            yield from self._guarded(
                param,
                [
                    f"OPGEN_CHECK(context, opgen::RankWithin({variable}, {least}, {most}),",
                    f'            "input {param.name} has shape %s, its rank must be {text}",',
                    f"            opgen::ToString({variable}).c_str());",
                ],
            )
        if param.shape is not None:
            name = f"{param.name}_rule"
            yield from self._guarded(
                param,
                [
                    f"opgen::ShapeBuilder {name};  // {param.name}: {_one_line(param.shape_text)}",
                    *self.statements(param.shape, name),
                    f"OPGEN_CHECK(context, {name}.Matches({variable}),",
                    f'            "input {param.name} has shape %s, expected '
                    f'{_escape(param.shape_text)} = %s %s",',
                    f"            opgen::ToString({variable}).c_str(), {name}.Text().c_str(),",
                    f"            {name}.Error());",
                ],
            )

    def _guarded(self, param: TensorParam, lines: list[str]) -> Iterator[str]:
        if param.kind is ParamKind.REQUIRED:
            yield "{"
        else:
            yield f"if ({_shape(param.name)} != nullptr) {{"
        yield from (f"    {line}" for line in lines)
        yield "}"

    def _output(self, position: int, param: TensorParam) -> Iterator[str]:
        assert param.shape is not None
        yield ""
        yield f"// {param.name}: {_one_line(param.shape_text or 'shape rule of the spec')}"
        builder = f"{param.name}_rule"
        if param.kind is ParamKind.DYNAMIC:
            yield from self._output_list(position, param, builder)
            return
        yield f"opgen::ShapeBuilder {builder};"
        yield from self.statements(param.shape, builder)
        yield from self._store(param, builder, self._flat_index(position))

    def _output_list(self, position: int, param: TensorParam, builder: str) -> Iterator[str]:
        assert param.shape is not None
        lists = [
            p
            for p in self.spec.inputs
            if p.kind is ParamKind.DYNAMIC and p.name in rule_tensors(param.shape)
        ]
        if not lists:
            yield f'OPGEN_CHECK(context, false, "output list {param.name} follows no input list");'
            return
        first = self.inputs[lists[0].name]
        count = f"{param.name}_count"
        yield f"const auto* {param.name}_list = context->GetIrInputInstanceInfo({first});"
        yield f"const size_t {count} ="
        yield f"    {param.name}_list == nullptr ? 0 : {param.name}_list->GetInstanceNum();"
        for other in lists[1:]:
            info = f"context->GetIrInputInstanceInfo({self.inputs[other.name]})"
            text = f"tensor lists {lists[0].name} and {other.name} differ in length"
            yield f"OPGEN_CHECK(context, {info} != nullptr &&"
            yield f"            {info}->GetInstanceNum() == {count},"
            yield f'            "{text}");'
        yield f"for (size_t i = 0; i < {count}; ++i) {{"
        for other in lists:
            index = self.inputs[other.name]
            variable = _shape(other.name)
            yield f"    const gert::Shape* {variable} = context->GetDynamicInputShape({index}, i);"
            yield f'    OPGEN_CHECK(context, {variable} != nullptr, "{other.name} is too short");'
        yield f"    opgen::ShapeBuilder {builder};"
        yield from (f"    {line}" for line in self.statements(param.shape, builder))
        index_text = f"{self._flat_index(position)} + i"
        yield from (f"    {line}" for line in self._store(param, builder, index_text))
        yield "}"

    def _flat_index(self, position: int) -> str:
        lists = [p for p in self.spec.outputs[:position] if p.kind is ParamKind.DYNAMIC]
        single = position - len(lists)
        return " + ".join([str(single), *(f"{p.name}_count" for p in lists)])

    def _store(self, param: TensorParam, builder: str, index: str) -> Iterator[str]:
        shapes = [n for n in self.inputs if n in rule_tensors(param.shape)] if param.shape else []
        shown = ", ".join(f"{n}=%s" for n in shapes)
        text = f'"output {param.name}: %s{" (" + shown + ")" if shown else ""}"'
        yield f"OPGEN_CHECK(context, {builder}.Store(context->GetOutputShape({index})), {text},"
        values = [f"{builder}.Error()"]
        values += [f"opgen::ToString({_shape(n)}).c_str()" for n in shapes]
        for i, value in enumerate(values):
            yield f"            {value}{',' if i + 1 < len(values) else ');'}"

    # ---- rules -------------------------------------------------------------------------------

    def statements(self, rule: ShapeRule, builder: str) -> Iterator[str]:
        """Yield the statements that append a rule's dimensions to a ``ShapeBuilder``."""
        if isinstance(rule, ShapeLike):
            yield f'{builder}.AppendRange("{rule.tensor}", {_shape(rule.tensor)});'
        elif isinstance(rule, ShapeBroadcast):
            for name in rule.tensors:
                yield f'{builder}.Broadcast("{name}", {_shape(name)});'
        elif isinstance(rule, ShapeReduce):
            yield from self._reduce(rule, builder)
        elif isinstance(rule, ShapePermute):
            axes = _attr(rule.axes)
            yield (
                f'{builder}.Permute("{rule.tensor}", {_shape(rule.tensor)}, "{rule.axes}", '
                f"{axes}->GetData(), {axes}->GetSize());"
            )
        elif isinstance(rule, ShapeStridedSlice):
            lists = [f"{{{_attr(n)}->GetData(), {_attr(n)}->GetSize()}}" for n in rule.lists]
            masks = ", ".join(f"*{_attr(n)}" for n in rule.masks)
            yield (
                f'{builder}.StridedSlice("{rule.tensor}", {_shape(rule.tensor)}, '
                f"{', '.join(lists)}, {{{masks}}});"
            )
        elif isinstance(rule, ShapeChoice):
            yield f"if ({self._test(rule.test)}) {{"
            then = [*self.statements(rule.then, builder)] or ["// no dimensions"]
            yield from (f"    {line}" for line in then)
            otherwise = [*self.statements(rule.otherwise, builder)]
            if otherwise:
                yield "} else {"
                yield from (f"    {line}" for line in otherwise)
            yield "}"
        else:
            for item in rule.items:
                if isinstance(item, DimSlice):
                    yield self._range(item, builder)
                else:
                    yield f"{builder}.Append({self._dim(item, builder)});"

    def _test(self, test: AttrTest) -> str:
        """Return the condition in C++ that an attr has one of some values."""
        attr = self.attrs[test.name][1]
        value = f"std::string({_attr(test.name)})" if attr.type == "str" else f"*{_attr(test.name)}"
        parts = []
        for wanted in test.values:
            if isinstance(wanted, bool):
                parts.append(value if wanted != test.inverted else f"!{value}")
                continue
            literal = cpp_string(wanted) if isinstance(wanted, str) else cpp_int(wanted)
            parts.append(f"{value} {'!=' if test.inverted else '=='} {literal}")
        return (" && " if test.inverted else " || ").join(parts)

    def _range(self, item: DimSlice, builder: str) -> str:
        arguments = [f'"{item.tensor}"', _shape(item.tensor)]
        if item.start is not None or item.stop is not None:
            arguments.append(str(item.start or 0))
        if item.stop is not None:
            arguments.append(str(item.stop))
        return f"{builder}.AppendRange({', '.join(arguments)});"

    def _reduce(self, rule: ShapeReduce, builder: str) -> Iterator[str]:
        keep = f"*{_attr(rule.keepdim)}" if isinstance(rule.keepdim, str) else None
        keep = keep or ("true" if rule.keepdim else "false")
        head = f'{builder}.Reduce("{rule.tensor}", {_shape(rule.tensor)}, '
        if isinstance(rule.dims, str):
            variable = _attr(rule.dims)
            if self.attrs[rule.dims][1].type == "list_int":
                data = f"{variable}->GetData(), {variable}->GetSize()"
            else:
                data = f"{variable}, 1"
            yield f"{head}{data}, {keep});"
        elif not rule.dims:
            yield f"{head}nullptr, 0, {keep});"
        else:
            values = ", ".join(map(str, rule.dims))
            yield f"const int64_t {builder}_dims[] = {{{values}}};"
            yield f"{head}{builder}_dims, {len(rule.dims)}, {keep});"

    def _dim(self, expr: DimExpr, builder: str) -> str:
        if isinstance(expr, DimConst):
            return str(expr.value)
        if isinstance(expr, DimAttr):
            variable = _attr(expr.name)
            if expr.index is None:
                return f"*{variable}"
            data = f"{variable}->GetData(), {variable}->GetSize()"
            return f'{builder}.Element("{expr.name}", {data}, {expr.index})'
        if isinstance(expr, DimOf):
            return f'{builder}.Of("{expr.tensor}", {_shape(expr.tensor)}, {expr.axis})'
        if isinstance(expr, DimRank):
            return f'{builder}.Rank("{expr.tensor}", {_shape(expr.tensor)})'
        if isinstance(expr, DimNumel):
            return f'{builder}.Numel("{expr.tensor}", {_shape(expr.tensor)})'
        if isinstance(expr, DimScaled):
            variable = _attr(expr.factor.name)
            factor = f"*{variable}"
            if expr.factor.index is not None:
                data = f"{variable}->GetData(), {variable}->GetSize()"
                factor = f'{builder}.Factor("{expr.factor.name}", {data}, {expr.factor.index})'
            up = "true" if expr.up else "false"
            return f"{builder}.Scaled({self._dim(expr.dim, builder)}, {factor}, {up})"
        if isinstance(expr, DimGiven):
            given, absent = self._dim(expr.given, builder), self._dim(expr.absent, builder)
            test = f"{_shape(expr.tensor)} == nullptr"
            return f"({test} ? opgen::Dim({absent}) : opgen::Dim({given}))"
        left, right = self._dim(expr.left, builder), self._dim(expr.right, builder)
        return f"{builder}.{_CALLS[expr.op]}({left}, {right})"


# ---- InferDataType -----------------------------------------------------------------------------


def infer_data_type_body(spec: OpSpec) -> str:
    """Return the statements of InferDataType."""
    lines: list[str] = []
    dynamic = [p for p in spec.outputs if p.kind is ParamKind.DYNAMIC]
    for position, param in enumerate(spec.outputs):
        value = _output_type(spec, param, lines)
        if param.kind is not ParamKind.DYNAMIC:
            earlier = [p for p in spec.outputs[:position] if p in dynamic]
            index = str(position - len(earlier))
            index += "".join(f" + {p.name}_count" for p in earlier)
            lines.append(f"context->SetOutputDataType({index}, {value});")
            continue
        source = next((i for i, p in enumerate(spec.inputs) if p.kind is ParamKind.DYNAMIC), None)
        count = f"{param.name}_count"
        if source is None:
            lines.append(f"const size_t {count} = 0;")
            continue
        info = f"context->GetIrInputInstanceInfo({source})"
        lines.append(f"const size_t {count} = {info} == nullptr ? 0 : {info}->GetInstanceNum();")
        earlier = [p for p in spec.outputs[:position] if p in dynamic]
        start = str(position - len(earlier)) + "".join(f" + {p.name}_count" for p in earlier)
        lines.append(f"for (size_t i = 0; i < {count}; ++i) {{")
        lines.append(f"    context->SetOutputDataType({start} + i, {value});")
        lines.append("}")
    return "\n".join(f"    {line}" for line in lines)


def _output_type(spec: OpSpec, param: TensorParam, lines: list[str]) -> str:
    """Return an expression for the dtype of an output; may add statements before it."""
    if param.chosen_by is not None:
        return _chosen_type(spec, param, lines)
    for index, source in enumerate(spec.inputs):
        if source.dtypes == param.dtypes and source.kind is not ParamKind.OPTIONAL:
            return _input_type(index, source)
    if len(set(param.dtypes)) == 1:
        return BY_NAME[param.dtypes[0]].ge_name
    # Several combinations that no single input explains: the combination is looked up.
    variable = f"{param.name}_type"
    lines.append(f"DataType {variable} = DT_UNDEFINED;")
    keyword = "if"
    for combo, dtype in enumerate(param.dtypes):
        tests = [
            f"{_input_type(i, p)} == {BY_NAME[p.dtypes[combo]].ge_name}"
            for i, p in enumerate(spec.inputs)
            if p.kind is not ParamKind.OPTIONAL and len(set(p.dtypes)) > 1
        ]
        lines.append(f"{keyword} ({' && '.join(tests) or 'true'}) {{")
        lines.append(f"    {variable} = {BY_NAME[dtype].ge_name};")
        keyword = "} else if"
    lines.append("}")
    lines.append(f"OPGEN_CHECK(context, {variable} != DT_UNDEFINED,")
    lines.append('            "the input dtypes are not among the supported combinations");')
    return variable


def _chosen_type(spec: OpSpec, param: TensorParam, lines: list[str]) -> str:
    """Return an expression for the dtype that an attr gives an output, once it is checked."""
    assert param.chosen_by is not None
    attr = param.chosen_by
    variable = f"{param.name}_type"
    index = [a.name for a in spec.attrs].index(attr)
    names = [BY_NAME[d].ge_name for d in dict.fromkeys(param.dtypes)]
    number = f"{param.name}_number"
    lines += [
        f"const gert::RuntimeAttrs* {param.name}_attrs = context->GetAttrs();",
        f'OPGEN_CHECK(context, {param.name}_attrs != nullptr, "the attributes are missing");',
        f"const int64_t* {number} = {param.name}_attrs->GetInt({index});",
        f'OPGEN_CHECK(context, {number} != nullptr, "attr {attr} is missing");',
        f"const DataType {variable} = static_cast<DataType>(*{number});",
        f"OPGEN_CHECK(context, {' || '.join(f'{variable} == {n}' for n in names)},",
        f'            "attr {attr} is %ld, it must be the number of {_or(names)}",',
        f"            static_cast<long>(*{number}));",
    ]
    return variable


def _or(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _input_type(index: int, param: TensorParam) -> str:
    if param.kind is ParamKind.DYNAMIC:
        return f"context->GetDynamicInputDataType({index}, 0)"
    if param.kind is ParamKind.OPTIONAL:
        return f"context->GetOptionalInputDataType({index})"
    return f"context->GetRequiredInputDataType({index})"


# ---- helpers -----------------------------------------------------------------------------------


def _shape(name: str) -> str:
    return f"{name}_shape"


def _attr(name: str) -> str:
    return f"{name}_attr"


def _escape(text: str) -> str:
    return _one_line(text).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")


def _one_line(text: str) -> str:
    return " ".join(text.split())
