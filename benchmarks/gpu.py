"""What a card shows of this project: ceilings, its tensor cores, and the CPU's bits.

    python -m benchmarks.cuda.bundle build/gpu              # where the project is installed
    python -m benchmarks.cuda.hashes build/gpu
    python -m benchmarks.cuda.assemble build/gpu --ptxas P  # where an assembler is: saves time
    python -m benchmarks.gpu build/gpu --json card.json      # where a card is

Beside the bundle the last needs numpy, llvmlite and the driver (libcuda.so.1) alone; where torch
is, its times stand beside ours. Stages that a JSON file holds already are not run again; each takes
less than two minutes; `--only` names some.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.cuda.ceilings import ceilings
from benchmarks.cuda.denormals import denormals
from benchmarks.cuda.driver import Driver
from benchmarks.cuda.launches import launches
from benchmarks.cuda.loops import loops
from benchmarks.cuda.products import (
    GROUPED,
    LARGE,
    PAIRED,
    float_products,
    group_bits,
    tensor_bits,
    tensor_speed,
)
from benchmarks.cuda.programs import programs, speeds
from benchmarks.cuda.tensor_core import tensor_cores

SECONDS = 110.0
"""What a stage may take."""


def stages(
    driver: Driver, folder: Path, known: dict[str, Any]
) -> dict[str, Callable[[], dict[str, Any]]]:
    """The stages by name, in order."""
    return {
        "ceilings": lambda: ceilings(driver),
        "tensor cores": lambda: tensor_cores(driver),
        "denormals": lambda: denormals(driver),
        "programs": lambda: programs(
            driver,
            folder,
            time.monotonic() + SECONDS,
            known.get("programs", {}).get("programs", {}),
        ),
        "speeds": lambda: speeds(driver, folder, time.monotonic() + SECONDS),
        "strided speeds": lambda: against(
            known.get("speeds", {}),
            speeds(driver, folder, time.monotonic() + SECONDS, "strided"),
        ),
        "tensor products": lambda: tensor_bits(driver, time.monotonic() + SECONDS),
        "tensor speeds": lambda: tensor_speed(driver, time.monotonic() + SECONDS, LARGE),
        "float products": lambda: float_products(
            driver,
            json.loads((folder / "products.json").read_text()),
            time.monotonic() + SECONDS,
        ),
        "loops": lambda: loops(driver, folder),
        "launches": lambda: launches(driver),
        "group products": lambda: group_bits(driver, time.monotonic() + SECONDS),
        "group speeds": lambda: tensor_speed(driver, time.monotonic() + SECONDS, GROUPED),
        "pair speeds": lambda: tensor_speed(driver, time.monotonic() + SECONDS, PAIRED),
    }


def against(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Each family's row with the seconds of its kernels of stretches, and how much slower they are.

    Families: elementwise, rows (softmax, layer norm), columns, moves, products.
    """
    for name, row in new.items():
        before = old.get(name, {}).get("seconds")
        if before and "seconds" in row:
            row |= {"stretches": before, "times as fast": round(before / row["seconds"], 2)}
    return new


def lines(name: str, found: dict[str, Any]) -> list[str]:
    """A stage's table."""
    if name == "programs":
        rows = found["programs"].items()
        wrong = [f"  {title}: {row}" for title, row in rows if row.get("differ") != []]
        return [
            f"  {found['assembler']}",
            f"  {len(rows) - len(wrong)} of {len(rows)} equal",
            *wrong,
        ]
    if name in ("tensor cores", "tensor products", "group products"):
        rows = {title: row for title, row in found.items() if isinstance(row, dict)}
        wrong = {title: row for title, row in rows.items() if row["differ"]}
        ending = [f"  {len(rows) - len(wrong)} of {len(rows)} equal"]
        return [
            f"  {title}: {row['differ']} of {row['sums']}" for title, row in wrong.items()
        ] + ending
    if name in ("tensor speeds", "float products", "group speeds", "pair speeds"):
        return [
            f"  {title}, {shape}: {row}"
            for title, each in found.items()
            for shape, row in (each.items() if isinstance(each, dict) else [("", each)])
        ]
    return [f"  {title}: {value}" for title, value in found.items()]


def main() -> None:
    """Run the stages that are not in the file yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    known = json.loads(given.json.read_text()) if given.json.exists() else {}
    driver = Driver(given.bundle / "cubins")
    for name, stage in stages(driver, given.bundle, known).items():
        if given.only and name not in given.only:
            continue
        if name in known and not {"error", "broken off"} & known[name].keys():
            continue
        began = time.monotonic()
        try:
            known[name] = stage()
        except Exception:
            known[name] = {"error": traceback.format_exc()}
        print(f"{name} ({time.monotonic() - began:.1f} s)", flush=True)
        failed = known[name].get("error")
        print("\n".join([failed] if failed else lines(name, known[name])), flush=True)
        given.json.write_text(json.dumps(known, indent=1) + "\n")
        if "broken off" in known[name]:
            raise SystemExit(f"{known[name]['broken off']} ended the context: run this again.")


if __name__ == "__main__":
    main()
