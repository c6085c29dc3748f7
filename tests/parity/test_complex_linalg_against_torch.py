"""Factorizations of complex matrices beside PyTorch: values, and gradients of what phases leave."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import GradientError

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


def projections(vectors):
    """Each vector times its conjugate, which has no phase."""
    return vectors.mT.unsqueeze(-1) @ vectors.mT.conj().unsqueeze(-2)


def hermitian(x):
    """The Hermitian part of a matrix, with eigenvalues that are apart."""
    return x + x.mH


def positive(xp, x):
    """A Hermitian matrix whose eigenvalues are positive."""
    return x @ x.mH + xp.eye(x.shape[-1], dtype=x.dtype)


SQUARE, TALL, WIDE = (3, 3), (4, 3), (3, 5)
ANY = {
    "svd": lambda xp, x: [
        *(lambda u, s, v: (u * s[..., None, :] @ v, s, projections(u), u[..., :1] @ v[..., :1, :]))(
            *xp.linalg.svd(x, full_matrices=False)
        )
    ],
    "full svd": lambda xp, x: [xp.linalg.svd(x)[1]],
    "older svd": lambda xp, x: [xp.svd(x)[1], projections(xp.svd(x)[2])],
    "svdvals": lambda xp, x: [xp.linalg.svdvals(x)],
    "pinv": lambda xp, x: [xp.linalg.pinv(x)],
    "lstsq": lambda xp, x: [xp.linalg.pinv(x) @ x[..., :2]],
    "lu": lambda xp, x: [*xp.linalg.lu(x)],
    "lu_factor": lambda xp, x: [xp.linalg.lu_factor(x)[0]],
    "matrix_rank": lambda xp, x: [xp.linalg.matrix_rank(x)],
    "cond": lambda xp, x: [xp.linalg.cond(x), xp.linalg.cond(x, -2)],
    "norms": lambda xp, x: [xp.linalg.matrix_norm(x, p) for p in ("nuc", 2, -2, "fro", 1)],
    "norms kept": lambda xp, x: [xp.linalg.matrix_norm(x, "nuc", keepdim=True)],
    "older norm": lambda xp, x: [xp.norm(x, "nuc", dim=(-2, -1))],
}
NOT_WIDE = {
    "qr": lambda xp, x: [*xp.linalg.qr(x)],
    "lstsq": lambda xp, x: [xp.linalg.lstsq(x, x[..., :2] * 1j)[0]],
    "householder": lambda xp, x: [xp.linalg.householder_product(x, x[..., 0, :])],
}
OF_SQUARE = {
    "det": lambda xp, x: [xp.linalg.det(x), xp.det(x)],
    "slogdet": lambda xp, x: [*xp.linalg.slogdet(x)],
    "logdet": lambda xp, x: [xp.logdet(x)],
    "eigh": lambda xp, x: [*(lambda w, v: (w, projections(v)))(*xp.linalg.eigh(hermitian(x)))],
    "upper eigh": lambda xp, x: [xp.linalg.eigh(hermitian(x), UPLO="U")[0]],
    "eigvalsh": lambda xp, x: [xp.linalg.eigvalsh(x)],
    "eig": lambda xp, x: [*(lambda w, v: (w, projections(v)))(*xp.linalg.eig(x))],
    "eigvals": lambda xp, x: [xp.linalg.eigvals(x)],
    "cholesky": lambda xp, x: [xp.linalg.cholesky(positive(xp, x))],
    "upper cholesky": lambda xp, x: [xp.linalg.cholesky(positive(xp, x), upper=True)],
    "cholesky_ex": lambda xp, x: [*xp.linalg.cholesky_ex(positive(xp, x))],
    "cholesky_solve": lambda xp, x: [xp.cholesky_solve(x[..., :2], x.tril())],
    "upper cholesky_solve": lambda xp, x: [xp.cholesky_solve(x[..., :2], x.triu(), upper=True)],
    "cholesky_inverse": lambda xp, x: [xp.cholesky_inverse(xp.linalg.cholesky(positive(xp, x)))],
    "solve": lambda xp, x: [xp.linalg.solve(x, x[..., :2] + 1)],
    "solve_ex": lambda xp, x: [*xp.linalg.solve_ex(x, x[..., :2] + 1)],
    "inv_ex": lambda xp, x: [*xp.linalg.inv_ex(x)],
    "lu_solve": lambda xp, x: [
        xp.linalg.lu_solve(*xp.linalg.lu_factor(x), x[..., :2] + 1),
        xp.linalg.lu_solve(*xp.linalg.lu_factor(x), x[..., :2] + 1, adjoint=True),
        xp.linalg.lu_solve(*xp.linalg.lu_factor(x), x[..., :2, :] + 1, left=False),
    ],
    "solve_triangular": lambda xp, x: [
        xp.linalg.solve_triangular(x, x[..., :2] + 1, upper=True),
        xp.linalg.solve_triangular(x, x[..., :2] + 1, upper=False, unitriangular=True),
        xp.linalg.solve_triangular(x, x[..., :2, :] + 1, upper=False, left=False),
    ],
    "older triangles": lambda xp, x: [xp.triangular_solve(x[..., :2] + 1, x, transpose=True)[0]],
    "matrix_power": lambda xp, x: [xp.linalg.matrix_power(x, n) for n in (0, 1, 3, -2)],
    "matrix_exp": lambda xp, x: [xp.linalg.matrix_exp(x)],
    "cond of 1": lambda xp, x: [xp.linalg.cond(x.detach(), p) for p in (1, "fro")],
}
CASES = [
    *((name, f, shape) for name, f in ANY.items() for shape in (SQUARE, TALL, WIDE, (2, *WIDE))),
    *((name, f, shape) for name, f in NOT_WIDE.items() for shape in (SQUARE, (2, *TALL))),
    *((name, f, shape) for name, f in OF_SQUARE.items() for shape in (SQUARE, (1, 1), (2, 2, 2))),
    ("wide qr", NOT_WIDE["qr"], WIDE),
]


def array_of(x):
    """The values of one of PyTorch's tensors."""
    return x.detach().resolve_conj().resolve_neg().numpy()


def drawn(rng, shape, kind=np.complex128):
    """Complex normal numbers."""
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(kind)


@pytest.mark.parametrize(("name", "f", "shape"), CASES, ids=[f"{n} {s}" for n, _, s in CASES])
def test_values_and_gradients_are_pytorchs(name: str, f, shape, rng):
    for kind, bound in ((np.complex128, 1e-9), (np.complex64, 2e-2)):
        x = drawn(rng, shape, kind)
        ours, theirs = gn.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
        our, their = f(gn, ours), f(torch, theirs)
        for a, b in zip(our, their, strict=True):
            close(a.detach().numpy(), array_of(b), bound)
        kept = [k for k, b in enumerate(their) if b.requires_grad]
        if not kept:
            continue
        seeds = [rng.standard_normal(their[k].shape) for k in kept]
        seeds = [
            s + 1j * rng.standard_normal(s.shape) if their[k].is_complex() else s
            for k, s in zip(kept, seeds, strict=True)
        ]
        for xp, made in ((gn, our), (torch, their)):
            sum(
                (made[k] * xp.tensor(s).to(made[k].dtype).conj()).real.sum()
                for k, s in zip(kept, seeds, strict=True)
            ).backward()
        close(ours.grad.numpy(), array_of(theirs.grad), bound)


def close(ours, theirs, bound):
    """The same dtype and shape, and values that differ by little of the largest one."""
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    size = np.abs(theirs).max(initial=1.0)
    np.testing.assert_allclose(ours, theirs, rtol=bound, atol=bound * size)


@pytest.mark.parametrize("name", ["det", "slogdet", "qr", "svd", "svdvals", "eigh", "eig", "lu"])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (1, 1)])
def test_matrices_of_no_elements_have_pytorchs_shapes(name: str, shape):
    x = np.ones(shape, np.complex64)
    ours = getattr(gn.linalg, name)(gn.tensor(x))
    theirs = getattr(torch.linalg, name)(torch.tensor(x))
    ours, theirs = (y if isinstance(y, tuple) else (y,) for y in (ours, theirs))
    for a, b in zip(ours, theirs, strict=True):
        assert (a.numpy().dtype, tuple(a.shape)) == (array_of(b).dtype, tuple(b.shape))


@pytest.mark.parametrize(
    "f",
    [
        lambda xp, x: xp.linalg.svd(x)[0].real.sum(),
        lambda xp, x: xp.linalg.eigh(x)[1].real.sum(),
        lambda xp, x: xp.linalg.eig(x)[1].real.sum(),
    ],
)
def test_what_depends_on_phases_has_no_gradient(f, rng):
    x = drawn(rng, (3, 3))
    with pytest.raises(RuntimeError, match="phi"):
        f(torch, torch.tensor(x, requires_grad=True)).backward()
    f(gn, ours := gn.tensor(x, requires_grad=True)).backward()
    with pytest.raises(GradientError, match="phi"):
        ours.grad.numpy()


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (1, 1)])
def test_gradients_of_eigenvalues_of_real_matrices(shape, rng):
    x, seed = rng.standard_normal(shape), drawn(rng, shape[:-1])
    ours, theirs = gn.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    for xp, a in ((gn, ours), (torch, theirs)):
        values, vectors = xp.linalg.eig(a)
        told = (values * xp.tensor(seed)).real.sum() + xp.linalg.eigvals(a).abs().sum()
        (told + (projections(vectors).real ** 3).sum()).backward()
    close(ours.grad.numpy(), array_of(theirs.grad), 1e-9)
