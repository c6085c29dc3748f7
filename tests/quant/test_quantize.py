"""`quantize_`: weights become blocks where they are asked for, and layers compute with them."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
import gnomon.nn.functional as F
from gnomon import nn
from gnomon.errors import ArgumentError, DtypeError
from gnomon.quant import (
    Float8WeightOnlyConfig,
    FqnToConfig,
    Int4WeightOnlyConfig,
    Int8DynamicActivationInt8WeightConfig,
    Int8WeightOnlyConfig,
    quantize_,
    sqnr,
)
from gnomon.settings import override
from gnomon.tensor.views import is_encoded
from tests.models.writers import prompt, small
from tests.quantized import same

CONFIGS = [Int8WeightOnlyConfig(), Int4WeightOnlyConfig(32), Float8WeightOnlyConfig(64)]


def model() -> nn.Sequential:
    """Three layers."""
    gn.manual_seed(0)
    return nn.Sequential(
        nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 32, bias=False), nn.Linear(32, 5)
    )


def encoded(module: nn.Module) -> list[str]:
    """The names of parameters in blocks."""
    return [name for name, x in module.named_parameters() if is_encoded(x._view)]


@pytest.mark.parametrize("config", CONFIGS)
def test_a_quantized_model_computes_with_decoded_numbers(config):
    made, x = model(), gn.randn(7, 64)
    before = made(x)

    quantize_(made, config if config.group_size == 32 else Int8WeightOnlyConfig(32))

    assert encoded(made) == ["0.weight", "2.weight", "3.weight"]
    plain = model()
    plain.load_state_dict(made.state_dict())
    assert same(made(x), plain(x))
    assert same(gn.compile(made)(x), plain(x))
    assert sqnr(before, made(x)) > 15


@pytest.mark.parametrize("config", CONFIGS)
def test_every_config_has_its_bits_compiled_and_eager(config):
    layer, x = nn.Linear(128, 40), gn.randn(3, 128)
    expected = layer(x)

    quantize_(layer, config)

    numbers = gn.tensor(layer.weight.numpy())
    assert same(layer(x), F.linear(x, numbers, layer.bias))
    assert same(gn.compile(layer)(x), F.linear(x, numbers, layer.bias))
    assert sqnr(expected, layer(x)) > 15
    assert layer.weight.untyped_storage().nbytes() < 40 * 128 * 1.2


@pytest.mark.parametrize("group_size", [None, 32, 128])
def test_activations_are_rounded_when_the_config_says_so(group_size):
    layer, x = nn.Linear(384, 40), gn.randn(5, 384)
    exact = layer(x)
    only = nn.Linear(384, 40)
    only.load_state_dict(layer.state_dict())

    quantize_(layer, Int8DynamicActivationInt8WeightConfig(group_size))
    quantize_(only, Int8WeightOnlyConfig(group_size))

    assert layer.weight.numpy().tobytes() == only.weight.numpy().tobytes()
    assert not same(layer(x), only(x))
    assert same(gn.compile(layer)(x), layer(x))
    assert 38 < sqnr(exact, layer(x)) < sqnr(exact, only(x))
    with override(without="claim"):
        assert same(gn.compile(layer)(x), layer(x))


def test_layers_are_chosen_by_a_filter_or_by_name():
    made = model()
    quantize_(made, Int8WeightOnlyConfig(), filter_fn=lambda m, name: m.out_features > 5)
    assert encoded(made) == ["0.weight", "2.weight"]
    quantize_(made, Int4WeightOnlyConfig(32))  # those that are quantized stay as they are
    assert made[0].weight._view.chain[0][1] == {"kind": "INT8_64"}
    assert made[3].weight._view.chain[0][1] == {"kind": "INT4_32"}

    named = model()
    quantize_(named, FqnToConfig({"0": None, "re:[2-9]": Int8WeightOnlyConfig()}))
    assert encoded(named) == ["2.weight", "3.weight"]
    with pytest.raises(ArgumentError, match=r"by FqnToConfig or by filter_fn, not by both"):
        quantize_(model(), FqnToConfig({}), filter_fn=lambda *_: True)


def test_what_does_not_fit_changes_nothing_and_names_the_layer():
    made = nn.Sequential(nn.Linear(64, 8), nn.Linear(8, 4))
    with pytest.raises(
        ArgumentError,
        match=r"the weight \(4, 8\) of 1 does not fit Int8WeightOnlyConfig: rows of 8 numbers",
    ):
        quantize_(made, Int8WeightOnlyConfig())
    with pytest.raises(
        DtypeError, match=r"of 0 must be float32: got bfloat16. Use model.float\(\)"
    ):
        quantize_(nn.Sequential(nn.Linear(64, 8).to(gn.bfloat16)), Int8WeightOnlyConfig())
    with pytest.raises(ArgumentError, match="of the model does not fit"):
        quantize_(nn.Linear(8, 4), Int8WeightOnlyConfig())

    assert encoded(made) == []


def test_layers_share_a_quantized_weight_as_they_did():
    made = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 64))
    made[1].weight = made[0].weight

    quantize_(made, Int8WeightOnlyConfig())

    assert made[1].weight is made[0].weight


def test_optimizers_train_what_is_left():
    made, x = model(), gn.randn(16, 64)
    quantize_(made, Int8WeightOnlyConfig(), filter_fn=lambda m, name: name == "2")
    kept = made[2].weight.numpy().copy()
    optimizer = gn.optim.AdamW(made.parameters(), lr=0.01)
    first = last = None
    for _ in range(5):
        optimizer.zero_grad()
        loss = made(x).square().mean()
        loss.backward()
        optimizer.step()
        first, last = first or loss.item(), loss.item()

    assert last < first / 2
    np.testing.assert_array_equal(made[2].weight.numpy(), kept)


def test_a_language_model_writes_when_quantized():
    plain = small("llama", hidden_size=64, head_dim=32)
    tokens = gn.tensor(prompt(6, 6))
    quantize_(plain, Int8WeightOnlyConfig(32), lambda m, name: m.in_features % 32 == 0)

    again = small("llama", hidden_size=64, head_dim=32)
    again.load_state_dict(plain.state_dict())

    options = {"max_new_tokens": 8, "do_sample": False}
    assert (plain.generate(tokens, **options) == again.generate(tokens, **options)).all()
