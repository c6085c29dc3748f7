"""Cubins of the quick kernels, by an assembler that runs beside others.

    python -m benchmarks.cuda.assemble build/gpu --ptxas PATH --arch sm_90

The driver assembles one text at a time; what lies in the folder's `cubins` it only loads.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from benchmarks.cuda import loops, products
from benchmarks.cuda.driver import cubin_name
from benchmarks.cuda.tensor_core import LEAST


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Every kernel of the stages, with what it is."""
    for kind in LEAST:
        for which in (products.LARGE, products.GROUPED, products.PAIRED):
            for name, (_, shapes) in which.items():
                for title, shape in shapes.items():
                    if kind == "bf16" or name == "4096":
                        yield f"{kind} {name}: {title}", replace(shape, kind=kind).text()
        for sizes in products.RAGGED + products.WHOLE + products.EDGES:
            for title, shape in products.small_shapes(sizes, kind):
                yield f"{kind} {sizes}: {title}", shape.text()
        for sizes in products.WHOLE + products.EDGES:
            for title, shape in products.small_groups(sizes, kind):
                yield f"{kind} {sizes}: {title}", shape.text()
    for name, (_, floats) in products.FLOATS.items():
        for title, each in floats.items():
            yield f"float {name}: {title}", each.text()
    found = folder / "loops.json"
    if found.exists():
        yield from json.loads(found.read_text())["kernels"].items()
    yield from loops.texts().items()


def assembled(ptx: str, goal: Path, tool: str, arch: str) -> str:
    """Write a cubin; gives registers and spills."""
    source = goal.with_suffix(".ptx")
    source.write_text(ptx)
    own = re.search(r"\.target (sm_\d+a)", ptx)
    command = [tool, f"-arch={own[1] if own else arch}", "-v", str(source), "-o", str(goal)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    source.unlink()
    if done.returncode:
        raise SystemExit(f"assemble: {done.stderr[:600]}")
    used = re.search(r"Used (\d+) registers", done.stderr)
    spilled = re.search(r"(\d+) bytes spill stores", done.stderr)
    return f"{used and used[1]} registers, {spilled and spilled[1]} bytes spilled"


def main() -> None:
    """Assemble what is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ptxas", default="ptxas")
    parser.add_argument("--arch", default="sm_90")
    given = parser.parse_args()
    cubins = given.folder / "cubins"
    cubins.mkdir(parents=True, exist_ok=True)
    named = {text: title for title, text in texts(given.folder)}
    wanted = {cubins / cubin_name(text): text for text in named}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        works = {
            named[text]: pool.submit(assembled, text, goal, given.ptxas, given.arch)
            for goal, text in wanted.items()
            if not goal.exists()
        }
        for title, work in works.items():
            print(f"{title}: {work.result()}", flush=True)


if __name__ == "__main__":
    main()
