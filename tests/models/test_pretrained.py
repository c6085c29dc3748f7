"""Models that transformers wrote compute here what they compute there, and go back the same.

tests/golden/pretrained is what pretrained_writer.py made.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import gnomon as gn
from gnomon.distributed.checkpoint.parts import owned
from gnomon.distributed.checkpoint.reader import TensorReader
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.mesh import ALONE
from gnomon.errors import ArgumentError, CheckpointError, ConfigError
from gnomon.models.gpt2_files import gpt2_in_files
from gnomon.models.passes import CachedRows
from gnomon.models.pretrained import from_pretrained, pretrained_tensors
from gnomon.models.registry import from_hugging_face
from gnomon.models.rotary import RopeScaling, rotary_tables
from gnomon.ops.placements import REPLICATED, Split
from gnomon.tensor.layouts import spread

GOLDEN = Path(__file__).parents[1] / "golden" / "pretrained"
EVERY = 8
"""Of tables of the vocabulary's size, every so many rows were kept."""
DECODERS = [
    "qwen3_tied",
    "qwen3_untied",
    "qwen3_moe",
    "llama",
    "llama_yarn",
    "mistral",
    "qwen2",
    "gpt2",
    "gemma3_text",
]


def expected(family: str) -> dict[str, np.ndarray]:
    """What transformers computed."""
    with np.load(GOLDEN / family / "expected.npz") as found:
        return dict(found)


def in_files(model, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays of parameters under the names that files have."""
    divided = {name: owned(x, x.shape, (), ALONE, 0) for name, x in arrays.items()}
    found = {}
    for name, tensor in model.config.in_files(divided).items():
        found[name] = np.full(tensor.shape, np.nan, np.float32)
        for part in tensor.parts:
            ends = zip(part.offsets, part.array.shape, strict=True)
            found[name][tuple(slice(begin, begin + size) for begin, size in ends)] = part.array
    return found


def by_expert(name: str, gradient: np.ndarray) -> dict[str, np.ndarray]:
    """A gradient by the names of files, which have experts one by one."""
    if ".experts." not in name:
        return {name: gradient}
    stem, _, kind = name.rpartition(".")
    parts = kind.replace("gate_up_proj", "gate_proj up_proj").split()
    return {
        f"{stem}.{expert}.{part}.weight": piece
        for expert, both in enumerate(gradient)
        for part, piece in zip(parts, np.split(both, len(parts)), strict=True)
    }


@pytest.mark.parametrize("family", DECODERS)
def test_logits_loss_and_gradients_are_those_of_transformers(family: str):
    model, wanted = from_pretrained(GOLDEN / family), expected(family)
    tokens = gn.from_numpy(wanted["tokens"])

    logits = model(tokens[:, :-1]).detach().numpy()
    loss = model.losses(tokens).mean()
    loss.backward()

    np.testing.assert_allclose(logits[:, :, ::EVERY], wanted["logits"], rtol=0, atol=1e-4)
    np.testing.assert_allclose(loss.item(), wanted["loss"], rtol=0, atol=1e-4)
    found = in_files(model, {name: p.grad.numpy() for name, p in model.named_parameters()})
    theirs = {
        name: x
        for key, gradient in wanted.items()
        if key.startswith("grad:")
        for name, x in by_expert(key.removeprefix("grad:"), gradient).items()
    }
    assert found.keys() == theirs.keys()
    for name, gradient in theirs.items():
        ours = found[name][::EVERY] if len(found[name]) > len(gradient) else found[name]
        np.testing.assert_allclose(ours, gradient, rtol=0, atol=1e-3, err_msg=name)
        assert np.abs(gradient).max() > 1e-5, name


@pytest.mark.parametrize("family", DECODERS)
def test_the_likeliest_tokens_are_those_of_transformers(family: str):
    model, wanted = from_pretrained(GOLDEN / family), expected(family)
    prompt = gn.from_numpy(wanted["prompt"][None])

    found = model.generate(prompt, max_new_tokens=64, eos_token_id=())

    assert found[0, prompt.shape[1] :].tolist() == wanted["greedy"].tolist()


@pytest.mark.parametrize("family", DECODERS)
def test_a_model_goes_back_as_it_came(family: str, tmp_path: Path):
    model = from_pretrained(GOLDEN / family)

    model.save_pretrained(tmp_path)

    first, second = (pretrained_tensors(x, model.config) for x in (GOLDEN / family, tmp_path))
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        np.testing.assert_array_equal(tensor[()], second[name][()], err_msg=name)
    again = from_pretrained(tmp_path)
    assert again.config == model.config
    assert again.carried == model.carried
    told, ours = (json.loads((x / "config.json").read_text()) for x in (GOLDEN / family, tmp_path))
    left = {"transformers_version", "layer_types", "max_window_layers", "intermediate_size"}
    left |= {"pretraining_tp", "scale_attn_weights"}
    said = {k: x for k, x in told.items() if x not in (None, False) and k not in left}
    assert {k: ours.get(k) for k in said} == said


def test_other_types_of_elements_are_read_and_written(tmp_path: Path):
    model = from_pretrained(GOLDEN / "qwen3_tied", dtype=gn.bfloat16)

    model.save_pretrained(tmp_path / "narrow", max_shard_size=4000)

    narrow = from_pretrained(tmp_path / "narrow")
    assert {p.dtype for p in narrow.parameters()} == {gn.bfloat16}
    assert len(list((tmp_path / "narrow").glob("model-*-of-*.safetensors"))) > 1
    wide = from_pretrained(tmp_path / "narrow", dtype=gn.float32)
    tokens = gn.from_numpy(expected("qwen3_tied")["tokens"][:1, :6])
    with gn.no_grad():
        assert narrow(tokens).dtype == gn.bfloat16
        np.testing.assert_allclose(
            narrow(tokens).float().numpy(), wide(tokens).numpy(), rtol=0, atol=0.3
        )
    assert np.isfinite(CachedRows(narrow.passes).read([[5]])).all()


def changed(tmp_path: Path, family: str, **fields: object) -> Path:
    """A copy of a family's folder with other fields in its config.json; None: without the field."""
    folder = tmp_path / family
    shutil.copytree(GOLDEN / family, folder)
    told = json.loads((folder / "config.json").read_text()) | fields
    (folder / "config.json").write_text(json.dumps({k: v for k, v in told.items() if v != ...}))
    return folder


def test_yesterdays_names_mean_the_same(tmp_path: Path):
    folder = changed(
        tmp_path,
        "qwen3_moe",
        rope_parameters=...,
        rope_theta=10000.0,
        rope_scaling=None,
        num_local_experts=...,
        num_experts=4,
        dtype=...,
        torch_dtype="float32",
    )

    assert from_pretrained(folder).config == from_pretrained(GOLDEN / "qwen3_moe").config


@pytest.mark.parametrize(
    ("family", "fields", "message"),
    [
        ("qwen3_tied", {"hidden_act": "mish"}, "Invalid enum value 'mish'"),
        ("qwen3_tied", {"quantization_config": {"bits": 4}}, "quantization_config is not impl"),
        ("qwen3_tied", {"n" * 5000: 7}, r"n{197}\.\.\. is not implemented for qwen3: got 7"),
        ("qwen3_tied", {"some_new_field": 7}, "some_new_field is not implemented for qwen3: got 7"),
        ("qwen3_tied", {"partial_rotary_factor": 0.5}, "partial_rotary_factor must be 1.0"),
        ("qwen3_tied", {"layer_types": ["sliding_attention"] * 2}, "layer_types must be full_att"),
        ("qwen3_tied", {"layer_types": [["full_attention"]] * 2}, "layer_types must be full_att"),
        ("qwen3_tied", {"dtype": "int8"}, "dtype must be one of float32, .*: got 'int8'"),
        ("qwen3_tied", {"num_hidden_layers": "two"}, "Expected `int`, got `str`.*num_hidden_lay"),
        ("qwen3_moe", {"mlp_only_layers": [1]}, r"mlp_only_layers must be \[\] in qwen3_moe"),
        ("qwen3_moe", {"decoder_sparse_step": 2}, "decoder_sparse_step must be 1 in qwen3_moe"),
        (
            "gpt2",
            {"scale_attn_by_inverse_layer_idx": True},
            "scale_attn_by_inverse_layer_idx is",
        ),
        ("gpt2", {"reorder_and_upcast_attn": True}, "reorder_and_upcast_attn is not implemented"),
        ("gpt2", {"scale_attn_weights": False}, "scale_attn_weights must be True in gpt2: got Fa"),
        ("gpt2", {"add_cross_attention": True}, "add_cross_attention is not implemented for gpt2"),
        ("gpt2", {"n_head": 3}, r"num_attention_heads must be a divisor of hidden_size \(8\)"),
        ("gemma3_text", {"attn_logit_softcapping": 50.0}, "attn_logit_softcapping is not impl"),
        ("gemma3_text", {"final_logit_softcapping": 30.0}, "final_logit_softcapping is not impl"),
        ("gemma3_text", {"use_bidirectional_attention": True}, "use_bidirectional_attention is"),
        (
            "gemma3_text",
            {"rope_parameters": {"sliding_attention": {"rope_type": "linear", "factor": 8.0}}},
            "rope_parameters.sliding_attention is not implemented for gemma3_text",
        ),
        ("llama", {"pretraining_tp": 2}, "pretraining_tp must be 1 in llama: got 2"),
        (
            "llama",
            {"rope_parameters": {"rope_type": "llama3", "rope_theta": 1e4, "factor": 4.0}},
            "rope_scaling must be one with low_freq_factor for llama3",
        ),
        ("qwen2", {"layer_types": ["sliding_attention"]}, "layer_types must be one for each of"),
        ("qwen3_tied", {"model_type": "mamba"}, "model_type must be one of .*: got 'mamba'"),
        (
            "qwen3_tied",
            {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0}},
            "rope_parameters.rope_type must be one of .*: got 'dynamic'",
        ),
        (
            "qwen3_tied",
            {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mscale": 2}},
            "rope_parameters.mscale is not implemented",
        ),
    ],
)
def test_what_no_model_can_be_is_refused_by_name(tmp_path: Path, family, fields, message):
    with pytest.raises(ConfigError, match=f"config.json: .*{message}"):
        from_pretrained(changed(tmp_path, family, **fields))


def rewritten(folder: Path, name: str, array: np.ndarray | None, called: str = "") -> None:
    """Write a folder's tensors again, with one that is another, or under another name, or not."""
    arrays = {k: x[()] for k, x in TensorReader(folder / "model.safetensors").items()}
    del arrays[name]
    if array is not None:
        arrays[called or name] = array
    write_tensors(folder / "model.safetensors", arrays)


def write_tensors(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """A file of tensors as the format says."""
    kinds = {"float32": "F32", "int8": "I8"}
    header, content = {}, b""
    for name, array in arrays.items():
        begin, content = len(content), content + array.tobytes()
        place = [begin, len(content)]
        kind = kinds[str(array.dtype)]
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": place}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content)


NORM = "model.norm.weight"


@pytest.mark.parametrize(
    ("array", "called", "message"),
    [
        (None, "", rf"missing \['{NORM}'\], unknown \[\]"),
        (np.ones(8, np.float32), "model.more", r"missing .*unknown \['model.more'\]"),
        (np.ones(9, np.float32), "", rf"{NORM} must be \(8,\): got \(9,\)"),
        (np.ones(8, np.int8), "", rf"{NORM} must be \(8,\): got \(8,\) of int8"),
    ],
    ids=["missing", "unknown", "shape", "integers"],
)
def test_a_tensor_that_does_not_fit_is_named(tmp_path: Path, array, called, message):
    folder = changed(tmp_path, "qwen3_tied")
    rewritten(folder, NORM, array, called)

    with pytest.raises(CheckpointError, match=message):
        from_pretrained(folder)


def test_a_missing_file_is_named(tmp_path: Path):
    folder = changed(tmp_path, "qwen3_moe")
    shard = sorted(folder.glob("model-*.safetensors"))[1]
    shard.unlink()

    with pytest.raises(CheckpointError, match=f"{shard.name} cannot be read: No such file"):
        from_pretrained(folder)
    (folder / "model.safetensors.index.json").unlink()
    with pytest.raises(CheckpointError, match=r"has neither model.safetensors nor"):
        from_pretrained(folder)


def test_a_head_beside_a_tied_embedding_must_be_the_embedding(tmp_path: Path):
    folder = changed(tmp_path, "qwen3_tied")
    stored = TensorReader(folder / "model.safetensors")
    arrays = {name: x[()] for name, x in stored.items()}
    table = arrays["model.embed_tokens.weight"]
    write_tensors(folder / "model.safetensors", arrays | {"lm_head.weight": table})

    assert from_pretrained(folder).lm_head is None
    write_tensors(folder / "model.safetensors", arrays | {"lm_head.weight": table + 1})
    with pytest.raises(CheckpointError, match=r"lm_head.weight must be model.embed_tokens.weight"):
        from_pretrained(folder)


def test_files_may_be_links_as_in_a_cache(tmp_path: Path):
    for path in (GOLDEN / "qwen3_tied").iterdir():
        (tmp_path / path.name).symlink_to(path)

    assert from_pretrained(tmp_path).config.tie_word_embeddings


def test_files_of_another_model_make_way(tmp_path: Path):
    model = from_pretrained(GOLDEN / "qwen3_tied")
    model.save_pretrained(tmp_path, max_shard_size=4000)
    (tmp_path / "model-of-mine.safetensors").write_bytes(b"")

    model.save_pretrained(tmp_path)

    names = {x.name for x in tmp_path.glob("model*")}
    assert names == {"model.safetensors", "model-of-mine.safetensors"}
    assert from_pretrained(tmp_path).config == model.config


def test_a_model_that_lies_over_ranks_is_refused(tmp_path: Path):
    model = from_pretrained(GOLDEN / "qwen3_tied")
    norm = model.model.norm.weight
    norm.data = spread(norm.detach(), (("data", 2, REPLICATED),))

    with pytest.raises(ArgumentError, match=r"model\.norm\.weight is spread over ranks"):
        model.save_pretrained(tmp_path)


def test_a_file_without_room_for_a_byte_is_refused(tmp_path: Path):
    with pytest.raises(ArgumentError, match="max_shard_size must be a number of bytes: got 0"):
        from_pretrained(GOLDEN / "qwen3_tied").save_pretrained(tmp_path, max_shard_size=0)


def test_yesterdays_llama_leaves_out_what_follows(tmp_path: Path):
    scaling = {
        "type": "llama3",
        "factor": 4.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 24,
    }
    theta = {"rope_theta": 1e4, "rope_scaling": scaling, "rope_parameters": ...}
    less = {"attention_bias": ..., "mlp_bias": ..., "attention_dropout": ..., "hidden_act": ...}
    folder = changed(tmp_path, "llama", **theta, **less)

    assert from_pretrained(folder).config == from_pretrained(GOLDEN / "llama").config
    found = json.loads((folder / "config.json").read_text())
    del found["head_dim"], found["num_key_value_heads"]
    config = from_hugging_face(found)
    assert (config.head_dim, config.num_key_value_heads) == (2, 4)


def test_linear_scaling_slows_every_angle():
    scaling = RopeScaling(rope_type="linear", factor=4.0)
    slow, fast = rotary_tables(9, 8, 1e4, scaling), rotary_tables(3, 8, 1e4, None)

    for wave, other in zip(slow, fast, strict=True):
        np.testing.assert_allclose(wave[::4], other, rtol=1e-6)


def test_dropout_is_for_training_alone(tmp_path: Path):
    model = from_pretrained(changed(tmp_path, "llama", attention_dropout=0.5))
    tokens = gn.from_numpy(expected("llama")["tokens"][:1, :9])
    with gn.no_grad():
        still = from_pretrained(GOLDEN / "llama")(tokens).numpy()
        np.testing.assert_array_equal(model(tokens).numpy(), still)
        assert np.abs(model.train()(tokens).numpy() - still).max() > 1e-3


def test_gpt2s_bare_files_have_shorter_names_and_masks(tmp_path: Path):
    folder = changed(tmp_path, "gpt2")
    stored = TensorReader(folder / "model.safetensors")
    bare = {name.removeprefix("transformer."): x[()] for name, x in stored.items()}
    masks = {f"h.{layer}.attn.bias": np.ones((1, 1, 96, 96), np.float32) for layer in range(2)}
    write_tensors(folder / "model.safetensors", bare | masks)

    found, wanted = from_pretrained(folder), from_pretrained(GOLDEN / "gpt2")

    for name, parameter in wanted.named_parameters():
        np.testing.assert_array_equal(
            found.get_parameter(name).detach().numpy(), parameter.detach().numpy(), err_msg=name
        )
    write_tensors(folder / "model.safetensors", bare | {"h.0.attn.c_attn.bias": np.ones(24, "f4")})
    assert from_pretrained(folder).model.layers[0].self_attn.k_proj.bias.sum().item() == 8
    odd = {"h.0.attn.c_attn.bias": np.ones(25, np.float32)}
    write_tensors(folder / "model.safetensors", bare | odd)
    with pytest.raises(CheckpointError, match=r"q_proj\.bias must be \(8,\): got \(25,\)"):
        from_pretrained(folder)


@pytest.mark.parametrize("axis", [0, 1])
def test_ranks_write_their_parts_of_joined_matrices(axis: int):
    parameters = dict(from_pretrained(GOLDEN / "gpt2").named_parameters())
    wholes = {k: x.detach().numpy() for k, x in parameters.items() if x.ndim == 2}
    mesh, found = DeviceMesh.of({"tensor": 2}), {}
    for rank in range(2):
        divided = {}
        for name, whole in wholes.items():
            half = whole.shape[axis] // 2
            place = [slice(None), slice(None)]
            place[axis] = slice(rank * half, (rank + 1) * half)
            layout = (("tensor", 2, Split(axis)),)
            divided[name] = owned(whole[tuple(place)], whole.shape, layout, mesh, rank)
        for name, tensor in gpt2_in_files(divided).items():
            array = found.setdefault(name, np.full(tensor.shape, np.nan, np.float32))
            for part in tensor.parts:
                ends = zip(part.offsets, part.array.shape, strict=True)
                array[tuple(slice(begin, begin + size) for begin, size in ends)] = part.array

    for name, tensor in TensorReader(GOLDEN / "gpt2" / "model.safetensors").items():
        if name in found:
            np.testing.assert_array_equal(found.pop(name), tensor[()], err_msg=name)
    assert not found


def test_yesterdays_gemma_says_its_pattern_and_two_bases(tmp_path: Path):
    scaling = {"rope_scaling": {"rope_type": "linear", "factor": 8.0}}
    bases = {"rope_theta": 1e6, "rope_local_base_freq": 1e4, "rope_parameters": ...}
    pattern = {"sliding_window_pattern": 2, "layer_types": ...}
    plain = from_pretrained(GOLDEN / "gemma3_text").config

    found = from_pretrained(changed(tmp_path / "old", "gemma3_text", **bases, **pattern)).config
    scaled = changed(tmp_path / "scaled", "gemma3_text", **bases, **pattern, **scaling)
    model = from_pretrained(scaled)
    model.save_pretrained(tmp_path / "again")

    assert found == plain
    assert model.config.rope_scaling == RopeScaling(rope_type="linear", factor=8.0)
    assert from_pretrained(tmp_path / "again").config == model.config
