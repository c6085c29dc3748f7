"""Table batched embedding bags: passes that step rows, refusals, state."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, IndexOutOfBounds, ShapeError, TraceError
from gnomon.nn import RowOptimizer, TableBatchedEmbeddingBags, TableSpec

SPECS = [TableSpec(7, 4), TableSpec(5, 6)]


def filled(**named) -> TableBatchedEmbeddingBags:
    """Two tables of random numbers."""
    module = TableBatchedEmbeddingBags(SPECS, **named)
    for k, spec in enumerate(SPECS):
        numbers = np.random.default_rng(k).standard_normal((spec.rows, spec.width))
        module.set_weight(k, numbers.astype(np.float32))
    return module


INDEX = np.array([[[0, 6, -1], [6, 6, 2]], [[4, 0, 0], [-1, -1, -1]]])


def test_tables_lie_side_by_side():
    module = filled()

    made = module(gn.tensor(INDEX)).detach().numpy()

    first, second = (module.weight(k).numpy() for k in (0, 1))
    np.testing.assert_allclose(made[0, :4], first[0] + first[6], rtol=1e-6)
    np.testing.assert_allclose(made[0, 4:], second[4] + 2 * second[0], rtol=1e-6)
    assert not made[1, 4:].any()


@pytest.mark.parametrize("pooling", ["sum", "mean"])
def test_a_backward_pass_is_a_step(pooling):
    module = filled(pooling=pooling, optimizer=RowOptimizer("sgd", lr=0.5, weight_decay=0.1))
    before = module.weight(0).numpy()

    module(gn.tensor(INDEX)).sum().backward()

    counts = np.array([1, 0, 1, 0, 0, 0, 3], np.float32)
    if pooling == "mean":
        counts = np.array([1 / 2, 0, 1 / 3, 0, 0, 0, 1 / 2 + 2 / 3], np.float32)
    met = (counts > 0)[:, None]
    wanted = before - 0.5 * np.where(met, counts[:, None] + 0.1 * before, 0)
    np.testing.assert_allclose(module.weight(0).numpy(), wanted, rtol=1e-6)


def test_a_bag_of_many_rows_errs_as_little_as_one_of_few():
    module = TableBatchedEmbeddingBags([TableSpec(1, 20)], optimizer=RowOptimizer("sgd", lr=1.0))
    module.set_weight(0, np.full((1, 20), 0.1, np.float32))

    made = module(gn.zeros(1, 2, 100_001, dtype=gn.int64))
    made.backward(gn.full(made.shape, 0.1))

    exactly = 100_001 * np.float64(np.float32(0.1))
    np.testing.assert_allclose(made.detach().numpy(), exactly, rtol=2e-6)
    np.testing.assert_allclose(module.weight(0).numpy(), 0.1 - 2 * exactly, rtol=2e-6)


def test_bags_of_many_sizes_are_bags_of_one_filled_up():
    module = filled()
    weights = gn.rand(9)
    flat, offsets = gn.tensor([0, 6, 6, 6, 2, 4, 0, 0, 1]), gn.tensor([0, 2, 5, 5, 9])
    padded = gn.tensor([[[0, 6, -1, -1], [6, 6, 2, -1]], [[-1] * 4, [4, 0, 0, 1]]])
    shares = gn.zeros(2, 2, 4)
    shares[0, 0, :2], shares[0, 1, :3], shares[1, 1] = weights[:2], weights[2:5], weights[5:]

    made = module(flat, offsets, per_sample_weights=weights)

    wanted = module(padded, per_sample_weights=shares)
    np.testing.assert_array_equal(made.detach().numpy(), wanted.detach().numpy())
    with pytest.raises(ShapeError, match="that rise from 0 to 9"):
        module(flat, offsets[:-1])


def test_what_was_read_before_a_step_stays():
    module = filled(optimizer=RowOptimizer("adagrad"))
    kept = module.weight(0)
    result = module(gn.tensor(INDEX))
    doubled = result.detach() * 2

    result.sum().backward()

    assert (kept.numpy() != module.weight(0).numpy()).any()
    np.testing.assert_array_equal(doubled.numpy(), 2 * result.detach().numpy())


def test_a_state_comes_back():
    one, two = filled(), TableBatchedEmbeddingBags(SPECS)
    one(gn.tensor(INDEX)).sum().backward()

    two.load_state_dict(one.state_dict())
    two(gn.tensor(INDEX)).sum().backward()

    assert list(one.state_dict()) == ["weight0", "state0", "weight1", "state1"]
    assert (two.optimizer_state(0).numpy() > one.optimizer_state(0).numpy()).any()
    one(gn.tensor(INDEX)).sum().backward()
    for name, values in one.state_dict().items():
        np.testing.assert_array_equal(values.numpy(), two.state_dict()[name].numpy())


def test_a_copy_has_tables_of_its_own():
    one = filled()
    two = copy.deepcopy(one)

    two(gn.tensor(INDEX)).sum().backward()

    np.testing.assert_array_equal(one.weight(0).numpy(), filled().weight(0).numpy())
    assert (two.weight(0).numpy() != one.weight(0).numpy()).any()


def test_rows_begin_where_lines_of_the_caches_do():
    # rows of 64 bytes that begin elsewhere lie in two lines each, of which one is asked for late
    module = TableBatchedEmbeddingBags([TableSpec(3, 16), TableSpec(5, 32)])

    places = [state.numpy().ctypes.data % 64 for state in module.state_dict().values()]

    assert places == [0] * 4


def test_a_table_that_is_read_lazily_is_read_before_its_step():
    module = filled()
    before = module.weight(0).numpy()
    doubled = module.state_dict()["weight0"] * 2

    module(gn.tensor(INDEX)).sum().backward()

    np.testing.assert_array_equal(doubled.numpy(), 2 * before)


def test_without_gradients_nothing_waits():
    with gn.no_grad():
        assert not filled()(gn.tensor(INDEX)).requires_grad


def test_positions_outside_are_refused():
    with pytest.raises(IndexOutOfBounds):
        filled()(gn.tensor(np.where(INDEX == 6, 7, INDEX)))


def test_what_does_not_fit_is_refused():
    with pytest.raises(ShapeError, match="indices must be"):
        filled()(gn.tensor(INDEX[:1]))
    with pytest.raises(ShapeError, match="per_sample_weights"):
        filled()(gn.tensor(INDEX), per_sample_weights=gn.ones(2, 2))
    with pytest.raises(ArgumentError, match="rule"):
        RowOptimizer("adam")


def test_a_capture_is_refused():
    module = filled()

    with pytest.raises(TraceError, match="runs at once"):
        gn.compile(lambda index: module(index) * 2)(gn.tensor(INDEX))
