"""ScriptModule, a name that programs written for TorchScript derive their modules from."""

from __future__ import annotations

from gnomon.nn.module import Module

__all__ = ["ScriptModule"]


class ScriptModule(Module):
    """A module by PyTorch's name of scripted ones; it is called like any other."""
