"""Regions that ONNX has an operator for, which runtimes compute better than their bodies.

A rule gives an empty name where the operator does not say what the call does: then the body is
written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gnomon.dtypes import float32, float64
from gnomon.ir.node import Node
from gnomon.ir.sizes import is_symbolic
from gnomon.onnx.writer import ExportRule, OnnxWriter
from gnomon.ops.op_calls import Leaf

__all__ = ["REGION_RULES"]


def region_arguments(node: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a region's call."""
    return node.params["call"].args, dict(node.params["call"].kwargs)


def is_plain(numbers: Sequence[Any]) -> bool:
    """Whether all of these are known, and none is negative."""
    return not any(is_symbolic(n) or n < 0 for n in numbers)


def both_ends(padding: Sequence[Sequence[int]]) -> list[int]:
    """(before, after) for each axis, as ONNX has it: all before, then all after."""
    return [int(pair[k]) for k in (0, 1) for pair in padding]


def convolution(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """A kernel slid over axes."""
    (_, weight, bias, padding, (stride, dilation, groups)), _ = region_arguments(node)
    pads = both_ends(padding) if is_plain([n for pair in padding for n in pair]) else None
    if pads is None or node.dtype not in (float32, float64) or not isinstance(weight, Leaf):
        return ""
    return writer.add(
        "Conv",
        *given[: 2 if bias is None else 3],
        dilations=list(map(int, dilation)),
        group=int(groups),
        kernel_shape=list(map(int, node.inputs[weight.number].shape[2:])),
        pads=pads,
        strides=list(map(int, stride)),
    )


def max_pool(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """The largest of every window, where its place isn't wanted."""
    (_, kernel, stride, padding, dilation, *places), _ = region_arguments(node)
    plain = is_plain([*kernel, *stride, *dilation, *(n for pair in padding for n in pair)])
    if any(places) or not plain or node.dtype not in (float32, float64):
        return ""
    pads = both_ends(padding)
    if any(n >= k for n, k in zip(pads, [*kernel, *kernel], strict=True)):
        return ""
    return writer.add(
        "MaxPool",
        given[0],
        dilations=list(map(int, dilation)),
        kernel_shape=list(map(int, kernel)),
        pads=pads,
        strides=list(map(int, stride)),
    )


def along_axis(op: str) -> ExportRule:
    """The rule of a function along one axis."""

    def rule(writer: OnnxWriter, node: Node, given: list[str]) -> str:
        args, named = region_arguments(node)
        axis = args[1] if len(args) > 1 else named.get("axis")
        if named.get("dtype") is not None or not isinstance(axis, int) or len(args) > 2:
            return ""
        if node.dtype not in (float32, float64) or not node.rank:
            return ""
        return writer.add(op, given[0], axis=axis)

    return rule


def relu(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """The part above 0."""
    return writer.add("Relu", given[0]) if node.dtype in (float32, float64) else ""


REGION_RULES: dict[str, ExportRule] = {
    "convolution": convolution,
    "log_softmax": along_axis("LogSoftmax"),
    "max_pool": max_pool,
    "relu": relu,
    "softmax": along_axis("Softmax"),
}
"""Operation -> what writes a call of it."""
