"""Models declare their inputs and results, and hold parameters under their names."""

from __future__ import annotations

import onnx
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.onnx.model import OPSETS, word
from tests.onnx.running import exported

pytestmark = pytest.mark.unit


def sizes_of(values):
    """Sizes of declared values, by number or name."""
    return [[d.dim_param or d.dim_value for d in x.type.tensor_type.shape.dim] for x in values]


class Pair(gn.nn.Module):
    """Two layers that share a weight, a buffer, and an argument that is not used."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = gn.nn.Linear(3, 3), gn.nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.register_buffer("shift", gn.ones(3))

    def forward(self, x, unused, batch):
        return {"y": self.second(self.first(x)) + self.shift, "z": batch["k"][0] * 2}


def arguments(n: int):
    """Arguments of such a module."""
    return gn.ones(n, 3), gn.zeros(2), {"k": [gn.arange(2.0)]}


def test_names_of_inputs_results_and_state():
    graph = gn.onnx.export(Pair(), (*arguments(2), {})).model_proto.graph
    assert [x.name for x in graph.input] == ["x", "unused", "batch_k_0"]
    assert [x.name for x in graph.output] == ["output", "output_1"]
    state = {x.name for x in graph.initializer if "const" not in x.name}
    assert state == {"first.weight", "first.bias", "second.bias", "shift"}


def test_names_that_are_given():
    made = gn.onnx.export(Pair(), (*arguments(2), {}), input_names=["a"], output_names=["p", "q"])
    graph = made.model_proto.graph
    assert [x.name for x in graph.input] == ["a", "unused", "batch_k_0"]
    assert [x.name for x in graph.output] == ["p", "q"]
    with pytest.raises(ArgumentError, match="input_names: there are 3: got 4 names"):
        gn.onnx.export(Pair(), (*arguments(2), {}), input_names=list("abcd"))


def test_sizes_by_number_and_name():
    axes = {"x": {0: "batch"}, "unused": {0: "batch2"}}
    made = gn.onnx.export(Pair(), (*arguments(2), {}), dynamic_axes=axes)
    assert sizes_of(made.model_proto.graph.input) == [["batch", 3], ["batch2"], [2]]
    assert sizes_of(made.model_proto.graph.output) == [["batch", 3], [2]]


def test_state_as_inputs():
    plain = gn.onnx.export(gn.nn.Linear(2, 3), (gn.ones(1, 2),), export_params=False)
    names = [x.name for x in plain.model_proto.graph.input]
    assert names == ["input", "weight", "bias"]
    both = gn.onnx.export(gn.nn.Linear(2, 3), (gn.ones(1, 2),), keep_initializers_as_inputs=True)
    assert [x.name for x in both.model_proto.graph.input] == names
    assert {"weight", "bias"} <= {x.name for x in both.model_proto.graph.initializer}


@pytest.mark.parametrize("opset", [OPSETS[0], OPSETS[-1]])
def test_models_are_what_the_checker_of_onnx_takes(opset):
    layer = gn.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    made = gn.onnx.export(layer, (gn.ones(1, 3, 8),), opset_version=opset)
    onnx.checker.check_model(made.model_proto, full_check=True)
    assert made.model_proto.opset_import[0].version == opset


def test_an_input_that_is_a_result():
    exported(lambda x, y: (x, y * 1, x), gn.ones(2), gn.zeros(3))


def test_words():
    assert word("args[0]['x']") == "args_0_x"
