"""Texts that come and go at any step have the tokens that each has alone."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.models import passes, text_batch
from gnomon.models.generation import Writing
from gnomon.models.passes import CachedRows
from gnomon.models.registry import MODELS
from gnomon.models.text_batch import TextBatch
from tests.models.writers import prompt, small

DRAWN = {"do_sample": True, "temperature": 3.0, "top_k": 0}


@pytest.fixture(scope="module")
def model():
    """A model that tests only read."""
    return small()


def row_of(model, ids, count, seed=None, **options):
    """A text that may be written."""
    (row,) = Writing(model, {"max_new_tokens": count, **options}, None, seed).rows([ids])
    return row


def alone(model, row) -> list[int]:
    """The tokens of a row as `generate` writes them."""
    ids, config = row.tokens[: len(row.tokens) - row.count], row.config
    drawing = {k: getattr(config, k) for k in ("do_sample", "temperature", "top_k")}
    given = drawing | {"repetition_penalty": config.repetition_penalty, "seed": row.seed}
    return model.generate(gn.tensor([ids]), max_new_tokens=row.most, **given)[0].tolist()


def write(batch: TextBatch, comes: dict[int, object], leaves: dict[int, object] | None = None):
    """Take steps in which texts come and leave, until all have ended; the numbers of places."""
    comes, places = dict(comes), []
    while comes or batch.coming or any(batch.rows):
        number = len(places)
        if number in (leaves or {}):
            batch.leave(leaves[number])
        due = [k for k in comes if k <= number]
        if due and batch.has_place:
            batch.join(comes.pop(due[0]))
        for _, wrong in (*batch.read(), *batch.extend()):
            assert wrong is None
        places.append(len(batch.rows))
    return places


@pytest.mark.parametrize("name", ["qwen3", "gemma3_text", "qwen3_moe"])
def test_each_text_has_the_tokens_that_it_has_alone(name):
    assert name in MODELS
    model, (first, second, third) = small(name), prompt(7, 2, 12)
    rows = [
        row_of(model, first, 9),
        row_of(model, second, 6, seed=3, **DRAWN),
        row_of(model, third, 4, repetition_penalty=1e6),
    ]

    write(TextBatch(model.passes, 4), {0: rows[0], 2: rows[1], 3: rows[2]})

    assert [row.tokens for row in rows] == [alone(model, row) for row in rows]
    assert len({*rows[0].tokens[7:]}) > 2


def test_scores_have_the_bits_of_a_row_alone(model, monkeypatch):
    rows = [row_of(model, ids, 5) for ids in prompt(5, 9)]
    found, wanted = {row: [] for row in rows}, {row: [] for row in rows}
    inner = type(rows[0]).add

    def added(row, scores_v):
        if row in found:
            found[row].append(scores_v.tobytes())
        inner(row, scores_v)

    monkeypatch.setattr(type(rows[0]), "add", added)
    write(TextBatch(model.passes, 2), {0: rows[0], 2: rows[1]})
    monkeypatch.undo()

    for row, bits in wanted.items():
        cached, fresh = CachedRows(model.passes), row.tokens[: -row.count]
        for token in row.tokens[-row.count :]:
            bits.append(cached.read([fresh])[0].tobytes())
            fresh = [token]
    assert found == wanted


def test_places_are_powers_of_two_and_few_texts_have_few(model):
    given = zip(prompt(*[3] * 5), (9, 20, 2, 8, 3), strict=True)
    rows = [row_of(model, ids, count) for ids, count in given]

    places = write(TextBatch(model.passes, 8), dict(enumerate(rows)))

    assert {*places} == {1, 2, 4}
    assert places[-1] == 1
    assert [row.tokens for row in rows] == [alone(model, row) for row in rows]


def test_a_text_that_leaves_makes_room_and_changes_no_other(model):
    rows = [row_of(model, ids, 12) for ids in prompt(4, 5, 6)]
    batch = TextBatch(model.passes, 2)

    write(batch, {0: rows[0], 1: rows[1], 2: rows[2]}, {4: rows[0]})

    assert rows[0].count < 12
    assert [row.tokens for row in rows[1:]] == [alone(model, row) for row in rows[1:]]
    coming = row_of(model, prompt(4)[0], 3)
    batch.join(coming)
    batch.leave(coming)
    assert batch.has_place
    assert batch.read() == batch.extend() == []


def test_a_long_prompt_is_read_in_parts_between_the_others_steps(model, monkeypatch):
    monkeypatch.setattr(text_batch, "PART", 4)
    rows = [row_of(model, ids, 9) for ids in prompt(3, 14)]
    batch, counts = TextBatch(model.passes, 2), []
    batch.join(rows[0])
    batch.read()
    batch.join(rows[1])
    while rows[1].count == 0:
        batch.read()
        batch.extend()
        counts.append(rows[0].count)

    write(batch, {})

    assert counts == [2, 3, 4, 5]
    assert [row.tokens for row in rows] == [alone(model, row) for row in rows]


def test_a_prompt_that_begins_as_the_last_one_is_not_read_anew(model):
    (ids,) = prompt(12)
    batch, read = TextBatch(model.passes, 2), []
    inner = batch.cache.prompt.read
    batch.cache.prompt.read = lambda fresh: (read.append(len(fresh[0])), inner(fresh))[1]
    rows = [row_of(model, given, 4) for given in (ids, [*ids[:10], 7, 8], ids)]

    for row in rows:
        write(batch, {0: row})

    assert read == [12, 2, 2]
    assert [row.tokens for row in rows] == [alone(model, row) for row in rows]


def test_one_text_at_a_time_is_written_in_the_cache_of_its_prompt(model):
    rows = [
        row_of(model, ids, count) for ids, count in zip(prompt(4, 9, 5), (6, 3, 4), strict=True)
    ]
    batch, puts = TextBatch(model.passes, 1), model.passes.put.captures
    again = row_of(model, [*rows[2].tokens, 7], 3)

    places = write(batch, dict(enumerate([*rows, again])))

    assert {*places} == {1}
    assert [row.tokens for row in (*rows, again)] == [alone(model, row) for row in (*rows, again)]
    assert batch.cache.written is batch.cache.prompt
    assert model.passes.put.captures == puts


def test_one_text_whose_scores_are_no_numbers_harms_no_other(model):
    first, last = (row_of(model, ids, 6) for ids in prompt(9, 4))
    batch = TextBatch(model.passes, 1)
    batch.join(first)
    batch.read()
    for pair in batch.cache.written.cache:
        for table in pair:
            table.fill_(float("nan"))

    ((_, wrong),) = batch.extend()
    assert isinstance(wrong, ArgumentError)
    write(batch, {0: last})

    assert last.tokens == alone(model, last)


def test_scores_that_are_no_numbers_end_their_text_alone(model):
    rows = [row_of(model, ids, 6) for ids in prompt(4, 9)]
    batch = TextBatch(model.passes, 2)
    for row in rows:
        batch.join(row)
        batch.read()
    for pair in batch.cache.written.cache:
        for table in pair:
            table[1] = float("nan")

    written = batch.extend()
    assert isinstance(written[1][1], ArgumentError)
    assert written[0][1] is None
    last = row_of(model, prompt(3)[0], 6)
    write(batch, {0: last})

    assert [x.tokens for x in (rows[0], last)] == [alone(model, x) for x in (rows[0], last)]


def test_a_prompt_that_cannot_be_read_ends_alone(model, monkeypatch):
    row, bad = (row_of(model, ids, 4) for ids in prompt(4, 5))
    batch = TextBatch(model.passes, 2)
    batch.join(row)
    batch.read()
    batch.join(bad)
    monkeypatch.setattr(batch.cache.prompt, "read", lambda _: 1 / 0)

    ((lost, wrong),) = batch.read()

    assert lost is bad
    assert isinstance(wrong, ZeroDivisionError)
    write(batch, {})
    assert row.tokens == alone(model, row)


def test_few_programs_serve_all_numbers_of_rows_and_lengths(monkeypatch):
    monkeypatch.setattr(passes, "SMALLEST", 16)
    fresh, counts = small(max_position_embeddings=600), []
    for seed in range(2):
        given = enumerate(prompt(5, 20, 3, 40 + 60 * seed, seed=seed))
        rows = [row_of(fresh, ids, 5 + 2 * k) for k, ids in given]
        write(TextBatch(fresh.passes, 4), dict(enumerate(rows)))
        counts.append([x.captures for x in (fresh.passes.extend, fresh.passes.put)])

    assert counts[0] == counts[1]
    assert max(counts[0]) <= 6
    assert "put_rows" in [x.name for x in fresh.passes.put.kernels()]


def test_a_row_is_put_where_the_cache_is(model):
    one, several = CachedRows(model.passes), CachedRows(model.passes, 3)
    several.read(prompt(4, 4, 4))
    several.read([[1]] * 3)
    one.read(prompt(5))
    before = [x._storage.node.value.address for pair in several.cache for x in pair]

    several.put(1, one)
    found = several.read([[2]] * 3)

    assert [x._storage.node.value.address for pair in several.cache for x in pair] == before
    assert found[1].tobytes() == one.read([[2]])[0].tobytes()
    assert np.isfinite(found).all()
