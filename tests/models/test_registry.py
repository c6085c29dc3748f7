"""Models are found by the type that config.json tells, and whoever trains them names none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gnomon
from gnomon.errors import ConfigError
from gnomon.models.config import Qwen3Config
from gnomon.models.config_json import to_hugging_face
from gnomon.models.registry import MODELS, from_hugging_face, kind_of
from gnomon.train.config import Config, build, to_dict

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("name", MODELS)
def test_each_kind_is_found_by_its_sizes_and_survives_every_file(name: str):
    sizes = MODELS[name].config()

    assert sizes.model_type == name
    assert kind_of(sizes) is MODELS[name]
    assert from_hugging_face(to_hugging_face(sizes)) == sizes
    made = build({"model": {"model_type": name}})
    assert made.model == sizes
    assert build(to_dict(made)) == made


def test_a_published_file_tells_nothing_of_our_own_fields():
    sizes = MODELS["qwen3_moe"].presets["30b-a3b"]
    found = to_hugging_face(sizes)
    del found["router_bias_rate"]

    assert from_hugging_face(found) == sizes
    with pytest.raises(ConfigError, match="num_experts must be there"):
        from_hugging_face({k: v for k, v in found.items() if not k.endswith("experts")})


def test_the_first_kind_is_dense_and_needs_no_name():
    assert build({}) == Config()
    assert type(build({"model": {"hidden_size": 64}}).model) is Qwen3Config


def test_a_wrong_size_is_named_with_its_path():
    with pytest.raises(ConfigError, match=r"config: model.hidden_size: expected int >= 1: got 0"):
        build({"model": {"hidden_size": 0}})
    with pytest.raises(ConfigError, match=r"config: model: expected object: got 3"):
        build({"model": 3})
    with pytest.raises(
        ConfigError, match=r"config: model.model_type: expected one of qwen3.*: got 4"
    ):
        build({"model": {"model_type": 4}})
    with pytest.raises(ConfigError, match=r"config: model.heads is not a key"):
        build({"model": {"heads": 4}})
    with pytest.raises(ConfigError, match=r"config: model.norms is not a key"):
        build({"model": {"norms": "layer"}})


def test_no_trainer_names_a_class_of_models():
    folder = Path(gnomon.__file__).parent / "train"
    named = re.compile(r"\w+ForCausalLM|models\.(decoder|qwen3_moe) import")

    assert [path.name for path in folder.glob("*.py") if named.search(path.read_text())] == []


def test_a_config_of_an_earlier_version_is_read():
    sizes = {"vocab_size": 300, "hidden_size": 16, "num_hidden_layers": 2, "head_dim": 8}
    sizes |= {"num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24}
    sizes |= {"max_position_embeddings": 32, "rope_theta": 10_000.0, "rms_norm_eps": 1e-6}
    others = {"attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 0}
    others |= {"eos_token_id": 0, "hidden_act": "silu", "initializer_range": 0.02}
    others |= {"torch_dtype": "float32", "use_cache": True, "use_sliding_window": False}
    others |= {"architectures": ["Qwen3ForCausalLM"], "tie_word_embeddings": True}

    assert from_hugging_face(sizes | others | {"model_type": "qwen3"}) == Qwen3Config(**sizes)
