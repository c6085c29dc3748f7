"""The training corpus: Python files of the standard library or of a folder, some held out.

The list is sorted and a file is held out by the hash of its path alone, so the same interpreter
gives the same corpus everywhere. tokenizer.py turns text into tokens.
"""

from __future__ import annotations

import hashlib
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from gnomon.errors import ConfigError
from gnomon.runtime.files import read

__all__ = ["Corpus", "File", "read_corpus"]

# tests, tables and texts in the shape of code, what pip installed, what old versions bring along
SKIPPED_FOLDERS = frozenset(
    {"__pycache__", "dist-packages", "encodings", "idle_test", "lib2to3", "pydoc_data"}
    | {"site-packages", "test", "tests"}
)
# written by the build of the interpreter, with the paths of the machine that built it
SKIPPED_PREFIX = "_sysconfigdata"
FEWEST_FILES = 20


@dataclass(frozen=True)
class File:
    """A file of the corpus, by its path in the corpus folder."""

    path: str
    text: str

    @property
    def bytes(self) -> bytes:
        """The content of the file in bytes."""
        return self.text.encode("utf-8")


@dataclass(frozen=True)
class Corpus:
    """The training files and the held-out files, with a hash of both."""

    folder: Path
    training: tuple[File, ...]
    held_out: tuple[File, ...]
    hash: str
    """SHA-256 over each file's path, content, and whether it is held out."""

    @property
    def held_out_bytes(self) -> bytes:
        """The concatenated held-out files."""
        return b"".join(file.bytes for file in self.held_out)

    def listing(self) -> dict[str, object]:
        """The description of the corpus for corpus.json."""
        return {
            "folder": str(self.folder),
            "hash": self.hash,
            "training": [file.path for file in self.training],
            "held_out": [file.path for file in self.held_out],
        }


def read_corpus(folder: str | None, held_out_percent: int) -> Corpus:
    """The Python files below a folder, by default the standard library's, split in two parts."""
    root = Path(folder) if folder else Path(sysconfig.get_path("stdlib"))
    if not root.is_dir():
        raise ConfigError(f"corpus.folder: expected a folder: got {root}.")
    files = [file for path in python_files(root) if (file := read_file(root, path))]
    held_out = tuple(file for file in files if is_held_out(file.path, held_out_percent))
    training = tuple(file for file in files if not is_held_out(file.path, held_out_percent))
    if len(files) < FEWEST_FILES or not held_out:
        raise ConfigError(
            f"corpus: expected at least {FEWEST_FILES} Python files in {root}, some held out: "
            f"got {len(files)} and {len(held_out)}. Name another folder: --set corpus.folder=PATH."
        )
    return Corpus(root, training, held_out, hash_of(training, held_out))


def python_files(root: Path) -> list[Path]:
    """The Python files below a folder, sorted by path, without skipped folders."""
    found = (path.relative_to(root) for path in root.rglob("*.py"))
    kept = [
        path
        for path in found
        if not SKIPPED_FOLDERS.intersection(path.parts) and not path.name.startswith(SKIPPED_PREFIX)
    ]
    return sorted(kept, key=Path.as_posix)


def read_file(root: Path, path: Path) -> File | None:
    """A file's text; None if it is empty, not UTF-8, or no regular file."""
    try:
        text = read(root / path).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return File(path.as_posix(), text) if text else None


def is_held_out(path: str, percent: int) -> bool:
    """Whether a path's hash puts the file among the held-out percent."""
    digest = hashlib.sha256(path.encode("utf-8")).digest()
    return int.from_bytes(digest[:8], "big") % 100 < percent


def hash_of(training: tuple[File, ...], held_out: tuple[File, ...]) -> str:
    """SHA-256 over both parts of a corpus, with paths and lengths."""
    digest = hashlib.sha256()
    for part, files in (("training", training), ("held out", held_out)):
        for file in files:
            content = file.bytes
            digest.update(f"{part}\0{file.path}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()
