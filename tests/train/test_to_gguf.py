"""`gnomon gguf` writes a file whose model is the folder's, with matrices in blocks."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import gnomon as gn
from gnomon.commands import called
from gnomon.errors import ArgumentError, ConfigError
from gnomon.models.pretrained import from_pretrained
from gnomon.models.text_format import text_format
from tests.models.writers import chat_folder, prompt, small

SIZES = dict(hidden_size=256, head_dim=128, intermediate_size=256, vocab_size=300)
READER = """\
import hashlib, sys, gguf
reader = gguf.GGUFReader(sys.argv[1])
print(reader.fields["general.architecture"].contents())
for x in reader.tensors:
    numbers = gguf.dequantize(x.data, x.tensor_type)
    print(x.name, x.tensor_type.name, hashlib.sha256(numbers.tobytes()).hexdigest())
"""


def written(tmp_path, *words: str):
    """The file of a command's words, open."""
    assert called(["gguf", *words[:1], str(tmp_path / "x.gguf"), *words[1:]]) == 0
    return gn.gguf.load(tmp_path / "x.gguf")


def logits(model) -> np.ndarray:
    """The scores of a model."""
    with gn.no_grad():
        return model(gn.tensor(prompt(6, 6))).numpy()


@pytest.mark.parametrize("name", ["llama", "qwen2", "qwen3", "qwen3_moe"])
def test_a_folder_becomes_a_file_in_blocks(name, tmp_path, capsys):
    more = dict(sliding_window=None, layer_types=None) if name == "qwen2" else {}
    more |= dict(moe_intermediate_size=256, num_experts=2) if name == "qwen3_moe" else {}
    dense = name != "qwen3_moe"
    sizes = {k: n for k, n in SIZES.items() if dense or k != "intermediate_size"}
    model = small(name, **sizes | more)
    model.save_pretrained(tmp_path / "folder")

    file = written(tmp_path, str(tmp_path / "folder"))

    types = {key: x.type for key, x in file.tensors.items()}
    assert types.pop("token_embd.weight") == types.pop("output.weight") == "Q6_K"
    for key, kind in types.items():
        wide = len(file.tensors[key].shape) < 2 or "gate_inp" in key
        assert kind == ("F32" if wide else "Q4_K"), key
    said = capsys.readouterr().out
    assert f"{tmp_path / 'folder'} has no tokenizer.json: the file has no tokenizer." in said
    assert "Q4_K" in said.splitlines()[-1]
    path = tmp_path / "x.gguf"
    decoded, encoded = from_pretrained(path), from_pretrained(path, encoded=True)
    assert logits(decoded).tobytes() == logits(encoded).tobytes()
    weight = model.model.layers[0].self_attn.q_proj.weight.detach().numpy()
    found = decoded.model.layers[0].self_attn.q_proj.weight.detach().numpy()
    assert 0 < np.square(found - weight).sum() < 0.01 * np.square(weight).sum()


def test_the_tokenizer_and_the_template_are_in_the_file(tmp_path):
    folder = chat_folder(tmp_path / "folder", **SIZES)

    file = written(tmp_path, str(folder), "--type", "q8_0")

    assert {x.type for x in file.tensors.values()} == {"Q8_0", "F32"}
    first, second = text_format(folder), text_format(tmp_path / "x.gguf")
    messages = [{"role": "user", "content": "one two"}]
    assert second.ids("user: one <|endoftext|>") == first.ids("user: one <|endoftext|>")
    pytest.importorskip("jinja2")
    assert second.chat_ids(messages) == first.chat_ids(messages)


def test_a_tokenizer_that_has_no_keys_is_left_out(tmp_path, capsys):
    folder = chat_folder(tmp_path / "folder", template=None)
    described = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    described["normalizer"] = {"type": "Lowercase"}
    (folder / "tokenizer.json").write_text(json.dumps(described), "utf-8")

    file = written(tmp_path, str(folder), "--type", "F16")

    assert not [key for key in file.metadata if key.startswith("tokenizer")]
    said = capsys.readouterr().out
    assert f"The file has no tokenizer: of {folder / 'tokenizer.json'}, it parts texts in" in said


def test_narrow_rows_and_files_of_other_types(tmp_path, capsys):
    chat_folder(tmp_path / "folder")
    first = tmp_path / "first.gguf"
    assert called(["gguf", str(tmp_path / "folder"), str(first), "--type", "F32"]) == 0

    file = written(tmp_path, str(first), "--type", "Q4_K", "--output-type", "F16")

    assert file.tensors["blk.0.attn_q.weight"].type == "Q5_0"
    assert file.tensors["output.weight"].type == "F16"
    assert file.metadata.keys() == gn.gguf.load(first).metadata.keys()
    said = capsys.readouterr().out
    assert "'blk.0.attn_q.weight' of shape (32, 32) is written as Q5_0: its rows are no" in said


def test_what_cannot_be_written_is_refused(tmp_path):
    small("mistral").save_pretrained(tmp_path / "mistral")
    small().save_pretrained(tmp_path / "qwen3")

    with pytest.raises(ArgumentError, match="model_type is 'mistral', and known are llama"):
        written(tmp_path, str(tmp_path / "mistral"))
    with pytest.raises(ArgumentError, match=r"cannot be written as 'Q2_K'. Use Q4_0"):
        written(tmp_path, str(tmp_path / "qwen3"), "--type", "Q2_K")
    with pytest.raises(ConfigError, match="nowhere is not a run"):
        written(tmp_path, str(tmp_path / "nowhere"))
    assert not (tmp_path / "x.gguf").exists()


@pytest.mark.packages
def test_gguf_py_reads_the_file(tmp_path):
    python = os.environ.get("GNOMON_PACKAGES_PYTHON", sys.executable)  # one that has gguf
    folder = chat_folder(tmp_path / "folder", **SIZES)
    file = written(tmp_path, str(folder))

    command = [python, "-c", READER, str(tmp_path / "x.gguf")]
    said = subprocess.check_output(command, text=True, env={}).splitlines()

    assert said == ["qwen3"] + [
        f"{name} {x.type} {hashlib.sha256(x.dequantize().numpy().tobytes()).hexdigest()}"
        for name, x in file.tensors.items()
    ]
