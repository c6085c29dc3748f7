"""A graph and what its program runs on, as one file: what a bisection shows a fault by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from zipfile import BadZipFile

import msgspec
import numpy as np

from gnomon.compiler.build import build
from gnomon.dtypes import DType
from gnomon.errors import ConfigError
from gnomon.ir.node import Graph
from gnomon.program.graphs import GraphReader, GraphWriter
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.settings import override
from gnomon.testing.witness import witness

__all__ = ["FaultCase", "load_case", "save_case"]

GRAPH = "graph"
DAMAGED = (
    *(OSError, EOFError, KeyError, ValueError, IndexError, TypeError),
    *(msgspec.MsgspecError, BadZipFile),
)
"""The errors of reading a file that holds no case."""


class FaultCase:
    """A graph, and arrays for its inputs."""

    def __init__(self, graph: Graph, inputs: Sequence[np.ndarray]) -> None:
        self.graph, self.inputs = graph, inputs

    def __str__(self) -> str:
        places = {x: k for k, x in enumerate(self.graph)}
        lines = []
        for x, place in places.items():
            read = ", ".join(f"%{places[y]}" for y in x.inputs)
            words = x.params.get("f", "")
            lines.append(f"%{place} = {x!r} {words}({read})".replace(" (", "("))
        return "\n".join(lines)

    def outputs(self, without: str = "") -> list[np.ndarray]:
        """The results of the program, compiled anew without some optimisations."""
        with override(without=without, cache=False, keep_programs=False):
            made = build(self.graph).run([DeviceBuffer.of(x.copy()) for x in self.inputs])
        pairs = zip(made, self.graph.outputs, strict=True)
        return [x.array(like).copy() for x, like in pairs]

    def witness(self, without: str = "") -> str:
        """The hash of the results."""
        return witness([as_bits(x) for x in self.outputs(without)])

    def ending(self, without: str = "") -> str:
        """The hash of the results, or the error that came in their place."""
        try:
            return self.witness(without)
        except Exception as error:
            return f"{type(error).__name__}: {error}"


def as_bits(array: np.ndarray) -> np.ndarray:
    """The bytes of an array, row by row."""
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)


def save_case(path: str | Path, graph: Graph, inputs: Sequence[np.ndarray]) -> None:
    """Write a graph and its inputs."""
    writer = GraphWriter()
    number = writer.number(graph)
    rows = msgspec.msgpack.encode([number, writer.rows, [list(site) for site in writer.sites]])
    bits = {f"input {k}": as_bits(x) for k, x in enumerate(inputs)}
    np.savez(path, **{GRAPH: np.frombuffer(rows, np.uint8)}, **bits)


def load_case(path: str | Path) -> FaultCase:
    """Read what save_case wrote. Errors: ConfigError where the file holds no case."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as held:
            number, rows, sites = msgspec.msgpack.decode(held[GRAPH].tobytes())
            graph = GraphReader(rows, sites).graphs[number]
            kinds = [(x.dtype, x.shape) for x in graph.inputs]
            inputs = [shaped(held[f"input {k}"], *kind) for k, kind in enumerate(kinds)]
    except DAMAGED as wrong:
        raise ConfigError(f"bisect: {path} holds no case: {wrong}. Let bisect write it.") from None
    return FaultCase(graph, inputs)


def shaped(bits: np.ndarray, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    """An array of its bytes."""
    return bits.view(dtype.numpy).reshape(shape)
