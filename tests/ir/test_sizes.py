"""ShapeEnv that a program reads when it runs: what is computed is exact, decisions are kept."""

from __future__ import annotations

import operator
from itertools import product
from random import Random
from typing import Any

import pytest

from gnomon.ir.sizes import ShapeEnv, SymInt, divides, hint, is_symbolic, late
from gnomon.ir.sym_float import FloatBits, as_float, real

pytestmark = pytest.mark.unit

OPERATIONS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
}


def pair(a: int = 13, b: int = 41) -> tuple[ShapeEnv, Any, Any]:
    """Two sizes of a program."""
    sizes = ShapeEnv()
    return sizes, sizes.symbol(a), sizes.symbol(b)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_computed_is_what_integers_give(seed: int):
    chance = Random(seed)
    sizes, n, m = pair()
    found: list[Any] = [n, m, 1, 2, 3, 7, -4]
    steps = []
    for _ in range(25):
        name = chance.choice(sorted(OPERATIONS))
        i, j = chance.randrange(len(found)), chance.randrange(len(found))
        if name in ("floordiv", "mod") and hint(found[j]) == 0:
            continue
        if abs(hint(found[i])) > 1 << 40 or abs(hint(found[j])) > 1 << 40:
            continue
        found.append(OPERATIONS[name](found[i], found[j]))
        steps.append((name, i, j))
    holds, of = sizes.test(), sizes.function(found)

    assert tuple(map(hint, found)) == of((13, 41))
    for given in product((2, 3, 8, 13, 64), (2, 5, 40)):
        plain: list[int] = [*given, 1, 2, 3, 7, -4]
        try:
            if not holds(given):
                continue
            for name, i, j in steps:
                plain.append(OPERATIONS[name](plain[i], plain[j]))
        except ZeroDivisionError:
            continue
        assert of(given) == tuple(plain)


def test_what_comes_out_even_is_no_quotient():
    _, n, m = pair()

    assert (6 * n * m) // (2 * m) is 3 * n
    assert (n + 5) // n is 1 + 5 // n
    assert (4 * n) % 4 == 0
    assert type((4 * n) % 4) is int
    assert (n - 1) // n == 0
    assert type((n - 1) // n) is int
    assert n - n == 0
    assert type(n - n) is int
    assert (3 * n + n * m) // (m + 3) is n
    assert type((3 * n + n * m) % (m + 3)) is int
    assert type((n + m - 1) // (n + m)) is int


def test_decisions_are_kept_and_hold_for_some_sizes():
    sizes, n, m = pair()
    assert n < m
    assert n * 4 != 16
    holds = sizes.test()

    assert [holds(x) for x in ((13, 41), (2, 3), (5, 5), (4, 9))] == [True, True, False, False]


def test_what_is_so_at_all_sizes_is_no_decision():
    sizes, n, m = pair()
    assert n > 1
    assert n * m >= 4
    assert n + m != 0
    assert not n * 8 < n
    assert bool(n)
    assert n == n
    assert n * m == m * n

    assert not sizes.guards


@pytest.mark.parametrize(
    "read",
    [range, str, int, float, "{}".format, lambda n: [0] * n, lambda n: n / 2, operator.index],
)
def test_whoever_needs_the_number_gets_it_and_the_program_serves_no_other(read: Any):
    sizes, n, _ = pair()
    read(n)
    holds = sizes.test()

    assert holds((13, 41))
    assert holds((13, 2))
    assert not holds((14, 41))


@pytest.mark.parametrize("other", [5, 2.5, float("nan"), True])
def test_every_operator_gives_what_it_gives_of_the_number(other: float):
    names = "add sub mul floordiv mod pow truediv and_ or_ xor lshift rshift eq ne lt le gt ge"
    for compute in (*[getattr(operator, name) for name in names.split()], divmod):
        for given in ((13, other), (other, 13), (13, 41), (13, 13)):
            sizes, n, m = pair()
            own = [{13: n, 41: m}.get(x, x) for x in given]
            try:
                expected = compute(*given)
            except TypeError:
                with pytest.raises(TypeError):
                    compute(*own)
                continue
            found = compute(*own)
            found = tuple(map(hint, found)) if isinstance(found, tuple) else hint(found)
            assert repr(found) == repr(expected), (compute, given)
            if given == (13, other) and type(expected) is float:
                assert not sizes.test()((14, 41)), "what is computed of it serves this one alone"
    _, n, _ = pair()
    assert (hint(~n), round(n, -1)) == (-14, 10)


def test_a_hint_decides_nothing():
    sizes, n, _ = pair()

    assert hint(n * 2) == 26
    assert hint(5) == 5
    assert not sizes.guards


def test_a_size_is_taken_for_an_integer_and_is_none():
    sizes, n, _ = pair()

    assert isinstance(n, int)
    assert type(n) is SymInt
    assert is_symbolic(n)
    assert not is_symbolic(13)
    with pytest.raises(TypeError, match="keeps its class"):
        n.__class__ = str
    assert not sizes.guards


def test_what_is_computed_late_is_called_with_plain_numbers():
    sizes, n, m = pair()
    seen = []

    def largest(*numbers: int) -> int:
        seen.append(numbers)
        return max(numbers)

    found = late(largest, n, m, 7) * 2
    of = sizes.function([found])

    assert late(largest, 3, 9) == 9
    assert of((100, 5)) == (200,)
    assert seen[-1] == (100, 5, 7)
    assert all(type(x) is int for numbers in seen for x in numbers)


def test_sizes_of_two_programs_are_keys_of_their_own():
    _, a, _ = pair()
    _, b, _ = pair()

    assert hash(a) != hash(b)
    assert repr(a) != repr(b)


def test_a_divisor_that_may_be_nothing_is_asked():
    sizes, n, m = pair()
    with pytest.raises(ZeroDivisionError):
        n // (m - 41)
    assert n // (m - 40) == 13

    assert not sizes.test()((13, 40))


def test_to_come_out_even_is_asked_for_all_sizes():
    _, n, _ = pair(16, 4)

    assert divides(4, 8)
    assert not divides(3, 8)
    assert divides(4, n * 8)
    assert not divides(4, n)
    assert not divides(n, 32)
    assert divides(n, n * 3)


def test_a_number_of_another_program_is_refused():
    own, other = ShapeEnv(), ShapeEnv()
    own.symbol(5)

    with pytest.raises(AssertionError, match="another program's"):
        own.function([other.symbol(5) + 1])


def test_formulas_of_other_sizes():
    env, other = ShapeEnv(), ShapeEnv()
    n, m = env.symbol(6), env.symbol(4)
    numbers = [n * m + 1, (n + 1) // 2, n.late(int.bit_length), 5]
    found = env.formulas(numbers)([other.symbol(10), other.symbol(3)])

    assert [hint(x) for x in found] == [31, 5, 4, 5]
    assert other.function(found)((7, 2)) == (15, 4, 3, 5)
    assert env.function(numbers)((7, 2)) == (15, 4, 3, 5)


def test_a_size_as_a_float():
    env = ShapeEnv()
    made = as_float(env.symbol(7), 32)

    assert made.value == 7.0
    assert env.function([as_float(env.of({(0,): 1}), 64).bits])((9,)) == (FloatBits.of(9.0),)
    (single,) = env.function([made.bits])((16_777_217,))
    assert real(single) == 16_777_216.0
