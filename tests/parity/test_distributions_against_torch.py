"""Distributions, their transforms and their distances give what torch.distributions gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gnomon as gn

torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore:Singular sample")]


@pytest.fixture(autouse=True)
def wide() -> Iterator[None]:
    """Torch's own constants in float64, and no checks: they refuse batches of nothing."""
    torch.set_default_dtype(torch.float64)
    torch.distributions.Distribution.set_default_validate_args(False)
    yield
    torch.set_default_dtype(torch.float32)
    torch.distributions.Distribution.set_default_validate_args(True)


BATCHES = [(), (1,), (3,), (0,), (2, 3), (2, 0), (3, 1)]
Make = Callable[[np.random.Generator, tuple[int, ...]], dict[str, Any]]


def reals(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.standard_normal(shape)


def positives(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.uniform(0.4, 4.0, shape)


def shares(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.uniform(0.05, 0.95, shape)


def row(**kinds: Any) -> Make:
    """Parameters drawn by their kinds; what is no function is given as it is."""
    return lambda rng, batch: {
        name: kind(rng, batch) if callable(kind) else kind for name, kind in kinds.items()
    }


def rows_of(kind: Callable, *inner: int) -> Callable:
    """The same with axes of an event behind those of the batch."""
    return lambda rng, batch: kind(rng, (*batch, *inner))


def covariances(rng: np.random.Generator, batch: tuple[int, ...]) -> np.ndarray:
    x = rng.standard_normal((*batch, 3, 3))
    return x @ np.swapaxes(x, -1, -2) + np.eye(3)


def factors(rng: np.random.Generator, batch: tuple[int, ...]) -> np.ndarray:
    return np.linalg.cholesky(covariances(rng, batch))


LOCATED = row(loc=reals, scale=positives)
COUNTS = row(probs=rows_of(shares, 4))
KINDS: dict[str, tuple[str, Make]] = {
    "Normal": ("Normal", LOCATED),
    "LogNormal": ("LogNormal", LOCATED),
    "Laplace": ("Laplace", LOCATED),
    "Cauchy": ("Cauchy", LOCATED),
    "Gumbel": ("Gumbel", LOCATED),
    "HalfNormal": ("HalfNormal", row(scale=positives)),
    "HalfCauchy": ("HalfCauchy", row(scale=positives)),
    "Uniform": (
        "Uniform",
        lambda rng, batch: {"low": reals(rng, batch), "high": 4 + positives(rng, batch)},
    ),
    "Exponential": ("Exponential", row(rate=positives)),
    "Gamma": ("Gamma", row(concentration=positives, rate=positives)),
    "InverseGamma": ("InverseGamma", row(concentration=positives, rate=positives)),
    "Chi2": ("Chi2", row(df=positives)),
    "Beta": ("Beta", row(concentration1=positives, concentration0=positives)),
    "Dirichlet": ("Dirichlet", row(concentration=rows_of(positives, 3))),
    "StudentT": ("StudentT", row(df=positives, loc=reals, scale=positives)),
    "Pareto": ("Pareto", row(scale=positives, alpha=positives)),
    "Weibull": ("Weibull", row(scale=positives, concentration=positives)),
    "LogisticNormal": ("LogisticNormal", row(loc=rows_of(reals, 3), scale=rows_of(positives, 3))),
    "Bernoulli": ("Bernoulli", row(probs=shares)),
    "Bernoulli by logits": ("Bernoulli", row(logits=reals)),
    "Geometric": ("Geometric", row(probs=shares)),
    "Binomial": ("Binomial", row(total_count=5, probs=shares)),
    "Binomial by logits": ("Binomial", row(total_count=7, logits=reals)),
    "NegativeBinomial": ("NegativeBinomial", row(total_count=positives, probs=shares)),
    "Poisson": ("Poisson", row(rate=positives)),
    "Categorical": ("Categorical", COUNTS),
    "Categorical by logits": ("Categorical", row(logits=rows_of(reals, 4))),
    "OneHotCategorical": ("OneHotCategorical", COUNTS),
    "OneHotCategoricalStraightThrough": ("OneHotCategoricalStraightThrough", COUNTS),
    "Multinomial": ("Multinomial", row(total_count=6, probs=rows_of(shares, 4))),
    "RelaxedBernoulli": ("RelaxedBernoulli", row(temperature=0.7, probs=shares)),
    "RelaxedOneHotCategorical": (
        "RelaxedOneHotCategorical",
        row(temperature=0.7, probs=rows_of(shares, 4)),
    ),
    "MultivariateNormal": (
        "MultivariateNormal",
        row(loc=rows_of(reals, 3), covariance_matrix=covariances),
    ),
    "MultivariateNormal by precision": (
        "MultivariateNormal",
        row(loc=rows_of(reals, 3), precision_matrix=covariances),
    ),
    "MultivariateNormal by factor": (
        "MultivariateNormal",
        row(loc=rows_of(reals, 3), scale_tril=factors),
    ),
    "GeneralizedPareto": (
        "GeneralizedPareto",
        row(loc=reals, scale=positives, concentration=rows_of(lambda r, s: r.uniform(-1, 1, s))),
    ),
    "FisherSnedecor": ("FisherSnedecor", row(df1=positives, df2=rows_of(positives))),
    "Kumaraswamy": ("Kumaraswamy", row(concentration1=positives, concentration0=positives)),
    "VonMises": ("VonMises", row(loc=reals, concentration=positives)),
    "ContinuousBernoulli": ("ContinuousBernoulli", row(probs=shares)),
    "LowRankMultivariateNormal": (
        "LowRankMultivariateNormal",
        row(
            loc=rows_of(reals, 3),
            cov_factor=rows_of(reals, 3, 2),
            cov_diag=rows_of(positives, 3),
        ),
    ),
    "Wishart": (
        "Wishart",
        row(df=rows_of(lambda r, s: 4 + r.random(s)), covariance_matrix=covariances),
    ),
    "LKJCholesky": ("LKJCholesky", row(dim=3, concentration=positives)),
}
NOT_EMPTY = {
    *("LogisticNormal", "RelaxedOneHotCategorical", "MultivariateNormal", "Wishart"),
    "LowRankMultivariateNormal",
}
"""Where torch 2.13 itself stops at batches of nothing."""
WRONG = {("Kumaraswamy", "mode")}
"""What torch 2.13 gets wrong: the logarithm of a negative number."""


def made(library: Any, name: str, given: dict[str, Any], leaves: dict[str, Any]) -> Any:
    """A distribution of a library; leaves are filled with the parameters."""
    for word, value in given.items():
        if isinstance(value, np.ndarray | float):
            leaves[word] = library.tensor(value, dtype=library.float64)
            leaves[word].requires_grad_(isinstance(value, np.ndarray))
    kind = getattr(library.distributions, name)
    return kind(**{**given, **leaves})


def pair(name: str, given: dict[str, Any]) -> tuple[Any, Any, dict, dict]:
    """The same distribution of both libraries, and their parameters."""
    ours: dict[str, Any] = {}
    theirs: dict[str, Any] = {}
    return made(gn, name, given, ours), made(torch, name, given, theirs), ours, theirs


def value_of(call: Callable[[], Any]) -> Any:
    """What a call gives, or None where a library has it not."""
    try:
        return call()
    except NotImplementedError:
        return None


def same(ours: Any, theirs: Any, what: str) -> None:
    """Compare two tensors."""
    assert tuple(ours.shape) == tuple(theirs.shape), what
    np.testing.assert_allclose(
        ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-7, atol=1e-9, err_msg=what
    )


def same_slopes(ours: Any, theirs: Any, mine: dict, others: dict, what: str) -> None:
    """Compare the gradients of a sum."""
    words = [word for word, leaf in others.items() if leaf.requires_grad]
    if not theirs.requires_grad or not words:
        return
    a = gn.autograd.grad(ours.sum(), [mine[w] for w in words], allow_unused=True, retain_graph=True)
    b = value_of(
        lambda: torch.autograd.grad(
            theirs.sum(), [others[w] for w in words], allow_unused=True, retain_graph=True
        )
    )
    if b is None:
        return
    for word, x, y in zip(words, a, b, strict=True):
        zero = np.zeros(others[word].shape)
        np.testing.assert_allclose(
            zero if x is None else x.numpy(),
            zero if y is None else y.numpy(),
            rtol=1e-6,
            atol=1e-7,
            err_msg=f"{what} over {word}",
        )


@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("label", KINDS)
def test_a_distribution_is_torchs(label: str, batch: tuple[int, ...], rng: np.random.Generator):
    name, make = KINDS[label]
    p, q, mine, others = pair(name, make(rng, batch))
    if name in NOT_EMPTY and 0 in batch:
        assert p.log_prob(p.sample((2,))).shape == (2, *batch)
        return
    torch.manual_seed(0)
    drawn = q.sample((2,))
    value = gn.tensor(drawn.numpy())

    assert (tuple(p.batch_shape), tuple(p.event_shape)) == (
        tuple(q.batch_shape),
        tuple(q.event_shape),
    )
    assert (p.has_rsample, p.has_enumerate_support) == (q.has_rsample, q.has_enumerate_support)
    assert p.arg_constraints.keys() == q.arg_constraints.keys()
    for word in ("mean", "mode", "variance", "stddev"):
        told = value_of(lambda word=word: getattr(q, word))
        if told is not None and (name, word) not in WRONG:
            same(getattr(p, word), told, word)
    same(p.log_prob(value), q.log_prob(drawn), "log_prob")
    same_slopes(p.log_prob(value), q.log_prob(drawn), mine, others, "log_prob")
    assert p.sample((4,)).shape == q.sample((4,)).shape
    assert p.support.event_dim == q.support.event_dim


@pytest.mark.parametrize("label", KINDS)
def test_entropy_and_shares_are_torchs(label: str, rng: np.random.Generator):
    name, make = KINDS[label]
    p, q, mine, others = pair(name, make(rng, (3,)))
    torch.manual_seed(0)
    drawn, share = q.sample((2,)), rng.uniform(0.1, 0.9, (2, 3))
    calls = {
        "entropy": (lambda d, x, u: d.entropy()),
        "cdf": (lambda d, x, u: d.cdf(x)),
        "icdf": (lambda d, x, u: d.icdf(u)),
        "perplexity": (lambda d, x, u: d.perplexity()),
    }
    for word, call in calls.items():
        theirs = value_of(lambda call=call: call(q, drawn, torch.tensor(share)))
        if theirs is not None:
            ours = call(p, gn.tensor(drawn.numpy()), gn.tensor(share))
            same(ours, theirs, word)
            same_slopes(ours, theirs, mine, others, word)


@pytest.mark.parametrize("label", KINDS)
def test_an_expanded_distribution_is_torchs(label: str, rng: np.random.Generator):
    name, make = KINDS[label]
    p, q, _, _ = pair(name, make(rng, (3, 1)))
    p, q = p.expand((2, 3, 4)), q.expand((2, 3, 4))
    torch.manual_seed(0)
    drawn = q.sample()

    assert (tuple(p.batch_shape), tuple(p.event_shape)) == ((2, 3, 4), tuple(q.event_shape))
    same(p.log_prob(gn.tensor(drawn.numpy())), q.log_prob(drawn), "log_prob")
    assert p.sample((2,)).shape == q.sample((2,)).shape


@pytest.mark.parametrize(
    "label", [k for k in KINDS if getattr(torch.distributions, KINDS[k][0]).has_enumerate_support]
)
@pytest.mark.parametrize("expand", [True, False])
def test_all_values_are_listed_as_torch_lists_them(
    label: str, expand: bool, rng: np.random.Generator
):
    name, make = KINDS[label]
    p, q, _, _ = pair(name, make(rng, (2, 3)))

    same(p.enumerate_support(expand), q.enumerate_support(expand), label)


def closed(table: dict[tuple[type, type], Any]) -> set[tuple[str, str]]:
    """The pairs of families for which a library has a formula, by their names."""
    return {(p.__name__, q.__name__) for p, q in table}


FAMILIES = ["Beta", "Dirichlet", "Exponential", "Poisson", "ContinuousBernoulli", "Chi2"]
"""Families whose distances follow from their normalizers."""
OURS, THEIRS = closed(gn.distributions.kl.DISTANCES), closed(torch.distributions.kl._KL_REGISTRY)


def test_every_pair_of_torchs_has_a_formula():
    families = {(name, name) for name in FAMILIES}
    assert not THEIRS - OURS - families


SIMPLE = {KINDS[label][0]: label for label in reversed(KINDS)}


@pytest.mark.parametrize(
    "names", [pair for pair in sorted(OURS & THEIRS) if {*pair} <= SIMPLE.keys()], ids="-".join
)
def test_a_distance_is_torchs(names: tuple[str, str], rng: np.random.Generator):
    (p, t, mine, others), (q, u, mine_q, others_q) = (
        pair(name, KINDS[SIMPLE[name]][1](rng, (3,))) for name in names
    )

    ours, theirs = gn.distributions.kl_divergence(p, q), torch.distributions.kl_divergence(t, u)

    same(ours, theirs, "kl")
    if np.isfinite(theirs.detach().numpy()).all():
        same_slopes(ours, theirs, mine, others, "kl over p")
        same_slopes(ours, theirs, mine_q, others_q, "kl over q")


@pytest.mark.parametrize("name", FAMILIES)
def test_a_distance_within_an_exponential_family_is_torchs(name: str, rng: np.random.Generator):
    (p, t, mine, others), (q, u, _, _) = (
        pair(name, KINDS[name][1](rng, (3,))) for name in (name, name)
    )

    ours, theirs = gn.distributions.kl_divergence(p, q), torch.distributions.kl_divergence(t, u)

    same(ours, theirs, "kl")
    same_slopes(ours, theirs, mine, others, "kl over p")


def positive(x: Any) -> Any:
    return abs(x) + 0.1


def chances(x: Any) -> Any:
    return x.softmax(-1)


TRANSFORMS = {
    "Exp": (lambda d: d.ExpTransform(), None),
    "Power": (lambda d: d.PowerTransform(2.5), positive),
    "Sigmoid": (lambda d: d.SigmoidTransform(), None),
    "Softplus": (lambda d: d.SoftplusTransform(), None),
    "Tanh": (lambda d: d.TanhTransform(), None),
    "Abs": (lambda d: d.AbsTransform(), None),
    "Affine": (lambda d: d.AffineTransform(2.0, -3.0), None),
    "Affine of vectors": (lambda d: d.AffineTransform(2.0, -3.0, event_dim=1), None),
    "Softmax": (lambda d: d.SoftmaxTransform(), None),
    "StickBreaking": (lambda d: d.StickBreakingTransform(), None),
    "LowerCholesky": (lambda d: d.LowerCholeskyTransform(), None),
    "PositiveDefinite": (lambda d: d.PositiveDefiniteTransform(), None),
    "CorrCholesky": (lambda d: d.CorrCholeskyTransform(), None),
    "Cat": (lambda d: d.CatTransform([d.ExpTransform(), d.TanhTransform()], -1, [1, 2]), None),
    "Stack": (
        lambda d: d.StackTransform([d.ExpTransform(), d.TanhTransform(), d.AbsTransform()], -1),
        None,
    ),
    "Cumulative": (lambda d: d.CumulativeDistributionTransform(d.Normal(0.0, 1.0)), None),
    "Reshape": (lambda d: d.ReshapeTransform((3, 3), (9,)), None),
    "Independent": (lambda d: d.IndependentTransform(d.ExpTransform(), 1), None),
    "Compose": (
        lambda d: d.ComposeTransform([d.AffineTransform(1.0, 2.0), d.StickBreakingTransform()]),
        None,
    ),
    "its inverse": (lambda d: d.ExpTransform().inv, positive),
    "identity": (lambda d: d.identity_transform, None),
}


@pytest.mark.parametrize("batch", [(), (1,), (2,), (0,)], ids=str)
@pytest.mark.parametrize("label", TRANSFORMS)
def test_a_transform_is_torchs(label: str, batch: tuple[int, ...], rng: np.random.Generator):
    make, prepared = TRANSFORMS[label]
    ours, theirs = make(gn.distributions), make(torch.distributions)
    values = rng.standard_normal((*batch, 3, 3))
    x, u = (
        (prepared or (lambda v: v))(lib.tensor(values, dtype=lib.float64)) for lib in (gn, torch)
    )
    y, v = ours(x), theirs(u)

    same(y, v, "forward")
    same(ours.inv(y), theirs.inv(v), "inverse")
    assert (ours.bijective, ours.domain.event_dim) == (theirs.bijective, theirs.domain.event_dim)
    assert ours.codomain.event_dim == theirs.codomain.event_dim
    assert tuple(ours.forward_shape(x.shape)) == tuple(theirs.forward_shape(u.shape))
    assert tuple(ours.inverse_shape(y.shape)) == tuple(theirs.inverse_shape(v.shape))
    if 0 in batch:
        return  # torch 2.13 adds up no matrices of nothing
    slopes = value_of(lambda: theirs.log_abs_det_jacobian(u, v))
    if slopes is not None:
        same(ours.log_abs_det_jacobian(x, y), slopes, "log_abs_det_jacobian")


def test_composed_distributions_are_torchs(rng: np.random.Generator):
    values = rng.standard_normal((5, 4, 3))

    def told(lib: Any) -> list[Any]:
        d, x = lib.distributions, lib.tensor(values, dtype=lib.float64)
        base = d.Normal(x[0], x[1].exp())
        parts = [d.TanhTransform(), d.AffineTransform(1.0, 2.0)]
        squashed = d.TransformedDistribution(base, parts)
        inside = x[2].tanh() * 2 + 1
        mixture = d.MixtureSameFamily(d.Categorical(logits=x[3]), base)
        whole = d.Independent(squashed, 1)
        return [
            squashed.log_prob(inside),
            squashed.cdf(inside),
            squashed.icdf(x[4].sigmoid()),
            whole.log_prob(inside),
            whole.expand((2, 4)).log_prob(inside),
            mixture.log_prob(x[4, :, 0]),
            mixture.cdf(x[4, :, 0]),
            mixture.mean,
            mixture.variance,
            d.TransformedDistribution(base, d.StickBreakingTransform()).log_prob(
                d.StickBreakingTransform()(x[4])
            ),
            d.kl_divergence(d.Independent(base, 1), d.Independent(d.Normal(x[2], 1.0), 1)),
        ]

    for k, (a, b) in enumerate(zip(told(gn), told(torch), strict=True)):
        same(a, b, str(k))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_continuous_bernoulli_with_extreme_logits_is_torchs(dtype):
    def seen(lib):
        made = []
        for logit in (-math.inf, -1e38, -1e4, -50.0, -16.0, 0.0, 16.0, 50.0, 1e4, 1e38, math.inf):
            x = lib.tensor(logit, dtype=getattr(lib, dtype), requires_grad=True)
            law = lib.distributions.ContinuousBernoulli(logits=x, validate_args=False)
            value = law.log_prob(lib.tensor(float(logit > 0), dtype=x.dtype))
            value.backward()
            half = lib.tensor(0.5, dtype=x.dtype)
            parts = (law.mean, law.variance, law.cdf(half), law.icdf(half), value, x.grad)
            made.append([part.item() for part in parts])
        return np.array(made)

    np.testing.assert_allclose(seen(gn), seen(torch), rtol=2e-5, atol=1e-7)
