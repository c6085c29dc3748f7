"""Pieces join to the text, end before a stop string, and cut no character in half."""

from __future__ import annotations

import pytest

from gnomon.models.text_pieces import CONTEXT, MANY, TextPieces, text_pieces
from gnomon.train.tokenizer import train

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def tokenizer():
    """A tokenizer of bytes, and a few words."""
    return train(["one two añb three " * 50], 280)


class Spaced:
    """A tokenizer that leaves the first space of a text out, as SentencePiece's do."""

    def decode(self, ids):
        return "".join(f" {x}" for x in ids)[1:]


@pytest.mark.parametrize("text", ["añ→b one", "🎈🎈", "three two one " * 30, ""])
def test_pieces_join_to_the_text(tokenizer, text):
    pieces = [*text_pieces(tokenizer.encode(text).ids, tokenizer)]

    assert "".join(pieces) == text
    assert not any("\N{REPLACEMENT CHARACTER}" in piece for piece in pieces)
    assert all(pieces)


def test_only_the_last_tokens_are_decoded_with_the_next():
    pieces, joined = TextPieces(Spaced()), ""
    for token in range(5 * MANY):
        joined += pieces.add(token)
        assert len(pieces.tokens) <= MANY

    assert joined == Spaced().decode(range(5 * MANY))
    assert len(pieces.tokens) >= CONTEXT


@pytest.mark.parametrize(
    ("stops", "wanted"),
    [
        (["two"], "one "),
        (["e t"], "on"),
        (["three", "wo"], "one t"),
        (["none of it"], "one two three"),
        (["three!"], "one two three"),
        (["o", "one"], ""),
        ([""], "one two three"),
    ],
)
def test_text_ends_before_the_first_stop_string(tokenizer, stops, wanted):
    asked = []

    def tokens():
        for token in tokenizer.encode("one two three").ids:
            asked.append(token)
            yield token

    assert "".join(text_pieces(tokens(), tokenizer, stops)) == wanted
    if wanted == "one ":
        assert len(asked) < len(tokenizer.encode("one two three").ids)


def test_bytes_that_never_become_a_character_are_given_at_the_end(tokenizer):
    half = tokenizer.encode("→").ids[:-1]

    pieces = TextPieces(tokenizer)

    assert [pieces.add(x) for x in half] == [""] * len(half)
    assert set(pieces.rest()) == {"\N{REPLACEMENT CHARACTER}"}


def test_nothing_follows_a_stop_string(tokenizer):
    pieces = TextPieces(tokenizer, ["two"])
    for token in tokenizer.encode("one two three").ids:
        pieces.add(token)

    assert pieces.stopped
    assert pieces.rest() == ""
