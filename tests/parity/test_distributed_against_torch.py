"""Collectives that gradients pass, stores and policies, beside PyTorch's own ranks by gloo."""

from __future__ import annotations

import importlib
import os
import warnings
from functools import partial
from typing import Any

import pytest

import gnomon.distributed.wrapping as ours
from gnomon import nn
from gnomon.distributed.processes import free_port
from tests.distributed.test_nn import EXPECTED, calls, weighted
from tests.distributed.test_stores import ANSWERS, answers

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
dist, mp = torch.distributed, pytest.importorskip("torch.multiprocessing")
theirs = pytest.importorskip("torch.distributed.fsdp.wrap")
pytestmark = pytest.mark.parity


def rank_of_torch(rank: int, port: int, told: Any) -> None:
    """One of PyTorch's ranks: values and gradients of each call."""
    warnings.simplefilter("ignore")
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    found, F = {}, importlib.import_module("torch.distributed.nn.functional")
    for name, call in calls(torch, F).items():
        x = (torch.arange(3.0) + rank).requires_grad_()
        made = call(x)
        (g,) = torch.autograd.grad(weighted(made, rank, torch), (x,))
        found[name] = [[t.tolist() for t in made], g.tolist()]
    told.put((rank, found))
    dist.destroy_process_group()


def test_the_values_and_gradients_that_are_expected_are_pytorchs():
    told = mp.get_context("spawn").SimpleQueue()
    mp.spawn(rank_of_torch, (free_port(), told), nprocs=2)
    found = dict(told.get() for _ in range(2))
    # of a reduction that has a root, gloo leaves other ranks any values
    found[0]["reduce"][0] = EXPECTED["reduce"][0][0]

    assert {name: [found[k][name] for k in (0, 1)] for name in EXPECTED} == EXPECTED


def test_the_answers_that_are_expected_of_stores_are_pytorchs():
    assert answers(dist.HashStore()) == ANSWERS
    assert answers(dist.PrefixStore("part", dist.HashStore())) == ANSWERS


def layers(n: Any) -> Any:
    """Layers of several sizes, in containers, of ours or PyTorch's."""
    inner = n.Sequential(n.Linear(6, 6), n.ReLU(), n.Linear(6, 4))
    return n.Sequential(n.Linear(4, 4), n.ModuleList([inner]), n.MultiheadAttention(4, 2))


def chosen(n: Any, policy: Any, apply: Any) -> list[str]:
    """The paths of the modules that a policy puts into wrappers."""
    model = layers(n)
    seen: list = []

    def wrapper(m: Any) -> Any:
        seen.append(m)
        return m

    paths = {id(m): name for name, m in model.named_modules()}
    apply(model, policy, wrapper)
    return [paths[id(m)] for m in seen]


def by_torch(model: Any, policy: Any, wrapper: Any) -> None:
    """PyTorch's walk through a model."""
    none = {"ignored_modules": set(), "ignored_params": set()}
    theirs._recursive_wrap(model, policy, wrapper, **none, only_wrap_children=True)


POLICIES = {
    "always": lambda w, n: w.always_wrap_policy,
    "classes": lambda w, n: partial(w.transformer_auto_wrap_policy, transformer_layer_cls={n.ReLU}),
    "words": lambda w, n: partial(
        w.lambda_auto_wrap_policy, lambda_fn=lambda m: isinstance(m, n.Linear)
    ),
    "modules": lambda w, n: w.ModuleWrapPolicy({n.Linear, n.Sequential}),
    **{
        f"size {size}": lambda w, n, size=size: partial(
            w.size_based_auto_wrap_policy, min_num_params=size
        )
        for size in (20, 30, 60, 80, 100)
    },
    "leaves": lambda w, n: partial(
        w.size_based_auto_wrap_policy,
        min_num_params=20,
        force_leaf_modules={n.Sequential},
        exclude_wrap_modules={n.Linear},
    ),
}


@pytest.mark.parametrize("name", POLICIES)
def test_policies_choose_the_same_modules(name: str):
    make = POLICIES[name]

    found = chosen(nn, make(ours, nn), ours.apply_policy)

    assert found == chosen(torch.nn, make(theirs, torch.nn), by_torch)
