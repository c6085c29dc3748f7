"""Methods for program files: tensors that they share, what is refused."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.capture.program_methods import HeldTensors
from gnomon.errors import TraceError
from gnomon.export import export
from gnomon.export.program_capture import captured_methods


class Counting(gn.nn.Module):
    """Adds to a buffer."""

    def __init__(self):
        super().__init__()
        self.weight = gn.nn.Parameter(gn.full((3,), 2.0))
        self.register_buffer("count", gn.zeros(3))

    def forward(self, x):
        self.count.add_(1)
        return x * self.weight + self.count


class Reading(gn.nn.Module):
    """Reads the same buffer."""

    def __init__(self, of):
        super().__init__()
        self.of = of

    def forward(self):
        return self.of.count.sum()


def test_methods_of_one_module_share_tensors_and_leave_them_as_they_are():
    module, held = Counting(), HeldTensors()
    (first,) = captured_methods("first", export(module, (gn.ones(2, 3),)), held)
    (second,) = captured_methods("second", export(Reading(module), ()), held)
    found = held.content()

    assert {x.name: x.written for x in found} == {"weight": False, "count": True}
    numbers = {x.name: k for k, x in enumerate(found)}
    assert [x for _, x in first.writes] == [numbers["count"]] == [x for _, x in second.held]
    assert module.count.tolist() == [0.0] * 3
    assert [name for name, _ in first.arguments] == ["x"]
    assert not second.writes


class Drawing(gn.nn.Module):
    """Draws numbers."""

    def forward(self, x):
        return gn.nn.functional.dropout(x, 0.5)


class Filling(gn.nn.Module):
    """Writes to its argument."""

    def forward(self, x):
        return x.add_(1) * 2


@pytest.mark.parametrize(
    ("module", "told"), [(Drawing(), "draws random numbers"), (Filling(), "writes to")]
)
def test_what_does_more_is_refused(module, told):
    with pytest.raises(TraceError, match=told):
        [*captured_methods("forward", export(module, (gn.ones(3),)), HeldTensors())]
