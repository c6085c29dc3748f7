"""Every token counts exactly once, with what stands before it, whatever the windows."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ConfigError
from gnomon.models.decoder import DecoderForCausalLM
from gnomon.models.initialization import initialize
from gnomon.train.evaluate import HeldOut, Measure, cut
from tests import drawn as st
from tests.drawn import given


@given(tokens=st.integers(9, 90), length=st.integers(2, 8), part=st.integers(1, 8))
def test_windows_count_every_token_but_the_first_once(tokens, length, part):
    windows = cut(tokens, length, min(part, length))

    counted = [place for w in windows for place in range(w.first, w.stop)]
    assert counted == list(range(1, tokens))
    assert all(w.start < w.first for w in windows)
    assert all(0 <= w.start <= w.stop - 1 and w.start + length < tokens for w in windows)
    assert all(w.stop <= w.start + length + 1 for w in windows)


def test_a_text_shorter_than_a_window_is_refused():
    with pytest.raises(ConfigError, match="expected fewer than 4, the tokens held out: got 4"):
        cut(4, 4, 2)


def test_bits_per_byte_follow_from_nats():
    measure = Measure(nats=8 * math.log(2), tokens=4, bytes=16)

    assert measure.bits_per_byte == pytest.approx(0.5)
    assert measure.loss == pytest.approx(2 * math.log(2))


@pytest.fixture
def model(config):
    """A small decoder."""
    made = DecoderForCausalLM(config.model)
    initialize(made, seed=0)
    return made


def test_one_window_after_another_gives_what_the_model_gives(model, rng):
    tokens = rng.integers(0, 300, 17 + 16, dtype=np.int64)
    lengths = rng.integers(0, 5, 300)

    measure = HeldOut(model, tokens, lengths, (2, 16), stride=16).measure()

    whole = [model.losses(gn.from_numpy(tokens[s : s + 17][None])).detach() for s in (0, 16)]
    assert measure.nats == pytest.approx(sum(float(x.numpy().sum()) for x in whole), rel=1e-5)
    assert measure.tokens == 32
    assert measure.bytes == lengths[tokens[1:]].sum()


def test_how_many_windows_go_at_once_changes_nothing(model, rng):
    tokens, lengths = rng.integers(0, 300, 100, dtype=np.int64), np.ones(300, np.int64)

    found = [HeldOut(model, tokens, lengths, (b, 16), 5).measure() for b in (1, 3)]

    assert found[0].tokens == found[1].tokens == 99
    assert found[0].nats == pytest.approx(found[1].nats, rel=1e-6)


def test_a_quick_look_counts_fewer_tokens(model, rng):
    tokens, lengths = rng.integers(0, 300, 200, dtype=np.int64), np.ones(300, np.int64)

    measure = HeldOut(model, tokens, lengths, (2, 16), 8).measure(quick=5)

    assert measure.tokens == 40
