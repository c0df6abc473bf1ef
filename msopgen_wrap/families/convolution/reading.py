"""Read a convolution from a traced graph: its tensors as views of inputs, its numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.scalars import ScalarExpr
from msopgen_wrap.schedule.anchors import anchors
from msopgen_wrap.schedule.calls import IDENTITY, RESHAPES, Node, target_name
from msopgen_wrap.schedule.lowering import Lowerer
from msopgen_wrap.schedule.views import View

# Steps after which the last axis of a dense tensor still lies without gaps.
_DENSE_STEPS = {"unsqueeze", "squeeze", "reshape"}
_INPUT_STEPS = {*_DENSE_STEPS, "slice"}
# Views that leave the elements of a tensor in their order.
_SAME_ORDER = {
    *IDENTITY,
    *RESHAPES,
    "aten.squeeze.dim",
    "aten.squeeze.dims",
    "aten.unsqueeze.default",
}
# Calls with a number more per spatial axis, and how the tiling function reads them.
_OWN = {
    "opgen.transposed_convolution.default": "ReadTransposed",
    "opgen.cut_convolution.default": "ReadCut",
    "opgen.filter_gradient.default": "ReadFilterGradient",
}
_CASTS = {"prims.convert_element_type.default", "aten._to_copy.default", "aten.to.dtype"}


@dataclass(frozen=True)
class ConvolutionCall:
    """One convolution.

    Attributes:
        image: the operand that is convolved.
        filters: the operand with the filters.
        strides, paddings, dilations: a number per spatial axis.
        groups: of channels.
        more: what the result of a transposed convolution has more, per spatial axis, or the sizes
            of one that is cut or that gives filters.
        read: how the tiling function reads it.
    """

    image: str = ""
    filters: str = ""
    strides: tuple[ScalarExpr, ...] = ()
    paddings: tuple[ScalarExpr, ...] = ()
    dilations: tuple[ScalarExpr, ...] = ()
    groups: tuple[ScalarExpr, ...] = ()
    more: tuple[ScalarExpr, ...] = ()
    read: str = "Read"

    def numbers(self) -> dict[str, tuple[ScalarExpr, ...]]:
        """Return the numbers by what they are."""
        return {
            "strides": self.strides,
            "paddings": self.paddings,
            "dilations": self.dilations,
            "groups": self.groups,
            **({"more": self.more} if self.more else {}),
        }


@dataclass
class ConvolutionReader(Lowerer):
    """Reads the graph of a pass that is one convolution.

    Attributes:
        call: the convolution, once ``read`` has found it.
    """

    call: ConvolutionCall = field(default_factory=ConvolutionCall)

    def read(self) -> ConvolutionCall:
        """Return the convolution that the only output is.

        Raises:
            OpgenError: OPG410 where there is more in the graph.
        """
        results = [self.traced.outputs[p.name] for p in self.spec.outputs]
        found = anchors(self.traced.graph.nodes, "convolution")
        node: Any = results[0]
        if len(results) > 1 or not isinstance(node, Node):
            raise self._more(found[0], "there are several outputs")
        stored = self.spec.outputs[0].site is None
        while target_name(node) in (_SAME_ORDER if stored else IDENTITY) | _CASTS:
            node = node.args[0]
        if node not in found:
            raise self._more(found[0], f"{target_name(node)} stands behind it")
        read = _OWN.get(target_name(node), "Read")
        more: Any = []
        bias = None
        if target_name(node) in _OWN:
            image, filters, strides, paddings, dilations, more, groups = node.args
        else:
            image, filters, bias, strides, paddings, dilations, _, _, groups = node.args
        if bias is not None:
            raise self._more(node, "it adds a bias")
        self._lower_numbers(node)
        self.call = ConvolutionCall(
            self._operand_view(image, "the input", _INPUT_STEPS),
            self._operand_view(filters, "the filters", _DENSE_STEPS),
            strides=self._numbers(strides),
            paddings=self._numbers(paddings),
            dilations=self._numbers(dilations),
            groups=self._numbers([groups]),
            more=self._numbers(more),
            read=read,
        )
        return self.call

    def _numbers(self, given: Any) -> tuple[ScalarExpr, ...]:
        return tuple(self.scalar_expr(number) for number in given)

    def _lower_numbers(self, node: Node) -> None:
        """Lower what the call and its operands are made of."""
        wanted = {node}
        pending = [node]
        while pending:
            for above in pending.pop().all_input_nodes:
                if above not in wanted:
                    wanted.add(above)
                    pending.append(above)
        for above in self.traced.graph.nodes:
            if above is node or above not in wanted:
                continue
            source: Any = above.args[0] if above.args else None
            if target_name(above) in _CASTS and isinstance(source, Node):
                self.values[above] = self.values.get(source)
                continue
            try:
                self.values[above] = self.lowered(above)
            except OpgenError as error:
                if any(d.code not in ("OPG331", "OPG332", "OPG333") for d in error.diagnostics):
                    raise
                raise self._more(node, "an operand is computed") from error

    def _operand_view(self, value: Any, what: str, steps: set[str]) -> str:
        view = self.values.get(value)
        if not isinstance(view, View) or view.counted is not None:
            raise self._more(value, f"{what} is computed")
        if any(step.op not in steps for step in view.steps):
            raise self._more(value, f"{what} has its elements in another order")
        name = view.tensor
        if name in self.operands and self.operands[name] != view:
            name = f"{name}2"
        self.operands[name] = view
        return name

    def _more(self, node: Any, why: str) -> OpgenError:
        return OpgenError(
            Diagnostic(
                "OPG410",
                f"a convolution of {self.spec.op} is not all that a pass makes: {why}",
                self.location(target_name(node).split(".")[-2] if "." in target_name(node) else ""),
                "a pass that convolves reads an image and filters from memory and writes the "
                "result",
                "split the op, or write the kernel with `kernel:`",
            )
        )
