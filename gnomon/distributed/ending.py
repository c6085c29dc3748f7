"""The end of a rank: together with the others, or first, and then all hear of it.

Other ranks would wait for one that is gone, so a rank that fails says why, with its number and the
last thing that it did with others, and ends the job.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from gnomon.errors import CollectiveError
from gnomon.runtime.comm import watch
from gnomon.runtime.comm.base import opened
from gnomon.runtime.comm.environment import board_address, environment

__all__ = ["as_rank", "leave"]


@contextmanager
def as_rank() -> Iterator[None]:
    """A context in which an unhandled exception ends all ranks, if there are several."""
    found = environment()
    if found.size == 1:
        yield
        return
    address = board_address()
    if address:
        with suppress(OSError):
            watch.begin(address, found.rank, found.size)
    try:
        yield
        end_together()
    except SystemExit as end:
        if end.code not in (None, 0):
            code = end.code if isinstance(end.code, int) else 1
            leave(code, end.code, is_collective(end))
        end_together()
        raise
    except BaseException as error:
        leave(1, error, is_collective(error))


def end_together() -> None:
    """Wait for all ranks to end; ranks that wait for a failed one time out by themselves."""
    known = watch.of_process()
    if known is not None:
        known.note = "at the end of its program"
    for backend in list(opened):
        backend.close()
    if known is not None:
        known.leave()


def is_collective(error: BaseException | None) -> bool:
    """Whether an exception, or one that it was raised from or while handling, is of communication.

    >>> is_collective(CollectiveError("nobody came")), is_collective(KeyError("a"))
    (True, False)
    """
    while error is not None and not isinstance(error, CollectiveError):
        error = error.__cause__ or error.__context__
    return error is not None


def leave(code: int, cause: object, in_collective: bool = False) -> None:
    """Print the failure and exit at once, without waiting for other ranks.

    in_collective: the failure is one of communication, which another rank's end can cause.
    """
    rank, known = environment().rank, watch.of_process()
    reason, text = said_of(cause)
    known_already = known is not None and known.fail(reason, code, in_collective)
    if text and not known_already:
        print(f"rank {rank}: {text}", file=sys.stderr)
        last = watch.last(precise=True)
        if last:
            print(f"rank {rank}: its last collective: {last}", file=sys.stderr)
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def said_of(cause: object) -> tuple[str, str]:
    """A rank's failure in one line and in full, with the user's calls."""
    if isinstance(cause, int):
        return f"exit code {cause}", ""
    if not isinstance(cause, BaseException):
        return str(cause).strip().partition("\n")[0], str(cause).strip()
    line = traceback.format_exception_only(cause)[0].partition("\n")[0]
    trace = cause.__traceback__
    while trace is not None and is_start(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return line, "".join(traceback.format_exception(cause.with_traceback(trace))).rstrip()


def is_start(file: str) -> bool:
    """Whether a frame belongs to Python's start of a script."""
    return file.startswith("<frozen") or os.path.dirname(file) == os.path.dirname(__file__)
