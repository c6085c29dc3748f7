"""Gradients of what ranks have of their own lie as the values whose gradients they are."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.distributed.device_mesh import init_device_mesh
from gnomon.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from gnomon.dtypes import float32
from gnomon.ir.node import Arena
from gnomon.ops.layouts import from_local, place, to_local
from gnomon.ops.placements import REPLICATED, VARYING, Split
from gnomon.passes.gradient_layouts import GradientLayouts, mixes
from gnomon.passes.gradient_paths import GradientPaths
from tests.distributed.on_threads import on_threads
from tests.fuzz_ranks import whole_of


def test_types_of_what_mixes_say_how_gradients_lie():
    arena = Arena()
    part, plain = arena.input((1, 2), float32), arena.input((2, 2), float32)
    x = from_local(part, (("dp", 2, Split(0)),))
    y = x * plain
    z = place(x, (("dp", 2, REPLICATED),)) * plain
    nodes = [part, plain, x, y, *z.inputs[:1], z]
    layouts = GradientLayouts(GradientPaths([y, z], [plain, part]))
    assert [mixes(node) for node in nodes] == [False, False, False, True, False, True]
    assert layouts.kinds["dp"][y] == Split(0)
    assert layouts.kinds["dp"][z] == VARYING
    g = arena.input((2, 2), float32)
    assert layouts.placed(g, y, x).params["layout"] == (("dp", 2, Split(0)),)
    assert layouts.placed(g, z, plain) is g


def test_a_program_without_a_ranks_own_values_has_no_types_to_ask_for():
    arena = Arena()
    x = from_local(arena.input((1, 2), float32), (("dp", 2, Split(0)),))
    y = to_local(x * x, (("dp", 2, Split(0)),))
    assert GradientLayouts(GradientPaths([y], [x])).kinds == {}


READS = {
    "moved and in a product": lambda mesh, x, p: x.redistribute(mesh, [Shard(1)]) + p @ x,
    "within": lambda mesh, x, p: (x * 2.0).redistribute(mesh, [Shard(1)]) + p @ (x * 2.0) @ p,
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("reads", READS.values(), ids=READS)
def test_each_rank_goes_back_through_its_own_values(reads, compiled: bool):
    rng = np.random.default_rng(0)
    whole, *arrays = rng.integers(-2, 3, (5, 2, 2)).astype(np.float32)
    plain, seeds = arrays[:2], arrays[2:]

    def work(rank: int, ranks: int) -> np.ndarray:
        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(gn.tensor(whole), mesh, [Shard(0)]).requires_grad_()
        p, seed = gn.tensor(plain[rank]), gn.tensor(seeds[rank])

        def loss(x: gn.Tensor, p: gn.Tensor, seed: gn.Tensor) -> gn.Tensor:
            y = reads(mesh, x, p).redistribute(mesh, [Shard(1)])
            return (y.redistribute(mesh, [Replicate()]).full_tensor() * seed).sum()

        (gn.compile(loss) if compiled else loss)(x, p, seed).backward()
        return whole_of(x.grad)

    # the gradient of what is split along axis 1: each rank's own columns
    g = np.concatenate([seeds[k][:, k : k + 1] for k in range(2)], 1)
    found = on_threads(work, 2)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], truth(reads, whole, plain, g))


def test_what_meets_a_ranks_own_value_has_a_gradient_that_lies_as_itself():
    rng = np.random.default_rng(0)
    whole, *arrays = rng.integers(-2, 3, (7, 3, 3)).astype(np.float32)
    plain, seeds = arrays[:3], arrays[3:]

    def work(rank: int, ranks: int) -> list[np.ndarray]:
        mesh = init_device_mesh("cpu", (3,))
        p, seed = gn.tensor(plain[rank]), gn.tensor(seeds[rank])

        def loss(x: gn.Tensor, y: gn.Tensor, p: gn.Tensor, seed: gn.Tensor) -> gn.Tensor:
            return ((x * p + y).full_tensor() * seed).sum()

        found = []
        for call in (loss, gn.compile(loss)):
            x = distribute_tensor(gn.tensor(whole), mesh, [Shard(1)]).requires_grad_()
            y = distribute_tensor(gn.tensor(whole), mesh, [Shard(0)])
            call(x, y, p, seed).backward()
            found.append(whole_of(x.grad))
        return found

    # the sum lies along axis 0, the product along axis 1
    g = np.concatenate([seeds[k][k : k + 1] for k in range(3)])
    wanted = np.concatenate([(g * plain[k])[:, k : k + 1] for k in range(3)], 1)
    for found in on_threads(work, 3):
        assert all(np.array_equal(each, wanted) for each in found)


def truth(reads, whole: np.ndarray, plain: list[np.ndarray], g: np.ndarray) -> np.ndarray:
    """Each rank's rows of the gradient that it finds with its own plain tensor."""
    rows = []
    for k, p in enumerate(plain):
        x = gn.tensor(whole, requires_grad=True)
        made = reads_alone(reads, x, gn.tensor(p))
        (made * gn.tensor(g)).sum().backward()
        rows.append(x.grad.numpy()[k : k + 1])
    return np.concatenate(rows)


def reads_alone(reads, x: gn.Tensor, p: gn.Tensor) -> gn.Tensor:
    """A reading in one process, where nothing is moved."""
    calls = {
        "moved and in a product": lambda: x + p @ x,
        "within": lambda: x * 2.0 + p @ (x * 2.0) @ p,
    }
    return calls[next(name for name, each in READS.items() if each is reads)]()


OWN_AND_SPLIT = {
    "a plain value": lambda s, x, p: x * x + (x + s),
    "a plain result": lambda s, x, p: (x @ x) * (x @ x) + s,
    "a pending sum": lambda s, x, p: (p @ x + s) + p,
    "rows of a plain value": lambda s, x, p: (x @ x)[:1] * (x @ x) + s,
}


@pytest.mark.parametrize("form", OWN_AND_SPLIT.values(), ids=OWN_AND_SPLIT)
def test_what_is_read_by_a_ranks_own_values_and_by_parts_has_a_gradient_of_its_own(form):
    rng = np.random.default_rng(0)
    whole, *arrays = rng.integers(-2, 3, (7, 2, 2)).astype(np.float32)
    plain, seeds, terms = arrays[:2], arrays[2:4], arrays[4:]

    def work(rank: int, ranks: int) -> list[list[np.ndarray]]:
        mesh = init_device_mesh("cpu", (2,))
        s = distribute_tensor(gn.tensor(whole), mesh, [Shard(0)])

        def loss(x: gn.Tensor, p: gn.Tensor) -> gn.Tensor:
            made = form(s, x, DTensor.from_local(p, mesh, [Partial()]))
            return (made.full_tensor() * gn.tensor(seeds[rank])).sum()

        found = []
        for call in (loss, gn.compile(loss)):
            given = [gn.tensor(each, requires_grad=True) for each in (plain[rank], terms[rank])]
            call(*given).backward()
            found.append([gradient_or_zeros(x) for x in given])
        return found

    g = gn.tensor(np.concatenate([seeds[k][k : k + 1] for k in range(2)]))
    for rank, found in enumerate(on_threads(work, 2)):
        given = [gn.tensor(x, requires_grad=True) for x in (plain[rank], terms[0] + terms[1])]
        (form(gn.tensor(whole), *given) * g).sum().backward()
        for each in found:
            pairs = zip(each, map(gradient_or_zeros, given), strict=True)
            assert all(np.array_equal(x, wanted) for x, wanted in pairs)


def gradient_or_zeros(x: gn.Tensor) -> np.ndarray:
    """A leaf's gradient."""
    return np.zeros(x.shape, np.float32) if x.grad is None else x.grad.numpy()
