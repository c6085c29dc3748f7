"""Words of a group's block on a node: they stand behind those of every group."""

from __future__ import annotations

import pytest

from gnomon.runtime.comm import node_words, waiting

pytestmark = pytest.mark.unit


def test_own_words_follow_those_of_every_group():
    own = [getattr(node_words, name) for name in ("PROCESS", "GROUP_KEY", "CAME", "WANTED")]

    assert [*own, node_words.PEERS] == list(range(waiting.OWN, node_words.WORDS))
