"""Calls of external operations as kernels: all results stand first, whoever reads them."""

from __future__ import annotations

import msgspec
import pytest

from gnomon.compiler.build import build
from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ops.external import EXTERNALS, ExternalOp, external
from gnomon.program.saved import ExternalCall

pytestmark = pytest.mark.unit


@pytest.fixture
def graph(monkeypatch: pytest.MonkeyPatch) -> Graph:
    """A call of two results, the second of which is read."""
    monkeypatch.setitem(EXTERNALS, "a::b@1", ExternalOp("a::b", lambda said, xs: [xs[0], xs[0]]))
    arena = Arena()
    x = arena.input((4,), float32)
    kinds = (((4,), float32), ((4,), float32))
    return Graph([x], [external(arena, (x * 2,), "a::b@1", "()", kinds, None)[1] + 1])


def test_a_call_is_one_kernel_between_those_that_it_reads_and_that_read_it(graph: Graph):
    kernels = build(graph).kernels

    assert [k.name for k in kernels] == ["mul", "a::b", "add"]
    call = kernels[1]
    assert (call.outputs, len(call.buffers)) == (2, 3)
    kind = ((4,), "float32")
    assert call.external == ExternalCall("a::b@1", "()", (kind, kind), (kind,))


def test_it_is_saved_as_data(graph: Graph):
    call = build(graph).kernels[1].external

    assert msgspec.msgpack.decode(msgspec.msgpack.encode(call), type=ExternalCall) == call
