"""Complex parameters: trained as the pairs of real numbers that they are, to the bit."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon import nn
from gnomon.distributed.optim import ZeroRedundancyOptimizer
from gnomon.distributed.pipelining import PipelineStage, Schedule1F1B
from gnomon.errors import ArgumentError, ComplexError
from gnomon.nn.parallel import DistributedDataParallel
from tests.distributed.on_threads import on_threads

pytestmark = pytest.mark.unit

RNG = np.random.default_rng(0)
PAIR = RNG.normal(size=(3, 4, 2)).astype(np.float32)
X, Y = RNG.normal(size=(2, 6, 4)).astype(np.float32)
OPTIMIZERS: dict[str, Callable] = {
    "SGD": lambda p: gn.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.1),
    "AdamW": lambda p: gn.optim.AdamW(p, 0.1, amsgrad=True),
    "Adagrad": lambda p: gn.optim.Adagrad(p, 0.1, initial_accumulator_value=0.5),
    "Rprop": lambda p: gn.optim.Rprop(p, 0.1),
    **{
        name: lambda p, name=name: getattr(gn.optim, name)(p, lr=0.1)
        for name in ("Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop")
    },
}


class Filter(nn.Module):
    """A product with complex weights in the frequencies of an input."""

    def __init__(self, pair: np.ndarray = PAIR, is_real: bool = False) -> None:
        super().__init__()
        weight = gn.tensor(pair)
        self.weight = nn.Parameter(weight if is_real else gn.view_as_complex(weight))
        self.shift = nn.Parameter(gn.zeros(4))

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        weight = self.weight if self.weight.is_complex() else gn.view_as_complex(self.weight)
        spectrum = gn.fft.rfft(x)
        return gn.fft.irfft(spectrum[:, :, None] * weight, n=3, dim=1).sum(1) + self.shift


def losses_of(model: nn.Module, optimizer: gn.optim.Optimizer, x=X, y=Y) -> list[str]:
    """The bits of the losses of a few steps."""
    found = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = (model(gn.tensor(x)) - gn.tensor(y)).square().mean()
        loss.backward()
        optimizer.step()
        found.append(loss.item().hex())
    return found


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_have_the_bits_of_pairs(name: str):
    models = [Filter(), Filter(is_real=True)]

    found = [losses_of(x, OPTIMIZERS[name](x.parameters())) for x in models]

    assert found[0] == found[1]
    assert len({*found[0]}) == 4
    pair = gn.view_as_real(models[0].weight.detach())
    np.testing.assert_array_equal(pair.numpy(), models[1].weight.detach().numpy())


def test_lbfgs_has_the_bits_of_pairs():
    found = []
    for model in (Filter(), Filter(is_real=True)):
        optimizer = gn.optim.LBFGS(model.parameters(), line_search_fn="strong_wolfe")

        def closure(model=model, optimizer=optimizer) -> gn.Tensor:
            optimizer.zero_grad()
            loss = (model(gn.tensor(X)) - gn.tensor(Y)).square().mean()
            loss.backward()
            return loss

        found.append([optimizer.step(closure).item().hex() for _ in range(2)])

    assert found[0] == found[1]


def test_a_compiled_step_has_the_bits_of_an_eager_one():
    found = []
    for change in (lambda step: step, gn.compile):
        model = Filter()
        optimizer = gn.optim.Adam(model.parameters(), 0.1)

        def step(model=model, optimizer=optimizer) -> gn.Tensor:
            optimizer.zero_grad()
            loss = (model(gn.tensor(X)) - gn.tensor(Y)).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        called = change(step)
        found.append([called().item().hex() for _ in range(4)])

    assert found[0] == found[1]


def test_it_is_a_parameter():
    model = Filter()

    assert isinstance(model.weight, nn.Parameter)
    assert model.weight.is_leaf
    assert model.weight.requires_grad
    assert [name for name, _ in model.named_parameters()] == ["weight", "shift"]
    assert repr(nn.Parameter(gn.tensor([1 + 2j]))) == "Parameter([1.+2.j], requires_grad=True)"
    (gradient,) = gn.autograd.grad(model(gn.tensor(X)).sum(), [model.weight])
    assert not isinstance(gradient, nn.Parameter)
    assert gradient.dtype is gn.complex64
    assert isinstance(nn.Buffer(gn.tensor([1j])), nn.Buffer)
    assert len(list(nn.ParameterList([gn.ones(2, dtype=gn.complex64)]).parameters())) == 1


def test_gradients_are_clipped_by_their_absolute_values():
    weight = nn.Parameter(gn.tensor([3 + 4j, 0]))
    weight.grad = gn.tensor([3 + 4j, 12])

    assert nn.utils.clip_grad_norm_([weight], 6.5).item() == 13.0
    np.testing.assert_allclose(weight.grad.numpy(), [1.5 + 2j, 6], rtol=1e-6)


def test_hooks_get_the_parameter():
    weight, found = nn.Parameter(gn.tensor([1 + 2j, 2])), []
    weight.register_post_accumulate_grad_hook(
        lambda p: found.append((p is weight, p.grad.tolist()))
    )
    (weight * weight.conj()).real.sum().backward()

    assert found == [(True, [2 + 4j, 4])]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_parameters_of_their_own(copied: Callable):
    weight = nn.Parameter(gn.tensor([1 + 2j]))
    weight.label = "of a user"
    weight.grad = gn.tensor([1j])
    made = copied(weight)
    with gn.no_grad():
        made.mul_(2)

    assert isinstance(made, nn.Parameter)
    assert made.requires_grad
    assert made.label == "of a user"
    assert made.grad is None
    assert (made.tolist(), weight.tolist()) == ([2 + 4j], [1 + 2j])


def test_states_and_files_hold_them():
    model = Filter()
    optimizer = gn.optim.Adam(model.parameters(), 0.1)
    losses_of(model, optimizer)
    file = io.BytesIO()
    gn.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    gn.save(model.weight, whole := io.BytesIO())
    whole.seek(0)
    file.seek(0)
    kept = gn.load(file)
    again = Filter(0 * PAIR)
    again.load_state_dict(kept["model"])
    further = gn.optim.Adam(again.parameters(), 0.1)
    further.load_state_dict(kept["optimizer"])

    assert kept["optimizer"]["state"][0]["exp_avg"].dtype is gn.complex64
    assert losses_of(again, further) == losses_of(model, optimizer)
    loaded = gn.load(whole)
    assert isinstance(loaded, nn.Parameter)
    assert loaded.dtype is gn.complex64


def test_conversions_leave_them_complex():
    model = Filter()
    losses_of(model, gn.optim.SGD(model.parameters(), 0.1))
    model.double()

    assert (model.weight.dtype, model.shift.dtype) == (gn.complex64, gn.float64)
    assert (model.weight.grad.dtype, model.shift.grad.dtype) == (gn.complex64, gn.float64)
    with pytest.raises(ComplexError, match="complex64 would lose its imaginary parts as float32"):
        model.to(gn.float32)
    assert model.to("cpu").weight.tolist() == model.weight.tolist()


def test_classes_below_parameter_are_refused():
    class Scaled(nn.Parameter):
        pass

    with pytest.raises(ArgumentError, match="Scaled: classes below Parameter hold real numbers"):
        Scaled(gn.tensor([1j]))


def test_ranks_have_the_bits_of_one():
    def work(rank: int, ranks: int, kind: str) -> list[str]:
        model = Filter()
        wrapped = model if kind == "alone" else DistributedDataParallel(model)
        optimizer = gn.optim.Adam(model.parameters(), 0.1)
        if kind == "parts":
            optimizer = ZeroRedundancyOptimizer(model.parameters(), gn.optim.Adam, lr=0.1)
        losses_of(wrapped, optimizer)  # of whole batches, so that averages change no bit
        return [model.weight.detach().numpy().tobytes().hex(), model.shift.tolist()]

    (alone,) = on_threads(lambda rank, n: work(rank, n, "alone"), 1)

    for kind in ("ddp", "parts"):
        assert on_threads(lambda rank, n, kind=kind: work(rank, n, kind), 2) == [alone, alone]


def test_gradients_go_back_through_stages_that_send_complex_numbers():
    class First(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(gn.view_as_complex(gn.tensor(PAIR)))

        def forward(self, x: gn.Tensor) -> gn.Tensor:
            return x[:, None] * self.weight

    class Last(nn.Module):
        def forward(self, x: gn.Tensor) -> gn.Tensor:
            return gn.view_as_real(x).square().sum(-1)

    def work(rank: int, ranks: int) -> list | None:
        part = [First(), Last()][rank] if ranks > 1 else nn.Sequential(First(), Last())
        stage = PipelineStage(part, rank, ranks, "cpu")
        schedule = Schedule1F1B(stage, 3, lambda made, _: made.mean())
        schedule.step(*([gn.tensor(X)] if rank == 0 else []), target=gn.tensor(Y))
        return [p.grad.tolist() for p in part.parameters()]

    (alone,), found = on_threads(work, 1), on_threads(work, 2)

    assert found == [alone, []]
    assert any(map(any, alone[0]))
    assert not dist.is_initialized()


def test_functional_calls_and_gradients_take_them():
    model = Filter()
    given = dict(model.named_parameters())

    def loss(parameters: dict) -> gn.Tensor:
        made = gn.func.functional_call(model, parameters, (gn.tensor(X),))
        return (made - gn.tensor(Y)).square().mean()

    found = gn.func.grad(loss)(given)
    loss(given).backward()

    assert found["weight"].tolist() == model.weight.grad.tolist()
    assert gn.compile(loss)(given).item() == loss(given).item()
