"""Ways that serve many sizes, of arguments and of what numpy finds, beside the plain functions."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from random import Random
from threading import Thread
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.compiler import sized
from tests import fuzz_data_sizes

pytestmark = pytest.mark.unit

COUNTS = (7, 12, 3, 0, 20, 1, 5, 0, 9, 1, 24, 2, 17, 7, 12)
"""How many rows of 24 are above 0; 0 and 1 are ways of their own."""


def given(count: int, rows: int = 24) -> gn.Tensor:
    """Rows of 4, of which so many begin above 0."""
    random = np.random.default_rng(count + 100 * rows)
    array = random.standard_normal((rows, 4), np.float32)
    above = random.permutation(rows) < count
    array[:, 0] = np.where(above, 1, -1) * (np.abs(array[:, 0]) + 0.1)
    return gn.from_numpy(array)


def bits(value: Any) -> Any:
    """A result as something to compare."""
    if isinstance(value, gn.Tensor):
        return value.detach().numpy().tobytes(), tuple(value.shape), str(value.dtype)
    if isinstance(value, (tuple, list)):
        return [bits(x) for x in value]
    return type(value), value


def beside(function: Callable, counts: Any = COUNTS, **options: Any) -> Any:
    """The compiled function, which gave what the plain one gives."""
    compiled = gn.compile(function, **options)
    for count in counts:
        rows = count if isinstance(count, tuple) else (count,)
        assert bits(compiled(given(*rows))) == bits(function(given(*rows))), count
    return compiled


W = gn.from_numpy(np.random.default_rng(3).standard_normal((3, 4, 4), np.float32))


def loop_over_experts(x: gn.Tensor) -> gn.Tensor:
    """The rows that each expert is given, in a loop."""
    chosen = (x @ W[0, :, :3]).argmax(-1)
    out = gn.zeros_like(x)
    for k in range(3):
        at = (chosen == k).nonzero(as_tuple=True)[0]
        if at.numel() > 0:
            out.index_add_(0, at, (x[at] @ W[k]).relu())
    return out


def chained(x: gn.Tensor) -> Any:
    """What is above the mean of what is above 0."""
    kept = x[x[:, 0] > 0]
    if kept.shape[0] < 2:
        return kept
    best = kept[kept[:, 1] > kept[:, 1].mean()]
    return best * 2, best.shape[0], kept.sum(0)


SERVED = {
    "mask": (lambda x: x[x[:, 0] > 0] * 2, 4),
    "sum": (lambda x: x[x[:, 0] > 0].sum(0), 4),
    "softmax": (lambda x: x[x[:, 0] > 0].softmax(-1) @ W[0], 4),
    "positions": (lambda x: (x > 0).nonzero() * 2, 2),
    "positions as they are": (lambda x: (x[:, 0] > 0).nonzero(), 4),
    "size alone beside": (lambda x: (x * 2, x[x[:, 0] > 0].shape[0]), 4),
    "mean": (lambda x: x[x[:, 0] > 0].sum() / max(x[x[:, 0] > 0].shape[0], 1), 4),
    "two masks": (lambda x: gn.cat([x[x[:, 0] > 0], x[x[:, 0] <= 0] * 2]), 8),
    "pairs": (lambda x: x[x[:, 0] > 0] @ x[x[:, 1] > 0].mT, 5),
    "unique": (lambda x: gn.unique(x.round(), return_inverse=True, return_counts=True), 2),
    "written": (lambda x: x.clone().masked_fill_(x > 0, 0)[x[:, 0] > 0], 4),
    "put": (lambda x: gn.zeros(24, 4).index_copy(0, *selected(x)), 4),
    "branch on a size": (lambda x: big_or_small(x[x[:, 0] > 0]), 6),
    "experts": (loop_over_experts, 12),
    "chained": (chained, 10),
}


def selected(x: gn.Tensor) -> tuple[gn.Tensor, gn.Tensor]:
    """Positions and the rows there."""
    at = (x[:, 0] > 0).nonzero(as_tuple=True)[0]
    return at, x[at]


def big_or_small(x: gn.Tensor) -> gn.Tensor:
    """Many rows are treated otherwise."""
    return x.exp() if x.shape[0] > 10 else x - 1


@pytest.mark.parametrize("name", SERVED)
def test_a_way_serves_further_sizes(name: str):
    function, captures = SERVED[name]
    compiled = beside(function)
    before = compiled.captures
    assert before <= captures, compiled.why_recompiled()
    beside_before = [bits(compiled(given(k, 24))) for k in (4, 6, 8, 11, 13, 21)]
    assert beside_before == [bits(function(given(k, 24))) for k in (4, 6, 8, 11, 13, 21)]
    assert compiled.captures == before
    assert compiled.kernels() or name == "positions as they are"
    assert "for many sizes" in compiled.explain()


def test_sizes_of_arguments_vary_too():
    counts = [(k % n, n) for n in (24, 17, 30, 9, 40, 51, 12, 33) for k in (5, 7, 2, 8)]
    for function in (SERVED["mask"][0], SERVED["unique"][0], SERVED["softmax"][0]):
        compiled = beside(function, counts)
        assert compiled.captures <= 8, compiled.why_recompiled()


def test_one_way_of_each_size_where_that_is_asked_for():
    compiled = beside(SERVED["mask"][0], (3, 4, 5, 6, 3, 4), dynamic=False)

    assert compiled.captures == 4


def test_gradients_pass_outside():
    weight = gn.tensor(np.eye(4, dtype=np.float32) * 2, requires_grad=True)

    def loss(x: gn.Tensor) -> gn.Tensor:
        return ((x[x[:, 0] > 0] @ weight) ** 2).sum()

    compiled = gn.compile(loss)
    for count in COUNTS:
        told = []
        for run in (loss, compiled):
            x, weight.grad = given(count).requires_grad_(), None
            run(x).backward()
            told.append((bits(x.grad), bits(weight.grad)))
        assert told[0] == told[1], count
    assert compiled.captures <= 4


def test_training_inside():
    def made() -> tuple[Any, Any]:
        gn.manual_seed(0)
        model = nn.Linear(4, 4)
        optimizer = gn.optim.AdamW(model.parameters(), lr=0.1)

        def step(x: gn.Tensor) -> gn.Tensor:
            loss = (model(x[x[:, 0] > 0]) ** 2).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        return step, model

    (plain, one), (step, other) = made(), made()
    compiled = gn.compile(step)
    for count in COUNTS:
        assert bits(compiled(given(count))) == bits(plain(given(count))), count
        assert bits([*other.parameters()]) == bits([*one.parameters()])
    assert compiled.captures <= 5


def test_values_that_python_branches_on():
    def looked(x: gn.Tensor) -> gn.Tensor:
        kept = x[x[:, 0] > 0]
        if kept[:, 1].sum() > 0:
            return kept * 2
        return -kept

    compiled = beside(looked)
    assert compiled.captures <= 12


def test_effects_are_done_once():
    seen: list[int] = []

    def noted(x: gn.Tensor) -> gn.Tensor:
        kept = x[x[:, 0] > 0]
        seen.append(kept.shape[0])
        return kept * 2

    compiled = gn.compile(noted)
    for count in COUNTS[:6]:
        compiled(given(count))
    assert seen == [*COUNTS[:6]]
    assert all(type(n) is int for n in seen)


def test_state_between_calls():
    class Box:
        factor = 2.0

    box = Box()

    def scaled(x: gn.Tensor) -> gn.Tensor:
        return x[x[:, 0] > 0] * box.factor

    compiled = gn.compile(scaled)
    for k, count in enumerate(COUNTS):
        box.factor = 2.0 if k % 5 else 3.0
        assert bits(compiled(given(count))) == bits(scaled(given(count)))


def test_state_between_calls_of_several_shapes():
    state = {"factor": 2.0}

    def scaled(x: gn.Tensor) -> gn.Tensor:
        return x[x[:, 0] > 0] * state["factor"]

    compiled = gn.compile(scaled)
    calls = [(3, 24), (5, 24), (4, 17), (6, 17), (3, 17), (7, 24)]
    for factor in (2.0, 3.0, 2.0):
        state["factor"] = factor
        for rows in calls:
            assert bits(compiled(given(*rows))) == bits(scaled(given(*rows))), (factor, rows)


def test_errors_are_those_of_the_plain_function():
    def limited(x: gn.Tensor) -> gn.Tensor:
        kept = x[x[:, 0] > 0]
        if kept.shape[0] > 15:
            raise ValueError(f"too many: {kept.shape[0]}")
        return kept.view(-1, 2) + 1

    compiled = gn.compile(limited)
    for count in COUNTS:
        if count > 15:
            with pytest.raises(ValueError, match=f"too many: {count}"):
                compiled(given(count))
        else:
            assert bits(compiled(given(count))) == bits(limited(given(count)))


def test_what_a_refused_capture_leaves_has_its_values():
    kept: Any = SimpleQueue()

    @gn.compile
    def refused(x: gn.Tensor) -> gn.Tensor:
        kept.put(x[(x > 0).nonzero(as_tuple=True)[0]] + 1)
        x.requires_grad_()
        return x

    refusing = pytest.raises(gn.errors.TraceError, match="requires_grad")
    with refusing, pytest.warns(UserWarning, match="SimpleQueue"):
        refused(gn.tensor([1.0, -1.0, 3.0]))
    assert kept.get().tolist() == [2.0, 4.0]


def test_threads():
    compiled, function = gn.compile(SERVED["experts"][0]), SERVED["experts"][0]
    wrong: list[int] = []

    def run(first: int) -> None:
        for count in range(first, 24, 2):
            if bits(compiled(given(count))) != bits(function(given(count))):
                wrong.append(count)

    threads = [Thread(target=run, args=(k,)) for k in (0, 1)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


ASKED = {
    "stretch": lambda x: x[: (x[:, 0] > 0).sum().item()] * 2,
    "factor": lambda x: x * (x[:, 0] > 0).sum().item(),
    "parts": lambda x: gn.cat(x.split(gn.bincount((x[:, 0] > 0).long(), None, 2).tolist())[::-1]),
    "repeated": lambda x: x.repeat_interleave((x[:, 0] > 0).long() * 2, dim=0),
}


@pytest.mark.parametrize("name", ASKED)
def test_integers_are_sizes(name: str):
    compiled = beside(ASKED[name])
    before = compiled.captures
    assert before <= 8, compiled.why_recompiled()
    for count in (4, 6, 8, 11, 13, 21):
        assert bits(compiled(given(count))) == bits(ASKED[name](given(count)))
    assert compiled.captures == before


def test_integers_that_python_counts_by():
    def turned(x: gn.Tensor) -> gn.Tensor:
        for k in range((x[:, 0] > 0).sum().item() % 4):
            x = x + k
        return x

    beside(turned, COUNTS[:6])


@pytest.mark.parametrize("seed", [0, 14, 39, 280])
def test_random_programs(seed: int):
    assert not fuzz_data_sizes.differ(Random(seed))


def test_a_way_that_computes_nothing_stands_beside_others():
    def rows(x: gn.Tensor) -> Any:
        kept = x[x[:, 0] > 0]
        return 0.0 if kept.shape[0] == 0 else kept * 2

    assert beside(rows, COUNTS[::-1]).captures <= 5


def test_one_program_serves_experts_with_few_rows_and_many():
    @gn.compile
    def routed(x: gn.Tensor, chosen: gn.Tensor) -> gn.Tensor:
        out = gn.zeros_like(x)
        for k in range(3):
            at = (chosen == k).nonzero()[:, 0]
            out = out.index_add(0, at, x[at] @ W[k])
        return out

    x = given(20, 64)
    splits = (30, 20, 14), (5, 39, 20), (40, 10, 14), (12, 13, 39), (21, 22, 21), (2, 2, 60)
    with patch.object(sized, "on_symbols", wraps=sized.on_symbols) as made:
        for counts in splits:
            chosen = np.repeat([0, 1, 2], counts)
            wanted = gn.cat([x[np.flatnonzero(chosen == k)] @ W[k] for k in range(3)])
            assert bits(routed(x, gn.tensor(chosen))) == bits(wanted), counts
    assert (routed.captures, made.call_count) == (2, 1)


def test_numbers_that_vary_before_a_look():
    def signed(x: gn.Tensor) -> gn.Tensor:
        scaled = (x + 3) * (x[:, 0] > 0).sum().item()
        return scaled if scaled.sum() > 0 else -scaled

    compiled = beside(signed)
    before = compiled.captures
    for count in (4, 6, 8, 11, 13, 21):
        assert bits(compiled(given(count))) == bits(signed(given(count)))
    assert compiled.captures == before <= 6, compiled.why_recompiled()


def test_branches_on_a_size_with_a_look_behind_each():
    def halved(x: gn.Tensor) -> gn.Tensor:
        kept = x[x[:, 0] > 0]
        if kept.shape[0] > 10:
            return kept[kept[:, 1] > -9].exp()
        return kept[kept[:, 2] > -9] - 1

    compiled = beside(halved)
    before = compiled.captures
    assert before <= 8, compiled.why_recompiled()
    for count in (4, 16, 8, 11, 6, 21, 13, 4):
        assert bits(compiled(given(count))) == bits(halved(given(count)))
    assert compiled.captures == before
    assert compiled.explain().count("for many sizes") == 2
