"""Transforms onto regions: biject_to gives bijections, transform_to what optimizes well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gnomon.distributions import constraints as c
from gnomon.distributions import elementwise_transforms as t
from gnomon.distributions import matrix_transforms as m
from gnomon.distributions import part_transforms as p
from gnomon.distributions.transform import (
    ComposeTransform,
    IndependentTransform,
    Transform,
    identity_transform,
)
from gnomon.errors import ArgumentError


class ConstraintRegistry:
    """Kinds of regions, and what makes a transform onto one."""

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Transform]] = {}

    def register(self, constraint: Any, factory: Callable | None = None) -> Callable:
        """Take a function that makes a transform onto a region of a kind; also a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = constraint if isinstance(constraint, type) else type(constraint)
        if not issubclass(kind, c.Constraint):
            raise ArgumentError(f"register: expected a constraint: got {constraint!r}.")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: c.Constraint) -> Transform:
        """The transform from real numbers onto a region."""
        found = self._registry.get(type(constraint))
        if found is None:
            raise NotImplementedError(
                f"biject_to, transform_to: no transform onto {constraint}. Give one with register."
            )
        return found(constraint)


def onto_interval(region: Any) -> Transform:
    """Map real numbers onto the interval between two bounds."""
    low, high = region.lower_bound, region.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return t.SigmoidTransform()
    return ComposeTransform([t.SigmoidTransform(), t.AffineTransform(low, high - low)])


def onto_side(bound: Any, scale: int) -> Transform:
    """Map real numbers onto those above a bound, or below it where scale is -1."""
    return ComposeTransform([t.ExpTransform(), t.AffineTransform(bound, scale)])


def made(onto: ConstraintRegistry, constraint: Any) -> Transform:
    """From real numbers onto a region some of whose axes belong together."""
    inner = onto(constraint.base_constraint)
    return IndependentTransform(inner, constraint.reinterpreted_batch_ndims)


def joined(onto: ConstraintRegistry, region: Any) -> Transform:
    """From real numbers onto regions behind each other."""
    return p.CatTransform([onto(each) for each in region.cseq], region.dim, region.lengths)


def stacked(onto: ConstraintRegistry, region: Any) -> Transform:
    """From real numbers onto stacked regions."""
    return p.StackTransform([onto(each) for each in region.cseq], region.dim)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()
for _each in (biject_to, transform_to):
    _each.register(c.real, lambda region: identity_transform)
    _each.register(c.greater_than, lambda region: onto_side(region.lower_bound, 1))
    _each.register(c.greater_than_eq, lambda region: onto_side(region.lower_bound, 1))
    _each.register(c.less_than, lambda region: onto_side(region.upper_bound, -1))
    _each.register(c.interval, onto_interval)
    _each.register(c.half_open_interval, onto_interval)
    _each.register(c.corr_cholesky, lambda region: m.CorrCholeskyTransform())
    _each.register(c.cat, lambda region, onto=_each: joined(onto, region))
    _each.register(c.stack, lambda region, onto=_each: stacked(onto, region))
    _each.register(c.independent, lambda region, onto=_each: made(onto, region))
biject_to.register(c.simplex, lambda region: m.StickBreakingTransform())
transform_to.register(c.simplex, lambda region: t.SoftmaxTransform())
transform_to.register(c.lower_cholesky, lambda region: m.LowerCholeskyTransform())
transform_to.register(c.positive_definite, lambda region: m.PositiveDefiniteTransform())
transform_to.register(c.positive_semidefinite, lambda region: m.PositiveDefiniteTransform())
