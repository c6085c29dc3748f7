"""Random programs of collectives whose ranks look at values, drop them and branch differently.

Not a test. What looks changes no value, so that all ranks end with the bits of the same program in
which nobody looks.
"""

from __future__ import annotations

import hashlib
import random

import gnomon as gn
import gnomon.distributed as dist

STEPS = 8
SHAPE = (4, 6)


def program(seed: int, rank: int, ranks: int, looks: bool) -> str:
    """Run one program; the digest of what this rank has at the end."""
    chosen, own = random.Random(seed), random.Random(f"{seed} {rank}")
    held = [gn.arange(24, dtype=gn.float32).reshape(SHAPE) / (rank + 3) for _ in range(2)]
    for _ in range(STEPS):
        which, name = chosen.randrange(len(held)), chosen.choice(list(STEP))
        x = held[which] * 0.5 + rank
        made = STEP[name](x, rank, ranks)
        if looks:
            glance(made, held, own)
        if chosen.random() < 0.3:
            STEP[name](x, rank, ranks)  # an equal one, dropped by all
        held[chosen.randrange(len(held))] = made
    return hashlib.sha256(b"".join(x.numpy().tobytes() for x in held)).hexdigest()


def glance(made: gn.Tensor, held: list[gn.Tensor], own: random.Random) -> None:
    """What one rank does by itself: prints, branches on a value, computes what nobody reads."""
    kind = own.randrange(6)
    if kind == 0:
        repr(made)
    elif kind == 1 and float(made.sum()) > 0:
        (held[0] @ held[1].T).sum().item()
    elif kind == 2:
        gn.evaluate(held)
    elif kind == 3:
        del made
    elif kind == 4:
        (made * 3).exp()


def summed(x: gn.Tensor, rank: int, ranks: int) -> gn.Tensor:
    """A sum, in place."""
    dist.all_reduce(x)
    return x / ranks


def gathered(x: gn.Tensor, rank: int, ranks: int) -> gn.Tensor:
    """A gather, of which the mean is taken."""
    return dist.functional.all_gather_single(x, 0).reshape(ranks, *SHAPE).mean(dim=0)


def spread(x: gn.Tensor, rank: int, ranks: int) -> gn.Tensor:
    """A broadcast."""
    dist.broadcast(x, src=ranks - 1)
    return x + rank


def traded(x: gn.Tensor, rank: int, ranks: int) -> gn.Tensor:
    """Messages around the ring, one of them waited for late."""
    came = gn.zeros(SHAPE)
    sent = dist.isend(x, (rank + 1) % ranks)
    dist.recv(came, (rank - 1) % ranks)
    sent.wait()
    return came


def scattered(x: gn.Tensor, rank: int, ranks: int) -> gn.Tensor:
    """A scattered sum of every rank's copies."""
    made = gn.zeros(SHAPE)
    dist.reduce_scatter_single(made, gn.cat([x] * ranks, 0))
    return made / ranks


STEP = {f.__name__: f for f in (summed, gathered, spread, traded, scattered)}


def digests(seeds: range, rank: int, ranks: int, looks: bool) -> list[str]:
    """The digests of several programs."""
    return [program(seed, rank, ranks, looks) for seed in seeds]
