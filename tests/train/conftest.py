"""What several tests of training share: a small folder of Python files and a run that fits it."""

from __future__ import annotations

import pytest

from gnomon import settings
from gnomon.train.config import Config, build


@pytest.fixture
def folder(tmp_path):
    """Sixty small Python files, some of which are held out."""
    root = tmp_path / "corpus"
    root.mkdir()
    for number in range(60):
        lines = [f"def f{n}(x):\n    return x + {n * number % 7}\n\n\n" for n in range(6)]
        (root / f"file{number}.py").write_text("".join(lines))
    return root


@pytest.fixture
def cached(tmp_path):
    """Tokenizers are kept beside the test."""
    with settings.override(cache_dir=str(tmp_path / "cache")):
        yield


@pytest.fixture
def config(folder, cached) -> Config:
    """A run of six steps, as small as one can be."""
    return build(
        {
            "run": {"name": "small", "dir": str(folder.parent / "run")},
            "corpus": {"folder": str(folder), "held_out_percent": 10},
            "model": {
                "vocab_size": 300,
                "hidden_size": 16,
                "intermediate_size": 24,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "num_key_value_heads": 1,
                "head_dim": 8,
                "max_position_embeddings": 32,
            },
            "schedule": {"steps": 6, "warmup_steps": 2},
            "train": {
                "steps": 6,
                "batch_size": 2,
                "sequence_length": 16,
                "evaluate_every": 3,
                "checkpoint_every": 2,
            },
            "evaluation": {"batch_size": 4, "stride": 8, "quick_windows": 4},
            "sample": {"max_new_tokens": 5},
        }
    )
