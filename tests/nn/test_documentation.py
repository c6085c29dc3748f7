"""What nn.functional and nn write themselves shows an example, and its `Shapes:` line holds.

Rows of a table (gnomon/nn/tables.py) have the line of their function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.nn import functional as F
from gnomon.nn.tables import SettingsModule
from tests.ops.shape_lines import forms_in, holds, said_in

INNER = {"follow", "implicit_axis", "with_indices", "writer", "alpha_dropped"}
"""Functions that functional.py keeps for itself."""
ELSEWHERE = {
    *("embedding", "embedding_bag"),
    *("ctc_loss", "scaled_dot_product_attention", "multi_head_attention_forward"),
    *("conv_tbc", "upsample_nearest", "upsample_bilinear", "triplet_margin_with_distance_loss"),
    *("rrelu", "max_unpool1d", "max_unpool2d", "max_unpool3d"),
    *("fractional_max_pool2d", "fractional_max_pool3d"),
}
"""Functions of nn.functional that files of their own define, or that write if asked to."""
BARE = {"Module", "SettingsModule", "Weighted", "Dropped", "ReducedLoss", "WeightedLoss"}
BARE |= {"_Loss", "_WeightedLoss", "_ConvNd", "_ConvTransposeNd", "_BatchNorm", "_InstanceNorm"}
BARE |= {"_NormBase", "RNNBase", "RNNCellBase"}
"""Classes that others are made of."""
DATA = {"LinearCrossEntropyOptions", "TableSpec"}
"""Settings of others."""
KEPT = {
    *("ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Parameter", "Buffer"),
    *("UninitializedParameter", "UninitializedBuffer"),
    *("RowOptimizer", "TableBatchedEmbeddingBags"),
}
"""Classes that call nothing, or say in words what they are called with."""


def floats(*shape: int) -> np.ndarray:
    """A value of a shape."""
    return np.linspace(0.1, 0.9, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def places(*shape: int) -> np.ndarray:
    """Positions, none above 1."""
    return np.arange(int(np.prod(shape))).reshape(shape) % 2


def channels(count: int) -> np.ndarray:
    """Samples of four channels over some axes."""
    return floats(2, 4, *(5, 6, 7)[:count])


def sequence() -> np.ndarray:
    """Three rows of two samples, four wide."""
    return floats(3, 2, 4)


RUNNING = {"running_mean": floats(4), "running_var": floats(4)}
CALLS: dict[str, list[dict[str, Any]]] = {
    **{name: [{"input": floats(2, 3), "dim": 1}] for name in ("softmax", "log_softmax", "softmin")},
    **{name: [{"input": floats(2, 3)}] for name in ("dropout", "alpha_dropout", "rrelu")},
    "feature_alpha_dropout": [{"input": channels(1)}],
    **{
        name: [{"input": channels(2), "scale_factor": 2}]
        for name in ("upsample_nearest", "upsample_bilinear")
    },
    "conv_tbc": [
        {"input": floats(5, 2, 3), "weight": floats(3, 3, 4), "bias": floats(4), "pad": 1}
    ],
    "triplet_margin_with_distance_loss": [
        {"anchor": floats(2, 3), "positive": floats(2, 3), "negative": -floats(2, 3)}
        | {"reduction": x}
        for x in ("mean", "none")
    ],
    "multi_head_attention_forward": [
        {"query": sequence(), "key": sequence(), "value": sequence()}
        | {"embed_dim_to_check": 4, "num_heads": 2, "in_proj_weight": floats(12, 4)}
        | dict.fromkeys(("in_proj_bias", "bias_k", "bias_v", "out_proj_bias"))
        | {"add_zero_attn": False, "dropout_p": 0.0, "out_proj_weight": floats(4, 4)}
    ],
    **{
        f"max_unpool{n}d": [{"input": channels(n), "indices": places(*x.shape), "kernel_size": 2}]
        for n in (1, 2, 3)
        for x in [channels(n)]
    },
    **{
        f"fractional_max_pool{n}d": [
            {"input": channels(n), "kernel_size": 2, "output_size": (3, 4, 5)[:n]}
        ]
        for n in (2, 3)
    },
    "embedding": [{"input": places(2, 3), "weight": floats(5, 4)}],
    "embedding_bag": [{"input": places(2, 3), "weight": floats(5, 4)}],
    "one_hot": [
        {"input": places(2, 3), "num_classes": 4},
        {"input": places(2, 3), "num_classes": -1},
    ],
    "linear_cross_entropy": [
        {"input": floats(2, 3), "linear_weight": floats(5, 3), "target": places(2), "reduction": x}
        for x in ("mean", "none")
    ],
    "feature_dropout": [{"input": channels(1)}],
    "gumbel_softmax": [{"logits": floats(2, 3)}],
    "batch_norm": [{"input": channels(2), **RUNNING}],
    "instance_norm": [{"input": channels(2)}],
    "ctc_loss": [
        {"log_probs": -floats(4, 2, 3), "targets": 1 + places(2, 2)}
        | {"input_lengths": [4, 4], "target_lengths": [2, 2], "reduction": x}
        for x in ("mean", "none")
    ],
    "scaled_dot_product_attention": [
        {"query": floats(2, 4, 3, 5), "key": floats(2, 2, 6, 5), "value": floats(2, 2, 6, 7)}
        | {"enable_gqa": True}
    ],
}
"""Function -> the arguments of calls."""

Made = tuple[Callable[[], nn.Module], dict[str, np.ndarray]]
ROW, ROWS = {"input": floats(2, 3)}, {"input": floats(5, 2, 3)}
PAIR = {"tgt": sequence(), "memory": floats(5, 2, 4)}
MODULES: dict[str, Made] = {
    "Identity": (nn.Identity, ROW),
    "Linear": (lambda: nn.Linear(3, 5), ROW),
    "Unflatten": (lambda: nn.Unflatten(1, (3, 2)), {"input": floats(4, 6)}),
    "Bilinear": (lambda: nn.Bilinear(3, 2, 5), {"input1": floats(4, 3), "input2": floats(4, 2)}),
    "LayerNorm": (lambda: nn.LayerNorm((2, 3)), {"input": floats(4, 2, 3)}),
    "RMSNorm": (lambda: nn.RMSNorm(3), ROW),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), {"input": channels(2)}),
    "CrossMapLRN2d": (lambda: nn.CrossMapLRN2d(2), {"input": channels(2)}),
    "LocalResponseNorm": (lambda: nn.LocalResponseNorm(2), {"input": channels(2)}),
    "DataParallel": (lambda: nn.DataParallel(nn.ReLU()), ROW),
    "SyncBatchNorm": (lambda: nn.SyncBatchNorm(4), {"input": channels(2)}),
    "LazyLinear": (lambda: nn.LazyLinear(5), ROW),
    **{
        f"Lazy{kind}Norm{n}d": (lambda kind=kind, n=n: getattr(nn, f"Lazy{kind}Norm{n}d")(), given)
        for kind in ("Batch", "Instance")
        for n in (1, 2, 3)
        for given in [{"input": channels(n)}]
    },
    **{
        f"Lazy{kind}{n}d": (
            lambda kind=kind, n=n: getattr(nn, f"Lazy{kind}{n}d")(6, 3, stride=2, padding=1),
            {"input": channels(n)},
        )
        for kind in ("Conv", "ConvTranspose")
        for n in (1, 2, 3)
    },
    "Embedding": (lambda: nn.Embedding(5, 4), {"input": places(2, 3)}),
    "EmbeddingBag": (lambda: nn.EmbeddingBag(5, 4), {"input": places(2, 3)}),
    "PReLU": (nn.PReLU, ROW),
    "RReLU": (nn.RReLU, ROW),
    "FeatureAlphaDropout": (nn.FeatureAlphaDropout, {"input": channels(1)}),
    "AdaptiveLogSoftmaxWithLoss": (
        lambda: nn.AdaptiveLogSoftmaxWithLoss(3, 9, [2, 5]),
        {**ROW, "target": places(2)},
    ),
    "Dropout": (nn.Dropout, ROW),
    "AlphaDropout": (nn.AlphaDropout, ROW),
    "Sequential": (lambda: nn.Sequential(nn.ReLU()), ROW),
    "LinearCrossEntropyLoss": (
        lambda: nn.LinearCrossEntropyLoss(3, 5),
        {**ROW, "target": places(2)},
    ),
    **{f"Dropout{n}d": (getattr(nn, f"Dropout{n}d"), {"input": channels(n)}) for n in (1, 2, 3)},
    **{
        f"{kind}Norm{n}d": (lambda kind=kind, n=n: getattr(nn, f"{kind}Norm{n}d")(4), {"input": x})
        for kind in ("Batch", "Instance")
        for n in (1, 2, 3)
        for x in [channels(n)]
    },
    **{
        f"{kind}{n}d": (
            lambda kind=kind, n=n: getattr(nn, f"{kind}{n}d")(4, 6, 3, stride=2, padding=1),
            {"input": channels(n)},
        )
        for kind in ("Conv", "ConvTranspose")
        for n in (1, 2, 3)
    },
    **{
        f"{kind}Cell": (lambda kind=kind: getattr(nn, f"{kind}Cell")(3, 4), ROW)
        for kind in ("RNN", "GRU", "LSTM")
    },
    **{kind: (lambda kind=kind: getattr(nn, kind)(3, 4), ROWS) for kind in ("RNN", "GRU", "LSTM")},
    "MultiheadAttention": (
        lambda: nn.MultiheadAttention(4, 2, kdim=3, vdim=6),
        {"query": sequence(), "key": floats(5, 2, 3), "value": floats(5, 2, 6)},
    ),
    "TransformerEncoderLayer": (
        lambda: nn.TransformerEncoderLayer(4, 2, 8),
        {"src": sequence()},
    ),
    "TransformerDecoderLayer": (lambda: nn.TransformerDecoderLayer(4, 2, 8), PAIR),
    "TransformerEncoder": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 1),
        {"src": sequence()},
    ),
    "TransformerDecoder": (
        lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 1),
        PAIR,
    ),
    "Transformer": (
        lambda: nn.Transformer(4, 2, 1, 1, 8),
        {"src": floats(5, 2, 4), "tgt": sequence()},
    ),
}
"""Class -> a module, and the arguments of a call."""


def functions() -> set[str]:
    """The functions that nn.functional does not have from the registry."""
    found = {
        value.__name__
        for value in vars(F).values()
        if inspect.isfunction(value) and value.__module__ == F.__name__
    }
    written = {x for x in found if not said_in(getattr(F, x).__doc__).startswith(("x ", "x,"))}
    written -= {x for x in found if x.endswith("_with_indices")}  # those without have the line
    return written - INNER - {x for x in found if getattr(F, f"{x}_", None)}


def classes() -> set[str]:
    """The classes of nn that are not rows of a table."""
    found = {x for x in dir(nn) if inspect.isclass(getattr(nn, x))}
    mine = {x for x in found if getattr(nn, x).__module__.startswith("gnomon.nn.")}
    return mine - BARE - DATA


def shapes(made: Any) -> list[tuple[int, ...]]:
    """The shapes of the results of a call, of a state its tensors'."""
    return [tuple(x.shape) for x in (made if isinstance(made, tuple) else (made,))]


def tensors(given: dict[str, Any]) -> dict[str, Any]:
    """Arguments with tensors for arrays."""
    return {k: gn.from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in given.items()}


def test_every_function_and_class_is_called_here():
    assert functions() | ELSEWHERE == CALLS.keys()
    assert classes() - KEPT == MODULES.keys()


@pytest.mark.parametrize("name", [*CALLS, *MODULES, *sorted(KEPT)])
def test_an_example_is_shown(name):
    made = getattr(F, name) if name in CALLS else getattr(nn, name)

    assert ">>> " in made.__doc__


@pytest.mark.parametrize("name", CALLS)
def test_the_line_of_a_function_holds_and_every_form_is_met(name):
    told, met = forms_in(said_in(getattr(F, name).__doc__)), set()
    for given in CALLS[name]:
        results = shapes(getattr(F, name)(**tensors(given)))
        found = [k for k, form in enumerate(told) if holds(form, given, results)]

        assert found, f"{said_in(getattr(F, name).__doc__)}: {results}"
        met |= set(found)

    assert met == set(range(len(told)))


@pytest.mark.parametrize("name", sorted(MODULES.keys() - {"Sequential"}))
def test_the_line_of_a_class_holds(name):
    make, given = MODULES[name]
    module = make()
    settings = {k: v for k, v in vars(module).items() if not k.startswith("_")}
    told = forms_in(said_in(getattr(nn, name).__doc__))

    made = module(*tensors(given).values())

    made = made[0] if name in ("RNN", "GRU", "LSTM") else made
    assert told
    assert any(holds(form, {**settings, **given}, shapes(made)) for form in told)


def test_rows_of_a_table_have_the_line_of_their_function():
    rows = [x for x in vars(nn).values() if inspect.isclass(x) and issubclass(x, SettingsModule)]
    told = [x for x in rows if "FUNCTION" in vars(x) and said_in(x.FUNCTION.__doc__)]

    assert len(told) > 50
    assert all(said_in(x.__doc__) == said_in(x.FUNCTION.__doc__) for x in told)
