"""Token dispatch beside a loop over experts and beside the exchange of bytes that it needs.

Run by hand (python -m benchmarks.token_dispatch [--ranks 2 4] [--steps 40] [--json FILE]). Ranks
are threads of this process. For each routing: `move` is a dispatch and a combination of what came,
with no experts between them; `raw` are two all-to-all exchanges of as many rows as tokens have
experts, in even parts; `layer` is a forward pass with experts. The loop has every expert on every
rank, and picks rows, multiplies and adds expert by expert. Times are milliseconds, the least of all
steps, of the slowest rank; `rows` are places that a rank has, beside an even share of rows.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import gnomon as gn
import gnomon.distributed as dist
from gnomon.nn import functional as F

TOKENS, CHOSEN, WIDTH, INNER, EXPERTS = 1024, 2, 512, 256, 8
"""Tokens of a rank, experts of a token, the sizes of rows and experts, experts in all."""
ROUTINGS = ("even", "skewed", "one rank")


def routed(routing: str, ranks: int) -> np.ndarray:
    """The experts of all ranks' tokens: evenly, the first ones most of all, or on the first rank.

    Skewed, the experts of the first rank have 1.5 times their share.
    """
    chance, shape = np.random.default_rng(0), (ranks * TOKENS, EXPERTS)
    first = np.arange(EXPERTS) < EXPERTS // ranks
    if routing == "even":
        return (np.arange(shape[0])[:, None] + np.arange(CHOSEN) * (EXPERTS // CHOSEN)) % EXPERTS
    wish = chance.random(shape)
    if routing == "skewed":
        here = chance.random((shape[0], 1)) < 1.5 / ranks
        return np.argsort(-(wish + (first == here)), axis=1)[:, :CHOSEN]
    return np.argsort(-(wish + first), axis=1)[:, :CHOSEN]


def experts_of(rows: gn.Tensor, ends: gn.Tensor, up: gn.Tensor, down: gn.Tensor) -> gn.Tensor:
    """What experts make of their rows."""
    return gn.routed_mm(F.silu(gn.routed_mm(rows, up, ends)), down, ends)


def looped(
    x: gn.Tensor, share: gn.Tensor, expert: gn.Tensor, up: gn.Tensor, down: gn.Tensor
) -> gn.Tensor:
    """The same layer, expert by expert."""
    y = gn.zeros(*x.shape)
    for number in range(EXPERTS):
        token, choice = (expert == number).nonzero(as_tuple=True)
        made = F.silu(x[token] @ up[number]) @ down[number]
        y.index_add_(0, token, made * share[token, choice].unsqueeze(1))
    return y


def timed(call: Callable[[], Any], steps: int) -> float:
    """Milliseconds of a call, the least of some after three more; all ranks begin together."""
    found = []
    for _ in range(steps + 3):
        dist.barrier()
        began = perf_counter()
        gn.evaluate(call())
        found.append(1e3 * (perf_counter() - began))
    return min(found[3:])


def dispatcher_of(name: str) -> dist.TokenDispatcher:
    """A dispatcher of one block per rank."""
    if name == "local":
        return dist.LocalTokenDispatcher(EXPERTS, 1)
    kind = dist.StaticTokenDispatcher if name == "static" else dist.AllToAllTokenDispatcher
    made = kind(EXPERTS, 1)
    made.init_buffer(TOKENS, CHOSEN)
    return made


def measured(name: str, given: list[gn.Tensor], steps: int) -> dict:
    """The times of one dispatcher on one rank."""
    dispatcher = dispatcher_of(name)
    x, share, expert, up, down = given
    up, down = up[dispatcher.own].clone(), down[dispatcher.own].clone()

    def move() -> gn.Tensor:
        sent = dispatcher.dispatch(x, share, expert)
        return dispatcher.combine(sent.rows, sent)

    def layer() -> gn.Tensor:
        sent = dispatcher.dispatch(x, share, expert)
        return dispatcher.combine(experts_of(sent.rows, sent.ends, up, down), sent)

    calls = [move, layer] if name == "all_to_all" else [gn.compile(move), gn.compile(layer)]
    dispatcher.replayed(lambda: gn.evaluate(layer()))
    rows = dispatcher.dispatch(x, share, expert).rows.shape[0] / (TOKENS * CHOSEN)
    times = [timed(call, steps) for call in calls]
    return dict(zip(("move", "layer"), times, strict=True), rows=rows)


def one_rank(rank: int, ranks: int, routing: str, steps: int) -> dict[str, dict]:
    """All times of one rank."""
    dist.init_process_group("threads")
    chance, own = np.random.default_rng(1), slice(rank * TOKENS, (rank + 1) * TOKENS)
    shapes = (TOKENS, WIDTH), (TOKENS, CHOSEN), (EXPERTS, WIDTH, INNER), (EXPERTS, INNER, WIDTH)
    x, share, up, down = (gn.tensor(chance.normal(size=s).astype("f4") / 8) for s in shapes)
    given = [x, share, gn.tensor(routed(routing, ranks)[own]), up, down]
    rows = gn.ones(TOKENS * CHOSEN, WIDTH)
    twice = gn.compile(
        lambda x: dist.functional.all_to_all_single(dist.functional.all_to_all_single(x))
    )
    found = {
        "raw": {"move": timed(lambda: twice(rows), steps)},
        "loop": {"layer": timed(lambda: looped(*given), steps)},
    }
    for name in ("local", "all_to_all", "static"):
        found[name] = measured(name, given, steps)
    return found


def main() -> None:
    """Print a row for each number of ranks, routing and dispatcher."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, nargs="*", default=[2, 4])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--json", type=Path)
    asked, listed = parser.parse_args(), []
    print("ranks  routing   dispatcher   move ms  of raw  layer ms  of loop  rows")
    for ranks in asked.ranks:
        for routing in ROUTINGS:
            world = dist.DeviceMesh.of({"expert": ranks})
            made = dist.run_ranks(
                world, lambda k, n=ranks, how=routing: one_rank(k, n, how, asked.steps), 600.0
            )
            worst = {
                name: {key: max(each[name][key] for each in made) for key in made[0][name]}
                for name in made[0]
            }
            listed.append({"ranks": ranks, "routing": routing, **worst})
            raw, loop = worst["raw"]["move"], worst["loop"]["layer"]
            for name, row in worst.items():
                move, layer = row.get("move"), row.get("layer")
                print(
                    f"{ranks:5}  {routing:8}  {name:10}"
                    + (f"  {move:8.2f}  {raw / move:5.0%}" if move else " " * 18)
                    + (f"   {layer:8.2f}  {loop / layer:6.2f}x" if layer else "")
                    + (f"  {row['rows']:.2f}" if "rows" in row else "")
                )
    if asked.json:
        asked.json.write_text(json.dumps(listed, indent=1))


if __name__ == "__main__":
    main()
