"""Memory that is seen under several names: compiled functions give and write what plain ones do."""

import ctypes
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon.capture import aliasing
from gnomon.errors import GradientError, TraceError
from tests import fuzz_alias


def base():
    return gn.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


def parts():
    x = base()
    return x[:4], x[2:]


def with_its_part():
    x = base()
    return x, x[1:]


def copied_over(a, b):
    a.add_(1)
    return a.sum() + b * 2


@pytest.mark.parametrize("make", [parts, with_its_part])
def test_an_argument_that_is_written_changes_another_that_shares_its_memory(make):
    fast = gn.compile(copied_over)
    for _ in range(3):
        theirs, ours = make(), make()
        assert fast(*ours).tolist() == copied_over(*theirs).tolist()
        assert [x.tolist() for x in ours] == [x.tolist() for x in theirs]


def test_one_program_serves_all_parts_where_nothing_is_written():
    x = gn.arange(20.0)
    fast = gn.compile(lambda a, b: a * b)
    for k in range(5):
        assert (
            fast(x[k : k + 4], x[k + 1 : k + 5]).tolist()
            == (x[k : k + 4] * x[k + 1 : k + 5]).tolist()
        )

    assert fast.captures == 1


def test_programs_know_which_arguments_share_memory():
    fast = gn.compile(copied_over)
    one, other = base(), base()

    assert fast(one[:4], other[2:]).tolist() == copied_over(base()[:4], base()[2:]).tolist()
    assert fast(*parts()).tolist() == copied_over(*parts()).tolist()
    assert fast(base()[:4], base()[2:]).tolist() == copied_over(base()[:4], base()[2:]).tolist()
    assert fast(*parts()[::-1]).tolist() == copied_over(*parts()[::-1]).tolist()


def test_an_argument_may_be_what_the_function_reads_from_outside():
    weight, other = base(), base() * 3

    def scaled(x):
        x.mul_(2)
        return weight + x

    fast = gn.compile(scaled)
    for x in (weight, other, weight[:], other):
        expected = (weight * 4).tolist() if x is not other else (weight + other * 2).tolist()
        assert fast(x).tolist() == expected


def test_a_leaf_that_is_written_under_two_names_is_refused():
    leaf = gn.ones(3, requires_grad=True)

    def written(a, b):
        with gn.no_grad():
            b.mul_(2)
        return a * b

    with pytest.raises(TraceError, match=r"shares memory with another argument.*Pass a clone\(\)"):
        gn.compile(written)(leaf, leaf.detach())


def test_a_part_of_a_leaf_that_is_written_is_refused_whatever_was_passed_before():
    leaf = gn.ones(3, requires_grad=True)

    @gn.compile
    def written(x):
        with gn.no_grad():
            return x.mul_(2)

    assert written(leaf[1:] * 1).tolist() == [2, 2]
    with pytest.raises(TraceError, match=r"shares memory with another argument.*Pass a clone\(\)"):
        written(leaf[1:])

    assert leaf.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x,
        lambda x: (x, x),
        lambda x: x.view(2, 3),
        lambda x: (x[1:], x),
        lambda x: [y := x * 2, y[1:], y],
        lambda x: [y := x * 2, y.detach()],
        lambda x: x.mul_(2),
        lambda x: x.mul_(2)[::2],
    ],
)
def test_results_share_memory_with_each_other_and_with_arguments(function):
    fast = gn.compile(function)
    for _ in range(3):
        x, y = base(), base()
        theirs, ours = ([z, *fuzz_alias.flat(f(z))] for f, z in ((function, x), (fast, y)))
        theirs[1].add_(10)
        ours[1].add_(10)

        assert [z.tolist() for z in ours] == [z.tolist() for z in theirs]
        assert fuzz_alias.relation(ours) == fuzz_alias.relation(theirs)


def test_a_result_may_be_a_tensor_from_outside():
    weight = base()
    fast = gn.compile(lambda x: (weight, weight[1:], x + 1))

    whole, part, _ = fast(base())

    assert whole is weight
    assert part._storage is weight._storage


def test_a_result_that_is_put_somewhere_too_is_one_object():
    class Holder:
        """Something with attributes."""

    @gn.compile
    def put(holder, x):
        holder.whole = x * 2
        holder.part = holder.whole[1:]
        return holder.part, holder.whole, holder.part

    one = Holder()
    for holder in (one, one, one, Holder(), Holder()):
        part, whole, again = put(holder, base())

        assert (part is holder.part, whole is holder.whole, again is part) == (True, True, True)
        part.mul_(0)
        assert whole.tolist() == [2, 0, 0, 0, 0, 0]


def test_an_object_from_outside_that_is_an_argument_too_is_known():
    weight = base()
    fast = gn.compile(lambda x: (weight, x))
    part = weight[:]

    assert all(x is weight for x in fast(weight))
    assert fast(part) == (weight, part)


def test_what_was_cut_off_stays_so_when_gradients_come_to_its_memory():
    x, w = base(), gn.ones(6, requires_grad=True)
    cut = gn.compile(lambda x: x.detach()[1:])(x[:])
    x.mul_(w)

    assert x.requires_grad
    assert not cut.requires_grad


def test_a_part_that_is_written_without_gradients_leaves_the_rest_its_history():
    def doubled(part):
        with gn.no_grad():
            part.mul_(2)

    fast = gn.compile(doubled)
    for quiet in (False, True):
        found = []
        for call in (doubled, fast):
            w, x = gn.ones(6, requires_grad=True), base()
            x.mul_(w)
            with gn.set_grad_enabled(not quiet):
                call(x[:2])
            x.sum().backward()
            found.append(w.grad.tolist())

        assert found[0] == found[1]
        assert found[0][2:] == [3.0, 4.0, 5.0, 6.0]


def test_memory_of_others_keeps_its_history_when_it_is_written_without_gradients():
    found = []
    for run in (lambda f: f, gn.compile):
        w, x = gn.ones(3, requires_grad=True), gn.asarray(np.ones(6, np.float32), copy=False)
        times = run(lambda x, w=w: x.mul_(w.sum()))
        times(x[1:])
        with gn.no_grad():
            times(x)
        x[2:].sum().backward()
        found.append((x.tolist(), w.grad.tolist()))

    assert found == [([3.0, 9.0, 9.0, 9.0, 9.0, 9.0], [4.0] * 3)] * 2


def test_gradients_pass_what_is_written_in_place():
    w, x, y = gn.ones(6, requires_grad=True), base(), base()

    def scaled(x):
        x.mul_(w)
        return x

    fast = gn.compile(scaled)
    for z in (x, y):
        assert fast(z) is z
        assert z.requires_grad
        z.sum().backward()

    assert w.grad.tolist() == (base() * 2).tolist()


class Keeps(gn.nn.Module):
    """A module that keeps its loss."""

    def __init__(self):
        super().__init__()
        self.linear = gn.nn.Linear(2, 1)

    def forward(self, x):
        """The loss."""
        self.loss = self.linear(x).sum()
        return self.loss * 1 if x.shape[0] == 2 else self.loss


def test_a_loss_that_is_kept_is_the_loss_that_is_given():
    model = Keeps()
    fast = gn.compile(model)
    for _ in range(3):
        model.zero_grad()
        loss = fast(gn.ones(1, 2))
        assert loss is model.loss
        model.loss.backward()
        assert model.linear.bias.grad.tolist() == [1.0]


def test_a_kept_loss_and_a_result_made_of_it_are_one_graph():
    model = Keeps()
    fast = gn.compile(model)
    for _ in range(3):
        model.zero_grad()
        loss = fast(gn.ones(2, 2))
        loss.backward(retain_graph=True)
        model.loss.backward()
        assert model.linear.bias.grad.tolist() == [4.0]


class Box:
    """An attribute."""

    def __init__(self):
        self.h = base()


@pytest.mark.parametrize("shown", [lambda h: h, lambda h: h[1:], lambda h: h.detach()])
def test_what_stood_where_a_function_puts_a_tensor_is_given_as_it_stands_now(shown):
    found = []
    for way in (lambda f: f, gn.compile):
        box, given = Box(), []

        def turn(x, box=box):
            before = box.h
            box.h = x + before.sum()
            return shown(before)

        call = way(turn)
        for k in range(4):
            stood = box.h
            given.append(call(gn.ones(3 + 3) * k))
            assert given[-1]._storage is stood._storage
            given[-1].add_(1)
        found.append([x.tolist() for x in (*given, box.h)])

    assert found[0] == found[1]
    assert call.captures <= 2


def test_a_program_knows_whether_what_it_wrote_was_tracked():
    found = []
    for way in (lambda f: f, gn.compile):
        box, w = Box(), gn.ones(3, requires_grad=True)

        def turn(box=box, w=w):
            before = box.h[1:]
            box.h.mul_(w.sum())
            return before

        call, given = way(turn), []
        for quiet in (False, True, True, False):
            with gn.set_grad_enabled(not quiet):
                given.append(call())
        found.append([(x.requires_grad, x.is_leaf) for x in (*given, box.h)])

    assert found[0] == found[1]


def test_what_a_program_wrote_over_it_may_read():
    for way in (lambda f: f, gn.compile):
        x, w = base(), gn.ones(2, requires_grad=True)
        call = way(lambda x, w=w: x.mul_(w.sum()))
        call(x)
        before = x * x
        call(x)
        assert x.tolist() == (base() * 4).tolist()
        x.sum().backward()

        assert w.grad.tolist() == [84, 84]
        with pytest.raises(GradientError, match="mul needs a value that was written over"):
            before.sum().backward()


def test_a_copy_is_one_where_others_have_the_memory():
    array = np.ones(4, np.float32)
    x, fast = gn.from_numpy(array), gn.compile(lambda x: (x.clone(), x.detach().clone()))
    given = [*fast(x), *fast(x[1:]), *fast(x[::2])]
    array *= 3
    x.add_(1)

    assert {v for y in given for v in y.tolist()} == {1.0}


@pytest.mark.parametrize("after", [lambda y: y, lambda y: y * 3, lambda y: y[:1] + 1])
def test_a_program_that_went_backward_says_that_no_history_is_left(after):
    x = gn.ones(3, requires_grad=True)

    def both(x):
        y = x * x
        (y * y).sum().backward()
        return y

    y = gn.compile(both)(x)
    with pytest.raises(GradientError, match=r"trying to backward|a compiled function made a ten"):
        after(y).sum().backward()
    if after(y) is not y:
        with pytest.raises(GradientError, match="went backward itself, and kept no history"):
            gn.autograd.grad(after(y).sum(), [x])

    assert x.grad.tolist() == [4, 4, 4]
    x.grad = None
    (x * y.detach()).sum().backward()
    assert x.grad.tolist() == [1, 1, 1]


@pytest.mark.parametrize("after", [lambda y: y, lambda y: y * 3, lambda y: y[:1] + 1])
def test_a_history_that_needs_nothing_of_what_was_freed_goes_on(after):
    def both(x):
        y = x.clone()
        (y * y).sum().backward()
        return y

    found = []
    for function in (both, gn.compile(both)):
        x = gn.ones(3, requires_grad=True)
        after(function(x)).sum().backward()
        found.append(x.grad.tolist())

    assert found[0] == found[1]
    assert found[0][0] > 2


def test_random_programs_see_the_same_memory():
    assert [fuzz_alias.run(seed) for seed in range(60)].count("equal") > 30


@pytest.mark.long
def test_many_random_programs_see_the_same_memory():
    for seed in range(10_000, 12_000):
        fuzz_alias.run(seed)


def asked_is(kind: str, holder: Any, first: gn.Tensor):
    """A function that asks whether, or makes it so that, a place holds its argument."""
    listed, cell = [first], first
    holder.h = first

    def step(a):
        nonlocal cell
        old = {"list": listed[0], "cell": cell}.get(kind, holder.h)
        if kind == "put":
            holder.h = listed[0] = cell = a
        return (old is a, [holder.h, listed[0], a * 1])

    return step, lambda a: (holder.h is a, listed[0] is a, cell is a)


@pytest.mark.parametrize("is_part", [False, True])
@pytest.mark.parametrize("kind", ["attribute", "list", "cell", "put"])
@pytest.mark.parametrize("order", list(product((0, 1), repeat=4)))
def test_whether_a_place_holds_an_argument_is_asked_at_every_call(kind, order, is_part):
    def called(compiles):
        first, other = gn.zeros(3), gn.ones(2)
        first = first[1:] if is_part else gn.zeros(2)
        step, look = asked_is(kind, SimpleNamespace(), first)
        step = gn.compile(step) if compiles else step
        found = []
        for number in order:
            a = (first, other)[number]
            is_it, results = step(a)
            found.append((is_it, [x is a for x in results], look(a)))
        return found

    assert called(True) == called(False)


def test_whether_contiguous_copies_follows_from_each_arguments_strides():
    def zeroed(x: gn.Tensor) -> gn.Tensor:
        x.contiguous().zero_()
        return x * 1.0

    compiled = gn.compile(zeroed)
    cube = gn.arange(8.0).reshape(2, 2, 2)
    across, along = cube.clone()[:, 0], cube.clone()[0]

    assert compiled(across.t()).tolist() == cube[:, 0].t().tolist(), "it was a copy"
    assert compiled(along).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert compiled(along.t()).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_copy_that_has_other_strides_is_another_argument():
    def asked(x: gn.Tensor) -> tuple:
        x.contiguous().zero_()
        return x.stride(), x.tolist()

    compiled, plain = gn.compile(asked), gn.ones(2, 2)

    for x in (plain, plain.t().clone(), plain.clone()):
        assert compiled(x.clone()) == asked(x.clone())


def test_an_argument_with_the_id_of_what_is_gone_is_not_what_is_gone():
    x, nobody = gn.ones(2), lambda: None

    assert aliasing.outside([x], {id(x._storage): nobody}, {}) == ()
    known = aliasing.by_id([x._storage])
    assert aliasing.outside([x], known, {id(x): nobody}) == ((0, id(x._storage), 0),)
    assert aliasing.outside([x], known, aliasing.by_id([x])) == ((0, id(x._storage), id(x)),)


def stepping(first: gn.Tensor, second: gn.Tensor):
    """A compiled function that writes to both from the old values of both."""

    @gn.compile
    def step() -> None:
        a, b = first + 2 * second, first * second
        first.copy_(a)
        second.copy_(b)

    return step


def test_a_step_writes_into_numpys_memory(monkeypatch):
    arrays = [np.arange(4, dtype=np.float32), np.full(4, 3, np.float32)]
    copies, move = [], ctypes.memmove
    step = stepping(*map(gn.from_numpy, arrays))
    step()
    step()
    monkeypatch.setattr(ctypes, "memmove", lambda *given: copies.append(given) or move(*given))

    first, second = (x.copy() for x in arrays)
    step()

    assert not copies
    assert arrays[0].tolist() == (first + 2 * second).tolist()
    assert arrays[1].tolist() == (first * second).tolist()


@pytest.mark.parametrize("start", [0, 1, 3, 4])
def test_writes_to_memory_that_numpy_lent_twice_are_refused(start):
    array = np.arange(8, dtype=np.float32)
    first, second = gn.from_numpy(array[:4]), gn.from_numpy(array[start : start + 4])

    @gn.compile
    def step() -> None:
        first.add_(1)
        second.add_(1)

    if start == 4:
        step()
        assert array.tolist() == list(range(1, 9))
        return
    for function in (step, stepping(first, second), gn.compile(lambda: first.copy_(second * 2))):
        with pytest.raises(TraceError, match=r"compile: a tensor is written whose memory, which"):
            function()
    assert array.tolist() == list(range(8))


def test_memory_that_numpy_lent_twice_is_read():
    array = np.arange(8, dtype=np.float32)
    first, second = gn.from_numpy(array[:4]), gn.from_numpy(array[1:5])

    assert gn.compile(lambda: first + second)().tolist() == [1, 3, 5, 7]
