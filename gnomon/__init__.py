"""Gnomon: a deep-learning compiler and distributed trainer, small enough to read."""

__version__ = "0.1.0"
