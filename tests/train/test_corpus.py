"""The corpus is the same wherever the files are, and held-out files stay held out."""

from __future__ import annotations

import os

import pytest

from gnomon.errors import ConfigError
from gnomon.train.corpus import is_held_out, read_corpus

pytestmark = pytest.mark.unit


def folder_of(tmp_path, count=40):
    """A folder of small Python files."""
    for number in range(count):
        path = tmp_path / f"part{number % 3}" / f"file{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"value = {number}\n")
    return tmp_path


def test_a_folder_is_split_by_path_alone(tmp_path):
    corpus = read_corpus(str(folder_of(tmp_path)), 20)

    paths = [file.path for file in corpus.training]
    assert paths == sorted(paths)
    assert len(corpus.training) + len(corpus.held_out) == 40
    assert all(is_held_out(file.path, 20) for file in corpus.held_out)
    assert not any(is_held_out(path, 20) for path in paths)


def test_the_hash_follows_contents_paths_and_the_split(tmp_path):
    folder = folder_of(tmp_path)
    first = read_corpus(str(folder), 20).hash

    assert read_corpus(str(folder), 20).hash == first
    assert read_corpus(str(folder), 50).hash != first
    (folder / "part0" / "file0.py").write_text("value = 1000\n")
    assert read_corpus(str(folder), 20).hash != first


def test_tests_tables_and_what_is_no_text_are_left_out(tmp_path):
    folder = folder_of(tmp_path)
    for name in ("test/one.py", "x/tests/one.py", "encodings/cp.py", "_sysconfigdata__x.py"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")
    (folder / "latin.py").write_bytes(b"x = '\xe9'\n")
    (folder / "empty.py").write_bytes(b"")

    corpus = read_corpus(str(folder), 20)

    assert len(corpus.training) + len(corpus.held_out) == 40


def test_line_ends_are_kept_as_they_are(tmp_path):
    folder = folder_of(tmp_path)
    for path in folder.rglob("*.py"):
        path.write_bytes(b"a = 1\r\nb = 2\n")

    corpus = read_corpus(str(folder), 20)

    assert all(file.bytes == b"a = 1\r\nb = 2\n" for file in corpus.training)


def test_the_standard_library_is_enough_to_learn_from():
    corpus = read_corpus(None, 5)

    assert len(corpus.training) > 200
    assert 0.005 < len(corpus.held_out) / len(corpus.training) < 0.2
    assert "tokenize.py" in {file.path for file in corpus.training + corpus.held_out}


def test_a_folder_that_is_none_or_holds_too_little_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"corpus\.folder: expected a folder: got .*nowhere"):
        read_corpus(str(tmp_path / "nowhere"), 5)
    with pytest.raises(ConfigError, match="expected at least 20 Python files"):
        read_corpus(str(tmp_path), 5)


def test_what_is_no_plain_file_is_left_out(tmp_path):
    folder = folder_of(tmp_path)
    before = read_corpus(str(folder), 20).hash
    os.mkfifo(folder / "pipe.py")
    (folder / "folder.py").mkdir()
    (folder / "gone.py").symlink_to(folder / "nowhere.py")

    assert read_corpus(str(folder), 20).hash == before
