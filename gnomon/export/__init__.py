"""Graphs of functions for other programs, by the names of torch.export."""

from gnomon.export.dynamic import Dim

__all__ = ["Dim"]
