"""gn.debug_nans: every evaluation looks for NaN, and names the first operation that made one.

Only results are looked at while nothing is wrong. When one has a NaN, the graph is run again by the
interpreter, node by node.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnomon.errors import NanError
from gnomon.ir.node import Graph, Node, topological
from gnomon.ops.control_primitives import CONTROL, control_values
from gnomon.ops.interpret import evaluate, interpret
from gnomon.runtime.buffer import DeviceBuffer

_on = [False]


class debug_nans:
    """Check everything that is evaluated for NaN, from now on or as a context manager."""

    def __init__(self, mode: bool = True) -> None:
        self.before = _on[0]
        _on[0] = mode

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        _on[0] = self.before


def looked_for() -> bool:
    """Whether results are checked."""
    return _on[0]


def check(graph: Graph, inputs: Sequence[DeviceBuffer], outputs: Sequence[DeviceBuffer]) -> None:
    """Raise an error if a result has a NaN."""
    pairs = zip(graph.outputs, outputs, strict=True)
    if not any(has_nan(b.array(x)) for x, b in pairs):
        return
    given = zip(graph.inputs, inputs, strict=True)
    feeds = {x: b.array(x) for x, b in given}
    raise NanError(f"debug_nans: {first_nan(graph.outputs, feeds)}")


def has_nan(values: np.ndarray) -> bool:
    """Whether any element is NaN."""
    return values.dtype.kind in "fV" and bool(np.isnan(values.astype(np.float64)).any())


def first_nan(roots: Sequence[Node], feeds: dict[Node, np.ndarray]) -> str:
    """A message that names the operation with the first NaN, and its line."""
    values = dict(feeds)
    for node in topological(roots):
        if node not in values:
            values[node] = evaluated(node, [values[x] for x in node.inputs])
        if has_nan(values[node]):
            return described(node, [values[x] for x in node.inputs])
    return "a result is NaN, which the interpreter does not confirm: the compiled code differs."


def evaluated(node: Node, inputs: list[np.ndarray]) -> np.ndarray:
    """A node's value; an error if a branch or an iteration in it makes a NaN."""
    if node.op not in CONTROL or any(map(has_nan, inputs)):
        return evaluate(node, inputs)
    return control_values(node, inputs, check_outputs)[node.params["index"]]


def check_outputs(graph: Graph, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs of a branch or an iteration; an error if one of its operations makes a NaN."""
    feeds = dict(zip(graph.inputs, inputs, strict=True))
    outputs = interpret(graph.outputs, feeds)
    if any(map(has_nan, outputs)):
        raise NanError(f"debug_nans: {first_nan(graph.outputs, feeds)}")
    return outputs


def described(node: Node, inputs: list[np.ndarray]) -> str:
    """The description of the operation that made a NaN."""
    line = f"   [{node.sites[0]}]" if node.sites else ""
    if not node.inputs:
        return f"an input is NaN already.{line}"
    return f"{node.called} made a NaN of inputs that have none.{line}"
