"""Ranks in a ring: each multiplies by every rank's weights, which are handed on from step to step.

Run it by `gnomon launch -n 4 python examples/ring.py`, or alone. The whole turn is one program: in
each step weights travel to the next rank while the product with the ones at hand is computed.
"""

import gnomon as gn
import gnomon.distributed as dist

SIZE = 64


@gn.compile
def turn(x: gn.Tensor, weights: gn.Tensor) -> gn.Tensor:
    """The sum over ranks k of (k + 1) * x @ (the weights of rank k)."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % ranks, (rank - 1) % ranks
    total = gn.zeros(x.shape[0], weights.shape[1])
    for step in range(ranks):
        coming = gn.empty_like(weights)
        if step < ranks - 1:
            works = dist.batch_isend_irecv(
                [dist.P2POp(dist.isend, weights, right), dist.P2POp(dist.irecv, coming, left)]
            )
        owner = (rank - step) % ranks
        total = total + (owner + 1) * (x @ weights)
        if step < ranks - 1:
            for work in works:
                work.wait()
            weights = coming
    return total


def main() -> None:
    """Take a turn, and compare with every rank's weights gathered."""
    dist.init_process_group()
    rank, ranks = dist.get_rank(), dist.get_world_size()
    gn.manual_seed(rank)
    x, weights = gn.randn(8, SIZE), gn.randn(SIZE, SIZE)
    every = gn.empty(ranks * SIZE, SIZE)
    dist.all_gather_single(every, weights)
    made = turn(x, weights)
    parts = every.reshape(ranks, SIZE, SIZE)
    expected = sum((k + 1) * (x @ parts[k]) for k in range(ranks))
    assert gn.allclose(made, expected, atol=1e-4), (made, expected)
    total = made.abs().sum()
    dist.all_reduce(total)
    if rank == 0:
        print(f"{ranks} ranks took a turn of {ranks - 1} steps: {float(total):.6g}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
