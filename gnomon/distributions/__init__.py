"""Distributions by torch.distributions' names: samples, log_prob, transforms, kl_divergence."""

from gnomon.distributions import (
    composed,
    constraints,
    continuous,
    counts,
    discrete,
    distribution,
    elementwise_transforms,
    gamma,
    kl_pairs,
    low_rank,
    matrices,
    matrix_transforms,
    multivariate,
    part_transforms,
    ratios,
    relaxed,
    transform,
    transformed,
    unit_interval,
    von_mises,
)
from gnomon.distributions.constraint_registry import biject_to, transform_to
from gnomon.distributions.kl import kl_divergence, register_kl
from gnomon.distributions.transform import identity_transform
from gnomon.lazy import modules_below

_FILES = (composed, continuous, counts, discrete, distribution, elementwise_transforms, gamma)
_MORE = (kl_pairs, low_rank, matrices, matrix_transforms, multivariate, part_transforms, ratios)
_MORE += (relaxed, transform, transformed, unit_interval, von_mises)
_INNER = """ByCategorical ByChance ByMatrix Family Half InverseTransform Located RealTransform
Relaxed TransformedFamily"""
"""Bases of ours, for which PyTorch has no name."""
_FOUND = {
    name: kind
    for file in (*_FILES, *_MORE)
    for name, kind in vars(file).items()
    if getattr(kind, "__module__", None) == file.__name__ and isinstance(kind, type)
    if name not in _INNER.split()
}
globals().update(_FOUND)
__getattr__ = modules_below(__name__)
__all__ = sorted(
    {"biject_to", "constraints", "identity_transform", "kl_divergence", "register_kl"}
    | {"transform_to", *_FOUND}
)
