"""The registry: one decorated function is an operation, with a name, a body and PyTorch's words."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from gnomon.dtypes import float32
from gnomon.errors import ArgumentError
from gnomon.ir.node import Arena
from gnomon.ops.primitives import contract, reduce
from gnomon.ops.registry import OPS, op
from tests.graphs import value

pytestmark = pytest.mark.unit


@pytest.fixture
def declare():
    """Declares operations that are forgotten after the test."""
    before = set(OPS)
    yield op
    for name in set(OPS) - before:
        del OPS[name]


@pytest.fixture
def power_sum(declare):
    """An operation with a keyword, an alias, and a body of several nodes."""

    @declare(aliases=("summed_power",))
    def power_sum(x, axis, keepdims=False):
        """Sum of squares along an axis."""
        y = reduce("add", x * x, (axis,))
        return y * 1.0 if keepdims else y

    return power_sum


def test_a_call_is_one_named_node_with_a_body(power_sum):
    x = Arena().input((2, 3), float32)

    y = power_sum(x, 1)

    assert (y.op, y.params["name"], y.inputs) == ("region", "power_sum", (x,))
    assert [node.op for node in y.params["body"]] == ["input", "map", "reduce"]
    assert (y.shape, y.dtype) == ((2,), float32)


def test_an_alias_is_the_same_operation(power_sum):
    assert OPS["summed_power"] is OPS["power_sum"] is power_sum
    assert power_sum.__doc__ == "Sum of squares along an axis."


def test_pytorchs_words_are_understood(power_sum):
    x = Arena().input((2, 3), float32)

    assert power_sum(x, dim=1, keepdim=True) is power_sum(x, axis=1, keepdims=True)
    assert power_sum(input=x, dim=1) is power_sum(x=x, axis=1)


def test_a_word_that_nobody_knows_is_refused_with_those_that_are(power_sum):
    x = Arena().input((2, 3), float32)

    with pytest.raises(
        ArgumentError, match=r"power_sum: no argument 'along'\. It takes x, axis, keep"
    ):
        power_sum(x, along=1)


def test_a_call_without_a_tensor_is_refused(power_sum):
    with pytest.raises(ArgumentError, match=r"power_sum: needs a tensor: got \(3, 1\)"):
        power_sum(3, 1)


def test_a_body_is_traced_once_per_shapes_and_settings(declare):
    traced = []

    @declare
    def traced_op(x, scale):
        """x times a scale."""
        traced.append((x.shape, scale))
        return x * scale

    arena = Arena()
    for shape, scale in [((2,), 2), ((2,), 2), ((3,), 2), ((2,), 2.0), ((2,), True)]:
        traced_op(arena.input(shape, float32), scale)

    assert [(s, type(x)) for s, x in traced] == [
        *(((2,), int), ((3,), int), ((2,), float), ((2,), bool))
    ]


def test_many_threads_trace_a_body_once(declare):
    traced = []

    @declare
    def slow_op(x):
        """Twice x."""
        traced.append(threading.get_ident())
        return x + x

    start = threading.Barrier(8)

    def call():
        start.wait()
        slow_op(Arena().input((5,), float32))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(traced)) == len(traced) == 1


def test_several_results_share_inputs_and_body(declare):
    @declare
    def parts(x):
        """Half and double."""
        return x * 0.5, x * 2.0

    first, second = parts(Arena().input((3,), float32))

    assert first.params["body"] is second.params["body"]
    assert (first.params["index"], second.params["index"]) == (0, 1)


def test_calls_that_share_their_last_arguments_make_the_nodes_of_whole_calls(declare):
    @declare
    def scaled(x, others, numbers, words):
        """Scaled sums."""
        pairs = zip(numbers, others, strict=True)
        return tuple(x * n + y for n, y in pairs) if dict(words)["on"] else (x,)

    arena = Arena(shared=True)
    x, y, n, m = (arena.input(shape, float32) for shape in ((3,), (3,), (), ()))
    for numbers, words in (([n, m], (("on", True),)), ([m, n], (("on", False),))):
        step = scaled.with_last(numbers, words)
        for given in ((x, [y, y]), (y, [x, x]), (n, [m, n]), (x, [x, y])):
            for _ in range(2):  # traced, then repeated
                made, whole = step(*given), scaled(*given, numbers, words)
                assert all(a is b for a, b in zip(made, whole, strict=True))


def test_a_result_that_is_an_argument_stays_that_argument(declare):
    @declare
    def nothing(x):
        """x."""
        return x

    x = Arena().input((3,), float32)

    assert nothing(x) is x


def test_lists_of_tensors_are_arguments_too(declare, rng):
    @declare
    def total(xs):
        """Sum of all."""
        y = xs[0]
        for x in xs[1:]:
            y = y + x
        return y

    a, b, c = (rng.standard_normal(3) for _ in range(3))

    assert np.array_equal(value(lambda *xs: total(list(xs)), a, b, c), a + b + c)


def test_an_inline_operation_leaves_no_name(declare):
    @declare(inline=True)
    def product(x, y):
        """x @ y."""
        return contract("mk,kn->mn", x, y)

    arena = Arena()

    assert product(arena.input((2, 3), float32), arena.input((3, 5), float32)).op == "contract"


def test_two_operations_of_one_name_are_a_mistake_of_ours(declare, power_sum):
    with pytest.raises(AssertionError, match="two operations are called power_sum"):

        @declare
        def power_sum(x):
            """Another."""
            return x
