"""torch.jit's names, by which programs mark what PyTorch's older compiler is to read.

There is no such compiler here: a marked function or module is itself. gn.compile compiles.
"""

from __future__ import annotations

from typing import Any


def script(obj: Any, *options: Any, **named: Any) -> Any:
    """The function, class or module itself.

    >>> script(abs)(-1)
    1
    """
    return obj


export = freeze = interface = optimize_for_inference = script_if_tracing = unused = script
script_method = trace = script


def ignore(drop: Any = False, **options: Any) -> Any:
    """The function itself; a decorator where it is given options.

    >>> ignore(abs)(-1), ignore(drop=True)(abs)(-1)
    (1, 1)
    """
    return drop if callable(drop) else script


def is_scripting() -> bool:
    """Whether the older compiler reads this: never.

    >>> is_scripting()
    False
    """
    return False


is_tracing = is_scripting
