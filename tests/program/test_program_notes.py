"""Notes for Gnomon itself: what is written is read, of another version nothing but the name."""

from __future__ import annotations

import msgspec
import pytest

import gnomon as gn
from gnomon.ir.node import Arena, Graph
from gnomon.program.graphs import GraphWriter
from gnomon.program.program_notes import (
    BROKEN,
    MethodNotes,
    ProgramNotes,
    read_graphs,
    read_notes,
    sources,
)
from gnomon.settings import current


@pytest.fixture
def notes():
    arena, writer = Arena(), GraphWriter()
    x = arena.input((3,), gn.float32)
    number = writer.number(Graph((x,), (arena.node("map", (x,), f="neg"),)))
    settings = current().of_programs()._asdict()
    methods = (MethodNotes(number, (0,)),)
    return ProgramNotes("f", sources(), settings, writer.rows, [*map(list, writer.sites)], methods)


def test_what_is_written_is_read(notes):
    found = read_notes(notes.encoded())
    (graph,), settings = read_graphs(found)

    assert (found.name, found.methods) == ("f", notes.methods)
    assert [x.shape for x in (*graph.inputs, *graph.outputs)] == [(3,), (3,)]
    assert settings == current().of_programs()


def test_graphs_of_another_version_are_not_read(notes):
    assert read_graphs(msgspec.structs.replace(notes, sources="other", rows=["none"])) is None


@pytest.mark.parametrize("changes", [{"methods": (MethodNotes(9, ()),)}, {"rows": [[1, 2]]}])
def test_what_is_no_graph_is_an_error(notes, changes):
    with pytest.raises(BROKEN):
        read_graphs(msgspec.structs.replace(notes, **changes))
    with pytest.raises(BROKEN):
        read_notes(b"\x00 no notes")
