"""Histories that detached tensors alone are left of: they hold no weights of their steps."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from weakref import ref

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import GradientError
from gnomon.ir.node import Node
from gnomon.tensor.autograd import dropping
from gnomon.tensor.state import state

pytestmark = pytest.mark.unit

STEPS = 8
X = np.random.default_rng(0).normal(size=(STEPS, 4, 6, 16)).astype(np.float32)


class Recurrent:
    """Steps of a recurrent network, of whose last cell state no loss is made."""

    def __init__(self) -> None:
        gn.manual_seed(0)
        self.network = nn.LSTM(16, 8, batch_first=True)
        self.optimizer = gn.optim.SGD(self.network.parameters(), 0.1)

    def losses(self, handed_on: Callable, begun: Callable) -> Iterator[float]:
        """The losses of steps whose states are handed on, and begun with, in some way."""
        state = (gn.zeros(1, 4, 8), gn.zeros(1, 4, 8))
        for x in X:
            made, state = self.network(gn.tensor(x), begun(state))
            state = handed_on(state)
            loss = made.square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            yield loss.item()


def look_over() -> None:
    """Drop the histories that can be; those of other tests may put the next look off."""
    state.histories_at = 0
    dropping.drop_unreachable()


def living_nodes() -> int:
    """The number of nodes in this process, once histories were looked over."""
    gc.collect()
    look_over()
    return sum(type(x) is Node for x in gc.get_objects())


def as_it_is(state: tuple) -> tuple:
    return state


def detached(state: tuple) -> tuple:
    return tuple(x.detach() for x in state)


def copied(state: tuple) -> tuple:
    return tuple(gn.tensor(x.detach().numpy().copy()) for x in state)


@pytest.mark.parametrize(("handed_on", "begun"), [(detached, as_it_is), (as_it_is, detached)])
def test_a_state_that_is_handed_on_holds_no_history(handed_on: Callable, begun: Callable):
    found, nodes = [], []
    for loss in Recurrent().losses(handed_on, begun):
        found.append(loss)
        nodes.append(living_nodes())

    assert nodes[-1] <= nodes[3]  # 35 more in each step, where histories stay
    assert found == list(Recurrent().losses(copied, as_it_is))


def test_parts_of_results_hold_no_results_without_a_pass():
    weight, parts, results = gn.ones(16, 3, requires_grad=True), [], []
    for x in X[:, 0]:
        made = (gn.tensor(x) @ weight).tanh()
        parts.append(made[0].detach())
        results.append(ref(made._storage.node))
        del made
        gn.stack(parts).sum().item()
        look_over()
    gc.collect()

    assert [node() is not None for node in results[:-2]] == [False] * (STEPS - 2)
    assert np.allclose(gn.stack(parts).numpy(), np.tanh(X[:, 0, 0] @ np.ones((16, 3))))


def held_result() -> tuple[gn.Tensor, gn.Tensor, gn.Tensor]:
    """A leaf, the detached result of a function of it, and what is computed of that result."""
    leaf = gn.tensor([1.0, 2.0], requires_grad=True)
    made = leaf.exp()
    passed = made.square().sum()
    return leaf, made.detach(), passed


def computed_meanwhile() -> None:
    for _ in range(3):
        look_over()
        (gn.ones(2, requires_grad=True) * 2).sum().item()


def test_a_pass_goes_over_results_of_which_detached_tensors_are_left():
    leaf, shown, passed = held_result()
    passed.item()
    computed_meanwhile()
    shown.sum().item()
    passed.backward()

    assert np.allclose(leaf.grad.numpy(), 2 * np.exp([2.0, 4.0]))


def test_a_write_to_what_is_left_is_seen_by_a_pass():
    _, shown, passed = held_result()
    passed.item()
    computed_meanwhile()
    shown.add_(1)

    with pytest.raises(GradientError, match="modified by an inplace operation"):
        passed.backward()


def test_what_is_left_becomes_a_leaf():
    leaf, shown, passed = held_result()
    passed.item()
    del passed
    shown.requires_grad_()
    computed_meanwhile()
    again = (shown * shown).sum()
    computed_meanwhile()
    again.backward()
    shown.mul(2).sum().backward()

    assert np.allclose(shown.grad.numpy(), 2 * np.exp([1.0, 2.0]) + 2)
    assert leaf.grad is None


def test_data_that_moves_on_leaves_a_result_with_its_history():
    leaf = gn.tensor([1.0, 2.0], requires_grad=True)
    made = leaf.exp()
    shown = made.detach()
    made.sum().item()
    shown.data = gn.zeros(2)
    computed_meanwhile()
    made.sum().backward()

    assert np.allclose(leaf.grad.numpy(), np.exp([1.0, 2.0]))


def test_writes_to_detached_tensors_are_seen_through_all_that_are_left():
    made = gn.tensor([1.0, 2.0], requires_grad=True).exp()
    first, second = made.detach(), made[1:].detach()
    made.sum().item()
    del made
    computed_meanwhile()
    first.zero_()
    assert second.tolist() == [0.0]
    second.fill_(3)
    computed_meanwhile()

    assert first.tolist() == [0.0, 3.0]
