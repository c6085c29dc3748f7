"""Evaluation on request, and the number of threads."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, TraceError
from gnomon.runtime import events
from gnomon.tensor.tensor import raw


def pending(tensor: gn.Tensor) -> bool:
    """Whether nobody has looked at a tensor."""
    return raw(tensor).value is None


def test_evaluate_takes_nested_tensors():
    x = gn.arange(3)
    tree = {"a": x + 1, "b": [x * 2, (x - 1, "text")]}

    gn.evaluate(tree)

    assert not any(map(pending, (tree["a"], tree["b"][0], tree["b"][1][0])))


def test_evaluate_without_arguments_and_synchronize_compute_all():
    for everything in (gn.evaluate, gn.synchronize):
        y = gn.arange(3) + 1
        assert pending(y)

        everything()

        assert not pending(y)


def test_the_number_of_threads_is_one_or_more():
    before = gn.get_num_threads()
    gn.set_num_threads(1)

    assert gn.get_num_threads() == 1
    with pytest.raises(ArgumentError, match="positive integer: got 0"):
        gn.set_num_threads(0)
    gn.set_num_threads(before)


def test_the_number_of_threads_may_change_after_a_run():
    before, heard = gn.get_num_threads(), []
    stop = events.subscribe(lambda kind, told: heard.append((kind, told.get("records"))))
    try:
        for count in (2, 1, 3):
            gn.set_num_threads(count)
            gn.evaluate(gn.ones(1 << 18) * 2.0)
    finally:
        stop()
        gn.set_num_threads(before)

    assert [len(records) for kind, records in heard if kind == "run"] == [2, 1, 3]


def test_products_of_float32_have_one_precision():
    gn.set_float32_matmul_precision("high")

    assert gn.get_float32_matmul_precision() == "highest"
    with pytest.raises(ArgumentError, match="must be highest, high or medium"):
        gn.set_float32_matmul_precision("low")
    gn.set_default_device("cpu")


def test_evaluating_while_a_function_is_captured_is_an_error_also_for_what_is_outside():
    outside = gn.ones(2)
    gn.evaluate(outside)

    @gn.compile
    def look(x):
        outside.add_(x)
        gn.evaluate(outside)
        return x

    with pytest.raises(TraceError):
        look(gn.ones(2))
