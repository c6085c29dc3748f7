"""Modes and generators that a captured function sets: each call is captured anew, or refused."""

import pytest

import gnomon as gn
from gnomon.errors import TraceError


def test_a_mode_that_is_left_behind_is_named_with_what_to_do():
    def f(x):
        gn.set_default_dtype(gn.float64)
        return x + gn.ones(2)

    step = gn.compile(f)
    try:
        for _ in range(2):
            gn.set_default_dtype(gn.float32)
            with pytest.warns(UserWarning, match=r"leaves another mode.*captured anew.*`with`"):
                assert step(gn.ones(2)).dtype == gn.float64
    finally:
        gn.set_default_dtype(gn.float32)
    assert step.captures == 2


def test_a_mode_for_a_while_is_no_effect():
    def f(x):
        with gn.no_grad(), gn.autocast("cpu"):
            return x * 2

    step = gn.compile(f)
    for _ in range(3):
        step(gn.ones(2))

    assert step.captures == 1


def test_a_seed_inside_is_an_effect_and_after_a_draw_refused():
    def seeded(x):
        gn.manual_seed(3)
        return x * gn.rand(2)

    def late(x):
        x = x * gn.rand(2)
        gn.manual_seed(3)
        return x

    step = gn.compile(seeded)
    with pytest.warns(UserWarning, match=r"`manual_seed` was called.*test_ambient.py:"):
        first = step(gn.ones(2)).tolist()
    with pytest.warns(UserWarning, match="captured anew"):
        assert step(gn.ones(2)).tolist() == first
    with pytest.raises(TraceError, match=r"manual_seed: .*before the first draw.*test_ambient.py:"):
        gn.compile(late)(gn.ones(2))


def test_a_setting_that_is_asked_for_is_a_guard():
    step, before = gn.compile(lambda x: x * gn.get_num_threads()), gn.get_num_threads()
    try:
        for threads in (1, 1, 2):
            gn.set_num_threads(threads)
            assert step(gn.ones(1)).item() == threads
    finally:
        gn.set_num_threads(before)
    assert step.captures == 2
