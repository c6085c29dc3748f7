"""Exported programs: their module, what calls must be like, files."""

from __future__ import annotations

import io

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, DtypeError, TraceError
from gnomon.export import Dim, export, load, save


class Counting(gn.nn.Module):
    """Writes buffers, takes nested values, gives nested ones."""

    def __init__(self):
        super().__init__()
        self.layer = gn.nn.Linear(3, 2)
        self.register_buffer("count", gn.zeros(2))
        self.register_buffer("scale", gn.full((2,), 2.0), persistent=False)

    def forward(self, x, *, parts, flag=True):
        self.count.add_(1)
        y = self.layer(x) * self.scale + self.count
        return {"y": y if flag else x, "rest": [parts["a"][0] * 2, None]}


@pytest.fixture
def program():
    x, parts = gn.ones(4, 3), {"a": (gn.ones(2),)}
    shapes = {"x": {0: Dim("n", max=16)}, "parts": {"a": (None,)}}
    return export(Counting(), (x,), {"parts": parts}, dynamic_shapes=shapes)


def test_the_module_runs_writes_and_trains_the_programs_tensors(program):
    made, x = program.module(), gn.ones(5, 3)
    found = made(x, parts={"a": (gn.ones(2),)})
    (found["y"]).sum().backward()

    assert found["rest"][1] is None
    assert program.state_dict["count"].tolist() == [1.0, 1.0]
    weight = dict(program.named_parameters())["layer.weight"]
    assert weight.grad.tolist() == [[10.0] * 3] * 2
    assert sorted(made.state_dict()) == sorted(program.state_dict)
    assert [*program.constants] == ["scale"]
    assert [name for name, _ in program.named_buffers()] == ["count", "scale"]
    assert program.run_decompositions() is program
    assert "layer.weight" in str(program)


def test_calls_unlike_the_example_are_refused(program):
    made, parts = program.module(), {"a": (gn.ones(2),)}
    for x, error in (
        (gn.ones(5, 4), "axis 1 of x has 4"),
        (gn.ones(17, 3), "n is 17: its Dim allows 0 to 16"),
        (gn.ones(3), "x is float32 of 1 axes"),
        (gn.ones(5, 3).double(), "x is float64"),
        (3.0, "x is 3.0"),
    ):
        with pytest.raises(ArgumentError, match=error):
            made(x, parts=parts)
    with pytest.raises(ArgumentError, match="structure is not that of the example"):
        made(gn.ones(5, 3), parts={"a": [gn.ones(2)]})
    with pytest.raises(TraceError, match=r"Use `\.module"):
        program(gn.ones(5, 3), parts=parts)


def test_sizes_of_one_name_are_one():
    class Sum(gn.nn.Module):
        def forward(self, x, y):
            return x + y

    n = Dim("n")
    made = export(Sum(), (gn.ones(3), gn.ones(3)), dynamic_shapes=({0: n}, {0: n})).module()

    assert made(gn.ones(7), y=gn.ones(7)).shape == (7,)
    with pytest.raises(ArgumentError, match="n is 7 in axis 0 of x and 6 in axis 0 of y"):
        made(gn.ones(7), gn.ones(6))


def test_a_program_is_the_same_behind_a_file(program, tmp_path):
    x, parts = gn.linspace(-1, 1, 18).reshape(6, 3), {"a": (gn.ones(2),)}
    expected = program.module()(x, parts=parts)["y"].numpy(force=True)
    program.state_dict["count"].zero_()
    whole = io.BytesIO()
    save(program, whole, extra_files={"note": "of a test"})
    save(program, tmp_path / "a.pt2")
    whole.seek(0)
    told = {"note": ""}

    for found in (load(whole, extra_files=told), load(tmp_path / "a.pt2")):
        np.testing.assert_array_equal(
            found.module()(x, parts=parts)["y"].numpy(force=True), expected
        )
        assert isinstance(found.state_dict["layer.weight"], gn.nn.Parameter)
        assert found.graph_signature.buffers == program.graph_signature.buffers
        assert found.range_constraints == program.range_constraints
    assert told == {"note": "of a test"}
    gn.save({"other": 1}, tmp_path / "b.pt2")
    with pytest.raises(ArgumentError, match="holds no program"):
        load(tmp_path / "b.pt2")
    with pytest.raises(DtypeError, match="expected an ExportedProgram"):
        save(3, tmp_path / "c.pt2")
