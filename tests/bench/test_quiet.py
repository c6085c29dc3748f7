"""Other processes are noticed; our own are not counted."""

from __future__ import annotations

import os
import sys

import pytest

from gnomon.bench.quiet import QuietWatch, others_share, spent_by, wait_for_quiet

pytestmark = pytest.mark.unit
linux = pytest.mark.skipif(
    sys.platform != "linux", reason="processes are read from /proc, which Linux alone has"
)


@linux
def test_what_we_spend_is_ours():
    assert spent_by([os.getpid()]) > 0
    assert spent_by([1 << 30]) == 0


def test_a_share_is_not_negative():
    assert others_share([os.getpid()], 0.01) >= 0


def test_a_turn_is_clean_unless_others_took_time():
    watch = QuietWatch([])
    watch.seconds, watch.others = 1.0, 0.01
    assert watch.clean

    watch.others = 0.5
    assert not watch.clean


def test_waiting_ends_when_patience_does():
    assert not wait_for_quiet([], 0.0, lambda: False)
