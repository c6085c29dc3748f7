"""Compiled code as tests run it: a graph and arrays in, arrays out, under chosen settings.

Not a test. Programs are built anew, so that a test may change what the compiler reads, and always
use every thread, however small they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from gnomon.compiler.build import compile_graph
from gnomon.compiler.target import context
from gnomon.ir.node import Graph
from gnomon.program import assembly
from gnomon.program.context import Moments
from gnomon.program.executable import Executable
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.runtime.threads import get_num_threads, set_num_threads
from gnomon.settings import override


def program(
    graph: Graph,
    seconds: float = 0.0,
    sizes_vary: bool = False,
    moments: Moments | None = None,
    **settings: object,
) -> Executable:
    """A new executable whose calls are shared among all threads."""
    asked = {"seconds": seconds, "sizes_vary": sizes_vary, "moments": moments or Moments()}
    with override(**settings), patch.object(assembly, "ALONE", 0):
        return compile_graph(graph, context(**asked))


def run(graph: Graph, arrays: Sequence[np.ndarray], **settings: object) -> list[np.ndarray]:
    """The graph's outputs by compiled code."""
    return execute(program(graph, **settings), graph, arrays)


def execute(executable: Executable, graph: Graph, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs of an executable that was made from the graph."""
    results = executable.run([DeviceBuffer.of(np.ascontiguousarray(x)) for x in arrays])
    kept = zip(results, graph.outputs, strict=True)
    return [b.numpy(x.dtype.numpy, x.shape).copy() for b, x in kept]


@contextmanager
def threads(count: int) -> Iterator[None]:
    """So many threads inside a `with`."""
    before = get_num_threads()
    set_num_threads(count)
    try:
        yield
    finally:
        set_num_threads(before)
