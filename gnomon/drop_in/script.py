"""A script of PyTorch's run as it stands: its `import torch` is Gnomon."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gnomon.drop_in.children import in_children
from gnomon.drop_in.modules import installed
from gnomon.drop_in.report import NameReport
from gnomon.errors import ConfigError
from gnomon.lazy import Lazy

__all__ = ["run_script"]

CARDS = "GNOMON_CUDA"
consoles, tracebacks = Lazy("rich.console"), Lazy("traceback")
"""What a script that ends well and misses nothing needs none of."""


def run_script(script: str | Path, arguments: Sequence[str] = ()) -> int:
    """Run a script with its arguments, then tell which names it missed; gives its exit code."""
    path, report = Path(script), NameReport()
    if not path.is_file():
        raise ConfigError(f"run: there is no script {str(path)!r}. Give a Python file.")
    argv, searched = sys.argv, list(sys.path)
    sys.argv, sys.path[:0] = [str(path), *arguments], [str(path.parent.resolve())]
    try:
        with installed(report), in_children(), asked_cards():
            return ended(path)
    finally:
        sys.argv, sys.path[:] = argv, searched
        sys.stdout.flush()
        if report.rows():
            report.show(consoles.Console(stderr=True, soft_wrap=True))


@contextmanager
def asked_cards() -> Iterator[None]:
    """Hide cards but where GNOMON_CUDA=1 asks for them: their kernels are right, and slow yet."""
    before = os.environ.get(CARDS)
    os.environ.setdefault(CARDS, "0")  # which processes that the script starts read too
    try:
        yield
    finally:
        if before is None:
            del os.environ[CARDS]


def ended(path: Path) -> int:
    """The exit code of a script, as Python gives it."""
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as left:
        if left.code is None or isinstance(left.code, int):
            return left.code or 0
        print(left.code, file=sys.stderr)
        return 1
    except Exception as error:
        show(error, path)
        return 1
    return 0


def show(error: Exception, path: Path) -> None:
    """Print an error from the script's first line on."""
    shown = tracebacks.TracebackException.from_exception(error)
    lines = list(shown.stack)
    first = next((k for k, line in enumerate(lines) if line.filename == str(path)), 0)
    shown.stack = tracebacks.StackSummary.from_list(lines[first:])
    print("".join(shown.format()), end="", file=sys.stderr)
