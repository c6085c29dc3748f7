"""Softmax over very many classes, the rare ones in clusters with narrower layers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from gnomon.errors import ArgumentError
from gnomon.nn import functional as F
from gnomon.nn.containers import ModuleList, Sequential
from gnomon.nn.linear import Linear
from gnomon.nn.module import Module
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor


class LogChances(NamedTuple):
    """The log-probability of each target, and the loss: minus their mean."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """An efficient softmax over many classes, rare ones in clusters (Grave et al. 2016).

    Classes after each cutoff form a cluster.

    Shapes: input (n, in_features), target (n) -> (n), ()

    Every class's logarithm is computed, whatever the targets are: one program for all of them.

    >>> layer = AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10])
    >>> output, loss = layer(ones(2, 8), tensor([3, 17]))
    >>> output.shape, layer.log_prob(ones(2, 8)).shape
    (Size([2]), Size([2, 20]))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__()
        ends = [0, *cutoffs, n_classes]
        if not cutoffs or any(a >= b for a, b in pairwise(ends)):
            raise ArgumentError(
                "AdaptiveLogSoftmaxWithLoss: cutoffs ascend between 1 and n_classes - 1: got "
                f"{list(cutoffs)} for {n_classes} classes."
            )
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, ends[1:]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, dtype=dtype)
        self.tail = ModuleList()
        for k, (low, high) in enumerate(pairwise(self.cutoffs), 1):
            width = int(in_features // div_value**k)
            layers = ((in_features, width), (width, high - low))
            self.tail.append(Sequential(*(Linear(*x, bias=False, dtype=dtype) for x in layers)))

    def reset_parameters(self) -> None:
        """Initialize all parameters at random."""
        for layer in (self.head, *(x for cluster in self.tail for x in cluster)):
            layer.reset_parameters()

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probability of each class."""
        head = F.log_softmax(self.head(input), dim=-1)
        parts = [head[..., : self.shortlist_size]]
        for k, cluster in enumerate(self.tail, self.shortlist_size):
            parts.append(F.log_softmax(cluster(input), dim=-1) + head[..., k : k + 1])
        return FUNCTIONS["cat"](parts, dim=-1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class."""
        return self.log_prob(input).argmax(dim=-1)

    def forward(self, input: Tensor, target: Tensor) -> LogChances:
        """The log-probabilities of the targets, and the loss."""
        output = self.log_prob(input).gather(-1, target.unsqueeze(-1)).squeeze(-1)
        return LogChances(output, -output.mean())
