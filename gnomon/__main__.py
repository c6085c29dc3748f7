"""The command line's entry: what runs a script or writes texts loads little, others everything.

What the words of a command mean is in commands.py. A mistake is one line and exit code 2.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext

from gnomon.drop_in.script import run_module, run_script
from gnomon.errors import ConfigError, GnomonError, system_message
from gnomon.lazy import commands, ending, text_commands
from gnomon.runtime.comm.environment import environment

__all__ = ["main"]

WRITERS = frozenset({"chat", "complete", "serve"})
"""The commands of text_commands.py, which load what their model needs."""


def main(words: Sequence[str] | None = None) -> None:
    """Run a command and leave with its exit code."""
    with ending.as_rank() if environment().size > 1 else nullcontext():
        run(sys.argv[1:] if words is None else words)


def run(words: Sequence[str]) -> None:
    """Run a command and raise its exit code."""
    code = code_of(words)
    try:
        sys.stdout.flush()
    except OSError as wrong:
        code = code or complain(f"the output cannot be written: {system_message(wrong)}.", 1)
        # Python would try again when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def code_of(words: Sequence[str]) -> int:
    """The exit code of a command: 0, 1 for what failed, 2 for a mistake in what was asked."""
    try:
        if names_script(words):
            return run_script(words[1], words[2:])
        if words[:2] == ["run", "-m"] and len(words) > 2:
            return run_module(words[2], words[3:])
        return (text_commands if words[:1] and words[0] in WRITERS else commands).called(words)
    except GnomonError as wrong:
        code = 2 if isinstance(wrong, ConfigError) else 1
        return complain(str(wrong), code, ending.is_collective(wrong))
    except KeyboardInterrupt:
        return complain("interrupted.", 130)
    except BrokenPipeError:
        # whoever read the text has enough of it
        sys.stderr.close()
        return 0
    except OSError as wrong:
        return complain(f"{system_message(wrong)}.", 1)
    except MemoryError:
        return complain("there is not enough memory. Nothing that was saved is lost.", 1)


def names_script(words: Sequence[str]) -> bool:
    """Whether a command line is a script's, all of whose other words are its own.

    >>> names_script(["run", "script.py", "--help"]), names_script(["run", "--help"])
    (True, False)
    """
    return len(words) > 1 and words[0] == "run" and not words[1].startswith("-")


def complain(message: str, code: int, in_collective: bool = False) -> int:
    """Print what is wrong, without a traceback; of several ranks, the first that finds it does.

    in_collective: the failure is one of communication, which another rank's end can cause.
    """
    if environment().size > 1:
        ending.leave(code, f"gnomon: {message.strip()}", in_collective)
    print(f"gnomon: {message.strip()}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
