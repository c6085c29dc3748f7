"""Control primitives in ONNX: If, Loop and Scan, whose graphs read values from outside by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gnomon.dtypes import DType, bool_, int64
from gnomon.ir.node import Graph, Node
from gnomon.lazy import Lazy
from gnomon.onnx.writer import ExportRule, OnnxWriter, type_inside
from gnomon.ops.control_primitives import call_of

__all__ = ["CONTROL_RULES"]

make = Lazy("onnx.helper")

LoopValueKind = tuple[DType, int]
Write = Callable[["OnnxWriter", list[str]], list[str]]


def inner(writer: OnnxWriter, taken: Sequence[LoopValueKind], write: Write, stem: str) -> Any:
    """A graph inside another: its inputs, what `write` makes of them, its outputs."""
    own = OnnxWriter(writer.rules, writer.regions, writer)
    own.site = writer.site
    names = [own.fresh(f"{stem}_in") for _ in taken]
    inputs = [
        make.make_tensor_value_info(name, type_inside(dtype), [None] * rank)
        for name, (dtype, rank) in zip(names, taken, strict=True)
    ]
    outputs = [own.add("Identity", x) for x in write(own, names)]
    declared = [make.make_empty_tensor_value_info(x) for x in outputs]
    return make.make_graph(own.nodes, own.fresh(stem), inputs, declared)


def kinds_of(nodes: Sequence[Node]) -> list[LoopValueKind]:
    """Dtypes and ranks."""
    return [(x.dtype, x.rank) for x in nodes]


def results(writer: OnnxWriter, node: Node, write: Callable[[], list[str]]) -> str:
    """A result of a call, which is written with the first of them."""
    key = call_of(node)
    if key not in writer.written:
        writer.written[key] = write()
    return writer.written[key][node.params["index"]]


def cond(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """A choice of two graphs."""

    def branch(graph: Graph) -> Any:
        return inner(writer, (), lambda own, _: own.write(graph, given[1:]), "branch")

    def write() -> list[str]:
        then, other = branch(node.params["then"]), branch(node.params["other"])
        count = len(node.params["then"].outputs)
        return writer.several("If", given[:1], count, then_branch=then, else_branch=other)

    return results(writer, node, write)


def while_(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """Values replaced while a test of them holds."""
    test, body, carried = (node.params[key] for key in ("test", "body", "carried"))
    rest = given[carried:]

    def iteration(own: OnnxWriter, names: list[str]) -> list[str]:
        state = own.write(body, [*names[2:], *rest])
        return [*own.write(test, [*state, *rest]), *state]

    def write() -> list[str]:
        begins = writer.write(test, given)[0]
        taken = [(int64, 0), (bool_, 0), *kinds_of(node.inputs[:carried])]
        graph = inner(writer, taken, iteration, "loop")
        return writer.several("Loop", ["", begins, *given[:carried]], carried, body=graph)

    return results(writer, node, write)


def scan_over(writer: OnnxWriter, node: Node, given: list[str]) -> str:
    """A body of carried values and of one slice after another."""
    p, body = node.params, node.params["body"]
    carried, sliced = p["carried"], p["sliced"]
    end = carried + sliced

    def iteration(own: OnnxWriter, names: list[str]) -> list[str]:
        return own.write(body, [*names, *given[end:]])

    def write() -> list[str]:
        graph = inner(writer, kinds_of(body.inputs[:end]), iteration, "scan")
        way, rows = int(p["reverse"]), len(body.outputs) - carried
        return writer.several(
            "Scan",
            given[:end],
            len(body.outputs),
            body=graph,
            num_scan_inputs=sliced,
            scan_input_directions=[way] * sliced,
            scan_output_directions=[way] * rows if rows else None,
        )

    return results(writer, node, write)


CONTROL_RULES: dict[str, ExportRule] = {"cond": cond, "scan_over": scan_over, "while": while_}
"""Primitive -> what writes it."""
