"""A checkpoint is whole or not there, reads back to the bits, and says when it was damaged."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gnomon.errors import CheckpointError
from gnomon.models.config import Qwen3Config
from gnomon.train import checkpoint
from gnomon.train.checkpoint import Saved, checkpoints, fingerprint, newest, read, save

pytestmark = pytest.mark.unit


def saved(step, rng):
    """A small thing to save."""
    arrays = {f"w{n}": rng.standard_normal((3, n + 1)).astype(np.float32) for n in range(4)}
    state = {f"{name}.exp_avg": array * 2 for name, array in arrays.items()}
    state["w0.step"] = np.asarray(step, np.float32)
    return Saved(step, arrays, state, Qwen3Config(), '{"version": "1.0"}', {"data_hash": "x"})


def test_what_was_saved_is_read_to_the_bits(tmp_path, rng):
    wanted = saved(7, rng)

    found = read(save(tmp_path, wanted, keep=2))

    assert fingerprint(found.parameters()) == fingerprint(wanted.parameters)
    assert fingerprint(found.optimizer()) == fingerprint(wanted.optimizer)
    assert (found.step, found.model, found.trainer["data_hash"]) == (7, Qwen3Config(), "x")


def test_the_layout_is_hugging_faces(tmp_path, rng):
    folder = save(tmp_path, saved(7, rng), keep=2)

    names = {path.name for path in folder.iterdir()}
    assert names == {
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "model.safetensors.index.json",
        "optimizer.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "trainer.json",
    }
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    assert index["weight_map"] == dict.fromkeys(["w0", "w1", "w2", "w3"], "model.safetensors")
    assert index["metadata"]["total_size"] == 4 * 3 * (1 + 2 + 3 + 4)
    assert b'"format":"pt"' in (folder / "model.safetensors").read_bytes()[:200]


def test_large_models_are_cut_in_shards(tmp_path, rng, monkeypatch):
    monkeypatch.setattr(checkpoint, "LARGEST_SHARD", 40)
    wanted = saved(7, rng)

    folder = save(tmp_path, wanted, keep=2)

    assert len(list(folder.glob("model-*-of-00003.safetensors"))) == 3
    assert fingerprint(read(folder).parameters()) == fingerprint(wanted.parameters)


def test_only_the_newest_are_kept(tmp_path, rng):
    for step in (1, 2, 3, 10):
        save(tmp_path, saved(step, rng), keep=2)

    assert [path.name for path in checkpoints(tmp_path)] == ["step-00000003", "step-00000010"]


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "tokenizer.json"])
def test_damage_is_noticed_and_the_one_before_is_taken(tmp_path, rng, name):
    save(tmp_path, saved(1, rng), keep=3)
    damaged = save(tmp_path, saved(2, rng), keep=3) / name
    content = bytearray(damaged.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)

    found, problems = newest(tmp_path)

    assert found.step == 1
    assert len(problems) == 1
    assert name in problems[0]


def test_a_missing_file_is_noticed(tmp_path, rng):
    folder = save(tmp_path, saved(1, rng), keep=3)
    (folder / "optimizer.safetensors").unlink()

    with pytest.raises(CheckpointError, match=r"optimizer\.safetensors is not what was written"):
        read(folder)
    (folder / "trainer.json").unlink()
    with pytest.raises(CheckpointError, match=r"trainer\.json cannot be read"):
        read(folder)


def test_a_failure_while_writing_leaves_no_checkpoint(tmp_path, rng, monkeypatch):
    def fail(path, content):
        raise OSError("no space left")

    monkeypatch.setattr(checkpoint, "write", fail)

    with pytest.raises(OSError, match="no space left"):
        save(tmp_path, saved(1, rng), keep=3)

    assert list((tmp_path / "checkpoints").iterdir()) == []
    assert newest(tmp_path) == (None, [])


def test_the_fingerprint_sees_names_shapes_dtypes_and_bits():
    zero = np.zeros((2, 3), np.float32)
    others = [
        {"b": zero},
        {"a": zero.reshape(3, 2)},
        {"a": zero.astype(np.float64)},
        {"a": -zero},
        {"a": zero, "b": zero},
    ]

    assert fingerprint({"a": zero, "b": zero}) == fingerprint({"b": zero, "a": zero})
    assert len({fingerprint(x) for x in [{"a": zero}, *others]}) == 6
