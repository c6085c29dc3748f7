"""Run a PyTorch script unchanged, with Gnomon as its torch."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from gnomon.drop_in.children import in_children
from gnomon.drop_in.modules import installed
from gnomon.drop_in.report import NameReport
from gnomon.errors import ConfigError
from gnomon.lazy import Lazy

__all__ = ["run_module", "run_script"]

CARDS = "GNOMON_CUDA"
BEFORE = (str(Path(__file__).parent), "<frozen runpy>", "<frozen importlib", runpy.__file__)
"""Files whose lines precede the program's in a traceback."""
consoles, tracebacks = Lazy("rich.console"), Lazy("traceback")
"""Modules that are loaded only if a script fails or misses a name."""


def run_script(script: str | Path, arguments: Sequence[str] = ()) -> int:
    """Run a script with arguments, report the names that it missed, and return its exit code."""
    path = Path(script)
    if not path.is_file():
        raise ConfigError(f"run: there is no script {str(path)!r}. Give a Python file.")
    start = partial(runpy.run_path, str(path), run_name="__main__")
    return run_as_torchs(start, str(path), path.parent, arguments)


def run_module(name: str, arguments: Sequence[str] = ()) -> int:
    """Run a module or package as `python -m` does, with Gnomon as torch; return the exit code."""
    start = partial(runpy.run_module, name, run_name="__main__", alter_sys=True)
    return run_as_torchs(start, name, Path.cwd(), arguments)


def run_as_torchs(
    start: Callable[[], object], name: str, folder: Path, arguments: Sequence[str]
) -> int:
    """Run a program with Gnomon as its torch and return its exit code.

    The names that it missed are reported. name: the program's name in sys.argv; folder: that of its
    own modules.
    """
    report, argv, searched = NameReport(), sys.argv, list(sys.path)
    sys.argv, sys.path[:0] = [name, *arguments], [str(folder.resolve())]
    try:
        with installed(report), in_children(), asked_cards():
            return exit_code_of(start)
    finally:
        sys.argv, sys.path[:] = argv, searched
        sys.stdout.flush()
        if report.rows():
            report.show(consoles.Console(stderr=True, soft_wrap=True))


@contextmanager
def asked_cards() -> Iterator[None]:
    """Hide GPUs inside a `with` unless GNOMON_CUDA asks for them: their kernels are still slow."""
    before = os.environ.get(CARDS)
    os.environ.setdefault(CARDS, "0")  # which processes that the script starts read too
    try:
        yield
    finally:
        if before is None:
            del os.environ[CARDS]


def exit_code_of(start: Callable[[], object]) -> int:
    """Run a program and return its exit code, as Python would."""
    try:
        start()
    except SystemExit as left:
        if left.code is None or isinstance(left.code, int):
            return left.code or 0
        print(left.code, file=sys.stderr)
        return 1
    except Exception as error:
        show_traceback(error)
        return 1
    return 0


def show_traceback(error: Exception) -> None:
    """Print an error's traceback from the program's first line on."""
    shown = tracebacks.TracebackException.from_exception(error)
    lines = list(shown.stack)
    first = (k for k, line in enumerate(lines) if not line.filename.startswith(BEFORE))
    shown.stack = tracebacks.StackSummary.from_list(lines[next(first, 0) :])
    print("".join(shown.format()), end="", file=sys.stderr)
