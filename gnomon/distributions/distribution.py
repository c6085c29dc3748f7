"""The interface of every distribution: torch.distributions' names.

Parameters and samples are checked by default, as PyTorch's are, unless `validate_args=False`. In a
compiled function, under vmap and over ranks values are not known yet, and are not checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, Signature
from typing import Any

import gnomon as gn
from gnomon.distributions.constraints import Constraint, is_dependent
from gnomon.distributions.parameters import broadcast_all, one_of, open_share
from gnomon.errors import ArgumentError, ShapeError
from gnomon.forking import cached_property
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.size import Size
from gnomon.tensor.tensor import Tensor

Shape = Sequence[int]
ANYHOW = Parameter.POSITIONAL_OR_KEYWORD


class Distribution:
    """Base: parameters of shape batch_shape, each for events of shape event_shape."""

    has_rsample = False
    """Whether gradients flow through samples."""
    has_enumerate_support = False
    """Whether all values can be listed."""
    arg_constraints: Any = {}
    """Parameter -> the values that it may have."""
    support: Any = None
    """The values that samples have."""
    _validate_args = True

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Check parameters and samples of distributions made from now on, or do not."""
        Distribution._validate_args = bool(value)

    def __init__(
        self, batch_shape: Shape = (), event_shape: Shape = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    def _check_parameters(self) -> None:
        """Refuse parameters outside of their constraints."""
        for name, constraint in self.arg_constraints.items():
            value = vars(self).get(name)
            if isinstance(value, Tensor) and not is_dependent(constraint):
                check(f"{type(self).__name__}: {name}", constraint, value)

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one event."""
        return self._event_shape

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        """Expand the parameters to a larger batch shape.

        >>> tuple(gn.distributions.Normal(0.0, gn.ones(2)).expand((3, 2)).batch_shape)
        (3, 2)
        """
        made = self.__new__(type(self)) if _instance is None else _instance
        shape, constraints = tuple(batch_shape), self.arg_constraints
        for name, value in vars(self).items():
            if name in constraints and isinstance(value, Tensor):
                inner = value.shape[value.ndim - constraints[name].event_dim :]
                vars(made)[name] = value.expand((*shape, *inner))
            elif not isinstance(getattr(type(self), name, None), cached_property):
                vars(made)[name] = value
        made._batch_shape = Size(shape)
        return made

    def _get_checked_instance(self, kind: type, instance: Any = None) -> Any:
        """A new object for expand(), refused for subclasses with an __init__ and no expand()."""
        if instance is None and type(self).__init__ is not kind.__init__:
            raise NotImplementedError(
                f"{type(self).__name__}: has an __init__ of its own. Give it an expand() too."
            )
        return self.__new__(type(self)) if instance is None else instance

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError(f"{type(self).__name__}: has no mean here.")

    @property
    def mode(self) -> Tensor:
        """The mode: the place of the largest density."""
        raise NotImplementedError(f"{type(self).__name__}: has no mode here.")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError(f"{type(self).__name__}: has no variance here.")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples through which gradients flow to the parameters."""
        raise NotImplementedError(f"{type(self).__name__} has no rsample(). Use sample().")

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples, as values."""
        with no_grad():
            return self.rsample(sample_shape)

    def sample_n(self, n: int) -> Tensor:
        """Draw n samples, along a first axis."""
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the chance, of values."""
        if self._validate_args:
            self._validate_sample(value)
        return self.log_density(value)

    def log_density(self, value: Tensor) -> Tensor:
        """log_prob of values that need no check."""
        raise NotImplementedError(f"{type(self).__name__}: has no log_prob().")

    def cdf(self, value: Tensor) -> Tensor:
        """The chance of what is not larger."""
        raise NotImplementedError(f"{type(self).__name__}: has no cdf().")

    def icdf(self, value: Tensor) -> Tensor:
        """The value of a cdf: the quantile."""
        raise NotImplementedError(f"{type(self).__name__}: has no icdf().")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values along a new first axis."""
        raise NotImplementedError(f"{type(self).__name__}: its values can't be listed.")

    def entropy(self) -> Tensor:
        """The entropy, in nats."""
        raise NotImplementedError(f"{type(self).__name__}: has no entropy().")

    def perplexity(self) -> Tensor:
        """exp(entropy)."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Shape = ()) -> Size:
        """The shape of samples: sample, batch and event axes."""
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        """Refuse a value of a wrong type, of a wrong shape, or outside of the support."""
        name = type(self).__name__
        if not isinstance(value, Tensor):
            raise ArgumentError(f"{name}: log_prob takes a tensor: got {value!r}.")
        inner = len(self._event_shape)
        if tuple(value.shape[value.ndim - inner :]) != tuple(self._event_shape):
            raise ShapeError(
                f"{name}: events have the shape {tuple(self._event_shape)}: got "
                f"{tuple(value.shape)}."
            )
        gn.broadcast_shapes(tuple(value.shape), tuple(self._extended_shape()))
        if self.support is not None:
            check(f"{name}: a value", self.support, value)

    def __repr__(self) -> str:
        own = ((name, vars(self).get(name)) for name in self.arg_constraints)
        shown = [f"{name}: {in_brief(value)}" for name, value in own if value is not None]
        return f"{type(self).__name__}({', '.join(shown)})"


def in_brief(value: Any) -> str:
    """A parameter of one number as that, another by its shape."""
    single = not isinstance(value, Tensor) or value.numel() == 1
    return f"{value if single else value.shape}"


def check(what: str, constraint: Constraint, value: Tensor) -> None:
    """Refuse values outside of a region, where they are known."""
    if constraint.holds(value) is False:
        raise ArgumentError(f"{what} does not satisfy {constraint}: got {value.detach()}.")


class Family(Distribution):
    """Base of families by parameters, those of arg_constraints in order: numbers and tensors.

    None is a parameter that another one stands for.
    """

    defaults: Any = {}
    words: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        """Derive a family's signature from the names of its parameters."""
        if "arg_constraints" in vars(cls) and "__init__" not in vars(cls):
            cls.words = (*cls.arg_constraints, "validate_args")
            defaults = cls.defaults | {"validate_args": None}
            cls.__signature__ = Signature(
                Parameter(word, ANYHOW, default=defaults.get(word, Parameter.empty))
                for word in cls.words
            )

    def __init__(self, *given: Any, **named: Any) -> None:
        first = dict(zip(self.words, given, strict=False))
        said = {"validate_args": None, **self.defaults, **first, **named}
        if len(given) > len(self.words) or said.keys() != {*self.words}:
            self.__signature__.bind(*given, **named)  # says what is missing, or too much
        values = {word: said[word] for word in self.words[:-1] if said[word] is not None}
        if "probs" in self.words:
            one_of(type(self).__name__, said["probs"], said["logits"])
        vars(self).update(zip(values, broadcast_all(*values.values()), strict=True))
        shape = vars(self)[next(iter(values))].shape
        Distribution.__init__(self, shape, validate_args=said["validate_args"])

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Differentiable samples, as quantiles of uniform numbers."""
        if not self.has_rsample:
            return super().rsample(sample_shape)
        like = next(x for x in vars(self).values() if isinstance(x, Tensor))
        return self.icdf(open_share(self._extended_shape(sample_shape), like.dtype))


class ExponentialFamily(Distribution):
    """Base: log p(x) is natural parameters · statistics(x) − normalizer + carrier(x)."""

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        """The natural parameters of ExponentialFamily."""
        raise NotImplementedError(f"{type(self).__name__}: has no natural parameters here.")

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        """The logarithm of ExponentialFamily's normalizer, by natural parameters."""
        raise NotImplementedError(f"{type(self).__name__}: has no normalizer here.")

    @property
    def _mean_carrier_measure(self) -> Any:
        """The mean of ExponentialFamily's carrier measure."""
        raise NotImplementedError(f"{type(self).__name__}: has no carrier measure here.")

    def entropy(self) -> Tensor:
        """The entropy, by the gradient of the normalizer."""
        carrier = self._mean_carrier_measure
        normalizer, products, _ = expected(self)
        return normalizer - sum(products, carrier)


def expected(p: ExponentialFamily) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """The normalizer, each natural parameter times the mean of its statistic, and these means."""
    with gn.enable_grad():
        given = [x if x.requires_grad else x.detach().requires_grad_() for x in p._natural_params]
        normalizer = p._log_normalizer(*given)
        means = gn.autograd.grad(normalizer.sum(), given, create_graph=True)
    return normalizer, [x * m for x, m in zip(given, means, strict=True)], list(means)
