"""PyTorch's class of modules that its older compiler reads, which programs derive theirs from."""

from __future__ import annotations

from gnomon.nn.module import Module

__all__ = ["ScriptModule"]


class ScriptModule(Module):
    """Make a module that is called as any other: there is no older compiler here."""
