"""Nodes of an ONNX graph, as they are written: names, constants, sizes, and what has been computed.

A graph of the IR is walked once. Each primitive has a rule (primitives.py, scalars.py, loops.py),
some regions have one of their own (regions.py), and any other region is written as its body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import DType, bfloat16, float32
from gnomon.errors import TraceError
from gnomon.ir.node import Graph, Node
from gnomon.ir.sizes import ShapeEnv, is_symbolic
from gnomon.lazy import Lazy
from gnomon.onnx.sizes import integer_of_sizes

__all__ = ["CARRIED", "ExportRule", "OnnxWriter", "carried", "type_inside", "type_of"]

onnx = Lazy("onnx")
make, numpy_helper = Lazy("onnx.helper"), Lazy("onnx.numpy_helper")

ExportRule = Callable[["OnnxWriter", Node, list[str]], str]
"""Writes a node, given the names of its inputs; gives the name of its value."""

TYPES = {
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "float16": "FLOAT16",
    "bfloat16": "BFLOAT16",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "uint8": "UINT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "bool": "BOOL",
}
"""Our dtypes -> ONNX's."""


CARRIED = bfloat16
"""Runtimes have few operators of it: its values are float32 inside of a model, rounded."""


def type_of(dtype: DType) -> int:
    """ONNX's number of a dtype; TraceError where it has none."""
    if dtype.name not in TYPES:
        raise TraceError(f"onnx: {dtype.name} is no type of ONNX's. Cast before the export.")
    return getattr(onnx.TensorProto, TYPES[dtype.name])


def type_inside(dtype: DType) -> int:
    """ONNX's number of the dtype that values of a dtype have inside of a model."""
    return type_of(float32 if dtype is CARRIED else dtype)


def carried(writer: OnnxWriter, name: str, dtype: DType) -> str:
    """The name of an input, cast to float32 if it is a bfloat16."""
    return writer.add("Cast", name, to=type_of(float32)) if dtype is CARRIED else name


class OnnxWriter:
    """Writes nodes into one graph of ONNX's; those of loops have a writer of their own.

    The names of symbols' values are in `symbols`, once their inputs are declared.
    """

    def __init__(
        self, rules: dict[str, ExportRule], regions: dict[str, ExportRule], outer: Any = None
    ) -> None:
        self.rules, self.regions = rules, regions
        self.nodes: list[Any] = []
        self.root: OnnxWriter = outer.root if outer is not None else self
        self.written: dict[Any, list[str]] = dict(outer.written) if outer is not None else {}
        """Values of calls with several results."""
        self.sizes: dict[Any, str] = dict(outer.sizes) if outer is not None else {}
        """Names of sizes that are known when the file runs."""
        self.site = ""
        if outer is None:
            self.count = 0
            self.constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
            self.initializers: list[Any] = []
            self.env: ShapeEnv | None = None
            self.symbols: list[str] = []
            self.taken: set[str] = set()

    def fresh(self, stem: str) -> str:
        """A name that nothing else has."""
        root = self.root
        name = stem
        while name in root.taken:
            root.count += 1
            name = f"{stem}_{root.count}"
        root.taken.add(name)
        return name

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Write a node with one result; gives its name."""
        return self.several(op, inputs, 1, **attributes)[0]

    def several(self, op: str, inputs: Sequence[str], count: int, **attributes: Any) -> list[str]:
        """Write a node with some results; gives their names."""
        made = [self.fresh(f"{op.lower()}_{self.root.count}") for _ in range(count)]
        self.root.count += 1
        given = {key: x for key, x in attributes.items() if x is not None}
        node = make.make_node(op, list(inputs), made, name=f"node_{made[0]}", **given)
        node.doc_string = self.site
        self.nodes.append(node)
        return made

    def constant(self, value: Any, dtype: DType | None = None) -> str:
        """The name of a constant, which is written once."""
        array = np.asarray(value, None if dtype is None else dtype.numpy)
        array = array.astype(np.float32) if dtype is CARRIED else array
        key = (array.dtype.name, array.shape, array.tobytes())
        root = self.root
        if key not in root.constants:
            name = root.constants[key] = self.fresh(f"const_{len(root.constants)}")
            root.initializers.append(numpy_helper.from_array(array.copy(), name))
        return root.constants[key]

    # sizes

    def number(self, n: Any) -> str:
        """An integer, as a tensor of one element."""
        if not is_symbolic(n):
            return self.constant(np.array([int(n)], np.int64))
        if n not in self.sizes:
            self.sizes[n] = integer_of_sizes(self, n)
        return self.sizes[n]

    def numbers(self, given: Sequence[Any]) -> str:
        """Integers, as a tensor."""
        if any(map(is_symbolic, given)):
            return self.add("Concat", *map(self.number, given), axis=0)
        return self.constant(np.array([int(n) for n in given], np.int64))

    # graphs

    def write(self, graph: Graph, given: Sequence[str]) -> list[str]:
        """Write a graph on values of these names; gives the names of its results."""
        names = dict(zip(graph.inputs, given, strict=True))
        outside = self.site
        for node in graph:
            if node in names:
                continue
            self.site = str(node.sites[0]) if node.sites else outside
            names[node] = self._node(node, [names[x] for x in node.inputs])
        self.site = outside
        return [names[x] for x in graph.outputs]

    def _node(self, node: Node, given: list[str]) -> str:
        """Write a node."""
        if node.op != "region":
            rule = self.rules.get(node.op)
            if rule is None:
                raise TraceError(
                    f"onnx: {node.op} has no counterpart in ONNX. Compute it outside.   "
                    f"[{self.site}]"
                )
            return rule(self, node, given)
        own = self.regions.get(node.params["name"])
        found = own(self, node, given) if own is not None else ""
        if found:
            return found
        key = (node.params["body"], tuple(given))
        if key not in self.written:
            self.written[key] = self.write(node.params["body"], given)
        return self.written[key][node.params["index"]]
