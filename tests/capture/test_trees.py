"""Trace trees: what Python asks of values selects what runs, and nothing else changes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import TraceError


def beside(function, *calls):
    """What the plain and the compiled function give for the same calls, and the compiled one."""
    compiled = gn.compile(function)
    plain = [gn.tensor(np.asarray(function(*call))).tolist() for call in calls]
    return plain, [gn.tensor(np.asarray(compiled(*call))).tolist() for call in calls], compiled


def test_each_way_is_captured_once_and_found_again():
    def step(x, bound):
        y = (x * 2).exp()
        return y + 1 if x.sum() > bound else y - 1

    compiled = gn.compile(step)
    calls = [(gn.ones(3), gn.tensor(bound)) for bound in (1.0, 5.0, 1.0, 5.0)]

    assert [compiled(*c).tolist() for c in calls] == [step(*c).tolist() for c in calls]
    assert compiled.captures == 2


def test_a_loop_until_a_bound_has_a_way_for_each_count():
    @gn.compile
    def root(x):
        y, n = x, 0
        while (y * y - x).abs() > 1e-5:
            y, n = (y + x / y) / 2, n + 1
        return y, n

    counts = [root(gn.tensor(x))[1] for x in (2.0, 100.0, 2.0, 1.9, 100.0)]

    assert counts == [3, 7, 3, 3, 7]
    assert root.captures == 2


@pytest.mark.parametrize("inside", [False, True])
def test_gradients_go_back_through_breaks(inside):
    def make():
        w = gn.tensor([0.5, -1.0], requires_grad=True)

        def step(x):
            loss = ((w * x).tanh() ** 2).sum()
            if loss > 0.5:
                loss = loss * w.sum().exp()
            if inside:
                loss.backward()
            return loss

        return w, step

    told = []
    for around in (lambda f: f, gn.compile):
        w, step = make()
        step = around(step)
        for x in ([1.0, 2.0], [0.25, 0.5], [1.0, 2.0]):
            w.grad = None
            loss = step(gn.tensor(x))
            if not inside:
                loss.backward()
            told.append((loss.item(), w.grad.tolist()))

    assert told[:3] == told[3:]


def test_nothing_is_done_twice_where_an_answer_is_new():
    gn.manual_seed(3)
    kept = gn.zeros(2)

    @gn.compile
    def step(x):
        kept.add_(1)
        drawn = gn.rand(2)
        return drawn if (x + kept).sum() > 5 else -drawn

    made = [step(gn.ones(2)).tolist() for _ in range(4)]
    gn.manual_seed(3)
    wanted = [gn.rand(2).tolist() for _ in range(4)]

    assert made == [[-x for x in wanted[0]], *wanted[1:]]
    assert (kept.tolist(), step.captures) == ([4.0, 4.0], 2)


def test_what_the_end_takes_for_granted_is_looked_at_before_anything_is_done():
    kept, calls = gn.zeros(1), []

    @gn.compile
    def step(x, y):
        if x.sum() > 0:
            x.add_(1)
            return (x + y) * 1
        return y * 1

    one = gn.ones(2)
    for x, y in ((gn.ones(2), gn.ones(2)), (one, one), (gn.ones(2), gn.ones(2))):
        calls.append(step(x, y).tolist())

    assert calls == [[3.0, 3.0], [4.0, 4.0], [3.0, 3.0]]
    assert kept.tolist() == [0.0]


def test_an_error_of_a_segment_is_raised_where_the_function_looks():
    def step(x, at):
        try:
            return x + x[at].sum().item()
        except gn.errors.IndexOutOfBounds:
            return -x

    x, compiled = gn.ones(2), gn.compile(step)
    found = [compiled(x, gn.tensor([k])).tolist() for k in (0, 7, 1)]

    assert found == [[2.0, 2.0], [-1.0, -1.0], [2.0, 2.0]]


def test_arrays_of_values_are_python_s_own():
    def mean(x):
        return gn.tensor(np.asarray(x * 2).mean()) + x.tolist()[0]

    plain, made, _ = beside(mean, (gn.tensor([1.0, 2.0]),), (gn.tensor([3.0, 5.0]),))
    assert plain == made

    @gn.compile
    def written(x):
        array = (x * 2).numpy()
        array += 1
        return x

    with pytest.raises(TraceError, match=r"numpy: .*Write to array\.copy\(\).*test_trees\.py:\d+"):
        written(gn.ones(2))


def test_many_ways_are_told_and_too_many_run_uncompiled():
    @gn.compile
    def step(x):
        return x * float(x[0])

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = [step(gn.tensor([float(k), 1.0])).tolist() for k in range(80)]

    assert made == [[float(k * k), float(k)] for k in range(80)]
    assert [str(w.message).split(":")[1] for w in told] == [" step", " step"]
    assert "8 ways" in str(told[0].message)
    assert "runs uncompiled from here on" in str(told[1].message)
    assert "test_trees.py" in str(told[1].message)
    assert "runs uncompiled" in step.explain()


def test_explain_shows_the_tree_with_its_lines():
    @gn.compile
    def step(x):
        return x + 1 if x.sum() > 0 else x - 1

    for x in ([1.0], [1.0], [-1.0]):
        step(gn.tensor(x))
    told = step.explain()

    assert "step, 2 ways by what Python asks of values:" in told
    assert "whether it is true is asked   [" in told
    assert "test_trees.py" in told
    assert "True: 1 kernel, the end" in told
    assert "False: 1 kernel, the end" in told
    assert "µs a call" in told


@pytest.mark.parametrize("option", [{"breaks": "error"}, {"fullgraph": True}])
def test_whoever_wants_one_program_is_told_of_the_line(option):
    step = gn.compile(lambda x: x if x.sum() > 0 else -x, **option)

    with pytest.raises(TraceError, match=r"not known yet.*test_trees\.py:\d+"):
        step(gn.ones(2))


def test_why_a_way_was_captured_names_the_line():
    step = gn.compile(lambda x: x if x.sum() > 0 else -x)
    step(gn.ones(2))
    step(-gn.ones(2))

    (told,) = step.why_recompiled()
    assert "the value asked for at" in told
    assert "test_trees.py" in told
    assert "is new" in told
