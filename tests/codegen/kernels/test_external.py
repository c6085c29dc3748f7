"""The call of an external operation: thread 0 calls what stands behind the buffers."""

from __future__ import annotations

import pytest

from gnomon.codegen.kernels.external import external_code

pytestmark = pytest.mark.unit


def test_the_function_stands_behind_the_buffers():
    code = external_code(3)

    assert code.symbol == "external_3"
    assert "i64 24" in code.text
    assert "icmp eq i64 %thread, 0" in code.text


def test_calls_of_as_many_buffers_share_their_code():
    assert external_code(2) is external_code(2)
    assert external_code(2).symbol != external_code(3).symbol
