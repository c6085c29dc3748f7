"""A configuration is checked whole, and a wrong one says where, what came and what is allowed."""

from __future__ import annotations

import pytest

from gnomon.errors import ConfigError
from gnomon.train.config import Config, build, near, overridden, read_toml, to_dict
from gnomon.train.recipes import python

pytestmark = pytest.mark.unit


def test_a_configuration_survives_the_way_through_dictionaries():
    assert build(to_dict(python())) == python()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("train.steps=0", r"train\.steps: expected int >= 1: got 0"),
        ("run.device=tpu", r"run\.device: expected one of 'cpu', 'cuda': got 'tpu'\."),
        ("model.layer_types=['a']", r"layer_types\[0\]: expected one of 'full_.*: got 'a'\."),
        ("train.steps=many", r"train\.steps: expected int: got 'many'"),
        ("train.stepz=3", r"train\.stepz is not a key: did you mean steps\?.*warm|batch_size"),
        ("optimizer.beta1=1.5", r"optimizer\.beta1: expected float <= 1.0: got 1.5"),
        ("optimizer.learning_rate=-1", r"optimizer\.learning_rate: expected float > 0.*got -1"),
        ("model.head_dim=3", r"model\.head_dim: .*multiple of 2: got 3"),
        ("model.num_key_value_heads=3", r"a divisor of num_attention_heads \(4\): got 3"),
        ("train.sequence_length=9999", r"at most model\.max_position_embeddings \(256\): got 9999"),
        ("evaluation.stride=300", r"at most train\.sequence_length \(256\): got 300"),
        ("trian.steps=3", r"trian is not a group: did you mean train\?"),
        ("steps=3", r"expected GROUP\.NAME=VALUE: got 'steps=3'"),
        ("train.steps", r"expected GROUP\.NAME=VALUE: got 'train\.steps'"),
    ],
)
def test_a_wrong_change_names_path_value_and_what_is_allowed(change, message):
    with pytest.raises(ConfigError, match=message):
        build(overridden(to_dict(python()), [change]))


def test_an_unknown_group_in_a_file_is_named():
    with pytest.raises(ConfigError, match="optimiser is not a key: did you mean optimizer"):
        build({"optimiser": {}})


def test_a_group_that_is_no_table_is_named():
    with pytest.raises(ConfigError, match="train: expected object: got 3"):
        build({"train": 3})


def test_changes_are_made_in_order_and_leave_the_original_alone():
    before = {"train": {"steps": 1}}

    after = overridden(before, ["train.steps=2", "train.steps=3", "run.name=one"])

    assert after == {"train": {"steps": 3}, "run": {"name": "one"}}
    assert before == {"train": {"steps": 1}}


def test_values_are_toml_and_words_stand_for_themselves():
    changed = overridden({}, ["run.name=a=b", "run.dir=none", "run.seed=1_000", 'run.x="2"'])

    assert changed["run"] == {"name": "a=b", "dir": None, "seed": 1000, "x": "2"}


def test_a_number_that_is_whole_is_a_float_where_one_is_wanted():
    assert build({"optimizer": {"weight_decay": 0}}).optimizer.weight_decay == 0.0


def test_near_lists_what_is_allowed_when_nothing_is_close():
    assert near("zzz", ["b", "a"]) == "Allowed: a, b."


def test_a_file_that_is_no_toml_is_named(tmp_path):
    path = tmp_path / "wrong.toml"
    path.write_text("steps = = 3")

    with pytest.raises(ConfigError, match=r"wrong\.toml cannot be read"):
        read_toml(path)


def test_every_group_has_defaults():
    assert build({}) == Config()
