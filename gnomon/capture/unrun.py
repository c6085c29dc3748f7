"""Programs that are captured to be looked at, and not run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.capture.varying import VaryingNumbers
from gnomon.errors import TraceError

if TYPE_CHECKING:
    from gnomon.capture.jit import Compiled
    from gnomon.capture.replay import CapturedProgram
    from gnomon.capture.trees import Tree

__all__ = ["program_for"]


def program_for(function: Compiled, *args: Any) -> CapturedProgram | Tree:
    """The program of a call; captured without running it if there is none.

    >>> import gnomon as gn
    >>> double = gn.compile(lambda x: x * 2)
    >>> len(program_for(double, gn.ones(2)).graph.outputs)
    1
    """
    key, arguments = function._key(args, {})
    if function._find(key, arguments) is None:
        function.varying = function.varying or VaryingNumbers()
        function._capture(key, arguments)
    found = function._find(key, arguments)
    if found is None:
        raise TraceError(
            f"program_for: each call of {function.name} is captured anew, since it changes what it "
            "reads. Let it give its results."
        )
    return found
