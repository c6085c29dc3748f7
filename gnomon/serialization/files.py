"""gn.save and gn.load: files of tensors and plain values, which PyTorch reads and writes too.

A file is not trusted: sizes, kinds and dtypes are checked before anything is made, and nothing that
is read is executed. Other objects that Python pickles need weights_only=False, or their classes
allowed by name. The formats are in writing.py, torch_files.py and tree_files.py.
"""

from __future__ import annotations

import errno
import os
import pickle
import struct
import zipfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from gnomon.errors import ArgumentError, brief, clipped
from gnomon.runtime.files import naming, plain
from gnomon.serialization.members import Members
from gnomon.serialization.torch_files import folder_of, is_older, read_older, read_zip
from gnomon.serialization.tree_files import Reader
from gnomon.serialization.writing import write_older, write_zip
from gnomon.tensor.device import CPU, META, Device, check_device, device_of

__all__ = ["BROKEN", "load", "save"]

DEFAULT_PROTOCOL = 2
"""The pickle protocol that PyTorch's reader supports."""
BROKEN = (
    *(zipfile.BadZipFile, ValueError, TypeError, LookupError, NotImplementedError, RuntimeError),
    *(OverflowError, EOFError, OSError, struct.error),
)
"""Exceptions from reading a file that is damaged or of another format."""


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write tensors, numbers and strings, and dicts, lists and tuples of them, to a file.

    `torch.load` reads it as well as `load`: tensors that share memory share it again, in the format
    that PyTorch's options choose. Other objects are pickled by the names of their classes:
    `load(..., weights_only=False)` restores them, or a `load` inside
    `serialization.safe_globals([their classes])`.

    Raises ArgumentError for an object that Python cannot pickle.

    >>> import io
    >>> import gnomon as gn
    >>> save({"weight": gn.ones(2), "epoch": 3}, file := io.BytesIO())
    >>> load(io.BytesIO(file.getvalue()))
    {'weight': Tensor([1., 1.]), 'epoch': 3}
    """
    check_pickle("save", pickle_module)
    if pickle_protocol not in range(DEFAULT_PROTOCOL, pickle.HIGHEST_PROTOCOL + 1):
        raise ArgumentError(
            f"save: pickle_protocol is {DEFAULT_PROTOCOL} to {pickle.HIGHEST_PROTOCOL}: got "
            f"{brief(pickle_protocol)}. Leave it out."
        )

    def write(file: Any) -> None:
        if _use_new_zipfile_serialization:
            write_zip(obj, FileFromHere(file), pickle_protocol, not _disable_byteorder_record)
        else:
            write_older(obj, file, pickle_protocol)

    if not isinstance(f, (str, os.PathLike)):
        write(f)
        return
    path = Path(f)
    aside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with naming(path), aside.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def check_pickle(name: str, module: Any) -> None:
    """Raise ArgumentError for another pickle module than Python's."""
    if module not in (None, pickle):
        raise ArgumentError(
            f"{name}: pickle_module is Python's pickle: got {brief(module)}. Leave it out."
        )


def load(
    f: Any,
    map_location: object = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    encoding: str | None = None,
) -> Any:
    """Load a file that `save` or PyTorch wrote, from a path or an open file.

    A missing file raises Python's OSError; a file of another kind or a damaged one is refused with
    the reason. Little more memory is used than the file has bytes; with mmap, tensors are read from
    the file on use.

    map_location="meta" gives tensors without elements; other tensors are on the CPU. Strings that
    Python 2 wrote are Latin-1, whatever `encoding` says.

    Objects whose classes run code of their own are refused unless weights_only is False: then the
    file's author decides which code runs.
    """
    device = CPU
    if isinstance(map_location, (str, Device)):
        check_device(map_location, META)
        device = device_of(map_location)
    check_pickle("load", pickle_module)
    given = isinstance(f, (str, os.PathLike))
    name = os.fspath(f) if given else "the file"
    trusted = weights_only is not None and not weights_only
    if mmap and not given:
        raise ArgumentError(f"load: mmap needs a path: got {type(f).__name__}. Leave it out.")
    try:
        with plain(Path(f)) if given else nullcontext(as_seekable(f)) as file:
            return value_of_file(file, trusted, bool(mmap), device)
    except ArgumentError as refused:
        raise ArgumentError(f"load: {name}: {refused}") from refused
    except BROKEN as cause:
        if isinstance(cause, OSError) and cause.errno != errno.EINVAL:
            raise
        why = cause.args[0] if isinstance(cause, KeyError) else cause
        raise ArgumentError(
            f"load: {name} is not a file that gn.save or torch.save wrote, or was damaged: "
            f"{clipped(why).rstrip('.')}. Save it again."
        ) from cause


class FileFromHere:
    """An open file whose positions count from where it is now, so that a zip can begin there."""

    def __init__(self, file: Any) -> None:
        self.file = file
        try:
            self.start = file.tell()
        except (AttributeError, OSError):
            self.start = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def tell(self) -> int:
        """The position, counted from the start."""
        if self.start is None:
            raise OSError("the file has no places")
        return self.file.tell() - self.start

    def seek(self, place: int, *whence: int) -> int:
        """Move to a position, counted from the start."""
        if self.start is None:
            raise OSError("the file has no places")
        self.file.seek(place if whence and whence[0] else place + self.start, *whence)
        return self.tell()


class SeekableFile:
    """Wraps an object with read, seek and tell as a seekable file."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def seekable(self) -> bool:
        """Return True, as `zipfile` requires."""
        return True

    def seek(self, *place: int) -> int:
        """Move to a position and return it."""
        self.file.seek(*place)
        return self.file.tell()


def as_seekable(file: Any) -> Any:
    """A user's file with the methods that `zipfile` requires."""
    return file if hasattr(file, "seekable") else SeekableFile(file)


def value_of_file(file: BinaryIO, trusted: bool, mapped: bool, device: Device) -> Any:
    """Read the value of an open file of any of the three formats, with tensors on a device."""
    begun = file.tell()
    start = file.read(16)
    file.seek(begun)
    if is_older(start):
        if mapped:
            raise ArgumentError("only zips can be mapped, and this is PyTorch's older kind.")
        return read_older(file, trusted, device)
    members = Members(file, mapped)
    folder = folder_of(members)
    if folder is None:
        return Reader(members, trusted, device).read()
    return read_zip(members, folder, trusted, device)
