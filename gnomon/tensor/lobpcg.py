"""A few eigenvalues of a large symmetric matrix by products with it: PyTorch's lobpcg.

Knyazev: Toward the optimal preconditioned eigensolver, 2001. Directions are made orthogonal by QR,
which also holds where they nearly depend on one another.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from gnomon.errors import ArgumentError, DtypeError, GradientError, ShapeError
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.random import randn
from gnomon.tensor.state import grads
from gnomon.tensor.tensor import Tensor

Tracker = Callable[["Search"], object]
Named = dict[str, Any] | None


def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Tracker | None = None,
    ortho_iparams: Named = None,
    ortho_fparams: Named = None,
    ortho_bparams: Named = None,
) -> tuple[Tensor, Tensor]:
    """The k largest, or smallest, λ of A · x = λ · B · x, and their x as columns.

    Shapes: A (*b, m, m) -> (*b, k), (*b, m, k)

    X: n first guesses, drawn if there are none. iK: a matrix that is near the inverse of A. Both
    methods, "basic" and "ortho", are one iteration with orthogonal directions, so `ortho_*` change
    nothing. tracker: called with the iteration after each step; `bvars["force_stop"] = True` ends
    it. Results have no gradients: eigh has.

    >>> import gnomon as gn
    >>> values, vectors = lobpcg(gn.diag(gn.tensor([1.0, 2.0, 3.0, 9.0])), k=1, X=gn.ones(4, 1))
    >>> values
    Tensor([9.])
    """
    check_operands(A, B, X, method)
    m = A.shape[-1]
    count = X.shape[-1] if X is not None else n if n is not None else k or 1
    k = (1 if X is None else count) if k is None else k
    if m < 3 * count:
        raise ArgumentError(
            f"lobpcg: not applicable where the number of rows of A (={m}) is smaller than 3 x the "
            f"number of requested eigenpairs (={count}). Use linalg.eigh."
        )
    batch = tuple(A.shape[:-2])
    settings = {
        "iparams": {"m": m, "n": count, "k": k, "niter": 1000 if niter is None else niter},
        "fparams": {"tol": float(np.finfo(A.dtype.numpy).eps) ** 0.5 if tol is None else tol},
        "bparams": {"largest": True if largest is None else largest},
        "method": method or "ortho",
    }
    made = []
    for place in range(prod(batch)):
        a, b, x = (
            None if v is None else v.detach().reshape(-1, *v.shape[-2:])[place] for v in (A, B, X)
        )
        search = Search(a, b, randn(m, count, dtype=A.dtype) if x is None else x, iK, settings)
        search.run(tracker)
        made.append((search.E[:k], search.X[:, :k]))
    if not made:
        return A.new_empty(*batch, k), A.new_empty(*batch, m, k)
    values, vectors = (FUNCTIONS["stack"](list(parts)) for parts in zip(*made, strict=True))
    return values.reshape(*batch, -1), vectors.reshape(*batch, m, -1)


def check_operands(A: Tensor, B: Tensor | None, X: Tensor | None, method: str | None) -> None:
    """Refuse dtypes, shapes, methods and gradients that lobpcg does not support."""
    if A.dtype.name not in ("float32", "float64"):
        raise DtypeError(f"lobpcg: A must be float32 or float64: got {A.dtype.name}.")
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ShapeError(f"lobpcg: A must be square: got {tuple(A.shape)}.")
    if B is not None and B.shape != A.shape:
        raise ShapeError(
            f"lobpcg: A and B must have the same shape: got {tuple(A.shape)} and {tuple(B.shape)}."
        )
    if X is not None and (X.ndim < 2 or X.shape[:-1] != A.shape[:-1]):
        raise ShapeError(
            f"lobpcg: X must have {A.shape[-1]} rows for A {tuple(A.shape)}: got {tuple(X.shape)}."
        )
    if method not in (None, "basic", "ortho"):
        raise ArgumentError(f"lobpcg: method is basic or ortho: got {method!r}.")
    if grads.get() and any(v is not None and v.requires_grad for v in (A, B, X)):
        raise GradientError("lobpcg: there is no gradient here. Take detach() of A, or use eigh.")


def product(matrix: Tensor | None, x: Tensor) -> Tensor:
    """The product matrix · x, or x if the matrix is None."""
    return x if matrix is None else matrix @ x


class Search:
    """The state of a search for eigenvectors, by the names that PyTorch's trackers read."""

    def __init__(
        self, A: Tensor, B: Tensor | None, X: Tensor, iK: Tensor | None, settings: dict[str, Any]
    ) -> None:
        self.A, self.B, self.X, self.iK = A, B, X, iK
        self.iparams, self.fparams = settings["iparams"], settings["fparams"]
        self.bparams, self.method = settings["bparams"], settings["method"]
        self.ivars = {"istep": 0, "iterations_left": self.iparams["niter"], "converged_count": 0}
        size = float(X.norm())
        self.fvars = {
            "X_norm": size,
            "A_norm": float(product(A, X).norm()) / size,
            "B_norm": float(product(B, X).norm()) / size,
        }
        self.bvars: dict[str, bool] = {}
        self.tvars: dict[str, Tensor] = {}
        self.E = self.R = self.S = X
        self.P: Tensor | None = None

    def run(self, tracker: Tracker | None) -> None:
        """Iterate until all eigenvectors are found, or the limit is reached."""
        self.step(self.X)
        while True:
            if tracker is not None:
                tracker(self)
            if self.bvars.get("force_stop") or self.ivars["iterations_left"] == 0:
                return
            if self.ivars["converged_count"] >= self.iparams["k"]:
                return
            parts = [self.X, product(self.iK, self.R)]
            self.step(FUNCTIONS["cat"](parts if self.P is None else [*parts, self.P], -1))

    def step(self, directions: Tensor) -> None:
        """Replace X by the best vectors in the span of directions."""
        n, first = self.iparams["n"], self.ivars["istep"] == 0
        self.S = s = FUNCTIONS["qr"](directions)[0]
        low = None if self.B is None else FUNCTIONS["cholesky"](s.mT @ (self.B @ s))
        values, z = FUNCTIONS["eigh"](solve_lower(low, solve_lower(low, s.mT @ (self.A @ s)).mT))
        if low is not None:
            z = FUNCTIONS["solve_triangular"](low.mT, z, upper=True)
        if self.bparams["largest"]:
            values, z = values.flip(-1), z.flip(-1)
        self.E, self.X = values[:n], s @ z[:, :n]
        self.P = None if first else s[:, n:] @ z[n:, :n]
        self.R = product(self.A, self.X) - product(self.B, self.X) * self.E
        scale = self.fvars["A_norm"] + self.E.abs() * self.fvars["B_norm"]
        self.tvars["rerr"] = self.R.norm(dim=0) / (self.X.norm(dim=0) * scale)
        near = [error < self.fparams["tol"] for error in self.tvars["rerr"].tolist()]
        self.ivars["converged_count"] = (*near, False).index(False)
        self.ivars["iterations_left"] -= 1
        self.ivars["istep"] += 1


def solve_lower(low: Tensor | None, x: Tensor) -> Tensor:
    """The solution of low · y = x."""
    return x if low is None else FUNCTIONS["solve_triangular"](low, x, upper=False)
