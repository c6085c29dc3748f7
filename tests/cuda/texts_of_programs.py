"""Writes the PTX of every program of tests/tensor/test_device_cuda.py: `python -m ... FOLDER`.

Not a test. It is a process of its own, since its card runs nothing and gives wrong values.
"""

from __future__ import annotations

import sys
from pathlib import Path

import gnomon as gn
from tests.cuda.cards import card
from tests.cuda.fake_driver import FakeDriver
from tests.tensor.test_device_cuda import PROGRAMS


def main(folder: Path) -> None:
    """Write a file for each kernel, named by its program and its number in it."""
    with card(FakeDriver(interprets=False)) as fake:
        for name, (f, given) in PROGRAMS.items():
            known = {*fake.modules.values()}
            gn.manual_seed(0)
            made = f(*(gn.tensor(x, device="cuda") for x in given))
            gn.evaluate(made)
            texts = [text for text in fake.modules.values() if text not in known]
            for number, text in enumerate(texts):
                (folder / f"{name}, {number}.ptx").write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
