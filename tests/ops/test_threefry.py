"""The hash gives the published words."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.ops.threefry import threefry

pytestmark = pytest.mark.unit

FULL = 0xFFFFFFFF

# key, counter, words: the test vectors that Random123 gives for threefry2x32 with 20 rounds
PUBLISHED = (
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((FULL, FULL), (FULL, FULL), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
)


@pytest.mark.parametrize(("key", "counter", "words"), PUBLISHED)
def test_the_hash_gives_the_published_words(key, counter, words):
    first, second = (np.array([word], np.uint32) for word in key)
    count = np.array([counter[0] | counter[1] << 32], np.uint64)

    (made,) = threefry(first, second, count).tolist()

    assert (made & FULL, made >> 32) == words
