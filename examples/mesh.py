"""Four ranks train as rows x tensor parallel, with the losses of one process, to the bit.

    gnomon launch -n 4 python examples/mesh.py

Alone it trains without a mesh of more than one rank: the numbers that it prints are the same.
"""

import gnomon as gn
import gnomon.distributed as dist
from gnomon import nn
from gnomon.distributed.device_mesh import init_device_mesh
from gnomon.distributed.fsdp import fully_shard
from gnomon.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

dist.init_process_group()
ranks = dist.get_world_size()
shape = (2, ranks // 2) if ranks > 1 else (1, 1)
mesh = init_device_mesh("cpu", shape, mesh_dim_names=("dp", "tp"))

gn.manual_seed(0)
rows = gn.randn(16, 64)
model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))
parallelize_module(model, mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
fully_shard(model, mesh=mesh["dp"])
optimizer = gn.optim.AdamW(model.parameters(), lr=1e-2)


@gn.compile
def step(x):
    loss = (model(x) - x.roll(1, 1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


own = rows.chunk(mesh.size(0))[mesh.get_local_rank("dp")]
for _ in range(5):
    loss = step(own).clone()
    dist.all_reduce(loss, dist.ReduceOp.AVG, group=mesh.get_group("dp"))
    if dist.get_rank() == 0:
        print(float(loss).hex(), flush=True)
dist.destroy_process_group()
