"""Recorded calls: nodes of functions, factories, writes, modules that loop inside."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import TraceError
from gnomon.export.recording import ModuleCall, TensorMetadata, recorded
from gnomon.utils.pytree import tree_flatten


class Called(gn.nn.Module):
    """A module whose forward is a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def record(function, *args):
    names = [f"x{k}" for k in range(len(args))]
    return recorded(Called(function), {}, names, tree_flatten((args, {})))


def targets(found):
    return [getattr(x.target, "__name__", x.target) for x in found.graph.nodes][:-1]


def test_functions_methods_and_operators_are_nodes():
    found = record(lambda x: gn.relu(x.view(3, 2) + 1).T[0], gn.ones(2, 3))

    assert targets(found) == ["x0", "view", "add", "relu", "getattr", "getitem"]
    assert found.outputs[0].meta["tensor_meta"] == TensorMetadata((3,), gn.float32)
    assert "test_recording.py" in str(found.outputs[0].meta["site"])


def test_what_is_made_of_numbers_is_made_in_each_call():
    def function(x):
        out = gn.zeros(2)
        out[0] = x.sum()
        return out.add_(gn.arange(2))

    assert targets(record(function, gn.ones(2))) == [
        *("x0", "zeros", "sum", "setitem", "arange", "add_"),
    ]


def test_tensors_from_elsewhere_are_constants_and_not_written_to():
    kept = gn.ones(2)
    found = record(lambda x: kept * x + gn.from_numpy(kept.numpy()), gn.ones(2))

    assert targets(found) == ["c_lifted_tensor_0", "c_lifted_tensor_1", "x0", "mul", "add"]
    assert list(found.constants) == ["c_lifted_tensor_0", "c_lifted_tensor_1"]
    assert found.constants["c_lifted_tensor_0"].tolist() == [1.0, 1.0]
    with pytest.raises(TraceError, match="neither an argument nor the module's"):
        record(lambda x: kept.mul_(x) + x, gn.ones(2))


def test_parts_that_nobody_reads_are_no_nodes():
    found = record(lambda x: x.chunk(3)[1], gn.ones(6))

    assert targets(found) == ["x0", "chunk", "getitem"]


@pytest.mark.parametrize(
    "read", [bool, float, lambda x: x.item(), lambda x: x.tolist(), lambda x: x.allclose(x)]
)
def test_values_are_not_read(read):
    with pytest.raises(TraceError, match=r"export: .* reads a tensor's value"):
        record(lambda x: read(x) and x, gn.ones(()))


def test_a_module_that_loops_inside_is_one_call_of_its_tensors():
    layer = gn.nn.GRU(2, 3)
    called = ModuleCall(layer)
    x = gn.ones(4, 1, 2)

    assert called.__name__ == "gru"
    assert all(p.numel() == 0 for p in called.module.parameters())
    out, _ = called([*layer.parameters()], x)
    assert out.tolist() == layer(x)[0].tolist()
