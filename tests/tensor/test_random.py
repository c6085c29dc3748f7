"""Streams of random tensors: the same numbers from the same seed, wherever they are drawn."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.dtypes import dtype_of
from gnomon.errors import ArgumentError, DtypeError


def test_a_seed_gives_the_same_numbers_again():
    gn.manual_seed(3)
    first, second = gn.rand(5), gn.rand(5)

    gn.manual_seed(3)

    assert gn.rand(5).tolist() == first.tolist()
    assert gn.rand(5).tolist() == second.tolist() != first.tolist()


def test_a_generator_has_a_stream_of_its_own_and_can_be_set_back():
    mine = gn.Generator().manual_seed(2**40 + 1)
    there = mine.get_state()
    first = gn.randn(4, generator=mine).tolist()
    gn.rand(3)

    mine.set_state(there)

    assert gn.randn(4, generator=mine).tolist() == first
    assert mine.initial_seed() == 2**40 + 1


def test_compiled_code_draws_what_eager_code_draws():
    noise = gn.compile(lambda x: x + gn.rand(3))
    gn.manual_seed(1)
    eager = [gn.rand(3).tolist() for _ in range(2)]

    gn.manual_seed(1)

    assert [noise(gn.zeros(3)).tolist() for _ in range(2)] == eager


def test_integers_stay_in_their_bounds():
    x = gn.randint(-3, 4, (1000,))

    assert x.dtype is gn.int64
    assert set(x.tolist()) == set(range(-3, 4))
    assert gn.randint(2, (5,)).max().item() <= 1


def test_a_permutation_has_each_number_once():
    assert sorted(gn.randperm(50).tolist()) == list(range(50))


@pytest.mark.parametrize(
    ("draw", "mean", "std"),
    [
        (lambda: gn.rand(20_000), 0.5, 12**-0.5),
        (lambda: gn.normal(2.0, 3.0, (20_000,)), 2.0, 3.0),
        (lambda: gn.empty(20_000).exponential_(2.0), 0.5, 0.5),
        (lambda: gn.empty(20_000).uniform_(-1.0, 3.0), 1.0, 4 * 12**-0.5),
        (lambda: gn.bernoulli(gn.full((20_000,), 0.2)), 0.2, 0.4),
    ],
)
def test_distributions_have_their_moments(draw, mean, std):
    gn.manual_seed(0)
    x = draw()

    assert abs(x.mean().item() - mean) < 5 * std / 20_000**0.5
    assert abs(x.std().item() - std) < 0.03 * std


def test_integers_cannot_take_floats():
    with pytest.raises(DtypeError, match="draws floats: got int64"):
        gn.arange(3).uniform_()


def test_a_stream_can_be_taken_back():
    kept = gn.get_rng_state()
    first = gn.randint_like(gn.zeros(4), 0, 100).tolist()
    gn.set_rng_state(kept)

    assert gn.randint_like(gn.zeros(4), 0, 100).tolist() == first


def test_draws_go_on_after_a_fork_as_before():
    gn.manual_seed(3)
    with gn.random.fork_rng():
        inside = gn.rand(2).tolist()
    after = gn.rand(2).tolist()
    with gn.random.fork_rng(enabled=False):
        gn.manual_seed(4)

    assert after == inside
    assert gn.initial_seed() == 4


def test_integers_may_have_an_upper_end_alone():
    assert set(gn.randint(high=2, size=(50,)).tolist()) == {0, 1}


def test_a_chance_for_each_element_is_heard():
    x = gn.zeros(2, 3, dtype=gn.int64)

    assert x.bernoulli_(gn.tensor([0.0, 1.0, 1.0])).tolist() == [[0, 1, 1]] * 2


def test_a_generator_begins_at_a_seed_that_nobody_knows():
    generator = gn.Generator()

    seeds = {generator.seed(), generator.seed()}

    assert len(seeds) == 2
    assert generator.initial_seed() in seeds


def test_a_generator_that_drew_in_a_program_may_be_asked_to_begin_again():
    generator = gn.Generator().manual_seed(3)

    @gn.compile
    def two(x):
        first = gn.rand(2, generator=generator)
        return x + first + gn.rand(2, generator=generator)

    found = [two(gn.zeros(2)).tolist() for _ in range(3)]
    generator.manual_seed(3)

    assert [two(gn.zeros(2)).tolist() for _ in range(3)] == found


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: gn.normal(0.0, -1.0, (2,)), "std is at least 0"),
        (lambda: gn.ones(2).normal_(0.0, -1.0), "std is at least 0"),
        (lambda: gn.ones(2).uniform_(3.0, 1.0), "from 3.0 to 1.0"),
        (lambda: gn.randperm(257, dtype=gn.uint8), "uint8 does not hold"),
        (lambda: gn.randperm(2**11 + 2, dtype=gn.float16), "float16 does not hold"),
    ],
)
def test_draws_that_make_no_sense_are_refused(call, words):
    with pytest.raises(ArgumentError, match=words):
        call()


def test_a_permutation_may_be_as_long_as_its_dtype_is_exact():
    assert gn.randperm(256, dtype=gn.uint8).sort().values.tolist() == list(range(256))
    assert gn.randperm(2**11 + 1, dtype=gn.float16).max().item() == 2**11


@pytest.mark.parametrize("high", [np.int64(7), gn.tensor(7), np.array(7)])
def test_ends_of_integers_may_be_numbers_of_arrays_and_tensors(high):
    for drawn in (
        gn.randint(5, high, (100,)),
        gn.randint(low=5, high=high, size=(100,)),
        gn.randint(gn.tensor(5), high, size=(100,)),
    ):
        assert set(drawn.tolist()) == {5, 6}
    assert set(gn.randint(high, (200,)).tolist()) == set(range(7))
    assert set(gn.randint(high, size=(200,)).tolist()) == set(range(7))


def test_bounds_further_apart_than_a_dtype_reaches_are_refused():
    with pytest.raises(ArgumentError, match="beyond float32"):
        gn.empty(3).uniform_(-3e38, 3e38)
    assert gn.empty(3, dtype=gn.float64).uniform_(-3e38, 3e38).isfinite().all()


GREATEST = {
    **{"bool": 1, "uint8": 255, "int8": 127, "int16": 2**15 - 1, "int32": 2**31 - 1},
    **{"int64": 2**63 - 1, "float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "float64": 2**53},
}


@pytest.mark.parametrize("name", GREATEST)
def test_integers_without_an_end_are_of_all_that_a_dtype_holds(name):
    gn.manual_seed(5)
    x = gn.zeros(4000, dtype=dtype_of(name)).random_()

    assert x.min().item() >= 0
    assert GREATEST[name] * 0.9 <= x.max().item() <= GREATEST[name]
    if name == "bool":
        assert 0.45 < x.double().mean().item() < 0.55


def test_integers_begin_and_end_where_they_are_told():
    gn.manual_seed(5)
    x = gn.zeros(4000, dtype=gn.int64)

    assert {*x.random_(3).tolist()} == {0, 1, 2}
    assert {*x.random_(-2, 1).tolist()} == {-2, -1, 0}
    assert -(2**63) <= x.random_(-(2**63), None).min().item() < -(2**63) * 0.9
    assert x.max().item() > 2**63 * 0.9
    for ends in ((0,), (5, 5), (5, 0)):
        with pytest.raises(ArgumentError, match="random_integers: no integer is in"):
            x.random_(*ends)


def test_whole_numbers_like_a_tensor_begin_at_0():
    drawn = gn.randint_like(gn.zeros(100), high=2, requires_grad=True)

    assert set(drawn.tolist()) == {0.0, 1.0}
    assert drawn.requires_grad
    assert gn.randint_like(gn.zeros(3), 1, 2, dtype=gn.int64).tolist() == [1, 1, 1]
    streams = [gn.Generator().manual_seed(4) for _ in range(2)]
    first, again = (gn.randint_like(gn.zeros(9), 99, generator=x).tolist() for x in streams)
    assert first == again
