"""A compiled function is the function: attacks see what a plain one shows, or are refused.

The attacks are in attacks.py and the files beside it, and who compares them in attack_harness.py.
"""

import pytest

import gnomon as gn
from gnomon.capture.guards import Guard
from tests.capture import (
    attacks,
    attacks_of_libraries,
    attacks_of_references,
    attacks_of_tensors,
)
from tests.capture.attack_harness import differs, is_refusal, seen, stale

FILES = attacks, attacks_of_tensors, attacks_of_libraries, attacks_of_references
ATTACKS = [each for file in FILES for each in file.ATTACKS]
IDS = [attack.__name__ for attack in ATTACKS]


@pytest.mark.parametrize("attack", ATTACKS, ids=IDS)
def test_a_compiled_function_is_the_function(attack):
    assert not differs(attack)


def test_each_attack_sees_a_function_that_goes_stale():
    assert not [attack.__name__ for attack in ATTACKS if not differs(attack, stale)]


def test_the_attacks_see_guards_that_always_hold(monkeypatch):
    monkeypatch.setattr(Guard, "holds", lambda self: True)

    found = [attack for attack in attacks.ATTACKS[20:50] if differs(attack)]

    assert len(found) > 20


def test_a_refusal_names_a_line_of_the_attack_and_what_to_do():
    told = "step: no such thing. Do it outside."

    assert not is_refusal(gn.errors.TraceError(told))
    assert is_refusal(gn.errors.TraceError(f"{told}   [tests/capture/attacks.py:12]"))
    assert not is_refusal(ValueError(f"{told}   [tests/capture/attacks.py:12]"))


def test_a_refused_attack_is_compared_up_to_there():
    def refused(way):
        yield way(lambda a: a * 2)(gn.ones(1)), 1
        raise gn.errors.TraceError("x: y. Do z.   [tests/capture/attacks.py:12]")

    assert seen(refused, gn.compile)[-1] == "refused"
    assert not differs(refused)
    assert differs(refused, lambda f: lambda a: a)
