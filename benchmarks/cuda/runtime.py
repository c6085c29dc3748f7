"""The package's own runtime on a card: programs on both devices in one process, bits and seconds.

    python -m benchmarks.cuda.runtime --json runtime.json [--operations]

Needs the package and its dependencies where the card is. `--operations` runs every operation too,
by the samples of the tests. Rows that the file holds are not run again: an error of a kernel ends
the process's use of the card, and the next run goes on behind it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gnomon as gn
from benchmarks.cuda import teams, tensor_sums
from benchmarks.cuda.bundle import Decoder, functions, labels
from gnomon.errors import DeviceLost
from gnomon.nn import functional as F
from gnomon.ops.registry import OPS
from gnomon.settings import override
from gnomon.tensor.functions import FUNCTIONS
from tests.ops.samples import SAMPLES

REPEATS = 5
STEPS = 10
DEVICES = ("cpu", "cuda")
Row = dict[str, Any]


def tensors(value: Any) -> Iterator[gn.Tensor]:
    """The tensors of a result."""
    if isinstance(value, gn.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from tensors(each)


def bits(value: Any) -> list[bytes]:
    """The bytes of the tensors of a result."""
    return [x.cpu().numpy().tobytes() for x in tensors(value)]


def seconds(run: Callable[[], Any]) -> float:
    """The median time of a call, the card's part included."""
    found = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        made = run()
        gn.evaluate(*tensors(made))
        gn.cuda.synchronize()
        found.append(time.perf_counter() - began)
    return statistics.median(found)


def programs() -> dict[str, Callable[[], Row]]:
    """A row for each program of the bundle and of teams.py, eager and compiled."""

    def row(f: Callable[..., Any], given: tuple[gn.Tensor, ...]) -> Row:
        found: Row = {}
        made = {}
        for device in DEVICES:
            own = [x.to(device) for x in given]
            run = gn.compile(f)
            made[device] = bits(f(*own)) + bits(run(*own))
            found[f"seconds on {device}"] = seconds(lambda run=run, own=own: run(*own))
        return found | {"equal": made["cpu"] == made["cuda"]}

    every = {**functions(), **teams.functions()}
    return {name: lambda f=f, given=given: row(f, given) for name, (f, given) in every.items()}


def training() -> Row:
    """Losses of some steps of a small decoder, and the seconds of one."""
    curves, found = {}, {}
    tokens, goals = labels(97, 2, 32), labels(97, 2, 32)
    for device in DEVICES:
        gn.manual_seed(0)
        model = Decoder().to(device)
        optimizer = gn.optim.AdamW(model.parameters(), lr=1e-3)
        given = tokens.to(device), goals.to(device)

        @gn.compile
        def step(tokens: gn.Tensor, goals: gn.Tensor, own: Any = (model, optimizer)) -> gn.Tensor:
            model, optimizer = own
            optimizer.zero_grad()
            loss = F.cross_entropy(model(tokens).flatten(0, 1), goals.flatten())
            loss.backward()
            optimizer.step()
            return loss.detach()

        curves[device] = [step(*given).item() for _ in range(STEPS)]
        found[f"seconds on {device}"] = seconds(lambda step=step, given=given: step(*given))
    return found | {"losses": curves["cuda"], "equal": curves["cpu"] == curves["cuda"]}


def moved(value: Any, device: str) -> Any:
    """An argument of a sample with tensors in place of arrays."""
    if isinstance(value, dict):
        return {k: moved(x, device) for k, x in value.items()}
    if type(value) in (list, tuple):
        return type(value)(moved(x, device) for x in value)
    return gn.tensor(value, device=device) if hasattr(value, "dtype") else value


def operation(name: str) -> Row:
    """Whether an operation has the CPU's bits; what is refused says why."""
    sample, function = SAMPLES[name][0], getattr(gn, name, None) or FUNCTIONS[name]
    made = []
    for device in DEVICES:
        try:
            made.append(bits(function(*moved(sample.args, device), **moved(sample.kwargs, device))))
        except DeviceLost:
            raise
        except Exception as cause:
            return {"refused": f"{device}: {cause}"[:200]}
    return {"equal": made[0] == made[1]}


def tensor_products(kind: str) -> Row:
    """Whether products have the sums of the tensor cores' model, and the speed of a large one."""
    size, differ = tensor_sums.TIMED, []
    for sizes in tensor_sums.SIZES:
        if not tensor_sums.has_the_sums(sizes, kind):
            differ.append(sizes)
    x, w = (gn.randn(size, size, device="cuda").to(tensor_sums.KINDS[kind]) for _ in range(2))
    found = seconds(lambda: x @ w)
    return {"equal": not differ, "differ": differ, "TFLOP/s": 2e-12 * size**3 / found}


def exactly(row: Callable[[], Row]) -> Callable[[], Row]:
    """A row whose products have the CPU's bits."""

    def made() -> Row:
        with override(numerics="portable"):
            return row()

    return made


def rows(operations: bool) -> dict[str, Callable[[], Row]]:
    """All rows by name, in order."""
    found = {**programs(), "training step of a decoder": training}
    names = sorted(SAMPLES.keys() & OPS.keys()) if operations else []
    found |= {f"operation {name}": lambda name=name: operation(name) for name in names}
    own = {f"tensor cores {kind}": partial(tensor_products, kind) for kind in tensor_sums.KINDS}
    return {name: exactly(row) for name, row in found.items()} | own


def main() -> None:
    """Run the rows that are not in the file yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--operations", action="store_true")
    given = parser.parse_args()
    known = json.loads(given.json.read_text()) if given.json.exists() else {}
    known["card"] = gn.cuda.get_device_name()
    gn.manual_seed(0)
    for name, make in rows(given.operations).items():
        if name in known:
            continue
        try:
            known[name] = make()
        except DeviceLost as cause:
            known[name] = {"lost": str(cause)}
            raise SystemExit(f"{name} ended the use of the card: run this again.") from None
        finally:
            given.json.write_text(json.dumps(known, indent=1) + "\n")
        print(f"{name}: {known[name]}", flush=True)
    found = [row for row in known.values() if isinstance(row, dict)]
    print(f"{sum(bool(row.get('equal')) for row in found)} of {len(found)} equal", flush=True)


if __name__ == "__main__":
    main()
