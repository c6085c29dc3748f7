"""Writes that gradients do not see: compiled functions leave tensors the history that plain do."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from types import SimpleNamespace

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import GradientError, TraceError
from tests import fuzz_alias

W = [1.0, 2.0, 3.0, 4.0]


def leaf():
    return gn.tensor(W, requires_grad=True)


def leaf_that_is_a_part():
    return gn.tensor([0.0, *W])[1:].requires_grad_()


def doubled(x):
    with gn.no_grad():
        x.mul_(2)


def set_by_data(x):
    x.data.copy_(x.data * 3)


def set_in_part(x):
    with gn.no_grad():
        x[1:] = 5


WRITES = {"no_grad": doubled, "data": set_by_data, "part": set_in_part}
USES = {
    "after": lambda x, write: (write(x), (x * x).sum())[1],
    "before": lambda x, write: ((x.exp().sum(), write(x))[0],),
    "both": lambda x, write: ((x * 3).sum(), write(x), (x * x).sum()),
    "twice": lambda x, write: (write(x), (x * 3).sum(), write(x), (x * x).sum()),
}


def seen(way, make, write, use, outside, back):
    """Values and gradients over three calls."""
    x, found = make(), []

    def called(x):
        losses = [y for y in fuzz_alias.flat(list(filter(is_tensor, flat(use(x, write)))))]
        loss = sum(losses[1:], losses[0])
        if back:
            loss.backward()
        return loss

    call = way((lambda: called(x)) if outside else called)
    for _ in range(3):
        loss = call() if outside else call(x)
        if not back:
            loss.backward()
        found.append((loss.tolist(), x.tolist(), x.requires_grad, x.is_leaf, x.grad.tolist()))
    return found


def flat(value):
    return value if isinstance(value, tuple) else (value,)


def is_tensor(value):
    return isinstance(value, gn.Tensor)


@pytest.mark.parametrize("back", [False, True], ids=["backward outside", "backward inside"])
@pytest.mark.parametrize("outside", [False, True], ids=["argument", "from outside"])
@pytest.mark.parametrize("make", [leaf, leaf_that_is_a_part])
def test_a_leaf_that_is_written_and_used_gets_its_gradient(make, outside, back):
    for (what, write), (when, use) in product(WRITES.items(), USES.items()):
        args = make, write, use, outside, back
        if make is leaf_that_is_a_part and not outside:
            with pytest.raises(TraceError, match="shares memory with another argument"):
                seen(gn.compile, *args)
        else:
            assert seen(gn.compile, *args) == seen(lambda f: f, *args), (what, when)


def test_a_part_of_a_leaf_keeps_its_history_beside_memory_that_is_written():
    @gn.compile
    def both(a, b):
        a += 1
        return b * 2

    for number in (1.0, 5.0):
        tracked, w = gn.ones(6, requires_grad=True) * 1, leaf()
        w.data.fill_(number)
        result = both(tracked[1:], w[...])
        result.sum().backward()
        assert (result.tolist(), w.grad.tolist()) == ([2 * number] * 4, [2.0] * 4)


@pytest.mark.parametrize("way", [lambda f: f, gn.compile])
def test_what_gradients_pass_and_a_detached_tensor_was_given_is_missed_when_it_is_used(way):
    x, w = gn.ones(4), leaf()
    shown = x.detach()
    shown.mul_(w)

    assert shown.tolist() == x.tolist() == W
    assert not x.requires_grad
    with pytest.raises(GradientError, match="detached tensor, which keeps no history"):
        way(lambda x: x * 2)(shown)
    with gn.no_grad():
        assert way(lambda x: x * 2)(shown).tolist() == [2 * v for v in W]
    assert way(lambda x: x * 2)(shown.detach()).tolist() == [2 * v for v in W]
    shown.fill_(1)
    assert way(lambda x: x * 2)(shown).tolist() == [2] * 4


def test_a_function_that_gives_a_detached_tensor_what_gradients_pass_is_refused():
    w = leaf()
    with pytest.raises(TraceError, match=r"keeps no history.*Write to a clone.*:\d+\]"):
        gn.compile(lambda x: x.detach().mul_(w))(gn.ones(4))


def test_a_function_that_writes_over_what_its_gradient_reads_is_refused():
    box = fuzz_alias.Kept()
    box.h = gn.ones(4) * leaf()

    def over(w):
        found = box.h * w.sum()
        box.h.add_(1)
        return found

    with pytest.raises(GradientError, match="mul needs a value that was written over"):
        over(leaf()).sum().backward()
    with pytest.raises(TraceError, match=r"compile: .*mul needs a value that was.*clone.*:\d+\]"):
        gn.compile(over)(leaf())
    with gn.no_grad():
        assert gn.compile(over)(leaf()).tolist() == [20.0, 30.0, 40.0, 50.0]


def test_a_backward_pass_inside_a_function_knows_what_was_written_over():
    h, w = gn.ones(4), leaf()
    h.mul_(w)

    def back(w):
        loss = (h * w).sum()
        h.add_(1)
        loss.backward(inputs=[w])

    for call in (back, gn.compile(back)):
        with pytest.raises(GradientError, match="mul needs a value that was written over"):
            call(leaf())


def test_a_program_that_writes_with_gradients_is_not_that_of_a_detached_tensor():
    w = leaf()
    fast = gn.compile(lambda x: x.mul_(w))
    assert fast(gn.ones(4)).requires_grad
    with pytest.raises(TraceError, match="keeps no history"):
        fast(gn.ones(4).detach())


def test_what_a_backward_pass_inside_does_not_pass_keeps_its_history():
    w = gn.ones(2, requires_grad=True)

    @gn.compile
    def step(x):
        y = x * 3
        (w * y.detach()).sum().backward()
        return y

    x = gn.ones(2, requires_grad=True)
    step(x).sum().backward()

    assert (x.grad.tolist(), w.grad.tolist()) == ([3.0, 3.0], [3.0, 3.0])


def test_what_is_computed_again_after_a_backward_pass_has_a_history_of_its_own():
    def step(x, w):
        (w * x).sum().backward()
        return (w * x).sum() * 2

    compiled = gn.compile(step)
    for _ in range(2):
        found = []
        for way in (step, compiled):
            w = gn.tensor([1.0, 2.0], requires_grad=True)
            way(gn.tensor([3.0, 4.0]), w).backward()
            found.append(w.grad.tolist())
        assert found == [[9.0, 12.0]] * 2


def test_what_was_kept_over_a_backward_pass_is_freed_by_it():
    @gn.compile
    def step(x, w):
        kept = (w * x).sum()
        kept.backward()
        return kept * 2

    with pytest.raises(GradientError, match=r"a second time|went backward itself"):
        step(gn.tensor([3.0, 4.0]), gn.tensor([1.0, 2.0], requires_grad=True)).backward()


def test_a_parameter_that_was_stepped_passes_gradients_after_a_backward_pass_inside():
    found = []
    for compiled in (False, True):
        w = gn.tensor([1.0, 2.0], requires_grad=True)
        optimizer = gn.optim.SGD([w], lr=0.125)

        def step(x, w=w, optimizer=optimizer):
            optimizer.step()
            (w * x).sum().backward()
            return x * w

        call = gn.compile(step) if compiled else step
        for _ in range(3):
            call(gn.tensor([3.0, 4.0])).sum().backward()
        found.append((w.tolist(), w.grad.tolist()))

    assert found[0] == found[1]


def seen_after(write: Callable, compiles: bool) -> list[str]:
    """Gradients, or the names of errors, of three calls' results once all calls are over."""
    p, w = gn.ones(4), gn.full((1,), 2.0, requires_grad=True)
    kept = SimpleNamespace(h=p[:2])

    def step():
        write(kept.h, w)
        kept.h = p[:2]
        return p * w.sum()

    step = gn.compile(step) if compiles else step
    made, told = [step() for _ in range(3)], []
    for result in made:
        w.grad = None
        try:
            result.sum().backward(retain_graph=True)
            told.append(str(w.grad.tolist()))
        except GradientError as error:
            told.append(re.findall("written over", str(error))[0])
    return told


@pytest.mark.parametrize("write", [lambda h, w: h.mul_(w.sum()), lambda h, w: h.add_(w)])
def test_a_result_that_a_later_call_writes_over_is_needed_by_none_before_it(write):
    plain = seen_after(write, False)
    assert plain[:2] == ["written over"] * 2
    assert seen_after(write, True) == plain


def test_what_is_written_over_after_a_copy_of_a_value_is_not_the_value():
    x = gn.full((2,), 2.0, requires_grad=True)

    @gn.compile
    def step(p, x):
        y = x + 1
        p.copy_(y)
        return y * y

    for _ in range(3):
        p, x.grad = gn.ones(2), None
        z = step(p, x)
        p.zero_()
        z.sum().backward()
        assert x.grad.tolist() == [6, 6]


def gradient_or_error(root: gn.Tensor, x: gn.Tensor) -> list[float] | str:
    """The gradient of a root, or that it needs a value that was written over."""
    try:
        return gn.autograd.grad(root, x, retain_graph=True)[0].tolist()
    except GradientError as error:
        return re.findall("written over", str(error))[0]


def reads_a_parameter_that_it_writes(way: Callable) -> Callable:
    p = gn.nn.Parameter(gn.ones(2))

    def call(x):
        with gn.no_grad():
            p.mul_(2)
        return (x * p).sum()

    return way(call)


def reads_a_constant_of_a_parameter_that_it_writes(way: Callable) -> Callable:
    p = gn.nn.Parameter(gn.ones(2))

    def call(x):
        new = p.detach() * 2
        with gn.no_grad():
            p.copy_(new)
        return (x * new + p).sum()

    return way(call)


def writes_a_parameter_anew(way: Callable) -> Callable:
    p = gn.nn.Parameter(gn.ones(2))

    def call(x):
        with gn.no_grad():
            p.fill_(2)
        return (x * p).sum()

    return way(call)


@pytest.mark.parametrize("looks", [False, True])
@pytest.mark.parametrize(
    "program",
    [
        reads_a_parameter_that_it_writes,
        reads_a_constant_of_a_parameter_that_it_writes,
        writes_a_parameter_anew,
    ],
)
def test_a_value_that_a_call_read_inside_is_written_over_by_the_next(program, looks):
    found = []
    for way in (lambda f: f, gn.compile):
        call, x = program(way), gn.tensor([3.0, 4.0], requires_grad=True)
        roots = []
        for _ in range(3):
            roots.append(call(x))
            assert not looks or roots[-1].item()
        found.append([gradient_or_error(root, x) for root in roots])

    assert found[0] == found[1]
    assert found[0][-1] != "written over"


@pytest.mark.parametrize("looks", [False, True])
def test_a_result_that_another_one_of_its_call_read_is_written_over(looks):
    def both(x):
        a = x * 2
        return a * a, a

    for call in (both, gn.compile(both)):
        x, y = gn.tensor([[1.0, 2.0], [3.0, 4.0]]).unbind()
        first, again = call(x.requires_grad_()), call(y.requires_grad_())
        if looks:
            first[0].tolist()
        first[1].zero_()
        assert gradient_or_error(first[0].sum(), x) == "written over"
        assert gradient_or_error(again[0].sum(), y) == [24, 32]


def test_two_calls_with_the_same_arguments_have_results_of_their_own():
    both = gn.compile(lambda x: (x * x, x * 2))
    x = gn.tensor([1.0, 2.0], requires_grad=True)
    first, again = both(x), both(x)
    first[1].zero_()

    assert first[1].tolist() == [0, 0]
    assert again[1].tolist() == [2, 4]
    assert gradient_or_error((again[0] * again[1]).sum(), x) == [6, 24]


def test_a_write_that_gradients_see_is_one_into_memory_where_it_is_compiled():
    w = gn.tensor(3.0, requires_grad=True)

    def scaled(held: gn.Tensor) -> gn.Tensor:
        held.mul_(w)
        return held * w

    for call, answer in ((scaled, 12.0), (gn.compile(scaled), "written over")):
        held = gn.ones(2)
        first = call(held)
        call(held)
        assert gradient_or_error(first.sum(), w) == answer


def averaged(layer: nn.Module) -> Callable[[gn.Tensor], gn.Tensor]:
    """A function that averages and applies a layer twice: by the second, the first is no more."""
    mean = gn.optim.swa_utils.AveragedModel(layer, avg_fn=lambda a, b, n: a * 0.5 + b)
    mean.update_parameters(layer)

    def step(x: gn.Tensor) -> gn.Tensor:
        return sum((mean.update_parameters(layer), mean(x))[1] for _ in range(2))

    return step


def scaled_between(layer: nn.Module) -> Callable[[gn.Tensor], gn.Tensor]:
    """A function that writes to a weight between its reads."""

    def step(x: gn.Tensor) -> gn.Tensor:
        y = layer(x)
        with gn.no_grad():
            layer.weight.mul_(2)
        return y + layer(x)

    return step


@pytest.mark.parametrize("make", [averaged, scaled_between])
def test_a_parameter_that_is_written_between_its_reads_is_refused_by_both(make):
    for compiles, error in ((False, GradientError), (True, TraceError)):
        step = make(nn.Linear(2, 2, bias=False))  # whose weight nothing has read before
        step = gn.compile(step) if compiles else step
        x = gn.tensor([1.25, -0.5], requires_grad=True)
        with pytest.raises(error, match=r"linear needs a value that was written over.*\["):
            step(x).sum().backward()
        with gn.no_grad():
            assert step(x).shape == (2,)
