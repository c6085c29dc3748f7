"""Commands that write texts have the same sampling flags, with one check and one meaning."""

from __future__ import annotations

import pytest

from gnomon.commands import app, called
from gnomon.errors import ConfigError
from gnomon.train.generate import Sampling
from gnomon.train.sampling_flags import UNSET, SamplingFlags

COMMANDS = ["generate", "complete", "chat", "serve"]
FLAGS = ["max-new-tokens", "temperature", "top-k", "top-p", "seed"]


def helped(command: str, capsys) -> list[str]:
    """The lines about sampling in a command's help."""
    app([command, "--help"], result_action="return_value")
    lines = capsys.readouterr().out.split("--max-new-tokens")[1].splitlines()
    return [" ".join(line.strip("│ ").split()) for line in lines]


def test_all_commands_have_the_same_flags_and_texts(capsys):
    found = [helped(command, capsys) for command in COMMANDS]

    assert found[1:] == found[:1] * 3
    assert [x for x in FLAGS[1:] if not any(f"--{x}" in line for line in found[0])] == []


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("flag", "value", "expected"),
    [
        ("max-new-tokens", "-1", "int >= 0: got -1"),
        ("top-k", "-2", "int >= 0: got -2"),
        ("seed", "-3", "int >= 0: got -3"),
        ("seed", str(1 << 64), "int < 2 ** 64: got 18446744073709551616"),
        ("temperature", "-0.5", "float >= 0: got -0.5"),
        ("temperature", "nan", "float >= 0: got nan"),
        ("temperature", "inf", "float >= 0: got inf"),
        ("top-p", "0", "float > 0 and <= 1: got 0.0"),
        ("top-p", "1.5", "float > 0 and <= 1: got 1.5"),
    ],
)
def test_a_value_is_refused_alike_before_a_model_is_looked_for(command, flag, value, expected):
    with pytest.raises(ConfigError) as wrong:
        called([command, "nowhere", f"--{flag}", value])

    assert str(wrong.value) == f"generate: --{flag}: expected {expected}."


def test_a_temperature_of_zero_draws_nothing():
    assert UNSET.options() == UNSET.given() == {}
    assert SamplingFlags(seed=3).options() == {"seed": 3}
    zero = SamplingFlags(max_new_tokens=4, temperature=0.0)
    assert zero.options() == {"max_new_tokens": 4, "do_sample": False}
    some = SamplingFlags(temperature=0.5, top_k=0)
    assert some.options() == {"do_sample": True, "temperature": 0.5, "top_k": 0}


def test_generate_has_defaults_of_its_own():
    assert Sampling.of(UNSET) == Sampling(0.8, 40, 0, 1.0)
    given = SamplingFlags(temperature=0.0, top_p=0.5, seed=4, max_new_tokens=9)
    assert Sampling.of(given) == Sampling(0.0, 40, 4, 0.5)
