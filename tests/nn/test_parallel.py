"""Data parallel training: every rank has the mean of all ranks' gradients, to the bit."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError
from gnomon.nn.parallel import DistributedDataParallel
from tests.distributed.on_threads import on_threads

ROWS = gn.arange(16.0 * 8).reshape(16, 8).sin()


def model(seed: int) -> nn.Module:
    """Two layers whose first values follow from a seed; threads share the generator of all."""
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    with gn.no_grad():
        for p in net.parameters():
            p.copy_((gn.arange(float(p.numel())) * (seed + 7)).sin().reshape(p.shape) / 4)
    return net


def step(net: nn.Module, rows: gn.Tensor) -> None:
    """A backward pass."""
    (net(rows) ** 2).mean().backward()


def gradients(net: nn.Module) -> list:
    """The gradients of a model, as lists."""
    return [p.grad.tolist() for p in net.parameters()]


@pytest.fixture(scope="module")
def alone() -> list:
    """One process's gradients of all rows."""
    net = model(0)
    step(net, ROWS)
    return gradients(net)


def share(rank: int, ranks: int) -> gn.Tensor:
    """The rows of a rank."""
    return ROWS[rank * 16 // ranks : (rank + 1) * 16 // ranks]


@pytest.mark.parametrize("ranks", [2, 4])
def test_gradients_are_those_of_one_process_to_the_bit(ranks: int, alone: list):
    def train(rank: int, ranks: int) -> list:
        net = DistributedDataParallel(model(rank))
        step(net, share(rank, ranks))
        return gradients(net)

    assert on_threads(train, ranks) == [alone] * ranks


def test_a_compiled_step_and_a_compiled_model_give_the_same_bits(alone: list):
    def train(rank: int, ranks: int) -> list:
        net = DistributedDataParallel(gn.compile(model(rank)))
        step(net, share(rank, ranks))
        whole = DistributedDataParallel(model(rank))
        gn.compile(step)(whole, share(rank, ranks))
        assert gradients(whole) == gradients(net)
        for each in (net, whole):
            assert list(each.state_dict()) == [f"module.{name}" for name in model(0).state_dict()]
        return gradients(net)

    assert on_threads(train, 2) == [alone, alone]


def test_a_wrapper_answers_what_trainers_ask_of_pytorchs():
    def work(rank: int, ranks: int) -> None:
        net = DistributedDataParallel(nn.Linear(2, 2), static_graph=rank == 0)
        assert net.static_graph == (rank == 0)
        net._set_static_graph()
        assert net.static_graph
        assert net.device_ids is None
        assert net._get_ddp_logging_data() == {"world_size": 2, "can_set_static_graph": False}

    on_threads(work, 2)


def test_inside_no_sync_gradients_gather_on_each_rank(alone: list):
    def train(rank: int, ranks: int) -> tuple[list, list]:
        net, own = DistributedDataParallel(model(rank)), model(0)
        first, second = share(rank, ranks).chunk(2)
        with net.no_sync():
            step(net, first)
        step(own, first)
        before = gradients(net) == gradients(own)
        step(net, second)
        return before, gradients(net)

    (first, left), (second, right) = on_threads(train, 2)

    assert (first, second) == (True, True)
    assert left == right
    halves = [[value / 2 for value in flat(x)] for x in left]
    assert halves == [pytest.approx(flat(x), abs=1e-6) for x in alone]


def flat(values: list) -> list[float]:
    """All numbers of nested lists."""
    return gn.tensor(values).ravel().tolist()


def test_a_parameter_that_no_loss_reaches_counts_as_zeros_where_that_is_asked():
    def train(rank: int, ranks: int) -> list:
        net = DistributedDataParallel(model(0), find_unused_parameters=True)
        layer = net.module[rank * 2]
        layer.weight.sum().backward()
        return [p.grad.sum().item() for p in net.parameters()]

    assert on_threads(train, 2) == [[64.0, 0.0, 32.0, 0.0]] * 2


def test_buffers_are_the_first_ranks():
    def train(rank: int, ranks: int) -> list:
        net = DistributedDataParallel(nn.BatchNorm1d(2))
        net(gn.ones(4, 2) * (rank + 1) + gn.arange(4.0).reshape(4, 1))
        net(gn.ones(4, 2))
        return net.module.running_mean.tolist()

    first, second = on_threads(train, 2)

    assert first == second


def test_a_module_without_parameters_is_refused():
    def refused(rank: int, ranks: int) -> None:
        with pytest.raises(ArgumentError, match="no parameter of the module wants gradients"):
            DistributedDataParallel(nn.Tanh())

    on_threads(refused, 1)


def test_one_process_has_one_device():
    layer = nn.Linear(3, 2)
    net = nn.DataParallel(layer, device_ids=[0])

    assert net(gn.ones(1, 3)).equal(layer(gn.ones(1, 3)))
    assert list(net.state_dict()) == ["module.weight", "module.bias"]
