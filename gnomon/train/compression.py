"""General compressors on the held-out files, for comparison in bits per byte."""

from __future__ import annotations

import gzip
import lzma

__all__ = ["gzip_bits_per_byte", "xz_bits_per_byte"]


def gzip_bits_per_byte(content: bytes) -> float:
    """Bits per byte of `gzip -9`."""
    return 8 * len(gzip.compress(content, compresslevel=9, mtime=0)) / len(content)


def xz_bits_per_byte(content: bytes) -> float:
    """Bits per byte of `xz -9`."""
    return 8 * len(lzma.compress(content, preset=9)) / len(content)
