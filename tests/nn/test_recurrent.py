"""Recurrent layers beside their formulas, and layers beside their cells."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError, ShapeError
from gnomon.nn.recurrent import STEPS


def sigmoid(x: np.ndarray) -> np.ndarray:
    """The logistic function."""
    return 1 / (1 + np.exp(-x))


def test_a_memory_cell_follows_its_formula():
    cell = nn.LSTMCell(3, 2, dtype=gn.float64)
    x, h, c = np.random.default_rng(0).standard_normal((3, 4, 3))
    h, c = h[:, :2], c[:, :2]

    made = cell(gn.tensor(x), (gn.tensor(h.copy()), gn.tensor(c.copy())))

    p = {name: value.detach().numpy() for name, value in cell.named_parameters()}
    gates = x @ p["weight_ih"].T + p["bias_ih"] + h @ p["weight_hh"].T + p["bias_hh"]
    enter, keep, new, show = np.split(gates, 4, axis=1)
    c = sigmoid(keep) * c + sigmoid(enter) * np.tanh(new)
    np.testing.assert_allclose(made[1].detach().numpy(), c, rtol=1e-12)
    np.testing.assert_allclose(made[0].detach().numpy(), sigmoid(show) * np.tanh(c), rtol=1e-12)


@pytest.mark.parametrize(("layer", "cell"), [("GRU", "GRUCell"), ("RNN", "RNNCell")])
def test_a_layer_is_its_cell_step_by_step(layer: str, cell: str):
    whole, one = getattr(nn, layer)(3, 2), getattr(nn, cell)(3, 2)
    whole.load_state_dict({f"{name}_l0": value for name, value in one.state_dict().items()})
    x, h = gn.rand(4, 5, 3), None

    shown, last = whole(x)
    for t in range(4):
        h = one(x[t], h)

    assert shown.shape == (4, 5, 2)
    np.testing.assert_allclose(last[0].detach().numpy(), h.detach().numpy(), atol=1e-6)
    np.testing.assert_allclose(shown[-1].detach().numpy(), h.detach().numpy(), atol=1e-6)


def test_both_ways_and_several_layers_have_pytorchs_names_and_shapes():
    layer = nn.LSTM(3, 2, num_layers=2, bidirectional=True, batch_first=True, dropout=0.5).eval()

    shown, (h, c) = layer(gn.rand(5, 4, 3))
    alone, _ = layer(gn.rand(4, 3))

    assert list(layer.state_dict())[:4] == [
        f"{n}_l0" for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    ]
    assert list(layer.state_dict())[-1] == "bias_hh_l1_reverse"
    assert layer.weight_ih_l1.shape == (8, 4)
    assert (tuple(shown.shape), tuple(h.shape), tuple(c.shape)) == ((5, 4, 4), (4, 5, 2), (4, 5, 2))
    assert alone.shape == (4, 4)


def test_a_given_state_goes_on_where_it_was():
    layer, x = nn.GRU(3, 2), gn.rand(6, 1, 3)

    whole, _ = layer(x)
    _, state = layer(x[:4])
    rest, _ = layer(x[4:], state)

    np.testing.assert_allclose(rest.detach().numpy(), whole[4:].detach().numpy(), atol=1e-6)


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_a_layer_has_the_bits_of_its_steps_one_after_another(kind: str, back: bool):
    layer = getattr(nn, kind)(3, 4)
    step, _, count = STEPS[layer.kind]
    x, state = gn.randn(6, 2, 3), tuple(gn.randn(2, 4) for _ in range(count))
    weight_in, weight, bias_in, bias = layer._made("_l0")

    shown, last = layer._along(x, state, "_l0", back)
    gates, rows = nn.functional.linear(x, weight_in, bias_in), []
    for t in range(6)[:: -1 if back else 1]:
        state = step(gates[t], state, weight, bias)
        rows.append(state[0])

    assert shown.tolist() == gn.stack(rows[:: -1 if back else 1]).tolist()
    assert [t.tolist() for t in last] == [t.tolist() for t in state]


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_layers_run_under_autocast(kind: str):
    layer, x = getattr(nn, kind)(3, 4), gn.randn(5, 2, 3)

    with gn.autocast("cpu", dtype=gn.bfloat16):
        shown, _ = layer(x)

    np.testing.assert_allclose(
        shown.float().detach().numpy(), layer(x)[0].detach().numpy(), atol=0.05
    )


def test_code_does_not_grow_with_the_length_of_a_sequence():
    counts = []
    for length in (4, 512):
        layer = nn.LSTM(3, 4)

        def step(x, layer=layer):
            loss = layer(x)[0].sum()
            loss.backward()
            return loss

        compiled = gn.compile(step)
        compiled(gn.ones(length, 2, 3))
        counts.append(len(compiled.kernels()))

    assert counts[0] == counts[1]


def test_other_nonlinearities_are_refused():
    with pytest.raises(ArgumentError, match="Unknown nonlinearity 'sine'"):
        nn.RNN(3, 2, nonlinearity="sine")


def test_weights_come_by_layer_and_direction():
    layer = nn.LSTM(2, 3, num_layers=2, bidirectional=True)
    bare = nn.GRU(2, 3, bias=False)

    layer.flatten_parameters()

    assert len(layer.all_weights) == 4
    assert layer.all_weights[1][0] is layer.weight_ih_l0_reverse
    assert layer.all_weights[2][3] is layer.bias_hh_l1
    assert [len(row) for row in bare.all_weights] == [2]


def test_an_lstm_shows_a_projection_of_what_it_keeps():
    layer = gn.nn.LSTM(3, 6, 2, proj_size=2)
    y, (h, c) = layer(gn.ones(5, 4, 3))

    assert (y.shape, h.shape, c.shape) == ((5, 4, 2), (2, 4, 2), (2, 4, 6))
    assert layer.weight_hr_l0.shape == (2, 6)
    assert layer.weight_ih_l1.shape == (24, 2)
    assert y[-1].equal(h[-1])


@pytest.mark.parametrize("kind", [nn.RNNCell, nn.GRUCell, nn.LSTMCell])
@pytest.mark.parametrize("shape", [(1, 6), (3, 1), (2, 6), (6,)])
def test_a_cells_state_has_the_rows_of_its_input(kind, shape):
    cell, x, state = kind(5, 6), gn.ones(3, 5), gn.ones(*shape)
    pairs = [(state, gn.ones(3, 6)), (gn.ones(3, 6), state)] if kind is nn.LSTMCell else [state]

    for each in pairs:
        with pytest.raises(ShapeError, match="the state must be"):
            cell(x, each)


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_states_of_sequences_are_of_each_layer_and_row(kind):
    layers, x, good = kind(3, 5, 2), gn.ones(6, 4, 3), gn.ones(2, 4, 5)

    for shape in ((7, 4, 5), (1, 4, 5), (2, 1, 5), (2, 4, 1), (2, 4)):
        bad = gn.ones(*shape)
        for state in [(bad, good), (good, bad)] if kind is nn.LSTM else [bad]:
            with pytest.raises(ShapeError, match="the state must be"):
                layers(x, state)
    with pytest.raises(ShapeError, match="the state must be"):
        layers(x, (good, good, good))
