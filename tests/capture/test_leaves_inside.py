"""Compiled functions that switch what wants gradients, go backward inside, or run in steps."""

import functools

import pytest

import gnomon as gn
from gnomon.errors import TraceError


def values():
    return gn.tensor([1.0, 2.0, 3.0])


def leaf():
    return gn.tensor([1.0, 2.0, 3.0], requires_grad=True)


def told(x):
    gradient = None if x.grad is None else x.grad.tolist()
    return x.requires_grad, x.is_leaf, x.tolist(), gradient


def assigned(x):
    x.requires_grad = True
    return x * 2


SWITCHES = [
    (values, lambda x: x.requires_grad_() * 2),
    (values, assigned),
    (lambda: values()[1:], lambda x: x.requires_grad_() * 2),
    (leaf, lambda x: x.requires_grad_(False) * 2),
    (leaf, lambda x: x.detach_() * 2),
    (lambda: leaf() * 2, lambda x: x.detach_() * 2),
]


@pytest.mark.parametrize(("make", "function"), SWITCHES)
def test_what_an_argument_wants_is_not_switched_inside(make, function):
    x = make()
    before = x.requires_grad

    with pytest.raises(TraceError, match=r"requires_grad: .*Switch it back.*\[.*:\d+\]"):
        gn.compile(function)(x)

    assert x.requires_grad == before


def test_what_a_tensor_from_outside_wants_is_not_switched_inside():
    x = values()

    with pytest.raises(TraceError, match=r"tensor from outside.*Switch it back before"):
        gn.compile(lambda a: a * x.requires_grad_())(values())


def test_a_switch_that_changes_nothing_is_none():
    assert gn.compile(lambda x: x.requires_grad_() * 2)(leaf()).requires_grad
    assert gn.compile(lambda x: x.detach_() * 2)(values()).tolist() == [2.0, 4.0, 6.0]


def slope_of_a_copy(x):
    y = x.detach().requires_grad_()
    (x.detach() * y).sum().backward()
    return y.grad


def leaf_with_its_slope(x):
    y = x.detach().clone().requires_grad_()
    (y * y).sum().backward()
    return y


def leaf_of_the_same_memory(x):
    return x.detach().requires_grad_()


@pytest.mark.parametrize(
    "function", [slope_of_a_copy, leaf_with_its_slope, leaf_of_the_same_memory]
)
@pytest.mark.parametrize("make", [values, leaf, lambda: leaf() * 2, lambda: leaf()[:]])
def test_leaves_that_are_made_inside_gather(function, make):
    fast = gn.compile(function)
    for k in range(3):
        x, y = make() + k, make() + k
        assert told(fast(x)) == told(function(y))


def with_its_square(y):
    return y, (y * y).sum()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: with_its_square(x.detach().requires_grad_()),
        lambda x: with_its_square(x.clone().requires_grad_()),
        lambda x: with_its_square((x * 3).requires_grad_()),
        lambda x: with_its_square(gn.zeros(3).requires_grad_()),
    ],
)
def test_a_leaf_is_not_given_back_beside_what_is_computed_from_it(function):
    with pytest.raises(TraceError, match=r"a leaf that the function makes.*Make it before.*:\d+\]"):
        gn.compile(function)(values())


def went_back(x):
    z = (x * x).sum()
    z.backward()
    return z.detach()


@pytest.mark.parametrize("make", [lambda: leaf() * 2, lambda: leaf()[1:]])
def test_gradients_do_not_stop_at_a_result_from_outside(make):
    with pytest.raises(TraceError, match=r"backward: .*tensor from outside.*go backward outside"):
        gn.compile(went_back)(make())


def test_gradients_of_what_stands_behind_a_result_from_outside_are_refused():
    w = leaf()
    x = w * 2

    for asked in (lambda z: gn.autograd.grad(z, w, allow_unused=True)[0], lambda z: z.backward()):
        with pytest.raises(TraceError, match=r"backward: .*tensor from outside"):
            gn.compile(lambda a, asked=asked: asked((a * x).sum()))(values())


def test_gradients_of_a_result_from_outside_may_be_asked_for():
    x = leaf() * 2
    slope = gn.compile(lambda x: gn.autograd.grad((x * x).sum(), x)[0])

    assert slope(x).tolist() == [4.0, 8.0, 12.0]


# plain tensors


def test_what_was_computed_before_a_tensor_became_a_leaf_has_no_gradient():
    for see in (lambda y: None, lambda y: y.tolist()):
        x, w = values(), leaf()
        y = x * w
        see(y)
        (y * x.requires_grad_()).sum().backward()

        assert x.grad.tolist() == [1.0, 4.0, 9.0]


@pytest.mark.parametrize("show", [lambda x: x.detach(), lambda x: x[:], lambda x: x.view(-1)])
def test_a_leaf_is_told_from_a_tensor_of_the_same_memory(show):
    x = values()
    y = show(x).requires_grad_()
    (x * y).sum().backward()

    assert y.grad.tolist() == [1.0, 2.0, 3.0]


# what runs in steps


def steps(x):
    yield x


async def awaited(x):
    return x


async def both(x):
    yield x


class InSteps(gn.nn.Module):
    """A module whose call only begins."""

    def forward(self, x):
        """A generator."""
        yield x


@pytest.mark.parametrize(
    "function",
    [steps, awaited, both, functools.partial(steps), InSteps(), InSteps().forward],
)
def test_what_runs_in_steps_is_not_compiled(function):
    with pytest.raises(TraceError, match=r"is a generator or a coroutine.*in each step"):
        gn.compile(function)


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (gn.no_grad()(steps), "generator"),
        (lambda x: [(v * x for v in (1, 2))], "generator"),
        (lambda x: {1: both(x)}, "async_generator"),
        (lambda x: map(abs, [x]), "map"),
        (lambda x: iter([x]), "list_iterator"),
    ],
)
def test_no_result_runs_in_turns(function, kind):
    with pytest.raises(TraceError, match=rf"gives a {kind}, which runs in steps.*give a list"):
        gn.compile(function)(values())
