"""Specifications of inputs and outputs, by sort."""

from __future__ import annotations

import pytest

from gnomon.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)

pytestmark = pytest.mark.unit


def test_names_by_sort():
    found = ExportGraphSignature(
        [
            InputSpec(InputKind.PARAMETER, TensorArgument("p_w"), "w"),
            InputSpec(InputKind.BUFFER, TensorArgument("b_n"), "n", False),
            InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument("c_0"), "0"),
            InputSpec(InputKind.USER_INPUT, TensorArgument("x"), None),
            InputSpec(InputKind.USER_INPUT, ConstantArgument("flag", True), None),
        ],
        [OutputSpec(OutputKind.USER_OUTPUT, TensorArgument("add"))],
    )

    assert (found.parameters, found.buffers, found.lifted_tensor_constants) == (
        *(("w",), ("n",), ("0",)),
    )
    assert found.non_persistent_buffers == ("n",)
    assert found.user_inputs == ("x", True)
    assert found.user_outputs == ("add",)
    assert str(found).splitlines()[:3] == [
        *("# inputs", "p_w: PARAMETER target='w'", "b_n: BUFFER target='n' persistent=False"),
    ]
