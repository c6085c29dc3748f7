"""LSTMs that project what they show: outputs, states and gradients are PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = pytest.mark.parity


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("given", [False, True])
def test_projections(rng, bidirectional: bool, batch_first: bool, given: bool):
    options = {"num_layers": 2, "proj_size": 2, "dtype": None}
    options |= {"batch_first": batch_first, "bidirectional": bidirectional}
    x = rng.standard_normal((3, 5, 4))
    rows, count = x.shape[not batch_first], 2 * (1 + bidirectional)
    states = [rng.standard_normal((count, rows, size)) for size in (2, 6)]
    theirs = torch.nn.LSTM(4, 6, **{**options, "dtype": torch.float64})
    mine = gn.nn.LSTM(4, 6, **{**options, "dtype": gn.float64})
    weights = {k: v.detach().numpy() for k, v in theirs.state_dict().items()}
    assert [*mine.state_dict()] == [*weights]
    mine.load_state_dict({k: gn.tensor(v) for k, v in weights.items()})

    found = []
    for library, layer in ((gn, mine), (torch, theirs)):
        inputs = library.tensor(x, requires_grad=True)
        hx = tuple(library.tensor(s, requires_grad=True) for s in states) if given else None
        y, (h, c) = layer(inputs, hx)
        (y * y).sum().backward()
        grads = [p.grad for p in (inputs, *(hx or ()), *layer.parameters())]
        found.append([t.detach().numpy() for t in (y, h, c, *grads)])
        assert [len(row) for row in layer.all_weights] == [5] * count

    for ours, its in zip(*found, strict=True):
        np.testing.assert_allclose(ours, its, rtol=1e-9, atol=1e-12)


def test_packed_sequences_are_projected_too(rng):
    theirs = torch.nn.LSTM(3, 5, proj_size=2, dtype=torch.float64)
    mine = gn.nn.LSTM(3, 5, proj_size=2, dtype=gn.float64)
    weights = {k: v.detach().numpy() for k, v in theirs.state_dict().items()}
    mine.load_state_dict({k: gn.tensor(v) for k, v in weights.items()})
    x, found = rng.standard_normal((4, 3, 3)), []
    for library, layer in ((gn, mine), (torch, theirs)):
        pack = library.nn.utils.rnn.pack_padded_sequence
        y, (h, c) = layer(pack(library.tensor(x), [4, 2, 1]))
        found.append([t.detach().numpy() for t in (y.data, h, c)])

    for ours, its in zip(*found, strict=True):
        np.testing.assert_allclose(ours, its, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda nn: nn.LSTM(3, 4, proj_size=4),
        lambda nn: nn.LSTM(3, 4, proj_size=-1),
        lambda nn: nn.GRU(3, 4, proj_size=2),
    ],
)
def test_projections_that_are_none_are_refused_alike(call):
    words = []
    for library in (gn, torch):
        with pytest.raises(ValueError) as refused:
            call(library.nn)
        words.append(str(refused.value))

    assert words[0] == words[1]
