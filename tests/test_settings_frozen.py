"""The knobs may not grow unnoticed: a new one changes this list and the page that explains it."""

from __future__ import annotations

import ast
from itertools import pairwise

import pytest

from gnomon.settings import Settings
from tests.house import PACKAGE, ROOT, short, sources, tree

pytestmark = pytest.mark.unit

KNOBS = {
    "debug": 0,
    "debug_only": "",
    "numerics": "invariant",
    "cache": True,
    "keep_programs": True,
    "cache_dir": "",
    "cpu_features": "auto",
    "num_threads": 0,
    "compile_workers": 0,
    "verify": False,
    "without": "",
    "dynamic_sizes": True,
    "perf_map": False,
    "pending_limit": 20_000,
    "patience": 600.0,
}

# files that read the environment, and why
READERS = {
    "gnomon/capture/effects.py": "asks for its class, to know when a user's function reads it",
    "gnomon/bisect/command.py": "a run of another commit gets its parent's environment",
    "gnomon/bisect/runs.py": "a run gets its parent's environment, and other settings",
    "gnomon/bench/peers.py": "a peer's process gets its parent's, less what misleads it",
    "gnomon/runtime/comm/environment.py": "launchers tell ranks their places there",
    "gnomon/distributed/availability.py": "elastic launchers and debug levels are named there",
    "gnomon/distributed/launcher.py": "ranks get the launcher's own",
    "gnomon/distributed/rank_main.py": "a script finds its rank under torchrun's names too",
    "gnomon/distributed/ray_launcher.py": "an actor finds its place as a launched rank does",
    "gnomon/drop_in/script.py": "GNOMON_CUDA lets a script find the card",
    "gnomon/drop_in/hub_files.py": "PyTorch's TORCH_HOME says where weights are kept",
    "gnomon/runtime/cuda/driver.py": "a rank has the card of its LOCAL_RANK",
    "gnomon/runtime/workers.py": "a process that compiles gets its parent's environment",
    "gnomon/settings.py": "the knobs",
    "gnomon/train/doctor.py": "shows what a machine presets that would mislead a measurement",
    "gnomon/train/tokenizer.py": "tells the tokenizers library that its threads are wanted",
}


def test_the_knobs_are_these_and_no_more():
    assert Settings._field_defaults == KNOBS
    assert len(KNOBS) <= 15


def test_every_knob_is_explained_beside_its_name():
    body = next(x for x in tree(PACKAGE / "settings.py").body if isinstance(x, ast.ClassDef)).body
    explained = [
        before.target.id
        for before, after in pairwise(body)
        if isinstance(before, ast.AnnAssign) and isinstance(after, ast.Expr)
    ]

    assert explained == list(KNOBS)


def test_every_knob_is_on_the_page_of_the_dial():
    page = (ROOT / "docs" / "debugging.md").read_text(encoding="utf-8")

    assert not [name for name in KNOBS if f"`GNOMON_{name.upper()}`" not in page]


def test_only_listed_files_read_the_environment():
    reads = {
        short(path)
        for path in sources()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute | ast.Name)
        and ast.unparse(node) in ("os.environ", "os.getenv", "environ", "getenv")
    }

    assert reads <= set(READERS)
