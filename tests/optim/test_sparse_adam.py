"""SparseAdam changes rows that have a gradient, and leaves the others and their means alone."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import optim
from gnomon.testing import assert_close


@pytest.mark.parametrize("is_compiled", [False, True])
def test_steps_are_adams_of_the_rows_alone(is_compiled):
    """Each row is a parameter of its own, which sits out steps; all share the count of steps."""
    random = np.random.default_rng(0)
    table = gn.nn.Embedding(6, 2, sparse=True)
    rows, means = table.weight.detach().numpy().copy(), np.zeros((2, 6, 2), np.float32)
    optimizer = optim.SparseAdam(table.parameters(), lr=0.1, betas=(0.8, 0.9))

    def step(batch):
        optimizer.zero_grad()
        (table(batch) ** 2).sum().backward()
        optimizer.step()

    call = gn.compile(step) if is_compiled else step
    for count in range(1, 7):
        batch = random.integers(0, 6, 3)
        gradient = np.zeros_like(rows)
        np.add.at(gradient, batch, 2 * rows[batch])
        for k in set(batch.tolist()):
            g = gradient[k]
            means[0, k] = 0.8 * means[0, k] + 0.2 * g
            means[1, k] = 0.9 * means[1, k] + 0.1 * g * g
            size = 0.1 * np.sqrt(1 - 0.9**count) / (1 - 0.8**count)
            rows[k] -= size * means[0, k] / (np.sqrt(means[1, k]) + 1e-8)
        call(gn.tensor(batch))
        assert_close(table.weight.detach(), gn.tensor(rows), rtol=1e-4, atol=1e-5)


def test_elements_of_a_vector_are_rows():
    p = gn.ones(3, requires_grad=True)
    optimizer = optim.SparseAdam([p], lr=0.5, maximize=True)
    optimizer.step()
    p[1:].sum().backward()
    optimizer.step()
    assert p.tolist() == pytest.approx([1.0, 1.5, 1.5], abs=1e-6)
    assert optimizer.state_dict()["state"][0]["exp_avg"].tolist() == pytest.approx([0, -0.1, -0.1])
