"""What is written has names, is written once, and says where it comes from."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, TraceError
from gnomon.onnx.writer import OnnxWriter, carried, type_inside, type_of
from tests.onnx.running import exported, operators

pytestmark = pytest.mark.unit


def test_names_are_new():
    writer = OnnxWriter({}, {})
    assert [writer.fresh("x") for _ in range(3)] == ["x", "x_1", "x_2"]


def test_a_constant_is_written_once_by_its_bytes():
    writer = OnnxWriter({}, {})
    zero = writer.constant(0.0, gn.float32)
    assert writer.constant(0.0, gn.float32) == zero
    assert writer.constant(-0.0, gn.float32) != zero
    assert writer.constant(0, gn.int64) != zero
    assert [list(x.dims) for x in writer.initializers] == [[], [], []]


def test_known_numbers_are_constants():
    writer = OnnxWriter({}, {})
    assert writer.numbers((2, 3)) == writer.constant(np.array([2, 3], np.int64))
    assert writer.number(2) == writer.constant(np.array([2], np.int64))
    assert not writer.nodes


def test_types():
    assert type_of(gn.float32) == 1
    assert type_of(gn.bfloat16) == 16
    assert type_inside(gn.bfloat16) == 1
    with pytest.raises(TraceError, match="onnx: complex64 is no type of ONNX's"):
        type_of(gn.complex64)
    with pytest.raises(TraceError, match="takes complex numbers"):
        gn.onnx.export(lambda x: x * 2, (gn.ones(2, dtype=gn.complex64),))


def test_values_that_runtimes_do_not_compute_with_are_cast():
    writer = OnnxWriter({}, {})
    assert carried(writer, "x", gn.float32) == "x"
    assert carried(writer, "x", gn.bfloat16) != "x"
    x = gn.tensor([1.0, 2.5, 3.1], dtype=gn.bfloat16)

    def function(x):
        x = x.bfloat16()
        return [y.float() for y in (x * 3.3 + x, x[1:], gn.cat([x, x]), x.sum(0), x @ x)]

    exported(function, x.float())
    with pytest.raises(ArgumentError, match="onnxruntime takes and gives no bfloat16"):
        gn.onnx.export(lambda x: x * 2, (x,))(x)


def test_nodes_name_the_line_of_user_code():
    made = gn.onnx.export(lambda x: x.exp(), (gn.ones(2),))
    assert __file__ in made.model_proto.graph.node[0].doc_string


def test_results_of_one_call_are_written_once():
    made = exported(lambda x: x.sort(0), gn.tensor([3.0, 1.0, 2.0]))
    assert operators(made).count("TopK") == 1


def test_sizes_are_computed_in_the_file():
    def function(x):
        n, m = x.shape
        return x.reshape(n * m), gn.ones(n * 2 + m), x[: (n + 1) // 2]

    axes = {"x": {0: "n", 1: "m"}}
    others = [(gn.ones(5, 2),), (gn.ones(2, 9),)]
    exported(function, gn.ones(3, 4), others=others, dynamic_axes=axes)
