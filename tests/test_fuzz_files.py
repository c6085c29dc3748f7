"""No file that a reader is pointed at gives anything but what it says, or an error of ours."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from gnomon.errors import ConfigError
from tests import fuzz_files
from tests.fuzz_files import TARGETS, Target, fuzz, meet
from tests.mutations_of_files import JSON, LINES, SAFETENSORS, TOML, ZIP

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", [target.name for target in TARGETS])
def test_changed_files_are_read_or_refused(name):
    count, found = fuzz(seed=5, most=120, only=name)

    assert count >= 120
    assert not found


def test_a_finding_is_one(tmp_path, monkeypatch):
    """The judge sees a raw error, a hang, a file that is not named and a message without end."""
    monkeypatch.setattr(fuzz_files, "SECONDS_AT_MOST", 0.05)

    def hang(_: Path) -> None:
        while True:
            pass

    def refuse(text: str) -> None:
        raise ConfigError(text)

    reads = {
        "KeyError: \"'x'\"": lambda x: {}["x"],
        "it hangs": hang,
        "no file is named": lambda x: refuse("config: wrong."),
        "a message of 5001 characters": lambda x: refuse("one" + "e" * 4998),
    }
    for said, read in reads.items():
        target = Target("x", lambda x: {}, read, files={"one": ()})
        assert meet(target, tmp_path).startswith(said)
    named = Target("x", lambda x: {}, lambda x: refuse("one: wrong."), files={"one": ()})
    assert meet(named, tmp_path) == ""


def test_mutations_follow_from_their_seed_and_change_something():
    content = b'{"a": [1, 2.5, "x"], "b": {"c": null}}'
    for kinds in (JSON, LINES, TOML, SAFETENSORS):
        for mutation in kinds:
            made = [[mutation(content, random.Random(k)) for k in range(20)] for _ in range(2)]
            assert made[0] == made[1]
            assert sum(x != content for x in made[0]) >= 10
    assert len(ZIP) == 10


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 11))
def test_a_hundred_thousand_changed_files_within_a_limit_of_memory(seed):
    program = (
        "import sys; from tests.fuzz_files import fuzz, limit_memory; limit_memory()\n"
        "count, found = fuzz(seed=int(sys.argv[1]), most=10_000)\n"
        "print(count >= 10_000, dict(found))"
    )

    command = [sys.executable, "-c", program, str(seed)]
    said = subprocess.check_output(command, cwd=ROOT, text=True)

    assert said.strip() == "True {}"
