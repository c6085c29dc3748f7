"""The file of a compiled function: every part that does not fit another is refused, by name."""

from __future__ import annotations

import hashlib
from dataclasses import replace as changed

import msgspec
import pytest
from msgspec.structs import replace

import gnomon as gn
from gnomon.errors import CheckpointError
from gnomon.program.artifact import MAGIC, Sections, checked, read_artifact, write_artifact
from gnomon.runtime.program import (
    ArenaSlot,
    Bind,
    Branch,
    Call,
    ConstantSlot,
    FunctionSlot,
    InputSlot,
    OutputSlot,
    RegisterSlot,
    ScalarSlot,
    Set,
    Skip,
)
from tests.mutations_of_files import START


@pytest.fixture
def path(tmp_path):
    weight = gn.randn(3, 2)
    made = gn.compile(lambda x, y: (x @ weight).relu()).precompile(gn.ones(4, 3), gn.ones(1))
    made.save(tmp_path / "f.gnc")
    return tmp_path / "f.gnc"


@pytest.fixture
def sections(path):
    return msgspec.msgpack.decode(path.read_bytes()[START:], type=Sections)


def with_plan(sections, **changes):
    """The sections with a plan that differs."""
    plan = changed(sections.code.plans[0], **changes)
    return replace(sections, code=replace(sections.code, plans=(plan,)))


def with_entry(sections, **changes):
    """The sections with a program that differs."""
    content = msgspec.msgpack.decode(sections.definition)
    content["entries"][0] |= changes
    return replace(sections, definition=msgspec.msgpack.encode(content))


def test_what_is_written_is_read(path, sections):
    found = checked(sections)

    graph = found.graphs[found.definition.entries[0].graph]
    assert found.code.plans[0].needs.inputs == len(graph.inputs) == 2
    assert read_artifact(path).definition == found.definition
    content = found.definition
    digest = write_artifact(
        path, content, found.code.origin, found.code.plans, found.code.objects, found.state
    )
    assert read_artifact(path, digest).definition == content


@pytest.mark.parametrize(
    ("place", "why"),
    [(0, "digest"), (20, "digest"), (START, "digest"), (-1, "digest")],
)
def test_a_byte_that_is_wrong_is_noticed(path, place, why):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)

    with pytest.raises(CheckpointError, match=f"f.gnc is not a file of .*{why}"):
        read_artifact(path)


@pytest.mark.parametrize("content", [b"", b"x", b"gnomon-compiled-1\n", bytes(100)])
def test_what_is_no_such_file_is_refused(path, content):
    path.write_bytes(content)

    with pytest.raises(CheckpointError, match="is not a file of a compiled function"):
        read_artifact(path)


@pytest.mark.parametrize(
    "step",
    [
        Call("none", ()),
        Branch(InputSlot(0), -1),
        Skip(10_000),
        Bind(10_000),
        Set(0, ConstantSlot(1)),
        Skip(0, InputSlot(2)),
        Skip(0, InputSlot(-1)),
        Skip(0, InputSlot(0, 1 << 60)),
        Skip(0, OutputSlot(9)),
        Skip(0, ScalarSlot(7)),
        Skip(0, RegisterSlot(0)),
        Skip(0, ArenaSlot(-64)),
        Skip(0, ArenaSlot(1 << 40)),
        Skip(0, ConstantSlot(1 << 63)),
        Skip(0, FunctionSlot("none")),
    ],
)
def test_a_step_that_is_out_of_place_is_refused(sections, step):
    steps = (*sections.code.plans[0].steps, step)

    with pytest.raises(ValueError, match="out of place"):
        checked(with_plan(sections, steps=steps))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"meshes": ("data",)}, "no file holds"),
        ({"sizes": ()}, "not that of its graph"),
        ({"sizes": (64,)}, "not an output of its graph"),
        ({"returns": ((False, 0),)}, "not an output of its graph"),
        ({"returns": ((True, 3),)}, "3 is no place"),
        ({"returns": ()}, "zip"),
        ({"over": ((0, 7),)}, "7 is no place"),
    ],
)
def test_a_plan_that_is_another_graphs_is_refused(sections, changes, why):
    with pytest.raises(ValueError, match=why):
        checked(with_plan(sections, **changes))


@pytest.mark.parametrize("name", ["arena", "scratch", "registers"])
def test_sizes_that_nothing_has_are_refused(sections, name):
    needs = changed(sections.code.plans[0].needs, **{name: -1})

    with pytest.raises(ValueError, match="sizes that nothing has"):
        checked(with_plan(sections, needs=needs))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"graph": 5}, "5 is no place"),
        ({"given": []}, "inputs of a program are missing"),
        ({"given": [[0, 0], [0, 1]]}, "inputs of a program are missing"),
        ({"given": [[0, 1]]}, "of another kind"),
        ({"given": [[0, 4]]}, "4 is no place"),
        ({"kinds": [[[5, 3], "float32"], [[1], "float32"]]}, "of another kind"),
        ({"state": [[1, 3]]}, "3 is no place"),
        ({"results": [2]}, "2 is no place"),
        ({"results": [-4]}, "3 is no place"),
    ],
)
def test_a_program_whose_inputs_are_others_is_refused(sections, changes, why):
    with pytest.raises(ValueError, match=why):
        checked(with_entry(sections, **changes))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"content": b"12345678"}, "bytes are not those of its shape"),
        ({"shape": (2, 3)}, "of another kind"),
        ({"dtype": "int32"}, "of another kind"),
        ({"dtype": "bool", "shape": (24,)}, "neither true nor false"),
    ],
)
def test_state_that_is_another_is_refused(sections, changes, why):
    state = (replace(sections.state[0], **changes),)

    with pytest.raises(ValueError, match=why):
        checked(replace(sections, state=state))


def test_code_of_another_function_is_refused(path, sections, tmp_path):
    gn.compile(lambda x: x + 1).precompile(gn.ones(2)).save(tmp_path / "g.gnc")
    other = msgspec.msgpack.decode((tmp_path / "g.gnc").read_bytes()[START:], type=Sections)
    found = checked(other)
    swapped = replace(sections, definition=other.definition, state=())
    assert found.definition.name == "<lambda>"

    body = msgspec.msgpack.encode(swapped)
    write_sealed(path, body)

    with pytest.raises(CheckpointError, match="its code was made for another function"):
        read_artifact(path)


def write_sealed(path, body):
    """A file of these sections, with the digest that they have."""
    path.write_bytes(MAGIC + hashlib.sha256(body).digest() + body)
