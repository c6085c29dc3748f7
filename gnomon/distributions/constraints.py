"""Constraints: the values that a parameter or a sample may have, by torch.distributions' names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gnomon as gn
from gnomon.errors import ArgumentError, ShapeError
from gnomon.nn.value_checks import seen
from gnomon.tensor.tensor import Tensor

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]

CLOSE = 1e-6
"""The tolerance of a sum of probabilities, which should be 1."""


class Constraint:
    """A region of values: `check` says which of them lie inside."""

    is_discrete = False
    event_dim = 0
    """The number of last axes that one value has."""

    def check(self, value: Tensor) -> Tensor:
        """Truth values: where a value is inside the region."""
        raise NotImplementedError

    def holds(self, value: Tensor) -> bool | None:
        """Whether all values lie inside; None where they are not known yet."""
        values = seen(value)
        if values is None:
            return None
        return not values.size or bool(self.check(value.detach()).all())

    def __repr__(self) -> str:
        bounds = ", ".join(f"{k}={v}" for k, v in vars(self).items())
        return f"{type(self).__name__.lstrip('_')}({bounds})"


class Dependent(Constraint):
    """A region that depends on other parameters, so that nothing can be checked."""

    def __init__(self, *, is_discrete: bool = False, event_dim: int = 0) -> None:
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, function: Callable | None = None, **said: Any) -> Any:
        """A region for another kind of value, or a property that computes the region."""
        kind = {"is_discrete": self.is_discrete, "event_dim": self.event_dim, **said}
        return Dependent(**kind) if function is None else DependentProperty(function, **kind)

    def check(self, value: Tensor) -> Tensor:
        """Raise an error: the bounds depend on another parameter."""
        raise ArgumentError(
            "constraints.dependent: its bounds are another parameter's. Ask a distribution's "
            "support."
        )


class DependentProperty(property, Dependent):
    """A property that gives a region, and stands for a dependent one at the class."""

    def __init__(
        self, function: Callable | None = None, *, is_discrete: bool = False, event_dim: int = 0
    ) -> None:
        property.__init__(self, function)
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, function: Callable | None = None, **said: Any) -> Any:
        """The property of a function: how it decorates."""
        return DependentProperty(function, is_discrete=self.is_discrete, event_dim=self.event_dim)


class IndependentConstraint(Constraint):
    """A region some of whose batch axes belong to one value."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:
        """Whether values of IndependentConstraint are discrete."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        """The number of event axes of IndependentConstraint."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        """Whether values satisfy IndependentConstraint, per event."""
        return everywhere(self.base_constraint.check(value), self.reinterpreted_batch_ndims)


class MixtureSameFamilyConstraint(Constraint):
    """The region of a mixture: values that all components allow."""

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:
        """Whether values of MixtureSameFamilyConstraint are discrete."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        """The number of event axes of MixtureSameFamilyConstraint."""
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        """Whether values satisfy MixtureSameFamilyConstraint, per event."""
        apart = value.unsqueeze(-1 - self.event_dim)
        return self.base_constraint.check(apart).all(-1)


def everywhere(holds: Tensor, count: int) -> Tensor:
    """Whether something holds along all of the last axes."""
    if holds.ndim < count:
        raise ShapeError(f"constraint: a value has {count} axes: got {tuple(holds.shape)}.")
    return holds.reshape((*holds.shape[: holds.ndim - count], -1)).all(-1) if count else holds


def bounded(
    name: str, holds: Callable[..., Tensor], bounds: str = "", **said: Any
) -> type[Constraint]:
    """The class of regions that a test of a value, and of bounds, tells."""
    words = bounds.split()

    def __init__(self: Any, *given: Any, **named: Any) -> None:
        if len(given) + len(named) != len(words):
            raise ArgumentError(f"{name.strip('_')}: takes {bounds or 'nothing'}.")
        vars(self).update({**dict(zip(words, given, strict=False)), **named})

    def check(self: Any, value: Tensor) -> Tensor:
        return holds(value, *(vars(self)[word] for word in words))

    def by_numpy(self: Any, value: Tensor) -> bool | None:
        known = [seen(x) for x in (value, *(vars(self)[word] for word in words))]
        if any(x is None for x in known):
            return None
        values, *bounds = (x.astype(np.float64) if x.dtype.kind in "fV" else x for x in known)
        return bool(holds(values, *bounds).all())

    methods = {"__init__": __init__, "check": check}
    if said.get("event_dim", 0) < 2:
        methods["holds"] = by_numpy  # a comparison of a few numbers needs no program
    return type(name, (Constraint,), {**methods, **said})


def is_whole(x: Tensor) -> Tensor:
    """Whether values are integers."""
    return x % 1 == 0


def is_triangle(x: Tensor) -> Tensor:
    """Whether matrices have nothing above the diagonal."""
    return everywhere(x.tril() == x, 2)


def is_symmetric(x: Tensor) -> Tensor:
    """Whether matrices are their own transposes, nearly."""
    return everywhere(gn.isclose(x, x.mT, atol=CLOSE), 2)


def has_positive_diagonal(x: Tensor) -> Tensor:
    """Whether triangles have a positive diagonal."""
    return is_triangle(x) & (x.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


def of_lengths_one(x: Tensor) -> Tensor:
    """Whether rows have length 1, nearly."""
    tolerance = gn.finfo(x.dtype).eps * x.shape[-1] * 10
    return ((x.norm(dim=-1) - 1).abs() < tolerance).all(-1)


def is_one_hot(x: Tensor) -> Tensor:
    """Whether vectors have one 1 and zeros."""
    return ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1)


def is_multinomial(x: Tensor, upper_bound: Any) -> Tensor:
    """Whether counts are none below 0 and no more in all than a bound."""
    return (x >= 0).all(-1) & (x.sum(-1) <= upper_bound)


COUNTED: dict[str, Any] = {"is_discrete": True}
VECTORS: dict[str, Any] = {"event_dim": 1}
MATRICES: dict[str, Any] = {"event_dim": 2}

_Boolean = bounded("_Boolean", lambda x: (x == 0) | (x == 1), **COUNTED)
_OneHot = bounded("_OneHot", is_one_hot, **COUNTED, **VECTORS)
integer_interval = bounded(
    "_IntegerInterval",
    lambda x, low, high: is_whole(x) & (x >= low) & (x <= high),
    "lower_bound upper_bound",
    **COUNTED,
)
_IntegerGreaterThan = bounded(
    "_IntegerGreaterThan", lambda x, low: is_whole(x) & (x >= low), "lower_bound", **COUNTED
)
_Real = bounded("_Real", lambda x: x == x)
greater_than = bounded("_GreaterThan", lambda x, low: x > low, "lower_bound")
greater_than_eq = bounded("_GreaterThanEq", lambda x, low: x >= low, "lower_bound")
less_than = bounded("_LessThan", lambda x, high: x < high, "upper_bound")
interval = bounded(
    "_Interval", lambda x, low, high: (x >= low) & (x <= high), "lower_bound upper_bound"
)
half_open_interval = bounded(
    "_HalfOpenInterval", lambda x, low, high: (x >= low) & (x < high), "lower_bound upper_bound"
)
_Simplex = bounded("_Simplex", lambda x: (x >= 0).all(-1) & (abs(x.sum(-1) - 1) < CLOSE), **VECTORS)
multinomial = bounded("_Multinomial", is_multinomial, "upper_bound", **COUNTED, **VECTORS)
_LowerTriangular = bounded("_LowerTriangular", is_triangle, **MATRICES)
_LowerCholesky = bounded("_LowerCholesky", has_positive_diagonal, **MATRICES)
_CorrCholesky = bounded(
    "_CorrCholesky", lambda x: has_positive_diagonal(x) & of_lengths_one(x), **MATRICES
)
_Square = bounded(
    "_Square", lambda x: everywhere(x == x, 2) & (x.shape[-1] == x.shape[-2]), **MATRICES
)
_Symmetric = bounded("_Symmetric", is_symmetric, **MATRICES)
_PositiveSemidefinite = bounded(
    "_PositiveSemidefinite",
    lambda x: is_symmetric(x) & (gn.linalg.eigvalsh(x) >= 0).all(-1),
    **MATRICES,
)
_PositiveDefinite = bounded(
    "_PositiveDefinite",
    lambda x: is_symmetric(x) & (gn.linalg.cholesky_ex(x).info == 0),
    **MATRICES,
)


class JoinedConstraint(Constraint):
    """Regions of parts that lie behind each other along an axis, or are stacked along one."""

    def __init__(
        self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)

    @property
    def is_discrete(self) -> bool:
        """Whether values of JoinedConstraint are discrete."""
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:
        """The number of event axes of JoinedConstraint."""
        return max(c.event_dim for c in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        """Whether values satisfy JoinedConstraint, per event."""
        parts = value.split(self.lengths, self.dim)
        return gn.cat([c.check(v) for c, v in zip(self.cseq, parts, strict=True)], self.dim)


class StackedConstraint(JoinedConstraint):
    """Regions of parts that are stacked along an axis."""

    @property
    def event_dim(self) -> int:
        """The number of event axes of StackedConstraint."""
        inner = max(c.event_dim for c in self.cseq)
        return inner + 1 if self.dim + inner < 0 else inner

    def check(self, value: Tensor) -> Tensor:
        """Whether values satisfy StackedConstraint, per event."""
        parts = value.unbind(self.dim)
        return gn.stack([c.check(v) for c, v in zip(self.cseq, parts, strict=True)], self.dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a region depends on other parameters."""
    return isinstance(constraint, Dependent)


cat, stack, corr_cholesky = JoinedConstraint, StackedConstraint, _CorrCholesky()
independent, dependent_property = IndependentConstraint, DependentProperty
dependent = Dependent()
boolean, one_hot, real, simplex = _Boolean(), _OneHot(), _Real(), _Simplex()
nonnegative_integer, positive_integer = _IntegerGreaterThan(0), _IntegerGreaterThan(1)
real_vector = IndependentConstraint(real, 1)
positive, nonnegative, unit_interval = greater_than(0.0), greater_than_eq(0.0), interval(0.0, 1.0)
lower_triangular, lower_cholesky = _LowerTriangular(), _LowerCholesky()
square, symmetric = _Square(), _Symmetric()
positive_semidefinite, positive_definite = _PositiveSemidefinite(), _PositiveDefinite()
