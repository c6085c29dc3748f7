"""SparseAdam: Adam for tables of which a step reads a few rows, and changes no others."""

from __future__ import annotations

from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops import scalars
from gnomon.ops.reductions import any as any_of
from gnomon.optim.adam import Adam
from gnomon.optim.optimizer import Groups, Nodes, update
from gnomon.tensor.tensor import Tensor


@update
def sparse_adam(x: Node, g: Node, kept: Nodes, numbers: Nodes) -> Nodes:
    """A parameter, and the means of its gradients and their squares, new where a row has one."""
    size, root, rest1, _, rest2, eps, _ = (cast(v, x.dtype) for v in numbers)
    read = elementwise("ne", g, 0.0)
    if x.rank > 1:
        read = any_of(read, tuple(range(1, x.rank)), keepdims=True)
    mean, square = kept
    mean = mean + scalars.where(read, (g - mean) * rest1, 0.0)
    square = square + scalars.where(read, (g * g - square) * rest2, 0.0)
    step = mean / (elementwise("sqrt", square) + eps)
    return x - scalars.where(read, size * root * step, 0.0), mean, square


class SparseAdam(Adam):
    """Adam that changes a row, and the means of its gradients, in steps that have some for it.

    Gradients are dense here, those of `Embedding(sparse=True)` too: rows with a gradient are those
    where it is not 0.

    >>> import gnomon as gn
    >>> table = gn.ones(3, 1, requires_grad=True)
    >>> optimizer = SparseAdam([table], lr=0.5)
    >>> table[1].sum().backward()
    >>> optimizer.step()
    >>> table.detach()
    Tensor([[1. ],
            [0.5],
            [1. ]])
    """

    def __init__(
        self,
        params: Groups,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, maximize=maximize)

    def _update(self, number: int, count: Node | None) -> tuple:
        """The operation of a group's step, its state's names, numbers and switches."""
        _, names, numbers, switches = super()._update(number, count)
        return sparse_adam, names, numbers, {"maximize": switches["maximize"]}
