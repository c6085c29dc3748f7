"""An encoder that transformers wrote computes here what it computes there, and goes back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import gnomon as gn
from gnomon.distributed.checkpoint.reader import TensorReader
from gnomon.errors import CheckpointError, ConfigError
from gnomon.models import from_pretrained, mean_pooled
from tests.models.test_pretrained import EVERY, GOLDEN, expected, write_tensors

FOLDER = GOLDEN / "bert"


def test_states_and_gradients_are_those_of_transformers():
    model, wanted = from_pretrained(FOLDER), expected("bert")
    tokens, mask, kinds, pull = (
        gn.from_numpy(wanted[name]) for name in ("tokens", "mask", "kinds", "pull")
    )

    states, pooler = model(tokens, attention_mask=mask, token_type_ids=kinds)
    pooled = mean_pooled(states, mask)
    ((pooled * pull).mean() + pooler.mean()).backward()

    for name, found in (("states", states), ("pooled", pooled), ("pooler", pooler)):
        ours, seen = found.detach().numpy(), wanted["mask"][..., None] if name == "states" else 1
        np.testing.assert_allclose(ours * seen, wanted[name] * seen, rtol=0, atol=1e-4)
    for name, parameter in model.named_parameters():
        gradient, theirs = parameter.grad.numpy(), wanted[f"grad:{name}"]
        ours = gradient[::EVERY] if len(gradient) > len(theirs) else gradient
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-3, err_msg=name)


def test_an_encoder_goes_back_as_it_came(tmp_path: Path):
    model = from_pretrained(FOLDER)

    model.save_pretrained(tmp_path)

    first, second = (TensorReader(x / "model.safetensors") for x in (FOLDER, tmp_path))
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        np.testing.assert_array_equal(tensor[()], second[name][()], err_msg=name)
    assert from_pretrained(tmp_path).config == model.config


def test_files_of_a_model_that_guesses_words_hold_an_encoder(tmp_path: Path):
    shutil.copytree(FOLDER, tmp_path / "bert")
    path = tmp_path / "bert" / "model.safetensors"
    arrays = {name: x[()] for name, x in TensorReader(FOLDER / "model.safetensors").items()}
    old = {
        f"bert.{name}".replace("LayerNorm.weight", "LayerNorm.gamma"): x
        for name, x in arrays.items()
    }
    write_tensors(path, old | {"cls.predictions.bias": np.ones(260, np.float32)})

    found, wanted = from_pretrained(tmp_path / "bert"), from_pretrained(FOLDER)

    for name, parameter in wanted.named_parameters():
        np.testing.assert_array_equal(
            found.get_parameter(name).detach().numpy(), parameter.detach().numpy(), err_msg=name
        )
    write_tensors(path, {k: x for k, x in arrays.items() if not k.startswith("pooler")})
    with pytest.raises(CheckpointError, match=r"missing \['pooler.dense.bias'"):
        from_pretrained(tmp_path / "bert")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"position_embedding_type": "relative_key"}, "must be 'absolute' in bert: got 'relative"),
        ({"is_decoder": True}, "is_decoder is not implemented for bert: got True"),
        ({"num_attention_heads": 3}, r"num_attention_heads must be a divisor of hidden_size \(8\)"),
        ({"hidden_act": "mish"}, "Invalid enum value 'mish'"),
    ],
)
def test_what_no_encoder_can_be_is_refused_by_name(tmp_path: Path, fields, message):
    shutil.copytree(FOLDER, tmp_path / "bert")
    told = json.loads((FOLDER / "config.json").read_text())
    (tmp_path / "bert" / "config.json").write_text(json.dumps(told | fields))

    with pytest.raises(ConfigError, match=message):
        from_pretrained(tmp_path / "bert")


def test_dropout_is_for_training_alone():
    model = from_pretrained(FOLDER)
    tokens = gn.from_numpy(expected("bert")["tokens"])
    with gn.no_grad():
        first, second = (model(tokens)[0].numpy() for _ in range(2))
        other = model.train()(tokens)[0].numpy()

    np.testing.assert_array_equal(first, second)
    assert np.abs(other - first).max() > 1e-3
