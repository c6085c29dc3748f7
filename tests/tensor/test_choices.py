"""Positions are drawn in proportion to chances, and once each without replacement."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError


def test_samples_without_replacement_differ():
    gn.manual_seed(0)
    chances = gn.tensor([[0.5, 0.0, 0.25, 0.25]])

    for _ in range(5):
        assert sorted(gn.multinomial(chances, 3)[0].tolist()) == [0, 2, 3]
    assert 1 not in gn.multinomial(chances, 200, replacement=True)[0].tolist()


def test_a_draw_and_the_look_at_its_chances_are_one_program():
    evaluation = sys.modules["gnomon.tensor.evaluate"]
    chances = gn.tensor([[0.2, 0.8], [1.0, 0.0]]) * 1.0
    before = evaluation.evaluations

    drawn = gn.multinomial(chances, 1)

    assert drawn[1].tolist() == [0]
    assert evaluation.evaluations - before == 1


def test_one_position_is_drawn_alike_with_and_without_replacement():
    gn.manual_seed(3)
    one = gn.multinomial(gn.ones(7, 5), 1)
    gn.manual_seed(3)

    assert one.tolist() == gn.multinomial(gn.ones(7, 5), 1, True).tolist()


def test_a_tensor_draws_of_its_own_elements_before_anybody_has_loaded_how():
    command = "import gnomon as gn; print(gn.tensor([0.0, 1.0]).multinomial(1).tolist())"
    drawn = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )

    assert drawn.stdout == "[1]\n"


@pytest.mark.parametrize("count", [("x",), (-1,), "2", 1.5, None])
def test_a_count_of_samples_is_an_integer(count):
    with pytest.raises(ArgumentError, match="num_samples is an integer: got"):
        gn.multinomial(gn.ones(3), count)


def test_draws_without_replacement_follow_their_generator():
    def drawn() -> list[int]:
        return gn.multinomial(gn.ones(20), 20, generator=gn.Generator().manual_seed(7)).tolist()

    assert drawn() == drawn()


@pytest.mark.parametrize("chances", [[1.0, 2.0], (), None, "x", 2.5, 1j])
def test_chances_are_a_tensor(chances):
    with pytest.raises(ArgumentError, match="multinomial: input must be a tensor: got"):
        gn.multinomial(chances, 1)
