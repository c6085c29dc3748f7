"""Modules that load when they are first used.

`import gnomon` must be quick, and the compiler is a third of the package and most of its
dependencies' loading time. Who needs it only to evaluate names it here, at the top of the file like
any import, and it loads with the first evaluation.
"""

from __future__ import annotations

import importlib
from typing import Any


class Late:
    """Stands for a module until something of it is used.

    >>> Late("math").sqrt(4.0)
    2.0
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)

    def __repr__(self) -> str:
        return f"Late({self._name!r})"
