"""A GGUF file's model computes what the folder's computes."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, CheckpointError, ConfigError
from gnomon.models.pretrained import from_pretrained
from gnomon.models.text_format import text_format
from gnomon.tensor.views import is_encoded
from tests.models.writers import TEMPLATE, chat_file, prompt, save_gguf, small


@pytest.mark.parametrize("name", ["llama", "qwen2", "qwen3", "qwen3_moe"])
def test_a_file_has_the_bits_of_what_was_saved(name: str, tmp_path):
    model = small(name) if name != "qwen2" else small(name, sliding_window=None, layer_types=None)
    ends = {"tokenizer.ggml.eos_token_id": 7, "tokenizer.ggml.eot_token_id": 9}
    save_gguf(tmp_path / "x.gguf", model, ends)

    read = from_pretrained(tmp_path / "x.gguf")

    assert type(read) is type(model)
    assert not read.training
    assert read.carried.fields["eos_token_id"] == [7, 9]
    tokens = gn.tensor(prompt(6, 6))
    with gn.no_grad():
        assert read(tokens).numpy().tobytes() == model(tokens).numpy().tobytes()
    read.save_pretrained(tmp_path / "folder")
    again = from_pretrained(tmp_path / "folder")
    assert again.config == read.config
    assert again.carried.fields.items() >= read.carried.fields.items()


def test_a_saved_folder_has_the_files_texts(tmp_path):
    place = chat_file(tmp_path / "x.gguf")
    wanted = text_format(place)

    from_pretrained(place).save_pretrained(tmp_path / "folder")
    found = text_format(tmp_path / "folder")

    assert found.ids("one two  three\n\u00e9 42") == wanted.ids("one two  three\n\u00e9 42")
    assert (found.template, found.special) == (TEMPLATE, wanted.special)
    assert from_pretrained(tmp_path / "folder").carried.fields["eos_token_id"] == [0]


def test_packed_and_narrow_tensors_are_decoded(tmp_path):
    model = small()
    save_gguf(tmp_path / "x.gguf", model, {}, types={"blk.0.ffn_up.weight": "Q8_0"})
    narrow = small().to(gn.bfloat16)
    save_gguf(tmp_path / "y.gguf", narrow, {})

    packed = from_pretrained(tmp_path / "x.gguf")
    ours, theirs = (x.model.layers[0].mlp.up_proj.weight.detach().numpy() for x in (model, packed))
    assert 0 < np.abs(ours - theirs).max() < np.abs(ours).max() / 100
    read = from_pretrained(tmp_path / "y.gguf")
    assert {x.dtype for x in read.parameters()} == {gn.bfloat16}
    assert {
        x.dtype for x in from_pretrained(tmp_path / "y.gguf", dtype=gn.float32).parameters()
    } == {gn.float32}


KINDS = {"attn_q": "Q4_0", "attn_k": "Q8_0", "ffn_up": "Q5_1", "ffn_down": "Q4_1", "attn_v": "Q5_0"}


@pytest.mark.parametrize("name", ["llama", "qwen3", "qwen3_moe"])
def test_encoded_matrices_have_the_bits_of_decoded_ones(name: str, tmp_path):
    path, layers = tmp_path / "x.gguf", [f"blk.{k}." for k in range(2)]
    dense = {k: x for k, x in KINDS.items() if name != "qwen3_moe" or k.startswith("attn")}
    types = {f"{layer}{part}.weight": kind for layer in layers for part, kind in dense.items()}
    save_gguf(path, small(name), {}, types={**types, "token_embd.weight": "Q8_0"})

    decoded, encoded = from_pretrained(path), from_pretrained(path, encoded=True)

    stays = [n for n, x in encoded.named_parameters() if is_encoded(x._view)]
    assert len(stays) == len(types) + 1
    tokens = gn.tensor(prompt(6, 6))
    with gn.no_grad():
        assert encoded(tokens).numpy().tobytes() == decoded(tokens).numpy().tobytes()
    options = {"max_new_tokens": 8, "do_sample": False}
    assert (encoded.generate(tokens, **options) == decoded.generate(tokens, **options)).all()
    encoded.save_pretrained(tmp_path / "folder")
    again = from_pretrained(tmp_path / "folder")
    with gn.no_grad():
        assert again(tokens).numpy().tobytes() == decoded(tokens).numpy().tobytes()


def test_layers_round_their_input_where_they_are_asked_to(tmp_path):
    path = tmp_path / "x.gguf"
    types = {f"blk.{k}.{part}.weight": kind for k in range(2) for part, kind in KINDS.items()}
    save_gguf(path, small("llama"), {}, types={**types, "token_embd.weight": "Q8_0"})
    tokens = gn.tensor(prompt(6, 6))

    exact = from_pretrained(path, encoded=True)
    rounded = from_pretrained(path, encoded=True, activations="int8")

    with gn.no_grad():
        near, found = exact(tokens), rounded(tokens)
        again = gn.compile(rounded)(tokens)
    assert 25 < gn.quant.sqnr(near, found) < 60
    assert (again == found).all()
    assert rounded.generate(tokens, max_new_tokens=4, do_sample=False).shape[1] == 10
    named = [x for n, x in rounded.named_parameters() if is_encoded(x._view)]
    assert {x._view.chain[0][1]["activations"] for x in named} == {"int8"}


def test_a_file_without_blocks_keeps_its_type(tmp_path):
    save_gguf(tmp_path / "x.gguf", small().to(gn.bfloat16), {})

    read = from_pretrained(tmp_path / "x.gguf", encoded=True)

    assert {x.dtype for x in read.parameters()} == {gn.bfloat16}


def test_what_cannot_stay_encoded_is_refused(tmp_path):
    save_gguf(tmp_path / "x.gguf", small(), {})
    with pytest.raises(
        ArgumentError, match=r"encoded matrices are float32: got dtype gnomon.bfloat"
    ):
        from_pretrained(tmp_path / "x.gguf", dtype=gn.bfloat16, encoded=True)
    with pytest.raises(ArgumentError, match=r"encoded is for .gguf files, which have blocks: got"):
        from_pretrained(tmp_path, encoded=True)
    with pytest.raises(ArgumentError, match=r"activations='int8' is for matrices that stay in"):
        from_pretrained(tmp_path / "x.gguf", activations="int8")
    save_gguf(tmp_path / "y.gguf", small(), {}, types={"token_embd.weight": "Q8_0"})
    with pytest.raises(ArgumentError, match=r"rounded to 'int8' or not at all: got 'int4'"):
        from_pretrained(tmp_path / "y.gguf", encoded=True, activations="int4")


def test_files_that_hold_no_model_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        from_pretrained(tmp_path / "x.gguf")
    (tmp_path / "x.gguf").write_bytes(b"no")
    with pytest.raises(ArgumentError, match=r"x.gguf is no GGUF file"):
        from_pretrained(tmp_path / "x.gguf")
    gn.gguf.save(tmp_path / "y.gguf", {}, {"general.architecture": "mamba"})
    with pytest.raises(
        ArgumentError, match=r"general.architecture is 'mamba', and known are llama"
    ):
        from_pretrained(tmp_path / "y.gguf")
    metadata = (
        {"general.architecture": "qwen3"}
        | {f"qwen3.{key}": 2 for key in ("embedding_length", "block_count", "attention.head_count")}
        | {"qwen3.attention.key_length": 2}
    )
    gn.gguf.save(tmp_path / "z.gguf", {}, metadata)
    with pytest.raises(
        ConfigError, match=r"z.gguf: its metadata as a config.json: vocab_size, max"
    ):
        from_pretrained(tmp_path / "z.gguf")
    model = small()
    del model.model.layers[1].mlp.up_proj
    save_gguf(tmp_path / "w.gguf", model, {})
    with pytest.raises(CheckpointError, match=r"missing \['model.layers.1.mlp.up_proj.weight'\]"):
        from_pretrained(tmp_path / "w.gguf")
