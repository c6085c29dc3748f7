"""Recipes are whole and right; a file may start from one."""

from __future__ import annotations

import pytest

from gnomon.errors import ConfigError
from gnomon.train.config import build, to_dict
from gnomon.train.recipes import RECIPES, configure, python, tiny

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_a_recipe_is_a_valid_configuration_of_its_name(name):
    config = RECIPES[name]()

    assert build(to_dict(config)) == config
    assert config.run.name == name
    assert config.schedule.steps == config.train.steps


def test_an_unknown_recipe_offers_the_nearest():
    with pytest.raises(ConfigError, match=r"pyhton is neither .* did you mean python\?"):
        configure("pyhton", [])


def test_a_file_changes_the_recipe_that_it_names(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('recipe = "tiny"\n[train]\nsteps = 7\n')

    config = configure(str(path), ["run.seed=3"])

    assert (config.train.steps, config.run.seed) == (7, 3)
    assert config.model == tiny().model


def test_a_file_without_a_recipe_starts_from_the_defaults(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("[train]\nsteps = 7\n")

    assert configure(str(path), []).train.steps == 7


def test_a_wrong_key_in_a_file_is_named(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('recipe = "tiny"\n[trian]\nsteps = 7\n')

    with pytest.raises(ConfigError, match="trian is not a key"):
        configure(str(path), [])


def test_a_part_of_another_kind_is_named(tmp_path):
    (tmp_path / "mine.toml").write_text('recipe = "python"\ntrain = [1, 2]\n')

    with pytest.raises(ConfigError, match=r"mine.toml: .*train"):
        configure(str(tmp_path / "mine.toml"), [])


def test_steps_shorten_a_recipe_without_touching_its_schedule():
    config = configure("python", ["train.steps=9"])

    assert config.train.steps == 9
    assert config.schedule == python().schedule
