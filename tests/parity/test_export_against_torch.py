"""torch.export beside torch's: signatures, results and written buffers of a dozen modules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gnomon as gn

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


def modules(lib: Any) -> dict[str, type]:
    """Modules of one library."""
    nn, functional = lib.nn, lib.nn.functional

    class Buffers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.norm = nn.Linear(3, 4), nn.BatchNorm1d(4)
            self.register_buffer("n", lib.zeros(4))
            self.register_buffer("t", lib.ones(4), persistent=False)

        def forward(self, x: Any, *, d: Any) -> Any:
            self.n.add_(1)
            y = self.norm(self.layer(x)) + self.n * self.t
            return {"a": y, "b": (d["k"][0] * 2,)}

    class Convolutions(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
            self.last = nn.Linear(4 * 16, 5)

        def forward(self, x: Any) -> Any:
            x = functional.max_pool2d(functional.relu(self.norm(self.conv(x))), 2)
            return self.last(x.flatten(1)).log_softmax(-1)

    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cells, self.last = nn.LSTM(3, 4, 2, batch_first=True), nn.Linear(4, 2)

        def forward(self, x: Any) -> Any:
            y, (h, _) = self.cells(x)
            return self.last(y[:, -1]), h

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.all = nn.Linear(8, 24)

        def forward(self, x: Any, mask: Any = None) -> Any:
            b, t, c = x.size()
            parts = self.all(x).split(8, dim=2)
            q, k, v = (y.view(b, t, 2, 4).transpose(1, 2) for y in parts)
            scores = (q @ k.transpose(-2, -1)) * 0.5
            if mask is not None:
                scores = scores.masked_fill(mask == 0, -1e9)
            return (scores.softmax(-1) @ v).transpose(1, 2).contiguous().view(b, t, c)

    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
            self.b.weight = self.a.weight

        def forward(self, x: Any, y: Any) -> Any:
            return self.a(x) - self.b(y)

    class Nested(nn.Module):
        def forward(self, xs: Any, o: Any) -> Any:
            a, b = xs
            return [a + b.max(1)[0], o["q"].chunk(2), a.sort()[1]]

    class Written(nn.Module):
        def forward(self, x: Any, scale: float = 2.0) -> Any:
            out = lib.zeros(3)
            out[0] = x.sum()
            out.add_(1)
            return out * scale, x.shape[0], None, x

    return {x.__name__: x for x in (Buffers, Convolutions, Recurrent, Attention)} | {
        x.__name__: x for x in (Tied, Nested, Written)
    }


def cases(lib: Any) -> dict[str, tuple]:
    """Modules with their arguments and sizes that may differ."""
    nn, known, batch = lib.nn, modules(lib), lib.export.Dim("b", max=64)

    def numbers(*shape: int) -> Any:
        return (lib.arange(float(np.prod(shape))).reshape(*shape) * 0.37).sin()

    free, layer = ({0: batch},), nn.TransformerEncoderLayer
    mlp = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.0), nn.Linear(4, 2))
    up = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.GroupNorm(2, 4), nn.SiLU())
    encoder = nn.TransformerEncoder(layer(8, 2, 16, 0.0, batch_first=True), 2)
    given = {"x": {0: batch}, "d": {"k": [None]}}
    return {
        "mlp": (mlp, (numbers(5, 3),), {}, free),
        "buffers": (known["Buffers"](), (numbers(5, 3),), {"d": {"k": [numbers(2)]}}, given),
        "conv": (known["Convolutions"](), (numbers(2, 3, 8, 8),), {}, free),
        "conv_eval": (known["Convolutions"]().eval(), (numbers(2, 3, 8, 8),), {}, free),
        "lstm": (known["Recurrent"](), (numbers(2, 5, 3),), {}, free),
        "heads": (
            *(known["Attention"](), (numbers(2, 5, 8),), {}),
            ({0: batch, 1: lib.export.Dim("t")},),
        ),
        "mask": (known["Attention"](), (numbers(2, 5, 8), lib.ones(5, 5).tril()), {}, None),
        "tied": (known["Tied"](), (numbers(2, 4), numbers(2, 4) * 2), {}, None),
        "nested": (
            known["Nested"](),
            ([numbers(2), numbers(2, 5)],),
            {"o": {"q": numbers(6)}},
            None,
        ),
        "written": (known["Written"](), (numbers(4),), {}, None),
        "encoder": (encoder, (numbers(2, 5, 8),), {}, free),
        "up": (nn.Sequential(up, nn.Upsample(scale_factor=2)), (numbers(1, 3, 8, 8),), {}, None),
    }


NAMES = tuple(cases(gn))
SIGNED = (
    *("parameters", "buffers", "user_inputs", "inputs_to_parameters", "inputs_to_buffers"),
    "non_persistent_buffers",
)


def leaves(value: Any) -> Iterator[Any]:
    """The leaves of a nested value."""
    parts = value.values() if isinstance(value, dict) else value
    if isinstance(value, (dict, list, tuple)):
        for part in parts:
            yield from leaves(part)
    else:
        yield value


def check(ours: Any, theirs: Any) -> None:
    """Compare nested results."""
    for x, y in zip(leaves(ours), leaves(theirs), strict=True):
        if isinstance(y, torch.Tensor):
            found = x.numpy(force=True)
            np.testing.assert_allclose(found, y.detach().numpy(), rtol=2e-4, atol=2e-5)
        else:
            assert x == y


@pytest.mark.parametrize("name", NAMES)
def test_programs_are_torchs(name: str):
    ours, args, named, shapes = cases(gn)[name]
    theirs, their_args, their_named, their_shapes = cases(torch)[name]
    state = {k: torch.from_numpy(x.numpy(force=True).copy()) for k, x in ours.state_dict().items()}
    theirs.load_state_dict(state)
    mine = gn.export.export(ours, args, named, dynamic_shapes=shapes)
    other = torch.export.export(theirs, their_args, their_named, dynamic_shapes=their_shapes)

    for each in SIGNED:
        expected = getattr(other.graph_signature, each)
        assert getattr(mine.graph_signature, each) == type(expected)(expected), each
    names = [[x.arg.name for x in p.graph_signature.input_specs] for p in (mine, other)]
    assert names[0] == names[1]
    check(mine.module()(*args, **named), other.module()(*their_args, **their_named))
    assert sorted(mine.state_dict) == sorted(other.state_dict)
    check(
        [mine.state_dict[k] for k in sorted(mine.state_dict)],
        [other.state_dict[k] for k in sorted(other.state_dict)],
    )


@pytest.mark.parametrize("name", ["mlp", "buffers", "conv", "lstm", "heads", "encoder"])
def test_other_sizes_are_torchs(name: str):
    ours, args, named, shapes = cases(gn)[name]
    theirs = cases(torch)[name][0]
    state = {k: torch.from_numpy(x.numpy(force=True).copy()) for k, x in ours.state_dict().items()}
    theirs.load_state_dict(state)
    made = gn.export.export(ours, args, named, dynamic_shapes=shapes).module()
    shape = (7, *args[0].shape[1:])
    numbers = np.cos(np.arange(np.prod(shape), dtype=np.float32)).reshape(shape)
    given = {"d": {"k": [torch.from_numpy(named["d"]["k"][0].numpy())]}} if named else {}

    check(made(gn.from_numpy(numbers), **named), theirs(torch.from_numpy(numbers.copy()), **given))
