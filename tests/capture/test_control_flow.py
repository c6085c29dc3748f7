"""Control flow gives the same inside gn.compile as outside, and as Python's own loops."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, GradientError, ShapeError, TraceError
from gnomon.runtime import events
from gnomon.tensor import evaluate as evaluation


def both(function, *args):
    """The function's results outside and inside of a capture."""
    outside, inside = function(*args), gn.compile(function)(*args)
    return outside, inside


def values(*tensors):
    """Values to compare bit by bit."""
    return [t.tolist() for t in tensors]


# cond


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_cond_takes_one_branch(sign):
    x = gn.tensor([sign, 2.0])
    outside, inside = both(lambda x: gn.cond(x[0] > 0, lambda x: x * 2, lambda x: x - 1, [x]), x)

    assert outside.tolist() == inside.tolist() == ([2, 4] if sign > 0 else [-2, 1])


def test_the_branch_that_is_not_taken_does_not_run():
    x, w = gn.ones(40, 40), gn.ones(40, 40)
    f = gn.compile(lambda p, x: gn.cond(p, lambda: x @ w @ w @ w @ w, lambda: x))
    ran = {}
    for pred in (True, False):
        f(gn.tensor(pred), x)
        heard = []
        stop = events.subscribe(lambda kind, fields, heard=heard: heard.append((kind, fields)))
        f(gn.tensor(pred), x).tolist()
        stop()
        ran[pred] = [len(fields["records"][0]) for kind, fields in heard if kind == "run"]

    assert max(ran[True]) == 4
    assert max(ran[False]) == 1


def test_gradients_pass_the_branch_that_was_taken():
    x = gn.tensor([3.0], requires_grad=True)
    f = gn.compile(lambda x: gn.cond(x.sum() > 0, lambda x: x * 5, lambda x: x * 7, [x]))
    f(x).sum().backward()

    assert x.grad.tolist() == [5]


def test_branches_read_what_is_around_them():
    scale = gn.tensor([2.0, 3.0], requires_grad=True)
    x = gn.tensor([1.0, -4.0], requires_grad=True)

    def f(x):
        y = x * 2
        return gn.cond(y.sum() > 0, lambda: y * scale, lambda: (y - scale) * y)

    gn.compile(f)(x).sum().backward()
    found = values(x.grad, scale.grad)
    x.grad = scale.grad = None
    f(x).sum().backward()

    assert found == values(x.grad, scale.grad)


def test_a_training_step_with_a_choice_is_one_program():
    def step(x, w, pred):
        loss = gn.cond(pred, lambda: (x @ w).tanh().sum(), lambda: (x @ w).sin().sum())
        loss.backward()
        return loss.detach()

    found = []
    for function in (step, gn.compile(step)):
        for pred in (True, False):
            gn.manual_seed(2)
            x, w = gn.randn(3, 4), gn.randn(4, 5).requires_grad_()
            found.append(values(function(x, w, gn.tensor(pred)), w.grad))

    assert found[:2] == found[2:]


def test_a_choice_inside_a_choice():
    def f(x):
        return gn.cond(
            x[0] > 0,
            lambda: gn.cond(x[1] > 0, lambda: x * 2, lambda: x * 3),
            lambda: gn.cond(x[1] > 0, lambda: x * 5, lambda: x * 7),
        )

    compiled = gn.compile(f)
    for signs in ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)):
        assert compiled(gn.tensor(signs)).tolist() == f(gn.tensor(signs)).tolist()


def test_a_branch_may_give_its_operand_or_give_one_thing_twice():
    x = gn.tensor([1.0, 2.0])
    f = gn.compile(lambda p, x: gn.cond(p, lambda: (x, x), lambda: (x * 2, x + 1)))

    assert values(*f(gn.tensor(True), x)) == [[1, 2], [1, 2]]
    assert values(*f(gn.tensor(False), x)) == [[2, 4], [2, 3]]


@pytest.mark.parametrize(
    "other", [lambda x: x[:1], lambda x: x.double(), lambda x: (x, x), lambda x: {"a": x}]
)
def test_branches_that_differ_are_refused_inside(other):
    f = gn.compile(lambda x: gn.cond(x.sum() > 0, lambda x: x, other, [x]))

    with pytest.raises(ArgumentError, match=r"same structure.*true_fn gives \(float32\[2\]\)"):
        f(gn.ones(2))


def test_a_size_that_python_knows_needs_no_choice_at_run_time():
    def other(x):
        assert x.shape[0] == 1
        return x * 2

    f = gn.compile(lambda x: gn.cond(x.shape[0] > 1, lambda x: x + 1, other, [x]))

    assert f(gn.ones(3)).tolist() == [2, 2, 2]
    assert f(gn.ones(1)).tolist() == [2]


def test_writes_in_a_branch_are_done_when_it_is_taken():
    def f(p, x, seen):
        def count():
            seen.add_(1)
            return x * 2

        return gn.cond(p, count, lambda: x) + seen

    for pred, total in ((True, [3, 3]), (False, [1, 1])):
        for function in (f, gn.compile(f)):
            seen = gn.zeros(2)
            made = function(gn.tensor(pred), gn.ones(2), seen)
            assert made.tolist() == total
            assert seen.tolist() == ([1, 1] if pred else [0, 0])


def test_batch_statistics_are_updated_in_the_branch_that_runs():
    x = gn.arange(12.0).reshape(4, 3)
    norms = [gn.nn.BatchNorm1d(3) for _ in range(2)]

    def step(norm, p):
        return gn.cond(p, lambda: norm(x), lambda: x * 1)

    for norm, compiled in zip(norms, (False, True), strict=True):
        function = gn.compile(step) if compiled else step
        for pred in (True, False, True):
            function(norm, gn.tensor(pred))

    assert values(norms[0].running_mean, norms[0].running_var) == values(
        norms[1].running_mean, norms[1].running_var
    )
    assert norms[1].num_batches_tracked.item() == 2


def test_draws_in_branches_are_those_of_a_plain_run():
    def f(p, x):
        a = gn.rand(2)
        b = gn.cond(p, lambda: gn.rand(2) * x, lambda: gn.rand(2) + x)
        return a, b, gn.rand(2)

    found = []
    for function in (f, gn.compile(f)):
        gn.manual_seed(5)
        calls = [function(gn.tensor(p), gn.ones(2)) for p in (True, False, True)]
        found.append([values(*made) for made in calls])

    assert found[0] == found[1]


def test_branches_that_draw_differently_are_refused():
    f = gn.compile(lambda p: gn.cond(p, lambda: gn.rand(2), lambda: gn.zeros(2)))

    with pytest.raises(TraceError, match="draw 1 and 0 times"):
        f(gn.tensor(True))


def test_a_backward_pass_inside_a_branch_is_refused():
    w = gn.ones(2, requires_grad=True)

    def back():
        w.sum().backward()
        return w * 1

    with pytest.raises(TraceError, match="cond: inside, a gradient is stored"):
        gn.compile(lambda p: gn.cond(p, back, lambda: w * 1))(gn.tensor(True))


def test_a_tensor_that_is_kept_outside_is_refused():
    kept = []

    def keep(x):
        kept.append(x * 2)
        return x

    with pytest.raises(TraceError, match="holds on to"):
        gn.compile(lambda p, x: gn.cond(p, lambda: keep(x), lambda: x))(gn.tensor(True), gn.ones(2))


# while_loop


def halve(x):
    return gn.while_loop(
        lambda x, n: x > 1, lambda x, n: (x / 2, n + 1), (x, gn.tensor(0)), max_iterations=8
    )


def halve_on(x):
    return gn.while_loop(lambda x, n: x > 1, lambda x, n: (x / 2, n + 1), (x, gn.tensor(0)))


@pytest.mark.parametrize("function", [halve, halve_on])
@pytest.mark.parametrize("start", [20.0, 0.5])
def test_while_loop_stops_when_its_condition_fails(function, start):
    outside, inside = both(function, gn.tensor(start))

    assert values(*outside) == values(*inside) == ([0.625, 5] if start > 1 else [0.5, 0])


def test_a_loop_with_a_bound_stops_there():
    outside, inside = both(halve, gn.tensor(2.0**20))

    assert values(*outside) == values(*inside) == [2.0**12, 8]


def test_a_loop_without_a_bound_can_turn_often():
    f = gn.compile(lambda n: gn.while_loop(lambda n, s: n > 0, lambda n, s: (n - 1, s + n), (n, 0)))

    assert values(*f(gn.tensor(100_000))) == [0, 5_000_050_000]
    assert f.captures == 1


def test_a_loop_may_write_around_itself():
    def f(seen, n):
        def body(n):
            seen.add_(n)
            return (n - 1,)

        (left,) = gn.while_loop(lambda n: (n > 0) & (seen.sum() < 30), body, (n,))
        return left

    found = []
    for function in (f, gn.compile(f)):
        seen = gn.zeros(2, dtype=gn.int64)
        found.append((function(seen, gn.tensor(9)).item(), seen.tolist()))

    assert found[0] == found[1] == (7, [17, 17])


def test_gradients_do_not_pass_a_loop_without_a_bound():
    x = gn.tensor(20.0, requires_grad=True)
    made = gn.compile(halve_on)(x)[0]

    assert made.item() == 0.625
    with pytest.raises(GradientError, match="max_iterations"):
        made.backward()


def test_gradients_pass_the_turns_that_a_bounded_loop_took():
    found = []
    for function in (halve, gn.compile(halve)):
        x = gn.tensor(20.0, requires_grad=True)
        function(x)[0].backward()
        found.append(x.grad.item())

    assert found == [2.0**-5] * 2


def test_a_turn_that_gives_something_else_is_refused():
    f = gn.compile(lambda x: gn.while_loop(lambda x: x > 1, lambda x: (x.double(),), (x,)))

    with pytest.raises(ArgumentError, match=r"takes \(float32\[\]\) and gives \(float64\[\]\)"):
        f(gn.tensor(3.0))


def test_draws_in_a_loop_without_a_bound_are_refused():
    f = gn.compile(
        lambda x: gn.while_loop(lambda x: x.sum() < 9, lambda x: (x + gn.rand(2),), (x,))
    )

    with pytest.raises(TraceError, match="random numbers"):
        f(gn.zeros(2))


# scan


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_carries_along_an_axis(reverse):
    def run(xs):
        return gn.scan(lambda c, x: (c * 2 + x, c), gn.tensor(0.0), xs, reverse=reverse)

    outside, inside = both(run, gn.tensor([1.0, 2.0, 3.0]))

    assert outside[0].item() == inside[0].item() == (17 if reverse else 11)
    assert outside[1].tolist() == inside[1].tolist()


def recurrence(c, x, w, b):
    """A step that reads its weights twice."""
    h = (x @ w + c @ w.t() + b).tanh()
    return h * 0.5 + c, h


def unrolled(c, xs, w, b):
    """The same by a Python loop."""
    rows = []
    for x in xs.unbind(0):
        c, row = recurrence(c, x, w, b)
        rows.append(row)
    return c, gn.stack(rows)


def scanned(c, xs, w, b):
    """The same by scan."""
    return gn.scan(lambda c, x: recurrence(c, x, w, b), c, xs)


def tensors(iterations=7, width=5):
    """A state, inputs, weights."""
    gn.manual_seed(11)
    made = [
        gn.randn(2, width),
        gn.randn(iterations, 2, width),
        gn.randn(width, width),
        gn.randn(width),
    ]
    return [t.requires_grad_() for t in made]


@pytest.mark.parametrize("wrap", [lambda f: f, gn.compile])
def test_a_scan_has_the_bits_of_a_loop(wrap):
    assert values(*wrap(scanned)(*tensors())) == values(*wrap(unrolled)(*tensors()))


@pytest.mark.parametrize("wrap", [lambda f: f, gn.compile])
def test_gradients_of_a_scan_are_those_of_a_loop(wrap):
    found = []
    for function in (wrap(scanned), unrolled):
        given = tensors()
        last, rows = function(*given)
        (last.sum() + (rows * rows).sum()).backward()
        found.append([t.grad for t in given])

    for mine, theirs in zip(*found, strict=True):
        assert gn.allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def test_a_whole_training_step_with_a_scan_is_one_program():
    def step(c, xs, w, b):
        last, rows = scanned(c, xs, w, b)
        loss = (last * last).sum() + rows.sum()
        loss.backward()
        return loss.detach()

    found = []
    for function in (step, gn.compile(step)):
        given = tensors()
        found.append(values(function(*given), *(t.grad for t in given)))

    assert found[0] == found[1]


def test_code_does_not_grow_with_the_number_of_iterations():
    counts = []
    for iterations in (3, 300):
        given = tensors(iterations)
        f = gn.compile(scanned)
        f(*given)
        counts.append(len(f.kernels()))

    assert counts[0] == counts[1] < 12


def test_a_listing_says_how_often_kernels_run():
    f = gn.compile(scanned)
    f(*tensors(300))

    assert "contract x300" in f.explain()


def test_memory_does_not_grow_with_temporaries_of_iterations():
    def f(x, xs):
        def iteration(c, x):
            wide = (c[:, None] * x[None, :]).exp()
            return wide.sum(1) * 1e-3, ()

        return gn.scan(iteration, x, xs)[0]

    sizes = []
    for iterations in (2, 64):
        compiled = gn.compile(f)
        compiled(gn.zeros(100), gn.zeros(iterations, 100))
        (entries,) = compiled.programs.values()
        sizes.append(entries[0][1].executable.memory.total)

    assert sizes[0] == sizes[1]


def test_slices_may_lie_along_any_axis_and_in_a_nest():
    xs = {"a": gn.arange(6.0).reshape(2, 3), "b": gn.ones(4, 3)}

    def run(xs):
        return gn.scan(
            lambda c, x: ({"s": c["s"] + x["a"].sum()}, (x["a"] * c["s"], x["b"])),
            {"s": 0.0},
            xs,
            dim=1,
        )

    (carry, (rows, same)), inside = both(run, xs)

    assert carry["s"].item() == 15
    assert rows.tolist() == [[0, 3, 16], [0, 12, 40]]
    assert same.tolist() == xs["b"].tolist()
    assert inside[1][0].tolist() == rows.tolist()


def test_turns_without_slices_are_counted():
    def run(x):
        return gn.scan(lambda c, _: (c * 2, c), x, length=4)

    outside, inside = both(run, gn.tensor(1.0))

    assert values(*outside) == values(*inside) == [16, [1, 2, 4, 8]]


@pytest.mark.parametrize("given", [{}, {"xs": (gn.zeros(2), gn.zeros(3))}])
def test_an_unclear_number_of_iterations_is_refused(given):
    with pytest.raises(ShapeError, match="number of iterations"):
        gn.scan(lambda c, x: (c, c), gn.tensor(0.0), **given)


def test_a_scan_over_nothing_gives_what_it_was_given():
    outside, inside = both(
        lambda c, xs: gn.scan(lambda c, x: (c + x, c), c, xs), gn.ones(2), gn.zeros(0, 2)
    )

    for last, rows in (outside, inside):
        assert last.tolist() == [1, 1]
        assert tuple(rows.shape) == (0, 2)


def test_draws_in_turns_are_those_of_a_loop():
    def run(xs):
        before = gn.rand(2)
        last, rows = gn.scan(lambda c, x: (c + gn.rand(2), gn.rand(2) * x), gn.zeros(2), xs)
        return before, last, rows, gn.rand(2)

    def loop(xs):
        before, c, rows = gn.rand(2), gn.zeros(2), []
        for x in xs.unbind(0):
            c = c + gn.rand(2)
            rows.append(gn.rand(2) * x)
        return before, c, gn.stack(rows), gn.rand(2)

    found = []
    for function in (loop, run, gn.compile(run)):
        gn.manual_seed(7)
        found.append([values(*function(gn.ones(3, 2))) for _ in range(2)])

    assert found[0] == found[1] == found[2]


def test_batch_statistics_go_from_iteration_to_iteration():
    xs = gn.arange(24.0).reshape(2, 4, 3)

    def loop(norm):
        return gn.stack([norm(x) for x in xs.unbind(0)])

    def run(norm):
        return gn.scan(lambda c, x: (c, norm(x)), 0, xs)[1]

    found = []
    for function in (loop, run, gn.compile(run)):
        norm = gn.nn.BatchNorm1d(3)
        made = function(norm)
        found.append(values(made, norm.running_mean, norm.running_var, norm.num_batches_tracked))

    assert found[0] == found[1] == found[2]


def test_results_of_one_loop_are_computed_together():
    last, rows = scanned(*(t.detach() for t in tensors()))
    before = evaluation.evaluations

    assert len(last.tolist()) + len(rows.tolist()) == 9
    assert evaluation.evaluations == before + 1


def test_an_argument_that_a_turn_writes_to_is_refused():
    with pytest.raises(TraceError, match="written in place"):
        gn.scan(lambda c, x: (c.add_(x), x), gn.zeros(2), gn.ones(3, 2))


def test_a_turn_that_does_not_give_two_things_is_refused():
    with pytest.raises(ArgumentError, match="two things"):
        gn.scan(lambda c, x: c, gn.zeros(2), gn.ones(3, 2))


def test_a_loop_inside_a_choice_inside_a_loop():
    def run(c, xs, w):
        def iteration(c, x):
            short = lambda: c * 0.5 + x  # noqa: E731
            long = lambda: gn.scan(lambda d, y: (d + (y @ w), ()), c, gn.stack([x, c]))[0]  # noqa: E731
            c = gn.cond(x.sum() > 0, long, short)
            return c, c.sum()

        return gn.scan(iteration, c, xs)

    def loop(c, xs, w):
        rows = []
        for x in xs.unbind(0):
            c = c + x @ w + c @ w if x.sum().item() > 0 else c * 0.5 + x
            rows.append(c.sum())
        return c, gn.stack(rows)

    gn.manual_seed(3)
    given = [gn.randn(2, 3), gn.randn(6, 2, 3), gn.randn(3, 3)]
    found = []
    for function in (loop, run, gn.compile(run)):
        own = [t.clone().requires_grad_() for t in given]
        last, rows = function(*own)
        (last.sum() + rows.sum()).backward()
        found.append([last, rows, *(t.grad for t in own)])

    assert values(*found[0][:2]) == values(*found[1][:2]) == values(*found[2][:2])
    assert values(*found[1]) == values(*found[2])
    for one, two in zip(*found[:2], strict=True):
        assert gn.allclose(one, two, rtol=1e-5, atol=1e-6)


def test_one_program_serves_every_number_of_threads():
    given = [t.detach() for t in tensors(30, 64)]
    before, found = gn.get_num_threads(), []
    try:
        for count in (1, 2, 4):
            gn.set_num_threads(count)
            found.append(values(*gn.compile(scanned)(*given)))
    finally:
        gn.set_num_threads(before)

    assert found[0] == found[1] == found[2]


def test_samples_go_through_control_together():
    xs = gn.tensor([[1.0, 2.0], [-3.0, 1.0], [2.0, 2.0]])

    def each(x):
        last, rows = gn.scan(lambda c, y: (c + y * x.sum(), c), x, gn.ones(3, 2))
        return gn.cond(x.sum() > 0, lambda: last, lambda: rows[1])

    found = gn.vmap(each)

    assert gn.compile(found)(xs).tolist() == gn.stack([each(x) for x in xs]).tolist()


def test_loops_outside_read_memory_that_numpy_has():
    weight = gn.from_numpy(np.full((2, 2), 0.5, np.float32))
    shared = weight.numpy()
    made, rows = gn.scan(lambda c, s: (c + s @ weight, c), gn.zeros(2), gn.ones(3, 2))

    assert made.tolist() == [3.0, 3.0]
    assert rows.tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    assert shared.sum() == 2
