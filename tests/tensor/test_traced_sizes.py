"""Sizes as Python code sees them while a function is captured: integers that keep decisions."""

from __future__ import annotations

import copy
import itertools
import math
import operator
import pickle
from collections.abc import Iterator
from threading import Thread, get_ident

import numpy as np
import pytest

import gnomon as gn
from gnomon.ir.sizes import ShapeEnv
from gnomon.tensor.tensor import program_size
from gnomon.tensor.traced_sizes import FloatOfSizes, SizeLeft, TracedCount, TracedSize, python_sizes

pytestmark = pytest.mark.unit

OTHERS = (-7, -1, 0, 1, 2, 3, 12, 13, 100, 2.5)
BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.truediv),
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, divmod),
]
WHOLE = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.pow]
UNARY = [
    *(operator.neg, operator.pos, operator.abs, operator.invert, operator.index, bool, int, float),
    *(str, repr, hash, round, math.floor, math.ceil, math.sqrt, np.asarray, "{:>5}".format),
    *(copy.copy, copy.deepcopy, lambda n: pickle.loads(pickle.dumps(n)), lambda n: n.bit_length()),
    *(lambda n: [*range(n)], lambda n: {12: "a", 5: "b"}.get(n), lambda n: n in (5, 12), np.sqrt),
]


@pytest.fixture
def env() -> Iterator[ShapeEnv]:
    made = ShapeEnv()
    made.thread = get_ident()
    yield made
    made.thread = 0


def outcome(function, *values):
    """A result with its class, or the class of an error."""
    try:
        found = function(*values)
    except Exception as error:
        return type(error)
    plain = found.value() if type(found) in (TracedSize, FloatOfSizes) else found
    return (
        [int(x) for x in plain] if isinstance(plain, tuple) else plain.__class__,
        str(plain),
    )


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("function", BINARY)
def test_operators_are_those_of_integers(env, function, other):
    size = TracedSize(env.symbol(12))
    assert outcome(function, size, other) == outcome(function, 12, other)
    assert outcome(function, other, size) == outcome(function, other, 12)


@pytest.mark.parametrize("other", [0, 1, 2, 5])
@pytest.mark.parametrize("function", WHOLE)
def test_operators_of_whole_numbers(env, function, other):
    size = TracedSize(env.symbol(12))
    assert outcome(function, size, other) == outcome(function, 12, other)
    assert outcome(function, other, size) == outcome(function, other, 12)


@pytest.mark.parametrize("function", UNARY)
def test_functions_are_those_of_integers(env, function):
    assert outcome(function, TracedSize(env.symbol(12))) == outcome(function, 12)


def test_two_sizes(env):
    n, m = (TracedSize(env.symbol(k)) for k in (12, 7))
    for function in BINARY:
        assert outcome(function, n, m) == outcome(function, 12, 7)
    assert isinstance(n, int)
    assert n.__class__ is int
    with pytest.raises(TypeError, match="keeps its class"):
        n.__class__ = float


def test_arithmetic_decides_nothing_and_comparisons_are_kept(env):
    n = TracedSize(env.symbol(12))
    made = (n * 2 + 3) // 2 - n % 5
    assert not env.guards
    assert n > 4
    assert env.test()((5,))
    assert not env.test()((4,))
    assert env.function([program_size(made)])((9,)) == ((9 * 2 + 3) // 2 - 9 % 5,)


@pytest.mark.parametrize("use", [hash, str, operator.index, float, np.asarray, lambda n: n & 3])
def test_uses_of_the_number_itself_make_it_the_only_one(env, use):
    use(TracedSize(env.symbol(12)))
    assert env.test()((12,))
    assert not env.test()((13,))


def test_a_size_is_no_part_of_a_node(env):
    with pytest.raises(SizeLeft, match="a node has"):
        assert TracedSize(env.symbol(12)).key
    assert env.is_left


def test_afterwards_it_is_a_plain_number(env):
    n, other, none = (TracedSize(env.symbol(k)) for k in (12, 12, 0))
    kept = {n: "kept"}
    env.thread = 0
    assert (n + 1, n * 2, n > 3, int(n), hash(n)) == (13, 24, True, 12, hash(12))
    assert (kept[12], kept[other], n != 13, (n, 2) == (12, 2)) == ("kept", "kept", True, True)
    assert (n == 12.0, n == "12", bool(n), bool(none)) == (True, False, True, False)
    assert not env.guards.keys() - {"(-12+1*a0)==0"}


def test_another_thread_sees_the_number(env):
    n, found = TracedSize(env.symbol(12)), []
    thread = Thread(target=lambda: found.append((n + 1, hash(n))))
    thread.start()
    thread.join()
    assert found == [(13, hash(12))]
    assert not env.guards


def test_shapes_show_one_object_for_one_size(env):
    n = env.symbol(12)
    made = python_sizes((n, 3, n))
    assert made[0] is made[2]
    assert made[1] == 3
    assert python_sizes((2, 3)) == (2, 3)


def test_a_count_is_called_for_the_shape(env):
    made = TracedCount(env.symbol(12))
    made.shape = gn.ones(3, 4).shape
    assert (made(), made(1), made + 0 == 12) == ((3, 4), 4, True)


def test_slices_are_those_of_python():
    ends = (None, -9, -4, -1, 0, 1, 3, 4, 7)
    x = list(range(4))
    for start, stop, step in itertools.product(ends, ends, (None, -3, -1, 1, 2)):
        assert gn.tensor(x)[start:stop:step].tolist() == x[start:stop:step], (start, stop, step)
    assert gn.ones(0)[::-1].tolist() == []


FLOATS = {
    "quotient": lambda n: n / 3,
    "reciprocal": lambda n: 1.0 / n,
    "integer over a size": lambda n: 7 / n,
    "sum": lambda n: 0.1 + n,
    "difference": lambda n: n - 0.1,
    "difference from the right": lambda n: 0.1 - n,
    "product": lambda n: n * 0.1 * 3,
    "root": lambda n: n**0.5,
    "power": lambda n: n**-1.5 + n**-2,
    "several": lambda n: (n * 0.3 - 1) / n + 2 * (1 / n),
}


@pytest.mark.parametrize("name", FLOATS)
def test_floats_of_sizes_ask_nothing_and_are_those_of_python(env, name):
    (n,) = python_sizes([env.symbol(12)])
    made = FLOATS[name](n)

    assert type(made) is FloatOfSizes
    assert isinstance(made, float)
    assert not isinstance(made, int)
    assert not env.guards
    compute = env.function([program_size(made)])
    for k in (2, 3, 7, 12, 1000, 2**31 - 1):
        assert compute((k,))[0].hex() == FLOATS[name](k).hex()


NEEDED = [
    *(float, int, bool, str, repr, hash, round, math.floor, math.ceil, math.trunc, math.sqrt),
    *(copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r)), "{:.3f}".format),
    *(np.asarray, lambda r: r == 4.0, lambda r: r != 4.0, lambda r: r > 3, lambda r: r <= 4.0),
    *(lambda r: r // 2, lambda r: r % 3, lambda r: -r, abs, lambda r: r**9, lambda r: 1 / r),
    *(lambda r: r.is_integer(), lambda r: divmod(r, 3), lambda r: r in (4.0, 5.0)),
]


@pytest.mark.parametrize("use", NEEDED)
def test_other_uses_take_the_float(env, use):
    (n,) = python_sizes([env.symbol(12)])

    assert outcome(use, n / 3) == outcome(use, 4.0)
    holds = env.test()
    assert holds((12,))
    assert use in (copy.copy, copy.deepcopy) or not holds((13,))


def test_a_float_of_sizes_is_no_index(env):
    (n,) = python_sizes([env.symbol(12)])
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        operator.index(n / 3)
    with pytest.raises(ZeroDivisionError):
        n / (n - 12)


def test_a_float_of_sizes_is_a_float_afterwards(env):
    (n,) = python_sizes([env.symbol(12)])
    made = n / 3
    env.thread = 0

    assert (made == 4.0, made + 1, made.hex(), float(made)) == (True, 5.0, (4.0).hex(), 4.0)
    assert pickle.loads(pickle.dumps(made)) == 4.0


def test_no_node_is_known_by_a_float_of_sizes(env):
    (n,) = python_sizes([env.symbol(12)])
    with pytest.raises(SizeLeft):
        (n / 3).hex()
    assert env.is_left
