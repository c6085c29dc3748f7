"""Small data in the file formats that programs of the list read: drawn from a fixed seed.

The real sets can't be fetched by a test, and a few hundred samples show what ten steps show.
"""

from __future__ import annotations

import gzip
import pickle
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

__all__ = ["WRITERS", "write_data"]


def write_data(needs: dict[str, str], folder: Path) -> None:
    """Write each kind of data that a program needs, at its place relative to the program."""
    for kind, place in needs.items():
        target = (folder / place).resolve()
        target.mkdir(parents=True, exist_ok=True)
        WRITERS[kind](target)


def digits(folder: Path, count: int = 2000) -> None:
    """Write MNIST's four files: images whose bright bar stands where the label says."""
    rng = np.random.default_rng(0)
    raw = folder / "MNIST" / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    for part, n in (("train", count), ("t10k", count // 10)):
        labels = rng.integers(0, 10, n).astype(np.uint8)
        images = rng.integers(0, 5, (n, 28, 28)).astype(np.uint8)
        for image, label in zip(images, labels, strict=True):
            image[2 + 2 * label : 6 + 2 * label, 4:24] += np.uint8(200 + rng.integers(0, 50))
        write_idx(raw / f"{part}-images-idx3-ubyte", images)
        write_idx(raw / f"{part}-labels-idx1-ubyte", labels)


def write_idx(path: Path, array: npt.NDArray[np.uint8]) -> None:
    """Write bytes in MNIST's format, packed and not."""
    sizes = b"".join(struct.pack(">I", n) for n in array.shape)
    text = struct.pack(">HBB", 0, 8, array.ndim) + sizes + array.tobytes()
    path.write_bytes(text)
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(text, 1))


def characters(folder: Path) -> None:
    """Write nanoGPT's prepared text: numbers of characters, and how many there are."""
    rng = np.random.default_rng(0)
    for name in ("train", "val"):
        rng.integers(0, 65, 5000).astype(np.uint16).tofile(folder / f"{name}.bin")
    kept = {"vocab_size": 65, "itos": {}, "stoi": {}}
    (folder / "meta.pkl").write_bytes(pickle.dumps(kept))


def words(folder: Path) -> None:
    """Write three texts of a thousand words, line by line."""
    rng = np.random.default_rng(0)
    for name, lines in (("train", 900), ("valid", 90), ("test", 90)):
        rows = rng.integers(0, 1000, (lines, 12))
        text = "\n".join(" ".join(f"w{k}" for k in row) for row in rows)
        (folder / f"{name}.txt").write_text(text + "\n", encoding="utf-8")


def pictures(folder: Path) -> None:
    """Write a few small pictures of two kinds, each kind in a folder of its own."""
    rng = np.random.default_rng(0)
    for part, kind in (("train", "a"), ("train", "b"), ("val", "a"), ("val", "b")):
        home = folder / part / kind
        home.mkdir(parents=True, exist_ok=True)
        for k in range(4):
            pixels = rng.integers(0, 256, (64, 64, 3)).astype(np.uint8)
            (home / f"{k}.ppm").write_bytes(b"P6 64 64 255\n" + pixels.tobytes())


def letters(folder: Path) -> None:
    """Write enwik8 as the programs have it: packed bytes of lower-case letters."""
    rng = np.random.default_rng(0)
    text = rng.integers(97, 123, 95_000_000 // 1000).astype(np.uint8)
    (folder / "enwik8.gz").write_bytes(gzip.compress(np.tile(text, 1000).tobytes(), 1))


def many_digits(folder: Path) -> None:
    """Write MNIST's files, large enough for a program that prints at every 200th batch."""
    digits(folder, 20_000)


WRITERS: dict[str, Callable[[Path], None]] = {
    "characters": characters,
    "digits": digits,
    "letters": letters,
    "many_digits": many_digits,
    "pictures": pictures,
    "words": words,
}
"""Kind of data -> what writes it into a folder."""
