"""The open-ended searches, one after another, for as long as one has: `python -m tests.long`.

Not a test: CI never runs it. Each search is a module that takes `--seconds` and `--seed`, says what
it tried, and ends with its first finding, which then becomes a small test of its own.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time

SEARCHES = (
    ("tests.fuzz_empty",),
    ("tests.fuzz_together",),
    ("tests.fuzz_alias",),
    ("tests.fuzz_capture",),
    ("tests.fuzz_breaks",),
    ("tests.fuzz_objects",),
    ("tests.fuzz_ranks",),
    ("tests.fuzz_orders",),
    ("tests.fuzz_files",),
    ("tests.fuzz_hostile",),
    ("tests.stress", "forks"),
    ("tests.stress", "threads"),
    ("tests.stress", "interrupts"),
)
"""Modules, and the words that they take."""


def main() -> int:
    """Give each search its share of the time; the number of searches that found something."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--minutes", type=float, default=60.0)
    words.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    words.add_argument("--only", default="", help="a part of a search's name")
    asked = words.parse_args()
    chosen = [search for search in SEARCHES if asked.only in " ".join(search)]
    seconds, found = 60 * asked.minutes / max(len(chosen), 1), 0
    print(f"seed {asked.seed}, {seconds:.0f} s for each of {len(chosen)} searches", flush=True)
    for search in chosen:
        began = time.monotonic()
        limits = [f"--seconds={seconds}", f"--seed={asked.seed}"]
        code = subprocess.run([sys.executable, "-m", *search, *limits], check=False).returncode
        found += code != 0
        outcome = f"exit code {code}" if code else "nothing found"
        print(f"== {' '.join(search)}: {outcome}, {time.monotonic() - began:.0f} s", flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
