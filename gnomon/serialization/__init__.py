"""gn.save and gn.load: files of tensors and plain values, in PyTorch's formats."""

from gnomon.serialization.files import load, save
from gnomon.serialization.pickled import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "load",
    "safe_globals",
    "save",
]
