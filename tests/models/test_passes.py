"""Scores do not depend on how a text is divided into passes, nor on what is read beside it."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.models import passes
from gnomon.models.passes import CachedRows
from gnomon.models.registry import MODELS
from tests.models.writers import prompt, small


@pytest.fixture(scope="module")
def model():
    """A model that tests only read."""
    return small(max_position_embeddings=300)


@pytest.mark.parametrize("name", MODELS)
def test_one_pass_has_the_bits_of_many_and_of_the_whole_model(name: str):
    model = small(name)
    (row,) = prompt(9)
    whole, pieces = CachedRows(model.passes), CachedRows(model.passes)

    at_once = whole.read([row])
    for piece in (row[:4], row[4:5], row[5:6], row[6:]):
        in_pieces = pieces.read([piece])

    assert at_once.tobytes() == in_pieces.tobytes()
    with gn.no_grad():
        wanted = model(gn.tensor([row]))[:, -1].numpy()
    assert at_once.tobytes() == wanted.tobytes()


def test_rows_of_several_lengths_have_the_bits_that_each_has_alone(model):
    rows, more = prompt(9, 2, 5), prompt(1, 3, 2, seed=1)
    both = CachedRows(model.passes, 3)

    found = [both.read(rows), both.read(more), both.read([[7], [], [8]])]

    for place, row in enumerate(rows):
        alone = CachedRows(model.passes)
        assert alone.read([row]).tobytes() == found[0][place].tobytes()
        assert alone.read([more[place]]).tobytes() == found[1][place].tobytes()
        if place != 1:
            assert alone.read([[7 + place // 2]]).tobytes() == found[2][place].tobytes()
    assert both.rows == [[*rows[0], *more[0], 7], [*rows[1], *more[1]], [*rows[2], *more[2], 8]]


def test_a_cache_grows_and_changes_no_bit(model, monkeypatch):
    rows = prompt(30, 4)
    large = CachedRows(model.passes, 2)
    wanted = [large.read(rows), *(large.read([[k], [k]]) for k in range(1, 8))]

    monkeypatch.setattr(passes, "SMALLEST", 8)
    small_one = CachedRows(model.passes, 2)
    found, sizes = [small_one.read(rows)], [small_one.size]
    for k in range(1, 8):
        found.append(small_one.read([[k], [k]]))
        sizes.append(small_one.size)

    assert [x.tobytes() for x in found] == [x.tobytes() for x in wanted]
    assert (sizes[0], sizes[-1], large.size) == (32, 64, 128)


def test_no_length_of_a_prompt_needs_a_program_of_its_own():
    fresh, counts = small(max_position_embeddings=600), []
    for length in (5, 9, 150, 3, 77, 300, 128, 2, 590, 33, 513, 64):
        context = CachedRows(fresh.passes)
        context.read(prompt(length))
        context.read([[1]])
        counts.append((fresh.passes.read.captures, fresh.passes.extend.captures))

    assert counts[5:] == [(5, 2)] * 7


def test_tokens_that_were_read_are_not_read_anew(model):
    context = CachedRows(model.passes)
    (row,) = prompt(9)
    assert context.unread([row]) == [row]
    first = context.read([row])

    assert context.unread([row]) == [row[-1:]]
    assert context.read([row[-1:]]).tobytes() == first.tobytes()
    other = [*row[:4], 299, 298]
    assert context.unread([other]) == [[299, 298]]
    assert context.read([[299, 298]]).tobytes() == CachedRows(model.passes).read([other]).tobytes()
    assert context.unread([[5]]) == [[5]]


def test_a_text_longer_than_the_context_is_refused(model):
    context = CachedRows(model.passes)

    with pytest.raises(ArgumentError, match=r"301 tokens is longer than max_position_embeddings"):
        context.read(prompt(301))


def test_a_step_writes_into_the_cache_where_it_lies(model):
    context = CachedRows(model.passes, 3)
    context.read(prompt(4, 2, 9))
    context.read([[1]] * 3)
    places = [address(x) for pair in context.cache for x in pair]

    context.read([[2]] * 3)

    assert [address(x) for pair in context.cache for x in pair] == places
    names = [x.name for x in model.passes.extend.kernels()]
    assert "put_rows" in names


def address(tensor):
    """Where a tensor's bytes are."""
    return tensor._storage.node.value.address
