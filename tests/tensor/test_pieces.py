"""Structures that are new, run operation by operation: the bits of whole programs."""

from __future__ import annotations

import random

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import IndexOutOfBounds
from gnomon.ir.provenance import waited
from gnomon.runtime.buffer import memory
from gnomon.settings import override
from gnomon.tensor import pieces
from tests.counters import settled


@pytest.fixture
def always(monkeypatch):
    """Every structure is run in pieces, each time; the list has the counts of roots."""
    monkeypatch.setattr(pieces, "STRUCTURES", 0)
    monkeypatch.setattr(pieces, "PASSES", 1 << 60)
    counts, made = [], pieces.run

    def run(roots, leaves):
        counts.append(len(roots))
        return made(roots, leaves)

    monkeypatch.setattr(pieces, "run", run)
    return counts


def both(work):
    """What a function gives in pieces, and what as whole programs."""
    split = work()
    with override(without="pieces"):
        whole = work()
    return split, whole


def bits(*tensors: gn.Tensor) -> list[bytes]:
    """The bytes of values."""
    return [x.detach().numpy().tobytes() for x in tensors]


def network():
    """A network with its data."""
    gn.manual_seed(3)
    model = gn.nn.Sequential(
        gn.nn.Linear(6, 5), gn.nn.Tanh(), gn.nn.LayerNorm(5), gn.nn.Linear(5, 3)
    )
    return model, gn.rand(7, 6), gn.arange(7) % 3


def training():
    """Losses and weights of some steps."""
    model, x, y = network()
    optimizer, losses = gn.optim.Adam(model.parameters(), lr=0.013), []
    for k in range(3):
        loss = gn.nn.functional.cross_entropy(model(x * (1.0 + 0.1 * k)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return bits(*losses, *model.parameters())


def views():
    """Slices, joins, transposes, and views of views, written and read."""
    x = gn.arange(24.0).view(2, 3, 4) * 0.37
    parts = [x[0, 1:], x[1].t()[:2], x[:, ::2, 1:3].reshape(4, 2), x[1:, :, 0]]
    joined = gn.cat([part.reshape(-1) for part in parts])
    y = x.permute(2, 0, 1) - joined.mean()
    y[1:3, 0] = joined[:6].view(2, 3)
    return bits(joined, y, gn.stack(list(y.unbind(0)), -1), y[:0], gn.cat([y, y[:0]]), y.sum())


def calls():
    """Calls of several results, branches and loops, captured functions, second derivatives."""
    x = gn.linspace(-1.0, 2.0, 9).requires_grad_()
    top, places = (x * x).topk(3)
    captured = gn.compile(lambda a: (a.sin() * 3.7, a.cumsum(0)))
    first, second = captured(x)
    (slope,) = gn.autograd.grad((first * second).sum(), x, create_graph=True)
    (bend,) = gn.autograd.grad(slope.square().sum(), x)
    frame = gn.linalg.qr(gn.eye(3) * 2.5 + 1.0)
    return bits(top, places, first, second, slope, bend, *frame)


def numbers():
    """Constants of all kinds: special ones, those of integers, and what is not finite."""
    x = gn.linspace(0.1, 2.0, 5)
    ints = gn.arange(5)
    special = x * float("inf") + x**2.2 - x**3 + x.pow(0.5) * -0.0
    return bits(
        special, ints * 3 + 1, ints / 7, gn.full((3,), 0.3) * 1e-40, gn.where(x > 1.3, x, -7.1)
    )


@pytest.mark.parametrize("work", [training, views, calls, numbers])
def test_pieces_have_the_bits_of_whole_programs(work, always):
    split, whole = both(work)

    assert always
    assert split == whole


def drawn(seed: int) -> list[bytes]:
    """A random program of views, joins, folds and products, with gradients."""
    choose = random.Random(seed)
    x = gn.linspace(-1.0, 1.0, 12).view(3, 4).requires_grad_()
    known = [x * 1.0, x.t(), x[1:], gn.ones(3, 4)]
    for _ in range(choose.randint(4, 14)):
        a = choose.choice(known)
        made = choose.choice(
            (
                lambda a: a.tanh() * choose.uniform(-2, 2),
                lambda a: a.t() if a.ndim == 2 else a,
                lambda a: a @ a.transpose(-1, -2) if a.ndim == 2 else a + a,
                lambda a: gn.cat([a, a[:1] if a.ndim else a.reshape(1)]) if a.ndim else a,
                lambda a: a.softmax(-1) if a.ndim else a.exp(),
                lambda a: a.sum(0) if a.ndim else a,
                lambda a: a[choose.randrange(2) :: choose.choice((1, 2))] if a.ndim else a * a,
                lambda a: a.expand(2, *a.shape).reshape(-1, *a.shape[1:]) if a.ndim == 2 else a,
            )
        )(a)
        known.append(made)
    loss = sum((y.square().mean() for y in known[-3:]), start=x.sum())
    (slope,) = gn.autograd.grad(loss, x)
    return bits(loss, slope, known[-1])


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_have_the_bits_of_whole_programs(seed, always):
    split, whole = both(lambda: drawn(seed))

    assert split == whole


def compilations() -> int:
    """How many programs were compiled in this process."""
    return sum(count for count, _ in waited.values())


def episodes(lengths):
    """A loss over an episode of each length, all at one line, and how many programs each made."""
    weight = gn.nn.Parameter(gn.full((3,), 0.5))
    losses, counts = [], []
    for n in lengths:
        before = compilations()
        weight.grad = None
        rows = [(weight * (k + 0.25)).sum().tanh() for k in range(n)]
        loss = gn.stack(rows).mean()
        loss.backward()
        losses.append((loss.item(), *weight.grad.tolist()))
        counts.append(compilations() - before)
    return losses, counts


def test_a_line_of_many_structures_runs_further_ones_in_pieces():
    lengths = [*range(2, 14), *[13] * 8]
    with override(keep_programs=False):
        split, counts = episodes(lengths)
    with override(without="pieces"):
        whole, _ = episodes(lengths)

    assert split == whole
    assert counts[8:14] == [0] * 6, "of operations that were met before, nothing is compiled"
    assert any(counts[14:]), "what comes again and again is compiled whole"
    assert counts[-1] == 0


def choices(drawn, after=lambda: None):
    """A loss of the elements at drawn places, all at one line, and how many programs each made."""
    weight = gn.nn.Parameter(gn.linspace(0.1, 0.9, 5))
    losses, counts = [], []
    for places in drawn:
        before = compilations()
        weight.grad = None
        loss = gn.stack([(weight * (k + 0.5)).tanh()[i] for k, i in enumerate(places)]).sum()
        loss.backward()
        losses.append((loss.item(), *weight.grad.tolist()))
        counts.append(compilations() - before)
        after()
    return losses, counts


def test_positions_that_vary_at_sizes_that_were_compiled_run_in_pieces(monkeypatch):
    runs, met, run = [], [], pieces.run
    monkeypatch.setattr(pieces, "run", lambda *given: (runs.append(1), run(*given))[1])
    drawn = [(k % 5, k // 5, 2) for k in range(20)] + [(4, 4, 4)] * 10
    with override(keep_programs=False):
        split, counts = choices(drawn, lambda: met.append(len(runs)))
    with override(without="pieces"):
        whole, _ = choices(drawn)

    assert split == whole
    assert counts[16:20] == [0] * 4, "of operations that were met before, nothing is compiled"
    assert met[16] < met[19], "they run in pieces"
    assert met[-2] == met[-1], "what comes again and again runs whole"
    assert counts[-1] == 0


def test_a_wrong_position_is_refused_with_its_line(always):
    x = gn.arange(4.0) * 0.5
    y = gn.cat([x, x]).exp()
    with pytest.raises(IndexOutOfBounds, match="test_pieces"):
        (y[gn.tensor([9]) + 0] * 2).sum().item()

    np.testing.assert_array_equal(y[:2].numpy(), np.exp(np.float32([0, 0.5])))


def test_a_value_that_nobody_reads_any_more_is_given_back(always):
    x = gn.ones(1 << 16)
    gn.evaluate(x)
    before, y = settled().allocated, x
    for _ in range(40):
        y = y.exp().cos()
    memory.reset_peak()
    gn.evaluate(y)

    assert memory.use().peak - before <= 3 * x.size * 4
