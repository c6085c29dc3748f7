"""A checkpoint is whole or not there, reads back to the bits, and says when it was damaged."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest
import safetensors

from gnomon.distributed.checkpoint import files as tensor_files
from gnomon.errors import CheckpointError
from gnomon.models.config import Qwen3Config
from gnomon.train.checkpoint import (
    Checkpoint,
    checkpoints,
    fingerprint,
    newest,
    open_checkpoint,
    sealed,
    verified,
)
from gnomon.train.state import model_of
from tests.train.saving import arrays_at, contents, reseal, save

pytestmark = pytest.mark.unit


def saved(step, rng):
    """A small thing to save."""
    return contents(step, arrays_at(step, rng))


def test_what_was_saved_is_read_to_the_bits(tmp_path, rng):
    arrays = arrays_at(7, rng)

    found = verified(save(tmp_path, contents(7, arrays), keep=2))

    assert fingerprint(found.parameters()) == fingerprint(arrays["model"])
    assert fingerprint(found.optimizer()) == fingerprint(arrays["optimizer"])
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
        "optimizer.safetensors.index.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "trainer.json",
    }
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    assert index["weight_map"] == dict.fromkeys(["w0", "w1", "w2", "w3"], "model.safetensors")
    assert index["metadata"]["total_size"] == 4 * 3 * (1 + 2 + 3 + 4)
    with safetensors.safe_open(folder / "model.safetensors", "np") as file:
        assert file.metadata() == {"format": "pt"}
        found = {name: file.get_tensor(name) for name in index["weight_map"]}
    assert fingerprint(found) == fingerprint(verified(folder).parameters())


def test_large_models_are_cut_in_shards(tmp_path, rng, monkeypatch):
    monkeypatch.setattr(tensor_files, "LARGEST_FILE", 40)
    arrays = arrays_at(7, rng)

    folder = save(tmp_path, contents(7, arrays), keep=2)

    assert len(list(folder.glob("model-*-of-00003.safetensors"))) == 3
    assert len(list(folder.glob("optimizer-*.safetensors"))) == 3
    assert fingerprint(verified(folder).parameters()) == fingerprint(arrays["model"])
    assert fingerprint(verified(folder).optimizer()) == fingerprint(arrays["optimizer"])


def test_only_the_newest_are_kept(tmp_path, rng):
    for step in (1, 2, 3, 10):
        save(tmp_path, saved(step, rng), keep=2)

    assert [path.name for path in checkpoints(tmp_path)] == ["step-00000003", "step-00000010"]


FILES = ["config", "generation_config", "model.safetensors.index", "tokenizer"]
FILES += ["optimizer.safetensors.index", "tokenizer_config", "trainer"]
FILES = [f"{x}.json" for x in FILES]
FILES += ["model.safetensors", "optimizer.safetensors"]


@pytest.mark.parametrize("name", FILES)
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

    with pytest.raises(CheckpointError, match=r"optimizer\.safetensors cannot be read: No such"):
        verified(folder)
    (folder / "trainer.json").unlink()
    with pytest.raises(CheckpointError, match=r"trainer\.json cannot be read"):
        verified(folder)


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


BITS = (1, 4, 64)


@pytest.mark.parametrize("each", [1, pytest.param(len(BITS), marks=pytest.mark.long)])
def test_no_changed_byte_of_the_trainers_file_is_believed(tmp_path, rng, each: int):
    """Of each byte one bit is changed in turn; all of them by hand."""
    older = verified(save(tmp_path, saved(1, rng), keep=3))
    newer = save(tmp_path, saved(7, rng), keep=3)
    path, wanted = newer / "trainer.json", verified(newer)
    content = path.read_bytes()

    for place in range(len(content)):
        for number in range(each):
            bit = BITS[(place + number) % len(BITS)]
            changed = bytearray(content)
            changed[place] ^= bit
            path.write_bytes(changed)

            assert believed(newer) in (wanted, f"checkpoint: {path} ")
            if place % 100 == 0:
                assert newest(tmp_path)[0] in (wanted, older)


def believed(folder):
    """A checkpoint, or how the refusal of it begins."""
    try:
        return verified(folder)
    except CheckpointError as wrong:
        return re.match(r"checkpoint: \S+ ", str(wrong))[0]


@pytest.mark.parametrize(("old", "new"), [(b'"step": 7', b'"step": 11'), (b'"x"', b'"y"')])
def test_what_the_trainers_file_says_has_a_sum_too(tmp_path, rng, old, new):
    folder = save(tmp_path, saved(7, rng), keep=3)
    path = folder / "trainer.json"
    path.write_bytes(path.read_bytes().replace(old, new))

    with pytest.raises(CheckpointError, match=r"trainer\.json is not what was written"):
        verified(folder)


def test_a_checkpoint_under_another_steps_name_is_no_checkpoint(tmp_path, rng):
    folder = save(tmp_path, saved(7, rng), keep=3)
    other = folder.rename(folder.with_name("step-00000011"))
    elsewhere = shutil.copytree(other, tmp_path / "copied")

    assert newest(tmp_path)[0] is None
    assert verified(elsewhere).step == 7


def test_a_damaged_one_is_written_anew_and_takes_no_whole_one_with_it(tmp_path, rng):
    for step in (1, 2):
        save(tmp_path, saved(step, rng), keep=3)
    damaged = tmp_path / "checkpoints" / "step-00000002" / "config.json"
    damaged.write_text("{}")

    save(tmp_path, saved(1, rng), keep=1)
    assert newest(tmp_path)[0].step == 1
    save(tmp_path, saved(2, rng), keep=1)

    assert newest(tmp_path) == (verified(damaged.parent), [])
    assert [x.name for x in checkpoints(tmp_path)] == ["step-00000002"]


def test_steps_are_in_order_whatever_their_digits(tmp_path):
    for name in ("step-99999999", "step-100000000", "step-00000001", "step-x", "step-1"):
        (tmp_path / "checkpoints" / name).mkdir(parents=True)
    (tmp_path / "checkpoints" / "step-00000009").touch()

    found = [x.name for x in checkpoints(tmp_path)]

    assert found == ["step-00000001", "step-99999999", "step-100000000"]


@pytest.mark.parametrize("name", ["../out.safetensors", "/etc/passwd", "..", "a/../../out", "a\0b"])
def test_weights_lie_in_the_checkpoints_own_folder(tmp_path, rng, name):
    folder = save(tmp_path, saved(7, rng), keep=3)
    shutil.copy(folder / "model.safetensors", tmp_path / "out.safetensors")
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": dict.fromkeys(["w0", "w1", "w2", "w3"], name)}))
    reseal(folder)

    with pytest.raises(CheckpointError, match=r"index\.json cannot be read: .*matching regex"):
        verified(folder).parameters()


def test_a_link_out_of_the_folder_is_not_followed(tmp_path, rng):
    folder = save(tmp_path, saved(7, rng), keep=3)
    path = folder / "model.safetensors"
    path.rename(tmp_path / "out.safetensors")
    path.symlink_to(tmp_path / "out.safetensors")

    with pytest.raises(CheckpointError, match=r"safetensors cannot be read: Too many levels"):
        verified(folder)
    with pytest.raises(CheckpointError, match=r"safetensors cannot be read: Too many levels"):
        Checkpoint(folder, 7, {}).parameters()


@pytest.mark.parametrize(("name", "value"), [("num_hidden_layers", 257), ("vocab_size", 10**7)])
def test_sizes_are_compared_with_the_weights_before_a_model_is_made(tmp_path, rng, name, value):
    folder = save(tmp_path, saved(7, rng), keep=3)
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    reseal(folder)

    with pytest.raises(
        CheckpointError, match=r"config\.json tells of [\d,]+ parameters: its weights"
    ):
        model_of(verified(folder))


def test_an_index_that_names_other_weights_is_refused(tmp_path, rng):
    folder = save(tmp_path, saved(7, rng), keep=3)
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": {"w0": "model.safetensors"}}))
    reseal(folder)

    with pytest.raises(CheckpointError, match="names other tensors than its files hold"):
        verified(folder).parameters()


@pytest.mark.parametrize(("file", "group"), [("model", "w2"), ("optimizer", "w2.exp_avg")])
def test_a_flipped_bit_is_found_and_named(tmp_path, rng, file, group):
    folder = save(tmp_path, saved(7, rng), keep=3)
    path = folder / f"{file}.safetensors"
    with safetensors.safe_open(path, "np") as open_file:
        wanted = open_file.get_tensor(group).tobytes()
    content = bytearray(path.read_bytes())
    content[content.index(wanted) + 5] ^= 8
    path.write_bytes(content)

    with pytest.raises(CheckpointError, match=rf"tensor {group} of .*{file}\.safetensors is not"):
        verified(folder)
    assert open_checkpoint(folder).step == 7


def test_a_flipped_bit_of_a_header_is_found(tmp_path, rng):
    path = save(tmp_path, saved(7, rng), keep=3) / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content.replace(b'{"format":"pt"}', b'{"format":"qt"}'))

    with pytest.raises(CheckpointError, match=r"the header of .*model\.safetensors is not"):
        verified(path.parent)


def test_a_checkpoint_of_an_earlier_format_is_refused_with_a_sentence(tmp_path, rng):
    path = save(tmp_path, saved(7, rng), keep=3) / "trainer.json"
    trainer = json.loads(path.read_bytes())
    path.write_bytes(sealed({k: v for k, v in trainer.items() if k != "format"}))

    with pytest.raises(CheckpointError, match="is of format 1: this version reads format 2"):
        verified(path.parent)
