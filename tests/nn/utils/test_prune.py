"""Pruned parameters: which elements go, what is kept in the state, what pruning twice looks at."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError
from gnomon.nn.utils import prune


def layer() -> nn.Linear:
    """A layer of two outputs whose weight counts from -2 to 3."""
    made = nn.Linear(3, 2)
    made.weight.data = gn.arange(-2.0, 4.0).reshape(2, 3)
    return made


def test_the_elements_next_to_0_go_and_the_state_keeps_both():
    pruned = prune.l1_unstructured(layer(), "weight", amount=3)

    assert pruned.weight.tolist() == [[-2, 0, 0], [0, 2, 3]]
    assert [*pruned.state_dict()] == ["bias", "weight_orig", "weight_mask"]
    assert pruned.weight_orig.tolist() == [[-2, -1, 0], [1, 2, 3]]
    pruned(gn.ones(3)).sum().backward()
    assert pruned.weight_orig.grad.tolist() == pruned.weight_mask.tolist()
    assert prune.is_pruned(nn.Sequential(pruned))


def test_pruning_twice_looks_at_what_is_left():
    pruned = layer()
    pruned.weight.data = gn.arange(1.0, 7.0).reshape(2, 3)
    prune.ln_structured(pruned, "weight", 1, n=1, dim=1)
    prune.l1_unstructured(pruned, "weight", 0.25)
    assert pruned.weight_mask.tolist() == [[0, 0, 1], [0, 1, 1]]
    prune.ln_structured(pruned, "weight", 0.5, n=2, dim=0)

    assert pruned.weight_mask.tolist() == [[0, 0, 0], [0, 1, 1]]
    (hook,) = prune.hooks_of(pruned)
    assert [type(way) for way in hook] == [
        prune.LnStructured,
        prune.L1Unstructured,
        prune.LnStructured,
    ]
    assert (len(hook), hook[1].amount) == (3, 0.25)


def test_several_parameters_are_pruned_together():
    one, two = layer(), layer()
    two.weight.data = two.weight.data * 10
    prune.global_unstructured(
        [(one, "weight"), (two, "weight")], pruning_method=prune.L1Unstructured, amount=6
    )

    assert one.weight_mask.sum().item() + two.weight_mask.sum().item() == 6
    assert two.weight_mask.tolist() == [[1, 1, 0], [1, 1, 1]]
    with pytest.raises(TypeError, match="only an unstructured method"):
        prune.global_unstructured([(one, "bias")], prune.LnStructured, amount=1, n=2)


def test_draws_prune_as_many_as_asked():
    gn.manual_seed(0)
    assert prune.random_unstructured(layer(), "weight", 0.5).weight_mask.sum().item() == 3
    columns = prune.random_structured(layer(), "weight", 1, dim=1).weight_mask.sum(0)
    assert sorted(columns.tolist()) == [0, 2, 2]


def test_a_mask_of_ones_own_and_of_scores():
    pruned = prune.custom_from_mask(layer(), "bias", gn.tensor([0, 1]))
    scored = prune.l1_unstructured(layer(), "bias", 1, importance_scores=gn.tensor([5.0, 1.0]))

    assert pruned.bias[0].item() == 0.0
    assert scored.bias_mask.tolist() == [1, 0]
    assert prune.identity(layer(), "bias").bias_mask.tolist() == [1, 1]


class EverySecond(prune.BasePruningMethod):
    """A way of a user's own, without a constructor."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        mask = default_mask.clone()
        mask.view(-1)[::2] = 0
        return mask


def test_a_way_of_a_users_own():
    pruned = layer()
    EverySecond.apply(pruned, "weight")

    assert pruned.weight_mask.flatten().tolist() == [0, 1, 0, 1, 0, 1]
    assert EverySecond().prune(gn.ones(3)).tolist() == [0, 1, 0]


def test_removing_leaves_the_zeros_and_the_parameter_that_an_optimizer_has():
    pruned = prune.l1_unstructured(layer(), "weight", 3)
    original = pruned.weight_orig
    prune.remove(pruned, "weight")

    assert pruned.weight is original
    assert pruned.weight.tolist() == [[-2, 0, 0], [0, 2, 3]]
    assert [*pruned.state_dict()] == ["bias", "weight"]
    assert not prune.is_pruned(pruned)
    with pytest.raises(ArgumentError, match=r"'weight' of module Linear.* has to be pruned"):
        prune.remove(pruned, "weight")


def test_a_pruned_module_trains_compiled_as_it_does_eagerly():
    curves = []
    for wrap in (lambda f: f, gn.compile):
        pruned = prune.l1_unstructured(layer(), "weight", 3)
        pruned.bias.data = gn.zeros(2)
        sgd = gn.optim.SGD(pruned.parameters(), lr=0.1)

        @wrap
        def step(x, pruned=pruned, sgd=sgd):
            sgd.zero_grad()
            loss = pruned(x).square().mean()
            loss.backward()
            sgd.step()
            return loss

        curves.append([step(gn.ones(3)).item() for _ in range(3)])

    assert curves[0] == curves[1]
    assert curves[0][2] < curves[0][0]


@pytest.mark.parametrize("amount", [-1, 1.5, 100])
def test_amounts_that_make_no_sense_are_refused(amount):
    with pytest.raises(ArgumentError, match=rf"a share, or a number up to .*: got {amount}"):
        prune.l1_unstructured(layer(), "weight", amount)


def test_a_container_has_methods_of_one_parameter():
    first, second = prune.L1Unstructured(2), prune.L1Unstructured(2)
    first._tensor_name, second._tensor_name = "weight", "bias"
    container = prune.PruningContainer(first)

    with pytest.raises(ArgumentError, match="prunes 'weight': got a method for 'bias'"):
        container.add_pruning_method(second)
    with pytest.raises(TypeError, match="not a BasePruningMethod"):
        container.add_pruning_method(10)
    mask = container.compute_mask(gn.arange(4.0), gn.tensor([1, 1, 1, 0]))
    assert mask.dtype is gn.float32
    assert mask.tolist() == [0, 0, 1, 0]
