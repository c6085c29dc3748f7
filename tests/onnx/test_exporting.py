"""torch.onnx.export: options, files, dynamic sizes, refusals."""

from __future__ import annotations

import io

import onnx
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, TraceError
from gnomon.export import Dim
from tests.onnx.running import agree, exported

pytestmark = pytest.mark.unit

nn = gn.nn


def network() -> nn.Module:
    """A small network with layers that training changes."""
    gn.manual_seed(0)
    parts = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)
    return nn.Sequential(*parts, nn.Dropout(0.5), nn.Flatten(), nn.Linear(64, 5), nn.Softmax(-1))


def test_a_module_in_training_is_exported_for_inference_and_left_in_training():
    model = network()
    made = gn.onnx.export(model, (gn.randn(2, 3, 8, 8),), verify=True)
    assert all(x.training for x in model.modules())
    x = gn.randn(2, 3, 8, 8)
    agree(made(x), model.eval()(x))


def test_a_module_kept_in_training_is_refused_where_it_writes_or_draws():
    for model in (nn.BatchNorm1d(3), nn.Dropout(0.5)):
        with pytest.raises(TraceError, match=r"export: \w+ (writes to a|draws random)"):
            gn.onnx.export(model, (gn.ones(2, 3),), training=gn.onnx.TrainingMode.PRESERVE)


def test_a_batch_of_one_stands_for_batches_of_all_sizes():
    model = network().eval()
    others = [(gn.randn(n, 3, 8, 8),) for n in (2, 7)]
    axes = {"image": {0: "batch"}, "scores": {0: "batch"}}
    names = {"input_names": ["image"], "output_names": ["scores"]}
    exported(model, gn.randn(1, 3, 8, 8), others=others, dynamic_axes=axes, **names)


def test_sizes_by_dims():
    batch, time = Dim("batch"), Dim("time", min=2, max=64)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    others = [(gn.randn(3, 9, 8),), (gn.randn(1, 1, 8),)]
    for shapes in ({"src": {0: batch, 1: time}}, ((batch, time, None),), {"src": {0: "batch"}}):
        some = others if shapes != {"src": {0: "batch"}} else [(gn.randn(6, 4, 8),)]
        exported(layer, gn.randn(2, 4, 8), others=some, dynamic_shapes=shapes)


def test_two_arguments_of_one_size():
    shapes = {"x": {0: Dim.AUTO}, "y": {0: Dim.DYNAMIC}}
    others = [(gn.ones(5, 2), gn.ones(5, 1))]
    exported(lambda x, y: x * y, gn.ones(3, 2), gn.ones(3, 1), others=others, dynamic_shapes=shapes)


def test_a_size_at_its_most_is_varied_downwards():
    table = gn.arange(8.0)
    made = exported(
        lambda x: x + table[: x.shape[0]].reshape(x.shape[0]),
        gn.ones(8),
        others=[(gn.ones(3),)],
        dynamic_axes={"x": [0]},
    )
    assert made.model_proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param


def test_a_size_that_decides_is_refused():
    def function(x):
        return x * float(x.shape[0] ** 0.5) if x.shape[0] % 2 else x.unsqueeze(0)

    with pytest.raises(TraceError, match="does not compute alike for all sizes of n"):
        gn.onnx.export(function, (gn.ones(4),), dynamic_axes={"x": {0: "n"}})


def test_files(tmp_path):
    model, x = network().eval(), gn.randn(1, 3, 8, 8)
    path = tmp_path / "model.onnx"
    file = io.BytesIO()
    made = [gn.onnx.export(model, x, f) for f in (path, file)]
    assert onnx.load(path) == made[0].model_proto
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]
    assert file.getvalue() == path.read_bytes()


def test_weights_in_a_file_of_their_own(tmp_path):
    model, path = nn.Linear(40, 30), tmp_path / "model.onnx"
    made = gn.onnx.export(model, (gn.ones(1, 40),), path, external_data=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]
    whole = onnx.load(path)
    for one, other in zip(whole.graph.initializer, made.model_proto.graph.initializer, strict=True):
        assert onnx.numpy_helper.to_array(one).tobytes() == other.raw_data


def test_the_reference_of_onnx_agrees():
    model, x = nn.Sequential(nn.Linear(3, 4), nn.GELU()), gn.ones(2, 3)
    made = gn.onnx.export(model, (x,))
    agree(made.call_reference(x), model(x))
    made.release()
    agree(made(x), model(x))


def test_arguments_by_name():
    def function(x, y=None):
        return x - y

    x, y = gn.ones(2), {"y": gn.zeros(2)}
    for args, kwargs in (((x, y), None), ((x,), y)):
        made = gn.onnx.export(function, args, kwargs=kwargs)
        assert [x.name for x in made.model_proto.graph.input] == ["x", "y"]


def test_options_without_a_meaning_are_refused():
    for options, told in (
        ({"report": True}, "report isn't done here"),
        ({"opsets": 3}, "no option 'opsets'"),
        ({"opset_version": 12}, "opset_version is one of 18 to 23: got 12"),
    ):
        with pytest.raises(ArgumentError, match=told):
            gn.onnx.export(nn.ReLU(), (gn.ones(2),), **options)
    assert gn.onnx.export(nn.ReLU(), (gn.ones(2),), dynamo=False, verbose=True) is None


def test_a_number_of_arguments_that_does_not_fit():
    made = gn.onnx.export(nn.ReLU(), (gn.ones(2),))
    with pytest.raises(ArgumentError, match="the model has 1 inputs, inputs_0: got 2 tensors"):
        made(gn.ones(2), gn.ones(2))
    assert repr(made) == "ONNXProgram(ReLU, 2 nodes)"


def test_functions_know_that_they_are_exported():
    made = gn.onnx.export(lambda x: x * (2 if gn.onnx.is_in_onnx_export() else 3), (gn.ones(1),))
    assert made(gn.ones(1))[0].tolist() == [2]
    assert not gn.onnx.is_in_onnx_export()
