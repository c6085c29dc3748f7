"""A layer's gradients on one rank, and on two that split its rows or its weight: the same bits."""

import gnomon as gn
import gnomon.distributed as dist
from gnomon.distributed.tensor import Replicate, Shard, distribute_tensor, init_device_mesh

gn.manual_seed(0)
given = gn.randn(8, 256), gn.randn(512, 256)


@gn.compile
def gradients(x, weight):
    """The gradients of x and weight, whole on every rank."""
    y = gn.nn.functional.linear(x, weight)
    found = gn.autograd.grad(y, (x, weight), y.detach())
    return [each.full_tensor() if hasattr(each, "full_tensor") else each for each in found]


def bits(values):
    """The bytes of tensors, to compare them."""
    return [each.numpy().tobytes() for each in values]


def on_two_ranks(*placements):
    """The bits on two ranks with these placements of x and weight."""

    def one(rank):
        dist.init_process_group("threads")
        mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("split",))
        pairs = zip(given, placements, strict=True)
        parts = [distribute_tensor(x, mesh, [how]).requires_grad_() for x, how in pairs]
        found = bits(gradients(*parts))
        if rank == 0:
            print(dist.explain(gradients), "\n")
        dist.destroy_process_group()
        return found

    return dist.run_ranks(dist.DeviceMesh.of({"all": 2}), one)


alone = bits(gradients(*(x.clone().requires_grad_() for x in given)))
rows = on_two_ranks(Shard(0), Replicate())
columns = on_two_ranks(Replicate(), Shard(0))
assert rows == columns == [alone] * 2
print("One rank, split rows and a split weight give the same bits.")
