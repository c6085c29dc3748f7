"""What every test gets: golden files, seeds by name, tiers that skip by name.

Nothing about Gnomon itself is here; what several tests share about graphs or shapes is beside them.
"""

from __future__ import annotations

import difflib
import gc
import importlib.util
import os
import re
import signal
import sys
import zlib
from collections.abc import Generator, Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from tests.once import share

# tests change the compiler's parts: what they make must not be found by anybody later
os.environ["GNOMON_KEEP_PROGRAMS"] = "0"
# nor by a terminal's colours and width, by who may read new files, or by a locale without accents
for name in ("FORCE_COLOR", "NO_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "COLUMNS", "LINES"):
    os.environ.pop(name, None)
os.environ.update(PYTHONUTF8="1", LC_ALL="C.UTF-8")
os.umask(0o022)
# what twenty thousand tests keep would be looked through for cycles again and again
gc.set_threshold(20_000, 20, 100)
# a shell has what it starts in the background ignore interrupts, which tests send
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

TESTS = Path(__file__).parent
GOLDEN = TESTS / "golden"


class Golden:
    """The text that a test made last time; equal to what it makes now, or the test fails.

    `pytest --update-golden` writes the new text instead, to be reviewed as a diff.
    """

    def __init__(self, path: Path, update: bool) -> None:
        self.path, self.update = path, update
        self.made: str | None = None

    def __eq__(self, made: object) -> bool:
        assert isinstance(made, str), f"golden: text is compared, got {type(made).__name__}."
        self.made = made if made.endswith("\n") else made + "\n"
        if self.update:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(self.made, encoding="utf-8")
        return self.made == self.kept()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"tests/golden/{self.path.name}"

    def kept(self) -> str:
        """The stored text; empty before the first update."""
        return self.path.read_text(encoding="utf-8") if self.path.exists() else ""

    def explain(self) -> list[str]:
        """The difference, line by line, and how to accept it."""
        kept, made = self.kept().splitlines(), (self.made or "").splitlines()
        lines = difflib.unified_diff(kept, made, repr(self), "now", lineterm="")
        return ["differs from its golden file (accept: pytest --update-golden)", *lines]


def pytest_addoption(parser: pytest.Parser) -> None:
    """One flag of our own."""
    parser.addoption(
        "--update-golden", action="store_true", help="write golden files instead of comparing"
    )
    parser.addoption("--processor", help="make code for one of tests/processors.py")


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Show a golden file's difference as a diff."""
    golden = left if isinstance(left, Golden) else right
    return golden.explain() if op == "==" and isinstance(golden, Golden) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Name the tier of each test, and skip the tiers that this machine or this run has not."""
    absent = absent_tiers(config)
    for item in items:
        if (TESTS / "parity") in item.path.parents:
            item.add_marker(pytest.mark.parity)
        if not is_shared(item):
            item.add_marker(pytest.mark.long)
        for tier, reason in absent.items():
            if item.get_closest_marker(tier):
                item.add_marker(pytest.mark.skip(reason=reason))


def is_shared(item: pytest.Item) -> bool:
    """Whether a test of a large family, `share(8)`, is of the eighth that is not `long`."""
    share = item.get_closest_marker("share")
    return share is None or seed_of(item) % share.args[0] == 0


def absent_tiers(config: pytest.Config) -> dict[str, str]:
    """Tiers that do not run here, with the reason that the report shows."""
    absent = {}
    if importlib.util.find_spec("torch") is None:
        absent["parity"] = "needs torch: pip install -e '.[parity]'"
    packages = map(importlib.util.find_spec, ("nvidia", "nvidia.cuda_nvcc"))
    if not all(packages):
        absent["assembler"] = "needs NVIDIA's assembler: pip install -e '.[gpu-test]'"
    if "GNOMON_PACKAGES_SOURCES" not in os.environ:
        absent["packages"] = "needs a folder of sources: see tests/packages/run.py"
    if "proof" not in config.option.markexpr:
        absent["proof"] = "heavy bit tests run on request: pytest -m proof"
    if "long" not in config.option.markexpr:
        absent["long"] = "open-ended searches run on request: pytest -m long, python -m tests.long"
    return absent


def seed_of(item: pytest.Item) -> int:
    """A number that depends on the test's name alone."""
    return zlib.crc32(item.nodeid.encode())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Seed the global generators by the test's name, and forget the sizes that others met.

    The third size of a program asks for one for all sizes: of one test's, not of another's.
    """
    importlib.import_module("gnomon.testing").seed_all(seed_of(item))
    sized = sys.modules.get("gnomon.compiler.sized")
    if sized is not None:
        sized._families.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the seed of a test that fails: the last that it asked for, or else its own."""
    report = yield
    if report.failed:
        seed = importlib.import_module("gnomon.testing").seeded()
        report.sections.append(("seed", f"gn.testing.seed_all({seed})"))
    return report


@pytest.fixture(autouse=True, scope="session")
def shared(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Processes of this run of tests find each other's results."""
    share(pytestconfig, tmp_path_factory.getbasetemp())


@pytest.fixture(autouse=True, scope="module")
def frozen() -> None:
    """Leave modules and twenty thousand tests out of collections, which tests ask for often.

    And what modules of tests before this one left. To ask whether all is still frozen, since
    looking for what varies unfreezes, would be to count it: half a second.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def processor(request: pytest.FixtureRequest) -> Iterator[None]:
    """Code is made for the processor that a test's parameter names, or `--processor`."""
    name = getattr(request, "param", request.config.getoption("--processor"))
    # loaded late: gnomon reads its settings when it is, and KEEP_PROGRAMS above comes first
    planted = importlib.import_module("tests.processors").planted
    with planted(name) if name else nullcontext():
        yield


@pytest.fixture(autouse=True)
def cold_lines() -> None:
    """No line has brought forth programs yet, whatever tests ran before in this process."""
    # loaded late, as above
    importlib.import_module("gnomon.ir.provenance").waited.clear()


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator whose numbers depend on the test's name alone."""
    return np.random.default_rng(seed_of(request.node))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """The golden text of this test: `assert show(program) == golden`."""
    folder = request.path.relative_to(TESTS).with_suffix("")
    words = [*folder.parts, request.node.name]
    name = re.sub(r"[^A-Za-z0-9_.]+", "-", ".".join(words)).strip("-")
    return Golden(GOLDEN / f"{name}.txt", request.config.getoption("--update-golden"))
