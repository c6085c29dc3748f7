"""Models go from Hugging Face's names to GGUF's and back, unchanged; transformers reads them so."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.gguf import from_hugging_face, to_hugging_face
from gnomon.gguf.families import FAMILIES
from gnomon.gguf.rotation import LLAMA3

pytestmark = pytest.mark.unit

READER = """\
import pathlib, sys, numpy as np, transformers
path = pathlib.Path(sys.argv[1])
model = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name)
np.savez(sys.argv[2], **{k: x.float().numpy() for k, x in model.state_dict().items()})
print(model.config.to_json_string(use_diff=False))
"""
MODEL_TYPES = [family.model_type for family in FAMILIES]


def config_for(kind: str) -> dict:
    """A config of a small model, as to_hugging_face gives it."""
    config = {
        **{"model_type": kind, "vocab_size": 11, "hidden_size": 12, "intermediate_size": 20},
        **{"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2},
        **{"head_dim": 6, "max_position_embeddings": 64, "rms_norm_eps": 1e-06},
        "rope_parameters": {"rope_theta": 50000.0, "rope_type": "default"},
        **{"hidden_act": "silu", "tie_word_embeddings": kind == "qwen2"},
    }
    if kind == "llama":
        config |= {"head_dim": 12, "mlp_bias": False}
        config["rope_parameters"] |= {"rope_type": "llama3", "factor": 8.0, **LLAMA3}
    if kind != "qwen2":
        config["attention_bias"] = False
    if kind == "qwen3_moe":
        config |= {"num_experts": 3, "num_experts_per_tok": 2, "moe_intermediate_size": 7}
        config |= {"norm_topk_prob": True, "decoder_sparse_step": 1, "mlp_only_layers": []}
    return config


def tensors_for(config: dict, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random tensors of a config's model by Hugging Face's names."""
    width, kind = config["hidden_size"], config["model_type"]
    q, kv = (config["head_dim"] * config[f"num_{x}_heads"] for x in ("attention", "key_value"))
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens": (11, width), "model.norm": (width,)}
    biases: dict[str, tuple[int, ...]] = {}
    for layer in range(config["num_hidden_layers"]):
        start = f"model.layers.{layer}."
        own = {"q_proj": (q, width), "k_proj": (kv, width), "v_proj": (kv, width)}
        biases |= {f"{start}self_attn.{k}": x[:1] for k, x in own.items() if kind == "qwen2"}
        own["o_proj"] = (width, q)
        if kind.startswith("qwen3"):
            own |= {"q_norm": (config["head_dim"],), "k_norm": (config["head_dim"],)}
        shapes |= {f"{start}self_attn.{k}": x for k, x in own.items()}
        shapes |= {f"{start}{x}_layernorm": (width,) for x in ("input", "post_attention")}
        mlps, inner = ["mlp"], config["intermediate_size"]
        if kind == "qwen3_moe":
            mlps = [f"mlp.experts.{k}" for k in range(3)]
            inner = config["moe_intermediate_size"]
            shapes[f"{start}mlp.gate"] = (3, width)
        for mlp in mlps:
            shapes |= {f"{start}{mlp}.{x}_proj": (inner, width) for x in ("gate", "up")}
            shapes[f"{start}{mlp}.down_proj"] = (width, inner)
    if not config["tie_word_embeddings"]:
        shapes["lm_head"] = (11, width)
    named = {f"{k}.weight": x for k, x in shapes.items()} | {
        f"{k}.bias": x for k, x in biases.items()
    }
    return {name: rng.normal(size=x).astype(np.float32) for name, x in named.items()}


def written(path, config, tensors, **more):
    """A model as a file of GGUF, open."""
    made, metadata = from_hugging_face(config, tensors)
    gn.gguf.save(path / "x.gguf", made, metadata | more)
    return gn.gguf.load(path / "x.gguf")


@pytest.mark.parametrize("kind", MODEL_TYPES)
def test_a_model_comes_back(kind, tmp_path, rng):
    config = config_for(kind)
    tensors = tensors_for(config, rng)

    found, arrays = to_hugging_face(written(tmp_path, config, tensors))

    assert found == config
    assert arrays.keys() == tensors.keys()
    assert len(arrays) == len(tensors)
    for name, array in arrays.items():
        assert np.array_equal(array, tensors[name]), name


@pytest.mark.parametrize("kind", MODEL_TYPES)
def test_a_file_comes_back(kind, tmp_path, rng):
    file = written(tmp_path, config_for(kind), tensors_for(config_for(kind), rng))

    made, metadata = from_hugging_face(*to_hugging_face(file))

    assert metadata == dict(file.metadata)
    assert made.keys() == file.tensors.keys()
    for name, array in made.items():
        assert np.array_equal(array, file.tensors[name].numpy()), name


def test_former_names_of_rotations_mean_the_same(rng):
    config = config_for("llama")
    rotation = config.pop("rope_parameters")
    former = config | {"rope_theta": rotation.pop("rope_theta"), "rope_scaling": rotation}

    made, metadata = from_hugging_face(former, tensors_for(config, rng))
    today, keys = from_hugging_face(config_for("llama"), {})

    assert metadata == keys
    assert np.array_equal(made["rope_freqs.weight"], today["rope_freqs.weight"])


def test_biases_of_paired_heads_are_in_order_too(tmp_path, rng):
    config = config_for("llama") | {"attention_bias": True}
    tensors = tensors_for(config, rng)
    bias = "model.layers.0.self_attn.q_proj.bias"
    tensors[bias] = rng.normal(size=48).astype(np.float32)

    file = written(tmp_path, config, tensors)
    found, arrays = to_hugging_face(file)

    assert found["attention_bias"]
    assert np.array_equal(arrays[bias], tensors[bias])
    assert not np.array_equal(file.tensors["blk.0.attn_q.bias"].numpy(), tensors[bias])


def test_narrow_matrices_keep_their_type_and_vectors_widen(tmp_path, rng):
    config = config_for("qwen3_moe")
    tensors = {k: x.astype(np.float16) for k, x in tensors_for(config, rng).items()}

    file = written(tmp_path, config, tensors)

    assert file.tensors["blk.0.attn_q.weight"].type == "F16"
    for name in ("blk.0.attn_norm.weight", "blk.0.ffn_gate_inp.weight"):
        assert file.tensors[name].type == "F32"


def test_tokens_and_tied_embeddings_are_in_the_config(tmp_path, rng):
    config = config_for("qwen2")
    tensors = tensors_for(config, rng) | {"lm_head.weight": np.zeros((11, 12), np.float32)}

    file = written(tmp_path, config, tensors, **{"tokenizer.ggml.eos_token_id": 3})

    assert "output.weight" not in file.tensors
    assert to_hugging_face(file)[0] == config | {"eos_token_id": 3}


@pytest.mark.parametrize(
    ("more", "tensors", "reason"),
    [
        (
            {"general.architecture": "mamba"},
            {},
            "general.architecture is 'mamba', and known are ll",
        ),
        ({"qwen2.expert_weights_scale": 2.0}, {}, "qwen2.expert_weights_scale has no place"),
        ({"qwen2.rope.scaling.type": "x"}, {}, "rope.scaling.type has no place"),
        ({"qwen2.rope.dimension_count": 4}, {}, "qwen2.rope.dimension_count has no place"),
        ({"qwen2.attention.value_length": 8}, {}, "qwen2.attention.value_length has no place"),
        ({"qwen2.attention.head_count": [4, 4]}, {}, "qwen2.attention.head_count is array"),
        ({"qwen2.attention.head_count": 0}, {}, "num_attention_heads is 0"),
        ({"qwen2.attention.head_count": "4"}, {}, "num_attention_heads is '4'"),
        ({"qwen2.attention.key_length": 3}, {}, "heads have 3 numbers"),
        ({}, {"blk.0.ssm_a.weight": np.zeros(2)}, "tensor 'blk.0.ssm_a.weight' is none of qwen2"),
        ({}, {"blk.0.ffn_up_exps.weight": np.zeros((9, 2, 2))}, "has not 0 experts"),
        ({}, {"rope_freqs.weight": np.zeros(2)}, "rope_freqs.weight has shape"),
    ],
)
def test_a_file_that_no_config_describes_is_refused(more, tensors, reason, tmp_path):
    made, metadata = from_hugging_face(config_for("qwen2"), {})
    gn.gguf.save(tmp_path / "x.gguf", made | tensors, metadata | more)

    with pytest.raises(ArgumentError, match=f"gguf.to_hugging_face: .*x.gguf: .*{reason}"):
        to_hugging_face(gn.gguf.load(tmp_path / "x.gguf"))


def test_rows_that_are_no_heads_are_refused(tmp_path):
    made, metadata = from_hugging_face(config_for("llama"), {})
    gn.gguf.save(tmp_path / "x.gguf", made | {"blk.0.attn_q.weight": np.zeros((7, 12))}, metadata)

    with pytest.raises(ArgumentError, match=r"attn_q.weight' has shape \(7, 12\)"):
        to_hugging_face(gn.gguf.load(tmp_path / "x.gguf"))


@pytest.mark.parametrize(
    ("more", "tensors", "reason"),
    [
        ({"model_type": "mamba"}, {}, "model_type is 'mamba', and known are llama, qwen2"),
        ({"hidden_act": "gelu"}, {}, "hidden_act is 'gelu', which has no key"),
        ({"use_sliding_window": True}, {}, "use_sliding_window is True"),
        ({"norm_topk_prob": False}, {}, "norm_topk_prob is False"),
        ({"routed_scaling_factor": 2.5}, {}, "routed_scaling_factor is 2.5, which has no key"),
        ({"rope_parameters": {"rope_type": "longrope"}}, {}, "rope_parameters are"),
        ({}, {"model.layers.0.x.weight": np.zeros(2)}, "tensor 'model.layers.0.x.weight' is none"),
        ({}, {"model.layers.0.mlp.experts.2.up_proj.weight": np.zeros(2)}, "has not 3 experts"),
    ],
)
def test_a_model_that_the_format_cannot_say_is_refused(more, tensors, reason):
    with pytest.raises(ArgumentError, match=f"gguf.from_hugging_face: .*{reason}"):
        from_hugging_face(config_for("qwen3_moe") | more, tensors)


IGNORED = {
    "llama": {"rope_parameters": {"rope_theta": 50000.0, "rope_type": "default"}},
    "qwen2": {"hidden_size": 16, "head_dim": 4},
    "qwen3": {"head_dim": 128},
    "qwen3_moe": {"moe_intermediate_size": 768},
}
"""Settings that transformers does not take from a file, with the values that it assumes."""


@pytest.mark.packages
@pytest.mark.parametrize("kind", MODEL_TYPES)
def test_transformers_reads_the_same_model(kind, tmp_path, rng):
    python = os.environ.get("GNOMON_PACKAGES_PYTHON", sys.executable)  # has transformers and gguf
    config = config_for(kind) | IGNORED[kind]
    tensors = tensors_for(config, rng)
    written(tmp_path, config, tensors)

    command = [python, "-c", READER, str(tmp_path / "x.gguf"), str(tmp_path / "x.npz")]
    said = json.loads(subprocess.check_output(command, text=True, env={}))
    state = np.load(tmp_path / "x.npz")

    assert np.float32(said.pop("rms_norm_eps")) == np.float32(config["rms_norm_eps"])
    assert said["rope_parameters"]["rope_theta"] == 50000.0
    fields = said.keys() & config.keys() - {"rope_parameters", "head_dim"}
    assert {k: said[k] for k in fields} == {k: config[k] for k in fields}
    for name, array in tensors.items():
        before, _, after = name.partition(".experts.")
        if not after:
            assert np.array_equal(state[name], array), name
            continue
        number, part = after.split(".")[:2]
        both = state[f"{before}.experts.{'down_proj' if part == 'down_proj' else 'gate_up_proj'}"]
        half = len(both[0]) // 2
        rows = {"gate_proj": slice(half), "up_proj": slice(half, None), "down_proj": slice(None)}[
            part
        ]
        assert np.array_equal(both[int(number), rows], array), name
