"""Decoders in program files write what their models write, without a compiler."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, CheckpointError
from gnomon.models.conversation import Answer
from gnomon.models.generation import Writing
from gnomon.models.pretrained import from_pretrained
from gnomon.models.shipped import ShippedDecoder, ship
from gnomon.models.text_batch import TextBatch
from gnomon.models.text_format import text_format
from gnomon.runtime import device
from tests.models.writers import chat_file

GREEDY = {"do_sample": False, "max_new_tokens": 4}
ALONE = """
import sys
from gnomon.models.shipped import ShippedDecoder
decoder = ShippedDecoder(__import__("pathlib").Path(sys.argv[1]))
scores = decoder.rows().read([[5, 6, 7]])
print(scores.shape)
"""


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """A small model of 40 positions and its program file."""
    folder = tmp_path_factory.mktemp("shipped")
    source = chat_file(folder / "x.gguf")
    model, texts = from_pretrained(source, encoded=True), text_format(source)
    ship(model, texts, folder / "x.gnp", [device.target().name])
    return model, texts, folder / "x.gnp"


def test_every_length_of_prompts_is_continued_as_by_the_model(shipped):
    model, texts, path = shipped
    decoder = ShippedDecoder(path)
    for length in (1, 2, 31, 32, 33, 36):  # a piece has 32
        ids = np.random.default_rng(length).integers(1, 280, length).tolist()
        wanted = "".join(Answer(model, texts, ids, GREEDY))
        assert "".join(Answer(decoder, decoder.texts, ids, GREEDY)) == wanted, length


def test_scores_have_the_bits_of_the_model(shipped):
    model, _, path = shipped
    ids, more = [[7, 8, 9, 10, 11]], [[12]]
    here, there = model.passes.rows(), ShippedDecoder(path).rows()

    assert there.read(ids).tobytes() == here.read(ids).tobytes()
    assert there.read(more).tobytes() == here.read(more).tobytes()
    assert there.rows == [[7, 8, 9, 10, 11, 12]]


def test_a_text_longer_than_the_cache_is_refused(shipped):
    with pytest.raises(ArgumentError, match=r"41 tokens .* the file's cache \(40\).*--context"):
        ShippedDecoder(shipped[2]).rows().read([[1] * 41])


def test_more_rows_than_one_are_refused(shipped):
    decoder = ShippedDecoder(shipped[2])
    with pytest.raises(ArgumentError, match=r"a cache of 1 row: got 2\. Write one text after"):
        decoder.rows(2)
    with pytest.raises(ArgumentError, match=r"a cache of 1 row: got 3\."):
        [*Writing(decoder, GREEDY).tokens([[5, 6], [7], [8, 9]])]


def test_rows_that_take_turns_are_read_anew(shipped):
    model, _, path = shipped
    decoder, given = ShippedDecoder(path), ([[5, 6, 7]], [[9, 8]])
    here, there = ([made.passes.rows() for _ in given] for made in (model, decoder))

    for fresh in (given, ([[11]], [[12]]), ([[13, 14]], [[15]])):
        for one, other, tokens in zip(here, there, fresh, strict=True):
            assert other.read(tokens).tobytes() == one.read(tokens).tobytes()

    assert [x.rows for x in there] == [[[5, 6, 7, 11, 13, 14]], [[9, 8, 12, 15]]]


def test_what_is_no_number_in_the_cache_is_gone_with_its_text(shipped):
    model, _, path = shipped
    decoder = ShippedDecoder(path)
    bad = decoder.rows()
    bad.read([[1, 2, 3]])
    for table in decoder.program.state.values():
        table[...] = np.nan
    assert not np.isfinite(bad.read([[4]])).any()

    assert decoder.rows().read([[5, 6]]).tobytes() == model.passes.rows().read([[5, 6]]).tobytes()


def test_texts_are_served_one_after_another(shipped):
    model, texts, path = shipped
    decoder = ShippedDecoder(path)
    batch = TextBatch(decoder, 16)
    rows = [Answer(decoder, texts, ids, GREEDY).row for ids in ([5, 6], [5, 6, 7], [9])]
    for row in rows:
        assert batch.has_place
        batch.join(row)
        while row.running:
            assert not batch.has_place
            assert [wrong for _, wrong in (*batch.read(), *batch.extend())] in ([None], [None] * 2)

    wanted = [Answer(model, texts, ids, GREEDY) for ids in ([5, 6], [5, 6, 7], [9])]
    assert ["".join(x) for x in wanted]
    assert [row.tokens for row in rows] == [x.row.tokens for x in wanted]


def test_nothing_is_compiled_where_it_runs(shipped, tmp_path):
    made = {**os.environ, "GNOMON_CACHE_DIR": str(tmp_path / "cache")}
    said = subprocess.check_output([sys.executable, "-c", ALONE, shipped[2]], text=True, env=made)

    assert said.strip() == "(1, 300)"
    assert not [*tmp_path.rglob("*.*")]


def test_another_program_file_is_refused_by_name(tmp_path):
    gn.export.export(gn.nn.Linear(2, 1), (gn.ones(3, 2),)).save(tmp_path / "x.gnp")

    with pytest.raises(CheckpointError, match=r"chat: .*x\.gnp holds no decoder"):
        ShippedDecoder(tmp_path / "x.gnp")


def test_a_damaged_file_is_refused_with_the_reason(shipped, tmp_path):
    (tmp_path / "x.gnp").write_bytes(shipped[2].read_bytes()[:5000])

    with pytest.raises(CheckpointError, match=r"load_program: .*x\.gnp: .* it was cut short"):
        ShippedDecoder(tmp_path / "x.gnp")
