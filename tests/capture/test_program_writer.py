"""Program files of several methods: shared state, sizes, processors, what a file weighs."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.capture.program_writer import shared_slots
from gnomon.errors import ArgumentError
from gnomon.export import export, load_program, save_programs
from gnomon.runtime.flat_code import FlatCode
from gnomon.runtime.program import (
    Bind,
    Branch,
    Call,
    ConstantSlot,
    FunctionSlot,
    InputSlot,
    Needs,
    OutputSlot,
    Set,
    bindings,
    table,
)
from gnomon.runtime.program_file import FIRST_SLOT
from tests.export.test_program_capture import Counting, Reading


def test_methods_share_what_they_write(tmp_path):
    module = Counting()
    methods = {"add": export(module, (gn.ones(2, 3),)), "sum": export(Reading(module), ())}
    save_programs(methods, tmp_path / "counting.gnp")
    made, x = load_program(tmp_path / "counting.gnp"), np.ones((2, 3), np.float32)

    assert [*made.methods] == ["add", "sum"]
    assert made["sum"]().tolist() == 0.0
    assert [made["add"](x)[0, 0].item() for _ in range(3)] == [3.0, 4.0, 5.0]
    assert made["sum"]().tolist() == 9.0
    assert made.state["count"].tolist() == [3.0] * 3
    made.reset()
    assert made["sum"]().tolist() == 0.0
    assert load_program(tmp_path / "counting.gnp")["sum"]().tolist() == 0.0


class Nested(gn.nn.Module):
    """Takes and gives nested values."""

    def forward(self, x, *, parts, flag=True):
        y = x @ parts["a"][0]
        return {"y": y if flag else x, "rest": [parts["a"][0] * 2, None, x]}


def test_nested_arguments_and_results_keep_their_structure(tmp_path):
    x, parts = gn.randn(4, 3), {"a": (gn.randn(3, 5),)}
    export(Nested(), (x,), {"parts": parts, "flag": True}).save(tmp_path / "nested.gnp", ["avx2"])
    made = load_program(tmp_path / "nested.gnp")
    arrays = {"a": (parts["a"][0].numpy(),)}
    found = made(x.numpy(), parts=arrays, flag=True)

    assert np.allclose(found["y"], (x @ parts["a"][0]).numpy(), 1e-6)
    assert found["rest"][1] is None
    assert found["rest"][2].tobytes() == x.numpy().tobytes()
    with pytest.raises(ValueError, match="nested otherwise or has other values"):
        made(x.numpy(), parts=arrays, flag=False)


def test_a_position_outside_of_its_axis_is_an_error_and_changes_nothing(tmp_path):
    table = gn.nn.Embedding(5, 3)
    export(table, (gn.tensor([0, 1]),)).save(tmp_path / "table.gnp", ["avx2"])
    made = load_program(tmp_path / "table.gnp")

    assert made(np.array([4, 2])).shape == (2, 3)
    with pytest.raises(IndexError, match="a position is outside its axis"):
        made(np.array([4, 5]))


def test_a_file_is_its_weights_and_a_little_for_each_processor(tmp_path):
    module = gn.nn.Sequential(gn.nn.Linear(512, 2048), gn.nn.ReLU(), gn.nn.Linear(2048, 512))
    for targets in (["avx2"], ["avx2", "avx512", "neon"]):
        export(module, (gn.ones(16, 512),)).save(tmp_path / "m.gnp", targets)
        weights = sum(4 * x.numel() for x in module.parameters())
        size = (tmp_path / "m.gnp").stat().st_size
        assert size <= weights + len(targets) * (64 << 10), size - weights


STEPS = (
    Call("twice", (InputSlot(0), OutputSlot(0), ConstantSlot(3))),
    Call("adds", (OutputSlot(0),), barrier=False),
    Call("adds", (InputSlot(0), OutputSlot(0), ConstantSlot(3))),
    Branch(OutputSlot(0), 5),
    Call("adds", (FunctionSlot("twice"),)),
    Call("adds", (ConstantSlot(64),)),
)
CODE, NEEDS = FlatCode(b"", {"twice": 64, "adds": 128}, {}), Needs(1, 1, 0, registers=1)


def test_steps_whose_slots_are_equal_have_them_once():
    calls, slots = shared_slots(STEPS, CODE, NEEDS)

    assert calls[:, FIRST_SLOT].tolist() == [0, 24, 0, 24, 32, 40]
    assert [offset for _, offset, _ in slots] == [0, 0, 3, 0, 64, 64]
    assert [is_function for *_, is_function in slots] == [False] * 4 + [True, False]
    plain = table(STEPS, CODE.functions, NEEDS)
    others = [k for k in range(5) if k != FIRST_SLOT]
    assert (calls[:, others] == plain[:, others]).all()


def test_slots_that_are_filled_again_stay_in_their_places():
    steps = (*STEPS[:3], Bind(3), Set(0, InputSlot(0)))
    calls, slots = shared_slots(steps, CODE, NEEDS)

    assert (calls == table(steps, CODE.functions, NEEDS)).all()
    assert [x[:2] for x in slots] == bindings(steps, CODE.functions, NEEDS)


def test_no_target_and_no_method_are_refused(tmp_path):
    program = export(Counting(), (gn.ones(2, 3),))
    with pytest.raises(ArgumentError, match="got 1 methods for sse9"):
        program.save(tmp_path / "x.gnp", ["sse9"])
    with pytest.raises(ArgumentError, match="got 0 methods"):
        save_programs({}, tmp_path / "x.gnp")
