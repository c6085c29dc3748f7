"""gn.signal holds gn.signal.windows."""

from __future__ import annotations

import gnomon as gn
import gnomon.signal.windows as windows


def test_windows_are_reached_by_their_path():
    assert gn.signal.windows.hann is windows.hann
