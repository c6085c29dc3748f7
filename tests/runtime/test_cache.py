"""The cache on disk: hits, damage, atomic publishing, sweeping, and whose files are believed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from gnomon.runtime import cpu, device, worker
from gnomon.runtime.cache import DAY, Cache, digest
from gnomon.settings import override

pytestmark = pytest.mark.unit


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "objects")


def test_what_was_stored_is_loaded_by_its_key_alone(cache):
    cache.store(digest("a"), b"one")

    assert cache.load(digest("a")) == b"one"
    assert cache.load(digest("b")) is None


def test_a_key_depends_on_every_part_and_on_where_parts_end():
    keys = {digest("ab", "c"), digest("a", "bc"), digest("abc"), digest("abc", ""), digest(b"x")}

    assert len(keys) == 5


@pytest.mark.parametrize(
    "damage", ["cut", "flipped", "emptied", "other format", "longer", "without a head"]
)
def test_a_damaged_entry_is_absent_and_can_be_stored_again(cache, damage):
    key = digest("a")
    cache.store(key, b"the content")
    entry = cache.path(key).read_bytes()
    broken = {
        "cut": entry[:-1],
        "flipped": entry[:-1] + b"T",
        "emptied": b"",
        "other format": b"gnomon-0" + entry[8:],
        "longer": entry + b"!",
        "without a head": entry[:20],
    }
    cache.path(key).write_bytes(broken[damage])

    assert cache.load(key) is None
    cache.store(key, b"the content")
    assert cache.load(key) == b"the content"


def test_a_reader_sees_whole_entries_while_others_write(cache):
    key, seen, writing = digest("a"), set(), True
    contents = [bytes([k]) * (1000 + 5000 * k) for k in range(4)]

    def write(content: bytes) -> None:
        while writing:
            cache.store(key, content)

    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for _ in range(300):
        seen.add(cache.load(key))
    writing = False
    for thread in threads:
        thread.join()

    assert seen <= {None, *contents}
    assert cache.load(key) in contents
    assert not list(cache.folder.glob("??/.*"))


def test_nothing_half_written_is_left_when_publishing_fails(cache, monkeypatch):
    def refuse(before, after):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.warns(UserWarning, match="No space left on device"):
        cache.store(digest("a"), b"one")

    assert not list(cache.folder.glob("*/*"))


def test_a_folder_that_cannot_be_written_is_warned_of_once(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    cache = Cache(blocked / "objects")

    with pytest.warns(UserWarning, match="GNOMON_CACHE_DIR"):
        cache.store(digest("a"), b"one")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.store(digest("b"), b"two")

    assert cache.load(digest("a")) is None


def test_sweeping_drops_what_was_unused_for_longest(tmp_path):
    cache = Cache(tmp_path / "objects", limit=10_000)
    keys = [digest(str(k)) for k in range(20)]
    for age, key in enumerate(keys):
        cache.store(key, bytes(900))
        used = time.time() - 100 * age
        os.utime(cache.path(key), (used, used))

    cache.sweep()

    kept = [cache.load(key) is not None for key in keys]
    assert kept == [True] * 8 + [False] * 12


def test_sweeping_below_the_limit_drops_only_old_leavings(cache):
    cache.store(digest("a"), b"one")
    old, new = (cache.path(digest("a")).with_name(name) for name in (".old", ".new"))
    for leaving in (old, new):
        leaving.write_bytes(b"")
    os.utime(old, (time.time() - 2 * DAY,) * 2)

    cache.sweep()

    assert cache.load(digest("a")) == b"one"
    assert (old.exists(), new.exists()) == (False, True)


def test_a_use_after_a_day_is_noted(cache):
    key = digest("a")
    cache.store(key, b"one")
    os.utime(cache.path(key), (time.time() - 2 * DAY,) * 2)

    cache.load(key)

    assert time.time() - cache.path(key).stat().st_mtime < DAY


def test_an_entry_is_bound_to_its_key(cache):
    one, other = digest("a"), digest("b")
    cache.store(one, b"exp")
    cache.store(other, b"sin")

    first, second = cache.path(one).read_bytes(), cache.path(other).read_bytes()
    cache.path(one).write_bytes(second)
    cache.path(other).write_bytes(first)

    assert (cache.load(one), cache.load(other)) == (None, None)


@pytest.mark.parametrize("what", ["folder", "pipe", "link", "huge"])
def test_what_is_no_plain_file_is_no_entry_and_stops_nobody(cache, tmp_path, what):
    key = digest("a")
    cache.store(key, b"one")
    path = cache.path(key)
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "link":
        path.symlink_to(elsewhere)
    else:
        path.write_bytes(elsewhere.read_bytes())
        os.truncate(path, 1 << 40)

    assert cache.load(key) is None
    cache.sweep()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cache.store(key, b"one")

    assert cache.load(key) in ((None,) if what == "folder" else (b"one",))


def test_folders_and_entries_are_for_their_owner_alone(cache):
    before = os.umask(0)
    try:
        cache.store(digest("a"), b"one")
    finally:
        os.umask(before)

    made = [cache.root, cache.folder, cache.path(digest("a")).parent]
    assert [x.stat().st_mode & 0o777 for x in made] == [0o700] * 3
    assert cache.path(digest("a")).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("what", ["root", "folder", "entry"])
@pytest.mark.parametrize("mode", [0o020, 0o002])
def test_what_others_can_write_to_is_not_used_and_said_so_once(tmp_path, what, mode):
    cache, key = Cache(tmp_path / "root", "objects"), digest("a")
    cache.store(key, b"one")
    path = {"root": cache.root, "folder": cache.folder, "entry": cache.path(key)}[what]
    path.chmod(path.stat().st_mode | mode)

    with pytest.warns(
        UserWarning, match="can be written to by others .* must come from you"
    ) as told:
        found = [cache.load(key), cache.load(key)]

    assert found == [None, None]
    assert len(told) == 1
    assert f"cache: {path} can be" in str(told[0].message)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("what", ["root", "folder", "entry", "link"])
def test_what_belongs_to_somebody_else_is_not_used(tmp_path, what):
    cache, key = Cache(tmp_path / "root", "objects"), digest("a")
    cache.store(key, b"one")
    if what == "link":
        cache.root.rename(tmp_path / "mine")
        cache.root.symlink_to(tmp_path / "mine")
    path = {"folder": cache.folder, "entry": cache.path(key)}.get(what, cache.root)
    os.chown(path, 4321, -1, follow_symlinks=False)

    with pytest.warns(UserWarning, match=r"belongs to user 4321, so nothing there is used"):
        assert cache.load(key) is None
    cache.store(key, b"two")

    if what in ("root", "folder", "link"):
        assert b"two" not in cache.path(key).read_bytes()


def test_a_link_of_ones_own_to_the_folder_is_followed(tmp_path):
    (tmp_path / "large").mkdir(0o700)
    (tmp_path / "root").symlink_to(tmp_path / "large")
    cache = Cache(tmp_path / "root", "objects")

    cache.store(digest("a"), b"one")

    assert cache.load(digest("a")) == b"one"
    assert (tmp_path / "large" / "objects").is_dir()


CLAIM = """
import sys
from pathlib import Path
from gnomon.runtime.cache import Cache
root, kind, key = sys.argv[1:]
cache = Cache(Path(root), kind)
print(cache.claim(key), flush=True)
sys.stdin.readline()
cache.store(key, b"theirs")
"""


@contextmanager
def claiming(root: Path, kind: str, key: str) -> Iterator[Callable[[], object]]:
    """Another process has claimed a key; a call makes it store what it made, and end."""
    words = [sys.executable, "-c", CLAIM, str(root), kind, key]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, **pipes) as other:
        assert other.stdout.readline() == "True\n"
        yield partial(other.communicate, "\n", timeout=60)


def test_what_another_process_claims_is_its_own_until_it_is_gone(tmp_path):
    root, key = tmp_path / "cache", digest("a")
    cache = Cache(root)
    with claiming(root, "", key) as end:
        while_held = cache.claim(key), cache.claim(digest("b"))
        end()

    assert while_held == (False, True)
    assert cache.claim(key)
    assert stat.S_IMODE(root.stat().st_mode) == 0o700


def test_what_another_process_compiles_is_not_compiled_again(tmp_path, monkeypatch):
    text = "define void @nothing() {\n  ret void\n}\n"
    key, root = cpu.key_of(text, device.target()), tmp_path / "cache"
    monkeypatch.setattr(worker, "answer", None)

    with (
        override(cache=True, cache_dir=str(root)),
        claiming(root, "objects", key) as end,
        cpu.CompileBatch() as batch,
    ):
        batch.begin(text)
        end()
        codes = batch.finish()

    assert codes == {key: b"theirs"}
