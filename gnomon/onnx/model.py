"""ONNX models of captured graphs: declared inputs and results, parameters by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from gnomon.dtypes import DType
from gnomon.errors import ArgumentError, TraceError
from gnomon.export.captured import CapturedGraph
from gnomon.ir.node import Node
from gnomon.ir.sizes import SymInt, is_symbolic
from gnomon.lazy import Lazy
from gnomon.onnx.loops import CONTROL_RULES
from gnomon.onnx.primitives import RULES
from gnomon.onnx.regions import REGION_RULES
from gnomon.onnx.writer import CARRIED, OnnxWriter, carried, type_of
from gnomon.tensor.tensor import array_of

__all__ = ["OPSETS", "model_of"]

make, numpy_helper = Lazy("onnx.helper"), Lazy("onnx.numpy_helper")

OPSETS = range(18, 24)
"""Versions of ONNX's operators that what is written here means the same in."""
IR_VERSION = 9
"""Of the file: what readers of opset 18 read."""


def model_of(
    captured: CapturedGraph,
    input_names: Sequence[str] = (),
    output_names: Sequence[str] = (),
    opset: int = OPSETS[0],
    weights: bool = True,
    listed: bool = False,
) -> Any:
    """The model of a graph.

    weights: parameters are in the file; listed: they are inputs too, as they are where they aren't.
    """
    writer = OnnxWriter({**RULES, **CONTROL_RULES}, REGION_RULES)
    writer.env, writer.symbols = captured.env, [""] * len(captured.symbols)
    own, inputs = arguments(writer, captured, input_names)
    for x in captured.state:
        name = writer.fresh(x.name)
        if weights:
            writer.initializers.append(numpy_helper.from_array(array_of(x.tensor), name))
        if listed or not weights:
            inputs.append(declared(name, x.node.dtype, x.node.shape))
        own[x.node] = carried(writer, name, x.node.dtype)
    decided = {**captured.env.guards} if captured.env else None
    made = writer.write(captured.graph, [own[x] for x in captured.graph.inputs])
    if captured.env and decided != captured.env.guards:
        raise TraceError(
            f"onnx: {captured.name} uses a size where ONNX takes a number. Export for fixed sizes."
        )
    outputs = results(writer, captured, made, output_names)
    graph = make.make_graph(writer.nodes, captured.name, inputs, outputs, writer.initializers)
    return make.make_model(
        graph,
        producer_name="gnomon",
        ir_version=IR_VERSION,
        opset_imports=[make.make_opsetid("", opset)],
    )


def arguments(
    writer: OnnxWriter, captured: CapturedGraph, names: Sequence[str]
) -> tuple[dict[Node, str], list[Any]]:
    """The names of arguments' values by node, and the declarations of all arguments.

    Sizes that may differ are read from the first that has each.
    """
    given = captured.arguments
    names = named(writer, "input_names", [word(x.name) for x in given], names)
    own: dict[Node, str] = {}
    inputs = []
    for name, x in zip(names, given, strict=True):
        inputs.append(declared(name, x.tensor.dtype, x.sizes))
        for axis, size in enumerate(x.sizes):
            if size in captured.symbols and not writer.symbols[captured.symbols.index(size)]:
                read = writer.add("Shape", name, start=axis, end=axis + 1)
                writer.symbols[captured.symbols.index(size)] = read
        if x.node is not None:
            own[x.node] = carried(writer, name, x.node.dtype)
    return own, inputs


def results(
    writer: OnnxWriter, captured: CapturedGraph, made: Sequence[str], names: Sequence[str]
) -> list[Any]:
    """Write the results under their names; gives their declarations."""
    values = dict(zip(captured.graph.outputs, made, strict=True))
    stems = [f"output_{k}" if k else "output" for k in range(len(captured.results))]
    outputs = []
    for name, node in zip(
        named(writer, "output_names", stems, names), captured.results, strict=True
    ):
        if node.dtype is CARRIED:
            last = make.make_node("Cast", [values[node]], [name], to=type_of(node.dtype))
        else:
            last = make.make_node("Identity", [values[node]], [name])
        writer.nodes.append(last)
        outputs.append(declared(name, node.dtype, [dimension(n, captured) for n in node.shape]))
    return outputs


def word(name: str) -> str:
    """The name of an argument without brackets: `args[0]['x']` is args_0_x."""
    return re.sub(r"\W+", "_", name).strip("_")


def named(writer: OnnxWriter, what: str, stems: Sequence[str], names: Sequence[str]) -> list[str]:
    """Names of inputs or results: those that were given, then their own."""
    if len(names) > len(stems):
        raise ArgumentError(
            f"onnx.export: {what}: there are {len(stems)}: got {len(names)} names, {list(names)}."
        )
    wanted = [*names, *stems[len(names) :]]
    return [writer.fresh(name) for name in wanted]


def declared(name: str, dtype: DType, sizes: Sequence[Any]) -> Any:
    """A declaration of a value: its dtype, and sizes by number, by name, or unknown."""
    return make.make_tensor_value_info(name, type_of(dtype), sizes)


def dimension(n: Any, captured: CapturedGraph) -> Any:
    """A size: its number, a symbol's name, or nothing of what is computed of them."""
    if not is_symbolic(n):
        return int(n)
    alone = isinstance(n, SymInt) and len(n.terms) == 1 and n.terms[0][1] == 1
    monomial = n.terms[0][0] if alone else ()
    atom = captured.env.atoms[monomial[0]] if captured.env and len(monomial) == 1 else None
    if atom is None or atom.parts:
        return None
    return captured.symbols[int(atom.text[2:-1])]
