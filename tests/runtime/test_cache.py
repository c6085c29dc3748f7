"""The cache on disk: hits, damage, atomic publishing, sweeping, folders that cannot be written."""

from __future__ import annotations

import os
import threading
import time
import warnings

import pytest

from gnomon.runtime.cache import DAY, Cache, digest

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


@pytest.mark.parametrize("damage", ["cut", "flipped", "emptied", "other format"])
def test_a_damaged_entry_is_absent_and_can_be_stored_again(cache, damage):
    key = digest("a")
    cache.store(key, b"the content")
    entry = cache.path(key).read_bytes()
    broken = {
        "cut": entry[:-1],
        "flipped": entry[:-1] + b"T",
        "emptied": b"",
        "other format": b"gnomon-0" + entry[8:],
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
    cache = Cache(tmp_path, limit=10_000)
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
