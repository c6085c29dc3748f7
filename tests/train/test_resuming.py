"""A resumed run is the run of its configuration, or says that it is a branch, or is refused."""

from __future__ import annotations

import dataclasses

import pytest

from gnomon.errors import ConfigError
from gnomon.train.checkpoint import newest
from gnomon.train.config import Config, build, overridden, to_dict
from gnomon.train.loop import Trainer
from gnomon.train.progress import Progress
from gnomon.train.resuming import FIXED, FREE, LEARNING, differences, flat, weighed

KEYS = sorted(flat(to_dict(Config())))


def changed(config, *changes):
    """The configuration with `a.b=c` changes."""
    return build(overridden(to_dict(config), changes))


def in_list(key, names):
    """Whether a key is meant by a list of keys and beginnings."""
    return any(key == name or (name.endswith(".") and key.startswith(name)) for name in names)


@pytest.mark.parametrize("key", KEYS)
def test_every_key_is_free_or_fixed_or_of_learning(key):
    homes = [in_list(key, names) for names in (FREE, FIXED, LEARNING)]

    # the folder of the text is free, since the text's hash is compared
    assert sum(homes) == 1 + (key == "corpus.folder")


@pytest.mark.parametrize(
    "change",
    [
        *("run.seed=1", "corpus.held_out_percent=7", "model.rope_theta=500.0", "train.steps=3"),
        *("model.hidden_size=32", "train.batch_size=3", "train.sequence_length=8"),
    ],
)
def test_what_would_be_another_run_is_refused(config, change):
    key, _, value = change.partition("=")
    now = changed(config, change, "evaluation.stride=8")

    with pytest.raises(ConfigError, match=rf"resume: {key}.*: got {value}\. Start a new run\."):
        weighed(config, now, 4)


@pytest.mark.parametrize(
    ("change", "done", "branches"),
    [
        ("optimizer.learning_rate=0.1", 4, True),
        ("optimizer.learning_rate=0.1", 0, False),
        ("optimizer.weight_decay=0", 1, True),
        ("train.steps=7", 5, True),  # the curve is stretched: earlier steps had another rate
        ("train.steps=5", 4, False),
        ("train.steps=60", 1, False),  # the first step's rate is the same
        ("schedule.final_factor=0.5", 2, False),
        ("schedule.final_factor=0.5", 5, True),
        ("train.checkpoint_every=1", 4, False),
        ("corpus.folder=elsewhere", 4, False),
    ],
)
def test_another_way_of_learning_is_a_branch_if_steps_were_taken(config, change, done, branches):
    free, branch = weighed(config, changed(config, change), done)

    key = change.partition("=")[0]
    assert [x.key for x in branch] == [key] * branches
    assert [x.key for x in free] == [key] * (not branches)


def test_free_changes_end_in_the_bits_of_a_run_begun_with_them(config, tmp_path):
    free = ["run.name=other", "run.threads=1", "train.evaluate_every=2", "evaluation.batch_size=3"]
    free += ["train.checkpoint_every=1", "train.keep_checkpoints=1", "evaluation.stride=4"]
    free += ["train.microbatches=2", "train.record_hashes=true"]
    free += [
        "evaluation.quick_windows=2",
        "sample.prompt=x",
        "sample.top_k=2",
        "sample.temperature=0",
    ]
    free += ["sample.max_new_tokens=2", "schedule.decay_fraction=0.5", "train.steps=6"]
    now = changed(config, *free)
    short = dataclasses.replace(config.train, steps=2)

    first = trained(dataclasses.replace(config, train=short), tmp_path / "parts", None)
    found, _ = newest(tmp_path / "parts")
    rest, whole = trained(now, tmp_path / "parts", found), trained(now, tmp_path / "whole", None)

    assert first.done == 2
    assert weighed(first.config, now, 2)[1] == []
    assert rest.fingerprint() == whole.fingerprint()


def trained(config, folder, resumed):
    """A run to its end."""
    folder.mkdir(exist_ok=True)
    made = Trainer(config, folder, Progress(), resumed)
    made.prepare()
    made.run()
    return made


def test_a_difference_says_what_was_and_what_is(config):
    (found,) = differences(config, changed(config, "optimizer.beta2=0.5"))

    assert str(found) == "optimizer.beta2: 0.5 (was 0.95)"
