"""gn.signal: windows, in gn.signal.windows."""

from __future__ import annotations

from gnomon.tensor import signal_windows as windows

__all__ = ["windows"]
