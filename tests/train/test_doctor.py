"""The doctor looks at everything and says why something is off."""

from __future__ import annotations

import pytest

from gnomon import settings
from gnomon.train.doctor import findings

pytestmark = pytest.mark.unit


def texts(topic):
    """What the doctor says on a topic."""
    return [finding.text for finding in findings() if finding.topic == topic]


def test_every_topic_is_looked_at():
    topics = {finding.topic for finding in findings()}

    assert topics >= {
        "gnomon",
        "system",
        "processor",
        "cores",
        "caches",
        "memory",
        "packages",
        "optional",
        "gpu",
        "cache",
        "corpus",
    }


def test_the_cache_is_counted(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "one").write_bytes(b"x" * 1500)

    with settings.override(cache_dir=str(tmp_path), cache=True):
        assert texts("cache") == [f"{tmp_path}: 1 files, 1.5 kB"]


def test_what_is_off_says_why(tmp_path):
    with settings.override(cache=False, num_threads=1):
        assert "every start compiles again" in texts("cache")[0]
        assert "held to 1 by GNOMON_NUM_THREADS" in texts("cores")


def test_misleading_variables_are_named(monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")

    assert any("OPENBLAS_CORETYPE" in text for text in texts("environment"))
